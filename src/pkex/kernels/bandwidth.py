"""How far apart two rows of a table are: the medians that the median heuristic is made of."""

from __future__ import annotations

import numpy as np

from pkex._util.random import RandomState, sample_rows
from pkex._util.types import Floats

__all__ = ["median_distance", "median_distances"]

_HALVINGS = 12  # which leave about 1 in 4000 of the distances
_INTERPOLATED = 6  # steps, of which the first two go to the sample; then the range is halved
_SPREAD = 0.06  # of ranks of distances around the middle where that of a sample lies
_LEFT = 2e-3  # of all distances that are sorted, where a sample says which
_LARGEST = float(np.finfo(np.float64).max)


def median_distance(X: Floats, max_rows: int, random_state: RandomState) -> float:
    """Return the median Euclidean distance of two rows of `X`; 1 when all rows are equal.

    Where more than half of the pairs are equal, the median is over the pairs that are not.
    """
    from scipy.spatial.distance import pdist

    rows = sample_rows(X, max_rows, random_state)
    with np.errstate(over="ignore"):
        rows = rows - rows[0]
    scale = float(np.abs(rows).max(initial=0.0))
    if not 0.0 < scale < np.inf:
        return 1.0 if scale == 0.0 else _LARGEST
    median = _median(pdist(rows / scale))
    return min(median * scale, _LARGEST) if median * scale > 0.0 else scale


def median_distances(X: Floats, max_rows: int, random_state: RandomState) -> Floats:
    """Return the median distance in every column.

    In threads that would take longer: its steps are so short that they wait for each other.
    """
    rows = sample_rows(X, max_rows, random_state)
    return np.array([_median_of_column(column) for column in rows.T])


def _median_of_column(column: Floats) -> float:
    """Return `median_distance` of a single column, without all its distances.

    Of the sorted values the distances ``v_k - v_i`` grow with k. So how many of them are at most t
    is found by looking up each ``v_i + t``, and narrowing t's range leaves few to be sorted: first
    to where the middle of a sample of the distances is, then in between by their numbers, which
    grow evenly there; then by halves.
    """
    v = np.sort(column)
    with np.errstate(over="ignore"):
        scale = float(v[-1] - v[0])
    if not 0.0 < scale < np.inf:
        return 1.0 if scale == 0.0 else _LARGEST
    v = (v - v[0]) / scale
    n_rows = len(v)
    changes = np.flatnonzero(np.diff(v))
    counts = np.diff(changes, prepend=-1, append=n_rows - 1)  # of equal values
    n_pairs, n_equal = n_rows * (n_rows - 1) // 2, int((counts * (counts - 1) // 2).sum())
    skipped = n_equal if n_equal > n_pairs // 2 else 0
    left = n_pairs - skipped
    ranks = np.array([skipped + (left - 1) // 2, skipped + left // 2])

    after = np.arange(1, n_rows + 1)  # the rows after row i
    # the distances of row i to rows below starts[i] are at most low
    low, starts = -1.0, after.copy()
    high, stops = 1.0, np.full(n_rows, n_rows)
    n_low, n_high = 0, n_pairs
    guesses = _middle_of_sample(v, skipped)
    is_sampled = bool(guesses)
    few = 2.0 * _LEFT * n_pairs
    for step in range(_HALVINGS):
        if n_high - n_low <= few:
            break
        if guesses:
            middle = guesses.pop()
        elif is_sampled and step < _INTERPOLATED:
            # a little beside the middle ones, on the side where more is left
            aim = 0.5 * float(ranks.sum())
            aim += 0.5 * few if n_high - aim > aim - n_low else -0.5 * few
            middle = low + (high - low) * (aim - n_low) / (n_high - n_low)
        else:
            middle = 0.5 * (max(low, 0.0) + high)
        ends = np.maximum(np.searchsorted(v, v + middle, side="right"), after)
        below = int((ends - after).sum())
        if below <= ranks[0]:
            low, starts, n_low = middle, ends, below
        elif below > ranks[1]:
            high, stops, n_high = middle, ends, below
        else:  # between the two middle ones
            break
    number = stops - starts
    firsts = np.repeat(starts - np.cumsum(number) + number, number)
    distances = v[firsts + np.arange(len(firsts))] - np.repeat(v, number)
    places = ranks - int((starts - after).sum())
    median = float(np.partition(distances, places)[places].mean()) * scale
    return median if median > 0.0 else scale


def _middle_of_sample(v: Floats, skipped: int) -> list[float]:
    """Return distances that are likely just above and below the middle; none if some do not count.

    The sample has every row once with another, some way along.
    """
    n_rows = len(v)
    if skipped or n_rows < 256:
        return []
    others = (np.arange(n_rows) * int(0.618 * n_rows) + n_rows // 3) % n_rows
    sample = np.abs(v - v[others])
    places = [int((0.5 + side * _SPREAD) * n_rows) for side in (1.0, -1.0)]
    sample.partition(places)
    return [float(sample[place]) for place in places]


def _median(distances: Floats) -> float:
    median = float(np.median(distances)) if len(distances) else 0.0
    return median if median > 0.0 else float(np.median(distances[distances > 0.0]))
