"""From a problem to the `Interactions` of rows; sums are made in `pkex.games.interactions`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.explain.interaction_spread import check_spread, spread_of_interactions
from pkex.explain.problem import PreparedRows, Problem, warn_of_noise
from pkex.explain.unsupported import refuse_conditional, refuse_hierarchy
from pkex.games.functionals import INDICES
from pkex.games.interactions import Recipe
from pkex.games.interactions.reductions import InteractionSums, sum_interactions
from pkex.games.interactions.request import (
    check_request,
    check_room,
    list_indices,
    make_recipe,
    parse_subsets,
    result_arrays,
)
from pkex.models.products import as_products
from pkex.results.interactions import Interactions

__all__ = ["explain_interactions", "shap_interaction_values"]


_NO_PAIRS = "pkex has conditional values of features, not of pairs"
_DEFAULTS = {"SV": "k-SII", "BV": "BII"}  # of an explainer's index


def explain_interactions(
    problem: Problem,
    X: Any,
    index: str | None,
    max_order: int,
    subsets: Iterable[Any] | None,
    return_std: bool,
    n_jobs: int | None,
    progress: bool,
) -> Interactions:
    """See `Explainer.interactions`."""
    refuse_conditional(problem, "interactions", _NO_PAIRS)
    refuse_hierarchy(problem, "interactions")
    default = _DEFAULTS.get(problem.semivalue.index)
    if index is None and default is None:
        raise ValueError(
            f"the explainer computes {problem.semivalue.index} values, which have no interaction "
            f"index: choose one, e.g. interactions(X, index='k-SII'). Supported: {list_indices()}."
        )
    prepared = problem.prepare(X)
    about = problem.about_rows(prepared.rows)
    names = about.feature_names
    chosen = None if subsets is None else parse_subsets(subsets, names)
    index, max_order = check_request(index or default, max_order, chosen)
    general = problem.removal != "neutral"
    recipe = make_recipe(index, max_order, len(names), general, problem.tol, chosen)
    if return_std:
        check_spread(problem, recipe)
    by_part = _sum_parts(problem, recipe, prepared, n_jobs, progress)
    sums = reduce(add, by_part)
    residual = _check(problem, sums, sums, prepared)
    base_value = problem.base_value
    arrays = result_arrays(sums, chosen, base_value.ndim > 0)
    base = np.full((len(sums.totals), *base_value.shape), base_value)
    fitted = arrays.pop("fitted")
    if return_std:
        arrays |= spread_of_interactions(problem, recipe, prepared, by_part, n_jobs, progress)
    if fitted is not None:
        base = fitted + problem.intercept
    return Interactions(
        replace(about, index=index, efficient=INDICES[index].efficient),
        max_order,
        base,
        sums.totals.reshape(base.shape) + problem.intercept,
        residual,
        **arrays,
        data=prepared.data,
        error_bound=(sums.error + problem.intercept_error).reshape(base.shape),
        rules=sums.rules,
        row_index=prepared.labels,
    )


def shap_interaction_values(problem: Problem, X: Any, n_jobs: int | None, progress: bool) -> Floats:
    """See `Explainer.shap_interaction_values`."""
    refuse_conditional(problem, "interactions", _NO_PAIRS)
    refuse_hierarchy(problem, "shap_interaction_values")
    index, n_features = problem.semivalue.index, len(problem.feature_groups)
    if index != "SV":
        raise ValueError(
            f"shap's interaction values split Shapley values, but the explainer computes {index} "
            f"values; leave out index={index!r}, or use interactions(X)."
        )
    general = problem.removal != "neutral"
    recipe = make_recipe("SII", 2, n_features, general, problem.tol)
    prepared = problem.prepare(X)
    sums = reduce(add, _sum_parts(problem, recipe, prepared, n_jobs, progress))
    # Shapley values are k-SII of order 1, which add up
    single = Recipe(INDICES["k-SII"], 1, n_features, general)
    _check(problem, sums, replace(sums, recipe=single, pairs=None), prepared)
    assert sums.pairs is not None
    values = 0.5 * sums.pairs
    every = np.arange(n_features)
    values[:, every, every] = sums.main - values.sum(axis=2)
    return values if problem.base_value.ndim else values[..., 0]


def _sum_parts(
    problem: Problem, recipe: Recipe, prepared: PreparedRows, n_jobs: int | None, progress: bool
) -> list[InteractionSums]:
    """Return the sums over each part of a model."""
    check_room(recipe, len(prepared.parts[0]), problem.expansion.n_outputs)
    sums = []
    for points, part, x in zip(problem.games, problem.expansion.parts, prepared.parts, strict=True):
        games = as_products(points, part)
        sums.append(sum_interactions(games, x, recipe, n_jobs=n_jobs, progress=progress))
    return sums


def _check(
    problem: Problem, sums: InteractionSums, additive: InteractionSums, prepared: PreparedRows
) -> float:
    """Return what `additive` sums miss the prediction by; raise, or warn, as for values of rows."""
    bases = np.sum([games.bases for games in problem.games], axis=0)
    residual = additive.check(bases, "prediction minus base value")
    warn_of_noise(problem.noise, sums.sizes, residual, None, prepared)
    problem.check_predictions(prepared.rows, sums.totals)
    return residual
