"""Data frames and arrays, with columns of numbers and of categories, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
    refuse_dask,
    refuse_masked,
)
from pkex.tables.dates import as_days, days_of_array, is_dates
from pkex.tables.kinds import Kind, first_rounded, kind_of_cells, kind_of_series

__all__ = [
    "Table",
    "as_table",
    "changed_categories",
    "codes",
    "drop_missing",
    "read_category",
    "stack_tables",
]


class TableColumn(NamedTuple):
    """A column of a table: its cells, whether they are categories, and the unit of dates."""

    cells: NDArray[Any]
    is_categorical: bool = False
    unit: str | None = None


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
    units : tuple of str or None
        For dates and durations, which are numbers of days; empty where no column has a unit.

    A missing number is NaN, a missing category None, where they are allowed.
    """

    cells: NDArray[Any]
    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    labels: tuple[Any, ...] | None
    units: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def column_units(self) -> tuple[str | None, ...]:
        """The unit of each column, or None."""
        return self.units or (None,) * len(self.names)

    def missing(self) -> NDArray[np.bool_]:
        """Return which cells are missing."""
        if self.cells.dtype != object:
            return np.asarray(np.isnan(self.cells))
        return np.array([[is_missing(cell) for cell in row] for row in self.cells], dtype=bool)

    def by_name(self, wanted: tuple[Any, ...], name: str) -> Table:
        """Return the columns with some labels, in that order; others are left out.

        Raises
        ------
        ValueError
            Where one of them is not there.
        """
        if self.labels is None or self.labels == wanted:
            return self
        lacking = [label for label in wanted if label not in self.labels]
        if lacking:
            raise ValueError(f"{name} lacks the columns {lacking[:5]} of the reference.")
        places = [self.labels.index(label) for label in wanted]
        cells, units = self.cells[:, places], self.column_units
        categorical = tuple(self.categorical[j] for j in places)
        numbers = cells if any(categorical) else cells.astype(np.float64)
        return Table(
            *(numbers, tuple(self.names[j] for j in places), categorical, wanted),
            tuple(units[j] for j in places) if self.units else (),
        )

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of some rows."""
        return replace(self, cells=self.cells[rows])


def as_table(
    value: Any, name: str, *, prefix: str = "x", vector: bool = False, missing: bool = False
) -> Table:
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
    missing : bool
        Whether cells may be missing.

    Raises
    ------
    TypeError
        For columns of lists and the like.
    ValueError
        For missing values that are not allowed, for integers that float64 does not hold, and for
        tables without rows or columns.
    """
    try:
        frame = nw.from_native(value, pass_through=True, allow_series=True)
    except DuplicateError as error:
        given = list(value.columns)
        twice = next(label for label in given if given.count(label) > 1)
        raise ValueError(
            f"{name} has the column {twice!r} more than once; names of columns must differ."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        refuse_dask(value, name)
        raise TypeError(f"{name} is a lazy frame; collect it first.")
    if isinstance(frame, nw.Series):
        if not vector:
            raise ValueError(f"{name} is a single column; pass a table, e.g. {name}.to_frame().")
        title = frame.name if isinstance(frame.name, str) and frame.name else f"{prefix}0"
        part = _column(frame, name, title, missing)
        return _join_columns(name, [part], (title,), (title,), missing)
    if isinstance(frame, nw.DataFrame):
        if 0 in frame.shape:
            raise ValueError(_empty(name, frame.shape))
        labels = tuple(value.columns) if column_names(frame) is None else tuple(frame.columns)
        names = column_names(frame) or default_names(prefix, frame.shape[1])
        parts = [_column(frame[:, j], name, title, missing) for j, title in enumerate(names)]
        return _join_columns(name, parts, names, labels, missing)
    cells = _array(value, name, prefix, missing)
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
    if cells.dtype.kind == "f":  # `_array` has checked them where none is missing
        numbers = _numbers(cells, name, None, missing) if np.isnan(cells).any() else cells
        return Table(numbers, names, (False,) * len(names), None)
    if cells.dtype.kind in "mM":
        cells, unit = days_of_array(cells)
        numbers = _numbers(cells, name, None, missing)
        return Table(numbers, names, (False,) * len(names), None, (unit,) * len(names))
    parts = [
        _cells(column, kind_of_cells(column), name, title, missing)
        for column, title in zip(cells.T, names, strict=True)
    ]
    return _join_columns(name, parts, names, None, missing)


def drop_missing(tables: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """Return tables of the same rows without those that miss a cell in one of them.

    Raises
    ------
    ValueError
        Where none is left.
    """
    complete = ~np.any([table.missing().any(axis=1) for table in tables], axis=0)
    if complete.all():
        return list(tables)
    if not complete.any():
        raise ValueError(f"every row of {' and '.join(names)} has missing values: none is left.")
    return [table.take(np.flatnonzero(complete)) for table in tables]


def changed_categories(
    first: Table, second: Table
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the categories that only the second table has, and those that only the first has.

    Both by the name of the column, in the order of their texts; columns without any are left out.
    """
    new: dict[str, tuple[str, ...]] = {}
    lost: dict[str, tuple[str, ...]] = {}
    for j, name in enumerate(first.names):
        if first.categorical[j]:
            before, after = ({read_category(c) for c in t.cells[:, j]} for t in (first, second))
            for lists, more, fewer in ((new, after, before), (lost, before, after)):
                if more - fewer:
                    lists[name] = tuple(sorted(more - fewer))
    return new, lost


def _numbers(cells: NDArray[Any], name: str, names: Sequence[str] | None, missing: bool) -> Floats:
    """Return cells as finite numbers; NaN where they are missing, if that is allowed."""
    if not missing:
        return as_matrix(cells, name, names=names)
    if cells.dtype == object:
        gaps = np.array([[is_missing(cell) for cell in row] for row in cells], dtype=bool)
    else:
        gaps = np.isnan(cells)
    gaps = gaps.reshape(cells.shape)
    numbers = as_matrix(np.where(gaps, 0.0, cells), name, names=names)
    numbers[gaps] = np.nan
    return numbers


def _array(value: Any, name: str, prefix: str, missing: bool) -> NDArray[Any]:
    """Return `value` as an array of float64, or as one of text, booleans or objects."""
    refuse_masked(value, name)
    refuse_dask(value, name)
    if hasattr(value, "toarray"):
        value = value.toarray()
    else:
        try:
            cells = np.asarray(value)
        except ValueError:  # ragged, which as_floats says
            return as_floats(value, name)
        if cells.ndim and cells.dtype.kind in "bOTUmM" and value is not None:
            return cells
        if cells.dtype.kind in "mMSVTU":
            raise TypeError(
                f"{name} has dtype {cells.dtype}; numbers, text, categories, booleans and dates "
                "are supported. Convert it to one of these."
            )
        if missing and cells.dtype.kind == "f" and np.isnan(cells).any():
            return cells.astype(np.float64)
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
    categorical, units = list(first.categorical), list(first.column_units)
    kinds = [list(zip(t.categorical, t.column_units, strict=True)) for t in (first, second)]
    for j, (title, left, right) in enumerate(zip(names, *kinds, strict=True)):
        if left == right:
            continue
        is_empty = [t.missing()[:, j].all() for t in (first, second)]
        if not any(is_empty):
            words = ["categories" if flag else unit or "numbers" for flag, unit in (left, right)]
            raise ValueError(
                f"column {title!r} holds {words[0]} in {one} and {words[1]} in {other}; convert "
                "one of them."
            )
        categorical[j], units[j] = right if is_empty[0] else left
    cells = np.concatenate([first.cells, second.cells])
    return Table(cells, names, tuple(categorical), labels, tuple(units) if any(units) else ())


def codes(table: Table) -> Floats:
    """Return the table as numbers: categories become 0, 1, ... in the order of their texts.

    Two categories are the same when they read the same; numbers do when they are equal. Missing
    cells are one category, the last; missing numbers are NaN.
    """
    if not any(table.categorical):
        return table.cells.astype(np.float64)
    numbers = np.empty(table.cells.shape)
    for j, categorical in enumerate(table.categorical):
        column = table.cells[:, j]
        if categorical:
            # as str, since NumPy's lose NULs at the end; a tuple for what is missing
            texts = [(1, "") if is_missing(c) else (0, read_category(c)) for c in column]
            places = {text: place for place, text in enumerate(sorted(set(texts)))}
            numbers[:, j] = [places[text] for text in texts]
        else:
            numbers[:, j] = [np.nan if cell is None else cell for cell in column]
    return numbers


def read_category(category: Any) -> str:
    """Return how a category reads; 1.0 as 1.

    >>> read_category(2.0), read_category("a"), read_category(None)
    ('2', 'a', '(missing)')
    """
    if is_missing(category):
        return "(missing)"
    is_integer = is_number(category) and float(category).is_integer()
    return str(int(category)) if is_integer else str(category)


def _column(series: nw.Series[Any], name: str, title: str, missing: bool) -> TableColumn:
    """Return a column of a frame."""
    kind, dtype = kind_of_series(series), series.dtype
    if is_dates(series):
        days, unit = as_days(series)
        return TableColumn(days, False, unit)
    if kind == "other":
        raise TypeError(
            f"column {title!r} of {name} holds {dtype}; columns must hold numbers, text, "
            "categories, booleans or dates. Convert or drop it."
        )
    if kind == "categorical" or not dtype.is_numeric():
        return _cells(np.asarray(series.to_numpy(), dtype=object), kind, name, title, missing)
    if dtype.is_integer():
        _refuse_rounded(np.asarray(series.drop_nulls().to_numpy()), name, title)
    elif dtype == nw.Decimal:
        _refuse_rounded(np.array(series.drop_nulls().to_list(), dtype=object), name, title)
    return TableColumn(np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64))


def _cells(column: NDArray[Any], kind: Kind, name: str, title: str, missing: bool) -> TableColumn:
    """Return the objects of a column of some kind."""
    if kind == "categorical":
        return TableColumn(_categories(column, name, title, missing), True)
    _refuse_rounded(column, name, title)
    return TableColumn(column)


def _categories(cells: NDArray[Any], name: str, title: str, missing: bool) -> NDArray[Any]:
    """Return categories as objects, None where one is missing, if that is allowed."""
    column = cells.astype(object)
    gaps = [i for i, cell in enumerate(column) if is_missing(cell)]
    if gaps and not missing:
        raise ValueError(
            f"{name} has missing values in column {title!r} ({len(gaps)} of {len(column)} rows, "
            f"the first is row {gaps[0]}). Impute them, or drop such rows first."
        )
    column[gaps] = None
    return column


def _join_columns(
    name: str,
    parts: Sequence[TableColumn],
    names: tuple[str, ...],
    labels: tuple[Any, ...] | None,
    missing: bool,
) -> Table:
    """Return the columns side by side, the numbers checked."""
    categorical, units = tuple(part.is_categorical for part in parts), [p.unit for p in parts]
    numeric = [j for j, kind in enumerate(categorical) if not kind]
    cells = np.empty((len(parts[0][0]), len(parts)), dtype=object if any(categorical) else float)
    if numeric:
        columns = np.column_stack([parts[j][0] for j in numeric])
        cells[:, numeric] = _numbers(columns, name, [names[j] for j in numeric], missing)
    for j, kind in enumerate(categorical):
        if kind:
            cells[:, j] = parts[j][0]
    if len(cells) == 0:
        raise ValueError(_empty(name, cells.shape))
    return Table(cells, names, categorical, labels, tuple(units) if any(units) else ())
