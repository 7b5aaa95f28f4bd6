"""Views that are a table of features or of interactions, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.words import counted
from pkex.output.spread import importance_notes
from pkex.output.view import OUTPUTS, Column, TableView, View, more, spread, titled

if TYPE_CHECKING:
    from pkex.results.importance import Importance
    from pkex.results.interactions import Interactions
    from pkex.results.sensitivity import Sensitivity

__all__ = [
    "importance",
    "importance_tables",
    "interactions",
    "sensitivity",
    "sensitivity_remarks",
    "sensitivity_tables",
]

_SIZE = "mean |value|"
_INDICES = ("first order", "Shapley", "total order")


def importance(result: Importance, count: int | None = None) -> View:
    """Return the means with their standard errors; of the first outputs."""
    several, n_features = result.values.ndim == 2, len(result.feature_names)
    tables = importance_tables(result, result.outputs if several else (), count)
    hidden = len(result.outputs) - OUTPUTS if several else 0
    outputs = [more(hidden, "output", "to_frame()")] if hidden > 0 else []
    return View(
        titled("Importance", counted(n_features, "feature"), f"{_SIZE} over rows"),
        tables=tables,
        more=more(n_features - len(tables[0].names), where="to_frame()"),
        remarks=[*outputs, *importance_notes(result)],
    )


def importance_tables(
    result: Importance, titles: Sequence[str], count: int | None
) -> list[TableView]:
    """Return the means of each of the first outputs, and centred ones of neutral removal."""
    order, names = result.order[:count], result.feature_names
    arrays = (result.values, result.standard_errors, result.centred)
    means, errors, centred = (part.reshape(len(names), -1)[:, :OUTPUTS] for part in arrays)
    scale, width = means.max(initial=0.0) or 1.0, max(map(len, names))
    shown, tables = [names[i] for i in order], []
    for k, title in enumerate((titles or (_SIZE,))[:OUTPUTS]):
        numbers, spreads = means[order, k], [spread(error) for error in errors[order, k]]
        cells, strengths = [f"{mean:.4g}" for mean in numbers], (numbers / scale).tolist()
        columns = [Column(title, cells, spreads, strengths, width=20)]
        if result.neutral:
            cells = [f"{mean:.4g}" for mean in centred[order, k]]
            columns.append(Column("centred", cells, width=11))
        tables.append(TableView("feature", shown, columns, width=width))
    return tables


def sensitivity(result: Sensitivity, count: int, n_outputs: int | None = None) -> View:
    """Return the indices, a table for each output."""
    several, n_inputs = result.shapley.ndim == 2, len(result.players)
    facts = f"{result.shapley.shape[1]} outputs" if several else ""
    if not several:
        facts = f"variance {float(result.variance):.4g}"
    outputs = result.outputs if several else ("",)
    tables = sensitivity_tables(result, outputs, count, _INDICES, ".4g")
    hidden = more(n_inputs - count, where="to_frame()")
    if n_outputs is not None and (hidden or len(tables) > n_outputs):
        hidden = "and more; see to_frame()"
    return View(
        titled("Sensitivity", counted(n_inputs, "input"), facts),
        notes=[f"inputs: {result.inputs}, independent of each other"],
        tables=tables[:n_outputs],
        more=hidden,
        remarks=sensitivity_remarks(result),
    )


def sensitivity_tables(
    result: Sensitivity,
    outputs: Sequence[str],
    count: int,
    titles: Sequence[str],
    style: str,
    noun: str = "input",
) -> list[TableView]:
    """Return the indices of each output, whose title is its name and variance."""
    order, names = result.order[:count], result.feature_names
    arrays = (result.first_order, result.shapley, result.total_order)
    parts = [part.reshape(len(names), -1) for part in arrays]
    shown, width = [names[i] for i in order], max(map(len, names))
    tables = []
    for k, output in enumerate(outputs):
        columns = [
            Column(
                title,
                [f"{part[i, k]:{style}}" for i in order],
                strengths=np.nan_to_num(part[order, k]).tolist(),
                width=len(title),
            )
            for part, title in zip(parts, titles, strict=True)
        ]
        variance = float(np.reshape(result.variance, -1)[k])
        title = f"{output}: variance {variance:.4g}" if output else ""
        tables.append(TableView(noun, shown, columns, title, output, width))
    return tables


def sensitivity_remarks(result: Sensitivity) -> list[str]:
    """Return of what, what is left to interactions, and what to beware of, each in a line."""
    remarks = [] if result.number is None else [f"output: {result.number}"]
    if result.shapley.ndim == 1:
        share = max(0.0, float(result.interactions))
        remarks.append(f"interactions: {share:.2g} of the variance")
    return remarks + result.notes


def interactions(result: Interactions, count: int, where: str = "") -> View:
    """Return the largest interactions; `where` to see others, if that is to be said.

    Of a single row the mean is the value. A mean over several outputs would say nothing: for
    classes it is often 0.
    """
    top, n_outputs = result.top(count), len(result.outputs)
    scale = max((abs(entry.size) for entry in top), default=0.0) or 1.0
    strengths = [entry.size / scale for entry in top]
    signed = [float(np.copysign(s, entry.mean)) for s, entry in zip(strengths, top, strict=True)]
    sizes, means = [f"{entry.size:.4g}" for entry in top], [f"{entry.mean:+.4g}" for entry in top]
    single = len(result) == 1 and n_outputs <= 1
    columns = [] if single else [Column(_SIZE, sizes, strengths=strengths, width=12)]
    if n_outputs <= 1:
        title = "value" if single else "mean"
        columns.append(Column(title, means, strengths=signed, width=12))
    total = sum(values.shape[1] for size, _, values in result.by_order() if size > 1)
    return View(
        _headline(result),
        notes=_notes(result),
        tables=[TableView("players", [" & ".join(entry.players) for entry in top], columns)],
        more=more(total - len(top), where=where) if where else "",
    )


def _headline(result: Interactions) -> str:
    chosen, error = result.subsets, result.error
    return titled(
        "Interactions",
        result.index + (f" of order {result.max_order}" if chosen is None else ""),
        counted(len(result), "row")
        if result.whole == "prediction"
        else f"{result.whole} = {float(result.predictions[0]):.4g}",
        counted(len(result.feature_names), "player"),
        "" if chosen is None else counted(len(chosen), "chosen subset"),
        counted(len(result.outputs), "output") if len(result.outputs) > 1 else "",
        f"{result.removal} removal",
        "" if error is None else f"error <= {error.max(initial=0.0):.2g}",
        "" if np.isnan(result.residual) else f"residual {result.residual:.1e}",
    )


def _notes(result: Interactions) -> list[str]:
    """Return what an absent feature is, and whether values add up."""
    noun, whole = "features", "prediction"
    if result.whole != "prediction":
        noun, whole = "columns", "statistic"
    notes = [] if result.absent is None else [f"absent {noun}: {result.absent}"]
    if not result.efficient:
        notes.append(f"{result.index} values do not add up to the {whole}")
    if len(result.outputs) > 1:
        notes.append(f"{_SIZE}: summed over {counted(len(result.outputs), 'output')}")
    return notes
