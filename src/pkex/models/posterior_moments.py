"""Numbers of the posterior of one expansion: what training points explain of its covariances.

`pkex.explain.posterior` adds them up over the parts of a model.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.progress import show_progress
from pkex._util.types import Floats
from pkex.games.atoms import Atoms, diagonal_factors
from pkex.games.averages import AveragedAtoms
from pkex.games.blas import single_blas
from pkex.games.blocks import balance, even_step, rectangle
from pkex.games.coalitions import CoalitionForm
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.quadratic import QuadraticGame, explain_diagonal, pairs_of, tiles_of
from pkex.games.sums import GameSums
from pkex.games.threads import run_in_order
from pkex.kernels.normal_form import bound_gap
from pkex.models.expansion import KernelExpansion
from pkex.models.posterior import Posterior
from pkex.models.products import MIXTURE_ERROR, as_products

__all__ = [
    "blocks_of_rows",
    "count_work",
    "explain_latent_variance",
    "find_inverse_norms",
    "has_few_coalitions",
    "shortest_products",
    "subtract_explained",
]

_MIXTURES = (10.0 * MIXTURE_ERROR, MIXTURE_ERROR)
_ACCURACY = 1e-5  # of the prior variance: an error bound for which the shorter sum is taken
_PAIRS = 2**18  # values of pairs held at once, which are a step of a progress bar
_WORK = 2**19  # such values, with each background row, that make a block: about a millisecond
_ROWS = 4  # of a block at least, as they are solved together


def subtract_explained(
    points: WeightedPoints,
    posterior: Posterior,
    rows: Floats,
    prior: Floats,
    n_jobs: int | None,
    progress: bool,
) -> Floats:
    """Subtract ``V' A^-1 V`` from the prior in place; return what rounding may cost a variance.

    See `Posterior.bound_rounding` for the latter; a core is between the two halves of ``A^-1``.
    """
    blocks = blocks_of_rows(points, len(rows))
    cost = np.empty(len(rows))
    explain = partial(_explain_block, points, posterior, rows, prior.ndim == 3)
    with single_blas():
        work = run_in_order(explain, blocks, n_jobs)
        if progress:
            work = show_progress(work, [some.stop - some.start for some in blocks], len(rows))
        for some, (explained, rounding) in zip(blocks, work, strict=True):
            variances = prior[some]
            if prior.ndim == 3:
                variances = np.diagonal(variances, axis1=1, axis2=2)
            cost[some] = UNIT * (variances.max(axis=1, initial=0.0) + rounding)
            prior[some] -= explained
    return cost


def blocks_of_rows(points: WeightedPoints, n_rows: int) -> list[slice]:
    """Return blocks of rows whose values of pairs are found at once."""
    of_row, background = points.plan.n_players * len(points.z), points.background
    step = balance(n_rows, _PAIRS // of_row)
    if background is not None and not background.marginal:
        step = min(step, max(_ROWS, _WORK // (of_row * len(background.rows))))
    return [some for some, _ in rectangle(n_rows, 1, even_step(n_rows, step))]


def _explain_block(
    points: WeightedPoints, posterior: Posterior, rows: Floats, full: bool, some: slice
) -> tuple[Floats, Floats]:
    """Return ``V' A^-1 V`` of some rows, or its diagonal, and the largest bound of its rounding."""
    values = points.pair_values(rows[some])  # (features, rows, points)
    n_features, count, n_points = values.shape
    white = posterior.whiten(values.reshape(-1, n_points).T)
    rounding = posterior.bound_rounding(white).reshape(n_features, count).max(axis=0, initial=0.0)
    weighed = posterior.weigh(white)
    if not full:
        return (white * weighed).sum(axis=0).reshape(n_features, count).T, rounding
    left, right = (
        np.moveaxis(each.reshape(n_points, n_features, count), 2, 0) for each in (white, weighed)
    )
    return left.transpose(0, 2, 1) @ right, rounding


