"""Importances and attributions as bars, and the columns behind an attribution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import Axis, select
from pkex._util.validation import is_index
from pkex.output import palette
from pkex.output.columns import is_constant
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import (
    LETTERS,
    WIDE,
    annotated,
    at_least,
    bars,
    draw_columns,
    entry,
    explain_colours,
    label_below,
    lanes,
    literal,
    of_all,
    room_for,
    short,
    whiskers,
    write_title,
)
from pkex.output.spread import importance_words
from pkex.output.text import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.attribution import Attribution
    from pkex.results.importance import Importance

__all__ = ["AttributionDisplay", "ImportanceDisplay", "MarginalsDisplay"]


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

    def plot(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw the most important features as bars with their standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_display : int, default 20
            How many features to show at most.

        Returns
        -------
        ImportanceDisplay
        """
        at_least(max_display, "max_display", 1)
        importance, shown = self.result, self.result.order[:max_display]
        names = [importance.feature_names[player] for player in shown]
        ax = self._axes(ax, 6.4 + room_for(names), max(2.0, 1.1 + 0.29 * len(shown)))
        theme = lanes(ax, names, WIDE if self._own else LETTERS)
        columns, titles = _outputs(importance)
        columns = columns[shown]
        places, left = np.arange(len(shown)), np.zeros(len(shown))
        for k, title in enumerate(titles):
            joined = k == len(palette.SERIES) - 1 and len(titles) < len(importance.outputs)
            style: dict[str, Any] = {"label": entry(short(title))} if title else {}
            style["color"] = theme(palette.BAND) if joined else theme.series(k)
            bars(ax, places, columns[:, k], 0.66, left=left, **style)
            left += columns[:, k]
        errors = importance.standard_errors.reshape(len(importance.values), -1)[shown, 0]
        note = ""
        if len(titles) > 1:  # stacked bars, where error bars would not be readable
            explain_colours(ax, own=self._own)
        elif not np.isnan(errors).any():
            whiskers(ax, list(left), list(places), errors)
            note = f"whiskers: {importance_words(importance)}"
        ax.set_xlim(left=0.0)
        if len(titles) == 1:
            annotated(ax, [sign[1:] for sign in aligned(left)], own=self._own)
        label_below(ax, of_all("mean |value|", len(shown), len(importance.feature_names)), note)
        return self


def _outputs(importance: Importance) -> tuple[NDArray[np.float64], list[str]]:
    """Return the importance by output, the smaller ones joined where there are many."""
    count, room = len(importance.values), len(palette.SERIES)
    columns = importance.values.reshape(count, -1)
    if columns.shape[1] == 1:
        return columns, [""]
    titles = list(importance.outputs)
    if len(titles) <= room:
        return columns, titles
    order = np.argsort(-columns.sum(axis=0), kind="stable")
    kept, rest = np.sort(order[: room - 1]), order[room - 1 :]
    joined = np.column_stack([columns[:, kept], columns[:, rest].sum(axis=1)])
    return joined, [*(titles[k] for k in kept), f"{len(rest)} other outputs"]


