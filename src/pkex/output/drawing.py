"""What displays are drawn with: the columns of data, names that fit, bare axes, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from pkex._validation import brief, is_index
from pkex.output import palette
from pkex.output.columns import Boxes, Points, Shares, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.statistics.attribution import Attribution

__all__ = ["at_least", "bare", "colour", "draw_columns", "short"]

_LABEL = 24  # letters of a name


def draw_columns(attribution: Attribution, columns: list[int], axes: list[Axes]) -> None:
    """Draw one column in each of the axes; the first with shares has the legend."""
    legend = True
    for column, ax in zip(columns, axes, strict=True):
        drawn, title = picture(attribution, column), attribution.column_names[column]
        if isinstance(drawn, Shares):
            _draw_shares(ax, drawn)
            if legend:
                _legend_above(ax)
            legend = False
        elif isinstance(drawn, Points):
            _draw_points(ax, drawn)
            ax.set_ylabel(short(attribution.sample_names[0]), fontsize="small")
        else:
            _draw_boxes(ax, drawn)
            title = f"{attribution.sample_names[0]} by {title}"
        ax.set_xlabel(short(title), fontsize="small")
        ax.tick_params(labelsize="small")
        ax.locator_params(axis="x", nbins=4)
        ax.spines[["top", "right"]].set_visible(False)


def _legend_above(ax: Axes) -> None:
    ax.legend(
        frameon=False,
        fontsize="small",
        handlelength=1.0,
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
    )


def _draw_shares(ax: Axes, drawn: Shares) -> None:
    """Draw histograms as outlines, or categories as bars side by side, in shares of the rows."""
    if drawn.edges is not None:
        for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
            ax.stairs(shares, drawn.edges, fill=True, color=colour(k), alpha=0.15)
            ax.stairs(shares, drawn.edges, color=colour(k), linewidth=1.6, label=name)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        return
    places, height = np.arange(len(drawn.categories)), 0.8 / len(drawn.series)
    for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
        at = places + (k - 0.5 * (len(drawn.series) - 1)) * height
        ax.barh(at, 100.0 * shares, height, color=colour(k), label=name)
    _name_categories(ax, drawn.categories)
    ax.xaxis.set_major_formatter("{x:g} %")


def _draw_points(ax: Axes, drawn: Points) -> None:
    size = float(np.clip(2000.0 / len(drawn.x), 3.0, 12.0))
    ax.scatter(drawn.x, drawn.y, s=size, color=colour(0), alpha=0.5, linewidth=0)


def _draw_boxes(ax: Axes, drawn: Boxes) -> None:
    """Draw the middle half of the rows as a box, nine tenths as a line, and the median."""
    for place, (low, first, middle, third, high) in enumerate(drawn.quantiles):
        ax.hlines(place, low, high, color=palette.NEUTRAL.light, linewidth=1.0)
        ax.barh(place, third - first, 0.55, left=first, color=colour(0), alpha=0.6)
        ax.vlines(middle, place - 0.275, place + 0.275, color="black", linewidth=1.6)
    _name_categories(ax, drawn.categories)


def _name_categories(ax: Axes, categories: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(categories)), [short(name, 16) for name in categories])
    ax.invert_yaxis()  # the first on top
    ax.tick_params(left=False)


def bare(ax: Axes) -> None:
    """Leave nothing around horizontal bars but their axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)


def colour(k: int) -> str:
    """Return the colour of a series on a light page."""
    return palette.SERIES[k % len(palette.SERIES)].light


def at_least(value: object, name: str, least: int) -> None:
    """Refuse what is no integer of at least `least`."""
    if not is_index(value) or cast("int", value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")


def short(name: str, length: int = _LABEL) -> str:
    """Return a name that fits beside a picture."""
    return name if len(name) <= length else name[: length - 1] + "…"
