"""All pairs of `Interactions`: as a table of colours, and as a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import at_least, literal, short, write_title
from pkex.output.plots.pair_table import PAIR_PLAYERS, draw_pair_table, pair_size
from pkex.output.plots.theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.interactions import Interactions

__all__ = ["InteractionsDisplay", "NetworkDisplay"]


_NUMBERS = 8  # players of a heat map whose cells have room for numbers
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

    result: Interactions

    def _shown(self, row: int | None, max_display: int, output: str | int | None) -> _Shown:
        """Return the means of absolute values, or the values of a row, of the largest features."""
        interactions, count = self.result, len(self.result)
        at_least(max_display, "max_display", 2)
        sizes = interactions.sizes  # refuses what has no pairs
        number = interactions.output_number(output, "plot")
        if row is None and count == 1:
            row = 0
        if row is not None and (not is_index(row) or not -count <= row < count):
            raise IndexError(f"there are rows 0 to {count - 1}, got {brief(row)}.")
        d = len(interactions.feature_names)
        assert interactions.pairs is not None
        assert interactions.main is not None
        if row is None:
            pairs, main = sizes, np.abs(interactions.main).mean(axis=0)
            title = f"mean |{interactions.index}| of {count} rows"
        else:
            pairs, main = interactions.pairs[row], interactions.main[row]
            title = f"{interactions.index} of row {interactions.row_names[row]}"
            if interactions.whole != "prediction":
                title = f"{interactions.index} of {interactions.whole.replace('^2', '²')}"
        if len(interactions.outputs) > 1:
            title += f", {interactions.outputs[number]}"
        pairs, main = pairs.reshape(d, d, -1)[..., number], main.reshape(d, -1)[:, number]
        order = np.argsort(-np.abs(pairs).max(axis=0), kind="stable")[:max_display]
        chosen = order.tolist()
        return _Shown(chosen, pairs[np.ix_(order, order)], main[order], row is not None, title)

    def _names(self, shown: _Shown) -> list[str]:
        return [short(self.result.feature_names[player]) for player in shown.players]


class InteractionsDisplay(_OfAllPairs):
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
        max_display: int = PAIR_PLAYERS,
        output: str | int | None = None,
    ) -> InteractionsDisplay:
        """Draw the mean absolute value of every pair, or the values of one row, as a table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        row : int, optional
            Whose values to draw, with their signs; a single row, as of a statistic, is drawn so.
        max_display : int, default 12
            How many features to show at most: those with the largest interactions.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        InteractionsDisplay
        """
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        ax = self._axes(ax, *pair_size(count))
        write = "{:+.2g}" if shown.signed else "{:.2g}"
        draw_pair_table(
            ax,
            shown.pairs,
            self._names(shown),
            signed=shown.signed,
            title=shown.title,
            texts=write.format if count <= _NUMBERS else None,
            own=self._own,
        )
        return self


class NetworkDisplay(_OfAllPairs):
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
        max_display: int = PAIR_PLAYERS,
        output: str | int | None = None,
    ) -> NetworkDisplay:
        """Draw features on a circle and pairs as lines between them.

        The area of a point is the size of the feature's main effect, the width of a line that of a
        pair.

        Parameters
        ----------
        ax, row, max_display, output
            As in `heatmap`.

        Returns
        -------
        NetworkDisplay
        """
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        ax = self._axes(ax, 5.6, 5.2)
        theme = Theme.of(ax)

        def colour(value: float) -> str:
            return theme.signed(value if shown.signed else abs(value))

        angles = np.pi / 2 - 2.0 * np.pi * np.arange(count) / count
        x, y = np.cos(angles), np.sin(angles)
        first, second = np.triu_indices(count, 1)
        values = shown.pairs[first, second]
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        strongest = np.argsort(-np.abs(values), kind="stable")[:_LINES][::-1]
        for place in strongest:  # the strongest on top
            share = abs(values[place]) / largest
            ends = [first[place], second[place]]
            ax.plot(
                x[ends],
                y[ends],
                color=colour(values[place]),
                linewidth=0.3 + 7.0 * share,
                alpha=0.15 + 0.75 * share,
                solid_capstyle="round",
                zorder=1,
            )
        own = np.abs(shown.main) / (float(np.abs(shown.main).max(initial=0.0)) or 1.0)
        colours, page = [colour(value) for value in shown.main], theme(palette.PAGE)
        ax.scatter(x, y, s=40.0 + 500.0 * own, c=colours, edgecolors=page, zorder=2)
        for name, at_x, at_y in zip(self._names(shown), x, y, strict=True):
            ax.annotate(
                literal(name),
                (1.16 * at_x, 1.16 * at_y),
                ha="center" if abs(at_x) < 0.3 else "left" if at_x > 0.0 else "right",
                va="center",
                annotation_clip=False,
                color=theme(palette.INK),
            )
        ax.set_xlim(-1.6, 1.6)
        ax.set_ylim(-1.35, 1.35)
        ax.set_aspect("equal")
        ax.set_axis_off()
        write_title(ax, shown.title)
        return self
