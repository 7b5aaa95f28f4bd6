"""The values of a pair of features over their two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pkex._util.cells import cell_text
from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.plots.colour_bar import draw_colour_bar
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import aside, framed, literal, short
from pkex.output.plots.shades import as_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.interactions import Interactions

__all__ = ["PairDisplay"]


_FEW = 5  # levels of a column whose points are drawn side by side


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
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        ax: Axes | None = None,
        *,
        output: str | int | None = None,
    ) -> PairDisplay:
        """Draw the values of a pair over its two columns: one point per row, coloured by value.

        Parameters
        ----------
        first, second : str or int, optional
            The features, of one column each; by default the largest pair.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        PairDisplay
        """
        interactions = self.result
        if interactions.data is None:
            raise ValueError(
                "a pair is drawn over its columns in every row, and a statistic has no rows; use "
                "plot.heatmap()."
            )
        number = interactions.output_number(output, "plot.pair")
        if (first is None) != (second is None):
            raise ValueError("plot.pair takes two players, or none for the largest pair.")
        if first is None or second is None:
            top = interactions.top(1, order=2)
            if not top:
                raise ValueError("there is no pair to draw.")
            first, second = top[0].players
        values = interactions[first, second].reshape(len(interactions), -1)[:, number]
        names = interactions.feature_names
        [both] = select([first, second], [Axis("feature", len(names), names)])
        players = both.tolist()
        ax = self._axes(ax, 6.0, 4.4)
        x, y = (self._column(player) for player in players)
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        theme = framed(ax)
        points = ax.scatter(
            x.spread(),
            y.spread(),
            c=values,
            cmap=theme.diverging(),
            vmin=-largest,
            vmax=largest,
            s=float(np.clip(9000.0 / max(1, len(interactions)), 10.0, 36.0)),
            edgecolors=theme(palette.MISSING),
            linewidths=0.3,
            zorder=3,
        )
        for axis, column in ((ax.xaxis, x), (ax.yaxis, y)):
            if column.categories:
                axis.set_ticks(range(len(column.categories)), column.categories)
            elif len(column.levels) <= _FEW:
                axis.set_ticks(column.levels)
        ax.set_xlabel(literal(short(names[players[0]])))
        ax.set_ylabel(literal(short(names[players[1]])))
        draw_colour_bar([ax], points, f"{interactions.index} of the pair", own=self._own)
        return self

    def _column(self, player: int) -> _Column:
        """Return the raw values of a player of one column; text as codes."""
        interactions = self.result
        assert interactions.data is not None
        columns = interactions.players[player]
        if len(columns) != 1:
            raise ValueError(
                f"{interactions.feature_names[player]!r} is a group of {len(columns)} columns, "
                "which has no axis; choose players of one column."
            )
        cells: Any = interactions.data[:, columns[0]]
        numbers, dated = as_numbers(cells)
        if numbers is not None and not dated:
            return _Column(numbers, [])
        texts = [cell_text(cell) for cell in cells]
        known = sorted(set(texts))
        codes = np.array([known.index(text) for text in texts], dtype=np.float64)
        return _Column(codes, [literal(short(text, 16)) for text in known])


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
        return self.numbers + 0.3 * float(np.diff(levels).min()) * aside(len(self.numbers))
