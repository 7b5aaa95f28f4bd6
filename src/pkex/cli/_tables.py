"""Tables as the options of the command line want them: their columns, rows and missing values."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pkex._util.words import counted, listed
from pkex.tables.files import Dialect, FileTable, read_file
from pkex.tables.streams import FileStream, is_small

__all__ = [
    "about_order",
    "check_numbers",
    "chosen_rows",
    "complete",
    "for_model",
    "long_table",
    "picked_rows",
    "read",
    "read_any",
    "read_chosen",
    "read_long",
    "refuse_missing",
    "row_numbers",
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
    table = read_any(path, _with_text(dialect, row_names))
    _check_named(table, dialect, row_names)
    return table


def read_long(path: Path, dialect: Dialect, row_names: str | None = None) -> FileStream:
    """Return what a file holds whose rows are to be read in chunks; else as `read`."""
    try:
        stream = FileStream.of(path, _with_text(dialect, row_names))
    except UnicodeError as error:
        raise _other_encoding(error) from error
    _check_named(stream, dialect, row_names)
    return stream


def long_table(
    path: Path, dialect: Dialect, row_names: str | None = None, part_rows: int | None = None
) -> FileStream | None:
    """Return a file that is read in chunks; None for one that is small, unless parts are asked."""
    if part_rows is None and is_small(path):
        return None
    return read_long(path, dialect, row_names)


def read_chosen(path: Path, dialect: Dialect, rows: str | None) -> FileTable:
    """Return the table of the rows of a text such as ``0:10,15``, or of all."""
    if rows is None:
        return read(path, dialect)
    stream = long_table(path, dialect)
    if stream is None:
        return chosen_rows(read(path, dialect), rows)
    return picked_rows(stream, rows)


def picked_rows(stream: FileStream, rows: str | None) -> FileTable:
    """Return the table of the chosen rows of a long file, in the order of the choice."""
    numbers = np.arange(stream.total) if rows is None else np.array(row_numbers(stream, rows))
    table = stream.pick(np.sort(numbers))
    return replace(table, frame=table.frame.loc[numbers])


def _with_text(dialect: Dialect, row_names: str | None) -> Dialect:
    if row_names is None or row_names in dialect.categorical:
        return dialect
    return replace(dialect, categorical=(*dialect.categorical, row_names))


def _check_named(table: FileTable | FileStream, dialect: Dialect, row_names: str | None) -> None:
    """Refuse options that name columns which are not there."""
    path = table.path
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


def read_any(path: Path, dialect: Dialect) -> FileTable:
    """Return the table in a file, whatever its columns are."""
    try:
        return read_file(path, dialect)
    except UnicodeError as error:
        raise _other_encoding(error) from error


def _other_encoding(error: UnicodeError) -> ValueError:
    sentence = str(error).removesuffix(".")
    return ValueError(f"{sentence}, e.g. --encoding latin-1.")


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


def about_order(
    table: FileTable, names: Sequence[str] | None, chosen: Sequence[str]
) -> Iterator[str]:
    """Yield a note where a model takes columns by their order alone, which nobody gave."""
    if names is None and not chosen:
        yield (
            "the model was fitted without names of columns and takes them in the order of the "
            f"file: {listed(table.names)}; --columns gives another order."
        )


def chosen_rows(table: FileTable, chosen: str) -> FileTable:
    """Return the table with the rows of a text such as ``0:10,15``."""
    return replace(table, frame=table.frame.iloc[row_numbers(table, chosen)])


def row_numbers(table: FileTable | FileStream, chosen: str) -> list[int]:
    """Return the numbers of the rows of a text such as ``0:10,15``, in its order."""
    count = table.total
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
    return list(numbers)


def refuse_missing(path: Path, total: int, missing: Mapping[str, int], advice: str = "") -> None:
    """Refuse missing values in a long file, given their number in each column that is used."""
    found = [f"{name} ({count})" for name, count in missing.items() if count]
    if found:
        raise ValueError(
            f"{path} has missing values among its {counted(total, 'row')}, in {listed(found)}: "
            f"pass --drop-missing to leave these rows out, {advice}or fill them first."
        )


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
        empty = [name for name in table.names if missing[name].all()]
        hint = f": {listed(empty)} is empty, leave it out with --columns" if empty else ""
        raise ValueError(f"every row of {table.path} has missing values, so none is left{hint}.")
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
