"""Readers of Ax: a client, and the adapters in which it keeps its models.

A `TorchAdapter` transforms parameters and outcomes, and has a process of BoTorch in between.
Parameters are explained as the user has them; the transforms of them are asked for by what they do
to rows, and every column behind them must come from one parameter. Outcomes must be transformed by
an affine map, such as StandardizeY, since values add up to what the model predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from ax.core.observation import Observation, ObservationData, ObservationFeatures
from ax.core.parameter import FixedParameter

from pkex._util.types import Floats
from pkex._util.words import join_names
from pkex.errors import UnsupportedModelError
from pkex.models.sums import combine_outputs
from pkex.readers import Given, Reading, read
from pkex.readers.encoded import encode_inputs, table_of
from pkex.readers.reading import Chain, check_agreement, check_task, refuse_given

__all__ = ["read_client", "read_other_adapter", "read_torch_adapter"]


def read_client(model: Any, given: Given) -> Reading:
    """Client: the adapter that its generation strategy fitted last."""
    strategy = getattr(model, "_maybe_generation_strategy", None)
    adapter = None if strategy is None else strategy.adapter
    if adapter is None or type(adapter).__name__ != "TorchAdapter":
        raise UnsupportedModelError(
            "this Client has no model yet, as its trials so far were not proposed by one: run more "
            "trials with get_next_trials until it is past its initial trials."
        )
    return read(adapter, given)


def read_other_adapter(model: Any, given: Given) -> Reading:
    """Adapter is refused, but for TorchAdapter: others have no model of BoTorch."""
    del given
    raise UnsupportedModelError(
        f"this {type(model).__name__} has no model of BoTorch, so it cannot be explained; "
        "TorchAdapter is supported, as Ax has it after its initial trials."
    )


def read_torch_adapter(model: Any, given: Given) -> Reading:
    """TorchAdapter: the posterior means of its metrics, in the parameters of the search space."""
    refuse_given(given, model)
    check_task(given.task, (), model)
    surrogate = getattr(model.generator, "surrogate", None)
    if surrogate is None:
        raise UnsupportedModelError(
            f"the generator of this TorchAdapter is a {type(model.generator).__name__}, which has "
            "no model of BoTorch; BoTorchGenerator is supported."
        )
    inner = read(surrogate.model)
    metrics = tuple(surrogate.outcomes)
    parameters = {
        name: parameter
        for name, parameter in model.model_space.parameters.items()
        if not isinstance(parameter, FixedParameter)
    }
    names = tuple(parameters)
    encode = _ModelSpace(
        tuple(model.transforms.values()), tuple(model.parameters), model.model_space, names
    )
    every = [dict(arm) for arm in _arms(model)]
    slopes, shifts = np.transpose([_outcome_map(model, metric, every) for metric in metrics])
    arms = every[:5]
    chosen = [metrics.index(given.outputs)] if given.outputs in metrics else range(len(metrics))
    weights = np.diag(slopes)[:, list(chosen)]
    outputs = [metrics[k] for k in chosen] if len(chosen) > 1 else None
    expansion = combine_outputs(inner.expansion, weights, outputs, shifts[list(chosen)])
    expansion = encode_inputs(expansion, encode, names, _origins(model, names))
    predict = Chain(Chain(encode, inner.predict), _InMetricUnits(weights, shifts[list(chosen)]))
    means, _ = model.predict([ObservationFeatures(dict(arm)) for arm in arms])
    theirs = np.transpose([means[metrics[k]] for k in chosen])
    ours = expansion.predict(table_of(_rows(arms, names), names))
    check_agreement(expansion, ours, theirs, inner.tol)
    return Reading(expansion, predict, inner.tol, choices=metrics, notes=inner.notes)


@dataclass(frozen=True, eq=False)
class _ModelSpace:
    """Rows as the model of an adapter sees them; a function that can be pickled."""

    transforms: tuple[Any, ...]
    columns: tuple[str, ...]
    space: Any
    names: tuple[str, ...]

    def __call__(self, X: Any) -> Floats:
        parameters = self.space.parameters
        fixed = {name: each.value for name, each in parameters.items() if name not in self.names}
        features = []
        for row in table_of(X, self.names).to_dict("records"):
            values = {name: parameters[name].cast(value) for name, value in row.items()}
            features.append(ObservationFeatures(fixed | values))
        for transform in self.transforms:
            features = transform.transform_observation_features(features)
        return np.array([[float(f.parameters[c]) for c in self.columns] for f in features])


@dataclass(frozen=True, eq=False)
class _InMetricUnits:
    """Predictions in the units of metrics."""

    weights: Floats
    shifts: Floats

    def __call__(self, values: Floats) -> Floats:
        scaled: Floats = values @ self.weights + self.shifts
        return scaled


def _arms(model: Any) -> list[Any]:
    """Return the parameters of the arms that the adapter was fitted to."""
    frame = model.get_training_data().arm_data
    columns = [name for name in frame.columns if name in model.model_space.parameters]
    arms: list[Any] = frame[columns].to_dict("records")
    return arms


def _rows(arms: Sequence[dict[str, Any]], names: Sequence[str]) -> Any:
    rows = np.empty((len(arms), len(names)), dtype=object)
    rows[:] = [[arm[name] for name in names] for arm in arms]
    return rows


def _origins(model: Any, names: tuple[str, ...]) -> list[int]:
    """Return the parameter that each column of the model is made from."""
    origin = {name: number for number, name in enumerate(names)}
    for transform in model.transforms.values():
        if type(transform).__name__ == "OneHot":
            for name, columns in transform.encoded_parameters.items():
                origin |= dict.fromkeys(columns, origin[name])
    unknown = [column for column in model.parameters if column not in origin]
    if unknown:
        raise UnsupportedModelError(
            f"the transforms of this TorchAdapter make columns ({join_names(unknown)}) that are "
            "not parameters of the search space, so they cannot be explained as parameters. "
            "Explain its model: adapter.generator.surrogate.model."
        )
    return [origin[column] for column in model.parameters]


def _outcome_map(model: Any, metric: str, arms: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Return slope and shift of a metric behind the transforms of outcomes.

    They are applied to a few values without variance, for the first arm, and for the others to two:
    some transforms, such as StratifiedStandardizeY, depend on the arm.
    """
    probes = np.array([0.0, 1.0, -1.5, 3.0])
    outcomes = _untransformed(model, metric, arms[0], probes)
    shift, slope = outcomes[0], outcomes[1] - outcomes[0]
    gaps = np.abs(shift + slope * probes - outcomes)
    atol = 1e-9 * (abs(shift) + abs(slope))
    if not gaps.max() <= atol:
        raise UnsupportedModelError(
            f"the transforms of the metric {metric!r} by this TorchAdapter are not affine "
            f"({join_names(list(model.transforms))}), so values cannot add up to its predictions. "
            "StandardizeY is affine. Explain its model in its own units: "
            "adapter.generator.surrogate.model."
        )
    for arm in arms[1:]:
        if not np.abs(_untransformed(model, metric, arm, probes[:2]) - outcomes[:2]).max() <= atol:
            raise UnsupportedModelError(
                f"the transforms of the metric {metric!r} by this TorchAdapter differ from arm to "
                f"arm ({join_names(list(model.transforms))}), so values cannot add up to its "
                "predictions. StandardizeY is the same for all arms. Explain its model in its own "
                "units: adapter.generator.surrogate.model."
            )
    return slope, shift


def _untransformed(model: Any, metric: str, arm: dict[str, Any], values: Floats) -> Floats:
    """Return what the transforms make of values that the model predicts for an arm."""
    transforms = list(model.transforms.values())
    [features] = [ObservationFeatures(dict(arm))]
    for transform in transforms:
        [features] = transform.transform_observation_features([deepcopy(features)])
    outcomes = []
    for value in values:
        data = ObservationData([metric], np.array([value]), np.zeros((1, 1)))
        observations = [Observation(deepcopy(features), data)]
        for transform in reversed(transforms):
            observations = transform.untransform_observations(observations)
        outcomes.append(float(observations[0].data.means[0]))
    return np.array(outcomes)
