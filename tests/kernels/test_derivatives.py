"""Kernels differentiate themselves: against derivatives in many digits."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.errors import UnsupportedModelError
from pkex.kernels import (
    RBF,
    Categorical,
    Cauchy,
    Chi2,
    ColumnKernel,
    Constant,
    Custom,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    ProductMatern,
    RationalQuadratic,
)
from tests._support import mp_kernels
from tests._support.cases import KERNELS, assert_close

S = [0.9, 1.7, 0.6]
RNG = np.random.default_rng(5)
X, Z = RNG.gamma(2.0, 0.7, size=(3, 3)) + 0.1, RNG.gamma(2.0, 0.7, size=(4, 3)) + 0.1

SMOOTH = {
    "rbf": RBF(S),
    "cauchy": Cauchy(S),
    "product-matern-1.5": ProductMatern(S, nu=1.5),
    "product-matern-2.5": ProductMatern(S, nu=2.5),
    "chi2": Chi2(S),
    "periodic": Periodic(S, periodicity=1.75),
    "linear": Linear(),
    "polynomial": Polynomial(3, 0.7, 1.0),
    "power-1": Polynomial(1, 0.7, 0.0),
    "power-on": Polynomial(2, 0.5, 0.2).on(0, 2),
    "matern-1.5": Matern(S, nu=1.5),
    "matern-2.5": Matern(S, nu=2.5),
    "matern-3.2": Matern(1.3, nu=3.2),
    "rational-quadratic": RationalQuadratic(S, alpha=0.7),
    "sum": 2.5 * RBF(S) + 0.5 * Cauchy(1.3) + Constant(2.0),
    "product": RBF(S) * Matern(1.2, nu=2.5) * (Linear() + Constant(0.3)),
    "on columns": RBF(0.8).on(1) * RationalQuadratic(1.4).on(0, 2) + Periodic(1.1, 2.0).on(2),
}
ROUGH = {
    "laplacian": Laplacian(S),
    "product-matern-0.5": ProductMatern(S, nu=0.5),
    "matern-0.5": Matern(S, nu=0.5),
    "matern-0.8": Matern(S, nu=0.8),
    "product of both": RBF(S) * Laplacian(1.2),
}


@pytest.mark.parametrize("name", [*SMOOTH, *ROUGH])
def test_gradients_agree_with_many_digits(name):
    kernel = (SMOOTH | ROUGH)[name]
    worth, slopes = kernel.gradient(X[:, None], Z[None])
    assert_close(worth, kernel(X, Z), 1e-13 * np.abs(worth).max())
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            expected = mp_kernels.differentiate(kernel, x, z)
            # rounding of exponents, of products of columns and of sums
            assert_close(slopes[i, j], expected, 4e-14 * max(1.0, np.abs(slopes).max()))


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_agree_with_differences_in_many_digits(name):
    jet = SMOOTH[name].jet(X)
    assert_close(jet.worth, np.diag(SMOOTH[name](X)), 1e-13 * jet.worth.max())
    for i, x in enumerate(X):
        expected = mp_kernels.mixed(SMOOTH[name], x)
        # the third derivative of Matern 3/2 jumps, so that its differences err by the step
        assert_close(jet.mixed[i], expected, 1e-10 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", ROUGH)
def test_sample_paths_without_derivatives_are_refused(name):
    with pytest.raises(UnsupportedModelError, match="sample paths"):
        ROUGH[name].jet(X)


def test_a_kink_has_no_derivative():
    z = np.array([1.0, 2.0])
    for kernel in (Laplacian(), ProductMatern(nu=0.5)):
        slopes = kernel.gradient(np.array([1.0, 3.0]), z).slopes
        assert np.isnan(slopes[0])
        assert np.isfinite(slopes[1])
    assert np.isnan(Matern(nu=0.5).gradient(z, z).slopes).all()
    for nu in (0.8, 1.5, 2.5):
        assert not Matern(nu=nu).gradient(z, z).slopes.any()


def test_chi2_has_the_derivative_from_above_at_zero():
    zeros = np.zeros(2)
    assert Chi2(2.0).gradient(zeros, zeros).slopes.tolist() == [-2.0, -2.0]
    with pytest.raises(ValueError, match="where a value is 0"):
        Chi2().jet(np.zeros((1, 2)))


@pytest.mark.parametrize("kernel", [Categorical(0.3), Custom(np.multiply)])
def test_kernels_without_derivatives_are_refused(kernel):
    with pytest.raises(UnsupportedModelError, match=type(kernel).__name__):
        (RBF() * kernel).gradient(X, X)
    with pytest.raises(UnsupportedModelError, match="gradients are not available"):
        kernel.jet(X)


def test_a_custom_kernel_brings_its_derivatives():
    class Shifted(ColumnKernel):
        def factors(self, x, z):
            return x * z - 0.5

        def slopes(self, x, z):
            return z + 0.0 * x

        def curvatures(self, x):
            return np.ones_like(x)

    kernel, x = Shifted(), X[:1]
    jet = kernel.jet(x)
    f = x[0] ** 2 - 0.5
    for j in range(3):
        others = np.delete(f, j)
        assert_close(jet.slopes[0, j], x[0, j] * others.prod(), 1e-14)
        assert_close(jet.mixed[0, j, j], others.prod(), 1e-14)
        for k in set(range(3)) - {j}:
            rest = float(np.prod([f[m] for m in range(3) if m not in (j, k)]))
            assert_close(jet.mixed[0, j, k], x[0, j] * x[0, k] * rest, 1e-14)


def test_a_kernel_does_not_inherit_the_derivatives_of_other_factors():
    class Wide(RBF):
        def exponents(self, x, z):
            return 0.01 * (x - z) ** 2

    class Half(RBF):
        def factors(self, x, z):
            return 0.5 * super().factors(x, z)

        def slopes(self, x, z):
            return 0.5 * super().slopes(x, z)

    with pytest.raises(UnsupportedModelError, match="no method `slopes`"):
        Wide().gradient(X, X)
    worth, slopes = Half().gradient(X, Z[:1])
    assert_close(worth, Half()(X, Z[:1])[:, 0], 1e-15)
    assert_close(slopes, 0.125 * RBF().gradient(X, Z[:1]).slopes, 1e-15)
    with pytest.raises(UnsupportedModelError, match="no method `curvatures`"):
        Half().jet(X)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_every_kernel_of_the_list_has_a_gradient_or_says_that_it_has_none(case):
    kernel = case.build(S)
    try:
        worth, slopes = kernel.gradient(X[:, None], Z[None])
    except UnsupportedModelError:
        assert case.name in ("categorical", "custom", "tent", "mixed", "cosine") or (
            "growing" in case.name
        )
        return
    step = 1e-6
    for j in range(3):
        shift = step * np.eye(3)[j]
        difference = (kernel(X + shift, Z) - kernel(X - shift, Z)) / (2.0 * step)
        assert_close(slopes[:, :, j], difference, 1e-7 * max(1.0, np.abs(worth).max()))
