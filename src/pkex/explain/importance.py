"""Mean absolute values over rows, with draws from the posterior of a Gaussian process.

The values of a feature in several rows are correlated under the posterior, and so are the terms of
their mean: a draw needs the values of all rows at once. In rows r and s they have the covariance

    C0[r, s] - V_r' A^-1 V_s,

in the words of `pkex.games.covariance`. Each feature has a matrix over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.progress import Forecast
from pkex._util.random import RandomState, as_generator
from pkex._util.sparse import is_sparse
from pkex._util.types import Floats, Indices
from pkex._util.validation import brief, is_index
from pkex._util.words import format_duration, pluralise
from pkex.errors import PerformanceWarning
from pkex.explain.posterior import check_digits, check_posteriors
from pkex.explain.posterior_draws import divide_draws
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.unsupported import refuse_hierarchy
from pkex.explain.values import explain_rows
from pkex.games.blas import single_blas
from pkex.games.covariance import JointCovariance
from pkex.games.engine import run_reduction
from pkex.games.hierarchy import Hierarchy
from pkex.games.points import WeightedPoints
from pkex.games.threads import run_in_order
from pkex.models.posterior import Posterior
from pkex.models.posterior_moments import blocks_of_rows
from pkex.models.products import as_products
from pkex.readers.reading import warn_user
from pkex.results.importance import Importance

__all__ = ["explain_importance", "joint_covariances"]

_DRAWS = 256  # what their 90 % interval holds of the posterior has a standard error of 2 %
_WORTH = 2**24  # multiplications for which threads are started: a few milliseconds
_OF_ROOT = 8  # such multiplications that a root takes, times the cube of the rows
_ROOM = 2**30  # bytes of covariances, or of values of pairs, that are held


def explain_importance(
    problem: Problem,
    X: Any,
    n_draws: int | None,
    random_state: RandomState,
    n_jobs: int | None,
    progress: bool,
) -> Importance:
    """See `Explainer.importance`."""
    if n_draws is None:
        n_draws = _DRAWS if _has_draws(problem) else 0
    if not is_index(n_draws) or n_draws < 0:
        raise ValueError(f"n_draws must be 0, a positive integer or None, got {brief(n_draws)}.")
    generator = as_generator(random_state)
    if n_draws:
        asked = f"n_draws={n_draws}"
        check_posteriors(problem, asked)
        refuse_hierarchy(problem, asked)
        X = X.toarray() if is_sparse(X) else X
        prepared = problem.prepare(X)
        _check_room(problem, len(prepared.parts[0]), int(n_draws))
    explanation = explain_rows(problem, X, n_jobs=n_jobs, progress=progress)
    importance: Importance = explanation.importance()
    if not n_draws:
        return importance
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    means = explanation.values
    draws = _draw_means(problem, prepared, means, int(n_draws), generator, **options)
    draws = draws.reshape(int(n_draws), *means.shape[1:])
    return replace(importance, has_std=True, draws=draws)


def _has_draws(problem: Problem) -> bool:
    """Return whether the values have a posterior covariance that pkex computes."""
    known = all(part.posterior is not None for part in problem.expansion.parts)
    ordered = isinstance(problem.semivalue, Hierarchy)
    return known and not ordered and problem.removal not in ("neutral", "conditional")


def joint_covariances(
    problem: Problem,
    prepared: PreparedRows,
    chosen: Sequence[int] | None = None,
    *,
    n_jobs: int | None,
    progress: bool,
) -> Floats:
    """Return the posterior covariances of each feature's values in all pairs of rows.

    Of chosen parts of the model, which are independent; by default of all of them.

    Returns
    -------
    array of shape (n_features, n_outputs, n_rows, n_rows)
    """
    expansion, n_rows = problem.expansion, len(prepared.parts[0])
    _check_room(problem, n_rows)
    shape = (len(problem.feature_groups), expansion.n_outputs, n_rows, n_rows)
    total, off = np.zeros(shape), np.zeros((shape[0], shape[1], n_rows))
    uncertain = []
    for number in range(len(expansion.parts)) if chosen is None else chosen:
        games, part, rows = problem.games[number], expansion.parts[number], prepared.parts[number]
        posterior = part.posterior
        assert posterior is not None  # `check_posteriors` has seen to it
        if posterior.scales.any():
            points = as_products(games, part)
            uncertain.append((points, posterior, rows, JointCovariance(points, rows)))
    forecast = _forecast([reduction for *_, reduction in uncertain], n_rows, progress)
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "forecast": forecast}
    for points, posterior, rows, reduction in uncertain:
        with single_blas():
            prior, _ = run_reduction(reduction, **options)
            error = _subtract_explained(points, posterior, rows, prior, n_jobs)
        total += prior[:, None] * posterior.scales[:, None, None]
        off += error[:, None] * posterior.scales[:, None]
    variances = np.einsum("jkrr->jkr", total).max(axis=0, initial=0.0)
    check_digits("covariances of the values", variances, off.max(axis=0, initial=0.0))
    return total


def _subtract_explained(
    points: WeightedPoints, posterior: Posterior, rows: Floats, prior: Floats, n_jobs: int | None
) -> Floats:
    """Subtract ``V' A^-1 V`` in place; return what rounding may cost, shape (features, rows).

    See `pkex.models.posterior_moments.subtract_explained`.
    """
    values = np.empty((len(prior), len(rows), len(points.z)))  # (features, rows, points)
    blocks = blocks_of_rows(points, len(rows))
    parts = run_in_order(points.pair_values, [rows[some] for some in blocks], n_jobs)
    for some, part in zip(blocks, parts, strict=True):
        values[:, some] = part
    cost = np.empty(values.shape[:2])
    jobs = _jobs(values.size * sum(values.shape[1:]), n_jobs)
    every = run_in_order(partial(_explain_feature, posterior), list(values), jobs)
    for covariance, off, (explained, rounding) in zip(prior, cost, every, strict=True):
        off[:] = UNIT * (np.diagonal(covariance) + rounding)
        covariance -= explained
    return cost


def _explain_feature(posterior: Posterior, values: Floats) -> tuple[Floats, Floats]:
    """Return what training points explain of a feature's covariances, and the rounding of it."""
    white = posterior.whiten(values.T)
    explained = white.T @ posterior.weigh(white)
    return 0.5 * (explained + explained.T), posterior.bound_rounding(white)


