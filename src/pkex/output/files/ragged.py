"""Fields that are tuples with an array for each effect, of shapes that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex.output.files import header as entry
from pkex.output.files.codec import Content

__all__ = ["CellArrays", "RaggedArrays"]


@dataclass(frozen=True)
class RaggedArrays:
    """Fields that are None, or tuples of arrays of floats or None, one for each effect."""

    names: tuple[str, ...]

    def pack(self, result: Any, content: Content) -> None:
        """Write those that are there, with their number in the name."""
        for name in self.names:
            arrays = getattr(result, name)
            content.header[f"n_{name}"] = None if arrays is None else len(arrays)
            for number, array in enumerate(arrays or ()):
                if array is not None:
                    content.arrays[f"{name}_{number}"] = np.asarray(array)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read those that are there."""
        for name in self.names:
            count = entry.optional(entry.as_count)(content.header[f"n_{name}"])
            if count is None:
                fields[name] = None
                continue
            if count > len(fields["features"]):
                raise ValueError(f"{name} has {count} arrays for {len(fields['features'])} effects")
            keys = [f"{name}_{number}" for number in range(count)]
            arrays = [content.arrays.get(key) for key in keys]
            fields[name] = tuple(
                None if each is None else each.astype(np.float64) for each in arrays
            )


@dataclass(frozen=True)
class CellArrays:
    """Fields with arrays of cells: numbers as an array, others in the header; pairs have two."""

    names: tuple[str, ...]

    def pack(self, result: Any, content: Content) -> None:
        """Write them, with number and axis in the name."""
        for name in self.names:
            shapes: list[list[int]] = []
            for number, value in enumerate(getattr(result, name)):
                axes = value if isinstance(value, tuple) else (value,)
                shapes.append([len(axes) if isinstance(value, tuple) else 0])
                for axis, cells in enumerate(axes):
                    key = f"{name}_{number}_{axis}"
                    if cells.dtype == object:
                        flat = [entry.to_json(cell, name) for cell in cells.reshape(-1)]
                        content.header[key] = {"shape": list(cells.shape), "cells": flat}
                    else:
                        content.arrays[key] = cells
            content.header[f"axes_{name}"] = shapes

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read them."""
        for name in self.names:
            values: list[Any] = []
            for number, (count,) in enumerate(content.header[f"axes_{name}"]):
                axes = tuple(
                    _read(content, f"{name}_{number}_{axis}")
                    for axis in range(max(1, min(2, entry.as_count(count))))
                )
                values.append(axes if count else axes[0])
            fields[name] = tuple(values)


def _read(content: Content, key: str) -> NDArray[Any]:
    if key in content.arrays:
        return content.arrays[key].astype(np.float64)
    data = entry.require_type(content.header[key], dict, "an array of cells")
    cells = entry.as_cells(data["cells"])
    table = np.empty(len(cells), dtype=object)
    table[:] = cells
    return table.reshape(entry.each(entry.as_count)(data["shape"]))
