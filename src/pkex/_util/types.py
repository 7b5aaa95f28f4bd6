"""The names of array types, for annotations."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Cells", "Floats", "Indices", "Places", "Players", "SparseTable", "TableLike"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Places = NDArray[np.int32]
"""Short numbers, which compiled loops look up with."""
Cells = NDArray[Any]
"""Of a column of a table: numbers, texts, dates or anything else."""
Players = tuple[tuple[int, ...], ...]
"""The columns of each feature or group of features."""


class SparseTable(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any:
        """Return it by rows."""


TableLike = ArrayLike | SparseTable
"""What has rows and columns: an array, nested lists, a data frame, a sparse matrix."""