class AttributionDisplay(Display):
    """The values of an `Attribution` as bars, with null bands and the marginals of columns.

    Made by `Attribution.plot`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The bars.
    figure_ : matplotlib Figure
    marginal_axes_ : list of matplotlib Axes
        One for each column whose marginals are shown.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> display = pkex.mmd(X, Z, n_permutations=99).plot(marginals=1)
    >>> display.ax_.get_xlabel()
    'share of MMD²'
    """

    result: Attribution
    marginal_axes_: list[Axes]

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw the values as bars over their null bands, with the marginals of the top columns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the bars alone; by default a new figure has the marginals beside them.
        max_display : int, default 20
            How many features to show at most.
        marginals : int, default 3
            Of how many columns of the features with the largest values to show the distribution;
            none for an attribution that was loaded, as its file does not hold the samples.

        Returns
        -------
        AttributionDisplay
            With ``ax_``, ``figure_`` and ``marginal_axes_``.
        """
        at_least(max_display, "max_display", 1)
        at_least(marginals, "marginals", 0)
        attribution, shown = self.result, self.result.order[:max_display]
        columns = _first_columns(attribution, shown, marginals) if ax is None else []
        self.marginal_axes_ = []
        if ax is None:
            height = max(2.6 + 0.1 * len(columns), 1.3 + 0.28 * len(shown), 1.9 * len(columns))
            room = room_for([attribution.feature_names[player] for player in shown])
            figure = self._figure((9.0 if columns else 6.0) + room, height)
            if columns:
                left, right = figure.subfigures(1, 2, width_ratios=[5.4 + room, 3.6])
                ax = cast("Axes", left.subplots())
                below = right.subplots(len(columns), 1, squeeze=False)[:, 0]
                self.marginal_axes_ = list(below)
            else:
                ax = cast("Axes", figure.subplots())
        self._draws_in(ax)
        self._draw_bars(ax, shown)
        draw_columns(attribution, columns, self.marginal_axes_)
        return self

    def _draw_bars(self, ax: Axes, shown: NDArray[np.intp]) -> None:
        """Draw the bars; p-values stand beside them in a figure of our own, else in the labels."""
        attribution, own = self.result, self._own
        names = [attribution.feature_names[player] for player in shown]
        p_holm = None if attribution.p_holm is None else attribution.p_holm[shown]
        p_values = None if p_holm is None else [f"p = {p:.2g}" for p in p_holm]
        if p_values is not None and not own:
            pairs = zip(names, p_values, strict=True)
            names = [f"{short(name)}  ({p})" for name, p in pairs]
        theme = lanes(ax, names, WIDE)
        values, places = attribution.values[shown], np.arange(len(shown))
        chance = np.zeros(len(shown), dtype=bool)
        if attribution.null_band is not None:
            low, high = attribution.null_band[:, shown]
            label, band = "95 % of permutations", theme(palette.BAND)
            bars(ax, places, high - low, 0.86, left=low, color=band, label=label)
        if p_holm is not None:
            chance = p_holm > attribution.alpha
        colours = [
            (theme.signed(value), 0.45 if pale else 1.0)
            for value, pale in zip(values, chance, strict=True)
        ]
        bars(ax, places, values, 0.5, color=colours)
        note = ""
        if attribution.standard_errors is not None:
            whiskers(ax, list(values), list(places), attribution.standard_errors[shown])
            note = f"whiskers: ± 1 standard error over blocks of {attribution.block_size} rows"
        ax.axvline(0.0, color=theme(palette.MISSING), linewidth=0.9)
        title = literal(attribution.statistic.replace("^2", "²"))
        words = of_all(f"share of {title}", len(shown), len(attribution.players))
        label_below(ax, words, note)
        headline = f"{title} = {attribution.total:.3g}"
        if attribution.standard_error is not None:
            headline += f" ± {attribution.standard_error:.1g}"
        if attribution.n_permutations:
            sentence = attribution.sentences(attribution.alpha)[0]
            headline = sentence.replace("; ", "\n").removesuffix(".")
        write_title(ax, headline)
        if attribution.null_band is not None:
            explain_colours(ax, own=own)
        if p_values is not None and own:
            annotated(ax, p_values, own=True)


class MarginalsDisplay(Display):
    """The columns of an `Attribution` in both samples, or against the target.

    Made by ``attribution.plot.marginals()``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Of the first column.
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes
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
    axes_: list[Axes]

    def plot(
        self, ax: Axes | None = None, *, columns: int | str | Sequence[str | int] = 6
    ) -> MarginalsDisplay:
        """Draw columns in both samples, or against the target, as the report does.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw a single column; a new figure by default.
        columns : int, str or sequence of str or int, default 6
            How many columns, of the features with the largest values; or which, by name, or in a
            sequence by name or number.

        Returns
        -------
        MarginalsDisplay
            With ``axes_``, ``ax_`` and ``figure_``.
        """
        attribution = self.result
        attribution.recomputation("the picture of a column")
        if is_index(columns):
            at_least(columns, "columns", 1)
            chosen = _first_columns(attribution, attribution.order, int(cast("int", columns)))
            if not chosen:
                raise ValueError("every column is constant, so that there is nothing to draw.")
        else:
            axis = Axis("column", len(attribution.column_names), attribution.column_names)
            chosen = [int(column) for column in select(columns, [axis])[0]]
        if ax is None:
            self.axes_ = self._grid(len(chosen), min(3, len(chosen)), 3.2, 2.1, (0.4, 0.3))
        elif len(chosen) == 1:
            self.axes_ = [ax]
        else:
            raise ValueError(
                f"one ax has room for one column, not for {len(chosen)}; name it, as in plot."
                f"marginals(ax, columns={attribution.column_names[chosen[0]]!r}), or leave out ax."
            )
        self._draws_in(self.axes_[0])
        draw_columns(attribution, chosen, self.axes_)
        return self


def _first_columns(attribution: Attribution, players: NDArray[np.intp], count: int) -> list[int]:
    """Return the first columns of these players that vary; none where there are no samples."""
    if attribution.samples is None:
        return []
    columns = (column for i in players for column in attribution.players[i])
    return list(islice((c for c in columns if not is_constant(attribution, c)), count))
