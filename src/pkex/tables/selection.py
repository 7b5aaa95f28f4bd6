"""Tables as the command line uses them: their columns, rows and missing values.

Only commands read files, so sentences name the option that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.words import join_names, pluralise
from pkex.tables.files import Dialect, FileTable, read_file
from pkex.tables.streams import FileStream, is_small

__all__ = [
    "check_numbers",
    "check_rows",
    "choose_rows",
    "handle_missing",
    "mask_rows",
    "open_long_table",
    "parse_row_numbers",
    "read_any",
    "read_sample",
    "read_table",
    "refuse_missing",
    "take_rows",
    "take_usable",
    "with_dates",
]

Table = TypeVar("Table", FileTable, FileStream)


def read_table(path: Path, dialect: Dialect, row_names: str | None = None) -> FileTable:
    """Return the table in a CSV (also gzipped) or Parquet file.

    Columns that are to be categorical but are not there are an error, as with other options.
    `row_names` is a column that names the rows: its text is taken as it stands in the file.
    """
    return _read_named(path, dialect, row_names, read_file)


def open_long_table(
    path: Path, dialect: Dialect, row_names: str | None = None, part_rows: int | None = None
) -> FileStream | None:
    """Return a file that is read in chunks; None for one that is small, unless parts are asked."""
    if part_rows is None and is_small(path):
        return None
    return _read_named(path, dialect, row_names, FileStream.of)


def _read_named(
    path: Path,
    dialect: Dialect,
    row_names: str | None,
    reader: Callable[[Path, Dialect], Table],
) -> Table:
    """Return a table; refuse options that name columns which are not there."""
    labels: tuple[str, ...] = () if row_names is None else (row_names,)
    as_text = tuple(dict.fromkeys((*dialect.categorical, *labels)))
    table = read_any(path, replace(dialect, categorical=as_text), reader)
    for option, names in (("--id", labels), ("--categorical", dialect.categorical)):
        missing = [name for name in names if name not in table.names]
        if missing:
            raise ValueError(
                f"{path} has no column {join_names(missing)}, which {option} names; it has "
                f"{join_names(table.names)}."
            )
    return table


def read_any(path: Path, dialect: Dialect, reader: Callable[[Path, Dialect], Table]) -> Table:
    """Return the table in a file, whatever its columns are."""
    try:
        return reader(path, dialect)
    except UnicodeError as error:
        sentence = str(error).removesuffix(".")
        raise ValueError(f"{sentence}, e.g. --encoding latin-1.") from error


def read_sample(
    path: Path,
    dialect: Dialect,
    columns: Sequence[str],
    size: int | None,
    seed: tuple[int, int],
    missing: str,
    excluded: Sequence[str] = (),
) -> FileTable:
    """Return the rows of a file, or `size` of them where it has more.

    A sample is drawn evenly from all rows of the file, before they are read: rows in a block of the
    file would be those of one day or one customer where a file has an order. Two tables take seeds
    that differ, so that their samples are independent.

    With `missing` "refuse", missing values are refused wherever they are in the columns that are
    used: in `columns`, or in all that are numbers or categories, without those `excluded`.
    """
    stream = None if size is None else open_long_table(path, dialect)
    table = stream or read_table(path, dialect)
    if size is None or table.total <= size:
        return take_rows(table, None)
    if missing == "refuse":
        counts = table.frame.isna().sum() if isinstance(table, FileTable) else table.missing
        used = columns or [name for name in table.kinds if table.kinds[name] != "other"]
        rows = f"among its {pluralise(table.total, 'row')}"
        kept = [name for name in used if name in counts and name not in excluded]
        refuse_missing(path, rows, {name: counts[name] for name in kept})
    numbers = np.random.default_rng(seed).choice(table.total, size, replace=False)
    return take_rows(table, np.sort(numbers))


def choose_rows(table: FileTable | FileStream, rows: str | None) -> FileTable:
    """Return the rows of a text such as ``0:10,15``, in its order, or all."""
    return take_rows(table, None if rows is None else parse_row_numbers(table, rows))


def take_rows(
    table: FileTable | FileStream, numbers: Sequence[int] | NDArray[np.intp] | None
) -> FileTable:
    """Return some rows of a table, in the order of their numbers, or all."""
    if isinstance(table, FileTable):
        return table if numbers is None else replace(table, frame=table.frame.iloc[numbers])
    order = np.arange(table.total) if numbers is None else np.array(numbers)
    picked = table.pick(np.sort(order))
    return replace(picked, frame=picked.frame.loc[order])


def parse_row_numbers(table: FileTable | FileStream, chosen: str) -> list[int]:
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


def mask_rows(stream: FileStream, chosen: str | None) -> NDArray[np.bool_]:
    """Return which rows of a file are chosen by such a text, which has to name them in order."""
    if chosen is None:
        return np.ones(stream.total, dtype=bool)
    numbers = np.array(parse_row_numbers(stream, chosen))
    if (np.diff(numbers) < 0).any():
        raise ValueError(
            f"--rows {chosen} names {len(numbers)} rows, which are read in the order of the file: "
            "name them in that order."
        )
    mask = np.zeros(stream.total, dtype=bool)
    mask[numbers] = True
    return mask


def take_usable(
    table: FileTable, columns: Sequence[str], excluded: Sequence[str] = ()
) -> FileTable:
    """Return the table with the columns asked for, or all that are numbers, categories or dates.

    Excluded columns are left out; one that the table does not have is an error, as it is a typo.
    """
    unknown = [name for name in excluded if name not in table.names]
    if unknown:
        raise ValueError(
            f"{table.path} has no column {join_names(unknown)}, which --exclude names; it has "
            f"{join_names(table.names)}."
        )
    usable = columns or [name for name in table.names if table.kinds[name] != "other"]
    usable = [name for name in usable if name not in excluded]
    if not usable:
        left = " besides those of --exclude" if excluded else ""
        raise ValueError(f"{table.path} has no numeric or categorical column{left}.")
    table = table.take(usable)
    other = table.of_kind("other")
    if other:
        raise ValueError(
            f"column {other[0]} of {table.path} is neither numeric nor categorical: leave it out, "
            "or pass it to --categorical."
        )
    return with_dates(table)


def with_dates(table: FileTable) -> FileTable:
    """Return the table with its dates as pandas keeps times, which a test takes as days."""
    frame = table.frame
    for name in table.of_kind("date"):
        if frame[name].dtype == object:  # days without a time
            days = np.array([None if c != c else c for c in frame[name]], dtype="M8[us]")
            frame = frame.assign(**{name: days})
    return replace(table, frame=frame)


def refuse_missing(path: Path, rows: str, missing: Mapping[str, int], advice: str = "") -> None:
    """Refuse missing values, given their number in each column that is used, if there are some."""
    columns = [f"{name} ({count})" for name, count in missing.items() if count]
    if columns:
        raise ValueError(
            f"{path} has missing values {rows}, in {join_names(columns)}: pass --missing drop to "
            f"leave these rows out, {advice}or fill them first."
        )


def handle_missing(table: FileTable, how: str, advice: str = "") -> FileTable:
    """Return the table without rows that have missing values, for `how` "drop".

    They are refused with "refuse"; any other word keeps the rows.
    """
    missing = table.frame.isna()
    bad = missing.any(axis=1)
    if how not in ("drop", "refuse") or not bad.any():
        return table
    if how == "refuse":
        rows = f"in {bad.sum()} of {pluralise(len(bad), 'row')}"
        refuse_missing(table.path, rows, dict(missing.sum()), advice)
    if bad.all():
        empty = [name for name in table.names if missing[name].all()]
        hint = f": {join_names(empty)} is empty, leave it out with --columns" if empty else ""
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


def check_rows(table: FileTable, purpose: str) -> None:
    """Refuse a table that has too few rows, or numbers that cannot be used."""
    count = len(table.frame)
    if count < 2:
        left = " without missing values" if table.dropped else ""
        raise ValueError(
            f"{table.path} has {pluralise(count, 'row')}{left}; at least 2 are needed {purpose}."
        )
    check_numbers(table)
