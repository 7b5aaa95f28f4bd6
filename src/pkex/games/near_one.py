"""Games whose factors are near those of absent players, without a sweep over nodes.

Where factors are exponentials, ``p = exp(-s)`` and ``a = exp(-r)``, the general game is the product
of all a times the neutral game with the signed exponents ``e = s - r``; under neutral removal r is
0. A node t of weight w adds

    -w exp(-sum_i r_i + sum_i l(e_i)) g(e_j),      l(e) = log(1 - t v),  g(e) = v / (1 - t v),

with ``v = 1 - exp(-e)``, to the value of player j. Both functions are short polynomials in e where
|e| is small: K terms of the Chebyshev series of ``g(e) / e`` on [-L, L], and of ``l(e) / e``, leave
out 2^-52 for the L below, whatever the node (the derivation is that of the native kernel,
`near_one_series.hpp` and `signed_series.cpp`; the tests compare with forty digits). So the power
sums of the exponents of a pair give the logarithms at all nodes, and adding up the nodes leaves one
polynomial, whose values at the e_j are the Shapley values: about 4 K passes over the exponents,
where a sweep takes 6 for every node, and no exponential of a factor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pkex.games.rules import Ladder, Rule

__all__ = ["LIMITS", "TERMS", "Series", "add_near_one", "series_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

TERMS = (6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20)
LIMITS = (
    *(0.01425, 0.03400, 0.06524, 0.10827, 0.16229, 0.22588),
    *(0.29736, 0.45712, 0.62923, 0.80421, 0.97554),
)
_LONG = 48  # terms before the cut: (0.976 / pi)^48 is below 2^-80
_MOST_LOGIT = 5.3
_CHUNK = 2**15  # exponents that are worked on at once, so that they stay in cache


class Series(NamedTuple):
    """Polynomials for the nodes of a rule, from the lowest power on.

    Attributes
    ----------
    logs, shares : arrays of shape (nodes, terms)
        ``l(e) / e`` and ``g(e) / e``.
    """

    logs: Floats
    shares: Floats


@lru_cache(maxsize=256)
def series_of(rule: Rule, size: int) -> Series | None:
    """Return the series number `size` of a rule, or None where a node is too near 0 or 1."""
    t = rule.nodes
    with np.errstate(divide="ignore"):
        if not (np.abs(np.log(t / (1.0 - t))) <= _MOST_LOGIT).all():
            return None
    g = np.zeros((_LONG + 2, len(t)))
    g[1] = 1.0
    for n in range(1, _LONG + 1):  # g' = 1 + (2t - 1) g - t (1 - t) g^2
        square = np.einsum("ij,ij->j", g[1:n], g[n - 1 : 0 : -1])
        g[n + 1] = ((2.0 * t - 1.0) * g[n] - t * (1.0 - t) * square) / (n + 1.0)
    shares = g[1 : _LONG + 1]
    logs = np.empty_like(shares)
    logs[0] = -t
    logs[1:] = (
        t * (1.0 - t) * shares[:-1] / np.arange(2.0, _LONG + 1.0)[:, None]
    )  # l' = t(1-t)g - t
    terms, limit = TERMS[size], LIMITS[size]
    return Series(_shortened(logs, terms, limit), _shortened(shares, terms, limit))


def _shortened(powers: Floats, terms: int, limit: float) -> Floats:
    """Return the first terms of Chebyshev series on [-limit, limit], as powers: (nodes, terms)."""
    scale = limit ** np.arange(len(powers), dtype=np.float64)
    cut = np.zeros((powers.shape[1], terms))
    for one, to in zip((powers * scale[:, None]).T, cut, strict=True):
        found = chebyshev.cheb2poly(chebyshev.poly2cheb(one)[:terms])
        to[: len(found)] = found
    shortened: Floats = cut / scale[:terms]
    return shortened


def _power_sums(e: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the sums over the players of the powers 1 to `count`, and memory of the shape of `e`.

    Powers are made two by two: that of 2k + 1 is only summed, from those of 2k and 1.
    """
    sums, square, power = np.empty((count, e.shape[1])), e * e, e.copy()
    np.add.reduce(e, axis=0, out=sums[0])
    for k in range(1, count, 2):
        np.einsum("ij,ij->j", power, e, out=sums[k])
        if k + 1 < count:
            power *= square
            np.add.reduce(power, axis=0, out=sums[k + 1])
    return sums, power


def add_near_one(
    e: Floats,
    absent: Floats,
    most: Floats,
    order: Indices,
    ladder: Ladder,
    values: Floats,
    *,
    signed: bool,
) -> set[Rule] | None:
    """Write the values of pairs whose exponents are small; return the rules that were used.

    Parameters
    ----------
    e : array of shape (players, pairs)
        Signed exponents.
    absent : array of shape (pairs,)
        The sums of the exponents r of absent players.
    most : array of shape (pairs,)
        The largest ``|e|``.
    order : array of integers
        The pairs to be solved, in the order of these.
    ladder : Ladder
    values : array of shape (players, pairs)
    signed : bool
        Whether exponents may be negative. A rule is chosen by the sum of ``1 - exp(-|e|)``, which
        is at most that of ``|e| - e^2/2 + |e|^3/6``.

    Returns
    -------
    set of Rule, or None where a rule has no series
    """
    rules = set[Rule]()
    step = max(16, _CHUNK // len(e))
    for start in range(0, len(order), step):
        pairs = order[start : start + step]
        here, size = e.take(pairs, axis=1), int(np.searchsorted(LIMITS, most[pairs[-1]]))
        sums, power = _power_sums(here, TERMS[size])
        sizes = np.add.reduce(np.abs(here, out=power), axis=0) if signed else sums[0]
        lam = float((sizes - (0.5 - most[pairs] / 6.0) * sums[1]).max())
        rule = ladder.rules[int(np.searchsorted(ladder.limits, lam))]
        series = series_of(rule, size)
        if series is None:
            return None
        rules.add(rule)
        logs, shares = series
        nodes = np.exp(logs @ sums - absent[pairs])
        nodes *= -rule.weights[:, None]
        factors = shares.T @ nodes
        power[...] = factors[-1]
        for factor in factors[-2::-1]:
            power *= here
            power += factor
        power *= here
        values[:, pairs] = power
    return rules
