"""Tables from files that are too long for memory: what a file holds, and its rows in chunks.

A file is gone through twice: first for the kinds of its columns, how many rows it has and where
cells are missing (`FileStream.of`), then for the rows. Every chunk has the columns as they would be
if the file were read whole by `read_file`:

- Arrow takes the first kind in a fixed order (integer, boolean, date, time, timestamp, number,
  text) that all cells of a CSV column can be read as. Where the first block of a file has kinds
  that all others can be read as, these are the ones: its cells rule out the kinds before. Else
  every block is asked for its kinds, and the later ones in the order are tried until all blocks can
  be read as one. A column of text tries nothing.
- An integer column with missing cells is one of floating-point numbers, wherever they are missing.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._validation import first_rounded
from pkex.tables.files import (
    INTEGER,
    Dialect,
    FileTable,
    delimiter_of,
    no_csv,
    no_encoding,
    no_text,
    refuse_no_file,
    refuse_twice,
    told_apart,
    without_labels,
    without_unnamed,
)
from pkex.tables.kinds import Kind

__all__ = ["FileStream", "is_small"]

MAX_LEVELS = 10_000  # different categories that are counted
_BLOCK = 2**22  # bytes of CSV that are read at once, the longest line
_SMALL = 2**24  # bytes of a file that is read whole without a thought
_PACKED = 2**18  # and of a compressed one, which may be a thousand times as long
_CELLS = 2**21  # and cells of a Parquet file
_BATCH = 2**14  # rows of Parquet that are read at once


@dataclass(frozen=True, eq=False)
class FileStream:
    """A file whose rows are read in chunks, and what is known of it as a whole.

    Attributes
    ----------
    path : Path
    names : tuple of str
        The columns, without labels of rows.
    kinds : dict of str to str
        "numeric", "categorical" or "other" of each column.
    total : int
        Number of rows.
    ignored : tuple of str
        Columns of the file that are labels of rows.
    missing : dict of str to int
        How many cells are missing in each column.
    levels : dict of str to int or None
        How many different values each categorical column has; None beyond 10 000.
    rounded : dict of str to int
        As in `FileTable`.
    """

    path: Path
    names: tuple[str, ...]
    kinds: dict[str, Kind]
    total: int
    ignored: tuple[str, ...]
    missing: dict[str, int]
    levels: dict[str, int | None]
    rounded: dict[str, int]
    _file: _Csv | _Parquet

    @classmethod
    def of(cls, path: Path, dialect: Dialect) -> FileStream:
        """Go through a CSV (also gzipped) or Parquet file; refuse what `read_file` refuses."""
        refuse_no_file(path)
        with path.open("rb") as opened:
            is_parquet = opened.read(4) == b"PAR1"
        file: _Csv | _Parquet
        file = _Parquet(path, dialect) if is_parquet else _Csv.of(path, dialect)
        seen = _Seen()
        ignored: tuple[str, ...] = ()
        for table, labels in file.tables():
            seen.add(told_apart(path, table, labels, dialect.categorical), table)
            ignored = labels
        if seen.total == 0:
            raise ValueError(f"{path} has no rows, only the names of columns.")
        rounded = seen.rounded | file.long_integers(seen.huge)
        levels = {name: None if f is None else len(f) for name, f in seen.levels.items()}
        names = tuple(seen.kinds)
        return cls(
            path, names, seen.kinds, seen.total, ignored, seen.missing, levels, rounded, file
        )

    def chunks(self, n_rows: int, columns: Sequence[str] | None = None) -> Iterator[FileTable]:
        """Yield the table in chunks of so many rows, numbered as in the file."""
        dialect, start = self._file.dialect, 0
        for table, labels in _regrouped(self._file.tables(), n_rows):
            if columns is not None:
                table = table.select(list(columns))
            found = told_apart(self.path, table, labels, dialect.categorical)
            frame = found.frame
            for name, column in frame.items():
                if self.missing[name] and column.dtype.kind in "iub":
                    frame[name] = column.astype(object if column.dtype.kind == "b" else np.float64)
            frame.index = frame.index + start
            start += len(frame)
            yield replace(found, frame=frame, total=self.total, rounded=self.rounded)

    def pick(self, positions: NDArray[np.intp]) -> FileTable:
        """Return the table of some rows, given by their numbers in rising order."""
        import pandas

        parts, last = [], 0
        for chunk in self.chunks(_BATCH):
            stop = last + len(chunk.frame)
            inside = positions[np.searchsorted(positions, last) : np.searchsorted(positions, stop)]
            if inside.size:
                parts.append(replace(chunk, frame=chunk.frame.iloc[inside - last]))
            last = stop
        frame = pandas.concat([part.frame for part in parts])
        return replace(parts[0], frame=frame)


def is_small(path: Path) -> bool:
    """Tell whether a file may be read whole without a thought to memory."""
    if not path.is_file():
        return True  # and refused there
    with path.open("rb") as opened:
        head = opened.read(4)
    if head == b"PAR1":
        import pyarrow
        import pyarrow.parquet

        try:
            facts = pyarrow.parquet.read_metadata(path)
        except (pyarrow.ArrowException, OSError):
            return True  # and refused there
        return bool(facts.num_rows * facts.num_columns <= _CELLS)
    packed = head[:2] == b"\x1f\x8b"
    return path.stat().st_size <= (_PACKED if packed else _SMALL)


class _Seen:
    """What is known after some chunks of a file."""

    def __init__(self) -> None:
        self.total = 0
        self.kinds: dict[str, Kind] = {}
        self.missing: dict[str, int] = {}
        self.levels: dict[str, set[Any] | None] = {}
        self.rounded: dict[str, int] = {}
        self.huge: set[str] = set()

    def add(self, found: FileTable, table: Any) -> None:
        """Take in a chunk, as told apart and as Arrow has it."""
        import pyarrow

        self.kinds = found.kinds
        self.total += found.total
        self.rounded = found.rounded | self.rounded  # the first stays
        for name in found.names:
            column = found.frame[name]
            self.missing[name] = self.missing.get(name, 0) + int(column.isna().sum())
            if found.kinds[name] == "categorical":
                known = self.levels.setdefault(name, set())
                if known is not None:
                    known.update(column.dropna().unique())
                    self.levels[name] = known if len(known) <= MAX_LEVELS else None
            elif table.schema.field(name).type == pyarrow.float64():
                largest = column.abs().max()
                if 2.0**63 <= largest < 1e38:
                    self.huge.add(name)


def _regrouped(tables: Iterable[tuple[Any, tuple[str, ...]]], n_rows: int) -> Iterator[Any]:
    """Yield the tables in pieces of `n_rows` rows, the last one shorter."""
    import pyarrow

    waiting: list[Any] = []
    count = 0
    for table, labels in tables:
        waiting.append(table)
        count += table.num_rows
        while count >= n_rows:
            whole = pyarrow.concat_tables(waiting)
            yield whole.slice(0, n_rows), labels
            waiting = [whole.slice(n_rows)]
            count -= n_rows
    if count:
        yield pyarrow.concat_tables(waiting), labels


@dataclass(frozen=True, eq=False)
class _Parquet:
    """A Parquet file, in batches of its row groups."""

    path: Path
    dialect: Dialect

    def tables(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Yield the rows as tables, with the names of the columns that are labels."""
        import pyarrow
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(self.path, pre_buffer=False) as file:
                schema = file.schema_arrow
                refuse_twice(self.path, schema.names)
                for batch in file.iter_batches(_BATCH):
                    table = pyarrow.Table.from_batches([batch]).replace_schema_metadata(
                        schema.metadata
                    )
                    yield without_labels(table, self.dialect.categorical)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self.path} is a damaged Parquet file ({error}).") from error

    def long_integers(self, names: Iterable[str]) -> dict[str, int]:  # noqa: ARG002
        """Return none: Parquet says which of its columns are integers."""
        return {}


