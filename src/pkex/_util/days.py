"""Dates and times as numbers: days since 1970, and back."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np

from pkex._util.cells import is_missing
from pkex._util.types import Cells, Floats

__all__ = ["day_text", "days"]


_EPOCH = np.datetime64("1970-01-01")  # times are taken as they are written, of whatever zone


def days(cells: Cells) -> Floats | None:
    """Return dates and times as days since 1970, NaN where they are missing; None for all else.

    Examples
    --------
    >>> days(np.array([date(1970, 1, 3), np.datetime64("1970-01-01T12:00"), None], dtype=object))
    array([2. , 0.5, nan])
    """
    if not any(isinstance(cell, date | np.datetime64) for cell in cells):
        return None
    if not all(isinstance(cell, date | np.datetime64) or is_missing(cell) for cell in cells):
        return None
    return np.array([_day(cell) for cell in cells], dtype=np.float64)


def _day(cell: Any) -> float:
    """Return a date or time as days since 1970, by the clock of its own time zone."""
    if is_missing(cell):
        return float("nan")
    moment = cell.replace(tzinfo=None) if isinstance(cell, datetime) else cell
    return float((np.datetime64(moment) - _EPOCH) / np.timedelta64(1, "D"))


def day_text(day: float) -> str:
    """Return days since 1970 as a date, with the time of day if it is not midnight.

    Examples
    --------
    >>> day_text(2.0), day_text(0.5)
    ('1970-01-03', '1970-01-01 12:00')
    """
    moment = _EPOCH + np.timedelta64(round(1440.0 * day), "m")
    return str(moment).replace("T", " ").removesuffix(" 00:00")
