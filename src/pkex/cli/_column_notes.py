"""What to know about the columns of tables before a statistic of them is read.

Each is a case in which the answer is right and yet not what was asked for: numbers that are read as
text, where every value is a category of its own and nothing can change; running numbers, which
differ between any two tables; rows left out of one table more often than of the other; rows that a
quote which is closed too late makes part of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pkex._util.words import counted
from pkex.tables.files import FileTable
from pkex.tables.streams import FileStream

__all__ = ["about_columns", "about_dropped", "about_line_breaks", "about_target"]

_MOSTLY = 0.9  # share of cells that look like numbers
_FEW_ROWS = 20  # too few to judge by
_CODES = 20  # different integers up to which a target may be one of codes
_SURE = 3.0  # standard deviations


def about_columns(*tables: FileTable, codes: Sequence[str] = ()) -> Iterator[str]:
    """Yield notes about columns of one table, or of two that are compared.

    Those of `codes` are categories because somebody said so.
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
                f"{name} looks like a running number or a clock: its rows ascend and no two are "
                "equal. Any two tables differ in it, so leave it out, with --columns, unless that "
                "is the question."
            )


def _about_text(name: str, parts: Sequence[Any]) -> Iterator[str]:
    """Yield notes about a column of categories."""
    from pandas import concat

    cells = concat(parts).astype(str)
    numbers = cells.map(_is_number)
    if _MOSTLY <= numbers.mean() < 1.0 or (numbers.all() and cells.str.contains(",").any()):
        other = cells[~numbers]
        why = f", as {other.iloc[0]!r} is none" if len(other) else " with a decimal comma"
        yield (
            f"{name} is read as text{why}, though {numbers.sum()} of {len(cells)} values look like "
            "numbers: each is a category of its own. Clean it first, or pass --decimal , where "
            "that is the decimal point."
        )
    elif all(2 * part.nunique() > len(part) for part in parts):
        count = max(part.nunique() for part in parts)
        yield (
            f"{name} has {counted(count, 'different value')}, about one for each row: as a "
            "category it says next to nothing; leave it out, with --columns."
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


def about_dropped(before: FileTable, after: FileTable) -> Iterator[str]:
    """Yield a note where missing values took many more rows from one table than from the other."""
    counts = [len(table.frame) + table.dropped for table in (before, after)]
    shares = [t.dropped / n for t, n in zip((before, after), counts, strict=True)]
    pooled = (before.dropped + after.dropped) / sum(counts)
    spread = math.sqrt(pooled * (1.0 - pooled) * (1.0 / counts[0] + 1.0 / counts[1]))
    if abs(shares[0] - shares[1]) > _SURE * spread > 0.0:
        yield (
            f"missing values took {100 * shares[0]:.0f} % of the rows of {before.path} and "
            f"{100 * shares[1]:.0f} % of {after.path}: that is a change by itself, which the "
            "statistic of the rows that are left does not see."
        )


def about_line_breaks(table: FileTable | FileStream) -> Iterator[str]:
    """Yield a note about a cell with line breaks, where next to no other has them."""
    found = table.line_breaks
    if found is not None:
        others = counted(found.count - 1, "other cell") if found.count > 1 else "no other cell"
        have = "has" if found.count < 3 else "have"
        yield (
            f"{table.path}: {found.where} has {found.lines} lines, and {others} {have} line "
            "breaks. If these lines are rows, a quote was not closed there, and they are lost as "
            "rows: close it, or remove it."
        )


def about_target(table: FileTable, target: str) -> Iterator[str]:
    """Yield a note where a target of numbers may be one of codes."""
    cells = table.frame[target].dropna()
    if table.kinds[target] == "numeric" and _even(cells.to_numpy(dtype=float)):
        count = cells.nunique()
        if 2 < count <= _CODES:
            yield (
                f"the target {target} has {count} different integers and is taken as a number, "
                f"near ones as alike; if they are codes of classes, pass --categorical {target}."
            )
