"""All values at once: features by rows, with the predictions above and the importance beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.validation import brief
from pkex._util.words import counted
from pkex.output import palette
from pkex.output.plots.colour_bar import draw_colour_bar
from pkex.output.plots.drawing import MINUS, bars, framed, lanes
from pkex.output.plots.panel import ExplanationDisplay, Output, axis_of_values, shown_features
from pkex.output.plots.waterfall import noun_of_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.theme import Theme
    from pkex.results.explanation import Explanation

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
    ) -> HeatmapDisplay:
        """Draw all values as colours, features by rows, with predictions above.

        Parameters
        ----------
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.
        order : {"prediction", "similarity", "data"}, default "prediction"
            How rows are sorted: by what is predicted, so that rows with similar values are
            neighbours, or as they are.

        Returns
        -------
        HeatmapDisplay
        """
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {brief(order)}.")
        self.order = order
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        _, names, table = shown_features(one, self._max_display)
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
        _number_rows(ax, len(rows))
        _draw_predictions(ax, one, rows, theme)
        _draw_importance(ax, np.abs(table).mean(axis=0), theme)
        beyond = "both" if np.abs(table).max() > limit else "neither"
        draw_colour_bar([ax], image, axis_of_values(one), own=self._own, extend=beyond)


def _sorted(one: Explanation, order: str) -> NDArray[np.intp]:
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


def _draw_predictions(ax: Axes, one: Explanation, rows: NDArray[np.intp], theme: Theme) -> None:
    """Draw the predictions as a line above the colours, over the base value."""
    count = len(ax.get_yticks())
    lanes = count + _GAP + _CURVE
    above = ax.inset_axes((0.0, (count + _GAP) / lanes, 1.0 / _ACROSS, _CURVE / lanes))
    framed(above, "")
    above.axhline(one.base_values[0], color=theme(palette.MISSING), linewidth=0.9)
    line: dict[str, Any] = {"color": theme(palette.INK), "linewidth": 1.2}
    if len(rows) == 1:
        line |= {"marker": "o", "markersize": 3.0}
    above.plot(np.arange(len(rows)), one.predictions[rows], **line)
    above.set_xlim(-0.5, len(rows) - 0.5)
    above.set_xticks([])
    low, base, high = one.predictions.min(), one.base_values[0], one.predictions.max()
    span = max(high, base) - min(low, base)
    ticks: list[float] = []
    for tick in (low, high, base):
        if all(abs(tick - other) > _APART * span for other in ticks):
            ticks.append(tick)
    texts = (f"{'base ' if tick == base else ''}{tick:.3g}" for tick in ticks)
    above.set_yticks(ticks, [text.replace("-", MINUS) for text in texts])


def _draw_importance(ax: Axes, sizes: NDArray[np.float64], theme: Theme) -> None:
    """Draw the mean sizes of the values as bars beside the colours."""
    height = len(sizes) / (len(sizes) + _GAP + _CURVE)
    beside = ax.inset_axes((1.0 - _SIDE / _ACROSS, 0.0, _SIDE / _ACROSS, height))
    framed(beside, "")
    bars(beside, np.arange(len(sizes)), sizes, 0.7, color=theme.series(0))
    beside.set_xticks([])
    beside.set_yticks([])
    beside.set_ylim(len(sizes) - 0.5, -0.5)
    beside.set_xlim(0.0, float(sizes.max()) or 1.0)
