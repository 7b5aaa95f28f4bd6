"""Dates and durations as numbers with a unit: days; of columns of frames and of single cells."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import narwhals as nw
import numpy as np

from pkex._util.cells import is_missing
from pkex._util.types import Cells, Floats

__all__ = ["DAYS", "SINCE", "as_days", "day_text", "days_of_array", "days_of_cells", "is_dates"]

SINCE = "days since 1970-01-01"
DAYS = "days"
_EPOCH = np.datetime64("1970-01-01")  # times are taken as they are written, of whatever zone
_DAY = np.timedelta64(1, "D")
_TICKS = 86_400e6  # microseconds of a day


def is_dates(series: nw.Series[Any]) -> bool:
    """Tell whether a column of a data frame holds dates, times with a date, or durations."""
    return series.dtype in (nw.Datetime, nw.Date, nw.Duration)


def as_days(series: nw.Series[Any]) -> tuple[Floats, str]:
    """Return a column of dates or durations in days, NaN where they are missing, and the unit.

    A moment with a time zone is taken in UTC.

    Examples
    --------
    >>> import datetime, polars
    >>> column = polars.Series([datetime.datetime(1970, 1, 2, 12), None])
    >>> as_days(nw.from_native(column, series_only=True))
    (array([1.5, nan]), 'days since 1970-01-01')
    """
    if series.dtype == nw.Datetime and getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if series.implementation.is_polars():  # some versions crash where they give out dates
        is_moment = series.dtype != nw.Duration
        ticks = series.dt.timestamp("us") if is_moment else series.dt.total_microseconds()
        days = np.asarray(ticks.cast(nw.Float64).to_numpy()) / _TICKS
        return np.asarray(days, dtype=np.float64), SINCE if is_moment else DAYS
    cells = np.asarray(series.to_numpy())
    if cells.dtype.kind not in "mM":  # dates may come as objects
        kind = "m8[ns]" if series.dtype == nw.Duration else "M8[us]"
        cells = np.array([None if cell != cell else cell for cell in cells], dtype=kind)
    return days_of_array(cells)


def days_of_array(cells: Cells) -> tuple[Floats, str]:
    """Return an array of datetime64 or timedelta64 in days, and the unit.

    >>> days_of_array(np.array(["1970-01-03", "NaT"], dtype="M8[D]"))
    (array([ 2., nan]), 'days since 1970-01-01')
    """
    is_moment = cells.dtype.kind == "M"
    passed = cells - np.datetime64(0, "D") if is_moment else cells
    return np.asarray(passed / _DAY, dtype=np.float64), SINCE if is_moment else DAYS


def days_of_cells(cells: Cells) -> Floats | None:
    """Return dates and times as days since 1970, NaN where they are missing; None for all else.

    Examples
    --------
    >>> days_of_cells(np.array([date(1970, 1, 3), np.datetime64("1970-01-01T12:00"), None], object))
    array([2. , 0.5, nan])
    """
    if not any(isinstance(cell, date | np.datetime64) for cell in cells):
        return None
    if not all(isinstance(cell, date | np.datetime64) or is_missing(cell) for cell in cells):
        return None
    return np.array([_day_of(cell) for cell in cells], dtype=np.float64)


def _day_of(cell: Any) -> float:
    """Return a date or time as days since 1970, by the clock of its own time zone."""
    if is_missing(cell):
        return float("nan")
    moment = cell.replace(tzinfo=None) if isinstance(cell, datetime) else cell
    return float((np.datetime64(moment) - _EPOCH) / _DAY)


def day_text(day: float) -> str:
    """Return days since 1970 as a date, with the time of day if it is not midnight.

    Examples
    --------
    >>> day_text(2.0), day_text(0.5)
    ('1970-01-03', '1970-01-01 12:00')
    """
    moment = _EPOCH + np.timedelta64(round(1440.0 * day), "m")
    return str(moment).replace("T", " ").removesuffix(" 00:00")
