"""Quotes in CSV that are never closed, or closed too late, and the rows that they swallow.

A cell that opens with a quote goes on to the next single one, over line breaks and delimiters.
Arrow takes the end of the file for that quote where there is none, and says nothing. In most files
every line is a row, as their numbers show; then at most the last line can have such a quote. Other
files are gone through quote by quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pkex.tables.kinds import is_arrow_text

__all__ = ["LineBreaks", "Lines", "find_line_breaks", "find_unclosed", "refuse_unclosed"]

_LONE = re.compile(r"\r(?!\n)")  # a line break of old files
_REST = re.compile(r'[^"]*+(?:""[^"]*+)*+"')  # of a cell behind its opening quote
_BREAK = re.compile(r"\r\n|\r|\n")
_RARE = 100  # rows to one cell with line breaks, where these are few; two are few in any file


class Lines:
    """The lines of a text that is seen block by block."""

    def __init__(self) -> None:
        self._count, self._quotes, self._lone, self._last = 0, False, False, ""

    def add(self, text: str) -> None:
        """Take in a block."""
        self._quotes = self._quotes or '"' in text
        self._lone = self._lone or ("\r" in text and _LONE.search(text) is not None)
        if self._lone:
            return
        self._count += text.count("\n")
        start = text.rfind("\n", 0, len(text.rstrip("\r\n"))) + 1
        self._last = text[start:] if start else self._last + text

    def are_rows(self, n_rows: int, delimiter: str) -> bool:
        """Tell whether each is a row or, the first one, the names, with all quotes closed."""
        if not self._quotes:
            return True
        last = self._last.rstrip("\r\n")
        count = self._count - self._last.count("\n", len(last)) + 1
        is_complete = not self._lone and count == n_rows + 1
        return is_complete and find_unclosed([last], delimiter) is None


@dataclass(frozen=True)
class LineBreaks:
    """The few cells of a table that have line breaks, where next to no cell has.

    Attributes
    ----------
    count : int
        How many there are.
    where : str
        The first one, in words.
    lines : int
        How many lines it has.
    """

    count: int
    where: str
    lines: int

    @classmethod
    def of(cls, batches: Iterable[Any], n_rows: int) -> LineBreaks | None:
        """Return those of batches of Arrow with so many rows; None if there are none, or many."""
        from pyarrow import compute

        cells: list[tuple[int, str, str]] = []  # the first cell of each column and batch
        count = start = 0
        for batch in batches:
            names = batch.schema.names
            if not start:
                broken = [name for name in names if _BREAK.search(name)]
                cells += [(-1, "the name of a column", name) for name in broken]
                count += len(broken)
            for number, column in enumerate(batch.columns):
                if is_arrow_text(column.type):
                    has_break = compute.match_substring_regex(column, _BREAK.pattern)
                    row = compute.index(has_break, True).as_py()
                    if row >= 0:
                        name = names[number].strip() or f"number {number + 1}"
                        where = f"row {start + row} (counted from 0) of column {name}"
                        cells.append((start + row, where, column[row].as_py()))
                        count += compute.sum(has_break).as_py()
            start += batch.num_rows
            if count > max(2, n_rows // _RARE):
                return None
        if not cells:
            return None
        _, where, text = min(cells, key=lambda cell: cell[0])
        return cls(count, where, len(_BREAK.findall(text)) + 1)


def find_line_breaks(
    path: Path,
    lines: Lines,
    n_rows: int,
    delimiter: str,
    texts: Iterable[str],
    batches: Iterable[Any],
) -> LineBreaks | None:
    """Return the cells with line breaks if they are few; refuse a quote that is never closed.

    `texts` and `batches` are the file again, as text and as Arrow has it; they are gone through
    only where the numbers of lines and rows differ.
    """
    if lines.are_rows(n_rows, delimiter):
        return None
    refuse_unclosed(path, delimiter, texts)
    return LineBreaks.of(batches, n_rows)


def refuse_unclosed(path: Path, delimiter: str, texts: Iterable[str]) -> None:
    """Refuse a quote that is never closed."""
    line = find_unclosed(texts, delimiter)
    if line is not None:
        raise ValueError(
            f"{path} has a quote in line {line} that is never closed, so that all lines after it "
            "would be one cell: close it, or remove it; a quote that belongs to the text of a cell "
            'is doubled and the cell quoted, as in "5"" pipe".'
        )


def find_unclosed(texts: Iterable[str], delimiter: str) -> int | None:
    r"""Return the line in which a cell opens with a quote that is never closed; None without one.

    Examples
    --------
    >>> find_unclosed(['a,b\n1,"x', 'y"\n', '2,"z\n3,4\n'], ",")
    3
    """
    between = delimiter + "\r\n"
    closed = re.compile(
        rf'(?:[^"]*+"(?<![^{re.escape(between)}]"){_REST.pattern})*+[^"]*+'  # cells, one by one
    )
    line, before, held, opened = 1, "\n", "", None
    for block in chain(texts, [""]):
        text = held + block
        body = text.rstrip('"\r') if block else text  # what these are depends on what follows
        held = text[len(body) :]
        place, text = 1, before + body
        while True:
            if opened is not None:
                end = _REST.match(text, place)
                if end is None:
                    break
                place, opened = end.end(), None
            rest = closed.match(text, place)
            assert rest is not None  # it matches nothing as well
            place = rest.end() + 1
            if place > len(text):
                break
            if text[place - 2] in between:  # the quote opens a cell; else it is part of one
                opened = line + _count_breaks(text[1:place])
        line += _count_breaks(body)
        before = text[-1]
    return opened


def _count_breaks(text: str) -> int:
    return text.count("\n") + (len(_LONE.findall(text)) if "\r" in text else 0)
