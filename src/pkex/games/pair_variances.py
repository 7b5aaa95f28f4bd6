"""The variances of the parts of two players, from short columns.

Where the covariances of the factors of player j are ``B_j' B_j`` with a matrix of few rows, one
column for each atom (`pkex.games.compression`), the part of the players j and m of a function,

    sum_ac w_a w_c C_jac C_mac prod_{i != j, m} M_ia M_ic,

is the sum of the squares of the entries of ``B_j diag(w prod_{i != j, m} M_i) B_m'``: the work
grows like the number of atoms, not like that of their pairs, and nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.protocols import Task
from pkex.games.threads import raise_if_cancelled, workspace
from pkex.games.variance_tiles import ShortColumns

__all__ = ["PairVariances"]


_AT_ONCE = 2**19  # numbers of an array: 4 MiB


class PairVariances:
    """The parts of all pairs of players: a reduction.

    Parameters
    ----------
    short : ShortColumns
        B of all players.
    means : array of shape (players, atoms)
        M.
    weights : array of shape (atoms, outputs)
    """

    def __init__(self, short: ShortColumns, means: Floats, weights: Floats) -> None:
        self.short, self.means, self.weights = short, means, weights
        self.owners = np.repeat(np.arange(len(means)), short.lengths)
        self.before, self.after = np.ones_like(means), np.ones_like(means)  # products of the others
        np.multiply.accumulate(means[:-1], axis=0, out=self.before[1:])
        np.multiply.accumulate(means[:0:-1], axis=0, out=self.after[-2::-1])
        self.sums = np.zeros((len(means), len(means), weights.shape[1]))

    def tasks(self) -> Sequence[Task]:
        """Return each player but the last, with the players after it."""
        n_players = len(self.means)
        return [Task(slice(j, j + 1), slice(j + 1, n_players)) for j in range(n_players - 1)]

    def run(self, task: Task) -> tuple[Task, Floats]:
        """Return the parts of a player and the others, shape (others, outputs)."""
        j = task.rows.start
        numbers, starts = self.short
        begin, end = starts[j : j + 2]
        later, owners = numbers[end:], self.owners[end:] - (j + 1)
        between = np.concatenate([self.before[j : j + 1], self.means[j + 1 : -1]])
        others = np.multiply.accumulate(between, axis=0)
        others *= self.after[j + 1 :]  # without j and the other player
        n_atoms, n_outputs = self.weights.shape
        products = np.zeros((n_outputs, len(later), end - begin))
        step = max(1, _AT_ONCE // len(later))
        for start in range(0, n_atoms, step):
            raise_if_cancelled()
            some = slice(start, start + step)
            scaled = workspace("scaled", len(later), later[:, some].shape[1])
            np.take(others[:, some], owners, axis=0, out=scaled, mode="clip")
            scaled *= later[:, some]
            own = numbers[begin:end, some]
            for product, weights in zip(products, self.weights[some].T, strict=True):
                product += scaled @ (own * weights).T
        squares = np.einsum("orb,orb->ro", products, products)
        return task, np.add.reduceat(squares, starts[j + 1 : -1] - end, axis=0)

    def add(self, part: tuple[Task, Floats]) -> None:
        """Take in the parts of a player."""
        task, sums = part
        j = task.rows.start
        self.sums[j, task.points] = self.sums[task.points, j] = sums

    def result(self) -> Floats:
        """Return an array of shape (players, players, outputs)."""
        return self.sums
