"""The look of the figures, in the colour-blind safe colours of Okabe and Ito."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from pkex._util.files import write_atomically

__all__ = ["COLOURS", "MARKERS", "STYLE", "axes", "save"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
MARKERS = "osD^vP*X"

STYLE: Any = {  # for matplotlib.rc_context, around all drawing
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "pkex",  # the same picture gives the same file
}


def axes(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Return a figure in the style of the page, and its axes as an array (rows, columns)."""
    figure = Figure(layout="constrained", figsize=options.pop("figsize", (7.0, 4.5)))
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in grid.flat:
        ax.grid(color="0.9")
    return figure, grid


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG."""
    metadata: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, entries in metadata.items():
        draw = partial(figure.savefig, format=kind, dpi=130, metadata=entries)
        write_atomically(folder / f"{name}.{kind}", draw, f"{name}.{kind}")
