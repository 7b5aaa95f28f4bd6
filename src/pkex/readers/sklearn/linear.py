"""Readers of linear models: ``f(x) = w x + b`` is a linear kernel with the one point w.

With several outputs every weight vector is a point. Weights are not data: an Explainer asks for a
background, and the value of a column is its weight times what sets it apart from the background.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax as normalised

from pkex._util.sparse import to_dense
from pkex.kernels import Linear
from pkex.models.classes import LOG_ODDS, Classes
from pkex.models.expansion import KernelExpansion
from pkex.readers.reading import Chain, Given, Reading, refuse_given
from pkex.readers.sklearn.log_odds import read_binary, read_softmax
from pkex.readers.sklearn.models import (
    DECISION,
    inlier,
    read_against_the_rest,
    read_of_each_class,
    read_two_classes,
)
from pkex.readers.sklearn.plain import call, check_fitted, frozen_predict, names_of

__all__ = ["read_linear_classifier", "read_linear_one_class", "read_linear_regression"]


def read_linear_regression(model: Any, given: Given) -> Reading:
    """Linear regression, however it is fitted: `predict`."""
    check_fitted(model, "coef_")
    return Reading(
        _weighted(model, given, model.intercept_), partial(call, model, "predict", given)
    )


def read_linear_one_class(model: Any, given: Given) -> Reading:
    """SGDOneClassSVM: `decision_function`, which is positive for inliers."""
    check_fitted(model, "coef_")
    f = _weighted(model, given, -np.asarray(model.offset_))
    predict = Chain(frozen_predict(model, given), inlier)
    classes = Classes(("outlier", "inlier"), (("inlier", "outlier"),), DECISION, predict)
    return Reading(f, partial(call, model, "decision_function", given), classes=classes)


def read_linear_classifier(model: Any, given: Given) -> Reading:
    """Linear classifiers, however they are fitted: the decision function.

    Of a logistic model with two classes that is the log-odds. With more, if its probabilities are a
    softmax, ``outputs="log-odds"`` explains the mean log-odds of each class.
    """
    check_fitted(model, "coef_")
    reading = Reading(
        _weighted(model, given, model.intercept_),
        partial(call, model, "decision_function", given),
    )
    labels, predict = model.classes_, frozen_predict(model, given)
    if reading.expansion.n_outputs == 1:
        reading = read_two_classes(reading, labels, DECISION, predict)
        return read_binary(reading, 1.0, 0.0) if _logistic(model, reading) else reading
    if _of_rows_with_several_labels(model):
        number = f"{DECISION} of each label"
        return read_of_each_class(reading, labels, number, None)
    if not _compares_classes(model):
        return read_against_the_rest(reading, labels, DECISION, predict)
    reading = read_of_each_class(reading, labels, f"{DECISION} of each class", predict)
    if not _logistic(model, reading):
        return reading
    log_odds = read_softmax(reading, 1.0)
    if given.outputs == LOG_ODDS:
        return log_odds
    return Reading(
        reading.expansion, reading.predict, reading.tol, reading.classes, choices=log_odds.choices
    )


def _weighted(model: Any, given: Given, intercept: Any) -> KernelExpansion:
    refuse_given(given, model)
    weights = to_dense(model.coef_).astype(np.float64)
    weights = weights.reshape(-1, weights.shape[-1])
    alpha, names = np.eye(len(weights)), names_of(model, given)
    intercepts = np.broadcast_to(np.asarray(intercept, dtype=np.float64).reshape(-1), len(weights))
    return KernelExpansion(weights, alpha, Linear(), intercepts, names, background=None)


def _logistic(model: Any, reading: Reading) -> bool:
    """Tell whether the model's probabilities are a sigmoid or a softmax of what was read.

    It is asked itself, at points where they are neither 0 nor 1: which models are logistic depends
    on options that change from version to version.
    """
    if not hasattr(model, "predict_proba"):
        return False
    weights, intercepts = reading.expansion.points, reading.expansion.intercepts
    reach = np.abs(weights @ weights.T).max() or 1.0
    middle = np.linalg.lstsq(weights, -intercepts, rcond=None)[0]  # where the classes are on a par
    rows = middle + np.concatenate([0.0 * weights, weights / reach, -2.0 * weights / reach])
    scores = np.asarray(reading.predict(rows)).reshape(len(rows), -1)
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(rows)), scores])
    probabilities = call(model, "predict_proba", Given(), rows)
    return bool(np.abs(probabilities - normalised(scores, axis=1)).max() <= 1e-9)


def _compares_classes(model: Any) -> bool:
    """Tell whether the functions of the classes count by their differences alone."""
    title = type(model).__name__
    if title == "LinearSVC":
        return bool(model.multi_class == "crammer_singer")
    if title == "LinearDiscriminantAnalysis":
        return True
    one_vs_rest = (
        getattr(model, "solver", "") == "liblinear" or getattr(model, "multi_class", "") == "ovr"
    )
    return title.startswith("LogisticRegression") and not one_vs_rest


def _of_rows_with_several_labels(model: Any) -> bool:
    binarizer = getattr(model, "_label_binarizer", None)
    return binarizer is not None and binarizer.y_type_.startswith("multilabel")
