"""How sure a Gaussian process is of its values, and where its predictive variance comes from.

Both are asked of a problem through an `Explainer`: ``explainer(X, return_std=True)`` and
``explainer.variance(X)``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pkex._util.progress import Forecast, with_bar
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import LATENT, PREDICTIVE, counted, duration
from pkex.errors import PerformanceWarning, PrecisionWarning, UnsupportedModelError
from pkex.explain.problem import PreparedRows, Problem
from pkex.games.atoms import Atoms, diagonal_factors
from pkex.games.blocks import rectangle
from pkex.games.covariance import PriorCovariance
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.quadratic import QuadraticGame, explain_diagonal, pairs_of, tiles_of
from pkex.games.rules import Rule
from pkex.games.sums import GameSums, sort_rules
from pkex.models.expansion import KernelExpansion
from pkex.models.posterior import Posterior
from pkex.models.products import as_products
from pkex.readers.reading import outside
from pkex.results.explanation import Explanation

__all__ = [
    "Spread",
    "VarianceValues",
    "check_posteriors",
    "explain_variance",
    "spread_of_values",
]

Part = tuple[WeightedPoints, KernelExpansion, Floats]

_MIXTURE = 1e-7  # accepted error of a kernel that is a sum of products up to an error
_PAIRS = 2**18  # values of pairs held at once, which are a step of a progress bar
_UNIT = 2.0**-53
_FEW_DIGITS = 4.0


class Spread(NamedTuple):
    """Standard deviations of the values of some rows, and their covariances where wanted.

    `std` has shape (rows, players, outputs), `cov` (rows, players, players, outputs).
    """

    std: Floats
    cov: Floats | None

    def fields(self, *, one_output: bool) -> dict[str, Any]:
        """Return what an explanation has of it, without the axis of outputs if there is one."""
        std, cov = self
        if one_output:
            std, cov = std[..., 0], None if cov is None else cov[..., 0]
        return {"std": std, "cov": cov}


def check_posteriors(problem: Problem, asked: str) -> None:
    """Raise where what was `asked` for has no meaning for a model or a kind of removal."""
    if any(part.posterior is None for part in problem.expansion.parts):
        raise UnsupportedModelError(
            f"{asked} needs the posterior of a Gaussian process, which this model does not have. "
            "GaussianProcessRegressor and exact processes of GPyTorch and BoTorch have one; an "
            "expansion of your own gets one by KernelExpansion(..., posterior=Posterior(cholesky))."
        )
    if problem.removal == "neutral":
        raise ValueError(
            f"{asked} is not there for neutral removal: its values are no function of what the "
            "model predicts, so that the uncertainty of the predictions says nothing about them. "
            "Leave out removal='neutral', or pass a background."
        )


def spread_of_values(
    problem: Problem, prepared: PreparedRows, *, full: bool, n_jobs: int | None, progress: bool
) -> Spread:
    """Return the posterior standard deviations of the values of some rows.

    Parameters
    ----------
    problem : Problem
        Its parts are independent processes, whose covariances add up.
    prepared : PreparedRows
    full : bool
        Whether the covariances are wanted as well.
    n_jobs : int or None
    progress : bool
    """
    total: Floats | None = None
    digits = math.inf
    for games, part, rows in _uncertain_parts(problem, prepared):
        points, posterior = as_products(games, part), _posterior(part)
        prior = PriorCovariance(points, rows, full=full)
        moments, error = run_reduction(prior, n_jobs=n_jobs, progress=progress)
        error = error + _subtract_explained(points, posterior, rows, moments, progress)
        variances = np.diagonal(moments, axis1=1, axis2=2) if full else moments
        digits = min(digits, _digits(variances.max(axis=1, initial=0.0), error))
        scaled = moments[..., None] * posterior.scales
        total = scaled if total is None else total + scaled
    assert total is not None  # an expansion has parts
    if digits < _FEW_DIGITS:
        _warn_of_digits("standard deviations of the values", digits)
    if not full:
        return Spread(np.sqrt(np.maximum(total, 0.0)), None)
    variances = np.moveaxis(np.diagonal(total, axis1=1, axis2=2), -1, 1)
    return Spread(np.sqrt(np.maximum(variances, 0.0)), total)


def _subtract_explained(
    points: WeightedPoints, posterior: Posterior, rows: Floats, prior: Floats, progress: bool
) -> Floats:
    """Subtract ``V' A^-1 V`` from the prior in place; return what rounding may cost a variance.

    The Cholesky factor of a matrix A is that of a matrix E away from it, with ``|E| <= u |A|`` up
    to a small factor, which moves ``v' A^-1 v`` by ``b' E b`` with ``b = A^-1 v``: at most ``u |A|
    |b|^2``.
    """
    n_players, n_points = points.plan.n_players, len(points.z)
    size, cost = posterior.size(), np.empty(len(rows))

    def subtract(some: slice) -> None:
        values = points.pair_values(rows[some])  # (players, rows, points)
        count = values.shape[1]
        white = posterior.whitened(values.reshape(-1, n_points).T)
        betas = posterior.coefficients(white).reshape(n_points, n_players, count)
        white = white.reshape(n_points, n_players, count)
        squares = (betas * betas).sum(axis=0).max(axis=0, initial=0.0)
        if prior.ndim == 3:
            by_row = np.moveaxis(white, 2, 0)
            cost[some] = np.diagonal(prior[some], axis1=1, axis2=2).max(axis=1, initial=0.0)
            prior[some] -= by_row.transpose(0, 2, 1) @ by_row
        else:
            cost[some] = prior[some].max(axis=1, initial=0.0)
            prior[some] -= (white * white).sum(axis=0).T
        cost[some] = _UNIT * (cost[some] + size * squares)

    blocks = [some for some, _ in rectangle(len(rows), 1, _PAIRS // (n_players * n_points))]
    work: Iterator[None] = map(subtract, blocks)
    if progress:
        work = with_bar(work, [some.stop - some.start for some in blocks], len(rows))
    for _ in work:
        pass
    return cost


class VarianceValues(NamedTuple):
    """The values of the predictive or latent variance of some rows; `quantity` says which.

    `values` have shape (rows, players, outputs); bases, totals and errors (rows, outputs).
    """

    values: Floats
    bases: Floats
    totals: Floats
    error: Floats
    residual: float
    rules: tuple[Rule, ...]
    quantity: str

    def fields(self, *, one_output: bool) -> dict[str, Any]:
        """Return what an explanation has of it, without the axis of outputs if there is one."""
        arrays = {
            "values": self.values,
            "base_values": self.bases,
            "predictions": self.totals,
            "error": self.error,
        }
        if one_output:
            arrays = {name: array[..., 0] for name, array in arrays.items()}
        return arrays | {
            "rules": self.rules,
            "residual": self.residual,
        }


def explain_variance(
    problem: Problem,
    X: Any,
    observation_noise: bool | None,
    n_jobs: int | None,
    progress: bool,
) -> Explanation:
    """Return the explanation of `Explainer.variance`."""
    if not isinstance(observation_noise, bool | np.bool_ | None):
        raise TypeError(
            f"observation_noise must be None, True or False, got {brief(observation_noise)}."
        )
    check_posteriors(problem, "variance")
    prepared = problem.prepare(X)
    noise = None if observation_noise is None else bool(observation_noise)
    parts = _uncertain_parts(problem, prepared)
    variance = _sum_variances(parts, noise, n_jobs, progress)
    return Explanation(
        replace(problem.about_rows(prepared.rows), quantity=variance.quantity),
        data=prepared.data,
        row_labels=prepared.labels,
        **variance.fields(one_output=problem.base_value.ndim == 0),
    )


def _sum_variances(
    parts: Sequence[Part], observation_noise: bool | None, n_jobs: int | None, progress: bool
) -> VarianceValues:
    """Return the values of the variance, with the noise that `Explainer.variance` says."""
    levels = [_noise(_posterior(part), observation_noise) for _, part, _ in parts]
    noisy = observation_noise
    if noisy is None:
        noisy = any(level > 0.0 for level in levels)
    values: Any = 0.0
    bases: Any = 0.0
    totals: Any = 0.0
    error: Any = 0.0
    residual, digits = 0.0, math.inf
    rules: set[Rule] = set()
    efficient = True
    games = [as_products(points, part, _MIXTURE) for points, part, _ in parts]
    forecast = _forecast(games, len(parts[0][2]), progress)
    for points, (_, part, rows), level in zip(games, parts, levels, strict=True):
        posterior = _posterior(part)
        options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "forecast": forecast}
        sums, form, constant = _variance_games(points, posterior, rows, **options)
        off = sums.check("the variance minus its base value")
        noise = _UNIT * (sums.magnitudes[:, 0] + _inverse_norms(points, posterior, rows))
        digits = min(digits, _digits(sums.totals[:, 0] + constant, noise))
        scales = posterior.scales
        values = values + sums.values * scales
        constant += level
        totals = totals + (sums.totals + constant) * scales
        bases = bases + (sums.bases + constant) * scales
        rate = 2.0 * sums.rules[0].relative_error + form.roundings * _UNIT
        local = rate * sums.magnitudes + _mixture_error(points, posterior)
        local = local + (12.0 + len(parts)) * _UNIT * constant  # in bases and totals
        if sums.efficient:
            local = local + np.abs(sums.residual)
            residual = max(residual, off * float(scales.max()))
        error = error + local * scales
        rules.update(sums.rules)
        efficient = efficient and sums.efficient
    if digits < _FEW_DIGITS:
        _warn_of_digits("variance", digits)
    bases = np.broadcast_to(bases, totals.shape).copy()
    if efficient:  # as in an explanation of predictions: what the values add up to
        totals = bases + values.sum(axis=1)
    else:
        residual = math.nan
    quantity = PREDICTIVE if noisy else LATENT
    return VarianceValues(values, bases, totals, error, residual, sort_rules(rules), quantity)


def _variance_games(
    points: WeightedPoints,
    posterior: Posterior,
    rows: Floats,
    **options: Any,
) -> tuple[GameSums, QuadraticGame, float]:
    """Return the values of the variance of the latent function, in the units of the kernel.

    The variance at a row h is ``k(h, h) - k_h' (K + noise)^-1 k_h``: the worth of the kernel of a
    row with itself, minus a quadratic form, which is returned as well. Totals and bases lack the
    part of ``k(h, h)`` that is the same for all rows, which comes last.
    """
    background = points.background
    assert background is not None
    atoms = Atoms(points.plan, points.z)
    inverse = posterior.inverse()
    weights = atoms.spread(atoms.spread(inverse).T)
    form = QuadraticGame(atoms, weights, as_column_major(rows), background)
    explained: GameSums = run_reduction(form, **options)
    own, constant = explain_diagonal(points.plan, as_column_major(rows), background)
    return explained.scaled(-1.0) + own, form, constant


def _forecast(games: Sequence[WeightedPoints], n_rows: int, progress: bool) -> Forecast:
    """Return what warns of a variance that takes long: all pairs of atoms for every row."""
    n_points = max(len(points.z) for points in games)
    n_products = max(len(points.plan.terms) for points in games)
    products = f" times {n_products} products that the kernel is a sum of" * (n_products > 1)
    other = ", and so does another kernel, such as RBF" * (n_products > 1)
    bar = "" if progress else " progress=True shows a progress bar."
    background = games[0].background
    assert background is not None
    each = "" if background.marginal else ", for each background row"
    fewer = "rows or" if background.marginal else "rows, background rows or"

    def announce(seconds: float) -> None:
        warnings.warn(
            f"the variance of {counted(n_rows, 'row')} will take about {duration(seconds)}: a row "
            f"needs all pairs of {n_points} training points{products}{each}. Fewer {fewer} "
            f"training points take less{other}.{bar}",
            PerformanceWarning,
            stacklevel=outside(),
        )

    tiles = [tile for points in games for tile in tiles_of(Atoms(points.plan, points.z))]
    return Forecast(n_rows * sum(map(pairs_of, tiles)), announce)


def _mixture_error(points: WeightedPoints, posterior: Posterior) -> float:
    """Return what a value of the variance is off by where a kernel is a sum up to an error eps.

    Kernel values that are off by eps move ``k' A^-1 k`` by at most ``2 eps |A^-1 k|_1 + n eps^2
    |A^-1|``, and ``|A^-1 k|_1 <= sqrt(n) |L^-1| |L^-1 k| <= sqrt(n |A^-1| k(h, h))``, as a variance
    is not negative. A value is a mean of differences of two such numbers.
    """
    terms = [*points.plan.terms, *(single.term for single in points.plan.singles)]
    eps = sum(term.error for term in terms)
    if eps == 0.0:
        return 0.0
    assert points.background is not None
    rows = points.background.rows
    own = sum(
        term.coefficient * diagonal_factors(term, points.plan.players, rows).values.prod(axis=0)
        for term in terms
    )
    n_points, largest = len(points.z), float(np.linalg.eigvalsh(posterior.inverse())[-1])
    spread = eps * math.sqrt(n_points * largest * float(np.max(own)))
    return 2.0 * (eps + 2.0 * spread + n_points * eps * eps * largest)


def _inverse_norms(points: WeightedPoints, posterior: Posterior, rows: Floats) -> Floats:
    """Return ``|A| |A^-1 k_x|^2`` for every row; see `_subtract_explained`."""
    size, norms = posterior.size(), np.empty(len(rows))
    terms = [*points.plan.terms, *(single.term for single in points.plan.singles)]
    step = max(1, _PAIRS // points.z.size)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        kernel = sum(term.worth(rows[some], points.z) for term in terms)
        betas = posterior.coefficients(posterior.whitened(np.asarray(kernel).T))
        norms[some] = size * (betas * betas).sum(axis=0)
    return norms


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
                "the noise that this Gaussian process predicts differs from row to row, and what "
                "makes it differ cannot be explained. Pass observation_noise=False for the "
                "variance of the latent function."
            )
        return posterior.noise
    if posterior.observation_noise is None:
        raise UnsupportedModelError(
            "observation_noise=True needs one noise variance for every new observation. The noise "
            "of this model is not known, or differs from row to row: an array as alpha, a "
            "likelihood with fixed noise. Pass observation_noise=False, and add the noise that "
            "you expect to base values and predictions; contributions do not depend on it. An "
            "expansion of your own takes Posterior(..., observation_noise=variance)."
        )
    return posterior.observation_noise


def _posterior(part: KernelExpansion) -> Posterior:
    assert part.posterior is not None  # `check_posteriors` has seen to it
    return part.posterior


def _digits(numbers: Floats, off: Floats) -> float:
    """Return how many digits numbers have at least that are off by so much; 0 if none."""
    unsure = off > 0.0  # elsewhere nothing was computed: a row that is its own background
    shares = np.maximum(numbers[unsure], off[unsure]) / off[unsure]
    return float(np.log10(shares).min(initial=math.inf))


def _warn_of_digits(what: str, digits: float) -> None:
    count = math.floor(digits)
    warnings.warn(
        f"this Gaussian process is badly conditioned: about {count} digit{'s' * (count != 1)} of "
        f"the {what} are left, because they are small differences of large numbers. More noise "
        "(alpha, or a WhiteKernel), a shorter length scale or no duplicate rows give more.",
        PrecisionWarning,
        stacklevel=outside(),
    )
