"""Which columns a target depends on, and with the roles exchanged: the wine data.

    python examples/dependence.py [FOLDER]

The target has three columns, the colour of the wine. The first attribution splits its dependence on
the other measurements among them, the second splits the same dependence among the three columns of
the target. Writes ``dependence.png``, the first of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sklearn.datasets import load_wine

import pkex

mpl.use("Agg")


def main() -> None:
    """Attribute in both directions, print and draw."""
    wine = load_wine(as_frame=True).data
    colour = ["color_intensity", "hue", "od280/od315_of_diluted_wines"]
    X, Y = wine.drop(columns=colour), wine[colour]
    options: dict[str, Any] = {
        "kernel": "median-per-column",
        "target_kernel": "median-per-column",
        "n_permutations": 500,
        "random_state": 0,
    }
    columns, targets = pkex.hsic(X, Y, **options), pkex.hsic(Y, X, **options)
    print(columns)
    print(targets)
    gap = abs(columns.statistic - targets.statistic)
    print(f"Both results split one statistic; the difference of the two is {gap:.1e}.")

    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "dependence.png"
    columns.plot().figure_.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
