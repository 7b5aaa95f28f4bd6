"""`GameSums`: weighted sums of the values of product games, and whether they add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.errors import AdditivityError
from pkex.games.rules import Rule

__all__ = ["SMALLEST", "GameSums", "ranked", "sum_tolerance"]


SMALLEST = 5e-324  # the rounding error of results that underflow


@dataclass(frozen=True, eq=False)
class GameSums:
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

    values: Floats
    totals: Floats
    bases: Floats
    magnitudes: Floats
    tolerance: Floats
    rules: tuple[Rule, ...]
    efficient: bool = True
    n_blocks: int = 1

    def __add__(self, other: GameSums) -> GameSums:
        return GameSums(
            self.values + other.values,
            self.totals + other.totals,
            self.bases + other.bases,
            self.magnitudes + other.magnitudes,
            self.tolerance + other.tolerance,
            ranked({*self.rules, *other.rules}),
            self.efficient and other.efficient,
            self.n_blocks + other.n_blocks,
        )

    def scaled(self, share: float) -> GameSums:
        """Return the sums times a number."""
        size = abs(share)
        return GameSums(
            share * self.values,
            share * self.totals,
            share * self.bases,
            size * self.magnitudes,
            size * self.tolerance,
            self.rules,
            self.efficient,
            self.n_blocks,
        )

    @lazy
    def checked(self) -> tuple[Floats, Floats]:
        """The sums of the values over all players, and how far they are from totals - bases.

        Both have shape (rows, sets), and are NaN where something overflowed.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            explained: Floats = np.add.reduce(self.values, axis=1)
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
        size = self.residual
        if size.size == 1 and (one := abs(size.item())) <= self.tolerance.item():
            return float(one)  # numbers are faster than arrays
        size = np.abs(size)
        right = size <= self.tolerance  # NaN is not
        if right.all():
            return float(size.max(initial=0.0))
        row, output = np.argwhere(~right)[0]
        if not np.isfinite(self.tolerance[row, output]):
            raise ValueError(
                f"the products of the kernel's factors overflow in row {row}, so they have no "
                "values in double precision; scale the kernel or the data."
            )
        raise AdditivityError(
            f"the values of row {row}, output {output} sum to "
            f"{self.values[row, :, output].sum():.17g}, but {whole} is "
            f"{(self.totals - self.bases)[row, output]:.17g}; rounding explains at most "
            f"{self.tolerance[row, output]:.1e}. Please report this with the kernel and the data."
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

    Each value carries about 3 roundings per player and 1 per point; 16 leaves room, also for what
    series leave out. The values of a pair sum to at most 1 under neutral removal, else to at most
    2 per player. `magnitudes` are sums of the absolute terms; partial sums may underflow.
    """
    rounding = 16.0 * (n_players + n_points + 16) * 2.0**-53
    spread = 2.0 * n_players if general else 1.0
    underflow = 4.0 * (n_players + n_points) * SMALLEST * n_blocks
    return spread * (rules[0].relative_error + rounding) * magnitudes + underflow


def ranked(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules, the one with the largest bound first."""
    found = tuple(rules)
    if len(found) == 1:
        return found
    return tuple(sorted(set(found), key=lambda rule: (-rule.relative_error, -rule.size)))
