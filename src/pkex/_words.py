"""Names and numbers of things, as a sentence has them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["counted", "listed"]

_SHOWN = 12  # names in a sentence before it says "and more"


def listed(names: Sequence[object]) -> str:
    """Return names as a sentence has them, cut when there are many.

    Examples
    --------
    >>> listed(["age", "bmi"])
    'age, bmi'
    >>> listed([f"x{i}" for i in range(100)])
    'x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 88 more'
    """
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"
