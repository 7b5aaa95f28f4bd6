"""All values at once: features by rows, with the predictions above and the importance beside."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import pluralise
from pkex.output import palette
from pkex.output.plots.drawing import Axes, Canvas
from pkex.output.plots.labels import MINUS
from pkex.output.plots.panel import Explanation, ExplanationDisplay, Lanes, Output

__all__ = ["HeatmapDisplay"]

ORDERS = ("prediction", "similarity", "data")
_CURVE, _GAP = 1.7, 0.15  # lanes, of the predictions and above the colours
_SIDE, _ACROSS = 0.09, 1.1  # in widths of the colours: the bars beside them, and all
_APART = 0.3  # of the height of the predictions, between numbers beside them


class HeatmapDisplay(ExplanationDisplay):
    """All values as colours, features by rows, made by ``explanation.plot.heatmap()``.

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

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_display: int = 12,
        order: str = "prediction",
        output: Output = None,
    ) -> Self:
        """Draw all values as colours, features by rows, with predictions above.

        Parameters
        ----------
        ax, max_display
            As for every plot.
        order : {"prediction", "similarity", "data"}, default "prediction"
            Order of the rows: by prediction, with similar rows side by side, or as in the data.
        output
            As for every plot.
        """
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {brief(order)}.")
        self.order = order
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        ax, lanes = canvas.ax, Lanes.of(one, self._max_display)
        rows = _sort_rows(one, self.order)
        canvas.lanes(lanes.names, self._letters)
        ax.grid(visible=False)
        sizes = np.abs(lanes.values)
        limit = float(np.quantile(sizes, 0.99)) or float(sizes.max()) or 1.0
        style: dict[str, Any] = {"cmap": canvas.theme.diverging(), "vmin": -limit, "vmax": limit}
        image = ax.imshow(lanes.values[rows].T, aspect="auto", interpolation="nearest", **style)
        words = {"data": "in their order", "similarity": "by similarity"}
        order = words.get(self.order, f"by {self._noun_of_output(one)}")
        ax.set_xlabel(f"{pluralise(len(rows), 'row')}, {order}")
        _number_rows(ax, len(rows))
        _draw_predictions(canvas, one, rows)
        _draw_importance(canvas, sizes.mean(axis=0))
        beyond = "both" if sizes.max() > limit else "neither"
        canvas.colour_bar(image, self._label_of_values(one), extend=beyond)


def _sort_rows(one: Explanation, order: str) -> NDArray[np.intp]:
    """Return the rows in the order asked for."""
    if order == "data" or len(one) < 2:
        return np.arange(len(one))
    if order == "prediction":
        return np.argsort(one.predictions, kind="stable")
    from scipy.cluster.hierarchy import leaves_list, linkage

    return np.asarray(leaves_list(linkage(one.values, "average")), dtype=np.intp)


def _number_rows(ax: Axes, count: int) -> None:
    """Number the rows below the colours, and make room for what stands above and beside them."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(0, max(1, count - 1))
    ax.set_xticks([tick for tick in ticks if 0 <= tick < count])
    ax.set_xlim(-0.5, -0.5 + count * _ACROSS)
    ax.set_ylim(len(ax.get_yticks()) - 0.5, -0.5 - _GAP - _CURVE)


def _inset(canvas: Canvas, left: float, bottom: float, width: float, height: float) -> Canvas:
    """Return axes without a grid beside the colours, in widths of these and in lanes."""
    lanes = len(canvas.ax.get_yticks()) + _GAP + _CURVE
    bounds = (left / _ACROSS, bottom / lanes, width / _ACROSS, height / lanes)
    inset = Canvas(canvas.ax.inset_axes(bounds), new_figure=False)
    inset.frame("")
    return inset


def _draw_predictions(canvas: Canvas, one: Explanation, rows: NDArray[np.intp]) -> None:
    """Draw the predictions as a line above the colours, over the base value."""
    above = _inset(canvas, 0.0, len(canvas.ax.get_yticks()) + _GAP, 1.0, _CURVE)
    low, base, high = one.predictions.min(), one.base_values[0], one.predictions.max()
    above.line_at(base, vertical=False, zorder=2)
    line: dict[str, Any] = {"color": canvas.theme(palette.INK), "linewidth": 1.2, "markersize": 3.0}
    marker = "o" if len(rows) == 1 else ""
    above.ax.plot(np.arange(len(rows)), one.predictions[rows], marker=marker, **line)
    above.ax.set_xlim(-0.5, len(rows) - 0.5)
    above.ax.set_xticks([])
    span = max(high, base) - min(low, base)
    ticks: list[float] = []
    for tick in (low, high, base):
        if all(abs(tick - other) > _APART * span for other in ticks):
            ticks.append(tick)
    texts = (f"{'base ' if tick == base else ''}{tick:.3g}" for tick in ticks)
    above.ax.set_yticks(ticks, [text.replace("-", MINUS) for text in texts])


def _draw_importance(canvas: Canvas, sizes: Floats) -> None:
    """Draw the mean sizes of the values as bars beside the colours."""
    beside = _inset(canvas, _ACROSS - _SIDE, 0.0, _SIDE, len(sizes))
    beside.bars(np.arange(len(sizes)), sizes, 0.7, color=canvas.theme.series(0))
    beside.ax.set(xticks=[], yticks=[], ylim=(len(sizes) - 0.5, -0.5))
    beside.ax.set_xlim(0.0, float(sizes.max()) or 1.0)
