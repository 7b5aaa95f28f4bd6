"""The values of one row: how they lead from the base value to the prediction, or side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.indexing import Axis, select
from pkex._util.validation import brief
from pkex.models.classes import elsewhere
from pkex.output import palette
from pkex.output.plots.drawing import WIDE, annotated, bars, lanes, short, whiskers
from pkex.output.plots.panel import (
    ExplanationDisplay,
    about_class,
    axis_of_values,
    shown_features,
    zero_line,
)
from pkex.output.spread import POSTERIOR, others_std, others_words
from pkex.output.text import aligned, raw_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.panel import Output
    from pkex.results.explanation import Explanation

__all__ = ["RowDisplay", "WaterfallDisplay", "adds_up", "axis_of_output", "noun_of_output"]

_BAR = 0.64  # of the height of a lane
_NOUN = 20  # letters of what the output is called
_VALUE = 20  # letters of a raw value
_WITH_VALUE = WIDE + _VALUE + 3


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
    ) -> RowDisplay:
        """Draw the values of one row as bars from 0; see `ExplanationPlots.bar`."""
        return self._draw_panels(self.result[self._place(row)], ax, output, max_display)

    def _place(self, row: int) -> int:
        """Return the number of the row to draw, and keep its name for the title."""
        places = select(row, [Axis("row", len(self.result))])[0]
        if len(places) != 1:
            raise IndexError(f"a {self._kind} is of one row; got {brief(row)}.")
        self._name = self.result.row_names[places[0]]
        return int(places[0])

    def _outputs(self, output: Output) -> list[Explanation]:
        """Return the outputs; of a classifier that has one for each class, the predicted one."""
        row = self._rows
        predicted = None if row.predicted is None else str(row.predicted[0])
        if output is None and row.values.ndim == 3 and row.sides and predicted is not None:
            sides = enumerate(row.sides)
            chosen = [k for k, (yes, no) in sides if yes == predicted and no is None]
            output = chosen[0] if chosen else None
        return super()._outputs(output)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        shown, values, names = _steps(one, self._max_display, self._letters)
        theme = lanes(ax, names, _WITH_VALUE)
        places = np.arange(len(values))
        colours = [theme.signed(value) for value in values]
        bars(ax, places, values, _BAR, color=colours, zorder=2)
        note = _intervals(ax, one, shown, values, places)
        zero_line(ax, theme)
        ax.use_sticky_edges = False  # so that marks at the ends are seen whole
        ax.margins(x=0.04)
        annotated(ax, aligned(values), own=self._own)
        ax.set_xlabel(axis_of_values(one) + note)

    def _title(self) -> str:
        """Return which row it is, and which class it has."""
        said = f"row {self._name}"
        if self._rows.predicted is not None:
            said += f", predicted {self._rows.predicted[0]}"
            other = elsewhere(self._rows)
            if other is not None and other[0] is not None:
                said += f", largest output {other[0]}"
        return said


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
    ) -> WaterfallDisplay:
        """Draw how the values of one row lead from the base value to the prediction.

        Whiskers are posterior standard deviations, where the explanation has them; the sum of other
        features has one where the explanation was made with ``return_cov=True``. Of a classifier
        with an output for each class, that of the predicted class is drawn by default.

        Parameters
        ----------
        row : int, default 0
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.

        Returns
        -------
        WaterfallDisplay
        """
        place = self._place(row)
        adds_up(self.result)
        self._before = (str(place),)
        return self._draw_panels(self.result[place], ax, output, max_display)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        shown, values, names = _steps(one, self._max_display, self._letters)
        start, end = one.base_values[0], one.predictions[0]
        noun = noun_of_output(one)
        theme = lanes(ax, ["base value", *names, noun], _WITH_VALUE)
        ends = start + np.cumsum(values)
        begins = np.concatenate([[start], ends[:-1]])
        places = np.arange(1, len(values) + 1)
        quiet: dict[str, Any] = {"color": theme(palette.NEUTRAL), "linewidth": 1.0, "zorder": 1}
        for place, at in enumerate([start, *ends]):  # what leads from a lane to the next
            ax.plot([at, at], [place + 0.4, place + 0.6], linestyle=(0, (2, 2)), **quiet)
        for place, at in ((0, start), (len(names) + 1, end)):
            ax.plot([at, at], [place - 0.32, place + 0.32], color=theme(palette.INK), linewidth=2.0)
        colours = [theme.signed(value) for value in values]
        bars(ax, places, values, _BAR, left=begins, color=colours, zorder=2)
        note = _intervals(ax, one, shown, ends, places)
        steps = aligned(values)
        decimals = len(steps[0].partition(".")[2]) if "e" not in steps[0] else None
        around = [f"{x:.4g}" if decimals is None else f"{x:.{decimals}f}" for x in (start, end)]
        ax.use_sticky_edges = False  # so that marks at the ends are seen whole
        ax.margins(x=0.04)
        annotated(ax, [around[0], *steps, around[1]], own=self._own)
        ax.set_xlabel(axis_of_output(one) + note)


def _steps(one: Explanation, max_display: int, letters: int) -> tuple[Any, Any, list[str]]:
    """Return the features shown, their values with the sum of the others, and what to call them."""
    shown, names, table = shown_features(one, max_display)
    for place, feature in enumerate(shown):
        value = short(raw_text(one, 0, feature), _VALUE)
        names[place] = f"{short(names[place], letters)} = {value}"
    return shown, table[0], names


def _intervals(ax: Axes, one: Explanation, shown: Any, ends: Any, places: Any) -> str:
    """Draw one standard deviation around the ends of bars, where known; return what names it."""
    if one.std is None:
        return ""
    sizes, unknown = one.std[0, shown], ""
    if len(ends) > len(shown):
        others = others_std(one, shown)
        unknown = others_words(one) if others is None else ""
        sizes = np.append(sizes, np.nan if others is None else others[0])
    whiskers(ax, ends, places, sizes)
    return f"\nwhiskers: {POSTERIOR}{unknown}"


def noun_of_output(one: Explanation) -> str:
    """Return what values add up to, in a word or two."""
    if one.number is None:
        return "prediction"
    return one.number if len(one.number) <= _NOUN else "output"


def axis_of_output(one: Explanation) -> str:
    """Return what values add up to, and for a classifier which class that speaks for."""
    return about_class(one, noun_of_output(one), "above 0", "below")


def adds_up(explanation: Explanation) -> None:
    """Refuse a waterfall where values do not lead from the base value to the prediction."""
    if not explanation.efficient:
        raise ValueError(
            f"values of the index {explanation.index} do not add up to the prediction, so there is "
            "no waterfall; draw plot.bar() or plot.beeswarm(), or explain with Shapley values."
        )
    if not explanation.complete:
        raise ValueError(
            "the explanation holds a selection of the features, which does not add up to the "
            "prediction; draw the waterfall before selecting."
        )
