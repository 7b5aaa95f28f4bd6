"""Terms in which at most one player takes part: there is nothing to integrate.

The game of such a term has ``v(S) = p`` with the player and ``a`` without, so its value is
``p - a``, and a mean over background rows is a mean of ``a``. The linear kernel is a sum of such
terms, one for each column; so is every kernel that is limited to one column, and a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.kernels.leaves import Dot
from pkex.kernels.messages import not_finite
from pkex.kernels.normal_form import Term, leaf_values

__all__ = ["AbsentWorth", "SinglePlayer", "as_single_player"]


_ROWS = 2**20  # pairs evaluated at once


class AbsentWorth(NamedTuple):
    """What a term is worth without its player, at each point, and the size of what was averaged.

    Rounding is relative to the size: background rows of both signs may cancel in the mean.
    """

    worth: Floats
    size: Floats


@dataclass(frozen=True)
class SinglePlayer:
    """A term, and the player that takes part in it; None for a constant."""

    term: Term
    player: int | None

    def worth(self, x: Floats, z: Floats) -> Floats:
        """Return the product of all factors, shape (rows, points)."""
        product = self.term.worth(x, z)
        if not np.isfinite(product).all():
            raise not_finite(self.term)
        return product

    def drop(self, x: Floats, z: Floats) -> Floats:
        """Return the coefficient minus the worth, with the digits of a small difference."""
        joined = np.zeros((len(x), len(z)))
        for leaf in self.term.leaves:
            for v in np.moveaxis(leaf_values(leaf, leaf.deficits, x, z), -1, 0):
                joined += v * (1.0 - joined)
        return self.term.coefficient * joined

    def absent(self, z: Floats, background: Floats | None, shares: Floats | None) -> AbsentWorth:
        """Return what the term is worth without the player, arrays of shape (points,)."""
        if self.player is None or background is None or shares is None:
            worth = np.full(len(z), self.term.coefficient)
            return AbsentWorth(worth, np.abs(worth))
        if self.dot is not None:
            column, factors = background[:, self.dot], self.term.coefficient * z[:, self.dot]
            return AbsentWorth(
                float(shares @ column) * factors, float(shares @ np.abs(column)) * np.abs(factors)
            )
        step = max(1, _ROWS // len(z))
        mean, size = np.zeros((2, len(z)))
        for start in range(0, len(background), step):
            worth = self.worth(background[start : start + step], z)
            mean += shares[start : start + step] @ worth
            size += shares[start : start + step] @ np.abs(worth)
        return AbsentWorth(mean, size)

    def add(
        self,
        x: Floats,
        z: Floats,
        weights: Floats,
        absent: AbsentWorth,
        general: bool,
        sums: Accumulator,
    ) -> None:
        """Add the term to the sums.

        `weights` have shape (points, sets) or (rows, points, sets); `absent` is the coefficient
        where there is no background, which is not `general`.
        """
        if self.dot is not None and weights.ndim == 2 and general:
            self._add_dot(x, z, weights, absent, sums)
            return
        step = max(1, _ROWS // len(z))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            local = weights if weights.ndim == 2 else weights[rows]
            present = self.worth(x[rows], z)[:, None, :]
            sums["totals"][rows] += (present @ local)[:, 0]
            sums["magnitudes"][rows] += ((np.abs(present) + absent.size) @ np.abs(local))[:, 0]
            if self.player is not None:
                change = present - absent.worth if general else -self.drop(x[rows], z)[:, None, :]
                sums["values"][rows, self.player] += (change @ local)[:, 0]

    @lazy
    def dot(self) -> int | None:
        """The column of a term of the linear kernel, for which there is a closed form."""
        match self.term.leaves:
            case (Dot(columns=(column,)),):
                return column
        return None

    def _add_dot(
        self,
        x: Floats,
        z: Floats,
        weights: Floats,
        absent: AbsentWorth,
        sums: Accumulator,
    ) -> None:
        """Add ``c x_j z_j``: one slope per set serves all rows."""
        factors = self.term.coefficient * z[:, self.dot]
        column = x[:, self.dot, None]
        with np.errstate(over="ignore", invalid="ignore"):
            present, size = column * (factors @ weights), np.abs(factors) @ np.abs(weights)
            sums["magnitudes"][...] += np.abs(column) * size + absent.size @ np.abs(weights)
        if not np.isfinite(sums["magnitudes"]).all():
            raise not_finite(self.term)
        sums["totals"][...] += present
        sums["values"][:, self.player] += present - absent.worth @ weights


def as_single_player(term: Term, players: tuple[tuple[int, ...], ...]) -> SinglePlayer | None:
    """Return the term as one of a single player, or None when several take part."""
    columns = {
        column
        for leaf in term.leaves
        for column in (range(term.n_columns) if leaf.columns is None else leaf.columns)
    }
    taking_part = [i for i, player in enumerate(players) if columns.intersection(player)]
    if len(taking_part) > 1:
        return None
    return SinglePlayer(term, taking_part[0] if taking_part else None)
