"""Sums over pairs of points of what players do together, and the values that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.interactions.recipe import Recipe, Where
from pkex.games.rules import Rule

__all__ = ["Tally", "all_triples"]


@dataclass(eq=False)
class Tally:
    """Sums for one row, or for a statistic.

    Attributes
    ----------
    recipe : Recipe
    n_sets : int
        Number of sets of weights.
    parts : dict
        For a node, or None for the integral, and a size the sums of all subsets of that size:
        shapes (sets,), (players, sets), (sets, players, players) and (sets, triples); their
        diagonals mean nothing.
    chosen : array of shape (subsets, sets)
        The values of chosen subsets.
    totals, sizes, reach : arrays of shape (sets,)
        Sums of the products of all factors, of the largest size of a value of a pair, and of the
        reach of a pair.
    rules : set of Rule
    longest, n_chunks : int
        How many numbers were added up at once at most, and how many such sums were added up.
    """

    recipe: Recipe
    n_sets: int
    parts: dict[tuple[Where, int], Floats] = field(default_factory=dict)
    rules: set[Rule] = field(default_factory=set)
    longest: int = 0
    n_chunks: int = 0

    def __post_init__(self) -> None:
        self.totals, self.sizes, self.reach = np.zeros((3, self.n_sets))
        self.chosen = np.zeros((len(self.recipe.subsets or ()), self.n_sets))

    def add(self, where: Where, size: int, sums: Floats) -> None:
        """Add sums to those of all subsets of a size."""
        known = self.parts.get((where, size))
        if known is None:
            self.parts[where, size] = sums
        else:
            known += sums

    def plus(self, other: Tally, scale: float = 1.0) -> None:
        """Add other sums, times a number."""
        for (where, size), sums in other.parts.items():
            self.add(where, size, scale * sums)
        self.chosen += scale * other.chosen
        self.totals += scale * other.totals
        self.sizes += abs(scale) * other.sizes
        self.reach += abs(scale) * other.reach
        self.rules |= other.rules
        self.longest = max(self.longest, other.longest)
        self.n_chunks += other.n_chunks

    def values(self, size: int) -> Floats:
        """Return the values of all subsets of a size, shaped as in `parts`; diagonals are 0."""
        recipe = self.recipe
        functional = recipe.functionals[size] if size else recipe.for_none
        assert functional is not None
        shape = _shape(size, recipe.n_players, self.n_sets)
        total = np.zeros(shape)
        if functional.density and (None, size) in self.parts:
            total += self.parts[None, size]
        for node, order, weight in functional.points:
            part = self.parts.get((node, size + order))
            if part is not None:
                total += weight * _summed(part, size + order, size, recipe.n_players)
        if size == 2:
            total[:, np.arange(recipe.n_players), np.arange(recipe.n_players)] = 0.0
        return total

    def allowed(self, roundings: float) -> Floats:
        """Return how far the sum of all values may be from the worth of all minus that of none."""
        return self._rate(roundings) * self.reach

    def error(self, roundings: float) -> Floats:
        """Return how far a value may be from what exact arithmetic gives, shape (sets,)."""
        sizes = self.reach if self.recipe.has_derivatives else self.sizes
        return self._rate(roundings) * sizes

    def _rate(self, roundings: float) -> float:
        of_rule = max((rule.relative_error for rule in self.rules), default=0.0)
        count = roundings + self.longest + self.n_chunks + 16.0 * (self.recipe.most + 2)
        return self.recipe.mass * of_rule + self.recipe.weight * count * 2.0**-53


def _shape(size: int, n_players: int, n_sets: int) -> tuple[int, ...]:
    triples = n_players * (n_players - 1) * (n_players - 2) // 6
    shapes = ((n_sets,), (n_players, n_sets), (n_sets, n_players, n_players), (n_sets, triples))
    return shapes[size]


@lru_cache(maxsize=4)
def all_triples(n_players: int) -> Indices:
    """Return all ``i < j < k`` in their order, shape (triples, 3)."""
    found = []
    for i in range(n_players - 2):
        j, k = np.triu_indices(n_players - i - 1, 1)
        found.append(np.column_stack([np.full(len(j), i), i + 1 + j, i + 1 + k]))
    triples = np.concatenate(found) if found else np.zeros((0, 3), dtype=np.intp)
    triples.flags.writeable = False
    return triples


def _summed(part: Floats, size: int, wanted: int, n_players: int) -> Floats:
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
        total = np.stack([_of_triples(one, wanted, n_players) for one in part])
        total = total.T if wanted == 1 else total
    return total


def _of_triples(values: Floats, wanted: int, n_players: int) -> Floats:
    """Return the sums of triples that contain each player, or each pair of players."""
    i, j, k = all_triples(n_players).T
    if wanted == 1:
        singles = [np.bincount(one, values, minlength=n_players) for one in (i, j, k)]
        return np.asarray(np.sum(singles, axis=0), dtype=np.float64)
    places = [i * n_players + j, i * n_players + k, j * n_players + k]
    pairs = [np.bincount(place, values, minlength=n_players**2) for place in places]
    upper = np.asarray(np.sum(pairs, axis=0), dtype=np.float64).reshape(n_players, n_players)
    return upper + upper.T
