"""What the outputs of a classifier say about its classes.

A machine that tells two classes apart has one function, and its sign decides. For k classes there
are three kinds of outputs:

- *pairs*: one function f_ab for each pair of classes, as support vector machines are trained;
- *classes*: for each class c the mean of its k - 1 pair functions, with the sign that speaks for c,

      f_c = (1 / (k - 1)) * sum over b of f_cb,    f_bc = -f_cb,

  which is a linear map of the pairs: a kernel expansion again, exact and additive;
- one function for each class *against the rest*, where a model has such.

Where a model turns its decision function f into probabilities by a sigmoid of an affine function of
f, *log-odds* are that affine function: an expansion again, while probabilities are none.

The class that a model predicts is its own affair. A support vector machine counts how many pair
functions speak for a class, and the largest f_c need not have the most votes.
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
    "apart",
    "check_choice",
    "elsewhere",
    "meaning",
    "pairs_of",
]


CHOICES = ("classes", "pairs")  # of a model that decides between pairs of classes
LOG_ODDS = "log-odds"
OUTPUTS = (*CHOICES, LOG_ODDS)


@dataclass(frozen=True, eq=False)
class Classes:
    """What the outputs of a classifier mean, and which class it predicts.

    Attributes
    ----------
    labels : tuple of str
        The classes.
    sides : tuple of (str, str or None)
        For each output the class that a positive value speaks for, and the one that a negative
        value speaks for, or None where that is all the others.
    number : str
        What the values of a row add up to, e.g. "decision function".
    predict : callable, optional
        Takes rows as the model does and returns the class that it predicts for each.

    Examples
    --------
    >>> from pkex.readers import read
    >>> from sklearn.svm import SVC
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> classes = read(model).classes
    >>> classes.number, classes.sides
    ('decision function', (('yes', 'no'),))
    >>> classes.predict([[2.5]])
    array(['yes'], dtype='<U3')
    """

    labels: tuple[str, ...]
    sides: tuple[tuple[str, str | None], ...]
    number: str
    predict: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """The linear map from pair functions to classes; a function that can be pickled.

    Attributes
    ----------
    n_classes : int
        The pairs (i, j) come in the order of `itertools.combinations`.
    positive : {0, 1}
        Which class of a pair its positive values speak for.

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


def pairs_of(labels: Sequence[Any], positive: int) -> tuple[tuple[str, str], ...]:
    """Return the pairs of classes, each with the class first that positive values speak for."""
    pairs = combinations(map(str, labels), 2)
    return tuple((pair[positive], pair[1 - positive]) for pair in pairs)


def check_choice(outputs: object, choices: Sequence[str], model: Any) -> None:
    """Refuse what is no choice of outputs, and any choice where the model has none."""
    if outputs is None:
        return
    title = type(model).__name__
    if not isinstance(outputs, str) or outputs not in OUTPUTS:
        raise ValueError(f"outputs must be 'classes', 'pairs' or 'log-odds', got {brief(outputs)}.")
    if outputs in choices:
        return
    if outputs == LOG_ODDS:
        raise ValueError(
            f"this {title} has no probabilities whose log-odds are affine in a kernel expansion, "
            "so outputs='log-odds' does not go with it; binary classifiers calibrated by a sigmoid "
            "have them, such as CalibratedClassifierCV(SVC(), ensemble=False), and logistic "
            "regression. Leave outputs= out to explain what decides between the classes."
        )
    raise ValueError(
        f"this {title} has no choice of outputs, so outputs={outputs!r} does not go with it; SVC, "
        "NuSVC, OneVsOneClassifier and GaussianProcessClassifier(multi_class='one_vs_one') have "
        "one, with three classes or more. Leave outputs= out."
    )


def meaning(explanation: Explanation) -> str | None:
    """Return what the outputs are and what their signs say, in one sentence; None if unknown."""
    number, sides = explanation.number, explanation.sides
    if number is None or sides is None:
        return None
    if len(sides) == 1:
        [(yes, no)] = sides
        other = f"negative ones for {no}" if no is not None else "negative ones against it"
        return f"{number}: positive values speak for {yes}, {other}"
    if all(no is not None for _, no in sides):
        return f"{number}: positive values speak for the class named first"
    return f"{number}: positive values speak for the class, negative ones against it"


def apart(count: int, total: int) -> str:
    """Return that some rows have their largest output in another class than the predicted one."""
    return (
        f"in {count} of {total} rows the largest output is another class than the predicted one, "
        "which the model chooses in its own way, such as by votes of pairs"
    )


def elsewhere(explanation: Explanation) -> NDArray[Any] | None:
    """Return, for each row, the class of the largest output where it is not the predicted one.

    None where there is no largest output to speak of: not all classes are there, or outputs are no
    classes; an entry is None where the two agree.
    """
    sides, labels = explanation.sides, explanation.classes
    predicted = explanation.predicted
    if sides is None or labels is None or predicted is None or explanation.predictions.ndim == 1:
        return None
    if tuple(yes for yes, _ in sides) != labels or any(no is not None for _, no in sides):
        return None
    if not {str(label) for label in predicted} <= set(labels):  # several labels at once, or none
        return None
    largest = [labels[place] for place in explanation.predictions.argmax(axis=1)]
    pairs = zip(largest, predicted, strict=True)
    return np.array([a if a != str(b) else None for a, b in pairs], dtype=object)
