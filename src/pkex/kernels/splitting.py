"""Kernels split by columns: what some columns contribute, and what all others do.

A kernel is a sum of pieces. A piece is a product over columns (`Term`) times functions of sums over
columns: a radial kernel is a function of a squared distance, a polynomial of a dot product. What a
set of columns contributes to a piece is one product and some sums; those of two sets that share no
column are joined to those of both. So a kernel between points that take some columns from one row
and the others from another needs no row to be put together, and a radial kernel is evaluated by its
closed formula.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.constant import Constant
from pkex.kernels.normal_form import Term
from pkex.kernels.polynomial import Linear, Polynomial
from pkex.kernels.radial import Radial

__all__ = ["Contribution", "KernelPiece", "split_kernel"]

Contribution = tuple[Floats, ...]
"""The product and the sums over some columns, each of shape (rows, points)."""


class SumOverColumns(NamedTuple):
    """``function(sum_j s_j(x_j, z_j))`` over some columns."""

    columns: tuple[int, ...]
    scales: Floats | None  # of differences, which are squared; None for products x_j z_j
    function: Callable[[Floats], Floats]

    def add(self, columns: Collection[int], x: Floats, z: Floats) -> Floats:
        """Return the sum over those of the columns that count, shape (rows, points)."""
        some = [k for k, column in enumerate(self.columns) if column in columns]
        where = [self.columns[k] for k in some]
        x, z = x[:, where], z[:, where]
        if self.scales is None:
            return x @ z.T
        total: Floats = np.zeros((len(x), len(z)))
        for k, scale in enumerate(self.scales[some]):  # one by one, for the sake of memory
            difference = (x[:, k, None] - z[None, :, k]) / scale
            total += difference * difference
        return total


@dataclass(frozen=True, eq=False)
class KernelPiece:
    """A product over columns times functions of sums over columns.

    Attributes
    ----------
    term : Term
    sums : tuple of SumOverColumns
    """

    term: Term
    sums: tuple[SumOverColumns, ...] = ()

    def contribute(self, columns: Collection[int], x: Floats, z: Floats) -> Contribution:
        """Return what some columns contribute between rows and points; no coefficient."""
        with np.errstate(over="ignore", under="ignore"):
            product = self.term.restrict(columns, 1.0).worth(x, z)
            return (product, *(each.add(columns, x, z) for each in self.sums))

    def join(self, first: Contribution, second: Contribution) -> Contribution:
        """Return what the columns of both contribute."""
        product = first[0] * second[0]
        return (product, *(a + b for a, b in zip(first[1:], second[1:], strict=True)))

    def evaluate(self, whole: Contribution) -> Floats:
        """Return the piece from what all columns contribute."""
        value = self.term.coefficient * whole[0]
        with np.errstate(over="ignore", under="ignore"):
            for each, total in zip(self.sums, whole[1:], strict=True):
                value = value * each.function(total)
        return value


def split_kernel(kernel: Kernel, n_columns: int) -> list[KernelPiece]:
    """Return the pieces that a kernel is a sum of.

    Examples
    --------
    >>> from pkex.kernels import RBF, Matern
    >>> [len(piece.sums) for piece in split_kernel(RBF() + 2.0 * Matern(), 3)]
    [0, 1]
    """
    if isinstance(kernel, Sum):
        return [piece for each in kernel.kernels for piece in split_kernel(each, n_columns)]
    if isinstance(kernel, Scale):
        scale = KernelPiece(Term(kernel.factor, (), n_columns))
        return [_multiply(scale, piece) for piece in split_kernel(kernel.kernel, n_columns)]
    if isinstance(kernel, Product):
        pieces = [KernelPiece(Term(1.0, (), n_columns))]
        for each in kernel.kernels:
            right = split_kernel(each, n_columns)
            pieces = [_multiply(a, b) for a in pieces for b in right]
        return pieces
    if isinstance(kernel, Constant):
        return [KernelPiece(Term(kernel.value, (), n_columns))]
    total = _as_function_of_sum(kernel, n_columns)
    if total is not None:
        return [KernelPiece(Term(1.0, (), n_columns), (total,))]
    return [KernelPiece(term) for term in kernel.terms(n_columns)]


def _as_function_of_sum(kernel: Kernel, n_columns: int) -> SumOverColumns | None:
    every = tuple(range(n_columns))
    if isinstance(kernel, Linear):
        return SumOverColumns(every, None, np.asarray)
    if isinstance(kernel, Polynomial):
        columns = every if kernel.columns is None else tuple(kernel.columns)
        return SumOverColumns(columns, None, _PowerOf(kernel))
    if isinstance(kernel, Radial):
        columns = every if kernel.columns is None else tuple(kernel.columns)
        scales = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), len(columns))
        return SumOverColumns(columns, scales, kernel.profile)
    return None


@dataclass(frozen=True)
class _PowerOf:
    """The power of a dot product; a function that can be pickled."""

    kernel: Polynomial

    def __call__(self, total: Floats) -> Floats:
        kernel = self.kernel
        power: Floats = (kernel.gamma * total + kernel.coef0) ** kernel.degree
        return power


def _multiply(first: KernelPiece, second: KernelPiece) -> KernelPiece:
    a, b = first.term, second.term
    term = Term(a.coefficient * b.coefficient, (*a.leaves, *b.leaves), a.n_columns)
    return KernelPiece(term, (*first.sums, *second.sums))
