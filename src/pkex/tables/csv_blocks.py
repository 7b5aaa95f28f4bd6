"""A CSV file in blocks of its text, whose columns have the types they have if it is read whole.

Arrow takes the first type in a fixed order (integer, boolean, date, time, timestamp, number, text)
that all cells of a column can be read as. Where the first block of a file has types that all others
can be read as, these are the ones: its cells rule out those before. Else every block is asked for
its types, and the later ones in the order are tried until all blocks can be read as one. A column
of text tries nothing.
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

from pkex.tables.files import (
    INTEGER,
    Dialect,
    find_delimiter,
    no_csv,
    no_encoding,
    no_text,
    refuse_twice,
    without_unnamed,
)
from pkex.tables.kinds import first_rounded
from pkex.tables.quotes import LineBreaks, Lines, find_line_breaks, refuse_unclosed

__all__ = ["CsvBlocks"]

_BLOCK = 2**22  # bytes that are read at once, the longest line
_IS_OTHER_TYPE = "conversion error"  # in what Arrow says of a cell


@dataclass(frozen=True, eq=False)
class CsvBlocks:
    """A CSV file with the types of its columns, in blocks of its text, and its line breaks."""

    path: Path
    dialect: Dialect
    delimiter: str
    types: dict[str, Any] = field(default_factory=dict)
    line_breaks: LineBreaks | None = None

    @classmethod
    def of(cls, path: Path, dialect: Dialect) -> CsvBlocks:
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
        file = cls(path, dialect, find_delimiter(head, dialect))
        with file._open({}) as reader:
            schema = reader.schema
        refuse_twice(path, schema.names)
        first = {column.name: column.type for column in schema}
        first |= {name: pyarrow.string() for name in dialect.categorical if name in first}
        file, lines = replace(file, types=first), Lines()
        n_rows = file._count_rows(first, lines=lines)
        if n_rows is None:
            file, lines = replace(file, types=file._infer_types(first)), Lines()
            n_rows = file._count_rows(file.types, lines=lines) or 0
        batches = file._batches(file.types)
        line_breaks = find_line_breaks(path, lines, n_rows, file.delimiter, file._texts(), batches)
        return replace(file, line_breaks=line_breaks)

    def tables(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Yield the rows as tables, with what to call the columns that have no name."""
        for batch in self._batches(self.types):
            yield without_unnamed(batch)

    def long_integers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the columns of integers beyond 64 bits, and the first that float64 rounds."""
        import pyarrow
        from pyarrow import compute

        long_integers: dict[str, int] = {}
        for name in names:
            integers = True
            for batch in self._batches({name: pyarrow.string()}, [name]):
                cells = batch.column(0).drop_null()
                integers = compute.all(compute.match_substring_regex(cells, INTEGER)).as_py() in (
                    True,
                    None,
                )
                if not integers:
                    long_integers.pop(name, None)
                    break
                numbers = [Decimal(cell) for cell in cells.to_pylist()]
                rounded = first_rounded(np.array(numbers, dtype=object))
                if rounded is not None:
                    long_integers.setdefault(name, rounded[1])
        return long_integers

    @contextmanager
    def _open(
        self, types: dict[str, Any], columns: Sequence[str] = (), lines: Lines | None = None
    ) -> Iterator[Any]:
        """Give a reader of the file in blocks; what goes wrong in it is no CSV."""
        import pyarrow
        import pyarrow.csv

        with _Utf8(self.path, self.dialect.encoding, lines) as text:
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
                if _IS_OTHER_TYPE not in str(error):
                    refuse_unclosed(self.path, self.delimiter, self._texts())
                raise no_csv(self.path, error) from error
            except (TypeError, ValueError) as error:
                if text.error is not None:  # what is wrong with the text was said there
                    raise text.error from None
                raise ValueError(f"{self.path} cannot be read as CSV: {error}.") from error

    def _texts(self) -> Iterator[str]:
        """Yield the text."""
        with _Utf8(self.path, self.dialect.encoding) as text:
            while block := text.read(_BLOCK):
                yield block.decode()

    def _batches(
        self, types: dict[str, Any], columns: Sequence[str] = (), lines: Lines | None = None
    ) -> Iterator[Any]:
        """Yield the rows as tables of these types."""
        import pyarrow

        with self._open(types, columns, lines) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield pyarrow.Table.from_batches([batch])

    def _count_rows(
        self, types: dict[str, Any], columns: Sequence[str] = (), lines: Lines | None = None
    ) -> int | None:
        """Return the number of rows; None if cells cannot be read as these types.

        What is no CSV raises.
        """
        try:
            return sum(int(batch.num_rows) for batch in self._batches(types, columns, lines))
        except ValueError as error:
            if _IS_OTHER_TYPE in str(error):
                return None
            raise

    def _infer_types(self, first: dict[str, Any]) -> dict[str, Any]:
        """Return the types after asking every block for those of its own."""
        import io

        import pyarrow
        import pyarrow.csv

        kinds_of: dict[str, set[Any]] = {name: set() for name in first}
        fixed = set(self.dialect.categorical)
        texts = dict.fromkeys(first, pyarrow.string())
        for table in self._batches(texts):
            asked = [n for n in first if n not in fixed and pyarrow.string() not in kinds_of[n]]
            if not asked:
                break
            text = io.BytesIO()
            pyarrow.csv.write_csv(table.select(asked), text)
            inferred = pyarrow.csv.read_csv(
                pyarrow.BufferReader(text.getvalue()),
                read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=2**31 - 1),
                parse_options=pyarrow.csv.ParseOptions(
                    newlines_in_values=True, ignore_empty_lines=False
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    strings_can_be_null=True, decimal_point=self.dialect.decimal
                ),
            )
            for column in inferred.schema:
                kinds_of[column.name].add(column.type)
        order = _order()
        types = {}
        for name, kinds in kinds_of.items():
            kinds.discard(pyarrow.null())
            if name in fixed:
                types[name] = pyarrow.string()
            elif len(kinds) < 2:
                types[name] = kinds.pop() if kinds else pyarrow.null()
            else:
                latest = max(order.index(kind) for kind in kinds)
                later = order[latest:-1]
                fitting = (k for k in later if self._count_rows({name: k}, [name]) is not None)
                types[name] = next(fitting, order[-1])
        return types


def _order() -> list[Any]:
    """Return the types in the order in which Arrow tries them."""
    import pyarrow

    times = [pyarrow.date32(), pyarrow.time32("s"), pyarrow.timestamp("s")]
    zoned = [pyarrow.timestamp("s", "UTC"), pyarrow.timestamp("ns"), pyarrow.timestamp("ns", "UTC")]
    integers = [pyarrow.int64(), pyarrow.bool_()]
    return [*integers, *times, *zoned, pyarrow.float64(), pyarrow.string()]


class _Utf8:
    """The text of a file as UTF-8, for Arrow to read; it is checked on the way."""

    def __init__(self, path: Path, encoding: str, lines: Lines | None = None) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise no_encoding(encoding) from None
        self._path, self._encoding, self._line, self._start = path, encoding, 1, True
        self._lines = lines
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
                undecoded = before + data
                line = self._line + undecoded.count(b"\n", 0, error.start)
                byte = undecoded[error.start]
                raise no_text(self._path, self._encoding, line, byte) from error
            if "\0" in text:
                raise ValueError(
                    f"{self._path} is neither CSV nor Parquet: it has zero bytes in it."
                )
            self._line += data.count(b"\n")
            if self._start and text:
                text, self._start = text.removeprefix("\ufeff"), False
            if self._lines is not None:
                self._lines.add(text)
            if text or not data:
                return text.encode()
