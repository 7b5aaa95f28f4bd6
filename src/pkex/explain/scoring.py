"""Scores of scikit-learn that are means over rows, as losses of single predictions.

The expectation of a mean over all shuffles is a mean of losses over all pairs of rows. That holds
for an affine function of it as well, such as R2, whose denominator no shuffle changes. It does not
for a root, a rank or a ratio of means: those are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics

from pkex._util.types import Floats
from pkex._util.validation import as_floats, brief
from pkex.errors import UnsupportedModelError
from pkex.explain.fitted import FittedModel, read_model
from pkex.models.classes import LOG_ODDS

__all__ = ["Score", "check_scoring", "make_score", "read_scored_model"]

Loss = Callable[[slice, Floats], Floats]

_SQUARED, _ABSOLUTE = "neg_mean_squared_error", "neg_mean_absolute_error"
_LOG_LOSS, _BRIER = "neg_log_loss", "neg_brier_score"
_OF_NUMBERS = (_SQUARED, _ABSOLUTE, "r2", "d2_absolute_error_score")
_OF_CLASSES = ("accuracy", "balanced_accuracy")
_OF_PROBABILITIES = (_LOG_LOSS, _BRIER)
_REFUSED = {
    "neg_root_mean_squared_error": "the expectation of a root is not the root of an expectation; "
    "use 'neg_mean_squared_error'",
    "roc_auc": "it compares rows with each other; use 'accuracy' or 'neg_log_loss'",
    "average_precision": "it compares rows with each other; use 'accuracy' or 'neg_log_loss'",
    "f1": "it is a ratio of two counts that both change; use 'balanced_accuracy'",
    "explained_variance": "it subtracts the mean of the errors, which changes; use 'r2'",
    "precision": "its denominator counts predictions, which change; use 'balanced_accuracy'",
    "neg_median_absolute_error": "a median is not a mean; use 'neg_mean_absolute_error'",
    "max_error": "a maximum is not a mean; use 'neg_mean_absolute_error'",
}
_SMALLEST = float(np.finfo(np.float64).eps)  # at which scikit-learn clips probabilities


class Score(NamedTuple):
    """A score as a weighted mean of losses: ``score = constant - sum_i weights_i loss_i``.

    Attributes
    ----------
    name : str
    weights : array of shape (n_rows,)
        They sum to 1.
    loss : callable
        Takes some rows and their predictions, shape (rows, donors, outputs), and returns losses,
        shape (rows, donors).
    """

    name: str
    weights: Floats
    loss: Loss


def check_scoring(scoring: Any) -> None:
    """Raise where a scoring is not one that is a mean over rows."""
    known = (*_OF_NUMBERS, *_OF_CLASSES, *_OF_PROBABILITIES)
    if scoring is None or (isinstance(scoring, str) and scoring in known):
        return
    listed = f"Known are {', '.join(map(repr, known))}."
    if not isinstance(scoring, str):
        raise TypeError(
            f"scoring must be the name of a score of scikit-learn, got {brief(scoring)}: the exact "
            f"expectation needs the loss of a single row, which a function hides. {listed}"
        )
    family = next((name for name in _REFUSED if scoring.startswith(name)), None)
    if family is not None:
        raise ValueError(f"scoring={scoring!r} is not a mean over rows: {_REFUSED[family]}.")
    raise ValueError(f"scoring={scoring!r} is not known to be a mean over rows. {listed}")


def read_scored_model(model: Any, scoring: str | None) -> tuple[FittedModel, str]:
    """Return what is read of a model for a score, and its name: by default scikit-learn's."""
    if scoring in _OF_PROBABILITIES:
        fitted = read_model(model, None)
        if fitted.classes is not None and fitted.classes.output_kind != LOG_ODDS:
            with suppress(ValueError):  # where it has none
                fitted = read_model(model, LOG_ODDS)
        if fitted.classes is not None and fitted.classes.output_kind != LOG_ODDS:
            raise UnsupportedModelError(
                f"scoring={scoring!r} needs probabilities that are a known function of what pkex "
                f"explains, and those of this {fitted.title} are not; binary classifiers "
                "calibrated by a sigmoid and logistic regression have them. Use scoring='accuracy'."
            )
    else:
        fitted = read_model(model, None)
    is_classifier = fitted.classes is not None
    name = scoring or ("accuracy" if is_classifier else "r2")
    if is_classifier and name in _OF_NUMBERS:
        raise ValueError(
            f"scoring={name!r} is for regression, and {fitted.title} is a classifier: use "
            "'accuracy', 'balanced_accuracy' or 'neg_log_loss'."
        )
    if not is_classifier and name not in _OF_NUMBERS:
        raise ValueError(
            f"scoring={name!r} is for classifiers, and {fitted.title} is not one: use 'r2', "
            "'neg_mean_squared_error' or 'neg_mean_absolute_error'."
        )
    return fitted, name


