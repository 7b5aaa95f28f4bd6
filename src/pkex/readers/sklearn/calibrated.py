"""Reader of calibrated classifiers: log-odds, where they are affine in the decision function.

A sigmoid per class with two classes, and temperature scaling, map the decision function of one
classifier to probabilities whose log-odds are affine in it (`log_odds`). A mean of several such
probabilities, steps of isotonic regression, and sigmoids of several classes that are scaled to the
sum 1 have log-odds that are not expansions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pkex.errors import UnsupportedModelError
from pkex.models.classes import LOG_ODDS
from pkex.readers import Given, Reading, read
from pkex.readers.reading import Chain
from pkex.readers.sklearn.log_odds import read_binary, read_softmax
from pkex.readers.sklearn.models import read_of_each_class, read_two_classes
from pkex.readers.sklearn.plain import check_fitted

__all__ = ["read_calibrated"]

# what has log-odds that are explained, with two classes and with more; an SVC has votes then
_ADVICE = (
    "Use method='sigmoid'",
    "Use method='temperature' with a model that has one function for each class, such as "
    "CalibratedClassifierCV(OneVsRestClassifier(SVC()), method='temperature', ensemble=False)",
)
_INSIDE = "pkex.Explainer(model.calibrated_classifiers_[0].estimator)"


def read_calibrated(model: Any, given: Given) -> Reading:
    """CalibratedClassifierCV of one classifier: the log-odds, by a sigmoid or a temperature."""
    check_fitted(model, "calibrated_classifiers_")
    if len(model.calibrated_classifiers_) > 1:
        raise UnsupportedModelError(
            f"this {type(model).__name__} predicts the mean probability of "
            f"{len(model.calibrated_classifiers_)} classifiers, a nonlinear function of their "
            "kernel expansions, so values cannot add up to it. Calibrate one classifier, "
            "CalibratedClassifierCV(..., ensemble=False), to explain its log-odds, or explain the "
            f"classifiers inside: {_INSIDE}."
        )
    [inside] = model.calibrated_classifiers_
    machine, method, n_classes = inside.estimator, inside.method, len(model.classes_)
    if method == "isotonic" or (method == "sigmoid" and n_classes > 2):
        why = (
            "steps" if method == "isotonic" else "sigmoids of several classes, scaled to the sum 1"
        )
        raise UnsupportedModelError(
            f"the probabilities of this {type(model).__name__} with method={method!r} are {why}: "
            "nonlinear functions of a kernel expansion, so values cannot add up to them or to "
            f"their log-odds. {_ADVICE[n_classes > 2]}, or explain the classifier inside: "
            f"{_INSIDE}."
        )
    reading = read(machine, Given(given.kernel, given.points))
    votes = type(_last(machine)).__name__ == "OneVsOneClassifier" or "ovo" in reading.choices
    if votes or not hasattr(machine, "decision_function"):
        what = "votes of pairs of classes" if votes else "probabilities"
        raise UnsupportedModelError(
            f"this {type(model).__name__} calibrates {what}, which are not kernel expansions, so "
            f"values cannot add up to its log-odds. Explain the classifier inside: {_INSIDE}."
        )
    labels = model.classes_  # in place of which the machine may have been given numbers
    if n_classes > 2:
        reading = read_of_each_class(reading, labels, LOG_ODDS, None)
        log_odds = read_softmax(reading, float(inside.calibrators[0].beta_))
    else:
        reading = read_two_classes(reading, labels, LOG_ODDS, None)
        log_odds = read_binary(reading, *_slope_and_shift(inside))
    assert log_odds.classes is not None
    predict = Chain(log_odds.predict, _Decided(labels))
    return replace(log_odds, classes=replace(log_odds.classes, predict=predict))


def _slope_and_shift(inside: Any) -> tuple[float, float]:
    """Return the affine function from a binary decision function f to the log-odds."""
    [calibrator] = inside.calibrators
    if inside.method == "sigmoid":  # 1 / (1 + exp(a f + b))
        return -float(calibrator.a_), -float(calibrator.b_)
    return 2.0 * float(calibrator.beta_), 0.0  # a softmax of (-f, f)


@dataclass(frozen=True, eq=False)
class _Decided:
    """The class with the largest probability; a function that can be pickled."""

    classes: Any

    def __call__(self, log_odds: Any) -> Any:
        if log_odds.shape[1] == 1:
            return self.classes[(log_odds[:, 0] > 0.0).astype(int)]
        return self.classes[log_odds.argmax(axis=1)]


def _last(model: Any) -> Any:
    """Return the classifier at the end of pipelines, searches and the like."""
    if hasattr(model, "steps"):
        return _last(model.steps[-1][1])
    for name in ("best_estimator_", "estimator"):
        if hasattr(model, name) and not hasattr(model, "estimators_"):
            return _last(getattr(model, name))
    return model
