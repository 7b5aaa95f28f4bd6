"""How often independent columns are said to depend on each other: at most one table in twenty.

    python -m simulations.dependence

Each line has the fraction of tables in which any pair of columns is found, and its standard error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pkex.tables.dependence import Dependence

__all__ = ["main"]

SHAPES = [(10, 2), (10, 30), (25, 6), (25, 30), (100, 2), (100, 30), (1000, 6)]
TABLES = 400


def categorical(rng: np.random.Generator, n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return columns of four categories, two of them rare."""
    codes = rng.choice(4, size=(n_rows, n_columns), p=[0.5, 0.48, 0.01, 0.01])
    return pd.DataFrame(np.array(list("abcd"))[codes]).astype("category")


KINDS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "Gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "binary, 2 ones a column": lambda rng, n, d: (rng.random((n, d)) < 2.0 / n).astype(float),
    "binary, 10 % ones": lambda rng, n, d: (rng.random((n, d)) < 0.1).astype(float),
    "90 % zeros": lambda rng, n, d: np.where(
        rng.random((n, d)) < 0.1, rng.exponential(size=(n, d)), 0.0
    ),
    "categories": categorical,
}


def main() -> None:
    """Print a line for each kind of columns and size of tables."""
    rng = np.random.default_rng(0)
    for kind, draw in KINDS.items():
        for shape in SHAPES:
            hits = [bool(Dependence(draw(rng, *shape)).pairs) for _ in range(TABLES)]
            rate = float(np.mean(hits))
            error = (rate * (1.0 - rate) / TABLES) ** 0.5
            print(f"{kind}, {shape[0]} x {shape[1]}: {rate:.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
