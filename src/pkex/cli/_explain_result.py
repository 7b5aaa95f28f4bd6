"""The result of ``pkex explain``: entries of the summary, values file, tables for a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pkex
from pkex._util.cells import format_cell
from pkex._util.words import join_names, pluralise
from pkex.cli import _summary
from pkex.models.classes import describe_disagreement, describe_output, largest_output_class
from pkex.output.spread import importance_notes
from pkex.output.terminal import LINES, bars, draw
from pkex.output.text import align_numbers, value_name
from pkex.output.view import Column, TableView, View, more
from pkex.output.view.features import importance_tables
from pkex.output.view.rows import explanation_notes
from pkex.results.totals import Totals

__all__ = ["importance_grid", "result_facts", "row_grid", "values_frame"]

# columns of the file of values
_ADDED = ("row", "output", "base_value", "prediction", "predicted_class")


def result_facts(explanation: pkex.Explanation, totals: Totals) -> _summary.ExplainResult:
    """Return the result as the summary has it."""
    assert explanation.background_info is not None  # as it is not of an old file
    assert totals.error is not None
    importance = totals.importance
    outputs = explanation.output_names or (None,)
    base_values = explanation.base_values[0].reshape(-1)
    sides = explanation.output_classes or ((None, None),) * len(outputs)
    classes = None
    if explanation.classes is not None and explanation.predicted_class is not None:
        assert explanation.output_kind is not None
        classes = _summary.ClassFacts(
            output_kind=explanation.output_kind,
            predicted_counts=totals.predicted or {},
            disagreements=totals.apart,
        )
    facts = _summary.ExplainResult(
        removal=explanation.removal,
        background_info=explanation.background_info,
        notes=explanation.notes,
        outputs=[
            _summary.OutputFacts(name=name, base_value=float(base), positive=yes, negative=no)
            for name, base, (yes, no) in zip(outputs, base_values, sides, strict=True)
        ],
        classes=classes,
        features=_summary.feature_facts(
            importance,
            importance=importance.values,
            standard_error=importance.standard_errors,
            centred=importance.centred,
        ),
        rule=_summary.rule_facts(explanation.rule),
        additivity_error=explanation.additivity_error,
        error_bound=totals.error,
    )
    if explanation.conditional_model is not None:
        facts["conditional_model"] = explanation.conditional_model
        facts["blocks"] = [list(block) for block in explanation.blocks or ()]
    if explanation.hierarchy is not None:
        facts["index"] = explanation.index
    return facts


def values_frame(explanation: pkex.Explanation, numbers: Any) -> Any:
    """Return the values as they are written: one line for each row and output."""
    import pandas

    values, base, predictions = explanation.with_output_axis()
    n_rows, n_features, n_outputs = values.shape
    first: dict[str, Any] = {"row": np.repeat(numbers, n_outputs)}
    last: dict[str, Any] = {"base_value": base.ravel(), "prediction": predictions.ravel()}
    if explanation.output_names:
        first["output"] = np.tile(np.array(explanation.output_names, dtype=object), n_rows)
    if explanation.predicted_class is not None:
        last["predicted_class"] = np.repeat(explanation.predicted_class, n_outputs)
    names = explanation.feature_names
    twice = next((name for name in _ADDED if name in names), None)
    if twice is not None:
        raise ValueError(
            f"a feature is named {twice!r}, like a column that pkex adds to the values file: give "
            f'it another name with --groups, e.g. {{"my_{twice}": ["{twice}"]}}.'
        )
    label = None if explanation.row_index is None else explanation.row_index.name
    if label is not None:
        if label in (*names, *_ADDED[1:]):
            raise ValueError(
                f"the column {label!r} of --id is named like a feature or a column that pkex adds "
                "to the values file: rename it in the table."
            )
        first.pop(label, None)  # a column "row" of the table takes the place of ours
        first = {label: np.repeat(explanation.row_index.to_numpy(), n_outputs)} | first
    flat = np.moveaxis(values, 2, 1).reshape(n_rows * n_outputs, n_features)
    return pandas.DataFrame(first | dict(zip(names, flat.T, strict=True)) | last)


def _about_classes(explanation: pkex.Explanation, totals: Totals) -> list[str]:
    """Return lines about the kind of output and the predicted classes."""
    what = describe_output(explanation)
    if what is None or explanation.predicted_class is None:
        return []
    lines = [what]
    if totals.n_rows > 1:
        counts = (totals.predicted or {}).items()
        lines.append(f"predicted: {join_names([f'{label} ({n})' for label, n in counts if n])}")
        if totals.apart:
            lines.append(describe_disagreement(totals.apart, totals.n_rows))
    elif explanation.values.ndim == 3:
        other = largest_output_class(explanation)
        largest = "" if other is None or other[0] is None else f", largest output {other[0]}"
        name = explanation.row_names[0]
        lines.append(f"row {name}: predicted {explanation.predicted_class[0]}{largest}")
    return lines


def row_grid(explanation: pkex.Explanation, totals: Totals) -> list[Any]:
    """Return one row as a sum: its feature values and Shapley values."""
    phi, order = explanation.values[0], totals.importance.ranking[:LINES]
    noun, label = "prediction", ""
    if explanation.predicted_class is not None:
        noun, label = explanation.output_names[0], f" (predicted {explanation.predicted_class[0]})"
    columns = [
        Column("feature value", [_cells(explanation, i) for i in order]),
        Column("Shapley value", align_numbers(phi[order])),
        bars(phi[order], abs(phi).max()),
    ]
    view = View(
        f"row {explanation.row_names[0]}{label}: {noun} {explanation.predictions[0]:.6g} = base "
        f"value {explanation.base_values[0]:.6g} + Shapley values ({explanation.removal})",
        _about_classes(explanation, totals),
        tables=[TableView("feature", [explanation.feature_names[i] for i in order], columns)],
        more=more(len(phi) - len(order), "feature"),
        remarks=explanation_notes(explanation),
    )
    return draw(view)


def importance_grid(explanation: pkex.Explanation, totals: Totals) -> list[Any]:
    """Return the importance of the features, for the first outputs."""
    importance, rows = totals.importance, pluralise(totals.n_rows, "row")
    tables = importance_tables(importance, importance.output_names or (), LINES)
    if len(importance.output_names or ()) <= 1:
        means = importance.values.reshape(-1)
        drawn = bars(means[importance.ranking[:LINES]], means.max())
        tables = [replace(tables[0], columns=[*tables[0].columns, drawn])]
    view = View(
        f"mean |{value_name(explanation)}| over {rows} ({explanation.removal})",
        _about_classes(explanation, totals),
        tables=tables,
        more=more(len(importance.feature_names) - LINES, "feature"),
        remarks=explanation_notes(explanation) + importance_notes(importance),
    )
    return draw(view, len(importance.output_names or ("",)))


def _cells(explanation: pkex.Explanation, feature: int) -> str:
    return join_names(
        [format_cell(explanation.data[0, j]) for j in explanation.feature_groups[feature][:4]]
    )
