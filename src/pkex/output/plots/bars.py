"""Importances and attributions as bars, and the columns behind an attribution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats, Indices
from pkex._util.validation import check_count, is_index
from pkex.output import palette
from pkex.output.columns import varied_columns
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Canvas, draw_columns
from pkex.output.plots.labels import WIDE, entry, letters_in, literal, of_all, room_for, shorten
from pkex.output.spread import DOTS, LEVEL, has_intervals, importance_words, interval_words
from pkex.output.text import align_numbers, rank_by_size
from pkex.output.view.features import mean_size

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.results.importance import Importance

__all__ = ["AttributionDisplay", "ImportanceDisplay", "MarginalsDisplay"]

_MOST = len(palette.SERIES) - 1  # outputs with a colour each where there are more


class ImportanceDisplay(Display):
    """The most important features as bars, made by ``plot`` of `Importance` and `Explanation`.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [label.get_text() for label in importance.plot().ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Importance

    def plot(self, ax: Axes | None = None, *, max_display: int = 20) -> Self:
        """Draw the most important features as bars with whiskers.

        Whiskers are 90 % credible intervals where there are at least 19 posterior draws, else
        standard errors over rows.

        Parameters
        ----------
        ax, max_display
            As for every plot.
        """
        importance = self.result
        shown, names = self._largest(importance.ranking, max_display)
        canvas = self._lanes(ax, names, 6.4, max(2.0, 1.1 + 0.29 * len(shown)))
        series = _series(importance)
        places, left = np.arange(len(shown)), np.zeros(len(shown))
        for k, (title, values) in enumerate(series):
            joined = k == _MOST and len(series) < len(importance.output_names)
            style: dict[str, Any] = {"label": entry(shorten(title))} if title else {}
            style["color"] = canvas.theme(palette.BAND) if joined else canvas.theme.series(k)
            canvas.bars(places, values[shown], 0.66, left=left, **style)
            left += values[shown]
        errors, note = importance.standard_errors.reshape(len(importance.values), -1)[shown, 0], ""
        if len(series) > 1:  # stacked bars, where error bars would not be readable
            canvas.legend()
        elif has_intervals(importance.draws):
            note = _draw_intervals(canvas, importance, shown)
        elif not np.isnan(errors).any():
            canvas.whiskers(left, places, errors)
            note = f"whiskers: {importance_words(importance)}"
        if importance.meaning is None:
            canvas.ax.set_xlim(left=0.0)
        elif left.min(initial=0.0) < 0.0:
            canvas.line_at(0.0, zorder=2)
        if len(series) == 1:
            signs = slice(1 if importance.meaning is None else 0, None)
            canvas.annotate([number[signs] for number in align_numbers(left)])
        label = of_all(mean_size(importance), len(shown), len(importance.feature_names))
        canvas.label_below(label, note)
        return self


def _draw_intervals(canvas: Canvas, importance: Importance, shown: Indices) -> str:
    """Draw the intervals of posterior draws, with their means; return what they are."""
    low, high = (end.reshape(len(end), -1)[shown, 0] for end in importance.interval(LEVEL))
    draws = np.asarray(importance.draws)
    means = draws.mean(axis=0).reshape(len(importance.values), -1)[shown, 0]
    canvas.intervals(low, high, means, np.arange(len(shown)))
    return f"whiskers: {interval_words(draws)[0]}, {DOTS}"


def _series(importance: Importance) -> list[tuple[str, Floats]]:
    """Return the importance by output, the smaller ones joined where there are many."""
    columns, titles = importance.values.reshape(len(importance.values), -1), importance.output_names
    if columns.shape[1] == 1:
        return [("", columns[:, 0])]
    most = len(titles) if len(titles) <= len(palette.SERIES) else _MOST
    kept, rest = np.split(rank_by_size(columns.sum(axis=0)), [most])
    series = [(titles[k], columns[:, k]) for k in np.sort(kept)]
    if len(rest):
        series.append((f"{len(rest)} other outputs", columns[:, rest].sum(axis=1)))
    return series


class AttributionDisplay(Display):
    """The contributions of an `Attribution` as bars, with null bands and the marginals of columns.

    Made by ``attribution.plot()``.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The bars.
    figure_ : matplotlib.figure.Figure
        The figure of the axes.
    marginal_axes_ : list of matplotlib.axes.Axes
        One for each column whose marginals are shown.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> display = pkex.mmd(X, Z, n_permutations=99).plot(marginals=1)
    >>> display.ax_.get_xlabel()
    'contribution to MMD²'
    """

    result: Attribution
    marginal_axes_: list[Axes]

    def plot(self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3) -> Self:
        """Draw contributions as bars over their null bands, with the marginals of the top columns.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for the bars only; by default a new figure has the marginals beside them.
        max_display
            As for every plot.
        marginals : int, default 3
            Number of columns, of the features with the largest contributions, whose distributions
            to show; 0 for an attribution that was loaded, as its file does not hold the samples.

        Returns
        -------
        AttributionDisplay
            The display, with ``ax_``, ``figure_`` and ``marginal_axes_``.
        """
        check_count(marginals, "marginals", 0)
        attribution = self.result
        shown, names = self._largest(attribution.ranking, max_display)
        columns = _first_columns(attribution, shown, marginals) if ax is None else []
        self.marginal_axes_ = []
        if ax is None:
            height = max(2.6 + 0.1 * len(columns), 1.3 + 0.28 * len(shown), 1.9 * len(columns))
            room = room_for(names)
            figure = self._figure((9.0 if columns else 6.0) + room, height)
            if columns:
                figure, right = figure.subfigures(1, 2, width_ratios=[5.4 + room, 3.6])
                self.marginal_axes_ = [*right.subplots(len(columns), 1, squeeze=False)[:, 0]]
            ax = cast("Axes", figure.subplots())
        self._draw_in(ax)
        self._draw_bars(Canvas(ax, new_figure=self._new_figure), shown, names)
        draw_columns(attribution, columns, self.marginal_axes_)
        return self

    def _draw_bars(self, canvas: Canvas, shown: Indices, names: list[str]) -> None:
        """Draw the bars; p-values stand beside them in a new figure, else in the labels."""
        attribution, theme = self.result, canvas.theme
        values, places = attribution.values[shown], np.arange(len(shown))
        opacities, p_values, note = np.ones(len(shown)), [], ""
        if attribution.p_adjusted is not None:
            p_adjusted = attribution.p_adjusted[shown]
            opacities = np.where(p_adjusted > attribution.alpha, 0.45, 1.0)
            p_values = [f"p = {p:.2g}" for p in p_adjusted]
        if p_values and not canvas.new_figure:
            names = [f"{shorten(name)}  ({p})" for name, p in zip(names, p_values, strict=True)]
        canvas.lanes(names, WIDE)
        if attribution.null_band is not None:
            low, high = attribution.null_band[:, shown]
            style = {"color": theme(palette.BAND), "label": "95 % of permutations"}
            canvas.bars(places, high - low, 0.86, left=low, **style)
            canvas.legend()
        colours = [(theme.signed(v), opacity) for v, opacity in zip(values, opacities, strict=True)]
        canvas.bars(places, values, 0.5, color=colours)
        if attribution.standard_errors is not None:
            canvas.whiskers(values, places, attribution.standard_errors[shown])
            note = f"whiskers: ± 1 standard error over blocks of {attribution.block_size} rows"
        canvas.line_at(0.0, zorder=2)
        title = literal(attribution.statistic_name.replace("^2", "²"))
        label = of_all(f"contribution to {title}", len(shown), len(attribution.feature_groups))
        canvas.label_below(label, note)
        headline = f"{title} = {attribution.statistic:.3g}"
        if attribution.standard_error is not None:
            headline += f" ± {attribution.standard_error:.1g}"
        if attribution.n_permutations:
            sentence = attribution.sentences(attribution.alpha)[0]
            letters = letters_in(canvas.size[0])  # many features may be named
            lines = sentence.removesuffix(".").replace(" = ", "\xa0=\xa0").split("; ")
            wrapped = "\n".join(part for line in lines for part in wrap(line, letters))
            headline = wrapped.replace("\xa0", " ")
        canvas.title(headline)
        if p_values and canvas.new_figure:
            canvas.annotate(p_values)


class MarginalsDisplay(Display):
    """The columns of an `Attribution` in both samples, or against the target.

    Made by ``attribution.plot.marginals()``.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Of the first column.
    figure_ : matplotlib.figure.Figure
        The figure of the axes.
    axes_ : list of matplotlib.axes.Axes
        One for each column.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> display = pkex.mmd(X, Z).plot.marginals(columns=["x1", "x0"])
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['x1', 'x0']
    """

    result: Attribution

    def plot(self, ax: Axes | None = None, *, columns: int | str | Sequence[str | int] = 6) -> Self:
        """Draw columns in both samples, or against the target, as the report does.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for a single column; a new figure by default.
        columns : int, str or sequence of str or int, default 6
            Number of columns, of the features with the largest contributions; or columns by name,
            or in a sequence by name or number.

        Returns
        -------
        MarginalsDisplay
            The display, with ``axes_``, ``ax_`` and ``figure_``.
        """
        attribution = self.result
        attribution.recomputation("the plot of a column")
        if is_index(columns):
            check_count(columns, "columns", 1)
            chosen = _first_columns(attribution, attribution.ranking, int(cast("int", columns)))
            if not chosen:
                raise ValueError("every column is constant, so there is nothing to draw.")
        else:
            axis = Axis("column", len(attribution.column_names), attribution.column_names)
            chosen = select(columns, [axis])[0].tolist()
        if ax is not None and len(chosen) > 1:
            raise ValueError(
                f"one ax has room for one column, not for {len(chosen)}; name it, as in plot."
                f"marginals(ax, columns={attribution.column_names[chosen[0]]!r}), or leave out ax."
            )
        self._canvases(ax, len(chosen), min(3, len(chosen)), 3.2, 2.1, 0.4, 0.3)
        draw_columns(attribution, chosen, self.axes_)
        return self


def _first_columns(attribution: Attribution, features: Indices, count: int) -> list[int]:
    """Return the first columns of these features that vary; none where there are no samples."""
    varied = (columns for _, columns in varied_columns(attribution, features))
    return list(islice(chain.from_iterable(varied), count))
