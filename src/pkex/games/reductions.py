"""What is done with the values of the pairs.

- `ByRow` sums them over the points, for every row: a model, or the shares of rows in a statistic.
- `ByPair` sums them over all pairs of one sample, each unordered pair once: MMD and HSIC.
- `MeanFactors` averages factors over all pairs of one sample, and `Component` sums products of
  differences of factors.

`pkex.games.permutations` has the one for many sets of weights at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Protocol

import numpy as np

from pkex._util.types import Floats
from pkex.errors import AdditivityError
from pkex.games.accumulator import Accumulator
from pkex.games.blocks import balance, cut_points, even_step, rectangle, triangle
from pkex.games.means import mean_over_pairs, mean_roundings
from pkex.games.plan import Plan
from pkex.games.protocols import BlockSums, Factors, FactorSource, Game, Task
from pkex.games.sources import PointSource, SameFactors
from pkex.games.sums import GameSums

__all__ = [
    "ByPair",
    "ByRow",
    "Component",
    "MeanFactors",
    "PairWeights",
    "exclude_self",
    "sum_weights",
]


_PAIRS = 2**18  # pairs of a block whose weights are made at once: 2 MiB
_CHECKED = 4  # players of a component that is compared with the worths of all its subsets


class PairWeights(Protocol):
    """Symmetric weights of the pairs of one sample."""

    @property
    def with_self(self) -> bool:
        """Whether a row is paired with itself."""

    def block(self, rows: slice, points: slice) -> Floats:
        """Return the weights of some pairs."""


class ByRow:
    """Weighted sums over the points, for every row.

    Parameters
    ----------
    plan : Plan
    source : FactorSource
    weights : array of shape (points, sets) or (rows, points, sets), or PairWeights
        Several sets share the work of the values.
    bases : array of shape (sets,) or (rows, sets), optional
        Weighted sums of the worth of no player; 0 by default.
    also : callable, optional
        Adds to the sums what is no game.
    """

    def __init__(
        self,
        plan: Plan,
        source: FactorSource,
        weights: Floats | PairWeights,
        bases: Floats | None = None,
        also: Callable[[Accumulator], None] | None = None,
    ) -> None:
        self.plan, self.source, self.weights, self.also = plan, source, weights, also
        n_sets = weights.shape[-1] if isinstance(weights, np.ndarray) else 1
        self.bases = np.zeros(n_sets) if bases is None else bases
        self.sums = Accumulator.of_blocks(source.shape[0], plan.n_players, n_sets)

    def __getstate__(self) -> dict[str, object]:
        """Return what a worker needs of it."""
        return self.__dict__ | {"also": None}

    def tasks(self) -> Sequence[Task]:
        """Return the blocks of every term."""
        n_rows, n_points = self.source.shape
        pairs, n_terms = self.source.pairs, self.source.n_terms
        if not isinstance(self.weights, np.ndarray):
            pairs = min(pairs, _PAIRS)
        width = cut_points(n_points, pairs)
        step = even_step(n_rows, balance(n_rows * n_points * n_terms, pairs) // width)
        blocks = list(rectangle(n_rows, n_points, step * width))
        return [Task(*block, term) for term in range(n_terms) for block in blocks]

    def run(self, task: Task) -> tuple[slice, BlockSums]:
        """Return the sums of one block, and whose rows they are."""
        rows, points, term = task
        if not isinstance(self.weights, np.ndarray):
            local = exclude_self(self.weights, rows, points)[:, :, None]
        elif self.weights.ndim == 2:
            local = self.weights[points]
        else:
            local = self.weights[rows, points]
        return rows, self.source.explain(term, rows, points, local)

    def add(self, part: tuple[slice, BlockSums]) -> None:
        """Add the sums of one block to those of its rows."""
        rows, block = part
        self.sums.add_block(block, at=rows)

    def result(self) -> GameSums:
        """Return the sums of all rows."""
        if self.also is not None:
            self.also(self.sums)
        return GameSums.accumulated(self.sums, self.plan, self.source.shape[1], self.bases)


class ByPair:
    """Weighted sums over all pairs of one sample.

    Parameters
    ----------
    plan : Plan
    source : FactorSource
        Its rows are its points.
    weights : PairWeights
        They sum to 0, so that nothing is added to the worth of no player.
    """

    def __init__(self, plan: Plan, source: FactorSource, weights: PairWeights) -> None:
        self.plan, self.source, self.weights = plan, source, weights
        self.sums = Accumulator.of_blocks(1, plan.n_players, 1)

    def tasks(self) -> Sequence[Task]:
        """Return strips of rows, each with all points from its first row on."""
        n_rows = self.source.shape[0]
        step = max(1, min(n_rows, _PAIRS // n_rows, self.source.pairs // n_rows))
        return [Task(*block) for block in triangle(n_rows, step, n_rows)]

    def run(self, task: Task) -> list[BlockSums]:
        """Return the sums of one strip over its rows, for every term."""
        rows, points, _ = task
        local = exclude_self(self.weights, rows, points)
        local *= 2.0
        local[:, : len(local)] *= 0.5  # here both (i, k) and (k, i) are met
        parts = []
        for term in range(self.source.n_terms):
            values, totals, sizes, rules = self.source.explain(
                term, rows, points, local[:, :, None]
            )
            parts.append(
                BlockSums(values.sum(axis=0), totals.sum(axis=0), sizes.sum(axis=0), rules)
            )
        return parts

    def add(self, part: list[BlockSums]) -> None:
        """Add the sums of a strip."""
        for block in part:
            self.sums.add_block(block)

    def result(self) -> GameSums:
        """Return the sums, as those of one row."""
        return GameSums.accumulated(self.sums, self.plan, self.source.shape[0], np.zeros(1))


class MeanFactors:
    """The mean of every player's factor over all pairs of different rows, for each term.

    The pairs are added up where `mean_over_pairs` has nothing faster.

    Parameters
    ----------
    games : sequence of Game
    x : array of shape (rows, columns), its columns contiguous
    n_jobs : int or None
        Threads for what `mean_over_pairs` has.
    """

    def __init__(self, games: Sequence[Game], x: Floats, n_jobs: int | None = 1) -> None:
        self.games, self.x = games, x
        self.n_players = len(games[0].players)
        self.known = [mean_over_pairs(game, x, n_jobs) for game in games]
        self.shape = (len(games), 2, self.n_players)
        self.sums = Accumulator(factors=self.shape)

    def tasks(self) -> Sequence[Task]:
        """Return strips of rows, each with all points from its first row on."""
        if all(known is not None for known in self.known):
            return []
        return [Task(*block) for block in triangle(len(self.x), self._step, len(self.x))]

    @property
    def _step(self) -> int:
        """Rows of a strip: few, as their pairs are evaluated on both sides of the diagonal."""
        width = max(self.x.shape[1], self.n_players)
        return int(max(1, min(len(self.x), 256, (_PAIRS // (8 * width)) ** 0.5)))

    @property
    def roundings(self) -> float:
        """By how many units in the last place a mean may be off, the factors' own included.

        A factor is added up with those of its strip, over the points, and over the strips.
        """
        n_rows, step = len(self.x), self._step
        plain = 2.0 * step + n_rows + n_rows / step + 16.0
        # a mean over the rows for each point, their mean, and 1 taken off where that is above 3
        if any(known is not None for known in self.known):
            return max(plain, (mean_roundings(n_rows, n_rows) + n_rows + 16.0) * 4.0 / 3.0)
        return plain

    def run(self, task: Task) -> Floats:
        """Return the sums of a strip, shape (terms, 2, players)."""
        here, after = self.x[task.rows], self.x[task.rows.stop :]
        sums = np.zeros(self.shape)
        for total, game, known in zip(sums, self.games, self.known, strict=True):
            if known is not None:
                continue
            for form, inside in zip(total, game.factors(here, here), strict=True):
                inside[:, np.arange(len(here)), np.arange(len(here))] = 0.0
                np.sum(inside.sum(axis=2), axis=1, out=form)
            total *= 0.5
            if len(after):
                beyond = game.mean_factors(here, after, np.full(len(here), 1.0 / len(here)))
                total += [len(here) * part.sum(axis=1) for part in beyond]
        return sums

    def add(self, part: Floats) -> None:
        """Add the sums of a strip."""
        self.sums.add({"factors": part})

    def result(self) -> SameFactors:
        """Return the means, as what absent players have in all pairs."""
        n_rows = len(self.x)
        sums = self.sums.arrays["factors"] / (0.5 * n_rows * (n_rows - 1.0))
        values, deficits = np.moveaxis(sums, 1, 0)
        # near 1 the mean of the deficits has the digits
        values = np.where(np.abs(deficits) < 0.5, 1.0 - deficits, values)
        means = map(Factors, values, deficits)
        factors = [known or mean for known, mean in zip(self.known, means, strict=True)]
        return SameFactors.of(factors, n_rows, self.roundings)


class Component:
    """The weighted sum over all pairs of the product of ``k_j - a_j`` over some players.

    The other players have their absent factors ``a_j``. Of few players the sum is compared with
    the worths of all their subsets, whose alternating sum it is.

    Parameters
    ----------
    source : PointSource
        Its rows are its points; absent factors are the same for all pairs, or 1.
    weights : PairWeights
    subset : sequence of int
        The players.
    """

    def __init__(self, source: PointSource, weights: PairWeights, subset: Sequence[int]) -> None:
        self.source, self.weights, self.inside = source, weights, list(subset)
        self.outside = [j for j in range(source.n_players) if j not in self.inside]
        self.sums = Accumulator(total=(), other=(), size=())

    def tasks(self) -> Sequence[Task]:
        """Return the blocks of every term."""
        pairs = max(1, min(_PAIRS, self.source.pairs) // self.source.n_players)
        blocks = list(rectangle(*self.source.shape, pairs))
        return [Task(*block, term) for term in range(self.source.n_terms) for block in blocks]

    def run(self, task: Task) -> tuple[float, float, float]:
        """Return the sum of a block, the same from the worths of subsets, and their size."""
        rows, points, term = task
        local = exclude_self(self.weights, rows, points)
        scale = self.source.games[term].term.coefficient
        factors = self.source.factors(term, rows, points)
        present, deficits = factors.values[self.inside], factors.deficits[self.inside]
        absent, missing = np.ones(len(self.inside)), np.zeros(len(self.inside))
        if self.source.absent is not None:
            assert isinstance(self.source.absent, SameFactors)
            mean = self.source.absent.single(term)
            absent, missing = mean.values[self.inside], mean.deficits[self.inside]
            scale *= float(mean.values[self.outside].prod())
        changes = missing[:, None, None] - deficits
        total = scale * float(np.vdot(changes.prod(axis=0), local))
        if len(self.inside) > _CHECKED:
            return total, total, 0.0
        other, size = 0.0, 0.0
        for chosen in product((False, True), repeat=len(self.inside)):
            worth = np.ones_like(local)
            for j, is_there in enumerate(chosen):
                worth *= present[j] if is_there else absent[j]
            sign = 1.0 if (len(chosen) - sum(chosen)) % 2 == 0 else -1.0
            other += sign * scale * float(np.vdot(worth, local))
            size += abs(scale) * float(np.vdot(np.abs(worth), np.abs(local)))
        return total, other, size

    def add(self, part: tuple[float, float, float]) -> None:
        """Add the sums of a block."""
        self.sums.add(dict(zip(("total", "other", "size"), part, strict=True)))

    def result(self) -> float:
        """Return the sum, or raise where that of the subsets is another."""
        total, other, size = (float(self.sums[name]) for name in ("total", "other", "size"))
        allowed = 16.0 * (len(self.inside) + sum(self.source.shape) + 16) * 2.0**-53 * size
        if not abs(total - other) <= allowed:
            raise AdditivityError(
                f"the component is {total:.6g}, but the worths of its subsets make it "
                f"{other:.6g}, and rounding explains at most {allowed:.1e}. Please report "
                "this with the kernel and the data."
            )
        return total


def sum_weights(weights: PairWeights, n_rows: int) -> Floats:
    """Return the sum of the weights of each row with all others."""
    blocks = rectangle(n_rows, n_rows, max(n_rows, _PAIRS))
    return np.concatenate([exclude_self(weights, *block).sum(axis=1) for block in blocks])


def exclude_self(weights: PairWeights, rows: slice, points: slice) -> Floats:
    """Return the weights of some pairs, 0 for a row with itself where that is no pair."""
    local = weights.block(rows, points)
    if not weights.with_self:
        both = np.arange(max(rows.start, points.start), min(rows.stop, points.stop))
        local[both - rows.start, both - points.start] = 0.0
    return local
