"""Text for a terminal. It imports next to nothing, so that an early error is said at once."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["has_blocks", "plain", "printable", "put", "wrapped"]

_IN_ASCII = {
    "±": "+/-",
    "²": "^2",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "\N{MINUS SIGN}": "-",
    "→": "->",
    "█": "#",
    "▌": "-",
    "▐": "-",
}


def printable(text: str) -> str:
    r"""Return `text` with control characters spelled out, so that data cannot steer a terminal.

    Examples
    --------
    >>> print(printable("age\x1b[2J"))
    age\x1b[2J
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def has_blocks(encoding: str | None) -> bool:
    """Tell whether an encoding has the letters that bars are drawn with.

    Examples
    --------
    >>> has_blocks("utf-8"), has_blocks("cp437"), has_blocks("latin-1"), has_blocks("ascii")
    (True, True, False, False)
    """
    return plain("█▌▐", encoding) == "█▌▐"


def plain(text: str, encoding: str | None) -> str:
    """Return text with letters that an encoding has.

    Examples
    --------
    >>> plain("MMD² = 0.1 ± 0.02", "ascii"), plain("Łódź", "latin-1")
    ('MMD^2 = 0.1 +/- 0.02', '?ód?')
    """
    name = encoding or "ascii"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        spelled = "".join(
            letter if _has(letter, name) else _IN_ASCII.get(letter, letter) for letter in text
        )
        return spelled.encode(name, "replace").decode(name)
    return text


def _has(letter: str, encoding: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def wrapped(text: str, stream: Any) -> str:
    """Return text in lines that fit into a terminal, broken between words; as it is for a pipe.

    A line that begins with spaces goes on two spaces further in.
    """
    if not stream.isatty():
        return text
    from shutil import get_terminal_size
    from textwrap import fill

    lines = []
    for line in text.split("\n"):
        inner = " " * (len(line) - len(line.lstrip()) + 2) if line.startswith(" ") else ""
        lines.append(
            fill(
                line,
                get_terminal_size().columns,
                subsequent_indent=inner,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def put(text: str) -> None:
    """Print to stdout; a reader that has left, such as ``head``, is no error."""
    try:
        print(plain(text, getattr(sys.stdout, "encoding", None) or "utf-8"), flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for what is left
