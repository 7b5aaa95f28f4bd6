"""`Interactions` drawn with matplotlib: a heat map, a network, and a pair over its two columns.

As the displays of `pkex.output.plots`: `plot` draws in the axes that are given or in a new figure
and returns the display.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pkex._indexing import Axis, select
from pkex._validation import brief, is_index
from pkex.output import palette
from pkex.output.drawing import at_least, short
from pkex.output.plots import Display
from pkex.tables.cells import cell_text, is_missing, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from pkex.interactions import Interactions

__all__ = ["InteractionsDisplay", "NetworkDisplay", "PairDisplay"]

Floats = NDArray[np.float64]

_NUMBERS = 8  # players of a heat map whose cells have room for numbers
_FEW = 5  # levels of a column whose points are drawn side by side
_LINES = 40  # pairs of a network


class _Shown(NamedTuple):
    """What is drawn: players by number, their pairs and own values, and what these numbers are."""

    players: list[int]
    pairs: Floats
    main: Floats
    signed: bool
    title: str


class _OfAllPairs(Display):
    """A display that needs all pairs."""

    def __init__(self, interactions: Interactions) -> None:
        self.interactions = interactions

    def _shown(self, row: int | None, max_display: int, output: str | int | None) -> _Shown:
        """Return the means of absolute values, or the values of a row, of the largest players."""
        found = self.interactions
        at_least(max_display, "max_display", 2)
        sizes = found.sizes  # refuses what has no pairs
        number = found._output(output, "plot")
        if row is None and len(found) == 1:
            row = 0
        if row is not None and (not is_index(row) or not -len(found) <= row < len(found)):
            raise IndexError(f"there are rows 0 to {len(found) - 1}, got {brief(row)}.")
        d = len(found.feature_names)
        assert found.pairs is not None
        assert found.main is not None
        if row is None:
            pairs, main = sizes.reshape(d, d, -1)[..., number], np.abs(found.main).mean(axis=0)
            title = f"mean |{found.index}| of {len(found)} rows"
        else:
            pairs, main = found.pairs[row].reshape(d, d, -1)[..., number], found.main[row]
            title = f"{found.index} of row {found.row_names[row]}"
            if found.whole != "prediction":
                title = f"{found.index} of {found.whole.replace('^2', '²')}"
        if len(found.outputs) > 1:
            title += f", {found.outputs[number]}"
        main = main.reshape(d, -1)[:, number]
        order = np.argsort(-np.abs(pairs).max(axis=0), kind="stable")[:max_display]
        chosen = order.tolist()
        return _Shown(chosen, pairs[np.ix_(order, order)], main[order], row is not None, title)

    def _names(self, shown: _Shown) -> list[str]:
        return [short(self.interactions.feature_names[player]) for player in shown.players]


class InteractionsDisplay(_OfAllPairs):
    """All pairs as a table of colours, made by ``interactions.plot()``.

    Parameters
    ----------
    interactions : Interactions

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0], [1.0, 0.0]])
    >>> interactions.plot.heatmap().ax_.get_title(loc="left")
    'mean |k-SII| of 2 rows'
    """

    def plot(
        self,
        ax: Axes | None = None,
        *,
        row: int | None = None,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> InteractionsDisplay:
        """Draw; see `InteractionPlots.heatmap`."""
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        if ax is None:
            ax = cast("Axes", self._figure(2.6 + 0.42 * count, 1.6 + 0.4 * count).subplots())
        self._draws_in(ax)
        table = np.where(np.eye(count, dtype=bool), np.nan, shown.pairs)
        largest = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
        low = -largest if shown.signed else 0.0
        image = ax.imshow(table, cmap=_colours(shown.signed), vmin=low, vmax=largest)
        names = self._names(shown)
        ax.set_xticks(range(count), names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(count), names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(shown.title, loc="left", fontsize="medium")
        if count <= _NUMBERS:
            for i, j in np.argwhere(~np.isnan(table)):
                dark = abs(table[i, j]) > 0.6 * largest
                ax.text(
                    j,
                    i,
                    f"{table[i, j]:+.2g}" if shown.signed else f"{table[i, j]:.2g}",
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if dark else "black",
                )
        bar = self.figure_.colorbar(image, ax=ax, shrink=0.8)
        bar.outline.set_visible(False)
        return self


class NetworkDisplay(_OfAllPairs):
    """Players on a circle and pairs as lines, made by ``interactions.plot.network()``.

    The area of a point is the size of the player's own value, the width of a line that of a pair.

    Parameters
    ----------
    interactions : Interactions

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0], [1.0, 0.0]])
    >>> len(interactions.plot.network().ax_.lines)
    1
    """

    def plot(
        self,
        ax: Axes | None = None,
        *,
        row: int | None = None,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> NetworkDisplay:
        """Draw; see `InteractionPlots.network`."""
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        if ax is None:
            ax = cast("Axes", self._figure(5.6, 5.2).subplots())
        self._draws_in(ax)
        angles = np.pi / 2 - 2.0 * np.pi * np.arange(count) / count
        x, y = np.cos(angles), np.sin(angles)
        first, second = np.triu_indices(count, 1)
        values = shown.pairs[first, second]
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        strongest = np.argsort(-np.abs(values), kind="stable")[:_LINES][::-1]
        for place in strongest:  # the strongest on top
            share = abs(values[place]) / largest
            ends = [first[place], second[place]]
            colour = _sign_colour(values[place], shown.signed)
            ax.plot(
                x[ends],
                y[ends],
                color=colour,
                linewidth=0.3 + 7.0 * share,
                alpha=0.15 + 0.75 * share,
                solid_capstyle="round",
                zorder=1,
            )
        own = np.abs(shown.main) / (float(np.abs(shown.main).max(initial=0.0)) or 1.0)
        colours = [_sign_colour(value, shown.signed) for value in shown.main]
        ax.scatter(x, y, s=40.0 + 500.0 * own, c=colours, edgecolors="white", zorder=2)
        for name, at_x, at_y in zip(self._names(shown), x, y, strict=True):
            ax.annotate(
                name,
                (1.16 * at_x, 1.16 * at_y),
                ha="center" if abs(at_x) < 0.3 else "left" if at_x > 0.0 else "right",
                va="center",
                annotation_clip=False,
            )
        ax.set_xlim(-1.6, 1.6)
        ax.set_ylim(-1.35, 1.35)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(shown.title, loc="left", fontsize="medium")
        return self


class PairDisplay(Display):
    """The values of a pair over its two columns, made by ``interactions.plot.pair()``.

    Parameters
    ----------
    interactions : Interactions

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0], [1.0, 0.0]])
    >>> interactions.plot.pair("x0", "x1").ax_.get_ylabel()
    'x1'
    """

    def __init__(self, interactions: Interactions) -> None:
        self.interactions = interactions

    def plot(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        ax: Axes | None = None,
        *,
        output: str | int | None = None,
    ) -> PairDisplay:
        """Draw; see `InteractionPlots.pair`."""
        found = self.interactions
        if found.data is None:
            raise ValueError(
                "a pair is drawn over its columns in every row, and a statistic has no rows; use "
                "plot.heatmap()."
            )
        number = found._output(output, "plot.pair")
        if (first is None) != (second is None):
            raise ValueError("plot.pair takes two players, or none for the largest pair.")
        if first is None or second is None:
            top = found.top(1, order=2)
            if not top:
                raise ValueError("there is no pair to draw.")
            first, second = top[0].players
        values = found[first, second].reshape(len(found), -1)[:, number]
        names = found.feature_names
        [both] = select([first, second], [Axis("feature", len(names), names)])
        players = both.tolist()
        if ax is None:
            ax = cast("Axes", self._figure(6.0, 4.4).subplots())
        self._draws_in(ax)
        x, y = (self._column(player) for player in players)
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        points = ax.scatter(
            x.spread(),
            y.spread(),
            c=values,
            cmap=_colours(True),
            vmin=-largest,
            vmax=largest,
            s=float(np.clip(9000.0 / max(1, len(found)), 10.0, 36.0)),
            edgecolors=palette.NEUTRAL.light,
            linewidths=0.3,
        )
        for axis, column in ((ax.xaxis, x), (ax.yaxis, y)):
            if column.categories:
                axis.set_ticks(range(len(column.categories)), column.categories)
            elif len(column.levels) <= _FEW:
                axis.set_ticks(column.levels)
        ax.set_xlabel(short(names[players[0]]))
        ax.set_ylabel(short(names[players[1]]))
        ax.spines[["top", "right"]].set_visible(False)
        bar = self.figure_.colorbar(points, ax=ax)
        bar.outline.set_visible(False)
        bar.set_label(f"{found.index} of the pair")
        return self

    def _column(self, player: int) -> _Column:
        """Return the raw values of a player of one column; text as codes."""
        found = self.interactions
        assert found.data is not None
        columns = found.players[player]
        if len(columns) != 1:
            raise ValueError(
                f"{found.feature_names[player]!r} is a group of {len(columns)} columns, which has "
                "no axis; choose players of one column."
            )
        cells: Any = found.data[:, columns[0]]
        if all(is_number(cell) or is_missing(cell) for cell in cells):
            numbers = [np.nan if is_missing(cell) else float(cell) for cell in cells]
            return _Column(np.array(numbers), [])
        texts = [cell_text(cell) for cell in cells]
        known = sorted(set(texts))
        codes = np.array([known.index(text) for text in texts], dtype=np.float64)
        return _Column(codes, [short(text, 16) for text in known])


class _Column(NamedTuple):
    """Numbers along an axis, and the names of categories if these are codes."""

    numbers: Floats
    categories: list[str]

    @property
    def levels(self) -> Floats:
        """The different numbers."""
        return np.unique(self.numbers[~np.isnan(self.numbers)])

    def spread(self) -> Floats:
        """Return the numbers, those of few levels side by side, the same at every drawing."""
        levels = self.levels
        if not 1 < len(levels) <= _FEW:
            return self.numbers
        aside = (0.618034 * np.arange(len(self.numbers))) % 1.0 - 0.5
        return self.numbers + 0.3 * float(np.diff(levels).min()) * aside


def _colours(signed: bool) -> Colormap:
    """Return the colours of values: from below to above 0 where they have signs."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = ["white", palette.RAISES.light]
    if signed:
        ends = [palette.LOWERS.light, "white", palette.RAISES.light]
    colours = LinearSegmentedColormap.from_list("pkex", ends)
    colours.set_bad("#eef0f3")
    return colours


def _sign_colour(value: float, signed: bool) -> str:
    return palette.LOWERS.light if signed and value < 0.0 else palette.RAISES.light
