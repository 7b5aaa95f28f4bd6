"""What a reader is given and returns, and how closely the two must agree."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import class_name, join_names
from pkex.errors import AdditivityError
from pkex.kernels.algebra import Kernel
from pkex.kernels.entries import matrix_rounding
from pkex.models.classes import Classes
from pkex.models.expansion import KernelExpansion
from pkex.models.expansion_base import Data
from pkex.models.preparation import to_model_columns
from pkex.models.sums import add_expansions, evolve

__all__ = [
    "TOL",
    "Chain",
    "Given",
    "Reader",
    "Reading",
    "check_agreement",
    "check_reading",
    "check_task",
    "prediction_bound",
    "refuse_given",
    "warn_user",
    "without_name_warning",
]


TOL = 2.0**-40
"""How far predictions may be apart, relative to the sum of the absolute coefficients."""


@dataclass(frozen=True)
class Chain:
    """One function after another."""

    first: Callable[[Any], Any]
    second: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        """Return ``second(first(X))``."""
        return self.second(self.first(X))


@dataclass(frozen=True)
class Reading:
    """An expansion, and the function of the model that it must agree with, to a tolerance.

    Points are not taken for data by themselves: a reader whose points are data says so by the
    argument `background` of the expansion, e.g. ``background="training points"``. Where it says
    nothing, the reading has no data, and an Explainer asks for a background.

    Parameters
    ----------
    expansion : KernelExpansion
        The model as pkex explains it.
    predict : callable
        Takes rows as the model does and returns the predictions of the model.
    tol : float, default 2**-40
        How far the two may be apart, relative to the sum of the absolute coefficients.
    classes : Classes, optional
        For a classifier: what its outputs say about the classes, and how it predicts one.
    choices : tuple of str, default ()
        The values of ``outputs=`` that the reader heeds; empty where the model leaves no choice.
    tasks : tuple of float, default ()
        The values of ``task=`` that the reader heeds, for a model of several tasks.
    notes : tuple of str, default ()
        What results should say about the outputs, such as that they are logarithms.

    See Also
    --------
    pkex.readers.register : Registers a converter.

    Examples
    --------
    >>> from sklearn.svm import SVR
    >>> from pkex.readers import read
    >>> model = SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> reading = read(model)
    >>> bool(abs(reading.expansion.predict([[0.5]]) - reading.predict([[0.5]])) < 1e-12)
    True
    """

    expansion: KernelExpansion
    predict: Callable[[Any], Any]
    tol: float = TOL
    classes: Classes | None = None
    choices: tuple[str, ...] = ()
    tasks: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(data is not None and data.kind == "points" for data in self.background):
            parts: list[KernelExpansion] = []
            for part, data in zip(self.expansion.parts, self.background, strict=True):
                spoken = data is None or data.kind != "points"
                parts += [part] if spoken else evolve(part, background=None).parts
            changed = add_expansions(parts)
            object.__setattr__(self, "expansion", changed)

    @property
    def background(self) -> tuple[Data | None, ...]:
        """The data of each part of the expansion, in its prepared columns; None without any.

        See Also
        --------
        pkex.KernelExpansion.parts : The expansions that an expansion is a sum of.
        pkex.Explainer : Explains a model; its background may be given.

        Examples
        --------
        >>> from sklearn.svm import SVR
        >>> from pkex.readers import read
        >>> model = SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
        >>> [data.kind for data in read(model).background]
        ['support vectors']
        """
        return tuple(part.background for part in self.expansion.parts)


@dataclass(frozen=True)
class Given:
    """What a user says besides the model: a kernel and points that it does not tell, and outputs.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel that the model was trained with, where it is callable or precomputed.
    points : array of shape (n_samples, n_columns), optional
        The training points, where the kernel is precomputed.
    outputs : {"classes", "ovo", "log-odds"}, optional
        Which outputs of a classifier to read, for readers that have a choice.
    task : float, optional
        The task at which to read a model of several tasks.

    See Also
    --------
    pkex.readers.register : Registers a converter.

    Examples
    --------
    A reader gets it from the arguments of `as_expansion`, and refuses what it cannot use:

    >>> import pkex
    >>> from pkex.readers import Given, read
    >>> from sklearn.svm import SVR
    >>> model = SVR().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> read(model, Given(kernel=pkex.kernels.RBF()))
    Traceback (most recent call last):
    ValueError: this SVR has its own kernel and points; ...
    """

    kernel: Kernel | None = None
    points: Any = None
    outputs: str | None = None
    task: float | None = None


Reader = Callable[[Any, Given], Reading]


def refuse_given(given: Given, model: Any) -> None:
    """Refuse a kernel or points that a model tells itself."""
    if given.kernel is not None or given.points is not None:
        raise ValueError(
            f"this {type(model).__name__} has its own kernel and points; leave out kernel= and "
            "points=, which are for models with a callable or precomputed kernel."
        )


def check_task(task: object, tasks: tuple[float, ...], model: Any) -> None:
    """Refuse what is not a task of a model, and any task where the model has none."""
    is_number = isinstance(task, Real) and not isinstance(task, bool)
    if task is None or (is_number and task in tasks):
        return
    title = class_name(model)
    if not tasks:
        raise ValueError(
            f"this {title} has no tasks, so task={brief(task)} is not supported; task= fixes the "
            "task of a process of several tasks, such as BoTorch's MultiTaskGP. Leave it out."
        )
    known = join_names([f"{each:g}" for each in tasks])
    raise ValueError(f"this {title} has the tasks {known}; got task={brief(task)}.")


def check_agreement(
    expansion: KernelExpansion, ours: Any, theirs: Any, tol: float = TOL, rows: Any = None
) -> None:
    """Raise when predictions differ by more than `tol` times the size of the sums, and rounding.

    `rows` are those of the predictions, as a user has them. Of sparse points more may be due to
    rounding than the size of the sums says, as large exponents cancel: then it is computed.
    """
    theirs = np.asarray(theirs, dtype=np.float64).reshape(np.shape(ours))
    parts = expansion.parts
    scale = sum(prediction_bound(part) for part in parts)
    rounding = max(part.shape[0] for part in parts) * 2.0**-52
    gap = np.abs(ours - theirs)
    limit = (tol + rounding) * scale + max(tol, 1e-9) * np.abs(theirs)
    if rows is not None and not np.all(gap <= limit):
        limit = limit + _of_exponents(expansion, rows, len(ours)).reshape(np.shape(ours))
    if not np.all(gap <= limit):
        worst = np.argmax(np.where(np.isnan(gap), np.inf, gap))
        raise AdditivityError(
            f"the converted model predicts {np.ravel(ours)[worst]:.8g} where the model predicts "
            f"{np.ravel(theirs)[worst]:.8g}. The model may have been changed after fitting, or a "
            "kernel that was passed may differ from the model's. Otherwise the conversion is "
            "wrong: please report it."
        )


def _of_exponents(expansion: KernelExpansion, rows: Any, n_rows: int) -> Floats:
    """Return what rounding of exponents costs predictions of sparse points, (n_rows, n_outputs)."""
    table, total = to_model_columns(expansion, rows), np.zeros((n_rows, expansion.n_outputs))
    for part in expansion.parts:
        if part.sparse_points is not None:
            x = part.prepare_sparse(table)
            total += matrix_rounding(part.kernel, x, part.sparse_points) @ np.abs(part.alpha)
    return total


def without_name_warning(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of the model's own without scikit-learn's warning about names of columns.

    The preparation of the rows has given it already; once is enough.
    """

    def quiet(X: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X (does not have valid|has) feature names, but")
            return function(X)

    return quiet


def prediction_bound(part: KernelExpansion) -> Any:
    """Return a bound on the size of the predictions, for each output; a guess if linear."""
    if not part.kernel.has_neutral_removal:
        sizes = np.abs(part.kernel(part.points[:: max(1, len(part.points) // 5)], part.points))
        return 10.0 * (sizes @ np.abs(part.coefficients)).max(axis=0) + np.abs(part.intercept)
    worth = sum(abs(term.coefficient) for term in part.form.terms)
    return worth * np.abs(part.coefficients).sum(axis=0) + np.abs(part.intercept)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called pkex, the first one that is not of pkex."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pkex."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def check_reading(reading: Reading) -> Reading:
    """Return the reading after comparing the expansion with the model on a few of its points."""
    expansion = reading.expansion
    if expansion.preparation is not None:
        return reading  # there are no rows as the user has them to compare on
    for part in expansion.parts:
        rows = part.kept_points[:: max(1, part.shape[0] // 5)][:5]
        if part.sparse_points is None:
            rows = np.ascontiguousarray(rows)
        if part is expansion:  # so that its points are rows as they are
            part.check_sizes(rows, "X")
            ours = part.evaluate(rows)
        else:
            ours = expansion.predict(rows)
        theirs = reading.predict(rows)
        check_agreement(expansion, ours, theirs, reading.tol, rows)
    return reading
