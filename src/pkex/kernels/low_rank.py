"""Kernel matrices of low rank: ``K = U U'``, U with few columns.

A smooth kernel of one column, or of few, has a matrix whose rows are combinations of a few of them.
Cholesky's factorisation with pivots finds them and looks at no other entry of the matrix: each step
takes the row that is worst represented so far. What is left, ``E = K - U U'``, is positive definite
where K is, so ``|E_il| <= sqrt(E_ii E_ll)``, and its diagonal alone, which the steps know, bounds
all entries. That needs kernels that are known to be positive definite and 1 for equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.columns import RBF, Categorical, Cauchy, Chi2, Laplacian, Periodic, ProductMatern
from pkex.kernels.normal_form import Term

__all__ = ["ACCEPTED", "pivoted_cholesky", "root_of"]


ACCEPTED = 2.0**-43
"""How far an entry of ``U U'`` may be from that of K, relative to the diagonal of K."""

# A class derived from one of these may be anything, so types are compared exactly.
_DEFINITE = (RBF, Laplacian, Cauchy, ProductMatern, Chi2, Periodic, Categorical)


def root_of(terms: Sequence[Term], x: Floats, most: int) -> Floats | None:
    """Return U with ``K = U U'``, of shape (rows, at most `most`), for the sum of the terms.

    None where the rank is larger, or where the kernel is not known to be positive definite.
    """
    if not all(
        term.coefficient >= 0.0 and all(type(leaf) in _DEFINITE for leaf in term.leaves)
        for term in terms
    ):
        return None
    diagonal = sum(term.coefficient for term in terms)
    limit = ACCEPTED * diagonal

    def row_of(pivot: int) -> Floats:
        row: Floats = sum(term.worth(x[pivot : pivot + 1], x)[0] for term in terms)
        return row

    root, left = pivoted_cholesky(np.full(len(x), diagonal), row_of, most, limit)
    return None if left > limit else root


def pivoted_cholesky(
    diagonal: Floats, row_of: Callable[[int], Floats], most: int, accepted: float
) -> tuple[Floats, float]:
    """Return U with few columns, and the largest diagonal entry of ``K - U U'``.

    Parameters
    ----------
    diagonal : array of shape (rows,)
        Of K, a symmetric matrix.
    row_of : callable
        Returns a row of K.
    most : int
        Columns of U at most.
    accepted : float
        It ends when nothing larger is left on the diagonal.
    """
    root = np.zeros((len(diagonal), min(most, len(diagonal))), order="F")
    left = diagonal.copy()
    for rank in range(root.shape[1]):
        pivot = int(left.argmax())
        if not left[pivot] > accepted:
            return root[:, :rank], float(left[pivot])
        row = row_of(pivot) - root[:, :rank] @ root[pivot, :rank]
        row /= np.sqrt(left[pivot])
        root[:, rank] = row
        left -= row * row
    return root, float(left.max())
