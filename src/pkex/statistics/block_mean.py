"""`BlockMean`: a statistic as the mean over blocks of rows of weighted sums over their pairs.

With one block this is MMD or HSIC itself. Disjoint blocks make it affordable for large samples: the
cost grows with the rows times the size of a block, and the blocks show how much the mean varies.
Under marginal removal a removed column has the mean of its factor over the pairs of its block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pkex._util.progress import show_progress
from pkex._util.types import Floats, Indices, Players
from pkex.games.backend import Backend
from pkex.games.blas import single_blas
from pkex.games.engine import run_reduction
from pkex.games.permutations import (
    ByPermutation,
    Filler,
    PermutedSums,
    PlayerKernels,
)
from pkex.games.plan import Plan
from pkex.games.protocols import Game
from pkex.games.reductions import ByPair, ByRow, Component, MeanFactors, sum_weights
from pkex.games.rules import Rule
from pkex.games.sources import PointSource, SameFactors
from pkex.games.sums import GameSums
from pkex.games.threads import cluster_width, run_in_order
from pkex.statistics.bounds import count_permuted_roundings, error_of, have_unit_factors
from pkex.statistics.column_test import ColumnTest
from pkex.statistics.family import JointFiller, Members
from pkex.statistics.label_sums import LabelFillers, LabelSums, PermutedLabels, PermutedStatistics
from pkex.statistics.low_rank import univariate_sums
from pkex.statistics.pair_weights import Shuffled, Weights

if TYPE_CHECKING:
    from pkex.games.interactions import Recipe
    from pkex.games.interactions.reductions import InteractionSums
    from pkex.results.interactions import Interactions

__all__ = ["BlockMean", "ColumnTests", "Estimate", "Part"]


_ALL_ROWS = 2000  # rows on all of which single columns are tested
_TEST_ROWS = 1500  # of more rows: on so many, drawn at random
_AT_ONCE = 3 * 2**23  # pairs of all players tested at once, for each of which 8 bytes are held


class Part(NamedTuple):
    """The rows of a block, and the weights of their pairs."""

    rows: Indices
    weights: Weights


@dataclass(frozen=True, eq=False)
class Estimate:
    """The values of a statistic, and of its permutations.

    Attributes
    ----------
    values : array of shape (features,)
    null_values : array of shape (permutations, features)
    rounding : array of shape (features,)
        How far apart values may be that are equal but for rounding.
    standard_errors : array of shape (features,)
    standard_error : float
        Of the sum of the values; like the others NaN for a single block.
    residual : float
        How far the sum of the values is from the statistic computed directly.
    error : float
        How far each value, and their sum, may be from exact ones: proven.
    rules : tuple of Rule
    univariate : PermutedStatistics or None
        The statistic of each feature by itself, where there are permutations.
    joint : PermutedStatistics or None
        Those of the family of the verdict, where there are permutations.
    source : PointSource or None
        All pairs of rows, where there is one block.
    """

    values: Floats
    null_values: Floats
    rounding: Floats
    standard_errors: Floats
    standard_error: float
    residual: float
    error: float
    rules: tuple[Rule, ...]
    univariate: PermutedStatistics | None
    joint: PermutedStatistics | None
    source: PointSource | None


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """Tests of single features, by permuting only their columns.

    Attributes
    ----------
    p_values : array of shape (features,)
        NaN for features that were not tested.
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
    plan : Plan
        The games of the kernel; general where the factor of a removed column is its mean.
    univariate_plan : Plan
        Those of a kernel whose factors are the kernels of the features by themselves.
    blocks : tuple of Part
        The rows of each block and the weights of their pairs.
    members : Members
        The kernels of the family of the verdict.
    n_jobs : int or None
    """

    X: Floats
    plan: Plan
    univariate_plan: Plan
    blocks: tuple[Part, ...]
    members: Members
    n_jobs: int | None

    @property
    def feature_groups(self) -> Players:
        """The columns of each feature."""
        return self.plan.players

    def estimate(
        self,
        n_permutations: int,
        generator: np.random.Generator,
        progress: bool,
        *,
        backend: Backend,
    ) -> Estimate:
        """Return the values, and those of random permutations within the blocks.

        With permutations also those of each feature by itself, and of the members of the family.
        """
        plan, groups = self.plan, self.plan.players
        games = plan.games(backend)
        seeds = generator.integers(2**63, size=(len(self.blocks), 4))

        def run(task: tuple[Part, Indices]) -> _Block:
            (rows, weights), seed = task
            source = self._source(games, rows, inner)
            whole = source if single else None
            with weights.held(inner):
                if not n_permutations and have_unit_factors(plan.terms):
                    pairs = ByPair(plan, source, weights)
                    sums = run_reduction(pairs, n_jobs=inner, progress=inner_bar)
                    roundings = 2.0 * len(rows) + sums.n_blocks + len(self.blocks) + 8.0
                    error = error_of(source, weights, sums, roundings, None)
                    return _Block(sums, np.zeros(len(groups)), error, None, whole)
                shuffled = weights.shuffled(n_permutations, np.random.default_rng(seed))
                tests, fillers = None, list[Filler]([source])
                if n_permutations:
                    tests = self._label_fillers(source.x, shuffled, inner, backend)
                    fillers += tests.fillers
                permuted = ByPermutation(fillers, shuffled)
                both: PermutedSums = run_reduction(permuted, n_jobs=inner, progress=inner_bar)
                shares, others = both.parts(len(groups) + 1)
                sums = shares.of_games(plan, len(rows), shuffled.total)
                count = count_permuted_roundings(permuted.tiles, weights, len(shuffled.layers))
                count += len(self.blocks)
                error = error_of(source, weights, sums, count, shares.largest)
                by_labels = None if tests is None else tests.split(others)
                return _Block(sums, shares.rounding[:-1], error, by_labels, whole)

        single = len(self.blocks) == 1
        inner, inner_bar = (self.n_jobs, progress) if single else (1, False)
        tasks = list(zip(self.blocks, seeds, strict=True))
        with single_blas():
            results = run_in_order(run, tasks, self.n_jobs)
            if progress and not single:
                sizes = [len(rows) for rows, _ in self.blocks]
                results = show_progress(results, sizes, sum(sizes))
            parts = list(results)
        return _mean(parts)

    def test_labels(
        self,
        n_permutations: int,
        generator: np.random.Generator,
        *,
        backend: Backend,
    ) -> PermutedLabels:
        """Return what `estimate` has for the verdict, without any contribution.

        The permutations are the same. The statistics lack what is the same for all permutations:
        pairs of rows that none of them moves.
        """
        seeds = generator.integers(2**63, size=(len(self.blocks), 4))

        def run(task: tuple[Part, Indices]) -> LabelSums:
            (rows, weights), seed = task
            x = np.asfortranarray(self.X[rows])
            with weights.held(inner):
                shuffled = weights.shuffled(n_permutations, np.random.default_rng(seed))
                tests = self._label_fillers(x, shuffled, inner, backend)
                permuted = ByPermutation(tests.fillers, shuffled, varying=True)
                return tests.split(run_reduction(permuted, n_jobs=inner))

        inner = self.n_jobs if len(self.blocks) == 1 else 1
        with single_blas():
            parts = list(run_in_order(run, list(zip(self.blocks, seeds, strict=True)), self.n_jobs))
        return PermutedLabels.mean(parts)

    def _label_fillers(
        self, x: Floats, shuffled: Shuffled, n_jobs: int | None, backend: Backend
    ) -> LabelFillers:
        """Return what tiles have to hold for the verdict; columns of low rank are done already."""
        terms, groups = self.univariate_plan.terms, self.plan.players
        fillers: list[Filler] = [JointFiller(self.members, x, x)]
        sums = univariate_sums(terms, groups, x, shuffled, n_jobs=n_jobs)
        if sums is None:
            fillers.append(PlayerKernels(self.univariate_plan.games(backend), x, x))
        return LabelFillers(fillers, sums, len(self.members.names))

    def test_columns(
        self,
        wanted: Sequence[int],
        n_permutations: int,
        generator: np.random.Generator,
        *,
        backend: Backend,
        whole: PointSource | None = None,
    ) -> ColumnTests:
        """Test some features by permuting only their columns.

        Of more than `_ALL_ROWS` rows a random part is tested: of a single block `_TEST_ROWS` rows,
        of several blocks as many as have no more pairs. `whole` has the pairs of all rows, where
        `estimate` made them.
        """
        n_features = len(self.plan.players)
        seeds = generator.integers(2**63, size=(n_features, 4))
        blocks = _some_blocks(self.blocks, generator)
        games = self.plan.games(backend) if whole is None else whole.games
        p_values = np.full(n_features, np.nan)
        width, inner = cluster_width(self.n_jobs), self.n_jobs
        with single_blas():
            sources = [
                self._source(games, rows, self.n_jobs)
                if whole is None or len(rows) < len(self.X)
                else whole
                for rows, _ in blocks
            ]
            step = max(1, _AT_ONCE // sum(len(rows) ** 2 // 2 + 1 for rows, _ in blocks))
            if width:  # a worker makes the forms of its features, in one pass over all pairs
                step, inner = min(step, max(1, -(-len(wanted) // width))), 1
            test = ColumnTest(sources, [part.weights for part in blocks], n_permutations, inner)
            groups = [
                (list(wanted[start : start + step]), seeds[list(wanted[start : start + step])])
                for start in range(0, len(wanted), step)
            ]
            results = run_in_order(test, groups, self.n_jobs) if width else map(test, groups)
            p_values[list(wanted)] = [p for group in results for p in group]
        return ColumnTests(p_values, sum(len(rows) for rows, _ in blocks))

    def each_univariate(self) -> Floats:
        """Return the statistic of each feature by itself, shape (features,)."""
        games, random = self.univariate_plan.games(), np.random.default_rng
        parts = []
        for rows, weights in self.blocks:
            x = np.asfortranarray(self.X[rows])
            with weights.held():
                shuffled = weights.shuffled(0, random(0))
                kernels = ByPermutation(PlayerKernels(games, x, x), shuffled)
                parts.append(run_reduction(kernels, n_jobs=self.n_jobs))
        return PermutedStatistics.mean(parts).values

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic of some features, the others being removed."""
        if not subset:
            return 0.0
        inside = [column for feature in subset for column in self.feature_groups[feature]]
        outside = [i for i in range(len(self.feature_groups)) if i not in subset]
        rest = tuple(column for i in outside for column in self.feature_groups[i])
        groups = (tuple(inside), rest) if rest else (tuple(inside),)
        games = self.plan.games()

        def of_block(rows: Indices, weights: Weights) -> float:
            source = self._source(games, rows, self.n_jobs)
            terms = []
            for number, term in enumerate(self.plan.terms):
                kept, share = term.restrict(inside), 1.0
                if isinstance(source.absent, SameFactors):
                    share = float(source.absent.single(number).values[outside].prod())
                terms.append(replace(kept, coefficient=share * term.coefficient))
            # The weights sum to 0, so that a game of one player, neutral, has this value.
            plan = Plan.of(tuple(terms), groups, self.plan.tol, apart=False)
            pairs = ByPair(plan, PointSource(plan.games(), source.x, source.x), weights)
            sums: GameSums = run_reduction(pairs, n_jobs=self.n_jobs)
            sums.check("the statistic of these features")
            return float(sums.values[0, 0, 0])

        return self._mean_of(of_block)

    def component(self, subset: Sequence[int]) -> float:
        """Return what some features contribute together beyond all smaller subsets of them."""
        if not subset:
            return 0.0
        games = self.plan.games()

        def of_block(rows: Indices, weights: Weights) -> float:
            source = self._source(games, rows, self.n_jobs)
            together: float = run_reduction(Component(source, weights, subset), n_jobs=self.n_jobs)
            return together

        return self._mean_of(of_block)

    def interactions(
        self, attribution: Any, index: str, max_order: int, subsets: Any, progress: bool
    ) -> Interactions:
        """Return the interactions of the features of an attribution."""
        from pkex.statistics.interactions import attribute_interactions

        return attribute_interactions(self, attribution, index, max_order, subsets, progress)

    def interaction_sums(self, recipe: Recipe, progress: bool) -> InteractionSums:
        """Return what features contribute together, the mean over the blocks."""
        from pkex.games.interactions.reductions import InteractionsByPair

        games, parts = self.plan.games(), []
        with single_blas():
            for rows, weights in self.blocks:
                source = self._source(games, rows, self.n_jobs)
                with weights.held():
                    pairs = InteractionsByPair(recipe, source, weights)
                    parts.append(run_reduction(pairs, n_jobs=self.n_jobs, progress=progress))
        mean: InteractionSums = reduce(add, parts).scaled(1.0 / len(parts))
        return mean

    def row_values(self) -> Floats:
        """Return the share of every row, shape (n_rows, features); 0 for rows in no block."""
        plan, values = self.plan, np.zeros((len(self.X), len(self.feature_groups)))
        games = plan.games()
        for rows, weights in self.blocks:
            source = self._source(games, rows, self.n_jobs)
            none = _worth_of_none(source) * sum_weights(weights, len(rows))
            by_row = ByRow(plan, source, weights, none[:, None])
            sums: GameSums = run_reduction(by_row, n_jobs=self.n_jobs)
            sums.check("the contribution of the row to the statistic")
            values[rows] = sums.values[:, :, 0] / len(self.blocks)
        return values

    def _source(
        self,
        games: Sequence[Game],
        rows: Indices,
        n_jobs: int | None,
    ) -> PointSource:
        """Return the pairs of some rows, under marginal removal with the means of their factors."""
        x = np.asfortranarray(self.X[rows])
        removed = None
        if self.plan.general:
            removed = run_reduction(MeanFactors(games, x, n_jobs), n_jobs=n_jobs)
        return PointSource(games, x, x, removed)

    def _mean_of(self, of_block: Callable[[Indices, Weights], float]) -> float:
        return float(np.mean([of_block(rows, weights) for rows, weights in self.blocks]))


class _Block(NamedTuple):
    """What one block of rows gives; rounding and error as in `Estimate`."""

    sums: GameSums
    rounding: Floats
    error: float
    by_labels: LabelSums | None
    source: PointSource | None


def _worth_of_none(source: PointSource) -> float:
    """Return what a pair is worth without any feature."""
    worth = 0.0
    for number, game in enumerate(source.games):
        share = 1.0
        if isinstance(source.absent, SameFactors):
            share = float(source.absent.single(number).values.prod())
        worth += share * game.term.coefficient
    return worth


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


def _mean(parts: Sequence[_Block]) -> Estimate:
    """Return the mean over blocks, with its standard error; check that the values add up."""
    tests = PermutedLabels.mean([part.by_labels for part in parts if part.by_labels is not None])
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
    return Estimate(
        values,
        null_values,
        rounding,
        errors,
        error,
        residual,
        bound,
        sums.rules,
        tests.univariate,
        tests.joint,
        parts[0].source,
    )
