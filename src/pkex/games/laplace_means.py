"""Means of Laplacian factors over rows, for many points at once, by sums from left to right.

For one column sort the rows. Where r is a row and z a place beyond it, every row x up to r has
``exp(-(z - x)) = E exp(-(r - x))`` with ``E = exp(-(z - r))``. So the sums V of factors and D of
deficits over these rows, whose weight is W, go from r to z by

    V <- E V,        D <- W (1 - E) + E D = D + (1 - E) (W - D),

as ``1 - E k = (1 - E) + E (1 - k)``: both terms are positive, so that V and D keep their digits.
What W - D rounds or lacks is at most as much of W, and is multiplied by 1 - E as W is in the sum.
A row that is met adds its weight to V and W, and nothing to D. The same holds from right to left. A
point takes the sums at its neighbours on both sides, so that the work grows like rows plus points,
not like their product.

A step from row to row would add to the error every time. So rows are cut into blocks: sums over the
rows of a block go from row to row, those over whole blocks from end to end of these, and a row adds
the latter, seen from it, to the former.

In units in the last place, E and 1 - E are off by eight at most, so that a step costs twelve, and W
by as many as there are blocks and rows in one. A number takes as many steps as a block has rows, as
there are blocks, one to its row and one to the point: ``13 (blocks + rows of a block + 3)`` in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.protocols import Factors

__all__ = ["laplace_means"]


_AT_ONCE = 2**16  # points of columns that are looked at together: 512 KiB


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
    length = math.isqrt(len(x) - 1) + 1
    n_blocks = -(-len(x) // length)
    if 13.0 * (n_blocks + length + 3) > allowed:
        return None
    columns = np.ascontiguousarray(x.T)
    order = np.argsort(columns, axis=1)
    rows, weights = np.take_along_axis(columns, order, axis=1), shares[order]
    more = ((0, 0), (0, n_blocks * length - len(x)))
    rows, weights = np.pad(rows, more, mode="edge"), np.pad(weights, more)
    deficits = np.empty((z.shape[1], len(z)))
    values = np.empty_like(deficits)
    with np.errstate(over="ignore", under="ignore"):
        rightwards = _Sweep(rows, weights, scales, length)
        leftwards = _Sweep(-rows[:, ::-1], weights[:, ::-1], scales, length)
        step = max(1, _AT_ONCE // len(z))
        for start in range(0, len(rows), step):
            some = np.arange(start, min(start + step, len(rows)))[:, None]
            points = z.T[some[:, 0]]
            pairs = zip(rows[some[:, 0]], points, strict=True)
            last = np.stack([np.searchsorted(one, at, side="right") for one, at in pairs]) - 1
            after = rows.shape[1] - 2 - last
            u = rightwards.deficits_at(some, points, last)
            u += leftwards.deficits_at(some, -points, after)
            k = 1.0 - u
            small = np.nonzero(u >= 0.5)  # here the digits are in the factors
            if len(small[0]):
                which, at = some[small[0], 0], points[small]
                k[small] = rightwards.values_at(which, at, last[small])
                k[small] += leftwards.values_at(which, -at, after[small])
            here = slice(start, start + step)
            values[here], deficits[here] = k, u
    return Factors(values, deficits)


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Sums over the rows up to each row, seen from there.

    Attributes
    ----------
    rows, weights : arrays of shape (columns, rows)
        Sorted.
    scales : array of shape (columns,)
    length : int
        Rows of a block; their number is a multiple of it.
    """

    rows: Floats
    weights: Floats
    scales: Floats
    length: int

    def values_at(self, columns: Indices, points: Floats, before: Indices) -> Floats:
        """Return the sums of factors over the rows up to `before`, as seen from points."""
        decay = np.exp(-self._away(columns, points, before))
        values: Floats = np.where(before >= 0, decay * self.values[columns, before], 0.0)
        return values

    def deficits_at(self, columns: Indices, points: Floats, before: Indices) -> Floats:
        """Return the sums of deficits."""
        change = np.expm1(-self._away(columns, points, before))
        kept = self.deficits[columns, before]
        sums = kept + change * (kept - self.totals[columns, before])
        deficits: Floats = np.where(before >= 0, sums, 0.0)
        return deficits

    def _away(self, columns: Indices, points: Floats, before: Indices) -> Floats:
        """Return distances from the last rows; -1 stands for none."""
        away: Floats = (points - self.rows[columns, before]) / self.scales[columns]
        return np.maximum(away, 0.0, out=away)

    @lazy
    def totals(self) -> Floats:
        """The weights W, shape (columns, rows)."""
        inside = self._by_row(self.weights).cumsum(axis=0)
        inside[:, :, 1:] += inside[-1].cumsum(axis=1)[:, :-1]
        return self._flat(inside)

    @lazy
    def values(self) -> Floats:
        """The factors V, shape (columns, rows)."""
        values = self._by_row(self.weights)
        within, across = (np.exp(-away) for away in self._apart)
        for row, decay in enumerate(within, 1):
            values[row] += decay * values[row - 1]
        ends = values[-1].copy()
        for block in range(1, ends.shape[1]):
            ends[:, block] += across[-1, :, block - 1] * ends[:, block - 1]
        values[:, :, 1:] += across * ends[:, :-1]
        return self._flat(values)

    @lazy
    def deficits(self) -> Floats:
        """The deficits D, shape (columns, rows)."""
        totals = self._by_row(self.weights).cumsum(axis=0)
        deficits = np.zeros_like(totals)
        within, across = (-np.expm1(-away) for away in self._apart)
        for row, fresh in enumerate(within, 1):
            deficits[row] = deficits[row - 1] + fresh * (totals[row - 1] - deficits[row - 1])
        weights, ends = totals[-1].cumsum(axis=1), deficits[-1].copy()
        for block in range(1, ends.shape[1]):
            before = ends[:, block - 1]
            fresh = across[-1, :, block - 1] * (weights[:, block - 1] - before)
            ends[:, block] += before + fresh
        deficits[:, :, 1:] += ends[:, :-1] + across * (weights[:, :-1] - ends[:, :-1])
        return self._flat(deficits)

    @lazy
    def _apart(self) -> tuple[Floats, Floats]:
        """From row to row of a block, and to each row from the last one of the block before."""
        rows, scale = self._by_row(self.rows), self.scales[:, None]
        return np.diff(rows, axis=0) / scale, (rows[:, :, 1:] - rows[-1, :, :-1]) / scale

    def _by_row(self, table: Floats) -> Floats:
        """Return a copy of shape (rows of a block, columns, blocks)."""
        blocks = table.reshape(len(table), -1, self.length)
        return np.ascontiguousarray(np.moveaxis(blocks, 2, 0))

    def _flat(self, blocks: Floats) -> Floats:
        """Return it in the shape of the rows again."""
        return np.moveaxis(blocks, 0, 2).reshape(self.rows.shape)
