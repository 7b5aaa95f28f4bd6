"""The view of a comparison: both predictions, and the values of mean and variance side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.cells import format_cell
from pkex._util.types import Floats, Indices
from pkex._util.words import pluralise
from pkex.models.classes import describe_output
from pkex.output.spread import POSTERIOR
from pkex.output.text import align_numbers, cut
from pkex.output.view import OUTPUTS, Column, TableView, View, more, title_of

__all__ = ["comparison_table"]

_LINES, _LETTERS = 12, 16


def comparison_table(result: Any) -> View:
    """Return both predictions, and a table of the largest values for each output."""
    several = result.values.ndim == 2
    n_outputs = result.values.shape[1] if several else 1
    shown = result.ranking[:_LINES]
    tables, lead = [], []
    for k in range(min(n_outputs, OUTPUTS)):
        one = result.select_output(k, "comparison") if several else result
        title = one.output_names[0] if several else ""
        lead.append((f"{title}: " if title else "") + _difference(one))
        names = [result.feature_names[i] for i in shown]
        tables.append(TableView("feature", names, _columns(one, shown), title, title))
    n_features, n_fixed = len(result.feature_names), len(result.fixed)
    what = describe_output(result)
    return View(
        title_of(
            "Comparison", pluralise(n_features, "feature"), f"{n_fixed} fixed" if n_fixed else ""
        ),
        lead=lead if what is None else [what, *lead],
        notes=[POSTERIOR],
        tables=tables,
        more=more(n_features - len(shown), where="to_frame()"),
        remarks=[*result.notes, more(n_outputs - OUTPUTS, "output", "to_frame()")][
            : len(result.notes) + (n_outputs > OUTPUTS)
        ],
    )


def _difference(one: Any) -> str:
    """Return the predictions with their standard deviations, and how they differ."""
    incumbent, candidate = (
        f"{mean:.4g} ± {np.sqrt(max(variance, 0.0)):.2g}"
        for mean, variance in zip(one.predictions, one.variances, strict=True)
    )
    difference = f"difference {one.difference:+.4g} ± {one.difference_std:.2g}"
    return f"incumbent {incumbent}, candidate {candidate}: {difference}"


def _columns(one: Any, shown: Indices) -> list[Column]:
    """Return the feature values of both rows, and the values of mean and variance."""
    columns = []
    for title, row in zip(("incumbent", "candidate"), one.data, strict=True):
        groups = [one.feature_groups[i] for i in shown]
        cells = [", ".join(cut(format_cell(row[j]), _LETTERS) for j in group) for group in groups]
        columns.append(Column(title, [cut(cell, 2 * _LETTERS) for cell in cells]))
    fixed = {*one.fixed}
    still = [one.feature_names[i] in fixed for i in shown]
    means, variances = (
        align_numbers(values[shown]) for values in (one.values, one.variance_values)
    )
    spreads = [
        "" if is_fixed else f"± {std:.2g}"
        for std, is_fixed in zip(one.std[shown], still, strict=True)
    ]
    columns.append(Column("mean", _fixed(means, still), spreads, _tints(one.values, shown)))
    tints = _tints(one.variance_values, shown)
    return [*columns, Column("variance", _fixed(variances, still), strengths=tints)]


def _fixed(cells: list[str], still: list[bool]) -> list[str]:
    """Return the cells with the word for features in which the rows do not differ."""
    pairs = zip(cells, still, strict=True)
    return ["fixed" if is_fixed else cell for cell, is_fixed in pairs]


def _tints(values: Floats, shown: Indices) -> list[float]:
    """Return how much each cell is tinted."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    tints: list[float] = (values[shown] / largest).tolist()
    return tints
