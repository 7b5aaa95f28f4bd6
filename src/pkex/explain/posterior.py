"""How uncertain the values of a Gaussian process are, and where its variance comes from.

Both are asked of a problem through an `Explainer`: ``explainer(X, return_std=True)`` and
``explainer.explain_variance(X)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.progress import Forecast
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import LATENT, PREDICTIVE, format_duration, pluralise
from pkex.errors import PerformanceWarning, PrecisionWarning, UnsupportedModelError
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.sample_means import SampleMeans
from pkex.explain.sample_variance import SampleVariance, explain_sample_variance
from pkex.explain.unsupported import refuse_conditional
from pkex.games.accumulator import Accumulator
from pkex.games.blas import single_blas
from pkex.games.covariance import PriorCovariance
from pkex.games.engine import run_reduction
from pkex.games.points import WeightedPoints
from pkex.games.sums import sort_rules
from pkex.models.expansion import KernelExpansion
from pkex.models.noise import FEW_DIGITS
from pkex.models.posterior import Posterior
from pkex.models.posterior_moments import (
    count_work,
    explain_latent_variance,
    find_inverse_norms,
    has_few_coalitions,
    shortest_products,
    subtract_explained,
)
from pkex.models.products import as_products
from pkex.readers.reading import warn_user
from pkex.results.explanation import Explanation

__all__ = [
    "check_digits",
    "check_posteriors",
    "explain_variance",
    "require_posteriors",
    "spread_of_values",
]

Part = tuple[WeightedPoints, KernelExpansion, Floats]


def require_posteriors(problem: Problem, asked: str) -> None:
    """Raise where what was `asked` for needs a posterior that a model does not have."""
    if any(part.posterior is None for part in problem.expansion.parts):
        raise UnsupportedModelError(
            f"{asked} needs the posterior of a Gaussian process, which this model does not have. "
            "Gaussian processes of scikit-learn, GPyTorch and BoTorch have one; for a custom model "
            "pass KernelExpansion(..., posterior=pkex.Posterior(cholesky))."
        )


def check_posteriors(problem: Problem, asked: str) -> None:
    """Raise where what was `asked` for has no meaning for a model or a kind of removal."""
    require_posteriors(problem, asked)
    refuse_conditional(problem, asked, "pkex has no formula for covariances of conditional means")
    if problem.removal == "neutral":
        raise ValueError(
            f"{asked} does not support neutral removal: neutral values are not a function of the "
            "model's predictions, so the posterior does not determine their uncertainty. Leave "
            "out removal='neutral', or pass a background."
        )


def spread_of_values(
    problem: Problem, prepared: PreparedRows, *, full: bool, n_jobs: int | None, progress: bool
) -> dict[str, Floats | None]:
    """Return the posterior standard deviations of the values of some rows, and covariances.

    Parameters
    ----------
    problem : Problem
        Its parts are independent processes, whose covariances add up, or samples of mixtures.
    prepared : PreparedRows
    full : bool
        Whether the covariances are wanted as well.
    n_jobs : int or None
    progress : bool
    """
    total: Any = 0.0
    error: Any = 0.0
    for games, part, rows in _uncertain_parts(problem, prepared):
        points, posterior = as_products(games, part), _posterior(part)
        prior = PriorCovariance(points, rows, full=full)
        with single_blas():
            moments, off = run_reduction(prior, n_jobs=n_jobs, progress=progress)
        off = off + subtract_explained(points, posterior, rows, moments, n_jobs, progress)
        total = total + moments[..., None] * posterior.scales
        error = error + off[:, None] * posterior.scales
    total = total + _spread_of_means(problem, prepared, full, n_jobs)
    variances = np.einsum("rjj...->rj...", total) if full else total
    check_digits("standard deviations of the values", variances.max(axis=1, initial=0.0), error)
    if problem.base_value.ndim == 0:
        total, variances = total[..., 0], variances[..., 0]
    return {"std": np.sqrt(np.maximum(variances, 0.0)), "cov": total if full else None}


def _spread_of_means(
    problem: Problem, prepared: PreparedRows, full: bool, n_jobs: int | None
) -> Floats | float:
    """Return the covariances of the values of the samples of all mixtures, or variances."""
    means = SampleMeans()
    for games, part, rows in zip(
        problem.games, problem.expansion.parts, prepared.parts, strict=True
    ):
        if _posterior(part).mixture is not None:
            means.add(part.posterior, games.explain(rows, n_jobs=n_jobs).values)
    return means.covariance(full=full)


def explain_variance(
    problem: Problem, X: Any, observation_noise: bool | None, n_jobs: int | None, progress: bool
) -> Explanation:
    """Return the explanation of `Explainer.explain_variance`."""
    if not isinstance(observation_noise, bool | np.bool_ | None):
        raise TypeError(
            f"observation_noise must be None, True or False, got {brief(observation_noise)}."
        )
    check_posteriors(problem, "explain_variance")
    prepared = problem.prepare(X)
    noise = None if observation_noise is None else bool(observation_noise)
    parts = _uncertain_parts(problem, prepared)
    levels = [_noise(_posterior(part), noise) for _, part, _ in parts]
    noisy = any(level > 0.0 for level in levels) if noise is None else noise
    between = [
        explain_sample_variance(problem, prepared, mixture, n_jobs, progress)
        for mixture in dict.fromkeys(_posterior(part).mixture for part in problem.expansion.parts)
        if mixture is not None
    ]
    arrays, facts = _sum_variances(parts, levels, between, n_jobs, progress)
    if problem.base_value.ndim == 0:
        arrays = {name: array[..., 0] for name, array in arrays.items()}
    return Explanation(
        replace(problem.about_rows(prepared.rows), quantity=PREDICTIVE if noisy else LATENT),
        data=prepared.data,
        row_index=prepared.labels,
        **arrays,
        **facts,
    )


def _sum_variances(
    parts: Sequence[Part],
    levels: Sequence[float],
    between: Sequence[SampleVariance],
    n_jobs: int | None,
    progress: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and facts of the explanation of a variance, with noise of some levels.

    The samples of mixtures have that of their means `between` them. Arrays have an axis of outputs.
    """
    sums = Accumulator()
    residual, digits, efficient = 0.0, math.inf, True
    games, missed = zip(*(shortest_products(*part) for part in parts), strict=True)
    forecast = _forecast(games, [rows for _, _, rows in parts], progress)
    for points, gap, (_, part, rows), level in zip(games, missed, parts, levels, strict=True):
        posterior = _posterior(part)
        options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "forecast": forecast}
        of_part, form, constant = explain_latent_variance(points, posterior, rows, **options)
        off = of_part.check("the variance minus its base value")
        noise = UNIT * (of_part.magnitudes[:, 0] + find_inverse_norms(points, posterior, rows))
        digits = min(digits, _digits(of_part.totals[:, 0] + constant, noise))
        scales, constant = posterior.scales, constant + level
        rate = 2.0 * of_part.rules[0].relative_error + form.roundings * UNIT
        error = rate * of_part.magnitudes + gap
        error = error + np.reshape(form.bound_averages(), (-1, 1))
        error = error + (12.0 + len(parts)) * UNIT * constant  # in bases and totals
        if of_part.efficient:
            error = error + np.abs(of_part.residual)
            residual = max(residual, off * float(scales.max()))
        predictions = (of_part.totals + constant) * scales
        arrays = {
            "values": of_part.values * scales,  # one base for all rows, or one for each
            "base_values": np.broadcast_to((of_part.bases + constant) * scales, predictions.shape),
            "predictions": predictions,
            "error_bound": error * scales,
        }
        sums.add(arrays, rules=of_part.rules)
        efficient = efficient and of_part.efficient
    for spread in between:
        sums.add(spread.arrays, rules=spread.rules)
        residual = max(residual, spread.residual)
    for spread in between:
        digits = min(digits, _digits(sums["predictions"], spread.rounding))
    _warn_of_digits("variance", digits)
    arrays = sums.arrays
    if efficient:  # as in an explanation of predictions: what the values add up to
        arrays["predictions"] = arrays["base_values"] + arrays["values"].sum(axis=1)
    residual = residual if efficient else math.nan
    return arrays, {"rules": sort_rules(sums.rules), "additivity_error": residual}


