"""`ConditionalPoints`: points with weights, in games where present players tell of absent ones.

It has the place of `WeightedPoints`. A coalition is worth the mean over a model of dependence that
was fitted to a background: `conditional_blocks` and `conditional_chain` have the sums of one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Players
from pkex._util.validation import brief
from pkex._util.words import join_names
from pkex.errors import UnsupportedModelError
from pkex.games.accumulator import Accumulator
from pkex.games.approximation import bound_missed
from pkex.games.backend import native
from pkex.games.blocks import even_step
from pkex.games.conditional_blocks import (
    BlockTable,
    CategoryBlock,
    GaussianBlock,
    GaussianTable,
    PairSums,
    SingleBlock,
    sum_blocks,
)
from pkex.games.conditional_chain import ChainTable, GaussianChain, sum_chain
from pkex.games.engine import run_reduction
from pkex.games.plan import Plan
from pkex.games.points import Background
from pkex.games.protocols import BlockSums, Task
from pkex.games.rules import Rule
from pkex.games.sums import SMALLEST, GameSums
from pkex.kernels.columns import RBF
from pkex.kernels.normal_form import Term

__all__ = ["ConditionalBackground", "ConditionalPoints"]


_ENTRIES = 2**20  # of the largest array that is made at once
_WORK = 2**22  # worths of a task


@dataclass(frozen=True, eq=False)
class ConditionalBackground(Background):
    """Rows that a model of dependence is fitted to, with weights that sum to 1.

    Attributes
    ----------
    blocks : tuple of tuples of int
        Players that depend on each other, two or more in each; all others are independent.
    chain : bool
        Whether all players are a Markov chain in their order, instead.
    categories : tuple of int
        Numbers of the blocks that hold categories.
    names : tuple of str
        Those of the players, for messages.
    """

    blocks: Players = ()
    chain: bool = False
    categories: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class _BlocksGame:
    """The games of one term whose players are dependent in blocks."""

    def __init__(self, owner: ConditionalPoints, term: Term) -> None:
        plan, background, z = owner.plan, owner.background, owner.z
        rows, weights = background.rows, background.weights
        touched = _columns(term)
        tables: list[BlockTable] = []
        inside = {player for block in background.blocks for player in block}
        for player, columns in enumerate(plan.players):
            if player not in inside and touched.intersection(columns):
                tables.append(SingleBlock.of(player, columns, term, z, rows, weights))
        for number, block in enumerate(background.blocks):
            groups = [plan.players[player] for player in block]
            columns = tuple(column for group in groups for column in group)
            if not touched.intersection(columns):
                continue
            if number in background.categories:
                names = [background.names[player] for player in block]
                tables.append(CategoryBlock(block, groups, term, z, rows, weights, names))
            else:
                precisions = _precisions(term, columns, background.names, block)
                tables.append(GaussianTable(owner.gaussians[number], precisions, z))
        self.tables, self.n_players, self.n_points = tables, plan.n_players, len(z)
        self.sizes: list[int] = [2 ** len(table.players) for table in tables]
        count = sum(len(table.players) for table in tables)
        self.rule: Rule = plan.measure.ladder(max(1, count), None, general=True).fallback

    @property
    def work(self) -> int:
        """Numbers that are made for one point."""
        return 8 * sum(self.sizes) + len(self.rule.nodes) * self.n_players

    @lazy
    def absent(self) -> Floats:
        """The worth of no player at each point."""
        worth = np.ones(self.n_points)
        for table in self.tables:
            worth *= table.absent
        return worth

    def explain(self, row: Floats, weights: Floats) -> PairSums:
        """Return the sums of one row."""
        if not self.tables:
            values = np.zeros((self.n_players, weights.shape[1]))
            return PairSums(values, weights.sum(axis=0), np.abs(weights).sum(axis=0))
        players = [table.players for table in self.tables]
        compiled = native()
        if compiled is not None:
            return self._explain_compiled(compiled, row, weights, players)
        step = max(1, _ENTRIES // self.work)
        total: PairSums | None = None
        for start in range(0, self.n_points, step):
            points = slice(start, start + step)
            tables = [table.worths(row, points) for table in self.tables]
            sums = sum_blocks(tables, players, self.rule, weights[points], self.n_players)
            total = sums if total is None else PairSums(*map(np.add, total, sums))
        assert total is not None
        return total

    @lazy
    def _packed(self) -> dict[str, Any]:
        """What the compiled loop takes beside rows and weights."""
        gaussians = [table for table in self.tables if isinstance(table, GaussianTable)]
        widths = [len(table.z) if isinstance(table, GaussianTable) else 0 for table in self.tables]
        return {
            "sizes": np.array([len(table.players) for table in self.tables], dtype=np.int64),
            "widths": np.array(widths, dtype=np.int64),
            "z": _concatenate([table.z for table in gaussians], (0, self.n_points)),
            "factors": _concatenate([table.factors.ravel() for table in gaussians], (0,)),
            "shares": _concatenate([table.shares for table in gaussians], (0,)),
            "nodes": np.ascontiguousarray(self.rule.nodes),
            "node_shares": np.ascontiguousarray(self.rule.weights),
        }

    def _explain_compiled(
        self, compiled: Any, row: Floats, weights: Floats, players: Sequence[tuple[int, ...]]
    ) -> PairSums:
        every, means, worths = slice(0, self.n_points), [], []
        for table in self.tables:
            if isinstance(table, GaussianTable):
                means.append(table.means(row[None]).ravel())
            else:
                worths.append(table.worths(row, every))
        owners = [player for block in players for player in block]
        out = np.zeros((len(owners) + 2, weights.shape[1]))
        compiled.sum_blocks(
            means=_concatenate(means, (0,)),
            worths=_concatenate(worths, (0, self.n_points)),
            weights=np.ascontiguousarray(weights),
            out=out,
            **self._packed,
        )
        values = np.zeros((self.n_players, weights.shape[1]))
        values[owners] = out[:-2]
        return PairSums(values, out[-2], out[-1])

    def rounding(self, x: Floats) -> float:
        """Return the units of rounding of a worth, beside those of factors."""
        return sum(table.rounding(x) for table in self.tables)


class _ChainGame:
    """The games of one term whose players are a Markov chain."""

    def __init__(self, owner: ConditionalPoints, term: Term) -> None:
        plan, background = owner.plan, owner.background
        every = tuple(range(plan.n_players))
        precisions = _precisions(term, every, background.names, every)
        self.table = ChainTable(owner.chain, precisions, owner.z)
        self.n_players, self.n_points = plan.n_players, len(owner.z)
        self.rule: Rule = plan.measure.ladder(plan.n_players, None, general=True).fallback

    @property
    def work(self) -> int:
        """Numbers that are made for one point."""
        return (self.n_players + 2) ** 2

    @property
    def absent(self) -> Floats:
        """The worth of no player at each point."""
        return self.table.absent

    def explain(self, row: Floats, weights: Floats) -> PairSums:
        """Return the sums of one row."""
        compiled = native()
        if compiled is not None:
            table = self.table
            out = np.zeros((self.n_players + 2, weights.shape[1]))
            compiled.sum_chain(
                z=table.z,
                x=table.chain.standard(row[None])[0],
                scales=table.scales,
                slopes=table.chain.slopes,
                gaps=table.packed,
                nodes=np.ascontiguousarray(self.rule.nodes),
                node_shares=np.ascontiguousarray(self.rule.weights),
                weights=np.ascontiguousarray(weights),
                out=out,
            )
            return PairSums(out[:-2], out[-2], out[-1])
        step, total = max(1, _ENTRIES // self.work), None
        for start in range(0, self.n_points, step):
            points = slice(start, start + step)
            gaps, present = self.table.worths(row, points), self.table.present(row, points)
            sums = sum_chain(gaps, present, self.rule, weights[points])
            total = sums if total is None else PairSums(*map(np.add, total, sums))
        assert total is not None
        return total

    def rounding(self, x: Floats) -> float:
        """Return the units of rounding of a worth, beside those of factors."""
        return self.table.rounding(x)


class ConditionalPoints:
    """Points with weights, in conditional games.

    Parameters
    ----------
    plan : Plan
        General, and with all its terms as games of several players.
    z : array of shape (points, columns)
    weights : array of shape (points, sets), or (rows, points, sets)
    background : ConditionalBackground
    """

    def __init__(
        self, plan: Plan, z: Floats, weights: Floats, background: ConditionalBackground
    ) -> None:
        self.plan, self.z, self.weights, self.background = plan, z, weights, background
        if plan.powers:
            raise UnsupportedModelError(
                "conditional removal supports sums of products over columns, and a polynomial "
                "kernel is a power of a sum. Use removal='interventional', or blocks=[] for "
                "independent columns."
            )

    def prepare(self) -> None:
        """Find what does not depend on rows now, rather than in the first call."""
        _ = self.bases

    @lazy
    def gaussians(self) -> dict[int, GaussianBlock]:
        """The Gaussian models of those blocks that do not hold categories."""
        background, models = self.background, {}
        for number, block in enumerate(background.blocks):
            if number not in background.categories:
                groups = [self.plan.players[player] for player in block]
                names = [background.names[player] for player in block]
                models[number] = GaussianBlock(
                    block, groups, background.rows, background.weights, names
                )
        return models

    @lazy
    def chain(self) -> GaussianChain:
        """The Markov chain."""
        background = self.background
        return GaussianChain(background.rows, background.weights, background.names)

    @lazy
    def games(self) -> list[_BlocksGame | _ChainGame]:
        """The games of the terms."""
        kind = _ChainGame if self.background.chain else _BlocksGame
        return [kind(self, term) for term in self.plan.terms]

    @lazy
    def bases(self) -> Floats:
        """Weighted sums of the worth of no player, shape (sets,) or (rows, sets)."""
        total = np.zeros(self.weights.shape[:-2] + self.weights.shape[-1:])
        for term, game in zip(self.plan.terms, self.games, strict=True):
            total += term.coefficient * (game.absent @ self.weights)
        return total

    def explain(self, X: Floats, *, n_jobs: int | None = 1, progress: bool = False) -> GameSums:
        """Return the weighted sums over the points of the pairs' values, for every row of `X`."""
        self.check_support(X)
        result: GameSums = run_reduction(_ByRow(self, X), n_jobs=n_jobs, progress=progress)
        return result

    def with_weights(self, weights: Floats) -> ConditionalPoints:
        """Return the same points with other weights; what does not depend on them is shared."""
        other = ConditionalPoints(self.plan, self.z, weights, self.background)
        other.__dict__["games"] = self.games
        for name in ("gaussians", "chain"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def check_support(self, X: Floats) -> None:
        """Raise where a row is impossible under a singular covariance."""
        if self.background.chain:
            self.chain.check_support(X)
            return
        for model in self.gaussians.values():
            model.check_support(X)

    def error(self, sums: GameSums, X: Floats) -> Floats:
        """Return how far each value, the total and the base may be from exact ones, (rows, sets).

        The counts are those of `WeightedPoints.roundings`, and what conditioning costs; a worth is
        at most the magnitude of its pair, and a value is a mean of differences of two of them.
        """
        count = 34.0 * self.plan.n_players + 280.0 + 2.0 * len(self.z) + len(self.plan.terms)
        count += len(self.background.rows)
        count += 2.0 * max(game.rounding(X) for game in self.games)
        rate = 2.0 * sums.rules[0].relative_error + count * 2.0**-53
        underflow = 4.0 * (self.plan.n_players + len(self.z)) * SMALLEST
        error: Floats = rate * sums.magnitudes + underflow * sums.n_blocks
        approximate = [term for term in self.plan.terms if term.error]
        if approximate:
            rows = self.background.rows
            error += 2.0 * bound_missed(approximate, X, self.z, self.weights, rows)
        return error


class _ByRow:
    """Weighted sums over the points, for every row."""

    def __init__(self, owner: ConditionalPoints, x: Floats) -> None:
        self.owner, self.x = owner, x
        n_sets = owner.weights.shape[-1]
        self.sums = Accumulator.of_blocks(len(x), owner.plan.n_players, n_sets)

    def tasks(self) -> Sequence[Task]:
        """Return some rows of every term."""
        n_rows, n_points, tasks = len(self.x), len(self.owner.z), []
        for term, game in enumerate(self.owner.games):
            step = even_step(n_rows, max(1, _WORK // (game.work * n_points)))
            tasks += [
                Task(slice(start, min(start + step, n_rows)), slice(0, n_points), term)
                for start in range(0, n_rows, step)
            ]
        return tasks

    def run(self, task: Task) -> tuple[slice, BlockSums]:
        """Return the sums of some rows, and which rows these are."""
        rows, _, number = task
        game, owner = self.owner.games[number], self.owner
        shared = owner.weights.ndim == 2
        parts = [
            game.explain(self.x[i], owner.weights if shared else owner.weights[i])
            for i in range(rows.start, rows.stop)
        ]
        values, totals, sizes = (np.array(each) for each in zip(*parts, strict=True))
        block = BlockSums(values, totals, sizes, (game.rule,))
        term = owner.plan.terms[number]
        return rows, block.scaled(term.coefficient)

    def add(self, part: tuple[slice, BlockSums]) -> None:
        """Add the sums of one block to those of its rows."""
        rows, block = part
        self.sums.add_block(block, at=rows)

    def result(self) -> GameSums:
        """Return the sums of all rows."""
        owner = self.owner
        return GameSums.accumulated(self.sums, owner.plan, len(owner.z), owner.bases)


def _concatenate(arrays: Sequence[Floats], empty: tuple[int, ...]) -> Floats:
    """Return arrays one after the other, contiguous; one of a shape without entries if none."""
    return np.ascontiguousarray(np.concatenate(arrays)) if arrays else np.zeros(empty)


def _columns(term: Term) -> set[int]:
    """Return the columns that a term depends on."""
    covered: set[int] = set()
    for leaf in term.leaves:
        covered.update(range(term.n_columns) if leaf.columns is None else leaf.columns)
    return covered


def _precisions(
    term: Term, columns: Sequence[int], names: Sequence[str], players: Sequence[int]
) -> Floats:
    """Return ``1 / (2 l^2)`` of all columns, or raise where some have no Gaussian factors."""
    precisions = np.zeros(term.n_columns)
    for leaf in term.leaves:
        covered = list(range(term.n_columns) if leaf.columns is None else leaf.columns)
        if type(leaf) is RBF:
            lengths: Any = leaf.length_scale
            precisions[covered] += 0.5 * np.square(1.0 / np.broadcast_to(lengths, len(covered)))
        elif set(covered).intersection(columns):
            named = join_names([repr(names[player]) for player in players[:10]])
            raise UnsupportedModelError(
                f"conditional removal of the dependent columns {named} needs the mean of the "
                "kernel under a Gaussian distribution, which is known in closed form for RBF "
                "kernels and their mixtures, Matern and RationalQuadratic; this kernel has "
                f"{brief(leaf)}. Use removal='interventional', or blocks= without these columns."
            )
    return precisions
