"""A `Sensitivity` drawn with matplotlib: its indices as bars, and those of pairs as colours."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Key
from pkex.output.plots.interactions import PairTableDisplay
from pkex.output.plots.labels import literal, of_all
from pkex.output.spread import DOTS, LEVEL, has_intervals, interval_words
from pkex.output.text import rank_by_size

if TYPE_CHECKING:
    from pkex.results.sensitivity import Sensitivity

__all__ = ["PairsDisplay", "SensitivityDisplay"]


_LETTERS_OF_A_NOTE = 64  # in a line below the axis


class SensitivityDisplay(Display):
    """The indices of a `Sensitivity` as bars, made by its ``plot``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Sensitivity

    def plot(self, ax: Axes | None = None, *, max_display: int = 20, output: Key = None) -> Self:
        """Draw first-order indices as bars, total-order indices pale, Shapley effects as marks.

        With posterior draws, whiskers are credible intervals of the Shapley effects.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        sensitivity = self.result.select_output(output, "plot")
        shown, names = self._largest(rank_by_size(sensitivity.shapley), max_display)
        canvas = self._lanes(ax, names, 6.4, max(2.2, 1.5 + 0.3 * len(shown)))
        places, shade = np.arange(len(shown)), canvas.theme.series(0)
        indices = (sensitivity.first_order, sensitivity.shapley, sensitivity.total_order)
        first, shapley, total = (np.maximum(index[shown], 0.0) for index in indices)
        canvas.bars(places, first, 0.62, color=shade, label="first-order")
        style: dict[str, Any] = {"color": (shade, 0.3), "label": "total-order"}
        canvas.bars(places, np.maximum(total - first, 0.0), 0.62, left=first, **style)
        style = {"color": canvas.theme(palette.INK), "markersize": 4.5, "zorder": 4}
        canvas.ax.plot(shapley, places, "D", label="Shapley effect", **style)
        if has_intervals(sensitivity.shapley_draws):
            low, high = (end[shown] for end in sensitivity.interval("shapley", LEVEL))
            means = sensitivity.draws["shapley"].mean(axis=0)[shown]
            canvas.intervals(low, high, means, places)
        label = of_all("fraction of the variance", len(shown), len(sensitivity.feature_names))
        notes = [f"whiskers: {one}" for one in interval_words(sensitivity.shapley_draws)]
        notes += [DOTS] if notes else []
        for note in sensitivity.notes if self._new_figure else ():  # others may lack the room
            notes += wrap(note, _LETTERS_OF_A_NOTE)
        canvas.ax.set_xlabel(literal("\n".join([label, *notes])))
        canvas.ax.set_xlim(left=0.0)
        name = f"{sensitivity.output_names[0]}: " if self.result.shapley.ndim > 1 else ""
        variance = float(np.ravel(sensitivity.variance)[0])
        canvas.title(f"{name}Sobol indices, variance {variance:.3g}, independent inputs")
        canvas.annotate([f"{effect:.3f}" for effect in shapley])
        canvas.legend()
        return self


class PairsDisplay(PairTableDisplay):
    """Second-order Sobol indices as a table of colours, made by ``sensitivity.plot.pairs()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}, order=2)
    >>> [label.get_text() for label in sensitivity.plot.pairs().ax_.get_xticklabels()]
    ['x1', 'x0']
    """

    result: Sensitivity

    def plot(self, ax: Axes | None = None, *, max_display: int = 12, output: Key = None) -> Self:
        """Draw second-order Sobol indices as a table of colours; needs ``order=2``.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        if self.result.second_order is None:
            raise ValueError("second-order indices were not computed; pass order=2 to sensitivity.")
        sensitivity = self.result.select_output(output, "plot")
        shown, names = self._largest(rank_by_size(sensitivity.total_order), max_display)
        pairs = np.asarray(sensitivity.second_order)[np.ix_(shown, shown)]
        percents = 100.0 * np.maximum(pairs, 0.0)
        canvas, image = self._draw_table(ax, percents, names, _write_percent, signed=False)
        canvas.title("second-order Sobol indices")
        canvas.colour_bar(image, "% of the variance")
        return self


def _write_percent(percent: float) -> str:
    return f"{percent:.2g}" if percent >= 0.05 else ""
