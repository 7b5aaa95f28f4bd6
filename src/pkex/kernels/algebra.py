"""The algebra of kernels: immutable nodes.

`Kernel` is any node. `Sum`, `Product` and `Scale` are what ``+``, ``*`` and a number in front
build; `pkex.kernels.leaves` has what they are built from, and `pkex.kernels.normal_form` what they
become for the engine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import usual_errors
from pkex._util.types import Floats
from pkex._util.validation import as_matrix, number
from pkex.kernels.messages import two_distances
from pkex.kernels.normal_form import Expansion, NormalForm, Split, Summand, Term

__all__ = ["Constant", "Kernel", "Product", "Scale", "Sum", "has_neutral_removal"]


_MATRIX_BLOCK = 2**21  # factors that Kernel.__call__ evaluates at once: 16 MiB


class Kernel(ABC):
    """A sum of product kernels. Combine with ``+``, ``*`` and positive numbers.

    A kernel is a function of two tables that returns their kernel matrix, so that scikit-learn
    takes it as it is: ``SVC(kernel=RBF(2.0))``.

    Examples
    --------
    >>> from pkex.kernels import RBF, Laplacian
    >>> kernel = 0.5 * RBF(2.0) + Laplacian()
    >>> kernel
    0.5 * RBF(length_scale=2.0) + Laplacian(length_scale=1.0)
    >>> kernel([[0.0, 0.0]])
    array([[1.5]])
    """

    __array_ufunc__ = None  # so that numpy_number * kernel reaches __rmul__

    _neutral: ClassVar[bool] = True  # or a property: whether absent factors can become 1

    def __add__(self, other: Kernel) -> Kernel:
        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if not isinstance(other, Kernel):
            return self.__rmul__(other)
        if isinstance(self, Scale):
            return self.factor * (self.kernel * other)
        if isinstance(other, Scale):
            return other.factor * (self * other.kernel)
        return Product((self, other))

    def __rmul__(self, other: float) -> Kernel:
        if isinstance(other, Real):
            return Scale(other, self)
        return NotImplemented

    @usual_errors
    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Floats:
        """Return the kernel matrix, so that a kernel can serve scikit-learn as a callable.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        Z : array of shape (n_points, n_columns), by default `X`

        Returns
        -------
        array of shape (n_rows, n_points); for two single rows, as KernelRidge calls it, a number

        Raises
        ------
        ValueError
            When a factor is NaN or infinite.

        Examples
        --------
        >>> from pkex.kernels import RBF
        >>> RBF(2.0)([[0.0, 0.0]], [[0.0, 0.0], [2.0, 2.0]]).round(4)
        array([[1.    , 0.3679]])
        """
        if Z is not None and np.ndim(X) == np.ndim(Z) == 1:
            return self(np.atleast_2d(X), np.atleast_2d(Z))[0, 0]  # type: ignore[no-any-return]
        x = as_matrix(X, "X")
        z = x if Z is None else as_matrix(Z, "Z", x.shape[1])
        self.normal_form(x.shape[1])  # refuses columns that are not there
        self.check(x, "X")
        self.check(z, "Z")
        matrix = np.zeros((len(x), len(z)))
        step = max(1, _MATRIX_BLOCK // z.size)
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            matrix[rows] = self._worth(x[rows], z)
        return matrix

    def terms(self, n_columns: int, tol: float | None = None) -> tuple[Term, ...]:
        """Return the normal form for data of `n_columns` columns; check that it fits them.

        A kernel of a distance is a sum of products only up to an error, which its terms tell; with
        a larger `tol` they are fewer.
        """
        expansion = self._expand(n_columns, tol)
        return tuple(Term(c, leaves, n_columns, *rest) for c, leaves, *rest in expansion)

    def normal_form(self, n_columns: int, tol: float | None = None) -> NormalForm:
        """Return the terms, with powers of sums over columns apart, not multiplied out."""
        expansion, powers = self._split(n_columns, tol)
        terms = tuple(Term(c, leaves, n_columns, *rest) for c, leaves, *rest in expansion)
        return NormalForm(terms, tuple(powers))

    def check(self, X: Floats, name: str) -> None:
        """Raise a ValueError where a column kernel is not defined on the values of `X`."""
        for term in self._split(X.shape[1], None).expansion:
            for leaf in term.leaves:
                leaf.check_values(X if leaf.columns is None else X[:, leaf.columns], name)

    def _worth(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel matrix of tables that were checked."""
        matrix = np.zeros((len(x), len(z)))
        for term in self.terms(x.shape[1]):
            matrix += term.worth(x, z)
        return matrix

    @abstractmethod
    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        """Return what the terms are made of."""

    def _split(self, n_columns: int, tol: float | None) -> Split:
        """Return what the terms are made of, and powers of sums that are not multiplied out."""
        return Split(self._expand(n_columns, tol), [])


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """``k_1 + k_2 + ...``; sums inside are flattened.

    Examples
    --------
    >>> from pkex.kernels import RBF, Constant, Sum
    >>> RBF() + Constant(2.0) == Sum((RBF(), Constant(2.0)))
    True
    """

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", _flat(self.kernels, Sum))

    @property
    def _neutral(self) -> bool:  # type: ignore[override]
        return all(kernel._neutral for kernel in self.kernels)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return reduce(np.add, [kernel._worth(x, z) for kernel in self.kernels])

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        return [term for kernel in self.kernels for term in kernel._expand(n_columns, tol)]

    def _split(self, n_columns: int, tol: float | None) -> Split:
        parts = [kernel._split(n_columns, tol) for kernel in self.kernels]
        return Split([t for p in parts for t in p.expansion], [w for p in parts for w in p.powers])


