"""`WeightedPoints`: what a model is to the engine, points with weights under the games of a plan.

What does not depend on the rows to be explained is found once and kept here: the worth of no
player, the mean factors of a background, and what rounding may cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.approximation import bound_missed
from pkex.games.blocks import cut_points, rectangle
from pkex.games.engine import run_reduction
from pkex.games.factors import Absent
from pkex.games.layout import as_column_major
from pkex.games.means import mean_factors, mean_roundings
from pkex.games.plan import Plan
from pkex.games.protocols import BlockSums, Game
from pkex.games.reductions import ByRow
from pkex.games.single_player import AbsentWorth
from pkex.games.sources import AbsentFactors, EachRow, PointSource, block_entries
from pkex.games.sums import SMALLEST, GameSums
from pkex.kernels.normal_form import Term

__all__ = ["Background", "WeightedPoints"]


_SMALL = 0.75  # of a block: what is less stays on its thread, as it takes some milliseconds
_ABSENT = 2**19  # factors of absent players evaluated at once
_ABSENT_KEPT = 2**23  # their means, kept for the next call: 128 MiB


@dataclass(frozen=True, eq=False)
class Background:
    """Rows that stand in for absent players, with weights that sum to 1.

    Each row is a scenario: an absent player has the factor of that row. With `marginal` there is
    one scenario, where an absent player has the mean of these factors.
    """

    rows: Floats
    weights: Floats
    marginal: bool = False


class _Kept:
    """Mean factors of a background at blocks of points; found again after pickling."""

    def __init__(self) -> None:
        self.means: dict[tuple[int, int, int], Absent] = {}

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


@dataclass(frozen=True, eq=False)
class _Means:
    """The means over a background as the factors of absent players, for the games of one call."""

    owner: WeightedPoints
    games: Sequence[Game]

    def at(self, term: int, points: slice) -> Absent:
        """Return those of a term at some points."""
        return self.owner._mean_factors(self.games, term, points)


class WeightedPoints:
    """Points with weights, in the games of a plan.

    Parameters
    ----------
    plan : Plan
        General if there is a background.
    z : array of shape (points, columns)
    weights : array of shape (points, sets), or (rows, points, sets)
        Several weight sets share the work of the pair values.
    background : Background, optional
        What absent players are replaced by; by default their factors become 1.
    """

    def __init__(
        self, plan: Plan, z: Floats, weights: Floats, background: Background | None = None
    ) -> None:
        self.plan, self.weights, self.background = plan, weights, background
        self.z = as_column_major(z)
        self._kept = _Kept()

    def prepare(self) -> None:
        """Find what does not depend on rows now, rather than in the first call."""
        _ = self.bases, self.roundings

    def explain(self, X: Floats, *, n_jobs: int | None = 1, progress: bool = False) -> GameSums:
        """Return the weighted sums over the points of the pairs' values, for every row of `X`.

        Parameters
        ----------
        X : array of shape (rows, columns)
        n_jobs : int or None
            Number of threads, as in joblib; one inside a worker of joblib.
        progress : bool
            Whether to show a progress bar (tqdm) when it takes longer than two seconds.
        """
        x, plan, games = as_column_major(X), self.plan, self.plan.games()
        bases = self.bases
        is_small = len(X) * self._work * len(games) <= _SMALL * block_entries(games)
        if is_small and self._is_one_block and len(games) == 1 and not progress:
            block = self._explain_at_once(games[0], x)  # nothing to cut or to add up
            if not (plan.powers or plan.singles):
                return GameSums.of(block, plan, len(self.z), bases)
            sums = Accumulator()
            sums.add_block(block)
            self.add_others(x, sums)
            return GameSums.accumulated(sums, plan, len(self.z), bases)
        n_jobs = 1 if is_small else n_jobs  # threads would take longer to start than they save
        also = partial(self.add_others, x)
        rows = ByRow(plan, self.source(games, x), self.weights, bases, also)
        result: GameSums = run_reduction(rows, n_jobs=n_jobs, progress=progress)
        return result

    def with_weights(self, weights: Floats) -> WeightedPoints:
        """Return the same points with other weights; what does not depend on them is shared."""
        other = WeightedPoints(self.plan, self.z, weights, self.background)
        other._kept = self._kept
        return other

    def pair_values(self, X: Floats) -> Floats:
        """Return the values of every pair, without weights, shape (players, rows, points).

        Row by row these are the values of the functions ``k(., x_i)``. There is a background.
        """
        x, games, shape = as_column_major(X), self.plan.games(), (self.plan.n_players, len(X))
        values = np.zeros((shape[0] + 1, shape[1], len(self.z)))
        absent = self._absent(games)
        assert absent is not None
        if isinstance(absent, EachRow):
            for game in games:
                absent.add_pairs(game, x, self.z, values)
        else:
            every = slice(0, len(x)), slice(0, len(self.z))
            PointSource(games, x, self.z, absent).add_values(*every, values)
        for single, without in zip(self.plan.singles, self._absent_singles, strict=True):
            if single.player is not None:
                values[single.player] += single.worth(x, self.z) - without.worth
        return values[:-1]

    def error(self, sums: GameSums, X: Floats) -> Floats:
        """Return how far each value, the total and the base may be from exact ones, (rows, sets).

        By certificate and rounding, and by what products stand for that are no kernels of their
        own; see "What a result may be off by" in docs/mathematics.md.
        """
        rate: Any = 2.0 * sums.rules[0].relative_error + self.roundings * 2.0**-53
        if self.background is not None:
            # In the tail exponents of factors are large, and one that is off by 8 units of itself
            # moves its factor by 8 times as many units as it is large: 8 E of the mathematics.
            shares = self._sizes / np.maximum(sums.magnitudes, SMALLEST)
            if shares.size == 1:  # numbers are faster than arrays
                rate += 8.0 * 2.0**-53 * math.log(max(math.e, shares.item()))
            else:
                rate = rate + 8.0 * 2.0**-53 * np.log(np.maximum(math.e, shares))
        underflow = 4.0 * (self.plan.n_players + len(self.z)) * SMALLEST
        error: Floats = rate * sums.magnitudes + underflow * sums.n_blocks
        if self._approximate:
            error += 2.0 * self.bound_missed(X)
        return error

    def bound_missed(self, X: Floats) -> Floats:
        """Return how far a worth may be off where products stand in, (rows, sets)."""
        if not self._approximate:
            return np.zeros((len(X), self.weights.shape[-1]))
        rows = None if self.background is None else self.background.rows
        bound: Floats = bound_missed(self._approximate, X, self.z, self.weights, rows)
        return bound

    @lazy
    def bases(self) -> Floats:
        """Weighted sums of the worth of no player, shape (sets,) or (rows, sets)."""
        weights, plan = self.weights, self.plan
        total = np.zeros(weights.shape[:-2] + weights.shape[-1:])
        for without in self._absent_singles:
            total += without.worth @ weights
        if self.background is not None:
            for power in plan.powers:
                total += power.bases(self.z, self.background) @ weights
        if self.background is None:
            total += sum(term.coefficient for term in plan.terms) * weights.sum(axis=-2)
            return total
        games = plan.games()
        for number, term in enumerate(plan.terms):
            for points in self._blocks(games):
                worths = self._absent_worths(games, number, points)
                total += term.coefficient * (worths @ weights[..., points, :])
        return total

    def source(self, games: Sequence[Game], x: Floats) -> PointSource:
        """Return the pairs of rows and points, with what absent players have."""
        return PointSource(games, x, self.z, self._absent(games))

    def _explain_at_once(self, game: Game, x: Floats) -> BlockSums:
        """Return the sums of a single game, one block."""
        z, weights, background = self.z, self.weights, self.background
        if background is None:
            block = game.explain(x, z, weights)
        elif background.marginal:
            absent = self._mean_factors((game,), 0, slice(0, len(z)))
            block = game.explain(x, z, weights, absent)
        else:
            scenarios = EachRow(background.rows, background.weights)
            block = scenarios.explain(game, x, z, weights)
        return block.scaled(game.term.coefficient, game.term.slack)

    @lazy
    def _work(self) -> int:
        """Column factors of a row: with each row of a background, unless it is averaged."""
        background = self.background
        if background is None or background.marginal:
            return int(self.z.size)
        return int(self.z.size) * len(background.rows)

    @lazy
    def _is_one_block(self) -> bool:
        """Whether the means of absent factors, which are kept, are those of all points."""
        marginal = self.background is not None and self.background.marginal
        return not marginal or len(self._blocks(self.plan.games())) == 1

    def _absent(self, games: Sequence[Game]) -> AbsentFactors | EachRow | None:
        background = self.background
        if background is None:
            return None
        if background.marginal:
            return _Means(self, games)
        return EachRow(background.rows, background.weights)

    def _blocks(self, games: Sequence[Game]) -> list[slice]:
        """Cut the points as the blocks of a long table are, so that means are used again."""
        marginal = self.background is not None and self.background.marginal
        entries = block_entries(games) if marginal else _ABSENT
        width = cut_points(len(self.z), max(1, entries // self.z.shape[1]))
        return [points for _, points in rectangle(1, len(self.z), width)]

    def _mean_factors(self, games: Sequence[Game], number: int, points: slice) -> Absent:
        """Return the mean factors of absent players on some points; kept while there is room."""
        assert self.background is not None
        key = (number, points.start, points.stop)
        known = self._kept.means.get(key)
        if known is not None:
            return known
        background = self.background
        z = self.z[points]
        means = mean_factors(games[number], background.rows, z, background.weights)
        absent = Absent.of(means)
        if self.plan.n_players * len(self.z) * len(self.plan.terms) <= _ABSENT_KEPT:
            self._kept.means[key] = absent
        return absent

    def _absent_worths(self, games: Sequence[Game], number: int, points: slice) -> Floats:
        """Return what a term is worth without any player at some points."""
        assert self.background is not None
        if self.background.marginal:
            worths: Floats = np.prod(self._mean_factors(games, number, points).values, axis=0)
            return worths
        game, z, total = games[number], self.z[points], np.zeros(points.stop - points.start)
        step = max(1, _ABSENT // max(1, z.size))
        for start in range(0, len(self.background.rows), step):
            rows = slice(start, start + step)
            factors = game.factors(self.background.rows[rows], z).values
            total += self.background.weights[rows] @ np.prod(factors, axis=0)
        return total

    @lazy
    def _absent_singles(self) -> list[AbsentWorth]:
        """What the terms of a single player are worth without it, at each point."""
        rows, shares = None, None
        if self.background is not None:
            rows, shares = self.background.rows, self.background.weights
        return [single.absent(self.z, rows, shares) for single in self.plan.singles]

    @lazy
    def _moments(self) -> list[list[Floats] | None]:
        """For each power the moments of absent players under marginal removal."""
        background = self.background
        if background is None or not background.marginal:
            return [None] * len(self.plan.powers)
        return [power.moments(self.z, background) for power in self.plan.powers]

    def add_others(self, x: Floats, sums: Accumulator) -> None:
        """Add what is no product game: powers of sums, and the terms of a single player."""
        for power, moments in zip(self.plan.powers, self._moments, strict=True):
            assert self.background is not None  # they have no neutral removal
            power.add(x, self.z, self.weights, self.background, moments, sums)
        general = self.background is not None
        for single, absent in zip(self.plan.singles, self._absent_singles, strict=True):
            single.add(x, self.z, self.weights, absent, general, sums)

    @lazy
    def _approximate(self) -> list[Term]:
        """The terms that are a part of something else."""
        every = [*self.plan.terms, *(single.term for single in self.plan.singles)]
        return [term for term in every if term.error]

    @lazy
    def _sizes(self) -> Floats:
        """The sums of ``|alpha_i|`` over the points and terms."""
        worth = sum(abs(term.coefficient) for term in self.plan.terms)
        sizes: Floats = worth * np.add.reduce(np.abs(self.weights), axis=-2)
        return sizes

    @lazy
    def roundings(self) -> float:
        """How many units of rounding a value carries at most, relative to the magnitudes.

        The proof is in docs/mathematics.md, "What a result may be off by". What its counts are:

        - 16 d: 8 for each present factor, as kernels are evaluated to 8 units, and less than 8 for
          each in the rule: the factor at a node, the products, d / 2 of the nodes.
        - 280: 64 nodes, 64 for what series leave out, 6 for weights and coefficients and 8 for
          putting base, values and offset together are 142; the rest is room, which games of ratios
          (at most 16 d + 112 beside the exponents) need as well.
        - 18 d with a background: 8 for each absent factor, 8 for a factor relative to the larger
          one in the tail, 1 for rounding a mean.
        - 8 n^2 for a power of degree n: logarithm, exponential and quotient of series follow each
          other, each with n coefficients of at most n + 3 roundings on those before: 3 n (n + 3),
          relative to the absolute terms that the magnitudes bound. Beside fractions, with degrees 2
          to 12 and 3 columns, values were off by less than 0.2 units.
        """
        plan, background, n_points = self.plan, self.background, len(self.z)
        leaves = [leaf for term in plan.terms for leaf in term.leaves]
        leaves += [leaf for single in plan.singles for leaf in single.term.leaves]
        # a value of a pair is at most 1 in size, or 2 where factors may have both signs
        largest = 1.0 if all(leaf.unit for leaf in leaves) and not plan.powers else 2.0
        count = 16.0 * plan.n_players + 280.0 + largest * n_points + len(plan.terms)
        count += 8.0 * max((power.power.degree**2 for power in plan.powers), default=0)
        if background is None:
            return count
        count += 18.0 * plan.n_players + len(background.rows)
        if not background.marginal:
            return count
        # Means carry roundings relative to what is averaged: to the deficits where factors are near
        # 1, and to factors of both signs, which may cancel, where they are not.
        reach, games = 0.0, plan.games()
        for number, game in enumerate(games):
            bounded = all(leaf.unit for leaf in game.term.leaves)
            for points in self._blocks(games):
                if bounded:
                    factors = self._mean_factors(games, number, points)
                    sizes = np.minimum(1.0, np.abs(factors.deficits))
                else:
                    sizes = self._mean_sizes(game, self.z[points])
                reach = max(reach, float(sizes.sum(axis=0).max(initial=0.0)))
        return count + mean_roundings(len(background.rows), n_points) * reach

    def _mean_sizes(self, game: Game, z: Floats) -> Floats:
        """Return the means of the absolute factors over the background, (players, points)."""
        assert self.background is not None
        rows, shares = self.background.rows, self.background.weights
        step = max(1, _ABSENT // (len(rows) * len(game.players)))
        parts = [
            np.einsum("b,jbi->ji", shares, np.abs(game.factors(rows, z[i : i + step]).values))
            for i in range(0, len(z), step)
        ]
        return np.concatenate(parts, axis=1)
