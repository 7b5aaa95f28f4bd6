"""From the kernel tree of a scikit-learn Gaussian process to a pkex kernel.

scikit-optimize's kernels derive from these, have the same names and add gradients; one more
compares categories.

What counts is the kernel between a new row and the training points. There a WhiteKernel is zero,
so it drops out of sums and takes products with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from pkex.errors import UnsupportedModelError
from pkex.kernels import (
    RBF,
    Categorical,
    Chi2,
    Constant,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    ProductMatern,
    RationalQuadratic,
)
from pkex.kernels.algebra import Kernel, Product, Scale, Sum

__all__ = ["from_gaussian_process", "kernel_from_rate", "no_sum_of_products", "polynomial"]

_PAIRWISE: dict[str, Callable[[float], Kernel]] = {
    "rbf": RBF.from_gamma,
    "laplacian": lambda gamma: Laplacian(1.0 / gamma),
    "chi2": Chi2,
}


_REASONS = {
    "sigmoid": "is a tanh of a sum over columns",
    "cosine": "divides a sum over columns by another one, the norm of the row",
    "ExpSineSquared": "oscillates with the distance, so it is not a mixture of Gaussian kernels",
    "cut off": "is cut off at a distance, and counting the feature subsets within a distance is as "
    "hard as counting the ways to pack a knapsack",
}


def from_gaussian_process(kernel: Any, n_columns: int) -> Kernel:
    """Return the pkex kernel of a fitted ``kernel_``, or raise UnsupportedModelError."""
    converted = _convert(kernel, n_columns)
    if converted is None:
        raise UnsupportedModelError(
            f"the kernel {kernel} is noise only: predictions do not depend on the features, so "
            "there is nothing to explain."
        )
    return converted


def kernel_from_rate(name: str, gamma: float) -> Kernel:
    """Return the kernel that scikit-learn calls `name`; with the rate 0 it is 1 everywhere."""
    return _PAIRWISE[name](gamma) if gamma != 0.0 else Constant(1.0)


def polynomial(degree: float, gamma: float, coef0: float, shown: str) -> Kernel:
    """Return ``(gamma x z + coef0)^degree``, or raise for a degree that is not an integer."""
    if degree == 0.0:
        return Constant(1.0)
    if degree != int(degree):
        raise UnsupportedModelError(
            f"the kernel of {shown} is a power of a sum with the exponent {degree:g}; integer "
            "powers of sums are supported. Refit with one of these."
        )
    return Polynomial(int(degree), gamma, coef0)


def no_sum_of_products(what: str, name: str = "") -> UnsupportedModelError:
    """Return the error for a kernel that pkex cannot write as a sum of products over columns."""
    reason = _REASONS.get(name, "is neither a product over columns nor a sum of products")
    return UnsupportedModelError(
        f"the kernel of {what} does not factor over features: it {reason}. "
        "Supported kernels: rbf, laplacian, chi2, Matern, rational quadratic, linear and "
        "polynomial, and sums, multiples and most products of them. Refit with one of these, or "
        "use a sampling explainer such as shap.PermutationExplainer."
    )


def _convert(kernel: Any, n_columns: int) -> Kernel | None:
    """Return the kernel between different rows; None for zero."""
    cls = type(kernel)
    # somebody else's class of the same name may do anything
    ours = cls.__module__.partition(".")[0] in ("sklearn", "skopt")
    name = cls.__name__ if ours else ""
    if name in ("Sum", "Product"):
        parts = [_convert(part, n_columns) for part in (kernel.k1, kernel.k2)]
        present = [part for part in parts if part is not None]
        if name == "Product" and len(present) < 2:
            return None
        return reduce(add if name == "Sum" else mul, present) if present else None
    if name == "Exponentiation":
        base = _convert(kernel.kernel, n_columns)
        return None if base is None else _power(base, float(kernel.exponent), str(kernel))
    if name == "ConstantKernel":
        return Constant(kernel.constant_value)
    if name == "WhiteKernel":
        return None
    if name == "DotProduct":
        offset = float(kernel.sigma_0) ** 2
        return Linear() if offset == 0.0 else Linear() + Constant(offset)
    if name == "RBF":
        return RBF(kernel.length_scale)
    if name == "PairwiseKernel":
        return _pairwise(kernel)
    if name == "Matern":
        if kernel.nu == math.inf:
            return RBF(kernel.length_scale)
        # of one column both are the same, and a product needs no mixture
        product = n_columns == 1 and kernel.nu in (0.5, 1.5, 2.5)
        return (ProductMatern if product else Matern)(kernel.length_scale, nu=kernel.nu)
    if name == "RationalQuadratic":
        return RationalQuadratic(kernel.length_scale, alpha=kernel.alpha)
    if name == "HammingKernel":
        return _hamming(kernel)
    if name == "ExpSineSquared" and n_columns == 1:
        return Periodic(kernel.length_scale, kernel.periodicity)
    raise no_sum_of_products(str(kernel), name)


def _pairwise(kernel: Any) -> Kernel:
    """Return the kernel of a PairwiseKernel, which calls `sklearn.metrics.pairwise`."""
    options = dict(kernel.pairwise_kernels_kwargs or {})
    if kernel.metric in _PAIRWISE and not options:
        return kernel_from_rate(kernel.metric, float(kernel.gamma))
    if kernel.metric == "linear" and not options:
        return Linear()
    if kernel.metric in ("poly", "polynomial") and options.keys() <= {"degree", "coef0"}:
        degree, coef0 = options.get("degree", 3), options.get("coef0", 1.0)
        return polynomial(degree, float(kernel.gamma), coef0, str(kernel))
    raise no_sum_of_products(str(kernel), str(kernel.metric))


def _hamming(kernel: Any) -> Kernel:
    """Return the kernel of scikit-optimize with ``exp(-scale)`` for each column that differs."""
    mismatch = np.exp(-np.asarray(kernel.length_scale, dtype=np.float64))
    if not (mismatch < 1.0).all():
        raise UnsupportedModelError(
            f"a HammingKernel with the length scale {kernel.length_scale} does not distinguish the "
            "categories of every column; length scales must be above 1e-16. Refit with a larger "
            "lower bound, or leave out the column."
        )
    return Categorical(mismatch.tolist() if mismatch.size > 1 else mismatch.item())


def _power(kernel: Kernel, exponent: float, shown: str) -> Kernel:
    """Return ``kernel ** exponent`` as a kernel, where that is a sum of products."""
    if isinstance(kernel, Constant):
        return Constant(kernel.value**exponent)
    if isinstance(kernel, Scale):
        return Scale(kernel.factor**exponent, _power(kernel.kernel, exponent, shown))
    if isinstance(kernel, Product):
        return Product(tuple(_power(part, exponent, shown) for part in kernel.kernels))
    is_integer = exponent == int(exponent) and exponent >= 1.0
    match kernel:
        case Linear() if is_integer:
            return Polynomial(int(exponent), 1.0, 0.0)
        case Sum(kernels=(Linear(), Constant(value=offset))) if is_integer:
            return Polynomial(int(exponent), 1.0, offset)
        case Polynomial() if is_integer:
            return replace(kernel, degree=kernel.degree * int(exponent))
        case RationalQuadratic() if exponent > 0.0:
            wide = _divide(kernel.length_scale, math.sqrt(exponent))
            return RationalQuadratic(wide, alpha=kernel.alpha * exponent)
        case Matern(nu=0.5) if exponent > 0.0:
            return Matern(_divide(kernel.length_scale, exponent), nu=0.5)
    if not kernel.has_neutral_removal:
        raise no_sum_of_products(shown)
    if isinstance(kernel, RBF) and exponent > 0.0:
        return RBF(_divide(kernel.length_scale, math.sqrt(exponent)))
    if isinstance(kernel, Laplacian) and exponent > 0.0:
        return Laplacian(float(np.asarray(kernel.length_scale)) / exponent)
    if isinstance(kernel, Chi2) and exponent > 0.0:
        return Chi2(float(np.asarray(kernel.gamma)) * exponent)
    if is_integer and exponent <= 8:
        return Product((kernel,) * int(exponent))
    if isinstance(kernel, Sum):
        raise UnsupportedModelError(
            f"the kernel {shown} is a power of a sum that is not a sum of products; the powers 1 "
            "to 8 of sums are supported. Refit with one of these."
        )
    raise no_sum_of_products(shown)


def _divide(scale: float | Sequence[float], by: float) -> float | tuple[float, ...]:
    return tuple(s / by for s in scale) if isinstance(scale, Sequence) else scale / by
