"""How often a column that has nothing to do with it is found, and one that has a little.

    python -m simulations.column_levels [--jobs 2]

Two columns change much, or the target depends on them; one a little; two not at all. Counted is in
how many data sets the p-value of a column's contribution is at most 0.05: by permuted labels (or
targets) alone, and as it is reported, which is the larger of that and the p-value by permuting the
column alone. By labels alone the columns that did not change are found too often when others
changed, and more often with more rows. The results go to simulations/column_levels.json and
docs/p_values.md.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

import pkex
from simulations.page import write, write_page

Floats = NDArray[np.float64]

ROOT = Path(__file__).parent.parent
LEVEL = 0.05
STRONG, WEAK, NONE = slice(0, 2), slice(2, 3), slice(3, 5)
ROWS = {60: 400, 200: 400, 1000: 200}  # rows, and data sets of so many

SECTION = """## If other columns changed

The p-value of a contribution has to hold its level also when *other* columns changed: a column
that did not change, and is independent of the others, should be significant at the level 0.05 in
5 % of the data sets. Permuted labels (or a permuted target) do not give that. They test that
nothing changed at all; once something did, the contribution of an unchanged column fluctuates like
$1/\\sqrt{{n}}$, and the band of the permutations shrinks like $1/n$. So pkex also permutes the
column by itself over all rows, and reports the larger p-value.

Five independent normal columns. *Changed*: two are shifted by 1.5 in the second sample and one
by 0.3 (MMD), or the target is $2 x_0 + 2 x_1 + 0.5 x_2$ and noise (HSIC). *Nothing*: both
samples are alike, or the target is noise. Rows are those of each sample, or of the table;
{permutations} permutations. The table has the fraction of data sets in which a column has $p \\le
0.05$, with its standard error.

{table}

Read the columns "irrelevant": by labels they are too large where others changed, and grow with
the number of rows; as reported they are 5 % or less, up to sampling noise. The loss of power for
the weak column is small.

Columns are permuted on all rows here, 2000 of them at most; where there are more, on 1500 at
random, which is exact as well. A column that depends on others has no such guarantee, also where
neither it nor these changed: permuting it by itself breaks the dependence.

(`python -m simulations.column_levels`)
"""


def two_samples(rng: np.random.Generator, n: int, changed: bool) -> pkex.Attribution:
    """Compare two samples."""
    X, Z = rng.normal(size=(2, n, 5))
    if changed:
        Z[:, STRONG] += 1.5
        Z[:, WEAK] += 0.3
    return pkex.mmd(X, Z, n_permutations=PERMUTATIONS, random_state=rng, n_jobs=1)


def a_target(rng: np.random.Generator, n: int, changed: bool) -> pkex.Attribution:
    """Look at the dependence of a target."""
    X, y = rng.normal(size=(n, 5)), rng.normal(size=n)
    if changed:
        y += 2.0 * X[:, STRONG].sum(axis=1) + 0.5 * X[:, WEAK].sum(axis=1)
    return pkex.hsic(X, y, n_permutations=PERMUTATIONS, random_state=rng, n_jobs=1)


PERMUTATIONS = 199
SETTINGS: dict[str, Any] = {
    f"{name}, {'changed' if changed else 'nothing'}": partial(run, changed=changed)
    for name, run in (("MMD", two_samples), ("HSIC", a_target))
    for changed in (True, False)
}


def found(run: Any, n: int, seed: list[int]) -> list[list[bool]]:
    """Return which columns are found by labels, and which as reported."""
    attribution = run(np.random.default_rng(seed), n)
    null = attribution.null_values
    slack = np.maximum(1e-9 * np.abs(null).max(axis=0), attribution.rounding)
    reached = (null >= attribution.values - slack).sum(axis=0)
    by_labels = (reached + 1.0) / (PERMUTATIONS + 1.0)
    return [(p <= LEVEL + 1e-12).tolist() for p in (by_labels, attribution.p_values)]


def summary(results: Floats) -> dict[str, Any]:
    """Return fractions of data sets, (data sets, tests, columns), with their standard errors."""
    parts = {}
    for k, test in enumerate(("labels", "reported")):
        for name, columns in (("weak", WEAK), ("irrelevant", NONE)):
            each = results[:, k, columns].mean(axis=1)
            error = float(each.std(ddof=1) / np.sqrt(len(each)))
            parts[f"{name}, {test}"] = [float(each.mean()), error]
    return parts


def section(stored: dict[str, Any]) -> str:
    """Return the section of the documentation, from what was stored."""
    titles = list(next(iter(stored["settings"].values())))
    rows = [f"| | data sets | {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) + 1)}"]
    for name, parts in stored["settings"].items():
        cells = [f"{share:.3f} ± {error:.3f}" for share, error in parts.values()]
        rows.append(f"| {name} | {stored['data_sets'][name]} | {' | '.join(cells)} |")
    return SECTION.format(table="\n".join(rows), permutations=stored["permutations"])


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description="Levels of the p-values of columns.")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    stored: dict[str, Any] = {"permutations": PERMUTATIONS, "settings": {}, "data_sets": {}}
    for n, data_sets in ROWS.items():
        for place, (name, run) in enumerate(SETTINGS.items()):
            tasks = (delayed(found)(run, n, [n, place, k]) for k in range(data_sets))
            results = np.array(Parallel(options.jobs)(tasks), dtype=float)
            title = f"{name}, {n} rows"
            stored["settings"][title] = summary(results)
            stored["data_sets"][title] = data_sets
            print(title, stored["settings"][title], flush=True)
    write(ROOT / "simulations" / "column_levels.json", json.dumps(stored, indent=1) + "\n")
    write_page()


if __name__ == "__main__":
    main()
