"""What is shown of `Effects`: where each curve runs, and between which values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.cells import format_cell
from pkex._util.words import pluralise
from pkex.output.view import OUTPUTS, Column, TableView, View, more, number_column, title_of

if TYPE_CHECKING:
    from pkex.results.effects import Effects

__all__ = ["KIND_NAMES", "count_effects", "effect_names", "effects", "effects_tables"]

KIND_NAMES = {
    "average": "partial dependence",
    "individual": "ICE",
    "both": "partial dependence and ICE",
    "ale": "accumulated local effects",
}


def effect_names(result: Effects) -> list[str]:
    """Return what to call each effect: a feature, or a pair of them."""
    return [" & ".join(names) for names in result.features]


def effects(result: Effects, count: int) -> View:
    """Return the ends of the grids and of the curves, of the first outputs."""
    n_outputs = len(result.output_names)
    shown = result.response if result.response != "prediction" else ""
    headline = title_of(
        "Effects",
        KIND_NAMES[result.kind],
        *count_effects(result),
        pluralise(n_outputs, "output") if n_outputs > 1 else "",
        shown,
    )
    return View(
        headline,
        notes=[f"background: {result.about.background_info}"],
        tables=effects_tables(result, count),
        more=more(len(result) - count, "effect"),
        remarks=[f"output: {result.output_kind}"] if result.output_kind and not shown else [],
    )


def count_effects(result: Effects) -> list[str]:
    """Return how many features and pairs there are."""
    pairs = sum(len(names) > 1 for names in result.features)
    counts = ((len(result) - pairs, "feature"), (pairs, "pair"))
    return [pluralise(number, word) for number, word in counts if number]


def effects_tables(result: Effects, count: int) -> list[TableView]:
    """Return a table for each of the first outputs."""
    names, ends = effect_names(result)[:count], [_ends(grid) for grid in result.grid[:count]]
    curves = result.individual if result.average is None else result.average
    assert curves is not None
    several = len(result.output_names) > 1
    tables = []
    for k, output in enumerate(result.output_names[:OUTPUTS] if several else ("",)):
        shown = [curve[..., k] if several else curve for curve in curves[:count]]
        low, high = (np.array([end(curve) for curve in shown]) for end in (np.min, np.max))
        columns = [
            Column("from", [low for low, _ in ends]),
            Column("to", [high for _, high in ends]),
        ]
        columns += [number_column("lowest", low), number_column("highest", high)]
        if result.std is not None:
            stds = [each[..., k] if several else each for each in result.std[:count]]
            columns.append(number_column("mean std", np.array([each.mean() for each in stds])))
        tables.append(TableView("feature", names, columns, output, output))
    return tables


def _ends(grid: Any) -> tuple[str, str]:
    """Return the first and the last place; of categories and joint values how many there are."""
    if isinstance(grid, tuple):
        starts, stops = zip(*(_ends(axis) for axis in grid), strict=True)
        return ", ".join(starts), ", ".join(filter(None, stops))
    if grid.ndim > 1:
        return pluralise(len(grid), "joint value"), ""
    return format_cell(grid[0]), format_cell(grid[-1])
