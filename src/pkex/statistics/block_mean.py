"""`BlockMean`: a statistic as the mean over blocks of rows of weighted sums over their pairs.

With one block this is MMD or HSIC itself. Disjoint blocks make it affordable for large samples: the
cost grows with the rows times the size of a block, and the blocks show how much the mean varies.
Under marginal removal an absent column has the mean of its factor over the pairs of its block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.progress import with_bar
from pkex._util.types import Floats, Indices
from pkex.games.backend import Backend
from pkex.games.engine import run_reduction
from pkex.games.permutations import (
    ByPermutation,
    Filler,
    PermutedSums,
    PlayerKernels,
    Together,
)
from pkex.games.plan import Plan
from pkex.games.protocols import Game
from pkex.games.reductions import ByPair, ByRow, Component, MeanFactors, sum_weights
from pkex.games.rules import Rule
from pkex.games.sources import PointSource, SameFactors
from pkex.games.sums import GameSums
from pkex.games.threads import cluster_width, run_in_order, single_blas
from pkex.kernels.normal_form import Term
from pkex.statistics.bounds import error_of, have_unit_factors, permuted_roundings
from pkex.statistics.column_test import QuadraticForm, forms_of, p_value
from pkex.statistics.low_rank import sums_alone
from pkex.statistics.pair_weights import Weights

if TYPE_CHECKING:
    from pkex.games.interactions import Recipe
    from pkex.games.interactions.reductions import InteractionSums
    from pkex.results.interactions import Interactions

__all__ = ["BlockMean", "ColumnTests", "Estimate", "Part", "UnivariateStatistics"]


_ALL_ROWS = 2000  # rows on all of which single columns are tested
_TEST_ROWS = 1500  # of more rows: on so many, drawn at random
_AT_ONCE = 2**24  # pairs of all players tested at once, for each of which 8 bytes are held


class Part(NamedTuple):
    """The rows of a block, and the weights of their pairs."""

    rows: Indices
    weights: Weights


@dataclass(frozen=True, eq=False)
class Estimate:
    """The values of a statistic, and of its permutations.

    Attributes
    ----------
    values : array of shape (players,)
    null_values : array of shape (permutations, players)
    rounding : array of shape (players,)
        How far apart values may be that are equal but for rounding.
    standard_errors : array of shape (players,)
    standard_error : float
        Of the sum of the values; like the others NaN for a single block.
    residual : float
        How far the sum of the values is from the statistic computed directly.
    error : float
        How far each value, and their sum, may be from exact ones: proven.
    rules : tuple of Rule
    alone : UnivariateStatistics or None
        The statistic of each player by itself, where there are permutations.
    """

    values: Floats
    null_values: Floats
    rounding: Floats
    standard_errors: Floats
    standard_error: float
    residual: float
    error: float
    rules: tuple[Rule, ...]
    alone: UnivariateStatistics | None


@dataclass(frozen=True, eq=False)
class UnivariateStatistics:
    """The statistic of each player by itself, as it is and under permutations.

    Attributes
    ----------
    values : array of shape (players,)
    null_values : array of shape (permutations, players)
    rounding : array of shape (players,)
        As in `Estimate`.
    """

    values: Floats
    null_values: Floats
    rounding: Floats

    @classmethod
    def mean(cls, parts: Sequence[PermutedSums]) -> UnivariateStatistics:
        """Return the mean over blocks."""
        sums = np.mean([part.sums for part in parts], axis=0)
        rounding = np.mean([part.rounding for part in parts], axis=0)
        return cls(sums[:, 0], sums[:, 1:].T, rounding)


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """Tests of single players, by permuting their columns alone.

    Attributes
    ----------
    p_values : array of shape (players,)
        NaN for players that were not tested.
    n_rows : int
        How many rows the tests looked at.
    """

    p_values: Floats
    n_rows: int


@dataclass(frozen=True, eq=False)
class BlockMean:
    """What a statistic is made of.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    terms : tuple of Term
        The normal form of the kernel.
    alone : tuple of Term
        The normal form of a kernel whose factors are the kernels of the players by themselves.
    players : tuple of tuples of int
    blocks : tuple of Part
        The rows of each block and the weights of their pairs.
    marginal : bool
        Whether the factor of an absent column is its mean; else it is 1.
    tol : float or None
    n_jobs : int or None
    """

    X: Floats
    terms: tuple[Term, ...]
    alone: tuple[Term, ...]
    players: tuple[tuple[int, ...], ...]
    blocks: tuple[Part, ...]
    marginal: bool
    tol: float | None
    n_jobs: int | None

    def estimate(
        self,
        n_permutations: int,
        generator: np.random.Generator,
        progress: bool,
        *,
        backend: Backend,
        alone: bool = True,
    ) -> Estimate:
        """Return the values, and those of random permutations within the blocks.

        With `alone` and permutations also those of each player by itself.
        """
        plan = self._plan
        games, by_player = plan.games(backend), self._plan_alone.games(backend)
        seeds = generator.integers(2**63, size=(len(self.blocks), 4))
        alone = alone and n_permutations > 0
        bounded = have_unit_factors(self.terms)

        def run(task: tuple[Part, Indices]) -> _Block:
            (rows, weights), seed = task
            source = self._source(games, rows, inner)
            with weights.held():
                if bounded and not n_permutations:
                    sums = run_reduction(
                        ByPair(plan, source, weights), n_jobs=inner, progress=inner_bar
                    )
                    roundings = 2.0 * len(rows) + sums.n_blocks + len(self.blocks) + 8.0
                    error = error_of(source, weights, sums, roundings, None)
                    return _Block(sums, np.zeros(plan.n_players), error, None)
                shuffled = weights.shuffled(n_permutations, np.random.default_rng(seed))
                by_itself = None
                if alone:
                    by_itself = sums_alone(
                        self.alone, self.players, source.x, shuffled, n_jobs=inner
                    )
                filler: Filler = source
                if alone and by_itself is None:
                    filler = Together(source, PlayerKernels(by_player, source.x, source.x))
                permuted = ByPermutation(filler, shuffled)
                both: PermutedSums = run_reduction(permuted, n_jobs=inner, progress=inner_bar)
                found, others = both.parts(source.n_values)
                sums = found.of_games(plan, len(rows), shuffled.total)
                if alone and by_itself is None:
                    by_itself = others
                count = permuted_roundings(permuted.tasks(), weights, len(shuffled.layers))
                count += len(self.blocks)
                error = error_of(source, weights, sums, count, found.largest)
                return _Block(sums, found.rounding[:-1], error, by_itself)

        single = len(self.blocks) == 1
        inner, inner_bar = (self.n_jobs, progress) if single else (1, False)
        tasks = list(zip(self.blocks, seeds, strict=True))
        with single_blas():
            results = run_in_order(run, tasks, self.n_jobs)
            if progress and not single:
                sizes = [len(rows) for rows, _ in self.blocks]
                results = with_bar(results, sizes, sum(sizes))
            parts = list(results)
        by_itself = [part.alone for part in parts if part.alone is not None]
        return _mean(parts, UnivariateStatistics.mean(by_itself) if by_itself else None)

    def test_columns(
        self,
        wanted: Sequence[int],
        n_permutations: int,
        generator: np.random.Generator,
        *,
        backend: Backend,
    ) -> ColumnTests:
        """Test some players by permuting their columns alone.

        Of more than `_ALL_ROWS` rows a random part is tested: of a single block `_TEST_ROWS` rows,
        of several blocks as many as have no more pairs.
        """
        seeds = generator.integers(2**63, size=(len(self.players), 4))
        games = self._plan.games(backend)
        blocks = _some_blocks(self.blocks, generator)
        p_values = np.full(len(self.players), np.nan)
        with single_blas():
            sources = [self._source(games, rows, self.n_jobs) for rows, _ in blocks]
            step = max(1, _AT_ONCE // sum(len(rows) ** 2 for rows, _ in blocks))
            width, inner = cluster_width(self.n_jobs), self.n_jobs
            if width:  # a worker makes the forms of its players, which are larger than the rows
                step, inner = min(step, max(1, len(wanted) // (4 * width))), 1
            test = _ColumnTest(sources, [part.weights for part in blocks], n_permutations, inner)
            groups = [
                (list(wanted[start : start + step]), seeds[list(wanted[start : start + step])])
                for start in range(0, len(wanted), step)
            ]
            found = run_in_order(test, groups, self.n_jobs) if width else map(test, groups)
            p_values[list(wanted)] = [p for group in found for p in group]
        return ColumnTests(p_values, sum(len(rows) for rows, _ in blocks))

    def each_alone(self) -> Floats:
        """Return the statistic of each player by itself, shape (players,)."""
        games, random = self._plan_alone.games(), np.random.default_rng
        parts = []
        for rows, weights in self.blocks:
            x = np.asfortranarray(self.X[rows])
            with weights.held():
                shuffled = weights.shuffled(0, random(0))
                kernels = ByPermutation(PlayerKernels(games, x, x), shuffled)
                parts.append(run_reduction(kernels, n_jobs=self.n_jobs))
        return UnivariateStatistics.mean(parts).values

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic of some players, the others being absent."""
        if not subset:
            return 0.0
        inside = [column for player in subset for column in self.players[player]]
        outside = [player for player in range(len(self.players)) if player not in subset]
        rest = tuple(column for player in outside for column in self.players[player])
        players = (tuple(inside), rest) if rest else (tuple(inside),)
        games = self._plan.games()

        def of_block(rows: Indices, weights: Weights) -> float:
            source = self._source(games, rows, self.n_jobs)
            terms = []
            for number, term in enumerate(self.terms):
                kept, share = term.restricted(inside), 1.0
                if isinstance(source.absent, SameFactors):
                    share = float(source.absent.single(number).values[outside].prod())
                terms.append(replace(kept, coefficient=share * term.coefficient))
            # The weights sum to 0, so that a game of one player, neutral, has this value.
            plan = Plan.of(tuple(terms), players, self.tol, apart=False)
            pairs = ByPair(plan, PointSource(plan.games(), source.x, source.x), weights)
            sums: GameSums = run_reduction(pairs, n_jobs=self.n_jobs)
            sums.check("the statistic of these players")
            return float(sums.values[0, 0, 0])

        return self._mean_of(of_block)

    def component(self, subset: Sequence[int]) -> float:
        """Return what some players contribute together beyond all smaller subsets of them."""
        if not subset:
            return 0.0
        games = self._plan.games()

        def of_block(rows: Indices, weights: Weights) -> float:
            source = self._source(games, rows, self.n_jobs)
            found: float = run_reduction(Component(source, weights, subset), n_jobs=self.n_jobs)
            return found

        return self._mean_of(of_block)

    def interactions(
        self, attribution: Any, index: str, max_order: int, subsets: Any, progress: bool
    ) -> Interactions:
        """Return the interactions of the features of an attribution."""
        from pkex.statistics.interactions import attribute_interactions

        return attribute_interactions(self, attribution, index, max_order, subsets, progress)

    def interaction_sums(self, recipe: Recipe, progress: bool) -> InteractionSums:
        """Return what players contribute together, the mean over the blocks."""
        from pkex.games.interactions.reductions import InteractionsByPair

        games, found = self._plan.games(), []
        with single_blas():
            for rows, weights in self.blocks:
                source = self._source(games, rows, self.n_jobs)
                with weights.held():
                    pairs = InteractionsByPair(recipe, source, weights)
                    found.append(run_reduction(pairs, n_jobs=self.n_jobs, progress=progress))
        mean: InteractionSums = reduce(add, found).scaled(1.0 / len(found))
        return mean

    def row_values(self) -> Floats:
        """Return the share of every row, shape (n_rows, players); 0 for rows in no block."""
        plan, values = self._plan, np.zeros((len(self.X), len(self.players)))
        games = plan.games()
        for rows, weights in self.blocks:
            source = self._source(games, rows, self.n_jobs)
            none = _worth_of_none(source) * sum_weights(weights, len(rows))
            by_row = ByRow(plan, source, weights, none[:, None])
            sums: GameSums = run_reduction(by_row, n_jobs=self.n_jobs)
            sums.check("the share of the row in the statistic")
            values[rows] = sums.values[:, :, 0] / len(self.blocks)
        return values

    def _source(self, games: Sequence[Game], rows: Indices, n_jobs: int | None) -> PointSource:
        """Return the pairs of some rows, under marginal removal with the means of their factors."""
        x = np.asfortranarray(self.X[rows])
        absent = run_reduction(MeanFactors(games, x), n_jobs=n_jobs) if self.marginal else None
        return PointSource(games, x, x, absent)

    def _mean_of(self, of_block: Callable[[Indices, Weights], float]) -> float:
        return float(np.mean([of_block(rows, weights) for rows, weights in self.blocks]))

    @lazy
    def _plan(self) -> Plan:
        return Plan.of(self.terms, self.players, self.tol, apart=False, general=self.marginal)

    @lazy
    def _plan_alone(self) -> Plan:
        return Plan.of(self.alone, self.players, self.tol, apart=False)


