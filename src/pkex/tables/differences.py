"""How large a difference of two columns is: in standard errors, or as a normal quantile.

- shares, of missing cells or of a category, by the difference over its standard error, and by the
  chance of so many in one table where that error is of less than five of them;
- location by ``2 P(x < z) - 1``, Mann and Whitney's statistic, which few wild numbers do not move;
- spread by the same of the distances from the median of both tables;
- numbers outside the range of the first table by the chance of so many where nothing changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats

__all__ = ["adjust_size", "outside_size", "share_size", "superiority"]

_EXPECTED = 5.0  # cells, from which on a share has a standard error
_SMALLEST = 1e-300  # probability that has a quantile


def superiority(before: Floats, after: Floats) -> float:
    """Return how much more often a number of `after` is the larger one than the smaller one."""
    ordered = np.sort(before)
    below = np.searchsorted(ordered, after, "left") + np.searchsorted(ordered, after, "right")
    return float(below.mean() / len(before) - 1.0)


def outside_size(count: int, share: float) -> float:
    """Return the normal quantile of how many numbers of the second table are beyond the first.

    In random order k or more come before the first and after the last number of the first table
    with the probability `share`^k (1 + k (1 - `share`)), for the share of rows of the second.
    """
    from scipy.special import ndtri

    p_value = share**count * (1.0 + count * (1.0 - share))
    return -float(ndtri(max(p_value, _SMALLEST))) if count else 0.0


def share_size(counts: Sequence[int], totals: Sequence[int]) -> float:
    """Return the difference of two shares over its standard error if they were equal.

    Where that is an error of few cells, it says little: then it is the normal quantile of the
    chance of so many, or so few, of them in the second table.
    """
    if not all(totals):
        return 0.0
    pooled = sum(counts) / sum(totals)
    if 0.0 < min(pooled, 1.0 - pooled) < _EXPECTED / min(totals):
        if pooled <= 0.5:
            return _binomial_quantile(counts, totals)
        others = [total - count for count, total in zip(counts, totals, strict=True)]
        return -_binomial_quantile(others, totals)
    error = math.sqrt(pooled * (1.0 - pooled) * sum(1.0 / total for total in totals))
    difference = counts[1] / totals[1] - counts[0] / totals[0]
    return difference / error if error else 0.0


def _binomial_quantile(counts: Sequence[int], totals: Sequence[int]) -> float:
    """Return the normal quantile of how many of some cells are in the second table, by chance."""
    from scipy.special import bdtr, bdtrc, ndtri

    count, total, share = counts[1], sum(counts), totals[1] / sum(totals)
    fewer = float(bdtr(count, total, share))
    more = float(bdtrc(count - 1, total, share)) if count else 1.0
    if min(more, fewer) >= 0.5:
        return 0.0
    quantile = -float(ndtri(max(min(more, fewer), _SMALLEST)))
    return quantile if more < fewer else -quantile


def adjust_size(size: float, count: int) -> float:
    """Return the size that is as improbable by itself as this one is as the largest of some."""
    from scipy.special import ndtr, ndtri

    return max(0.0, -float(ndtri(max(min(0.5, count * float(ndtr(-size))), _SMALLEST))))
