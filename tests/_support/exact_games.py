"""Product games in exact rational arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EPS = float(np.finfo(float).eps)


def uniform(n: int, d: int, seed: int) -> Floats:
    return np.random.default_rng(seed).random((n, d))


def exact_deficits(factors: Floats) -> list[list[Fraction]]:
    return [[1 - Fraction(z) for z in row] for row in factors.tolist()]


def exact_value(factors: Floats, weights: Floats) -> Callable[[frozenset[int]], Fraction]:
    """Return v(S) = sum_i w_i prod_{j in S} z_ij in fractions."""
    rows = [[Fraction(z) for z in row] for row in factors.tolist()]
    alphas = [Fraction(w) for w in weights.tolist()]

    def v(subset: frozenset[int]) -> Fraction:
        products = [math.prod((row[j] for j in subset), start=Fraction(1)) for row in rows]
        return sum(map(operator.mul, alphas, products), start=Fraction(0))

    return v
