"""Data frames and arrays, with columns of numbers and of categories, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from pkex._util.cells import is_missing, is_number
from pkex._util.types import Floats
from pkex._util.validation import (
    as_floats,
    as_matrix,
    brief,
    column_names,
    default_names,
    first_rounded,
    refuse_dask,
    refuse_masked,
)
from pkex.tables.kinds import Kind, kind_of_cells, kind_of_series

__all__ = ["Table", "as_table", "codes", "stack_tables"]


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
    labels : tuple or None
        What the table itself calls its columns, by strings or numbers; None for an array.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    labels: tuple[Any, ...] | None

    def __len__(self) -> int:
        return len(self.cells)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of some rows."""
        return replace(self, cells=self.cells[rows])


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
        For missing values, for integers that float64 does not hold, and for tables without rows or
        columns.
    """
    refuse_masked(value, name)
    refuse_dask(value, name)
    try:
        frame = nw.from_native(value, pass_through=True, allow_series=True)
    except DuplicateError as error:
        given = list(value.columns)
        twice = next(label for label in given if given.count(label) > 1)
        raise ValueError(
            f"{name} has the column {twice!r} more than once; names of columns must differ."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame; collect it first.")
    if isinstance(frame, nw.Series):
        if not vector:
            raise ValueError(f"{name} is a single column; pass a table, e.g. {name}.to_frame().")
        title = frame.name if isinstance(frame.name, str) and frame.name else f"{prefix}0"
        return _joined(name, [_column(frame, name, title)], (title,), (title,))
    if isinstance(frame, nw.DataFrame):
        if 0 in frame.shape:
            raise ValueError(_empty(name, frame.shape))
        labels = tuple(value.columns) if column_names(frame) is None else tuple(frame.columns)
        names = column_names(frame) or default_names(prefix, frame.shape[1])
        parts = [_column(frame[:, j], name, title) for j, title in enumerate(names)]
        return _joined(name, parts, names, labels)
    cells = _array(value, name, prefix)
    if cells.ndim == 1 and vector:
        cells = cells[:, np.newaxis]
    if cells.ndim != 2:
        hint = f" A single column is {name}[:, None], a single row {name}[None, :]."
        hint = hint if cells.ndim == 1 else ""
        raise ValueError(
            f"{name} must be two-dimensional (rows, columns), got shape {cells.shape}.{hint}"
        )
    if 0 in cells.shape:
        raise ValueError(_empty(name, cells.shape))
    names = default_names(prefix, cells.shape[1])
    if cells.dtype.kind == "f":
        return Table(as_matrix(cells, name), names, (False,) * len(names), None)
    parts = [
        _cells(column, kind_of_cells(column), name, title)
        for column, title in zip(cells.T, names, strict=True)
    ]
    return _joined(name, parts, names, None)


def _array(value: Any, name: str, prefix: str) -> NDArray[Any]:
    """Return `value` as an array of float64, or as one of text, booleans or objects."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    else:
        try:
            cells = np.asarray(value)
        except ValueError:  # ragged, which as_floats says
            return as_floats(value, name)
        if cells.ndim and cells.dtype.kind in "bOTU" and value is not None:
            return cells
        if cells.dtype.kind in "mMSV" or cells.dtype.kind in "TU":
            raise TypeError(
                f"{name} has dtype {cells.dtype}; numbers, text, categories and booleans are "
                "supported. Convert dates and the like to numbers."
            )
    numbers = as_floats(value, name)
    if numbers.ndim in (1, 2) and (np.abs(numbers) >= 2.0**53).any():
        as_given = np.asarray(value, dtype=None if hasattr(value, "dtype") else object)
        for j, column in enumerate(as_given.reshape(len(numbers), -1).T):
            _refuse_rounded(column, name, f"{prefix}{j}")
    return numbers


def _refuse_rounded(column: NDArray[Any], name: str, title: str) -> None:
    """Refuse integers that would become others, so that different ones were the same."""
    rounded = first_rounded(column)
    if rounded is not None:
        raise ValueError(
            f"column {title!r} of {name} holds {brief(rounded[1])} (row {rounded[0]}), an integer "
            "beyond 2**53. float64 rounds such integers, so different ones would become equal. If "
            "these are identifiers, drop the column; for categories pass it as text; for a "
            "quantity subtract its smallest value."
        )


