"""What is shown of a result, as plain data: `text`, `html` and `terminal` draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex._util.words import pluralise

__all__ = ["OUTPUTS", "Chip", "Column", "TableView", "View", "more", "number_column", "title_of"]

OUTPUTS = 3  # of which a table has columns


class Chip(NamedTuple):
    """A named number in a cell of several."""

    name: str
    value: float
    strength: float


@dataclass(frozen=True)
class Column:
    """A column of a table, with an entry for each line.

    Attributes
    ----------
    title : str
    cells : sequence of str; of `Chip` where a cell has several; of `Bar` in a terminal
    spreads : sequence of str
        What follows a number, such as "± 0.1", or nothing.
    strengths : sequence of float
        From -1 to 1: how much a cell is tinted.
    notes : sequence of str
        What stands below a cell in small letters.
    bold : bool
    """

    title: str
    cells: Sequence[Any]
    spreads: Sequence[str] = ()
    strengths: Sequence[float] = ()
    notes: Sequence[str] = ()
    bold: bool = False


@dataclass(frozen=True)
class TableView:
    """Names, what they are, and columns beside them.

    Attributes
    ----------
    noun : str
    names : sequence of str
    columns : sequence of Column
    title, output : str
        Where each output has a table: what stands above it, and before titles where tables of
        several outputs are one.
    """

    noun: str
    names: Sequence[str]
    columns: Sequence[Column]
    title: str = ""
    output: str = ""

    @property
    def titles(self) -> list[str]:
        """The titles of the columns, with the output before them."""
        return [f"{self.output} {one.title}".strip() if one.title else "" for one in self.columns]


@dataclass(frozen=True)
class View:
    """What is shown of a result, from top to bottom.

    Attributes
    ----------
    headline : str
    lead : sequence of str
        Sentences that come first, in full size.
    notes : sequence of str
        What stands above the tables, such as the background; in a terminal below them.
    tables : sequence of Table
    more : str
        What is said of lines that are not shown.
    remarks : sequence of str
        What comes last.
    """

    headline: str
    lead: Sequence[str] = ()
    notes: Sequence[str] = ()
    tables: Sequence[TableView] = ()
    more: str = ""
    remarks: Sequence[str] = ()


def title_of(kind: str, *facts: str) -> str:
    """Return the kind of a result with the facts that are not empty.

    Examples
    --------
    >>> title_of("Sensitivity", "3 inputs", "")
    'Sensitivity(3 inputs)'
    """
    return f"{kind}({', '.join(fact for fact in facts if fact)})"


def more(hidden: int, noun: str = "", where: str = "") -> str:
    """Return that lines are hidden, if some are, and where to see them.

    Examples
    --------
    >>> more(2, "row"), more(3, where="to_frame()"), more(0)
    ('and 2 more rows', 'and 3 more; see to_frame()', '')
    """
    what = pluralise(hidden, f"more {noun}") if noun else f"{hidden} more"
    return f"and {what}{f'; see {where}' if where else ''}" if hidden > 0 else ""


def number_column(
    title: str, numbers: Floats, style: str = ".4g", scale: float = 0.0, spreads: Sequence[str] = ()
) -> Column:
    """Return a column of numbers, tinted by their size where that of the largest is given.

    Examples
    --------
    >>> number_column("mean", np.array([2.0, -1.0]), "+.2g", 2.0).strengths
    [1.0, -0.5]
    """
    strengths = (np.nan_to_num(numbers) / scale).tolist() if scale else ()
    return Column(title, [f"{number:{style}}" for number in numbers], spreads, strengths)
