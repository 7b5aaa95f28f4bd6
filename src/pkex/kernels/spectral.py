"""Random frequencies of stationary kernels, for functions drawn from a Gaussian process.

A stationary kernel is the mean of cosines over its spectral distribution (Bochner 1932),

    k(x, z) = k(0) E cos(w . (x - z)),

so that ``sum_m sqrt(v_m) (a_m cos(w_m . x) + b_m sin(w_m . x))`` with independent standard normal
a and b, frequencies w_m drawn from that distribution and ``v_m = k(0) / M`` is a draw from a
process with nearly that kernel (Rahimi and Recht 2007). The distribution is

- normal for `RBF`, with standard deviation 1 / l;
- Cauchy for each column of `Laplacian`, Laplace for `Cauchy`;
- a t distribution with 2 nu degrees of freedom for `Matern`, multivariate as one chi-squared number
  is shared by all columns, and for each column of `ProductMatern`;
- normal times the root of a gamma number of shape and rate alpha for `RationalQuadratic`, as this
  is such a mixture of Gaussian kernels;
- 0 for `Constant`.

Frequencies of a product of kernels are sums of theirs, and a sum divides the number of features
among its summands. Normal and other numbers come from scrambled Sobol points, which are random one
by one and even together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.stats import qmc

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.columns import RBF, Cauchy, Laplacian
from pkex.kernels.constant import Constant
from pkex.kernels.leaves import OnColumns
from pkex.kernels.product_matern import ProductMatern
from pkex.kernels.radial import Matern, RationalQuadratic
from pkex.kernels.tabulated import Tabulated

__all__ = ["Frequencies", "draw_frequencies"]

_FEWEST = 32  # features of a summand
_EXACT = (RBF, Cauchy, Laplacian, Matern, ProductMatern, RationalQuadratic)


class Frequencies(NamedTuple):
    """Frequencies of cosines whose weighted mean is nearly a kernel.

    Attributes
    ----------
    rates : array of shape (features, columns)
        The frequencies.
    variances : array of shape (features,)
        Their weights, which sum to the variance of the kernel.
    """

    rates: Floats
    variances: Floats


def draw_frequencies(
    kernel: Kernel, n_columns: int, count: int, random: np.random.Generator
) -> Frequencies:
    """Return about `count` random frequencies of a stationary kernel.

    Parameters
    ----------
    kernel : Kernel
    n_columns : int
    count : int
        At least 32 are drawn for each summand of the kernel.
    random : Generator

    Raises
    ------
    UnsupportedModelError
        When the kernel, or a part of it, is not stationary, or its distribution is not known.

    Examples
    --------
    >>> waves = draw_frequencies(2.0 * RBF([1.0, 4.0]), 2, 1024, np.random.default_rng(0))
    >>> waves.rates.std(axis=0).round(2), float(waves.variances.sum())
    (array([1.  , 0.25]), 2.0)
    """
    summands = list(_summands(kernel))
    total = sum(variance for variance, leaves in summands if leaves)  # a constant has one wave
    rates, variances = [], []
    for variance, leaves in summands:
        size = max(_FEWEST, round(count * variance / total)) if leaves else 1
        drawn = np.zeros((size, n_columns))
        for leaf in leaves:
            columns = slice(None) if leaf.columns is None else list(leaf.columns)
            drawn[:, columns] += _draw(leaf, drawn[:, columns].shape, random)
        rates.append(drawn)
        variances.append(np.full(size, variance / size))
    return Frequencies(np.concatenate(rates), np.concatenate(variances))


def _summands(kernel: Kernel) -> Iterator[tuple[float, tuple[OnColumns, ...]]]:
    """Return the variances of the summands of a kernel, and the kernels that each multiplies."""
    if isinstance(kernel, Sum):
        for part in kernel.kernels:
            yield from _summands(part)
    elif isinstance(kernel, Scale):
        for variance, leaves in _summands(kernel.kernel):
            yield kernel.factor * variance, leaves
    elif isinstance(kernel, Product):
        products: list[tuple[float, tuple[OnColumns, ...]]] = [(1.0, ())]
        for part in kernel.kernels:
            right = list(_summands(part))
            products = [(v * w, a + b) for v, a in products for w, b in right]
        yield from products
    elif isinstance(kernel, Constant):
        yield kernel.value, ()
    elif isinstance(kernel, _EXACT) and type(kernel) in _EXACT:
        yield 1.0, (kernel,)
    else:
        raise UnsupportedModelError(
            f"posterior draws need a kernel with known random features, and {_name(kernel)} has "
            f"none. Sums and products of {', '.join(one.__name__ for one in _EXACT)} and Constant "
            "are supported. Leave out n_draws for the indices of the posterior mean; "
            "explainer.importance(X, n_draws=...) has intervals for all kernels."
        )


def _name(kernel: Kernel) -> str:
    """Return the name of a kernel in a message, without its parameters."""
    name = type(kernel).__name__
    return f"{name}, a covariance of tasks or codes," if isinstance(kernel, Tabulated) else name


def _draw(kernel: OnColumns, shape: tuple[int, int], random: np.random.Generator) -> Floats:
    """Return frequencies of one kernel in its columns."""
    size, n_columns = shape
    width = 2 * n_columns  # of which the second half has the scales of normal numbers
    if width <= qmc.Sobol.MAXDIM:
        points = qmc.Sobol(width, seed=random).random(1 << (size - 1).bit_length())[:size]
        random.shuffle(points)  # against those of another kernel in a product
    else:
        points = random.random((size, width))
    u = np.clip(points, 2.0**-40, 1.0 - 2.0**-40)
    scales = 1.0 / np.asarray(kernel.length_scale)  # type: ignore[attr-defined]
    if isinstance(kernel, Laplacian):
        return np.tan(np.pi * (u[:, :n_columns] - 0.5)) * scales
    if isinstance(kernel, Cauchy):
        low = u[:, :n_columns] < 0.5
        tail = np.log(2.0 * np.where(low, u[:, :n_columns], 1.0 - u[:, :n_columns]))
        return np.where(low, tail, -tail) * scales
    normal: Floats = special.ndtri(u[:, :n_columns])
    if isinstance(kernel, Matern):
        gamma = _gamma(kernel.nu, u[:, [n_columns]])
        return normal / np.sqrt(gamma) * scales
    if isinstance(kernel, ProductMatern):
        gamma = _gamma(kernel.nu, u[:, n_columns:])
        return normal / np.sqrt(gamma) * scales
    if isinstance(kernel, RationalQuadratic):
        gamma = _gamma(kernel.alpha, u[:, [n_columns]])
        return normal * np.sqrt(gamma) * scales
    return normal * scales


def _gamma(shape: float, u: Floats) -> Floats:
    """Return quantiles of the gamma distribution with the mean 1."""
    return np.asarray(special.gammaincinv(shape, u), dtype=np.float64) / shape
