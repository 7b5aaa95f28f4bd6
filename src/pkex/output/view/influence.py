"""Views of training rows: those behind each prediction, and those that a model does not predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.cells import format_cell
from pkex._util.types import Floats
from pkex._util.words import pluralise
from pkex.output.text import rank_by_size, value_name
from pkex.output.view import Column, TableView, View, more, number_column, title_of

if TYPE_CHECKING:
    from pkex.results.influence import Influence
    from pkex.results.leave_one_out import LeaveOneOut

__all__ = [
    "KINDS",
    "count_lines",
    "influence",
    "largest_lines",
    "leave_one_out",
    "line_noun",
    "target_text",
]

KINDS = {
    "leave-one-out": "prediction with all training rows minus prediction without this one",
    "representer": "term of the training row in the prediction; with the intercept they sum to it",
}
_ROWS, _SHOWN, _FEATURES = 4, 3, 3  # of the table of an influence
_LINES = 8  # of that of residuals


def largest_lines(result: Influence, row: int, count: int) -> Any:
    """Return the places of the most influential training rows of a row, among those it has."""
    return rank_by_size(
        np.abs(result.values[row].reshape(result.values.shape[1], -1)).sum(1), count
    )


def line_noun(result: Influence) -> str:
    """Return what the numbers of lines count: support vectors, where only these are known."""
    return "support vector" if result.train_noun == "support vectors" else "training row"


def count_lines(result: Influence) -> str:
    """Return how many training rows there are, and what they are."""
    noun = result.train_noun if result.train_noun != "points" else "training points"
    return pluralise(result.n_train, noun.removesuffix("s"))


def target_text(result: Any, line: int) -> str:
    """Return the target of a training row; nothing where it is not known."""
    targets = result.train_targets
    if targets is None:
        return ""
    cells = np.atleast_1d(targets[line])
    return ", ".join(f"{x:.4g}" if isinstance(x, float) else format_cell(x) for x in cells)


def influence(result: Influence) -> View:
    """Return the most influential training rows of the first rows, for the first output."""
    one = result if result.values.ndim == 2 else result.select_output(0, "repr")
    names, lines = one.train_names, []
    for row in range(min(_ROWS, len(one))):
        lines += [(row, place) for place in largest_lines(one, row, _SHOWN)]
    at = [int(one.train_rows[row, place]) for row, place in lines]
    columns = [
        Column(line_noun(one), [names[line] for line in at]),
        number_column("influence", np.array([one.values[place] for place in lines]), "+.4g"),
    ]
    if one.train_targets is not None:
        columns.append(Column("target", [target_text(one, line) for line in at]))
    splits = [_largest_features(one, one.feature_values[place]) for place in lines]
    columns.append(Column(f"on {value_name(one)}s", splits))
    table = TableView("row", [one.row_names[row] for row, _ in lines], columns)
    shown = result.values.shape[1]
    of = "" if shown == result.n_train else f"{shown} of "
    headline = title_of(
        "Influence",
        f"{pluralise(len(result), 'sample')} x {of}{count_lines(result)}",
        result.kind,
        pluralise(result.values.shape[2], "output") if result.values.ndim == 3 else "",
    )
    notes = [KINDS[result.kind]]
    if result.values.ndim == 3:
        notes.append(f"output {one.output_names[0]}")
    rest = more(len(result) - _ROWS, "row")
    return View(headline, notes=notes, tables=[table], more=rest, remarks=result.notes)


def _largest_features(result: Influence, split: Floats) -> str:
    features = rank_by_size(np.abs(split), _FEATURES)
    return ", ".join(f"{result.feature_names[j]} {split[j]:+.2g}" for j in features)


def leave_one_out(result: LeaveOneOut) -> View:
    """Return the training rows with the largest residuals, for the first output."""
    one = result if result.residuals.ndim == 1 else result.select_output(0, "repr")
    rows = one.ranking[:_LINES]
    columns = [
        number_column("target", one.targets[rows]),
        number_column("prediction", one.predictions[rows]),
        number_column("residual", one.residuals[rows], "+.4g"),
    ]
    if one.std is not None and one.log_density is not None:
        columns.append(number_column("std", one.std[rows]))
        columns.append(number_column("log density", one.log_density[rows]))
    table = TableView("training row", [one.row_names[row] for row in rows], columns)
    several = result.residuals.ndim == 2
    headline = title_of(
        "LeaveOneOut",
        pluralise(len(result), "training row"),
        pluralise(result.residuals.shape[1], "output") if several else "",
        f"root mean squared residual {np.sqrt(np.mean(one.residuals**2)):.4g}" if len(one) else "",
    )
    notes = [f"output {one.output_names[0]}"] if several else []
    rest = more(len(result) - _LINES, "row")
    return View(headline, notes=notes, tables=[table], more=rest, remarks=result.notes)
