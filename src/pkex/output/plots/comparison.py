"""A `Comparison` drawn with matplotlib: values of the mean beside those of the variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pkex._util.types import Indices
from pkex._util.validation import brief
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Canvas, Key
from pkex.output.plots.labels import LETTERS, WIDE, of_all, room_for
from pkex.output.text import align_numbers

if TYPE_CHECKING:
    from pkex.results.comparison import Comparison

__all__ = ["ComparisonDisplay"]

_QUANTITIES = ("mean", "variance")
_LABELS = {"mean": "Shapley value", "variance": "Shapley value of the variance"}
_NOTES = {"mean": "whiskers: ± 1 posterior standard deviation", "variance": ""}


class ComparisonDisplay(Display):
    """The values of a `Comparison` in two panels, made by its ``plot``.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The panel of the mean.
    axes_ : list of matplotlib.axes.Axes
        The panels, that of the variance last.
    figure_ : matplotlib.figure.Figure
        The figure of the panels.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
    >>> display = pkex.compare(model, [1.0, 0.5], [0.0, 0.0]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Comparison

    def plot(
        self,
        ax: Axes | None = None,
        *,
        quantity: str | None = None,
        max_display: int = 12,
        output: Key = None,
    ) -> Self:
        """Draw the values of the mean as bars, and beside them those of the variance.

        Whiskers are one posterior standard deviation of a value. Features that are fixed are left
        out, unless all are.

        Parameters
        ----------
        ax
            As for every plot.
        quantity : {"mean", "variance"}, optional
            What to draw; both by default, side by side. Given axes have room for one.
        max_display, output
            As for every plot.
        """
        if quantity not in (None, *_QUANTITIES):
            raise ValueError(
                f'quantity must be "mean", "variance" or None for both, got {brief(quantity)}.'
            )
        if ax is not None and quantity is None:
            raise ValueError(
                'one ax has room for one quantity; choose it, e.g. plot(ax, quantity="mean"), or '
                "omit ax."
            )
        one = self.result.select_output(output, "plot")
        fixed = {*one.fixed}
        varied = [i for i in one.ranking if one.feature_names[i] not in fixed]
        shown, names = self._largest(np.array(varied or one.ranking), max_display)
        quantities = _QUANTITIES if quantity is None else (quantity,)
        panels, height = len(quantities), max(2.2, 1.3 + 0.32 * len(shown))
        canvases = self._canvases(ax, panels, panels, 3.7, height, room_for(names), 0.0)
        count = len(varied) or len(one.feature_names)
        for canvas, what in zip(canvases, quantities, strict=True):
            first = canvas.ax is self.ax_
            canvas.lanes(names if first else [""] * len(names), WIDE if ax is None else LETTERS)
            self._draw_values(canvas, one, what, shown)
            canvas.label_below(of_all(_LABELS[what], len(shown), count), _NOTES[what])
            name = f"{one.output_names[0]}: " if self.result.values.ndim > 1 and first else ""
            before, after = one.predictions if what == "mean" else one.variances
            canvas.title(f"{name}{what} {before:.3g} → {after:.3g}")
        return self

    def _draw_values(self, canvas: Canvas, one: Comparison, quantity: str, shown: Indices) -> None:
        """Draw a bar for each value, coloured by its sign, with the number beside it."""
        values = (one.values if quantity == "mean" else one.variance_values)[shown]
        places = np.arange(len(shown))
        colours = [canvas.theme.signed(value) for value in values]
        canvas.bars(places, values, 0.62, color=colours)
        canvas.line_at(0.0)
        if quantity == "mean":
            canvas.whiskers(values, places, one.std[shown])
        canvas.annotate(align_numbers(values))
