"""Tables from CSV and Parquet files, with their columns told apart.

CSV is read strictly: a ragged line, a quote that is never closed, a byte that is not of the
encoding or a name that stands twice is refused, where a lenient reader would fill, replace or
rename.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.words import join_names
from pkex.tables.kinds import Kind, first_rounded, is_arrow_text, kind_of_arrow
from pkex.tables.quotes import LineBreaks, Lines, find_line_breaks, refuse_unclosed

__all__ = [
    "INTEGER",
    "Dialect",
    "FileTable",
    "classify_columns",
    "find_delimiter",
    "no_csv",
    "no_encoding",
    "no_text",
    "read_file",
    "refuse_no_file",
    "refuse_twice",
    "without_labels",
    "without_unnamed",
]

_DELIMITERS = ",;\t|"
INTEGER = r"^\s*[+-]?\d+\s*$"


@dataclass(frozen=True)
class Dialect:
    """How to read files: what cannot be seen from them, or not surely."""

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    categorical: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table from a file, and what was done to it.

    Attributes
    ----------
    path : Path
    frame : pandas.DataFrame
        The index is the number of the row in the file, from 0.
    kinds : dict of str to str
        "numeric", "categorical", "date" or "other" (lists, ...) of each column.
    total : int
        Number of rows of the file.
    ignored : tuple of str
        Columns of the file that were left out.
    dropped : int
        How many rows were left out because of missing values.
    rounded : dict of str to int
        Numeric columns with an integer that float64 does not hold, and the first such integer.
    line_breaks : LineBreaks or None
        Cells of a CSV file that have line breaks, if they are few.
    """

    path: Path
    frame: Any
    kinds: dict[str, Kind]
    total: int
    ignored: tuple[str, ...] = ()
    dropped: int = 0
    rounded: dict[str, int] = field(default_factory=dict)
    line_breaks: LineBreaks | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    def of_kind(self, kind: Kind) -> list[str]:
        """Return the names of the columns of one kind."""
        return [name for name in self.names if self.kinds[name] == kind]

    def take(self, names: Sequence[str]) -> FileTable:
        """Return the table with these columns, in this order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ValueError(
                f"{self.path} has no column {join_names(missing)}; it has {join_names(self.names)}."
            )
        left_out = tuple(name for name in self.names if name not in names)
        return replace(self, frame=self.frame[list(names)], ignored=(*self.ignored, *left_out))

    def without(self, name: str) -> FileTable:
        """Return the table without a column."""
        return replace(self, frame=self.frame.drop(columns=name))


def read_file(path: Path, dialect: Dialect) -> FileTable:
    """Return the table in a CSV (also gzipped) or Parquet file.

    Raises
    ------
    UnicodeError
        For a CSV that is not text in the encoding of the dialect.
    ValueError
        For another kind of file, or a damaged or ragged one, or one without rows, or with a column
        name twice.
    """
    refuse_no_file(path)
    data = path.read_bytes()
    line_breaks = None
    if data[:4] == b"PAR1":
        table, unnamed = _parquet(path, data, dialect.categorical)
    else:
        table, line_breaks = _csv(path, data, dialect)
        table, unnamed = without_unnamed(table)
    refuse_twice(path, table.column_names)
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows, only the names of columns.")
    classified = classify_columns(path, table, unnamed, dialect.categorical)
    return replace(classified, line_breaks=line_breaks)


def refuse_no_file(path: Path) -> None:
    """Refuse a directory, and what is not there."""
    if path.is_dir():
        raise ValueError(f"{path} is a directory, but a CSV or Parquet file is needed.")
    if not path.exists():
        raise ValueError(f"there is no file {path}.")


def refuse_twice(path: Path, names: Sequence[str]) -> None:
    """Refuse names of columns that stand twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{path} has more than one column named {join_names(twice)}: rename them, as names of "
            "columns must differ."
        )


def _parquet(path: Path, data: bytes, as_text: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data)).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} is a damaged Parquet file ({error}).") from error
    refuse_twice(path, table.column_names)
    return without_labels(table, as_text)


def without_labels(table: Any, as_text: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """Return a table of Parquet without the index of a pandas frame, whose names come second."""
    pandas = table.schema.pandas_metadata or {}
    labels = tuple(name for name in pandas.get("index_columns", []) if name in table.column_names)
    categories = [  # which come back as plain numbers where they are numbers
        column.get("field_name")
        for column in pandas.get("columns", [])
        if column.get("pandas_type") == "categorical"
    ]
    for i, name in enumerate(table.column_names):
        if name in categories and name not in as_text:
            table = table.set_column(i, name, table.column(i).dictionary_encode())
    return table.drop_columns(list(labels)), labels


def _csv(path: Path, data: bytes, dialect: Dialect) -> tuple[Any, LineBreaks | None]:
    import pyarrow
    import pyarrow.csv

    text = _decode(path, data, dialect.encoding)
    if not text.strip():
        raise ValueError(f"{path} is empty: a line with names and at least one row are needed.")
    delimiter = find_delimiter(text, dialect)
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(text.encode()),
            # with one thread errors have the number of the line
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                strings_can_be_null=True,
                decimal_point=dialect.decimal,
                column_types=dict.fromkeys(dialect.categorical, pyarrow.string()),
            ),
        )
    except pyarrow.ArrowInvalid as error:
        refuse_unclosed(path, delimiter, [text])
        raise no_csv(path, error) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}.") from error
    lines = Lines()
    if '"' in text:  # else no cell has line breaks
        lines.add(text)
    batches = table.to_batches()
    line_breaks = find_line_breaks(path, lines, table.num_rows, delimiter, [text], batches)
    return _with_long_integers(table, text, delimiter), line_breaks


