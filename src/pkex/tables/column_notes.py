"""What a table holds, and notes on columns that make a statistic misleading.

The notes are on numbers read as text, where every value is a category; row numbers, which differ
between any two tables; rows dropped from one table more often than from the other; rows that a
quote closed too late makes part of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pkex._util.words import join_names, pluralise
from pkex.tables.files import FileTable

__all__ = [
    "describe_table",
    "note_columns",
    "note_dates",
    "note_dropped_rows",
    "note_line_breaks",
    "note_target",
]

_MOSTLY = 0.9  # share of cells that look like numbers
_FEW_ROWS = 20  # too few to judge by
_CODES = 20  # different integers up to which a target may be one of codes
_CLEAR = 3.0  # standard deviations


def describe_table(
    table: FileTable, n_rows: int | None = None, levels: Mapping[str, int | None] | None = None
) -> str:
    """Return the rows and columns of a table in a sentence.

    Of a table that is read in chunks, `n_rows` are the rows that are used and `levels` the numbers
    of different values, as in `FileStream`.
    """
    count = len(table.frame) if n_rows is None else n_rows
    rows = f"{count} of " * (count < table.total) + pluralise(table.total, "row")
    if table.dropped:
        rows += f" ({table.dropped} dropped for missing values)"
    categorical = []
    for name in table.of_kind("categorical"):
        size = table.frame[name].nunique() if levels is None else levels[name]
        values = "very many values" if size is None else pluralise(size, "value")
        categorical.append(f"{name} ({values})")
    columns = {
        "numeric": table.of_kind("numeric"),
        "categorical": categorical,
        "date": table.of_kind("date"),
        "ignored": table.ignored,
    }
    parts = [f"{kind}: {join_names(names)}" for kind, names in columns.items() if names]
    return "; ".join([f"{table.path}: {rows}", *parts]) + "."


def note_columns(*tables: FileTable, codes: Sequence[str] = ()) -> Iterator[str]:
    """Yield notes about columns of one table, or of two that are compared.

    Those of `codes` are categorical because an option says so.
    """
    for name in tables[0].names:
        parts = [table.frame[name].dropna() for table in tables]
        if name in codes or any(len(part) < _FEW_ROWS for part in parts):
            continue
        kinds = {table.kinds[name] for table in tables}
        if kinds == {"categorical"}:
            yield from _about_text(name, parts)
        elif kinds == {"numeric"} and _runs(parts):
            yield (
                f"{name} looks like a row number or a timestamp: its values ascend and all differ. "
                "Any two datasets differ in it; leave it out with --columns, unless you want to "
                "test it."
            )


def note_dates(table: FileTable) -> Iterator[str]:
    """Yield a note where dates are used: as what, and that two batches may differ in them."""
    names = table.of_kind("date")
    if names:
        have, them = ("is", "it") if len(names) == 1 else ("are", "them")
        yield (
            f"{join_names(names)} {have} used as days since 1970-01-01; leave {them} out with "
            "--exclude if datasets of different days are to be alike."
        )


def _about_text(name: str, parts: Sequence[Any]) -> Iterator[str]:
    """Yield notes about a column of categories."""
    from pandas import concat

    cells = concat(parts).astype(str)
    numbers = cells.map(_is_number)
    if _MOSTLY <= numbers.mean() < 1.0 or (numbers.all() and cells.str.contains(",").any()):
        other = cells[~numbers]
        why = f", as {other.iloc[0]!r} is not a number" if len(other) else " with a decimal comma"
        yield (
            f"{name} is read as text{why}, though {numbers.sum()} of {len(cells)} values look like "
            "numbers: every value is a category. Clean it first, or pass --decimal , for a decimal "
            "comma."
        )
    elif all(2 * part.nunique() > len(part) for part in parts):
        count = max(part.nunique() for part in parts)
        yield (
            f"{name} has {pluralise(count, 'different value')}, about one per row: as a "
            "categorical feature it carries almost no information; leave it out with --columns."
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.strip().lstrip("$€£").replace(",", ".", 1)))
    except ValueError:
        return False


def _runs(parts: Sequence[Any]) -> bool:
    """Tell whether the numbers of a column ascend and are all different, in every table."""
    return all(
        part.is_monotonic_increasing and part.is_unique and _even(part.to_numpy(dtype=float))
        for part in parts
    )


def _even(numbers: Any) -> bool:
    """Tell whether numbers are integers, as counters and clocks have them."""
    return bool((numbers == numbers.round()).all())


def note_dropped_rows(before: FileTable, after: FileTable) -> Iterator[str]:
    """Yield a note where missing values took many more rows from one table than from the other."""
    counts = [len(table.frame) + table.dropped for table in (before, after)]
    shares = [t.dropped / n for t, n in zip((before, after), counts, strict=True)]
    pooled = (before.dropped + after.dropped) / sum(counts)
    spread = math.sqrt(pooled * (1.0 - pooled) * (1.0 / counts[0] + 1.0 / counts[1]))
    if abs(shares[0] - shares[1]) > _CLEAR * spread > 0.0:
        yield (
            f"missing values removed {100 * shares[0]:.0f} % of the rows of {before.path} and "
            f"{100 * shares[1]:.0f} % of {after.path}: this is itself a change, which the "
            "statistic of the remaining rows does not include."
        )


def note_line_breaks(table: FileTable) -> Iterator[str]:
    """Yield a note about a cell with line breaks, where next to no other has them."""
    cells = table.line_breaks
    if cells is not None:
        others = pluralise(cells.count - 1, "other cell") if cells.count > 1 else "no other cell"
        have = "has" if cells.count < 3 else "have"
        yield (
            f"{table.path}: {cells.where} has {cells.lines} lines, and {others} {have} line "
            "breaks. If these lines are rows, a quote was not closed there, and they are lost as "
            "rows: close it, or remove it."
        )


def note_target(table: FileTable, target: str) -> Iterator[str]:
    """Yield a note where a target of numbers may be one of codes."""
    cells = table.frame[target].dropna()
    if table.kinds[target] == "numeric" and _even(cells.to_numpy(dtype=float)):
        count = cells.nunique()
        if 2 < count <= _CODES:
            yield (
                f"the target {target} has {count} different integers and is treated as numeric; if "
                f"they are class labels, pass --categorical {target}."
            )
