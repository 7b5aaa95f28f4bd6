"""The one primitive: weighted sums of the Shapley values of product games over pairs of points.

Everything pkex explains is such a sum; only the pairs and their weights differ (a model at x: the
pairs (x, x_i) with weights alpha_i). The engine cuts the rows and points into blocks that fit a
memory budget, hands the blocks to threads, and adds up what the hot loop returns. Blocks do not
depend on the number of threads and are added in a fixed order, so neither do the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex import twin
from pkex._lazy import lazy
from pkex._threads import go_on, in_order, with_bar
from pkex.backend import game_class
from pkex.kernels.algebra import Term
from pkex.narrow import Absent, as_narrow
from pkex.rules import Rule, exact, general_ladder, ladder

__all__ = ["Background", "Plan", "Sums", "ranked", "shapley_sums", "sum_tolerance"]

Floats = NDArray[np.float64]
Task = tuple[int, slice, slice]
Scenarios = tuple[Floats, Floats]

_BLOCK = 2**22  # column factors of a block at most; a backend may want less
_SCENARIOS = 2**24  # column factors that are evaluated between two looks at the keyboard
_ABSENT = 2**19  # factors of absent players evaluated at once
_ABSENT_KEPT = 2**23  # their means, kept for the next call: 128 MiB
_SMALLEST = 5e-324  # the rounding error of results that underflow


@dataclass(frozen=True, eq=False)
class Sums:
    """What `shapley_sums` returns.

    Attributes
    ----------
    values : array of shape (rows, players, sets)
        Weighted sums of the Shapley values of the pairs of each row.
    totals : array of shape (rows, sets)
        Weighted sums of the kernel values, i.e. of the worth of all players together.
    bases : array of shape (sets,) or (rows, sets)
        Weighted sums of the worth of no player.
    tolerance : array of shape (rows, sets)
        How far ``values.sum(axis=1)`` may be from ``totals - bases`` by certificate and rounding.
    error : array of shape (rows, sets)
        How far each value, the total and the base may be from what exact arithmetic gives, by
        certificate and rounding; see "What a result may be off by" in docs/mathematics.md.
    magnitudes : array of shape (rows, sets)
        Weighted sums of absolute terms, which rounding errors are measured by.
    rules : tuple of Rule
        The rules that were used, the largest bound first.
    """

    values: Floats
    totals: Floats
    bases: Floats
    tolerance: Floats
    error: Floats
    magnitudes: Floats
    rules: tuple[Rule, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.values + other.values,
            self.totals + other.totals,
            self.bases + other.bases,
            self.tolerance + other.tolerance,
            self.error + other.error,
            self.magnitudes + other.magnitudes,
            ranked({*self.rules, *other.rules}),
        )

    @lazy
    def checked(self) -> tuple[Floats, Floats]:
        """The sums of the values over all players, and how far they are from totals - bases.

        Both have shape (rows, sets), and are NaN where something overflowed.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            explained: Floats = np.add.reduce(self.values, axis=1)
            return explained, explained - (self.totals - self.bases)

    @property
    def residual(self) -> Floats:
        """How far the sums of the values are from totals - bases."""
        return self.checked[1]


