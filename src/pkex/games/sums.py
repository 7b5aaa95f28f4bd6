"""`GameSums`: weighted sums of the values of product games, and whether they add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.errors import AdditivityError
from pkex.games.accumulator import Accumulator
from pkex.games.protocols import BlockSums
from pkex.games.rules import Rule, exact

if TYPE_CHECKING:
    from pkex.games.plan import Plan

__all__ = [
    "SMALLEST",
    "GameSums",
    "RowSums",
    "Sums",
    "check_additivity",
    "sort_rules",
    "sum_tolerance",
]


SMALLEST = 5e-324  # the rounding error of results that underflow


class Sums:
    """What finished sums have in common, frozen dataclasses that name their arrays.

    `NUMBERS` are arrays (or None), `SIZES` those that are never negative, and `COUNTS` integers.
    """

    NUMBERS: ClassVar[tuple[str, ...]]
    SIZES: ClassVar[tuple[str, ...]]
    COUNTS: ClassVar[tuple[str, ...]] = ()
    rules: tuple[Rule, ...]

    def __add__(self, other: Self) -> Self:
        changes: dict[str, Any] = {"rules": sort_rules({*self.rules, *other.rules})}
        for name in (*self.NUMBERS, *self.SIZES, *self.COUNTS):
            array = getattr(self, name)
            changes[name] = None if array is None else array + getattr(other, name)
        return self._with(changes)

    def scaled(self, share: float) -> Self:
        """Return the sums times a number."""
        changes = {}
        for names, factor in ((self.NUMBERS, share), (self.SIZES, abs(share))):
            for name in names:
                array = getattr(self, name)
                changes[name] = None if array is None else factor * array
        return self._with(changes)

    def _with(self, changes: dict[str, Any]) -> Self:
        sums: Any = self
        result: Self = replace(sums, **changes)
        return result


class RowSums(Sums):
    """Sums for rows, whose values should add up to ``totals - bases`` within `tolerance`."""

    VALUES: ClassVar[str]  # what is added up, in words
    totals: Floats
    bases: Floats
    magnitudes: Floats
    tolerance: Floats
    efficient: bool

    def add_up(self) -> Floats:
        """Return the sums of the values over all players, shape (rows, sets)."""
        raise NotImplementedError

    @lazy
    def checked(self) -> tuple[Floats, Floats]:
        """The sums of the values over all players, and how far they are from totals - bases.

        Both have shape (rows, sets), and are NaN where something overflowed.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            explained = self.add_up()
            return explained, explained - (self.totals - self.bases)

    @property
    def explained(self) -> Floats:
        """The sums of the values over all players."""
        return self.checked[0]

    @property
    def residual(self) -> Floats:
        """How far the sums of the values are from totals - bases."""
        return self.checked[1]

    def check(self, whole: str = "prediction minus base value") -> float:
        """Return the largest residual, or raise where rounding does not explain it.

        NaN where values do not add up by their measure. `whole` says what they should sum to.
        """
        if not self.efficient:
            return float("nan")
        explained, residual = self.checked
        return check_additivity(explained, residual, self.tolerance, self.VALUES, whole)


