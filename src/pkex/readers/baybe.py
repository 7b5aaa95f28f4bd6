"""Readers of BayBE: campaigns and the surrogates that they fit.

A surrogate is a process of BoTorch over the *computational* columns of the search space. A campaign
has one for each target. Explained are the parameters in the units of the user, and every output has
the name of its target. A target that is transformed is explained as transformed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.models.sums import stack
from pkex.readers import Given, Reading, read
from pkex.readers.encoded import encode_inputs, table_of
from pkex.readers.reading import Chain, check_agreement, check_task, refuse_given

__all__ = [
    "read_campaign",
    "read_composite_surrogate",
    "read_gaussian_surrogate",
    "read_other_surrogate",
]


def read_campaign(model: Any, given: Given) -> Reading:
    """Campaign: the surrogate of each target, in the parameters of the search space."""
    if not len(model.measurements):
        raise UnsupportedModelError(
            "this Campaign has no measurements, so it cannot be explained: call add_measurements "
            "first."
        )
    try:
        surrogate = model.get_surrogate()
    except Exception as error:  # its classes are BayBE's
        raise UnsupportedModelError(
            f"this Campaign has no surrogate ({error}). Explain one whose recommender is Bayesian, "
            "such as BotorchRecommender, and which has an objective."
        ) from error
    return read(surrogate, given)


def read_gaussian_surrogate(model: Any, given: Given) -> Reading:
    """GaussianProcessSurrogate: the posterior mean of its process."""
    _check_fitted(model._searchspace, model)
    return _read_targets(model, [model], given)


def read_composite_surrogate(model: Any, given: Given) -> Reading:
    """CompositeSurrogate: the posterior means of its surrogates, one for each target."""
    _check_fitted(model._modeled_quantity_names, model)
    surrogates = list(model._surrogates_flat)
    for surrogate in surrogates:
        if type(surrogate).__name__ != "GaussianProcessSurrogate":
            raise _not_gaussian(surrogate)
        if surrogate._searchspace != surrogates[0]._searchspace:
            raise UnsupportedModelError(
                "the surrogates of this CompositeSurrogate have different search spaces. Explain "
                "them one by one."
            )
    return _read_targets(model, surrogates, given)


def read_other_surrogate(model: Any, given: Given) -> Reading:
    """Surrogate is refused, but for the Gaussian process: others are not kernel expansions."""
    del given
    raise _not_gaussian(model)


def _not_gaussian(surrogate: Any) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the surrogate {type(surrogate).__name__} of BayBE is not supported, as its predictions "
        "are not sums of kernels; GaussianProcessSurrogate is. Use that, or a sampling explainer "
        "such as shap.KernelExplainer."
    )


def _check_fitted(fact: Any, model: Any) -> None:
    if fact is None:
        raise UnsupportedModelError(
            f"this {type(model).__name__} is not fitted, so it cannot be explained: call fit "
            "first, or pass the Campaign."
        )


def _read_targets(model: Any, surrogates: list[Any], given: Given) -> Reading:
    refuse_given(given, model)
    check_task(given.task, (), model)
    names = tuple(name for each in surrogates for name in each._objective._modeled_quantity_names)
    chosen = [names.index(given.outputs)] if given.outputs in names else range(len(names))
    space = surrogates[0]._searchspace
    readings = [read(surrogates[place].to_botorch()) for place in chosen]
    expansion = readings[0].expansion
    if len(readings) > 1:
        outputs = [names[place] for place in chosen]
        expansion = stack([each.expansion for each in readings], outputs)
    parameters = tuple(space.parameter_names)
    origins = np.empty(len(space.comp_rep_columns), dtype=int)
    for number, name in enumerate(parameters):
        origins[list(space.get_comp_rep_parameter_indices(name))] = number
    encode = _SearchSpace(space, parameters)
    expansion = encode_inputs(expansion, encode, parameters, origins.tolist())
    predict = Chain(encode, _SideBySide(tuple(each.predict for each in readings)))
    tol = max(each.tol for each in readings)
    rows = surrogates[0]._measurements[list(parameters)].iloc[:5]
    means = [surrogates[place].posterior(rows).mean for place in chosen]
    theirs = np.concatenate([mean.detach().numpy() for mean in means], axis=1)
    ours = expansion.predict(rows)
    check_agreement(expansion, ours, theirs, tol)
    notes = tuple(dict.fromkeys(note for each in readings for note in each.notes))
    return Reading(expansion, predict, tol, choices=names, notes=notes)


@dataclass(frozen=True, eq=False)
class _SearchSpace:
    """Rows in the computational columns of a search space; a function that can be pickled."""

    space: Any
    names: tuple[str, ...]

    def __call__(self, X: Any) -> Floats:
        table = self.space.transform(table_of(X, self.names), allow_missing=False)
        return np.asarray(table[list(self.space.comp_rep_columns)], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _SideBySide:
    """The predictions of several functions as columns."""

    functions: tuple[Any, ...]

    def __call__(self, X: Any) -> Floats:
        return np.concatenate([np.reshape(f(X), (len(X), -1)) for f in self.functions], axis=1)
