"""Tables of ``pkex drift`` and ``pkex depend``: all rows, or beyond a size a sample of them.

The statistics take time with the square of the number of rows. A sample is drawn evenly from all
rows of the file, before they are read, and kept while reading: rows in a block of the file would
be those of one day or one customer where a file has an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pkex._util.words import counted
from pkex.cli import _tables
from pkex.cli._session import Session
from pkex.tables.files import Dialect, FileTable

__all__ = ["ALL", "SAMPLE", "read", "sample_size"]

SAMPLE = 10_000  # rows of a table that are taken by default
ALL = "all"


def sample_size(text: str | None, block_size: int | None) -> int | None:
    """Return how many rows of a table to take at most; None for all.

    Blocks take all rows, as their means cost no more than in proportion to these.

    Examples
    --------
    >>> sample_size(None, None), sample_size(None, 2000), sample_size("all", None)
    (10000, None, None)
    """
    if text is None:
        return SAMPLE if block_size is None else None
    if text == ALL:
        return None
    if not text.isdecimal() or int(text) < 2:
        raise ValueError(f"--sample {text!r} cannot be read: give a number of rows, or all.")
    return int(text)


def read(
    path: Path,
    dialect: Dialect,
    columns: Sequence[str],
    drop_missing: bool,
    size: int | None,
    seed: int,
    session: Session,
    number: int = 0,
) -> FileTable:
    """Return the rows of a file to compute a statistic of, and say so when they are a sample.

    Missing values are refused wherever they are in the columns that are used: in `columns`, or in
    all that are numbers or categories. What is dropped for them is dropped from the sample. Tables
    with another `number` have other rows drawn, so that those of two tables are independent.
    """
    stream = None if size is None else _tables.long_table(path, dialect)
    if stream is None:
        table = _tables.read(path, dialect)
        total, kinds = table.total, table.kinds
        missing = {name: int(count) for name, count in table.frame.isna().sum().items()}
    else:
        total, kinds, missing = stream.total, stream.kinds, stream.missing
    if size is None or total <= size:
        return table if stream is None else _tables.picked_rows(stream, None)
    if not drop_missing:
        used = columns or [name for name in kinds if kinds[name] != "other"]
        _tables.refuse_missing(path, total, {n: missing[n] for n in used if n in missing})
    rows = np.sort(np.random.default_rng([seed, number]).choice(total, size, replace=False))
    session.note(
        f"{path}: {counted(size, 'row')} of {total} are taken, a sample drawn evenly (seed "
        f"{seed}); --sample N takes more, --sample all every row, and --block-size N averages over "
        "blocks of all rows in random order, with standard errors."
    )
    return replace(table, frame=table.frame.iloc[rows]) if stream is None else stream.pick(rows)
