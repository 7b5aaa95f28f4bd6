"""Means of Laplacian factors over rows, for many points at once, by sums from left to right.

For one column sort the rows and cut them into short blocks. Where r is the last row of a block and
z a point beyond it, ``exp(-(z - x)) = E exp(-(r - x))`` with ``E = exp(-(z - r))`` for every row x
up to there. So the sums V of factors and D of deficits over these rows, whose weight is W, go from
r to z, or to the end of the next block, by

    V <- E V,        D <- W (1 - E) + E D,

as ``1 - E k = (1 - E) + E (1 - k)``: nothing but positive numbers, so that both keep their digits.
The same holds from right to left. A point takes the sums of the blocks before its own, those of the
blocks behind it, and adds up its own block: the work grows like rows plus points times the length
of a block, not like their product.

In units in the last place, E and 1 - E are off by eight at most, so that a step costs twelve; W by
as many as there are blocks and rows in one; and the sum over a block by the rows of a block and the
eight of a factor: together ``13 (blocks + 2) + 2 (rows of a block) + 8``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkex.games.protocols import Factors

__all__ = ["laplace_means"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_LENGTH = 16  # rows of a block


def laplace_means(
    x: Floats, z: Floats, shares: Floats, scales: Floats, allowed: float
) -> Factors | None:
    """Return means of ``exp(-|x - z| / scales)`` over the rows of `x`, shape (columns, points).

    Parameters
    ----------
    x, z : arrays of shape (rows, columns) and (points, columns)
    shares : array of shape (rows,)
        The weights of the rows, which sum to 1.
    scales : array of shape (columns,)
    allowed : float
        By how many units in the last place they may be off; None is returned if it is too few.
    """
    n_blocks = -(-len(x) // _LENGTH)
    if 13.0 * (n_blocks + 2) + 2.0 * _LENGTH + 8.0 > allowed:
        return None
    order = np.argsort(x, axis=0)
    rows, weights = np.take_along_axis(x, order, axis=0), shares[order]
    more = n_blocks * _LENGTH - len(x)
    rows = np.concatenate([rows, np.repeat(rows[-1:], more, axis=0)])
    weights = np.concatenate([weights, np.zeros((more, x.shape[1]))])
    rows, weights = (part.T.reshape(x.shape[1], n_blocks, _LENGTH) for part in (rows, weights))
    deficits = np.empty((z.shape[1], len(z)))
    values = np.empty_like(deficits)
    with np.errstate(over="ignore", under="ignore"):
        rightwards = _swept(rows, weights, scales)
        leftwards = _swept(-rows[:, ::-1, ::-1], weights[:, ::-1, ::-1], scales)
        for column, scale in enumerate(scales):
            points = z[:, column]
            own = np.minimum(np.searchsorted(rows[column, :, -1], points), n_blocks - 1)
            away = np.abs(rows[column, own] - points[:, None]) / scale
            share = weights[column, own]
            u = np.einsum("ij,ij->i", share, -np.expm1(-away))
            for sweep, of_points, before in (
                (rightwards, points, own - 1),
                (leftwards, -points, n_blocks - 2 - own),
            ):
                u += sweep.deficits_at(column, of_points, before)
            k = 1.0 - u
            small = np.flatnonzero(u >= 0.5)  # here the digits are in the factors
            if small.size:
                k[small] = np.einsum("ij,ij->i", share[small], np.exp(-away[small]))
                k[small] += rightwards.values_at(column, points[small], own[small] - 1)
                before = n_blocks - 2 - own[small]
                k[small] += leftwards.values_at(column, -points[small], before)
            values[column], deficits[column] = k, u
    return Factors(values, deficits)


@dataclass(frozen=True)
class _Sweep:
    """Sums over all rows up to the ends of the blocks, arrays of shape (columns, blocks)."""

    ends: Floats
    values: Floats
    deficits: Floats
    weights: Floats
    scales: Floats

    def values_at(self, column: int, points: Floats, before: Indices) -> Floats:
        """Return the sums of factors over the blocks up to `before`, as seen from points."""
        decay = np.exp(-self._away(column, points, before))
        values: Floats = np.where(before >= 0, decay * self.values[column, before], 0.0)
        return values

    def deficits_at(self, column: int, points: Floats, before: Indices) -> Floats:
        """Return the sums of deficits."""
        change = np.expm1(-self._away(column, points, before))
        kept = self.deficits[column, before]
        sums = kept * (1.0 + change) - self.weights[column, before] * change
        found: Floats = np.where(before >= 0, sums, 0.0)
        return found

    def _away(self, column: int, points: Floats, before: Indices) -> Floats:
        """Return distances from the last blocks; -1 stands for none."""
        away: Floats = (points - self.ends[column, before]) / self.scales[column]
        return np.maximum(away, 0.0, out=away)


def _swept(rows: Floats, weights: Floats, scales: Floats) -> _Sweep:
    """Return the sums over sorted rows of shape (columns, blocks, rows of a block)."""
    ends, scale = rows[:, :, -1], scales[:, None]
    away = (ends[:, :, None] - rows) / scale[:, :, None]
    values = np.einsum("jbi,jbi->jb", weights, np.exp(-away))
    deficits = np.einsum("jbi,jbi->jb", weights, -np.expm1(-away))
    totals = np.cumsum(weights.sum(axis=2), axis=1)
    apart = np.diff(ends, axis=1) / scale
    decay, fresh = np.exp(-apart), totals[:, :-1] * -np.expm1(-apart)
    for block in range(1, rows.shape[1]):
        values[:, block] += decay[:, block - 1] * values[:, block - 1]
        deficits[:, block] += fresh[:, block - 1] + decay[:, block - 1] * deficits[:, block - 1]
    return _Sweep(ends, values, deficits, totals, scales)
