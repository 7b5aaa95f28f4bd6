"""Results drawn with matplotlib, by the conventions of scikit-learn's displays.

A display is made from a result; its `plot` draws in the axes that are given or in a new figure of
pyplot, and returns the display, which has `ax_` and `figure_`. As the figure is one of pyplot, a
notebook shows it once, at the end of the cell, and ``plt.show()`` shows it in a script; a display
has no picture of its own that could be shown a second time. `pkex.output.accessors` has the calls
that users make.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pkex._extras import optional
from pkex._selection import Axis, select
from pkex._validation import brief, is_index
from pkex.output import palette
from pkex.output.columns import Boxes, Points, Shares, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pkex.attribution import Attribution
    from pkex.explanation import Explanation
    from pkex.importance import Importance

__all__ = [
    "AttributionDisplay",
    "Display",
    "ImportanceDisplay",
    "MarginalsDisplay",
    "ShapDisplay",
]

_LABEL = 24  # letters of a name


class Display:
    """What a plot returns: the axes and the figure that were drawn in.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot()
    >>> display
    <ImportanceDisplay in ax_ of figure_>
    >>> display.figure_ is display.ax_.figure
    True
    """

    ax_: Axes
    figure_: Figure

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in ax_ of figure_>"

    def _draws_in(self, ax: Axes) -> None:
        self.ax_ = ax
        self.figure_ = ax.figure.figure  # the whole, also from a part of it

    def _figure(self, width: float, height: float) -> Any:
        """Return a new figure of pyplot."""
        pyplot = optional("matplotlib.pyplot", "pkex[plots]")
        return pyplot.figure(figsize=(width, height), layout="constrained")


class ImportanceDisplay(Display):
    """The most important features as bars, made by ``plot`` of `Importance` and `Explanation`.

    Parameters
    ----------
    importance : Importance

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [label.get_text() for label in importance.plot().ax_.get_yticklabels()]
    ['x0', 'x1']
    """

    def __init__(self, importance: Importance) -> None:
        self.importance = importance

    def plot(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw; see `ImportancePlots.bar`."""
        _at_least(max_display, "max_display", 1)
        found, shown = self.importance, self.importance.order[:max_display][::-1]
        if ax is None:
            ax = self._figure(6.4, max(2.4, 1.1 + 0.28 * len(shown))).subplots()
        self._draws_in(ax)
        columns = found.values.reshape(len(found.values), -1)[shown]
        errors = found.standard_errors.reshape(len(found.values), -1)[shown]
        places, left = np.arange(len(shown)), np.zeros(len(shown))
        several = columns.shape[1] > 1
        for k in range(columns.shape[1]):
            style: dict[str, Any] = {"height": 0.7, "color": _colour(k)}
            if several:  # stacked bars, where error bars would not be readable
                style["label"] = found.output_names[k]
            elif not np.isnan(errors).any():
                style["xerr"] = errors[:, k]
            ax.barh(places, columns[:, k], left=left, **style)
            left += columns[:, k]
        ax.set_yticks(places, [_short(found.feature_names[player]) for player in shown])
        ax.set_xlabel("mean |value|")
        _bare(ax)
        if several:
            ax.legend(frameon=False, loc="lower right")
        return self


