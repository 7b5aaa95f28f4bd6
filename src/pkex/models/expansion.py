"""`KernelExpansion`: the neutral form of every model that pkex explains.

    f(x) = sum_i alpha_i k(x, x_i) + offset

A support vector machine, kernel ridge regression and the mean of a Gaussian process are all of
this form; they differ in how they find the coefficients. A model that first prepares its columns
(a pipeline with a scaler or an encoder) is ``f(T(x))`` with a `Preparation` T. Outputs that have
kernels or preparations of their own make a sum of such expansions, its `parts`.

Users see one output without an axis. Inside, every part has one: `alpha` and `offsets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Number
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._floats import usual_errors
from pkex._lazy import lazy
from pkex._validation import (
    as_floats,
    as_matrix,
    brief,
    column_names,
    default_names,
    refuse_dask,
    refuse_masked,
    unique_names,
)
from pkex.errors import no_neutral_removal
from pkex.games.layout import on_cache_lines
from pkex.kernels.algebra import Kernel, has_neutral_removal

if TYPE_CHECKING:  # it needs SciPy, which an expansion does without
    from pkex.models.posterior import Posterior

__all__ = [
    "Data",
    "ExpansionSum",
    "KernelExpansion",
    "Preparation",
    "combined",
    "evolve",
    "mixed",
    "named",
    "seen",
    "stack",
    "sum_of",
    "taken",
]

Floats = NDArray[np.float64]

_PREDICT_BLOCK = 2**21  # entries of the kernel matrix that predict holds at once: 16 MiB


@dataclass(frozen=True, eq=False)
class Preparation:
    """What a model does to its input before the kernel sees it, each output from one column.

    Attributes
    ----------
    transform : callable
        Takes the rows as the user has them, returns a matrix (rows, prepared columns).
    names : tuple of str
        Names of the columns as the user has them.
    origins : tuple of int
        For each prepared column the input column it is made from.
    before : callable, optional
        Applied to the rows first: steps that mix columns, so that the explanation is in terms of
        what comes out of them and `names` are the names of that.
    inputs : tuple of str, optional
        Names of the columns that `before` takes, where it knows them.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVR
    >>> model = make_pipeline(StandardScaler(), SVR()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.as_expansion(model).preparation.origins
    (0,)
    """

    transform: Callable[[Any], Any]
    names: tuple[str, ...]
    origins: tuple[int, ...]
    before: Callable[[Any], Any] | None = None
    inputs: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Data:
    """Rows that a model has seen, and what to call them.

    Attributes
    ----------
    rows : array of shape (n_rows, n_columns)
        In the columns of the points, that is as prepared.
    kind : str
        The plural noun: "training points", "support vectors".

    Examples
    --------
    >>> import pkex
    >>> from sklearn.svm import SVR
    >>> model = SVR().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 0.0])
    >>> data = pkex.as_expansion(model).background
    >>> data.kind, data.rows.shape
    ('support vectors', (3, 1))
    """

    rows: Floats
    kind: str = "rows"


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

    points: Floats
    coefficients: Floats
    kernel: Kernel
    offset: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    preparation: Preparation | None
    background: Data | None
    posterior: Posterior | None

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
        found = column_names(points, "points")
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
        kernel.check(matrix, "points")
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
        matrix = _frozen(on_cache_lines(matrix))
        for name, value in (
            ("points", matrix),
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        points, data = _frozen(on_cache_lines(state["points"])), state["background"]
        if data is not None and data.rows is state["points"]:
            data = Data(points, data.kind)
        self.__dict__.update(state | {"points": points, "background": data})

    def __repr__(self) -> str:
        n_points, n_columns = self.points.shape
        return (
            f"KernelExpansion({n_points} points, {n_columns} columns, {self.n_outputs} "
            f"output{'s' if self.n_outputs > 1 else ''}, kernel={self.kernel!r})"
        )

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
        return self.coefficients.reshape(len(self.points), -1)

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
        worth = sum(term.coefficient for term in self.kernel.terms(self.points.shape[1]))
        base: Floats = worth * self.coefficients.sum(axis=0) + self.offset
        return _frozen(np.asarray(base))

    def prepare(self, X: ArrayLike, name: str = "X") -> Floats:
        """Return the rows as the kernel sees them: float64, checked, and prepared."""
        names = self.feature_names
        if self.preparation is not None:
            X = self.preparation.transform(X)
            names = tuple(names[origin] for origin in self.preparation.origins)
        rows = as_matrix(X, name, self.points.shape[1], names)
        self.kernel.check(rows, name)
        return rows

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
        rows = self.prepare(seen(self, X))
        step = max(1, _PREDICT_BLOCK // len(self.points))
        parts = [
            self.kernel(rows[start : start + step], self.points) @ self.coefficients
            for start in range(0, len(rows), step)
        ]
        prediction: Floats = np.concatenate(parts) + self.offset
        return prediction


class ExpansionSum(KernelExpansion):
    """A sum of expansions of the same input, for outputs that have kernels of their own.

    Every part has all the outputs, with coefficients 0 for those that it takes no part in. Points,
    coefficients and kernels are those of the parts.

    Parameters
    ----------
    parts : tuple of KernelExpansion

    Examples
    --------
    >>> import pkex
    >>> from sklearn.multioutput import MultiOutputRegressor
    >>> from sklearn.svm import SVR
    >>> X, Y = [[0.0], [1.0], [3.0]], [[0.0, 1.0], [1.0, 0.0], [0.0, 5.0]]
    >>> model = MultiOutputRegressor(SVR(C=10.0, epsilon=0.9)).fit(X, Y)
    >>> expansion = pkex.as_expansion(model)
    >>> expansion.predict([[0.5]]).shape, len(expansion.parts)
    ((1, 2), 2)
    """

    def __init__(self, parts: tuple[KernelExpansion, ...]) -> None:
        first = parts[0]
        for name, value in (
            ("_parts", parts),
            ("feature_names", first.feature_names),
            ("output_names", first.output_names),
            ("preparation", first.preparation),  # for the steps before and the names
        ):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in ("points", "coefficients", "kernel", "offset", "background", "posterior"):
            raise AttributeError(
                f"this model is a sum of {len(self.parts)} expansions, each with its own {name}: "
                f"see expansion.parts[0].{name}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"ExpansionSum(parts={self.parts!r})"

    @property
    def parts(self) -> tuple[KernelExpansion, ...]:
        """The expansions that it is a sum of."""
        parts: tuple[KernelExpansion, ...] = self.__dict__["_parts"]
        return parts

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.parts[0].n_outputs

    @lazy
    def base_value(self) -> Floats:
        """The value of the empty coalition; refused for kernels with a linear part."""
        base: Floats = np.sum([part.base_value for part in self.parts], axis=0)
        return base

    @usual_errors
    def predict(self, X: ArrayLike) -> Floats:
        """Return the sum at the rows of `X`, shape (n_rows,) or (n_rows, n_outputs)."""
        prediction: Floats = np.sum([part.predict(X) for part in self.parts], axis=0)
        return prediction


def sum_of(parts: Sequence[KernelExpansion]) -> KernelExpansion:
    """Return the sum of some expansions: the only one, or several in one."""
    return parts[0] if len(parts) == 1 else ExpansionSum(tuple(parts))


def named(expansion: KernelExpansion, names: tuple[str, ...] | None) -> KernelExpansion:
    """Return the expansion with names of its columns, if it has none of its own and they fit."""
    n_columns = len(expansion.feature_names)
    if names is None or expansion.feature_names != default_names("x", n_columns):
        return expansion
    if len(set(names)) != n_columns or len(names) != n_columns or names == expansion.feature_names:
        return expansion
    parts: list[KernelExpansion] = []
    for part in expansion.parts:
        before = part.preparation
        if before is not None and before.before is not None:
            return expansion  # they are names of what goes into the steps that mix columns
        preparation = None if before is None else replace(before, names=names)
        parts += evolve(part, feature_names=names, preparation=preparation).parts
    return sum_of(parts)


def seen(expansion: KernelExpansion, X: Any, name: str = "X") -> Any:
    """Return `X` in the model's columns, after the steps that mix them."""
    return mixed(expansion, taken(expansion, X, name))


