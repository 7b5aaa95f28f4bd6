"""Results drawn with matplotlib, by the conventions of scikit-learn's displays.

A display is made from a result; its `plot` draws in the axes that are given or in a new figure of
pyplot, and returns the display, which has `ax_` and `figure_`. `pkex.output.plots.accessors` has
the calls that users make.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from pkex._util.extras import optional
from pkex._util.indexing import Axis, select
from pkex._util.validation import is_index
from pkex.output import palette
from pkex.output.columns import is_constant
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
)
from pkex.output.spread import importance_words
from pkex.output.text import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pkex.results.attribution import Attribution
    from pkex.results.importance import Importance

__all__ = ["AttributionDisplay", "Display", "ImportanceDisplay", "MarginalsDisplay"]

_OURS: WeakSet[Figure] = WeakSet()  # figures that were made for displays


class Display:
    """What a plot returns: the axes and the figure that were drawn in.

    The figure is one of pyplot, so that ``plt.show()`` shows it in a script. In a notebook the last
    line of a cell shows it, and closes it, so that it is not shown again at the end of the cell;
    this does not depend on pyplot's interactive mode, which other libraries switch off.

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
    <BeeswarmDisplay in ax_ of figure_>
    >>> display.figure_ is display.ax_.figure
    True
    """

    ax_: Axes
    figure_: Figure
    _own = False  # whether the figure was made for the display

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in ax_ of figure_>"

    def _draws_in(self, ax: Axes) -> None:
        self.ax_ = ax
        self.figure_ = ax.figure.figure  # the whole, also from a part of it

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the picture for a notebook, which shows it where pyplot then does not."""
        said = {"text/plain": repr(self)}
        pyplot = optional("matplotlib.pyplot", "pkex[plots]")
        if not self._own or hasattr(self.figure_.canvas.manager, "window"):
            return said, {}  # shown with the rest of its figure, or in a window
        _show_earlier(self.figure_)
        drawn = BytesIO()
        self.figure_.savefig(drawn, format="png", dpi=2.0 * self.figure_.dpi)
        width, height = (round(side * self.figure_.dpi) for side in self.figure_.get_size_inches())
        pyplot.close(self.figure_)
        picture = {"image/png": b64encode(drawn.getvalue()).decode()}
        return said | picture, {"image/png": {"width": width, "height": height}}

    def _figure(self, width: float, height: float) -> Any:
        """Return a new figure of pyplot; one without a background would not suit dark pages."""
        pyplot = optional("matplotlib.pyplot", "pkex[plots]")
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
        if figure.patch.get_alpha() == 0.0 or figure.get_facecolor()[3] == 0.0:
            figure.patch.set_alpha(1.0)
        self._own = True
        _OURS.add(figure)
        return figure

    def _discard(self) -> None:
        """Close a figure of our own in which drawing failed."""
        if self._own:
            optional("matplotlib.pyplot", "pkex[plots]").close(self.figure_)


def _show_earlier(figure: Figure) -> None:
    """Show what was drawn before this figure in a cell, which would be shown at its end, after it.

    Only where pyplot shows figures at the end of a cell; there none is left from other cells.
    """
    pyplot = optional("matplotlib.pyplot", "pkex[plots]")
    if "inline" not in pyplot.get_backend().lower():
        return
    from IPython import display
    from matplotlib._pylab_helpers import Gcf

    page: Any = display
    known = [one for one in _OURS if one.canvas.manager is not None and one is not figure]
    for earlier in sorted(known, key=_number):
        still_open = earlier.canvas.manager in Gcf.get_all_fig_managers()
        if still_open and _number(earlier) < _number(figure):
            page.display(earlier)
            pyplot.close(earlier)


def _number(figure: Figure) -> int:
    """Return the number of a figure of pyplot, which counts them."""
    return 0 if figure.canvas.manager is None else int(figure.canvas.manager.num)


