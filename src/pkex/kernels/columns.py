"""The column kernels: leaves that give one factor ``k_j(x_j, z_j)`` for each column.

Besides the factor ``k_j`` a column kernel gives the *deficit* ``u_j = 1 - k_j``, the quantity the
Shapley values are made of. The kernels here compute it without the cancellation of ``1 - k_j``, so
that attributions keep their digits when a length scale is so wide that every factor is nearly 1.

`Linear` is no product over columns but a sum; it expands into one term for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, number, positive
from pkex.kernels.algebra import Kernel
from pkex.kernels.leaves import ColumnKernel, Dot
from pkex.kernels.normal_form import Summand

__all__ = [
    "RBF",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Custom",
    "Laplacian",
    "Linear",
    "Periodic",
    "ProductMatern",
    "Stationary",
]

Parameter = float | tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Stationary(ColumnKernel):
    """A column kernel of ``(x - z) / length_scale``."""

    length_scale: Parameter = 1.0

    unit = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _make_positive(self, "length_scale")

    def _scaled(self, x: Floats, z: Floats) -> Floats:
        scaled: Floats = np.asarray(x - z)
        scaled /= np.asarray(self.length_scale)  # in place, as memory is slow to touch
        return scaled


@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    """Gaussian kernel ``exp(-(x - z)^2 / (2 l^2))`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column (ARD).
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import RBF
    >>> RBF([1.0, 2.0])([[0.0, 0.0]], [[1.0, 2.0]]).round(4)
    array([[0.3679]])
    """

    @classmethod
    def from_gamma(cls, gamma: float | tuple[float, ...]) -> RBF:
        """Return ``exp(-gamma (x - z)^2)``, the kernel as scikit-learn's SVMs write it.

        >>> RBF.from_gamma(0.5)
        RBF(length_scale=1.0)
        """
        rates = positive(gamma, "RBF gamma")
        if isinstance(rates, tuple):
            return cls(tuple(math.sqrt(0.5 / rate) for rate in rates))
        return cls(math.sqrt(0.5 / rates))

    def exponents(self, x: Floats, z: Floats) -> Floats:
        """Return ``-log`` of the factors."""
        exponents = self._scaled(x, z)
        exponents *= exponents
        exponents *= 0.5
        return exponents

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.exp(-self.exponents(x, z))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return -np.expm1(-self.exponents(x, z))


@dataclass(frozen=True, repr=False)
class Laplacian(Stationary):
    """Laplace kernel ``exp(-|x - z| / l)`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    def exponents(self, x: Floats, z: Floats) -> Floats:
        """Return ``-log`` of the factors."""
        return np.abs(self._scaled(x, z))

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.exp(-self.exponents(x, z))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return -np.expm1(-self.exponents(x, z))


@dataclass(frozen=True, repr=False)
class Cauchy(Stationary):
    """Cauchy kernel ``1 / (1 + (x - z)^2 / l^2)`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import Cauchy
    >>> Cauchy()([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.25]])
    """

    def factors(self, x: Floats, z: Floats) -> Floats:
        return 1.0 / (1.0 + self._scaled(x, z) ** 2)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        # s / (1 + s), written so that s = 0 and s = inf come out as 0 and 1
        return 1.0 / (1.0 + 1.0 / self._scaled(x, z) ** 2)


