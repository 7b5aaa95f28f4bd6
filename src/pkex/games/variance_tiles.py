"""The variance of a sum of atoms, one tile of pairs: what `pkex.games.variances` adds up.

A pair of atoms has the factors ``a_j = l_j r_j`` of absent players, products of two means, and
``a_j + c_j`` of present ones, with the covariance c_j. The value of player j is an integral over t,

    c_j prod_{i != j} (a_i + t c_i),

at t = 0 the first order, at t = 1 the total, and over [0, 1] the Shapley effect. So small values
keep their digits, as each is a multiple of c_j. The integral takes a Gauss rule: the exact one up
to a number of players, else of the general game (`pkex.games.rules`) the cheapest that covers the
pair, with ``lam = sum_j |c_j| / max(|a_j|, |a_j + c_j|)``. Its error is relative to the largest
worth that a coalition may have, ``prod_j max(|a_j|, |a_j + c_j|)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.backend import native
from pkex.games.rules import Rule, exact, general_ladder

__all__ = ["NO_RULES", "ShortColumns", "TileRules", "TileSums", "rules_of", "sum_tile"]

_EXACT = 16  # players up to which the exact rule costs less than a choice


class TileSums(NamedTuple):
    """Sums over the pairs of a tile.

    Attributes
    ----------
    indices : array of shape (3, players, outputs)
        First order, total, and Shapley effects, which are 0 without rules.
    totals : array of shape (outputs,)
        Products of all present factors.
    rules : tuple of Rule
        Those that were used.
    """

    indices: Floats
    totals: Floats
    rules: tuple[Rule, ...]


class ShortColumns(NamedTuple):
    """Columns of few numbers, whose products are the covariances of atoms (`Compression`).

    Attributes
    ----------
    numbers : array of shape (numbers, atoms)
        Those of all players, one after the other.
    starts : integer array of shape (players + 1,)
        Where those of each player begin, and where the last one's end.
    """

    numbers: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, short: Sequence[Floats]) -> ShortColumns:
        """Return the columns of all players, each of shape (rank, atoms)."""
        lengths = [0, *(len(columns) for columns in short)]
        return cls(np.concatenate(short), np.cumsum(lengths, dtype=np.int64))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many numbers each player has."""
        return np.diff(self.starts)

    def multiply(self, first: slice, second: slice) -> Floats:
        """Return the covariances of two blocks of atoms, shape (players, first, second)."""
        parts = np.split(self.numbers, self.starts[1:-1])
        return np.stack([part[:, first].T @ part[:, second] for part in parts])

    def variances(self) -> Floats:
        """Return the variances of the factors, shape (players, atoms)."""
        parts = np.split(self.numbers, self.starts[1:-1])
        return np.stack([np.einsum("ra,ra->a", part, part) for part in parts])


class TileRules(NamedTuple):
    """Gauss rules for pairs, cheapest first, and the same as arrays one after the other."""

    rules: tuple[Rule, ...]
    sizes: NDArray[np.int64]
    limits: Floats
    nodes: Floats
    weights: Floats

    @classmethod
    def of(cls, rules: Sequence[Rule], limits: Sequence[float]) -> TileRules:
        """Return the rules with the largest lam for each."""
        nodes, weights = ([getattr(rule, name) for rule in rules] for name in ("nodes", "weights"))
        sizes = np.array([rule.size for rule in rules], dtype=np.int64)
        numbers = [np.concatenate([np.empty(0), *parts]) for parts in (nodes, weights)]
        return cls(tuple(rules), sizes, np.array(limits, dtype=np.float64), *numbers)


NO_RULES = TileRules.of((), ())
"""Where Shapley effects are not asked for."""


@lru_cache(maxsize=64)
def rules_of(n_players: int) -> TileRules:
    """Return the rules for a number of players."""
    if n_players <= _EXACT:
        return TileRules.of((exact(n_players),), (math.inf,))
    ladder = general_ladder(n_players)
    return TileRules.of(ladder.rules, [*ladder.limits[:-1], math.inf])


