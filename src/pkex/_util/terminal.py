"""Text for a terminal. It imports next to nothing, so that an early error is said at once."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["escape_controls", "print_text", "transliterate", "wrap_lines"]

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


def escape_controls(text: str) -> str:
    r"""Return `text` with control characters spelled out, so that data cannot steer a terminal.

    Examples
    --------
    >>> print(escape_controls("age\x1b[2J"))
    age\x1b[2J
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def transliterate(text: str, encoding: str | None) -> str:
    """Return text with letters that an encoding has.

    Examples
    --------
    >>> transliterate("MMD² = 0.1 ± 0.02", "ascii"), transliterate("Łódź", "latin-1")
    ('MMD^2 = 0.1 +/- 0.02', '?ód?')
    >>> transliterate("██▌", "cp437"), transliterate("██▌", "latin-1")
    ('██▌', '##-')
    """
    name = encoding or "ascii"
    lacking = {letter for letter in set(text) if not letter.encode(name, "ignore")}
    spelled = text.translate({ord(letter): _IN_ASCII.get(letter, "?") for letter in lacking})
    return spelled.encode(name, "replace").decode(name) if lacking else text


def wrap_lines(text: str, stream: Any) -> str:
    """Return text in lines that fit into a terminal, broken between words; as it is for a pipe.

    A line that begins with spaces goes on two spaces further in.
    """
    if not stream.isatty():
        return text
    from shutil import get_terminal_size
    from textwrap import TextWrapper

    width, lines = get_terminal_size().columns, []
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip()) + 2 if line.startswith(" ") else 0
        wrapper.subsequent_indent = " " * indent
        lines.append(wrapper.fill(line))
    return "\n".join(lines)


def print_text(text: str) -> None:
    """Print to stdout; a reader that has left, such as ``head``, is no error."""
    try:
        print(transliterate(text, getattr(sys.stdout, "encoding", None) or "utf-8"), flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for what is left
