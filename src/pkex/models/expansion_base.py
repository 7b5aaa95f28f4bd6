"""What a `KernelExpansion` holds: points, coefficients and a kernel, checked and read-only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.lazy import lazy
from pkex._util.sparse import as_csr, equal_tables, is_sparse
from pkex._util.types import Floats, TableLike
from pkex._util.validation import (
    as_floats,
    as_matrix,
    brief,
    check_unique_names,
    column_names,
    default_names,
)
from pkex.games.layout import on_cache_lines
from pkex.kernels.algebra import Kernel
from pkex.kernels.entries import fits_sparse
from pkex.kernels.normal_form import NormalForm
from pkex.kernels.sizes import check_sizes, size_limits
from pkex.models.preparation import Preparation

if TYPE_CHECKING:  # it needs SciPy, which an expansion does without
    from pkex.models.posterior import Posterior

__all__ = ["Data", "ExpansionBase", "freeze"]


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

    See Also
    --------
    pkex.Explainer : Explains a model.
    pkex.as_expansion : Converts a fitted model.

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
class ExpansionBase:
    """The points, coefficients and kernel of an expansion; see `KernelExpansion`."""

    coefficients: Floats
    kernel: Kernel
    intercept: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    preparation: Preparation | None
    background: Data | None
    posterior: Posterior | None
    ridge: Floats | None
    _prepared_names: tuple[str, ...]  # of the columns of the points: those that they are made from
    _size_limits: Floats  # how large values of each column of the points may be
    sparse_points: Any = None

    def __init__(
        self,
        points: TableLike,
        coefficients: ArrayLike,
        kernel: Kernel,
        intercept: ArrayLike = 0.0,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
        *,
        preparation: Preparation | None = None,
        background: TableLike | Data | str | None = "points",
        posterior: Posterior | None = None,
        ridge: ArrayLike | None = None,
    ) -> None:
        if not isinstance(kernel, Kernel):
            advice = "Wrap a function with pkex.kernels.Custom(function)."
            if any(isinstance(argument, Kernel) for argument in (points, coefficients)):
                advice = "The order is KernelExpansion(points, coefficients, kernel)."
            raise TypeError(
                f"kernel must be a pkex kernel such as pkex.kernels.RBF(1.0), got {brief(kernel)}. "
                + advice
            )
        given: Any = points
        sparse = is_sparse(given)
        frame_names = None if sparse else column_names(given, "points")
        stays_sparse = sparse and fits_sparse(kernel, given.shape[1])
        matrix: Any = (
            as_csr(given, "points")
            if stays_sparse
            else as_matrix(given, "points", names=frame_names)
        )
        n_points, n_columns = matrix.shape
        alpha = as_floats(coefficients, "coefficients")
        if alpha.ndim not in (1, 2) or len(alpha) != n_points or alpha.size == 0:
            raise ValueError(
                f"coefficients must have shape ({n_points},) or ({n_points}, n_outputs), one row "
                f"for each of the {n_points} points; got shape {alpha.shape}."
            )
        if alpha.ndim == 2 and alpha.shape[1] == 1:
            alpha = alpha[:, 0]
        shift = as_floats(intercept, "intercept")
        shift = shift[0] if shift.shape == (1,) and alpha.ndim == 1 else shift
        if shift.shape not in ((), alpha.shape[1:]):
            raise ValueError(
                f"intercept must be one number or one for each of the {alpha[0].size} outputs; got "
                f"shape {shift.shape}."
            )
        if preparation is not None:
            names = preparation.names  # of the input; the points have columns of their own
        elif feature_names is not None:
            names = check_unique_names(feature_names, "feature_names", n_columns)
        elif frame_names is not None:
            names = check_unique_names(frame_names, "the columns of points", n_columns)
        else:
            names = default_names("x", n_columns)
        outputs: tuple[str, ...] | None = None
        if output_names is not None:
            outputs = check_unique_names(output_names, "output_names", alpha[0].size)
        elif alpha.ndim == 2:
            outputs = default_names("y", alpha.shape[1])
        if posterior is not None:
            _check_posterior(posterior, n_points, alpha[0].size)
        prepared_names = names
        if preparation is not None:
            prepared_names = tuple(names[origin] for origin in preparation.origins)
        form = kernel.normal_form(n_columns)
        form.check(matrix, "points")
        if not stays_sparse:
            matrix = freeze(on_cache_lines(matrix))
        if isinstance(background, Data) and background.rows is given:
            background = replace(background, rows=matrix)
        for name, value in (
            ("sparse_points" if stays_sparse else "points", matrix),
            ("coefficients", freeze(alpha)),
            ("kernel", kernel),
            ("form", form),
            ("shape", (n_points, n_columns)),
            ("intercept", freeze(np.broadcast_to(shift, alpha.shape[1:]).copy())),
            ("feature_names", names),
            ("output_names", outputs),
            ("preparation", preparation),
            ("background", _as_data(background, matrix, form)),
            ("posterior", posterior),
            ("ridge", None if ridge is None else _as_ridge(ridge, alpha[0].size)),
            ("_prepared_names", prepared_names),
            ("_size_limits", size_limits(form, matrix)),
        ):
            object.__setattr__(self, name, value)
        limits = size_limits(form, matrix[:0])  # whatever rows come
        check_sizes(matrix, limits, "points", prepared_names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"ridge": None} | state  # which those of earlier versions do not have
        if "points" not in state:
            self.__dict__.update(state)
            return
        points, data = freeze(on_cache_lines(state["points"])), state["background"]
        if data is not None and data.rows is state["points"]:
            data = replace(data, rows=points)
        self.__dict__.update(state | {"points": points, "background": data})

    @lazy
    def points(self) -> Floats:
        """The points x_i as an array; sparse points become dense when this is first read.

        See Also
        --------
        pkex.KernelExpansion.kept_points : The points without conversion.
        pkex.KernelExpansion.shape : Number of points and columns.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.points
        array([[0., 0.],
               [1., 1.]])
        """
        return freeze(on_cache_lines(self.sparse_points.toarray()))

    @lazy
    def form(self) -> NormalForm:
        """The kernel as a sum of products over the columns of the points.

        See Also
        --------
        pkex.kernels : The kernels.
        pkex.KernelExpansion.gram : Kernel matrix of rows and points.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> len(f.form.terms)
        1
        """
        return self.kernel.normal_form(self.shape[1])

    @lazy
    def shape(self) -> tuple[int, int]:
        """Number of points, and of their columns.

        See Also
        --------
        pkex.KernelExpansion.points : The points as an array.
        pkex.KernelExpansion.n_outputs : Number of outputs.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> f.shape
        (2, 2)
        """
        kept = self.points if self.sparse_points is None else self.sparse_points
        n_points, n_columns = kept.shape
        return int(n_points), int(n_columns)


def _as_data(background: Any, points: Any, form: NormalForm) -> Data | None:
    """Return what `KernelExpansion` was told about its data."""
    if background is None:
        return None
    if isinstance(background, str):
        return Data(points, background)
    given = background if isinstance(background, Data) else Data(background)
    if given.rows is points:
        return given
    take = as_csr if is_sparse(points) else as_matrix
    rows = take(given.rows, "background", points.shape[1])
    form.check(rows, "background")
    if equal_tables(rows, points):
        return replace(given, rows=points)
    return replace(given, rows=rows if is_sparse(rows) else freeze(rows.copy()))


def _as_ridge(ridge: ArrayLike, n_outputs: int) -> Floats:
    """Return what is added to the diagonal of the kernel matrix, for each output."""
    added = as_floats(ridge, "ridge")
    if added.shape not in ((), (1,), (n_outputs,)) or not (added >= 0.0).all():
        raise ValueError(
            f"ridge must be a number that is not negative, or one for each of the {n_outputs} "
            f"outputs; got {brief(ridge)}."
        )
    return freeze(np.broadcast_to(added, (n_outputs,)).copy())


def freeze(array: Floats) -> Floats:
    """Return an array after making it read-only."""
    array.flags.writeable = False
    return array


def _check_posterior(posterior: Posterior, n_points: int, n_outputs: int) -> None:
    """Refuse a posterior of other points or outputs."""
    shape = (len(posterior.cholesky), posterior.mixing.shape[1])
    if shape != (n_points, n_outputs):
        raise ValueError(
            f"the posterior has {shape[0]} points and {shape[1]} outputs, but the expansion has "
            f"{n_points} and {n_outputs}."
        )