def explain_latent_variance(
    points: WeightedPoints,
    posterior: Posterior,
    rows: Floats,
    **options: Any,
) -> tuple[GameSums, QuadraticGame | CoalitionForm, float]:
    """Return the values of the variance of the latent function, in the units of the kernel.

    The variance at a row h is ``k(h, h) - k_h' (K + noise)^-1 k_h``: the worth of the kernel of a
    row with itself, minus a quadratic form, which is returned as well. Totals and bases lack the
    part of ``k(h, h)`` that is the same for all rows, which comes last.
    """
    background = points.background
    assert background is not None
    atoms = Atoms(points.plan, points.z)
    inverse = posterior.inverse()
    form: QuadraticGame | CoalitionForm
    with single_blas():
        if has_few_coalitions(points, rows):
            form = CoalitionForm(atoms, inverse, as_column_major(rows), background)
        else:
            averaged = AveragedAtoms.suit(atoms, background)
            n_jobs = options.get("n_jobs", 1)
            averages = AveragedAtoms(atoms, background, n_jobs) if averaged else None
            form = QuadraticGame(atoms, inverse, as_column_major(rows), background, averages)
        explained: GameSums = run_reduction(form, **options)
    diagonal, constant = explain_diagonal(points.plan, as_column_major(rows), background)
    return explained.scaled(-1.0) + diagonal, form, constant


def has_few_coalitions(points: WeightedPoints, rows: Floats) -> bool:
    """Return whether the variance at rows is found for all coalitions one by one."""
    assert points.background is not None
    return CoalitionForm.suit(Atoms(points.plan, points.z), rows, points.background)


def count_work(points: WeightedPoints, rows: Floats) -> float:
    """Return how much the forecast of a variance counts, as the form that is taken does."""
    assert points.background is not None
    atoms, n_rows = Atoms(points.plan, points.z), len(rows)
    if has_few_coalitions(points, rows):
        return float(n_rows * len(points.background.rows) * atoms.count)
    return float(n_rows * sum(map(pairs_of, tiles_of(points.plan.n_players, atoms.count))))


def shortest_products(
    points: WeightedPoints, part: KernelExpansion, rows: Floats
) -> tuple[WeightedPoints, float]:
    """Return the games as sums of products, of the fewest that are close enough, and their error.

    That is what a value of the variance may be off by. Where coalitions are taken one by one, the
    number of products matters little, and the games have all.
    """
    posterior = part.posterior
    assert posterior is not None
    for tol in _MIXTURES:
        games = as_products(points, part, tol)
        error, prior = _bound_mixture_error(games, posterior, rows)
        if error <= _ACCURACY * prior:
            break
    if has_few_coalitions(games, rows):
        games = as_products(points, part)
        error, _ = _bound_mixture_error(games, posterior, rows)
    return games, error


def _bound_mixture_error(
    points: WeightedPoints, posterior: Posterior, rows: Floats
) -> tuple[float, float]:
    """Return what a value of the variance is off by where a kernel is a sum up to an error eps.

    The largest prior variance comes with it; both in the units of the kernel.

    Kernel values that are off by eps move ``k' A^-1 k`` by at most ``2 eps |A^-1 k|_1 + n eps^2
    |A^-1|``, and ``|A^-1 k|_1 <= sqrt(n) |L^-1| |L^-1 k| <= sqrt(n |A^-1| k(h, h))``, as a variance
    is not negative. A core C multiplies both by at most ``|C|``. A value is a mean of differences
    of two such numbers, where h has entries of a row and of rows of the background.
    """
    plan, z = points.plan, points.z
    terms = [*plan.terms, *(single.term for single in plan.singles)]
    if not any(term.error for term in terms):
        return 0.0, 0.0
    assert points.background is not None
    mixed = np.concatenate([points.background.rows, rows])
    prior = sum(
        abs(term.coefficient)
        * float(np.abs(diagonal_factors(term, plan.players, mixed).values).max(axis=1).prod())
        for term in terms
    )
    eps, of_rows = bound_gap(terms, mixed, z), bound_gap(terms, mixed)
    core = 1.0 if posterior.core is None else float(np.linalg.norm(posterior.core, 2))
    spread = eps * math.sqrt(len(z) * posterior.inverse_norm * prior)
    squares = len(z) * eps * eps * posterior.inverse_norm
    return 2.0 * (of_rows + core * (2.0 * spread + squares)), prior


def find_inverse_norms(points: WeightedPoints, posterior: Posterior, rows: Floats) -> Floats:
    """Return what rounding may move ``k_x' A^-1 k_x`` by; see `Posterior.bound_rounding`."""
    norms = np.empty(len(rows))
    terms = [*points.plan.terms, *(single.term for single in points.plan.singles)]
    step = max(1, _PAIRS // points.z.size)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        kernel = sum(term.worth(rows[some], points.z) for term in terms)
        norms[some] = posterior.bound_rounding(posterior.whiten(np.asarray(kernel).T))
    return norms
