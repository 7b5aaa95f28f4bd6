"""How often a planted change is detected, and a column that did not change named.

    python -m simulations.power [--sets 200]

Two tables of 500 rows and 8 columns: six of numbers with correlations of 0.3, one of them skewed,
and two of categories. One thing changes in the second table. Counted is in how many data sets a
change is detected at the level 0.05: by the verdict of pkex; by tests of single columns,
Kolmogorov-Smirnov for numbers and chi-squared for categories, adjusted by Bonferroni; by the same
as evidently has them, whose chi-squared takes the frequencies of the reference as known; and by the
test of alibi-detect, MMD of all columns (standardised, one-hot columns for categories) with one RBF
of the median width and permuted labels. All but the first are computed by their formulas with SciPy
and NumPy, which `simulations.power_peers` checks. ``--before`` runs the verdict of the version that
is installed and stores it as the one before: so a version can be compared with an earlier one on
the same data.

The second table has 60 columns with correlations of 0.5, of which none or half changed, and counts
how often any unchanged column is named by its univariate p-value, adjusted by step-down maxima.

The results go to simulations/power.json and docs/p_values.md.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import chi2_contingency, chisquare, ks_2samp

Floats = NDArray[np.float64]
Change = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]

FILE = Path(__file__).parent / "power.json"
ROWS, LEVEL, PERMUTATIONS = 500, 0.05, 499
ROUND = 10  # data sets of every change before the next ones, so that a run can be stopped
NUMBERS = ["income", "age", "score", "rate", "price", "height"]
LEVELS = {"city": {"A": 0.4, "B": 0.3, "C": 0.2, "D": 0.1}, "plan": {"u": 0.5, "v": 0.3, "w": 0.2}}
WIDE = 60
REFERENCE, BATCH = 1500, 100

SECTION = """## Power

{rows} + {rows} rows, 8 columns: six of numbers with correlations of 0.3, two of categories. One
thing changes in the second table. The table has the fraction of {sets} data sets in which a change
is detected at the level 0.05. "Columns" are tests of single columns, Kolmogorov-Smirnov and
chi-squared of two samples, adjusted for the number of columns (Bonferroni). "evidently" are the
tests that it applies to so many rows, adjusted alike: its chi-squared takes the frequencies of the
reference as known, as if no row of it were random. "MMD" is the test of alibi-detect, one RBF
kernel of the median width over standardised and one-hot columns. "Before" is the verdict of pkex on
the first {before} of these data sets before it was that of a family of tests: one RBF kernel of the
median width, or one column. {permutations} permutations.

{table}

The verdict asks RBF kernels of several widths, a Laplacian kernel and the energy distance over all
columns, and the column that stands out most by itself. So it may lose a little where one of these
would have been enough, and detects what a single one overlooks. In the first row nothing changed:
the standard error of {sets} data sets is {error:.3f} at the level 0.05. evidently exceeds the level
where there are categories, so its other rows cannot be compared with those of the others.

The tests of other tools are computed by their formulas. `python -m simulations.power_peers` checks
these: on the first four data sets of every row evidently 0.7.23 gave the same p-values but for
rounding, and alibi-detect 0.13.0, which computes in single precision, the same statistic within
6e-5 and the same verdict in 38 of 40, where permutations were drawn anew.

The shares of the members were chosen among about a dozen on the first 70 of these data sets, and
the sizes of the changes of categories so that chi-squared sees the new one in 70 to 80 %. So the
power of pkex in this table is a little optimistic; the level is not concerned.

**Many columns.** {wide} columns with correlations of 0.5, {rows} + {rows} rows, {wide_sets} data
sets. Univariate p-values are adjusted by step-down maxima over {permutations} permutations. "Named"
is the fraction of data sets in which any column that did not change has an adjusted p-value of at
most 0.05; "detected" that of a positive verdict; "found" the mean fraction of the changed columns
that are named.

{wide_table}

**A batch against a larger reference.** {batch} rows against {reference}, five columns of numbers
and categories with missing cells, nothing changed. Only some rows of the reference exchange their
labels with the batch. Of {batch_sets} data sets the verdict is positive in {batch_level:.3f} at the
level 0.05 and in {batch_tenth:.3f} at 0.1; 199 permutations.

