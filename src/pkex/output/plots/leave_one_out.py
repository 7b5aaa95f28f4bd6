"""`LeaveOneOut` drawn: targets against the predictions of a model that has not seen them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pkex._util.validation import check_count
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Key
from pkex.output.plots.labels import literal, shorten

if TYPE_CHECKING:
    from pkex.results.leave_one_out import LeaveOneOut

__all__ = ["LeaveOneOutDisplay"]


class LeaveOneOutDisplay(Display):
    """Targets against leave-one-out predictions, made by the ``plot`` of `LeaveOneOut`.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> model = KernelRidge(kernel="rbf").fit([[0.0], [1.0], [2.0]], [0.0, 9.0, 0.0])
    >>> display = pkex.Explainer(model).leave_one_out().plot(max_names=1)
    >>> [text.get_text() for text in display.ax_.texts]
    ['1']
    """

    result: LeaveOneOut

    def plot(self, ax: Axes | None = None, *, max_names: int = 5, output: Key = None) -> Self:
        """Draw a point for each training row; on the line the model predicts it exactly.

        The rows of the largest residuals are named. Those of a Gaussian process are compared in
        their standard deviations.

        Parameters
        ----------
        ax
            As for every plot.
        max_names : int, default 5
            How many rows to name.
        output
            As for every plot.
        """
        check_count(max_names, "max_names", 0)
        self._check_rows()
        one = self.result.select_output(output, "plot")
        canvas = self._canvas(ax, 5.2, 4.4)
        canvas.frame()
        theme, named = canvas.theme, one.ranking[:max_names]
        others = np.delete(np.arange(len(one)), named)
        for rows, shade in ((others, theme.series(0)), (named, theme.signed(1.0))):
            canvas.ax.scatter(one.predictions[rows], one.targets[rows], 14.0, color=shade, lw=0)
        ends = [float(end) for end in canvas.ax.get_xlim()]
        canvas.ax.axline((0.0, 0.0), slope=1.0, color=theme(palette.MISSING), lw=0.9, zorder=0)
        canvas.ax.set_xlim(*ends)
        for row in named:
            canvas.ax.annotate(
                literal(shorten(one.row_names[row], 14)),
                (one.predictions[row], one.targets[row]),
                xytext=(4.0, 3.0),
                textcoords="offset points",
                color=theme(palette.INK),
                fontsize="small",
            )
        canvas.ax.set_xlabel("leave-one-out prediction")
        canvas.ax.set_ylabel("target")
        if self.result.residuals.ndim == 2:
            canvas.title(one.output_names[0])
        return self
