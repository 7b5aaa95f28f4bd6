"""All values at once: features by rows, with the predictions above and the importance beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._validation import brief
from pkex._words import counted
from pkex.output import palette
from pkex.output.displays.panel import ExplanationDisplay, axis_of_values, shown_features
from pkex.output.displays.waterfall import noun_of_output
from pkex.output.drawing import MINUS, framed, lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.explanation import Explanation
    from pkex.output.theme import Theme

__all__ = ["HeatmapDisplay"]

ORDERS = ("prediction", "similarity", "data")


class HeatmapDisplay(ExplanationDisplay):
    """All values as colours, features by rows, made by ``explanation.plot.heatmap()``.

    Parameters
    ----------
    explanation : Explanation
    order : {"prediction", "similarity", "data"}
        How rows are sorted.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.heatmap()
    >>> display.ax_.get_xlabel()
    '2 rows, by prediction'
    """

    _kind = "heatmap"
    _width, _height, _lane = 7.4, 2.0, 0.28

    def __init__(self, explanation: Explanation, order: str = "prediction") -> None:
        super().__init__(explanation)
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {brief(order)}.")
        self.order = order

    def _draw(self, one: Explanation, ax: Axes) -> None:
        sizes = np.abs(one.values).mean(axis=0)
        shown, rest = shown_features(one, sizes, self._max_display)
        names, table = [one.feature_names[i] for i in shown], one.values[:, shown]
        if rest is not None and one.efficient:
            others = one.predictions - one.base_values - table.sum(axis=1)
            names, table = [*names, rest], np.column_stack([table, others])
        rows = _sorted(one, self.order)
        theme = lanes(ax, names, self._letters)
        ax.grid(visible=False)
        limit = float(np.quantile(np.abs(table), 0.99)) or float(np.abs(table).max()) or 1.0
        image = ax.imshow(
            table[rows].T,
            aspect="auto",
            cmap=theme.diverging(),
            vmin=-limit,
            vmax=limit,
            interpolation="nearest",
            extent=(-0.5, len(rows) - 0.5, len(names) - 0.5, -0.5),
        )
        words = {"data": "in their order", "similarity": "by similarity"}
        said = words.get(self.order, f"by {noun_of_output(one)}")
        ax.set_xlabel(f"{counted(len(rows), 'row')}, {said}")
        _draw_predictions(ax, one, rows, theme)
        _draw_importance(ax, np.abs(table).mean(axis=0), theme)
        bar: Any = ax.figure.colorbar(
            image,
            ax=ax,
            aspect=32,
            pad=0.02,
            extend="both" if np.abs(table).max() > limit else "neither",
        )
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelsize="small", labelcolor=theme(palette.NEUTRAL))
        bar.set_label(axis_of_values(one), size="small", color=theme(palette.NEUTRAL))


def _sorted(one: Explanation, order: str) -> NDArray[np.intp]:
    """Return the rows in the order asked for."""
    if order == "data" or len(one) < 2:
        return np.arange(len(one))
    if order == "prediction":
        return np.argsort(one.predictions, kind="stable")
    from scipy.cluster.hierarchy import leaves_list, linkage

    return np.asarray(leaves_list(linkage(one.values, "average")), dtype=np.intp)


def _draw_predictions(ax: Axes, one: Explanation, rows: NDArray[np.intp], theme: Theme) -> None:
    """Draw the predictions as a line above the colours, over the base value."""
    above = ax.inset_axes((0.0, 1.02, 1.0, min(0.5, 1.6 / len(ax.get_yticks()))))
    above.sharex(ax)
    framed(above, "")
    above.axhline(one.base_values[0], color=theme(palette.MISSING), linewidth=0.9)
    above.plot(np.arange(len(rows)), one.predictions[rows], color=theme(palette.INK), linewidth=1.2)
    above.tick_params(labelbottom=False)
    low, base, high = one.predictions.min(), one.base_values[0], one.predictions.max()
    near = 0.2 * (high - low)
    ticks = [low, high, *([base] if low + near < base < high - near else [])]
    texts = (f"{'base ' if tick == base else ''}{tick:.3g}" for tick in ticks)
    above.set_yticks(ticks, [text.replace("-", MINUS) for text in texts])


def _draw_importance(ax: Axes, sizes: NDArray[np.float64], theme: Theme) -> None:
    """Draw the mean sizes of the values as bars beside the colours."""
    beside = ax.inset_axes((1.01, 0.0, 0.07, 1.0))
    beside.sharey(ax)
    framed(beside, "")
    beside.barh(np.arange(len(sizes)), sizes, 0.7, color=theme.series(0))
    beside.set_xticks([])
    beside.tick_params(labelleft=False)
    beside.set_xlim(0.0, float(sizes.max()) or 1.0)
