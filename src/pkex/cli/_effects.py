"""``pkex effects``: partial dependence, ICE and ALE of a model from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pkex
from pkex.cli._input_facts import table_facts
from pkex.cli._loaded_model import LoadedModel
from pkex.cli._options import EffectsOptions, FileOptions, Output, split_names
from pkex.cli._sensitivity_facts import SensitivityInputs
from pkex.cli._session import Session
from pkex.cli._summary import EffectFacts, EffectsResult
from pkex.output.terminal import LINES, draw
from pkex.output.view.effects import effects as effects_view

__all__ = ["effects"]


def effects(options: EffectsOptions, reading: FileOptions, output: Output) -> int:
    """Compute the curves, write and print the result, and return the exit code."""
    dialect, session = reading.dialect(), Session(**vars(output))
    with session.noting_warnings():
        model = LoadedModel(options, dialect)
        table = model.read_table(options.data, session)
        with model.explaining_errors():
            explainer = pkex.Explainer(
                model.model,
                model.take_rows(table),
                groups=model.groups(table),
                outputs=options.outputs,
                n_jobs=options.n_jobs,
            )
            known = explainer.feature_names
            if model.names is None and len(known) == len(table.names):
                known = tuple(table.names)
            result = explainer.effects(
                _features(options.features, known),
                kind=options.kind,
                grid_resolution=options.grid_resolution,
                return_std=options.std,
            )
        result = _with_names(result, known)
    inputs = SensitivityInputs(model=model.facts, data=table_facts(table))
    grid = draw(effects_view(result, LINES), len(result.output_names) or 1, "--out has all")
    shown = result if result.average is not None else _add_averages(result)
    details = model.details(Table=options.data)
    session.finish(
        "effects", inputs, _facts(result), shown.to_frame(), grid, result, details=details
    )
    return 0


def _features(text: str | None, known: tuple[str, ...]) -> list[Any] | None:
    """Return the numbers of the features of an option, with pairs such as bmi&s5."""
    if text is None:
        return None
    chosen: list[Any] = []
    for name in split_names(text):
        parts = [name] if name in known else [part.strip() for part in name.split("&")]
        unknown = [part for part in parts if part not in known]
        if unknown:
            raise ValueError(
                f"--features names {unknown[0]!r}; the features are {', '.join(known)}."
            )
        numbers = [known.index(part) for part in parts]
        chosen.append(numbers[0] if len(numbers) == 1 else tuple(numbers))
    return chosen


def _with_names(result: pkex.Effects, known: tuple[str, ...]) -> pkex.Effects:
    """Return the result of a model without names in those of the table."""
    if known == result.feature_names:
        return result
    names = dict(zip(result.feature_names, known, strict=True))
    features = tuple(tuple(names[name] for name in each) for each in result.features)
    return replace(result.with_names(known, known), features=features)


def _add_averages(result: pkex.Effects) -> pkex.Effects:
    """Return individual curves with their means, which the file of values has."""
    assert result.individual is not None
    means = [(each.T @ result.weights).T for each in result.individual]
    return replace(result, average=tuple(means), kind="both")


def _facts(result: pkex.Effects) -> EffectsResult:
    """Return the result as the summary has it."""
    curves = result.individual if result.average is None else result.average
    assert curves is not None
    h = result.h_statistic().reshape(len(result), -1)
    facts = []
    for k, names in enumerate(result.features):
        axis = tuple(range(curves[k].ndim - result.mean.ndim))
        low, high = (end(axis=axis).reshape(-1) for end in (curves[k].min, curves[k].max))
        facts.append(
            EffectFacts(
                features=list(names),
                lowest=low.tolist(),
                highest=high.tolist(),
                h_squared=h[k].tolist(),
            )
        )
    return EffectsResult(
        kind=result.kind,
        background_info=str(result.background_info),
        outputs=list(result.output_names),
        effects=facts,
    )
