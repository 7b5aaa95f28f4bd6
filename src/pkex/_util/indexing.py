"""``explanation[rows, features, outputs]``: from numbers, names, slices and masks to positions.

The position in the brackets decides what a name means. An ellipsis stands for the axes left out, so
that ``[..., "a vs b"]`` chooses an output where there are several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from pkex._util.types import Indices
from pkex._util.validation import brief, is_index

__all__ = ["Axis", "parse_subset", "select"]


_WHERE = {"feature": "explanation[:, {!r}]", "output": "explanation[..., {!r}]"}
_NAMES_SHOWN = 10


@dataclass(frozen=True)
class Axis:
    """One axis of an explanation: what it counts, how many, and their names if they have some."""

    noun: str
    count: int
    names: tuple[str, ...] | None = None


def select(key: object, axes: Sequence[Axis]) -> list[Indices]:
    """Return the positions that `key` chooses along each axis.

    Examples
    --------
    >>> axes = [Axis("row", 3), Axis("feature", 2, ("age", "bmi"))]
    >>> select((slice(1, None), "bmi"), axes)
    [array([1, 2]), array([1])]
    """
    parts = key if isinstance(key, tuple) else (key,)
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1 or len(parts) - len(dots) > len(axes):
        raise IndexError(
            f"explanation[{', '.join(axis.noun + 's' for axis in axes)}] takes at most {len(axes)} "
            f"selectors and one ellipsis; got {len(parts)}."
        )
    fill = (slice(None),) * (len(axes) - len(parts) + len(dots))
    at = dots[0] if dots else len(parts)
    full = (*parts[:at], *fill, *parts[at + len(dots) :])
    chosen = [_along(axis, part, axes) for axis, part in zip(axes, full, strict=True)]
    for axis, positions in zip(axes[1:], chosen[1:], strict=True):
        _check_named(axis, positions)
    return chosen


def parse_subset(parts: Iterable[Any], names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the features that names or numbers choose, sorted."""
    [positions] = select(list(parts), [Axis("feature", len(names), names)])
    subset = tuple(sorted(int(j) for j in positions))
    if len(set(subset)) < len(subset):
        chosen = brief([names[j] for j in subset])
        raise ValueError(f"a subset must name each feature once, got {chosen}.")
    if not subset:
        raise ValueError("a subset must have at least one feature.")
    return subset


def _along(axis: Axis, selector: Any, axes: Sequence[Axis]) -> Indices:
    if isinstance(selector, slice):
        return np.arange(axis.count)[selector]
    if isinstance(selector, str) or not isinstance(selector, Iterable):
        return np.array([_position(axis, selector, axes)])
    # A list may mix names and numbers, which NumPy would turn into text.
    array = np.asarray(selector, dtype=None if hasattr(selector, "dtype") else object)
    if array.ndim != 1:
        raise IndexError(
            f"{axis.noun}s must be chosen by one list, got an array of shape {array.shape}."
        )
    if array.size and all(isinstance(entry, bool | np.bool_) for entry in array):
        if len(array) != axis.count:
            raise IndexError(
                f"the mask has {len(array)} entries, but there are {axis.count} {axis.noun}s."
            )
        return np.flatnonzero(array)
    return np.array([_position(axis, entry, axes) for entry in array], dtype=np.intp)


def _position(axis: Axis, entry: Any, axes: Sequence[Axis]) -> int:
    if isinstance(entry, str):
        if axis.names is None or entry not in axis.names:
            raise KeyError(_unknown(axis, entry, axes))
        return axis.names.index(entry)
    if not is_index(entry):
        kinds = "numbers" if axis.names is None else "names, numbers"
        raise IndexError(
            f"{axis.noun}s are chosen by {kinds}, slices, lists of these or masks; got "
            f"{brief(entry)}."
        )
    if not -axis.count <= entry < axis.count:
        raise IndexError(
            f"there is no {axis.noun} {entry}: there "
            f"{'is one' if axis.count == 1 else f'are {axis.count}'}, counted from 0."
        )
    return int(entry) % axis.count


def _unknown(axis: Axis, name: str, axes: Sequence[Axis]) -> str:
    """Say what might have been meant by `name`."""
    if axis.names is None:
        message = f"{axis.noun}s are chosen by numbers, slices or masks, not by the name {name!r}"
    else:
        message = f"no {axis.noun} is named {name!r}"
    for other in axes:
        if other is not axis and name in (other.names or ()):
            return f"{message}; for that {other.noun} write {_WHERE[other.noun].format(name)}."
    if axis.names is None:
        return f"{message}."
    close = get_close_matches(name, axis.names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else "."
    more = len(axis.names) - _NAMES_SHOWN
    shown = ", ".join(map(repr, axis.names[:_NAMES_SHOWN])) + (f" and {more} more" * (more > 0))
    return f"{message}{meant} The {axis.noun}s are {shown}."


def _check_named(axis: Axis, positions: Indices) -> None:
    """Refuse a choice of no features or outputs, or of one of them twice."""
    if not positions.size:
        raise IndexError(f"the selection holds no {axis.noun}; choose at least one.")
    counts = np.bincount(positions)
    if counts.max() > 1:
        twice = int(counts.argmax())
        name = repr(axis.names[twice]) if axis.names else str(twice)
        raise IndexError(f"{axis.noun} {name} is chosen more than once.")
