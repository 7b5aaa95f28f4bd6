"""Names and words that fit into a plot.

Names are those of users, so whatever is written into a plot passes through `literal`, and what
stands in a legend through `entry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

__all__ = [
    "LETTER",
    "LETTERS",
    "MINUS",
    "WIDE",
    "entry",
    "letters_in",
    "literal",
    "of_all",
    "room_for",
    "shorten",
    "wrap_label",
]

LETTERS, WIDE = 24, 48  # of a name, beside other panels and in a figure of its own
MINUS = "\N{MINUS SIGN}"
LETTER = 0.078  # width in inches of a letter of a name
_SMALL = 0.067  # width in inches of a letter of the words on axes
_NARROW = 14  # letters that fit everywhere


def room_for(names: Sequence[str]) -> float:
    """Return by how many inches a figure must be wider for the longest of these names."""
    return LETTER * max(0, min(WIDE, max(map(len, names), default=0)) - LETTERS)


def literal(text: str) -> str:
    r"""Return a text that matplotlib shows as it is; it reads what is between dollars as formulas.

    Examples
    --------
    >>> print(literal("$0-$50k"))
    \$0-\$50k
    """
    return text.replace("$", r"\$")


def entry(name: str) -> str:
    """Return a name as an entry of a legend, which leaves out those that begin with "_"."""
    return literal(f" {name}" if name.startswith("_") else name)


def letters_in(inches: float, around: int = 0) -> int:
    """Return how many small letters fit into a line, with room for some around them."""
    return max(_NARROW, int(inches / _SMALL) - around)


def wrap_label(text: str, inches: float) -> str:
    """Return the words on an axis in lines of so many inches, broken at a bracket first.

    Examples
    --------
    >>> print(wrap_label("Shapley value (+ for large ones, - for small ones)", 2.0))
    Shapley value
    (+ for large ones, - for
    small ones)
    """
    letters = letters_in(inches)
    if len(text) <= letters:
        return text
    head, bracket, tail = text.partition(" (")
    parts = [head, f"({tail}"] if bracket else [head]
    return "\n".join(line for part in parts for line in wrap(part, letters, break_long_words=False))


def shorten(name: str, length: int = LETTERS) -> str:
    """Return a name that fits beside a plot: its beginning and its end, which tell names apart.

    Examples
    --------
    >>> shorten("the mean of measurement 16 of station 2")
    'the mean of…f station 2'
    """
    if len(name) <= length:
        return name
    head = length // 2
    return f"{name[:head].rstrip()}…{name[head + 1 - length :].lstrip()}"


def of_all(title: str, shown: int, count: int) -> str:
    """Return the title of an axis, and how many of all features there are, if not all."""
    return title if shown >= count else f"{title} (the {shown} largest of {count})"
