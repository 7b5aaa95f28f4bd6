"""Where the factors of a block of pairs come from.

- `PointSource`: dense points under the terms of a kernel; the backend evaluates the factors in its
  hot loop. What absent players have is a thing of its own: nothing (their factor is 1), the same
  factors for all pairs, factors of each point, or the rows of a background, one after the other.
- `GivenFactors`: arrays.

A new source binds its data to games of the backend (`Plan.games`, or `make_given_game` for factors
that it computes itself) and implements `FactorSource`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.backend import Backend, game_class
from pkex.games.blocks import SMALLEST_PART, even_step, rectangle
from pkex.games.factors import TILE, Absent, Factors, sum_exponents
from pkex.games.measures import Shapley
from pkex.games.protocols import Added, BlockSums, Game, Measure
from pkex.games.rules import Rule
from pkex.games.threads import raise_if_cancelled
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term

__all__ = [
    "AbsentFactors",
    "EachRow",
    "GivenFactors",
    "PointSource",
    "SameFactors",
    "block_entries",
    "make_given_game",
]


_BLOCK = 2**22  # column factors of a block at most; a backend may want less
_SCENARIOS = 2**24  # column factors that are evaluated between two looks at the keyboard
_GIVEN = 2**19  # factors of a block that are computed before the hot loop
_TOGETHER = 8  # rows of a background in a block at least, as they share the factors of its pairs


class AbsentFactors(Protocol):
    """The factors of absent players, which are the same for all rows."""

    def at(self, term: int, points: slice) -> Absent:
        """Return those of a term at some points, shape (players, points)."""


@dataclass(frozen=True, eq=False)
class SameFactors:
    """Factors of absent players that are the same for all pairs.

    Attributes
    ----------
    factors : sequence of Factors of shape (players, points)
        For each term; equal entries in a row, for as many points as there are.
    tiles : sequence of arrays
        The exponents of one tile of each term, which serves for all points.
    roundings : float
        By how many units in the last place they may be off.
    """

    factors: Sequence[Factors]
    tiles: Sequence[Floats]
    roundings: float = 0.0

    @classmethod
    def of(cls, factors: Sequence[Factors], n_points: int, roundings: float = 0.0) -> SameFactors:
        """Return factors of shape (players,), one after the other, for so many points."""
        repeated = [
            Factors(*(np.repeat(part[:, None], n_points, axis=1) for part in one))
            for one in factors
        ]
        firsts = (Absent(*(part[:, :1] for part in one)) for one in repeated)
        tiles = [np.repeat(sum_exponents(first), TILE, axis=1) for first in firsts]
        return cls(repeated, tiles, roundings)

    def at(self, term: int, points: slice) -> Absent:
        """Return them for some points."""
        count = points.stop - points.start
        absent = Absent(*(part[:, :count] for part in self.factors[term]))
        return absent.with_tile(self.tiles[term])

    def single(self, term: int) -> Factors:
        """Return those of a term once, shape (players,)."""
        return Factors(*(part[:, 0] for part in self.factors[term]))


@dataclass(frozen=True, eq=False)
class EachRow:
    """Rows that stand in for absent players one after the other, with weights that sum to 1."""

    rows: Floats
    weights: Floats

    def some(self, part: slice) -> EachRow:
        """Return some of the rows, with their weights."""
        return EachRow(self.rows[part], self.weights[part])

    def explain(self, game: Game, x: Floats, z: Floats, weights: Floats) -> BlockSums:
        """Return the mean over the rows of a block's sums, in parts that suit the block."""
        step = min(_SCENARIOS // len(x), game.entries) // (game.term.n_columns * len(z))
        step = max(1, step)
        total: BlockSums | None = None
        for start in range(0, len(self.rows), step):
            raise_if_cancelled()
            some = slice(start, start + step)
            sums = game.explain_against(x, z, weights, self.rows[some], self.weights[some])
            total = sums if total is None else total.plus(sums)
        assert total is not None  # a background has rows
        return total

    def add_pairs(self, game: Game, x: Floats, z: Floats, values: Floats) -> None:
        """Add the mean over the rows of the values of every pair; see `Game.add_pairs`."""
        most = min(_GIVEN, _SCENARIOS // max(1, len(x)))
        step = max(1, most // (len(game.players) * len(z)))
        ends = np.append(np.diff(self.weights) != 0.0, True)  # of rows that have the same weight
        alike = np.zeros_like(values)
        for start in range(0, len(self.rows), step):
            raise_if_cancelled()
            stand_in = game.factors(self.rows[start : start + step], z)
            here = ends[start : start + step].copy()
            here[-1] = True  # of those whose factors there are
            for first, stop in pairwise([0, *(np.flatnonzero(here) + 1).tolist()]):
                some = Factors(*(part[:, first:stop] for part in stand_in))
                game.add_pairs_against(x, z, alike, some)
                if ends[start + stop - 1]:
                    alike *= self.weights[start + stop - 1]
                    values += alike
                    alike[...] = 0.0


@dataclass(frozen=True, eq=False)
class PointSource:
    """Rows and points under the terms of a kernel.

    Attributes
    ----------
    games : sequence of Game
        Those of the terms.
    x, z : arrays of shape (rows, columns) and (points, columns), their columns contiguous
    absent : AbsentFactors, EachRow or None
        What absent players have; None where their factors are 1.
    """

    games: Sequence[Game]
    x: Floats
    z: Floats
    absent: AbsentFactors | EachRow | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of points."""
        return len(self.x), len(self.z)

    @property
    def n_terms(self) -> int:
        """Number of terms, each as often as the rows of a background are cut."""
        return len(self.games) * len(self.scenarios)

    @lazy
    def scenarios(self) -> list[slice]:
        """The rows of a background, cut so that a block is no long work; one part without any."""
        if not isinstance(self.absent, EachRow):
            return [slice(0, 1)]
        n_rows = len(self.absent.rows)
        few = block_entries(self.games) // SMALLEST_PART // max(1, len(self.x) * self.z.size)
        step = even_step(n_rows, max(_TOGETHER, few))
        return [part for part, _ in rectangle(n_rows, 1, step)]

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.games[0].players)

    @property
    def n_values(self) -> int:
        """What a pair has in a tile: the values of all players, and the product of all factors."""
        return self.n_players + 1

    @property
    def pairs(self) -> int:
        """Pairs of a block that suit the backend, and make it no long work for one thread."""
        together = int(self.scenarios[0].stop) if isinstance(self.absent, EachRow) else 1
        entries = int(self.x.shape[1]) * together
        return max(1, block_entries(self.games) // entries)

    def explain(self, term: int, rows: slice, points: slice, weights: Floats) -> BlockSums:
        """Return the weighted sums of a term over a block."""
        part, term = divmod(term, len(self.games))
        game, x, z, absent = self.games[term], self.x[rows], self.z[points], self.absent
        if absent is None:
            sums = game.explain(x, z, weights)
        elif isinstance(absent, EachRow):
            sums = absent.some(self.scenarios[part]).explain(game, x, z, weights)
        else:
            sums = game.explain(x, z, weights, absent.at(term, points))
        return sums.scaled(game.term.coefficient, game.term.slack)

    def between(self, x: Floats, z: Floats) -> PointSource:
        """Return the source of other rows and points, absent factors being the same for all."""
        return PointSource(self.games, x, z, self.absent)

    def add_values(self, rows: slice, points: slice, values: Floats) -> Added:
        """Add the values of every pair of a block, of all terms, to `values`."""
        rules, size = set[Rule](), 0.0
        for term, game in enumerate(self.games):
            added = game.add_pairs(
                self.x[rows], self.z[points], values, self.absent_at(term, points)
            )
            rules.update(added.rules)
            size += game.term.slack * abs(game.term.coefficient) * added.largest
        return Added(tuple(rules), size)

    def add_integrals(
        self, term: int, rows: slice, points: slice, players: Indices, values: Floats
    ) -> None:
        """Add the integrals ``Q_j`` of some players, without their own factors, to `values`."""
        game, absent = self.games[term], self.absent_at(term, points)
        game.add_pairs(self.x[rows], self.z[points], values, absent, integrals=players)

    def factors(self, term: int, rows: slice, points: slice) -> Factors:
        """Return the factors of the players in a term, shape (players, rows, points)."""
        return self.games[term].factors(self.x[rows], self.z[points])

    def absent_at(self, term: int, points: slice) -> Factors | None:
        """Return the factors of absent players at some points, which are the same for all rows."""
        if self.absent is None:
            return None
        assert not isinstance(self.absent, EachRow)  # the values of pairs are those of one game
        return self.absent.at(term, points)


def block_entries(games: Sequence[Game]) -> int:
    """Return how many column factors a block of these games may have."""
    if len(games) == 1:
        return min(_BLOCK, games[0].entries)
    return min([_BLOCK, *[game.entries for game in games]])


class _HandedOver(ColumnKernel):
    """Stands for factors that are given, of which there is nothing to evaluate."""

    def factors(self, x: Floats, z: Floats) -> Any:  # noqa: ARG002
        """Refuse, as there are no columns."""
        raise TypeError("these factors are given; there is no kernel to evaluate.")


def make_given_game(
    n_players: int,
    measure: Measure,
    *,
    general: bool,
    tol: float | None,
    backend: Backend | None = None,
) -> Game:
    """Return the game of a backend, by default that in use, for factors that are given."""
    term = Term(1.0, (_HandedOver(),), n_players)
    players = tuple((j,) for j in range(n_players))
    ladder = measure.ladder(n_players, tol, general=general)
    return (backend or game_class())(term, players, ladder)


@dataclass(frozen=True, eq=False)
class GivenFactors:
    """Factors that are given as arrays.

    Attributes
    ----------
    game : Game
        Of `make_given_game`.
    present : Factors of shape (players, rows, points)
    absent : Factors of the same shape or of shape (players, points), or None
        1 if None.
    """

    game: Game
    present: Factors
    absent: Factors | None = None

    @classmethod
    def of(
        cls,
        present: Floats,
        absent: Floats | None = None,
        *,
        measure: Measure | None = None,
        tol: float | None = None,
    ) -> GivenFactors:
        """Return the source for factors of shape (players, rows, points)."""
        general = absent is not None
        game = make_given_game(len(present), measure or Shapley(), general=general, tol=tol)
        without = None if absent is None else Factors(absent, 1.0 - absent)
        return cls(game, Factors(present, 1.0 - present), without)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of points."""
        _, n_rows, n_points = self.present.values.shape
        return n_rows, n_points

    @property
    def n_terms(self) -> int:
        """There is one."""
        return 1

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.present.values)

    @property
    def pairs(self) -> int:
        """Pairs of a block that suit the backend."""
        return max(1, _GIVEN // self.n_players)

    def explain(
        self,
        term: int,  # noqa: ARG002  (there is one)
        rows: slice,
        points: slice,
        weights: Floats,
    ) -> BlockSums:
        """Return the weighted sums over a block."""

        def cut(factors: Factors) -> Factors:
            if factors.values.ndim == 2:
                return Factors(*(part[:, points] for part in factors))
            return Factors(*(part[:, rows, points] for part in factors))

        absent = None if self.absent is None else cut(self.absent)
        return self.game.explain_given(cut(self.present), weights, absent)
