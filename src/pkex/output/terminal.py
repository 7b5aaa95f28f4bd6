"""Tables and bars for a terminal, which fit into its width.

Where a table does not fit, heads of columns take several lines; then bars are left out, then all
outputs but the first, then standard errors; then names stand on lines of their own. Names and
values are never cut. A pipe has no width: all is printed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pkex._util.terminal import escape_controls, print_text, transliterate
from pkex._util.words import pluralise
from pkex.output import palette
from pkex.output.view import Column, View

__all__ = ["LINES", "Bar", "Sheet", "bars", "cell", "draw", "show"]

LINES = 20  # of a table
_PIPE = 10_000  # columns
_GAP = 2  # between columns
_NAME = 12  # letters; names that get fewer and need more stand on lines of their own
_SHORTEST, _USUAL, _LONGEST = 6, 24, 40  # characters of the longest bar


@dataclass(frozen=True)
class Bar:
    """A bar in a cell, whose length is known when it is printed."""

    value: float
    largest: float


def bars(values: Iterable[float], largest: float) -> Column:
    """Return a column of bars, to the left below 0; `largest` has the whole length."""
    return Column("", [Bar(float(value), float(largest)) for value in values])


def cell(value: object, style: str = "") -> Text:
    """Return a cell of a table in the terminal, in which nothing is markup; `Text` as it is."""
    if isinstance(value, Text):
        return value
    return Text(transliterate(escape_controls(str(value)), sys.stdout.encoding), style=style)


def draw(view: View, n_outputs: int = 1, hint: str = "use --output") -> list[Any]:
    """Return a view of which each output has a table; they stand side by side.

    Of `n_outputs` outputs, with those that have no table here, as many are shown as fit; `hint`
    says what to do to see the others.
    """
    first = view.tables[0]
    heads, columns, outputs = [first.noun], [first.names], []
    for table in view.tables:
        start = len(heads)
        for title, column in zip(table.titles, table.columns, strict=True):
            heads += [title, ""] if column.spreads else [title]
            columns += [column.cells, column.spreads] if column.spreads else [column.cells]
        outputs.append(range(start, len(heads)))
    return [
        cell(view.headline, "bold"),
        *map(cell, view.lead),
        Sheet(heads, list(zip(*columns, strict=True)), outputs, n_outputs, hint),
        *([cell(view.more)] if view.more else []),
        *(cell(remark, "dim") for remark in (*view.notes, *view.remarks)),
    ]


def show(*renderables: Any) -> None:
    """Print for the terminal; into a file or a pipe, without cutting to a width."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE)
    with console.capture() as capture:
        for renderable in renderables:
            console.print(renderable)
    lines = capture.get().rstrip("\n").split("\n")
    print_text("\n".join(line.rstrip() for line in lines))


@dataclass(frozen=True)
class Sheet:
    """A table that leaves out columns which do not fit.

    Attributes
    ----------
    heads : sequence of str
        The first says what a line is.
    lines : sequence of sequences of Text, Bar or anything else, which is shown as text
    outputs : sequence of sequences of int
        The columns of each output.
    n_outputs : int
    hint : str
    """

    heads: Sequence[str]
    lines: Sequence[Sequence[Any]]
    outputs: Sequence[Sequence[int]]
    n_outputs: int
    hint: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        columns, room = range(len(self.heads)), options.max_width
        bars = [i for i in columns if any(isinstance(line[i], Bar) for line in self.lines)]
        kept = [i for i in columns if i not in bars]
        shown, heads = len(self.outputs), list(self.heads)
        if self._width(kept, heads) > room:
            heads = [self._narrow(i) for i in columns]
        while shown > 1 and self._width(kept, heads) > room:
            shown -= 1
            kept = [i for i in kept if i not in self.outputs[shown]]
        if self._width(kept, heads) > room:
            kept = [i for i in kept if i == 0 or self.heads[i]]
        left = room - self._width(kept, heads) - _GAP
        length = _USUAL if room == _PIPE else min(left, _LONGEST)
        kept = sorted(kept + bars) if length >= _SHORTEST else kept
        drawn = {i: _bars([line[i] for line in self.lines], length) for i in bars}
        names = room - self._width(kept[1:], heads) - _GAP
        if names < min(_NAME, self._widest(0)):
            yield from self._below_names(self._table(kept[1:], heads, drawn), console, options)
        else:
            yield self._table(kept, heads, drawn)
        hidden = self.n_outputs - shown
        if self.outputs and hidden > 0:
            yield cell(f"and {pluralise(hidden, 'more output')}; {self.hint}")

    def _table(
        self, columns: Sequence[int], heads: Sequence[str], drawn: Mapping[int, Sequence[Text]]
    ) -> Table:
        table = Table(box=None, pad_edge=False)
        for i in columns:
            right = i > 0 and self.heads[i] and i not in drawn
            table.add_column(
                Text("\n").join(cell(line, "dim") for line in heads[i].split("\n")),
                justify="right" if right else "left",
                no_wrap=i > 0,
                overflow="fold",
            )
        for at, line in enumerate(self.lines):
            table.add_row(*(drawn[i][at] if i in drawn else cell(line[i]) for i in columns))
        return table

    def _below_names(
        self, table: Table, console: Console, options: ConsoleOptions
    ) -> Iterator[Any]:
        """Yield a table without names, each of its lines below the name that it belongs to."""
        rendered = console.render_lines(Padding(table, (0, 0, 0, _GAP)), options, pad=False)
        first = len(rendered) - len(self.lines)
        yield cell(self.heads[0], "dim")
        for at, segments in enumerate(rendered):
            if at >= first:
                yield cell(self.lines[at - first][0])
            yield from segments
            yield Segment.line()

    def _width(self, columns: Sequence[int], heads: Sequence[str]) -> int:
        """Return how many letters the columns take."""
        widths = [
            max([*(cell(part).cell_len for part in heads[i].split("\n")), self._widest(i)])
            for i in columns
        ]
        return sum(widths) + _GAP * (len(columns) - 1)

    def _widest(self, column: int) -> int:
        """Return the letters of the longest entry below the head of a column."""
        entries = (line[column] for line in self.lines if not isinstance(line[column], Bar))
        return max((cell(entry).cell_len for entry in entries), default=0)

    def _narrow(self, column: int) -> str:
        """Return the head of a column in lines, as wide as its entries or its longest word."""
        words = self.heads[column].split()
        width = max([self._widest(column), *map(len, words)])
        return "\n".join(wrap(self.heads[column], width, break_long_words=False)) if words else ""


def _bars(bars: Sequence[Bar], length: int) -> list[Text]:
    """Return bars around one line for 0, half a letter exact; negative ones go to its left."""
    values = [each.value for each in bars]
    low, high = -min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    largest = max(each.largest for each in bars) if not low else 0.0
    both = bool(low and high)  # one letter is left for rounding up on either side
    unit = 2.0 * (length - both) / (max(low + high, largest) or 1.0)
    before = math.ceil(0.5 * low * unit - 1e-9)
    return [_draw_bar(value, unit, before) for value in values]


def _draw_bar(value: float, unit: float, before: int) -> Text:
    """Return one bar behind the room that is left of 0."""
    letters, half = divmod(round(abs(value) * unit), 2)
    shade = palette.RAISES if value > 0.0 else palette.LOWERS
    if value < 0.0:
        return Text(("▐" * half + "█" * letters).rjust(before), style=shade.light)
    return Text(" " * before + "█" * letters + "▌" * half, style=shade.light)