(`python -m simulations.power`)
"""


def draw(rng: np.random.Generator) -> pd.DataFrame:
    """Return one table."""
    common = rng.normal(size=(ROWS, 1))
    numbers = np.sqrt(0.7) * rng.normal(size=(ROWS, len(NUMBERS))) + np.sqrt(0.3) * common
    frame = pd.DataFrame(numbers, columns=NUMBERS)
    frame["price"] = np.exp(0.5 * frame["price"])
    frame["height"] = 5.0 + frame["height"]
    for name, shares in LEVELS.items():
        frame[name] = rng.choice(list(shares), ROWS, p=list(shares.values()))
    return frame


def some(rng: np.random.Generator, share: float) -> NDArray[np.bool_]:
    """Return a random part of the rows."""
    return np.asarray(rng.random(ROWS) < share)


def scaled(column: str, factor: float, share: float = 1.0) -> Change:
    """Return a change: some cells of a column are multiplied."""
    return lambda frame, rng: frame.assign(
        **{column: frame[column].where(~some(rng, share), factor * frame[column])}
    )


def gaps(frame: pd.DataFrame, rng: np.random.Generator, share: float) -> pd.DataFrame:
    """Return the table with missing cells."""
    return frame.assign(income=frame["income"].mask(some(rng, share)))


def independent(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table with two columns that lost their dependence on the others."""
    return frame.assign(score=rng.permutation(frame["score"]), rate=rng.permutation(frame["rate"]))


CHANGES: dict[str, Change] = {
    "nothing": lambda frame, _: frame,
    "new category, 3 %": lambda frame, rng: frame.assign(
        city=frame["city"].mask(some(rng, 0.03), "E")
    ),
    "category frequency, 50 to 58 %": lambda frame, rng: frame.assign(
        plan=rng.choice(["u", "v", "w"], ROWS, p=[0.58, 0.27, 0.15])
    ),
    "sd x 1.25": scaled("income", 1.25),
    "wrong unit (x 10) in 5 %": scaled("height", 10.0, 0.05),
    "tail, 3 % x 10": scaled("age", 10.0, 0.03),
    "missing, 7 to 20 %": lambda frame, rng: gaps(frame, rng, 0.2),
    "mean + 0.25 sd": lambda frame, _: frame.assign(income=frame["income"] + 0.25),
    "all means + 0.1 sd": lambda frame, _: frame.assign(
        **{name: frame[name] + 0.1 for name in NUMBERS}
    ),
    "two columns lost their dependence": independent,
}


