"""Text for a terminal. It imports nothing, so that an error before any work is said at once."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Return `text` with control characters spelled out, so that data cannot steer a terminal.

    Examples
    --------
    >>> print(printable("age\x1b[2J"))
    age\x1b[2J
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
