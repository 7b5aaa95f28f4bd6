"""Readers of bayes_opt: its optimiser, and the kernel that it wraps.

The process of an optimiser is scikit-learn's, with a kernel whose class derives from that of the
kernel inside and changes rows first: columns of integers are rounded, each by itself, and of the
columns of a category the largest becomes 1 and the others 0. The first is a preparation, as a
scaler in a pipeline is. The second is a function of several columns, and is refused.

A wrapped kernel holds the optimiser's space and with it the function that is optimised, which may
be one that cannot be pickled. So the reading keeps the kernel inside, and is compared with the
model as it came here.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.models.preparation import Preparation
from pkex.models.sums import evolve
from pkex.readers import Given, Reading, read
from pkex.readers.reading import Chain, Reader, check_agreement, warn_user
from pkex.readers.sklearn.plain import call

__all__ = ["is_wrapped", "read_optimiser", "read_wrapped_process"]


_KINDS = {"FloatParameter": False, "IntParameter": True}  # whether they are rounded


def read_optimiser(model: Any, given: Given) -> Reading:
    """BayesianOptimization: the mean of its Gaussian process, as it was fitted last."""
    if not hasattr(model._gp, "X_train_"):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has not fitted its Gaussian process yet: call maximize "
            "first, or predict once points are registered."
        )
    reading = read(model._gp, given)
    known, n_observed = len(model._gp.X_train_), len(model.space)
    if known != n_observed:
        warn_user(
            f"the Gaussian process of this {type(model).__name__} was last fitted to {known} of "
            f"its {n_observed} points, and the values explain that process. "
            "optimizer.predict(optimizer.max['params']) fits it to all of them.",
        )
    return reading


def is_wrapped(kernel: Any) -> bool:
    """Tell whether a kernel is one that bayes_opt has wrapped."""
    cls = type(kernel)
    return cls.__name__ == "WrappedKernel" and cls.__module__.partition(".")[0] == "bayes_opt"


def read_wrapped_process(model: Any, given: Given, process: Reader) -> Reading:
    """Return the reading of a process of scikit-learn with a wrapped kernel.

    `process` reads one whose kernel is not wrapped.
    """
    names, flags = _parameters(model.kernel_)
    rounded = _Rounded(flags)
    inside = type(model.kernel_).__bases__[0](**model.kernel_.get_params(deep=False))
    plain = copy(model)
    plain.kernel = plain.kernel_ = inside
    plain.X_train_ = rounded(model.X_train_)
    reading = process(plain, given)
    before = Preparation(rounded, names, tuple(range(len(names)))) if any(flags) else None
    expansion = evolve(reading.expansion, feature_names=names, preparation=before)
    reading = replace(reading, expansion=expansion, predict=Chain(rounded, reading.predict))
    # between the points, so that a column that is changed shows
    rows = (model.X_train_[:5] + model.X_train_[-5:][::-1]) / 2.0
    theirs = call(model, "predict", given, rows)
    check_agreement(reading.expansion, reading.expansion.predict(rows), theirs, reading.tol)
    return reading


@dataclass(frozen=True)
class _Rounded:
    """Rows with the columns of integers rounded; a function that can be pickled."""

    flags: tuple[bool, ...]

    def __call__(self, X: Any) -> Floats:
        rows = np.array(X, dtype=np.float64)
        places = np.flatnonzero(self.flags)
        rows[:, places] = np.round(rows[:, places])
        return rows


def _parameters(kernel: Any) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Return the names of the columns of a wrapped kernel, and which of them are rounded."""
    _, (_, transform) = kernel.__reduce__()  # a clone has it nowhere else
    space: Any = getattr(transform, "__self__", None)
    if not _is_space(space):
        raise UnsupportedModelError(
            "the wrapped kernel of this Gaussian process transforms rows by a function that may "
            "combine columns, so pkex cannot explain single columns. Apply the function to the "
            "rows before the model, and explain its outputs."
        )
    flags = []
    for name in space.keys:
        kind = type(space._params_config[name])
        if kind.__module__.partition(".")[0] != "bayes_opt" or kind.__name__ not in _KINDS:
            raise UnsupportedModelError(
                "the kernel of this Gaussian process transforms the columns of the parameter "
                f"{name!r} ({kind.__name__}) jointly: of the columns of a category only the "
                "largest counts. Numeric parameters are supported: optimise them for one category "
                "at a time, or fit scikit-learn's GaussianProcessRegressor to "
                "optimizer.space.params and group the columns of a category with groups=."
            )
        flags.append(_KINDS[kind.__name__])
    return tuple(map(str, space.keys)), tuple(flags)


def _is_space(space: Any) -> bool:
    """Tell whether an object is a space of parameters of bayes_opt, and no class of a user's."""
    cls = type(space)
    return cls.__name__ == "TargetSpace" and cls.__module__.partition(".")[0] == "bayes_opt"
