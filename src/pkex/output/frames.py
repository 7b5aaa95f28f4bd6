"""Results as data frames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.types import Floats
from pkex.output.view.rows import REST

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.interactions import Interactions
    from pkex.results.sensitivity import Sensitivity
    from pkex.results.sparse import SparseExplanation

__all__ = [
    "attribution_frame",
    "explanation_frame",
    "importance_frame",
    "interactions_frame",
    "sensitivity_frame",
    "sparse_frame",
]


def explanation_frame(explanation: Explanation, totals: bool) -> Any:
    """See `Explanation.to_frame`."""
    pandas = optional("pandas", "pandas")
    names = explanation.feature_names
    ends = ("base_value", "prediction") if totals else ()
    spreads = tuple(f"{name} std" for name in names) if explanation.std is not None else ()
    _check_names(names, (*ends, *spreads))
    values, base, predictions = explanation.with_output_axis()
    stds = None if explanation.std is None else explanation.std.reshape(values.shape)
    blocks = [
        np.column_stack(
            [
                values[:, :, k],
                *((base[:, k], predictions[:, k]) if totals else ()),
                *((stds[:, :, k],) if stds is not None else ()),
            ]
        )
        for k in range(values.shape[2])
    ]
    columns: Any = [*names, *ends, *spreads]
    if explanation.values.ndim == 3:
        columns = pandas.MultiIndex.from_product(
            [explanation.outputs, columns], names=["output", "feature"]
        )
    return pandas.DataFrame(np.hstack(blocks), columns=columns, index=explanation.row_labels)


def attribution_frame(attribution: Attribution) -> Any:
    """See `Attribution.to_frame`."""
    pandas = optional("pandas", "pandas")
    found = attribution
    columns: dict[str, Floats | None] = {"value": found.values}
    columns["standard_error"] = found.standard_errors
    if found.null_band is not None:
        columns["null_low"], columns["null_high"] = found.null_band
    columns |= {"p_value": found.p_values, "p_holm": found.p_holm, "p_bh": found.p_bh}
    columns["alone"] = found.alone if found.knows_alone else None
    columns["p_alone"] = found.p_alone
    columns["p_alone_holm"] = found.p_alone_holm
    there = {name: column for name, column in columns.items() if column is not None}
    index = pandas.Index(found.feature_names, name="feature")
    return pandas.DataFrame(there, index=index).iloc[found.order]


def importance_frame(importance: Importance) -> Any:
    """See `Importance.to_frame`."""
    pandas = optional("pandas", "pandas")
    order = importance.order
    names = [importance.feature_names[player] for player in order]
    tables = {"importance": importance.values, "standard_error": importance.standard_errors}
    if importance.neutral:
        tables["centred"] = importance.centred
    if importance.values.ndim == 1:
        data = {kind: table[order] for kind, table in tables.items()}
        return pandas.DataFrame(data, index=names)
    blocks = {
        (output, kind): table[order, k]
        for k, output in enumerate(importance.outputs)
        for kind, table in tables.items()
    }
    return pandas.DataFrame(blocks, index=names)


def sensitivity_frame(sensitivity: Sensitivity) -> Any:
    """See `Sensitivity.to_frame`."""
    pandas = optional("pandas", "pandas")
    order = sensitivity.order
    kinds = ("first_order", "shapley", "total_order")
    index = [sensitivity.feature_names[player] for player in order]
    tables = {kind: getattr(sensitivity, kind)[order] for kind in kinds}
    if sensitivity.shapley.ndim == 1:
        return pandas.DataFrame(tables, index=index)
    blocks = {
        (output, kind): tables[kind][:, k]
        for k, output in enumerate(sensitivity.outputs)
        for kind in kinds
    }
    frame = pandas.DataFrame(blocks, index=index)
    frame.columns.names = ["output", "index"]
    return frame


def interactions_frame(found: Interactions, output: str | int | None, totals: bool) -> Any:
    """See `Interactions.to_frame`."""
    pandas = optional("pandas", "pandas")
    names, blocks = [], []
    for _, subset, values in found.by_order():
        names += [found.name_of(subset(place)) for place in range(values.shape[1])]
        blocks.append(values)
    ends = ("base_value", "prediction") if totals else ()
    _check_names(names, ends)
    table = np.concatenate(blocks, axis=1)
    if totals:
        shape = (len(found), 1, table.shape[2])
        both = [found.base_values.reshape(shape), found.predictions.reshape(shape)]
        table = np.concatenate([table, *both], axis=1)
    columns: Any = [*names, *ends]
    index = found.row_labels
    if found.whole != "prediction":
        index = [found.whole]
    if output is not None or table.shape[2] == 1:
        number = found.output_number(output, "to_frame")
        return pandas.DataFrame(table[:, :, number], columns=columns, index=index)
    columns = pandas.MultiIndex.from_product([found.outputs, columns], names=["output", "players"])
    flat = np.moveaxis(table, 2, 1).reshape(len(found), -1)
    return pandas.DataFrame(flat, columns=columns, index=index)


def sparse_frame(explanation: SparseExplanation) -> Any:
    """See `SparseExplanation.to_frame`."""
    pandas = optional("pandas", "pandas")
    values, data = explanation.values, explanation.data
    lines = []
    for row in range(len(explanation)):
        here = slice(values.indptr[row], values.indptr[row + 1])
        stored = slice(data.indptr[row], data.indptr[row + 1])
        cells = dict(zip(data.indices[stored].tolist(), data.data[stored].tolist(), strict=True))
        phi, players = values.data[here], values.indices[here]
        for i in np.argsort(-np.abs(phi), kind="stable"):
            columns = explanation.players[players[i]]
            cell = cells.get(columns[0], 0.0) if len(columns) == 1 else np.nan
            lines.append((row, explanation.feature_names[players[i]], cell, phi[i]))
        lines.append((row, REST, np.nan, explanation.rest[row]))
    return pandas.DataFrame(lines, columns=["row", "feature", "data", "value"])


def _check_names(names: Sequence[str], added: Sequence[str]) -> None:
    taken = set(names).intersection(added)
    if taken:
        raise ValueError(
            f"a feature is named {taken.pop()!r}, as a column that to_frame adds; use "
            "to_frame(totals=False)."
        )
