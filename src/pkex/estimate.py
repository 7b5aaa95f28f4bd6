"""`BlockMean`: a statistic as the mean over blocks of rows of weighted sums over their pairs.

With one block this is MMD or HSIC itself. Disjoint blocks make it affordable for large samples: the
cost grows with the rows times the size of a block, and the blocks show how much the mean varies.
Under marginal removal an absent column has the mean of its factor over the pairs of its block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pkex._threads import in_order, single_blas, with_bar
from pkex.column_test import QuadraticForm, forms_of, p_value
from pkex.engine import Plan, ranked
from pkex.errors import AdditivityError
from pkex.kernels.algebra import Term
from pkex.pairs import (
    PairGames,
    PairSums,
    PermutedSums,
    PlayerKernels,
    component_sum,
    pair_sums,
    permuted_sums,
    row_sums,
)
from pkex.rules import Rule
from pkex.weights import Weights

__all__ = ["Alone", "BlockMean", "ColumnTests", "Estimate"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Part = tuple[Indices, Weights]  # the rows of a block, and the weights of their pairs

_ALL_ROWS = 2000  # rows on all of which single columns are tested
_TEST_ROWS = 1500  # of more rows: on so many, drawn at random
_AT_ONCE = 2**25  # pairs of all players tested at once, for each of which 8 bytes are held


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
    rules : tuple of Rule
    alone : Alone or None
        The statistic of each player by itself, where there are permutations.
    """

    values: Floats
    null_values: Floats
    rounding: Floats
    standard_errors: Floats
    standard_error: float
    residual: float
    rules: tuple[Rule, ...]
    alone: Alone | None


