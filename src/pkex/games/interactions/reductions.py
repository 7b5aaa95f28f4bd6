"""Interactions summed by row of a table, or over all pairs of one sample: two reductions.

They stand beside `ByRow` and `ByPair` of `pkex.games.reductions` and run in the same engine; what
is done with a block of pairs is in `pkex.games.interactions.batch`. Rows are finished one after the
other, so that no more is held than what is returned and the blocks under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.errors import AdditivityError
from pkex.games.blocks import rectangle, triangle
from pkex.games.engine import reduced
from pkex.games.interactions.batch import batch
from pkex.games.interactions.everything import has_one_sign
from pkex.games.interactions.recipe import Recipe
from pkex.games.interactions.tally import Tally
from pkex.games.layout import by_column
from pkex.games.points import WeightedPoints
from pkex.games.protocols import Factors, Task
from pkex.games.reductions import PairWeights, Totals, without_self
from pkex.games.rules import Rule
from pkex.games.sources import EachRow, Points
from pkex.games.sums import ranked
from pkex.games.threads import single_blas

__all__ = ["InteractionSums", "InteractionsByPair", "InteractionsByRow", "interactions_of"]


_SUMS = ("main", "pairs", "triples", "chosen", "none", "totals", "sizes", "allowed", "error")
_FACTORS = 2**19  # of a block that are held at once
_SCENARIOS = 2**17  # of these of background rows, which stay in cache
_SPLIT = 24  # players from which on pairs are told apart by the sign of their weight
_RESULTS = 2**20  # numbers that a block returns, unless a single row has more


@dataclass(frozen=True, eq=False)
class InteractionSums:
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

    recipe: Recipe
    main: Floats
    pairs: Floats | None
    triples: Floats | None
    chosen: Floats
    none: Floats | None
    totals: Floats
    sizes: Floats
    allowed: Floats
    error: Floats
    rules: tuple[Rule, ...]

    @classmethod
    def zeros(cls, recipe: Recipe, n_rows: int, n_sets: int) -> InteractionSums:
        """Return room for the values of some rows."""
        d = recipe.n_players
        everything = recipe.subsets is None
        totals, sizes, allowed, error = np.zeros((4, n_rows, n_sets))
        n_triples = d * (d - 1) * (d - 2) // 6
        return cls(
            recipe,
            np.zeros((n_rows, d if everything else 0, n_sets)),
            np.zeros((n_rows, d, d, n_sets)) if everything and recipe.most > 1 else None,
            np.zeros((n_rows, n_triples, n_sets)) if everything and recipe.most > 2 else None,
            np.zeros((n_rows, len(recipe.subsets or ()), n_sets)),
            None if recipe.for_none is None else np.zeros((n_rows, n_sets)),
            totals,
            sizes,
            allowed,
            error,
            (),
        )

    def put(self, row: int, tally: Tally, roundings: float) -> None:
        """Set the values of a row."""
        self.totals[row], self.sizes[row] = tally.totals, tally.sizes
        self.allowed[row], self.error[row] = tally.allowed(roundings), tally.error(roundings)
        self.chosen[row] = tally.chosen
        if self.none is not None and self.recipe.subsets is None:
            self.none[row] = tally.values(0)
        if self.recipe.subsets is None:
            self.main[row] = tally.values(1)
        if self.pairs is not None and self.recipe.n_players > 1:
            self.pairs[row] = np.moveaxis(tally.values(2), 0, -1)
        if self.triples is not None and self.recipe.n_players > 2:
            self.triples[row] = tally.values(3).T

    def __add__(self, other: InteractionSums) -> InteractionSums:
        def both(name: str) -> Any:
            found = getattr(self, name)
            return None if found is None else found + getattr(other, name)

        rules = ranked({*self.rules, *other.rules})
        return replace(self, **{name: both(name) for name in _SUMS}, rules=rules)

    def scaled(self, share: float) -> InteractionSums:
        """Return the sums times a positive number."""

        def times(name: str) -> Any:
            found = getattr(self, name)
            return None if found is None else share * found

        return replace(self, **{name: times(name) for name in _SUMS})

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
            explained, expected = self.explained(), self.totals - bases
            size = np.abs(explained - expected)
        wrong = ~(size <= self.allowed)  # NaN is wrong
        if not wrong.any():
            return float(size.max(initial=0.0))
        row, output = np.argwhere(wrong)[0]
        if not np.isfinite(self.allowed[row, output]):
            raise ValueError(
                f"the products of the kernel's factors overflow in row {row}, so they have no "
                "values in double precision; scale the kernel or the data."
            )
        raise AdditivityError(
            f"the {self.recipe.index.name} of row {row}, output {output} sum to "
            f"{explained[row, output]:.17g}, but {whole} is {expected[row, output]:.17g}; rounding "
            f"explains at most {self.allowed[row, output]:.1e}. Please report this with the kernel "
            "and the data."
        )


def interactions_of(
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
    x, games = by_column(X), points.plan.games()
    n_sets = points.weights.shape[-1]
    found = InteractionSums.zeros(recipe, len(x), n_sets)
    if games and len(x):
        source = points.source(games, x)
        by_row = InteractionsByRow(recipe, source, points.weights, points.roundings)
        with single_blas():
            found = reduced(by_row, n_jobs=n_jobs, progress=progress)
    # a value is a sum of 2^s worths, and with derivatives one of the values of larger subsets
    worths = 2.0**recipe.most * recipe.weight
    worths *= float(recipe.n_players) ** (recipe.most - 1) if recipe.has_derivatives else 1.0
    found.error[...] += worths * points.missed(x)
    if not points.plan.singles:
        return found
    singles = Totals.zeros(len(x), recipe.n_players, n_sets)
    points.add_others(x, singles)
    if recipe.subsets is None:
        found.main[...] += singles.values
    without = singles.totals - singles.values.sum(axis=1)
    for place, subset in enumerate(recipe.subsets or ()):
        if len(subset) < 2:
            found.chosen[:, place] += singles.values[:, subset[0]] if subset else without
    if found.none is not None:
        found.none[...] += without
    found.totals[...] += singles.totals
    found.sizes[...] += singles.magnitudes
    rounding = (points.roundings + len(points.z)) * 2.0**-53 * singles.magnitudes
    found.allowed[...] += rounding
    found.error[...] += rounding
    return found


class InteractionsByRow:
    """Interactions summed over the points, for every row.

    Parameters
    ----------
    recipe : Recipe
    source : Points
    weights : array of shape (points, sets)
    roundings : float
        How many units of rounding a value of a pair carries at most.
    """

    def __init__(self, recipe: Recipe, source: Points, weights: Floats, roundings: float) -> None:
        self.recipe, self.source, self.weights = recipe, source, weights
        self.roundings = roundings
        self.found = InteractionSums.zeros(recipe, source.shape[0], weights.shape[1])
        self.under_way: dict[int, tuple[int, Tally | None]] = {}
        self.rules: set[Rule] = set()

    def tasks(self) -> Sequence[Task]:
        """Return blocks of pairs; all those of some rows come one after the other."""
        n_rows, n_points = self.source.shape
        d, n_sets = self.recipe.n_players, self.weights.shape[1]
        width = max(1, min(n_points, _FACTORS // d))
        step = max(1, min(_FACTORS // (d * width), _RESULTS // (d * d * n_sets)))
        self.blocks = -(-n_points // width) * self.source.n_terms
        return [
            Task(rows, points, term)
            for rows, _ in rectangle(n_rows, 1, step)
            for term in range(self.source.n_terms)
            for _, points in rectangle(1, n_points, width)
        ]

    def run(self, task: Task) -> tuple[slice, list[Tally]]:
        """Return the sums of the rows of a block."""
        rows, points, term = task
        game = self.source.games[term]
        weights = game.term.coefficient * self.weights[points]
        x, n_sets = self.source.x[rows], weights.shape[1]
        tallies = [Tally(self.recipe, n_sets) for _ in range(len(x))]
        for some in _by_sign(weights, self.recipe):
            z = self.source.z[points][some]
            present, own = game.factors(x, z), weights[some]
            for absent, shares in _scenarios(self.source, term, points, some):
                local = own
                if shares is not None:
                    local = (shares[:, None, None] * own).reshape(-1, n_sets)
                for row, tally in enumerate(tallies):
                    here = Factors(*(part[:, row] for part in present))
                    batch(self.recipe, game, here, absent, local, tally)
        return rows, tallies

    def add(self, part: tuple[slice, list[Tally]]) -> None:
        """Add the sums of a block to those of its rows, and finish rows that have all."""
        rows, tallies = part
        for row, tally in zip(range(rows.start, rows.stop), tallies, strict=True):
            count, total = self.under_way.pop(row, (0, None))
            if total is None:
                total = tally
            else:
                total.plus(tally)
            if count + 1 < self.blocks:
                self.under_way[row] = count + 1, total
                continue
            self.rules |= total.rules
            self.found.put(row, total, self.roundings)

    def result(self) -> InteractionSums:
        """Return the values of all rows."""
        return replace(self.found, rules=ranked(self.rules))


class InteractionsByPair:
    """Interactions summed over all pairs of one sample, each unordered pair once.

    Parameters
    ----------
    recipe : Recipe
    source : Points
        Its rows are its points; absent factors are the same for all pairs, or 1.
    weights : PairWeights
        They sum to 0.
    """

    def __init__(self, recipe: Recipe, source: Points, weights: PairWeights) -> None:
        self.recipe, self.source, self.weights = recipe, source, weights
        self.total = Tally(recipe, 1)

    def tasks(self) -> Sequence[Task]:
        """Return strips of rows, each with all points from its first row on."""
        n_rows = self.source.shape[0]
        step = max(1, min(n_rows, _FACTORS // (self.recipe.n_players * n_rows)))
        return [Task(*block) for block in triangle(n_rows, step, n_rows)]

    def run(self, task: Task) -> Tally:
        """Return the sums of a strip, over all terms."""
        rows, points, _ = task
        local = 2.0 * without_self(self.weights, rows, points)
        local[:, : len(local)] *= 0.5  # here both (i, k) and (k, i) are met
        total = Tally(self.recipe, 1)
        for term, game in enumerate(self.source.games):
            present = _flat(self.source.factors(term, rows, points))
            absent = self.source.absent_at(term, points)
            if absent is not None:  # the same for all rows
                absent = Factors(*(np.tile(part, (1, len(local))) for part in absent))
            weights = game.term.coefficient * local.reshape(-1, 1)
            for some in _by_sign(weights, self.recipe):
                here = _at(present, some)
                there = None if absent is None else _at(absent, some)
                batch(self.recipe, game, here, there, weights[some], total)
        return total

    def add(self, part: Tally) -> None:
        """Add the sums of a strip."""
        self.total.plus(part)

    def result(self) -> InteractionSums:
        """Return the values, as those of one row."""
        n_rows = self.source.shape[0]
        found = InteractionSums.zeros(self.recipe, 1, 1)
        # as in `pkex.games.sums.sum_tolerance`
        found.put(0, self.total, 16.0 * (self.recipe.n_players + n_rows + 16.0))
        return replace(found, rules=ranked(self.total.rules))


def _flat(factors: Factors) -> Factors:
    """Return factors of shape (players, rows, points) as those of pairs."""
    return Factors(*(part.reshape(len(part), -1) for part in factors))


def _at(factors: Factors, some: slice | Indices) -> Factors:
    """Return the factors of some pairs."""
    return Factors(*(part[:, some] for part in factors))


def _by_sign(weights: Floats, recipe: Recipe) -> list[slice | Indices]:
    """Return where the weights of one sign stand, if telling them apart halves the products."""
    everything: list[slice | Indices] = [slice(None)]
    pays = recipe.subsets is None and recipe.most == 2 and recipe.n_players >= _SPLIT
    if not pays or weights.shape[1] > 1 or has_one_sign(weights):
        return everything
    below = weights[:, 0] < 0.0
    return [np.flatnonzero(~below), np.flatnonzero(below)]


def _scenarios(
    source: Points, term: int, points: slice, some: slice | Indices
) -> Iterator[tuple[Factors | None, Floats | None]]:
    """Yield the factors of absent players at some points, and shares where there are several."""
    absent = source.absent
    if not isinstance(absent, EachRow):
        here = source.absent_at(term, points)
        yield None if here is None else _at(here, some), None
        return
    game, z = source.games[term], source.z[points][some]
    step = max(1, _SCENARIOS // (source.n_players * len(z)))
    for start in range(0, len(absent.rows), step):
        more = slice(start, start + step)
        yield _flat(game.factors(absent.rows[more], z)), absent.weights[more]