def _forecast(reductions: list[JointCovariance], n_rows: int, progress: bool) -> Forecast:
    """Return what warns of draws that take long: all pairs of rows with pairs of the background."""
    tasks = [task for reduction in reductions for task in reduction.tasks()]
    work = sum(
        (task.rows.stop - task.rows.start) * (task.points.stop - task.points.start)
        for task in tasks
    )
    bar = "" if progress else " progress=True shows a progress bar."

    def announce(seconds: float) -> None:
        warn_user(
            f"posterior draws that are joint over {pluralise(n_rows, 'row')} will take about "
            f"{format_duration(seconds)}: they need all pairs of rows with all pairs of "
            "background rows. Fewer rows, fewer background rows or "
            f"removal='product-of-marginals' take less; n_draws=0 draws nothing.{bar}",
            PerformanceWarning,
        )

    return Forecast(work, announce)


def _check_room(problem: Problem, n_rows: int, n_draws: int = 0) -> None:
    """Refuse more rows than there is room for."""
    n_features, expansion = len(problem.feature_groups), problem.expansion
    longest = max(len(part.points) for part in expansion.parts)
    most = max(longest, max(n_rows, n_draws) * expansion.n_outputs)
    size = 8 * n_features * n_rows * most
    if size > _ROOM:
        raise ValueError(
            f"draws of {pluralise(n_features, 'feature')} that are joint over "
            f"{pluralise(n_rows, 'row')} would take {size / 2**30:,.1f} GiB, and pkex holds at "
            f"most {_ROOM / 2**30:g} GiB; pass fewer rows, or n_draws=0 for no draws."
        )


def _draw_means(
    problem: Problem,
    prepared: PreparedRows,
    means: Floats,
    n_draws: int,
    generator: np.random.Generator,
    **options: Any,
) -> Floats:
    """Return draws of the mean absolute values, (draws, features, outputs).

    A draw from a mixture is one of a single sample, of which the model has a share: its values
    are times the number of samples, and its covariances those of an average over the samples.
    `means` are the values of the whole model.
    """
    expansion, n_rows = problem.expansion, len(prepared.parts[0])
    values = np.zeros((n_draws, len(problem.feature_groups), expansion.n_outputs, n_rows))
    for numbers, places, count in _processes(problem, n_draws, generator):
        mean: Any = means.reshape(n_rows, values.shape[1], -1)
        if len(numbers) < len(expansion.parts):
            mean = sum(
                problem.games[i].explain(prepared.parts[i], n_jobs=options["n_jobs"]).values
                for i in numbers
            )
        values[places] += count * np.moveaxis(mean, 0, -1)
        cov = joint_covariances(problem, prepared, numbers, **options)
        cov *= count
        of_values = list(cov.reshape(-1, n_rows, n_rows))
        jobs = _jobs(_OF_ROOT * len(of_values) * n_rows**3, options["n_jobs"])
        with single_blas():
            roots = run_in_order(_find_root, of_values, jobs)
            for (j, k), root in zip(np.ndindex(*cov.shape[:2]), roots, strict=True):
                values[places, j, k] += generator.standard_normal((len(places), n_rows)) @ root
    draws: Floats = np.abs(values, out=values).mean(axis=-1)
    return draws


def _processes(
    problem: Problem, n_draws: int, generator: np.random.Generator
) -> Iterator[tuple[list[int], Indices, int]]:
    """Yield the parts of each sample, its draws, and how many samples there are.

    Parts that belong to no mixture are in all draws.
    """
    posteriors = [part.posterior for part in problem.expansion.parts if part.posterior is not None]
    by_process: dict[Any, list[int]] = {}
    for number, posterior in enumerate(posteriors):
        key = None if posterior.mixture is None else (posterior.mixture, posterior.sample)
        by_process.setdefault(key, []).append(number)
    every = divide_draws(posteriors, n_draws, generator)
    for key, numbers in by_process.items():
        if len(every[numbers[0]]):
            yield numbers, every[numbers[0]], 1 if key is None else key[0].n_samples


def _find_root(covariance: Floats) -> Floats:
    """Return the symmetric root of a covariance.

    A covariance of rows that resemble each other is singular up to rounding, so its root is found
    by eigenvalues. The symmetric root is a continuous function of the covariance, so draws of one
    state do not depend on how eigenvectors of nearly equal eigenvalues come out.
    """
    levels, vectors = np.linalg.eigh(covariance)
    root: Floats = (vectors * np.sqrt(np.maximum(levels, 0.0))) @ vectors.T
    return root


def _jobs(work: float, n_jobs: int | None) -> int | None:
    """Return how many jobs suit tasks of BLAS of so many multiplications in all."""
    return n_jobs if work >= _WORTH else 1
