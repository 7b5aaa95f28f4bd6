"""Interaction indices by their definitions: sums over coalitions, and least squares.

A game on d players is an array of 2^d worths, as in `naive.py`: bit j of an index tells whether
player j is in the coalition. Nothing of pkex is imported.

The definitions: Grabisch and Roubens (1999) for SII, BII, Moebius and Co-Moebius; Marichal and
Roubens (1999) for CHII; Sundararajan, Dhamdhere and Agarwal (2020) for STII; Bordt and von Luxburg
(2023) for k-SII; Tsai, Yeh and Ravikumar (2023) for FSII and FBII.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np

INDICES = ("SII", "k-SII", "STII", "FSII", "BII", "FBII", "Moebius", "Co-Moebius", "CHII")
EFFICIENT = ("k-SII", "STII", "FSII")
_BERNOULLI = (1.0, -1 / 2, 1 / 6, 0.0)


def subsets(d: int, most: int, least: int = 0) -> list[tuple[int, ...]]:
    """Return all subsets of `least` to `most` players."""
    return [S for size in range(least, most + 1) for S in combinations(range(d), size)]


def mask(S: Any) -> int:
    return sum(1 << j for j in S)


def interactions(v: Any, index: str, order: int) -> dict[tuple[int, ...], float]:
    """Return the values of all subsets of at most `order` players; the empty set has its own."""
    rows = _rows(len(v).bit_length() - 1, index, order)
    return {S: row @ v for S, row in rows.items()}


@cache
def _rows(d: int, index: str, order: int) -> dict[tuple[int, ...], Any]:
    """Return what a value is as a linear function of the game: by the games of one coalition."""
    return _by_definition(np.eye(1 << d), d, index, order)


def _by_definition(v: Any, d: int, index: str, order: int) -> dict[tuple[int, ...], Any]:
    """Return the values of some games, worths of shape (2^d, games)."""
    if index in ("FSII", "FBII"):
        return _faithful(v, d, order, index == "FSII")
    if index == "k-SII":
        base = _by_definition(v, d, "SII", order)
        values = {
            S: sum(_BERNOULLI[len(T) - len(S)] * base[T] for T in base if set(S) <= set(T))
            for S in subsets(d, order, 1)
        }
        return {(): v[0]} | values
    values = {(): v[0]}
    for S in subsets(d, order, 1):
        rest = [j for j in range(d) if j not in S]
        total = 0.0
        for T in subsets(d, len(rest)):
            if set(T) <= set(rest):
                total += _weight(index, d, len(S), len(T), order) * _together(v, S, T)
        values[S] = total
    return values


def _together(v: Any, S: tuple[int, ...], T: tuple[int, ...]) -> Any:
    """Return the discrete derivative: what the players of S add together to T."""
    inside = subsets(len(S), len(S))
    chosen = [[S[place] for place in places] for places in inside]
    return sum((-1.0) ** (len(S) - len(L)) * v[mask(T) | mask(L)] for L in chosen)


def _weight(index: str, d: int, s: int, t: int, order: int) -> float:
    """Return the weight of a coalition of t players among those without a subset of s."""
    if index == "SII":
        return factorial(d - t - s) * factorial(t) / factorial(d - s + 1)
    if index == "BII":
        return 0.5 ** (d - s)
    if index == "Moebius" or (index == "STII" and s < order):
        return float(t == 0)
    if index == "Co-Moebius":
        return float(t == d - s)
    if index == "CHII":
        return s / ((s + t) * comb(d, s + t))
    assert index == "STII"
    return order / (d * comb(d - 1, t))


def _faithful(v: Any, d: int, order: int, shapley: bool) -> dict[tuple[int, ...], Any]:
    """Return the coefficients of the best fit of order `order`.

    FSII weighs a coalition of t players by ``1 / (comb(d, t) t (d - t))`` and is exact for none and
    for all; FBII weighs all alike.
    """
    known = subsets(d, min(order, d))
    rows = np.array([[float(mask(S) & m == mask(S)) for S in known] for m in range(1 << d)])
    if not shapley:
        found = np.linalg.lstsq(rows, np.asarray(v), rcond=None)[0]
        return dict(zip(known, found, strict=True))
    sizes = [m.bit_count() for m in range(1 << d)]
    inner = [m for m, t in enumerate(sizes) if 0 < t < d]
    weights = np.array([1.0 / (comb(d, sizes[m]) * sizes[m] * (d - sizes[m])) for m in inner])
    ends = rows[[0, -1]]
    # exact for none and all: minimise on what is left, by a basis of the null space
    start = np.linalg.lstsq(ends, np.asarray(v)[[0, -1]], rcond=None)[0]
    basis = np.linalg.svd(ends)[2][2:].T
    scaled = np.sqrt(weights)[:, None] * rows[inner]
    target = np.sqrt(weights)[:, None] * (np.asarray(v)[inner] - rows[inner] @ start)
    free = np.linalg.lstsq(scaled @ basis, target, rcond=None)[0]
    return dict(zip(known, start + basis @ free, strict=True))
