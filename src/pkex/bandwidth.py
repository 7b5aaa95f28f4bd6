"""The median heuristic: how wide a kernel should be for given data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from pkex._validation import brief

__all__ = [
    "MAX_ROWS",
    "RandomState",
    "generator",
    "median_distance",
    "median_distances",
    "some_rows",
]

Floats = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None

MAX_ROWS = 1000  # rows that the heuristic looks at
_LARGEST = float(np.finfo(np.float64).max)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for what scikit-learn and NumPy call a random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a non-negative integer, a Generator or a RandomState; got "
            f"{brief(random_state)}."
        ) from error


def median_distance(X: Floats, max_rows: int, random_state: RandomState) -> float:
    """Return the median Euclidean distance of two rows of `X`; 1 when all rows are equal.

    Where more than half of the pairs are equal, the median is over the pairs that are not.
    """
    rows = some_rows(X, max_rows, random_state)
    with np.errstate(over="ignore"):
        rows = rows - rows[0]
    scale = float(np.abs(rows).max(initial=0.0))
    if not 0.0 < scale < np.inf:
        return 1.0 if scale == 0.0 else _LARGEST
    median = _median(pdist(rows / scale))
    return min(median * scale, _LARGEST) if median * scale > 0.0 else scale


def median_distances(X: Floats, max_rows: int, random_state: RandomState) -> Floats:
    """Return the median distance in every column."""
    rows = some_rows(X, max_rows, random_state)
    every = [median_distance(column[:, None], max_rows, None) for column in rows.T]
    return np.array(every)


def some_rows(X: Floats, max_rows: int, random_state: RandomState) -> Floats:
    """Return a random subsample, which depends on the values of the rows but not on their order.

    So it is the same for permuted samples, which keeps permutation tests exact for any seed.
    """
    if len(X) <= max_rows:
        return X
    order = np.lexsort(X.T)
    return X[order[generator(random_state).choice(len(X), max_rows, replace=False)]]


def _median(distances: Floats) -> float:
    median = float(np.median(distances)) if len(distances) else 0.0
    return median if median > 0.0 else float(np.median(distances[distances > 0.0]))