def make_score(
    name: str, fitted: FittedModel, y: Any, sample_weight: ArrayLike | None, n_rows: int
) -> Score:
    """Return a score for the targets of some rows; predictions are outputs of the expansion."""
    weights = _check_weights(sample_weight, n_rows)
    if name in _OF_NUMBERS:
        return _score_numbers(name, fitted, y, weights)
    classes = fitted.classes
    assert classes is not None  # `read_scored_model` has seen to it
    if np.shape(y) not in ((n_rows,), (n_rows, 1)):
        raise ValueError(f"y must have shape ({n_rows},), a class for each row; got {np.shape(y)}.")
    labels = _match_labels(np.asarray(y).reshape(-1), classes.labels)
    unknown = sorted({*labels} - {*classes.labels})
    if unknown:
        raise ValueError(
            f"y has the class {unknown[0]!r}, but the classes of the model are "
            f"{brief(list(classes.labels))}."
        )
    numbers = np.array([classes.labels.index(label) for label in labels])
    if name == "balanced_accuracy":
        totals = np.bincount(numbers, weights, len(classes.labels))
        scored = np.where(totals > 0.0, totals, 1.0)  # scikit-learn leaves out classes of weight 0
        weights = weights / scored[numbers] / np.count_nonzero(totals)
    if name in _OF_CLASSES:
        return Score(name, weights, _misclassification(numbers))
    positive = classes.labels.index(classes.output_classes[0][0])
    return Score(name, weights, _of_log_odds(name, np.where(numbers == positive, 1.0, -1.0)))


def _match_labels(y: Any, known: Sequence[str]) -> list[str]:
    """Return classes as text; a number such as 1.0 or True is the class 1 where there is one."""
    same: dict[float, str] = {}
    for label in known:
        with suppress(ValueError):
            same[_as_number(label)] = label
    texts = [str(label) for label in y]
    if y.dtype.kind not in "biuf":
        return texts
    return [
        text if text in known else same.get(float(label), text)
        for text, label in zip(texts, y, strict=True)
    ]


def _as_number(label: str) -> float:
    return float({"False": "0", "True": "1"}.get(label, label))


def _score_numbers(name: str, fitted: FittedModel, y: Any, weights: Floats) -> Score:
    n_rows, n_outputs = len(weights), fitted.expansion.n_outputs
    targets = as_floats(y, "y")
    if targets.shape not in ((n_rows,), (n_rows, 1)) and targets.shape != (n_rows, n_outputs):
        expected = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
        raise ValueError(f"y must have shape {expected}, as the predictions; got {targets.shape}.")
    targets = targets.reshape(n_rows, -1)
    if targets.shape[1] != n_outputs:
        raise ValueError(f"y must have {n_outputs} columns, one for each output; got 1.")
    scales = np.full(n_outputs, 1.0 / n_outputs)
    if name in ("r2", "d2_absolute_error_score"):
        spread = np.ptp(targets[weights > 0.0], axis=0)
        if not spread.all():
            raise ValueError(
                f"scoring={name!r} divides by the spread of y, which is constant; use "
                "scoring='neg_mean_squared_error'."
            )
        # a prediction that is off by the spread everywhere has its mean loss; moving the targets
        # near 0 changes no score and keeps digits
        near = targets - targets[0]
        score: Any = metrics.r2_score if name == "r2" else metrics.d2_absolute_error_score
        missed = 1.0 - np.atleast_1d(
            score(near, near + spread, sample_weight=weights, multioutput="raw_values")
        )
        missed /= spread * spread if name == "r2" else spread
        scales = scales * missed
    power: Any = np.abs if name in (_ABSOLUTE, "d2_absolute_error_score") else np.square

    def loss(rows: slice, predictions: Floats) -> Floats:
        errors = predictions - targets[rows, None]
        power(errors, out=errors)
        errors *= scales
        total: Floats = errors[:, :, 0] if n_outputs == 1 else errors.sum(axis=2)
        return total

    return Score(name, weights, loss)


def _misclassification(numbers: Any) -> Loss:
    """Return the loss of classes, whose numbers the predictions are."""

    def loss(rows: slice, predictions: Floats) -> Floats:
        return np.asarray(predictions[:, :, 0] != numbers[rows, None], dtype=np.float64)

    return loss


def _of_log_odds(name: str, signs: Floats) -> Loss:
    """Return the loss of probabilities, whose log-odds the predictions are."""
    most = -np.log(_SMALLEST)  # where scikit-learn clips

    def loss(rows: slice, predictions: Floats) -> Floats:
        against = -signs[rows, None] * predictions[:, :, 0]
        if name == _LOG_LOSS:
            clipped: Floats = np.minimum(np.logaddexp(0.0, against), most)
            return clipped
        miss: Floats = np.exp(-2.0 * np.logaddexp(0.0, -against))
        return miss

    return loss


def _check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.full(n_rows, 1.0 / n_rows)
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be {n_rows} numbers, one for each row; got shape {weights.shape}."
        )
    if (weights < 0.0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, and not all of it 0.")
    weights = weights / weights.max()
    normalised: Floats = weights / weights.sum()
    return normalised
