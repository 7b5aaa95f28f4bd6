"""Tables as the options of the command line want them: their columns, rows and missing values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pkex._words import counted, listed
from pkex.tables.files import Dialect, FileTable, read_file

__all__ = [
    "check_numbers",
    "chosen_rows",
    "complete",
    "for_model",
    "read",
    "read_any",
    "split_names",
]


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names of a list with commas; a name with a comma in it is quoted.

    Examples
    --------
    >>> split_names('age,"height, cm"')
    ('age', 'height, cm')
    """
    if text is None:
        return ()
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


def read(path: Path, dialect: Dialect, row_names: str | None = None) -> FileTable:
    """Return the table in a CSV (also gzipped) or Parquet file.

    Columns that are to be categorical but are not there are an error, as with other options.
    `row_names` is a column that names the rows: its text is taken as it stands in the file.
    """
    if row_names is not None and row_names not in dialect.categorical:
        table = read_any(path, replace(dialect, categorical=(*dialect.categorical, row_names)))
    else:
        table = read_any(path, dialect)
    if row_names is not None and row_names not in table.names:
        raise ValueError(
            f"{path} has no column {row_names}, which --id names; it has {listed(table.names)}."
        )
    missing = [name for name in dialect.categorical if name not in table.names]
    if missing:
        raise ValueError(
            f"{path} has no column {listed(missing)}, which --categorical names; it has "
            f"{listed(table.names)}."
        )
    return table


def read_any(path: Path, dialect: Dialect) -> FileTable:
    """Return the table in a file, whatever its columns are."""
    try:
        return read_file(path, dialect)
    except UnicodeError as error:
        sentence = str(error).removesuffix(".")
        raise ValueError(f"{sentence}, e.g. --encoding latin-1.") from error


def for_model(
    table: FileTable, names: Sequence[str] | None, count: int | None, chosen: Sequence[str]
) -> FileTable:
    """Return the columns of a model, which knows their names or takes so many, here `chosen`."""
    if names is not None:
        return table.take(names)
    table = table.take(chosen) if chosen else table
    if count is not None and len(table.names) != count:
        raise ValueError(
            f"the model was fitted without names of columns and takes {count}, but {table.path} "
            f"has {len(table.names)}, {listed(table.names)}: choose {count} of them with "
            "--columns, in the order of the model."
        )
    return table


def chosen_rows(table: FileTable, chosen: str) -> FileTable:
    """Return the table with the rows of a text such as ``0:10,15``."""
    count = len(table.frame)
    numbers: dict[int, None] = {}
    for part in chosen.split(","):
        try:
            bounds = [int(bound) if bound.strip() else None for bound in part.split(":")]
        except ValueError:
            bounds = []
        if len(bounds) not in (1, 2, 3) or bounds == [None] or bounds[2:] == [0]:
            raise ValueError(
                f"rows {chosen!r} cannot be read: give numbers from 0 and ranges, e.g. 0:10,15."
            )
        if len(bounds) == 1:
            [number] = bounds
            assert number is not None
            if not -count <= number < count:
                raise ValueError(f"there is no row {number} in {table.path}, which has {count}.")
            numbers[number % count] = None
        else:
            numbers |= dict.fromkeys(range(count)[slice(*bounds)])
    if not numbers:
        raise ValueError(f"rows {chosen!r} are none of the {count} rows of {table.path}.")
    return replace(table, frame=table.frame.iloc[list(numbers)])


def complete(table: FileTable, drop: bool, advice: str = "") -> FileTable:
    """Return the table without rows that have missing values; refuse them unless `drop`."""
    missing = table.frame.isna()
    bad = missing.any(axis=1)
    if not bad.any():
        return table
    if not drop:
        counts = missing.sum()
        found = [f"{name} ({count})" for name, count in counts[counts > 0].items()]
        raise ValueError(
            f"{table.path} has missing values in {bad.sum()} of {counted(len(bad), 'row')}, in "
            f"{listed(found)}: pass --drop-missing to leave these rows out, {advice}or fill "
            "them first."
        )
    if bad.all():
        raise ValueError(f"every row of {table.path} has missing values, so none is left.")
    frame = table.frame[~bad].infer_objects()
    return replace(table, frame=frame, dropped=int(bad.sum()))


def check_numbers(table: FileTable) -> None:
    """Refuse numbers that are infinite, and integers that float64 would make others."""
    for name in table.of_kind("numeric"):
        if name in table.rounded:
            raise ValueError(
                f"column {name} of {table.path} holds {table.rounded[name]}, an integer beyond "
                "2**53 that float64 rounds, so that different ones would become the same: "
                f"leave it out if it identifies rows, or pass --categorical {name}."
            )
        column = table.frame[name].to_numpy(dtype=float)
        infinite = table.frame.index[abs(column) == float("inf")]
        if len(infinite):
            raise ValueError(
                f"column {name} of {table.path} has infinite numbers, the first in row "
                f"{infinite[0]}: replace them, or leave these rows out."
            )