def _forecast(games: Sequence[WeightedPoints], rows: Sequence[Floats], progress: bool) -> Forecast:
    """Return what warns of a variance that takes long, by what every row needs."""
    n_points = max(len(points.z) for points in games)
    n_products = max(len(points.plan.terms) for points in games)
    products = f" times {n_products} products that the kernel is a sum of" * (n_products > 1)
    other = ", and so does another kernel, such as RBF" * (n_products > 1)
    bar = "" if progress else " progress=True shows a progress bar."
    background = games[0].background
    assert background is not None
    each = "" if background.marginal else ", for each background row"
    fewer = "rows or" if background.marginal else "rows, background rows or"
    few = all(has_few_coalitions(*pair) for pair in zip(games, rows, strict=True))
    needed = "sets of features at" if few else "pairs of"

    def announce(seconds: float) -> None:
        warn_user(
            f"the variance of {pluralise(len(rows[0]), 'row')} will take about "
            f"{format_duration(seconds)}: a row needs all {needed} {n_points} training "
            f"points{products}{each}. Fewer {fewer} training points take less{other}.{bar}",
            PerformanceWarning,
        )

    return Forecast(sum(map(count_work, games, rows)), announce)


def _uncertain_parts(problem: Problem, prepared: PreparedRows) -> Sequence[Part]:
    """Return the parts but those that are known, such as a prior mean: they have no variance."""
    parts = list(zip(problem.games, problem.expansion.parts, prepared.parts, strict=True))
    return [each for each in parts if _posterior(each[1]).scales.any()] or parts[:1]


