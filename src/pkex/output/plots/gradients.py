"""`Gradients` drawn with matplotlib: bars of one row, points of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Key, jitter
from pkex.output.plots.labels import of_all

if TYPE_CHECKING:
    from pkex.results.gradients import Gradients

__all__ = ["GradientsDisplay"]


class GradientsDisplay(Display):
    """The derivatives of `Gradients` in a lane for each column, made by its ``plot``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f).gradients([[0.0, 1.0]]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Gradients

    def plot(self, ax: Axes | None = None, *, max_display: int = 20, output: Key = None) -> Self:
        """Draw the derivatives of one row as bars, or those of several as points.

        Bars have whiskers of two posterior standard deviations, where these are known. Among the
        points of several rows a line marks their mean.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        gradients = self.result.select_output(output, "plot")
        self._check_rows()
        values = gradients.values
        shown, names = self._largest(gradients.ranking, max_display)
        canvas = self._lanes(ax, names, 6.4, max(2.2, 1.3 + 0.32 * len(shown)))
        places, note = np.arange(len(shown)), ""
        if len(gradients) == 1:
            row = values[0, shown]
            canvas.bars(places, row, 0.62, color=[canvas.theme.signed(one) for one in row])
            if gradients.std is not None:
                canvas.whiskers(row, places, 2.0 * gradients.std[0, shown])
                note = "whiskers: ± 2 posterior standard deviations"
        else:
            shade = canvas.theme.series(0)
            for place, column in zip(places, shown, strict=True):
                heights = place + 0.6 * jitter(len(values))
                canvas.ax.scatter(values[:, column], heights, 9.0, color=shade, alpha=0.6, lw=0)
            means = values[:, shown].mean(axis=0)
            ink = canvas.theme(palette.INK)
            canvas.ax.vlines(means, places - 0.36, places + 0.36, color=ink, lw=1.6, zorder=4)
            note = f"line: mean of {len(gradients)} rows"
        canvas.line_at(0.0)
        label = "derivative of the prediction, for each unit of the feature"
        canvas.label_below(of_all(label, len(shown), len(gradients.feature_names)), note)
        if self.result.values.ndim == 3:
            canvas.title(gradients.output_names[0])
        return self
