"""Rows as lines from the base value to their predictions, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pkex.output import palette
from pkex.output.plots.drawing import lanes
from pkex.output.plots.panel import ExplanationDisplay, Output, shown_features
from pkex.output.plots.waterfall import adds_up, axis_of_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.explanation import Explanation

__all__ = ["DecisionDisplay"]

MAX_ROWS = 2000  # lines that are told apart, and drawn in no time


class DecisionDisplay(ExplanationDisplay):
    """Rows as lines from the base value to their predictions, made by ``plot.decision()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.decision()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    _kind = "decision"
    _width, _height, _lane = 6.4, 1.3, 0.34

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> DecisionDisplay:
        """Draw every row as a line from the base value to its prediction, feature by feature.

        A line begins at the bottom, and each feature moves it by its value; the most important
        feature comes last. Lines are coloured by where they end.

        Parameters
        ----------
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.

        Returns
        -------
        DecisionDisplay
        """
        adds_up(self.result)
        if len(self.result) > MAX_ROWS:
            raise ValueError(
                f"{len(self.result)} lines cannot be told apart; choose up to {MAX_ROWS} rows, "
                f"e.g. explanation[:{MAX_ROWS // 10}].plot.decision()."
            )
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        from matplotlib.collections import LineCollection

        _, names, steps = shown_features(one, self._max_display)
        theme = lanes(ax, names, self._letters)
        # the base value at the bottom edge, then after each feature at the top of its lane
        ends = one.base_values[:, None] + np.cumsum(steps[:, ::-1], axis=1)
        x = np.column_stack([one.base_values, ends])
        y = np.arange(len(names), -1, -1) - 0.5
        order = np.argsort(np.abs(one.predictions - one.base_values))  # the far ones on top
        low, high = np.quantile(one.predictions, [0.05, 0.95])
        shares = (one.predictions - low) / (high - low) if high > low else np.full(len(one), 0.5)
        lines = [np.column_stack([x[row], y]) for row in order]
        ax.add_collection(
            LineCollection(
                lines,
                colors=theme.ramp()(np.clip(shares[order], 0.0, 1.0)),
                linewidths=1.0 if len(one) > 30 else 1.8,
                alpha=0.9 if len(one) < 100 else 0.5,
            )
        )
        ax.axvline(one.base_values[0], color=theme(palette.MISSING), linewidth=0.9, zorder=1)
        ax.hlines(
            np.arange(len(names) + 1) - 0.5, 0, 1, color=theme.grid(ax), linewidth=0.9,
            transform=ax.get_yaxis_transform(), zorder=0.5,
        )  # fmt: skip
        room = 0.04 * (x.max() - x.min()) or 1.0
        ax.set_xlim(x.min() - room, x.max() + room)
        ax.set_xlabel(axis_of_output(one))
