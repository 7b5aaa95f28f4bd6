"""What BoTorch does to rows before a model sees them, and to outcomes behind it.

An input transform may be any function of each column by itself: the columns in front of it are
explained, as with a scaler in a pipeline. An outcome transform must be affine, since values add up
to what the model predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import default_names
from pkex.errors import UnsupportedModelError
from pkex.models.preparation import Preparation
from pkex.readers.gpytorch.copies import array, exactly, slice_of, tensor

__all__ = ["outcome_map", "preparation"]


_BY_COLUMN = {"Normalize", "InputStandardize", "AffineInputTransform", "Round", "Log10", "Warp"}


@dataclass(frozen=True, eq=False)
class _Transformed:
    """The rows of a model of a batch behind its input transform; a function that can be pickled."""

    model: Any
    index: tuple[int, ...]

    def __call__(self, X: Any) -> Floats:
        with exactly():
            found = self.model.transform_inputs(tensor(X))
        return slice_of(found, self.index, 2)


def preparation(model: Any, n_columns: int, index: tuple[int, ...]) -> Preparation | None:
    """Return what the model does to rows, each column by itself; None where it does nothing.

    The model's points have `n_columns` columns behind the transform.
    """
    if getattr(model, "input_transform", None) is None:
        return None
    inputs = getattr(model, "_original_train_inputs", None)
    n_columns = n_columns if inputs is None else inputs[0].shape[-1]
    origins = _origins(model.input_transform, tuple(range(n_columns)))
    names = default_names("x", n_columns)
    return Preparation(_Transformed(model, index), names, origins)


def outcome_map(model: Any, n_outputs: int) -> tuple[Floats, Floats]:
    """Return slope and shift of each output from the model's units to those of the target."""
    transform = getattr(model, "outcome_transform", None)
    if transform is None:
        return np.ones(n_outputs), np.zeros(n_outputs)
    chain = list(transform.values()) if hasattr(transform, "values") else [transform]
    for each in chain:
        if type(each).__name__ != "Standardize":
            raise UnsupportedModelError(
                f"the outcome transform {type(each).__name__} is not affine, and values cannot add "
                "up to what it makes of a kernel expansion. Explain a model of the transformed "
                f"target, fitted without {type(each).__name__}, in its units; Standardize is read."
            )
    probes = np.stack([np.zeros(n_outputs), np.ones(n_outputs)])
    with exactly():
        found = array(transform.untransform(tensor(probes))[0])
    found = found.reshape(2, n_outputs)
    return found[1] - found[0], found[0]


def _origins(transform: Any, columns: tuple[int, ...]) -> tuple[int, ...]:
    """Return the input column of every column that comes out of a transform."""
    kind = type(transform).__name__
    ours = type(transform).__module__.startswith("botorch.")
    if ours and kind == "ChainedInputTransform":
        for each in transform.values():
            columns = _origins(each, columns)
        return columns
    if ours and kind == "FilterFeatures":
        return tuple(columns[int(place)] for place in transform.feature_indices)
    if ours and kind in _BY_COLUMN and not getattr(transform, "categorical_features", None):
        return columns
    raise UnsupportedModelError(
        f"the input transform {kind} is not known to treat columns one by one, so that the columns "
        f"in front of it cannot be told apart; {', '.join(sorted(_BY_COLUMN))} and FilterFeatures "
        "do. Apply it to the rows before the model, and explain what comes out of it."
    )
