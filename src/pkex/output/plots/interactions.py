"""`Interactions` drawn: all pairs as a table of colours or a network, one over its two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pkex._util.cells import format_cell
from pkex._util.types import Floats
from pkex._util.validation import check_count
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Canvas, Key, jitter
from pkex.output.plots.labels import literal, shorten
from pkex.output.plots.shades import FeatureValues, as_numbers, feature_cells

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions

__all__ = ["InteractionsDisplay", "NetworkDisplay", "PairDisplay", "PairTableDisplay"]


_DARK = 0.6  # fraction of the largest value from which on a cell is dark
_NUMBERS = 8  # features of a heat map whose cells have room for numbers
_LINES = 40  # pairs of a network
_FEW = 5  # levels of a column whose points are drawn side by side

Write = Callable[[float], str]


class PairTableDisplay(Display):
    """A display that may draw a table of pairs."""

    def _draw_table(
        self, ax: Axes | None, table: Floats, names: Sequence[str], write: Write, signed: bool
    ) -> tuple[Canvas, Any]:
        """Draw a symmetric table; return where, and the colours; `write` gives the text of a cell.

        Its diagonal means nothing and is left out. Without signs colours begin at 0, as there is
        nothing below.
        """
        count = len(names)
        canvas = self._canvas(ax, 2.6 + 0.42 * count, 1.6 + 0.4 * count)
        canvas.frame("")
        ax, theme = canvas.ax, canvas.theme
        cells = np.where(np.eye(count, dtype=bool), np.nan, table)
        largest = _largest(cells)
        colours = theme.diverging() if signed else theme.rising()
        colours = colours.with_extremes(bad=theme(palette.GRID))
        image = ax.imshow(cells, cmap=colours, vmin=-largest if signed else 0.0, vmax=largest)
        places, ink = np.arange(count), theme(palette.INK)
        shown = [literal(shorten(name)) for name in names]
        ax.set_xticks(places, shown, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(places, shown)
        ax.tick_params(labelcolor=ink)
        for i, j in np.argwhere(~np.isnan(cells)):
            colour = theme(palette.PAGE) if abs(cells[i, j]) > _DARK * largest else ink
            text = write(float(cells[i, j]))
            ax.text(j, i, text, ha="center", va="center", fontsize="small", color=colour)
        return canvas, image


class _AllPairsDisplay(PairTableDisplay):
    """A display that needs all pairs."""

    result: Interactions

    def _pairs(
        self, row: int | None, max_display: int, output: Key
    ) -> tuple[list[str], Floats, Floats, bool, str]:
        """Return the features with the largest pairs: names, pairs, main effects, signs and title.

        Numbers are the means of absolute values, or the values of a row, which have signs.
        """
        check_count(max_display, "max_display", 2)
        interactions, count = self.result.select_output(output, "plot"), len(self.result)
        pairs, main = interactions.sizes, np.asarray(interactions.main)  # which needs pairs
        signed = row is not None or count == 1
        if not signed:
            main = np.abs(main).mean(axis=0)
            title = f"mean |{interactions.index}| of {count} rows"
        else:
            row = self._position(0 if row is None else row, "row", "plot of interactions")
            pairs, main = np.asarray(interactions.pairs)[row], main[row]
            title = f"{interactions.index} of row {interactions.row_names[row]}"
            if interactions.explained != "prediction":
                title = f"{interactions.index} of {interactions.explained.replace('^2', '²')}"
        if len(self.result.output_names) > 1:
            title += f", {interactions.output_names[0]}"
        order = np.argsort(-np.abs(pairs).max(axis=0), kind="stable")[:max_display]
        names = [shorten(interactions.feature_names[i]) for i in order]
        return names, pairs[np.ix_(order, order)], main[order], signed, title


class InteractionsDisplay(_AllPairsDisplay):
    """All pairs as a table of colours, made by ``interactions.plot()``.

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
        output: Key = None,
    ) -> Self:
        """Draw the mean absolute interaction of every pair, or those of one row, as a table.

        Parameters
        ----------
        ax, row, max_display, output
            As for every plot.
        """
        names, pairs, _, signed, title = self._pairs(row, max_display, output)
        number = "" if len(names) > _NUMBERS else "{:+.2g}" if signed else "{:.2g}"
        canvas, image = self._draw_table(ax, pairs, names, number.format, signed)
        canvas.title(title)
        canvas.colour_bar(image)
        return self


