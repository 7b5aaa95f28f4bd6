"""Kernel matrices of low rank: ``K = U U'``, U with few columns.

A smooth kernel of one column, or of few, has a matrix whose rows are combinations of a few of them.
Cholesky's factorisation with pivots finds them and looks at no other entry of the matrix: each step
takes the row that is worst represented so far. What is left, ``E = K - U U'``, is positive definite
where K is, so ``|E_il| <= sqrt(E_ii E_ll)``, and its diagonal alone, which the steps know, bounds
all entries. That needs kernels that are known to be positive definite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.kernels.columns import RBF, Categorical, Cauchy, Chi2, Laplacian, Periodic
from pkex.kernels.frequencies import InverseFrequency
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term
from pkex.kernels.product_matern import ProductMatern

__all__ = ["ACCEPTED", "find_root", "find_roots", "is_definite", "pivoted_cholesky"]


ACCEPTED = 2.0**-43
"""How far an entry of ``U U'`` may be from that of K, relative to the diagonal of K."""

# A class derived from one of these may be anything, so types are compared exactly.
_CONSTANT = (RBF, Laplacian, Cauchy, ProductMatern, Chi2, Periodic, Categorical)
_DEFINITE = (*_CONSTANT, InverseFrequency)


def is_definite(terms: Sequence[Term], *, constant: bool = True) -> bool:
    """Tell whether a sum of terms is known to be positive definite.

    If `constant`, it also has to be the same number for any two equal rows.
    """
    known = _CONSTANT if constant else _DEFINITE
    return all(
        term.coefficient >= 0.0 and all(type(leaf) in known for leaf in term.leaves)
        for term in terms
    )


def find_root(terms: Sequence[Term], x: Floats, most: int) -> Floats | None:
    """Return U with ``K = U U'``, of shape (rows, at most `most`), for the sum of the terms.

    None where the rank is larger, or where the kernel is not known to be positive definite.
    """
    if not is_definite(terms):
        return None
    [root] = find_roots(terms, [range(x.shape[1])], x, most)
    return root


def find_roots(
    terms: Sequence[Term],
    groups: Sequence[Sequence[int]],
    x: Floats,
    most: int,
    accepted: float = ACCEPTED,
) -> list[Floats | None]:
    """Return for each group U with ``K = U U'``, K the sum of the terms over its columns alone.

    Parameters
    ----------
    terms : sequence of Term
        Known to be positive definite: see `is_definite`.
    groups : sequence of sequences of int
        Their columns; no column belongs to two.
    x : array of shape (rows, columns)
    most : int
        Columns of a U at most; in its place is None where these are too few.
    accepted : float
        How far an entry of ``U U'`` may be from that of K, relative to the diagonal of K.
    """
    matrices = _Matrices.of(terms, groups, x)
    with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
        diagonals = matrices.diagonals()
        limits = accepted * diagonals.max(axis=1, initial=0.0)
        return pivoted_cholesky(diagonals, matrices.rows, most, limits)


@dataclass(frozen=True, eq=False)
class _Matrices:
    """The kernel matrices of several groups, of which rows are evaluated together.

    Attributes
    ----------
    x : array of shape (rows, columns of the groups, one group after the other)
    owners : integer array
        The group of each of these columns.
    starts : integer array
        The first of these columns of each group.
    products : sequence of (coefficient, leaves)
        The terms. A leaf comes with its places among these columns, and with the rows there.
    """

    x: Floats
    owners: Indices
    starts: Indices
    products: Sequence[tuple[float, Sequence[tuple[ColumnKernel, Indices, Floats]]]]

    @classmethod
    def of(cls, terms: Sequence[Term], groups: Sequence[Sequence[int]], x: Floats) -> _Matrices:
        columns = [column for group in groups for column in group]
        sizes = [len(group) for group in groups]
        place = {column: number for number, column in enumerate(columns)}
        rows = np.asfortranarray(x[:, columns])
        products = []
        for term in terms:
            leaves = []
            for leaf in term.restrict(place).leaves:
                covered = range(term.n_columns) if leaf.columns is None else leaf.columns
                places = np.array([place[column] for column in covered])
                leaves.append((leaf, places, np.asfortranarray(rows[:, places])))
            products.append((term.coefficient, leaves))
        owners = np.repeat(np.arange(len(groups)), sizes)
        starts = np.cumsum([0, *sizes[:-1]])
        return cls(rows, owners, starts, products)

    def diagonals(self) -> Floats:
        """Return the diagonal of each group's matrix, shape (groups, rows)."""
        total = np.zeros((len(self.starts), len(self.x)))
        for coefficient, leaves in self.products:
            factors = np.ones((len(self.owners), len(self.x)))
            for leaf, places, x in leaves:
                if type(leaf) not in _CONSTANT:  # which are 1 there
                    factors[places] *= leaf.factors(x, x).T
            total += coefficient * np.multiply.reduceat(factors, self.starts, axis=0)
        return total

    def rows(self, pivots: Indices) -> Floats:
        """Return a row of each group's matrix, shape (groups, rows)."""
        chosen = self.x[pivots[self.owners], np.arange(len(self.owners))]
        total = np.zeros((len(self.starts), len(self.x)))
        for coefficient, leaves in self.products:
            factors = np.ones((len(self.owners), len(self.x)))
            for leaf, places, x in leaves:
                factors[places] *= leaf.factors(chosen[places], x).T
            total += coefficient * np.multiply.reduceat(factors, self.starts, axis=0)
        return total


def pivoted_cholesky(
    diagonals: Floats, rows_of: Callable[[Indices], Floats], most: int, accepted: Any
) -> list[Floats | None]:
    """Return for each of several matrices K a factor U with few columns, or None.

    Parameters
    ----------
    diagonals : array of shape (matrices, rows)
        Of the K, symmetric matrices.
    rows_of : callable
        Returns a row of each K, chosen by an array of shape (matrices,).
    most : int
        Columns of U at most.
    accepted : float or array of shape (matrices,)
        It ends when nothing larger is left on the diagonal of ``K - U U'``; where it does not,
        there is None.
    """
    count, n_rows = diagonals.shape
    every = np.arange(count)
    roots = np.empty((count, min(most, n_rows), n_rows))
    left, ranks = diagonals.copy(), np.zeros(count, dtype=np.intp)
    for rank in range(roots.shape[1]):
        pivots = left.argmax(axis=1)
        heights = left[every, pivots]
        is_left = heights > accepted
        if not is_left.any():
            break
        before = roots[:, :rank]
        rows = rows_of(pivots) - np.matmul(before[every, :, pivots][:, None], before)[:, 0]
        rows *= np.where(is_left, 1.0 / np.sqrt(np.where(is_left, heights, 1.0)), 0.0)[:, None]
        roots[:, rank] = rows
        left -= rows * rows
        ranks[is_left] = rank + 1
    is_done = left.max(axis=1) <= accepted
    return [
        root[:rank].T if done else None
        for root, rank, done in zip(roots, ranks, is_done, strict=True)
    ]
