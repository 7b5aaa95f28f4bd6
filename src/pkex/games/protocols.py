"""What everything in pkex is a sum of, and the seams where new things come in. Read this first.

For a pair of points, player j has the factor ``p_j`` when present and ``a_j`` when absent, and the
*product game* of the pair is ``v(S) = prod_{j in S} p_j prod_{j not in S} a_j``. Its value for j is

    phi_j = (p_j - a_j) Q_j,      Q_j = integral prod_{i != j} (a_i + t (p_i - a_i)) dmu(t),

and everything that pkex returns is a weighted sum of such values. ``p_j - a_j`` is called the
*change* of a factor, and ``a_j - p_j`` its *drop*. Three things differ, and each has a protocol
below:

- where the factors of a block of pairs come from, a `FactorSource`;
- what is integrated over t, a `Measure`: Shapley's is ``dt`` on [0, 1];
- what is done with the values of the pairs, a `Reduction`: they are summed for each row of a table
  (a model), or over all pairs (a statistic), under one set of weights or many.

The hot loop in between has a protocol as well, `Game`: the product games of one term of a kernel,
in NumPy (`numpy_backend`) or compiled (`native`). A *pair* is two points; a *block* is some rows
and some points, a unit of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices, Players
from pkex.games.factors import Factors
from pkex.games.rules import Ladder, Rule
from pkex.kernels.normal_form import Term

__all__ = [
    "NOTHING",
    "TAU",
    "Added",
    "BlockSums",
    "FactorSource",
    "Factors",
    "Game",
    "Measure",
    "Measured",
    "Ratios",
    "Reduction",
    "Task",
]

Part = TypeVar("Part")

TAU = 2.0**-80
"""The share of the larger factor below which a factor of `Ratios` is kept away from 0."""
NOTHING = 2.0**-900
"""What takes the place of a factor of 0 of a player that has no other."""


class BlockSums(NamedTuple):
    """What the hot loop returns for a block of rows and points.

    Attributes
    ----------
    values : array of shape (rows, players, sets)
        Weighted sums over the points of the pairs' values.
    totals : array of shape (rows, sets)
        The same sums of the products of all factors.
    magnitudes : array of shape (rows, sets)
        The same sums of absolute terms, the scale that rounding errors are measured by.
    rules : tuple of Rule
        The rules that were used.
    """

    values: Floats
    totals: Floats
    magnitudes: Floats
    rules: tuple[Rule, ...]

    def plus(self, other: BlockSums) -> BlockSums:
        """Return the sums of both, in place of the ones here."""
        for sums, more in zip(self[:3], other[:3], strict=True):
            sums += more
        return self._replace(rules=tuple({*self.rules, *other.rules}))

    def scaled(self, share: float, slack: float = 1.0) -> BlockSums:
        """Return the sums times a number, and the errors times a slack."""
        if share == slack == 1.0:
            return self
        values, totals, magnitudes, rules = self
        return BlockSums(share * values, share * totals, slack * abs(share) * magnitudes, rules)


class Added(NamedTuple):
    """What is known of pairs whose values were added to an array."""

    rules: tuple[Rule, ...]
    largest: float
    """The largest magnitude of a pair, as in `BlockSums`."""


class Measured(NamedTuple):
    """Pairs of points for `Ratios`, and how large they are.

    Attributes
    ----------
    drops : array of shape (players, pairs)
        ``a - p``, absent minus present factors.
    start : array of shape (players, pairs), or None
        ``a``; None where these are 1.
    lam, magnitudes, widest, totals : arrays of shape (pairs,)
        Sums of ``|a - p|`` and the magnitude, both relative in the tail as the rules want them; the
        largest ``|a - p|``; and the products of all present factors.
    outside : boolean array of shape (pairs,)
        Whether factors are out of the range of the rules.
    lowest : float
        The smallest factor of all pairs.
    """

    drops: Floats
    start: Floats | None
    lam: Floats
    outside: NDArray[np.bool_]
    magnitudes: Floats
    widest: Floats
    totals: Floats
    lowest: float


class Ratios(Protocol):
    """What all pairs of players are a matrix product of: see `pkex.games.interactions`.

    At a node x a player has the factor ``f = a - x (a - p)``, kept away from 0 by `TAU`, and the
    ratio ``(a - p) / f``; P is the product of all ``f``. Pairs are cut into groups of `width`, and
    `order` names groups. The columns of a tile are (groups, nodes, pairs of a group), where a
    backend may take all groups for one; pairs that a last group lacks have P = 0.
    """

    @property
    def width(self) -> int:
        """Pairs of a group."""

    @property
    def entries(self) -> int:
        """Numbers of a tile that suit the backend."""

    @property
    def few(self) -> int:
        """Up to how many players `gram` and `sums` hold no tile, and take as many columns."""

    def measured(
        self, term: Term, present: Factors, absent: Factors | None, lower: float
    ) -> Measured:
        """Return pairs and how large they are; the rules cover factors from `lower` to 1.

        Factors have shape (players, points) and (players, pairs), where the pairs are the points,
        once or several times.
        """

    def plain(self, pairs: Measured, order: Indices, nodes: Floats) -> tuple[Floats, Floats]:
        """Return P, by groups, nodes and pairs, and the ratios, of shape (players, columns)."""

    def gram(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return ``R diag(|w|) R'`` and ``R w``, and at the end of the latter the sum of ``w``.

        ``w`` is P times the share of the node times the weight of the pair. Shapes (players,
        players) and (players + 1,).
        """

    def sums(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> Floats:
        """Return ``R w``, and the sum of ``w``, alone."""


class Game(Protocol):
    """The product games of one term: its columns gathered into players, and the rules for them.

    A backend is a class of these, made from a term, the players and a ladder. The coefficient of
    the term is left to the caller, except by what adds to an array.
    """

    @property
    def term(self) -> Term:
        """The product kernel."""

    @property
    def players(self) -> Players:
        """The columns of each player."""

    @property
    def ladder(self) -> Ladder:
        """The rules of a measure for this number of players."""

    @property
    def entries(self) -> int:
        """Column factors of a block that suit the backend."""

    @property
    def ratios(self) -> Ratios:
        """What interactions are made of."""

    def explain(
        self, x: Floats, z: Floats, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain the pairs of the rows `x` and the points `z`.

        `weights` have shape (points, sets) or (rows, points, sets); `absent` are factors of shape
        (players, points), 1 by default.
        """

    def explain_against(
        self, x: Floats, z: Floats, weights: Floats, rows: Floats, shares: Floats
    ) -> BlockSums:
        """Explain with each of `rows` in place of absent players, and add up by their shares."""

    def explain_given(
        self, present: Factors, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain pairs whose factors are given, of shape (players, rows, points).

        Those of absent players have the same shape, or (players, points) where rows share them.
        """

    def add_pairs(
        self,
        x: Floats,
        z: Floats,
        values: Floats,
        absent: Factors | None = None,
        *,
        integrals: Indices | None = None,
    ) -> Added:
        """Add the values of every pair, times the coefficient, to `values`.

        `values` have shape (players + 1, rows, points); the last entry takes the products of all
        factors. With `integrals`, numbers of players, they have shape (these players, rows, points)
        and take ``Q_j`` instead of ``phi_j``; that is for pairs with `absent` factors.
        """

    def add_pairs_against(self, x: Floats, z: Floats, values: Floats, absent: Factors) -> Added:
        """Do as `add_pairs` for several sets of absent factors, one after the other.

        `absent` have shape (players, sets, points), their points contiguous.
        """

    def factors(self, x: Floats, z: Floats) -> Factors:
        """Return the players' factors, of shape (players, rows, points)."""

    def add_factors(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add the players' factors, times the coefficient, to `values`."""

    def mean_factors(self, x: Floats, z: Floats, shares: Floats) -> Factors:
        """Return the weighted means of `factors` over the rows `x`, of shape (players, points)."""


class FactorSource(Protocol):
    """Where the factors of a block of pairs come from: data, bound to the games of their terms.

    Dense points under a kernel, factors that are given, pairs of points: see `pkex.games.sources`.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of points."""

    @property
    def n_terms(self) -> int:
        """Number of terms, whose games are summed."""

    @property
    def n_players(self) -> int:
        """Number of players."""

    @property
    def pairs(self) -> int:
        """Pairs of a block that suit the backend."""

    def explain(self, term: int, rows: slice, points: slice, weights: Floats) -> BlockSums:
        """Return the weighted sums of a term over a block, weights as in `Game.explain`."""


class Measure(Protocol):
    """What is integrated over t, with its rules, and whether its values add up to the total."""

    @property
    def index(self) -> str:
        """The name of the values: "SV", "BV", ..."""

    @property
    def efficient(self) -> bool:
        """Whether the values of all players sum to the worth of all minus that of none."""

    def ladder(self, n_players: int, tol: float | None, *, general: bool) -> Ladder:
        """Return rules with proven error bounds for a number of players and a tolerance.

        Under neutral removal absent players have the factor 1; else the game is `general`.
        """


class Task(NamedTuple):
    """A block of pairs, of one term where a source has several and they are taken one by one."""

    rows: slice
    points: slice
    term: int = 0


class Reduction(Protocol[Part]):
    """What is done with the values of the pairs: block by block, in threads, then in order."""

    def tasks(self) -> Sequence[Task]:
        """Return the blocks, whose order is that of `add`."""

    def run(self, task: Task) -> Part:
        """Reduce one block; called in threads, or on a copy in other processes.

        So it changes nothing here: what it finds is what it returns.
        """

    def add(self, part: Part) -> None:
        """Take in what `run` returned for one block; called in the order of the tasks."""

    def result(self) -> Any:
        """Return what all blocks make."""
