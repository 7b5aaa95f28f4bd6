"""From kernel modules and lazy covariances to kernels of pkex.

A module sees the columns that its `active_dims` choose of those that the module around it saw.
`ScaleKernel` hands its columns on without another choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from pkex.errors import UnsupportedModelError
from pkex.kernels import (
    RBF,
    Categorical,
    Constant,
    Kernel,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scale,
    Sum,
    Tabulated,
)
from pkex.kernels.fidelity import Downsampling, ExponentialDecay, TruncatedBias
from pkex.kernels.leaves import Dot
from pkex.readers.gpytorch.copies import take_slice

__all__ = ["convert_covariance", "convert_kernel", "leaves", "map_leaves"]

Columns = tuple[int, ...]
Index = tuple[int, ...]

_OF_BOTORCH = {
    "CategoricalKernel",
    "DownsamplingKernel",
    "ExponentialDecayKernel",
    "LinearTruncatedFidelityKernel",
    "PositiveIndexKernel",
}
_LIBRARIES = ("gpytorch", "botorch", "linear_operator")


def convert_covariance(covariance: Any, rows: Any, index: Index) -> Kernel:
    """Return the kernel of a lazy covariance of rows with themselves, for one model of a batch.

    Diagonals in a sum are noise of the rows, which a new row has nothing of.
    """
    kind = _kind(covariance)
    if kind == "LazyEvaluatedKernelTensor":
        return _of_rows(covariance, rows, index)
    if kind in ("SumLinearOperator", "AddedDiagLinearOperator", "PsdSumLinearOperator"):
        parts = [op for op in covariance.linear_ops if "Diag" not in type(op).__name__]
        return reduce(add, [convert_covariance(part, rows, index) for part in parts])
    if kind == "MulLinearOperator":
        pair = (covariance.left_linear_op, covariance.right_linear_op)
        return reduce(mul, [convert_covariance(part, rows, index) for part in pair])
    if kind == "ConstantMulLinearOperator":
        factor = float(take_slice(covariance._constant, index, 0))
        return factor * convert_covariance(covariance.base_linear_op, rows, index)
    raise UnsupportedModelError(
        f"the forward of this model returns a covariance of the type {type(covariance).__name__}, "
        "which pkex cannot convert to a kernel. Return self.covar_module(x), or sums and products "
        "of such covariances."
    )


def leaves(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the kernels that sums, products and multiples are made of."""
    if isinstance(kernel, Sum | Product):
        for part in kernel.kernels:
            yield from leaves(part)
    elif isinstance(kernel, Scale):
        yield from leaves(kernel.kernel)
    else:
        yield kernel


