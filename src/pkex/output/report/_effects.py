"""What the report of `Effects` shows, as JSON: a curve for each feature, and tables of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.cells import format_cell
from pkex.output.report._page import Fact, cut, finite, make_facts, sample_rows
from pkex.output.view.effects import KIND_NAMES, count_effects, effect_names

if TYPE_CHECKING:
    from pkex.results.effects import Effects

__all__ = ["payload"]

_LINES = 30  # individual curves of a panel
_NOTES = {
    "Background": "The prediction is computed for these rows, with the feature at each place.",
    "Band": "Two posterior standard deviations of the average, without observation noise.",
    "H squared": "Fraction of the variance that is not additive; 0 means no interaction.",
}


def payload(effects: Effects) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    several = effects.mean.ndim > 0
    outputs = effects.output_names if several else ("",)
    one = [effects.select_output(k, "report") if several else effects for k in range(len(outputs))]
    return {
        "title": KIND_NAMES[effects.kind][0].upper() + KIND_NAMES[effects.kind][1:],
        "facts": _facts(effects),
        "output_names": list(outputs),
        "effects_are": " and ".join(count_effects(effects)),
        "lines": _describe_lines(effects),
        "effects": [cut(name) for name in effect_names(effects)],
        "panels": [[_panel(each, k) for k in range(len(effects))] for each in one],
        "h": finite(np.ravel(effects.h.T)),
        "response": effects.response,
    }


def _describe_lines(effects: Effects) -> str:
    """Return what the lines and the band of a curve are."""
    average = "Line: average over the background"
    if effects.kind == "ale":
        average = "Line: mean differences between neighbouring places, accumulated; its mean is 0"
    parts = [
        "" if effects.average is None else average,
        "" if effects.std is None else "band: two posterior standard deviations",
        "" if effects.individual is None else "thin lines: individual background rows",
    ]
    text = "; ".join(filter(None, parts))
    return f"{text[0].upper()}{text[1:]}. All curves have the same vertical axis."


def _panel(effects: Effects, k: int) -> dict[str, Any]:
    """Return the curve of one effect; of a pair the ends of its surface only."""
    curves = effects.individual if effects.average is None else effects.average
    assert curves is not None
    panel: dict[str, Any] = {"ends": finite([curves[k].min(), curves[k].max()])}
    grid = effects.grid[k]
    if isinstance(grid, tuple):
        return panel | {"pair": True}
    joint, words = grid.ndim > 1, grid.dtype == object
    order = np.arange(len(grid))
    if joint:
        order = np.argsort(curves[k].reshape(-1, len(grid)).mean(axis=0), kind="stable")
    panel["x"] = finite(np.arange(len(grid)) if joint or words else grid)
    panel["levels"] = [cut(format_cell(cell)) for cell in grid] if words and not joint else None
    panel["joint"] = joint
    if effects.average is not None:
        panel["average"] = finite(effects.average[k][order])
    if effects.std is not None:
        panel["std"] = finite(effects.std[k][order])
    if effects.individual is not None:
        rows = sample_rows(len(effects.weights), _LINES)
        panel["individual"] = [finite(line[order]) for line in effects.individual[k][rows]]
    return panel


def _facts(effects: Effects) -> list[Fact]:
    values = {
        "Effects": " and ".join(count_effects(effects)),
        "Background": effects.background_info,
        "Outputs": len(effects.output_names) if effects.mean.ndim else None,
        "Output": effects.output_kind if effects.response == "prediction" else effects.response,
        "Band": None if effects.std is None else "exact, for a Gaussian process",
        "H squared": "exact at the background rows",
    }
    return make_facts(values, _NOTES)
