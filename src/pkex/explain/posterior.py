"""How sure a Gaussian process is of its values, and where its predictive variance comes from.

Both are asked through an `Explainer`: ``explainer(X, return_std=True)`` and
``explainer.variance(X)``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex.errors import PrecisionWarning, UnsupportedModelError
from pkex.games.atoms import Atoms, diagonal_factors
from pkex.games.covariance import PriorCovariance
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.quadratic import QuadraticGame, explain_diagonal
from pkex.games.rules import Rule
from pkex.games.sums import GameSums, sort_rules
from pkex.models.expansion import KernelExpansion
from pkex.models.posterior import Posterior
from pkex.models.products import as_products
from pkex.readers.reading import outside

__all__ = ["Spread", "VarianceValues", "check_posteriors", "spread_of_values", "variance_of"]

Part = tuple[WeightedPoints, KernelExpansion, Floats]

_MIXTURE = 1e-7  # accepted error of a kernel that is a sum of products up to an error
_PAIRS = 2**22  # values of pairs held at once
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


def check_posteriors(expansion: KernelExpansion, removal: str, asked: str) -> None:
    """Raise where what was `asked` for has no meaning for a model or a kind of removal."""
    if any(part.posterior is None for part in expansion.parts):
        raise UnsupportedModelError(
            f"{asked} needs the posterior of a Gaussian process, which this model does not have. "
            "GaussianProcessRegressor and exact processes of GPyTorch and BoTorch have one; an "
            "expansion of your own gets one by KernelExpansion(..., posterior=Posterior(cholesky))."
        )
    if removal == "neutral":
        raise ValueError(
            f"{asked} is not there for neutral removal: its values are no function of what the "
            "model predicts, so that the uncertainty of the predictions says nothing about them. "
            "Leave out removal='neutral', or pass a background."
        )


def spread_of_values(
    parts: Sequence[Part],
    *,
    full: bool,
    n_jobs: int | None,
    progress: bool = False,
) -> Spread:
    """Return the posterior standard deviations of the values of some rows.

    Parameters
    ----------
    parts : sequence of (WeightedPoints, KernelExpansion, array)
        The games of each part of an expansion, the part with its posterior, and the prepared rows.
        Parts are independent processes, whose covariances add up.
    full : bool
        Whether the covariances are wanted as well.
    n_jobs : int or None
    progress : bool
    """
    total: Floats | None = None
    digits = math.inf
    for given, part, rows in parts:
        points, posterior = as_products(given, part), _posterior(part)
        prior = PriorCovariance(points, rows, full=full)
        found, error = run_reduction(prior, n_jobs=n_jobs, progress=progress)
        off = error + _subtract_explained(points, posterior, rows, found)
        own = np.diagonal(found, axis1=1, axis2=2) if full else found
        largest = own.max(axis=1, initial=0.0)
        digits = min(digits, _digits(largest, off))
        scaled = found[..., None] * posterior.scales
        total = scaled if total is None else total + scaled
    assert total is not None  # an expansion has parts
    if digits < _FEW_DIGITS:
        _warn_of_digits("standard deviations of the values", digits)
    if not full:
        return Spread(np.sqrt(np.maximum(total, 0.0)), None)
    variances = np.moveaxis(np.diagonal(total, axis1=1, axis2=2), -1, 1)
    return Spread(np.sqrt(np.maximum(variances, 0.0)), total)


def _subtract_explained(
    points: WeightedPoints, posterior: Posterior, rows: Floats, prior: Floats
) -> Floats:
    """Subtract ``V' A^-1 V`` from the prior in place; return what rounding may cost a variance.

    The Cholesky factor of a matrix A is that of a matrix E away from it, with ``|E| <= u |A|`` up
    to a small factor, which moves ``v' A^-1 v`` by ``b' E b`` with ``b = A^-1 v``: at most ``u |A|
    |b|^2``.
    """
    n_players, n_points = points.plan.n_players, len(points.z)
    size, cost = posterior.size(), np.empty(len(rows))
    step = max(1, _PAIRS // (n_players * n_points))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
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
    return cost


class VarianceValues(NamedTuple):
    """The values of the predictive variance of some rows.

    `values` have shape (rows, players, outputs); bases, totals and errors (rows, outputs).
    """

    values: Floats
    bases: Floats
    totals: Floats
    error: Floats
    residual: float
    rules: tuple[Rule, ...]

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


def variance_of(
    parts: Sequence[Part],
    *,
    n_jobs: int | None,
    progress: bool = False,
) -> VarianceValues:
    """Return the values of the predictive variance, the noise of an observation included.

    Parameters are those of `spread_of_values`.
    """
    values: Any = 0.0
    bases: Any = 0.0
    totals: Any = 0.0
    error: Any = 0.0
    residual, digits = 0.0, math.inf
    rules: set[Rule] = set()
    efficient = True
    for given, part, rows in parts:
        points, posterior = as_products(given, part, _MIXTURE), _posterior(part)
        sums, form = _variance_games(points, posterior, rows, n_jobs=n_jobs, progress=progress)
        off = sums.check("the variance minus its base value")
        noise = _UNIT * (sums.magnitudes[:, 0] + _of_inverse(points, posterior, rows))
        digits = min(digits, _digits(sums.totals[:, 0], noise))
        scales = posterior.scales
        values = values + sums.values * scales
        totals = totals + (sums.totals + posterior.noise) * scales
        bases = bases + (sums.bases + posterior.noise) * scales
        rate = 2.0 * sums.rules[0].relative_error + form.roundings * _UNIT
        local = rate * sums.magnitudes + _of_mixture(points, posterior)
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
    return VarianceValues(values, bases, totals, error, residual, sort_rules(rules))


def _variance_games(
    points: WeightedPoints,
    posterior: Posterior,
    rows: Floats,
    *,
    n_jobs: int | None,
    progress: bool,
) -> tuple[GameSums, QuadraticGame]:
    """Return the values of the variance of the latent function, in the units of the kernel.

    The variance at a row h is ``k(h, h) - k_h' (K + noise)^-1 k_h``: the worth of the kernel of a
    row with itself, minus a quadratic form, which is returned as well.
    """
    background = points.background
    assert background is not None
    atoms = Atoms(points.plan, points.z)
    inverse = posterior.inverse()
    weights = atoms.spread(atoms.spread(inverse).T)
    form = QuadraticGame(atoms, weights, as_column_major(rows), background)
    explained: GameSums = run_reduction(form, n_jobs=n_jobs, progress=progress)
    own = explain_diagonal(points.plan, as_column_major(rows), background)
    return explained.scaled(-1.0) + own, form


def _of_mixture(points: WeightedPoints, posterior: Posterior) -> float:
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


def _of_inverse(points: WeightedPoints, posterior: Posterior, rows: Floats) -> Floats:
    """Return ``|A| |A^-1 k_x|^2`` for every row; see `_subtract_explained`."""
    size, found = posterior.size(), np.empty(len(rows))
    terms = [*points.plan.terms, *(single.term for single in points.plan.singles)]
    step = max(1, _PAIRS // points.z.size)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        kernel = sum(term.worth(rows[some], points.z) for term in terms)
        betas = posterior.coefficients(posterior.whitened(np.asarray(kernel).T))
        found[some] = size * (betas * betas).sum(axis=0)
    return found


def _posterior(part: KernelExpansion) -> Posterior:
    assert part.posterior is not None  # `check_posteriors` has seen to it
    return part.posterior


def _digits(found: Floats, off: Floats) -> float:
    """Return how many digits numbers have at least that are off by so much; 0 if none."""
    unsure = off > 0.0  # elsewhere nothing was computed: a row that is its own background
    shares = np.maximum(found[unsure], off[unsure]) / off[unsure]
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
