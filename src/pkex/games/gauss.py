"""Gauss-Legendre nodes on [0, 1] with full relative accuracy near t = 0.

Library routines give nodes on [-1, 1] that are accurate absolutely; after the shift to [0, 1] the
smallest nodes, of size about 1/m^2, have lost the digits that steep kernels need. Here a library
node is corrected by one Newton step in t itself, the Legendre polynomial evaluated in two
doubles (an unevaluated sum ``high + low``, about 32 digits) by the recurrence of the differences
``D_k = P_k - P_{k-1}`` at ``1 - 2t``:

    k D_k = (k - 1) D_{k-1} - 2 t (2k - 1) P_{k-1},      P_k = P_{k-1} + D_k,

which never forms ``1 - 2t``. The weights ``1 / (4 t (1-t) P_m'^2)`` follow from the same values:
``4 t (1-t) P_m' = m (2 t P_m - D_m)``. Nodes and weights are right to
2^-52 relatively.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from pkex._util.types import Floats

__all__ = ["gauss_legendre"]


class Twofold(NamedTuple):
    """The number ``high + low`` with ``|low| <= ulp(high) / 2``."""

    high: Floats
    low: Floats


def _sum(a: Floats, b: Floats) -> Twofold:
    """Exact sum of two doubles (Knuth)."""
    s = a + b
    shift = s - a
    return Twofold(s, (a - (s - shift)) + (b - shift))


def _product(a: Floats, b: Floats) -> Twofold:
    """Exact product of two doubles (Dekker, by splitting into halves)."""
    p = a * b
    a_big, b_big = 134217729.0 * a, 134217729.0 * b
    a1, b1 = a_big - (a_big - a), b_big - (b_big - b)
    a2, b2 = a - a1, b - b1
    return Twofold(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def _add(a: Twofold, b: Twofold) -> Twofold:
    s = _sum(a.high, b.high)
    return _sum(s.high, s.low + (a.low + b.low))


def _times(a: Twofold, factor: Floats) -> Twofold:
    p = _product(a.high, factor)
    return _sum(p.high, p.low + a.low * factor)


def _over(a: Twofold, divisor: Floats) -> Twofold:
    quotient = a.high / divisor
    back = _product(quotient, divisor)
    return _sum(quotient, (((a.high - back.high) - back.low) + a.low) / divisor)


def _multiply(a: Twofold, b: Twofold) -> Twofold:
    p = _product(a.high, b.high)
    return _sum(p.high, p.low + (a.high * b.low + a.low * b.high))


def _legendre(m: int, t: Floats) -> tuple[Twofold, Twofold]:
    """Return ``P_m`` and ``P_m - P_{m-1}`` at ``1 - 2t``, in two doubles each."""
    zero, one = np.zeros_like(t), np.ones_like(t)
    p, d = Twofold(one, zero), Twofold(zero, zero)
    for k in range(1, m + 1):
        pull = _times(_times(p, -2.0 * t), (2.0 * k - 1.0) * one)
        d = _over(_add(_times(d, (k - 1.0) * one), pull), k * one)
        p = _add(p, d)
    return p, d


@lru_cache(maxsize=256)
def gauss_legendre(m: int) -> tuple[Floats, Floats]:
    """Return the nodes (ascending) and weights of the `m`-point rule on [0, 1], read-only.

    >>> nodes, weights = gauss_legendre(2)
    >>> nodes.round(6), weights
    (array([0.211325, 0.788675]), array([0.5, 0.5]))
    """
    half = (m + 1) // 2
    x, _ = roots_legendre(m)
    t = np.sin(0.5 * np.arccos(np.clip(-x[:half], -1.0, 1.0))) ** 2
    for _ in range(2):
        p, d = _legendre(m, t)
        steep = m * (2.0 * t * p.high - d.high)  # 4t(1-t) P_m', and dP_m/dt = -2 P_m'
        t = t + 2.0 * t * (1.0 - t) * p.high / steep
    p, d = _legendre(m, t)
    bracket = _add(_times(p, 2.0 * t), Twofold(-d.high, -d.low))
    square = _times(_multiply(bracket, bracket), m * m * np.ones_like(t))
    spread = _times(_sum(np.ones_like(t), -t), 4.0 * t)
    weight = spread.high / square.high
    back = _times(square, weight)
    rest = ((spread.high - back.high) + (spread.low - back.low)) / square.high
    # from the rounded node to the true one, which is 2 t (1-t) P_m / (m bracket) away
    rest = rest + weight * (2.0 * (1.0 - 2.0 * t) * p.high / (m * bracket.high))
    weight = weight + rest
    if m % 2:
        t[-1] = 0.5
    nodes = np.concatenate([t, (1.0 - t[: m // 2])[::-1]])
    weights = np.concatenate([weight, weight[: m // 2][::-1]])
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
