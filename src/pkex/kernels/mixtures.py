"""Radial kernels as sums of Gaussian kernels, with a proven error bound.

Let q be a squared distance. A function ``psi(q)`` with ``psi(0) = 1`` is a kernel in any number of
columns if and only if it is a mixture of Gaussians (Schoenberg 1938):

    psi(q) = integral exp(-tau q) dnu(tau),      nu a probability measure on tau > 0.

Each ``exp(-tau q)`` is a product over columns, so that a sum ``S(q) = sum_k w_k exp(-tau_k q)``
with ``|psi(q) - S(q)| <= error`` for all ``q >= 0`` is a sum of product kernels that stands for
psi: every coalition is worth what it should be up to `error`, in whatever way columns are removed,
and a difference of two of them, hence a Shapley value, up to twice that. The error is an absolute
one; far from all points, where psi is small, it is not small relative to psi.

*Tables.* For the Matern kernels with nu = 1/2, 3/2 and 5/2 the best sums are shipped, for some
tolerances, with bounds that were proven in ball arithmetic (``scripts/make_mixtures.py``).

*Trapezoidal rule.* Other kernels are summed at run time. With ``tau = exp(s) / 2`` the measure of
the Matern kernel has the density ``c exp(-nu (s + exp(-s) - 1)) ds``, and that of the rational
quadratic kernel is the same with alpha for nu and ``tau = exp(-s) / 2``. For real q the integrand
is analytic where ``|Im s| < pi/2``, and the integral of its modulus along ``Im s = a`` is at most
``cos(a)^-nu``. So a sum with step h errs by at most (Trefethen and Weideman 2014, theorem 5.1)

    2 cos(a)^-nu / (exp(2 pi a / h) - 1)                         for every a < pi/2.

Terms beyond both ends are left out, which errs by the sum of their weights. The others are divided
by their sum, which is 1 up to both errors, so that these count twice. Where nu or alpha are so
small that weights fall slowly, up to ``s = 110``, the last term stands for all beyond: its scale is
1e47 or 1e-48, so that they cannot be told apart where q is 0 or between 1e-30 and 1e30, and the
bound holds for these q.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats

__all__ = ["FINEST", "Mixture", "matern", "rational_quadratic"]


FINEST = 1e-15
"""The error that is asked for where there is no tolerance."""

_MOST_TERMS = 5000  # each is a game for every pair, which takes about a millisecond with so many
_FAR = 110.0  # the largest s: exp(-s) is below the rounding of a thousandth of 1e-30


@dataclass(frozen=True, eq=False)
class Mixture:
    """``psi(q) = sum_k weights[k] exp(-scales[k] q)`` up to `error`, for all q >= 0.

    Attributes
    ----------
    scales, weights : arrays of shape (terms,)
        Positive both, the scales ascending; the weights sum to 1 up to `error`.
    error : float
        Proven.

    Examples
    --------
    >>> from pkex.kernels import mixtures
    >>> few = mixtures.matern(2.5, tol=1e-6)
    >>> len(few.scales), few.error < 1e-6
    (8, True)
    """

    scales: Floats
    weights: Floats
    error: float


@lru_cache(maxsize=64)
def matern(nu: float, tol: float | None = None) -> Mixture:
    """Return the Matern kernel of smoothness `nu` as a mixture."""
    table = _tables()["matern"].get(repr(float(nu)))
    if table is None:
        return _trapezoid(nu, tol or FINEST, 1.0, f"Matern with nu = {nu:g}")
    entry = table[_level(table, tol or FINEST)]
    return _mixture(np.array(entry["scales"]), np.array(entry["weights"]), entry["error"])


@lru_cache(maxsize=64)
def rational_quadratic(alpha: float, tol: float | None = None) -> Mixture:
    """Return the rational quadratic kernel with the exponent `alpha` as a mixture."""
    return _trapezoid(alpha, tol or FINEST, -1.0, f"RationalQuadratic with alpha = {alpha:g}")


def _trapezoid(nu: float, tol: float, sign: float, name: str) -> Mixture:
    """Return the trapezoidal rule in s, with ``tau = exp(sign * s) / 2``."""
    goal = tol / 6.0  # the error of the rule counts twice, and so do both ends
    angles = np.linspace(0.01, 0.999, 400) * (math.pi / 2.0)
    sizes = math.log(2.0) - nu * np.log(np.cos(angles))
    steps = 2.0 * math.pi * angles / np.logaddexp(0.0, sizes - math.log(goal))
    best = int(steps.argmax())
    h = float(steps[best])
    rule = math.exp(sizes[best]) / math.expm1(2.0 * math.pi * angles[best] / h)
    left, right = (_end(nu, h, goal, side) for side in (-1.0, 1.0))
    if (right - left) / h > _MOST_TERMS:
        raise ValueError(
            f"{name} is a mixture of Gaussian kernels of so many widths that more than "
            f"{_MOST_TERMS:,} of them would be needed for an error of {tol:.0e}; choose another "
            "parameter, or a larger tol."
        )
    s = h * np.arange(math.floor(left / h) - 1.0, math.ceil(right / h) + 2.0)
    exponents = _exponents(nu, s)
    weights = np.exp(-exponents)
    # exponents are convex in s, so that beyond the ends weights fall faster than geometrically
    left_out = weights[[0, -1]] / (1.0 - weights[[0, -1]] / weights[[1, -2]])
    s, exponents, weights = s[1:-1], exponents[1:-1], weights[1:-1]
    if right >= _FAR:  # the last stands for all beyond, whose weights are a geometric sequence
        weights[-1] += left_out[-1]
        left_out = left_out[:1]
    total = math.fsum(weights)
    ends = math.fsum(left_out) / total
    weights /= total
    rounding = UNIT * (8.0 + math.fsum(weights * (6.0 * exponents + np.abs(s))))
    order = slice(None, None, int(sign))
    scales = (0.5 * np.exp(sign * s))[order]
    return _mixture(scales, weights[order], 2.0 * (rule + ends * (1.0 + rule)) + rounding)


def _exponents(nu: float, s: Floats) -> Floats:
    """Return ``nu (s + exp(-s) - 1)``, with the digits of small ones."""
    small = np.clip(s, -0.5, 0.5)
    series = np.zeros_like(small)
    for k in range(16, 1, -1):
        series = 1.0 / math.factorial(k) - small * series
    exponents: Floats = nu * np.where(np.abs(s) < 0.5, s * s * series, s + np.expm1(-s))
    return exponents


def _end(nu: float, h: float, goal: float, side: float) -> float:
    """Return how far the rule has to go to one side, so that what is left out is about the goal."""

    def left_out(distance: float) -> float:
        s = np.array([side * distance, side * (distance + h)])
        last, beyond = _exponents(nu, s)
        scale = math.sqrt(nu / (2.0 * math.pi))  # of the density, by Stirling's formula
        return h * scale * math.exp(-beyond) / -math.expm1(max(last - beyond, -50.0))

    near, far = 0.0, 1.0
    while left_out(far) > goal:
        near, far = far, 2.0 * far
        if near >= _FAR:
            return side * _FAR
    for _ in range(40):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if left_out(middle) > goal else (near, middle)
    return side * min(far, _FAR)


def _mixture(scales: Floats, weights: Floats, error: float) -> Mixture:
    scales, weights = np.ascontiguousarray(scales), np.ascontiguousarray(weights)
    scales.flags.writeable = weights.flags.writeable = False
    return Mixture(scales, weights, error)


def _level(table: dict[str, Any], tol: float) -> str:
    """Return the largest tolerance of a table that meets `tol`, or the smallest there is."""
    return max(
        (key for key in table if float(key) <= tol), default=min(table, key=float), key=float
    )


@cache
def _tables() -> dict[str, Any]:
    text = files("pkex.kernels").joinpath("mixtures.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
