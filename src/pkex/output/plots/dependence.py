"""The values of one feature against its raw values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.words import counted
from pkex.output import palette
from pkex.output.columns import bulk
from pkex.output.plots.drawing import THIN, aside, entry, framed, legend_style, literal, short
from pkex.output.plots.panel import ExplanationDisplay, axis_of_values, one_column, zero_line
from pkex.output.plots.shades import Raw, low_to_high, raw_values
from pkex.output.plots.theme import Theme
from pkex.output.spread import POSTERIOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.panel import Output
    from pkex.results.explanation import Explanation

__all__ = ["DependenceDisplay"]

_PLACES = 12  # of categories along the axis
_FEW, _SPAN = 8, 12  # integers that stand side by side: how many, and how far apart
_TICK = 0.075  # width in inches of a letter below the axis


class DependenceDisplay(ExplanationDisplay):
    """The values of a feature against its raw values, made by ``explanation.plot.dependence()``.

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
        color: str | int | None = None,
        output: Output = None,
    ) -> DependenceDisplay:
        """Draw the values of one feature against its raw values, with the rows' histogram below.

        Where few raw values lie far from all others, the axis ends before them, and they stand at
        its edge as arrows. Categories and few integers have places along the axis, where rows stand
        side by side; dates have an axis of time. Lines are posterior standard deviations, where the
        explanation has them.

        Parameters
        ----------
        feature : str or int
            The feature, of one column.
        ax, output
            As for every plot; see `ExplanationPlots`.
        color : str or int, optional
            Another feature, of one column, whose raw values colour the points: numbers from low to
            high, categories with a colour each.

        Returns
        -------
        DependenceDisplay
        """
        self._before = (repr(feature),)
        self.feature = one_column(self.result, feature, "dependence plot")
        self.color = None if color is None else one_column(self.result, color, "colour")
        return self._draw_panels(self.result, ax, output)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        theme = framed(ax)
        raw = raw_values(one, self.feature, _PLACES)
        by = None if self.color is None else raw_values(one, self.color)
        assert raw is not None  # as it is no group
        values, name = one.values[:, self.feature], one.feature_names[self.feature]
        known, levels = ~np.isnan(raw.numbers), _levels(raw)
        x, beyond = raw.numbers, np.zeros(len(values), dtype=np.int64)
        colours = np.array([theme.series(0)] * len(values), dtype=object)
        if len(levels):  # rows of one level stand side by side, always in the same order
            x = x + aside(len(x)) * 0.5
            _name_levels(ax, levels, raw.categories, self._size(ax)[0])
        elif known.any():
            low, high = bulk(x[known])
            beyond = (x > high).astype(np.int64) - (x < low)
            x = np.clip(x, low, high)
        if by is not None:
            colours = np.asarray(by.colours(theme))
        zero_line(ax, theme, vertical=False)
        size = float(np.clip(6000.0 / max(1, len(values)), 8.0, 22.0))
        for side, marker in ((0, "o"), (-1, "<"), (1, ">")):
            seen = known & (beyond == side)
            style: dict[str, Any] = {"marker": marker, "alpha": 0.8, "linewidth": 0, "zorder": 3}
            if seen.any():
                ax.scatter(x[seen], values[seen], s=size, c=list(colours[seen]), **style)
        std = None if one.std is None else one.std[known, self.feature]
        if std is not None:
            middle = values[known]
            ax.vlines(x[known], middle - std, middle + std, list(colours[known]), **THIN)
        if not len(levels):
            _draw_rows(ax, x[known], theme)
        if raw.dated:
            _number_dates(ax)
        notes = []
        if beyond.any():
            notes.append(f"{counted(int(np.abs(beyond).sum()), 'row')} beyond, at the edges")
        if not known.all():
            notes.append(f"{counted(int((~known).sum()), 'row')} without it not shown")
        said = f" ({', '.join(notes)})" if notes else ""
        said += "" if std is None else f"\nlines: {POSTERIOR}"
        ax.set_xlabel(f"{short(name, self._letters)}{said}")
        ax.set_ylabel(axis_of_values(one))

    def _finish(self) -> None:
        by = None if self.color is None else raw_values(self.result, self.color)
        if by is None or self.color is None:
            return
        title, ax = self.result.feature_names[self.color], self.axes_[-1]
        if not by.categories:
            low_to_high(self.axes_, title, by, own=self._own)
            return
        theme = Theme.of(ax)
        dots: list[Any] = [
            ax.scatter([], [], s=18.0, color=theme.series(k), linewidth=0, label=label)
            for k, label in enumerate(entry(short(name, 16)) for name in by.categories)
        ]
        style = legend_style(ax) | {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        style |= {"title": literal(short(title)), "title_fontsize": "small"}
        legend = ax.legend(handles=dots, **style)
        legend.get_title().set_color(theme(palette.NEUTRAL))


def _levels(raw: Raw) -> Any:
    """Return the places of categories, or of few integers; none for all other numbers."""
    if raw.categories:
        return np.arange(len(raw.categories))
    found = np.unique(raw.numbers[~np.isnan(raw.numbers)])
    few = 0 < len(found) <= _FEW and found[-1] - found[0] <= _SPAN and not raw.dated
    return found if few and (found == np.round(found)).all() else found[:0]


def _name_levels(ax: Axes, levels: Any, names: tuple[str, ...], width: float) -> None:
    """Name places along the axis, at an angle where names would meet."""
    ax.set_xlim(levels[0] - 0.5, levels[-1] + 0.5)
    if not names:
        ax.set_xticks(levels)
        return
    shown = [short(name, 14) for name in names]
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


def _draw_rows(ax: Axes, x: Any, theme: Theme) -> None:
    """Draw where the rows are, as a low histogram along the bottom."""
    if len(x) < 10 or not x.min() < x.max():
        return
    counts, edges = np.histogram(x, bins=int(np.clip(2 * len(x) ** (1 / 3), 6, 40)))
    heights = 0.1 * counts / counts.max()
    ax.stairs(
        heights,
        edges,
        fill=True,
        color=theme(palette.BAND),
        alpha=0.55,
        transform=ax.get_xaxis_transform(),
        zorder=0.5,
    )
