"""`Comparison`: how mean and variance at a candidate differ from those at an incumbent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import is_missing
from pkex._util.types import Floats, Indices
from pkex.output import frames
from pkex.output.files.codec import ABOUT, CellTable, Codec, FloatArrays, Kernels
from pkex.output.plots.accessors import ComparisonPlots
from pkex.output.view.comparison import comparison_table
from pkex.results.base import Result
from pkex.results.fields import PlotField

__all__ = ["Comparison", "equal_cells"]


def equal_cells(first: Any, second: Any) -> bool:
    """Tell whether two cells of a table are equal, or both missing.

    Examples
    --------
    >>> equal_cells(1.0, 1), equal_cells(None, float("nan")), equal_cells("a", None)
    (True, True, False)
    """
    if is_missing(first) or is_missing(second):
        return is_missing(first) and is_missing(second)
    return bool(first == second)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """How mean and variance of a Gaussian process at a candidate differ from an incumbent's.

    Made by `pkex.compare`. All numbers are of the latent function, without observation noise.

    Parameters
    ----------
    about : About
        What all results have: `feature_names`, `output_names` and others.
    values : array of shape (n_features,) or (n_features, n_outputs)
        Baseline Shapley values of the posterior mean: they add up to the prediction for the
        candidate minus that for the incumbent.
    cov : array of shape (n_features, n_features), with n_outputs at the end where there are several
        The posterior covariances of `values`.
    variance_values : array like `values`
        Baseline Shapley values of the posterior variance: they add up to the variance at the
        candidate minus that at the incumbent.
    predictions : array of shape (2,) or (2, n_outputs)
        The predictions for the incumbent and the candidate, in this order.
    variances : array like `predictions`
        The posterior variances.
    error_bound : float or array of shape (n_outputs,)
        What values and predictions may be off by: proven.
    variance_error_bound : like `error_bound`
        The same for values of the variance.
    data : array of shape (2, n_columns)
        The incumbent and the candidate.

    Attributes
    ----------
    std : array like `values`
        The posterior standard deviations of `values`.
    difference : float or array of shape (n_outputs,)
        The prediction for the candidate minus that for the incumbent.
    difference_std : like `difference`
        Its posterior standard deviation.
    fixed : tuple of str
        The features in which the rows do not differ. Their values are 0.

    See Also
    --------
    pkex.compare : Computes it.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(size=(30, 3))
    >>> y = np.sin(3.0 * X[:, 0]) + X[:, 1]
    >>> kernel = RBF([0.5, 1.0, 3.0])
    >>> model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    >>> comparison = pkex.compare(model, [0.5, 0.9, 0.2], [0.1, 0.8, 0.2])
    >>> comparison.fixed
    ('x2',)
    >>> comparison.to_frame().round(3).loc["x0"].tolist()
    [0.698, 0.114, -0.002]
    """

    AXES: ClassVar = {
        "values": ("feature", "output"),
        "cov": ("feature", "feature", "output"),
        "variance_values": ("feature", "output"),
        "predictions": ("row", "output"),
        "variances": ("row", "output"),
        "error_bound": ("output",),
        "variance_error_bound": ("output",),
        "data": ("row", "column"),
    }
    VIEWS: ClassVar = (comparison_table, comparison_table)
    _FRAME: ClassVar = frames.comparison
    plot = PlotField(ComparisonPlots)
    CODEC: ClassVar = Codec(
        "Comparison",
        1,
        (
            ABOUT,
            Kernels(),
            FloatArrays(
                (
                    "values",
                    "cov",
                    "variance_values",
                    "predictions",
                    "variances",
                    "error_bound",
                    "variance_error_bound",
                ),
                finite=True,
            ),
            CellTable(),
        ),
    )

    values: Floats
    cov: Floats
    variance_values: Floats
    predictions: Floats
    variances: Floats
    error_bound: Any
    variance_error_bound: Any
    data: NDArray[Any]

    def _check_sums(self) -> None:
        for values, totals, error in (
            (self.values, self.predictions, self.error_bound),
            (self.variance_values, self.variances, self.variance_error_bound),
        ):
            missed = np.abs(values.sum(axis=0) + totals[0] - totals[1])
            sizes = np.abs(values).sum(axis=0) + np.abs(totals).sum(axis=0)
            if not np.all(missed <= error + 1e-12 * sizes):
                raise ValueError("the values do not add up to the difference of the rows")

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("row", 2),)

    @property
    def std(self) -> Floats:
        """The posterior standard deviations of the values.

        See Also
        --------
        pkex.Comparison.difference_std : That of their sum.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None)
        >>> model = model.fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
        >>> pkex.compare(model, [1.0, 0.0], [0.0, 0.0]).std.round(2)
        array([0.8, 0. ])
        """
        variances = np.einsum("jj...->j...", self.cov)
        stds: Floats = np.sqrt(np.maximum(variances, 0.0))  # rounding may go below 0
        return stds

    @property
    def difference(self) -> Any:
        """The prediction for the candidate minus that for the incumbent.

        See Also
        --------
        pkex.Comparison.difference_std : How certain it is.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
        >>> comparison = pkex.compare(model, [1.0, 2.0], [0.0, 0.0])
        >>> bool(abs(comparison.difference - comparison.values.sum()) < 1e-12)
        True
        """
        return self.predictions[1] - self.predictions[0]

    @property
    def difference_std(self) -> Any:
        """The posterior standard deviation of the difference of the two latent function values.

        See Also
        --------
        pkex.Comparison.std : Those of the values.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
        >>> both = [[1.0, 2.0], [0.0, 0.0]]
        >>> cov = model.predict(both, return_cov=True)[1]
        >>> comparison = pkex.compare(model, *both)
        >>> bool(abs(comparison.difference_std**2 - [1, -1] @ cov @ [1, -1]) < 1e-9)
        True
        """
        return np.sqrt(np.maximum(self.cov.sum(axis=(0, 1)), 0.0))

    @property
    def fixed(self) -> tuple[str, ...]:
        """The features in which the rows do not differ, such as parameters that are held fixed.

        See Also
        --------
        pkex.compare : Takes the rows.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
        >>> pkex.compare(model, [1.0, 0.0], [0.0, 0.0]).fixed
        ('x1',)
        """
        same = [equal_cells(*cells) for cells in self.data.T]
        pairs = zip(self.feature_names, self.feature_groups, strict=True)
        return tuple(name for name, group in pairs if all(same[column] for column in group))

    @property
    def ranking(self) -> Indices:
        """The features, the largest absolute value first; by the sum over outputs of several.

        See Also
        --------
        pkex.Comparison.to_frame : The features in this order.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
        >>> pkex.compare(model, [1.0, 0.0], [0.0, 0.0]).ranking
        array([0, 1])
        """
        sizes = np.abs(self.values)
        return np.argsort(-sizes.reshape(len(sizes), -1).sum(axis=1), kind="stable")
