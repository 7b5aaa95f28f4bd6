"""Whether p-values by permuted labels are uniform where nothing differs or depends.

    python -m simulations.null_uniformity

Each setting draws data sets under the null hypothesis and takes the p-values of the statistic and
of every column. With B permutations they are multiples of 1 / (B + 1); a uniform number below that
step is subtracted from each, after which they are uniform on [0, 1] if the test is exact. That is
tested by Kolmogorov and Smirnov, and the smallest p-value of these tests is adjusted for their
number (Holm). With the paper's game, whose p-values are by labels alone; those of the default game
are the subject of `simulations.column_levels`. The results go to simulations/null_uniformity.json
and docs/p_values.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kstest

import pkex
from pkex.statistics import pair_weights as weights
from simulations.page import write, write_page

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Any]
Run = Callable[[np.random.Generator, int], pkex.Attribution]

ROOT = Path(__file__).parent.parent
N, M, D = 40, 30, 4
LEVELS = (0.01, 0.05, 0.1)
PAPER: dict[str, Any] = {"kernel": "median", "removal": "neutral"}

SECTION = """## If nothing differs

A permutation test is exact: where the two samples come from one distribution, or the target is
independent of the columns, its p-values are uniform, whatever the distribution and the number of
rows. This simulation has {data_sets} data sets for each line, with {permutations}
permutations and {columns} correlated columns, with `removal="neutral"`, whose p-values of columns
come from permuted labels only. The table shows how often the p-value of the
statistic, and that of a column, is at most 0.01, 0.05 and 0.1, and the p-values of
Kolmogorov-Smirnov tests (KS) of uniformity, for the columns the smallest of {columns}.

{table}

Of the {tests} Kolmogorov-Smirnov tests the smallest p-value is {smallest:.3g}, which adjusted for
their number (Holm) is {adjusted:.2g}: {verdict}. The samples have {n} and {m} rows, or {n} rows
with a target. "Rows joined" are permuted a few at a time, as is done with more than {units} rows.

(`python -m simulations.null_uniformity`)
"""


def numbers(rng: np.random.Generator, n: int) -> Floats:
    """Correlated columns, one of them skew and one with heavy tails."""
    X = rng.normal(size=(n, D)) + rng.normal(size=(n, 1))
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] = X[:, 2] ** 3
    return X


def table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two columns of numbers, one of text, one of booleans, all of them dependent."""
    X = numbers(rng, n)
    text = np.array(["low", "middle", "high"])[np.digitize(X[:, 2], [-1.0, 1.0])]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "text": text, "flag": X[:, 3] > 0.0})


def two_samples(draw: Draw, **options: Any) -> Run:
    """Return a test of two samples from one distribution."""
    options = PAPER | options
    return lambda rng, B: pkex.mmd(
        draw(rng, N), draw(rng, M), n_permutations=B, random_state=rng, n_jobs=1, **options
    )


def a_target(draw: Draw, **options: Any) -> Run:
    """Return a test of columns with a target that is independent of them."""
    options = PAPER | {"estimator": "biased"} | options
    return lambda rng, B: pkex.hsic(
        numbers(rng, N), draw(rng, N), n_permutations=B, random_state=rng, n_jobs=1, **options
    )


def classes(rng: np.random.Generator, n: int) -> NDArray[np.str_]:
    """Three classes, of unequal size."""
    return rng.choice(["a", "b", "c"], size=n, p=[0.6, 0.3, 0.1])


def joined(run: Run) -> Run:
    """Permute several rows at a time: 10 + 7 units of four, and two single rows."""

    def with_units(rng: np.random.Generator, B: int) -> pkex.Attribution:
        with mock.patch.multiple(weights, UNITS=20, _FEWEST_UNITS=5):
            return run(rng, B)

    return with_units


def drift(n: int, kernel: str) -> Run:
    """Return a test of a sample against reference data."""
    return lambda rng, B: (
        pkex.MMDDrift(kernel, removal="neutral", n_permutations=B, random_state=rng, n_jobs=1)
        .fit(numbers(rng, n))
        .explain(numbers(rng, M))
    )


