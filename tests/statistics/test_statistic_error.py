"""`Attribution.error_bound` holds in forty digits, for every kernel of the list.

The oracle takes samples and parameters as they are stored and computes the game of every pair, its
weights and the means of absent factors from their definitions. Sizes of samples are such that the
few floating-point numbers of `naive` are exact.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from math import prod
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr

import pkex
from pkex.kernels import RBF, Custom, Laplacian, Linear, Matern, Polynomial
from tests._support import naive
from tests._support.cases import KERNELS, cosine, sample, scales
from tests._support.unchecked import unchecked
from tests.explain.test_error import BITS, factor, pair_values

N, M = 4, 8
FORMULAS = {
    "Cauchy": lambda leaf, s, x, z: 1 / (1 + ((x - z) / s) ** 2),
    "Categorical": lambda leaf, s, x, z: mpfr(1) if x == z else s,
}


def one_factor(leaf, place, x, z):
    """Return the factor of a column, `place` among those that the leaf covers."""
    name = type(leaf).__name__
    if name in ("Custom", "Tent"):
        if getattr(leaf, "function", None) is cosine:
            return gmpy2.cos(mpfr(x) - mpfr(z))
        width = len(leaf.columns)
        left, right = (np.array([mpfr(value)] * width, dtype=object) for value in (x, z))
        return mpfr(leaf.factors(left, right)[place])
    if name not in FORMULAS:
        return factor(leaf, place, x, z)
    scale = leaf.length_scale if name == "Cauchy" else leaf.mismatch
    scale = scale[place] if isinstance(scale, tuple) else scale
    return FORMULAS[name](leaf, mpfr(scale), mpfr(x), mpfr(z))


def term_factors(term, row, point):
    """Return the factor of every column."""
    found = [mpfr(1)] * term.n_columns
    for leaf in term.leaves:
        covered = range(term.n_columns) if leaf.columns is None else leaf.columns
        for place, column in enumerate(covered):
            found[column] *= one_factor(leaf, place, float(row[column]), float(point[column]))
    return found


def pairs_of(kernel, X, removal):
    """Return a function of a pair of rows: the values of the columns, and their sum."""
    n, d = X.shape
    terms = kernel.terms(d)
    every = [[[term_factors(term, a, b) for b in X] for a in X] for term in terms]
    found: dict[tuple[int, int], Any] = {}
    for term, factors in zip(terms, every, strict=True):
        absent = [mpfr(1)] * d
        if removal == "product-of-marginals":
            pairs = list(permutations(range(n), 2))
            absent = [sum(factors[i][k][j] for i, k in pairs) / len(pairs) for j in range(d)]
        for i in range(n):
            for k in range(n):
                present, scale = factors[i][k], mpfr(term.coefficient)
                values = pair_values(present, absent)
                both = np.array([*values, prod(present) - prod(absent)], dtype=object) * scale
                found[i, k] = found.get((i, k), 0) + both
    return lambda i, k: found[i, k]


def check(found, expected):
    """Compare with exact values and their sum, and return the largest error."""
    gaps = [abs(mpfr(float(a)) - e) for a, e in zip(found.values, expected[:-1], strict=True)]
    gaps.append(abs(mpfr(found.statistic) - expected[-1]))
    assert max(gaps) <= found.error_bound
    return float(max(gaps))


def target_of(kernel, y):
    """Return a function of a pair of rows: the kernel of their targets."""
    terms = kernel.terms(1)

    def worth(i, k):
        return sum(prod(term_factors(t, y[i], y[k])) * mpfr(t.coefficient) for t in terms)

    return worth


EXTRA = {"linear": Linear(), "polynomial": Polynomial(2, gamma=0.7, coef0=-0.3)}
NAMES = [*(case.name for case in KERNELS), *EXTRA]


@cache
def problem(name):
    rng = np.random.default_rng([25, NAMES.index(name)])
    X, scale = sample(rng, N + M, 3), scales(rng, 3)
    kernel = EXTRA.get(name) or next(case for case in KERNELS if case.name == name).build(scale)
    return X, kernel, rng.normal(size=(10, 1))


@pytest.mark.parametrize(
    ("name", "removal"),
    [
        *((name, "product-of-marginals") for name in NAMES),
        *((case.name, "neutral") for case in KERNELS),  # a linear part has no neutral removal
    ],
)
def test_the_bound_holds_for_every_kernel(name, removal):
    X, kernel, y = problem(name)
    with gmpy2.context(precision=BITS):
        game = pairs_of(kernel, X, removal)
        small = pairs_of(kernel, X[:10], removal)
        for estimator in ("unbiased", "biased"):
            biased = estimator == "biased"
            options = {"kernel": kernel, "removal": removal, "estimator": estimator}
            expected = naive.mmd(game, N, M, biased)
            for count in (0, 9):
                options |= {"n_permutations": count, "random_state": 0}
                found = pkex.mmd(X[:N], X[N:], **options)
                check(found, expected)
                if name not in EXTRA and not name.startswith("growing"):
                    assert found.error_bound < 1e-10
                for target in (RBF(0.7), Polynomial(3, coef0=-0.2)):
                    found = pkex.hsic(X[:10], y, target_kernel=target, **options)
                    check(found, naive.hsic(small, target_of(target, y), 10, biased))


def test_a_kernel_of_a_distance():
    """Its values come from a mixture, whose error the bound has in it."""
    X, d = np.random.default_rng(3).normal(size=(N + M, 3)), 3
    scales = [1.0, 2.0, 0.7]
    kernel = Matern(scales, nu=1.5)

    def worth(i, k, columns):
        parts = ((mpfr(X[i, c]) - mpfr(X[k, c])) / mpfr(scales[c]) for c in columns)
        a = gmpy2.sqrt(3 * sum((part**2 for part in parts), mpfr(0)))
        return (1 + a) * gmpy2.exp(-a)

    def game(i, k):
        values = naive.shapley_by_enumeration(lambda s: worth(i, k, s), d)
        return np.array([*values, worth(i, k, range(d)) - 1], dtype=object)

    with gmpy2.context(precision=BITS):
        expected = naive.mmd(game, N, M)
    for tol in (None, 1e-6):
        options: Any = {"kernel": kernel, "removal": "neutral", "tol": tol}
        for count in (0, 9):
            found = pkex.mmd(X[:N], X[N:], n_permutations=count, random_state=0, **options)
            check(found, expected)
            assert found.error_bound < (1e-9 if tol is None else 1e-3)


@pytest.mark.parametrize("kernel", [RBF(0.7), Laplacian(0.8)], ids=str)
def test_means_that_are_not_added_up(kernel):
    """Of many rows the mean factors come from nodes or from sums from left to right.

    A product game of two players has the values ``(p_j - a_j) (p_i + a_i) / 2``.
    """
    n, m = 64, 304
    X = np.random.default_rng(4).normal(size=(n + m, 2))
    assert (n + m) ** 2 > 2**17  # from which on Laplacian means are summed from left to right
    i, k = np.triu_indices(n + m, 1)
    samples = [k < n, i >= n, (i < n) & (k >= n)]
    with gmpy2.context(precision=BITS):
        to_factor = np.frompyfunc(lambda x, z: factor(kernel, 0, x, z), 2, 1)
        p, q = (to_factor(column[i], column[k]) for column in X.T)
        a, b = p.sum() / len(p), q.sum() / len(q)
        expected = []
        for values in ((p - a) * (q + b) / 2, (q - b) * (p + a) / 2, p * q):
            means = [values[chosen].sum() / int(chosen.sum()) for chosen in samples]
            expected.append(means[0] + means[1] - 2 * means[2])
        for count in (0, 9):
            found = pkex.mmd(X[:n], X[n:], kernel=kernel, n_permutations=count, random_state=0)
            check(found, expected)
            assert found.error_bound < 1e-10


def test_factors_that_cancel():
    """Columns of any unit: rounding is relative to what is added up, not to what is left."""
    X = np.random.default_rng(5).normal(size=(N + M, 3)) * [1e6, 1.0, 1e3] + [1e7, 0.0, 0.0]
    worst = 0.0
    for kernel in (Linear(), RBF([1e6, 1.0, 1e3]) * Linear(), Polynomial(2)):
        with gmpy2.context(precision=BITS):
            game = pairs_of(kernel, X, "product-of-marginals")
            expected = naive.mmd(game, N, M)
        found = pkex.mmd(X[:N], X[N:], kernel=kernel)
        worst = max(worst, check(found, expected))
    assert worst > 1e-6  # rounding shows


def test_blocks_and_groups():
    """The bound of a mean over blocks is that of their errors; a group's factor is a product."""
    X = np.random.default_rng(6).normal(size=(32, 3))
    found = pkex.mmd(X[:16], X[16:], kernel=RBF(1.3), block_size=8, random_state=0)
    exact = 0
    with gmpy2.context(precision=BITS):
        for rows, weights in unchecked(found.source).blocks:
            game = pairs_of(RBF(1.3), X[rows], "product-of-marginals")
            exact = exact + naive.mmd(game, weights.n, weights.m)
        check(found, exact / len(unchecked(found.source).blocks))
    whole = pkex.mmd(X[:16], X[16:], kernel=RBF(1.3), groups=[[0, 1]])
    single = pkex.mmd(X[:16], X[16:], kernel=RBF(1.3))
    assert abs(whole.statistic - single.statistic) <= whole.error_bound + single.error_bound


def test_a_bound_is_shown_and_saved(tmp_path):
    X, Z = np.random.default_rng(7).normal(size=(2, 20, 2))
    found = pkex.mmd(X, Z, n_permutations=19, random_state=0)
    assert f"error bound {found.error_bound:.1g}" in repr(found)
    found.save(tmp_path / "a.npz")
    assert pkex.Attribution.load(tmp_path / "a.npz").error_bound == found.error_bound
    assert "error bound" not in repr(replace(found, error_bound=None))
    rough = pkex.mmd(X, Z, kernel=Custom(cosine), tol=1e-4)
    exact = pkex.mmd(X, Z, kernel=Custom(cosine))
    assert np.abs(rough.values - exact.values).max() <= rough.error_bound + exact.error_bound
