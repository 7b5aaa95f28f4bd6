"""How large pairs of points are: what their rule, and the bounds of rounding, depend on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.kernels.messages import not_finite
from pkex.kernels.normal_form import Term

__all__ = ["FLOOR", "SLACK", "TAIL", "measure_extent"]


SLACK = 2.0**-50
"""How far a factor may leave [0, 1] by its own rounding."""
TAIL = 2.0**-10
"""The largest worth of a coalition below which errors are relative to it."""
FLOOR = 2.0**-960
"""The magnitude of a tail that underflows."""


def measure_extent(
    term: Term, factors: Floats, u: Floats, start: Floats | None, lower: float
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return lam of each pair, whether its factors are out of range, and its magnitude.

    Arrays have shape (players, pairs); the range is from `lower` to 1. In the tail, where all
    coalitions of a pair have little worth, lam and magnitude are relative to the largest worth.
    """
    lam = np.abs(u).sum(axis=0)
    if not np.isfinite(lam).all():
        raise not_finite(term)
    outside = np.zeros(lam.shape, dtype=bool)
    for ends in (factors,) if start is None else (factors, start):
        if ends.min() < lower - SLACK or ends.max() > 1.0 + SLACK:
            outside |= (ends.min(axis=0) < lower - SLACK) | (ends.max(axis=0) > 1.0 + SLACK)
    magnitudes = np.ones_like(lam)
    if start is None:
        return lam, outside, magnitudes
    with np.errstate(under="ignore"):
        largest = np.maximum(np.abs(factors), np.abs(start))
        worth = np.multiply.reduce(largest, axis=0)
        tail = (worth < TAIL) & ~outside
        if tail.any():
            sizes, changes = largest[:, tail], np.abs(u[:, tail])
            zeros = np.zeros_like(sizes)
            lam[tail] = np.divide(changes, sizes, out=zeros, where=sizes > 0.0).sum(axis=0)
            magnitudes[tail] = np.maximum(worth[tail], FLOOR)
    return lam, outside, magnitudes
