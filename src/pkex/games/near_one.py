"""Games whose factors are near those of absent players, without a sweep over nodes.

Where factors are exponentials, ``p = exp(-s)`` and ``a = exp(-r)``, the general game is the product
of all a times the neutral game with the signed exponents ``e = s - r``; under neutral removal r is
0. A node t of weight w adds

    -w exp(-sum_i r_i + sum_i l(e_i)) g(e_j),      l(e) = log(1 - t v),  g(e) = v / (1 - t v),

with ``v = 1 - exp(-e)``, to the value of player j. Both functions are short polynomials in e where
|e| is small: K terms of the Chebyshev series of ``g(e) / e`` on [-L, L], and of ``l(e) / e``, leave
out 2^-52 for the L of `SIGNED`, whatever the node. The derivation is at the heads of
`native/near_one_series.hpp`, for exponents of one sign (`POSITIVE`), and of
`native/signed_series.hpp`; the L are where its bound is 2^-52, also for the K not listed there. Its
bound of the coefficients, ``8.01 pi^(-n-1)``, needs nodes with ``|log(t / (1 - t))| <= 5.3``: no
rule of more than 16 nodes. The tests compare with forty digits.

So the power sums of the exponents of a pair give the logarithms at all nodes, and adding up the
nodes leaves one polynomial, whose values at the e_j are the Shapley values: about 3 K passes over
the exponents, where a sweep takes 6 for every node, and no exponential of a factor.

What a sum of exponents is off by is the relative error of a product. So those of absent players,
which are large far from all points, are added up in two parts, the first without rounding, and the
signed ones by blocks of players: (16 + d / 16) units of ``sum |e_i|``. That sum is below 34 where a
rule has series: either the rule of 16 nodes covers lam up to 19.9, and lam is at least 0.67 of the
sum as ``|e| <= 0.976``; or it is exact for at most 32 players, whose sum is at most 32 * 0.976.
(16 + d / 16) * 34 units are less than the 34 d + 280 that `WeightedPoints.error` counts for general
games of d >= 9 players, and less than the 16 d + 280 for neutral ones of d >= 20; with fewer than
`_FEWEST_GENERAL` or `_FEWEST` of `numpy_backend` there are no series.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from pkex._util.types import Floats, Indices
from pkex.games.rules import Ladder, Rule
from pkex.games.threads import workspace

__all__ = [
    "POSITIVE",
    "SIGNED",
    "Series",
    "absent_sums",
    "add_near_one",
    "build_series",
    "player_sums",
]


SIGNED = {
    6: 0.01425,
    7: 0.03400,
    8: 0.06524,
    9: 0.10827,
    10: 0.16229,
    11: 0.22588,
    12: 0.29736,
    14: 0.45712,
    16: 0.62923,
    18: 0.80421,
    20: 0.97554,
}
"""The largest |e| for so many terms."""

POSITIVE = {
    6: 0.02836,
    7: 0.06718,
    8: 0.12751,
    9: 0.20857,
    10: 0.30718,
    11: 0.41902,
    12: 0.53963,
    14: 0.79156,
}
"""The same for exponents of one sign, by series on [0, L]: under neutral removal."""

_LONG = 48  # terms before the cut: (0.976 / pi)^48 is below 2^-80
_MOST_LOGIT = 5.3  # of a node, see the head
_BLOCK = 16  # players whose exponents are added up before they are added to the others
_GRID = 2.0**20  # multiples of 2^-20 below 2^10, where exp(-sum) is not 0, add up without rounding
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
def build_series(rule: Rule, terms: int, *, signed: bool = True) -> Series | None:
    """Return the series of so many terms of a rule, or None where a node is too near 0 or 1."""
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
    return Series(*(_shorten(powers, terms, signed) for powers in (logs, shares)))


def _shorten(powers: Floats, terms: int, signed: bool) -> Floats:
    """Return the first terms of Chebyshev series on [-L, L] or [0, L], as powers: (nodes, terms).

    In ``w = e / L`` and ``y``, which is w, or 2w - 1 where w starts at 0: polynomials in w, then
    their Chebyshev series in y, cut, and the other way round.
    """
    limit = (SIGNED if signed else POSITIVE)[terms]
    forth, back = ([0.0, 1.0], [0.0, 1.0]) if signed else ([0.5, 0.5], [-1.0, 2.0])
    scale = limit ** np.arange(len(powers), dtype=np.float64)
    cut = np.zeros((powers.shape[1], terms))
    for one, to in zip((powers * scale[:, None]).T, cut, strict=True):
        series = np.zeros(1)
        for coefficient in one[::-1]:
            series = chebyshev.chebadd(chebyshev.chebmul(series, forth), [coefficient])
        shorter = np.zeros(1)
        for coefficient in chebyshev.cheb2poly(series[:terms])[::-1]:
            shorter = polynomial.polyadd(polynomial.polymul(shorter, back), [coefficient])
        to[: len(shorter)] = shorter
    shortened: Floats = cut / scale[:terms]
    return shortened


def player_sums(e: Floats) -> Floats:
    """Return the sums over the players of signed exponents, by blocks of players."""
    total: Floats = np.add.reduce(e[:_BLOCK], axis=0)
    for start in range(_BLOCK, len(e), _BLOCK):
        total += np.add.reduce(e[start : start + _BLOCK], axis=0)
    return total


def absent_sums(r: Floats) -> Floats:
    """Return the sums over the players of exponents that may be large, rounded about once."""
    high = np.rint(r * _GRID) / _GRID  # sums of these are exact as long as exp(-sum) is not 0
    total: Floats = np.add.reduce(high, axis=0) + np.add.reduce(r - high, axis=0)
    return total


def _fill_powers(powers: Floats) -> Floats:
    """Fill in the powers 2, 3, ... of the first entry, and return the sums of all over the players.

    Those of the first power are asked for more digits than a plain sum has.
    """
    for lower, power in pairwise(powers):
        np.multiply(lower, powers[0], out=power)
    sums: Floats = (np.ones((1, 1, powers.shape[1])) @ powers)[:, 0]
    sums[0] = player_sums(powers[0])
    return sums


def add_near_one(
    e: Floats,
    absent: Floats,
    most: Floats,
    order: Indices,
    ladder: Ladder,
    values: Floats,
    *,
    signed: bool,
) -> tuple[int, set[Rule]]:
    """Write the values of pairs whose exponents are small.

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
    int and set of Rule
        How many pairs were solved, up to one whose rule has no series, and the rules.
    """
    rules, known = set[Rule](), SIGNED if signed else POSITIVE
    sizes, limits = list(known), list(known.values())
    step = max(16, _CHUNK // len(e))
    for start in range(0, len(order), step):
        pairs = order[start : start + step]
        terms = sizes[np.searchsorted(limits, most[pairs[-1]])]
        memory = workspace("powers", terms + 1, len(e), len(pairs))  # e, e^2, ...; and the values
        powers, chunk = memory[:-1], memory[-1]
        here = e.take(pairs, axis=1, out=powers[0], mode="clip")
        sums = _fill_powers(powers)
        size = np.add.reduce(np.abs(here, out=chunk), axis=0) if signed else sums[0]
        lam = float((size - (0.5 - most[pairs] / 6.0) * sums[1]).max())
        rule = ladder.rules[int(np.searchsorted(ladder.limits, lam))]
        series = build_series(rule, terms, signed=signed)
        if series is None:
            return start, rules
        rules.add(rule)
        logs, shares = series
        nodes = np.exp(logs @ sums - absent[pairs])
        nodes *= -rule.weights[:, None]
        # one pass for each term, where Horner's scheme in NumPy takes two
        np.einsum("kij,kj->ij", powers, shares.T @ nodes, out=chunk)
        values[:, pairs] = chunk
    return len(order), rules
