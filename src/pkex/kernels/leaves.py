"""Column kernels, the leaves of the algebra: one factor for each column that they cover."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from typing import Any, ClassVar, TypeVar

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.kernels.algebra import Kernel
from pkex.kernels.derivatives import Gradient, Jet, differentiate_product, place_columns
from pkex.kernels.messages import no_derivative
from pkex.kernels.normal_form import Expansion, Summand, Term, as_real

__all__ = ["ColumnKernel", "Custom", "Dot", "OnColumns"]

Limited = TypeVar("Limited", bound="OnColumns")


@dataclass(frozen=True, repr=False)
class OnColumns(Kernel):
    """A kernel that can be limited to some columns: the base of those with parameters.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.
    """

    columns: Sequence[int] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", _columns(self.columns, type(self).__name__))

    def __repr__(self) -> str:
        names = [f.name for f in fields(self) if f.name != "columns"]
        names += ["columns"] if self.columns is not None else []
        inner = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({inner})"

    def on(self: Limited, *columns: int | Sequence[int]) -> Limited:
        """Return the same kernel limited to `columns`: ``RBF().on(0, 3)`` or ``.on([0, 3])``.

        Parameters
        ----------
        *columns : int or sequence of int
            The columns, counted from 0.

        Returns
        -------
        Kernel
            The limited kernel; the columns it leaves out have the factor 1.

        See Also
        --------
        Product : Kernels on different columns are multiplied.

        Examples
        --------
        >>> from pkex.kernels import RBF, Categorical
        >>> RBF().on(0, 3) * Categorical().on(1)
        RBF(length_scale=1.0, columns=(0, 3)) * Categorical(mismatch=0.0, columns=(1,))
        """
        given: Any = columns[0] if len(columns) == 1 and not is_index(columns[0]) else columns
        return replace(self, columns=given)

    def check_width(self, n_columns: int) -> None:
        """Raise a ValueError when the kernel cannot be applied to data of so many columns.

        Parameters
        ----------
        n_columns : int
            Number of columns of the data.

        See Also
        --------
        on : Limit a kernel to some columns.

        Examples
        --------
        >>> from pkex.kernels import RBF
        >>> RBF().on(3).check_width(2)
        Traceback (most recent call last):
        ValueError: RBF is limited to column 3, but the data have only 2 columns (counted from 0).
        """
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
    """A product kernel with one factor per column: the base class of custom kernels.

    Override `factors`, for values of any shape whose last axis runs over the columns. Parameters
    that differ by column are then arrays that broadcast along the last axis. Override `deficits`
    as well where ``1 - factors`` would lose digits. Factors may be any real numbers: outside
    [0, 1] the exact quadrature rule is used.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Custom : A custom kernel from a function.

    Examples
    --------
    A parameter is a field of a frozen dataclass. So kernels can be compared and printed:

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
    """Whether all factors are known to lie in [0, 1], which makes error bounds smaller."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__} defines __init__; make its parameters fields of a "
                "@dataclass(frozen=True). Then the kernel can be compared, printed and limited "
                "to columns."
            )
        if "factors" in vars(cls) and "deficits" not in vars(cls):
            cls.deficits = ColumnKernel.deficits  # type: ignore[method-assign]  # not a parent's
        if not vars(cls).keys().isdisjoint(("factors", "exponents", "slopes", "curvatures")):
            for name in ("slopes", "curvatures", "gradient", "jet"):  # nor its derivatives
                if name not in vars(cls):
                    setattr(cls, name, getattr(ColumnKernel, name))

    @abstractmethod
    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return the kernel factors ``k_j(x_j, z_j)`` elementwise.

        Parameters
        ----------
        x, z : array
            Values that broadcast, columns along the last axis.

        Returns
        -------
        array
            The factors.

        See Also
        --------
        deficits : One minus the factors.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Cauchy
        >>> Cauchy().factors(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
        array([0.5, 0.2])
        """

    def deficits(self, x: Floats, z: Floats) -> Floats:
        """Return ``1 - k_j(x_j, z_j)`` elementwise, where possible without cancellation.

        Parameters
        ----------
        x, z : array
            Values that broadcast, columns along the last axis.

        Returns
        -------
        array
            One minus the factors.

        See Also
        --------
        factors : The kernel factors.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Cauchy
        >>> Cauchy().deficits(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
        array([0.5, 0.8])
        """
        return 1.0 - as_real(self.factors(x, z), self)

    def slopes(self, x: Floats, z: Floats) -> Floats:  # noqa: ARG002
        """Return the derivatives of the factors by `x`, elementwise; gradients need them.

        Parameters
        ----------
        x, z : array
            Values that broadcast, columns along the last axis.

        Returns
        -------
        array
            The derivatives; NaN where there is none.

        See Also
        --------
        factors : The kernel factors.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Cauchy
        >>> Cauchy().slopes(np.array([0.0, 0.0]), np.array([1.0, 0.0]))
        array([ 0.5, -0. ])
        """
        raise no_derivative(self)

    def curvatures(self, x: Floats) -> Floats:  # noqa: ARG002
        """Return the second derivatives of the factors, by `x` and by `z`, where both are equal.

        The standard deviation of a gradient needs them.

        Parameters
        ----------
        x : array
            Values, columns along the last axis.

        Returns
        -------
        array
            The derivatives.

        See Also
        --------
        slopes : The first derivatives.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Cauchy
        >>> Cauchy(2.0).curvatures(np.array([0.0, 1.0]))
        array([0.5, 0.5])
        """
        raise no_derivative(self, "curvatures")

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        n_columns = x.shape[-1]
        if self.columns is not None:
            x, z = x[..., self.columns], z[..., self.columns]
        with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
            factors, slopes = as_real(self.factors(x, z), self), as_real(self.slopes(x, z), self)
        product = differentiate_product(factors, slopes)
        return product._replace(slopes=place_columns(product.slopes, self.columns, n_columns))

    def jet(self, x: Floats) -> Jet:
        covered = x if self.columns is None else x[:, self.columns]
        factors, slopes = self.factors(covered, covered), self.slopes(covered, covered)
        curvatures = self.curvatures(covered)
        mixed = np.zeros((*x.shape, x.shape[1]))
        for place in range(covered.shape[1]):  # the derivative of a derivative by a column
            of_factors, of_slopes = factors.copy(), slopes.copy()
            of_factors[:, place], of_slopes[:, place] = slopes[:, place], curvatures[:, place]
            row = differentiate_product(of_factors, of_slopes).slopes
            column = place if self.columns is None else self.columns[place]
            mixed[:, column] = place_columns(row, self.columns, x.shape[1])
        return self.gradient(x, x).extend(mixed)

    gradient.__doc__, jet.__doc__ = Kernel.gradient.__doc__, Kernel.jet.__doc__

    def check_values(self, X: Floats, name: str) -> None:
        """Raise a ValueError when values in the covered columns lie outside the domain.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The covered columns.
        name : str
            What the message calls the table.

        See Also
        --------
        check_width : Check the number of columns.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Chi2
        >>> Chi2().check_values(np.array([[1.0], [0.0]]), "X")
        """

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        self.check_width(n_columns)
        return [Summand(1.0, (self,))]

    def _worth(self, x: Floats, z: Floats) -> Floats:
        return Term(1.0, (self,), x.shape[1]).worth(x, z)

    def _restrict(self, covered: tuple[int, ...], kept: tuple[bool, ...]) -> ColumnKernel:
        """Return it limited to those that are `kept` of the columns that it covers."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "columns"}
        ours = type(self).__module__ in ("pkex.kernels", __name__, "pkex.kernels.frequencies")
        if not ours or any(map(callable, parameters.values())):
            return _Part(self, kept, columns=covered)  # it may expect all its columns
        part = copy(self)  # as it was checked when it was made
        object.__setattr__(part, "columns", tuple(compress(covered, kept)))
        for name, value in parameters.items():
            if isinstance(value, tuple):
                object.__setattr__(part, name, tuple(compress(value, kept)))
        return part


@dataclass(frozen=True, repr=False)
class Custom(ColumnKernel):
    """A custom kernel from a function that returns the factor of each column.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` gets arrays that broadcast, columns along the last axis, and returns
        the factors elementwise. It may return any finite real numbers. A function defined at the
        top of a module can be pickled.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    ColumnKernel : A base class, for kernels with parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from pkex.kernels import Custom
    >>> cosine = Custom(lambda x, z: np.cos(x - z))
    >>> cosine([[0.0, 0.0]], [[np.pi, np.pi / 3]]).round(4)
    array([[-0.5]])
    """

    function: Callable[[Floats, Floats], Floats]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise TypeError(
                f"Custom needs a function(x, z) that returns factors, got {brief(self.function)}."
            )

    def factors(self, x: Floats, z: Floats) -> Floats:
        return self.function(x, z)


@dataclass(frozen=True, repr=False)
class Dot(ColumnKernel):
    """The product ``x z``, a summand of the linear kernel."""

    has_neutral_removal = False

    def factors(self, x: Floats, z: Floats) -> Floats:
        return x * z

    def slopes(self, x: Floats, z: Floats) -> Floats:
        return np.broadcast_to(z, np.broadcast_shapes(x.shape, z.shape))

    def curvatures(self, x: Floats) -> Floats:
        return np.ones_like(x)


@dataclass(frozen=True, repr=False)
class _Part(ColumnKernel):
    """A column kernel of which some factors are 1."""

    leaf: ColumnKernel
    kept: tuple[bool, ...]

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.factors(x, z), 1.0)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.deficits(x, z), 0.0)


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


def _short(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 8:
        return f"({', '.join(map(repr, value[:3]))}, ..., {value[-1]!r}; {len(value)} values)"
    return getattr(value, "__name__", None) or repr(value)
