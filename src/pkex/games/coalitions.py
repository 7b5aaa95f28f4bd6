"""`CoalitionSquares`: the values of squares by all coalitions, where the players are few.

    h_S(x) = sum_a w_a prod_{j in S} p_aj prod_{j not in S} m_aj

is a matrix product of all products over the first half of the players with all over the second:
``2^d`` times the number of atoms for a row, where pairs of atoms (`pkex.games.squares`) take its
square. The squares of all coalitions are then weighed by the semivalue.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import join_factors
from pkex.games.blocks import rectangle
from pkex.games.protocols import BlockSums, Measure, Task
from pkex.games.squares import SquareGame
from pkex.games.sums import GameSums
from pkex.games.threads import raise_if_cancelled

__all__ = ["CoalitionSquares", "prefers_coalitions"]

MOST = 14  # players
_PAIR = 4.0  # operations of a matrix product that one of a pair takes as long as
_BLOCK = 16  # rows of a task


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
        shapes = BlockSums.shapes(self.n_rows, self.plan.n_players, n_sets)
        self.sums = Accumulator(**shapes, bases=(self.n_rows, n_sets))

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
