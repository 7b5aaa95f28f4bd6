"""The normal form of kernels, on which the engine works: a sum of products over columns.

By the distributive law every kernel is a sum of `Term`, a coefficient times a product of column
kernels, and of `Power`, which is not multiplied out. Since Shapley values are linear, a sum is
explained term by term.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.kernels.messages import not_finite

if TYPE_CHECKING:
    from pkex.kernels.leaves import ColumnKernel

__all__ = [
    "Expansion",
    "NormalForm",
    "Power",
    "Split",
    "Summand",
    "Term",
    "as_real",
    "bound_gap",
    "leaf_values",
]

Expansion = list["Summand"]

_VALUES = 2**22  # factors of pairs of rows that are held at once
_CACHED = 2**19  # of them that are evaluated at once: 4 MiB


class Power(NamedTuple):
    """``coefficient (gamma sum_j x_j z_j + coef0)^degree`` over some columns."""

    coefficient: float
    degree: int
    gamma: float
    coef0: float
    columns: tuple[int, ...]


class NormalForm(NamedTuple):
    """What a kernel is a sum of: products over columns, and powers of sums over them."""

    terms: tuple[Term, ...]
    powers: tuple[Power, ...]

    def check(self, table: Any, name: str) -> None:
        """Raise a ValueError where a column kernel is not defined on a table, sparse or not."""
        for term in self.terms:
            for leaf in term.leaves:
                values = table if leaf.columns is None else table[:, list(leaf.columns)]
                if hasattr(table, "tocsr"):
                    values = np.append(values.data, 0.0)[:, None]
                leaf.check_values(values, name)


class Split(NamedTuple):
    """A normal form before it meets data."""

    expansion: Expansion
    powers: list[Power]

    def scale(self, factor: float) -> Split:
        """Return it times a number."""
        scale = Summand(factor, ())
        powers = [p._replace(coefficient=factor * p.coefficient) for p in self.powers]
        return Split([scale.times(term) for term in self.expansion], powers)


class Summand(NamedTuple):
    """A term before it meets data: its coefficient and column kernels.

    Where products stand for something else, a kernel of a distance, the sum of all terms may miss
    it by `error` times the size of the other column kernels, and terms of small weight may be
    computed with a relative error that is larger by the factor `slack`.
    """

    coefficient: float
    leaves: tuple[ColumnKernel, ...]
    error: float = 0.0
    slack: float = 1.0

    def times(self, other: Summand) -> Summand:
        """Return the product of both."""
        error = self.error * (abs(other.coefficient) + other.error)
        error += abs(self.coefficient) * other.error
        coefficient, leaves = self.coefficient * other.coefficient, self.leaves + other.leaves
        return Summand(coefficient, leaves, error, self.slack * other.slack)


@dataclass(frozen=True)
class Term:
    """One product kernel of a normal form: ``coefficient * prod over leaves``.

    Parameters
    ----------
    coefficient : float
    leaves : tuple of ColumnKernel
    n_columns : int
        Number of columns of the data; a column covered by no leaf has the factor 1.
    error : float
        What the term stands for may be something else by so much, times the size of those factors
        that are not known to lie in [0, 1]: a share in the error of a kernel of a distance.
    slack : float
        By how much the relative error may be larger than that of other terms, at least 1.
    """

    coefficient: float
    leaves: tuple[ColumnKernel, ...]
    n_columns: int
    error: float = 0.0
    slack: float = 1.0

    def restrict(self, columns: Collection[int], coefficient: float | None = None) -> Term:
        """Return the term in which the factors of all columns but these are 1.

        With a coefficient that takes the place of its own.
        """
        leaves = []
        for leaf in self.leaves:
            covered = range(self.n_columns) if leaf.columns is None else leaf.columns
            kept = tuple(column in columns for column in covered)
            if all(kept):
                leaves.append(leaf)
            elif any(kept):
                leaves.append(leaf._restrict(tuple(covered), kept))
        part = copy(self)  # whose leaves fit the data as these do
        object.__setattr__(part, "leaves", tuple(leaves))
        if coefficient is not None:
            object.__setattr__(part, "coefficient", coefficient)
        return part

    def worth(self, x: Floats, z: Floats) -> Floats:
        """Return the coefficient times all factors, shape (rows, points)."""
        product = np.full((len(x), len(z)), self.coefficient)
        step = max(1, _CACHED // max(1, z.size))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            for leaf in self.leaves:
                factors = leaf_values(leaf, leaf.factors, x[rows], z)
                part = factors.prod(axis=2)
                # factors are many, so look at them only where the product is not finite
                if not (np.isfinite(part).all() or np.isfinite(factors).all()):
                    raise not_finite(self)
                product[rows] *= part
        return product

    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return the factor of every column, shape (rows, points, columns)."""
        result = np.ones((len(x), len(z), self.n_columns))
        for leaf in self.leaves:
            columns = slice(None) if leaf.columns is None else list(leaf.columns)
            result[:, :, columns] *= leaf_values(leaf, leaf.factors, x, z)
        if not np.isfinite(result).all():
            raise not_finite(self)
        return result


def bound_gap(terms: Iterable[Term], x: Floats, z: Floats | None = None) -> float:
    """Return how far terms may be from what they stand for, at rows `x` and points `z`.

    Their errors are times the factors that are not known to lie in [0, 1]. Entries of different
    rows may be combined; without points, of a row that is compared with itself.
    """
    gap = 0.0
    for term in terms:
        size = term.error
        for leaf in term.leaves if term.error else ():
            size *= 1.0 if leaf.unit else _largest_product(leaf, x, z)
        gap += size
    return gap


def _largest_product(leaf: ColumnKernel, x: Floats, z: Floats | None) -> float:
    """Return a bound on the product of the factors of all columns, whatever their rows."""
    if z is None:
        covered = x if leaf.columns is None else x[:, list(leaf.columns)]
        return float(np.abs(as_real(leaf.factors(covered, covered), leaf)).max(axis=0).prod())
    largest, step = np.zeros(1), max(1, _VALUES // z.size)
    for start in range(0, len(x), step):
        factors = leaf_values(leaf, leaf.factors, x[start : start + step], z)
        largest = np.maximum(largest, np.abs(factors).max(axis=(0, 1)))
    return float(largest.prod())


def leaf_values(leaf: ColumnKernel, method: Any, x: Floats, z: Floats) -> Floats:
    """Evaluate `leaf.factors` or `leaf.deficits` for all pairs: (rows, points, covered columns).

    Overflow and division by zero inside a kernel lead to the right limit (a factor of 0 or 1), so
    they are no cause for a warning. NaN and infinity are passed on; callers refuse them where they
    have looked at the values anyway.
    """
    if leaf.columns is not None:
        x, z = x[:, leaf.columns], z[:, leaf.columns]
    left, right = x[:, None, :], z[None, :, :]
    with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
        values = as_real(method(left, right), leaf)
    expected = np.broadcast_shapes(left.shape, right.shape)
    if values.shape != expected:
        raise ValueError(
            f"{brief(leaf)} returned factors of shape {values.shape} for values that broadcast to "
            f"{expected}; it must return one factor for each entry, elementwise."
        )
    return values


def as_real(values: Any, leaf: ColumnKernel) -> Floats:
    """Return the factors of a kernel as float64, which would drop an imaginary part silently."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError(
            f"{brief(leaf)} returned factors of type {array.dtype}; factors are real numbers. "
            "Return np.real(...) of them if their imaginary parts are rounding errors."
        )
    return array.astype(np.float64, copy=False)