@dataclass(frozen=True, repr=False)
class Product(Kernel):
    """``k_1 * k_2 * ...``; products inside are flattened.

    Examples
    --------
    >>> from pkex.kernels import RBF, Laplacian, Product
    >>> RBF().on(0) * Laplacian().on(1) == Product((RBF().on(0), Laplacian().on(1)))
    True
    """

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", _flat(self.kernels, Product))

    @property
    def _neutral(self) -> bool:  # type: ignore[override]
        return all(kernel._neutral for kernel in self.kernels)

    def __repr__(self) -> str:
        return " * ".join(_grouped(kernel) for kernel in self.kernels)

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return reduce(np.multiply, [kernel._worth(x, z) for kernel in self.kernels])

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        expansion: Expansion = [Summand(1.0, ())]
        for kernel in self.kernels:
            right = kernel._expand(n_columns, tol)
            if any(a.error for a in expansion) and any(b.error for b in right):
                raise two_distances(self)
            expansion = [a.times(b) for a in expansion for b in right]
        return expansion

    def _split(self, n_columns: int, tol: float | None) -> Split:
        others = [kernel for kernel in self.kernels if not isinstance(kernel, Constant)]
        if len(others) != 1:
            return super()._split(n_columns, tol)
        constants = [kernel.value for kernel in self.kernels if isinstance(kernel, Constant)]
        return others[0]._split(n_columns, tol).scaled(math.prod(constants))


@dataclass(frozen=True, repr=False)
class Scale(Kernel):
    """``factor * kernel`` with a positive factor; a factor inside is multiplied in.

    Examples
    --------
    >>> from pkex.kernels import RBF, Scale
    >>> 2.0 * (3.0 * RBF()) == Scale(6.0, RBF())
    True
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        factor = number(self.factor, "the factor of a kernel")
        if factor <= 0.0:
            raise ValueError(f"the factor of a kernel must be positive, got {factor!r}.")
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Scale needs a kernel, got {type(self.kernel).__name__}.")
        if isinstance(self.kernel, Scale):
            factor *= self.kernel.factor
            object.__setattr__(self, "kernel", self.kernel.kernel)
        object.__setattr__(self, "factor", factor)

    @property
    def _neutral(self) -> bool:  # type: ignore[override]
        return self.kernel._neutral

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_grouped(self.kernel)}"

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return self.factor * self.kernel._worth(x, z)

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        scale = Summand(self.factor, ())
        return [scale.times(term) for term in self.kernel._expand(n_columns, tol)]

    def _split(self, n_columns: int, tol: float | None) -> Split:
        return self.kernel._split(n_columns, tol).scaled(self.factor)


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant kernel, which no column takes part in.

    >>> from pkex.kernels import RBF, Constant
    >>> (Constant(2.0) + RBF())([[0.0]], [[0.0]])
    array([[3.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        value = number(self.value, "Constant value")
        if value <= 0.0:
            raise ValueError(f"Constant value must be positive, got {value!r}.")
        object.__setattr__(self, "value", value)

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        return [Summand(self.value, ())]


def has_neutral_removal(kernel: Kernel) -> bool:
    """Tell whether every part of the kernel is a product of factors that can become 1."""
    return kernel._neutral


def _flat(kernels: Sequence[Kernel], node: type[Sum] | type[Product]) -> tuple[Kernel, ...]:
    flat: list[Kernel] = []
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{node.__name__} needs kernels, got {type(kernel).__name__}.")
        flat.extend(kernel.kernels if isinstance(kernel, node) else [kernel])
    if not flat:
        raise ValueError(f"{node.__name__} needs at least one kernel.")
    return tuple(flat)


def _grouped(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)
