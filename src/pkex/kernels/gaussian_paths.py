"""Integrals along straight paths for a Gaussian kernel, in closed form.

In scaled columns, with Z = b - z and D = x - b, the exponent at t is ``A t^2 + 2 B t + C`` with
``A = |D|^2``, ``B = D.Z`` and ``C = |Z|^2``. The integrated gradient of column j is

    -2 D_j (Z_j I0 + D_j I1),     I0 = int_0^1 exp(-(A t^2 + 2 B t + C)) dt,    I1: times t,

so that two integrals serve all columns of a pair. With ``u0 = B / sqrt(A)``, ``u1 = u0 + sqrt(A)``
and ``h^2 = C - u0^2``, the squared distance of the point from the line,

    I0 = exp(-h^2) int_u0^u1 exp(-u^2) du / sqrt(A),      A I1 = (e0 - e1) / 2 - B I0,

where e0 and e1 are the kernel at the baseline and at the row. As ``exp(-h^2) erfc(u0) = e0
erfcx(u0)``, nothing overflows: both ends are taken from ``erfcx(|u|) <= 1``. Where the exponent
changes by less than 1 along the path, differences would cancel, and 10 nodes of Gauss and Legendre
have all digits: the integrand is entire, and the rule errs by less than 1e-18 of its largest value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pkex._util.floats import UNIT
from pkex._util.types import Floats
from pkex.kernels.path_rules import PathSums

__all__ = ["integrate_gaussian"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_SHORT = 1.0  # change of the exponent below which nodes take the place of the closed form
_FAR = 40.0  # exponents above which products of matrices lose digits of their differences
_NEAR = 60.0  # differences above it do not matter: exp(-60) is 1e-26
_ERFCX = 2e-15  # relative error of SciPy's erfcx, which a test measures


def integrate_gaussian(
    rates: Floats, rows: Floats, baseline: Floats, points: Floats, a: Floats
) -> PathSums:
    """Return the integrated gradients of ``sum_i a_i k(x, z_i)``, ``-log k = sum rates delta^2``.

    Parameters
    ----------
    rates : array of shape (n_columns,)
    rows : array of shape (n_rows, n_columns)
    baseline : array of shape (n_columns,)
    points : array of shape (n_points, n_columns)
    a : array of shape (n_points, n_outputs)
    """
    scale = np.sqrt(rates)
    steps, starts = (rows - baseline) * scale, (baseline - points) * scale
    lengths = np.einsum("ij,ij->i", steps, steps)[:, None]  # A
    slopes = steps @ starts.T  # B
    first = np.einsum("ij,ij->i", starts, starts)  # C
    last = slopes + slopes
    last += lengths
    last += first
    with np.errstate(under="ignore"):
        _correct(last, lengths + first, last, steps, starts, np.ones_like)
        e0, e1 = np.exp(-first), np.exp(-last, out=last)
        whole, mean = _integrals(lengths, slopes, first, e0, e1, steps, starts)
    values = np.empty((*rows.shape, a.shape[1]))
    for k in range(a.shape[1]):
        of_start = (whole * a[:, k]) @ starts
        of_start += steps * (mean @ a[:, k])[:, None]
        values[:, :, k] = -2.0 * steps * of_start
    rise = (e1 - e0) @ a
    # what products of matrices and erfcx lose, times |D_j Z_j| I0 and D_j^2 I1 at most
    sizes = 2.0 * (1.0 + 6.0 * np.sqrt(first))
    per_exponent = (rows.shape[1] + 4.0) * UNIT
    rates = _ERFCX + 64.0 * UNIT + per_exponent * np.minimum(first, _FAR)
    error = (sizes * rates) @ np.abs(a)
    error = error + per_exponent * np.minimum(lengths, _FAR) * (sizes @ np.abs(a))
    return PathSums(values, rise, error)


def _integrals(
    lengths: Floats,
    slopes: Floats,
    first: Floats,
    e0: Floats,
    e1: Floats,
    steps: Floats,
    starts: Floats,
) -> tuple[Floats, Floats]:
    """Return I0 and I1 of all pairs of rows and points."""
    from scipy.special import erfcx  # here, as SciPy is slow to import

    safe = np.where(lengths > 0.0, lengths, 1.0)
    root = np.sqrt(safe)
    u0 = slopes / root
    u1 = u0 + root
    distance = u0 * u0
    np.subtract(first, distance, out=distance)  # h^2
    between = (u0 < 0.0) & (u1 > 0.0)
    np.abs(u0, out=u0)
    np.abs(u1, out=u1)
    _correct(distance, lengths + first, distance, steps, starts, lambda _: -slopes / safe, between)
    lower, upper = erfcx(u0, out=u0), erfcx(u1, out=u1)
    lower *= e0
    upper *= e1
    whole = np.abs(lower - upper)
    if between.any():
        lower += upper
        np.negative(distance, out=distance)
        np.exp(distance, out=distance, where=between)
        np.multiply(distance, 2.0, out=distance, where=between)
        np.subtract(distance, lower, out=whole, where=between)
    whole *= 0.5 * math.sqrt(math.pi) / root
    mean = e0 - e1
    mean *= 0.5
    mean -= slopes * whole
    mean /= safe
    short = lengths + 2.0 * np.abs(slopes) < _SHORT
    if short.any():
        places = np.nonzero(short)
        a, b, c = lengths[places[0], 0], slopes[places], first[places[1]]
        whole[places], mean[places] = _by_nodes(a, b, c)
    return whole, mean


def _by_nodes(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return I0 and I1 of short paths."""
    whole, mean = np.zeros_like(b), np.zeros_like(b)
    for t, weight in zip(_NODES, _WEIGHTS, strict=True):
        value = weight * np.exp(-np.maximum((a * t + 2.0 * b) * t + c, 0.0))
        whole += value
        mean += t * value
    return whole, mean


def _correct(
    target: Floats,
    sizes: Floats,
    differences: Floats,
    steps: Floats,
    starts: Floats,
    where_on_path: Callable[[Floats], Floats],
    chosen: NDArray[np.bool_] | None = None,
) -> None:
    """Write squared distances anew that are small differences of large numbers, column by column.

    They are those of points from places on the path: of parameter 1, or where it is nearest.
    """
    np.maximum(target, 0.0, out=target)
    lossy = sizes > _FAR
    if not lossy.any():
        return
    lossy &= differences < _NEAR
    if chosen is not None:
        lossy &= chosen
    rows, points = np.nonzero(lossy)
    if not len(rows):
        return
    t = where_on_path(target)[rows, points]
    for start in range(0, len(rows), 4096):
        some = slice(start, start + 4096)
        at = starts[points[some]] + t[some, None] * steps[rows[some]]
        target[rows[some], points[some]] = np.einsum("ij,ij->i", at, at)
