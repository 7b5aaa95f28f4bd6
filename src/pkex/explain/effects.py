"""Effects: how the prediction changes with a feature, on average and for each background row.

`explain_effects` answers `Explainer.effects`: it chooses features and their places, asks
`effect_sums` for the sums, and `effect_bands` for the posterior covariances of the curves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex._util.validation import brief, check_count, is_index
from pkex.errors import UnsupportedModelError
from pkex.explain.effect_background import EffectBackground, effect_background
from pkex.explain.effect_bands import centre_ale, covariances
from pkex.explain.effect_sums import BackgroundSums, Curve, sum_over_background
from pkex.explain.posterior import require_posteriors
from pkex.explain.problem import Problem
from pkex.models.classes import to_probabilities
from pkex.models.grids import column_cells, make_grid, quantile_edges, replace_column
from pkex.results.effects import KINDS, Effects

__all__ = ["explain_effects"]

_MOST = 6  # features by default
_ROUNDING = 1e-13  # of the predictions: a standard deviation below it is nothing
_SOME = 32  # background rows that show how much a partial dependence varies


@dataclass(frozen=True, eq=False)
class _Options:
    """The arguments of a call."""

    kind: str
    resolution: int
    percentiles: tuple[float, float]


def explain_effects(
    problem: Problem,
    features: Any,
    *,
    kind: str,
    grid_resolution: int,
    percentiles: tuple[float, float],
    return_std: bool,
    response_method: str | None,
    n_jobs: int | None,
    progress: bool,
) -> Effects:
    """See `Explainer.effects`."""
    options = _check_options(kind, grid_resolution, percentiles)
    link = _check_response(problem, response_method, kind, return_std)
    if return_std:
        require_posteriors(problem, "return_std")
        if kind == "individual":
            raise ValueError(
                "return_std gives the band of an average curve, which kind='individual' leaves "
                "out; pass kind='both'."
            )
    base = effect_background(problem, n_jobs)
    chosen = _choose(problem, base, features, kind, n_jobs)
    grids, curves = zip(
        *(_make_curve(problem, base, each, options) for each in chosen), strict=True
    )
    sums = sum_over_background(
        base.parts,
        curves,
        base.intercept,
        n_jobs=n_jobs,
        individual=kind in ("individual", "both"),
        link=link,
        progress=progress,
    )
    averages = None if kind == "individual" else _averages(base, curves, sums)
    cov = covariances(problem, base, curves, sums, n_jobs) if return_std else None
    if kind == "ale":
        averages, cov = centre_ale(curves, averages, cov)
    shapes = [curve.shape for curve in curves]
    squeeze = partial(_shape, single=problem.intercept.ndim == 0)
    individual = sums.individual
    return Effects(
        base.about(problem),
        mean=_mean_prediction(base, link, problem.intercept.ndim == 0),
        weights=base.weights,
        kind=kind,
        features=tuple(tuple(problem.feature_names[j] for j in each) for each in chosen),
        grid=tuple(axes[0] if len(axes) == 1 else tuple(axes) for axes in grids),
        average=None if averages is None else squeeze(averages, shapes),
        individual=None if individual is None else squeeze(individual, shapes, rows=True),
        std=None if cov is None else squeeze([each.std for each in cov], shapes),
        cov=None if cov is None else tuple(each.cov_of(problem.intercept.ndim) for each in cov),
        data=tuple(base.cells(problem, each) for each in chosen),
        response="prediction" if link is None else "probability",
        h=partial(_h_statistics, problem, chosen, link, n_jobs),
    )


def _check_options(kind: Any, resolution: Any, percentiles: Any) -> _Options:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {brief(kind)}.")
    resolution = check_count(resolution, "grid_resolution", 2)
    try:
        low, high = (float(each) for each in percentiles)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(
            "percentiles must be two ascending numbers between 0 and 1, such as (0.05, 0.95); got "
            f"{brief(percentiles)}."
        )
    return _Options(kind, int(resolution), (low, high))


def _check_response(problem: Problem, method: Any, kind: str, return_std: bool) -> Any:
    """Return the function from outputs to probabilities, or None where outputs are wanted."""
    if method is None:
        return None
    if method != "predict_proba":
        raise ValueError(
            "response_method must be None, for what the explainer explains, or 'predict_proba'; "
            f"got {brief(method)}."
        )
    link = to_probabilities(problem.model.classes)
    if link is None:
        raise UnsupportedModelError(
            f"the probabilities of this {problem.model.title} are not a known function of what is "
            "explained. Effects on the probability scale need log-odds that are explained: "
            "Explainer(model, ..., outputs='log-odds') of a logistic regression, of an SVM with "
            "Platt's probabilities or of a classifier calibrated by a sigmoid. Those of "
            "GaussianProcessClassifier and of one-vs-rest classes have no such form."
        )
    if kind == "ale" or return_std:
        what = "kind='ale'" if kind == "ale" else "return_std"
        raise ValueError(f"{what} is there for log-odds only; leave response_method out.")
    return link


def _choose(
    problem: Problem, base: EffectBackground, features: Any, kind: str, n_jobs: int | None
) -> list[tuple[int, ...]]:
    """Return the features of each effect, by their numbers."""
    names = problem.feature_names
    if features is None:
        possible = [j for j in range(len(names)) if kind != "ale" or _has_ale(problem, base, j)]
        if not possible:
            raise ValueError(
                "no feature has accumulated local effects: they need a column of numbers with "
                "several values in the background. Use kind='average'."
            )
        return [(j,) for j in _pick_most_varying(base, possible, n_jobs)]
    if isinstance(features, str) or is_index(features):
        features = [features]
    if isinstance(features, tuple) and len(features) == 2:
        features = [features]  # one pair, as scikit-learn reads it as well
    if not isinstance(features, Iterable):
        raise TypeError(
            f"features must be a list of names, numbers and pairs of these, got {brief(features)}."
        )
    chosen: list[tuple[int, ...]] = []
    for entry in features:
        pair = isinstance(entry, tuple | list | np.ndarray)
        members = list(entry) if pair else [entry]
        if not 1 <= len(members) <= 2:
            raise ValueError(
                f"an effect is of one feature or of a pair, got {brief(entry)}. To move more "
                "columns together, make them a group: Explainer(..., groups=...)."
            )
        numbers = tuple(_number(member, names) for member in members)
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"a pair is of two different features, got {brief(entry)}.")
        chosen.append(numbers)
    if not chosen:
        raise ValueError("features is empty; name at least one, or leave it out.")
    return chosen


def _number(member: Any, names: tuple[str, ...]) -> int:
    [places] = select(member, [Axis("feature", len(names), names)])
    if len(places) != 1:
        raise IndexError(f"features must be names or numbers of features, got {brief(member)}.")
    return int(places[0])


def _has_ale(problem: Problem, base: EffectBackground, feature: int) -> bool:
    """Return whether a feature is one column of numbers with several values."""
    columns = problem.feature_groups[feature]
    if len(columns) > 1 or columns[0] in base.categorical:
        return False
    cells = column_cells(base.table, columns[0])
    return cells.dtype != object and len(np.unique(cells[~np.isnan(cells)])) > 1


def _pick_most_varying(
    base: EffectBackground, features: Sequence[int], n_jobs: int | None
) -> list[int]:
    """Return the features whose partial dependence varies most over some background rows."""
    rows = np.unique(np.linspace(0, base.n_rows - 1, min(base.n_rows, _SOME)).astype(np.intp))
    places = [part.rows[rows] for part in base.parts]
    shares, shape = base.weights[None, :], (len(rows),)
    curves = [Curve((j,), places, shares, shape) for j in features]
    sums = sum_over_background(base.parts, curves, base.intercept, n_jobs=n_jobs)
    spread = [np.std(each, axis=0).max() for each in _averages(base, curves, sums)]
    return [features[k] for k in np.argsort(-np.array(spread), kind="stable")[:_MOST]]


def _make_curve(
    problem: Problem, base: EffectBackground, chosen: tuple[int, ...], options: _Options
) -> tuple[list[NDArray[Any]], Curve]:
    """Return the places of a feature or pair along each axis, and the curve through them."""
    if options.kind == "ale":
        return _make_ale(problem, base, chosen, options)
    axes, places = [], []
    for j in chosen:
        columns, name = problem.feature_groups[j], problem.feature_names[j]
        if len(columns) > 1:  # a group: joint values that occur
            count = min(base.n_rows, options.resolution)
            rows = np.unique(np.linspace(0, base.n_rows - 1, count).astype(np.intp))
            axes.append(base.cells(problem, (j,))[rows])
            places.append([part.rows[rows] for part in base.parts])
            continue
        cells = column_cells(base.table, columns[0])
        categorical = columns[0] in base.categorical
        size, ends = options.resolution, options.percentiles
        axes.append(make_grid(cells, size, ends, name, categorical=categorical))
        places.append(_prepare(problem, base, columns[0], axes[-1]))
    shares, shape = base.weights[None, :], tuple(map(len, axes))
    if len(chosen) == 1:
        return axes, Curve(chosen, places[0], shares, shape)
    joint = []
    for k, part in enumerate(base.parts):
        first, second = places[0][k], places[1][k]
        table = np.repeat(first, len(second), axis=0)
        moved = part.columns[chosen[1]]
        table[:, moved] = np.tile(second[:, moved], (len(first), 1))
        joint.append(table)
    return axes, Curve(chosen, joint, shares, shape)


def _prepare(
    problem: Problem, base: EffectBackground, column: int, cells: NDArray[Any]
) -> list[Floats]:
    """Return the cells of a column as the kernel of each part sees them."""
    table = replace_column(base.table, column, cells)
    return [part.prepare(table, "the grid") for part in problem.expansion.parts]


def _make_ale(
    problem: Problem, base: EffectBackground, chosen: tuple[int, ...], options: _Options
) -> tuple[list[NDArray[Any]], Curve]:
    name = " & ".join(problem.feature_names[j] for j in chosen)
    if len(chosen) > 1 or len(problem.feature_groups[chosen[0]]) > 1:
        raise ValueError(
            f"accumulated local effects are of one column, but {name!r} has several; use "
            "kind='average'."
        )
    column = problem.feature_groups[chosen[0]][0]
    cells = column_cells(base.table, column)
    if cells.dtype == object or column in base.categorical:
        raise ValueError(
            f"the column {name!r} holds categories, which have no order to accumulate along; use "
            "kind='average'."
        )
    edges = quantile_edges(cells, options.resolution, options.percentiles, name)
    interval = np.maximum(np.searchsorted(edges, cells, side="left") - 1, 0)
    inside = (cells >= edges[0]) & (cells <= edges[-1])
    shares = np.zeros((len(edges) - 1, base.n_rows))
    rows = np.flatnonzero(inside)
    shares[interval[rows], rows] = base.weights[rows]
    counts = shares.sum(axis=1)
    shares /= counts[:, None]
    places = _prepare(problem, base, column, edges)
    return [edges], Curve(chosen, places, shares, (len(edges),), counts / counts.sum())


def _averages(
    base: EffectBackground, curves: Sequence[Curve], sums: BackgroundSums
) -> list[Floats]:
    """Return the mean curves, (places, outputs); of ALE the mean differences."""
    if sums.linked is not None:
        return sums.linked
    averages = []
    for number, curve in enumerate(curves):
        count = len(curve.places[0]) - curve.local
        total = np.zeros((count, base.intercept.size))
        for k, part in enumerate(base.parts):
            total += part.average(curve, sums.means[k][number], k)
        averages.append(total if curve.local else total + base.intercept)
    return averages


def _mean_prediction(base: EffectBackground, link: Any, single: bool) -> Floats:
    """Return the mean over the background of what is shown."""
    values = base.predictions if link is None else link(base.predictions)
    mean = base.weights @ values
    return np.asarray(mean[0] if single else mean)


def _shape(
    arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], *, single: bool, rows: bool = False
) -> tuple[Floats, ...]:
    """Return arrays with an axis for each axis of the grid, and none for a single output."""
    shaped = []
    for array, shape in zip(arrays, shapes, strict=True):
        full = array.reshape(*(array.shape[:1] if rows else ()), *shape, array.shape[-1])
        shaped.append(full[..., 0] if single else full)
    return tuple(shaped)


def _h_statistics(
    problem: Problem, chosen: Sequence[tuple[int, ...]], link: Any, n_jobs: int | None
) -> Floats:
    """Return Friedman's H squared of each feature or pair at the background rows.

    It is that of a function of the outputs where curves are of one, as of probabilities.

    That of a feature j is the fraction of the variance of the prediction that is not a sum of a
    function of j and one of all others; that of a pair is the fraction of the variance of its joint
    partial dependence that is not a sum of a function of each.
    """
    base = effect_background(problem, n_jobs)
    places = [part.rows for part in base.parts]
    single = sorted({j for each in chosen for j in each})
    sets = [*((j,) for j in single), *(each for each in chosen if len(each) == 2)]
    shares, shape = base.weights[None, :], (base.n_rows,)
    curves = [Curve(features, places, shares, shape) for features in sets]
    options: dict[str, Any] = {"n_jobs": n_jobs, "across": base.weights, "link": link}
    sums = sum_over_background(base.parts, curves, base.intercept, **options)
    assert sums.crossed is not None
    weights = base.weights
    effects = dict(zip(sets, _averages(base, curves, sums), strict=True))
    others = dict(zip(sets, sums.crossed, strict=True))
    centred = {key: each - weights @ each for key, each in effects.items()}
    predictions = base.predictions if link is None else link(base.predictions)
    whole = predictions - weights @ predictions
    statistics = []
    for each in chosen:
        if len(each) == 1:
            other = others[each] - weights @ others[each]
            joint, left = whole, whole - centred[each] - other
        else:
            joint = centred[each]
            left = joint - centred[each[:1]] - centred[each[1:]]
        variance = weights @ joint**2
        rounding = _ROUNDING * np.abs(predictions).max(axis=0)
        varies = variance > rounding**2  # the fraction of a rounding error has no meaning
        statistics.append((weights @ left**2) / np.where(varies, variance, np.nan))
    result = np.array(statistics)
    return result[:, 0] if problem.intercept.ndim == 0 else result
