"""Functionals and the bounds of their rules: as fractions, and in 40 digits."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import pkex
from pkex.games.functionals import INDICES
from pkex.games.interactions import Recipe
from pkex.kernels import RBF
from tests._support import naive
from tests._support.naive_interactions import INDICES as NAMES
from tests._support.naive_interactions import subsets

pytestmark = pytest.mark.rules

DIGITS = 40


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_densities_of_fsii_have_the_moments_of_its_definition(order):
    """Tsai, Yeh and Ravikumar (2023): what a Moebius coefficient counts for."""
    for size in range(1, order + 1):
        density = [Fraction(c) for c in INDICES["FSII"].of(size, order).density]
        q = len(density) - 1
        for t in range(size, order + 8):  # the coefficient of a set of t players
            moment = sum(
                c
                * Fraction(factorial(i + t - size) * factorial(q - i), factorial(q + t - size + 1))
                for i, c in enumerate(density)
            )
            if t <= order:
                assert moment == int(t == size)
                continue
            sign = (-1) ** (order - size)
            share = Fraction(comb(t - 1, order), comb(t + order - 1, order + size))
            assert moment == sign * Fraction(size, order + size) * comb(order, size) * share


def polynomial(p, a, subset):
    """Return the coefficients of G_S in the working precision."""
    series = [mpf(1)]
    for j, (present, absent) in enumerate(zip(p, a, strict=True)):
        change = mpf(present) - mpf(absent)
        if j in subset:
            series = [change * c for c in series]
        else:
            series = [
                (mpf(absent) * series[i] if i < len(series) else 0)
                + (change * series[i - 1] if i else 0)
                for i in range(len(series) + 1)
            ]
    return series


def exact(functional, series):
    """Return the functional of a polynomial by its coefficients."""
    q, total = functional.more_players, mpf(0)
    for i, c in enumerate(functional.density):
        for m, g in enumerate(series):
            total += mpf(c) * g * mpmath.beta(i + m + 1, q - i + 1)
    for node, order, weight in functional.points:
        taylor = sum(
            g * mpmath.binomial(m, order) * mpf(node) ** (m - order)
            for m, g in enumerate(series)
            if m >= order
        )
        total += mpf(weight) * taylor
    return total


def by_rule(functional, series, rule):
    """Return the same with a rule in place of the integral, its numbers as they are stored."""
    total = mpf(0)
    for x, w in zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True):
        q = functional.more_players
        density = sum(
            mpf(c) * mpf(x) ** i * (1 - mpf(x)) ** (q - i) for i, c in enumerate(functional.density)
        )
        total += mpf(w) * density * sum(g * mpf(x) ** m for m, g in enumerate(series))
    return total


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("index", ["SII", "STII", "FSII", "CHII"])
def test_certificates_hold_in_40_digits(index, general):
    """At the largest lam of every rule: under neutral removal relative, else relative to 1."""
    rng = np.random.default_rng(1)
    d, order = 12, 3
    recipe = Recipe(INDICES[index], order, d, general)
    rungs = recipe.rules
    relative = not general and index in ("SII", "STII")
    assert (rungs.lower == 0.0) == relative
    with mp.workdps(DIGITS):
        for rule, limit in zip(rungs.rules, rungs.limits, strict=True):
            most = min(limit - recipe.more_players, 0.9 * d)
            if most <= 0.0:
                continue
            u = rng.uniform(0.2, 1.0, size=d)
            u *= min(most / u.sum(), 1.0 / u.max())
            a = np.ones(d)
            if general:
                a = rng.uniform(np.minimum(1.0, u), 1.0)
                u *= rng.choice([-1.0, 1.0], size=d)
                a = np.where(u < 0.0, a + u, a)  # so that both ends lie in [0, 1]
            p = a - u
            assert max(np.abs(a).max(), np.abs(p).max()) <= 1.0
            for size, functional in recipe.integrated.items():
                subset = tuple(range(size))
                series = polynomial(p.tolist(), a.tolist(), subset)
                truth, found = exact(functional, series), by_rule(functional, series, rule)
                scale = mpf(1)
                for j in subset:
                    scale *= abs(mpf(float(p[j])) - mpf(float(a[j])))
                bound = recipe.mass * rule.relative_error * scale
                if relative:
                    bound = rule.relative_error * abs(truth)
                assert abs(found - truth) <= bound, (index, rule, size)


def test_a_few_nodes_are_not_exact_so_that_the_bounds_are_tested():
    recipe = Recipe(INDICES["SII"], 2, 12, True)
    with mp.workdps(DIGITS):
        p, a = [0.1] * 12, [0.9] * 12
        series = polynomial(p, a, (0, 1))
        functional = recipe.functionals[2]
        rough = by_rule(functional, series, recipe.rules.rules[0])
        assert abs(rough - exact(functional, series)) > 1e-3


@pytest.mark.parametrize("removal", ["neutral", "interventional", "product-of-marginals"])
def test_errors_bound_what_is_computed_in_40_digits(removal):
    rng = np.random.default_rng(2)
    d, n = 5, 3
    points, row, background = (rng.normal(size=(k, d)) for k in (n, 1, 2))
    alpha = rng.normal(size=n)
    f = pkex.KernelExpansion(points, alpha, RBF(0.75))
    given = None if removal == "neutral" else background
    explain = pkex.Explainer(f, given, removal=removal)

    def factors(x):
        params = {"length_scale": 0.75}
        return [
            [
                naive.kernel("rbf", naive.exactly(float(x[j])), naive.exactly(float(z[j])), params)
                for j in range(d)
            ]
            for z in points
        ]

    with mp.workdps(DIGITS):
        present = factors(row[0])
        others = [factors(b) for b in background]
        if removal == "neutral":
            scenarios = [[[mpf(1)] * d] * n]
        elif removal == "interventional":
            scenarios = others
        else:
            scenarios = [
                [[(others[0][i][j] + others[1][i][j]) / 2 for j in range(d)] for i in range(n)]
            ]
        for index in NAMES:
            found = explain.interactions(row, index=index, max_order=3)
            for S in [*subsets(d, 2, 1), (0, 2, 4)]:
                functional, truth = INDICES[index].of(len(S), 3), mpf(0)
                for absent in scenarios:
                    for i in range(n):
                        series = polynomial(present[i], absent[i], S)
                        truth += mpf(float(alpha[i])) * exact(functional, series) / len(scenarios)
                assert abs(mpf(float(found[S][0])) - truth) <= found.error_bound[0], (index, S)
        assert found.error_bound[0] < 1e-10
