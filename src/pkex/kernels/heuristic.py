"""The median heuristic: a kernel for given data, as wide as its rows are apart.

`mmd` and `hsic` choose it when they are given none. Every column gets its own width, and the
unit of a column does not matter: an RBF with the median distance of two rows in that column as
a length scale, times the root of the number of columns, or for categories a `Categorical` factor.
Both are chosen so that the exponent of a typical pair of rows is 1/2 for all columns together. The
paper's heuristic, one length scale for all columns from the median Euclidean distance, goes by the
name "median".

A column by itself is wider apart: the heuristic for that column alone has no root.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState
from pkex._util.types import Floats
from pkex._util.validation import as_matrix, check_count, column_names
from pkex.kernels.algebra import Kernel
from pkex.kernels.bandwidth import median_distance, median_distances
from pkex.kernels.columns import RBF, Categorical
from pkex.kernels.frequencies import InverseFrequency, inverse_frequencies
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term
from pkex.kernels.sizes import check_widths

__all__ = ["MAX_ROWS", "NAMES", "Heuristic", "median_rbf"]


NAMES = ("median-per-column", "median")
"""The heuristics by name, the default first."""

MAX_ROWS = 1000  # that are looked at


class Heuristic:
    """The median heuristic on a table.

    Parameters
    ----------
    numbers : array of shape (n_rows, n_columns)
        The table, with codes for categories.
    categorical : tuple of bool
        Which columns hold categories.
    per_column : bool
        Whether every column has its width; else there is one length scale.
    observed : array of shape (n_rows, n_columns) of bool, optional
        Which cells were observed; the width of a column comes from these.
    max_rows : int
        Of more rows the median is over the distances of a subsample.
    random_state : int, Generator, RandomState or None
        Chooses the subsample; by default always the same, so that values do not vary.
    """

    def __init__(
        self,
        numbers: Floats,
        categorical: tuple[bool, ...],
        per_column: bool = True,
        max_rows: int = MAX_ROWS,
        random_state: RandomState = 0,
        observed: NDArray[np.bool_] | None = None,
    ) -> None:
        self.numbers, self.categorical, self.per_column = numbers, categorical, per_column
        self.max_rows, self.random_state = max_rows, random_state
        self._distances = np.ones(len(categorical))  # of two rows in a column of numbers: medians
        self._mismatches = np.ones(len(categorical))  # probability of two different categories
        is_number = ~np.array(categorical)
        if per_column and is_number.any():
            columns = numbers[:, is_number]
            self._distances[is_number] = median_distances(columns, max_rows, random_state)
        if per_column and observed is not None:
            for column in np.flatnonzero(is_number & ~observed.all(axis=0)).tolist():
                known = numbers[:, [column]][observed[:, column]]
                if len(known):
                    self._distances[column] = median_distances(known, max_rows, random_state)[0]
        for j in np.flatnonzero(~is_number):
            shares = np.unique(numbers[:, j], return_counts=True)[1] / len(numbers)
            self._mismatches[j] = 1.0 - (shares**2).sum()
        self.widths = self._choose_widths(list(range(len(categorical))))

    @property
    def kernel(self) -> Kernel:
        """The kernel of all columns together."""
        leaves = self._leaves(self.widths)
        return leaves[0] if len(leaves) == 1 else leaves[0] * leaves[1]

    def univariate_term(self, groups: Sequence[Sequence[int]]) -> Term:
        """Return a product in which the factors of each feature are its kernel by itself.

        A single column of categories has `InverseFrequency`: it is tested as by chi-squared.
        """
        single = [group[0] for group in groups if len(group) == 1 and self.categorical[group[0]]]
        widths = np.empty(len(self.categorical))
        for columns in map(list, groups):
            widths[columns] = self._choose_widths(columns)
        leaves = self._leaves(widths, leave_out=single)
        if single:
            rates = tuple(inverse_frequencies(self.numbers[:, j]) for j in single)
            leaves.append(InverseFrequency(rates, columns=tuple(single)))
        return Term(1.0, tuple(leaves), len(self.categorical))

    def _leaves(self, widths: Floats, leave_out: Sequence[int] = ()) -> list[ColumnKernel]:
        """Return the factors of the columns, of these widths."""
        leaves: list[ColumnKernel] = []
        for kind, node in ((False, RBF), (True, Categorical)):
            places = [
                j
                for j, is_kind in enumerate(self.categorical)
                if is_kind == kind and j not in leave_out
            ]
            if not places:
                continue
            chosen = widths[places]
            same = (kind or not self.per_column) and len(set(chosen)) == 1
            leaf: ColumnKernel = node(float(chosen[0]) if same else tuple(chosen))
            leaves.append(leaf if len(places) == len(widths) else leaf.on(places))
        return leaves

    def _choose_widths(self, columns: list[int]) -> Floats:
        """Return length scales, or factors of different categories, for a kernel of `columns`."""
        count = len(columns)
        flags = np.array(self.categorical)[columns]
        numeric = [j for j in columns if not self.categorical[j]]
        odds = np.where(flags, self._mismatches[columns], 1.0)
        if self.per_column:
            scales = self._distances[columns] * math.sqrt(count)
        else:
            odds[flags] = odds[flags].mean() if flags.any() else 1.0
            share = len(numeric) / count
            wide = self._distance(numeric) / math.sqrt(share) if numeric else 1.0
            scales = np.full(count, min(wide, sys.float_info.max))
        # As with the RBF, the exponent of a typical pair is 1/2 for all columns together.
        factors = np.exp(-0.5 / (count * np.where(odds > 0.0, odds, 1.0)))
        widths: Floats = np.where(flags, factors, scales)
        return widths

    def _distance(self, columns: list[int]) -> float:
        """Return the median distance of two rows in some columns together."""
        return median_distance(self.numbers[:, columns], self.max_rows, self.random_state)


@default_errstate
def median_rbf(
    X: ArrayLike,
    *,
    per_column: bool = False,
    max_rows: int = MAX_ROWS,
    random_state: RandomState = 0,
) -> RBF:
    """Return the RBF kernel whose length scale is the median distance between rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        For two samples both of them, one above the other.
    per_column : bool, default False
        Whether every column has its length scale: its median distance times the square root of
        the number of columns. The kernel is then about as wide as with a single length scale on
        standardised columns, and units of columns do not matter.
    max_rows : int, default 1000
        A larger table is subsampled to this many rows.
    random_state : int, Generator, RandomState or None, default 0
        Chooses the subsample; by default always the same one.

    Returns
    -------
    RBF
        The kernel.

    See Also
    --------
    RBF : The kernel with a given length scale.

    Examples
    --------
    >>> from pkex.kernels import median_rbf
    >>> median_rbf([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    RBF(length_scale=5.0)
    >>> median_rbf([[0.0, 0.0], [3.0, 400.0], [6.0, 800.0]], per_column=True)
    RBF(length_scale=(4.242640687119286, 565.685424949238))
    """
    x = as_matrix(X, "X")
    check_widths(x, "X", column_names(X))
    check_count(max_rows, "max_rows", 2)
    kernel = Heuristic(
        x,
        (False,) * x.shape[1],
        per_column=per_column,
        max_rows=max_rows,
        random_state=random_state,
    ).kernel
    assert isinstance(kernel, RBF)  # as no column holds categories
    return kernel
