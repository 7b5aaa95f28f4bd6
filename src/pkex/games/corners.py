"""Products of factors in two variables t and s, and integrals of them by a rule in each.

`pkex.games.covariance` says where they come from: each variable goes from a background row to a
row that is explained.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.rules import Rule

__all__ = ["Corners", "Square", "at_nodes", "integrate_diagonal", "leave_one_out", "square_of"]


class Corners(NamedTuple):
    """Deficits of the players' factors with both rows at x, one, the other and none of them.

    Arrays of shape (players, rows, pairs), pairs of background rows.
    """

    both: Floats
    first: Floats
    second: Floats
    none: Floats

    def cut(self, rows: slice, pairs: slice) -> Corners:
        """Return the corners of some rows and pairs."""
        return Corners(*(part[:, rows, pairs] for part in self))

    def take(self, rows: Indices) -> Corners:
        """Return the corners of chosen rows; contiguous, as indexing would not be."""
        return Corners(*(np.take(part, rows, axis=1) for part in self))

    @property
    def lam(self) -> Floats:
        """The largest lam of each row in either direction; see `pkex.games.covariance`."""
        changes = (
            self.both - self.second,
            self.first - self.none,
            self.both - self.first,
            self.second - self.none,
        )
        sums = [np.abs(change).sum(axis=0).max(axis=1) for change in changes]
        largest: Floats = np.max(sums, axis=0)
        return largest

    @property
    def lowest(self) -> Floats:
        """The smallest factor of each row."""
        smallest: Floats = 1.0 - np.max([part.max(axis=0).max(axis=1) for part in self], axis=0)
        return smallest

    @property
    def highest(self) -> Floats:
        """The largest factor of each row."""
        largest: Floats = 1.0 - np.min([part.min(axis=0).min(axis=1) for part in self], axis=0)
        return largest


class Square(NamedTuple):
    """The tensor product of a rule with itself: what corners are multiplied by at its nodes."""

    at: Floats
    in_t: Floats
    in_s: Floats
    weights: Floats


@lru_cache(maxsize=32)
def square_of(rule: Rule) -> Square:
    """Return the nodes for f and for its two derivatives, of shape (4, nodes), and the weights."""
    t, s = (part.ravel() for part in np.meshgrid(*[rule.nodes] * 2, indexing="ij"))
    weights = np.outer(rule.weights, rule.weights).ravel()
    at = np.stack([t * s, t * (1.0 - s), (1.0 - t) * s, (1.0 - t) * (1.0 - s)])
    in_t = np.stack([s, 1.0 - s, -s, s - 1.0])
    in_s = np.stack([t, -t, 1.0 - t, t - 1.0])
    return Square(at, in_t, in_s, weights)


def at_nodes(corners: Corners, basis: Floats, start: float) -> Floats:
    """Return factors or derivatives at all nodes, shape (players, rows * pairs * nodes)."""
    stacked = np.stack(corners, axis=-1)
    products: Floats = stacked.reshape(-1, 4) @ basis
    np.subtract(start, products, out=products)
    return products.reshape(len(stacked), -1)


def integrate_diagonal(corners: Corners, square: Square) -> Floats:
    """Return the integrals of the diagonal for each pair, shape (players, rows, pairs)."""
    at, _, _, weights = square
    others = leave_one_out(at_nodes(corners, at, 1.0), 1.0)
    integrals = (others.reshape(-1, len(weights)) @ weights).reshape(corners.first.shape)
    change = corners.first + corners.second - corners.both - corners.none
    variances: Floats = change * integrals
    return variances


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
