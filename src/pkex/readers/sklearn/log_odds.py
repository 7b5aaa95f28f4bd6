"""Log-odds: the affine functions of a decision function that a sigmoid makes probabilities of.

A probability is not a sum of kernels, so that no values can add up to it, but

    P(class 1 | x) = 1 / (1 + exp(-(a f(x) + b)))

has the log-odds ``log(P / (1 - P)) = a f(x) + b``, which is a kernel expansion where f is one. For
k classes a softmax of ``a f_c(x)`` has the log-odds ``a (f_c - f_b)`` of two classes; as for the
pairs of support vector machines, a class is explained by their mean over the other classes,

    (1 / (k - 1)) sum over b of log(P_c / P_b) = a (k f_c - sum over b of f_b) / (k - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.models.classes import LOG_ODDS, Classes
from pkex.models.sums import combine_outputs
from pkex.readers.reading import Chain, Given, Reading

__all__ = ["read_binary", "read_platt_scaled", "read_softmax"]


@dataclass(frozen=True, eq=False)
class _Affine:
    """``outputs @ weights + shift``; a function that can be pickled."""

    weights: Floats
    shift: float

    def __call__(self, outputs: Any) -> Floats:
        array = np.asarray(outputs, dtype=np.float64)
        mapped: Floats = array.reshape(len(array), -1) @ self.weights + self.shift
        return mapped


def read_binary(reading: Reading, slope: float, shift: float) -> Reading:
    """Return the reading of two classes with the log-odds ``slope * f + shift``."""
    assert reading.classes is not None
    names = reading.expansion.output_names
    classes = replace(reading.classes, output_kind=LOG_ODDS)
    return _map_reading(reading, np.array([[slope]]), shift, names or (), classes)


def read_softmax(reading: Reading, slope: float) -> Reading:
    """Return the reading of k classes whose probabilities are a softmax of ``slope * f_c``."""
    assert reading.classes is not None
    names = reading.classes.labels
    k = len(names)
    weights = slope * (k * np.eye(k) - 1.0) / (k - 1)
    classes = replace(
        reading.classes,
        output_classes=tuple((name, None) for name in names),
        output_kind=f"mean {LOG_ODDS} of each class against each other class",
    )
    return _map_reading(reading, weights, 0.0, names, classes)


def read_platt_scaled(model: Any, reading: Reading, given: Given) -> Reading:
    """Return the reading of a binary support vector machine that may have probabilities.

    libsvm fits ``1 / (1 + exp(A g + B))`` to the classes, with its own sign of the decision
    function g, -f. That is the sigmoid whose log-odds are explained; `predict_proba` finds it again
    by an iteration that stops at 0.0025, and keeps 1e-7 off 0 and 1.
    """
    slopes = getattr(model, "_probA", np.empty(0))
    if not np.size(slopes):
        return reading
    if given.outputs == LOG_ODDS:
        return read_binary(reading, -float(slopes[0]), float(model._probB[0]))
    assert reading.classes is not None
    kind = f"{reading.classes.output_kind}, not the {LOG_ODDS}, which outputs='{LOG_ODDS}' explains"
    return replace(reading, classes=replace(reading.classes, output_kind=kind), choices=(LOG_ODDS,))


def _map_reading(
    reading: Reading, weights: Floats, shift: float, names: Sequence[str], classes: Classes
) -> Reading:
    return replace(
        reading,
        expansion=combine_outputs(reading.expansion, weights, names, shift),
        predict=Chain(reading.predict, _Affine(weights, shift)),
        classes=classes,
        choices=(LOG_ODDS,),
    )
