"""Tables as users have them, with columns of numbers and of categories, as arrays of numbers.

A data frame says by its types which columns are categories: text, categories and booleans. An array
of numbers has none, and one of text has nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pkex._cells import is_missing
from pkex._validation import as_floats, as_matrix, column_names, default_names, unique_names

__all__ = ["Table", "as_table", "codes", "stacked"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with one kind of values in each column.

    Attributes
    ----------
    cells : array of shape (n_rows, n_columns)
        The values: float64, or object where there are categories.
    names : tuple of str
    categorical : tuple of bool
        Which columns hold categories.
    named : bool
        Whether the names were given with the table.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    named: bool

    def __len__(self) -> int:
        return len(self.cells)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of some rows."""
        return Table(self.cells[rows], self.names, self.categorical, self.named)


def as_table(value: Any, name: str, *, prefix: str = "x", vector: bool = False) -> Table:
    """Return a data frame or an array as a table.

    Parameters
    ----------
    value : data frame, array or sequence
    name : str
        What messages call it.
    prefix : str
        Columns without names are named ``x0``, ``x1``, ... after it.
    vector : bool
        Whether a vector may stand for a table of one column.

    Raises
    ------
    TypeError
        For columns of dates and the like.
    ValueError
        For missing values, and for tables without rows or columns.
    """
    given = column_names(value)
    if given is not None:
        unique_names(given, f"the columns of {name}", len(given))
    frame = nw.from_native(value, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame; collect it first.")
    if isinstance(frame, nw.Series) and vector:
        title = frame.name if isinstance(frame.name, str) and frame.name else f"{prefix}0"
        return _joined(name, [_column(frame, name, title)], (title,), named=True)
    if isinstance(frame, nw.DataFrame):
        if 0 in frame.shape:
            raise ValueError(f"{name} is empty (shape {frame.shape}); at least one row is needed.")
        names = given or default_names(prefix, frame.shape[1])
        parts = [_column(frame[:, j], name, title) for j, title in enumerate(names)]
        return _joined(name, parts, names, named=given is not None)
    cells = _array(value, name)
    if cells.ndim == 1 and vector:
        cells = cells[:, np.newaxis]
    if cells.ndim == 2 and (cells.dtype.kind == "U" or _has_text(cells)):
        names = default_names(prefix, cells.shape[1])
        text = [cells.dtype.kind == "U" or _has_text(column) for column in cells.T]
        parts = [
            _categories(column, name, title) if categorical else (column, False)
            for column, title, categorical in zip(cells.T, names, text, strict=True)
        ]
        return _joined(name, parts, names, named=False)
    if cells.ndim == 1:
        raise ValueError(
            f"{name} must be two-dimensional (rows, columns), got shape {cells.shape}. A single "
            f"column is {name}[:, None]."
        )
    numbers = as_matrix(cells, name)
    width = numbers.shape[1]
    return Table(numbers, default_names(prefix, width), (False,) * width, named=False)


def _array(value: Any, name: str) -> NDArray[Any]:
    """Return `value` as an array of numbers, or of text."""
    if not hasattr(value, "toarray"):
        try:
            cells = np.asarray(value)
        except ValueError:  # ragged, which as_floats says
            cells = np.empty(0)
        if cells.ndim and (cells.dtype.kind == "U" or _has_text(cells)):
            return cells
        if cells.ndim and cells.dtype.kind == "b":
            return cells.astype(str) if cells.ndim == 1 else cells.astype(np.float64)
    return as_floats(value, name)


def stacked(first: Table, second: Table, titles: tuple[str, str]) -> Table:
    """Return two tables of the same columns one above the other.

    Raises
    ------
    ValueError
        When the columns differ in number, name, order or kind.
    """
    one, other = titles
    if len(first.names) != len(second.names):
        raise ValueError(
            f"{one} has {len(first.names)} columns and {other} has {len(second.names)}; both must "
            "have the same columns."
        )
    if first.named and second.named and first.names != second.names:
        same = set(first.names) == set(second.names)
        apart = [name for name in first.names if name not in second.names]
        apart += [name for name in second.names if name not in first.names]
        found = "in another order" if same else f"but not both of them {apart[:5]}"
        raise ValueError(
            f"{one} and {other} have {len(first.names)} columns each, {found}; both must have the "
            "same columns in the same order."
        )
    names = first.names if first.named or not second.named else second.names
    for title, left, right in zip(names, first.categorical, second.categorical, strict=True):
        if left != right:
            kinds = ("categories", "numbers") if left else ("numbers", "categories")
            raise ValueError(
                f"column {title!r} holds {kinds[0]} in {one} and {kinds[1]} in {other}; convert "
                "one of them."
            )
    cells = np.concatenate([first.cells, second.cells])
    return Table(cells, names, first.categorical, first.named or second.named)


def codes(table: Table) -> Floats:
    """Return the table as numbers: categories become 0, 1, ... in the order of their texts."""
    if not any(table.categorical):
        return table.cells.astype(np.float64)
    numbers = np.empty(table.cells.shape)
    for j, categorical in enumerate(table.categorical):
        column = table.cells[:, j]
        if categorical:
            numbers[:, j] = np.unique(column.astype(str), return_inverse=True)[1]
        else:
            numbers[:, j] = column.astype(np.float64)
    return numbers


def _column(series: nw.Series[Any], name: str, title: str) -> tuple[NDArray[Any], bool]:
    """Return the values of a column, and whether they are categories."""
    kind = series.dtype
    if kind in (nw.String, nw.Boolean, nw.Categorical, nw.Enum) or kind in (nw.Object, nw.Unknown):
        cells = np.asarray(series.to_numpy(), dtype=object)
        if kind in (nw.Object, nw.Unknown) and not _has_text(cells):
            return cells, False
        return _categories(cells, name, title)
    if not kind.is_numeric():
        raise TypeError(
            f"column {title!r} of {name} holds {kind}; columns must hold numbers, text, categories "
            "or booleans. Convert or drop it."
        )
    return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64), False


def _categories(cells: NDArray[Any], name: str, title: str) -> tuple[NDArray[Any], bool]:
    column = np.asarray(cells, dtype=object)
    missing = [i for i, cell in enumerate(column) if is_missing(cell)]
    if missing:
        raise ValueError(
            f"{name} has {len(missing)} missing values in column {title!r}, the first in row "
            f"{missing[0]}. Impute them, or drop such rows first."
        )
    return column, True


def _has_text(cells: NDArray[Any]) -> bool:
    return cells.dtype == object and any(isinstance(cell, str) for cell in cells.flat)


def _joined(
    name: str, parts: Sequence[tuple[NDArray[Any], bool]], names: tuple[str, ...], named: bool
) -> Table:
    """Return the columns side by side, the numbers checked."""
    categorical = tuple(kind for _, kind in parts)
    numeric = [j for j, kind in enumerate(categorical) if not kind]
    cells = np.empty((len(parts[0][0]), len(parts)), dtype=object if any(categorical) else float)
    if numeric:
        columns = np.column_stack([parts[j][0] for j in numeric])
        cells[:, numeric] = as_matrix(columns, name, names=[names[j] for j in numeric])
    for j, kind in enumerate(categorical):
        if kind:
            cells[:, j] = parts[j][0]
    if len(cells) == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    return Table(cells, names, categorical, named)
