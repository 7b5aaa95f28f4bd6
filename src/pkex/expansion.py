"""`KernelExpansion`: the neutral form of every model that pkex explains.

    f(x) = sum_i alpha_i k(x, x_i) + offset

A support vector machine, kernel ridge regression and the mean of a Gaussian process are all of
this form; they differ in how they find the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._algebra import Kernel
from pkex._validation import as_floats, as_matrix, column_names, default_names, unique_names

__all__ = ["KernelExpansion"]

Floats = NDArray[np.float64]

_PREDICT_BLOCK = 2**21  # entries of the kernel matrix that predict holds at once: 16 MiB


@dataclass(frozen=True, eq=False, init=False, repr=False)
class KernelExpansion:
    """A function ``f(x) = sum_i alpha_i k(x, x_i) + offset`` with one or several outputs.

    Parameters
    ----------
    points : array of shape (n_points, n_columns)
        The points x_i; a data frame gives its column names as well.
    coefficients : array of shape (n_points,) or (n_points, n_outputs)
        The weights alpha_i. A single column counts as one output.
    kernel : Kernel
        See `pkex.kernels`.
    offset : float or array of shape (n_outputs,), default 0.0
    feature_names : sequence of str, optional
        Names of the columns; by default those of a data frame, else ``x0, x1, ...``.
    output_names : sequence of str, optional
        Names of the outputs; by default ``y0, y1, ...`` when there are several.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> f
    KernelExpansion(2 points, 2 columns, 1 output, kernel=RBF(length_scale=1.0))
    >>> f.predict([[0.0, 0.0]]).round(4)
    array([2.2358])
    """

    points: Floats
    coefficients: Floats
    kernel: Kernel
    offset: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None

    def __init__(
        self,
        points: ArrayLike,
        coefficients: ArrayLike,
        kernel: Kernel,
        offset: ArrayLike = 0.0,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel must be a pkex kernel such as pkex.kernels.RBF(1.0), got {kernel!r}. A "
                "function of your own becomes one by pkex.kernels.Custom(function)."
            )
        found = column_names(points)
        matrix = as_matrix(points, "points", names=found)
        n_points, n_columns = matrix.shape
        alpha = as_floats(coefficients, "coefficients")
        if alpha.ndim not in (1, 2) or len(alpha) != n_points or alpha.size == 0:
            raise ValueError(
                f"coefficients must have shape ({n_points},) or ({n_points}, n_outputs), one row "
                f"for each of the {n_points} points; got shape {alpha.shape}."
            )
        if alpha.ndim == 2 and alpha.shape[1] == 1:
            alpha = alpha[:, 0]
        shift = as_floats(offset, "offset")
        shift = shift[0] if shift.shape == (1,) and alpha.ndim == 1 else shift
        if shift.shape not in ((), alpha.shape[1:]):
            outputs = alpha.shape[1] if alpha.ndim == 2 else 1
            raise ValueError(
                f"offset must be one number or one for each of the {outputs} outputs; got shape "
                f"{shift.shape}."
            )
        kernel.terms(n_columns)
        kernel.check(matrix, "points")
        if feature_names is None:
            names = found or default_names("x", n_columns)
        else:
            names = unique_names(feature_names, "feature_names", n_columns)
        outputs_named: tuple[str, ...] | None = None
        if output_names is not None:
            outputs_named = unique_names(output_names, "output_names", alpha[0].size)
        elif alpha.ndim == 2:
            outputs_named = default_names("y", alpha.shape[1])
        shift = np.broadcast_to(shift, alpha.shape[1:]).copy()
        for name, value in (
            ("points", _frozen(np.asfortranarray(matrix))),  # as the engine reads it
            ("coefficients", _frozen(alpha)),
            ("kernel", kernel),
            ("offset", _frozen(shift)),
            ("feature_names", names),
            ("output_names", outputs_named),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        n_points, n_columns = self.points.shape
        outputs = self.coefficients[0].size
        return (
            f"KernelExpansion({n_points} points, {n_columns} columns, {outputs} "
            f"output{'s' if outputs > 1 else ''}, kernel={self.kernel!r})"
        )

    @property
    def base_value(self) -> Floats:
        """The value of the empty coalition: every factor replaced by 1."""
        worth = sum(term.coefficient for term in self.kernel.terms(self.points.shape[1]))
        base: Floats = worth * self.coefficients.sum(axis=0) + self.offset
        return base

    def check_rows(self, X: ArrayLike) -> Floats:
        """Return `X` as a float64 matrix that fits the expansion, or raise."""
        names = column_names(X)
        if (
            names is not None
            and names != self.feature_names
            and len(names) == len(self.feature_names)
        ):
            raise ValueError(
                f"the columns of X are {list(names)}, but the expansion was built with "
                f"{list(self.feature_names)}; reorder them with X[list(expansion.feature_names)], "
                "or pass X.to_numpy() if the order is right and only the names differ."
            )
        rows = as_matrix(X, "X", self.points.shape[1], self.feature_names)
        self.kernel.check(rows, "X")
        return rows

    def predict(self, X: ArrayLike) -> Floats:
        """Return f at the rows of `X`.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
        """
        rows = self.check_rows(X)
        step = max(1, _PREDICT_BLOCK // len(self.points))
        parts = [
            self.kernel(rows[start : start + step], self.points) @ self.coefficients
            for start in range(0, len(rows), step)
        ]
        prediction: Floats = np.concatenate(parts) + self.offset
        return prediction


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
