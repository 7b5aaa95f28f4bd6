"""What a report shows of an `Influence`, as JSON: the training rows behind each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.cells import format_cell
from pkex.output.report._page import Fact, cut, finite, make_facts
from pkex.output.text import rank_by_size, value_name
from pkex.output.view.influence import KINDS, count_lines, largest_lines, line_noun, target_text

if TYPE_CHECKING:
    from pkex.results.influence import Influence

__all__ = ["check", "facts", "payload", "section"]

_ROWS, _LINES, _FEATURES = 100, 10, 5  # explained rows, training rows and features of a table


def check(influence: Any, result: Any) -> None:
    """Refuse an influence on other rows."""
    if getattr(influence, "KIND", None) != "influence":
        raise TypeError(
            "influence must be an Influence, e.g. explainer.influence(X, top=10); got "
            f"{type(influence).__name__}."
        )
    same = influence.feature_names == result.feature_names and len(influence) == len(result)
    if result.KIND != "explanation" or not same:
        raise ValueError(
            "the influence is not that of the result: it must have the rows and features of an "
            "explanation. Make both from the same explainer and table."
        )


def payload(influence: Influence) -> dict[str, Any]:
    """Return all that the page needs, where it shows training rows alone."""
    return {
        "title": "Training rows behind predictions",
        "facts": _method(influence),
        "influence": section(influence),
    }


def section(influence: Influence) -> dict[str, Any]:
    """Return what the section needs: a table for each row, for the first output."""
    if not len(influence):
        raise ValueError("the influence has no rows, so there is nothing to show.")
    one = influence if influence.values.ndim == 2 else influence.select_output(0, "report")
    return {
        "what": KINDS[influence.kind],
        "noun": line_noun(influence),
        "value_name": value_name(influence),
        "notes": list(influence.input_notes),
        "output": one.output_names[0] if influence.values.ndim == 3 else None,
        "n_rows": len(influence),
        "rows": [_row(one, row) for row in range(min(_ROWS, len(one)))],
    }


def _row(one: Influence, row: int) -> dict[str, Any]:
    places = largest_lines(one, row, _LINES)
    split = one.feature_values[row, places]
    features = rank_by_size(np.abs(split).sum(axis=0), _FEATURES)
    lines = one.train_rows[row, places]
    return {
        "name": cut(one.row_names[row]),
        "prediction": finite([one.predictions[row]])[0],
        "features": [cut(one.feature_names[j]) for j in features],
        "cells": [_text(one, one.data[row], j) for j in features],
        "lines": [
            {
                "name": cut(one.train_names[line]),
                "target": cut(target_text(one, int(line))),
                "value": finite([one.values[row, place]])[0],
                "split": finite(split[at, features]),
                "cells": None
                if one.train_data is None
                else [_text(one, one.train_data[line], j) for j in features],
            }
            for at, (place, line) in enumerate(zip(places, lines, strict=True))
        ],
    }


def _text(one: Influence, cells: Any, feature: int) -> Any:
    return cut(", ".join(format_cell(cells[column]) for column in one.feature_groups[feature][:4]))


def _method(influence: Influence) -> list[Fact]:
    """Return lines for the method of a report that is about training rows only."""
    values = {
        "Background": influence.background_info or None,
        "Additivity error": None
        if math.isnan(influence.additivity_error)
        else f"{influence.additivity_error:.1e}",
    }
    notes = {"Additivity error": "Of base value and Shapley values to the influence; rounding."}
    return facts(influence) + make_facts(values, notes)


def facts(influence: Influence) -> list[Fact]:
    """Return lines for the method."""
    shown = influence.values.shape[1]
    values = {
        "Influence": influence.kind,
        "Training rows": count_lines(influence),
        "Kept for each row": None if shown == influence.n_train else shown,
    }
    notes = {
        "Influence": "Hyperparameters, scaling, target normalisation, intercept and background "
        "are held."
        if influence.kind == "leave-one-out"
        else "No refit is claimed.",
    }
    return make_facts(values, notes)
