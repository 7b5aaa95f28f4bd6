"""The cells of a raw table: numbers, text, or missing.

`Explanation.data` shows what the user passed, so its cells may be anything; what is drawn, printed
or written to a file must agree on which of them are numbers and how they read.
"""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["format_cell", "format_label", "format_number", "is_missing", "is_number", "others_name"]


def is_number(cell: object) -> bool:
    """Tell whether `cell` is a real number (True and False are not)."""
    return isinstance(cell, Real) and not isinstance(cell, bool | np.bool_)


def is_missing(cell: Any) -> bool:
    """Tell whether `cell` is None, NaN, NaT or pandas' NA: not equal to itself, or refusing to say.

    Examples
    --------
    >>> [is_missing(cell) for cell in (None, float("nan"), 0.0, "nan")]
    [True, True, False, False]
    """
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except TypeError:
        return True


def format_cell(cell: Any) -> str:
    """Return `cell` as a person would write it.

    Examples
    --------
    >>> from datetime import datetime
    >>> [format_cell(cell) for cell in (1010.0, 0.123456789, "Wien", None, datetime(2026, 5, 1))]
    ['1010', '0.123457', 'Wien', 'missing', '2026-05-01']
    """
    if is_missing(cell):
        return "missing"
    if is_number(cell):
        return format_number(float(cell))
    text = str(cell)
    return text if isinstance(cell, str) else text.removesuffix(" 00:00:00")  # of a day


def format_label(label: Any) -> str:
    """Return what to call a row whose label in an index is `label`.

    Examples
    --------
    >>> [format_label(label) for label in (7, "Ada", ("Wien", 3))]
    ['7', 'Ada', 'Wien, 3']
    """
    if isinstance(label, tuple):
        return ", ".join(map(format_label, label))
    return "missing" if is_missing(label) else str(label)


def format_number(number: float) -> str:
    """Return `number` with six significant digits; with all digits left of the decimal point
    where there are ten at most, or nothing right of it.

    Examples
    --------
    >>> [format_number(number) for number in (1.0, 1234567.8, 12.3456789, 1e-9)]
    ['1', '1234568', '12.3457', '1e-09']
    >>> [format_number(number) for number in (40281263095530.0, 40281263095530.5)]
    ['40281263095530', '4.02813e+13']
    """
    limit = 1e15 if float(number).is_integer() else 1e10
    return f"{number:.0f}" if 1e6 <= abs(number) < limit else f"{number:.6g}"


def others_name(names: Collection[str]) -> str:
    """Return what to call all that is not shown by a name of its own; none of `names`.

    Examples
    --------
    >>> others_name(["red", "blue"]), others_name(["red", "others"])
    ('others', 'all others')
    """
    name = "others"
    while name in names:
        name = f"all {name}"
    return name