def without_unnamed(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a table of CSV without the columns that have no name, and what to call these."""
    unnamed = [i for i, name in enumerate(table.column_names) if not name.strip()]
    for i in reversed(unnamed):
        table = table.remove_column(i)
    return table, tuple(f"(column {i + 1}, without a name)" for i in unnamed)


def no_csv(path: Path, error: Exception) -> ValueError:
    """Return the sentence about what Arrow cannot read as CSV."""
    reason = str(error).removeprefix("CSV parse error: ")
    if "Expected" in reason and "columns" in reason:
        reason = reason.replace("Row #", "line ").replace("Expected", "expected")
        return ValueError(f"{path} is ragged: {_cut(reason)}.")
    if "straddl" in reason:
        return ValueError(
            f"{path} cannot be read as CSV: it has a row of a million letters or more. Look for a "
            "quote that is closed too late."
        )
    return ValueError(f"{path} cannot be read as CSV: {_cut(reason)}.")


def _with_long_integers(table: Any, text: str, delimiter: str) -> Any:
    """Return the table with integers beyond 64 bits as decimals, where Arrow makes them floats."""
    import pyarrow
    import pyarrow.csv
    from pyarrow import compute

    for i, column in enumerate(table.schema):
        if column.type != pyarrow.float64() or table.column_names.count(column.name) > 1:
            continue
        largest = compute.max(compute.abs(table.column(i))).as_py()
        if largest is None or not 2.0**63 <= largest < 1e38:
            continue
        as_text = pyarrow.csv.read_csv(
            pyarrow.BufferReader(text.encode()),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=[column.name],
                strings_can_be_null=True,
                column_types={column.name: pyarrow.string()},
            ),
        ).column(0)
        if compute.all(compute.match_substring_regex(as_text, INTEGER)).as_py():
            decimals = [None if cell is None else Decimal(cell) for cell in as_text.to_pylist()]
            numbers = pyarrow.array(decimals, pyarrow.decimal128(38))
            table = table.set_column(i, column.name, pyarrow.chunked_array([numbers]))
    return table


def _decode(path: Path, data: bytes, encoding: str) -> str:
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip file ({error}).") from error
    if data[:4] == b"PK\x03\x04":
        raise ValueError(
            f"{path} is a spreadsheet or an archive, neither CSV nor Parquet: export it as CSV."
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise no_text(path, encoding, line, data[error.start]) from error
    except LookupError:
        raise no_encoding(encoding) from None
    if "\0" in text:
        raise ValueError(f"{path} is neither CSV nor Parquet: it has zero bytes in it.")
    return text.removeprefix("\ufeff")


def no_text(path: Path, encoding: str, line: int, byte: int) -> UnicodeError:
    """Return the sentence about a byte that is not of the encoding."""
    return UnicodeError(
        f"{path} is not text in {encoding} (line {line} has the byte 0x{byte:02x}): save it as "
        "UTF-8, or name its encoding."
    )


def no_encoding(encoding: str) -> ValueError:
    """Return the sentence about an encoding that there is not."""
    return ValueError(f"there is no encoding {encoding!r}; try e.g. utf-8 or latin-1.")


def find_delimiter(text: str, dialect: Dialect) -> str:
    """Return what separates the names in the first line, a comma if in doubt."""
    if dialect.delimiter:
        return dialect.delimiter.replace("\\t", "\t")
    head = text.lstrip("\r\n").split("\n", 1)[0]
    outside = "".join(head.split('"')[::2])  # of quotes
    return max(_DELIMITERS, key=outside.count)


def classify_columns(
    path: Path, table: Any, unnamed: tuple[str, ...], categorical: Sequence[str]
) -> FileTable:
    """Return the table with the kind of each column, and the columns as pandas has them."""
    import pyarrow
    from pyarrow import types

    kinds: dict[str, Kind] = {}
    rounded: dict[str, int] = {}
    for i, column in enumerate(table.schema):
        name, values = column.name, table.column(i)
        if name in categorical:
            kinds[name] = "categorical"
            if not is_arrow_text(column.type):
                table = table.set_column(i, name, values.cast(pyarrow.string()))
            continue
        kinds[name] = kind_of_arrow(column.type)
        if types.is_integer(column.type):
            rounded |= _find_rounded(name, values.drop_null().to_numpy())
        elif types.is_decimal(column.type):
            rounded |= _find_rounded(name, np.array(values.drop_null().to_pylist(), dtype=object))
            table = table.set_column(i, name, values.cast(pyarrow.float64()))
    frame = table.to_pandas(ignore_metadata=True)
    return FileTable(path, frame, kinds, table.num_rows, unnamed, rounded=rounded)


def _find_rounded(name: str, numbers: NDArray[Any]) -> dict[str, int]:
    rounded = first_rounded(numbers)
    return {} if rounded is None else {name: rounded[1]}


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"