def _noise(posterior: Posterior, observation_noise: bool | None) -> float:
    """Return the variance of the noise that is counted, in the units of the kernel."""
    if observation_noise is False:
        return 0.0
    if observation_noise is None:
        if posterior.noise is None:
            raise UnsupportedModelError(
                "the noise variance that this Gaussian process predicts differs from row to row, "
                "and pkex cannot explain the difference. Pass observation_noise=False for the "
                "variance of the latent function."
            )
        return posterior.noise
    if posterior.observation_noise is None:
        raise UnsupportedModelError(
            "observation_noise=True needs one noise variance for all rows. The noise of this "
            "model is unknown, or differs from row to row (alpha is an array, or the likelihood "
            "has fixed noise). Pass observation_noise=False, and add the noise that you expect to "
            "base values and predictions; contributions do not depend on it. For a custom model "
            "pass pkex.Posterior(..., observation_noise=variance)."
        )
    return posterior.observation_noise


def _posterior(part: KernelExpansion) -> Posterior:
    assert part.posterior is not None  # `check_posteriors` has seen to it
    return part.posterior


def _digits(numbers: Floats, off: Floats) -> float:
    """Return how many digits numbers have at least that are off by so much; 0 if none."""
    inexact = off > 0.0  # elsewhere nothing was computed: a row that is its own background
    shares = np.maximum(numbers[inexact], off[inexact]) / off[inexact]
    return float(np.log10(shares).min(initial=math.inf))


def check_digits(what: str, variances: Floats, off: Floats) -> None:
    """Warn where few digits are left of variances that are off by so much."""
    _warn_of_digits(what, _digits(variances, off))


def _warn_of_digits(what: str, digits: float) -> None:
    if digits >= FEW_DIGITS:
        return
    left = pluralise(math.floor(digits), "digit")
    warn_user(
        f"this Gaussian process is badly conditioned: about {left} of the {what} are left, because "
        "they are small differences of large numbers. More noise (alpha, or a WhiteKernel), a "
        "shorter length scale or no duplicate rows give more.",
        PrecisionWarning,
    )
