"""Files of sensitivities; version 1."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
)
from pkex.output.files.pieces import fits, floats

if TYPE_CHECKING:
    from pkex.results.sensitivity import Sensitivity

__all__ = ["load", "pack", "save"]

FORMAT = Format("Sensitivity", 1)

_INDICES = ("first_order", "total_order", "shapley")
_ABOUT: dict[str, Reader] = {
    "feature_names": as_names,
    "column_names": as_names,
    "players": as_players,
    "output_names": maybe(as_names),
    "inputs": as_text,
    "error": as_number,
    "number": maybe(as_text),
}


def save(sensitivity: Sensitivity, path: str | os.PathLike[str]) -> None:
    """Write `sensitivity` to `path`."""
    FORMAT.save(path, pack(sensitivity))


def load(kind: type[Sensitivity], path: str | os.PathLike[str]) -> Sensitivity:
    """Return the sensitivity in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Sensitivity:
        about = fields_of(header, _ABOUT)
        shape = arrays["shapley"].shape
        fits("shapley", shape[:1], (max(1, len(about["feature_names"])),))
        fits("players", (len(about["players"]),), shape[:1])
        names = about["output_names"]
        fits("shapley", shape[1:], () if names is None or len(names) == 1 else (len(names),))
        for name in _INDICES:
            about[name] = floats(arrays, name, shape, missing=True)
        sums = about["shapley"].sum(axis=0)
        if not np.all(np.isnan(sums) | (np.abs(sums - 1.0) <= 1e-6 + about["error"])):
            raise ValueError(f"the Shapley effects sum to {float(np.ravel(sums)[0]):.6g}, not to 1")
        pairs = None
        if "second_order" in arrays:
            pairs = floats(arrays, "second_order", (shape[0], *shape), missing=True)
        for name in ("variance", "mean", "rows_variance"):
            there = name in arrays or name != "rows_variance"
            about[name] = floats(arrays, name, shape[1:]) if there else None
        return kind(**about, second_order=pairs)

    return FORMAT.load(path, unpack)


def pack(sensitivity: Sensitivity) -> Arrays:
    """Return the arrays of a file."""
    header = {name: to_json(getattr(sensitivity, name), name) for name in _ABOUT}
    names = (*_INDICES, "second_order", "variance", "mean", "rows_variance")
    arrays = {name: getattr(sensitivity, name) for name in names}
    there = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    return FORMAT.packed(header, there)
