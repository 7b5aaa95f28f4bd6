"""Gradients integrated along straight paths: against quadrature, and in many digits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import erfcx

from pkex.errors import AdditivityError
from pkex.kernels import (
    RBF,
    Cauchy,
    Chi2,
    ColumnKernel,
    Constant,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    ProductMatern,
    RationalQuadratic,
)
from pkex.kernels.path_rules import PathSums
from pkex.kernels.paths import CLOSED, RULE, integrate_paths, split_kernel
from tests._support.cases import assert_close

S: Any = np.array([1.0, 2.0, 0.7])
D, N = 3, 6

CLOSED_FORMS = {
    "rbf": RBF(S),
    "sum of rbf": 2.0 * RBF(S) + Constant(1.5) * RBF(3.0) + Constant(2.0),
    "product of rbf": RBF(1.2).on(0, 1) * RBF(0.8).on(1, 2),
    "laplacian": Laplacian(S),
    "product of laplacian": Laplacian(S) * ProductMatern(2.0, nu=0.5).on(1),
}
BY_RULE = {
    "matern-0.5": Matern(S, nu=0.5),
    "matern-0.9": Matern(S, nu=0.9),
    "matern-1.5": Matern(S, nu=1.5),
    "matern-2.5": Matern(S, nu=2.5).on(2, 0, 1),
    "matern-on": Matern(1.2, nu=2.5).on(0, 2),
    "rational-quadratic": RationalQuadratic(S, alpha=0.6),
    "cauchy": Cauchy(S),
    "product-matern-1.5": ProductMatern(S, nu=1.5),
    "product-matern-2.5": ProductMatern(S, nu=2.5),
    "periodic": Periodic(S, 1.75),
    "linear": Linear(),
    "polynomial": Polynomial(3),
    "rbf times laplacian": RBF(S) * Laplacian(S + 1.0),
    "rbf times matern": RBF(S) * Matern(1.5, nu=2.5),
    "sums": (RBF(S) + 2.0 * Laplacian(S)) * (Cauchy(S) + ProductMatern(S, nu=2.5)),
    "constant times both": Constant(2.0) * (Linear() + Constant(0.3)) * RBF(S),
    "linear times matern": Linear() * Matern(S, nu=1.5),
}
KERNELS = CLOSED_FORMS | BY_RULE


def integrate(kernel, rows, baseline, z, a):
    """Return the sums over all summands of a kernel."""
    pieces = split_kernel(kernel, rows.shape[1])
    every = [integrate_paths(p, rows, baseline, z, p.factor * a) for p in pieces]
    return PathSums(*(sum(arrays) for arrays in zip(*every, strict=True)))


def integrate_slowly(kernel, x, b, z, a, away=(1e-3,)):
    """Return one row by adaptive quadrature between places where something may not be smooth."""
    step = x - b
    nearest = ((z - b) / S**2) @ step / ((step / S) ** 2).sum()
    around = np.add.outer(nearest, [*np.negative(away), 0.0, *away])
    cuts = np.concatenate([((z - b) / step).ravel(), around.ravel()])
    ends = np.unique(np.concatenate([[0.0, 1.0], cuts[(cuts > 0.0) & (cuts < 1.0)]]))

    def slope(t, j):
        return float(step[j] * (kernel.gradient((b + t * step)[None], z).slopes[:, j] @ a[:, 0]))

    options: dict[str, Any] = {"epsabs": 1e-14, "epsrel": 1e-11}
    return np.sum(
        [
            [quad(slope, lower, upper, args=(j,), **options)[0] for j in range(len(x))]
            for lower, upper in pairwise(ends)
        ],
        axis=0,
    )


def sample_paths(scale, seed=0):
    """Return rows, a baseline, points and weights; two points lie near a path."""
    rng = np.random.default_rng(seed)
    rows, baseline = scale * rng.normal(size=(2, D)), scale * rng.normal(size=D)
    z, a = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    z[0] = baseline + 0.3 * (rows[0] - baseline) + 0.3 * rng.normal(size=D)
    z[1] = baseline + 0.6 * (rows[0] - baseline) + 0.01 * rng.normal(size=D)
    return rows, baseline, z, a


@pytest.mark.parametrize("name", KERNELS)
def test_integrals_agree_with_adaptive_quadrature(name):
    rows, baseline, z, a = sample_paths(1.0)
    sums = integrate(KERNELS[name], rows, baseline, z, a)
    size = max(1.0, np.abs(sums.values).max())
    for row, values in zip(rows, sums.values, strict=True):
        expected = integrate_slowly(KERNELS[name], row, baseline, z, a)
        assert_close(values[:, 0], expected, 1e-11 * size)  # of the adaptive rule
    assert_close(sums.values.sum(axis=1), sums.rises, 1e-12 * size)
    rise = KERNELS[name](rows, z) - KERNELS[name](baseline[None], z)
    assert_close(sums.rises, rise @ a, 1e-12 * size)
    assert (sums.errors < 1e-9 * size).all()


@pytest.mark.parametrize("length", [30.0, 1e3, 1e4])
@pytest.mark.parametrize("name", ["cauchy", "product-matern-1.5", "rational-quadratic", "products"])
def test_a_long_path_does_not_miss_the_peak_that_it_passes(name, length):
    products = RBF(S) * (Linear() + Cauchy(S)) + RBF(1.2).on(0, 2) * Laplacian(0.8).on(1)
    kernel: Any = products if name == "products" else KERNELS[name]
    way = length * np.array([1.0, 1.7, -0.6])
    baseline, row = np.array([0.1, 0.6, 0.0]) - way, 1.3 * way
    z = np.array([[0.3, 0.2, -0.1]])
    sums = integrate(kernel, row[None], baseline, z, np.ones((1, 1)))
    away = 10.0 ** np.arange(-1.0, 4.0) / length
    expected = integrate_slowly(kernel, row, baseline, z, np.ones((1, 1)), away)
    assert np.abs(expected).max() > 0.05  # though the kernel is nearly 0 at both ends
    assert_close(sums.values[0, :, 0], expected, 1e-14 * length + 1e-12)  # of places on the path
    assert (sums.errors < 1e-11 * length).all()  # rules agree to 1e-12 of the largest slope


def test_which_kernels_have_a_closed_form():
    for name, kernel in KERNELS.items():
        families = {piece.family for piece in split_kernel(kernel, D)}
        assert families == {CLOSED if name in CLOSED_FORMS else RULE}


def in_many_digits(rates, x, b, z, a):
    """Return a row under a Gaussian kernel, by error functions in many digits."""
    with mp.workdps(40):
        rates, x, b = ([mpf(float(one)) for one in array] for array in (rates, x, b))
        steps = [p - q for p, q in zip(x, b, strict=True)]
        total = [mpf(0)] * len(x)
        for row, weight in zip(z, a[:, 0], strict=True):
            start = [q - mpf(float(r)) for q, r in zip(b, row, strict=True)]
            big = mp.fsum(g * s * s for g, s in zip(rates, steps, strict=True))
            slope = mp.fsum(g * s * t for g, s, t in zip(rates, steps, start, strict=True))
            first = mp.fsum(g * t * t for g, t in zip(rates, start, strict=True))
            root, low = mp.sqrt(big), slope / mp.sqrt(big)
            height = mp.exp(low * low - first) * mp.sqrt(mp.pi) / (2 * root)
            upper = low + root
            if low > 0 or upper < 0:  # erf would be 1 at both ends
                near, far = (low, upper) if low > 0 else (-upper, -low)
                whole = height * (mp.erfc(near) - mp.erfc(far))
            else:
                whole = height * (mp.erf(upper) - mp.erf(low))
            ends = mp.exp(-first) - mp.exp(-(big + 2 * slope + first))
            mean = ends / (2 * big) - slope / big * whole
            for j in range(len(x)):
                part = start[j] * whole + steps[j] * mean
                total[j] += mpf(float(weight)) * -2 * rates[j] * steps[j] * part
        return np.array([float(one) for one in total])


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 1e-2, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3])
def test_gaussian_paths_keep_their_digits_at_all_scales(scale):
    for seed in range(2):
        rows, baseline, z, a = sample_paths(scale, seed)
        sums = integrate(RBF(S), rows, baseline, z, a)
        size = np.abs(sums.values).max()
        for row, values, error in zip(rows, sums.values[:, :, 0], sums.errors, strict=True):
            expected = in_many_digits(0.5 / S**2, row, baseline, z, a)
            # a place on a path of length L is rounded by L times the unit roundoff
            assert_close(values, expected, 2e-14 * size * max(1.0, scale))
            assert_close(values, expected, float(error[0]))
        assert_close(sums.values.sum(axis=1), sums.rises, 1e-12)


def test_gaussian_paths_in_far_tails_have_the_digits_of_the_kernel():
    b, x = np.zeros(D), np.array([0.3, -0.5, 1.0])
    for distance in (5.0, 10.0, 20.0, 26.0, 36.0, 50.0):
        z = np.array([[distance, 0.0, 0.0], [0.0, -distance, 0.1]])
        a = np.ones((2, 1))
        values = integrate(RBF(1.0), x[None], b, z, a).values[0, :, 0]
        expected = in_many_digits(np.full(D, 0.5), x, b, z, a)
        # an exponent e is rounded by e times the unit roundoff
        assert_close(values, expected, (1e-13 * distance**2 + 1e-12) * np.abs(expected).max())


def test_short_gaussian_paths_have_all_digits():
    for x in np.linspace(0.1, 1.41, 20):  # up to where the closed form takes over
        row, origin = np.array([[x]]), np.zeros(1)
        value = integrate(RBF(1.0), row, origin, origin[None], np.ones((1, 1))).values[0, 0, 0]
        assert_close(value, np.expm1(-0.5 * x * x), 5e-16)


def test_paths_without_length_have_no_values():
    rows, baseline, z, a = sample_paths(1.0)
    still = np.repeat(baseline[None], 2, axis=0)
    for name, kernel in KERNELS.items():
        sums = integrate(kernel, still, baseline, z, a)
        assert not sums.values.any(), name
    still = rows.copy()
    still[:, 1] = baseline[1]  # a column that does not change, with a point that has its value
    z[0, 1] = baseline[1]
    for name, kernel in KERNELS.items():
        sums = integrate(kernel, still, baseline, z, a)
        assert not sums.values[:, 1].any(), name
        assert_close(sums.values.sum(axis=1), sums.rises, 1e-11)


def test_paths_from_a_point_and_through_a_point():
    rows, baseline, z, a = sample_paths(2.0)
    z[0], z[1] = baseline, 0.5 * (baseline + rows[0])
    for name, kernel in KERNELS.items():
        sums = integrate(kernel, rows, baseline, z, a)
        assert np.isfinite(sums.values).all(), name
        size = max(1.0, np.abs(sums.values).max())
        assert_close(sums.values.sum(axis=1), sums.rises, 1e-11 * size)


@pytest.mark.parametrize("rough", [Laplacian(), ProductMatern(nu=0.5), Matern(nu=0.5)], ids=str)
def test_long_paths_may_meet_kinks(rough):
    baseline, row = np.zeros(D), np.array([10.0, 20.0, 15.0])
    for z in (baseline, 0.5 * row, row, np.array([0.0, 1.0, 2.0]), np.array([10.0, 19.0, 14.0])):
        sums = integrate(RBF(1.0) * rough, row[None], baseline, z[None], np.ones((1, 1)))
        assert_close(sums.values[0].sum(axis=0), sums.rises[0], 1e-13)
    there = integrate(RBF(1.0) * rough, row[None], baseline, z[None], np.ones((1, 1)))
    back = integrate(RBF(1.0) * rough, (row - z)[None], -z, baseline[None], np.ones((1, 1)))
    assert_close(there.values, back.values, 1e-12)  # moved, so that other places are met


class Bell(ColumnKernel):
    """A Gaussian kernel as a user may write it."""

    def factors(self, x, z):
        return np.exp(-0.5 * (x - z) ** 2)

    def slopes(self, x, z):
        return (z - x) * self.factors(x, z)


@pytest.mark.parametrize("length", [10.0, 100.0, 1e3, 1e5])
def test_narrow_peaks_of_kernels_without_length_scales_are_found(length):
    baseline, row = np.zeros(2), length * np.array([1.0, 1.7])
    z, a = (0.3 * row + [0.1, 0.3])[None], np.ones((1, 1))
    expected = integrate(RBF(1.0), row[None], baseline, z, a)
    values = integrate(Bell(), row[None], baseline, z, a).values
    assert np.abs(values).max() > 0.05
    assert_close(values, expected.values, 1e-14 * length + 1e-12)
    values = integrate(Chi2(1.0), row[None] ** 2, baseline, z**2, a).values
    assert np.abs(values).max() > 0.01
    assert_close(values.sum(), 0.0, 1e-9)


def test_reversed_paths_have_opposite_values():
    rows, baseline, z, a = sample_paths(1.5)
    for kernel in KERNELS.values():
        there = integrate(kernel, rows[:1], baseline, z, a).values[0]
        back = integrate(kernel, baseline[None], rows[0], z, a).values[0]
        assert_close(there, -back, 1e-12 * max(1.0, np.abs(there).max()))


def test_chi2_is_integrated_where_it_is_defined():
    rng = np.random.default_rng(2)
    rows, baseline = rng.gamma(2.0, size=(2, D)), rng.gamma(2.0, size=D)
    z, a = rng.gamma(2.0, size=(N, D)), rng.normal(size=(N, 1))
    sums = integrate(Chi2(S), rows, baseline, z, a)
    assert_close(sums.values.sum(axis=1), sums.rises, 1e-12)


def test_a_rule_that_does_not_converge_is_said():
    class Rough(ColumnKernel):
        def factors(self, x, z):
            return np.cos(3e4 * (x - z))

        def slopes(self, x, z):
            return -3e4 * np.sin(3e4 * (x - z))

    rows, baseline, z, a = sample_paths(1.0)
    with pytest.raises(AdditivityError, match="did not converge"):
        integrate(Rough(), rows[:1], baseline, z[:1], a[:1])


def test_the_error_of_erfcx_is_as_assumed():
    for u in np.concatenate([[0.0], np.logspace(-8, 8, 150)]):
        with mp.workdps(60):
            exact = mp.erfc(mpf(float(u))) * mp.exp(mpf(float(u)) ** 2)
            assert abs(float(mpf(float(erfcx(u))) / exact - 1)) < 2e-15