class AttributionDisplay(Display):
    """The values of an `Attribution` as bars, with null bands and the marginals of columns.

    Made by `Attribution.plot`.

    Parameters
    ----------
    attribution : Attribution

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

    marginal_axes_: list[Axes]

    def __init__(self, attribution: Attribution) -> None:
        self.attribution = attribution

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw; see `AttributionPlots.bar`."""
        _at_least(max_display, "max_display", 1)
        _at_least(marginals, "marginals", 0)
        shown = self.attribution.order[:max_display]
        own = ax is None
        columns = _first_columns(self.attribution, shown, marginals) if own else []
        self.marginal_axes_ = []
        if ax is None:
            height = max(2.6 + 0.1 * len(columns), 1.3 + 0.28 * len(shown), 1.9 * len(columns))
            figure = self._figure(9.0 if columns else 6.0, height)
            if columns:
                left, right = figure.subfigures(1, 2, width_ratios=[3, 2])
                ax = cast("Axes", left.subplots())
                below = right.subplots(len(columns), 1, squeeze=False)[:, 0]
                self.marginal_axes_ = list(below)
            else:
                ax = cast("Axes", figure.subplots())
        self._draws_in(ax)
        self._draw_bars(ax, shown[::-1], own)
        _draw_columns(self.attribution, columns, self.marginal_axes_)
        return self

    def _draw_bars(self, ax: Axes, shown: NDArray[np.intp], own: bool) -> None:
        """Draw the bars; p-values stand beside them in a figure of our own, else in the labels."""
        found = self.attribution
        names = [_short(name) for name in np.array(found.feature_names)[shown]]
        if found.p_holm is not None and not own:
            pairs = zip(names, found.p_holm[shown], strict=True)
            names = [f"{name}  (p = {p:.2g})" for name, p in pairs]
        values = found.values[shown]
        places = np.arange(len(shown))
        chance = np.zeros(len(shown), dtype=bool)
        if found.null_band is not None:
            low, high = found.null_band[:, shown]
            label, band = "95 % of permutations", palette.BAND.light
            ax.barh(places, high - low, left=low, height=0.86, color=band, label=label)
            chance = values <= high
        shades = [palette.RAISES if value > 0.0 else palette.LOWERS for value in values]
        colours = [
            (shade.light, 0.45 if pale else 1.0) for shade, pale in zip(shades, chance, strict=True)
        ]
        errors = None if found.standard_errors is None else found.standard_errors[shown]
        ax.barh(places, values, xerr=errors, height=0.5, color=colours)
        ax.set_yticks(places, names)
        ax.axvline(0.0, color="black", linewidth=0.8)
        title = found.statistic.replace("^2", "²")
        ax.set_xlabel(f"share of {title}")
        headline = f"{title} = {found.total:.3g}"
        if found.standard_error is not None:
            headline += f" ± {found.standard_error:.1g}"
        if found.p_value is not None:
            headline += f", p = {found.p_value:.2g}"
        ax.set_title(headline, loc="left", fontsize="medium")
        _bare(ax)
        ax.locator_params(axis="x", nbins=5)
        if found.null_band is not None:
            ax.legend(frameon=False, loc="lower right", fontsize="small")
            if own:
                self._write_p_values(ax, shown)

    def _write_p_values(self, ax: Axes, shown: NDArray[np.intp]) -> None:
        """Write the p-values, adjusted by Holm as everywhere, along the right edge."""
        assert self.attribution.p_holm is not None
        for place, i in enumerate(shown):
            ax.annotate(
                f"p = {self.attribution.p_holm[i]:.2g}",
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize="small",
                color=palette.NEUTRAL.light,
            )


