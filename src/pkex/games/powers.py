"""Powers of additive games: the polynomial kernel.

For a pair of points let player j add ``p_j`` when present and a random number ``a_j`` when absent,
independent of the others. The game is ``v(S) = E (c + sum_S p_j + sum_{not S} a_j)^n``, no product
game; but ``E exp(u (c + ...))`` is one, with the factors ``exp(u p_j)`` and ``E exp(u a_j)``, and
v(S) is n! times its coefficient of ``u^n``. So the diagonal formula holds for power series in u:

    phi_j = n! [u^n] integral  D_j(u) e^(c u) prod_{i != j} M_i(t, u) dmu(t),
    D_j = e^(u p_j) - E e^(u a_j),      M_i = t e^(u p_i) + (1 - t) E e^(u a_i).

As ``D_j = O(u)``, only n - 1 of the others take part in the coefficient, which is of degree n - 1
in t: ceil(n / 2) nodes are exact. The product over all but one is ``exp(sum_i log M_i) / M_j``, so
that every player has to be visited twice, whatever the number of players.

With a background row absent columns have numbers, and only differences count: with ``c' = c +
sum_j a_j`` and ``a_j`` for ``p_j - a_j`` the series of a player depend on ``u a_j`` alone,

    log M_j = sum_r l_r(t) (u a_j)^r,      D_j / M_j = sum_r g_r(t) (u a_j)^r,

so that the sums need power sums ``sum_j a_j^r`` and a value is ``sum_r C_r a_j^r``, with n numbers
C_r for each pair. Under marginal removal ``E e^(u a_j)`` has the moments of a column, the same for
all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.rules import Rule
from pkex.games.threads import raise_if_cancelled
from pkex.kernels.normal_form import Power

if TYPE_CHECKING:
    from pkex._util.types import Players
    from pkex.games.accumulator import Accumulator
    from pkex.games.points import Background
    from pkex.games.protocols import Measure

__all__ = ["PowerGame", "Series"]

Series = list[Floats]  # the coefficients of u, u^2, ...

_ENTRIES = 2**18  # contributions of a block that are held at once
_quiet = np.errstate(over="ignore", invalid="ignore")  # what overflows is refused in the end


@dataclass(frozen=True, eq=False)
class PowerGame:
    """The games of a power of a sum over columns.

    Attributes
    ----------
    power : Power
    n_players : int
    columns : array of shape (columns,)
        Those it covers, player by player.
    starts : array of shape (taking,)
        Where the columns of each player begin.
    taking : array of shape (taking,)
        The players that take part.
    rule : Rule
        Exact for polynomials in t of a degree below that of the power.
    """

    power: Power
    n_players: int
    columns: NDArray[np.intp]
    starts: NDArray[np.intp]
    taking: NDArray[np.intp]
    rule: Rule

    @classmethod
    def of(cls, power: Power, players: Players, measure: Measure) -> PowerGame:
        """Return the game for some players and a measure."""
        rule = measure.ladder(power.degree, None, general=True).fallback
        return cls(power, len(players), *cls.gather(power, players), rule)

    @staticmethod
    def gather(power: Power, players: Players) -> tuple[Indices, Indices, Indices]:
        """Return the columns of the power player by player, where they begin, and the players."""
        covered = set(power.columns)
        inside = [[column for column in player if column in covered] for player in players]
        taking = [j for j, columns in enumerate(inside) if columns]
        sizes = [len(inside[j]) for j in taking]
        columns = [column for j in taking for column in inside[j]]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        return np.array(columns, np.intp), starts, np.array(taking, np.intp)

    @_quiet
    def bases(self, z: Floats, background: Background) -> Floats:
        """Return what no player is worth at each point, shape (points,)."""
        power = self.power
        if not background.marginal:
            total = np.zeros(len(z))
            for row, share in zip(background.rows, background.weights, strict=True):
                total += share * self._worth(row[None], z)[0]
            return total
        moments = self.moments(z, background)
        logs = _log([moment / math.factorial(r) for r, moment in enumerate(moments[:-1], 1)])
        sums = [log.sum(axis=-1) for log in logs]
        sums[0] = sums[0] + power.coef0
        return power.coefficient * math.factorial(power.degree) * _exp(sums)[-1]

    @_quiet
    def moments(self, z: Floats, background: Background) -> Series:
        """Return the moments of what absent players add, each of shape (points, taking).

        And the mean of the absolute value to the power of the degree, as the last.
        """
        degree = self.power.degree
        moments = [np.zeros((len(z), len(self.taking))) for _ in range(degree + 1)]
        step = max(1, _ENTRIES // max(1, len(z) * len(self.columns)))
        for start in range(0, len(background.rows), step):
            rows = slice(start, start + step)
            added, shares = self.contributions(background.rows[rows], z), background.weights[rows]
            raised = added
            for moment in moments[:-1]:
                moment += np.einsum("b,bij->ij", shares, raised)
                raised = raised * added
            moments[-1] += np.einsum("b,bij->ij", shares, np.abs(added) ** degree)
        return moments

    @_quiet
    def add(
        self,
        x: Floats,
        z: Floats,
        weights: Floats,
        background: Background,
        moments: Series | None,
        sums: Accumulator,
    ) -> None:
        """Add the values of all rows to sums; `moments` are those of a marginal background."""
        step = max(1, _ENTRIES // max(1, len(z) * len(self.columns)))
        sums.add({}, rules=[self.rule])
        for start in range(0, len(x), step):
            raise_if_cancelled()
            rows = slice(start, start + step)
            local = weights if weights.ndim == 2 else weights[rows]
            sums["totals"][rows] += _sum_points(self._worth(x[rows], z), local)
            if moments is not None:
                self.add_marginal(x[rows], z, local, moments, rows, sums)
                continue
            for row, share in zip(background.rows, background.weights, strict=True):
                self.add_against(x[rows], z, share * local, row[None], rows, sums)

    def add_against(
        self, x: Floats, z: Floats, weights: Floats, row: Floats, rows: slice, sums: Accumulator
    ) -> None:
        """Add the values with one row in place of absent players."""
        degree, coefficient = self.power.degree, self.power.coefficient
        change = self.contributions(x - row, z)
        absent = self.contributions(row, z)[0]
        start = self.power.coef0 + absent.sum(axis=-1)
        raised, power_sums = change, []
        for _ in range(degree):
            power_sums.append(raised.sum(axis=-1))
            raised = raised * change
        factors: Series = [np.zeros_like(power_sums[0]) for _ in range(degree)]
        for t, weight in zip(self.rule.nodes, self.rule.weights, strict=True):
            logs, ratios = _bernoulli_series(float(t), degree)
            total = [log * s for log, s in zip(logs, power_sums, strict=True)]
            total[0] = total[0] + start
            rest = [np.ones_like(start), *_exp(total)]
            for r, ratio in enumerate(ratios, 1):
                factors[r - 1] += weight * ratio * rest[degree - r]
        values = factors[-1][..., None] * change
        for factor in factors[-2::-1]:
            values = (values + factor[..., None]) * change
        values *= coefficient * math.factorial(degree)
        size = abs(self.power.coef0) + np.abs(absent).sum(axis=-1) + np.abs(change).sum(axis=-1)
        self.add_values(values, self._amplification_against * size**degree, weights, rows, sums)

    def add_marginal(
        self, x: Floats, z: Floats, weights: Floats, moments: Series, rows: slice, sums: Accumulator
    ) -> None:
        """Add the values with independent absent players of given moments."""
        degree, coefficient = self.power.degree, self.power.coefficient
        added = self.contributions(x, z)
        present, absent, raised = [], [], added
        for r in range(1, degree + 1):
            present.append(raised / math.factorial(r))
            absent.append(moments[r - 1] / math.factorial(r))
            raised = raised * added
        change = [p - a for p, a in zip(present, absent, strict=True)]
        values = np.zeros_like(added)
        for t, weight in zip(self.rule.nodes, self.rule.weights, strict=True):
            mixed = [a + t * c for a, c in zip(absent, change, strict=True)]
            total = [log.sum(axis=-1) for log in _log(mixed)]
            total[0] = total[0] + self.power.coef0
            rest = [np.ones_like(total[0]), *_exp(total)]
            for r, ratio in enumerate(_ratio(change, mixed), 1):
                values += weight * ratio * rest[degree - r][..., None]
        values *= coefficient * math.factorial(degree)
        typical = moments[-1] ** (1.0 / degree)  # |E a^r| is at most its r-th power
        size = abs(self.power.coef0) + np.maximum(np.abs(added), typical).sum(axis=-1)
        self.add_values(values, self._amplification * size**degree, weights, rows, sums)

    def add_values(
        self, values: Floats, magnitudes: Floats, weights: Floats, rows: slice, sums: Accumulator
    ) -> None:
        """Add the weighted values of pairs, and their magnitudes."""
        if not np.isfinite(values).all():
            raise ValueError(
                f"the powers of a polynomial kernel of degree {self.power.degree} overflow; scale "
                "the kernel or the data."
            )
        sums["values"][rows, self.taking] += np.swapaxes(values, 1, 2) @ weights
        sizes = abs(self.power.coefficient) * magnitudes
        sums["magnitudes"][rows] += _sum_points(sizes, np.abs(weights))

    def contributions(self, x: Floats, z: Floats) -> Floats:
        """Return what players add, shape (rows, points, taking)."""
        products = self.power.gamma * x[:, None, self.columns] * z[None, :, self.columns]
        if len(self.starts) == len(self.columns):
            return products
        return np.add.reduceat(products, self.starts, axis=-1)

    def _worth(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel, shape (rows, points)."""
        sums = self.power.gamma * (x[:, self.columns] @ z[:, self.columns].T)
        worth: Floats = self.power.coefficient * (sums + self.power.coef0) ** self.power.degree
        return worth

    @lazy
    def _amplification_against(self) -> float:
        """How much larger what the series add up can be than the power of the sizes.

        With one row in place of absent players the series have these coefficients in ``u a_j``.
        """
        degree, total = self.power.degree, 0.0
        for t, weight in zip(self.rule.nodes, self.rule.weights, strict=True):
            logs, ratios = _bernoulli_series(float(t), degree)
            logs[0] = 1.0  # the constant adds to t
            rest = [1.0, *(float(v) for v in _exp([np.abs(v) for v in logs]))]
            total += weight * sum(abs(g) * rest[degree - r] for r, g in enumerate(ratios, 1))
        return max(1.0, float(total) * math.factorial(degree))

    @lazy
    def _amplification(self) -> float:
        """The same for absent players of given moments.

        All series have coefficients below those of ``1 / (2 - e^u)``, its logarithm, and ``2 (e^u -
        1) / (2 - e^u)`` for players of the sizes; so n! times the coefficient of their product
        bounds the sum of all absolute terms.
        """
        degree = self.power.degree
        up = [1.0 / math.factorial(r) for r in range(1, degree + 1)]
        inverse = [1.0]
        for r in range(1, degree + 1):
            inverse.append(math.fsum(up[s - 1] * inverse[r - s] for s in range(1, r + 1)))
        twice = np.convolve(inverse, inverse)
        product = math.fsum(2.0 * up[r - 1] * twice[degree - r] for r in range(1, degree + 1))
        return max(1.0, product * math.factorial(degree))


