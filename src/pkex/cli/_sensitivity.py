"""``pkex sensitivity``: Sobol indices and Shapley effects of a model from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pkex
from pkex.cli._input_facts import table_facts
from pkex.cli._loaded_model import LoadedModel
from pkex.cli._options import FileOptions, Output, SensitivityOptions
from pkex.cli._sensitivity_facts import SensitivityInputs, SensitivityResult, VarianceFacts
from pkex.cli._session import Session
from pkex.cli._summary import feature_facts
from pkex.output.terminal import LINES, bars, draw
from pkex.output.view import OUTPUTS, View, more
from pkex.output.view.features import sensitivity_remarks, sensitivity_tables

__all__ = ["sensitivity"]


def sensitivity(options: SensitivityOptions, reading: FileOptions, output: Output) -> int:
    """Compute the indices, write and print the result, and return the exit code."""
    dialect, session = reading.dialect(), Session(**vars(output))
    with session.noting_warnings():
        model = LoadedModel(options, dialect)
        table = model.read_table(options.data, session)
        groups = model.groups(table)
        with model.explaining_errors():
            result = pkex.sensitivity(
                model.model,
                model.take_rows(table),
                groups=groups,
                order=options.order,
                outputs=options.outputs,
                n_jobs=options.n_jobs,
            )
        result = model.name_columns(result, table)
    inputs = SensitivityInputs(model=model.facts, data=table_facts(table))
    facts, values, grid = _facts(result), _values(result), _grid(result)
    details = model.details(Table=options.data)
    session.finish("sensitivity", inputs, facts, values, grid, result, details=details)
    return 0


def _indices(result: pkex.Sensitivity) -> dict[str, Any]:
    """Return the indices of each order by their names."""
    return {name: getattr(result, name) for name in ("first_order", "shapley", "total_order")}


def _facts(result: pkex.Sensitivity) -> SensitivityResult:
    """Return the result as the summary has it."""
    outputs = result.output_names or (None,)
    variances, means = (np.reshape(part, -1) for part in (result.variance, result.mean))
    return SensitivityResult(
        inputs=result.inputs,
        outputs=[
            VarianceFacts(name=name, variance=float(variance), mean=float(mean))
            for name, variance, mean in zip(outputs, variances, means, strict=True)
        ],
        features=feature_facts(result, **_indices(result)),
        notes=sensitivity_remarks(result),
        error_bound=result.error_bound,
    )


def _values(result: pkex.Sensitivity) -> Any:
    """Return the indices as they are written, a line for each output and feature.

    With ``order=2`` the lines of pairs follow, each with two features.
    """
    import pandas

    names, second, lines = result.feature_names, result.second_order, []
    shaped = {name: part.reshape(len(names), -1) for name, part in _indices(result).items()}
    for k, output in enumerate(result.output_names or (None,)):
        first = {} if output is None else {"output": output}
        for i in result.ranking:
            indices = {name: part[i, k] for name, part in shaped.items()}
            lines.append(first | {"feature": names[i], "with": ""} | indices)
        if second is not None:
            pairs = second.reshape(len(names), len(names), -1)[..., k]
            for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
                pair = {"feature": names[i], "with": names[j], "second_order": pairs[i, j]}
                lines.append(first | pair)
    frame = pandas.DataFrame(lines)
    return frame.drop(columns="with") if second is None else frame


def _grid(result: pkex.Sensitivity) -> list[Any]:
    """Return the indices of the first outputs as a table for the terminal."""
    names = result.output_names or ("",)
    tables = sensitivity_tables(result, names[:OUTPUTS], LINES)
    if len(tables) == 1:
        shapley = result.shapley.reshape(-1)
        drawn = bars(shapley[result.ranking[:LINES]], float(np.nanmax(shapley)))
        tables = [replace(tables[0], columns=[*tables[0].columns, drawn])]
    variances = np.reshape(result.variance, -1)[:OUTPUTS]
    variance = ", ".join(f"{float(part):.4g}" for part in variances)
    variance += ", ..." if len(names) > OUTPUTS else ""
    inputs = f"inputs: {result.inputs}, independent of each other"
    pair = [] if result.second_order is None else [_largest_pair(result)]
    view = View(
        f"Global sensitivity: fractions of the variance {variance}",
        tables=tables,
        more=more(len(result.feature_groups) - LINES, "feature"),
        remarks=[inputs, *pair, *sensitivity_remarks(result)],
    )
    return draw(view, len(names), "--out has all")


def _largest_pair(result: pkex.Sensitivity) -> str:
    assert result.second_order is not None
    names = result.feature_names
    pairs = result.second_order.reshape(len(names), len(names), -1)[..., 0]
    if len(pairs) < 2:
        return "a single feature has no pairs"
    i, j = np.unravel_index(np.nanargmax(pairs), pairs.shape)
    return f"largest pair: {names[i]} & {names[j]}, {pairs[i, j]:.4f} of the variance"
