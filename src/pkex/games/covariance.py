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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import diagonal_factors
from pkex.games.blocks import rectangle
from pkex.games.layout import as_column_major
from pkex.games.means import mean_factors
from pkex.games.points import Background, WeightedPoints
from pkex.games.protocols import Factors, Game, Task
from pkex.games.rules import Ladder, Rule
from pkex.games.single_player import SinglePlayer
from pkex.games.threads import raise_if_cancelled

__all__ = ["PriorCovariance"]


_NODES = 2**17  # factors at nodes that are held at once: 1 MiB
_PAIRS = 2**22  # factors of pairs of background rows that are held at once
_BLOCKS = 16  # of rows; those of a block share the pairs of background rows
_DERIVATIVE = 2.0  # what a derivative in the other variable adds to lam


class _Corners(NamedTuple):
    """Deficits of the players' factors with both rows at x, one, the other and none of them.

    Arrays of shape (players, rows, pairs), pairs of background rows.
    """

    both: Floats
    first: Floats
    second: Floats
    none: Floats

    def cut(self, rows: Indices | slice, pairs: slice = slice(None)) -> _Corners:
        return _Corners(*(part[:, rows, pairs] for part in self))

    @property
    def lam(self) -> Floats:
        """The largest lam of each row in either direction; see the head of the module."""
        changes = (
            self.both - self.second,
            self.first - self.none,
            self.both - self.first,
            self.second - self.none,
        )
        largest = [np.abs(change).sum(axis=0).max(axis=1) for change in changes]
        lam: Floats = np.maximum.reduce(largest)
        return lam

    @property
    def lowest(self) -> Floats:
        """The smallest factor of each row."""
        lowest: Floats = 1.0 - np.maximum.reduce([part.max(axis=(0, 2)) for part in self])
        return lowest

    @property
    def highest(self) -> Floats:
        """The largest factor of each row."""
        highest: Floats = 1.0 - np.minimum.reduce([part.min(axis=(0, 2)) for part in self])
        return highest


class _Square(NamedTuple):
    """The tensor product of a rule with itself: what corners are multiplied by at its nodes."""

    at: Floats
    in_t: Floats
    in_s: Floats
    weights: Floats


