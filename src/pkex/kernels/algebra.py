"""The algebra of kernels: immutable nodes, and the normal form the engine works on.

`Kernel` is any node. A `ColumnKernel` is a leaf: it gives one factor per column. `Sum`, `Product`
and `Scale` are what ``+``, ``*`` and a number in front build. By the distributive law every kernel
is a sum of `Term`, a coefficient times a product of leaves, and since Shapley values are linear a
sum of terms is explained term by term.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import compress
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._floats import usual_errors
from pkex._validation import as_matrix, brief, is_index, number
from pkex.errors import not_finite, two_distances

__all__ = [
    "ColumnKernel",
    "Constant",
    "Dot",
    "Expansion",
    "Kernel",
    "NormalForm",
    "OnColumns",
    "Power",
    "Product",
    "Scale",
    "Split",
    "Sum",
    "Summand",
    "Term",
    "as_real",
    "has_neutral_removal",
    "leaf_values",
]

Floats = NDArray[np.float64]
Expansion = list["Summand"]
Limited = TypeVar("Limited", bound="OnColumns")

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


class Power(NamedTuple):
    """``coefficient (gamma sum_j x_j z_j + coef0)^degree`` over some columns."""

    coefficient: float
    degree: int
    gamma: float
    coef0: float
    columns: tuple[int, ...]


class NormalForm(NamedTuple):
    """What a kernel is a sum of: products over columns, and powers of sums over them."""

    terms: tuple[Term, ...]
    powers: tuple[Power, ...]


class Split(NamedTuple):
    """A normal form before it meets data."""

    expansion: Expansion
    powers: list[Power]

    def scaled(self, factor: float) -> Split:
        """Return it times a number."""
        scale = Summand(factor, ())
        powers = [p._replace(coefficient=factor * p.coefficient) for p in self.powers]
        return Split([scale.times(term) for term in self.expansion], powers)


class Summand(NamedTuple):
    """A term before it meets data: its coefficient and column kernels.

    Where products stand for something else, a kernel of a distance, the sum of all terms may miss
    it by `error` times the size of the other column kernels, and terms of small weight may be
    computed with a relative error that is larger by the factor `slack`.
    """

    coefficient: float
    leaves: tuple[ColumnKernel, ...]
    error: float = 0.0
    slack: float = 1.0

    def times(self, other: Summand) -> Summand:
        """Return the product of both."""
        error = self.error * (abs(other.coefficient) + other.error)
        error += abs(self.coefficient) * other.error
        coefficient, leaves = self.coefficient * other.coefficient, self.leaves + other.leaves
        return Summand(coefficient, leaves, error, self.slack * other.slack)


@dataclass(frozen=True, repr=False)
class OnColumns(Kernel):
    """A kernel that can be limited to some columns: the base of those with parameters.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.
    """

    columns: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", _columns(self.columns, type(self).__name__))

    def __repr__(self) -> str:
        names = [f.name for f in fields(self) if f.name != "columns"]
        names += ["columns"] if self.columns is not None else []
        inner = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({inner})"

    def on(self: Limited, *columns: int | Sequence[int]) -> Limited:
        """Return the same kernel limited to `columns`: ``RBF().on(0, 3)`` or ``.on([0, 3])``."""
        given: Any = columns[0] if len(columns) == 1 and not is_index(columns[0]) else columns
        return replace(self, columns=given)

    def check_width(self, n_columns: int) -> None:
        """Raise a ValueError when the kernel cannot be applied to data of `n_columns` columns."""
        title = type(self).__name__
        if self.columns is not None and max(self.columns) >= n_columns:
            raise ValueError(
                f"{title} is limited to column {max(self.columns)}, but the data have only "
                f"{n_columns} columns (counted from 0)."
            )
        width = n_columns if self.columns is None else len(self.columns)
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name != "columns" and isinstance(value, tuple) and len(value) != width:
                raise ValueError(
                    f"{title} has {len(value)} values of {f.name}, but it covers {width} "
                    "columns; give one number, or one per covered column."
                )


@dataclass(frozen=True, repr=False)
class ColumnKernel(OnColumns):
    """A product kernel that gives one factor per column; the base of a kernel of your own.

    Override `factors`, for values of any shape whose last axis runs over the columns. Parameters
    that differ by column are then arrays that broadcast along the last axis. Override `deficits`
    as well where ``1 - factors`` would lose digits. Factors may be any real numbers: games with
    factors outside [0, 1] are solved by the exact rule.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    A parameter is a field of a frozen dataclass, so that kernels can be compared and printed:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from pkex.kernels import ColumnKernel
    >>> @dataclass(frozen=True, repr=False)
    ... class Tent(ColumnKernel):
    ...     width: float = 1.0
    ...     def factors(self, x, z):
    ...         return np.maximum(0.0, 1.0 - np.abs(x - z) / self.width)
    >>> Tent(2.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.25]])
    >>> Tent(2.0).on(0, 1)
    Tent(width=2.0, columns=(0, 1))
    """

    unit: ClassVar[bool] = False
    """Whether all factors are known to lie in [0, 1], which makes bounds of errors smaller."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__} has an __init__ of its own; make its parameters fields of a "
                "@dataclass(frozen=True), so that the kernel can be compared, printed and limited "
                "to columns."
            )
        if "factors" in vars(cls) and "deficits" not in vars(cls):
            cls.deficits = ColumnKernel.deficits  # type: ignore[method-assign]  # not a parent's

    @abstractmethod
    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return ``k_j(x_j, z_j)`` elementwise; `x` and `z` broadcast, columns last."""

    def deficits(self, x: Floats, z: Floats) -> Floats:
        """Return ``1 - k_j(x_j, z_j)`` elementwise."""
        return 1.0 - as_real(self.factors(x, z), self)

    def check_values(self, X: Floats, name: str) -> None:
        """Raise a ValueError when values in the covered columns lie outside the domain."""

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        return [Summand(1.0, (self,))]


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


@dataclass(frozen=True, repr=False)
class Dot(ColumnKernel):
    """The product ``x z``, a part of the linear kernel."""

    _neutral = False

    def factors(self, x: Floats, z: Floats) -> Floats:
        return x * z


def has_neutral_removal(kernel: Kernel) -> bool:
    """Tell whether every part of the kernel is a product of factors that can become 1."""
    return kernel._neutral


@dataclass(frozen=True)
class Term:
    """One product kernel of a normal form: ``coefficient * prod over leaves``.

    Parameters
    ----------
    coefficient : float
    leaves : tuple of ColumnKernel
    n_columns : int
        Number of columns of the data; a column covered by no leaf has the factor 1.
    error : float
        What the term stands for may be something else by so much, times the size of those factors
        that are not known to lie in [0, 1]: a share in the error of a kernel of a distance.
    slack : float
        By how much the relative error may be larger than that of other terms, at least 1.
    """

    coefficient: float
    leaves: tuple[ColumnKernel, ...]
    n_columns: int
    error: float = 0.0
    slack: float = 1.0

    def __post_init__(self) -> None:
        for leaf in self.leaves:
            leaf.check_width(self.n_columns)

    def restricted(self, columns: Collection[int]) -> Term:
        """Return the term in which the factors of all columns but these are 1."""
        leaves = []
        for leaf in self.leaves:
            covered = range(self.n_columns) if leaf.columns is None else leaf.columns
            kept = tuple(column in columns for column in covered)
            if any(kept):
                leaves.append(_restricted(leaf, tuple(covered), kept))
        return replace(self, leaves=tuple(leaves))

    def worth(self, x: Floats, z: Floats) -> Floats:
        """Return the coefficient times all factors, shape (rows, points)."""
        product = np.full((len(x), len(z)), self.coefficient)
        for leaf in self.leaves:
            factors = leaf_values(leaf, leaf.factors, x, z)
            part = factors.prod(axis=2)
            # factors are many, so look at them only where the product is none or has overflowed
            if not (np.isfinite(part).all() or np.isfinite(factors).all()):
                raise not_finite(self)
            product *= part
        return product

    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return the factor of every column, shape (rows, points, columns)."""
        result = np.ones((len(x), len(z), self.n_columns))
        for leaf in self.leaves:
            columns = slice(None) if leaf.columns is None else list(leaf.columns)
            result[:, :, columns] *= leaf_values(leaf, leaf.factors, x, z)
        if not np.isfinite(result).all():
            raise not_finite(self)
        return result