class _Block(NamedTuple):
    """What one block of rows gives; rounding, error and the players alone as in `Estimate`."""

    sums: GameSums
    rounding: Floats
    error: float
    alone: PermutedSums | None


def _worth_of_none(source: PointSource) -> float:
    """Return what a pair is worth without any player."""
    worth = 0.0
    for number, game in enumerate(source.games):
        absent = 1.0
        if isinstance(source.absent, SameFactors):
            absent = float(source.absent.single(number).values.prod())
        worth += absent * game.term.coefficient
    return worth


@dataclass(frozen=True, eq=False)
class _ColumnTest:
    """Tests some players on the rows of some blocks, given with their seeds."""

    sources: Sequence[PointSource]
    weights: Sequence[Weights]
    n_permutations: int
    n_jobs: int | None

    def __call__(self, group: tuple[list[int], Indices]) -> list[float]:
        """Return the p-values of the players."""
        players, seeds = group
        forms = [
            forms_of(source, weights, players, n_jobs=self.n_jobs)
            for source, weights in zip(self.sources, self.weights, strict=True)
        ]
        of_players = [[each[place] for each in forms] for place in range(len(players))]
        test = partial(_p_value, n_permutations=self.n_permutations)
        tasks = list(zip(of_players, seeds, strict=True))
        return list(run_in_order(test, tasks, self.n_jobs))


