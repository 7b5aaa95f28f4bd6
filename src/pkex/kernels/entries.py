"""Kernels of sparse rows: factors of single entries, and kernel matrices made of them.

Where a kernel is 1 between two zeros, a column that is zero in both points has the factor 1, and a
product over all columns is one over those where either point has an entry. With the exponents
``e = -log k`` of single entries

    -log k(x, z) = sum_{j in z} e(0, z_j) + sum_{j in x} e(x_j, 0)
                   + sum_{j in both} [e(x_j, z_j) - e(0, z_j) - e(x_j, 0)],

so a pair costs the columns that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import fields
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats, Indices
from pkex.kernels.algebra import Kernel
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term, as_real

__all__ = [
    "MOST",
    "exponents",
    "fits_sparse",
    "in_columns",
    "kernel_matrix",
    "matrix_rounding",
]


MOST = 500.0 * float(np.log(2.0))
"""The largest exponent: smaller factors count as 2^-500, so that ratios of two do not overflow."""


def fits_sparse(kernel: Kernel, n_columns: int) -> bool:
    """Tell whether a kernel is a sum of products with factors in [0, 1], 1 between two zeros.

    Examples
    --------
    >>> from pkex.kernels import RBF, Linear
    >>> fits_sparse(RBF(), 3), fits_sparse(Linear(), 3)
    (True, False)
    """
    if not kernel.has_neutral_removal:
        return False
    terms, powers = kernel.normal_form(n_columns)
    leaves = {leaf for term in terms for leaf in term.leaves}
    return not powers and all(leaf.unit and _is_one_at_zeros(leaf, n_columns) for leaf in leaves)


def _is_one_at_zeros(leaf: ColumnKernel, n_columns: int) -> bool:
    zeros = np.zeros(n_columns if leaf.columns is None else len(leaf.columns))
    with np.errstate(all="ignore"):
        return not as_real(leaf.deficits(zeros, zeros), leaf).any()


def exponents(term: Term, columns: Indices, x: Any, z: Any) -> Floats:
    """Return ``-log`` of the factors of a term for single entries, from 0 to `MOST`.

    Parameters
    ----------
    term : Term
        Of a kernel that `fits_sparse`.
    columns : array of shape (entries,)
        The column of each entry.
    x, z : arrays of shape (entries,), or numbers
    """
    total = np.zeros(len(columns))
    for leaf in term.leaves:
        covered: Any = slice(None)
        if leaf.columns is not None:
            covered = np.flatnonzero(np.isin(columns, leaf.columns))
        one = _at(leaf, columns[covered])
        left, right = (v if np.ndim(v) == 0 else v[covered] for v in (x, z))
        with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
            total[covered] += _exponents(one, np.asarray(left), np.asarray(right))
    return np.clip(total, 0.0, MOST, out=total)


def _exponents(leaf: Any, x: Floats, z: Floats) -> Floats:
    if hasattr(leaf, "exponents"):
        return as_real(leaf.exponents(x, z), leaf)
    deficits = as_real(leaf.deficits(x, z), leaf)
    small = -np.log1p(-np.minimum(deficits, 0.5))
    if deficits.max(initial=0.0) <= 0.5:
        return small
    return np.where(deficits <= 0.5, small, -np.log(as_real(leaf.factors(x, z), leaf)))


def _at(leaf: ColumnKernel, columns: Indices) -> ColumnKernel:
    """Return the kernel with the parameters of these columns, one for each."""
    parameters = [f.name for f in fields(leaf) if f.name != "columns"]
    several = [name for name in parameters if isinstance(getattr(leaf, name), tuple)]
    if not several:
        return leaf
    place = columns
    if leaf.columns is not None:
        place = np.argsort(leaf.columns)[np.searchsorted(np.sort(leaf.columns), columns)]
    changed = copy(leaf)
    for name in several:
        object.__setattr__(changed, name, np.asarray(getattr(leaf, name))[place])
    return changed


def kernel_matrix(kernel: Kernel, x: Any, z: Any) -> Floats:
    """Return the kernel matrix of the rows of two CSR arrays."""
    matrix = np.zeros((x.shape[0], z.shape[0]))
    by_column = z.tocsc()
    for term in kernel.terms(z.shape[1]):
        matrix += term.coefficient * np.exp(-_sums(term, x, by_column)[0])
    return matrix


def matrix_rounding(kernel: Kernel, x: Any, z: Any) -> Floats:
    """Return how far entries of `kernel_matrix` may be from exact ones by rounding.

    With the sums S(x) and S(z) of the exponents of all entries and E of those that both have, what
    is added up for a pair is at most 2 S(x) + 2 S(z) + E in size, and E is at most the exponent q
    of the pair. Each number is right to 8 units of 2^-53, and goes through fewer additions than
    both rows have entries and 4 more. So q is off by n (2 S(x) + 2 S(z) + q) units with n entries
    of both and 12, and the factor ``exp(-q)``, with 4 more units of itself, by as much of itself,
    to first order. Factors that `MOST` cuts off are off by 2^-500 besides.
    """
    rounding = np.zeros((x.shape[0], z.shape[0]))
    by_column, counts = z.tocsc(), np.add.outer(np.diff(x.indptr), np.diff(z.indptr)) + 12.0
    for term in kernel.terms(z.shape[1]):
        q, *of_each = _sums(term, x, by_column)
        units = counts * (2.0 * np.add.outer(*of_each) + q) + 4.0
        rounding += abs(term.coefficient) * units * np.exp(-q)
    return UNIT * rounding


def _sums(term: Term, x: Any, by_column: Any) -> tuple[Floats, Floats, Floats]:
    """Return the exponents of pairs of rows, of a CSR and a CSC array, and of each beside zeros."""
    n_rows, n_points = x.shape[0], by_column.shape[0]
    sums, rows = np.empty((n_rows, n_points)), np.empty(n_rows)
    columns = np.repeat(np.arange(by_column.shape[1]), np.diff(by_column.indptr))
    of_points = exponents(term, columns, 0.0, by_column.data)
    of_each = np.bincount(by_column.indices, of_points, n_points).astype(np.float64)
    for row in range(n_rows):
        here = slice(x.indptr[row], x.indptr[row + 1])
        of_row = exponents(term, x.indices[here], x.data[here], 0.0)
        entries, place = in_columns(by_column.indptr, x.indices[here])
        both = exponents(term, columns[entries], x.data[here][place], by_column.data[entries])
        both -= of_points[entries] + of_row[place]
        shared = np.bincount(by_column.indices[entries], both, n_points)
        rows[row] = of_row.sum()
        sums[row] = of_each + rows[row] + shared
    return sums, rows, of_each


def in_columns(indptr: Indices, columns: Sequence[int] | Indices) -> tuple[Indices, Indices]:
    """Return the numbers of the entries that some columns have, and whose each is.

    Examples
    --------
    >>> in_columns(np.array([0, 2, 2, 5]), [0, 2])
    (array([0, 1, 2, 3, 4]), array([0, 0, 1, 1, 1]))
    """
    columns = np.asarray(columns, dtype=np.intp)
    starts = indptr[columns].astype(np.intp)
    counts = indptr[columns + 1] - starts
    place = np.repeat(np.arange(len(columns)), counts)
    first = np.cumsum(counts) - counts
    return np.arange(len(place)) + (starts - first)[place], place
