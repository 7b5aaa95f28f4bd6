"""All pairs of `Interactions`: as a table of colours, and as a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.output import palette
from pkex.output.plots.bars import Display
from pkex.output.plots.drawing import at_least, literal, short
from pkex.output.plots.pair_table import PAIR_PLAYERS, draw_pair_table, pair_axes
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

    def __init__(self, interactions: Interactions) -> None:
        self.interactions = interactions

    def _shown(self, row: int | None, max_display: int, output: str | int | None) -> _Shown:
        """Return the means of absolute values, or the values of a row, of the largest players."""
        found = self.interactions
        at_least(max_display, "max_display", 2)
        sizes = found.sizes  # refuses what has no pairs
        number = found.output_number(output, "plot")
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
        max_display: int = PAIR_PLAYERS,
        output: str | int | None = None,
    ) -> InteractionsDisplay:
        """Draw; see `InteractionPlots.heatmap`."""
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        if ax is None:
            ax = pair_axes(self._figure, count)
        self._draws_in(ax)
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
        max_display: int = PAIR_PLAYERS,
        output: str | int | None = None,
    ) -> NetworkDisplay:
        """Draw; see `InteractionPlots.network`."""
        shown = self._shown(row, max_display, output)
        count = len(shown.players)
        if ax is None:
            ax = cast("Axes", self._figure(5.6, 5.2).subplots())
        self._draws_in(ax)
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
        ax.set_title(literal(shown.title), loc="left", fontsize="medium", color=theme(palette.INK))
        return self
