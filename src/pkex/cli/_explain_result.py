"""What ``pkex explain`` says of its result: facts of the summary, values, tables of a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

import pkex
from pkex._util.cells import cell_text
from pkex._util.words import counted, listed
from pkex.cli._summary import (
    ClassFacts,
    ExplainResult,
    FeatureFacts,
    OutputFacts,
    rule_facts,
)
from pkex.models.classes import apart, elsewhere, meaning
from pkex.output.spread import importance_notes
from pkex.output.terminal import LINES, bars, draw
from pkex.output.text import aligned
from pkex.output.view import Column, TableView, View, more
from pkex.output.view.features import importance_tables
from pkex.output.view.rows import explanation_notes
from pkex.results.totals import Totals

__all__ = ["importance_grid", "result_facts", "row_grid", "values_frame"]

# columns of the file of values
_ADDED = ("row", "output", "base_value", "prediction", "predicted_class")


def result_facts(explanation: pkex.Explanation, totals: Totals) -> ExplainResult:
    """Return what the summary says about the result."""
    assert explanation.absent is not None  # as it is not of an old file
    assert totals.error is not None
    importance = totals.importance
    outputs = explanation.outputs or (None,)
    shape = (len(importance.feature_names), len(outputs))
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(shape) for table in tables)
    base_values = explanation.base_values[0].reshape(-1)
    sides = explanation.sides or ((None, None),) * len(outputs)
    return ExplainResult(
        removal=cast(Literal["marginal", "interventional", "neutral"], explanation.removal),
        absent=explanation.absent,
        caution=explanation.caution,
        outputs=[
            OutputFacts(name=name, base_value=float(base), positive=yes, negative=no)
            for name, base, (yes, no) in zip(outputs, base_values, sides, strict=True)
        ],
        classes=_classes(explanation, totals),
        features=[
            FeatureFacts(
                name=importance.feature_names[i],
                columns=[explanation.column_names[j] for j in explanation.players[i]],
                importance=means[i].tolist(),
                standard_error=errors[i].tolist(),
                centred=centred[i].tolist(),
            )
            for i in importance.order
        ],
        rule=rule_facts(explanation.rule),
        residual=explanation.residual,
        error=totals.error,
    )


def _classes(explanation: pkex.Explanation, totals: Totals) -> ClassFacts | None:
    """Return what the summary says about classes: how often each is predicted."""
    if explanation.classes is None or explanation.predicted is None:
        return None
    assert explanation.number is not None
    return ClassFacts(
        number=explanation.number,
        predicted=totals.predicted or {},
        elsewhere=totals.apart,
    )


def values_frame(explanation: pkex.Explanation, numbers: Any) -> Any:
    """Return the values as they are written: one line for each row and output."""
    import pandas

    values, base, predictions = explanation.with_output_axis()
    n_rows, n_features, n_outputs = values.shape
    first: dict[str, Any] = {"row": np.repeat(numbers, n_outputs)}
    last: dict[str, Any] = {"base_value": base.ravel(), "prediction": predictions.ravel()}
    if explanation.outputs:
        first["output"] = np.tile(np.array(explanation.outputs, dtype=object), n_rows)
    if explanation.predicted is not None:
        last["predicted_class"] = np.repeat(explanation.predicted, n_outputs)
    names = explanation.feature_names
    taken = [name for name in _ADDED if name in names]
    if taken:
        raise ValueError(
            f"a feature is named {taken[0]!r}, as a column that the file of values has besides: "
            f'give it another name with --groups, e.g. {{"my_{taken[0]}": ["{taken[0]}"]}}.'
        )
    own = None if explanation.row_labels is None else explanation.row_labels.name
    if own is not None:
        if own in (*names, *_ADDED[1:]):
            raise ValueError(
                f"the column {own!r} of --id is named like a feature or a column that the file of "
                "values has besides: give it another name in the table."
            )
        first = {own: np.repeat(explanation.row_labels.to_numpy(), n_outputs)} | {
            name: column for name, column in first.items() if name != own
        }
    flat = np.moveaxis(values, 2, 1).reshape(n_rows * n_outputs, n_features)
    return pandas.DataFrame(first | dict(zip(names, flat.T, strict=True)) | last)


def _said(explanation: pkex.Explanation, totals: Totals) -> list[str]:
    """Return lines about classes: what the number is, and what is predicted."""
    said = meaning(explanation)
    if said is None or explanation.predicted is None:
        return []
    lines = [said]
    other = elsewhere(explanation)
    if totals.n_rows > 1:
        counts = totals.predicted or {}
        told = [f"{label} ({count})" for label, count in counts.items() if count]
        lines.append(f"predicted: {listed(told)}")
        if totals.apart:
            lines.append(apart(totals.apart, totals.n_rows))
    elif explanation.values.ndim == 3:
        most = None if other is None else other[0]
        largest = f", largest output {most}" if most is not None else ""
        name = explanation.row_names[0]
        lines.append(f"row {name}: predicted {explanation.predicted[0]}{largest}")
    return lines


def row_grid(explanation: pkex.Explanation, totals: Totals) -> list[Any]:
    """Return one row as a sum: the features with their data and values."""
    phi, order = explanation.values[0], totals.importance.order[:LINES]
    noun, own = "prediction", ""
    if explanation.predicted is not None:
        noun, own = explanation.outputs[0], f" (predicted {explanation.predicted[0]})"
    columns = [
        Column("data", [_raw(explanation, i) for i in order]),
        Column("value", aligned(phi[order])),
        bars(phi[order], abs(phi).max()),
    ]
    view = View(
        f"row {explanation.row_names[0]}{own}: {noun} {explanation.predictions[0]:.6g} = base "
        f"value {explanation.base_values[0]:.6g} + values ({explanation.removal} removal)",
        _said(explanation, totals),
        tables=[TableView("feature", [explanation.feature_names[i] for i in order], columns)],
        more=more(len(phi) - len(order), "feature"),
        remarks=explanation_notes(explanation),
    )
    return draw(view)


def importance_grid(explanation: pkex.Explanation, totals: Totals) -> list[Any]:
    """Return the importance of the features, for the first outputs."""
    importance, rows = totals.importance, counted(totals.n_rows, "row")
    tables = importance_tables(importance, importance.output_names or (), LINES)
    if len(importance.output_names or ()) <= 1:
        means = importance.values.reshape(-1)
        drawn = bars(means[importance.order[:LINES]], means.max())
        tables = [replace(tables[0], columns=[*tables[0].columns, drawn])]
    view = View(
        f"mean |value| over {rows} ({explanation.removal} removal)",
        _said(explanation, totals),
        tables=tables,
        more=more(len(importance.feature_names) - LINES, "feature"),
        remarks=explanation_notes(explanation) + importance_notes(importance),
    )
    return draw(view, len(importance.output_names or ("",)))


def _raw(explanation: pkex.Explanation, player: int) -> str:
    return listed([cell_text(explanation.data[0, j]) for j in explanation.players[player][:4]])
