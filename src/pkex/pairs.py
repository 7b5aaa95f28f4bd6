"""Sums over the pairs within one sample, each unordered pair once: what MMD and HSIC are made of.

`pair_sums` folds the weights into the hot loop. A permutation test needs the same sums for many
weights: `permuted_sums` takes the Shapley values of a tile of pairs out of the hot loop, once, and
contracts them with all weights by matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex import twin
from pkex._threads import go_on, in_order, with_bar, workspace
from pkex.engine import Plan, ranked
from pkex.rules import Rule
from pkex.weights import Shuffled, Weights

__all__ = ["PairSums", "component_sum", "pair_sums", "permuted_sums", "row_sums"]

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Found = list[tuple[tuple[Rule, ...], float]]

_PAIRS = 2**18  # pairs of a block whose weights are made at once: 2 MiB
_TILE = 2**17  # values of a tile: 1 MiB, so that it stays in cache
_EQUAL = 2.0**-43  # rounding of a long sum, relative to the sum of its absolute terms


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


def pair_sums(
    plan: Plan, X: Floats, weights: Weights, *, n_jobs: int | None = 1, progress: bool = False
) -> PairSums:
    """Return the weighted sums of the Shapley values of all pairs of the rows of `X`."""
    x = np.asfortranarray(X)
    games = plan.games()
    tasks = list(_row_blocks(games, len(X)))

    def run(rows: slice) -> list[twin.Block]:
        points = slice(rows.start, len(X))
        local = 2.0 * _without_self(weights, rows, points)
        local[:, : len(local)] *= 0.5  # here both (i, j) and (j, i) are met
        return [game.explain(x[rows], x[points], local[:, :, None]) for game in games]

    values, totals = np.zeros((len(plan.players), 1)), np.zeros(1)
    size, rules = 0.0, set[Rule]()
    for blocks in _results(run, tasks, n_jobs, progress):
        for game, block in zip(games, blocks, strict=True):
            coefficient = game.term.coefficient
            values += coefficient * block.values.sum(axis=0)
            totals += coefficient * block.totals.sum(axis=0)
            size += abs(coefficient) * float(block.magnitudes.sum())
            rules.update(block.rules)
    return _sums(len(X), values, totals, size, np.zeros(len(values)), rules)


def permuted_sums(
    plan: Plan,
    X: Floats,
    shuffled: Shuffled,
    *,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> PairSums:
    """Return the sums of `pair_sums` for all sets of weights; each pair is evaluated once."""
    layers = [np.asfortranarray(X[rows]) for rows in shuffled.layers]
    games, n_units, n_values = plan.games(), len(layers[0]), len(plan.players) + 1
    n_points = max(1, min(shuffled.width, _TILE // n_values))
    step = max(1, min(n_points, _TILE // (n_values * n_points)))
    step = min([step, *(max(1, game.entries // (n_points * X.shape[1])) for game in games)])

    def add(tile: Floats, rows: slice, points: slice, left: Floats, right: Floats) -> Found:
        x, z = left[rows], right[points]
        return [game.add_pairs(x, z, tile[:, : len(x), : len(z)]) for game in games]

    def run(rows: slice) -> tuple[Floats, Found]:
        sums, found = np.zeros(()), []
        for start in range(rows.start, n_units, n_points):
            go_on()
            points = slice(start, min(start + n_points, n_units))
            count = rows.stop - rows.start
            tile = workspace("tile", n_values, count, points.stop - points.start)
            tile[...] = 0.0
            counted = np.full(tile.shape[2], 2.0)
            for layer in layers:
                found += add(tile, rows, points, layer, layer)
            if start == rows.start:
                counted[:count] = 1.0  # here both (i, j) and (j, i) are met
                if not shuffled.with_self:
                    tile[:, np.arange(count), np.arange(count)] = 0.0
            for left, right in permutations(layers, 2):
                found += add(tile, rows, points, left, right)
            sums = sums + shuffled.contract(tile, rows, points, counted)
        return sums, found

    tasks = [slice(start, min(start + step, n_units)) for start in range(0, n_units, step)]
    total, largest, rules = np.zeros(()), 0.0, set[Rule]()
    for sums, found in _results(run, tasks, n_jobs, progress):
        total = total + sums
        for used, magnitude in found:
            rules.update(used)
            largest = max(largest, magnitude)
    finished = shuffled.finish(total)
    size = shuffled.total * largest * sum(abs(game.term.coefficient) for game in games)
    # about the sum of the absolute terms, as the values of a pair have one sign
    rounding = _EQUAL * shuffled.total / len(X) ** 2 * np.abs(total[:-1, -1])
    return _sums(len(X), finished[:-1], finished[-1], size, rounding, rules)


def row_sums(plan: Plan, X: Floats, weights: Weights, *, n_jobs: int | None = 1) -> Floats:
    """Return the weighted sums over the partners of each row of `X`, shape (rows, players)."""
    x = np.asfortranarray(X)
    games = plan.games()
    tasks = list(_row_blocks(games, len(X)))

    def run(rows: slice) -> Floats:
        local = _without_self(weights, rows, slice(0, len(X)))[:, :, None]
        values = np.zeros((len(local), len(plan.players)))
        for game in games:
            values += game.term.coefficient * game.explain(x[rows], x, local).values[:, :, 0]
        return values

    return np.concatenate(list(in_order(run, tasks, n_jobs)))


def component_sum(
    plan: Plan, X: Floats, weights: Weights, n_players: int, *, n_jobs: int | None = 1
) -> float:
    """Return the weighted sum over all pairs of the product of ``k_j - 1`` over some players.

    They are the first `n_players` of the plan.
    """
    x = np.asfortranarray(X)
    games = plan.games()
    tasks = list(_row_blocks(games, len(X)))
    sign = (-1.0) ** n_players

    def run(rows: slice) -> float:
        local = _without_self(weights, rows, slice(0, len(X)))
        products = (game.deficits(x[rows], x)[:n_players].prod(axis=0) for game in games)
        parts = zip(games, products, strict=True)
        return sum(sign * g.term.coefficient * float(np.vdot(p, local)) for g, p in parts)

    return sum(in_order(run, tasks, n_jobs))


def _without_self(weights: Weights, rows: slice, points: slice) -> Floats:
    """Return the weights of a block, 0 where a row meets itself and that does not count."""
    local = weights.block(rows, points)
    if not weights.with_self:
        k = np.arange(len(local))
        local[k, k + rows.start - points.start] = 0.0
    return local


def _row_blocks(games: list[twin.Game], n_rows: int) -> Iterator[slice]:
    """Cut the rows so that a block of them with all rows stays below the budget."""
    width = games[0].term.n_columns
    pairs = min([_PAIRS, *(game.entries // width for game in games)])
    step = max(1, pairs // n_rows)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _results(
    run: Callable[[slice], Result], tasks: list[slice], n_jobs: int | None, progress: bool
) -> Iterator[Result]:
    results = in_order(run, tasks, n_jobs)
    return with_bar(results, len(tasks)) if progress else results


def _sums(
    n_rows: int,
    values: Floats,
    totals: Floats,
    size: float,
    rounding: Floats,
    rules: set[Rule],
) -> PairSums:
    """Return the sums with their tolerance; `size` is the sum of the magnitudes of all terms."""
    order = ranked(rules)
    steps = 16.0 * (len(values) + n_rows + 16) * 2.0**-53  # as in `shapley_sums`
    tolerance = (order[0].relative_error + steps) * size
    return PairSums(values, totals, tolerance, rounding, order)