@dataclass(frozen=True, repr=False)
class _Part(ColumnKernel):
    """A column kernel of which some factors are 1."""

    leaf: ColumnKernel
    kept: tuple[bool, ...]

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.factors(x, z), 1.0)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.deficits(x, z), 0.0)


def _restricted(
    leaf: ColumnKernel, covered: tuple[int, ...], kept: tuple[bool, ...]
) -> ColumnKernel:
    """Return `leaf` limited to some of the columns that it covers."""
    parameters = {f.name: getattr(leaf, f.name) for f in fields(leaf) if f.name != "columns"}
    ours = type(leaf).__module__ in ("pkex.kernels", __name__)
    if not ours or any(map(callable, parameters.values())):
        return _Part(leaf, kept, columns=covered)  # it may expect all its columns
    chosen = {
        name: tuple(compress(value, kept))
        for name, value in parameters.items()
        if isinstance(value, tuple)
    }
    return replace(leaf, columns=tuple(compress(covered, kept)), **chosen)


def leaf_values(leaf: ColumnKernel, method: Any, x: Floats, z: Floats) -> Floats:
    """Evaluate `leaf.factors` or `leaf.deficits` for all pairs: (rows, points, covered columns).

    Overflow and division by zero inside a kernel lead to the right limit (a factor of 0 or 1), so
    they are no cause for a warning. NaN and infinity are passed on; callers refuse them where they
    have looked at the values anyway.
    """
    if leaf.columns is not None:
        x, z = x[:, leaf.columns], z[:, leaf.columns]
    left, right = x[:, None, :], z[None, :, :]
    with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
        values = as_real(method(left, right), leaf)
    expected = np.broadcast_shapes(left.shape, right.shape)
    if values.shape != expected:
        raise ValueError(
            f"{brief(leaf)} returned factors of shape {values.shape} for values that broadcast to "
            f"{expected}; it must return one factor for each entry, elementwise."
        )
    return values


def as_real(values: Any, leaf: ColumnKernel) -> Floats:
    """Return the factors of a kernel as float64, which would drop an imaginary part silently."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError(
            f"{brief(leaf)} returned factors of type {array.dtype}; factors are real numbers. "
            "Return np.real(...) of them if their imaginary parts are rounding errors."
        )
    return array.astype(np.float64, copy=False)


def _columns(columns: object, title: str) -> tuple[int, ...]:
    entries = (columns,) if is_index(columns) else columns
    if isinstance(entries, str) or not isinstance(entries, Sequence | np.ndarray | range):
        raise TypeError(f"{title} columns must be a sequence of integers, got {brief(columns)}.")
    for entry in entries:
        if not is_index(entry):
            raise TypeError(f"{title} columns must be integers, got {brief(entry)}.")
    result = tuple(int(entry) for entry in entries)
    if not result or min(result) < 0 or len(set(result)) < len(result):
        raise ValueError(
            f"{title} columns must be different and count from 0, at least one; got "
            f"{brief(columns)}."
        )
    return result


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


def _short(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 8:
        return f"({', '.join(map(repr, value[:3]))}, ..., {value[-1]!r}; {len(value)} values)"
    return getattr(value, "__name__", None) or repr(value)
