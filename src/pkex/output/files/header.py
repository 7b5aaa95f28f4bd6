"""The header of a file, as JSON: entries of one type each, and back.

A reader returns an entry or says in a ValueError what stands in its place.

>>> as_names(["age", "bmi"])
('age', 'bmi')
>>> as_count(-1)
Traceback (most recent call last):
ValueError: -1 instead of a count
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
from pkex.games.hierarchy import Hierarchy
from pkex.kernels import Kernel
from pkex.kernels.data import to_data

__all__ = [
    "Reader",
    "as_cells",
    "as_count",
    "as_dependence",
    "as_flag",
    "as_hierarchy",
    "as_index",
    "as_level",
    "as_lists",
    "as_names",
    "as_number",
    "as_players",
    "as_text",
    "each",
    "one_of",
    "optional",
    "read_entries",
    "require_type",
    "to_json",
    "with_default",
]

Reader = Callable[[Any], Any]
_MOMENT = re.compile(r"[-+]?\d[-+\d:.T]{,40}Z?", re.ASCII)  # no "now", which numpy knows


def require_type(value: Any, kind: type, name: str) -> Any:
    """Return `value` if it is of this kind, which the message calls `name`."""
    if not isinstance(value, kind):
        raise ValueError(f"{brief(value)} instead of {name}")
    return value


def optional(read: Reader) -> Reader:
    """Return a reader that takes null as None."""
    return lambda value: None if value is None else read(value)


def with_default(read: Reader, default: Any) -> Reader:
    """Return a reader that takes null as what an earlier version had in its place."""
    return lambda value: default if value is None else read(value)


def each(read: Reader) -> Reader:
    """Return a reader of a list, whose entries `read` reads."""
    return lambda value: tuple(map(read, require_type(value, list, "a list")))


def one_of(*known: str) -> Reader:
    """Return a reader of some texts."""

    def read(value: Any) -> str:
        if as_text(value) not in known:
            raise ValueError(f"{value!r} instead of {' or '.join(known)}")
        return str(value)

    return read


def as_text(value: Any) -> str:
    """Return a text."""
    return str(require_type(value, str, "text"))


def as_flag(value: Any) -> bool:
    """Return true or false."""
    return bool(require_type(value, bool, "true or false"))


def as_count(value: Any) -> int:
    """Return an integer of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{brief(value)} instead of a count")
    return value


def as_number(value: Any) -> float:
    """Return a number, which may be one that JSON lacks."""
    cell = _as_cell(value)
    if not is_number(cell):
        raise ValueError(f"{brief(value)} instead of a number")
    return float(cell)


def as_level(value: Any) -> float:
    """Return a significance level; 5 % where a file has none."""
    level = 0.05 if value is None else as_number(value)
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha is {level}")
    return level


def as_lists(value: Any) -> dict[str, tuple[str, ...]]:
    """Return lists of texts by name; none where a file has none.

    >>> as_lists([["colour", ["red", "blue"]]])
    {'colour': ('red', 'blue')}
    """
    pairs = [] if value is None else require_type(value, list, "a list")
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise ValueError(f"{brief(value)} instead of lists by name")
    return {as_text(name): as_names(texts) for name, texts in pairs}


def as_index(value: Any) -> Any:
    """Return the labels of the rows; None where pandas is not installed, as no frame can be."""
    try:
        import pandas
    except ModuleNotFoundError:
        return None
    entry = require_type(value, dict, "the labels of rows")
    names, levels = each(optional(as_text))(entry["names"]), []
    for level in require_type(entry["levels"], list, "a list"):
        kind = as_text(require_type(level, dict, "a level of labels")["kind"])
        known = kind.startswith(("int", "uint", "float", "bool", "datetime64"))
        labels = list(as_cells(level["labels"]))
        levels.append(pandas.Index(labels, dtype=kind if known else object))
    if as_flag(entry["several"]):
        return pandas.MultiIndex.from_arrays(levels, names=names)
    return levels[0].rename(names[0])


def as_hierarchy(value: Any) -> Hierarchy:
    """Return a tree of features."""
    entry = require_type(value, dict, "a hierarchy")
    children = tuple(as_players(entry["children"]))
    names, ordered = as_names(entry["names"]), each(as_flag)(entry["ordered"])
    heights = optional(each(as_number))(entry["heights"])
    return Hierarchy(as_count(entry["n_features"]), children, names, ordered, heights)


def as_dependence(value: Any) -> Any:
    """Return pairs of columns that depend on each other."""
    from pkex.tables.dependence import Dependence, Pair  # here, as few files have some

    pairs = [
        require_type(pair, list, "a pair of columns")
        for pair in require_type(value, list, "a list")
    ]
    return Dependence.from_pairs(
        [Pair(as_count(first), as_count(second), as_number(size)) for first, second, size in pairs]
    )


def _as_cell(value: Any) -> Any:
    """Return a cell of a table: text, a number, true or false, a date or time, or missing."""
    if isinstance(value, list):
        raise ValueError(f"{brief(value)} instead of a single value")
    if not isinstance(value, dict):
        return value
    tag, text = next(iter(value.items())) if len(value) == 1 else ("", None)
    if tag == "float" and text in ("nan", "inf", "-inf"):
        return float(text)
    if tag in _MOMENTS and isinstance(text, str) and _MOMENT.fullmatch(text):
        return _MOMENTS[tag](text)
    raise ValueError(f"{brief(value)} instead of a number or a date")


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
as_names, as_cells, as_players = each(as_text), each(_as_cell), each(each(as_count))


def read_entries(header: Any, readers: dict[str, Reader]) -> dict[str, Any]:
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
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, tuple | list | np.ndarray):
        return [to_json(entry, where) for entry in value]
    if hasattr(value, "nlevels"):  # an index of pandas
        return _index_to_json(value)
    if isinstance(value, Kernel):
        return to_data(value)
    if isinstance(value, Hierarchy):
        return value.data
    if hasattr(value, "pairs"):  # of columns that depend on each other
        return to_json(value.pairs, where)
    if is_missing(value):
        return {"float": "nan"} if is_number(value) else None
    if isinstance(value, np.datetime64):
        return {"datetime64": str(value)}
    if isinstance(value, date | time):
        return {_moment_tag(value): value.isoformat()}
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


def _moment_tag(value: date | time) -> str:
    if isinstance(value, datetime):
        return "datetime" if type(value).__module__ == "datetime" else "timestamp"
    return "date" if isinstance(value, date) else "time"


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
