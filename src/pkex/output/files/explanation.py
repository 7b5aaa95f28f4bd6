"""Files of explanations.

A field of `Explanation` is one line: in `_HEADER`, or in `_MORE_ARRAYS` if it is an array. One that
may be None may be absent, as it is from files that were written before there was such a field.
Values must add up, as they did when they were computed.

Format versions
---------------
1
    The first.
2
    Further fields, each of which may be absent. The kernels are data; their text, which stood alone
    at first, is still there for older readers. Cells of the data may be dates and times.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_cells,
    as_flag,
    as_index,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
)
from pkex.output.files.kernel_data import Described, to_data
from pkex.output.files.pieces import (
    kernels_from_data,
    rules_from_data,
    rules_to_data,
    sides_from_data,
    table,
    table_to_json,
)

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["FORMAT", "load", "pack", "save"]

FORMAT = Format("Explanation", 2)

_ARRAYS = ("values", "base_values", "predictions")
_MORE_ARRAYS: tuple[str, ...] = ("error", "std", "cov")
_HEADER: dict[str, Reader] = {
    "feature_names": as_names,
    "column_names": as_names,
    "players": as_players,
    "output_names": maybe(as_names),
    "removal": as_text,
    "residual": as_number,
    "complete": as_flag,
    "absent": maybe(as_text),
    "classes": maybe(as_names),
    "sides": maybe(sides_from_data),
    "number": maybe(as_text),
    "predicted": maybe(lambda value: np.array(as_cells(value))),
    "row_labels": maybe(as_index),
    "index": lambda value: "SV" if value is None else as_text(value),
    "efficient": lambda value: value is None or as_flag(value),
    "quantity": maybe(as_text),
}
_KERNELS: dict[str, Reader] = {"kernel": maybe(as_text), "kernels": maybe(kernels_from_data)}


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write `explanation` to `path`."""
    FORMAT.save(path, pack(explanation))


def load(kind: type[Explanation], path: str | os.PathLike[str]) -> Explanation:
    """Return the explanation in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Explanation:
        explanation = kind(**_explanation_parts(header, arrays))
        _check_sums(explanation)
        return explanation

    return FORMAT.load(path, unpack)


def pack(explanation: Explanation) -> Arrays:
    """Return the arrays of a file."""
    stored = {name: getattr(explanation, name) for name in (*_ARRAYS, *_MORE_ARRAYS)}
    arrays = {name: np.asarray(array) for name, array in stored.items() if array is not None}
    rules, nodes = rules_to_data(explanation.rules, explanation.rule)
    arrays |= nodes
    header = {name: to_json(getattr(explanation, name), name) for name in _HEADER} | rules
    if explanation.kernels is not None:
        header["kernel"] = "; ".join(map(repr, explanation.kernels))
        header["kernels"] = [to_data(kernel) for kernel in explanation.kernels]
    if explanation.data.dtype.kind == "f":
        arrays["data"] = explanation.data
    else:
        header["data"] = table_to_json(explanation.data, explanation.column_names)
    return FORMAT.packed(header, arrays)


def _explanation_parts(header: Header, arrays: Arrays) -> dict[str, Any]:
    """Return the arguments of `Explanation`."""
    fields = fields_of(header, _HEADER)
    kernels = fields_of(header, _KERNELS)
    if kernels["kernels"] is None and kernels["kernel"] is not None:
        kernels["kernels"] = (Described(kernels["kernel"]),)
    if "data" in header:
        data = table(header["data"], len(fields["column_names"]))
    else:
        data = arrays["data"]
    return {
        **fields,
        **{name: arrays[name] for name in _ARRAYS},
        **{name: arrays[name] for name in _MORE_ARRAYS if name in arrays},
        **rules_from_data(header, arrays),
        "kernels": kernels["kernels"],
        "data": data,
    }


def _check_sums(explanation: Explanation) -> None:
    """Refuse values that miss the predictions by more than the residual and rounding."""
    if not explanation.complete or not explanation.efficient:
        return
    values, known = explanation.values, explanation.residual
    with np.errstate(over="ignore", invalid="ignore"):
        gap = explanation.base_values + values.sum(axis=1) - explanation.predictions
        size = np.abs(explanation.base_values) + np.abs(values).sum(axis=1)
        # each of the additions, here and when the predictions were computed, rounds once
        rounding = 2.0 * (values.shape[1] + 2) * np.finfo(np.float64).eps * size
    allowed = (known if math.isfinite(known) else 0.0) + rounding
    right = np.isfinite(gap) & (np.abs(gap) <= allowed)
    if not right.all():
        row = int(np.argwhere(~right)[0][0])
        raise ValueError(
            f"base value and values of row {row} miss the prediction by "
            f"{float(np.abs(gap)[~right].flat[0]):.2g}"
        )