def sum_tile(
    changes: Floats | tuple[ShortColumns, slice, slice],
    means: tuple[Floats, Floats],
    weights: tuple[Floats, Floats],
    rules: TileRules,
) -> TileSums:
    """Return the sums over all pairs of an atom of the first and one of the second block.

    Parameters
    ----------
    changes : array of shape (players, first, second), or columns and both blocks
        The covariances c, contiguous, or what they are products of.
    means : two arrays of shape (players, atoms)
        l and r.
    weights : two arrays of shape (outputs, atoms)
        A pair counts their product.
    rules : TileRules

    Examples
    --------
    >>> import numpy as np
    >>> from pkex.games.variance_tiles import rules_of, sum_tile
    >>> means = np.array([[0.5], [0.25]]), np.ones((2, 1))
    >>> ones = np.ones((1, 1)), np.ones((1, 1))
    >>> sums = sum_tile(np.full((2, 1, 1), 0.5), means, ones, rules_of(2))
    >>> sums.indices[:, :, 0]
    array([[0.125, 0.25 ],
           [0.375, 0.5  ],
           [0.25 , 0.375]])
    """
    compiled = native()
    if compiled is None:
        given = changes if isinstance(changes, np.ndarray) else changes[0].multiply(*changes[1:])
        return _sum_by_numpy(given, means, weights, rules)
    d, n_outputs = len(means[0]), len(weights[0])
    sums, used = np.empty((n_outputs, 3 * d + 1)), np.empty(len(rules.rules), dtype=np.uint8)
    arrays: tuple[Any, ...] = (changes, None, None, None)
    if not isinstance(changes, np.ndarray):
        (numbers, starts), first, second = changes
        arrays = (None, numbers[:, first], numbers[:, second], starts)
    compiled.sum_variances(*arrays, *means, *weights, *rules[1:], sums, used)
    indices = sums[:, : 3 * d].reshape(n_outputs, 3, d).transpose(1, 2, 0)
    chosen = tuple([rules.rules[place] for place in used.nonzero()[0]])
    return TileSums(indices, sums[:, 3 * d], chosen)


def _sum_by_numpy(
    changes: Floats,
    means: tuple[Floats, Floats],
    weights: tuple[Floats, Floats],
    rules: TileRules,
) -> TileSums:
    """Do the same in NumPy, with one rule for all pairs of the tile."""
    absent = means[0][:, :, None] * means[1][:, None, :]
    values = np.zeros((3, *changes.shape))
    _all_but_one(absent, values[0])
    present = absent + changes
    totals = _all_but_one(present, values[1])
    chosen: tuple[Rule, ...] = ()
    if rules.rules:
        sizes = np.maximum(np.abs(absent), np.abs(absent + changes))
        relative = np.divide(np.abs(changes), sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
        place = int(np.searchsorted(rules.limits[:-1], relative.sum(axis=0).max(initial=0.0)))
        chosen = (rules.rules[place],)
        others = np.empty_like(changes)
        for t, weight in zip(chosen[0].nodes, chosen[0].weights, strict=True):
            np.multiply(changes, t, out=present)
            present += absent
            _all_but_one(present, others)
            others *= weight
            values[2] += others
    values *= changes
    left, right = weights
    indices = np.einsum("sa,kjas->kjs", left, values @ right.T)
    total: Floats = np.einsum("sa,as->s", left, totals @ right.T)
    return TileSums(indices, total, chosen)


def _all_but_one(factors: Floats, result: Floats) -> Floats:
    """Put the products of all but one along the first axis there; return that of all."""
    result[0] = 1.0
    for j in range(1, len(factors)):
        np.multiply(result[j - 1], factors[j - 1], out=result[j])
    after: Floats = factors[-1].copy()
    for j in range(len(factors) - 2, -1, -1):
        result[j] *= after
        after *= factors[j]
    return after
