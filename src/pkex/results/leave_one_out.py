"""`LeaveOneOut`: what a model predicts for each of its training rows without that row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_label
from pkex._util.types import Floats, Indices
from pkex.output import frames
from pkex.output.files import header as entry
from pkex.output.files.codec import ABOUT, CellTable, Codec, Entries, FloatArrays, Kernels
from pkex.output.plots.accessors import LeaveOneOutPlots
from pkex.output.view.influence import leave_one_out
from pkex.results.base import Result
from pkex.results.fields import PlotField

__all__ = ["LeaveOneOut"]


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut(Result):
    """What a model predicts for each training row when it is fitted without that row.

    Made by `Explainer.leave_one_out`. Hyperparameters, scaling, target normalisation and intercept
    are held. Rows with large residuals are those that all others contradict: mislabelled rows,
    wrong units, or rare cases.

    Parameters
    ----------
    about : About
        What all results have: `feature_names`, `output_names` and others.
    residuals : array of shape (n_train,) or (n_train, n_outputs)
        Targets minus `predictions`.
    predictions : array like `residuals`
        The prediction for each training row of the model without it.
    targets : array like `residuals`
        The targets, in their units.
    std : array like `residuals`, or None
        Of a Gaussian process: the standard deviation of the observation under the model without the
        row, its noise included.
    log_density : array like `residuals`, or None
        Of a Gaussian process: the logarithm of the predictive density of the target.
    data : array of shape (n_train, n_columns), or None
        The training rows as the user has them.
    row_index : pandas.Index, optional
        What a pandas frame called them.
    input_notes : tuple of str
        What is assumed of the training; see `notes`.

    See Also
    --------
    pkex.Explainer.leave_one_out : Computes it.
    pkex.Influence : Which training rows stand behind a prediction.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> y = X[:, 0].copy()
    >>> y[7] += 5.0
    >>> model = KernelRidge(kernel="rbf", alpha=0.1).fit(X, y)
    >>> pkex.Explainer(model).leave_one_out().ranking[0]
    np.int64(7)
    """

    AXES: ClassVar = {
        "residuals": ("row", "output"),
        "predictions": ("row", "output"),
        "targets": ("row", "output"),
        "std": ("row", "output"),
        "log_density": ("row", "output"),
        "data": ("row", "column"),
        "row_index": ("row",),
    }
    SELECTED: ClassVar = ("row", "output")
    SAME: ClassVar = ("input_notes",)
    VIEWS: ClassVar = (leave_one_out, leave_one_out)
    _FRAME: ClassVar = frames.leave_one_out
    plot = PlotField(LeaveOneOutPlots)
    CODEC: ClassVar = Codec(
        "LeaveOneOut",
        1,
        (
            ABOUT,
            Kernels(),
            Entries(
                row_index=entry.optional(entry.as_index),
                input_notes=lambda value: () if value is None else entry.as_names(value),
            ),
            FloatArrays(
                ("residuals", "predictions", "targets"), ("std", "log_density"), finite=True
            ),
            CellTable(optional=True),
        ),
    )

    residuals: Floats
    predictions: Floats
    targets: Floats
    std: Floats | None = None
    log_density: Floats | None = None
    data: NDArray[Any] | None = None
    row_index: Any = None
    input_notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.residuals)

    @property
    def ranking(self) -> Indices:
        """The training rows, the largest residual first; by the sum over outputs of several.

        Residuals of a Gaussian process are compared in their standard deviations.

        See Also
        --------
        pkex.LeaveOneOut.to_frame : The rows in this order.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> X = np.arange(5.0).reshape(5, 1)
        >>> model = KernelRidge(kernel="rbf").fit(X, [0.0, 0.0, 9.0, 0.0, 0.0])
        >>> pkex.Explainer(model).leave_one_out().ranking[0]
        np.int64(2)
        """
        sizes = np.abs(self.residuals if self.std is None else self.residuals / self.std)
        total = sizes if sizes.ndim == 1 else sizes.sum(axis=1)
        return np.argsort(-total, kind="stable")

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the training rows: labels of a frame, or their numbers from 0.

        See Also
        --------
        pkex.LeaveOneOut.to_frame : A frame with the labels as its index.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> model = KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 9.0])
        >>> pkex.Explainer(model).leave_one_out().row_names
        ('0', '1')
        """
        labels = range(len(self)) if self.row_index is None else self.row_index
        return tuple(map(format_label, labels))

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the numbers, such as which sample weights they assume.

        See Also
        --------
        pkex.Explainer.leave_one_out : Takes ``y_train`` and ``sample_weight``.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> model = KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 9.0])
        >>> print(*pkex.Explainer(model).leave_one_out().notes)
        Sample weights are taken as 1: the model keeps none. Pass y_train to check, or sample_weight
        >>> pkex.Explainer(model).leave_one_out(y_train=[0.0, 9.0]).notes
        []
        """
        return [*super().notes, *self.input_notes]
