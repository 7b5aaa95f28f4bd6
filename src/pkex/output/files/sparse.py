"""Files of explanations of sparse rows: see `pkex.output.files`.

A CSR array is three arrays. The values of several outputs have the places of the first. Texts are
in the header, and the places of their tokens are found when the file is written, as a vectorizer
cannot be stored without running code of its own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_cells,
    as_flag,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
)
from pkex.output.files.kernel_data import to_data
from pkex.output.files.pieces import (
    fits,
    floats,
    kernels_from_data,
    rules_from_data,
    rules_to_data,
    sides_from_data,
)
from pkex.output.token_spans import Located

if TYPE_CHECKING:
    from pkex.results.sparse import SparseExplanation

__all__ = ["load", "pack", "save"]

FORMAT = Format("SparseExplanation", 1)

_HEADER: dict[str, Reader] = {
    "feature_names": as_names,
    "column_names": as_names,
    "players": as_players,
    "output_names": maybe(as_names),
    "residual": as_number,
    "removal": as_text,
    "absent": maybe(as_text),
    "index": as_text,
    "efficient": as_flag,
    "classes": maybe(as_names),
    "sides": maybe(sides_from_data),
    "number": maybe(as_text),
    "predicted": maybe(lambda value: np.array(as_cells(value))),
    "texts": maybe(as_names),
}
_KERNELS: dict[str, Reader] = {"kernels": maybe(kernels_from_data)}


def save(explanation: SparseExplanation, path: str | os.PathLike[str]) -> None:
    """Write `explanation` to `path`."""
    FORMAT.save(path, pack(explanation))


def load(kind: type[SparseExplanation], path: str | os.PathLike[str]) -> SparseExplanation:
    """Return the explanation in `path`."""

    def unpack(header: Header, arrays: Arrays) -> SparseExplanation:
        explanation = kind(**_parts(header, arrays))
        _check_sums(explanation)
        return explanation

    return FORMAT.load(path, unpack)


def pack(explanation: SparseExplanation) -> Arrays:
    """Return the arrays of a file."""
    values, _ = explanation.with_output_axis
    arrays = {
        "values": np.stack([one.data for one in values], axis=1),
        "starts": values[0].indptr.astype(np.int64),
        "stored": values[0].indices.astype(np.int64),
        "rest": explanation.rest,
        "base_values": explanation.base_values,
        "predictions": explanation.predictions,
        "data": explanation.data.data,
        "data_starts": explanation.data.indptr.astype(np.int64),
        "data_stored": explanation.data.indices.astype(np.int64),
    }
    if explanation.error is not None:
        arrays["error"] = explanation.error
    if explanation.texts is not None and explanation.spans is not None:
        spans = [
            (row, *span)
            for row, text in enumerate(explanation.texts)
            for span in explanation.spans.of(row, text)
        ]
        arrays["spans"] = np.array(spans, dtype=np.int64).reshape(-1, 4)
    rules, nodes = rules_to_data(explanation.rules, explanation.rule)
    header = {name: to_json(getattr(explanation, name), name) for name in _HEADER} | rules
    header["several"] = isinstance(explanation.values, tuple)
    if explanation.kernels is not None:
        header["kernels"] = [to_data(kernel) for kernel in explanation.kernels]
    return FORMAT.packed(header, {name: np.asarray(a) for name, a in (arrays | nodes).items()})


def _parts(header: Header, arrays: Arrays) -> dict[str, Any]:
    """Return the arguments of `SparseExplanation`, which fit together."""
    fields = fields_of(header, _HEADER) | fields_of(header, _KERNELS)
    several = as_flag(header["several"])
    n_players, n_columns = len(fields["feature_names"]), len(fields["column_names"])
    n_rows = len(arrays["starts"]) - 1
    n_sets = arrays["values"].shape[1] if arrays["values"].ndim == 2 else -1
    fits("values", arrays["values"].shape, (len(arrays["stored"]), n_sets if several else 1))
    fits("players", (len(fields["players"]),), (n_players,))
    if any(not 0 <= column < n_columns for player in fields["players"] for column in player):
        raise ValueError(f"players must consist of columns 0 to {n_columns - 1}")
    totals = (n_rows, n_sets) if several else (n_rows,)
    names = fields["output_names"]
    fits("output_names", (n_sets if names is None else len(names),), (n_sets,))
    sides = fields["sides"]
    fits("sides", (n_sets if sides is None else len(sides),), (n_sets,))
    for name in ("texts", "predicted"):
        fits(name, (n_rows if fields[name] is None else len(fields[name]),), (n_rows,))
    texts = fields["texts"]
    values = tuple(
        _csr(column.astype(np.float64), arrays["stored"], arrays["starts"], (n_rows, n_players))
        for column in arrays["values"].T.copy()
    )
    places = arrays["data_stored"], arrays["data_starts"]
    parts = {name: floats(arrays, name, totals) for name in ("rest", "base_values", "predictions")}
    if "error" in arrays:
        parts["error"] = floats(arrays, "error", totals)
    if "spans" in arrays:
        fields["spans"] = _located(arrays["spans"], texts, n_columns)
    rules = rules_from_data(header, arrays)["rules"]
    if not rules:
        raise ValueError("it has no rules")
    return (
        fields
        | parts
        | {
            "values": values if several else values[0],
            "data": _csr(arrays["data"].astype(np.float64), *places, (n_rows, n_columns)),
            "rules": rules,
        }
    )


def _csr(entries: Any, stored: Any, starts: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR array, or raise where its parts do not make one."""
    from scipy.sparse import csr_array

    fits("starts", starts.shape, (shape[0] + 1,))
    fits("entries", entries.shape, stored.shape)
    if starts.dtype.kind != "i" or stored.dtype.kind != "i" or stored.ndim != 1:
        raise ValueError("the places of entries are no integers")
    steps = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(stored) or (steps < 0).any():
        raise ValueError("the entries of its rows do not follow each other")
    ascends = np.diff(stored) > 0
    ascends[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(stored))] - 1] = True
    if len(stored) and not (ascends.all() and stored.min() >= 0 and stored.max() < shape[1]):
        raise ValueError("the columns of a row do not ascend, or are not there")
    if not np.isfinite(entries).all():
        raise ValueError("it holds what is no number")
    return csr_array((entries, stored, starts), shape=shape)


