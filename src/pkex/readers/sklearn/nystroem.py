"""A Nystroem step and the linear model behind it: together a kernel expansion over the landmarks.

Nystroem maps a row to ``phi(x) = N k(x)``, where k(x) are its kernel values with the landmarks and
N the normalisation. Behind it a linear model, perhaps after steps that are affine, is

    f(x) = w phi(x) + b = sum_i (N' w)_i k(x, x_i) + b,

an expansion in the columns in front of Nystroem. Landmarks are rows of the training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkex._util.sparse import to_dense
from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.kernels import Linear
from pkex.models.expansion import KernelExpansion
from pkex.readers import Given, Reading, read
from pkex.readers.reading import Chain, check_reading
from pkex.readers.sklearn.columns import refuse_changed
from pkex.readers.sklearn.models import pairwise, read_with_digits
from pkex.readers.sklearn.plain import check_fitted, copy_without_names

__all__ = ["read_landmarks"]


# what may stand between Nystroem and the linear model
_AFFINE = {"MaxAbsScaler", "MinMaxScaler", "PCA", "RobustScaler", "StandardScaler", "TruncatedSVD"}


@dataclass(frozen=True, eq=False)
class _Mapped:
    """Nystroem and the affine steps behind it, on plain arrays; a function that can be pickled."""

    steps: tuple[Any, ...]

    def __call__(self, X: Any) -> Floats:
        rows = to_dense(X)
        for step in self.steps:
            rows = to_dense(step.transform(rows))
        return rows


def read_landmarks(steps: Sequence[Any], final: Any, given: Given) -> tuple[int, Reading] | None:
    """Return the place of Nystroem among the steps of a pipeline, and the reading from there on.

    None where there is none, or the steps and the model behind it are not affine.
    """
    places = [place for place, step in enumerate(steps) if _is(step, {"Nystroem"})]
    if not places or not all(_is_affine(step) for step in steps[places[-1] + 1 :]):
        return None
    step = steps[places[-1]]
    check_fitted(step, "normalization_")
    inner = read(final, Given(outputs=given.outputs))
    parts = inner.expansion.parts
    if any(part.kernel != Linear() or part.preparation is not None for part in parts):
        return None
    weights = np.sum([part.points.T @ part.alpha for part in parts], axis=0)
    intercepts = np.sum([part.intercepts for part in parts], axis=0)
    after = tuple(copy_without_names(each) for each in steps[places[-1] :])
    zero, slope = _affine(after[1:], step.components_.shape[0])
    if step.kernel == "precomputed":
        raise UnsupportedModelError(
            "Nystroem(kernel='precomputed') stores rows of a kernel matrix, not landmarks. Use "
            "the kernel itself, e.g. Nystroem(kernel='rbf')."
        )
    parameters = step.kernel_params or {}
    gamma = parameters.get("gamma") if step.gamma is None else step.gamma
    kernel, points = pairwise(step, step.kernel, gamma, step.components_, given)
    f = KernelExpansion(
        points,
        to_dense(step.normalization_).T @ (slope @ weights),
        kernel,
        zero @ weights + intercepts,
        getattr(step, "feature_names_in_", None),
        inner.expansion.output_names,
        background="landmarks",
    )
    mapped = _Mapped(after)
    reading = read_with_digits(step, f, Chain(mapped, inner.predict))
    classes = inner.classes
    if classes is not None and classes.predict is not None:
        classes = replace(classes, predict=Chain(mapped, classes.predict))
    tol = max(reading.tol, inner.tol)
    return places[-1], check_reading(
        replace(reading, tol=tol, classes=classes, choices=inner.choices)
    )


def _affine(steps: Sequence[Any], width: int) -> tuple[Floats, Floats]:
    """Return what the steps make of 0, and of the directions from there."""
    mapped = _Mapped(tuple(steps))(np.concatenate([np.zeros((1, width)), np.eye(width)]))
    return mapped[0], mapped[1:] - mapped[0]


def _is_affine(step: Any) -> bool:
    return _is(step, _AFFINE) and not getattr(step, "clip", False)


def _is(step: Any, titles: set[str]) -> bool:
    cls = type(step)
    # somebody else's class of the same name may do anything
    if cls.__module__.partition(".")[0] != "sklearn" or cls.__name__ not in titles:
        return False
    refuse_changed(step)
    return True
