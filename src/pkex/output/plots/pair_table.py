"""Pairs of features as a table of colours: of interactions, and of the parts of a variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.plots.colour_bar import draw_colour_bar
from pkex.output.plots.drawing import framed, literal, short, write_title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

__all__ = ["PAIR_PLAYERS", "draw_pair_table", "pair_size"]


PAIR_PLAYERS = 12
"""Features that such a table shows by default."""
_DARK = 0.6  # share of the largest value from which on a cell is dark


def pair_size(count: int) -> tuple[float, float]:
    """Return the width and height in inches of a figure that suits so many features."""
    return 2.6 + 0.42 * count, 1.6 + 0.4 * count


def draw_pair_table(
    ax: Axes,
    table: Floats,
    names: Sequence[str],
    *,
    signed: bool,
    title: str,
    texts: Callable[[float], str] | None = None,
    label: str = "",
    own: bool,
) -> None:
    """Draw a symmetric table; its diagonal means nothing and is left out.

    Without signs colours begin at 0, as there is nothing below. `texts` writes the number of a
    cell.
    """
    theme, count = framed(ax, ""), len(names)
    cells = np.where(np.eye(count, dtype=bool), np.nan, table)
    largest = float(np.nanmax(np.abs(cells), initial=0.0)) or 1.0
    colours = (theme.diverging() if signed else theme.rising()).with_extremes(
        bad=theme(palette.GRID)
    )
    image = ax.imshow(cells, cmap=colours, vmin=-largest if signed else 0.0, vmax=largest)
    places, ink = np.arange(count), theme(palette.INK)
    shown = [literal(short(name)) for name in names]
    ax.set_xticks(places, shown, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(places, shown)
    ax.tick_params(labelcolor=ink)
    write_title(ax, title)
    if texts is not None:
        for i, j in np.argwhere(~np.isnan(cells)):
            colour = theme(palette.PAGE) if abs(cells[i, j]) > _DARK * largest else ink
            text = texts(float(cells[i, j]))
            ax.text(j, i, text, ha="center", va="center", fontsize="small", color=colour)
    draw_colour_bar([ax], image, label, own=own)
