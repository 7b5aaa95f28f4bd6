"""`SparsePoints`: what a model of sparse points is to the engine, and the sums over its rows.

The counterpart of `pkex.games.points` for rows that stay sparse. A block is some rows and some
points of one term; blocks go through the one engine, `pkex.games.engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.backend import native
from pkex.games.blocks import balance, even_step, rectangle
from pkex.games.engine import run_reduction
from pkex.games.hierarchy import Hierarchy
from pkex.games.plan import Plan
from pkex.games.protocols import Task
from pkex.games.rules import Rule, exact
from pkex.games.sparse import Scenarios, SparseGame
from pkex.games.sparse_tree import TREE_POINTS, SparseTreeGame, TreeOrder
from pkex.games.stored import Indices, Owners, Row, StoredPoints
from pkex.games.sums import SMALLEST, RowSums, sort_rules
from pkex.games.threads import jobs_of_short_steps

__all__ = ["SparseByRow", "SparseGameSums", "SparsePoints"]


_ROWS = 128  # of a block at most
_PAIRS = 2**16  # of a block that takes more rows than others need: 0.5 MiB
_POINTS = 2**13  # of a block: what a first row has at all nodes is kept
_UNIT = 2.0**-53
_BOUNDS = ("lam", "units")


@dataclass(frozen=True, eq=False)
class SparseGameSums(RowSums):
    """Weighted sums of the values of games of sparse rows, with what they may be off by.

    Attributes
    ----------
    starts : array of shape (rows + 1,)
        Where the values of each row begin.
    players : array of shape (values,)
        The player of each value: those that the row stores.
    values : array of shape (values, sets)
    rest : array of shape (rows, sets)
        The sums over all other players.
    totals, bases : arrays of shape (rows, sets) and (sets,)
        Weighted sums of the worth of all players, and of none.
    error : array of shape (rows, sets)
        How far a value, the total or the base may be from exact ones.
    tolerance : array of shape (rows, sets)
        How far values and rest may be from ``totals - bases``.
    rules : tuple of Rule
        The largest bound first.
    efficient : bool
        Whether values add up at all.
    magnitudes : array of shape (sets,)
        What sums of the absolute worths of pairs are at most.
    """

    NUMBERS = ("values", "rest", "totals", "bases")
    SIZES = ("error", "tolerance", "magnitudes")
    VALUES = "values and rest"

    starts: Indices
    players: Indices
    values: Floats
    rest: Floats
    totals: Floats
    bases: Floats
    error: Floats
    tolerance: Floats
    rules: tuple[Rule, ...]
    efficient: bool
    magnitudes: Floats

    def add_up(self) -> Floats:
        """Return the sums of values and rest, shape (rows, sets)."""
        total, has_values = self.rest.copy(), np.diff(self.starts) > 0
        total[has_values] += np.add.reduceat(self.values, self.starts[:-1][has_values])
        return total


class SparsePoints:
    """Sparse points with weights, in the games of a plan.

    Parameters
    ----------
    plan : Plan
        With all terms as games; general if there are scenarios.
    z : CSR array of shape (points, columns), without stored zeros
    weights : array of shape (points, sets)
    scenarios : Scenarios, optional
        What absent players are replaced by; by default their factors become 1.
    """

    def __init__(
        self, plan: Plan, z: Any, weights: Floats, scenarios: Scenarios | None = None
    ) -> None:
        self.plan, self.z, self.weights, self.scenarios = plan, z, weights, scenarios
        self.owners = Owners(plan.players, int(z.shape[1]))

    @lazy
    def blocks(self) -> list[slice]:
        """The points, cut."""
        n_points = int(self.z.shape[0])
        starts = range(0, n_points, self.step)
        return [slice(start, min(start + self.step, n_points)) for start in starts]

    @lazy
    def step(self) -> int:
        """Points of a block."""
        return TREE_POINTS if isinstance(self.plan.measure, Hierarchy) else _POINTS

    @lazy
    def games(self) -> list[list[SparseGame]]:
        """The games of each term on each block of points."""
        measure, games = self.plan.measure, list[list[SparseGame]]()
        order = TreeOrder(measure) if isinstance(measure, Hierarchy) else None
        for term in self.plan.terms:
            ladder = partial(self.plan.ladder, term)
            stored = [StoredPoints(term, self.z[points], self.owners) for points in self.blocks]
            games.append([])
            for one, at in zip(stored, self.blocks, strict=True):
                how = one, self.weights[at], ladder, self.scenarios
                games[-1].append(SparseGame(*how) if order is None else SparseTreeGame(*how, order))
        return games

    @lazy
    def bases(self) -> Floats:
        """Weighted sums of the worth of no player, shape (sets,)."""
        total = np.zeros(self.weights.shape[1])
        for term, games in zip(self.plan.terms, self.games, strict=True):
            for game in games:
                total += term.coefficient * game.bases
        return total

    @property
    def missed(self) -> float:
        """By how much products miss the kernel that they stand for, relative to the weights."""
        return float(sum(term.error for term in self.plan.terms))

    def explain(
        self,
        rows: Sequence[Row],
        players: Sequence[Indices],
        *,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> SparseGameSums:
        """Return the sums over the points, for every row.

        `players` are those whose values are wanted for each row, among them all that it stores.
        """
        if native() is None:
            n_jobs = jobs_of_short_steps(n_jobs)
        sums: SparseGameSums = run_reduction(
            SparseByRow(self, rows, players), n_jobs=n_jobs, progress=progress
        )
        return sums


class SparseByRow:
    """Sums over the points for every row, a `Reduction`."""

    def __init__(
        self, source: SparsePoints, rows: Sequence[Row], players: Sequence[Indices]
    ) -> None:
        self.source, self.rows, self.players = source, rows, players
        self.games = source.games  # which are made here, once for all threads
        n_sets = source.weights.shape[1]
        self.starts = np.cumsum([0, *map(len, players)])
        shapes = dict.fromkeys(("rest", "totals", "error", "tolerance"), (len(rows), n_sets))
        self.sums = Accumulator(values=(int(self.starts[-1]), n_sets), **shapes)

    def tasks(self) -> Sequence[Task]:
        """Return the blocks of every term."""
        n_rows = len(self.rows)
        most = _PAIRS // max(1, min(self.source.step, self.source.z.shape[0]))
        step = even_step(n_rows, min(_ROWS, max(balance(n_rows, _ROWS), most)))
        cuts = [rows for rows, _ in rectangle(n_rows, 1, step)]
        terms = range(len(self.games))
        return [
            Task(rows, at, term) for term in terms for rows in cuts for at in self.source.blocks
        ]

    def run(self, task: Task) -> tuple[Task, dict[str, Floats], set[Rule]]:
        """Return the sums of one block, with what they may be off by, and the rules."""
        game = self.games[task.term][task.points.start // self.source.step]
        blocks = game.explain(self.rows[task.rows], self.players[task.rows])
        term, plan = self.source.plan.terms[task.term], self.source.plan
        size = np.abs(self.source.weights[task.points]).sum(axis=0)
        size = term.slack * abs(term.coefficient) * size
        certified = np.array([max(r.relative_error for r in sums.rules) for sums in blocks])
        lam, units = (np.array([getattr(sums, name) for sums in blocks]) for name in _BOUNDS)
        spread, rounding = lam if plan.general else 1.0, units * _UNIT
        error, tolerance = 2.0 * certified + rounding, spread * certified + (2.0 + lam) * rounding
        arrays = {
            name: term.coefficient * join([getattr(sums, name) for sums in blocks])
            for name, join in (("values", np.concatenate), ("rest", np.stack), ("totals", np.stack))
        }
        arrays["error"] = error[:, None] * size + SMALLEST
        arrays["tolerance"] = tolerance[:, None] * size + SMALLEST
        return task, arrays, set[Rule]().union(*(sums.rules for sums in blocks))

    def add(self, part: tuple[Task, dict[str, Floats], set[Rule]]) -> None:
        """Add the sums of one block."""
        task, arrays, rules = part
        stored = slice(self.starts[task.rows.start], self.starts[task.rows.stop])
        self.sums["values"][stored] += arrays.pop("values")
        self.sums.add(arrays, at=task.rows, rules=rules)

    def result(self) -> SparseGameSums:
        """Return the sums of all rows."""
        source, arrays = self.source, self.sums.arrays
        sizes = np.abs(source.weights).sum(axis=0)
        worth = sum(abs(term.coefficient) for term in source.plan.terms)
        stored = np.concatenate([*self.players, np.empty(0, dtype=np.intp)])
        return SparseGameSums(
            self.starts,
            stored.astype(np.intp),
            arrays["values"],
            arrays["rest"],
            arrays["totals"],
            source.bases,
            arrays["error"] + 2.0 * source.missed * sizes,
            arrays["tolerance"],
            sort_rules(self.sums.rules or {exact(1)}),
            source.plan.measure.efficient,
            worth * sizes,
        )