def _p_value(task: tuple[list[list[QuadraticForm]], Indices], n_permutations: int) -> float:
    """Return the p-value of a player from its forms in all blocks, and a seed."""
    forms, seed = task
    return p_value(forms, n_permutations, np.random.default_rng(seed))


def _some_blocks(blocks: Sequence[Part], generator: np.random.Generator) -> list[Part]:
    """Return blocks with no more pairs than `_ALL_ROWS` rows have, cut where they are larger."""
    chosen: list[Part] = []
    pairs = 0
    for rows, weights in blocks:
        if len(rows) > _ALL_ROWS:
            some, weights = weights.sample(_TEST_ROWS, generator)
            rows = rows[some]
        pairs += len(rows) ** 2
        if chosen and pairs > _ALL_ROWS**2:
            break
        chosen.append(Part(rows, weights))
    return chosen


def _mean(parts: Sequence[_Block], alone: UnivariateStatistics | None) -> Estimate:
    """Return the mean over blocks, with its standard error; check that the values add up."""
    sums = reduce(add, [part.sums for part in parts]).scaled(1.0 / len(parts))
    residual = sums.check("the statistic")
    errors, error = np.full(sums.values.shape[1], np.nan), np.nan
    if len(parts) > 1:
        values = np.array([part.sums.values[0, :, 0] for part in parts])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(parts))
        error = float(values.sum(axis=1).std(ddof=1) / np.sqrt(len(parts)))
    rounding = np.mean([part.rounding for part in parts], axis=0)
    values, null_values = sums.values[0, :, 0], sums.values[0, :, 1:].T
    # the values are right, and the total, from which their sum was measured to be `residual` off
    bound = float(np.mean([part.error for part in parts])) + abs(residual)
    bound += 2.0 * len(values) * 2.0**-53 * float(np.abs(values).sum())
    rules = sums.rules
    return Estimate(values, null_values, rounding, errors, error, residual, bound, rules, alone)
