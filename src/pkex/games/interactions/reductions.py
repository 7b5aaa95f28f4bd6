"""Interactions summed by row of a table, or over all pairs of one sample: two reductions.

They stand beside `ByRow` and `ByPair` of `pkex.games.reductions` and run in the same engine; what
is done with a block of pairs is in `pkex.games.interactions.batch`. Rows are finished one after the
other, so that no more is held than what is returned and the blocks under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.blas import single_blas
from pkex.games.blocks import MANY, even_step, rectangle, triangle
from pkex.games.engine import run_reduction
from pkex.games.interactions.batch import add_rows
from pkex.games.interactions.recipe import Recipe, has_one_sign
from pkex.games.interactions.tally import Tally
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.protocols import Factors, Task
from pkex.games.reductions import PairWeights, exclude_self
from pkex.games.rules import Rule
from pkex.games.sources import EachRow, PointSource
from pkex.games.sums import Sums, check_additivity, sort_rules

__all__ = ["InteractionSums", "InteractionsByPair", "InteractionsByRow", "sum_interactions"]


_FACTORS = 2**19  # of a block that are held at once
_SMALLEST = 2**15  # of a block at least: about a millisecond
_WIDTHS = 4  # more than that of a single row, where there are many
_TOGETHER = 8  # rows of a background in a block at least, as they share the present factors
_SPLIT = 24  # players from which on pairs are told apart by the sign of their weight
_RESULTS = 2**20  # numbers that a block returns, unless a single row has more


@dataclass(frozen=True, eq=False)
class InteractionSums(Sums):
    """The values of an index, for rows of a table, or one row for a statistic.

    Attributes
    ----------
    recipe : Recipe
    main : array of shape (rows, players, sets)
    pairs : array of shape (rows, players, players, sets), or None
        With a diagonal of 0.
    triples : array of shape (rows, triples, sets), or None
        In the order of `all_triples`.
    chosen : array of shape (rows, subsets, sets)
    none : array of shape (rows, sets), or None
        The value of the empty set, where it is not the worth of no player.
    totals : array of shape (rows, sets)
        Sums of the worth of all players.
    sizes : array of shape (rows, sets)
        Sums of the largest size of a value of a pair.
    allowed, error : arrays of shape (rows, sets)
        How far the sum of all values, and each value, may be from exact ones.
    rules : tuple of Rule
    """

    NUMBERS = ("main", "pairs", "triples", "chosen", "none", "totals")
    SIZES = ("sizes", "allowed", "error")

    recipe: Recipe
    rules: tuple[Rule, ...]
    main: Floats
    chosen: Floats
    totals: Floats
    sizes: Floats
    allowed: Floats
    error: Floats
    pairs: Floats | None = None
    triples: Floats | None = None
    none: Floats | None = None

    def explained(self) -> Floats:
        """Return the sum of the values of all subsets but the empty one, shape (rows, sets)."""
        total: Floats = self.main.sum(axis=1)
        if self.pairs is not None:
            total = total + 0.5 * self.pairs.sum(axis=(1, 2))
        if self.triples is not None:
            total = total + self.triples.sum(axis=1)
        return total

    def check(self, bases: Floats, whole: str) -> float:
        """Return the largest residual of an efficient index, or raise where it is no rounding.

        NaN where the values of the index do not add up, or not all of them are there.
        """
        if not self.recipe.index.efficient or self.recipe.subsets is not None:
            return float("nan")
        with np.errstate(over="ignore", invalid="ignore"):
            explained = self.explained()
            residual = explained - (self.totals - bases)
        return check_additivity(explained, residual, self.allowed, self.recipe.index.name, whole)


def _room(recipe: Recipe, n_rows: int, n_sets: int) -> Accumulator:
    """Return room for the arrays of an `InteractionSums`."""
    d, everything = recipe.n_players, recipe.subsets is None
    shapes: dict[str, tuple[int, ...]] = {
        "main": (n_rows, d if everything else 0, n_sets),
        "chosen": (n_rows, len(recipe.subsets or ()), n_sets),
        **dict.fromkeys(("totals", "sizes", "allowed", "error"), (n_rows, n_sets)),
    }
    if everything and recipe.most > 1:
        shapes["pairs"] = (n_rows, d, d, n_sets)
    if everything and recipe.most > 2:
        shapes["triples"] = (n_rows, d * (d - 1) * (d - 2) // 6, n_sets)
    if recipe.for_none is not None:
        shapes["none"] = (n_rows, n_sets)
    return Accumulator(**shapes)


def _add_row(sums: Accumulator, row: int, tally: Tally, roundings: float) -> None:
    """Add the values of a row, whose tally is complete."""
    recipe = tally.recipe
    arrays = {name: tally.arrays[name] for name in ("totals", "sizes", "chosen")}
    arrays |= {"allowed": tally.allowed(roundings), "error": tally.error(roundings)}
    if recipe.subsets is None:
        arrays["main"] = tally.values(1)
        if "none" in sums.arrays:
            arrays["none"] = tally.values(0)
        if "pairs" in sums.arrays and recipe.n_players > 1:
            arrays["pairs"] = np.moveaxis(tally.values(2), 0, -1)
        if "triples" in sums.arrays and recipe.n_players > 2:
            arrays["triples"] = tally.values(3).T
    sums.add(arrays, at=row, rules=tally.rules)


def _finish(recipe: Recipe, sums: Accumulator) -> InteractionSums:
    return InteractionSums(recipe, sort_rules(sums.rules), **sums.arrays)


def sum_interactions(
    points: WeightedPoints,
    X: Floats,
    recipe: Recipe,
    *,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> InteractionSums:
    """Return the interactions of a model at the rows of `X`.

    Terms of a single player add to that player alone: every functional of a constant is 1 there.
    """
    x, games = as_column_major(X), points.plan.games()
    n_sets = points.weights.shape[-1]
    if games and len(x):
        source = points.source(games, x)
        by_row = InteractionsByRow(recipe, source, points.weights, points.roundings)
        with single_blas():
            sums: InteractionSums = run_reduction(by_row, n_jobs=n_jobs, progress=progress)
    else:
        sums = _finish(recipe, _room(recipe, len(x), n_sets))
    # a value is a sum of 2^s worths, and with derivatives one of the values of larger subsets
    worths = 2.0**recipe.most * recipe.weight
    worths *= float(recipe.n_players) ** (recipe.most - 1) if recipe.has_derivatives else 1.0
    sums.error[...] += worths * points.bound_missed(x)
    if not points.plan.singles:
        return sums
    singles = Accumulator.of_blocks(len(x), recipe.n_players, n_sets)
    points.add_others(x, singles)
    values, totals, magnitudes = singles["values"], singles["totals"], singles["magnitudes"]
    if recipe.subsets is None:
        sums.main[...] += values
    without = totals - values.sum(axis=1)
    for place, subset in enumerate(recipe.subsets or ()):
        if len(subset) < 2:
            sums.chosen[:, place] += values[:, subset[0]] if subset else without
    if sums.none is not None:
        sums.none[...] += without
    sums.totals[...] += totals
    sums.sizes[...] += magnitudes
    rounding = (points.roundings + len(points.z)) * 2.0**-53 * magnitudes
    sums.allowed[...] += rounding
    sums.error[...] += rounding
    return sums


class InteractionsByRow:
    """Interactions summed over the points, for every row.

    Parameters
    ----------
    recipe : Recipe
    source : PointSource
    weights : array of shape (points, sets)
    roundings : float
        How many units of rounding a value of a pair carries at most.
    """

    def __init__(
        self, recipe: Recipe, source: PointSource, weights: Floats, roundings: float
    ) -> None:
        self.recipe, self.source, self.weights = recipe, source, weights
        self.roundings = roundings
        self.sums = _room(recipe, len(source.x), weights.shape[1])
        self.n_added, self.under_way = 0, list[Tally]()  # of rows that lack blocks
        self.cuts = _cut_pairs(source, recipe.n_players, weights.shape[1])
        self.terms = range(len(source.games) * len(self.cuts.others))
        self.n_blocks = len(self.cuts.points) * len(self.terms)  # of some rows

    def tasks(self) -> Sequence[Task]:
        """Return blocks of pairs; all those of some rows come one after the other.

        A term counts as often as the rows of a background are cut, as in `PointSource`.
        """
        return [
            Task(rows, points, term)
            for rows in self.cuts.rows
            for term in self.terms
            for points in self.cuts.points
        ]

    def run(self, task: Task) -> tuple[slice, list[Tally]]:
        """Return the sums of the rows of a block."""
        rows, points, number = task
        part, term = divmod(number, len(self.source.games))
        game, absent = self.source.games[term], self.source.absent
        weights = game.term.coefficient * self.weights[points]
        x, n_sets = self.source.x[rows], weights.shape[1]
        tallies = [Tally(self.recipe, n_sets) for _ in range(len(x))]
        for some in _split_by_sign(weights, self.recipe):
            z, local = self.source.z[points][some], weights[some]
            present = game.factors(x, z)
            if isinstance(absent, EachRow):
                others = absent.some(self.cuts.others[part])
                without: Factors | None = _flatten(game.factors(others.rows, z))
                local = (others.weights[:, None, None] * local).reshape(-1, n_sets)
            else:
                without = self.source.absent_at(term, points)
                without = None if without is None else _select(without, some)
            add_rows(self.recipe, game, present, without, local, tallies)
        return rows, tallies

    def add(self, part: tuple[slice, list[Tally]]) -> None:
        """Add the sums of a block to those of its rows, and finish rows that have all."""
        rows, tallies = part
        if not self.under_way:
            self.under_way = tallies
        else:
            for total, tally in zip(self.under_way, tallies, strict=True):
                total.merge(tally)
        self.n_added += 1
        if self.n_added % self.n_blocks == 0:
            for row, total in zip(range(rows.start, rows.stop), self.under_way, strict=True):
                _add_row(self.sums, row, total, self.roundings)
            self.under_way = []

    def result(self) -> InteractionSums:
        """Return the values of all rows."""
        return _finish(self.recipe, self.sums)


class _Cuts(NamedTuple):
    """How rows, points and the rows of a background are cut into blocks."""

    rows: list[slice]
    points: list[slice]
    others: list[slice]


def _cut_pairs(source: PointSource, n_players: int, n_sets: int) -> _Cuts:
    """Return the cuts of a source for `InteractionsByRow`.

    A block has many pairs of each row, as what is done in Python for a row of a block is much the
    same for few pairs, and holds up other threads.
    """
    n_rows, n_points = source.shape
    n_others = len(source.absent.rows) if isinstance(source.absent, EachRow) else 1
    work = n_rows * n_points * n_others * n_players * len(source.games)
    entries = max(min(work // MANY, _FACTORS), _SMALLEST)
    of_row = min(_FACTORS, entries * _WIDTHS) // n_players
    width = even_step(n_points, of_row // min(_TOGETHER, n_others))
    together = even_step(n_others, of_row // width)
    step = min(entries // (n_players * width * together), _RESULTS // (n_players**2 * n_sets))
    steps = (n_rows, even_step(n_rows, step)), (n_points, width), (n_others, together)
    return _Cuts(*([part for part, _ in rectangle(total, 1, one)] for total, one in steps))


class InteractionsByPair:
    """Interactions summed over all pairs of one sample, each unordered pair once.

    Parameters
    ----------
    recipe : Recipe
    source : PointSource
        Its rows are its points; absent factors are the same for all pairs, or 1.
    weights : PairWeights
        They sum to 0.
    """

    def __init__(self, recipe: Recipe, source: PointSource, weights: PairWeights) -> None:
        self.recipe, self.source, self.weights = recipe, source, weights
        self.sums = Tally(recipe, 1)

    def tasks(self) -> Sequence[Task]:
        """Return strips of rows, each with all points from its first row on."""
        n_rows = self.source.shape[0]
        step = max(1, min(n_rows, _FACTORS // (self.recipe.n_players * n_rows)))
        return [Task(*block) for block in triangle(n_rows, step, n_rows)]

    def run(self, task: Task) -> Tally:
        """Return the sums of a strip, over all terms."""
        rows, points, _ = task
        local = 2.0 * exclude_self(self.weights, rows, points)
        local[:, : len(local)] *= 0.5  # here both (i, k) and (k, i) are met
        total = Tally(self.recipe, 1)
        for term, game in enumerate(self.source.games):
            present = _flatten(self.source.factors(term, rows, points))
            absent = self.source.absent_at(term, points)
            if absent is not None:  # the same for all rows
                absent = Factors(*(np.tile(part, (1, len(local))) for part in absent))
            weights = game.term.coefficient * local.reshape(-1, 1)
            for some in _split_by_sign(weights, self.recipe):
                here = Factors(*(part[:, None, some] for part in present))
                there = None if absent is None else _select(absent, some)
                add_rows(self.recipe, game, here, there, weights[some], [total])
        return total

    def add(self, part: Tally) -> None:
        """Add the sums of a strip."""
        self.sums.merge(part)

    def result(self) -> InteractionSums:
        """Return the values, as those of one row."""
        n_rows = self.source.shape[0]
        sums = _room(self.recipe, 1, 1)
        # as in `pkex.games.sums.sum_tolerance`
        _add_row(sums, 0, self.sums, 16.0 * (self.recipe.n_players + n_rows + 16.0))
        return _finish(self.recipe, sums)


def _flatten(factors: Factors) -> Factors:
    """Return factors of shape (players, rows, points) as those of pairs."""
    return Factors(*(part.reshape(len(part), -1) for part in factors))


def _select(factors: Factors, some: slice | Indices) -> Factors:
    """Return the factors of some pairs."""
    return Factors(*(part[:, some] for part in factors))


def _split_by_sign(weights: Floats, recipe: Recipe) -> list[slice | Indices]:
    """Return where the weights of one sign stand, if telling them apart halves the products."""
    everything: list[slice | Indices] = [slice(None)]
    pays = recipe.subsets is None and recipe.most == 2 and recipe.n_players >= _SPLIT
    if not pays or weights.shape[1] > 1 or has_one_sign(weights):
        return everything
    below = weights[:, 0] < 0.0
    return [np.flatnonzero(~below), np.flatnonzero(below)]
