"""`SparsePoints`: what a model of sparse points is to the engine, and the sums over its rows.

The counterpart of `pkex.games.points` for rows that stay sparse. A block is some rows and some
points of one term; blocks go through the one engine, `pkex.games.engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.engine import run_reduction
from pkex.games.plan import Plan
from pkex.games.protocols import Task
from pkex.games.rules import Rule, exact
from pkex.games.sparse import Scenarios, SparseGame, SparseSums
from pkex.games.stored import Indices, Owners, Row, StoredPoints
from pkex.games.sums import SMALLEST, Sums, check_additivity, sort_rules
from pkex.games.threads import raise_if_cancelled

__all__ = ["SparseByRow", "SparseGameSums", "SparsePoints"]


_ROWS = 8  # of a block
_POINTS = 2**13  # of a block: what a first row has at all nodes is kept
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class SparseGameSums(Sums):
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
    """

    NUMBERS = ("values", "rest", "totals", "bases")
    SIZES = ("error", "tolerance")

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

    @lazy
    def explained(self) -> Floats:
        """The sums of values and rest, shape (rows, sets)."""
        rows = [self.values[a:b].sum(axis=0) for a, b in pairwise(self.starts)]
        return np.asarray(rows).reshape(self.rest.shape) + self.rest

    @property
    def residual(self) -> Floats:
        """How far the sums are from totals - bases."""
        residual: Floats = self.explained - (self.totals - self.bases)
        return residual

    def check(self) -> float:
        """Return the largest residual, or raise where rounding does not explain it."""
        if not self.efficient:
            return float("nan")
        whole = "prediction minus base value"
        explained, residual = self.explained, self.residual
        return check_additivity(explained, residual, self.tolerance, "values and rest", whole)


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
        starts = range(0, n_points, _POINTS)
        return [slice(start, min(start + _POINTS, n_points)) for start in starts]

    @lazy
    def games(self) -> list[list[SparseGame]]:
        """The games of each term on each block of points."""
        games = []
        for term in self.plan.terms:
            ladder = partial(self.plan.ladder, term)
            stored = [StoredPoints(term, self.z[points], self.owners) for points in self.blocks]
            pairs = zip(stored, self.blocks, strict=True)
            games.append(
                [SparseGame(one, self.weights[at], ladder, self.scenarios) for one, at in pairs]
            )
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
        cuts = [slice(at, min(at + _ROWS, n_rows)) for at in range(0, n_rows, _ROWS)]
        terms = range(len(self.games))
        return [
            Task(rows, at, term) for term in terms for rows in cuts for at in self.source.blocks
        ]

    def run(self, task: Task) -> tuple[Task, list[SparseSums]]:
        """Return the sums of one block."""
        game = self.games[task.term][task.points.start // _POINTS]
        sums = []
        for number in range(task.rows.start, task.rows.stop):
            raise_if_cancelled()
            sums.append(game.explain(self.rows[number], self.players[number]))
        return task, sums

    def add(self, part: tuple[Task, list[SparseSums]]) -> None:
        """Add the sums of one block, with what they may be off by."""
        task, blocks = part
        term, plan = self.source.plan.terms[task.term], self.source.plan
        size = np.abs(self.source.weights[task.points]).sum(axis=0)
        size = term.slack * abs(term.coefficient) * size
        for row, sums in zip(range(task.rows.start, task.rows.stop), blocks, strict=True):
            certified = max(rule.relative_error for rule in sums.rules)
            spread = sums.lam if plan.general else 1.0
            rounding = sums.units * _UNIT
            stored = slice(self.starts[row], self.starts[row + 1])
            self.sums["values"][stored] += term.coefficient * sums.values
            arrays = {
                "rest": term.coefficient * sums.rest,
                "totals": term.coefficient * sums.totals,
                "error": (2.0 * certified + rounding) * size + SMALLEST,
                "tolerance": (spread * certified + (2.0 + sums.lam) * rounding) * size + SMALLEST,
            }
            self.sums.add(arrays, at=row, rules=sums.rules)

    def result(self) -> SparseGameSums:
        """Return the sums of all rows."""
        source, arrays = self.source, self.sums.arrays
        missed = 2.0 * source.missed * np.abs(source.weights).sum(axis=0)
        stored = np.concatenate([*self.players, np.empty(0, dtype=np.intp)])
        return SparseGameSums(
            self.starts,
            stored.astype(np.intp),
            arrays["values"],
            arrays["rest"],
            arrays["totals"],
            source.bases,
            arrays["error"] + missed,
            arrays["tolerance"],
            sort_rules(self.sums.rules or {exact(1)}),
            source.plan.measure.efficient,
        )