def _located(spans: Any, texts: tuple[str, ...] | None, n_columns: int) -> Located:
    """Return the places of tokens, each of them inside its text."""
    fits("spans", spans.shape[1:], (4,))
    if texts is None or spans.dtype.kind != "i":
        raise ValueError("places of tokens without texts")
    for row, start, stop, column in spans.tolist():
        if not (0 <= row < len(texts) and 0 <= start < stop <= len(texts[row])):
            raise ValueError("a token lies outside its text")
        if not 0 <= column < n_columns:
            raise ValueError("a token has a column that is not there")
    return Located(spans.astype(np.int64))


def _check_sums(explanation: SparseExplanation) -> None:
    """Refuse values that miss the predictions by more than the residual and rounding."""
    if not explanation.efficient:
        return
    values, rest = explanation.with_output_axis
    sums = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
    sizes = np.stack([np.asarray(abs(one).sum(axis=1)).ravel() for one in values], axis=1)
    base = explanation.base_values.reshape(rest.shape)
    gap = np.abs(base + sums + rest - explanation.predictions.reshape(rest.shape))
    most = int(np.diff(values[0].indptr).max(initial=0))
    size = np.abs(base) + sizes + np.abs(rest)
    allowed = explanation.residual + 2.0 * (most + 3) * np.finfo(np.float64).eps * size
    if not (gap <= allowed).all():
        row = int(np.argwhere(~(gap <= allowed))[0][0])
        raise ValueError(f"base value, values and rest of row {row} miss the prediction")
