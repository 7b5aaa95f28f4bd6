"""Tables from files that are too long for memory: what a file holds, and its rows in chunks.

A file is gone through twice: first for the kinds of its columns, how many rows it has and where
cells are missing (`FileStream.of`), then for the rows. Every chunk has the columns as they would be
if the file were read whole by `read_file`:

- The columns of a CSV file have the types that they have in all blocks: see `CsvBlocks`.
- An integer column with missing cells is one of floating-point numbers, wherever they are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex.tables.csv_blocks import CsvBlocks
from pkex.tables.files import (
    Dialect,
    FileTable,
    classify_columns,
    refuse_no_file,
    refuse_twice,
    without_labels,
)
from pkex.tables.kinds import Kind
from pkex.tables.quotes import LineBreaks

__all__ = ["FileStream", "is_small"]

MAX_LEVELS = 10_000  # different categories that are counted
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
        "numeric", "categorical", "date" or "other" of each column.
    total : int
        Number of rows.
    ignored : tuple of str
        Columns of the file that are labels of rows.
    missing : dict of str to int
        How many cells are missing in each column.
    levels : dict of str to int or None
        How many different values each categorical column has; None beyond 10 000.
    rounded : dict of str to int
    line_breaks : LineBreaks or None
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
    line_breaks: LineBreaks | None
    _file: CsvBlocks | _Parquet

    @classmethod
    def of(cls, path: Path, dialect: Dialect) -> FileStream:
        """Go through a CSV (also gzipped) or Parquet file; refuse what `read_file` refuses."""
        refuse_no_file(path)
        with path.open("rb") as opened:
            is_parquet = opened.read(4) == b"PAR1"
        file: CsvBlocks | _Parquet
        file = _Parquet(path, dialect) if is_parquet else CsvBlocks.of(path, dialect)
        facts = _ColumnFacts()
        ignored: tuple[str, ...] = ()
        for table, labels in file.tables():
            facts.add(classify_columns(path, table, labels, dialect.categorical), table)
            ignored = labels
        if facts.total == 0:
            raise ValueError(f"{path} has no rows, only the names of columns.")
        rounded = facts.rounded | file.long_integers(facts.huge)
        levels = {name: None if f is None else len(f) for name, f in facts.levels.items()}
        names = tuple(facts.kinds)
        return cls(
            path,
            names,
            facts.kinds,
            facts.total,
            ignored,
            facts.missing,
            levels,
            rounded,
            file.line_breaks,
            file,
        )

    def header(self) -> FileTable:
        """Return the table without its rows."""
        import pandas

        frame = pandas.DataFrame(columns=list(self.names))
        table = FileTable(self.path, frame, self.kinds, self.total, self.ignored)
        return replace(table, line_breaks=self.line_breaks)

    def chunks(self, n_rows: int) -> Iterator[FileTable]:
        """Yield the table in chunks of so many rows, numbered as in the file."""
        dialect, start = self._file.dialect, 0
        for table, labels in _regroup(self._file.tables(), n_rows):
            chunk = classify_columns(self.path, table, labels, dialect.categorical)
            frame = chunk.frame
            for name, column in frame.items():
                if self.missing[name] and column.dtype.kind in "iub":
                    frame[name] = column.astype(object if column.dtype.kind == "b" else np.float64)
            frame.index = frame.index + start
            start += len(frame)
            yield replace(
                chunk,
                frame=frame,
                total=self.total,
                rounded=self.rounded,
                line_breaks=self.line_breaks,
            )

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


class _ColumnFacts:
    """What is known after some chunks of a file."""

    def __init__(self) -> None:
        self.total = 0
        self.kinds: dict[str, Kind] = {}
        self.missing: dict[str, int] = {}
        self.levels: dict[str, set[Any] | None] = {}
        self.rounded: dict[str, int] = {}
        self.huge: set[str] = set()

    def add(self, chunk: FileTable, table: Any) -> None:
        """Take in a chunk, as told apart and as Arrow has it."""
        import pyarrow

        self.kinds = chunk.kinds
        self.total += chunk.total
        self.rounded = chunk.rounded | self.rounded  # the first stays
        for name in chunk.names:
            column = chunk.frame[name]
            self.missing[name] = self.missing.get(name, 0) + int(column.isna().sum())
            if chunk.kinds[name] == "categorical":
                known = self.levels.setdefault(name, set())
                if known is not None:
                    known.update(column.dropna().unique())
                    self.levels[name] = known if len(known) <= MAX_LEVELS else None
            elif table.schema.field(name).type == pyarrow.float64():
                largest = column.abs().max()
                if 2.0**63 <= largest < 1e38:
                    self.huge.add(name)


def _regroup(tables: Iterable[tuple[Any, tuple[str, ...]]], n_rows: int) -> Iterator[Any]:
    """Yield the tables in pieces of `n_rows` rows, the last one shorter."""
    import pyarrow

    waiting: list[Any] = []
    count = 0
    for table, labels in tables:
        waiting.append(table)
        count += table.num_rows
        while count >= n_rows:
            joined = pyarrow.concat_tables(waiting)
            yield joined.slice(0, n_rows), labels
            waiting = [joined.slice(n_rows)]
            count -= n_rows
    if count:
        yield pyarrow.concat_tables(waiting), labels


@dataclass(frozen=True, eq=False)
class _Parquet:
    """A Parquet file, in batches of its row groups."""

    path: Path
    dialect: Dialect
    line_breaks: None = None  # there are no quotes to forget

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
