"""The Shapley values of one feature against the values of the feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pkex._util.words import pluralise
from pkex.output import palette
from pkex.output.columns import bulk
from pkex.output.plots.drawing import THIN, Axes, Canvas, Key, jitter
from pkex.output.plots.labels import entry, literal, shorten
from pkex.output.plots.panel import Explanation, ExplanationDisplay, Output
from pkex.output.plots.shades import FeatureValues, feature_values
from pkex.output.spread import POSTERIOR

__all__ = ["DependenceDisplay"]

_PLACES = 12  # of categories along the axis
_FEW, _SPAN = 8, 12  # integers that stand side by side: how many, and how far apart
_TICK = 0.075  # width in inches of a letter below the axis


class DependenceDisplay(ExplanationDisplay):
    """Shapley value against feature value, made by ``explanation.plot.dependence()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
    >>> explanation.plot.dependence("x1", color="x0").ax_.get_xlabel()
    'x1'
    """

    _kind = "dependence"
    _width, _height, _lane = 6.0, 3.7, 0.0

    def plot(
        self,
        feature: str | int,
        ax: Axes | None = None,
        *,
        color: Key = None,
        output: Output = None,
    ) -> Self:
        """Draw the Shapley values of one feature against its values, over a histogram of the rows.

        Outliers among the feature values are arrows at the edge of the axis. Rows of a category, or
        of one of few integers, are drawn side by side; dates have an axis of time. Lines are
        posterior standard deviations, where the explanation has them.

        Parameters
        ----------
        feature : str or int
            The feature, of one column.
        ax
            As for every plot.
        color : str or int, optional
            Another feature, of one column, whose values colour the points: numbers from low to
            high, categories with a colour each.
        output
            As for every plot.
        """
        self._before = f"{feature!r}, "
        self.feature = self._position(feature, "feature", "dependence plot")
        self._cells, self._color = feature_values(self.result, self.feature, _PLACES), None
        if color is not None:
            self.color = self._position(color, "feature", "colour")
            self._color = feature_values(self.result, self.color)
        return self._draw_panels(self.result, ax, output)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        canvas.frame()
        ax, theme, cells, by = canvas.ax, canvas.theme, self._cells, self._color
        values, name = one.values[:, self.feature], one.feature_names[self.feature]
        known, levels = ~np.isnan(cells.numbers), _levels(cells)
        x, beyond = cells.numbers, np.zeros(len(values), dtype=np.int64)
        colours = np.array([theme.series(0)] * len(values) if by is None else by.colours(theme))
        if len(levels):  # rows of one level stand side by side, always in the same order
            x = x + jitter(len(x)) * 0.5
            _name_levels(ax, levels, cells.categories, self._size(canvas)[0])
        elif known.any():
            low, high = bulk(x[known])
            beyond = (x > high).astype(np.int64) - (x < low)
            x = np.clip(x, low, high)
        canvas.line_at(0.0, vertical=False)
        size = float(np.clip(6000.0 / max(1, len(values)), 8.0, 22.0))
        style: dict[str, Any] = {"s": size, "alpha": 0.8, "linewidth": 0, "zorder": 3}
        for side, marker in ((0, "o"), (-1, "<"), (1, ">")):
            rows = known & (beyond == side)
            if rows.any():
                ax.scatter(x[rows], values[rows], c=list(colours[rows]), marker=marker, **style)
        if one.std is not None:
            middle, std = values[known], one.std[known, self.feature]
            ax.vlines(x[known], middle - std, middle + std, list(colours[known]), **THIN)
        rows = x[known]
        if not len(levels) and len(rows) >= 10 and rows.min() < rows.max():
            canvas.mark_rows(rows)
        if cells.dated:
            _number_dates(ax)
        kinds = ((beyond != 0, "beyond, at the edges"), (~known, "with missing values not shown"))
        notes = [f"{pluralise(int(r.sum()), 'row')} {what}" for r, what in kinds if r.any()]
        note = f" ({', '.join(notes)})" if notes else ""
        note += "" if one.std is None else f"\nlines: {POSTERIOR}"
        ax.set_xlabel(f"{shorten(name, self._letters)}{note}")
        ax.set_ylabel(self._label_of_values(one))

    def _finish(self) -> None:
        by, canvas = self._color, self._panels[-1]
        if by is None:
            return
        title, ax = self.result.feature_names[self.color], canvas.ax
        if not by.categories:
            self._draw_ramp(title, by)
            return
        dots: list[Any] = [
            ax.scatter([], [], s=18.0, color=canvas.theme.series(k), linewidth=0, label=label)
            for k, label in enumerate(entry(shorten(name, 16)) for name in by.categories)
        ]
        style = canvas.legend_style() | {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        style |= {"title": literal(shorten(title)), "title_fontsize": "small"}
        legend = ax.legend(handles=dots, **style)
        legend.get_title().set_color(canvas.theme(palette.NEUTRAL))


def _levels(cells: FeatureValues) -> Any:
    """Return the places of categories, or of few integers; none for all other numbers."""
    if cells.categories:
        return np.arange(len(cells.categories))
    levels = cells.levels
    few = 0 < len(levels) <= _FEW and levels[-1] - levels[0] <= _SPAN and not cells.dated
    return levels if few and (levels == np.round(levels)).all() else levels[:0]


def _name_levels(ax: Axes, levels: Any, names: tuple[str, ...], width: float) -> None:
    """Name places along the axis, at an angle where names would meet."""
    ax.set_xlim(levels[0] - 0.5, levels[-1] + 0.5)
    if not names:
        ax.set_xticks(levels)
        return
    shown = [shorten(name, 14) for name in names]
    style: dict[str, Any] = {}
    if _TICK * (max(map(len, shown)) + 1) * len(shown) > width:
        style = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(levels, list(map(literal, shown)), **style)
    ax.grid(visible=False, axis="x")


def _number_dates(ax: Axes) -> None:
    """Make an axis of days since 1970 one of dates."""
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
