"""The column kernels: leaves that give one factor ``k_j(x_j, z_j)`` for each column.

Besides the factor ``k_j`` a column kernel gives the *deficit* ``u_j = 1 - k_j``, the quantity the
Shapley values are made of. The kernels here compute it without the cancellation of ``1 - k_j``, so
that attributions keep their digits when a length scale is so wide that every factor is nearly 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import check_number, check_positive
from pkex.kernels.derivatives import Gradient, place_columns
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.messages import rough_paths

__all__ = [
    "RBF",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Exponential",
    "Laplacian",
    "Periodic",
    "Stationary",
    "kinked_slopes",
]

Parameter = float | Sequence[float]


@dataclass(frozen=True, repr=False)
class Stationary(ColumnKernel):
    """A column kernel of ``(x - z) / length_scale``."""

    length_scale: Parameter = 1.0

    unit = True

    def __post_init__(self) -> None:
        _make_positive(self, "length_scale")
        super().__post_init__()

    def _scaled(self, x: Floats, z: Floats) -> Floats:
        scaled: Floats = np.asarray(x - z)
        scaled /= np.asarray(self.length_scale)  # in place, as memory is slow to touch
        return scaled


@dataclass(frozen=True, repr=False)
class Exponential(ColumnKernel):
    """A column kernel ``exp(-e)`` with exponents that are not negative."""

    unit = True

    @abstractmethod
    def exponents(self, x: Floats, z: Floats) -> Floats:
        """Return ``-log`` of the factors.

        Parameters
        ----------
        x, z : array
            Values that broadcast, columns along the last axis.

        Returns
        -------
        array
            The exponents, 0 where the factor is 1.

        See Also
        --------
        factors : The kernel factors.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Laplacian
        >>> Laplacian(2.0).exponents(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
        array([0.5, 0. ])
        """

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.exp(-self.exponents(x, z))

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return -np.expm1(-self.exponents(x, z))

    factors.__doc__, deficits.__doc__ = ColumnKernel.factors.__doc__, ColumnKernel.deficits.__doc__


@dataclass(frozen=True, repr=False)
class RBF(Exponential, Stationary):
    """Gaussian kernel ``exp(-(x - z)^2 / (2 l^2))`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column (ARD).
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Laplacian : Less smooth, and robust to outliers.
    median_rbf : Choose the length scale from data.

    Examples
    --------
    >>> from pkex.kernels import RBF
    >>> RBF([1.0, 2.0])([[0.0, 0.0]], [[1.0, 2.0]]).round(4)
    array([[0.3679]])
    """

    @classmethod
    def from_gamma(cls, gamma: Parameter) -> RBF:
        """Return ``exp(-gamma (x - z)^2)``, the kernel as scikit-learn's SVMs write it.

        Parameters
        ----------
        gamma : float or sequence of float
            One rate for all columns, or one per column.

        Returns
        -------
        RBF
            The kernel with ``length_scale = 1 / sqrt(2 gamma)``.

        See Also
        --------
        median_rbf : Choose the length scale from data.

        Examples
        --------
        >>> from pkex.kernels import RBF
        >>> RBF.from_gamma(0.5)
        RBF(length_scale=1.0)
        """
        rates = check_positive(gamma, "RBF gamma")
        if isinstance(rates, tuple):
            return cls(tuple(math.sqrt(0.5 / rate) for rate in rates))
        return cls(math.sqrt(0.5 / rates))

    def exponents(self, x: Floats, z: Floats) -> Floats:
        exponents = self._scaled(x, z)
        exponents *= exponents
        exponents *= 0.5
        return exponents

    def slopes(self, x: Floats, z: Floats) -> Floats:
        scaled = self._scaled(x, z)
        slopes: Floats = -scaled / np.asarray(self.length_scale) * np.exp(-0.5 * scaled * scaled)
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        return np.ones_like(x) / np.square(self.length_scale)

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        # one exponential for a pair, where a product over columns takes one for each of them
        n_columns = x.shape[-1]
        if self.columns is not None:
            x, z = x[..., self.columns], z[..., self.columns]
        with np.errstate(over="ignore", under="ignore"):
            scaled = self._scaled(x, z)
            worth = np.exp(-0.5 * np.einsum("...k,...k->...", scaled, scaled))
            scaled *= -worth[..., None]
        scaled /= np.asarray(self.length_scale)
        return Gradient(worth, place_columns(scaled, self.columns, n_columns))


@dataclass(frozen=True, repr=False)
class Laplacian(Exponential, Stationary):
    """Laplace kernel ``exp(-|x - z| / l)`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    RBF : The Gaussian kernel.
    ProductMatern : Between the two in smoothness.

    Examples
    --------
    >>> from pkex.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    def exponents(self, x: Floats, z: Floats) -> Floats:
        return np.abs(self._scaled(x, z))

    def slopes(self, x: Floats, z: Floats) -> Floats:
        return kinked_slopes(self._scaled(x, z), self.length_scale)

    def curvatures(self, x: Floats) -> Floats:  # noqa: ARG002
        raise rough_paths(self)


@dataclass(frozen=True, repr=False)
class Cauchy(Stationary):
    """Cauchy kernel ``1 / (1 + (x - z)^2 / l^2)`` per column.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    RBF : The Gaussian kernel.
    RationalQuadratic : The radial kernel of this form.

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

    def slopes(self, x: Floats, z: Floats) -> Floats:
        scaled = self._scaled(x, z)
        slopes: Floats = -2.0 * scaled / (1.0 + scaled**2) ** 2 / np.asarray(self.length_scale)
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        return 2.0 * np.ones_like(x) / np.square(self.length_scale)


@dataclass(frozen=True, repr=False)
class Chi2(Exponential):
    """Chi-squared kernel ``exp(-gamma (x - z)^2 / (x + z))`` per column, for non-negative data.

    As in scikit-learn, two zeros have the factor 1.

    Parameters
    ----------
    gamma : float or sequence of float
        One rate for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Laplacian : A kernel for values of any sign.

    Examples
    --------
    >>> from pkex.kernels import Chi2
    >>> Chi2()([[1.0, 0.0]], [[0.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    gamma: Parameter = 1.0

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
        # halves, so that the largest doubles do not overflow
        difference, mean = 0.5 * x - 0.5 * z, 0.5 * x + 0.5 * z
        ratio = np.divide(difference, mean, out=np.zeros_like(mean), where=mean > 0.0)
        return np.asarray(self.gamma) * (2.0 * difference * ratio)

    def slopes(self, x: Floats, z: Floats) -> Floats:
        difference, mean = 0.5 * x - 0.5 * z, 0.5 * x + 0.5 * z
        # two zeros have the limit from above, as there are no negative values
        ratio = np.divide(difference, mean, out=np.ones_like(mean), where=mean > 0.0)
        slopes: Floats = -np.asarray(self.gamma) * ratio * (2.0 - ratio) * self.factors(x, z)
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        if not x.all():
            raise ValueError(
                "the gradient has no standard deviation under Chi2 where a value is 0: its prior "
                "variance is infinite there. Leave out return_std, or rows with zeros."
            )
        curvatures: Floats = np.asarray(self.gamma) / x
        return curvatures


@dataclass(frozen=True, repr=False)
class Periodic(Exponential, Stationary):
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

    See Also
    --------
    RBF : The Gaussian kernel.

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
        cycles = (x - z) / np.asarray(self.periodicity)
        sine = np.sin(np.pi * (cycles - np.rint(cycles))) / np.asarray(self.length_scale)
        exponents: Floats = 2.0 * sine * sine
        return exponents

    def slopes(self, x: Floats, z: Floats) -> Floats:
        cycles = (x - z) / np.asarray(self.periodicity)
        sine = np.sin(2.0 * np.pi * (cycles - np.rint(cycles)))
        rate = 2.0 * np.pi / (np.asarray(self.periodicity) * np.square(self.length_scale))
        slopes: Floats = -rate * sine * self.factors(x, z)
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        rate = 2.0 * np.pi / (np.asarray(self.periodicity) * np.asarray(self.length_scale))
        curvatures: Floats = np.ones_like(x) * np.square(rate)
        return curvatures


@dataclass(frozen=True, repr=False)
class Categorical(ColumnKernel):
    """Categorical kernel: 1 where two category codes are equal, `mismatch` where they are not.

    Codes are compared as doubles, which tell integers apart up to 2^53.

    Parameters
    ----------
    mismatch : float or sequence of float, default 0.0
        At least 0 and below 1; one number for all columns, or one per column.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    RBF : The Gaussian kernel, for columns of numbers.

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
        values = tuple(check_number(value, name) for value in np.atleast_1d(given).tolist())
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


def kinked_slopes(scaled: Floats, length_scale: Parameter) -> Floats:
    """Return the slopes of ``exp(-|x - z| / l)``, which has none where x = z."""
    signs = np.where(scaled == 0.0, np.nan, np.sign(scaled))
    slopes: Floats = -signs / np.asarray(length_scale) * np.exp(-np.abs(scaled))
    return slopes


def _make_positive(kernel: ColumnKernel, name: str) -> None:
    value = check_positive(getattr(kernel, name), f"{type(kernel).__name__} {name}")
    object.__setattr__(kernel, name, value)
