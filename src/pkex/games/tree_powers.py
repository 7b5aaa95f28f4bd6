"""Powers of additive games under a hierarchy: polynomial kernels with Owen and Winter values.

As in `pkex.games.powers`, v(S) is n! times the coefficient of ``u^n`` of a product game whose
factors are power series in u. So the passes of `pkex.games.tree_values` are those of series, cut
after ``u^n``. Two siblings differ by O(u) when present and absent, so that an integral over t has
at most the degree n - 1, whatever the number of siblings.

*Size.* Between present and absent all series have coefficients below those of ``exp(u s)``, s the
size of what the player adds; a change has twice those. So all absolute terms sum to at most
``2 (sum of sizes)^n``. A product of series has n + 1 terms in place of one, hence the factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.hierarchy import Hierarchy
from pkex.games.powers import PowerGame, Series
from pkex.games.rules import exact
from pkex.games.tree_values import share_out
from pkex.kernels.normal_form import Power

if TYPE_CHECKING:
    from pkex._util.types import Players
    from pkex.games.accumulator import Accumulator
    from pkex.games.protocols import Measure

__all__ = ["TreePowerGame"]


@dataclass(frozen=True, eq=False)
class TreePowerGame(PowerGame):
    """The games of a power of a sum over columns, with the tree of the players that take part."""

    tree: Hierarchy | None = None

    @classmethod
    def of(cls, power: Power, players: Players, measure: Measure) -> TreePowerGame:
        """Return the game for some players and their hierarchy."""
        assert isinstance(measure, Hierarchy)
        columns, starts, taking = cls.gather(power, players)
        rule = measure.ladder(len(players), None, general=True).rules[0]
        tree = measure.restricted(taking.tolist())
        return cls(power, len(players), columns, starts, taking, rule, tree)

    def add_against(
        self, x: Floats, z: Floats, weights: Floats, row: Floats, rows: slice, sums: Accumulator
    ) -> None:
        """Add the values with one row in place of absent players, from whose sum changes count."""
        change = self.contributions(x - row, z)
        absent = self.contributions(row, z)[0]
        start = np.broadcast_to(self.power.coef0 + absent.sum(axis=-1), change.shape[:2])
        ones = _exponential(np.zeros_like(change), self.power.degree)
        changed = _exponential(change, self.power.degree)
        size = abs(self.power.coef0) + np.abs(absent).sum(axis=-1) + np.abs(change).sum(axis=-1)
        self._add_series(changed, ones, start, size, weights, rows, sums)

    def add_marginal(
        self, x: Floats, z: Floats, weights: Floats, moments: Series, rows: slice, sums: Accumulator
    ) -> None:
        """Add the values with independent absent players of given moments."""
        degree, added = self.power.degree, self.contributions(x, z)
        absent = np.ones((degree + 1, *added.shape))
        for r in range(1, degree + 1):
            absent[r] = moments[r - 1] / math.factorial(r)
        typical = moments[-1] ** (1.0 / degree)
        size = abs(self.power.coef0) + np.maximum(np.abs(added), typical).sum(axis=-1)
        start = np.full(added.shape[:2], self.power.coef0)
        self._add_series(_exponential(added, degree), absent, start, size, weights, rows, sums)

    def _add_series(
        self,
        present: Floats,
        absent: Floats,
        start: Floats,
        size: Floats,
        weights: Floats,
        rows: slice,
        sums: Accumulator,
    ) -> None:
        """Add the values of factors that are series, (degree + 1, rows, points, taking)."""
        assert self.tree is not None
        degree, taking = self.power.degree, range(present.shape[-1])
        shares = share_out(
            self.tree,
            [present[..., j] for j in taking],
            [absent[..., j] for j in taking],
            _product,
            _exponential(start, degree),
            self._integrals,
        )
        values = np.empty(present.shape[1:])
        for j, share in enumerate(shares):
            change = present[..., j] - absent[..., j]
            values[..., j] = (change * share[::-1]).sum(axis=0)
        values *= self.power.coefficient * math.factorial(degree)
        self.add_values(values, 2.0 * (degree + 1) * size**degree, weights, rows, sums)

    def _integrals(self, p: list[Any], a: list[Any]) -> list[Any]:
        """Return the integrals of the products over all siblings but one, for each."""
        rule = exact(max(1, min(len(p), self.power.degree)))
        total: list[Any] = [0.0] * len(p)
        for t, weight in zip(rule.nodes, rule.weights, strict=True):
            mixed = [left + t * (right - left) for left, right in zip(a, p, strict=True)]
            before = [np.zeros_like(mixed[0])]
            before[0][0] = weight
            for factor in mixed[:-1]:
                before.append(_product(before[-1], factor))
            after = mixed[-1]
            total[-1] = total[-1] + before[-1]
            for i in range(len(mixed) - 2, -1, -1):
                total[i] = total[i] + _product(before[i], after)
                after = _product(after, mixed[i]) if i else after
        return total


def _exponential(added: Floats, degree: int) -> Floats:
    """Return the coefficients of ``exp(u added)`` up to a degree, along a new first axis."""
    series = np.ones((degree + 1, *added.shape))
    for r in range(1, degree + 1):
        series[r] = series[r - 1] * added / r
    return series


def _product(left: Floats, right: Floats) -> Floats:
    """Return the product of two series, cut where they are."""
    result: Floats = left[0] * right
    for r in range(1, len(left)):
        result[r:] += left[r] * right[: len(left) - r]
    return result