class MarginalsDisplay(Display):
    """The columns of an `Attribution` in both samples, or against the target.

    Made by ``attribution.plot.marginals()``.

    Parameters
    ----------
    attribution : Attribution

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

    axes_: list[Axes]

    def __init__(self, attribution: Attribution) -> None:
        self.attribution = attribution

    def plot(
        self, ax: Axes | None = None, *, columns: int | str | Sequence[str | int] = 6
    ) -> MarginalsDisplay:
        """Draw; see `AttributionPlots.marginals`."""
        found = self.attribution
        found._data_for("the picture of a column")
        if is_index(columns):
            _at_least(columns, "columns", 1)
            chosen = _first_columns(found, found.order, int(cast("int", columns)))
        else:
            axis = Axis("column", len(found.column_names), found.column_names)
            chosen = [int(column) for column in select(columns, [axis])[0]]
        if ax is None:
            across = min(3, len(chosen))
            down = -(-len(chosen) // across)
            figure = self._figure(0.4 + 3.2 * across, 0.3 + 2.1 * down)
            axes = list(figure.subplots(down, across, squeeze=False).flat)
            for spare in axes[len(chosen) :]:
                spare.remove()
            self.axes_ = axes[: len(chosen)]
        elif len(chosen) == 1:
            self.axes_ = [ax]
        else:
            raise ValueError(
                f"one ax has room for one column, not for {len(chosen)}; name it, as in "
                f"plot.marginals(ax, columns={found.column_names[chosen[0]]!r}), or leave out ax."
            )
        self._draws_in(self.axes_[0])
        _draw_columns(found, chosen, self.axes_)
        return self


class ShapDisplay(Display):
    """An `Explanation` as shap's plots draw it, made by ``explanation.plot.beeswarm()`` and others.

    Parameters
    ----------
    explanation : Explanation
        With one output.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
    >>> explanation.plot.waterfall(0)
    <ShapDisplay in ax_ of figure_>
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def beeswarm(self, ax: Axes | None = None, *, max_display: int = 12) -> ShapDisplay:
        """Draw; see `ExplanationPlots.beeswarm`."""
        _at_least(max_display, "max_display", 1)
        shap, values = self._shap(), self.explanation.to_shap()
        lines = min(max_display, values.shape[1])
        with self._current(ax, 7.5, 1.6 + 0.38 * lines):
            shap.plots.beeswarm(values, max_display=max_display, show=False, plot_size=None)
        return self

    def waterfall(
        self, row: int = 0, ax: Axes | None = None, *, max_display: int = 12
    ) -> ShapDisplay:
        """Draw; see `ExplanationPlots.waterfall`."""
        _at_least(max_display, "max_display", 1)
        one = self.explanation[row]
        if len(one) != 1:
            raise IndexError(f"a waterfall is of one row; got {brief(row)}.")
        _adds_up(one)
        shap, values = self._shap(), one.to_shap()[0]
        lines = min(max_display, len(values.values))
        with self._current(ax, 8.0, 1.5 + 0.5 * lines):
            self.figure_.draw_without_rendering()  # shap asks how large the axes are
            shap.plots.waterfall(values, max_display=max_display, show=False)
        _say_base(self.figure_.axes)
        return self

    def scatter(
        self, column: str | int, ax: Axes | None = None, *, colour: str | int | None = None
    ) -> ShapDisplay:
        """Draw; see `ExplanationPlots.scatter`."""
        place = self._one_column(column)
        shap, values = self._shap(), self.explanation.to_shap()
        by = palette.LOWERS.light if colour is None else values[:, self._one_column(colour)]
        with self._current(ax, 6.4, 4.0):
            shap.plots.scatter(values[:, place], color=by, ax=self.ax_, show=False)
        return self

    def _shap(self) -> Any:
        return optional("shap", "pkex[shap]")

    def _one_column(self, feature: str | int) -> int:
        """Return the number of a feature that has a raw value to draw."""
        found = self.explanation
        axis = Axis("feature", len(found.players), found.feature_names)
        places = select(feature, [axis])[0]
        if len(places) != 1:
            raise IndexError(f"a scatter is of one feature; got {brief(feature)}.")
        place = int(places[0])
        if len(found.players[place]) > 1:
            raise ValueError(
                f"{found.feature_names[place]!r} is a group of {len(found.players[place])} columns "
                "and has no single value to draw; choose a feature of one column."
            )
        return place

    @contextmanager
    def _current(self, ax: Axes | None, width: float, height: float) -> Iterator[None]:
        """Let shap draw in `ax`, or in a new figure, and change nothing else.

        Some of its plots take pyplot's current axes, give their figure a size and turn interactive
        mode off, after which a notebook would show no figure.
        """
        pyplot = optional("matplotlib.pyplot", "pkex[shap]")
        self._draws_in(self._figure(width, height).subplots() if ax is None else ax)
        interactive = pyplot.isinteractive()
        pyplot.sca(self.ax_)
        self.figure_.set_size_inches = lambda *_: None  # type: ignore[method-assign]
        try:
            yield
        except Exception:
            if ax is None:
                pyplot.close(self.figure_)
            raise
        finally:
            del self.figure_.set_size_inches  # that of its class is in force again
            if interactive:
                pyplot.ion()


def _say_base(axes: list[Axes]) -> None:
    """Call the start of a waterfall what it is under every removal, which shap calls E[f(X)]."""
    for ax in axes:
        texts = [label.get_text() for label in ax.get_xticklabels()]
        if any("E[f(X)]" in text for text in texts):
            ax.set_xticklabels([text.replace("$E[f(X)]$", "   base") for text in texts])