@dataclass(frozen=True, eq=False)
class GameSums(RowSums):
    """Weighted sums of the values of games, for rows of a table, or one row for a statistic.

    Attributes
    ----------
    values : array of shape (rows, players, sets)
        Weighted sums of the values of the pairs.
    totals : array of shape (rows, sets)
        Weighted sums of the worth of all players together.
    bases : array of shape (sets,) or (rows, sets)
        Weighted sums of the worth of no player.
    magnitudes : array of shape (rows, sets)
        Weighted sums of absolute terms, which rounding errors are measured by.
    tolerance : array of shape (rows, sets)
        How far ``values.sum(axis=1)`` may be from ``totals - bases`` by certificate and rounding.
    rules : tuple of Rule
        The rules that were used, the largest bound first.
    efficient : bool
        Whether the values should add up at all, which depends on the measure.
    n_blocks : int
        How many partial sums they are made of, each of which may underflow.
    """

    NUMBERS = ("values", "totals", "bases")
    SIZES = ("magnitudes", "tolerance")
    COUNTS = ("n_blocks",)
    VALUES = "values"

    values: Floats
    totals: Floats
    bases: Floats
    magnitudes: Floats
    tolerance: Floats
    rules: tuple[Rule, ...]
    efficient: bool = True
    n_blocks: int = 1

    @classmethod
    def of(
        cls, block: BlockSums, plan: Plan, n_points: int, bases: Floats, n_blocks: int = 1
    ) -> GameSums:
        """Return the sums of one block, or of several added up, with what they may miss."""
        values, totals, sizes, rules = block
        order = sort_rules(rules or (exact(1),))
        n_players = len(plan.players)
        tolerance = sum_tolerance(order, n_players, n_points, sizes, plan.general, n_blocks)
        efficient = plan.measure.efficient
        return cls(values, totals, bases, sizes, tolerance, order, efficient, n_blocks)

    @classmethod
    def accumulated(cls, sums: Accumulator, plan: Plan, n_points: int, bases: Floats) -> GameSums:
        """Return those of blocks that were added up."""
        block = BlockSums(sums["values"], sums["totals"], sums["magnitudes"], tuple(sums.rules))
        return cls.of(block, plan, n_points, bases, sums.n_blocks or 1)

    def add_up(self) -> Floats:
        """Return the sums of the values over all players."""
        explained: Floats = np.add.reduce(self.values, axis=1)
        return explained


def check_additivity(
    explained: Floats, residual: Floats, tolerance: Floats, what: str, whole: str
) -> float:
    """Return the largest residual, or raise where certificate and rounding do not explain it.

    Parameters
    ----------
    explained : array of shape (rows, sets)
        The sums of the values.
    residual : array of shape (rows, sets)
        How far they are from what they should be.
    tolerance : array of shape (rows, sets)
        How far they may be.
    what, whole : str
        What was summed, and what it should sum to.
    """
    if residual.size == 1 and (size := abs(residual.item())) <= tolerance.item():
        return float(size)  # numbers are faster than arrays
    sizes = np.abs(residual)
    right = sizes <= tolerance  # NaN is not
    if right.all():
        return float(sizes.max(initial=0.0))
    row, output = np.argwhere(~right)[0]
    if not np.isfinite(tolerance[row, output]):
        raise ValueError(
            f"the products of the kernel's factors overflow in row {row}, so they have no values "
            "in double precision; scale the kernel or the data."
        )
    total, missed = explained[row, output], residual[row, output]
    raise AdditivityError(
        f"the {what} of row {row}, output {output} sum to {total:.17g}, but {whole} is "
        f"{total - missed:.17g}; rounding explains at most {tolerance[row, output]:.1e}. Please "
        "report this with the kernel and the data."
    )


def sum_tolerance(
    rules: tuple[Rule, ...],
    n_players: int,
    n_points: int,
    magnitudes: Any,
    general: bool,
    n_blocks: int = 1,
) -> Any:
    """Return how far sums of values may be from totals minus bases by certificate and rounding.

    `magnitudes` are sums of the absolute terms. The sizes of the values of a pair sum to at most 1
    under neutral removal, else to at most 2 per player, as ``|p_j - a_j| <= 2``: the `spread`.
    Values and totals come from the same factors, so what these are off by cancels. Left are, by
    the count in "What a result may be off by" of docs/mathematics.md, less than 8 d + 64 units for
    the rule, d + 64 for what series leave out, n + 3 for the points with their weights, and 2 d for
    adding up the values and multiplying all factors: 11 d + n + 131, for which 16 (d + n + 16)
    leaves room.
    Each of the d + n sums and products of a block may underflow, by at most `SMALLEST`.
    """
    rounding = 16.0 * (n_players + n_points + 16) * 2.0**-53
    spread = 2.0 * n_players if general else 1.0
    underflow = 4.0 * (n_players + n_points) * SMALLEST * n_blocks
    return spread * (rules[0].relative_error + rounding) * magnitudes + underflow


def sort_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules, the one with the largest bound first, in an order that is always the same.

    Those of another process are copies, of which one is kept.
    """
    unsorted = tuple(rules)
    if len(unsorted) == 1:
        return unsorted
    known: dict[tuple[Any, ...], Rule] = {}
    for rule in sorted(unsorted, key=lambda rule: rule.max_players):
        known[-rule.relative_error, -rule.size, rule.family, rule.nodes.tobytes()] = rule
    return tuple(known[key] for key in sorted(known))