def taken(expansion: KernelExpansion, X: Any, name: str = "X") -> Any:
    """Return the columns of `X` that the model was fitted with, in its order.

    They are found by name where both have names; else `X` is what it is, a tensor as an array.
    """
    refuse_dask(X, name)
    X = X.detach().cpu().numpy() if hasattr(X, "detach") else X
    _check_rows(X, name)
    preparation = expansion.preparation
    known = expansion.feature_names
    if preparation is not None and preparation.before is not None:
        known = preparation.inputs or ()
    names = column_names(X, name)
    if names is None or names == known or not known:
        return X
    missing = [entry for entry in known if entry not in names]
    if missing and known == default_names("x", len(known)):
        if preparation is not None and len(set(names)) < len(names):
            double = next(entry for entry in names if names.count(entry) > 1)
            raise ValueError(
                f"{name} has more than one column named {double!r}; rename one, or pass "
                f"np.asarray({name}), as the model was fitted without names."
            )
        return X  # the model was fitted without names, so that any will do
    if missing:
        raise ValueError(
            f"the columns of {name} are {brief(list(names))}, but the model was fitted with "
            f"{brief(list(known))}: {brief(missing)} {'is' if len(missing) == 1 else 'are'} "
            f"missing. Add what is, or pass np.asarray({name}) if only the names differ."
        )
    twice = [entry for entry in known if names.count(entry) > 1]
    if twice:
        raise ValueError(
            f"{name} has more than one column named {twice[0]!r}, so that the model's columns "
            "cannot be taken by name; drop or rename one."
        )
    if hasattr(X, "iloc"):  # pandas may have other columns twice, which narwhals refuses
        return X[list(known)]
    return nw.from_native(X, eager_only=True).select(*known).to_native()


