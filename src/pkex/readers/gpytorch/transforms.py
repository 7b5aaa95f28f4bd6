"""What BoTorch does to rows before a model sees them, and to outcomes behind it.

An input transform may be any function of each column by itself: the columns in front of it are
explained, as with a scaler in a pipeline. An outcome transform must be affine, since values add up
to what the model predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.models.transforms.outcome import ChainedOutcomeTransform

from pkex._util.types import Floats
from pkex._util.validation import default_names
from pkex.errors import UnsupportedModelError
from pkex.models.preparation import Preparation, Slopes
from pkex.readers.gpytorch.copies import array, compute_exactly, take_slice, tensor

__all__ = ["explain_logarithms", "outcome_map", "preparation"]


_LOGARITHMS = "Outputs are the natural logarithm of the target, which the model has by its Log"
_BY_COLUMN = {"Normalize", "InputStandardize", "AffineInputTransform", "Round", "Log10", "Warp"}


@dataclass(frozen=True, eq=False)
class _Transformed:
    """The rows of a model of a batch behind its input transform; a function that can be pickled."""

    model: Any
    index: tuple[int, ...]

    def __call__(self, X: Any) -> Floats:
        with compute_exactly():
            transformed = self.model.transform_inputs(tensor(X))
        return take_slice(transformed, self.index, 2)


@dataclass(frozen=True, eq=False)
class _TransformSlopes:
    """The derivatives of the input transform, by automatic differentiation."""

    model: Any
    index: tuple[int, ...]
    origins: tuple[int, ...]

    def __call__(self, X: Any) -> Slopes:
        bent = _bent(self.model.input_transform)
        if "Round" in bent:
            raise UnsupportedModelError(
                "the input transform Round has no derivative; Shapley values need none: "
                "explainer(X)."
            )
        with compute_exactly(), torch.enable_grad():
            rows = tensor(X).requires_grad_()
            transformed = self.model.transform_inputs(rows)
            batch = transformed.shape[:-2]
            places = self.index[len(self.index) - len(batch) :]
            one = tuple(0 if n == 1 else i for n, i in zip(batch, places, strict=True))
            transformed[one].sum().backward()
        return Slopes(array(rows.grad)[:, list(self.origins)], bent)


def _bent(transform: Any) -> tuple[str, ...]:
    """Return the names of the transforms that are not affine."""
    if hasattr(transform, "values"):
        return tuple(name for each in transform.values() for name in _bent(each))
    name = type(transform).__name__
    return (name,) if name in ("Round", "Log10", "Warp") else ()


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
    slopes = _TransformSlopes(model, index, origins)
    return Preparation(_Transformed(model, index), names, origins, slopes=slopes)


def explain_logarithms(working: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a working copy that predicts the logarithm of its target, and a note that says so.

    Where the first of its outcome transforms is a `Log`, that is taken away from the copy; other
    models stay what they are.
    """
    chain = _outcome_chain(working)
    if not chain or not _is_of_botorch(chain[0][1], "Log") or chain[0][1]._outputs is not None:
        return working, ()
    if len(chain) > 1:
        working.outcome_transform = ChainedOutcomeTransform(**dict(chain[1:]))
    else:
        del working.outcome_transform
    return working.eval(), (_LOGARITHMS,)


def _outcome_chain(model: Any) -> list[tuple[str, Any]]:
    """Return the outcome transforms of a model, by name, in the order in which they are applied."""
    transform = getattr(model, "outcome_transform", None)
    if transform is None:
        return []
    return list(transform.items()) if hasattr(transform, "items") else [("first", transform)]


def _is_of_botorch(transform: Any, *names: str) -> bool:
    cls = type(transform)
    return cls.__name__ in names and cls.__module__.startswith("botorch.")


def outcome_map(model: Any, n_outputs: int, X: Any = None) -> tuple[Floats, Floats]:
    """Return slope and shift of each output from the model's units to those of the target.

    Where `X` has a row for each task of a model with one output: those of each task.
    """
    chain = _outcome_chain(model)
    supported = ("Standardize",) if X is None else ("Standardize", "StratifiedStandardize")
    for _, each in chain:
        if not _is_of_botorch(each, *supported):
            raise UnsupportedModelError(
                f"the outcome transform {type(each).__name__} is not affine, so values cannot add "
                "up to its outputs; Standardize is supported, and Log in front of it. Explain a "
                f"model of the transformed target, fitted without {type(each).__name__}, in the "
                "units of that target."
            )
    if X is not None:
        n_outputs = len(X)
    if not chain:
        return np.ones(n_outputs), np.zeros(n_outputs)
    probes = np.stack([np.zeros(n_outputs), np.ones(n_outputs)])
    with compute_exactly():
        if X is None:
            outcomes = array(model.outcome_transform.untransform(tensor(probes))[0])
            outcomes = outcomes.reshape(-1, 2, n_outputs)[0]  # members of an ensemble have the same
        else:
            columns = [tensor(probe[:, None]) for probe in probes]
            several = [model.outcome_transform.untransform(column, X=X)[0] for column in columns]
            outcomes = np.stack([array(column)[:, 0] for column in several])
    return outcomes[1] - outcomes[0], outcomes[0]


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
        f"the input transform {kind} may combine columns, so pkex cannot explain the columns in "
        f"front of it; {', '.join(sorted(_BY_COLUMN))} and FilterFeatures are supported. Apply it "
        "to the rows before the model, and explain its outputs."
    )
