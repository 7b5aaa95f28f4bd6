"""Which columns make two samples differ: the diabetes data, women and men.

    python examples/drift.py [FOLDER]

Columns have different units, so the kernel has a length scale per column; ``sex`` is left out.
Writes ``drift.png``: the contribution of every column to MMD^2 over its null band, and the
marginals of the three columns with the largest contributions.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_diabetes

import pkex

mpl.use("Agg")


def main() -> None:
    """Compare, print and draw."""
    X = load_diabetes(as_frame=True, scaled=False).data
    some, others = (X[X["sex"] == sex].drop(columns="sex") for sex in (1, 2))
    attribution = pkex.mmd(
        some, others, kernel="median-per-column", n_permutations=500, random_state=0
    )
    print(attribution)
    print(attribution.to_frame().round(4))
    gap = abs(attribution.value(attribution.feature_names) - attribution.statistic)
    print(f"The difference between the statistic and the sum of contributions is {gap:.1e}.")

    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "drift.png"
    attribution.plot().figure_.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
