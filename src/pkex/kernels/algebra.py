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

from pkex._util.floats import default_errstate
from pkex._util.types import Floats
from pkex._util.validation import as_matrix, check_number
from pkex.kernels.derivatives import Differentiable, Gradient, Jet
from pkex.kernels.messages import two_distances
from pkex.kernels.normal_form import Expansion, NormalForm, Split, Summand, Term

__all__ = ["Kernel", "Product", "Scale", "Sum"]


_MATRIX_BLOCK = 2**21  # factors that Kernel.__call__ evaluates at once: 16 MiB


class Kernel(Differentiable, ABC):
    """A sum of product kernels. Combine with ``+``, ``*`` and positive numbers.

    A kernel is a function of two tables that returns their kernel matrix. Pass it to scikit-learn
    as it is: ``SVC(kernel=RBF(2.0))``.

    See Also
    --------
    ColumnKernel : Base class of custom kernels.
    RBF : The Gaussian kernel.

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

    has_neutral_removal: ClassVar[bool] = True
    """Whether every part is a product of factors that can become 1; a property of combinations."""

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

    @default_errstate
    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Floats:
        """Return the kernel matrix of two tables, as scikit-learn calls a kernel.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The rows.
        Z : array of shape (n_points, n_columns), optional
            The points; `X` by default.

        Returns
        -------
        array of shape (n_rows, n_points)
            The kernel matrix; for two single rows, as KernelRidge calls it, a number.

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
        form = self.normal_form(x.shape[1])  # refuses columns that are not there
        form.check(x, "X")
        form.check(z, "Z")
        return self.matrix(x, z)

    def matrix(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel matrix of tables that were checked.

        Parameters
        ----------
        x, z : array of shape (n_rows, n_columns), array of shape (n_points, n_columns)
            The rows and the points.

        Returns
        -------
        array of shape (n_rows, n_points)
            The kernel matrix.

        See Also
        --------
        terms : The products that the kernel is a sum of.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Linear
        >>> Linear().matrix(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
        array([[11.]])
        """
        matrix = np.zeros((len(x), len(z)))
        step = max(1, _MATRIX_BLOCK // max(1, z.size))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            matrix[rows] = self._worth(x[rows], z)
        return matrix

    def terms(self, n_columns: int, tol: float | None = None) -> tuple[Term, ...]:
        """Return the kernel as a sum of products over columns; check that it fits the data.

        A radial kernel is a sum of products only up to an error. Its terms have that error, and
        with a larger `tol` they are fewer.

        Parameters
        ----------
        n_columns : int
            Number of columns of the data.
        tol : float, optional
            Accepted error of a radial kernel.

        Returns
        -------
        tuple of Term
            The products.

        See Also
        --------
        normal_form : The same, with powers of sums left as they are.

        Examples
        --------
        >>> from pkex.kernels import RBF, Laplacian
        >>> [term.coefficient for term in (0.5 * RBF() + Laplacian()).terms(3)]
        [0.5, 1.0]
        """
        expansion = self._expand(n_columns, tol)
        return tuple(Term(c, leaves, n_columns, *rest) for c, leaves, *rest in expansion)

    def normal_form(self, n_columns: int, tol: float | None = None) -> NormalForm:
        """Return the terms, with powers of sums over columns apart, not multiplied out.

        Parameters
        ----------
        n_columns : int
            Number of columns of the data.
        tol : float, optional
            Accepted error of a radial kernel.

        Returns
        -------
        NormalForm
            The products and the powers.

        See Also
        --------
        terms : All as products.

        Examples
        --------
        >>> from pkex.kernels import RBF, Polynomial
        >>> form = (RBF() + Polynomial(3)).normal_form(2)
        >>> len(form.terms), len(form.powers)
        (1, 1)
        """
        expansion, powers = self._split(n_columns, tol)
        terms = tuple(Term(c, leaves, n_columns, *rest) for c, leaves, *rest in expansion)
        return NormalForm(terms, tuple(powers))

    def _worth(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel matrix of tables that were checked."""
        matrix = np.zeros((len(x), len(z)))
        for term in self.terms(x.shape[1]):
            matrix += term.worth(x, z)
        return matrix

    @property
    def _constant(self) -> float | None:
        """The value of a kernel that is the same everywhere; None for others."""
        return None

    @abstractmethod
    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        """Return what the terms are made of."""

    def _split(self, n_columns: int, tol: float | None) -> Split:
        """Return what the terms are made of, and powers of sums that are not multiplied out."""
        return Split(self._expand(n_columns, tol), [])


class _Composite(Kernel):
    """The base of kernels that are made of others."""

    @property
    @abstractmethod
    def _inside(self) -> tuple[Kernel, ...]: ...

    @property
    def has_neutral_removal(self) -> bool:  # type: ignore[override]
        """Whether neutral removal is defined: whether every part has factors that can become 1.

        See Also
        --------
        Linear : A kernel without neutral removal.

        Examples
        --------
        >>> from pkex.kernels import RBF, Linear
        >>> (RBF() + Linear()).has_neutral_removal
        False
        """
        return all(kernel.has_neutral_removal for kernel in self._inside)


@dataclass(frozen=True, repr=False)
class _Combination(_Composite):
    """The base of sums and products."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", _flat(self.kernels, type(self)))

    @property
    def _inside(self) -> tuple[Kernel, ...]:
        return self.kernels


class Sum(_Combination):
    """``k_1 + k_2 + ...``; sums inside are flattened.

    Parameters
    ----------
    kernels : tuple of Kernel
        The summands.

    See Also
    --------
    Product : ``k_1 * k_2 * ...``.
    Scale : ``factor * kernel``.

    Examples
    --------
    >>> from pkex.kernels import RBF, Constant, Sum
    >>> RBF() + Constant(2.0) == Sum((RBF(), Constant(2.0)))
    True
    """

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return reduce(np.add, [kernel._worth(x, z) for kernel in self.kernels])

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        return reduce(Gradient.plus, [kernel.gradient(x, z) for kernel in self.kernels])

    def jet(self, x: Floats) -> Jet:
        return reduce(Jet.plus, [kernel.jet(x) for kernel in self.kernels])

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        return [term for kernel in self.kernels for term in kernel._expand(n_columns, tol)]

    def _split(self, n_columns: int, tol: float | None) -> Split:
        parts = [kernel._split(n_columns, tol) for kernel in self.kernels]
        return Split([t for p in parts for t in p.expansion], [w for p in parts for w in p.powers])


class Product(_Combination):
    """``k_1 * k_2 * ...``; products inside are flattened.

    Parameters
    ----------
    kernels : tuple of Kernel
        The kernels that are multiplied.

    See Also
    --------
    Sum : ``k_1 + k_2 + ...``.
    Scale : ``factor * kernel``.

    Examples
    --------
    >>> from pkex.kernels import RBF, Laplacian, Product
    >>> RBF().on(0) * Laplacian().on(1) == Product((RBF().on(0), Laplacian().on(1)))
    True
    """

    def __repr__(self) -> str:
        return " * ".join(_parenthesise(kernel) for kernel in self.kernels)

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return reduce(np.multiply, [kernel._worth(x, z) for kernel in self.kernels])

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        return reduce(Gradient.times, [kernel.gradient(x, z) for kernel in self.kernels])

    def jet(self, x: Floats) -> Jet:
        return reduce(Jet.times, [kernel.jet(x) for kernel in self.kernels])

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        expansion: Expansion = [Summand(1.0, ())]
        for kernel in self.kernels:
            right = kernel._expand(n_columns, tol)
            if any(a.error for a in expansion) and any(b.error for b in right):
                raise two_distances(self)
            expansion = [a.times(b) for a in expansion for b in right]
        return expansion

    def _split(self, n_columns: int, tol: float | None) -> Split:
        others = [kernel for kernel in self.kernels if kernel._constant is None]
        if len(others) != 1:
            return super()._split(n_columns, tol)
        constants = [kernel._constant for kernel in self.kernels if kernel._constant is not None]
        return others[0]._split(n_columns, tol).scale(math.prod(constants))


@dataclass(frozen=True, repr=False)
class Scale(_Composite):
    """``factor * kernel`` with a positive factor; a factor inside is multiplied in.

    Parameters
    ----------
    factor : float
        Positive.
    kernel : Kernel
        The kernel that is scaled.

    See Also
    --------
    Sum : ``k_1 + k_2 + ...``.
    Product : ``k_1 * k_2 * ...``.

    Examples
    --------
    >>> from pkex.kernels import RBF, Scale
    >>> 2.0 * (3.0 * RBF()) == Scale(6.0, RBF())
    True
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        factor = check_number(self.factor, "the factor of a kernel")
        if factor <= 0.0:
            raise ValueError(f"the factor of a kernel must be positive, got {factor!r}.")
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Scale needs a kernel, got {type(self.kernel).__name__}.")
        if isinstance(self.kernel, Scale):
            factor *= self.kernel.factor
            object.__setattr__(self, "kernel", self.kernel.kernel)
        object.__setattr__(self, "factor", factor)

    @property
    def _inside(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_parenthesise(self.kernel)}"

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return self.factor * self.kernel._worth(x, z)

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        return self.kernel.gradient(x, z).scale(self.factor)

    def jet(self, x: Floats) -> Jet:
        return self.kernel.jet(x).scale(self.factor)

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        scale = Summand(self.factor, ())
        return [scale.times(term) for term in self.kernel._expand(n_columns, tol)]

    def _split(self, n_columns: int, tol: float | None) -> Split:
        return self.kernel._split(n_columns, tol).scale(self.factor)


def _flat(kernels: Sequence[Kernel], node: type[_Combination]) -> tuple[Kernel, ...]:
    flat: list[Kernel] = []
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{node.__name__} needs kernels, got {type(kernel).__name__}.")
        flat.extend(kernel.kernels if isinstance(kernel, node) else [kernel])
    if not flat:
        raise ValueError(f"{node.__name__} needs at least one kernel.")
    return tuple(flat)


def _parenthesise(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)
