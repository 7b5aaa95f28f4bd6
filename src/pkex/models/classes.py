"""What the outputs of a classifier say about its classes.

A model of two classes has one function, and its sign decides. For k classes there
are three kinds of outputs:

- *pairs*: one function f_ab for each pair of classes, as support vector machines are trained;
- *classes*: for each class c the mean of its k - 1 pair functions, signed so that positive values
  push towards c,

      f_c = (1 / (k - 1)) * sum over b of f_cb,    f_bc = -f_cb,

  which is a linear map of the pairs: a kernel expansion again, exact and additive;
- one function for each class *against the rest*, where a model has such.

Where a model turns its decision function f into probabilities by a sigmoid of an affine function of
f, *log-odds* are that affine function: an expansion again, but probabilities are not.

The class that a model predicts may follow another rule. A support vector machine counts how many
pair functions decide for a class, and the largest f_c need not have the most votes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex._util.validation import brief

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = [
    "CHOICES",
    "LOG_ODDS",
    "OUTPUTS",
    "ClassMeans",
    "Classes",
    "check_choice",
    "count_disagreements",
    "describe_disagreement",
    "describe_output",
    "largest_output_class",
    "make_pairs",
    "to_probabilities",
]


CHOICES = ("classes", "ovo")  # of a model that decides between pairs of classes
LOG_ODDS = "log-odds"
OUTPUTS = (*CHOICES, LOG_ODDS)


@dataclass(frozen=True, eq=False)
class Classes:
    """What the outputs of a classifier mean, and which class it predicts.

    Parameters
    ----------
    labels : tuple of str
        The classes.
    output_classes : tuple of (str, str or None)
        For each output the class that positive values push towards, and the one that negative
        values push towards, or None where that is all the others.
    output_kind : str
        What the values of a row add up to, e.g. "decision function".
    predict : callable, optional
        Takes rows as the model does and returns the class that it predicts for each.

    See Also
    --------
    pkex.readers.Reading : What a reader returns.
    pkex.Explanation : Shapley values of rows.

    Examples
    --------
    >>> from pkex.readers import read
    >>> from sklearn.svm import SVC
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> classes = read(model).classes
    >>> classes.output_kind, classes.output_classes
    ('decision function', (('yes', 'no'),))
    >>> classes.predict([[2.5]])
    array(['yes'], dtype='<U3')
    """

    labels: tuple[str, ...]
    output_classes: tuple[tuple[str, str | None], ...]
    output_kind: str
    predict: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """The linear map from pair functions to classes; a function that can be pickled.

    Attributes
    ----------
    n_classes : int
        The pairs (i, j) come in the order of `itertools.combinations`.
    positive : {0, 1}
        Which class of a pair its positive values push towards.

    Examples
    --------
    >>> ClassMeans(3, 0)([[1.0, 2.0, 3.0]])
    array([[ 1.5,  1. , -2.5]])
    """

    n_classes: int
    positive: int

    @property
    def weights(self) -> Floats:
        """The matrix of the map, shape (n_pairs, n_classes)."""
        pairs = list(combinations(range(self.n_classes), 2))
        matrix = np.zeros((len(pairs), self.n_classes))
        for row, pair in enumerate(pairs):
            matrix[row, pair[self.positive]] = 1.0
            matrix[row, pair[1 - self.positive]] = -1.0
        return matrix / (self.n_classes - 1)

    def __call__(self, pairs: Any) -> Floats:
        """Return the outputs of the classes from those of the pairs, shape (n_rows, n_classes)."""
        means: Floats = np.asarray(pairs) @ self.weights
        return means


def make_pairs(labels: Sequence[Any], positive: int) -> tuple[tuple[str, str], ...]:
    """Return the pairs of classes, each with the class first that positive values push towards."""
    pairs = combinations(map(str, labels), 2)
    return tuple((pair[positive], pair[1 - positive]) for pair in pairs)


def check_choice(outputs: object, choices: Sequence[str], model: Any) -> None:
    """Refuse what is not a choice of outputs, and any choice where the model has none."""
    if outputs is None:
        return
    title = type(model).__name__
    if isinstance(outputs, str) and outputs in choices:
        return
    if choices and not set(choices) <= set(OUTPUTS):
        names = ", ".join(map(repr, choices))
        raise ValueError(f"this {title} has the objectives {names}; got outputs={brief(outputs)}.")
    if not isinstance(outputs, str) or outputs not in OUTPUTS:
        raise ValueError(f"outputs must be 'classes', 'ovo' or 'log-odds', got {brief(outputs)}.")
    if outputs == LOG_ODDS:
        raise ValueError(
            f"this {title} has no probabilities whose log-odds are affine in a kernel expansion, "
            "so outputs='log-odds' is not supported; binary classifiers calibrated by a sigmoid "
            "have them, such as CalibratedClassifierCV(SVC(), ensemble=False), and logistic "
            "regression. Leave out outputs= to explain the decision function."
        )
    raise ValueError(
        f"this {title} has no choice of outputs, so outputs={outputs!r} is not supported; SVC, "
        "NuSVC, OneVsOneClassifier and GaussianProcessClassifier(multi_class='one_vs_one') have "
        "one, with three or more classes. Leave out outputs=."
    )


def describe_output(explanation: Explanation) -> str | None:
    """Return what the outputs are and what their signs say, in one sentence; None if unknown."""
    kind, classes = explanation.output_kind, explanation.output_classes
    if kind is None or classes is None:
        return None
    if len(classes) == 1:
        [(yes, no)] = classes
        other = f"towards {no}" if no is not None else "away from it"
        return f"{kind}: positive values push towards {yes}, negative ones {other}"
    if all(no is not None for _, no in classes):
        return f"{kind}: positive values push towards the class named first"
    return f"{kind}: positive values push towards the class, negative ones away from it"


def count_disagreements(explanation: Explanation) -> int:
    """Return how many rows have their largest output in another class than the predicted one."""
    largest = largest_output_class(explanation)
    return 0 if largest is None else sum(label is not None for label in largest)


def describe_disagreement(count: int, total: int) -> str:
    """Return that some rows have their largest output in another class than the predicted one."""
    return (
        f"in {count} of {total} rows the largest output is another class than the predicted one, "
        "which the model chooses by another rule, such as votes of pairs"
    )


def largest_output_class(explanation: Explanation) -> NDArray[Any] | None:
    """Return, for each row, the class of the largest output where it is not the predicted one.

    None where there is no largest output to speak of: not all classes are there, or outputs are not
    classes; an entry is None where the two agree.
    """
    classes, labels = explanation.output_classes, explanation.classes
    predicted = explanation.predicted_class
    if classes is None or labels is None or predicted is None or explanation.predictions.ndim == 1:
        return None
    if tuple(yes for yes, _ in classes) != labels or any(no is not None for _, no in classes):
        return None
    if not {str(label) for label in predicted} <= set(labels):  # several labels at once, or none
        return None
    largest = [labels[place] for place in explanation.predictions.argmax(axis=1)]
    pairs = zip(largest, predicted, strict=True)
    return np.array([a if a != str(b) else None for a, b in pairs], dtype=object)


def to_probabilities(classes: Classes | None) -> Callable[[Floats], Floats] | None:
    """Return the function from outputs to probabilities; None where there is no known one.

    That of log-odds is a sigmoid, that of mean log-odds of each class against each other a softmax.
    """
    if classes is None:
        return None
    if classes.output_kind == LOG_ODDS and len(classes.output_classes) == 1:
        return _sigmoid
    return _softmax if classes.output_kind.startswith(f"mean {LOG_ODDS} of each class") else None


def _sigmoid(outputs: Floats) -> Floats:
    from scipy.special import expit  # here, as SciPy is slow to import

    probabilities: Floats = expit(outputs)
    return probabilities


def _softmax(outputs: Floats) -> Floats:
    """Return the probabilities whose mean log-odds against the other classes are the outputs.

    With k classes these are ``(k f_c - sum_b f_b) / (k - 1)``, a constant away from
    ``f_c k / (k - 1)``.
    """
    from scipy.special import softmax

    k = outputs.shape[-1]
    probabilities: Floats = softmax(outputs * ((k - 1) / k), axis=-1)
    return probabilities
