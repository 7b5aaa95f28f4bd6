"""`Gradients`: derivatives of predictions by columns, and how uncertain they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.output import frames
from pkex.output.files import codec
from pkex.output.files.header import as_index, optional
from pkex.output.view.gradients import gradient_table
from pkex.results.base import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.gradients import GradientsDisplay

__all__ = ["Gradients"]


@dataclass(frozen=True, eq=False, repr=False)
class Gradients(Result):
    """Derivatives of the prediction by every input column, at some rows.

    ``gradients[rows, columns, outputs]`` selects from it, by number or name.

    Parameters
    ----------
    about : About
        What all results have. Its fields are attributes, too; features are single columns.
    values : array of shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        The derivatives, in units of the prediction for each unit of the column.
    data : array of shape (n_rows, n_columns)
        The rows.
    std : array like `values`, optional
        Of a Gaussian process: the posterior standard deviations of the derivatives.
    row_index : pandas.Index, optional
        What a pandas frame called its rows; None for rows without such labels.

    See Also
    --------
    pkex.Explainer.gradients : Returns it.
    pkex.Explanation : Values that sum to the prediction.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> gradients = pkex.Explainer(f).gradients([[0.0, 1.0]])
    >>> gradients
    Gradients(1 sample x 2 features)
          derivative
      x1     -0.9744
      x0     -0.3679
    >>> gradients[:, "x0"].values.round(4)
    array([[-0.3679]])
    """

    AXES: ClassVar = {
        "values": ("row", "feature", "output"),
        "std": ("row", "feature", "output"),
        "data": ("row", "column"),
        "row_index": ("row",),
    }
    SELECTED: ClassVar = ("row", "feature", "output")
    VIEWS: ClassVar = (gradient_table, gradient_table)
    CODEC: ClassVar = codec.Codec(
        "Gradients",
        1,
        (
            codec.ABOUT,
            codec.Kernels(),
            codec.Entries({"row_index": optional(as_index)}),
            codec.FloatArrays(("values",), finite=True),
            codec.FloatArrays(("std",), finite=True, optional=True),
            codec.CellTable(),
        ),
    )

    values: Floats
    data: NDArray[Any]
    std: Floats | None = None
    row_index: Any = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def ranking(self) -> Indices:
        """The columns, the largest mean absolute derivative first; by the sum over outputs.

        See Also
        --------
        pkex.Gradients.to_frame : The derivatives as a table.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).gradients([[0.0, 1.0]]).ranking
        array([1, 0])
        """
        sizes = np.abs(self.values).mean(axis=0)
        return np.argsort(-sizes.reshape(len(sizes), -1).sum(axis=1), kind="stable")

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 20, output: str | int | None = None
    ) -> GradientsDisplay:
        """Draw the derivatives of one row as bars, or those of several as points.

        Bars have whiskers of two posterior standard deviations, where these are known.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw in; a new figure by default.
        max_display : int, default 20
            The largest number of columns.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        GradientsDisplay
            The display, with ``ax_`` and ``figure_``.

        See Also
        --------
        pkex.plots.GradientsDisplay : What is returned.

        Examples
        --------
        ::

            gradients.plot()
        """
        from pkex.output.plots.gradients import GradientsDisplay

        return GradientsDisplay(self).plot(ax, max_display=max_display, output=output)

    def __getitem__(self, key: Any) -> Gradients:
        """Select rows, columns and outputs: ``gradients[rows, columns, outputs]``."""
        return self._select(key)

    def to_frame(self, output: str | int | None = None) -> Any:
        """Return a pandas data frame with one line per row and one column per column.

        Standard deviations follow, where they are known.

        Parameters
        ----------
        output : str or int, optional
            Which output. By default all: when there are several, the columns have two levels.

        Returns
        -------
        pandas.DataFrame
            The derivatives.

        See Also
        --------
        pkex.Explanation.to_frame : The frame of an explanation.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).gradients([[0.0, 1.0]]).to_frame().round(4)
               x0      x1
        0 -0.3679 -0.9744
        """
        chosen = self if output is None else self.select_output(output, "to_frame")
        return frames.row_frame(chosen, self.feature_names, chosen.values, False, chosen.std)
