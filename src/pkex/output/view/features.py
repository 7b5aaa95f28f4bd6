"""Views that are a table of features or of interactions, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.types import Floats, Indices
from pkex._util.words import pluralise
from pkex.output.spread import (
    LEVEL,
    POSTERIOR,
    deviations,
    has_intervals,
    importance_notes,
    interval_words,
    outside_words,
)
from pkex.output.text import rank_by_size, value_name
from pkex.output.view import OUTPUTS, Column, TableView, View, more, number_column, title_of

if TYPE_CHECKING:
    from pkex.results.importance import Importance
    from pkex.results.interactions import Interactions
    from pkex.results.sensitivity import Sensitivity

__all__ = [
    "importance",
    "importance_tables",
    "interactions",
    "largest_pairs",
    "mean_size",
    "sensitivity",
    "sensitivity_remarks",
    "sensitivity_tables",
]

_INDICES = {"first_order": "first-order", "shapley": "Shapley", "total_order": "total-order"}


def importance(result: Importance, count: int | None = None) -> View:
    """Return the means with their standard errors; of the first outputs."""
    several, n_features = result.values.ndim == 2, len(result.feature_names)
    tables = importance_tables(result, result.output_names if several else (), count)
    hidden = len(result.output_names) - OUTPUTS if several else 0
    outputs = [more(hidden, "output", "to_frame()")] if hidden > 0 else []
    what = result.meaning or f"{mean_size(result)} over rows"
    return View(
        title_of("Importance", pluralise(n_features, "feature"), what),
        tables=tables,
        more=more(n_features - len(tables[0].names), where="to_frame()"),
        remarks=[*outputs, *importance_notes(result)],
    )


def mean_size(result: Importance) -> str:
    """Return what the numbers of an importance are."""
    return result.meaning or f"mean |{value_name(result)}|"


def importance_tables(
    result: Importance, titles: Sequence[str], count: int | None
) -> list[TableView]:
    """Return the means of each of the first outputs, and centred ones of neutral removal."""
    order = result.ranking[:count]
    means, errors, centred = (
        part.reshape(len(part), -1)[order]
        for part in (result.values, result.standard_errors, result.centred)
    )
    shown, scale = [result.feature_names[i] for i in order], result.values.max(initial=0.0) or 1.0
    tables = []
    for k, title in enumerate((titles or (mean_size(result),))[:OUTPUTS]):
        spreads = ["" if np.isnan(error) else f"± {error:.2g}" for error in errors[:, k]]
        columns = [number_column(title, means[:, k], scale=scale, spreads=spreads)]
        columns += [number_column("centred", centred[:, k])] if result.neutral else []
        columns += _columns_of_draws(result, order, k)
        if result.importances_std is not None:
            columns.append(number_column("std of a shuffle", result.importances_std[order]))
        tables.append(TableView("feature", shown, columns))
    return tables


def _columns_of_draws(result: Importance, order: Indices, k: int) -> list[Column]:
    """Return means and intervals of the draws for one output; none without enough draws."""
    if result.draws is None or not has_intervals(result.draws):
        return []
    ends = [end.reshape(len(end), -1)[order, k] for end in result.interval(LEVEL)]
    cells = [f"[{low:.3g}, {high:.3g}]" for low, high in zip(*ends, strict=True)]
    middle = result.draws.mean(axis=0).reshape(len(result.values), -1)[order, k]
    interval = Column(f"{100.0 * LEVEL:.0f} % interval", cells)
    return [number_column("mean of draws", middle), interval]


def sensitivity(result: Sensitivity, count: int, n_outputs: int | None = None) -> View:
    """Return the indices, a table for each output."""
    several, n_inputs = result.shapley.ndim == 2, len(result.feature_groups)
    outputs = result.output_names if several else ("",)
    facts = f"{len(outputs)} outputs" if several else f"variance {float(result.variance):.4g}"
    tables = sensitivity_tables(result, outputs, count)
    hidden = more(n_inputs - count, where="to_frame()")
    if n_outputs is not None and (hidden or len(tables) > n_outputs):
        hidden = "and more; see to_frame()"
    return View(
        title_of("Sensitivity", pluralise(n_inputs, "input"), facts),
        notes=[
            f"inputs: {result.inputs}, independent of each other",
            *interval_words(result.shapley_draws),
        ],
        tables=tables[:n_outputs],
        more=hidden,
        remarks=sensitivity_remarks(result),
    )


def sensitivity_tables(result: Sensitivity, outputs: Sequence[str], count: int) -> list[TableView]:
    """Return the indices of each output, whose title is its name and variance."""
    order = result.ranking[:count]
    shown, variances = [result.feature_names[i] for i in order], np.reshape(result.variance, -1)
    tables = []
    for k, output in enumerate(outputs):
        columns = []
        for kind, title in _INDICES.items():
            numbers = getattr(result, kind).reshape(len(result.feature_names), -1)[order, k]
            spreads = _intervals(result, kind, order, k)
            columns.append(number_column(title, numbers, ".4f", 1.0, spreads))
        title = f"{output}: variance {float(variances[k]):.4g}" if output else ""
        tables.append(TableView("input", shown, columns, title, output))
    return tables


def _intervals(result: Sensitivity, kind: str, order: Indices, k: int) -> list[str]:
    """Return the intervals of an index for one output as text; none without enough draws."""
    if not has_intervals(result.shapley_draws):
        return []
    ends = [end.reshape(len(end), -1)[order, k] for end in result.interval(kind, LEVEL)]
    return [f"[{low:.3f}, {high:.3f}]" for low, high in zip(*ends, strict=True)]


def sensitivity_remarks(result: Sensitivity) -> list[str]:
    """Return the kind of output, the part of interactions, and notes, each in a line."""
    remarks = [] if result.output_kind is None else [f"output: {result.output_kind}"]
    if result.shapley.ndim == 1:
        fraction = max(0.0, float(result.interaction_fraction))
        remarks.append(f"interactions: {fraction:.2g} of the variance")
    return [*remarks, *_words_on_draws(result), *result.notes]


def _words_on_draws(result: Sensitivity) -> list[str]:
    """Return why some indices lie outside of their intervals, where they do."""
    if result.shapley_draws is None:
        return []
    indices = np.stack([getattr(result, kind) for kind in _INDICES])
    return outside_words(indices, np.stack([result.draws[kind] for kind in _INDICES], axis=1))


def interactions(result: Interactions, count: int, where: str = "") -> View:
    """Return the largest interactions; `where` to see others, if that is to be said.

    Of a single row the mean is the value. A mean over several outputs would say nothing: for
    classes it is often 0.
    """
    top, n_outputs = result.top(count), len(result.output_names)
    sizes, means = (np.array([getattr(one, part) for one in top]) for part in ("size", "mean"))
    scale, single = sizes.max(initial=0.0) or 1.0, len(result) == 1 and n_outputs <= 1
    columns = [] if single else [number_column(f"mean |{result.index}|", sizes, scale=scale)]
    if n_outputs <= 1:
        title, spreads, spread = result.index if single else "mean", [], deviations(result)
        if single and spread is not None:
            spreads = [f"± {spread[one.features].item():.2g}" for one in top]
        columns.append(number_column(title, means, "+.4g", scale, spreads))
    total = sum(values.shape[1] for size, _, values in result.by_order() if size > 1)
    return View(
        _headline(result),
        notes=_notes(result),
        tables=[TableView("features", [" & ".join(entry.features) for entry in top], columns)],
        more=more(total - len(top), where=where) if where else "",
    )


def _headline(result: Interactions) -> str:
    chosen, error, n_outputs = result.subsets, result.error_bound, len(result.output_names)
    sizes = [pluralise(len(result), "sample"), pluralise(len(result.feature_names), "feature")]
    if result.explained != "prediction":
        sizes[0] = f"{result.explained} = {float(result.predictions[0]):.4g}"
    return title_of(
        "Interactions",
        result.index + (f" of order {result.max_order}" if chosen is None else ""),
        (" x " if result.explained == "prediction" else ", ").join(sizes),
        "" if chosen is None else pluralise(len(chosen), "chosen subset"),
        pluralise(n_outputs, "output") if n_outputs > 1 else "",
        str(result.removal),
        "" if error is None else f"error bound {error.max(initial=0.0):.1g}",
    )


def _notes(result: Interactions) -> list[str]:
    """Return the background, and whether values add up."""
    explained = "prediction" if result.explained == "prediction" else "statistic"
    notes = []
    if result.about.background_info is not None:
        notes.append(f"background: {result.about.background_info}")
    if deviations(result) is not None and len(result) == 1 and len(result.output_names) <= 1:
        notes.append(POSTERIOR)
    if not result.efficient:
        notes.append(f"{result.index} values do not add up to the {explained}")
    if len(result.output_names) > 1:
        outputs = pluralise(len(result.output_names), "output")
        notes.append(f"mean |{result.index}|: summed over {outputs}")
    return notes


def largest_pairs(sizes: Floats, count: int | None = None) -> list[tuple[int, int]]:
    """Return the pairs of features of the largest sizes, the largest first.

    Examples
    --------
    >>> largest_pairs(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), 2)
    [(0, 2), (0, 1)]
    """
    first, second = np.triu_indices(len(sizes), 1)
    order = rank_by_size(sizes[first, second], count)
    return list(zip(first[order].tolist(), second[order].tolist(), strict=True))