def map_leaves(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Return a kernel with its leaves replaced."""
    if isinstance(kernel, Sum | Product):
        return type(kernel)(tuple(map_leaves(part, change) for part in kernel.kernels))
    if isinstance(kernel, Scale):
        return kernel.factor * map_leaves(kernel.kernel, change)
    return change(kernel)


def convert_kernel(kernel: Any, n_columns: int) -> Kernel:
    """Return the kernel of a module that is called with rows of so many columns."""
    return _convert(kernel, tuple(range(n_columns)), ())


def _of_rows(covariance: Any, rows: Any, index: Index) -> Kernel:
    """Return the kernel of a covariance that was not evaluated, if its rows are the model's own."""
    kernel = covariance.kernel
    columns = _chosen(kernel, tuple(range(rows.shape[-1])))
    rows_of_kernel = take_slice(covariance.x1, index, 2)
    expected = take_slice(rows, index, 2)[:, columns]
    if rows_of_kernel.shape != expected.shape or not np.array_equal(rows_of_kernel, expected):
        raise UnsupportedModelError(
            "the forward of this model transforms its rows before the kernel, as a neural network "
            "in front of a kernel does, so the kernel does not factor over the input columns. "
            "Scale columns before the model, or with an input transform of BoTorch such as "
            "Normalize. A model behind a network can be explained in terms of the network's "
            "outputs: pass it these."
        )
    return _converted(kernel, columns, index)


def _chosen(kernel: Any, columns: Columns) -> Columns:
    if kernel.active_dims is None:
        return columns
    return tuple(columns[int(place)] for place in kernel.active_dims)


def _convert(kernel: Any, columns: Columns, index: Index) -> Kernel:
    """Return the kernel of a module that is called with rows of these columns."""
    return _converted(kernel, _chosen(kernel, columns), index)


def _converted(kernel: Any, columns: Columns, index: Index) -> Kernel:
    """Return the kernel of a module whose own columns are these."""
    kind = _kind(kernel)
    if kind == "ScaleKernel":
        scale = float(take_slice(kernel.outputscale, index, 0))
        return scale * _converted(kernel.base_kernel, columns, index)
    if kind in ("AdditiveKernel", "ProductKernel"):
        parts = [_convert(part, columns, index) for part in kernel.kernels]
        return reduce(add if kind == "AdditiveKernel" else mul, parts)
    if kind in _LEAVES:
        return _LEAVES[kind](kernel, columns, index)
    raise UnsupportedModelError(
        f"the kernel {type(kernel).__name__} is not supported. Supported kernels: of GPyTorch "
        f"{', '.join(sorted({*_LEAVES} - _OF_BOTORCH))}, ScaleKernel, and sums and "
        f"products of them; of BoTorch {', '.join(sorted(_OF_BOTORCH))}. Refit with one of these, "
        "or use a sampling explainer such as shap.KernelExplainer."
    )


def _rbf(kernel: Any, columns: Columns, index: Index) -> Kernel:
    return RBF(_scales(kernel.lengthscale, columns, index), columns=columns)


def _matern(kernel: Any, columns: Columns, index: Index) -> Kernel:
    scales = _scales(kernel.lengthscale, columns, index)
    return Matern(scales, nu=float(kernel.nu), columns=columns)


def _rational_quadratic(kernel: Any, columns: Columns, index: Index) -> Kernel:
    scales = _scales(kernel.lengthscale, columns, index)
    return RationalQuadratic(scales, _number(kernel.alpha, index), columns=columns)


def _polynomial(kernel: Any, columns: Columns, index: Index) -> Kernel:
    return Polynomial(int(kernel.power), 1.0, _number(kernel.offset, index), columns=columns)


def _periodic(kernel: Any, columns: Columns, index: Index) -> Kernel:
    # GPyTorch divides by the length scale where others divide by its square
    scales = np.sqrt(_scales(kernel.lengthscale, columns, index))
    return Periodic(tuple(scales), _scales(kernel.period_length, columns, index), columns=columns)


def _linear(kernel: Any, columns: Columns, index: Index) -> Kernel:
    variances = _scales(kernel.variance, columns, index)
    parts = [float(v) * Dot(columns=(j,)) for v, j in zip(variances, columns, strict=True) if v > 0]
    return Sum(tuple(parts))


def _categorical(kernel: Any, columns: Columns, index: Index) -> Kernel:
    # exp(-mean over the columns of [x != z] / l)
    scales = _scales(kernel.lengthscale, columns, index)
    mismatch = [math.exp(-1.0 / (scale * len(columns))) for scale in scales]
    return Categorical(tuple(mismatch), columns=columns)


def _constant(kernel: Any, columns: Columns, index: Index) -> Kernel:  # noqa: ARG001
    return Constant(_number(kernel.constant, index))


def _tasks(kernel: Any, columns: Columns, index: Index) -> Kernel:
    # a lazy covariance, or a matrix
    matrix = getattr(kernel.covar_matrix, "to_dense", lambda: kernel.covar_matrix)()
    return Tabulated(take_slice(matrix, index, 2), columns=_only(kernel, columns))  # type: ignore[arg-type]


def _downsampling(kernel: Any, columns: Columns, index: Index) -> Kernel:
    power, offset = _number(kernel.power, index), _number(kernel.offset, index)
    return Downsampling(power, offset, columns=_only(kernel, columns))


def _decay(kernel: Any, columns: Columns, index: Index) -> Kernel:
    power, offset = _number(kernel.power, index), _number(kernel.offset, index)
    [scale] = _scales(kernel.lengthscale, _only(kernel, columns), index)
    return ExponentialDecay(scale, power, offset, columns=columns)


def _truncated(kernel: Any, columns: Columns, index: Index) -> Kernel:
    if len(kernel.fidelity_dims) > 1:
        raise UnsupportedModelError(
            "this LinearTruncatedFidelityKernel has two fidelities, and a power of a sum over both "
            "is not a sum of products. One fidelity is supported, and several with "
            "linear_truncated=False: refit with either."
        )
    [place] = kernel.fidelity_dims
    others = tuple(column for j, column in enumerate(columns) if j != place)
    unbiased = _convert(kernel.covar_module_unbiased, others, index)
    biased = _convert(kernel.covar_module_biased, others, index)
    return (
        unbiased + TruncatedBias(_number(kernel.power, index), columns=(columns[place],)) * biased
    )


_LEAVES: dict[str, Callable[[Any, Columns, Index], Kernel]] = {
    "RBFKernel": _rbf,
    "MaternKernel": _matern,
    "RQKernel": _rational_quadratic,
    "PolynomialKernel": _polynomial,
    "PeriodicKernel": _periodic,
    "LinearKernel": _linear,
    "CategoricalKernel": _categorical,
    "ConstantKernel": _constant,
    "IndexKernel": _tasks,
    "PositiveIndexKernel": _tasks,
    "DownsamplingKernel": _downsampling,
    "ExponentialDecayKernel": _decay,
    "LinearTruncatedFidelityKernel": _truncated,
}


def _scales(values: Any, columns: Columns, index: Index) -> tuple[float, ...]:
    """Return a parameter of each column, of the shape (1, 1) or (1, columns) behind the batch."""
    scales = take_slice(values, index, 2).reshape(-1)
    return tuple(float(v) for v in np.broadcast_to(scales, len(columns)))


def _number(value: Any, index: Index) -> float:
    """Return a parameter of the shape (1,) behind the batch."""
    return float(take_slice(value, index, 1).item())


def _only(kernel: Any, columns: Columns) -> Columns:
    """Return the columns of a kernel of one column."""
    if len(columns) != 1:
        raise UnsupportedModelError(
            f"the {type(kernel).__name__} of this model covers {len(columns)} columns, but it is "
            "meant for one. Give it active_dims of one column."
        )
    return columns


def _kind(thing: Any) -> str:
    """Return the name of a class of the libraries; somebody else's may do anything."""
    cls = type(thing)
    return cls.__name__ if cls.__module__.partition(".")[0] in _LIBRARIES else ""
