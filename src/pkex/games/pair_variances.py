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
from pkex.games.threads import raise_if_cancelled

__all__ = ["PairVariances", "all_but"]


_AT_ONCE = 2**18  # numbers of an array: 2 MiB
_SHORT = 4.0  # times the atoms: products of the lengths of two columns up to which this is faster


class PairVariances:
    """The parts of all pairs of players: a reduction.

    Parameters
    ----------
    short : sequence of arrays of shape (rank, atoms)
        B, one for each player.
    means : array of shape (players, atoms)
        M.
    weights : array of shape (atoms, outputs)
    """

    def __init__(self, short: Sequence[Floats], means: Floats, weights: Floats) -> None:
        self.means, self.weights = means, weights
        self.columns = np.concatenate(short)
        self.ranks = np.array([len(columns) for columns in short])
        self.starts = np.concatenate([[0], np.cumsum(self.ranks)])
        self.sums = np.zeros((len(means), len(means), weights.shape[1]))

    @property
    def are_short(self) -> bool:
        """Whether columns are so short that this takes less time than all pairs of atoms."""
        return bool(self.ranks.mean() ** 2 <= _SHORT * len(self.weights))

    def tasks(self) -> Sequence[Task]:
        """Return each player but the last, with the players after it."""
        n_players = len(self.means)
        return [Task(slice(j, j + 1), slice(j + 1, n_players)) for j in range(n_players - 1)]

    def run(self, task: Task) -> tuple[Task, Floats]:
        """Return the parts of a player and the others, shape (others, outputs)."""
        j = task.rows.start
        begin, end = self.starts[j : j + 2]
        later, ranks = self.columns[end:], self.ranks[task.points]
        others = all_but(self.means, j)[task.points]
        n_atoms, n_outputs = self.weights.shape
        products = np.zeros((n_outputs, len(later), end - begin))
        step = max(1, _AT_ONCE // len(later))
        for start in range(0, n_atoms, step):
            raise_if_cancelled()
            some = slice(start, start + step)
            scaled = np.repeat(others[:, some], ranks, axis=0)
            scaled *= later[:, some]
            own = self.columns[begin:end, some]
            for product, weights in zip(products, self.weights[some].T, strict=True):
                product += scaled @ (own * weights).T
        squares = np.einsum("orb,orb->ro", products, products)
        return task, np.add.reduceat(squares, self.starts[j + 1 : -1] - end, axis=0)

    def add(self, part: tuple[Task, Floats]) -> None:
        """Take in the parts of a player."""
        task, sums = part
        j = task.rows.start
        self.sums[j, task.points] = self.sums[task.points, j] = sums

    def result(self) -> Floats:
        """Return an array of shape (players, players, outputs)."""
        return self.sums


def all_but(factors: Floats, j: int | None = None) -> Floats:
    """Return the products over the first axis without each one, and without j."""
    rest = factors.copy()
    if j is not None:
        rest[j] = 1.0
    result = np.ones_like(rest)
    np.multiply.accumulate(rest[:-1], axis=0, out=result[1:])
    after = np.multiply.accumulate(rest[:0:-1], axis=0)[::-1]
    result[:-1] *= after
    return result
