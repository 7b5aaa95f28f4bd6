"""What of `Interactions` goes into a file, and how it comes back; version 1.

What is None is absent. Values that should add up are checked again.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_count,
    as_index,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
)
from pkex.output.files.pieces import (
    fits,
    floats,
    one_of,
    rules_from_data,
    rules_to_data,
    table,
    table_to_json,
)

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions

__all__ = ["load", "pack", "save"]

FORMAT = Format("Interactions", 1)

_ARRAYS = ("main", "pairs", "triples", "values", "base_values", "predictions", "error")


def _readers() -> dict[str, Reader]:
    from pkex.games.functionals import INDICES

    return {
        "index": one_of(*INDICES),
        "max_order": as_count,
        "subsets": maybe(as_players),
        "feature_names": as_names,
        "column_names": as_names,
        "players": as_players,
        "output_names": maybe(as_names),
        "removal": as_text,
        "absent": maybe(as_text),
        "whole": as_text,
        "residual": as_number,
        "row_labels": maybe(as_index),
    }


def save(interactions: Interactions, path: str | os.PathLike[str]) -> None:
    """Write `interactions` to `path`."""
    FORMAT.save(path, pack(interactions))


def load(kind: type[Interactions], path: str | os.PathLike[str]) -> Interactions:
    """Return the interactions in `path`."""
    return FORMAT.load(path, lambda header, arrays: _unpacked(kind, header, arrays))


def pack(interactions: Interactions) -> Arrays:
    """Return the arrays of a file."""
    found = {name: getattr(interactions, name) for name in _ARRAYS}
    arrays = {name: np.asarray(array) for name, array in found.items() if array is not None}
    header = {name: to_json(getattr(interactions, name), name) for name in _readers()}
    if interactions.rules:
        rules, nodes = rules_to_data(interactions.rules, interactions.rules[0])
        header |= rules
        arrays |= nodes
    if interactions.data is not None:
        if interactions.data.dtype.kind == "f":
            arrays["data"] = interactions.data
        else:
            header["data"] = table_to_json(interactions.data, interactions.column_names)
    return FORMAT.packed(header, arrays)


def _unpacked(kind: type[Interactions], header: Header, arrays: Arrays) -> Interactions:
    """Return what the file holds, with shapes that fit together and sums that add up."""
    fields: dict[str, Any] = fields_of(header, _readers())
    base = arrays["base_values"]
    rows, outputs = base.shape[:1], base.shape[1:]
    d, subsets = len(fields["feature_names"]), fields["subsets"]
    shapes: dict[str, tuple[int, ...]] = {
        "main": (d,),
        "pairs": (d, d),
        "triples": (d * (d - 1) * (d - 2) // 6,),
        "values": (len(subsets or ()),),
        "base_values": (),
        "predictions": (),
        "error": (),
    }
    for name, shape in shapes.items():
        fields[name] = None
        if name in arrays:
            fields[name] = floats(arrays, name, (*rows, *shape, *outputs))
    fits("players", (len(fields["players"]),), (d,))
    names = fields["output_names"]
    if base.ndim not in (1, 2) or (names is not None and len(names) != (*outputs, 1)[0]):
        raise ValueError(f"base_values have the shape {base.shape}")
    if (subsets is None) != (fields["values"] is None) or (subsets is None) == (
        fields["main"] is None
    ):
        raise ValueError("there are values of all players or of chosen subsets")
    if any(not 0 <= j < d for subset in subsets or () for j in subset):
        raise ValueError(f"subsets must consist of players 0 to {d - 1}")
    n_columns = len(fields["column_names"])
    if any(not 0 <= j < n_columns for player in fields["players"] for j in player):
        raise ValueError(f"players must consist of columns 0 to {n_columns - 1}")
    fields["data"] = arrays.get("data")
    if "data" in header:
        fields["data"] = table(header["data"], n_columns)
    if fields["data"] is not None:
        fits("data", fields["data"].shape, (*rows, n_columns))
    fields["rules"] = rules_from_data(header, arrays)["rules"] if "rules" in header else ()
    interactions = kind(**fields)
    _check_sums(interactions)
    return interactions


def _check_sums(interactions: Interactions) -> None:
    """Refuse values that miss the prediction by more than the residual and rounding."""
    known = interactions.residual
    if not interactions.efficient or not math.isfinite(known):
        return
    total, size, count = interactions.base_values.copy(), np.abs(interactions.base_values), 2
    for _, _, values in interactions._orders():
        shaped = values.reshape(values.shape[:2] + interactions.base_values.shape[1:])
        total = total + shaped.sum(axis=1)
        size = size + np.abs(shaped).sum(axis=1)
        count += values.shape[1]
    allowed = known + 4.0 * count * np.finfo(np.float64).eps * size
    gap = np.abs(total - interactions.predictions)
    if not (gap <= allowed).all():
        raise ValueError(f"values and base values miss the predictions by {gap.max():.2g}")