class ImportanceDisplay(Display):
    """The most important features as bars, made by ``plot`` of `Importance` and `Explanation`.

    Parameters
    ----------
    importance : Importance

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [label.get_text() for label in importance.plot().ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    def __init__(self, importance: Importance) -> None:
        self.importance = importance

    def plot(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw; see `ImportancePlots.bar`."""
        at_least(max_display, "max_display", 1)
        found, shown = self.importance, self.importance.order[:max_display]
        names = [found.feature_names[player] for player in shown]
        if ax is None:
            width = 6.4 + room_for(names)
            ax = self._figure(width, max(2.0, 1.1 + 0.29 * len(shown))).subplots()
        self._draws_in(ax)
        theme = lanes(ax, names, WIDE if self._own else LETTERS)
        columns, titles = _outputs(found)
        columns = columns[shown]
        places, left = np.arange(len(shown)), np.zeros(len(shown))
        for k, title in enumerate(titles):
            joined = k == len(palette.SERIES) - 1 and len(titles) < len(found.outputs)
            style: dict[str, Any] = {"label": entry(short(title))} if title else {}
            style["color"] = theme(palette.BAND) if joined else theme.series(k)
            bars(ax, places, columns[:, k], 0.66, left=left, **style)
            left += columns[:, k]
        errors = found.standard_errors.reshape(len(found.values), -1)[shown, 0]
        note = ""
        if len(titles) > 1:  # stacked bars, where error bars would not be readable
            explain_colours(ax, own=self._own)
        elif not np.isnan(errors).any():
            whiskers(ax, list(left), list(places), errors)
            note = f"whiskers: {importance_words(found)}"
        ax.set_xlim(left=0.0)
        if len(titles) == 1:
            annotated(ax, [sign[1:] for sign in aligned(left)], own=self._own)
        label_below(ax, of_all("mean |value|", len(shown), len(found.feature_names)), note)
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
        at_least(max_display, "max_display", 1)
        at_least(marginals, "marginals", 0)
        shown = self.attribution.order[:max_display]
        columns = _first_columns(self.attribution, shown, marginals) if ax is None else []
        self.marginal_axes_ = []
        if ax is None:
            height = max(2.6 + 0.1 * len(columns), 1.3 + 0.28 * len(shown), 1.9 * len(columns))
            room = room_for([self.attribution.feature_names[player] for player in shown])
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
        draw_columns(self.attribution, columns, self.marginal_axes_)
        return self

    def _draw_bars(self, ax: Axes, shown: NDArray[np.intp]) -> None:
        """Draw the bars; p-values stand beside them in a figure of our own, else in the labels."""
        found, own = self.attribution, self._own
        names = [found.feature_names[player] for player in shown]
        p_values = None if found.p_holm is None else [f"p = {p:.2g}" for p in found.p_holm[shown]]
        if p_values is not None and not own:
            pairs = zip(names, p_values, strict=True)
            names = [f"{short(name)}  ({p})" for name, p in pairs]
        theme = lanes(ax, names, WIDE)
        values, places = found.values[shown], np.arange(len(shown))
        chance = np.zeros(len(shown), dtype=bool)
        if found.null_band is not None:
            low, high = found.null_band[:, shown]
            label, band = "95 % of permutations", theme(palette.BAND)
            bars(ax, places, high - low, 0.86, left=low, color=band, label=label)
        if found.p_holm is not None:
            chance = found.p_holm[shown] > found.alpha
        colours = [
            (theme.signed(value), 0.45 if pale else 1.0)
            for value, pale in zip(values, chance, strict=True)
        ]
        bars(ax, places, values, 0.5, color=colours)
        note = ""
        if found.standard_errors is not None:
            whiskers(ax, list(values), list(places), found.standard_errors[shown])
            note = f"whiskers: ± 1 standard error over blocks of {found.block_size} rows"
        ax.axvline(0.0, color=theme(palette.MISSING), linewidth=0.9)
        title = literal(found.statistic.replace("^2", "²"))
        label_below(ax, of_all(f"share of {title}", len(shown), len(found.players)), note)
        headline = f"{title} = {found.total:.3g}"
        if found.standard_error is not None:
            headline += f" ± {found.standard_error:.1g}"
        if found.n_permutations:
            headline = found._verdict(found.alpha)[0].replace("; ", "\n").removesuffix(".")
        ax.set_title(headline, loc="left", fontsize="medium", color=theme(palette.INK))
        if found.null_band is not None:
            explain_colours(ax, own=own)
        if p_values is not None and own:
            annotated(ax, p_values, own=True)


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
        found.recomputation("the picture of a column")
        if is_index(columns):
            at_least(columns, "columns", 1)
            chosen = _first_columns(found, found.order, int(cast("int", columns)))
            if not chosen:
                raise ValueError("every column is constant, so that there is nothing to draw.")
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
        draw_columns(found, chosen, self.axes_)
        return self


def _first_columns(attribution: Attribution, players: NDArray[np.intp], count: int) -> list[int]:
    """Return the first columns of these players that vary; none where there are no samples."""
    if attribution.samples is None:
        return []
    columns = (column for i in players for column in attribution.players[i])
    return list(islice((c for c in columns if not is_constant(attribution, c)), count))
