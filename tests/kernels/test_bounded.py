"""Kernels of a bounded distance: short sums of Gaussians, whose error is at most the proven one."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

from pkex import KernelExpansion, sensitivity
from pkex.explain import sensitivity as sobol
from pkex.kernels import RBF, Custom, Laplacian, Linear, Matern, RationalQuadratic
from pkex.kernels.bounded import proven_error, restrict_to_box
from pkex.kernels.mixtures import Mixture
from tests.explain.test_sensitivity import by_grid, indices

TOL = 1e-7
KERNELS = [
    Matern(nu=2.5), Matern(nu=1.5), Matern(nu=0.5), Matern(nu=2.0),
    RationalQuadratic(alpha=0.5), RationalQuadratic(alpha=3.0),
]  # fmt: skip


def profile(kernel, q):
    """Return the kernel as a function of the squared distance, in many digits."""
    if isinstance(kernel, RationalQuadratic):
        alpha = mpmath.mpf(kernel.alpha)
        return (1 + q / (2 * alpha)) ** -alpha
    if q == 0:
        return mpmath.mpf(1)
    nu = mpmath.mpf(kernel.nu)
    a = mpmath.sqrt(2 * nu * q)
    return 2 ** (1 - nu) / mpmath.gamma(nu) * a**nu * mpmath.besselk(nu, a)


def mixture_of(kernel, reach):
    end = np.full((1, 1), reach**0.5 * (1.0 - 1e-9))
    return restrict_to_box(kernel, np.zeros((1, 1)), end, TOL)


@pytest.mark.parametrize("reach", [2.0**-6, 0.5, 8.0, 300.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_error_is_at_most_the_proven_one(kernel, reach):
    terms = mixture_of(kernel, reach).terms(1, TOL)
    usual = kernel.terms(1, TOL)
    assert len(terms) <= len(usual)
    error = sum(term.error for term in terms)
    assert error <= sum(term.error for term in usual)
    taus = [1.0 / (2.0 * mpmath.mpf(term.leaves[0].length_scale) ** 2) for term in terms]
    with mpmath.workdps(40):
        for q in [0.0, *np.geomspace(1e-9 * reach, reach, 60)]:
            parts = zip(terms, taus, strict=True)
            found = sum(term.coefficient * mpmath.exp(-tau * q) for term, tau in parts)
            # length scales are rounded: half an ulp of tau q exp(-tau q) <= 1/e in each term
            assert abs(found - profile(kernel, mpmath.mpf(q))) <= error + 2.0**-52


@pytest.mark.parametrize("kernel", [Matern(nu=2.5), RationalQuadratic(alpha=0.5)], ids=str)
def test_within_a_short_reach_it_is_orders_of_magnitude_closer(kernel):
    near, far = (
        sum(term.error for term in mixture_of(kernel, r).terms(1, TOL)) for r in (0.5, 1e4)
    )
    assert near < 1e-2 * far


@pytest.mark.parametrize("seed", range(5))
def test_any_difference_of_sums_is_covered(seed):
    rng = np.random.default_rng(seed)
    scales = np.sort(np.exp(rng.uniform(-3.0, 9.0, size=8)))
    fine = Mixture(scales, rng.dirichlet(np.ones(8)), 1e-15)
    other = scales[::2] * rng.uniform(0.9, 1.1, size=4), rng.dirichlet(np.ones(4))
    reach = float(np.exp(rng.uniform(-4.0, 4.0)))
    q = np.concatenate([[0.0], np.geomspace(1e-6 * reach, reach, 20_000)])[:, None]
    off = np.exp(-q * scales) @ fine.weights - np.exp(-q * other[0]) @ other[1]
    proven = proven_error(fine, *other, reach)
    largest = np.abs(off).max()
    assert largest <= proven <= 3.2 * largest  # the Lebesgue constant of 26 nodes is 3.07


def test_other_kernels_and_far_points_stay_as_they_are():
    x, far = np.zeros((2, 3)), np.full((2, 3), 1e200)
    kernel = 2.0 * RBF() * Laplacian().on(1) + Linear()
    assert restrict_to_box(kernel, x, x, TOL) == kernel
    assert restrict_to_box(Matern(), x, far, TOL) == Matern()
    assert restrict_to_box(Matern(), x, x, TOL) == Matern()


def test_a_kernel_of_some_columns_is_bounded_by_these():
    near = np.column_stack([np.linspace(0.0, 0.5, 5), np.linspace(0.0, 1e3, 5)])
    error = [
        sum(
            term.error
            for term in restrict_to_box(3.0 * Matern(nu=2.5).on(j), near, near, TOL).terms(2, TOL)
        )
        for j in (0, 1)
    ]
    assert error[0] < 1e-2 * error[1]


@pytest.mark.parametrize(
    ("kernel", "noise"),
    [(Matern(4.0, nu=2.5), 1e-7), (RationalQuadratic(3.0, alpha=1.0), 1e-6)],
    ids=str,
)
def test_indices_are_within_their_error_of_many_digits(kernel, noise):
    """Coefficients of opposite signs, a million times as large as what is left of them."""
    rng = np.random.default_rng(3)
    points, X = rng.uniform(size=(25, 3)), rng.uniform(size=(4, 3))
    matrix = kernel(points, points) + noise * np.eye(25)
    alpha = np.linalg.solve(matrix, np.sin(5.0 * points[:, 0]) * points[:, 1] + points[:, 2])
    f = KernelExpansion(points, alpha, kernel)
    found = sensitivity(f, X, order=2)
    scale = np.abs(alpha).sum() / float(found.variance) ** 0.5
    assert scale > 1e5

    def predict(rows):
        lengths = mpmath.mpf(kernel.length_scale)
        many = [[mpmath.mpf(float(entry)) for entry in row] for row in rows]
        own = [[mpmath.mpf(float(entry)) for entry in row] for row in points]
        return np.array([
            mpmath.fsum(
                mpmath.mpf(float(a)) * profile(kernel, sum(
                    ((u - v) / lengths) ** 2 for u, v in zip(row, point, strict=True)))
                for a, point in zip(alpha, own, strict=True))
            for row in many
        ])  # fmt: skip

    with mpmath.workdps(40):
        _, worth = by_grid(lambda rows: predict(rows).astype(np.float64), X, np.full(4, 0.25),
                        ((0,), (1,), (2,)))  # fmt: skip
    variance = worth[frozenset(range(3))]
    ours = (found.first_order, found.total_order, found.shapley, found.second_order)
    for one, other in zip(ours, indices(worth, 3), strict=True):
        assert np.abs(one - other / variance).max() <= found.error_bound
    assert found.error_bound <= 1e-3


def test_the_bound_of_a_smooth_process_is_small(monkeypatch):
    """Long length scales have large coefficients, which an error of the kernel is multiplied by."""
    X = qmc.Sobol(6, seed=0).random(128)
    y = np.sin(np.pi * X[:, 0] * X[:, 1]) + 2.0 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + 0.5 * X[:, 4]
    lengths = [4.3, 4.3, 7.9, 50.0, 50.0, 50.0]
    kernel = gp.ConstantKernel(700.0) * gp.Matern(lengths, nu=2.5)
    process = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None, normalize_y=True)
    found = sensitivity(process.fit(X, y), X)
    assert found.error_bound <= 1e-3
    # sums for all distances
    monkeypatch.setattr(sobol, "restrict_to_box", lambda kernel, *_: kernel)
    before = sensitivity(process, X)
    assert before.error_bound > 100.0 * found.error_bound
    monkeypatch.setattr(sobol, "MIXTURE_ERROR", 1e-12)
    fine = sensitivity(process, X)
    for index in ("first_order", "total_order", "shapley"):
        off = np.abs(getattr(found, index) - getattr(fine, index)).max()
        assert off <= found.error_bound + fine.error_bound


def waves(x, z, size):
    return size * np.cos(x - z)


def test_an_error_counts_times_the_factors_beside_it():
    rng = np.random.default_rng(4)
    points, alpha, rows = rng.normal(size=(5, 2)), rng.normal(size=5), rng.normal(size=(6, 2))
    errors = []
    for size in (1.0, 1e3):
        other = Custom(partial(waves, size=size), columns=(1,))
        f = KernelExpansion(points, alpha, Matern(nu=2.5, columns=(0,)) * other)
        errors.append(sensitivity(f, rows).error_bound)
    assert errors[1] == pytest.approx(errors[0], rel=0.1)  # in another unit; rounding is less