@dataclass(frozen=True, eq=False)
class Alone:
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
    def mean(cls, parts: Sequence[PermutedSums]) -> Alone:
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
    blocks : tuple of (indices, Weights)
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
        alone: bool = True,
    ) -> Estimate:
        """Return the values, and those of random permutations within the blocks.

        With `alone` and permutations also those of each player by itself.
        """
        plan = self._plan(self.terms, self.players)
        games_of_terms = plan.games()
        by_player = self._plan_alone().games()
        seeds = generator.integers(2**63, size=(len(self.blocks), 4))

        def run(task: tuple[Part, Indices]) -> tuple[PairSums, PermutedSums | None]:
            (rows, weights), seed = task
            games = PairGames.of(plan, self.X[rows], inner, games=games_of_terms)
            with weights.held():
                if not n_permutations:
                    return pair_sums(games, weights, n_jobs=inner, progress=inner_bar), None
                shuffled = weights.shuffled(n_permutations, np.random.default_rng(seed))
                found = permuted_sums(games, shuffled, n_jobs=inner, progress=inner_bar)
                sums = PairSums.of(games, found, shuffled.total)
                if not alone:
                    return sums, None
                kernels = PlayerKernels(by_player, games.x)
                return sums, permuted_sums(kernels, shuffled, n_jobs=inner)

        single = len(self.blocks) == 1
        inner, inner_bar = (self.n_jobs, progress) if single else (1, False)
        tasks = list(zip(self.blocks, seeds, strict=True))
        with single_blas():
            results = in_order(run, tasks, self.n_jobs)
            parts = list(results if single or not progress else with_bar(results, len(tasks)))
        by_itself = [part for _, part in parts if part is not None]
        return _mean([part for part, _ in parts], Alone.mean(by_itself) if by_itself else None)

    def test_columns(
        self, wanted: Sequence[int], n_permutations: int, generator: np.random.Generator
    ) -> ColumnTests:
        """Test some players by permuting their columns alone.

        Of more than `_ALL_ROWS` rows a random part is tested: of a single block `_TEST_ROWS` rows,
        of several blocks as many as have no more pairs.
        """
        seeds = generator.integers(2**63, size=(len(self.players), 4))
        plan = self._plan(self.terms, self.players)
        blocks = _some_blocks(self.blocks, generator)
        p_values = np.full(len(self.players), np.nan)
        with single_blas():
            games = [PairGames.of(plan, self.X[rows], self.n_jobs) for rows, _ in blocks]
            step = max(1, _AT_ONCE // sum(len(rows) ** 2 for rows, _ in blocks))
            for start in range(0, len(wanted), step):
                chosen = list(wanted[start : start + step])
                forms = [
                    forms_of(some, weights, chosen, n_jobs=self.n_jobs)
                    for some, (_, weights) in zip(games, blocks, strict=True)
                ]
                of_players = [[each[place] for each in forms] for place in range(len(chosen))]
                test = partial(_p_value, n_permutations=n_permutations)
                tasks = list(zip(of_players, seeds[chosen], strict=True))
                p_values[chosen] = list(in_order(test, tasks, self.n_jobs))
        return ColumnTests(p_values, sum(len(rows) for rows, _ in blocks))

    def each_alone(self) -> Floats:
        """Return the statistic of each player by itself, shape (players,)."""
        games, random = self._plan_alone().games(), np.random.default_rng
        parts = []
        for rows, weights in self.blocks:
            kernels = PlayerKernels(games, np.asfortranarray(self.X[rows]))
            with weights.held():
                shuffled = weights.shuffled(0, random(0))
                parts.append(permuted_sums(kernels, shuffled, n_jobs=self.n_jobs))
        return Alone.mean(parts).values

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic of some players, the others being absent."""
        if not subset:
            return 0.0
        inside = [column for player in subset for column in self.players[player]]
        outside = [player for player in range(len(self.players)) if player not in subset]
        rest = tuple(column for player in outside for column in self.players[player])
        players = (tuple(inside), rest) if rest else (tuple(inside),)
        plan = self._plan(self.terms, self.players)

        def of_block(rows: Indices, weights: Weights) -> float:
            games = PairGames.of(plan, self.X[rows], self.n_jobs)
            terms = []
            for number, term in enumerate(self.terms):
                mean, kept = games.means(number), term.restricted(inside)
                share = 1.0 if mean is None else float(mean.values[outside].prod())
                terms.append(replace(kept, coefficient=share * term.coefficient))
            # The weights sum to 0, so that a game of one player, neutral, has this value.
            game = Plan(tuple(terms), players, self.tol, narrow=False)
            alone = PairGames(game, game.games(), games.x, None)
            return float(pair_sums(alone, weights, n_jobs=self.n_jobs).values[0, 0])

        return self._mean_of(of_block)

    def component(self, subset: Sequence[int]) -> float:
        """Return what some players contribute together beyond all smaller subsets of them."""
        if not subset:
            return 0.0
        plan = self._plan(self.terms, self.players)
        return self._mean_of(
            lambda rows, weights: component_sum(
                PairGames.of(plan, self.X[rows], self.n_jobs), weights, subset, n_jobs=self.n_jobs
            )
        )

    def row_values(self) -> Floats:
        """Return the share of every row, shape (n_rows, players); 0 for rows in no block."""
        plan = self._plan(self.terms, self.players)
        values = np.zeros((len(self.X), len(self.players)))
        for rows, weights in self.blocks:
            games = PairGames.of(plan, self.X[rows], self.n_jobs)
            found = row_sums(games, weights, n_jobs=self.n_jobs)
            values[rows] = found / len(self.blocks)
        return values

    def _plan_alone(self) -> Plan:
        return Plan(self.alone, self.players, self.tol, narrow=False)

    def _mean_of(self, of_block: Callable[[Indices, Weights], float]) -> float:
        return float(np.mean([of_block(rows, weights) for rows, weights in self.blocks]))

    def _plan(self, terms: tuple[Term, ...], players: tuple[tuple[int, ...], ...]) -> Plan:
        return Plan(terms, players, self.tol, narrow=False, general=self.marginal)


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
        chosen.append((rows, weights))
    return chosen


def _mean(parts: Sequence[PairSums], alone: Alone | None) -> Estimate:
    """Return the mean over blocks, with its standard error; check that the values add up."""
    sums = np.mean([part.values for part in parts], axis=0)
    errors, error = np.full(len(sums), np.nan), np.nan
    if len(parts) > 1:
        values = np.array([part.values[:, 0] for part in parts])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(parts))
        error = float(values.sum(axis=1).std(ddof=1) / np.sqrt(len(parts)))
    total = float(np.mean([part.totals[0] for part in parts]))
    residual = abs(float(sums[:, 0].sum()) - total)
    tolerance = max(part.tolerance for part in parts)
    if not residual <= tolerance:
        raise AdditivityError(
            f"the values sum to {sums[:, 0].sum():.6g}, but the statistic is {total:.6g}; the "
            f"difference {residual:.2g} is more than the {tolerance:.2g} that the rule and "
            "rounding allow. Please report this as a bug, with the data if you can."
        )
    rules = ranked({rule for part in parts for rule in part.rules})
    rounding = np.mean([part.rounding for part in parts], axis=0)
    return Estimate(sums[:, 0], sums[:, 1:].T, rounding, errors, error, residual, rules, alone)
