"""How uncertain the interaction values of a Gaussian process are.

They are linear in the function that is explained, as Shapley values are, so their variances are
``c0 - v' A^-1 v`` with the prior variance c0 of `pkex.games.interactions.prior` and the interaction
values v of the functions ``k(., x_i)``, which the sums of interactions have for weights of 0 and 1.
A mixture has the mean of the variances of its samples and the variance of their interaction values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats
from pkex.explain.posterior import check_digits, check_posteriors
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.sample_means import SampleMeans
from pkex.games.blas import single_blas
from pkex.games.engine import run_reduction
from pkex.games.interactions import Recipe
from pkex.games.interactions.prior import InteractionPrior
from pkex.games.interactions.reductions import InteractionSums, sum_interactions
from pkex.games.points import WeightedPoints
from pkex.models.posterior import Posterior
from pkex.models.products import as_products

__all__ = ["check_spread", "spread_of_interactions"]

_VALUES = 2**22  # of subsets and points that are held at once


def check_spread(problem: Problem, recipe: Recipe) -> None:
    """Raise where the standard deviations of an index are not supported."""
    check_posteriors(problem, "return_std")
    if recipe.subsets is None and recipe.most > 2:
        raise ValueError(
            "return_std supports main effects and pairs, not max_order=3; choose triples one by "
            "one, as in subsets=[('a', 'b', 'c')] with index='SII'."
        )
    if recipe.has_derivatives:
        raise ValueError(
            f"return_std does not support {recipe.index.name} with max_order={recipe.most}, as its "
            "values for small subsets depend on all larger ones. Use index='SII', or 'k-SII' with "
            "max_order=2."
        )


def spread_of_interactions(
    problem: Problem,
    recipe: Recipe,
    prepared: PreparedRows,
    by_part: Sequence[InteractionSums],
    n_jobs: int | None,
    progress: bool,
) -> dict[str, Any]:
    """Return the fields `main_std`, `pairs_std` and `values_std` of an `Interactions`.

    `by_part` has the interactions of each part of the model.
    """
    total, off = np.zeros(1), np.zeros(1)
    means = SampleMeans()
    for games, part, rows, sums in zip(
        problem.games, problem.expansion.parts, prepared.parts, by_part, strict=True
    ):
        posterior = part.posterior
        assert posterior is not None  # `check_spread` has seen to it
        means.add(posterior, _values(sums))
        points = as_products(games, part)
        prior = InteractionPrior(points, rows, recipe)
        with single_blas():
            variances, error = run_reduction(prior, n_jobs=n_jobs, progress=progress)
        error = error + _subtract_explained(points, posterior, rows, recipe, variances, n_jobs)
        total = total + variances[..., None] * posterior.scales
        off = off + error[:, None] * posterior.scales
    between = np.asarray(means.covariance(full=False))
    total = total + (between.reshape(total.shape) if between.ndim else between)
    largest = total.max(axis=tuple(range(1, total.ndim - 1)), initial=0.0)
    check_digits("standard deviations of the interactions", largest, off)
    std = np.sqrt(np.maximum(total, 0.0))
    std = std if problem.base_value.ndim else std[..., 0]
    if recipe.subsets is not None:
        return {"values_std": std}
    main, every = np.einsum("rjj...->rj...", std).copy(), np.arange(recipe.n_players)
    std[:, every, every] = 0.0
    return {"main_std": main, "pairs_std": std}


def _subtract_explained(
    points: WeightedPoints,
    posterior: Posterior,
    rows: Floats,
    recipe: Recipe,
    variances: Floats,
    n_jobs: int | None,
) -> Floats:
    """Subtract ``v' A^-1 v`` in place; return what rounding may cost a variance of each row."""
    n_points, n_players = len(points.z), recipe.n_players
    single = points.with_weights(np.eye(n_points))
    upper = np.triu_indices(n_players)
    cost = np.empty(len(rows))
    step = max(1, _VALUES // (n_points * int(np.prod(variances.shape[1:]))))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        sums = sum_interactions(single, rows[some], recipe, n_jobs=n_jobs)
        values = _values(sums)
        if recipe.subsets is None:
            values = values.reshape(len(values), n_players, n_players, n_points)[:, *upper]
        flat = values.reshape(-1, n_points).T
        white = posterior.whiten(flat)
        explained = (white * posterior.weigh(white)).sum(axis=0).reshape(values.shape[:2])
        rounding = posterior.bound_rounding(white).reshape(values.shape[:2])
        axes = tuple(range(1, variances.ndim))
        cost[some] = UNIT * (variances[some].max(axis=axes) + rounding.max(axis=1))
        if recipe.subsets is None:
            matrix = np.zeros(variances[some].shape)
            matrix[:, *upper] = explained
            matrix[:, upper[1], upper[0]] = explained
            explained = matrix
        variances[some] -= explained
    return cost


def _values(sums: InteractionSums) -> Floats:
    """Return the values, (rows, subsets, sets); of all pairs with the main effects among them."""
    if sums.recipe.subsets is not None:
        return sums.chosen
    assert sums.pairs is not None  # of two features at least, which `check_request` has seen to
    table, every = sums.pairs.copy(), np.arange(sums.recipe.n_players)
    table[:, every, every] = sums.main
    return table.reshape(len(table), -1, table.shape[-1])