class NetworkDisplay(_AllPairsDisplay):
    """Features on a circle and pairs as lines, made by ``interactions.plot.network()``.

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
        output: Key = None,
    ) -> Self:
        """Draw features on a circle and pairs as lines between them.

        The area of a point is the size of the main effect of a feature, the width of a line that of
        an interaction.

        Parameters
        ----------
        ax, row, max_display, output
            As for every plot.
        """
        names, pairs, main, _, title = self._pairs(row, max_display, output)
        canvas = self._canvas(ax, 5.6, 5.2)
        ax, theme, count = canvas.ax, canvas.theme, len(names)
        angles = np.pi / 2 - 2.0 * np.pi * np.arange(count) / count
        x, y = np.cos(angles), np.sin(angles)
        ends = np.column_stack(np.triu_indices(count, 1))
        values = pairs[ends[:, 0], ends[:, 1]]
        strengths = np.abs(values) / _largest(values)
        for place in np.argsort(-strengths, kind="stable")[:_LINES][::-1]:  # the strongest on top
            strength, both = strengths[place], ends[place]
            style: dict[str, Any] = {"solid_capstyle": "round", "alpha": 0.15 + 0.75 * strength}
            style |= {"linewidth": 0.3 + 7.0 * strength, "color": theme.signed(values[place])}
            ax.plot(x[both], y[both], zorder=1, **style)
        sizes = 40.0 + 500.0 * np.abs(main) / _largest(main)
        colours, page = [theme.signed(value) for value in main], theme(palette.PAGE)
        ax.scatter(x, y, s=sizes, c=colours, edgecolors=page, zorder=2)
        style = {"va": "center", "annotation_clip": False, "color": theme(palette.INK)}
        for name, at_x, at_y in zip(names, x, y, strict=True):
            side = "center" if abs(at_x) < 0.3 else "left" if at_x > 0.0 else "right"
            ax.annotate(literal(name), (1.16 * at_x, 1.16 * at_y), ha=side, **style)
        ax.set(xlim=(-1.6, 1.6), ylim=(-1.35, 1.35), aspect="equal")
        ax.set_axis_off()
        canvas.title(title)
        return self


def _largest(values: Floats) -> float:
    """Return the largest size of values but for NaN, 1 where all are 0."""
    return float(np.nanmax(np.abs(values), initial=0.0)) or 1.0


class PairDisplay(Display):
    """The values of a pair over its two columns, made by ``interactions.plot.pair()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0], [1.0, 0.0]])
    >>> interactions.plot.pair("x0", "x1").ax_.get_ylabel()
    'x1'
    """

    result: Interactions

    def plot(
        self, first: Key = None, second: Key = None, ax: Axes | None = None, *, output: Key = None
    ) -> Self:
        """Draw the interaction of a pair over its columns, as the colours of points for rows.

        Parameters
        ----------
        first : str or int, optional
            A feature of one column; by default one of the largest pair.
        second : str or int, optional
            The other feature.
        ax, output
            As for every plot.
        """
        interactions = self.result
        if interactions.data is None:
            raise ValueError(
                "a pair is drawn over its columns in every row, but a statistic has no rows; use "
                "plot.heatmap()."
            )
        one = interactions.select_output(output, "plot.pair")
        if (first is None) != (second is None):
            raise ValueError("plot.pair takes two features, or none for the largest pair.")
        if first is None or second is None:
            top = interactions.top(1, order=2)
            if not top:
                raise ValueError("there is no pair to draw.")
            first, second = top[0].features
        values = one[first, second]
        features = [self._position(key, "feature", "plot of a pair") for key in (first, second)]
        canvas = self._canvas(ax, 6.0, 4.4)
        canvas.frame()
        ax, theme, largest = canvas.ax, canvas.theme, _largest(values)
        x, y = (self._column(feature) for feature in features)
        size = float(np.clip(9000.0 / max(1, len(interactions)), 10.0, 36.0))
        style: dict[str, Any] = {"cmap": theme.diverging(), "vmin": -largest, "vmax": largest}
        style |= {"edgecolors": theme(palette.MISSING), "linewidths": 0.3, "zorder": 3}
        points = ax.scatter(_spread(x), _spread(y), c=values, s=size, **style)
        for axis, column, feature in zip((ax.xaxis, ax.yaxis), (x, y), features, strict=True):
            if column.categories:
                texts = [literal(shorten(text, 16)) for text in column.categories]
                axis.set_ticks(range(len(texts)), texts)
            elif len(column.levels) <= _FEW:
                axis.set_ticks(column.levels)
            axis.set_label_text(literal(shorten(interactions.feature_names[feature])))
        canvas.colour_bar(points, f"{interactions.index} of the pair")
        return self

    def _column(self, feature: int) -> FeatureValues:
        """Return the values of a feature of one column; text as codes."""
        cells = feature_cells(self.result, feature)
        numbers, dated = as_numbers(cells)
        if numbers is not None and not dated:
            return FeatureValues(numbers)
        texts, codes = np.unique([format_cell(cell) for cell in cells], return_inverse=True)
        return FeatureValues(codes.astype(np.float64), tuple(map(str, texts)))


def _spread(column: FeatureValues) -> Floats:
    """Return the numbers, those of few levels side by side, the same at every drawing."""
    levels = column.levels
    if not 1 < len(levels) <= _FEW:
        return column.numbers
    return column.numbers + 0.3 * float(np.diff(levels).min()) * jitter(len(column.numbers))
