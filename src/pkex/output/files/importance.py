"""Files of importances; version 1."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import Reader, as_flag, as_names, fields_of, to_json
from pkex.output.files.pieces import fits, floats

if TYPE_CHECKING:
    from pkex.results.importance import Importance

__all__ = ["load", "pack", "save"]

FORMAT = Format("Importance", 1)

_TABLES = ("values", "standard_errors", "centred")
_TITLES: dict[str, Reader] = {
    "feature_names": as_names,
    "output_names": as_names,
    "neutral": as_flag,
}


def save(importance: Importance, path: str | os.PathLike[str]) -> None:
    """Write `importance` to `path`."""
    FORMAT.save(path, pack(importance))


def load(kind: type[Importance], path: str | os.PathLike[str]) -> Importance:
    """Return the importance in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Importance:
        titles = fields_of(header, _TITLES)
        shape = arrays["values"].shape
        fits("values", shape[:1], (max(1, len(titles["feature_names"])),))
        outputs = max(1, len(titles["output_names"]))
        fits("values", shape[1:], () if outputs == 1 else (outputs,))
        for name in _TABLES:
            titles[name] = floats(arrays, name, shape, missing=True)
        return kind(**titles)

    return FORMAT.load(path, unpack)


def pack(importance: Importance) -> Arrays:
    """Return the arrays of a file."""
    header = {name: to_json(getattr(importance, name), name) for name in _TITLES}
    return FORMAT.packed(header, {name: getattr(importance, name) for name in _TABLES})