def _adds_up(explanation: Explanation) -> None:
    """Refuse a waterfall where values do not lead from the base value to the prediction."""
    if not getattr(explanation, "efficient", True):
        raise ValueError(
            "values of this index do not add up to the prediction, so there is no waterfall; draw "
            "plot.bar() or plot.beeswarm(), or explain with Shapley values."
        )
    if not explanation.complete:
        raise ValueError(
            "the explanation holds a selection of the features, which does not add up to the "
            "prediction; draw the waterfall before selecting."
        )


def _first_columns(attribution: Attribution, players: NDArray[np.intp], count: int) -> list[int]:
    """Return the first columns of these players; none where a file did not hold the samples."""
    if attribution.samples is None:
        return []
    return [column for i in players for column in attribution.players[i]][:count]


def _draw_columns(attribution: Attribution, columns: list[int], axes: list[Axes]) -> None:
    """Draw one column in each of the axes; the first with shares has the legend."""
    legend = True
    for column, ax in zip(columns, axes, strict=True):
        drawn, title = picture(attribution, column), attribution.column_names[column]
        if isinstance(drawn, Shares):
            _draw_shares(ax, drawn)
            if legend:
                _legend_above(ax)
            legend = False
        elif isinstance(drawn, Points):
            _draw_points(ax, drawn)
            ax.set_ylabel(_short(attribution.sample_names[0]), fontsize="small")
        else:
            _draw_boxes(ax, drawn)
            title = f"{attribution.sample_names[0]} by {title}"
        ax.set_xlabel(_short(title), fontsize="small")
        ax.tick_params(labelsize="small")
        ax.locator_params(axis="x", nbins=4)
        ax.spines[["top", "right"]].set_visible(False)


def _legend_above(ax: Axes) -> None:
    ax.legend(
        frameon=False,
        fontsize="small",
        handlelength=1.0,
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
    )


def _draw_shares(ax: Axes, drawn: Shares) -> None:
    """Draw histograms as outlines, or categories as bars side by side, in shares of the rows."""
    if drawn.edges is not None:
        for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
            ax.stairs(shares, drawn.edges, fill=True, color=_colour(k), alpha=0.15)
            ax.stairs(shares, drawn.edges, color=_colour(k), linewidth=1.6, label=name)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        return
    places, height = np.arange(len(drawn.categories)), 0.8 / len(drawn.series)
    for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
        at = places + (k - 0.5 * (len(drawn.series) - 1)) * height
        ax.barh(at, 100.0 * shares, height, color=_colour(k), label=name)
    _name_categories(ax, drawn.categories)
    ax.xaxis.set_major_formatter("{x:g} %")


def _draw_points(ax: Axes, drawn: Points) -> None:
    size = float(np.clip(2000.0 / len(drawn.x), 3.0, 12.0))
    ax.scatter(drawn.x, drawn.y, s=size, color=_colour(0), alpha=0.5, linewidth=0)


def _draw_boxes(ax: Axes, drawn: Boxes) -> None:
    """Draw the middle half of the rows as a box, nine tenths as a line, and the median."""
    for place, (low, first, middle, third, high) in enumerate(drawn.quantiles):
        ax.hlines(place, low, high, color=palette.NEUTRAL.light, linewidth=1.0)
        ax.barh(place, third - first, 0.55, left=first, color=_colour(0), alpha=0.6)
        ax.vlines(middle, place - 0.275, place + 0.275, color="black", linewidth=1.6)
    _name_categories(ax, drawn.categories)


def _name_categories(ax: Axes, categories: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(categories)), [_short(name, 16) for name in categories])
    ax.invert_yaxis()  # the first on top
    ax.tick_params(left=False)


def _bare(ax: Axes) -> None:
    """Leave nothing around horizontal bars but their axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)


def _colour(k: int) -> str:
    return palette.SERIES[k % len(palette.SERIES)].light


def _at_least(value: object, name: str, least: int) -> None:
    if not is_index(value) or cast("int", value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")


def _short(name: str, length: int = _LABEL) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
