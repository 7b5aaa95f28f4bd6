"""A quadratic form of kernel values as a game, such as the variance of a Gaussian process.

    q(h) = g(h)' W g(h) = sum_{a, c} W_ac g_a(h) g_c(h),

with the atoms g of a kernel (`pkex.games.atoms`). The product of two atoms is a product over
players, with the factors ``g_aj(x_j) g_cj(x_j)`` where player j is present. Where it is absent it
has the same factors of a background row, one row after the other (interventional), or their mean
over the rows (marginal), which is the mean of a product and no product of means.

The kernel of a row with itself is a game as well where the kernel is not stationary:
`explain_diagonal`. The square of a model, whose weights are a product, is in `pkex.games.squares`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import Atoms, diagonal_factors
from pkex.games.blocks import rectangle, triangle
from pkex.games.engine import run_reduction
from pkex.games.plan import Plan
from pkex.games.points import Background
from pkex.games.protocols import BlockSums, Factors, Task
from pkex.games.reductions import ByRow
from pkex.games.sources import GivenFactors, make_given_game
from pkex.games.sums import GameSums
from pkex.games.threads import raise_if_cancelled, workspace

if TYPE_CHECKING:
    from pkex.games.averages import AveragedAtoms

__all__ = [
    "AtomPairs",
    "QuadraticGame",
    "explain_diagonal",
    "mean_products",
    "multiply_pairs",
    "pairs_of",
    "tiles_of",
]


_FACTORS = 2**19  # of a tile of pairs of atoms, for `_ROWS` rows
_ROWS = 8  # rows that a tile has room for
_BLOCK = 16  # rows of a task, for which what absent players have in a tile is found once


class AtomPairs(ABC):
    """The values of a weighted sum of products of two atoms at some rows: a reduction.

    Every unordered pair of atoms is met once.

    Parameters
    ----------
    plan : Plan
        Of the players and the measure.
    n_atoms, n_rows, n_sets, n_background : int
        Numbers of atoms, of rows, of sets of weights, and of background rows.
    """

    def __init__(
        self, plan: Plan, n_atoms: int, n_rows: int, n_sets: int, n_background: int
    ) -> None:
        self.plan, self.n_atoms, self.n_rows = plan, n_atoms, n_rows
        self.n_background = n_background
        self.tiles = tiles_of(plan.n_players, n_atoms)
        self.game = make_given_game(plan.n_players, plan.measure, general=True, tol=plan.tol)
        self.sums = Accumulator.of_blocks(n_rows, plan.n_players, n_sets, bases=(n_sets,))

    @abstractmethod
    def present(self, rows: slice, first: slice, second: slice) -> Factors:
        """Return the factors of pairs of atoms at some rows, shape (players, rows, pairs)."""

    @abstractmethod
    def absent(self, first: slice, second: slice) -> Iterator[tuple[float, Factors]]:
        """Give shares and what absent players have in a tile, shape (players, pairs)."""

    @abstractmethod
    def pair_weights(self, first: slice, second: slice) -> Floats:
        """Return the weights of ordered pairs of atoms, shape (atoms, atoms, sets)."""

    def tasks(self) -> Sequence[Task]:
        """Return some rows with the pairs of each tile, whose number is in the place of a term."""
        blocks = [rows for rows, _ in rectangle(self.n_rows, 1, _BLOCK)]
        tiles = [(number, slice(0, pairs_of(tile))) for number, tile in enumerate(self.tiles)]
        return [Task(rows, pairs, number) for rows in blocks for number, pairs in tiles]

    @property
    def work(self) -> float:
        """What a forecast counts: rows times pairs of atoms."""
        return float(self.n_rows * sum(map(pairs_of, self.tiles)))

    @property
    def roundings(self) -> float:
        """How many units of rounding a value carries at most, relative to the magnitudes.

        As in "What a result may be off by" of docs/mathematics.md: 8 units for each of the four
        factors of a player in a pair, the products and the rule, and one for each sum of a tile, of
        tiles and of background rows.
        """
        count = max(map(pairs_of, self.tiles)) + len(self.tiles) + 2.0 * self.n_background
        return float(68.0 * self.plan.n_players + 600.0 + count)

    def run(self, task: Task) -> tuple[slice, BlockSums, Floats]:
        """Return some rows, their sums of a tile, and those of the worth of no player."""
        first, second = self.tiles[task.term]
        weights = 2.0 * self.pair_weights(first, second)
        if second.start == first.start:  # where both (a, c) and (c, a) are met
            weights[:, : len(weights)] *= 0.5
        weights = weights.reshape(-1, weights.shape[2])
        present = self.present(task.rows, first, second)
        total: BlockSums | None = None
        base = np.zeros(weights.shape[1])
        for share, absent in self.absent(first, second):
            raise_if_cancelled()
            block = self.game.explain_given(present, share * weights, absent)
            total = block if total is None else total.plus(block)
            base += share * (np.multiply.reduce(absent.values, axis=0) @ weights)
        assert total is not None  # a background has rows
        return task.rows, total, base

    def add(self, part: tuple[slice, BlockSums, Floats]) -> None:
        """Add the sums of a tile."""
        rows, block, base = part
        self.sums.add_block(block, at=rows)
        if rows.start == 0:  # it is the same for all rows
            self.sums.add_array("bases", base)

    def result(self) -> GameSums:
        """Return the sums of all rows."""
        return GameSums.accumulated(self.sums, self.plan, self.n_atoms, self.sums["bases"])


class QuadraticGame(AtomPairs):
    """The values of a quadratic form of kernel values at some rows: a reduction.

    Parameters
    ----------
    atoms : Atoms
    weights : array of shape (points, points)
        Of pairs of points, symmetric: W is this one times the coefficients of terms.
    x : array of shape (rows, columns)
    background : Background
    averages : AveragedAtoms, optional
        Of a background that is averaged. A mean of a product is then right to roundings of the
        roots of both mean squares; else to its own roundings, from all rows, which takes longer.
    """

    def __init__(
        self,
        atoms: Atoms,
        weights: Floats,
        x: Floats,
        background: Background,
        averages: AveragedAtoms | None = None,
    ) -> None:
        super().__init__(atoms.plan, atoms.count, len(x), 1, len(background.rows))
        self.atoms, self.weights, self.background = atoms, weights, background
        self.spread = atoms.spread(atoms.spread(weights).T) if atoms.plan.singles else None
        self.averages = averages
        self.here = atoms.factors(x)
        if averages is None:
            self.there = atoms.factors(background.rows)
            self.lacks: Floats = background.weights @ self.there.deficits  # (players, atoms)

    def present(self, rows: slice, first: slice, second: slice) -> Factors:
        """Return the factors of pairs of atoms at some rows."""
        left, right = (Factors(*(p[:, rows, some] for p in self.here)) for some in (first, second))
        return multiply_pairs(left, right, "present_pairs")

    def pair_weights(self, first: slice, second: slice) -> Floats:
        """Return a part of the matrix."""
        if self.spread is not None:
            return self.spread[first, second, None]
        return self.atoms.spread_pairs(self.weights, first, second)[:, :, None]

    def bound_averages(self) -> Floats | float:
        """Return what a value of each row is off by as means of products are from averages."""
        return (
            0.0 if self.averages is None else self.averages.bound_rounding(self.weights, self.here)
        )

    def absent(self, first: slice, second: slice) -> Iterator[tuple[float, Factors]]:
        """Give what absent players have in a tile, with shares: of each row, or the mean."""
        shares = self.background.weights
        if self.averages is not None:
            yield 1.0, self.averages.multiply(first, second)
            return
        if self.background.marginal:
            left, right = (
                Factors(*(p[:, :, some] for p in self.there)) for some in (first, second)
            )
            lacks = self.lacks[:, first], self.lacks[:, second]
            yield 1.0, mean_products(left, right, lacks, shares)
            return
        for number, share in enumerate(shares):
            row = slice(number, number + 1)
            left, right = (
                Factors(*(p[:, row, some] for p in self.there)) for some in (first, second)
            )
            values, deficits = multiply_pairs(left, right, "absent_pairs")
            yield float(share), Factors(values[:, 0], deficits[:, 0])


def tiles_of(n_players: int, n_atoms: int) -> list[tuple[slice, slice]]:
    """Return tiles of pairs of atoms."""
    side = int((_FACTORS / (_ROWS * n_players)) ** 0.5)
    side = max(1, min(side, n_atoms))
    width = max(side, _FACTORS // (_ROWS * n_players * side))
    return list(triangle(n_atoms, side, width))


def pairs_of(tile: tuple[slice, slice]) -> int:
    """Return how many pairs of atoms a tile has."""
    first, second = tile
    return int((first.stop - first.start) * (second.stop - second.start))


def explain_diagonal(plan: Plan, x: Floats, background: Background) -> tuple[GameSums, float]:
    """Return the values of ``k(h, h)`` at some rows, absent players as in `QuadraticGame`.

    What is the same for all rows, the whole of a stationary kernel, comes apart: in totals and
    bases it would round away what a small quadratic form beside it changes.
    """
    shares, constants = background.weights, [0.0]
    nothing = Accumulator.of_blocks(len(x), plan.n_players, 1)
    sums = GameSums.accumulated(nothing, plan, 1, np.zeros(1))
    terms = [*plan.terms, *(single.term for single in plan.singles)]
    for term in terms:
        here = diagonal_factors(term, plan.players, x)
        there = diagonal_factors(term, plan.players, background.rows)
        if not (here.deficits.any() or there.deficits.any()):
            constants.append(term.coefficient)
            continue
        weights = term.coefficient * shares[:, None]
        if background.marginal:
            there = Factors(*((part @ shares)[:, None] for part in there))
            weights = np.full((1, 1), term.coefficient)
        shape = (*here.values.shape, len(weights))
        present = Factors(*(np.broadcast_to(part[:, :, None], shape) for part in here))
        game = make_given_game(plan.n_players, plan.measure, general=True, tol=plan.tol)
        base = np.multiply.reduce(there.values, axis=0) @ weights
        sums = sums + run_reduction(ByRow(plan, GivenFactors(game, present, there), weights, base))
    return sums, math.fsum(constants)


def multiply_pairs(first: Factors, second: Factors, memory: str) -> Factors:
    """Return the factors of products of two atoms, shape (players, rows, pairs).

    Both have shape (players, rows, atoms); the pairs are all of one of the first with one of the
    second. In both forms: ``1 - g h = u + v - u v`` with the deficits u and v. They lie in the
    `memory` of that name, until it is used again.
    """
    left, right = (part[:, :, :, None] for part in first)
    shape = (*first.values.shape, second.values.shape[2])
    values = workspace(f"{memory}_values", *shape)
    deficits = workspace(f"{memory}_deficits", *shape)
    np.multiply(left, second.values[:, :, None, :], out=values)
    np.multiply(left, second.deficits[:, :, None, :], out=deficits)
    deficits += right
    return Factors(*(part.reshape(*shape[:2], -1) for part in (values, deficits)))


def mean_products(
    first: Factors, second: Factors, lacks: tuple[Floats, Floats], shares: Floats
) -> Factors:
    """Return the means over rows of the products of pairs of atoms, shape (players, pairs).

    Factors have shape (players, rows, atoms). In both forms: ``1 - g h = u + v - u v`` with the
    deficits u and v, whose means are `lacks`.
    """
    n_players = len(first.values)

    def crossed(left: Floats, right: Floats) -> Floats:
        product: Floats = (left * shares[:, None]).transpose(0, 2, 1) @ right
        return product

    deficits = lacks[0][:, :, None] + lacks[1][:, None, :]
    deficits = deficits - crossed(first.deficits, second.deficits)
    values = np.where(np.abs(deficits) < 0.5, 1.0 - deficits, crossed(first.values, second.values))
    return Factors(values.reshape(n_players, -1), deficits.reshape(n_players, -1))