def _sum_points(worth: Floats, weights: Floats) -> Floats:
    """Return the sums over points, shape (rows, sets)."""
    sums: Floats = (worth[:, None, :] @ weights)[:, 0]
    return sums


def _log(series: Sequence[Floats]) -> Series:
    """Return the logarithm of a power series that starts with 1, both without that term."""
    logs: Series = []
    for r, term in enumerate(series, 1):
        less = sum((s * logs[s - 1] * series[r - s - 1] for s in range(1, r)), np.zeros(()))
        logs.append(term - less / r)
    return logs


def _exp(series: Sequence[Floats]) -> Series:
    """Return the exponential of a power series without a constant, without its 1."""
    powers: Series = [np.ones_like(series[0])]
    for r in range(1, len(series) + 1):
        terms = (s * series[s - 1] * powers[r - s] for s in range(1, r + 1))
        powers.append(sum(terms, np.zeros(())) / r)
    return powers[1:]


def _ratio(above: Sequence[Floats], below: Sequence[Floats]) -> Series:
    """Return a series without a constant, divided by one that starts with 1."""
    ratios: Series = []
    for r, term in enumerate(above, 1):
        less = sum((ratios[s - 1] * below[r - s - 1] for s in range(1, r)), np.zeros(()))
        ratios.append(term - less)
    return ratios


def _bernoulli_series(t: float, degree: int) -> tuple[list[float], list[float]]:
    """Return the series of ``log(1 + t (e^s - 1))`` and ``(e^s - 1) / (1 + t (e^s - 1))`` in s."""
    steps = [np.array(1.0 / math.factorial(r)) for r in range(1, degree + 1)]
    mixed = [t * step for step in steps]
    return [float(v) for v in _log(mixed)], [float(v) for v in _ratio(steps, mixed)]
