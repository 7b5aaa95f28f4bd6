"""Sparse tables, as scipy has them: what users pass becomes a CSR array, or a sentence.

A table is known to be sparse by its method `tocsr`, so that SciPy's module is not imported for
those who never pass one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pkex._util.random import as_generator
from pkex._util.types import Floats
from pkex._util.validation import check_columns

__all__ = ["as_csr", "equal_tables", "is_sparse", "sample_sparse_rows", "to_dense"]


def is_sparse(value: object) -> bool:
    """Tell whether a value is a sparse table.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> is_sparse(csr_array([[0.0, 1.0]])), is_sparse([[0.0, 1.0]])
    (True, False)
    """
    return hasattr(value, "tocsr")


def to_dense(table: Any) -> Floats:
    """Return a table that may be sparse as an array."""
    array: Floats = table.toarray() if is_sparse(table) else np.asarray(table)
    return array


def as_csr(
    value: Any, name: str, n_columns: int | None = None, names: Sequence[str] | None = None
) -> Any:
    """Return a table as a CSR array of finite float64, without stored zeros, columns ascending."""
    from scipy import sparse

    if is_sparse(value) and value.dtype.kind not in "buif":
        raise TypeError(f"{name} has dtype {value.dtype}; only real numbers are supported.")
    table = sparse.csr_array(value, dtype=np.float64, copy=True)
    check_columns(table.shape, name, n_columns)
    table.sum_duplicates()  # which sorts the columns
    bad = np.flatnonzero(~np.isfinite(table.data))
    if len(bad):
        row = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1
        column = int(table.indices[bad[0]])
        title = repr(names[column]) if names and column < len(names) else column
        raise ValueError(
            f"{name} contains NaN or infinity ({len(bad)} of {table.nnz} stored entries, the first "
            f"in row {row}, column {title}). Impute or drop such rows first."
        )
    table.eliminate_zeros()
    return table


def equal_tables(first: Any, second: Any) -> bool:
    """Tell whether two tables, sparse or not, have the same entries."""
    if is_sparse(first) != is_sparse(second) or first.shape != second.shape:
        return False
    if not is_sparse(first):
        return np.array_equal(first, second)
    return first is second or (first != second).nnz == 0


def sample_sparse_rows(table: Any, max_rows: int, random_state: int) -> Any:
    """Return the rows that `pkex._util.random.sample_rows` chooses of the same table made dense.

    That sorts rows from their last column to the first. A row is compared by its entries in that
    order: of two rows the one with the later entry is larger if that is positive, else smaller.
    """
    if table.shape[0] <= max_rows:
        return table

    def key(row: int) -> list[tuple[int, float]]:
        here = slice(table.indptr[row], table.indptr[row + 1])
        columns, cells = table.indices[here][::-1].tolist(), table.data[here][::-1].tolist()
        entries = zip(columns, cells, strict=True)
        return [(j + 1 if v > 0.0 else -j - 1, v) for j, v in entries] + [(0, 0.0)]

    order = np.array(sorted(range(table.shape[0]), key=key))
    chosen = as_generator(random_state).choice(table.shape[0], max_rows, replace=False)
    return table[order[chosen]]
