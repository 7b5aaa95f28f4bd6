"""`Gradients`: derivatives of predictions by columns, and how uncertain they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.output import frames
from pkex.output.files import codec
from pkex.output.files.header import as_index, optional
from pkex.output.plots.accessors import GradientsPlots
from pkex.output.view.gradients import gradient_table
from pkex.results.base import Result
from pkex.results.fields import PlotField

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
    _FRAME: ClassVar = frames.gradients
    plot = PlotField(GradientsPlots)
    CODEC: ClassVar = codec.Codec(
        "Gradients",
        1,
        (
            codec.ABOUT,
            codec.Kernels(),
            codec.Entries(row_index=optional(as_index)),
            codec.FloatArrays(("values",), ("std",), finite=True),
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
        sizes = np.abs(self.values).sum(axis=0)
        return np.argsort(-sizes.reshape(len(sizes), -1).sum(axis=1), kind="stable")
