"""Fitted estimators of scikit-learn by themselves: their names, and calls with plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from pkex._util.sparse import is_sparse, to_dense
from pkex._util.validation import column_names
from pkex.errors import UnsupportedModelError
from pkex.readers.reading import Given

__all__ = ["call", "check_fitted", "copy_without_names", "frozen_predict", "names_of"]


def check_fitted(model: Any, attribute: str, reason: str = "It was not fitted") -> None:
    """Refuse a model that lacks what its fit would have left."""
    if not hasattr(model, attribute):
        raise UnsupportedModelError(
            f"this {type(model).__name__} cannot be explained. {reason}: call fit first."
        )


def call(model: Any, method: str, given: Given, X: Any) -> Any:
    """Call a method of the model, on the kernel matrix where that is what the model takes.

    The call is made with a plain array that may be written to (scikit-learn's chi2 insists), and
    on a copy of the model that does not expect names with it.
    """
    rows: Any
    if is_sparse(X) and _fitted_on_sparse(model):
        from scipy.sparse import csr_matrix

        rows = csr_matrix(X, dtype=np.float64)  # arrays are newer than some versions
    else:
        rows = np.array(to_dense(X), dtype=np.float64)
    if getattr(model, "kernel", None) == "precomputed" and given.kernel is not None:
        rows = given.kernel(rows, given.points)
    plain = copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return getattr(plain, method)(rows)


def _fitted_on_sparse(model: Any) -> bool:
    return bool(getattr(model, "_sparse", False)) or is_sparse(getattr(model, "X_fit_", None))


def frozen_predict(model: Any, given: Given) -> Callable[[Any], Any]:
    """Return `predict` of the model as it is now: a later fit does not change it."""
    return partial(call, copy(model), "predict", given)


def copy_without_names(model: Any) -> Any:
    """Return a copy of a model, as it is now, that takes arrays without asking for names."""
    if hasattr(model, "steps"):
        return model  # it may choose columns by name
    plain = copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    for name in ("best_estimator_", "estimator"):
        if hasattr(model, name):
            setattr(plain, name, copy_without_names(getattr(model, name)))
    if hasattr(model, "estimators_"):
        plain.estimators_ = [copy_without_names(each) for each in model.estimators_]
    return plain


def names_of(model: Any, given: Given) -> Any:
    """Return the names of the columns of the points; None if they have none."""
    kernel = getattr(model, "kernel", None)
    if kernel == "precomputed":
        return column_names(given.points, "points")  # the model has seen columns of a kernel matrix
    names = getattr(model, "feature_names_in_", None)
    if names is None and callable(kernel):  # support vector machines keep the table itself then
        table = getattr(model, "_BaseLibSVM__Xfit", None)
        names = column_names(table if given.points is None else given.points, "points")
    return names
