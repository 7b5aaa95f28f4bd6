"""The values of squares and of quadratic forms by all coalitions, where the players are few.

    h_S(x) = sum_a w_a prod_{j in S} p_aj prod_{j not in S} m_aj

is a matrix product of all products over the first half of the players with all over the second:
``2^d`` times the number of atoms for a row, where pairs of atoms (`pkex.games.squares`) take its
square. The squares of all coalitions are then weighed by the semivalue: `CoalitionSquares`.

A quadratic form of kernel values ``k_S' W k_S``, such as the variance of a Gaussian process, is a
matrix product as well, after one for each point that makes all ``k_S``: `CoalitionForm`. Where a
kernel is a sum of many products, as those of a distance are, pairs of atoms take the square of
their number, and coalitions take it once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats, Players
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import Atoms, join_factors
from pkex.games.blocks import rectangle
from pkex.games.hierarchy import Hierarchy
from pkex.games.points import Background
from pkex.games.protocols import Measure, Task
from pkex.games.squares import SquareGame
from pkex.games.sums import GameSums
from pkex.games.threads import raise_if_cancelled

__all__ = ["CoalitionForm", "CoalitionSquares", "prefers_coalitions"]

MOST = 14  # players
_PAIR = 4.0  # operations of a matrix product that one of a pair takes as long as
_BLOCK = 16  # rows of a task
_ATOM, _OF_PAIR = 12.0, 28.0  # such operations of a form, for an atom and for a pair and player
_ENTRIES = 2**21  # kernel values of coalitions that are held at once


def prefers_coalitions(n_players: int, n_atoms: int) -> bool:
    """Return whether all coalitions take fewer operations than all pairs of atoms."""
    by_pairs = _PAIR * n_atoms * n_players**2 / 4.0
    return n_players <= MOST and 2.0**n_players <= by_pairs


class CoalitionSquares:
    """The same values as those of a `SquareGame`, by enumeration: a reduction.

    Parameters
    ----------
    squares : SquareGame
    """

    def __init__(self, squares: SquareGame) -> None:
        self.squares, self.plan = squares, squares.plan
        self.n_rows, self.n_atoms = squares.n_rows, squares.n_atoms
        self.shares = _semivalue_weights(self.plan.n_players, self.plan.measure)
        n_sets = squares.weights.shape[1]
        bases = self.n_rows, n_sets
        self.sums = Accumulator.of_blocks(self.n_rows, self.plan.n_players, n_sets, bases=bases)

    @property
    def work(self) -> float:
        """What the forecast counts: rows times atoms."""
        return float(self.n_rows * self.n_atoms)

    @property
    def roundings(self) -> float:
        """How many units of rounding a value carries at most, relative to the magnitudes.

        As in "What a result may be off by" of docs/mathematics.md: 8 units for each factor, one for
        its product and those of a mean over the background; one for each atom. The square doubles
        them. Then come the sums over coalitions and background rows, and the weights of coalitions,
        whose sizes sum to 2.
        """
        n_players, n_background = self.plan.n_players, self.squares.n_background
        of_square = 2.0 * ((9.0 + n_background) * n_players + self.n_atoms + 4.0) + n_background
        return float(2.0 * (of_square + 2.0**n_players + 8.0 * n_players + 16.0))

    def tasks(self) -> Sequence[Task]:
        """Return blocks of rows, each with all atoms."""
        every = slice(0, self.n_atoms)
        return [Task(rows, every) for rows, _ in rectangle(self.n_rows, 1, _BLOCK)]

    def run(self, task: Task) -> tuple[slice, dict[str, Floats]]:
        """Return some rows, and their sums."""
        present = join_factors(self.squares.parts, task.rows, task.points).values
        count, n_sets = task.rows.stop - task.rows.start, self.squares.weights.shape[1]
        squares = np.zeros((count, n_sets, 2**self.plan.n_players))
        sizes = np.zeros((count, n_sets))
        for share, absent in self.squares.absent_atoms():
            raise_if_cancelled()
            for i in range(count):
                self._add(present[:, i], absent, share, squares[i], sizes[i])
        values = (squares @ self.shares.T).transpose(0, 2, 1)
        arrays = {"values": values, "totals": squares[:, :, -1], "magnitudes": sizes}
        return task.rows, arrays | {"bases": squares[:, :, 0]}

    def _add(
        self, present: Floats, absent: Floats, share: float, squares: Floats, sizes: Floats
    ) -> None:
        """Add the squares of all coalitions at a row, with one set of absent factors."""
        half = self.plan.n_players // 2
        low = _products(present[:half], absent[:half])
        high = _products(present[half:], absent[half:])
        most = np.maximum(1.0, np.maximum(np.abs(present), np.abs(absent)))
        largest = np.multiply.reduce(most, axis=0)
        for k, weights in enumerate(self.squares.weights.T):
            worth = (high * weights) @ low.T  # coalitions of the last players, of the first
            squares[k] += share * np.square(worth).reshape(-1)
            sizes[k] += share * float(largest @ np.abs(weights)) ** 2

    def add(self, part: tuple[slice, dict[str, Floats]]) -> None:
        """Put the sums of a block in their place."""
        rows, arrays = part
        self.sums.add(arrays, at=rows)

    def result(self) -> GameSums:
        """Return the sums of all rows."""
        # as many terms as a sum has at most
        count = self.n_atoms + self.squares.n_background + 2**self.plan.n_players
        return GameSums.accumulated(self.sums, self.plan, count, self.sums["bases"])


class CoalitionForm:
    """The same values as those of a `QuadraticGame` of a background row by row: a reduction.

    Players that have the same factors in both rows of a pair change nothing, and are left out of
    its coalitions.

    Parameters
    ----------
    atoms : Atoms
        Without single players.
    weights : array of shape (points, points)
        Of pairs of points, symmetric.
    x : array of shape (rows, columns)
    background : Background
        That is not averaged.
    """

    def __init__(self, atoms: Atoms, weights: Floats, x: Floats, background: Background) -> None:
        self.plan, self.atoms, self.background = atoms.plan, atoms, background
        self.x, self.weights, self.sizes = x, weights, np.abs(weights)
        self.coefficients = np.array([term.coefficient for term in self.plan.terms])
        self.sums = Accumulator.of_blocks(len(x), self.plan.n_players, 1, bases=(len(x), 1))

    @staticmethod
    def suit(atoms: Atoms, x: Floats, background: Background) -> bool:
        """Return whether coalitions are there and take fewer operations than pairs of atoms.

        For sums that have errors, as `AveragedAtoms.suit`.
        """
        plan = atoms.plan
        has_error = any(term.error > 0.0 for term in plan.terms)
        if not has_error or background.marginal or plan.singles:
            return False
        if isinstance(plan.measure, Hierarchy):
            return False
        n_varied = _pick_most_varied(plan.players, x, background.rows)
        by_coalitions = 2.0**n_varied * (_ATOM * atoms.count + float(len(atoms.z)) ** 2)
        by_pairs = _OF_PAIR * plan.n_players * float(atoms.count) ** 2
        return n_varied <= MOST and by_coalitions <= by_pairs

    @property
    def roundings(self) -> float:
        """How many units of rounding a value carries at most, relative to the magnitudes.

        As those of `CoalitionSquares`: 8 units for each factor and one for its product, one for
        each term; these twice, and one for each point in both sums of a form. Then come the sums
        over background rows and coalitions, and the weights of coalitions, whose sizes sum to 2.
        """
        n_players, n_background = self.plan.n_players, len(self.background.rows)
        of_form = 2.0 * (9.0 * n_players + len(self.coefficients) + 2.0 + len(self.atoms.z))
        after = n_background + 2.0 ** min(n_players, MOST) + 8.0 * n_players + 16.0
        return float(2.0 * (of_form + after))

    def bound_averages(self) -> float:
        """Return what means cost: nothing, as there are none."""
        return 0.0

    def tasks(self) -> Sequence[Task]:
        """Return pairs of rows, each with all atoms; that of the background in place of a term."""
        every = slice(0, self.atoms.count)
        others = range(len(self.background.rows))
        return [Task(slice(i, i + 1), every, b) for i in range(len(self.x)) for b in others]

    def run(self, task: Task) -> tuple[slice, dict[str, Floats]]:
        """Return a row, and what a background row adds to its sums."""
        raise_if_cancelled()
        other = slice(task.term, task.term + 1)
        pair = np.concatenate([self.x[task.rows], self.background.rows[other]])
        present, absent = self.atoms.factors(pair).values.transpose(1, 0, 2)
        varied = _varied(self.plan.players, *pair)
        rest = np.delete(present, varied, axis=0).prod(axis=0)
        worth = self._forms(present[varied], absent[varied], rest)
        values = np.zeros((1, self.plan.n_players, 1))
        if varied:
            values[0, varied, 0] = _semivalue_weights(len(varied), self.plan.measure) @ worth
        largest = self._by_point(np.maximum(np.abs(present), np.abs(absent)).prod(axis=0))
        share = float(self.background.weights[task.term])
        arrays = {
            "values": values,
            "totals": worth[-1:, None],
            "magnitudes": np.reshape(largest @ self.sizes @ largest, (1, 1)),
            "bases": worth[:1, None],
        }
        return task.rows, {name: share * array for name, array in arrays.items()}

    def _forms(self, present: Floats, absent: Floats, rest: Floats) -> Floats:
        """Return the form of all coalitions of some players; `rest` has the factors of others."""
        half = len(present) // 2
        n_terms, n_points = len(self.coefficients), len(self.atoms.z)
        low = _products(present[:half], absent[:half]) * rest
        high = _products(present[half:], absent[half:]) * np.repeat(self.coefficients, n_points)
        shape = (-1, n_terms, n_points)
        left, right = (one.reshape(shape).transpose(2, 0, 1) for one in (high, low))
        right = np.ascontiguousarray(right).transpose(0, 2, 1)
        step = max(1, _ENTRIES // (n_points * len(low)))
        forms = []
        for start in range(0, len(high), step):
            raise_if_cancelled()
            part = np.ascontiguousarray(left[:, start : start + step])
            kernel = (part @ right).reshape(n_points, -1)  # coalitions of the last players first
            forms.append(np.einsum("ic,ic->c", kernel, self.weights @ kernel))
        return np.concatenate(forms)

    def _by_point(self, atoms: Floats) -> Floats:
        """Return the sums over terms of the sizes of atoms, for each point."""
        by_term = atoms.reshape(len(self.coefficients), -1)
        sums: Floats = np.abs(self.coefficients) @ by_term
        return sums

    def add(self, part: tuple[slice, dict[str, Floats]]) -> None:
        """Add what a background row has for a row."""
        rows, arrays = part
        self.sums.add(arrays, at=rows)

    def result(self) -> GameSums:
        """Return the sums of all rows."""
        # as many terms as a sum has at most
        count = len(self.atoms.z) + len(self.background.rows) + 2 ** min(self.plan.n_players, MOST)
        return GameSums.accumulated(self.sums, self.plan, count, self.sums["bases"])


def _varied(players: Players, row: Floats, other: Floats) -> list[int]:
    """Return the players in which two rows differ."""
    differs = row != other
    return [j for j, columns in enumerate(players) if differs[list(columns)].any()]


def _pick_most_varied(players: Players, x: Floats, others: Floats) -> int:
    """Return in how many players a row of the first and one of the others differ at most."""
    most = 0
    for row in x:
        differs = others != row
        by_player = [differs[:, list(columns)].any(axis=1) for columns in players]
        most = max(most, int(np.sum(by_player, axis=0).max()))
        if most == len(players):
            break
    return most


def _products(present: Floats, absent: Floats) -> Floats:
    """Return the products of all coalitions, player j being bit j: shape (coalitions, atoms)."""
    products = np.ones((1, present.shape[1]))
    for here, there in zip(present, absent, strict=True):
        products = np.concatenate([products * there, products * here])
    return products


def _semivalue_weights(n_players: int, measure: Measure) -> Floats:
    """Return what the worth of each coalition counts in each value, (players, coalitions)."""
    rule = measure.ladder(n_players, None, general=True).rules[-1]  # the exact one
    t, weights = np.asarray(rule.nodes), np.asarray(rule.weights)
    others = np.arange(n_players)
    by_size = (t ** others[:, None] * (1.0 - t) ** (n_players - 1 - others)[:, None]) @ weights
    members = (np.arange(2**n_players) >> np.arange(n_players)[:, None]) & 1
    sizes = members.sum(axis=0)
    shares: Floats = np.where(members == 1, by_size[sizes - 1], -by_size[sizes % n_players])
    return shares