@dataclass(frozen=True, eq=False)
class Background:
    """Rows that stand in for absent players, with weights that sum to 1.

    Each row is a scenario: an absent player has the factor of that row. With `marginal` there is
    one scenario, where an absent player has the mean of these factors.
    """

    rows: Floats
    weights: Floats
    marginal: bool = False

    def chunks(self, game: twin.Game, shape: tuple[int, int]) -> Iterator[Scenarios]:
        """Yield the rows in parts that suit a block of rows and points, with their weights."""
        n_rows, n_points = shape
        step = min(_SCENARIOS // n_rows, game.entries) // (game.term.n_columns * n_points)
        step = max(1, step)
        for start in range(0, len(self.rows), step):
            yield self.rows[start : start + step], self.weights[start : start + step]


class Plan:
    """What a sum of games needs before it sees data, made once and used for many calls.

    Parameters
    ----------
    terms : tuple of Term
        The normal form of the kernel.
    players : tuple of tuples of int
        The columns of each player; every column belongs to exactly one.
    tol : float, optional
        Accepted relative error per pair (see `pkex.rules`); full double precision by default.
    background : Background, optional
        What absent players are replaced by; by default their factors become 1.
    narrow : bool
        Whether terms of a single player are kept apart; else they are games like the others.
    general : bool
        Whether absent players have factors of their own, which is so with a background.
    """

    def __init__(
        self,
        terms: tuple[Term, ...],
        players: tuple[tuple[int, ...], ...],
        tol: float | None = None,
        background: Background | None = None,
        *,
        narrow: bool = True,
        general: bool = False,
    ) -> None:
        self.players, self.tol, self.background = players, tol, background
        self.general = general or background is not None
        narrow_terms = [as_narrow(term, players) if narrow else None for term in terms]
        self.narrow = [term for term in narrow_terms if term is not None]
        self.terms = [t for t, one in zip(terms, narrow_terms, strict=True) if one is None]
        self._games: list[twin.Game] = []
        self._roundings: tuple[Floats, float] | None = None
        self._sizes: tuple[Floats, Floats] | None = None
        self._absent: dict[tuple[int, int, int], tuple[Floats, twin.Factors]] = {}

    def games(self) -> list[twin.Game]:
        """Return the games of the terms for the backend in use, which is asked for here.

        So it is called once for a sum, not in its threads.
        """
        kind = game_class()
        games = self._games
        if not games or type(games[0]) is not kind:
            rungs = (general_ladder if self.general else ladder)(len(self.players), self.tol)
            games = self._games = [kind(term, self.players, rungs) for term in self.terms]
        return games

    def mean_factors(
        self, games: list[twin.Game], number: int, points: slice, Z: Floats
    ) -> twin.Factors:
        """Return the mean factors of absent players on some points; kept while there is room."""
        assert self.background is not None
        key = (number, points.start, points.stop)
        known = self._absent.get(key)
        if known is not None and (known[0] is Z or np.array_equal(known[0], Z)):
            return known[1]
        background = self.background
        found = games[number].mean_factors(background.rows, Z[points], background.weights)
        if len(self.players) * len(Z) * len(self.terms) <= _ABSENT_KEPT:
            self._absent[key] = (Z, found)
        return found

    def absent_worths(
        self, games: list[twin.Game], number: int, points: slice, Z: Floats
    ) -> Floats:
        """Return what a term is worth without any player at some points."""
        assert self.background is not None
        if self.background.marginal:
            worths: Floats = np.prod(self.mean_factors(games, number, points, Z).values, axis=0)
            return worths
        game, z, total = games[number], Z[points], np.zeros(points.stop - points.start)
        step = max(1, _ABSENT // max(1, z.size))
        for start in range(0, len(self.background.rows), step):
            rows = slice(start, start + step)
            factors = game.factors(self.background.rows[rows], z).values
            total += self.background.weights[rows] @ np.prod(factors, axis=0)
        return total

    def narrow_absent(self, Z: Floats) -> list[Absent]:
        """Return what the narrow terms are worth without their players, at each point."""
        rows, shares = None, None
        if self.background is not None:
            rows, shares = self.background.rows, self.background.weights
        return [narrow.absent(Z, rows, shares) for narrow in self.narrow]

    def roundings(self, Z: Floats, games: list[twin.Game]) -> float:
        """Return how many units of rounding a value carries at most, relative to the magnitudes.

        The proof is in docs/mathematics.md. Found once for the points in use.
        """
        known = self._roundings
        if known is None or not (known[0] is Z or np.array_equal(known[0], Z)):
            known = self._roundings = (Z, self._count_roundings(Z, games))
        return known[1]

    def sizes(self, weights: Floats) -> Floats:
        """Return the sums of ``|alpha_i|`` over the points and terms; found once for weights."""
        if self._sizes is None or self._sizes[0] is not weights:
            worth = sum(abs(term.coefficient) for term in self.terms)
            self._sizes = (weights, worth * np.add.reduce(np.abs(weights), axis=-2))
        return self._sizes[1]

    def _count_roundings(self, Z: Floats, games: list[twin.Game]) -> float:
        n_players, background = len(self.players), self.background
        leaves = [leaf for term in self.terms for leaf in term.leaves]
        leaves += [leaf for narrow in self.narrow for leaf in narrow.term.leaves]
        # a value of a pair is at most 1 in size, or 2 where factors may have both signs
        largest = 1.0 if all(leaf.unit for leaf in leaves) else 2.0
        count = 16.0 * n_players + 280.0 + largest * len(Z)
        if background is None:
            return count
        count += 18.0 * n_players + len(background.rows)
        if not background.marginal:
            return count
        # Means carry a rounding for each row, relative to what is averaged: to the deficits where
        # factors are near 1, and to factors of both signs, which may cancel, where they are not.
        reach = 0.0
        for number, game in enumerate(games):
            bounded = all(leaf.unit for leaf in game.term.leaves)
            for _, points in _blocks(1, len(Z), Z.shape[1], _entries(games)):
                if bounded:
                    factors = self.mean_factors(games, number, points, Z)
                    sizes = np.minimum(1.0, np.abs(factors.deficits))
                else:
                    sizes = self._averaged(game, Z[points])
                reach = max(reach, float(sizes.sum(axis=0).max(initial=0.0)))
        return count + (len(background.rows) + 8.0) * reach

    def _averaged(self, game: twin.Game, z: Floats) -> Floats:
        """Return the means of the absolute factors over the background, (players, points)."""
        assert self.background is not None
        rows, shares = self.background.rows, self.background.weights
        step = max(1, _ABSENT // (len(rows) * len(game.players)))
        parts = [
            np.einsum("b,jbi->ji", shares, np.abs(game.factors(rows, z[i : i + step]).values))
            for i in range(0, len(z), step)
        ]
        return np.concatenate(parts, axis=1)

    def bases(self, Z: Floats, weights: Floats, games: list[twin.Game] | None = None) -> Floats:
        """Return the weighted sums of the worth of no player, shape (sets,) or (rows, sets).

        `games` are those of the plan, where they are known already.
        """
        total = np.zeros(weights.shape[:-2] + weights.shape[-1:])
        for without in self.narrow_absent(Z):
            total += without.worth @ weights
        if self.background is None:
            total += sum(term.coefficient for term in self.terms) * weights.sum(axis=-2)
            return total
        games = self.games() if games is None else games
        size = _entries(games) if self.background.marginal else _ABSENT  # means are used again
        for number, term in enumerate(self.terms):
            for _, points in _blocks(1, len(Z), Z.shape[1], size):
                worths = self.absent_worths(games, number, points, Z)
                total += term.coefficient * (worths @ weights[..., points, :])
        return total

    def __getstate__(self) -> dict[str, Any]:
        # made again where they are needed
        return self.__dict__ | {"_games": [], "_absent": {}, "_roundings": None, "_sizes": None}


def shapley_sums(
    plan: Plan,
    X: Floats,
    Z: Floats,
    weights: Floats,
    *,
    bases: Floats | None = None,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> Sums:
    """Return the weighted sums over `Z` of the pairs' Shapley values, for every row of `X`.

    Parameters
    ----------
    plan : Plan
    X : array of shape (rows, columns)
    Z : array of shape (points, columns)
    weights : array of shape (points, sets), or (rows, points, sets)
        Several weight sets share the work of the pair values.
    bases : array, optional
        What `Plan.bases` returns for these points and weights, where it is known already.
    n_jobs : int or None
        Number of threads, as in joblib; one inside a worker of joblib.
    progress : bool
        Whether to show a progress bar (tqdm) when it takes longer than two seconds.
    """
    x, z = _by_column(X), _by_column(Z)
    games = plan.games()
    entries = _entries(games)
    n_tasks = 1
    whole = len(X) * Z.size <= entries and not progress
    if whole and len(games) == 1 and plan.background is None:
        block = _scaled(games[0].term.coefficient, games[0].explain(x, z, weights))
        values, totals, magnitudes, used = block  # nothing to cut or to add up
        rules = set(used)
    else:
        blocks = list(_blocks(len(X), len(Z), X.shape[1], entries))
        tasks = [(number, *block) for number in range(len(games)) for block in blocks]
        n_tasks = len(tasks)
        results = in_order(partial(_explain, plan, games, x, z, weights), tasks, n_jobs)
        if progress:
            results = with_bar(results, n_tasks)
        values = np.zeros((len(X), len(plan.players), weights.shape[-1]))
        totals, magnitudes = np.zeros((2, len(X), weights.shape[-1]))
        rules = set()
        for (_, rows, _), block in zip(tasks, results, strict=True):
            values[rows] += block.values
            totals[rows] += block.totals
            magnitudes[rows] += block.magnitudes
            rules.update(block.rules)

    if plan.narrow:
        for narrow, absent in zip(plan.narrow, plan.narrow_absent(z), strict=True):
            general = plan.background is not None
            narrow.add(x, z, weights, absent, general, values, totals, magnitudes)
    order = ranked(rules or {exact(1)})
    tolerance = sum_tolerance(plan, order, len(Z), magnitudes, n_tasks)
    underflow = 4.0 * (len(plan.players) + len(Z)) * _SMALLEST * max(1, n_tasks)
    rate: Any = 2.0 * order[0].relative_error + plan.roundings(z, games) * 2.0**-53
    if plan.background is not None:
        # in the tail, where magnitudes are small, exponents of factors are large and so is what
        # their rounding costs
        shares = plan.sizes(weights) / np.maximum(magnitudes, _SMALLEST)
        if shares.size == 1:  # numbers are faster than arrays
            rate += 8.0 * 2.0**-53 * math.log(max(math.e, shares.item()))
        else:
            rate = rate + 8.0 * 2.0**-53 * np.log(np.maximum(math.e, shares))
    error = rate * magnitudes + underflow
    known = plan.bases(z, weights, games) if bases is None else bases
    return Sums(values, totals, known, tolerance, error, magnitudes, order)


def _entries(games: list[twin.Game]) -> int:
    """Return how many column factors a block may have."""
    return min([_BLOCK, *[game.entries for game in games]])


def sum_tolerance(
    plan: Plan, rules: tuple[Rule, ...], n_points: int, magnitudes: Any, n_tasks: int = 1
) -> Any:
    """Return how far sums of values may be from totals minus bases by certificate and rounding.

    Each value carries about 3 roundings per player and 1 per point; 16 leaves room, also for what
    series leave out. The values of a pair sum to at most 1 under neutral removal, else to at most
    2 per player. `magnitudes` are sums of the absolute terms; `n_tasks` partial sums may underflow.
    """
    n_players = len(plan.players)
    rounding = 16.0 * (n_players + n_points + 16) * 2.0**-53
    spread = 2.0 * n_players if plan.general else 1.0
    underflow = 4.0 * (n_players + n_points) * _SMALLEST * max(1, n_tasks)
    return spread * (rules[0].relative_error + rounding) * magnitudes + underflow


def _by_column(matrix: Floats) -> Floats:
    """Return the matrix with its columns contiguous, as blocks read them."""
    return matrix if matrix.strides[0] == matrix.itemsize else np.asfortranarray(matrix)


def _explain(
    plan: Plan, games: list[twin.Game], x: Floats, z: Floats, weights: Floats, task: Task
) -> twin.Block:
    """Return the sums of one term over a block of rows and points."""
    number, rows, points = task
    game = games[number]
    local = weights[points] if weights.ndim == 2 else weights[rows, points]
    left, right, coefficient = x[rows], z[points], game.term.coefficient
    background = plan.background
    if background is None:
        return _scaled(coefficient, game.explain(left, right, local))
    if background.marginal:
        absent = plan.mean_factors(games, number, points, z)
        return _scaled(coefficient, game.explain(left, right, local, absent))
    total: twin.Block | None = None
    for chunk in background.chunks(game, (len(left), len(right))):
        go_on()
        block = game.explain_against(left, right, local, *chunk)
        total = block if total is None else total.plus(block)
    assert total is not None  # a background has rows
    return _scaled(coefficient, total)


def _scaled(share: float, block: twin.Block) -> twin.Block:
    if share == 1.0:
        return block
    values, totals, magnitudes, rules = block
    return twin.Block(share * values, share * totals, abs(share) * magnitudes, rules)


def ranked(rules: set[Rule]) -> tuple[Rule, ...]:
    """Return the rules, the one with the largest bound first."""
    if len(rules) == 1:
        return tuple(rules)
    return tuple(sorted(rules, key=lambda rule: (-rule.relative_error, -rule.size)))


def _blocks(n_rows: int, n_points: int, width: int, entries: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows and points so that a block's arrays (pairs, width) stay below the budget."""
    pairs = max(1, entries // width)
    points = min(n_points, pairs)
    rows = max(1, pairs // points)
    for row in range(0, n_rows, rows):
        for point in range(0, n_points, points):
            yield slice(row, min(row + rows, n_rows)), slice(point, min(point + points, n_points))
