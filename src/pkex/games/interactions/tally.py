"""Sums over pairs of points of what players do together, and the values that they make."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.interactions.recipe import Recipe

__all__ = ["Tally", "all_triples"]


class Tally(Accumulator):
    """Sums for one row, or for a statistic.

    What is in `arrays`:

    - at a node, or None for the integral, and a size the sums of all subsets of that size: shapes
      (sets,), (players, sets), (sets, players, players) and (sets, triples); their diagonals mean
      nothing;
    - ``chosen``, of shape (subsets, sets), the values of chosen subsets;
    - ``totals``, ``sizes`` and ``reach``, of shape (sets,), sums of the products of all factors, of
      the largest size of a value of a pair, and of the reach of a pair.

    A block is what is added up at once; `largest` is the most numbers that were.

    Parameters
    ----------
    recipe : Recipe
    n_sets : int
        Number of sets of weights.
    """

    def __init__(self, recipe: Recipe, n_sets: int) -> None:
        shapes = dict.fromkeys(("totals", "sizes", "reach"), (n_sets,))
        super().__init__(chosen=(len(recipe.subsets or ()), n_sets), **shapes)
        self.recipe, self.n_sets = recipe, n_sets

    def __getstate__(self) -> dict[str, object]:
        """Return everything, as a worker sends it back."""
        return self.__dict__

    def values(self, size: int) -> Floats:
        """Return the values of all subsets of a size, shaped as in `arrays`; diagonals are 0."""
        recipe = self.recipe
        functional = recipe.functionals[size] if size else recipe.for_none
        assert functional is not None
        shape = _shape(size, recipe.n_players, self.n_sets)
        total = np.zeros(shape)
        if functional.density and (None, size) in self.arrays:
            total += self.arrays[None, size]
        for node, order, weight in functional.points:
            part = self.arrays.get((node, size + order))
            if part is not None:
                total += weight * _sum_supersets(part, size + order, size, recipe.n_players)
        if size == 2:
            total[:, np.arange(recipe.n_players), np.arange(recipe.n_players)] = 0.0
        return total

    def allowed(self, roundings: float) -> Floats:
        """Return how far the sum of all values may be from the worth of all minus that of none."""
        return self._rate(roundings) * self.arrays["reach"]

    def error(self, roundings: float) -> Floats:
        """Return how far a value may be from what exact arithmetic gives, shape (sets,)."""
        sizes = self.arrays["reach" if self.recipe.has_derivatives else "sizes"]
        return self._rate(roundings) * sizes

    def _rate(self, roundings: float) -> float:
        """Return the error relative to sizes: of the rule, and units of rounding.

        `roundings` are those of a value of a pair, with its d factors and nodes. A value of s
        players has s ratios beside P, each of a difference, a factor at a node (2), the bound away
        from 0 and a quotient: 5 roundings, and at most 4 where it is multiplied by the root of a
        weight. 16 for each ratio, for P and for the weight leave room. A sum of `largest` numbers
        costs as many units, and so does that of `n_blocks` such sums.
        """
        of_rule = max((rule.relative_error for rule in self.rules), default=0.0)
        count = roundings + self.largest + self.n_blocks + 16.0 * (self.recipe.most + 2)
        return self.recipe.mass * of_rule + self.recipe.weight * count * 2.0**-53


def _shape(size: int, n_players: int, n_sets: int) -> tuple[int, ...]:
    triples = n_players * (n_players - 1) * (n_players - 2) // 6
    shapes = ((n_sets,), (n_players, n_sets), (n_sets, n_players, n_players), (n_sets, triples))
    return shapes[size]


@lru_cache(maxsize=4)
def all_triples(n_players: int) -> Indices:
    """Return all ``i < j < k`` in their order, shape (triples, 3)."""
    parts = []
    for i in range(n_players - 2):
        j, k = np.triu_indices(n_players - i - 1, 1)
        parts.append(np.column_stack([np.full(len(j), i), i + 1 + j, i + 1 + k]))
    triples = np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.intp)
    triples.flags.writeable = False
    return triples


def _sum_supersets(part: Floats, size: int, wanted: int, n_players: int) -> Floats:
    """Return for every subset of a size the sum over the larger subsets that contain it."""
    if size == wanted:
        return part
    total: Floats
    if size == 1:
        total = part.sum(axis=0)
    elif size == 2:
        off = part.copy()
        off[:, np.arange(n_players), np.arange(n_players)] = 0.0
        total = off.sum(axis=2).T if wanted == 1 else 0.5 * off.sum(axis=(1, 2))
    elif wanted == 0:
        total = part.sum(axis=1)
    else:
        total = np.stack([_sum_triples(one, wanted, n_players) for one in part])
        total = total.T if wanted == 1 else total
    return total


def _sum_triples(values: Floats, wanted: int, n_players: int) -> Floats:
    """Return the sums of triples that contain each player, or each pair of players."""
    i, j, k = all_triples(n_players).T
    if wanted == 1:
        singles = [np.bincount(one, values, minlength=n_players) for one in (i, j, k)]
        return np.asarray(np.sum(singles, axis=0), dtype=np.float64)
    places = [i * n_players + j, i * n_players + k, j * n_players + k]
    pairs = [np.bincount(place, values, minlength=n_players**2) for place in places]
    upper = np.asarray(np.sum(pairs, axis=0), dtype=np.float64).reshape(n_players, n_players)
    return upper + upper.T