@dataclass(frozen=True, eq=False)
class _Csv:
    """A CSV file with the types of its columns, in blocks of its text."""

    path: Path
    dialect: Dialect
    delimiter: str
    types: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, dialect: Dialect) -> _Csv:
        """Find the types of the columns that they have if the file is read whole."""
        import pyarrow

        with _Utf8(path, dialect.encoding) as text:
            head = text.read(_BLOCK).decode()
        if head[:4] == "PK\x03\x04":
            raise ValueError(
                f"{path} is a spreadsheet or an archive, neither CSV nor Parquet: export it as CSV."
            )
        if not head.strip():
            raise ValueError(f"{path} is empty: a line with names and at least one row are needed.")
        file = cls(path, dialect, delimiter_of(head, dialect))
        with file._opened({}) as reader:
            schema = reader.schema
        refuse_twice(path, schema.names)
        first = {column.name: column.type for column in schema}
        first |= {name: pyarrow.string() for name in dialect.categorical if name in first}
        file = replace(file, types=first)
        if file._can_be(first):
            return file
        return replace(file, types=file._inferred(first))

    def tables(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Yield the rows as tables, with what to call the columns that have no name."""
        for batch in self._batches(self.types):
            yield without_unnamed(batch)

    def long_integers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the columns of integers beyond 64 bits, and the first that float64 rounds."""
        import pyarrow
        from pyarrow import compute

        found: dict[str, int] = {}
        for name in names:
            whole = True
            for batch in self._batches({name: pyarrow.string()}, [name]):
                cells = batch.column(0).drop_null()
                whole = compute.all(compute.match_substring_regex(cells, INTEGER)).as_py() in (
                    True,
                    None,
                )
                if not whole:
                    found.pop(name, None)
                    break
                numbers = [Decimal(cell) for cell in cells.to_pylist()]
                rounded = first_rounded(np.array(numbers, dtype=object))
                if rounded is not None:
                    found.setdefault(name, rounded[1])
        return found

    @contextmanager
    def _opened(self, types: dict[str, Any], columns: Sequence[str] = ()) -> Iterator[Any]:
        """Give a reader of the file in blocks; what goes wrong in it is no CSV."""
        import pyarrow
        import pyarrow.csv

        with _Utf8(self.path, self.dialect.encoding) as text:
            try:
                with pyarrow.csv.open_csv(
                    text,
                    read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
                    parse_options=pyarrow.csv.ParseOptions(
                        delimiter=self.delimiter, newlines_in_values=True
                    ),
                    convert_options=pyarrow.csv.ConvertOptions(
                        strings_can_be_null=True,
                        decimal_point=self.dialect.decimal,
                        column_types=types,
                        include_columns=list(columns),
                    ),
                ) as reader:
                    yield reader
            except pyarrow.ArrowInvalid as error:
                raise no_csv(self.path, error) from error
            except (TypeError, ValueError) as error:
                if text.error is not None:  # what is wrong with the text was said there
                    raise text.error from None
                raise ValueError(f"{self.path} cannot be read as CSV: {error}.") from error

    def _batches(self, types: dict[str, Any], columns: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the rows as tables of these types."""
        import pyarrow

        with self._opened(types, columns) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield pyarrow.Table.from_batches([batch])

    def _can_be(self, types: dict[str, Any], columns: Sequence[str] = ()) -> bool:
        """Tell whether all cells can be read as these types; what is no CSV raises."""
        try:
            for _ in self._batches(types, columns):
                pass
        except ValueError as error:
            if "conversion error" in str(error):
                return False
            raise
        return True

    def _inferred(self, first: dict[str, Any]) -> dict[str, Any]:
        """Return the types after asking every block for those of its own."""
        import io

        import pyarrow
        import pyarrow.csv

        found: dict[str, set[Any]] = {name: set() for name in first}
        fixed = set(self.dialect.categorical)
        texts = dict.fromkeys(first, pyarrow.string())
        for table in self._batches(texts):
            asked = [n for n in first if n not in fixed and pyarrow.string() not in found[n]]
            if not asked:
                break
            text = io.BytesIO()
            pyarrow.csv.write_csv(table.select(asked), text)
            own = pyarrow.csv.read_csv(
                pyarrow.BufferReader(text.getvalue()),
                read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=2**31 - 1),
                parse_options=pyarrow.csv.ParseOptions(
                    newlines_in_values=True, ignore_empty_lines=False
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    strings_can_be_null=True, decimal_point=self.dialect.decimal
                ),
            )
            for column in own.schema:
                found[column.name].add(column.type)
        order = _order()
        types = {}
        for name, kinds in found.items():
            kinds.discard(pyarrow.null())
            if name in fixed:
                types[name] = pyarrow.string()
            elif len(kinds) < 2:
                types[name] = kinds.pop() if kinds else pyarrow.null()
            else:
                latest = max(order.index(kind) for kind in kinds)
                fitting = (k for k in order[latest:-1] if self._can_be({name: k}, [name]))
                types[name] = next(fitting, order[-1])
        return types


def _order() -> list[Any]:
    """Return the types in the order in which Arrow tries them."""
    import pyarrow

    times = [pyarrow.date32(), pyarrow.time32("s"), pyarrow.timestamp("s")]
    zoned = [pyarrow.timestamp("s", "UTC"), pyarrow.timestamp("ns"), pyarrow.timestamp("ns", "UTC")]
    whole = [pyarrow.int64(), pyarrow.bool_()]
    return [*whole, *times, *zoned, pyarrow.float64(), pyarrow.string()]


class _Utf8:
    """The text of a file as UTF-8, for Arrow to read; it is checked on the way."""

    def __init__(self, path: Path, encoding: str) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise no_encoding(encoding) from None
        self._path, self._encoding, self._lines, self._start = path, encoding, 1, True
        self.error: ValueError | None = None
        with path.open("rb") as opened:
            packed = opened.read(2) == b"\x1f\x8b"
        self._file: Any = gzip.open(path) if packed else path.open("rb")  # noqa: SIM115

    def __enter__(self) -> _Utf8:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        """Return some text; nothing only at the end of the file."""
        try:
            return self._read(min(size, _BLOCK) if size >= 0 else _BLOCK)
        except ValueError as error:
            self.error = error
            raise

    def _read(self, size: int) -> bytes:
        while True:
            try:
                data = self._file.read(size)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(f"{self._path} is a damaged gzip file ({error}).") from error
            before = self._decoder.getstate()[0]
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                found = before + data
                line = self._lines + found.count(b"\n", 0, error.start)
                byte = found[error.start]
                raise no_text(self._path, self._encoding, line, byte) from error
            if "\0" in text:
                raise ValueError(
                    f"{self._path} is neither CSV nor Parquet: it has zero bytes in it."
                )
            self._lines += data.count(b"\n")
            if self._start and text:
                text, self._start = text.removeprefix("\ufeff"), False
            if text or not data:
                return text.encode()
