"""Sums over the pairs within one sample, each unordered pair once: what MMD and HSIC are made of.

`PairGames` are the games of all pairs of some rows. What an absent column is worth in them is 1
under neutral removal, as in the paper, and the mean of its factor over all pairs of different rows
under marginal removal.

`pair_sums` folds the weights into the hot loop. A permutation test needs the same sums for many
weights: `permuted_sums` takes the values of a tile of pairs, once, and contracts them with all
weights by matrix products. What a tile holds is up to its *filler*: the Shapley values of the pairs
(`PairGames`), or the kernel of each player by itself (`PlayerKernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex import twin
from pkex._threads import go_on, in_order, with_bar, workspace
from pkex.engine import Plan, ranked, sum_tolerance
from pkex.rules import Rule
from pkex.twin import Factors
from pkex.weights import Shuffled, Weights

__all__ = [
    "Filler",
    "PairGames",
    "PairSums",
    "PermutedSums",
    "PlayerKernels",
    "component_sum",
    "pair_sums",
    "permuted_sums",
    "row_sums",
]

Floats = NDArray[np.float64]
Result = TypeVar("Result")

_PAIRS = 2**18  # pairs of a block whose weights are made at once: 2 MiB
_TILE = 2**17  # values of a tile: 1 MiB, so that it stays in cache
_EQUAL = 2.0**-43  # rounding of a long sum, relative to the sum of its absolute terms


class Filler(Protocol):
    """What the tiles of `permuted_sums` hold of each pair."""

    @property
    def n_values(self) -> int:
        """How many numbers of a pair there are."""

    @property
    def x(self) -> Floats:
        """The rows, shape (rows, columns)."""

    @property
    def entries(self) -> int:
        """Column factors of a tile that suit it."""

    def add(self, tile: Floats, left: Floats, right: Floats) -> tuple[tuple[Rule, ...], float]:
        """Add the numbers of all pairs of `left` and `right` to `tile` (values, rows, points).

        Return the rules that were used, and the largest magnitude of a pair.
        """


@dataclass(frozen=True, eq=False)
class PairGames:
    """The games of all pairs of some rows.

    Attributes
    ----------
    plan : Plan
    games : list of Game
        Those of the terms of the plan.
    x : array of shape (rows, columns), its columns contiguous
    absent : tuple of Factors, or None
        For each game of the plan the factors of absent players, shape (players, rows) with equal
        entries in a row; None where they are 1.
    """

    plan: Plan
    games: list[twin.Game]
    x: Floats
    absent: tuple[Factors, ...] | None

    @classmethod
    def of(
        cls,
        plan: Plan,
        X: Floats,
        n_jobs: int | None = 1,
        *,
        games: list[twin.Game] | None = None,
    ) -> PairGames:
        """Return the games of the rows of `X`; absent factors are means if the plan is general.

        `games` are those of the plan, where they are known already, as in threads they must be.
        """
        x, games = np.asfortranarray(X), plan.games() if games is None else games
        if not plan.general:
            return cls(plan, games, x, None)
        means = _mean_factors(games, x, n_jobs)
        return cls(plan, games, x, tuple(_repeated(mean, len(x)) for mean in means))

    @property
    def entries(self) -> int:
        """Column factors of a block that suit all games."""
        return min(game.entries for game in self.games)

    @property
    def n_values(self) -> int:
        """The values of all players, and the product of all factors."""
        return len(self.plan.players) + 1

    def explain(self, rows: slice, points: slice, weights: Floats) -> list[twin.Block]:
        """Return what each game gives for some pairs, weights of shape (rows, points, sets)."""
        x, z = self.x[rows], self.x[points]
        return [
            game.explain(x, z, weights, self.absent_at(number, len(z)))
            for number, game in enumerate(self.games)
        ]

    def add(self, tile: Floats, left: Floats, right: Floats) -> tuple[tuple[Rule, ...], float]:
        """Add the values of the pairs, and the products of all factors, to `tile`."""
        rules, size = set[Rule](), 0.0
        for number, game in enumerate(self.games):
            used, largest = game.add_pairs(left, right, tile, self.absent_at(number, len(right)))
            rules.update(used)
            size += abs(game.term.coefficient) * largest
        return tuple(rules), size

    def means(self, number: int) -> Factors | None:
        """Return the factors of absent players of a game, shape (players,); None if they are 1."""
        if self.absent is None:
            return None
        return Factors(*(part[:, 0] for part in self.absent[number]))

    def absent_at(self, number: int, n_points: int) -> Factors | None:
        """Return the factors of absent players of a game for so many points."""
        if self.absent is None:
            return None
        return Factors(*(part[:, :n_points] for part in self.absent[number]))


@dataclass(frozen=True, eq=False)
class PlayerKernels:
    """The kernel of every player by itself: a sum of games of which the factors alone are used.

    Attributes
    ----------
    games : list of Game
    x : array of shape (rows, columns), its columns contiguous
    """

    games: list[twin.Game]
    x: Floats

    @property
    def n_values(self) -> int:
        """One for each player."""
        return len(self.games[0].players)

    @property
    def entries(self) -> int:
        """Column factors of a tile that suit all games."""
        return min(game.entries for game in self.games)

    def add(self, tile: Floats, left: Floats, right: Floats) -> tuple[tuple[Rule, ...], float]:
        """Add the kernels of the pairs to `tile`."""
        for game in self.games:
            game.add_factors(left, right, tile)
        return (), 0.0


@dataclass(frozen=True, eq=False)
class PairSums:
    """Weighted sums over the pairs of one sample, for one or several sets of weights.

    Attributes
    ----------
    values : array of shape (players, sets)
        Sums of the pairs' Shapley values.
    totals : array of shape (sets,)
        Sums of the kernel values.
    tolerance : float
        How far the sum of values may be from the total by certificate and rounding.
    rounding : array of shape (players,)
        How far apart the sums of two sets may be that are equal but for rounding.
    rules : tuple of Rule
        The rules that were used, the largest bound first.
    """

    values: Floats
    totals: Floats
    tolerance: float
    rounding: Floats
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, games: PairGames, found: PermutedSums, total: float) -> PairSums:
        """Return what `permuted_sums` found of games; `total` bounds the absolute weights."""
        order, size = ranked(set(found.rules)), total * found.largest
        return cls(
            found.sums[:-1],
            found.sums[-1],
            sum_tolerance(games.plan, order, len(games.x), size),
            found.rounding[:-1],
            order,
        )


@dataclass(frozen=True, eq=False)
class PermutedSums:
    """What `permuted_sums` returns.

    Attributes
    ----------
    sums : array of shape (values, sets)
    rounding : array of shape (values,)
        How far apart the sums of two sets may be that are equal but for rounding.
    largest : float
        The largest magnitude of a pair.
    rules : tuple of Rule
    """

    sums: Floats
    rounding: Floats
    largest: float
    rules: tuple[Rule, ...]


def pair_sums(
    games: PairGames, weights: Weights, *, n_jobs: int | None = 1, progress: bool = False
) -> PairSums:
    """Return the weighted sums of the Shapley values of all pairs of rows."""
    n_rows, n_players = len(games.x), len(games.plan.players)

    def run(rows: slice) -> list[twin.Block]:
        points = slice(rows.start, n_rows)
        local = 2.0 * _without_self(weights, rows, points)
        local[:, : len(local)] *= 0.5  # here both (i, j) and (j, i) are met
        return games.explain(rows, points, local[:, :, None])

    values, totals = np.zeros((n_players, 1)), np.zeros(1)
    size, rules = 0.0, set[Rule]()
    for blocks in _results(run, list(_row_blocks(games)), n_jobs, progress):
        for game, block in zip(games.games, blocks, strict=True):
            coefficient = game.term.coefficient
            values += coefficient * block.values.sum(axis=0)
            totals += coefficient * block.totals.sum(axis=0)
            size += abs(coefficient) * float(block.magnitudes.sum())
            rules.update(block.rules)
    order = ranked(rules)
    tolerance = sum_tolerance(games.plan, order, n_rows, size)
    return PairSums(values, totals, tolerance, np.zeros(n_players), order)


def permuted_sums(
    filler: Filler, shuffled: Shuffled, *, n_jobs: int | None = 1, progress: bool = False
) -> PermutedSums:
    """Return weighted sums over all pairs for all sets of weights; each pair is evaluated once.

    The rows stand in layers (see `Shuffled`): entry u of all layers is unit u. A tile holds the
    sums over the pairs of two units, so it takes the pairs within every layer and those between
    two layers, where (left, right) and (right, left) are different pairs of rows.
    """
    x, n_values = filler.x, filler.n_values
    layers = [np.asfortranarray(x[rows]) for rows in shuffled.layers]
    n_units = len(layers[0])
    n_points = max(1, min(shuffled.width, _TILE // n_values))
    step = max(1, min(n_points, _TILE // (n_values * n_points)))
    step = min(step, max(1, filler.entries // (n_points * x.shape[1])))

    def run(rows: slice) -> tuple[Floats, Floats, set[Rule], float]:
        sums, sizes = np.zeros(()), np.zeros(n_values)
        rules, largest = set[Rule](), 0.0
        for start in range(rows.start, n_units, n_points):
            go_on()
            points = slice(start, min(start + n_points, n_units))
            count = rows.stop - rows.start
            tile = workspace("tile", n_values, count, points.stop - points.start)
            tile[...] = 0.0
            counted = np.full(tile.shape[2], 2.0)

            def add(left: Floats, right: Floats) -> None:
                nonlocal largest
                a, b = left[rows], right[points]  # noqa: B023
                used, size = filler.add(tile[:, : len(a), : len(b)], a, b)  # noqa: B023
                rules.update(used)
                largest = max(largest, size)

            for layer in layers:
                add(layer, layer)
            if start == rows.start:
                counted[:count] = 1.0  # here both (i, j) and (j, i) are met
                if not shuffled.with_self:
                    tile[:, np.arange(count), np.arange(count)] = 0.0
            for left, right in permutations(layers, 2):
                add(left, right)
            sums = sums + shuffled.contract(tile, rows, points, counted)
            sizes += np.abs(tile, out=tile).sum(axis=1) @ counted
        return sums, sizes, rules, largest

    tasks = [slice(start, min(start + step, n_units)) for start in range(0, n_units, step)]
    total, size, largest, rules = np.zeros(()), np.zeros(n_values), 0.0, set[Rule]()
    for sums, sizes, used, most in _results(run, tasks, n_jobs, progress):
        total, size = total + sums, size + sizes
        rules.update(used)
        largest = max(largest, most)
    # the weights are about total / n^2 each, so this is about the sum of the absolute terms
    rounding = _EQUAL * shuffled.total / len(x) ** 2 * size
    return PermutedSums(shuffled.finish(total), rounding, largest, tuple(rules))


def row_sums(games: PairGames, weights: Weights, *, n_jobs: int | None = 1) -> Floats:
    """Return the weighted sums over the partners of each row, shape (rows, players)."""
    n_rows = len(games.x)

    def run(rows: slice) -> Floats:
        local = _without_self(weights, rows, slice(0, n_rows))[:, :, None]
        values = np.zeros((len(local), len(games.plan.players)))
        blocks = games.explain(rows, slice(0, n_rows), local)
        for game, block in zip(games.games, blocks, strict=True):
            values += game.term.coefficient * block.values[:, :, 0]
        return values

    return np.concatenate(list(in_order(run, list(_row_blocks(games)), n_jobs)))


def component_sum(
    games: PairGames, weights: Weights, subset: Sequence[int], *, n_jobs: int | None = 1
) -> float:
    """Return the weighted sum over all pairs of the product of ``k_j - a_j`` over some players.

    The other players have their absent factors, ``a_j``, which are 1 under neutral removal.
    """
    x, inside = games.x, list(subset)
    outside = [j for j in range(len(games.plan.players)) if j not in inside]

    def run(rows: slice) -> float:
        local = _without_self(weights, rows, slice(0, len(x)))
        total = 0.0
        for number, game in enumerate(games.games):
            changes = -game.factors(x[rows], x).deficits[inside]
            scale, mean = game.term.coefficient, games.means(number)
            if mean is not None:
                changes += mean.deficits[inside, None, None]
                scale *= float(mean.values[outside].prod())
            total += scale * float(np.vdot(changes.prod(axis=0), local))
        return total

    return sum(in_order(run, list(_row_blocks(games)), n_jobs))


def _mean_factors(games: list[twin.Game], x: Floats, n_jobs: int | None) -> list[Factors]:
    """Return the mean of every player's factor over all pairs of different rows, for each game."""
    n_rows, n_players = len(x), len(games[0].players)

    def run(rows: slice) -> list[Floats]:
        here, after = x[rows], x[rows.stop :]
        sums = []
        for game in games:
            inside = np.stack(game.factors(here, here))
            inside[:, :, np.arange(len(here)), np.arange(len(here))] = 0.0
            total = 0.5 * inside.sum(axis=(2, 3))
            if len(after):
                beyond = game.mean_factors(here, after, np.full(len(here), 1.0 / len(here)))
                total += len(here) * np.stack(beyond).sum(axis=2)
            sums.append(total)
        return sums

    width = max(x.shape[1], n_players)
    step = int(max(1, min(n_rows, 256, (_PAIRS // width) ** 0.5)))
    tasks = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    totals = [np.zeros((2, n_players)) for _ in games]
    for sums in in_order(run, tasks, n_jobs):
        for total, some in zip(totals, sums, strict=True):
            total += some
    count = 0.5 * n_rows * (n_rows - 1.0)
    return [Factors(*(total / count)) for total in totals]


def _repeated(factors: Factors, count: int) -> Factors:
    """Return factors of players, shape (players,), for `count` points."""
    return Factors(*(np.repeat(part[:, None], count, axis=1) for part in factors))


def _without_self(weights: Weights, rows: slice, points: slice) -> Floats:
    """Return the weights of a block, 0 where a row meets itself and that does not count."""
    local = weights.block(rows, points)
    if not weights.with_self:
        k = np.arange(len(local))
        local[k, k + rows.start - points.start] = 0.0
    return local


def _row_blocks(games: PairGames) -> Iterator[slice]:
    """Cut the rows so that a block of them with all rows stays below the budget."""
    n_rows, width = games.x.shape
    step = max(1, min(_PAIRS, games.entries // width) // n_rows)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _results(
    run: Callable[[slice], Result], tasks: list[slice], n_jobs: int | None, progress: bool
) -> Iterator[Result]:
    results = in_order(run, tasks, n_jobs)
    return with_bar(results, len(tasks)) if progress else results