SETTINGS: dict[str, Run] = {
    "MMD, unbiased": two_samples(numbers),
    "MMD, biased": two_samples(numbers, estimator="biased"),
    "MMD, a length scale per column": two_samples(numbers, kernel="median-per-column"),
    "MMD, numbers and categories": two_samples(table),
    "MMD, rows joined": joined(two_samples(numbers)),
    "MMD, rows joined, categories": joined(two_samples(table, estimator="biased")),
    "MMD, blocks of 24 rows": two_samples(numbers, block_size=24),
    "MMDDrift, 10 reference rows": drift(10, "median"),
    "MMDDrift, 10 rows, per column": drift(10, "median-per-column"),
    "HSIC, numbers": a_target(lambda rng, n: rng.normal(size=n)),
    "HSIC, numbers, unbiased": a_target(lambda rng, n: rng.normal(size=n), estimator="unbiased"),
    "HSIC, several targets": a_target(lambda rng, n: numbers(rng, n)[:, :2]),
    "HSIC, classes": a_target(classes),
    "HSIC, classes, unbiased": a_target(classes, estimator="unbiased"),
    "HSIC, blocks of 12 rows": a_target(lambda rng, n: rng.normal(size=n), block_size=12),
}


def simulate(run: Run, data_sets: int, permutations: int, seed: list[int]) -> Floats:
    """Return the p-values, that of the statistic first, shape (data_sets, 1 + columns)."""
    found = []
    for number in range(data_sets):
        attribution = run(np.random.default_rng([*seed, number]), permutations)
        assert attribution.p_values is not None
        found.append([attribution.p_statistic, *attribution.p_values])
    return np.array(found)


def summary(p: Floats, permutations: int, seed: list[int]) -> dict[str, Any]:
    """Return how often the p-values are small, and how uniform they are."""
    spread = np.random.default_rng(seed).random(p.shape) / (permutations + 1)
    tests = [float(kstest(column, "uniform").pvalue) for column in (p - spread).T]
    small = [(p <= level + 1e-12) for level in LEVELS]
    return {
        "statistic": {str(a): float(s[:, 0].mean()) for a, s in zip(LEVELS, small, strict=True)},
        "columns": {str(a): float(s[:, 1:].mean()) for a, s in zip(LEVELS, small, strict=True)},
        "kolmogorov_smirnov": tests,
    }


def lines(results: dict[str, Any]) -> list[str]:
    """Return the rows of a Markdown table."""
    heads = ["", *(f"p <= {a}" for a in LEVELS), "KS", *(f"column: {a}" for a in LEVELS), "KS"]
    rows = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    for name, one in results.items():
        first, *columns = one["kolmogorov_smirnov"]
        cells = [
            name,
            *(f"{share:.3f}" for share in one["statistic"].values()),
            f"{first:.2f}",
            *(f"{share:.3f}" for share in one["columns"].values()),
            f"{min(columns):.2f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def section(stored: dict[str, Any]) -> str:
    """Return the section of the documentation, from what was stored."""
    results, adjusted = stored["settings"], stored["smallest_adjusted"]
    n, m = stored["rows"]
    return SECTION.format(
        units=weights.UNITS,
        data_sets=stored["data_sets"],
        permutations=stored["permutations"],
        columns=stored["columns"],
        table="\n".join(lines(results)),
        tests=sum(len(one["kolmogorov_smirnov"]) for one in results.values()),
        smallest=stored["smallest"],
        adjusted=adjusted,
        verdict="uniformity is not rejected" if adjusted > 0.05 else "not uniform",
        n=n,
        m=m,
    )


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description="Check that p-values are uniform under the null.")
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=199)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for place, (name, run) in enumerate(SETTINGS.items()):
        p = simulate(run, options.data_sets, options.permutations, [0, place])
        results[name] = summary(p, options.permutations, [1, place])
        print(*lines({name: results[name]})[2 * (place > 0) :], sep="\n", flush=True)
    tests = [p for one in results.values() for p in one["kolmogorov_smirnov"]]
    adjusted = min(1.0, min(tests) * len(tests))
    stored = {
        "data_sets": options.data_sets,
        "permutations": options.permutations,
        "rows": [N, M],
        "columns": D,
        "smallest": min(tests),
        "smallest_adjusted": adjusted,
        "settings": results,
    }
    print(f"smallest of {len(tests)} p-values: {min(tests):.3g}, adjusted {adjusted:.2g}")
    write(ROOT / "simulations" / "null_uniformity.json", json.dumps(stored, indent=1) + "\n")
    write_page()
    if adjusted < 0.001:
        raise SystemExit("The p-values are not uniform.")


if __name__ == "__main__":
    main()
