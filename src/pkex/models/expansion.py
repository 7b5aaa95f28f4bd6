"""`KernelExpansion`: the neutral form of every model that pkex explains.

    f(x) = sum_i alpha_i k(x, x_i) + offset

A support vector machine, kernel ridge regression and the mean of a Gaussian process are all of
this form; they differ in how they find the coefficients. A model that first prepares its columns
(a pipeline with a scaler or an encoder) is ``f(T(x))`` with a `Preparation` T. Outputs that have
kernels or preparations of their own make a sum of such expansions, its `parts`: see `sums`.

Users see one output without an axis. Inside, every part has one: `alpha` and `offsets`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import usual_errors
from pkex._util.lazy import lazy
from pkex._util.sparse import as_csr, is_sparse, same_table
from pkex._util.types import Floats
from pkex._util.validation import (
    as_floats,
    as_matrix,
    brief,
    column_names,
    default_names,
    unique_names,
)
from pkex.games.layout import on_cache_lines
from pkex.kernels.algebra import Kernel, has_neutral_removal
from pkex.kernels.entries import check_table, fits_sparse, kernel_matrix
from pkex.kernels.messages import no_neutral_removal
from pkex.kernels.sizes import check_sizes, size_limits
from pkex.models.preparation import Preparation, seen

if TYPE_CHECKING:  # it needs SciPy, which an expansion does without
    from pkex.models.posterior import Posterior

__all__ = ["Data", "KernelExpansion"]


_PREDICT_BLOCK = 2**21  # entries of the kernel matrix that predict holds at once: 16 MiB


@dataclass(frozen=True, eq=False)
class Data:
    """Rows that a model has seen, and what to call them.

    Attributes
    ----------
    rows : array, or CSR array where the points are sparse, of shape (n_rows, n_columns)
        In the columns of the points, that is as prepared.
    kind : str
        The plural noun: "training points", "support vectors".
    n_fit : int, optional
        How many rows the model was fitted on, where `rows` are some of them; None where that is not
        known.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.svm import SVR
    >>> model = SVR().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 0.0])
    >>> data = pkex.as_expansion(model).background
    >>> data.kind, data.rows.shape, data.n_fit
    ('support vectors', (3, 1), 3)
    """

    rows: Any
    kind: str = "rows"
    n_fit: int | None = None


@dataclass(frozen=True, eq=False, init=False, repr=False)
class KernelExpansion:
    """A function ``f(x) = sum_i alpha_i k(x, x_i) + offset`` with one or several outputs.

    Parameters
    ----------
    points : array or sparse matrix of shape (n_points, n_columns)
        The points x_i; a data frame gives its column names as well. Sparse ones stay so where the
        kernel is 1 between two zeros; `points` makes them dense when something asks for that.
    coefficients : array of shape (n_points,) or (n_points, n_outputs)
        The weights alpha_i. A single column counts as one output.
    kernel : Kernel
        See `pkex.kernels`.
    offset : float or array of shape (n_outputs,), default 0.0
    feature_names : sequence of str, optional
        Names of the columns; by default those of a data frame, else ``x0, x1, ...``.
    output_names : sequence of str, optional
        Names of the outputs; by default ``y0, y1, ...`` when there are several.
    preparation : Preparation, optional
        What is done to rows before the kernel; it gives the feature names then.
    background : array of shape (n_rows, n_columns), str, Data or None, default "points"
        The rows that absent features are averaged over by default, in the columns of the points.
        A text says that the points are data, and what to call them ("training points"); None says
        that there are none, because the points are no data (inducing points, a weight vector).
    posterior : Posterior, optional
        Of a Gaussian process: what its covariance needs beside the mean, which the expansion is.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> f
    KernelExpansion(2 points, 2 columns, 1 output, kernel=RBF(length_scale=1.0))
    >>> f.predict([[0.0, 0.0]]).round(4)
    array([2.2358])
    """

    coefficients: Floats
    kernel: Kernel
    offset: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    preparation: Preparation | None
    background: Data | None
    posterior: Posterior | None
    sparse_points: Any = None

    def __init__(
        self,
        points: ArrayLike,
        coefficients: ArrayLike,
        kernel: Kernel,
        offset: ArrayLike = 0.0,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
        *,
        preparation: Preparation | None = None,
        background: ArrayLike | Data | str | None = "points",
        posterior: Posterior | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            advice = "A function of your own becomes one by pkex.kernels.Custom(function)."
            if any(isinstance(argument, Kernel) for argument in (points, coefficients)):
                advice = "The order is KernelExpansion(points, coefficients, kernel)."
            raise TypeError(
                f"kernel must be a pkex kernel such as pkex.kernels.RBF(1.0), got {brief(kernel)}. "
                + advice
            )
        found = None if is_sparse(points) else column_names(points, "points")
        n_columns = points.shape[1] if is_sparse(points) else None  # type: ignore[union-attr]
        if n_columns is not None and fits_sparse(kernel, n_columns):
            matrix: Any = as_csr(points, "points")
        else:
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
            raise ValueError(
                f"offset must be one number or one for each of the {alpha[0].size} outputs; got "
                f"shape {shift.shape}."
            )
        kernel.normal_form(n_columns)
        check_table(kernel, matrix, "points")
        if preparation is not None:
            names = preparation.names  # of the input; the points have columns of their own
        elif feature_names is not None:
            names = unique_names(feature_names, "feature_names", n_columns)
        else:
            names = default_names("x", n_columns)
            if found is not None:
                names = unique_names(found, "the columns of points", n_columns)
        outputs: tuple[str, ...] | None = None
        if output_names is not None:
            outputs = unique_names(output_names, "output_names", alpha[0].size)
        elif alpha.ndim == 2:
            outputs = default_names("y", alpha.shape[1])
        if posterior is not None:
            _check_posterior(posterior, n_points, alpha[0].size)
        stays = is_sparse(matrix)
        matrix = matrix if stays else _frozen(on_cache_lines(matrix))
        for name, value in (
            ("sparse_points" if stays else "points", matrix),
            ("coefficients", _frozen(alpha)),
            ("kernel", kernel),
            ("offset", _frozen(np.broadcast_to(shift, alpha.shape[1:]).copy())),
            ("feature_names", names),
            ("output_names", outputs),
            ("preparation", preparation),
            ("background", _as_data(background, matrix, kernel)),
            ("posterior", posterior),
        ):
            object.__setattr__(self, name, value)
        limits = size_limits(kernel, self.kept_points[:0])  # whatever rows come
        check_sizes(self.kept_points, limits, "points", self._prepared_names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "points" not in state:
            self.__dict__.update(state)
            return
        points, data = _frozen(on_cache_lines(state["points"])), state["background"]
        if data is not None and data.rows is state["points"]:
            data = replace(data, rows=points)
        self.__dict__.update(state | {"points": points, "background": data})

    def __repr__(self) -> str:
        n_points, n_columns = self.shape
        kind = "points" if self.sparse_points is None else "sparse points"
        return (
            f"KernelExpansion({n_points} {kind}, {n_columns} columns, {self.n_outputs} "
            f"output{'s' if self.n_outputs > 1 else ''}, kernel={self.kernel!r})"
        )

    @lazy
    def points(self) -> Floats:
        """The points x_i as an array, which is made when it is asked for where they are sparse."""
        return _frozen(on_cache_lines(self.sparse_points.toarray()))

    @property
    def kept_points(self) -> Any:
        """The points as they are kept: an array, or a CSR array."""
        return self.points if self.sparse_points is None else self.sparse_points

    @lazy
    def shape(self) -> tuple[int, int]:
        """Number of points, and of their columns."""
        n_points, n_columns = self.kept_points.shape
        return int(n_points), int(n_columns)

    @property
    def parts(self) -> tuple[KernelExpansion, ...]:
        """The expansions that it is a sum of: itself, or several with kernels of their own."""
        return (self,)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.coefficients[0].size)

    @property
    def alpha(self) -> Floats:
        """The coefficients with an axis of outputs, shape (n_points, n_outputs)."""
        return self.coefficients.reshape(len(self.coefficients), -1)

    @property
    def offsets(self) -> Floats:
        """The offset of each output, shape (n_outputs,)."""
        return self.offset.reshape(-1)

    @lazy
    def base_value(self) -> Floats:
        """The value of the empty coalition: every factor replaced by 1.

        Refused for kernels with a linear part, whose factors cannot be replaced.
        """
        if not has_neutral_removal(self.kernel):
            raise no_neutral_removal(self.kernel)
        worth = sum(term.coefficient for term in self.kernel.terms(self.shape[1]))
        base: Floats = worth * self.coefficients.sum(axis=0) + self.offset
        return _frozen(np.asarray(base))

    def prepare(self, X: ArrayLike, name: str = "X") -> Floats:
        """Return the rows as the kernel sees them: float64, checked, and prepared."""
        rows = as_matrix(self._prepared(X), name, self.shape[1], self._prepared_names)
        self.kernel.check(rows, name)
        self.check_sizes(rows, name)
        return rows

    def prepare_sparse(self, X: Any, name: str = "X") -> Any:
        """Return the same as a CSR array."""
        rows = as_csr(self._prepared(X), name, self.shape[1], self._prepared_names)
        check_table(self.kernel, rows, name)
        self.check_sizes(rows, name)
        return rows

    def _prepared(self, X: Any) -> Any:
        """Return rows after the preparation."""
        return X if self.preparation is None else self.preparation.transform(X)

    @lazy
    def _prepared_names(self) -> tuple[str, ...]:
        """The names of the columns of the points: of those that they are made from."""
        names = self.feature_names
        if self.preparation is None:
            return names
        return tuple(names[origin] for origin in self.preparation.origins)

    @lazy
    def _size_limits(self) -> Floats:
        """How large values of each column of the points may be."""
        return size_limits(self.kernel, self.kept_points)

    def check_sizes(self, table: Any, name: str) -> None:
        """Raise a ValueError where prepared rows are too large for kernels between them."""
        check_sizes(table, self._size_limits, name, self._prepared_names)

    def gram(self, rows: Any) -> Floats:
        """Return the kernel matrix of prepared rows and the points; sparse rows if these are."""
        if not is_sparse(rows):
            return self.kernel(rows, self.points)
        return kernel_matrix(self.kernel, rows, self.sparse_points)

    @usual_errors
    def predict(self, X: ArrayLike) -> Floats:
        """Return f at the rows of `X`.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
        """
        table = seen(self, X)
        rows = self.prepare(table) if self.sparse_points is None else self.prepare_sparse(table)
        step = max(1, _PREDICT_BLOCK // self.shape[0])
        parts = [
            self.gram(rows[start : start + step]) @ self.coefficients
            for start in range(0, rows.shape[0], step)
        ]
        prediction: Floats = np.concatenate(parts) + self.offset
        return prediction


def _as_data(background: Any, points: Any, kernel: Kernel) -> Data | None:
    """Return what `KernelExpansion` was told about its data."""
    if background is None:
        return None
    if isinstance(background, str):
        return Data(points, background)
    given = background if isinstance(background, Data) else Data(background)
    take = as_csr if is_sparse(points) else as_matrix
    rows = take(given.rows, "background", points.shape[1])
    check_table(kernel, rows, "background")
    if same_table(rows, points):
        return replace(given, rows=points)
    return replace(given, rows=rows if is_sparse(rows) else _frozen(rows.copy()))


def _check_posterior(posterior: Posterior, n_points: int, n_outputs: int) -> None:
    """Refuse a posterior of other points or outputs."""
    found = (len(posterior.cholesky), posterior.mixing.shape[1])
    if found != (n_points, n_outputs):
        raise ValueError(
            f"the posterior has {found[0]} points and {found[1]} outputs, but the expansion has "
            f"{n_points} and {n_outputs}."
        )


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
