"""Factors of players in two forms, so that neither tiny ones nor those near 1 lose digits.

A factor k and its deficit ``1 - k`` are evaluated apart; what is made of them, differences, means
and logarithms, takes whichever has the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.threads import raise_if_cancelled
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import leaf_values

__all__ = [
    "TILE",
    "Absent",
    "Factors",
    "compute_drops",
    "evaluate_both_forms",
    "evaluate_columns",
    "from_exponents",
    "mean_factors",
    "sum_exponents",
    "to_exponents",
]


TILE = 16
"""Points of a tile of `Absent.tiles`."""


class Factors(NamedTuple):
    """Factors of players in two forms, each with all its digits.

    A factor near 0 has its digits in `values`, one near 1 in `deficits`.

    Attributes
    ----------
    values : array
        The factors.
    deficits : array of the same shape
        ``1 - values``.
    """

    values: Floats
    deficits: Floats


class Absent(Factors):
    """Factors of absent players, of shape (players, points), which also tell their exponents.

    A pair of arrays as `Factors` is. The exponents are found when a backend first asks for them,
    and kept with the factors.
    """

    @classmethod
    def of(cls, factors: Factors) -> Absent:
        """Return these factors."""
        return cls(*factors)

    @lazy
    def exponents(self) -> Floats:
        """``-log(values)`` and their sums; see `sum_exponents`."""
        return sum_exponents(self)

    @lazy
    def tiles(self) -> Floats:
        """The exponents of 16 points at a time, as the compiled hot loop reads them.

        Shape (tiles, players + 1, 16); the last tile is filled up with zeros.
        """
        n_rows, n_points = self.exponents.shape
        n_tiles = -(-n_points // TILE)
        padded = np.zeros((n_rows, n_tiles * TILE))
        padded[:, :n_points] = self.exponents
        return np.ascontiguousarray(padded.reshape(n_rows, n_tiles, TILE).swapaxes(0, 1))

    def with_tile(self, tile: Floats) -> Absent:
        """Return these factors, which are the same for all points, with the tile of all of them."""
        n_tiles = -(-self.values.shape[1] // TILE)
        self.__dict__["tiles"] = np.broadcast_to(tile, (n_tiles, *tile.shape))
        return self


def sum_exponents(factors: Factors) -> Floats:
    """Return ``-log(values)``, and in the last row their sum over the players.

    Shape (players + 1, points); NaN where a factor does not lie in [0, 1].
    """
    exponents = to_exponents(factors)
    result = np.empty((len(exponents) + 1, *exponents.shape[1:]))
    result[:-1] = exponents
    with np.errstate(invalid="ignore"):
        # with what each addition rounds off, as exp is taken of the sum
        total, lost = np.zeros((2, *exponents.shape[1:]))
        for one in exponents:
            before, total = total, total + one
            part = total - one
            lost += (before - part) + (one - (total - part))
        np.copyto(result[-1], total + lost)
    return result


def to_exponents(factors: Factors) -> Floats:
    """Return minus the logarithms of factors: infinite for 0, NaN where one is not in [0, 1]."""
    values, deficits = factors
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Floats = np.log1p(-deficits)
        small = values < 0.5  # mostly few or none
        logs[small] = np.log(values[small])
    logs[(deficits < 0.0) | (values < 0.0)] = np.nan
    return np.negative(logs, out=logs)


def from_exponents(s: Floats) -> Factors:
    """Return factors of shape (players, 1, pairs) by their exponents (players, pairs)."""
    return Factors(np.exp(-s)[:, None], -np.expm1(-s)[:, None])


def compute_drops(present: Factors, absent: Factors) -> Floats:
    """Return absent minus present factors, from the smaller numbers, which have the digits."""
    (factors, u), (start, missing) = present, absent
    return np.where(factors + start > 1.0, u - missing, start - factors)


def mean_factors(
    add: Callable[[slice, Floats, Floats], None], n_rows: int, step: int, shape: tuple[int, int]
) -> Factors:
    """Return means of factors, to which `add` adds some rows at a time, in both forms."""
    values, deficits = np.zeros((2, *shape))
    for start in range(0, n_rows, step):
        raise_if_cancelled()
        add(slice(start, min(start + step, n_rows)), values, deficits)
    # near 1 the mean of the deficits has the digits, whatever the shares lack to 1
    return Factors(np.where(np.abs(deficits) < 0.5, 1.0 - deficits, values), deficits)


def evaluate_columns(leaf: ColumnKernel, method: Any, x: Floats, z: Floats) -> Floats:
    """Return the factors or deficits of the columns that `leaf` covers: (columns, rows, points)."""
    return np.ascontiguousarray(np.moveaxis(leaf_values(leaf, method, x, z), -1, 0))


def evaluate_both_forms(leaf: ColumnKernel, x: Floats, z: Floats) -> Factors:
    """Return both forms of the factors of the columns that `leaf` covers."""
    values = evaluate_columns(leaf, leaf.factors, x, z)
    if type(leaf).deficits is ColumnKernel.deficits:  # from the factors, so do not ask twice
        return Factors(values, 1.0 - values)
    return Factors(values, evaluate_columns(leaf, leaf.deficits, x, z))
