"""How far apart two rows of a table are: the medians that the median heuristic is made of."""

from __future__ import annotations

import numpy as np

from pkex._util.random import RandomState, some_rows
from pkex._util.types import Floats

__all__ = ["median_distance", "median_distances"]


_HALVINGS = 12  # which leave about 1 in 4000 of the distances
_LARGEST = float(np.finfo(np.float64).max)


def median_distance(X: Floats, max_rows: int, random_state: RandomState) -> float:
    """Return the median Euclidean distance of two rows of `X`; 1 when all rows are equal.

    Where more than half of the pairs are equal, the median is over the pairs that are not.
    """
    from scipy.spatial.distance import pdist

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
    return np.array([_median_of_column(column) for column in rows.T])


def _median_of_column(column: Floats) -> float:
    """Return `median_distance` of a single column, without all its distances.

    Of the sorted values the distances ``v_k - v_i`` grow with k. So how many of them are at most t
    is found by looking up each ``v_i + t``, and halving t's range leaves few to be sorted.
    """
    v = np.sort(column)
    with np.errstate(over="ignore"):
        scale = float(v[-1] - v[0])
    if not 0.0 < scale < np.inf:
        return 1.0 if scale == 0.0 else _LARGEST
    v = (v - v[0]) / scale
    n_rows = len(v)
    counts = np.unique(v, return_counts=True)[1]
    n_pairs, n_equal = n_rows * (n_rows - 1) // 2, int((counts * (counts - 1) // 2).sum())
    skipped = n_equal if n_equal > n_pairs // 2 else 0
    left = n_pairs - skipped
    ranks = np.array([skipped + (left - 1) // 2, skipped + left // 2])

    own = np.arange(1, n_rows + 1)
    low, starts = -1.0, own.copy()  # the distances of row i to rows below starts[i] are at most low
    high, stops = 1.0, np.full(n_rows, n_rows)
    for _ in range(_HALVINGS):
        middle = 0.5 * (max(low, 0.0) + high)
        ends = np.maximum(np.searchsorted(v, v + middle, side="right"), own)
        below = int((ends - own).sum())
        if below <= ranks[0]:
            low, starts = middle, ends
        elif below > ranks[1]:
            high, stops = middle, ends
        else:  # between the two middle ones
            break
    number = stops - starts
    firsts = np.repeat(starts - np.cumsum(number) + number, number)
    distances = v[firsts + np.arange(len(firsts))] - np.repeat(v, number)
    places = ranks - int((starts - own).sum())
    median = float(np.partition(distances, places)[places].mean()) * scale
    return median if median > 0.0 else scale


def _median(distances: Floats) -> float:
    median = float(np.median(distances)) if len(distances) else 0.0
    return median if median > 0.0 else float(np.median(distances[distances > 0.0]))
