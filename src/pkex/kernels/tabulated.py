"""The kernel of a column of codes, such as tasks: an entry of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from pkex._util.types import Floats, Indices
from pkex._util.validation import as_matrix, brief
from pkex.kernels.leaves import ColumnKernel

__all__ = ["Tabulated"]


@dataclass(frozen=True, repr=False)
class Tabulated(ColumnKernel):
    """Kernel of codes: the entry of a matrix in the row of one code and the column of the other.

    The task kernel of a Gaussian process of several tasks is of this kind.

    Parameters
    ----------
    covariance : array of shape (n_codes, n_codes)
        Symmetric and positive semi-definite; entries may be negative.
    codes : sequence of float, optional
        The codes of its rows and columns; 0, 1, 2 ... by default. Data may have no others.
    columns : sequence of int, optional
        The columns it is limited to; all by default, with the same matrix for each.

    See Also
    --------
    Categorical : Two numbers in place of a matrix, for codes of any kind.

    Examples
    --------
    >>> from pkex.kernels import Tabulated
    >>> Tabulated([[1.0, 0.5], [0.5, 2.0]])([[0.0]], [[0.0], [1.0]])
    array([[1. , 0.5]])
    """

    covariance: Sequence[Sequence[float]] = ((1.0,),)
    codes: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix = as_matrix(self.covariance, "Tabulated covariance")
        count, size = len(matrix), float(np.abs(matrix).max(initial=0.0))
        if matrix.shape != (count, count) or np.abs(matrix - matrix.T).max() > 1e-12 * size:
            raise ValueError(
                "Tabulated covariance must be symmetric, a row and a column for each code; got "
                f"{brief(self.covariance)}."
            )
        matrix = 0.5 * (matrix + matrix.T)
        if np.linalg.eigvalsh(matrix)[0] < -1e-10 * count * size:
            raise ValueError(
                "Tabulated covariance must be positive semi-definite, but it has the eigenvalue "
                f"{np.linalg.eigvalsh(matrix)[0]:.3g}; a covariance matrix of the codes is."
            )
        codes = tuple(map(float, range(count) if self.codes is None else self.codes))
        if len(codes) != count or len(set(codes)) < count or not np.isfinite(codes).all():
            raise ValueError(
                f"Tabulated codes must be {count} different finite numbers, one for each row of "
                f"the matrix; got {brief(self.codes)}."
            )
        object.__setattr__(self, "covariance", tuple(map(tuple, matrix.tolist())))
        object.__setattr__(self, "codes", codes)

    def check_width(self, n_columns: int) -> None:
        if self.columns is not None and max(self.columns) >= n_columns:
            super().check_width(n_columns)

    def check_values(self, X: Floats, name: str) -> None:
        unknown = X[~np.isin(X, np.asarray(self.codes))]
        if unknown.size:
            known = ", ".join(f"{code:g}" for code in self.codes or ())
            raise ValueError(
                f"a column of {name} holds the code {unknown[0]:g}, which its kernel does not "
                f"know; the codes are {known}."
            )

    def factors(self, x: Floats, z: Floats) -> Floats:
        entries: Floats = np.asarray(self.covariance)[self._places(x), self._places(z)]
        return entries

    def _places(self, values: Floats) -> Indices:
        """Return the row of the matrix for each value."""
        codes = np.asarray(self.codes)
        order = np.argsort(codes)
        places = np.searchsorted(codes[order], values)
        rows: Indices = order[np.minimum(places, len(codes) - 1)]
        return rows

    def _restrict(self, covered: tuple[int, ...], kept: tuple[bool, ...]) -> Tabulated:
        """Return it limited to those that are `kept`; the matrix is the same for every column."""
        return replace(self, columns=tuple(compress(covered, kept)))
