"""Rows one by one: values side by side, and how they lead from the base value to predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pkex._util.types import Floats
from pkex.models.classes import largest_output_class
from pkex.output import palette
from pkex.output.plots.drawing import Axes, Canvas
from pkex.output.plots.labels import WIDE, shorten
from pkex.output.plots.panel import Explanation, ExplanationDisplay, Lanes, Output
from pkex.output.plots.shades import ramp_positions
from pkex.output.spread import POSTERIOR
from pkex.output.text import align_numbers, feature_text

__all__ = ["DecisionDisplay", "RowDisplay", "WaterfallDisplay"]

_BAR = 0.64  # of the height of a lane
_VALUE = 20  # letters of a feature value
_WITH_VALUE = WIDE + _VALUE + 3
MAX_ROWS = 2000  # lines that a person can distinguish


class RowDisplay(ExplanationDisplay):
    """The values of one row as bars from 0, made by ``explanation.plot.bar()`` for a single row.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0]]).plot.bar()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x0 = 0', 'x1 = 1']
    """

    _kind = "bar"
    _extra = 1  # lanes besides features

    def plot(
        self, row: int = 0, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> Self:
        """Draw the Shapley values of one row as bars from 0.

        Parameters
        ----------
        row : int, default 0
            Number of the row.
        ax, max_display, output
            As for every plot.
        """
        return self._draw_panels(self.result[self._place(row)], ax, output, max_display)

    def _place(self, row: int) -> int:
        """Return the number of the row to draw, and keep its name for the title."""
        place = self._position(row, "row", self._kind)
        self._name = self.result.row_names[place]
        return place

    def _outputs(self, output: Output) -> list[Explanation]:
        """Return the outputs; of a classifier that has one for each class, the predicted one."""
        row = self._rows
        predicted = None if row.predicted_class is None else str(row.predicted_class[0])
        if output is None and row.values.ndim == 3 and row.output_classes and predicted is not None:
            classes = [yes if no is None else None for yes, no in row.output_classes]
            output = classes.index(predicted) if predicted in classes else None
        return super()._outputs(output)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        lanes = self._lanes_of(one)
        values = lanes.values[0]
        canvas.lanes(lanes.names, _WITH_VALUE)
        canvas.line_at(0.0)
        note = self._draw_bars(canvas, lanes, np.zeros(len(values)), values, 0)
        canvas.annotate(align_numbers(values))
        canvas.ax.set_xlabel(self._label_of_values(one) + note)

    def _lanes_of(self, one: Explanation) -> Lanes:
        """Return the lanes, whose names have the feature values."""
        lanes = Lanes.of(one, self._max_display)
        for place, feature in enumerate(lanes.features):
            value = shorten(feature_text(one, 0, feature), _VALUE)
            lanes.names[place] = f"{shorten(lanes.names[place], self._letters)} = {value}"
        return lanes

    def _draw_bars(
        self, canvas: Canvas, lanes: Lanes, begins: Floats, ends: Floats, first: int
    ) -> str:
        """Draw bars and, where known, a standard deviation around their ends; return its name."""
        values, places = lanes.values[0], first + np.arange(len(ends))
        colours = [canvas.theme.signed(value) for value in values]
        canvas.bars(places, values, _BAR, left=begins, color=colours, zorder=2)
        if lanes.stds is not None:
            canvas.whiskers(ends, places, lanes.stds[0])
        canvas.ax.use_sticky_edges = False  # so that marks at the ends are not cut
        canvas.ax.margins(x=0.04)
        return "" if lanes.stds is None else f"\nwhiskers: {POSTERIOR}{lanes.unknown}"

    def _title(self) -> str:
        """Return which row it is, and which class it has."""
        label, other = self._rows.predicted_class, largest_output_class(self._rows)
        predicted = "" if label is None else f", predicted {label[0]}"
        largest = "" if other is None or other[0] is None else f", largest output {other[0]}"
        return f"row {self._name}{predicted}{largest}"


class WaterfallDisplay(RowDisplay):
    """How the values of a row lead to the prediction, made by ``explanation.plot.waterfall(row)``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.waterfall(0)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['base value', 'x0 = 0', 'x1 = 1', 'prediction']
    """

    _kind = "waterfall"
    _extra = 2

    def plot(
        self, row: int = 0, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> Self:
        """Draw how the Shapley values of one row lead from the base value to the prediction.

        Whiskers are posterior standard deviations, where the explanation has them; the sum of other
        features has one where the explanation was made with ``return_cov=True``. Of a classifier
        with an output for each class, that of the predicted class is drawn by default.

        Parameters
        ----------
        row : int, default 0
            Number of the row.
        ax, max_display, output
            As for every plot.
        """
        place = self._place(row)
        self._check_adds_up()
        self._before = f"{place}, "
        return self._draw_panels(self.result[place], ax, output, max_display)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        ax, theme, lanes = canvas.ax, canvas.theme, self._lanes_of(one)
        start, end = one.base_values[0], one.predictions[0]
        canvas.lanes(["base value", *lanes.names, self._noun_of_output(one)], _WITH_VALUE)
        marks = np.append(start, start + np.cumsum(lanes.values[0]))
        style: dict[str, Any] = {"color": theme(palette.NEUTRAL), "linewidth": 1.0, "zorder": 1}
        for place, at in enumerate(marks):  # what leads from a lane to the next
            ax.plot([at, at], [place + 0.4, place + 0.6], linestyle=(0, (2, 2)), **style)
        for place, at in ((0, start), (len(marks), end)):
            ax.plot([at, at], [place - 0.32, place + 0.32], color=theme(palette.INK), linewidth=2.0)
        note = self._draw_bars(canvas, lanes, marks[:-1], marks[1:], 1)
        steps = align_numbers(lanes.values[0])
        decimals = f".{len(steps[0].partition('.')[2])}f" if "e" not in steps[0] else ".4g"
        canvas.annotate([f"{start:{decimals}}", *steps, f"{end:{decimals}}"])
        ax.set_xlabel(self._label_of_output(one) + note)


class DecisionDisplay(ExplanationDisplay):
    """Rows as lines from the base value to their predictions, made by ``plot.decision()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.decision()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    _kind = "decision"
    _width, _height, _lane = 6.4, 1.3, 0.34

    def plot(self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None) -> Self:
        """Draw every row as a line from the base value to its prediction, feature by feature.

        A line begins at the bottom, and each feature moves it by its value; the most important
        feature comes last. Lines are coloured by where they end.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        self._check_adds_up()
        if len(self.result) > MAX_ROWS:
            raise ValueError(
                f"{len(self.result)} lines cannot be distinguished; choose up to {MAX_ROWS} rows, "
                f"e.g. explanation[:{MAX_ROWS // 10}].plot.decision()."
            )
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        from matplotlib.collections import LineCollection

        ax, theme, lanes = canvas.ax, canvas.theme, Lanes.of(one, self._max_display)
        canvas.lanes(lanes.names, self._letters)
        # the base value at the bottom edge, then after each feature at the top of its lane
        ends = one.base_values[:, None] + np.cumsum(lanes.values[:, ::-1], axis=1)
        x = np.column_stack([one.base_values, ends])
        edges = np.arange(len(lanes.names), -1, -1) - 0.5
        order = np.argsort(np.abs(one.predictions - one.base_values))  # the far ones on top
        low, high = np.quantile(one.predictions, [0.05, 0.95])
        colours = theme.ramp()(ramp_positions(one.predictions[order], low, high))
        width, alpha = 1.0 if len(one) > 30 else 1.8, 0.9 if len(one) < 100 else 0.5
        lines = [np.column_stack([x[row], edges]) for row in order]
        ax.add_collection(LineCollection(lines, colors=colours, linewidths=width, alpha=alpha))
        canvas.line_at(one.base_values[0])
        grid: dict[str, Any] = {"color": theme.grid(ax), "linewidth": 0.9, "zorder": 0.5}
        ax.hlines(edges[::-1], 0, 1, transform=ax.get_yaxis_transform(), **grid)
        room = 0.04 * (x.max() - x.min()) or 1.0
        ax.set_xlim(x.min() - room, x.max() + room)
        ax.set_xlabel(self._label_of_output(one))
