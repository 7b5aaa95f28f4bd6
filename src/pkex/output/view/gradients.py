"""The view of `Gradients`: a table of columns, the largest derivative first."""

from __future__ import annotations

from typing import Any

from pkex._util.types import Floats, Indices
from pkex._util.words import pluralise
from pkex.models.classes import describe_output
from pkex.output.spread import POSTERIOR
from pkex.output.view import OUTPUTS, Column, TableView, View, more, title_of

__all__ = ["gradient_table"]

_LINES = 12


def gradient_table(result: Any) -> View:
    """Return the derivatives of one row, or means and ranges over several."""
    several, sizes = result.values.ndim == 3, result.values.shape
    values = result.values if several else result.values[:, :, None]
    shown = result.ranking[: _LINES if len(result) else 0]
    tables = []
    for k in range(min(values.shape[2], OUTPUTS)):
        title = result.output_names[k] if several else ""
        columns = _columns(result, values[:, shown, k], k, shown)
        names = [result.feature_names[i] for i in shown]
        tables.append(TableView("feature", names, columns, title, title))
    hidden = values.shape[2] - OUTPUTS
    what = describe_output(result)
    return View(
        title_of("Gradients", " x ".join(map(pluralise, sizes, ("sample", "feature", "output")))),
        [] if what is None else [what],
        [POSTERIOR] if result.std is not None and len(result) == 1 else [],
        tables=tables,
        more=more(values.shape[1] - len(shown), where="to_frame()") if len(result) else "",
        remarks=[more(hidden, "output", "to_frame()")] if hidden > 0 else [],
    )


def _columns(result: Any, values: Floats, k: int, shown: Indices) -> list[Column]:
    """Return the columns of a table for one output."""
    if not len(values):
        return []
    if len(values) == 1:
        spreads: list[str] = []
        if result.std is not None:
            std = result.std.reshape(*result.std.shape[:2], -1)[0, shown, k]
            spreads = [f"± {one:.2g}" for one in std]
        return [Column("derivative", [f"{one:.4g}" for one in values[0]], spreads)]
    parts = {
        "mean": values.mean(axis=0),
        "lowest": values.min(axis=0),
        "highest": values.max(axis=0),
    }
    return [Column(name, [f"{one:.4g}" for one in part]) for name, part in parts.items()]