def mixed(expansion: KernelExpansion, X: Any) -> Any:
    """Return rows in the model's columns after the steps that mix them, if there are any."""
    preparation = expansion.preparation
    if preparation is None or preparation.before is None:
        return X
    return preparation.before(X)


def _check_rows(X: Any, name: str) -> None:
    """Refuse what is no table, or hides entries, before a step of a pipeline meets it."""
    refuse_masked(X, name)
    shape = getattr(X, "shape", None)
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # ragged, which is said later
            shape = np.shape(X)
    if X is None or isinstance(X, str | bytes | Number):
        raise TypeError(f"{name} must be a table or an array of rows and columns, got {brief(X)}.")
    if isinstance(shape, tuple) and len(shape) != 2:
        found, hint = f"got shape {shape}", ""
        if len(shape) == 1:
            hint = f" Pass {name}[:1] of a table, or row.reshape(1, -1), for a single row."
            if hasattr(X, "name") and hasattr(X, "to_frame"):  # of pandas or polars
                found = f"got a {type(X).__name__}"
                hint = " Pass a frame for a single row, e.g. frame[:1] or row.to_frame().T."
        raise ValueError(f"{name} must be two-dimensional (rows, columns), {found}.{hint}")


def evolve(expansion: KernelExpansion, **changes: Any) -> KernelExpansion:
    """Return the expansion with some of its constructor's arguments changed, in every part.

    A posterior goes with the points, the kernel and the coefficients that it was found with: where
    one of these is changed, it has to be given anew.
    """
    kept = ("points", "coefficients", "kernel", "offset", "feature_names", "output_names")
    also: tuple[str, ...] = ("preparation", "background")
    if not {"points", "coefficients", "kernel"}.intersection(changes):
        also += ("posterior",)
    parts = tuple(
        KernelExpansion(**{name: getattr(part, name) for name in kept + also} | changes)
        for part in expansion.parts
    )
    return sum_of(parts)


def stack(expansions: Sequence[KernelExpansion], output_names: Sequence[str]) -> KernelExpansion:
    """Return one expansion whose outputs are those of the given ones, in their order.

    Each output keeps the data of its own expansion, so that it has the values that it would have
    by itself. Expansions of the same kernel and data are joined.
    """
    widths = [expansion.n_outputs for expansion in expansions]
    parts: list[KernelExpansion] = []
    for i, expansion in enumerate(expansions):
        edges = (sum(widths[:i]), sum(widths[i + 1 :]))
        for part in expansion.parts:
            alpha = part.alpha
            padded = {
                "coefficients": np.pad(alpha, ((0, 0), edges)),
                "offset": np.pad(part.offsets, edges),
                "output_names": output_names,
                "posterior": part.posterior and part.posterior.padded(*edges),
            }
            parts += evolve(part, **padded).parts
    first = parts[0]
    if any(
        p.kernel != first.kernel
        or p.preparation is not None
        or p.posterior is not None
        or not _same_data(p.background, first.background)
        for p in parts
    ):
        return sum_of(parts)
    joined = {name: [getattr(p, name) for p in parts] for name in ("points", "coefficients")}
    offset = np.sum([p.offset for p in parts], axis=0)
    return evolve(first, offset=offset, **{n: np.concatenate(v) for n, v in joined.items()})


def combined(
    expansion: KernelExpansion,
    weights: Floats,
    output_names: Sequence[str] | None,
    shift: Floats | float = 0.0,
) -> KernelExpansion:
    """Return the expansion whose outputs are those of the given one times a matrix, shifted."""
    parts: list[KernelExpansion] = []
    for number, part in enumerate(expansion.parts):
        changes = {
            "coefficients": part.alpha @ weights,
            "offset": part.offsets @ weights + (shift if number == 0 else 0.0),
            "output_names": output_names,
            "posterior": part.posterior and part.posterior.mixed(weights),
        }
        parts += evolve(part, **changes).parts
    return sum_of(parts)


def _as_data(background: Any, points: Floats, kernel: Kernel) -> Data | None:
    """Return what `KernelExpansion` was told about its data."""
    if background is None:
        return None
    if isinstance(background, str):
        return Data(points, background)
    given = background if isinstance(background, Data) else Data(background)
    rows = as_matrix(given.rows, "background", points.shape[1])
    kernel.check(rows, "background")
    return Data(points if np.array_equal(rows, points) else _frozen(rows.copy()), given.kind)


def _check_posterior(posterior: Posterior, n_points: int, n_outputs: int) -> None:
    """Refuse a posterior of other points or outputs."""
    found = (len(posterior.cholesky), posterior.mixing.shape[1])
    if found != (n_points, n_outputs):
        raise ValueError(
            f"the posterior has {found[0]} points and {found[1]} outputs, but the expansion has "
            f"{n_points} and {n_outputs}."
        )


def _same_data(first: Data | None, second: Data | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.kind == second.kind and np.array_equal(first.rows, second.rows)


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
