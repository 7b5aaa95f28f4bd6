"""Products of factors in two variables t and s, and integrals of them by a rule in each.

`pkex.games.covariance` says where they come from: each variable goes from a background row to a
row that is explained. A *cell* is two such rows and a pair of background rows. Its corners, the
deficits of each player's factor, are in `Cells`, where rows and background rows share them; NumPy
lays them out for some cells at a time (`Corners`), the compiled loops read them where they are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.backend import native
from pkex.games.blocks import rectangle
from pkex.games.rules import Rule

__all__ = [
    "Cells",
    "Corners",
    "Extents",
    "Square",
    "at_nodes",
    "integrate_diagonal",
    "integrate_products",
    "leave_one_out",
    "measure_cells",
    "square_of",
]

_CORNERS = 2**17  # corners that are laid out at once to be measured: 1 MiB
_PADDED = 8  # the compiled loops take a multiple of as many nodes


class Corners(NamedTuple):
    """Deficits of the players' factors with both rows at x, one, the other and none of them.

    Arrays of shape (players, rows, pairs), pairs of background rows.
    """

    both: Floats
    first: Floats
    second: Floats
    none: Floats


class Cells(NamedTuple):
    """All corners of some rows, each of which names two points, and some pairs of background rows.

    Attributes
    ----------
    both : array of shape (players, rows)
    beside : array of shape (players, points, background rows)
        With one at a point and the other at a background row.
    none : array of shape (players, pairs)
    left, right : arrays of int, shape (rows,)
        The two points: t goes to the left one from the first background row of a pair, s to the
        right one from the second.
    first, second : arrays of int, shape (pairs,)
    """

    both: Floats
    beside: Floats
    none: Floats
    left: Indices
    right: Indices
    first: Indices
    second: Indices

    @staticmethod
    def of(both: Floats, beside: Floats, none: Floats, *places: Indices) -> Cells:
        """Return cells whose deficits are contiguous, as the compiled loops want them."""
        both, beside, none = (np.ascontiguousarray(part) for part in (both, beside, none))
        return Cells(both, beside, none, *places)

    def take(self, rows: Indices) -> Cells:
        """Return the cells of chosen rows."""
        both = np.take(self.both, rows, axis=1)
        return self._replace(both=both, left=self.left[rows], right=self.right[rows])

    def cut(self, rows: slice, pairs: slice) -> Cells:
        """Return the cells of some rows and pairs, without a copy where these are all."""
        if rows.stop - rows.start == len(self.left) and pairs.stop - pairs.start == len(self.first):
            return self
        both, none = (
            np.ascontiguousarray(part[:, some])
            for part, some in ((self.both, rows), (self.none, pairs))
        )
        left, right, first, second = (
            part[some] for part, some in zip(self[3:], (rows, rows, pairs, pairs), strict=True)
        )
        return Cells(both, self.beside, none, left, right, first, second)

    def corners(self) -> Corners:
        """Return the corners cell by cell."""
        shape = (*self.both.shape, len(self.first))
        return Corners(
            np.broadcast_to(self.both[:, :, None], shape),
            # contiguous, as indexing would not be
            np.take(np.take(self.beside, self.left, axis=1), self.second, axis=2),
            np.take(np.take(self.beside, self.right, axis=1), self.first, axis=2),
            np.broadcast_to(self.none[:, None], shape),
        )


class Extents(NamedTuple):
    """What the choice of a rule asks of the cells of each row, arrays of shape (rows,).

    Attributes
    ----------
    lam : array
        The largest lam in either direction; see `pkex.games.covariance`.
    lowest, highest : array
        The smallest and the largest factor.
    """

    lam: Floats
    lowest: Floats
    highest: Floats


class Square(NamedTuple):
    """The tensor product of a rule with itself: what corners are multiplied by at its nodes."""

    at: Floats
    in_t: Floats
    in_s: Floats
    weights: Floats
    packed: Floats
    """All of them with nodes of weight 0 at the end, shape (13, nodes), for the compiled loops."""


@lru_cache(maxsize=32)
def square_of(rule: Rule) -> Square:
    """Return the square of a rule, shape (4, nodes) for each of the three."""
    t, s = (part.ravel() for part in np.meshgrid(*[rule.nodes] * 2, indexing="ij"))
    weights = np.outer(rule.weights, rule.weights).ravel()
    at = np.stack([t * s, t * (1.0 - s), (1.0 - t) * s, (1.0 - t) * (1.0 - s)])
    in_t = np.stack([s, 1.0 - s, -s, s - 1.0])
    in_s = np.stack([t, -t, 1.0 - t, t - 1.0])
    table = np.concatenate([at, in_t, in_s, weights[None]])
    packed = np.pad(table, ((0, 0), (0, -len(weights) % _PADDED)))
    return Square(at, in_t, in_s, weights, packed)


def measure_cells(cells: Cells) -> Extents:
    """Return what the choice of a rule asks of the cells of each row."""
    n_rows, compiled = len(cells.left), native()
    measures = np.empty((3, n_rows))
    if compiled is not None:
        # sums that are of one background row alone are made once for each of them
        once = (np.flatnonzero(np.bincount(part)) for part in (cells.first, cells.second))
        compiled.measure_cells(*cells, *once, measures)
    else:
        step = max(1, _CORNERS // cells.none.size)
        for some, _ in rectangle(n_rows, 1, step):
            corners = cells.cut(some, slice(0, len(cells.first))).corners()
            both, first, second, none = corners
            changes = both - second, first - none, both - first, second - none
            sums = [np.abs(change).sum(axis=0).max(axis=1) for change in changes]
            np.max(sums, axis=0, out=measures[0, some])
            np.max([part.max(axis=(0, 2)) for part in corners], axis=0, out=measures[1, some])
            np.min([part.min(axis=(0, 2)) for part in corners], axis=0, out=measures[2, some])
    lam, largest, smallest = measures
    return Extents(lam, 1.0 - largest, 1.0 - smallest)


def at_nodes(corners: Corners, basis: Floats, start: float) -> Floats:
    """Return factors or derivatives at all nodes, shape (players, rows * pairs * nodes)."""
    stacked = np.stack(corners, axis=-1)
    products: Floats = stacked.reshape(-1, 4) @ basis
    np.subtract(start, products, out=products)
    return products.reshape(len(stacked), -1)


def integrate_diagonal(cells: Cells, square: Square, shares: Floats) -> Floats:
    """Return the weighted sums over pairs of the integrals of the diagonal, (rows, players)."""
    compiled = native()
    if compiled is not None:
        sums = np.empty(cells.both.shape[::-1])
        compiled.integrate_cells(*cells, square.packed, shares, sums)
        return sums
    corners = cells.corners()
    others = leave_one_out(at_nodes(corners, square.at, 1.0), 1.0)
    integrals = (others.reshape(-1, len(square.weights)) @ square.weights).reshape(
        corners.first.shape
    )
    change = corners.first + corners.second - corners.both - corners.none
    variances: Floats = ((change * integrals) @ shares).T
    return variances


def integrate_products(cells: Cells, square: Square, shares: Floats) -> Floats:
    """Return the weighted sums of the integrals of every two players, for factors not negative.

    Of shape (rows, players, players), without the diagonal. Derivatives are divided by their
    factors; 0 / 0 stands for 0.
    """
    n_players, n_rows = cells.both.shape
    compiled = native()
    if compiled is not None:
        matrices = np.empty((n_rows, n_players, n_players))
        compiled.multiply_cells(*cells, square.packed, shares, matrices)
        return matrices
    corners = cells.corners()
    f = at_nodes(corners, square.at, 1.0)
    worth = np.multiply.reduce(f, axis=0)
    worth *= np.tile(np.outer(shares, square.weights).ravel(), n_rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(f > 0.0, 1.0 / f, 0.0)
    left = at_nodes(corners, square.in_t, 0.0) * inverse
    left *= worth
    right = at_nodes(corners, square.in_s, 0.0) * inverse
    left, right = (part.reshape(n_players, n_rows, -1) for part in (left, right))
    products: Floats = left.transpose(1, 0, 2) @ right.transpose(1, 2, 0)
    return products


def leave_one_out(f: Floats, weights: Floats | float) -> Floats:
    """Return ``weights`` times the product of all rows of `f` but one, for each row."""
    result = np.empty_like(f)
    result[0] = weights
    for j in range(1, len(f)):
        np.multiply(result[j - 1], f[j - 1], out=result[j])
    after = f[-1].copy()
    for j in range(len(f) - 2, -1, -1):
        result[j] *= after
        after *= f[j]
    return result
