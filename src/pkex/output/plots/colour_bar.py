"""Bars of colours beside plots.

In a figure of our own a bar belongs to its axes, so that every layout engine makes room for it, and
``plt.tight_layout()`` may follow; beside axes that were given it takes its room from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkex.output import palette
from pkex.output.plots.drawing import literal, wrapped
from pkex.output.plots.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["draw_colour_bar"]

_THICK, _PAD = 0.13, 0.12  # in inches
_LENGTH = 0.92  # of the height of the axes


def draw_colour_bar(
    axes: Sequence[Axes], mappable: Any, label: str = "", *, own: bool, **options: Any
) -> Any:
    """Draw what the colours of these axes mean, on the right of them; return the bar.

    Parameters
    ----------
    axes : sequence of matplotlib Axes
        The panels that have these colours, row by row.
    mappable : matplotlib ScalarMappable
    label : str, optional
    own : bool
        Whether the figure was made for these axes.
    **options
        Of ``Figure.colorbar``.
    """
    ax, figure = _corner(axes), axes[0].figure
    extent = ax.get_window_extent()
    theme, dpi = Theme.of(ax), figure.figure.dpi
    if own:
        width = extent.width / dpi
        inside = ax.inset_axes((1.0 + _PAD / width, 0.5 * (1.0 - _LENGTH), _THICK / width, _LENGTH))
        bar: Any = figure.colorbar(mappable, cax=inside, **options)
    else:
        style: dict[str, Any] = {"aspect": 32, "pad": 0.02, "shrink": _LENGTH}
        bar = figure.colorbar(mappable, ax=ax, **style, **options)
    bar.outline.set_visible(False)
    quiet = theme(palette.NEUTRAL)
    bar.ax.tick_params(length=0, labelsize="small", labelcolor=quiet)
    bar.ax.yaxis.get_offset_text().set(color=quiet, fontsize="small")
    if label:
        room = _LENGTH * extent.height / dpi
        bar.set_label(literal(wrapped(label, room)), size="small", color=quiet)
    return bar


def _corner(axes: Sequence[Axes]) -> Axes:
    """Return the axes at the right end of the first row."""
    specs = [ax.get_subplotspec() for ax in axes]
    if len(axes) == 1 or any(spec is None for spec in specs):
        return axes[-1]
    known = [(spec, ax) for spec, ax in zip(specs, axes, strict=True) if spec is not None]
    return max(known, key=lambda pair: (-pair[0].rowspan.start, pair[0].colspan.start))[1]
