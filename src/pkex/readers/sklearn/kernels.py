"""From the kernel tree of a scikit-learn Gaussian process to a pkex kernel.

What counts is the kernel between a new row and the training points. There a WhiteKernel is zero,
so it drops out of sums and takes products with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from pkex.errors import UnsupportedModelError
from pkex.kernels import RBF, Chi2, Constant, Laplacian, Linear, Matern, Periodic
from pkex.kernels.algebra import Kernel, Product, Scale, Sum, has_neutral_removal

__all__ = ["from_gaussian_process", "no_product", "of_rate"]

_PAIRWISE: dict[str, Callable[[float], Kernel]] = {
    "rbf": RBF.from_gamma,
    "laplacian": lambda gamma: Laplacian(1.0 / gamma),
    "chi2": Chi2,
}


def from_gaussian_process(kernel: Any, n_columns: int) -> Kernel:
    """Return the pkex kernel of a fitted ``kernel_``, or raise UnsupportedModelError."""
    converted = _convert(kernel, n_columns)
    if converted is None:
        raise UnsupportedModelError(
            f"the kernel {kernel} is noise alone: predictions do not depend on the features, so "
            "there is nothing to explain."
        )
    return converted


def of_rate(name: str, gamma: float) -> Kernel:
    """Return the kernel that scikit-learn calls `name`; with the rate 0 it is 1 everywhere."""
    return _PAIRWISE[name](gamma) if gamma != 0.0 else Constant(1.0)


def no_product(what: str) -> UnsupportedModelError:
    """Return the error for a kernel that is not a product over columns."""
    return UnsupportedModelError(
        f"the kernel of {what} does not factorise over columns, so removing a feature by its "
        "kernel factor has no meaning. Kernels that factorise: rbf (with one length scale or one "
        "per column), laplacian, chi2, and sums, products and multiples of them. Refit with one "
        "of these, or use a sampling explainer such as shap.PermutationExplainer."
    )


def _convert(kernel: Any, n_columns: int) -> Kernel | None:
    """Return the kernel between different rows; None for zero."""
    cls = type(kernel)
    # somebody else's class of the same name may do anything
    name = cls.__name__ if cls.__module__.partition(".")[0] == "sklearn" else ""
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
    if name == "PairwiseKernel" and kernel.metric in _PAIRWISE:
        return of_rate(kernel.metric, float(kernel.gamma))
    if name == "Matern" and (
        kernel.nu == math.inf or (n_columns == 1 and kernel.nu in (0.5, 1.5, 2.5))
    ):
        if kernel.nu == math.inf:
            return RBF(kernel.length_scale)
        return Matern(kernel.length_scale, nu=kernel.nu)
    if name == "ExpSineSquared" and n_columns == 1:
        return Periodic(kernel.length_scale, kernel.periodicity)
    raise no_product(str(kernel))


def _power(kernel: Kernel, exponent: float, shown: str) -> Kernel:
    """Return ``kernel ** exponent`` as a kernel, where that is a sum of products."""
    if not has_neutral_removal(kernel):
        raise no_product(shown)
    if isinstance(kernel, Constant):
        return Constant(kernel.value**exponent)
    if isinstance(kernel, Scale):
        return Scale(kernel.factor**exponent, _power(kernel.kernel, exponent, shown))
    if isinstance(kernel, Product):
        return Product(tuple(_power(part, exponent, shown) for part in kernel.kernels))
    if isinstance(kernel, RBF) and exponent > 0.0:
        scale, root = kernel.length_scale, math.sqrt(exponent)
        return RBF(tuple(s / root for s in scale) if isinstance(scale, tuple) else scale / root)
    if isinstance(kernel, Laplacian) and exponent > 0.0:
        return Laplacian(float(np.asarray(kernel.length_scale)) / exponent)
    if isinstance(kernel, Chi2) and exponent > 0.0:
        return Chi2(float(np.asarray(kernel.gamma)) * exponent)
    if exponent == int(exponent) and 1 <= exponent <= 8:
        return Product((kernel,) * int(exponent))
    if isinstance(kernel, Sum):
        raise UnsupportedModelError(
            f"the kernel {shown} is a power of a sum that is no sum of products; pkex takes sums "
            "to the powers 1 to 8."
        )
    raise no_product(shown)
