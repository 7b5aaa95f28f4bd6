"""The covariance of the values of a Gaussian process under its posterior.

A value is a linear functional of the function f that is explained, so that under a posterior with
the covariance ``k(x, z) - k_x' A^-1 k_z`` the values of a row have the covariance

    C0 - V' A^-1 V.

``V[i, j]`` is the value j of the function ``k(., x_i)``: a value of a pair. ``C0`` is the same
functional applied to both arguments of k. For a product kernel and the background rows b and c it
is the integral over t and s, each under the measure, of the product over the players i of

    f_i(t, s) = t s k(x, x) + t (1-s) k(x, c) + (1-t) s k(b, x) + (1-t) (1-s) k(b, c),

with factor j differentiated in t and factor j' in s, averaged over b and c (interventional). Under
marginal removal the means over b, c and (b, c) of each player's factors take their places, and
there is one integral. On the diagonal the derivative in both is a constant, so that the products of
all factors but one are needed; elsewhere those of all but two, ``prod f (d_t f_j / f_j) (d_s f_j' /
f_j')``, a matrix product over the nodes. With factors that are not negative ``|d_t f| / f`` is at
most ``1 / min(t, 1-t)``, and 0 / 0 stands for 0; other factors are left out one by one.

In t, for fixed s, this is a general game of `pkex.games.rules` with the factors ``s k(x, x) +
(1-s) k(x, c)`` and ``s k(b, x) + (1-s) k(b, c)``; a derivative in the other variable is one more
factor in [-2, 2] whose ends differ by at most 2. So a rule that covers lam + 2 in both directions
errs by at most four times its certificate in each.

Two rows x and y have the same integrals with ``k(x, y)`` in the place of ``k(x, x)`` and
``k(b, y)`` in that of ``k(b, x)``: the covariance of a player's values in both, which
`JointCovariance` has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import diagonal_factors
from pkex.games.backend import native
from pkex.games.blocks import rectangle
from pkex.games.corners import (
    Cells,
    Extents,
    Square,
    at_nodes,
    integrate_diagonal,
    integrate_products,
    leave_one_out,
    measure_cells,
    square_of,
)
from pkex.games.layout import as_column_major
from pkex.games.means import mean_factors
from pkex.games.points import Background, WeightedPoints
from pkex.games.protocols import Factors, Game, Task
from pkex.games.rules import Ladder, Rule
from pkex.games.single_player import SinglePlayer
from pkex.games.threads import raise_if_cancelled

__all__ = ["JointCovariance", "PriorCovariance"]


_NODES = 2**17  # factors at nodes that are held at once: 1 MiB
_COMPILED = 2**6  # times as many take the compiled loop a few milliseconds, and no memory
_PAIRS = 2**22  # factors of pairs of background rows that are held at once
_BLOCKS = 16  # of rows; those of a block share the pairs of background rows
_LEAST = 2**17  # corners of a block at least, which take the compiled loop a millisecond
_DERIVATIVE = 2.0  # what a derivative in the other variable adds to lam


class PriorCovariance:
    """The matrices C0 of some rows, in the units of the kernel: a reduction.

    Parameters
    ----------
    points : WeightedPoints
        With a background.
    x : array of shape (rows, columns)
    full : bool
        Whether the whole matrices are wanted, not their diagonals alone.
    """

    def __init__(self, points: WeightedPoints, x: Floats, *, full: bool) -> None:
        assert points.background is not None
        self.plan, self.x, self.full = points.plan, as_column_major(x), full
        self.background: Background = points.background
        self.games: Sequence[Game] = self.plan.games()
        n_players = self.plan.n_players
        self.least = max(1, _LEAST // 4) if full else _LEAST
        self.shape = (n_players, n_players) if full else (n_players,)
        self.sums = Accumulator(matrices=(len(x), *self.shape), error=(len(x),))

    def tasks(self) -> Sequence[Task]:
        """Return some rows for each term, with strips of background rows unless marginal."""
        n_terms, n_rows = len(self.games), len(self.x)
        n_background = len(self.background.rows)
        most = max(1, _PAIRS // (self.plan.n_players * n_background))
        n_pairs = 1 if self.background.marginal else n_background * min(most, n_background) // 2
        step = min(most, self._rows_of_block(n_rows * self.plan.n_players * n_pairs))
        blocks = [rows for rows, _ in rectangle(n_rows, 1, step)]
        strips = [slice(0, n_background)]
        if self.background.marginal:
            _ = self._means_of_pairs  # once, for all threads
        else:
            strips = [rows for rows, _ in rectangle(n_background, 1, most)]
        return [
            Task(rows, strip, term)
            for term in range(n_terms)
            for strip in strips
            for rows in blocks
        ]

    def _rows_of_block(self, n_corners: int) -> int:
        """Return how many rows a block has: few where they are work enough."""
        n_blocks = max(1, min(_BLOCKS, n_corners // self.least))
        return -(-len(self.x) // n_blocks)

    def run(self, task: Task) -> tuple[slice, Floats, Floats]:
        """Return the matrices of some rows, or what a strip of the background adds to them."""
        game, x = self.games[task.term], self.x[task.rows]
        diagonal = diagonal_factors(game.term, self.plan.players, x).deficits
        if self.background.marginal:
            every = np.arange(len(x))
            cells, shares = self._means(task.term, x, diagonal, every, every), np.ones(1)
        else:
            cells, shares = self._strip(game, x, diagonal, task.points)
        matrices, worst = self._integrals(game.ladder, cells, shares)
        if self.full and not self.background.marginal:  # of (b, c) and of (c, b)
            matrices = 0.5 * (matrices + matrices.transpose(0, 2, 1))
        scale = game.term.coefficient
        return task.rows, scale * matrices, abs(scale) * worst + 4.0 * game.term.error

    def add(self, part: tuple[slice, Floats, Floats]) -> None:
        """Add what a task returned."""
        rows, matrices, error = part
        self.sums.add({"matrices": matrices, "error": error}, at=rows)

    def result(self) -> tuple[Floats, Floats]:
        """Return the matrices or their diagonals, and what the rules may err by for each row."""
        for single in self.plan.singles:
            if single.player is not None:
                j = single.player
                place = (slice(None), j, j) if self.full else (slice(None), j)
                self.sums["matrices"][place] += self._single(single)
        return self.sums["matrices"], self.sums["error"]

    def _means(self, term: int, x: Floats, both: Floats, left: Indices, right: Indices) -> Cells:
        """Return the cells of rows under marginal removal, with one pair that is the mean."""
        rows, shares, only = self.background.rows, self.background.weights, np.zeros(1, np.int64)
        beside = mean_factors(self.games[term], rows, x, shares).deficits[:, :, None]
        none = self._means_of_pairs[term][:, None]
        return Cells.of(both, beside, none, left, right, only, only)

    @lazy
    def _means_of_pairs(self) -> list[Floats]:
        """For each term the mean deficits of the players over all pairs of background rows."""
        rows, shares = self.background.rows, self.background.weights
        step = max(1, _PAIRS // (self.plan.n_players * len(rows)))
        means = []
        for game in self.games:
            total = np.zeros(self.plan.n_players)
            for start in range(0, len(rows), step):
                some = slice(start, start + step)
                total += mean_factors(game, rows, rows[some], shares).deficits @ shares[some]
            means.append(total)
        return means

    def _strip(self, game: Game, x: Floats, diagonal: Floats, strip: slice) -> tuple[Cells, Floats]:
        """Return cells of rows with pairs of background rows, each unordered pair once; weights."""
        rows, shares = self.background.rows, self.background.weights
        between: Factors = game.factors(rows[strip], rows[strip.start :])
        first, second = np.triu_indices(strip.stop - strip.start, m=len(rows) - strip.start)
        none = between.deficits[:, first, second]
        first, second = first + strip.start, second + strip.start
        weights = shares[first] * shares[second]
        weights[first != second] *= 2.0
        every, beside = np.arange(len(x)), game.factors(x, rows).deficits
        return Cells.of(diagonal, beside, none, every, every, first, second), weights

    def _single(self, single: SinglePlayer) -> Floats:
        """Return the variance of the value of a term of one player: of ``f(x) - mean f(b)``."""
        rows, shares = self.background.rows, self.background.weights
        if single.dot is not None:
            change = self.x[:, single.dot] - shares @ rows[:, single.dot]
            square: Floats = single.term.coefficient * change * change
            return square
        diagonal = diagonal_factors(single.term, self.plan.players, self.x).deficits[single.player]
        beside = single.drop(self.x, rows) @ shares
        between = shares @ single.drop(rows, rows) @ shares
        return 2.0 * beside - between - single.term.coefficient * diagonal

    def _rules(self, ladder: Ladder, extents: Extents) -> Iterator[tuple[Rule, Indices]]:
        """Yield rules, each with the rows all of whose cells it covers."""
        lam, low, high = extents
        outside = (low < ladder.lower - 2.0**-40) | (high > 1.0 + 2.0**-40)
        steps = np.searchsorted(ladder.limits, lam + _DERIVATIVE)
        steps[outside] = len(ladder.rules)
        for step in np.unique(steps).tolist():
            rule = ladder.rules[step] if step < len(ladder.rules) else ladder.fallback
            yield rule, np.flatnonzero(steps == step)

    def _integrals(self, ladder: Ladder, cells: Cells, shares: Floats) -> tuple[Floats, Floats]:
        """Return the weighted sums over pairs of the integrals of some rows, and their errors.

        These are what the rules may err by.
        """
        (n_players, n_rows), n_pairs = cells.both.shape, len(shares)
        totals, errors = np.zeros((n_rows, *self.shape)), np.empty(n_rows)
        extents = measure_cells(cells)
        is_positive = bool(extents.lowest.min() >= 0.0)
        for rule, rows in self._rules(ladder, extents):
            square = square_of(rule)
            errors[rows] = 8.0 * rule.relative_error * float(shares.sum())
            compiled = native() is not None and (is_positive or not self.full)
            held = _NODES * _COMPILED if compiled else _NODES
            most = max(1, held // (n_players * len(square.weights)))
            width = min(most, n_pairs)
            chosen = cells if len(rows) == n_rows else cells.take(rows)
            for some, _ in rectangle(len(rows), 1, most // width):
                for _, pairs in rectangle(1, n_pairs, width):
                    raise_if_cancelled()
                    here, local = chosen.cut(some, pairs), shares[pairs]
                    if not self.full:
                        totals[rows[some]] += integrate_diagonal(here, square, local)
                    elif is_positive:
                        totals[rows[some]] += _covariances(here, square, local)
                    else:
                        totals[rows[some]] += _any_covariances(here, square, local)
        return totals, errors


class JointCovariance(PriorCovariance):
    """The covariances of each player's values in all pairs of rows: a reduction.

    Parameters
    ----------
    points : WeightedPoints
        With a background.
    x : array of shape (rows, columns)
    """

    def __init__(self, points: WeightedPoints, x: Floats) -> None:
        super().__init__(points, x, full=False)
        n_players, n_rows = self.plan.n_players, len(x)
        self.sums = Accumulator(matrices=(n_players, n_rows, n_rows))

    def tasks(self) -> Sequence[Task]:
        """Return some rows for each term, each with all rows from the first of them on."""
        (n_rows, n_players), n_pairs = (len(self.x), self.plan.n_players), 1
        if self.background.marginal:
            _ = self._means_of_pairs
        else:
            n_pairs = len(self.background.rows) ** 2
        most = max(1, _PAIRS // (n_rows * max(n_players, n_pairs)))
        step = min(most, self._rows_of_block(n_players * n_pairs * n_rows**2 // 2))
        blocks = [rows for rows, _ in rectangle(n_rows, 1, step)]
        terms = range(len(self.games))
        return [Task(some, slice(some.start, n_rows), term) for term in terms for some in blocks]

    def run(self, task: Task) -> tuple[slice, Floats, Floats]:
        """Return the covariances of some rows with all from the first of them on, and no error."""
        game, start = self.games[task.term], task.rows.start
        x, others = self.x[task.rows], self.x[start:]
        both = game.factors(x, others).deficits
        first, second = np.triu_indices(len(x), m=len(others))
        both = both[:, first, second]
        if self.background.marginal:
            cells = self._means(task.term, others, both, first, second)
            covariances = self._integrals(game.ladder, cells, np.ones(1))[0].T
        else:
            covariances = self._of_each(game, others, both, first, second)
        block = np.zeros((self.plan.n_players, len(x), len(others)))
        block[:, first, second] = game.term.coefficient * covariances
        return task.rows, block, np.zeros(len(x))

    def add(self, part: tuple[slice, Floats, Floats]) -> None:
        """Add what a task returned."""
        rows, block, _ = part
        self.sums["matrices"][:, rows, rows.start :] += block

    def result(self) -> tuple[Floats, Floats]:
        """Return the covariances, of shape (players, rows, rows), and no error."""
        upper: Floats = self.sums["matrices"]
        matrices = np.triu(upper) + np.triu(upper, 1).transpose(0, 2, 1)
        for single in self.plan.singles:
            if single.player is not None:
                matrices[single.player] += self._single(single)
        return matrices, np.zeros(len(self.x))

    def _of_each(
        self, game: Game, x: Floats, both: Floats, first: Indices, second: Indices
    ) -> Floats:
        """Return the same for each pair of background rows, averaged."""
        rows, shares = self.background.rows, self.background.weights
        beside, covariances = game.factors(x, rows).deficits, np.zeros(both.shape)
        for strip, _ in rectangle(len(rows), 1, max(1, _PAIRS // (len(both) * len(rows)))):
            none = game.factors(rows[strip], rows).deficits.reshape(len(both), -1)
            weights = np.outer(shares[strip], shares).ravel()
            b, c = np.divmod(np.arange(len(weights)), len(rows))
            cells = Cells.of(both, beside, none, first, second, b + strip.start, c)
            covariances += self._integrals(game.ladder, cells, weights)[0].T
        return covariances

    def _single(self, single: SinglePlayer) -> Floats:
        """Return the covariances of the values of a term of one player, (rows, rows)."""
        rows, shares = self.background.rows, self.background.weights
        if single.dot is not None:
            change = self.x[:, single.dot] - shares @ rows[:, single.dot]
            products: Floats = single.term.coefficient * np.outer(change, change)
            return products
        beside = single.drop(self.x, rows) @ shares
        between = shares @ single.drop(rows, rows) @ shares
        return beside[:, None] + beside - between - single.drop(self.x, self.x)


def _covariances(cells: Cells, square: Square, shares: Floats) -> Floats:
    """Return the weighted sums of the whole matrices, for factors that are not negative."""
    matrices = integrate_products(cells, square, shares)
    every = np.arange(matrices.shape[1])
    matrices[:, every, every] = integrate_diagonal(cells, square, shares)
    return matrices


def _any_covariances(cells: Cells, square: Square, shares: Floats) -> Floats:
    """Return the same for any factors, leaving out two players without a division."""
    (n_players, n_rows), corners = cells.both.shape, cells.corners()
    f, left, right = (
        at_nodes(corners, square.at, 1.0),
        at_nodes(corners, square.in_t, 0.0),
        at_nodes(corners, square.in_s, 0.0),
    )
    weight = np.tile(np.outer(shares, square.weights).ravel(), n_rows)
    matrices = np.empty((n_rows, n_players, n_players))
    for j in range(n_players):
        rest = f.copy()
        rest[j] = 1.0
        products = leave_one_out(rest, weight * left[j]) * right
        matrices[:, j] = products.reshape(n_players, n_rows, -1).sum(axis=2).T
    every = np.arange(n_players)
    matrices[:, every, every] = integrate_diagonal(cells, square, shares)
    return matrices
