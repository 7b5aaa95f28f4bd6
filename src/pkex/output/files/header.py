"""The header of a file, as JSON: entries of one type each, and back.

A reader returns an entry or says in a ValueError what stands in its place.

>>> as_names(["age", "bmi"])
('age', 'bmi')
>>> as_count(-1)
Traceback (most recent call last):
ValueError: -1 stands where a count should
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import numpy as np

from pkex._util.cells import is_missing, is_number
from pkex._util.validation import brief

__all__ = [
    "Reader",
    "as_cells",
    "as_count",
    "as_counts",
    "as_flag",
    "as_flags",
    "as_index",
    "as_names",
    "as_number",
    "as_players",
    "as_text",
    "fields_of",
    "maybe",
    "to_json",
    "typed",
]

Reader = Callable[[Any], Any]
_MOMENT = re.compile(r"[-+]?\d[-+\d:.T]{,40}Z?", re.ASCII)  # no "now", which numpy knows


def as_text(value: Any) -> str:
    """Return a text."""
    return str(typed(value, str, "text"))


def as_flag(value: Any) -> bool:
    """Return true or false."""
    return bool(typed(value, bool, "true or false"))


def as_count(value: Any) -> int:
    """Return an integer of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{brief(value)} stands where a count should")
    return value


def as_number(value: Any) -> float:
    """Return a number, which may be one that JSON lacks."""
    cell = _cell(value)
    if not is_number(cell):
        raise ValueError(f"{brief(value)} stands where a number should")
    return float(cell)


def as_names(value: Any) -> tuple[str, ...]:
    """Return texts."""
    return tuple(map(as_text, typed(value, list, "a list")))


def as_players(value: Any) -> tuple[tuple[int, ...], ...]:
    """Return the columns of each player."""
    players = typed(value, list, "a list")
    return tuple(tuple(map(as_count, typed(player, list, "a list"))) for player in players)


def as_counts(value: Any) -> tuple[int, ...]:
    """Return integers of at least 0."""
    return tuple(map(as_count, typed(value, list, "a list")))


def as_flags(value: Any) -> tuple[bool, ...]:
    """Return true or false, several times."""
    return tuple(map(as_flag, typed(value, list, "a list")))


def as_index(value: Any) -> Any:
    """Return the labels of the rows; None where pandas is not installed, as no frame can be."""
    try:
        import pandas
    except ModuleNotFoundError:
        return None
    entry = typed(value, dict, "the labels of rows")
    names = [maybe(as_text)(name) for name in typed(entry["names"], list, "a list")]
    levels = []
    for level in typed(entry["levels"], list, "a list"):
        kind = as_text(typed(level, dict, "a level of labels")["kind"])
        known = kind.startswith(("int", "uint", "float", "bool", "datetime64"))
        labels = list(as_cells(level["labels"]))
        levels.append(pandas.Index(labels, dtype=kind if known else object))
    if as_flag(entry["several"]):
        return pandas.MultiIndex.from_arrays(levels, names=names)
    return levels[0].rename(names[0])


def as_cells(value: Any) -> tuple[Any, ...]:
    """Return cells of a table: text, numbers, true or false, dates and times, or missing."""
    return tuple(map(_cell, typed(value, list, "a list")))


def _cell(value: Any) -> Any:
    """Return what `to_json` made an entry of."""
    if isinstance(value, dict):
        return _tagged(value)
    if isinstance(value, list):
        raise ValueError(f"{brief(value)} stands where a single value should")
    return value


def _tagged(value: dict[str, Any]) -> Any:
    """Return a number that JSON lacks, or a date or time."""
    tag, text = next(iter(value.items())) if len(value) == 1 else ("", None)
    if tag == "float" and text in ("nan", "inf", "-inf"):
        return float(text)
    if tag in _MOMENTS and isinstance(text, str) and _MOMENT.fullmatch(text):
        return _MOMENTS[tag](text)
    raise ValueError(f"{brief(value)} stands where a number or a date should")


def _timestamp(text: str) -> Any:
    """Return a timestamp of pandas; one of Python where pandas is not installed."""
    try:
        import pandas
    except ModuleNotFoundError:
        return datetime.fromisoformat(text)
    return pandas.Timestamp(text)


_MOMENTS: dict[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timestamp": _timestamp,
    "datetime64": np.datetime64,
}


def maybe(read: Reader) -> Reader:
    """Return a reader that takes null as None."""
    return lambda value: None if value is None else read(value)


def typed(value: Any, kind: type, name: str) -> Any:
    """Return `value` if it is of this kind, which the message calls `name`."""
    if not isinstance(value, kind):
        raise ValueError(f"{brief(value)} stands where {name} should")
    return value


def fields_of(header: Any, readers: dict[str, Reader]) -> dict[str, Any]:
    """Return entries of the header; one that is not there reads as null."""
    fields = {}
    for name, read in readers.items():
        try:
            fields[name] = read(header.get(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return fields


def to_json(value: Any, where: str = "the result") -> Any:
    """Return `value` as JSON has it: what JSON lacks with a tag.

    Numbers become ``{"float": "nan"}``, dates and times ``{"date": "2024-01-31"}``, with the
    offset of their time zone, not its name.
    """
    if isinstance(value, tuple | list | np.ndarray):
        return [to_json(entry, where) for entry in value]
    if hasattr(value, "nlevels"):  # an index of pandas
        return _index_to_json(value)
    if is_missing(value):
        return {"float": "nan"} if is_number(value) else None
    moment = _moment_to_json(value)
    if moment is not None:
        return moment
    cell = value.item() if isinstance(value, np.generic) else value
    if isinstance(cell, str | bool | int):
        return cell
    if is_number(cell):
        number = float(cell)
        return number if math.isfinite(number) else {"float": repr(number)}
    raise ValueError(
        f"{where} holds {brief(cell)} ({type(cell).__name__}), but only text, numbers, booleans, "
        "dates, times and missing values can be saved; convert it first."
    )


def _moment_to_json(value: Any) -> dict[str, str] | None:
    """Return a date or time as text with a tag; None for what is neither."""
    if isinstance(value, np.datetime64):
        return {"datetime64": str(value)}
    if isinstance(value, datetime):
        ours = type(value).__module__ == "datetime"
        return {"datetime" if ours else "timestamp": value.isoformat()}
    if isinstance(value, date | time):
        return {"date" if isinstance(value, date) else "time": value.isoformat()}
    return None


def _index_to_json(index: Any) -> dict[str, Any]:
    """Return the labels of the rows: numbers, text and dates as they are, others as text."""
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    return {
        "several": index.nlevels > 1,
        "names": [None if name is None else str(name) for name in index.names],
        "levels": [
            {"kind": str(level.dtype), "labels": [_label_to_json(label) for label in level]}
            for level in levels
        ],
    }


def _label_to_json(label: Any) -> Any:
    if hasattr(label, "isoformat") and not is_missing(label):
        return label.isoformat()
    try:
        return str(label) if isinstance(label, tuple | list) else to_json(label)
    except ValueError:
        return str(label)
