"""The oracles themselves: what `naive.py` says, against closed forms and identities."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

from tests._support import naive
from tests._support.exact_games import EPS, exact_deficits, exact_value, uniform


@pytest.mark.parametrize("m", [1, 2, 5, 30])
def test_oracle_rule_integrates_every_polynomial_below_degree_2m(m: int) -> None:
    nodes, weights = naive.gauss_legendre(m, 50)
    assert all(0 < a < b < 1 for a, b in pairwise(nodes))
    with mp.workdps(60):
        for k in range(2 * m):
            moment = sum(w * t**k for t, w in zip(nodes, weights, strict=True))
            assert abs(moment * (k + 1) - 1) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_oracle_integrals_give_the_exact_shapley_values(d: int) -> None:
    factors, weights = uniform(2, d, seed=d), np.array([1.5, -0.5])
    enumerated = naive.shapley_by_enumeration(exact_value(factors, weights), d)
    integrated = naive.shapley(exact_deficits(factors), weights.tolist())
    for fraction, phi in zip(enumerated, integrated, strict=True):
        assert abs(naive.exactly(phi) - fraction) < Fraction(1, 10**49)


def test_oracle_integrals_equal_expected_reciprocals() -> None:
    """Two unrelated ways to the same 40 digits, with deficits of exactly 0, exactly 1 and 1e-30."""
    u = [0.0, 1.0, 1e-30, *np.random.default_rng(12).random(57).tolist()]
    with mp.workdps(60):
        for j, integral in enumerate(naive.leave_one_out(u)):
            expectation = naive.expected_reciprocal(u[:j] + u[j + 1 :])
            assert abs(integral / expectation - 1) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("p", [Fraction(1, 3), 0.25, mpmath.mpf("0.7"), 1])
def test_expected_reciprocal_of_a_binomial_has_a_closed_form(p: Any) -> None:
    """E[1/(K+1)] = (1 - (1-p)^(d+1)) / ((d+1) p) for K binomial (d, p)."""
    d, q = 90, naive.exactly(p)
    exact = (1 - (1 - q) ** (d + 1)) / ((d + 1) * q)
    assert abs(naive.exactly(naive.expected_reciprocal([p] * d)) / exact - 1) < Fraction(1, 10**50)


KERNELS: list[tuple[str, dict[str, float], Callable[[float], float], float, int]] = [
    # name, parameters, k at a distance, leading coefficient and power of 1 - k in the distance
    ("rbf", {"length_scale": 2.0}, lambda r: math.exp(-(r**2) / 8), 1 / 8, 2),
    ("laplacian", {"length_scale": 2.0}, lambda r: math.exp(-r / 2), 1 / 2, 1),
    ("cauchy", {"length_scale": 2.0}, lambda r: 1 / (1 + r**2 / 4), 1 / 4, 2),
    ("matern", {"length_scale": 2.0, "nu": 0.5}, lambda r: math.exp(-r / 2), 1 / 2, 1),
    (
        "matern",
        {"length_scale": 1.0, "nu": 1.5},
        lambda r: (1 + 3**0.5 * r) * math.exp(-(3**0.5) * r),
        3 / 2,
        2,
    ),
    (
        "matern",
        {"length_scale": 1.0, "nu": 2.5},
        lambda r: (1 + 5**0.5 * r + 5 * r**2 / 3) * math.exp(-(5**0.5) * r),
        5 / 6,
        2,
    ),
    ("chi2", {"gamma": 3.0}, lambda r: math.exp(-3 * r**2 / (2 + r)), 3 / 2, 2),
    (
        "periodic",
        {"length_scale": 1.0, "periodicity": 4.0},
        lambda r: math.exp(-2 * math.sin(math.pi * r / 4) ** 2),
        math.pi**2 / 8,
        2,
    ),
]


@pytest.mark.parametrize(("name", "params", "k", "coefficient", "power"), KERNELS)
def test_kernel_deficit_follows_the_formula_and_keeps_its_digits_when_tiny(
    name: str, params: Any, k: Callable[[float], float], coefficient: float, power: int
) -> None:
    """At x = 1: the plain formula at distance 0.75, the leading term at 2^-50, and 0 at 0."""
    far = float(naive.kernel_deficit(name, 1.75, 1.0, **params))
    assert far == pytest.approx(1 - k(0.75), rel=16 * EPS)
    h = 2.0**-50
    tiny = float(naive.kernel_deficit(name, 1.0 + h, 1.0, **params))
    assert tiny == pytest.approx(coefficient * h**power, rel=4 * h + 4 * EPS)
    assert naive.kernel_deficit(name, 1.0, 1.0, **params) == 0


def test_kernel_deficit_at_the_edges() -> None:
    assert naive.kernel_deficit("chi2", 0.0, 0.0, gamma=1.0) == 0
    assert naive.kernel_deficit("periodic", 7.5, 0.0, length_scale=1.0, periodicity=2.5) == 0
    assert naive.kernel_deficit("categorical", 2.0, 2.0, mismatch=0.25) == 0
    assert naive.kernel_deficit("categorical", 2.0, 1.0, mismatch=0.25) == 0.75
    underflowing = naive.kernel_deficit("rbf", 0.0, 2.0**-600, length_scale=1.0)
    assert mpmath.log(underflowing, 2) == pytest.approx(-1201)
    with pytest.raises(ValueError, match="'sinc' is not a kernel"):
        naive.kernel_deficit("sinc", 0.0, 1.0)