@dataclass(frozen=True, repr=False)
class ProductMatern(Stationary):
    """Product of one-dimensional Matern kernels, one for each column.

    With ``a = sqrt(2 nu) |x - z| / l`` the factor is ``exp(-a)``, ``(1 + a) exp(-a)`` or
    ``(1 + a + a^2/3) exp(-a)``. The kernel of a Euclidean distance, as scikit-learn has it, is
    `Matern`.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    nu : {0.5, 1.5, 2.5}
        Smoothness.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import ProductMatern
    >>> ProductMatern(nu=2.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.2746]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        nu = number(self.nu, "ProductMatern nu")
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"ProductMatern nu must be 0.5, 1.5 or 2.5, got {nu!r}.")
        object.__setattr__(self, "nu", nu)

    def _distance(self, x: Floats, z: Floats) -> Floats:
        distance = math.sqrt(2.0 * self.nu) * np.abs(self._scaled(x, z))
        return np.minimum(distance, 1000.0)  # exp(-1000) is 0, while inf * 0 would be NaN

    def factors(self, x: Floats, z: Floats) -> Floats:
        return self._factors(self._distance(x, z))

    def _factors(self, a: Floats) -> Floats:
        if self.nu == 0.5:
            return np.exp(-a)
        return (1.0 + a if self.nu == 1.5 else 1.0 + a * (1.0 + a / 3.0)) * np.exp(-a)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        a = self._distance(x, z)
        if self.nu == 0.5:
            return -np.expm1(-a)
        # Below a = 1: exp(-a) (exp(a) - polynomial) with the leading powers cancelled by hand,
        # a series of positive terms; above, 1 - factors loses nothing.
        small = np.minimum(a, 1.0)
        series = np.zeros_like(small)
        for k in range(19, 2, -1):
            series = series * small + 1.0 / math.factorial(k)
        leading = 1.0 / 2.0 if self.nu == 1.5 else 1.0 / 6.0
        near = np.exp(-small) * (small * small) * (leading + small * series)
        return np.where(a < 1.0, near, 1.0 - self._factors(a))


@dataclass(frozen=True, repr=False)
class Chi2(ColumnKernel):
    """Chi-squared kernel ``exp(-gamma (x - z)^2 / (x + z))`` per column, for non-negative data.

    As in scikit-learn, two zeros have the factor 1.

    Parameters
    ----------
    gamma : float or sequence of float
        One rate for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import Chi2
    >>> Chi2()([[1.0, 0.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    gamma: Parameter = 1.0

    unit = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _make_positive(self, "gamma")

    def check_values(self, X: Floats, name: str) -> None:
        if X.size and X.min() < 0.0:
            raise ValueError(
                f"Chi2 needs non-negative values, but the columns of {name} that it covers go "
                f"down to {X.min():g}; shift them, or use another kernel there."
            )

    def exponents(self, x: Floats, z: Floats) -> Floats:
        """Return ``-log`` of the factors."""
        # halves, so that the largest doubles do not overflow
        difference, mean = 0.5 * x - 0.5 * z, 0.5 * x + 0.5 * z
        ratio = np.divide(difference, mean, out=np.zeros_like(mean), where=mean > 0.0)
        return np.asarray(self.gamma) * (2.0 * difference * ratio)

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.exp(-self.exponents(x, z))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return -np.expm1(-self.exponents(x, z))


@dataclass(frozen=True, repr=False)
class Periodic(Stationary):
    """Periodic kernel ``exp(-2 sin^2(pi (x - z) / p) / l^2)`` per column.

    For one column this is scikit-learn's ``ExpSineSquared``.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    periodicity : float or sequence of float
        One period for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import Periodic
    >>> Periodic(periodicity=24.0)([[1.0]], [[25.0], [13.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    periodicity: Parameter = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _make_positive(self, "periodicity")

    def exponents(self, x: Floats, z: Floats) -> Floats:
        """Return ``-log`` of the factors."""
        cycles = (x - z) / np.asarray(self.periodicity)
        sine = np.sin(np.pi * (cycles - np.rint(cycles))) / np.asarray(self.length_scale)
        exponents: Floats = 2.0 * sine * sine
        return exponents

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.exp(-self.exponents(x, z))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return -np.expm1(-self.exponents(x, z))


@dataclass(frozen=True, repr=False)
class Categorical(ColumnKernel):
    """1 where two category codes are equal, `mismatch` where they are not.

    Codes are compared as doubles, which tell integers apart up to 2^53.

    Parameters
    ----------
    mismatch : float or sequence of float, default 0.0
        At least 0 and below 1; one number for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> from pkex.kernels import Categorical
    >>> Categorical(0.5)([[1.0, 3.0]], [[1.0, 3.0], [1.0, 2.0]])
    array([[1. , 0.5]])
    """

    mismatch: Parameter = 0.0

    unit = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = np.asarray(self.mismatch)
        name = "Categorical mismatch"
        values = tuple(number(value, name) for value in np.atleast_1d(given).tolist())
        if not values:
            raise ValueError(f"{name} is empty; give one number, or one per column.")
        for value in values:
            if not 0.0 <= value < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}.")
        object.__setattr__(self, "mismatch", values if given.ndim else values[0])

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.where(x == z, 1.0, np.asarray(self.mismatch))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return np.where(x == z, 0.0, 1.0 - np.asarray(self.mismatch))


@dataclass(frozen=True, repr=False)
class Custom(ColumnKernel):
    """A kernel of your own from a function that gives the factor of each column.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` gets arrays that broadcast, columns along the last axis, and returns
        the factors elementwise. It may return any finite real numbers. A function defined at the
        top of a module can be pickled.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

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


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel ``sum_j x_j z_j``: a sum over columns, where the others are products.

    It has no neutral removal, as there is no factor that could become 1; with a background its
    values are those of a linear model.

    Examples
    --------
    >>> from pkex.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    _neutral = False

    def _expand(self, n_columns: int, tol: float | None) -> list[Summand]:  # noqa: ARG002
        return [Summand(1.0, (Dot(columns=(j,)),)) for j in range(n_columns)]


def _make_positive(kernel: ColumnKernel, name: str) -> None:
    value = positive(getattr(kernel, name), f"{type(kernel).__name__} {name}")
    object.__setattr__(kernel, name, value)