@lru_cache(maxsize=32)
def _square(rule: Rule) -> _Square:
    """Return the nodes for f and for its two derivatives, of shape (4, nodes), and the weights."""
    t, s = (part.ravel() for part in np.meshgrid(*[rule.nodes] * 2, indexing="ij"))
    weights = np.outer(rule.weights, rule.weights).ravel()
    at = np.stack([t * s, t * (1.0 - s), (1.0 - t) * s, (1.0 - t) * (1.0 - s)])
    in_t = np.stack([s, 1.0 - s, -s, s - 1.0])
    in_s = np.stack([t, -t, 1.0 - t, t - 1.0])
    return _Square(at, in_t, in_s, weights)


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
        self.shape = (n_players, n_players) if full else (n_players,)
        self.sums = Accumulator(matrices=(len(x), *self.shape), error=(len(x),))

    def tasks(self) -> Sequence[Task]:
        """Return some rows for each term, with strips of background rows unless marginal."""
        n_terms, n_rows = len(self.games), len(self.x)
        n_background = len(self.background.rows)
        most = max(1, _PAIRS // (self.plan.n_players * n_background))
        step = min(most, -(-n_rows // _BLOCKS))
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

    def run(self, task: Task) -> tuple[slice, Floats, Floats]:
        """Return the matrices of some rows, or what a strip of the background adds to them."""
        game, x = self.games[task.term], self.x[task.rows]
        diagonal = diagonal_factors(game.term, self.plan.players, x).deficits
        parts: Iterable[tuple[slice, _Corners, Floats]]
        if self.background.marginal:
            parts = [(slice(0, len(x)), self._means(task.term, x, diagonal), np.ones(1))]
        else:
            parts = self._strips(game, x, diagonal, task.points)
        matrices, worst = np.empty((len(x), *self.shape)), np.empty(len(x))
        for rows, corners, shares in parts:
            matrices[rows], worst[rows] = self._integrals(game.ladder, corners, shares)
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

    def _means(self, term: int, x: Floats, diagonal: Floats) -> _Corners:
        """Return the corners of rows under marginal removal, one pair for each row."""
        rows, shares = self.background.rows, self.background.weights
        beside = mean_factors(self.games[term], rows, x, shares).deficits
        none = np.broadcast_to(self._means_of_pairs[term][:, None], diagonal.shape)
        return _Corners(*(part[:, :, None] for part in (diagonal, beside, beside, none)))

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

    def _strips(
        self, game: Game, x: Floats, diagonal: Floats, strip: slice
    ) -> Iterator[tuple[slice, _Corners, Floats]]:
        """Yield some rows, their corners with pairs of background rows, and weights of the pairs.

        Each unordered pair is met once.
        """
        rows, shares = self.background.rows, self.background.weights
        every = game.factors(x, rows).deficits
        between: Factors = game.factors(rows[strip], rows[strip.start :])
        first, second = np.triu_indices(strip.stop - strip.start, m=len(rows) - strip.start)
        none = between.deficits[:, first, second]
        first, second = first + strip.start, second + strip.start
        weights = shares[first] * shares[second]
        weights[first != second] *= 2.0
        for some, _ in rectangle(len(x), 1, max(1, _NODES // none.size)):
            beside, both = every[:, some], diagonal[:, some, None]
            shape = (*both.shape[:2], len(weights))
            corners = _Corners(
                np.broadcast_to(both, shape),
                beside[:, :, second],
                beside[:, :, first],
                np.broadcast_to(none[:, None], shape),
            )
            yield some, corners, weights

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

    def _integrals(
        self, ladder: Ladder, corners: _Corners, shares: Floats
    ) -> tuple[Floats, Floats]:
        """Return weighted sums over pairs of the integrals of rows, and what their rules err by.

        Rows with the same rule go on together: a few steps over many rows.
        """
        low, high = corners.lowest, corners.highest
        outside = (low < ladder.lower - 2.0**-40) | (high > 1.0 + 2.0**-40)
        steps = np.searchsorted(ladder.limits, corners.lam + _DERIVATIVE)
        steps[outside] = len(ladder.rules)
        totals, errors = np.zeros((len(steps), *self.shape)), np.empty(len(steps))
        for step in np.unique(steps):
            rule = ladder.fallback if step == len(ladder.rules) else ladder.rules[step]
            square, every = _square(rule), np.flatnonzero(steps == step)
            errors[every] = 8.0 * rule.relative_error * float(shares.sum())
            most = max(1, _NODES // (self.plan.n_players * len(square.weights)))
            for cut, pairs in rectangle(len(every), len(shares), most):
                raise_if_cancelled()
                rows = every[cut]
                some, weights = corners.cut(rows, pairs), shares[pairs]
                if not self.full:
                    totals[rows] += (_variances(some, square) @ weights).T
                    continue
                for i, row in enumerate(rows):
                    integrate = _covariances if low[row] >= 0.0 else _any_covariances
                    totals[row] += integrate(some.cut(slice(i, i + 1)), square, weights)
        return totals, errors


def _at(corners: _Corners, basis: Floats, start: float) -> Floats:
    """Return factors or derivatives at all nodes, shape (players, rows * pairs * nodes)."""
    stacked = np.stack(corners, axis=-1)
    at_nodes: Floats = stacked.reshape(-1, 4) @ basis
    np.subtract(start, at_nodes, out=at_nodes)
    return at_nodes.reshape(len(stacked), -1)


def _variances(corners: _Corners, square: _Square) -> Floats:
    """Return the integrals of the diagonal for each pair, shape (players, rows, pairs)."""
    at, _, _, weights = square
    f, shape = _at(corners, at, 1.0), corners.both.shape
    others = _leave_one_out(f, np.tile(weights, shape[1] * shape[2]))
    integrals = others.reshape(*shape, -1).sum(axis=3)
    change = corners.first + corners.second - corners.both - corners.none
    variances: Floats = change * integrals
    return variances


def _covariances(corners: _Corners, square: _Square, shares: Floats) -> Floats:
    """Return the weighted sum of the whole matrices of one row, for factors not below 0."""
    at, in_t, in_s, weights = square
    f = _at(corners, at, 1.0)
    worth = np.multiply.reduce(f, axis=0) * np.outer(shares, weights).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(f > 0.0, 1.0 / f, 0.0)
    left = _at(corners, in_t, 0.0) * inverse
    left *= worth
    matrix: Floats = left @ (_at(corners, in_s, 0.0) * inverse).T
    np.fill_diagonal(matrix, (_variances(corners, square) @ shares)[:, 0])
    return matrix


def _any_covariances(corners: _Corners, square: _Square, shares: Floats) -> Floats:
    """Return the same for any factors, leaving out two players without a division."""
    at, in_t, in_s, weights = square
    f, left, right = _at(corners, at, 1.0), _at(corners, in_t, 0.0), _at(corners, in_s, 0.0)
    weight = np.outer(shares, weights).ravel()
    matrix = np.empty((len(f), len(f)))
    for j in range(len(f)):
        rest = f.copy()
        rest[j] = 1.0
        matrix[j] = (_leave_one_out(rest, weight * left[j]) * right).sum(axis=1)
    np.fill_diagonal(matrix, (_variances(corners, square) @ shares)[:, 0])
    return matrix


def _leave_one_out(f: Floats, weights: Floats) -> Floats:
    """Return ``weights`` times the product of all rows of `f` but one, for each row."""
    result = np.empty_like(f)
    result[0] = weights
    for j in range(1, len(f)):
        np.multiply(result[j - 1], f[j - 1], out=result[j])
    after = f[-1].copy()
    for j in range(len(f) - 2, -1, -1):
        result[j] *= after
        after *= f[j]
    return result
