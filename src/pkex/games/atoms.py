"""`Atoms`: the product functions that a kernel expansion is a sum of.

    f(x) = sum_i alpha_i k(x, x_i) = sum_a w_a g_a(x),      g_a(x) = prod_j g_aj(x_j).

A term of the kernel gives one atom for each point, with the factors of the term. Terms of a single
player have the factor 1 elsewhere. What is linear in a column needs one atom alone, the column
itself, whatever the number of points, and a constant one that is 1.

Quadratic forms of kernel values (the variance of a Gaussian process, the variance of a model) are
sums over pairs of atoms, and the product of two atoms is a product again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.backend import Backend
from pkex.games.plan import Plan
from pkex.games.protocols import Factors, Game
from pkex.games.single_player import SinglePlayer
from pkex.kernels.normal_form import Term, as_real

__all__ = ["Atoms", "diagonal_factors", "join_factors"]


class Atoms:
    """The atoms of a kernel at some points.

    Parameters
    ----------
    plan : Plan
    z : array of shape (points, columns), its columns contiguous
    backend : Backend, optional
        Asked for here by default.

    Attributes
    ----------
    count : int
        Number of atoms.
    single : array of shape (atoms,)
        The player of an atom with a single one, else -1.
    """

    def __init__(self, plan: Plan, z: Floats, backend: Backend | None = None) -> None:
        self.plan, self.z = plan, z
        self.games: Sequence[Game] = plan.games(backend)
        n_points = len(z)
        players = [np.full(n_points, -1)] * len(plan.terms)
        for single in plan.singles:
            width = n_points if _by_point(single) else 1
            players.append(np.full(width, -1 if single.player is None else single.player))
        self._widths = [len(part) for part in players]
        self.single: NDArray[np.intp] = np.concatenate(players)
        self.count = len(self.single)

    def spread(self, weights: Floats) -> Floats:
        """Return the weights of the atoms, shape (atoms, sets), from those of the points."""
        parts = [term.coefficient * weights for term in self.plan.terms]
        for single in self.plan.singles:
            scaled = single.term.coefficient * weights
            if single.dot is not None:
                scaled = self.z[:, single.dot] @ scaled
            elif single.player is None:
                scaled = scaled.sum(axis=0)
            parts.append(np.atleast_2d(scaled))
        return np.concatenate(parts)

    def spread_pairs(self, weights: Floats, first: slice, second: slice) -> Floats:
        """Return the weights of pairs of atoms, from those of points, without single players."""
        coefficients = np.array([term.coefficient for term in self.plan.terms])
        left, right = (np.arange(some.start, some.stop) for some in (first, second))
        terms = [coefficients[some // len(self.z)] for some in (left, right)]
        points = [some % len(self.z) for some in (left, right)]
        pairs: Floats = weights[np.ix_(*points)]
        pairs *= terms[0][:, None] * terms[1]
        return pairs

    def factors(self, x: Floats, atoms: slice | None = None) -> Factors:
        """Return the factors of atoms at the rows of `x`, shape (players, rows, atoms)."""
        wanted = slice(0, self.count) if atoms is None else atoms
        if len(self.games) == 1 and wanted.stop <= len(self.z):
            return self.games[0].factors(x, self.z[wanted])
        shape = (self.plan.n_players, len(x), wanted.stop - wanted.start)
        values, deficits = np.ones(shape), np.zeros(shape)
        start = 0
        for number, width in enumerate(self._widths):
            first, last = max(wanted.start, start), min(wanted.stop, start + width)
            if first < last:
                points = slice(first - start, last - start)
                place = slice(first - wanted.start, last - wanted.start)
                self._fill(number, x, points, values[:, :, place], deficits[:, :, place])
            start += width
        return Factors(values, deficits)

    def _fill(
        self, number: int, x: Floats, points: slice, values: Floats, deficits: Floats
    ) -> None:
        if number < len(self.games):
            factors = self.games[number].factors(x, self.z[points])
            values[...], deficits[...] = factors.values, factors.deficits
            return
        single = self.plan.singles[number - len(self.games)]
        if single.player is None:
            return
        if single.dot is not None:
            values[single.player] = x[:, [single.dot]]
            deficits[single.player] = 1.0 - x[:, [single.dot]]
            return
        unit = SinglePlayer(Term(1.0, single.term.leaves, single.term.n_columns), single.player)
        values[single.player] = unit.worth(x, self.z[points])
        deficits[single.player] = unit.drop(x, self.z[points])


def join_factors(parts: Sequence[tuple[Atoms, Floats]], rows: slice, wanted: slice) -> Factors:
    """Return the factors of some atoms of all parts, counted on, at some rows.

    A part comes with the rows as it has prepared them; players are the same in all.
    """
    factors: list[Factors] = []
    start = 0
    for atoms, x in parts:
        first, last = max(wanted.start, start), min(wanted.stop, start + atoms.count)
        if first < last:
            factors.append(atoms.factors(x[rows], slice(first - start, last - start)))
        start += atoms.count
    if len(factors) == 1:
        return factors[0]
    return Factors(*(np.concatenate(part, axis=2) for part in zip(*factors, strict=True)))


def diagonal_factors(term: Term, players: Sequence[Sequence[int]], x: Floats) -> Factors:
    """Return the factors of each row with itself, shape (players, rows); 1 if stationary."""
    owner = {column: number for number, columns in enumerate(players) for column in columns}
    values, deficits = np.ones((len(players), len(x))), np.zeros((len(players), len(x)))
    for leaf in term.leaves:
        covered = range(term.n_columns) if leaf.columns is None else leaf.columns
        cells = x[:, list(covered)]  # kernels are elementwise
        with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
            by_column, lacks = (
                as_real(leaf.factors(cells, cells), leaf),
                leaf.deficits(cells, cells),
            )
        for place, column in enumerate(covered):
            player = owner[column]
            values[player] *= by_column[:, place]
            deficits[player] += lacks[:, place] * (1.0 - deficits[player])
    return Factors(values, deficits)


def _by_point(single: SinglePlayer) -> bool:
    """Tell whether the atoms of a term of a single player differ from point to point."""
    return single.player is not None and single.dot is None