def _empty(name: str, shape: tuple[int, ...]) -> str:
    return f"{name} is empty (shape {shape}); at least one row and one column are needed."


def stack_tables(first: Table, second: Table, titles: tuple[str, str]) -> Table:
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
    labels = first.labels or second.labels
    if first.labels and second.labels and first.labels != second.labels:
        same = set(first.labels) == set(second.labels)
        apart = [label for label in first.labels if label not in second.labels]
        apart += [label for label in second.labels if label not in first.labels]
        problem = "in another order" if same else f"but not both of them {apart[:5]}"
        raise ValueError(
            f"{one} and {other} have {len(first.names)} columns each, {problem}; both must have "
            "the same columns in the same order."
        )
    names = first.names if first.labels or not second.labels else second.names
    for title, left, right in zip(names, first.categorical, second.categorical, strict=True):
        if left != right:
            kinds = ("categories", "numbers") if left else ("numbers", "categories")
            raise ValueError(
                f"column {title!r} holds {kinds[0]} in {one} and {kinds[1]} in {other}; convert "
                "one of them."
            )
    cells = np.concatenate([first.cells, second.cells])
    return Table(cells, names, first.categorical, labels)


def codes(table: Table) -> Floats:
    """Return the table as numbers: categories become 0, 1, ... in the order of their texts.

    Two categories are the same when they read the same; numbers do when they are equal.
    """
    if not any(table.categorical):
        return table.cells.astype(np.float64)
    numbers = np.empty(table.cells.shape)
    for j, categorical in enumerate(table.categorical):
        column = table.cells[:, j]
        if categorical:
            texts = [_text(cell) for cell in column]  # as str, since NumPy's lose NULs at the end
            places = {text: place for place, text in enumerate(sorted(set(texts)))}
            numbers[:, j] = [places[text] for text in texts]
        else:
            numbers[:, j] = column.astype(np.float64)
    return numbers


def _text(category: Any) -> str:
    """Return how a category reads; 1.0 as 1."""
    is_integer = is_number(category) and float(category).is_integer()
    return str(int(category)) if is_integer else str(category)


def _column(series: nw.Series[Any], name: str, title: str) -> tuple[NDArray[Any], bool]:
    """Return the values of a column of a frame, and whether they are categories."""
    kind, dtype = kind_of_series(series), series.dtype
    if kind == "other":
        raise TypeError(
            f"column {title!r} of {name} holds {dtype}; columns must hold numbers, text, "
            "categories or booleans. Convert or drop it."
        )
    if kind == "categorical" or not dtype.is_numeric():
        return _cells(np.asarray(series.to_numpy(), dtype=object), kind, name, title)
    if dtype.is_integer():
        _refuse_rounded(np.asarray(series.drop_nulls().to_numpy()), name, title)
    elif dtype == nw.Decimal:
        _refuse_rounded(np.array(series.drop_nulls().to_list(), dtype=object), name, title)
    return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64), False


def _cells(column: NDArray[Any], kind: Kind, name: str, title: str) -> tuple[NDArray[Any], bool]:
    """Return the objects of a column of some kind, and whether they are categories."""
    if kind == "categorical":
        return _categories(column, name, title), True
    _refuse_rounded(column, name, title)
    return column, False


def _categories(cells: NDArray[Any], name: str, title: str) -> NDArray[Any]:
    """Return categories as objects; none may be missing."""
    column = cells.astype(object, copy=False)
    missing = [i for i, cell in enumerate(column) if is_missing(cell)]
    if missing:
        raise ValueError(
            f"{name} has missing values in column {title!r} ({len(missing)} of {len(column)} rows, "
            f"the first is row {missing[0]}). Impute them, or drop such rows first."
        )
    return column


def _joined(
    name: str,
    parts: Sequence[tuple[NDArray[Any], bool]],
    names: tuple[str, ...],
    labels: tuple[Any, ...] | None,
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
        raise ValueError(_empty(name, cells.shape))
    return Table(cells, names, categorical, labels)