def tables(name: str, number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of a data set; the number of the set and the change seed them."""
    rng = np.random.default_rng([number, list(CHANGES).index(name)])
    first, second = draw(rng), draw(rng)
    if name.startswith("missing"):
        first = gaps(first, rng, 0.07)
    return first, CHANGES[name](second, rng)


def by_pkex(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return the verdict."""
    import pkex

    drift = pkex.MMDDrift(n_permutations=PERMUTATIONS, random_state=0, n_jobs=1)
    return bool(drift.fit(first).detect(second, LEVEL))


def before(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return the verdict of a version that refuses missing cells."""
    return by_pkex(first.dropna(), second.dropna())


def by_columns(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether any column differs, by its own test; missing cells are left out."""
    smallest = 1.0
    for name in first.columns:
        a, b = first[name].dropna(), second[name].dropna()
        if name in LEVELS:
            levels = sorted(set(a) | set(b))
            counts = [[np.sum(part == level) for level in levels] for part in (a, b)]
            p = chi2_contingency(counts, correction=False).pvalue
        else:
            p = ks_2samp(a, b).pvalue
        smallest = min(smallest, float(p))
    return smallest <= LEVEL / len(first.columns)


def p_of_column(first: pd.Series, second: pd.Series) -> float:
    """Return the p-value of evidently for a column of up to 1000 rows."""
    if first.name not in LEVELS:
        return float(ks_2samp(first.dropna(), second.dropna()).pvalue)
    levels = sorted(set(first) | set(second))
    observed, expected = ([np.sum(part == level) for level in levels] for part in (second, first))
    with np.errstate(divide="ignore"):  # a new category
        return float(chisquare(observed, np.array(expected) * (len(second) / len(first))).pvalue)


def by_evidently(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether any column differs, by the tests of evidently."""
    p_values = [p_of_column(first[name], second[name]) for name in first.columns]
    return min(p_values) <= LEVEL / len(p_values)


def mmd_rows(first: pd.DataFrame, second: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the rows of both tables, standardised, with one-hot columns for categories."""
    both = pd.get_dummies(pd.concat([first, second])).astype(float)
    reference = both.iloc[: len(first)]
    rows = ((both - reference.mean()) / reference.std().replace(0.0, 1.0)).to_numpy()
    return rows[: len(first)], rows[len(first) :]


def permuted_mmd(first: Floats, second: Floats) -> Floats:
    """Return the squared MMD, unbiased, and below it those of 199 permutations."""
    squares = squareform(pdist(np.concatenate([first, second]), "sqeuclidean"))
    kernel = np.exp(-squares / np.median(squares[squares > 0.0]))
    np.fill_diagonal(kernel, 0.0)
    n, m = len(first), len(second)
    labels = np.repeat([True, False], [n, m])
    rng = np.random.default_rng(0)
    chosen = np.stack([labels, *(rng.permutation(labels) for _ in range(199))], axis=1)
    inside, rows = chosen.astype(float), kernel.sum(axis=1)
    xx = np.einsum("ib,ib->b", kernel @ inside, inside)
    xz = rows @ inside - xx
    zz = rows.sum() - xx - 2.0 * xz
    statistics: Floats = xx / (n * (n - 1)) + zz / (m * (m - 1)) - 2.0 * xz / (n * m)
    return statistics


def by_mmd(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Return whether MMD with one RBF of the median width differs; rows with gaps are left out."""
    statistics = permuted_mmd(*mmd_rows(first.dropna(), second.dropna()))
    return bool(np.mean(statistics >= statistics[0] - 1e-12) <= LEVEL)


def wide_tables(number: int, changed: int) -> tuple[Floats, Floats]:
    """Return two tables with many columns, of which the first ones changed by 0.25 deviations."""
    rng = np.random.default_rng([number, changed])
    X, Z = rng.normal(size=(2, ROWS, WIDE)) + rng.normal(size=(2, ROWS, 1))
    Z[:, :changed] += 0.25 * np.sqrt(2.0)
    return X, Z


def labels_alone(first: Any, second: Any, permutations: int, seed: int) -> tuple[float, Floats]:
    """Return the p-value of the verdict and the adjusted univariate ones, as `explain` has them."""
    from pkex._util.p_values import step_down_max
    from pkex.games.backend import game_class
    from pkex.games.players import parse_groups
    from pkex.results.family import verdict_of
    from pkex.statistics.attribution import make_source
    from pkex.statistics.mmd import compare_tables
    from pkex.statistics.options import Options
    from pkex.tables.frames import as_table

    options = Options(n_permutations=permutations, random_state=seed, n_jobs=1)
    samples = [as_table(part, "X", missing=True) for part in (first, second)]
    compared = compare_tables(samples[0], samples[1], options, ("X", "Z"))
    feature_groups, _ = parse_groups(options.groups, compared.table.names)
    source, _ = make_source(compared.table, compared.blocks, options, feature_groups)
    tests = source.test_labels(permutations, compared.random, backend=game_class())
    assert tests.univariate is not None
    assert tests.joint is not None
    values = np.vstack([tests.univariate.values, tests.univariate.null_values])
    adjusted = step_down_max(values, tests.univariate.rounding, tails=True)
    return verdict_of(tests.joint, source.members.names, tests.univariate).p_value, adjusted


def look_at_many(number: int, changed: int) -> list[float]:
    """Return whether an unchanged column is named, the verdict, and the share that is found."""
    p_value, adjusted = labels_alone(*wide_tables(number, changed), PERMUTATIONS, 0)
    named = adjusted <= LEVEL
    found = float(named[:changed].mean()) if changed else float("nan")
    return [float(named[changed:].any()), float(p_value <= LEVEL), found]


def batch_p_value(number: int) -> float:
    """Return the p-value of a small batch against a large reference, where nothing changed."""
    rng = np.random.default_rng([number, 77])
    rows = rng.normal(size=(REFERENCE + BATCH, 4)) + rng.normal(size=(REFERENCE + BATCH, 1))
    rows[:, 1] = np.exp(rows[:, 1])
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(e=np.digitize(rows[:, 2], [-1.0, 2.5]))
    frame["e"] = frame["e"].map({0: "low", 1: "middle", 2: "high"})
    frame["d"] = frame["d"].mask(rng.random(len(frame)) < 0.1)
    first, second = frame[:REFERENCE], frame[REFERENCE:]
    return labels_alone(first, second, 199, number)[0]


TESTS = {"pkex": by_pkex, "Columns": by_columns, "evidently": by_evidently, "MMD": by_mmd}


def simulate(name: str, test: Callable[..., bool], numbers: range) -> list[bool]:
    """Return the verdicts of a test on some data sets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [bool(test(*tables(name, number))) for number in numbers]


def section(stored: dict[str, Any]) -> str:
    """Return the section of the documentation, from what was stored."""
    titles = ["pkex", "Before", "Columns", "evidently", "MMD"]
    lines = [f"| change | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]
    for name, found in stored["changes"].items():
        cells = [f"{np.mean(found[t]):.3f}" if found.get(t) else "" for t in titles]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    wide = ["| changed columns | named | detected | found |", "|---:|---:|---:|---:|"]
    for changed, rows in stored["wide"].items():
        means = np.mean(rows, axis=0)
        cells = [f"{mean:.3f}" if np.isfinite(mean) else "" for mean in means]
        wide.append(f"| {changed} | {' | '.join(cells)} |")
    sets = len(next(iter(stored["changes"].values()))["pkex"])
    return SECTION.format(
        rows=ROWS,
        sets=sets,
        before=min(len(each.get("Before", [])) for each in stored["changes"].values()),
        error=np.sqrt(LEVEL * (1.0 - LEVEL) / sets),
        permutations=PERMUTATIONS,
        wide=WIDE,
        wide_sets=len(next(iter(stored["wide"].values()))),
        batch=BATCH,
        reference=REFERENCE,
        batch_sets=len(stored["batch"]),
        batch_level=np.mean(np.array(stored["batch"]) <= LEVEL),
        batch_tenth=np.mean(np.array(stored["batch"]) <= 2.0 * LEVEL),
        table="\n".join(lines),
        wide_table="\n".join(wide),
    )


def main() -> None:
    """Simulate, print and store; what is stored is not simulated again."""
    parser = argparse.ArgumentParser(description="Power of the verdict, and levels.")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--before", action="store_true", help="store as the version before")
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args()
    stored: dict[str, Any] = {"changes": {}, "wide": {}}
    if options.out.exists():
        stored = json.loads(options.out.read_text(encoding="utf-8"))
    tests: dict[str, Any] = {"Before": before} if options.before else TESTS
    for start in range(0, options.sets, ROUND):
        stop = min(start + ROUND, options.sets)
        for name in CHANGES:
            entry = stored["changes"].setdefault(name, {})
            for test, run in tests.items():
                known = entry.setdefault(test, [])
                known += simulate(name, run, range(max(start, len(known)), stop))
        for changed in () if options.before else (0, WIDE // 2):
            rows = stored["wide"].setdefault(str(changed), [])
            rows += [look_at_many(k, changed) for k in range(max(start, len(rows)), stop)]
        if not options.before:
            p_values = stored.setdefault("batch", [])
            p_values += [batch_p_value(k) for k in range(len(p_values), stop)]
        options.out.write_text(json.dumps(stored) + "\n", encoding="utf-8")
        print(f"{stop} data sets", flush=True)
    for name, found in stored["changes"].items():
        print(name, {test: round(float(np.mean(each)), 3) for test, each in found.items()})
    if options.out == FILE and not options.before:
        from simulations.page import write_page

        write_page()


if __name__ == "__main__":
    main()
