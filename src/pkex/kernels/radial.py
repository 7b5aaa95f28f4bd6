"""Radial kernels, functions of the Euclidean distance: Matern and rational quadratic.

They do not factorise over columns, but they are mixtures of Gaussian kernels that do, and
`pkex.kernels.mixtures` has sums of these with a proven error. So their normal form is a sum of
terms as that of any other kernel, one for each width, and whatever can be done with a sum of
product kernels can be done with them. A kernel matrix is computed from the closed formula.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import check_number, check_positive
from pkex.kernels import mixtures
from pkex.kernels.columns import RBF
from pkex.kernels.derivatives import Gradient, Jet, place_columns
from pkex.kernels.leaves import OnColumns
from pkex.kernels.messages import rough_paths
from pkex.kernels.normal_form import Expansion, Summand

__all__ = ["Matern", "Radial", "RationalQuadratic", "gaussians"]

Parameter = float | Sequence[float]
_LARGE_NU = 50.0  # K_nu overflows at distances that matter for a Matern kernel that is smoother


@dataclass(frozen=True, repr=False)
class Radial(OnColumns):
    """A radial kernel: a function of ``q = sum_j (x_j - z_j)^2 / l_j^2``."""

    length_scale: Parameter = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        name = f"{type(self).__name__} length_scale"
        object.__setattr__(self, "length_scale", check_positive(self.length_scale, name))

    @abstractmethod
    def mixture(self, tol: float | None = None) -> mixtures.Mixture:
        """Return the kernel as a sum of Gaussian kernels, with its error.

        Parameters
        ----------
        tol : float, optional
            Accepted error; full double precision by default.

        Returns
        -------
        Mixture
            Scales and weights of the Gaussian kernels, and the error bound.

        See Also
        --------
        terms : The products over columns that the kernel is a sum of.

        Examples
        --------
        >>> from pkex.kernels import Matern
        >>> len(Matern(nu=2.5).mixture().scales), len(Matern(nu=2.5).mixture(tol=1e-6).scales)
        (36, 8)
        """

    @abstractmethod
    def profile(self, q: Floats) -> Floats:
        """Return the kernel as a function of the scaled squared distance.

        Parameters
        ----------
        q : array
            The sums of ``(x_j - z_j)^2 / l_j^2``, which may be infinite.

        Returns
        -------
        array
            The kernel, of the shape of `q`.

        See Also
        --------
        mixture : The kernel as a sum of Gaussian kernels.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Matern
        >>> Matern(nu=0.5).profile(np.array([0.0, 4.0])).round(4)
        array([1.    , 0.1353])
        """

    def _worth(self, x: Floats, z: Floats) -> Floats:
        if self.columns is not None:
            x, z = x[:, self.columns], z[:, self.columns]
        with np.errstate(over="ignore", under="ignore"):
            scaled = (x[:, None, :] - z[None, :, :]) / np.asarray(self.length_scale)
            return self.profile(np.einsum("ijk,ijk->ij", scaled, scaled))

    @abstractmethod
    def profile_slope(self, q: Floats) -> Floats:
        """Return the derivative of the kernel by ``q = sum_j (x_j - z_j)^2 / l_j^2``.

        Parameters
        ----------
        q : array
            Squared distances.

        Returns
        -------
        array
            The derivatives, which are infinite at 0 where the kernel is not smooth there.

        See Also
        --------
        gradient : The derivatives by the columns.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import Matern
        >>> Matern(nu=1.5).profile_slope(np.array([0.0, 3.0])).round(4)
        array([-1.5   , -0.0747])
        """

    @property
    def _smoothness(self) -> float:
        """The smoothness at distance 0: nu of a Matern kernel, infinite for other kernels."""
        return math.inf

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        n_columns = x.shape[-1]
        if self.columns is not None:
            x, z = x[..., self.columns], z[..., self.columns]
        lengths = np.asarray(self.length_scale)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            scaled = (x - z) / lengths
            q = np.einsum("...k,...k->...", scaled, scaled)
            slopes = 2.0 * self.profile_slope(q)[..., None] * (scaled / lengths)
        slopes[q == 0.0] = 0.0 if self._smoothness > 0.5 else np.nan
        return Gradient(self.profile(q), place_columns(slopes, self.columns, n_columns))

    def jet(self, x: Floats) -> Jet:
        if self._smoothness <= 1.0:
            raise rough_paths(self)
        columns = slice(None) if self.columns is None else list(self.columns)
        slope = float(self.profile_slope(np.zeros(1))[0])
        diagonal = np.zeros(x.shape[1])
        diagonal[columns] = -2.0 * slope / np.square(self.length_scale)
        return self.gradient(x, x).extend(np.tile(np.diag(diagonal), (len(x), 1, 1)))

    gradient.__doc__, jet.__doc__ = OnColumns.gradient.__doc__, OnColumns.jet.__doc__

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:
        self.check_width(n_columns)
        return list(_summands(self, tol))


@lru_cache(maxsize=64)
def _summands(kernel: Radial, tol: float | None) -> tuple[Summand, ...]:
    return tuple(gaussians(kernel, kernel.mixture(tol)))


def gaussians(kernel: Radial, mixture: mixtures.Mixture) -> Expansion:
    """Return one Gaussian kernel for each width of a mixture that is the kernel."""
    lengths = np.asarray(kernel.length_scale)
    shares = mixture.weights / mixture.weights.sum()
    summands = []
    for tau, weight, share in zip(mixture.scales, mixture.weights, shares, strict=True):
        narrow = lengths / math.sqrt(2.0 * tau)
        leaf = RBF(tuple(narrow.tolist()) if narrow.ndim else float(narrow), columns=kernel.columns)
        # sum_k share_k slack_k <= 2, so that all errors together are at most doubled
        slack = 10.0 ** max(0.0, math.floor(-math.log10(share * len(shares))))
        summands.append(Summand(float(weight), (leaf,), float(mixture.error * share), slack))
    return summands


@dataclass(frozen=True, repr=False)
class Matern(Radial):
    """Matern kernel, a radial kernel, as in scikit-learn and GPyTorch.

    With ``r^2 = sum_j (x_j - z_j)^2 / l_j^2`` and ``a = sqrt(2 nu) r`` it is
    ``2^(1 - nu) / Gamma(nu) a^nu K_nu(a)``: ``exp(-a)`` for nu = 1/2, ``(1 + a) exp(-a)`` for
    nu = 3/2, ``(1 + a + a^2/3) exp(-a)`` for nu = 5/2.

    It is explained as a sum of Gaussian kernels that misses it by less than 1e-14, for nu = 3/2 and
    5/2 by less than 1e-15, or by less than `tol`, with fewer of them; see `pkex.kernels.mixtures`.
    For nu = 1/2, 3/2 and 5/2 the error bound is proven in ball arithmetic.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    nu : float, default 1.5
        Smoothness, positive.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    ProductMatern : A product over columns.
    RationalQuadratic : Another mixture of Gaussian kernels.

    Examples
    --------
    >>> from pkex.kernels import Matern
    >>> Matern([1.0, 2.0], nu=2.5)([[0.0, 0.0]], [[1.0, 2.0]]).round(4)
    array([[0.3173]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nu", _positive(self.nu, "Matern nu"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # a pickle from when this name meant a product over columns; see __reduce__
        length_scale, nu, columns = map(state.get, ("length_scale", "nu", "columns"))
        raise ValueError(
            "this Matern kernel was pickled when it was a product over columns, which is "
            "pkex.kernels.ProductMatern now. Make it again: "
            f"ProductMatern({length_scale!r}, nu={nu!r}, columns={columns!r})."
        )

    def __reduce__(self) -> Any:
        return _matern, (self.length_scale, self.nu, self.columns)

    def mixture(self, tol: float | None = None) -> mixtures.Mixture:
        return mixtures.matern(self.nu, tol)

    def profile(self, q: Floats) -> Floats:
        a = np.minimum(np.sqrt(2.0 * self.nu * q), 1e4)  # exp(-1e4) is 0, while inf * 0 is NaN
        if self.nu == 0.5:
            return np.exp(-a)
        if self.nu == 1.5:
            return (1.0 + a) * np.exp(-a)
        if self.nu == 2.5:
            return (1.0 + a * (1.0 + a / 3.0)) * np.exp(-a)
        if self.nu > _LARGE_NU:
            return _sum_of_gaussians(self.mixture(), q)
        from scipy.special import gammaln, kve  # here, as SciPy is slow to import

        with np.errstate(all="ignore"):
            size = (1.0 - self.nu) * math.log(2.0) - gammaln(self.nu) + self.nu * np.log(a) - a
            values: Floats = np.asarray(kve(self.nu, a) * np.exp(size), dtype=np.float64)
        values[~np.isfinite(values)] = 1.0  # as a goes to 0, K_nu overflows
        return values

    @property
    def _smoothness(self) -> float:
        return self.nu

    def profile_slope(self, q: Floats) -> Floats:
        # (a^nu K_nu(a))' = -a^nu K_{nu-1}(a), and da/dq = nu / a
        a = np.minimum(np.sqrt(2.0 * self.nu * q), 1e4)
        if self.nu == 0.5:
            return -0.5 / a * np.exp(-a)
        if self.nu == 1.5:
            return -1.5 * np.exp(-a)
        if self.nu == 2.5:
            return -5.0 / 6.0 * (1.0 + a) * np.exp(-a)
        if self.nu > _LARGE_NU:
            return _sum_of_gaussians(self.mixture(), q, derivative=True)
        from scipy.special import gammaln, kve

        nu = self.nu
        with np.errstate(all="ignore"):
            size = (1.0 - nu) * math.log(2.0) - gammaln(nu) + (nu - 1.0) * np.log(a) - a
            slopes: Floats = np.asarray(-nu * kve(nu - 1.0, a) * np.exp(size), dtype=np.float64)
        limit = -0.5 * nu / (nu - 1.0) if nu > 1.0 else -math.inf
        slopes[~np.isfinite(slopes)] = limit
        return slopes


def _sum_of_gaussians(mixture: mixtures.Mixture, q: Floats, derivative: bool = False) -> Floats:
    """Return the mixture as a function of the scaled squared distance, or its derivative."""
    total: Floats = np.zeros(np.shape(q))
    for tau, weight in zip(mixture.scales, mixture.weights, strict=True):
        total += (-tau * weight if derivative else weight) * np.exp(-tau * q)
    return total


def _matern(length_scale: Parameter, nu: float, columns: Sequence[int] | None) -> Matern:
    return Matern(length_scale, nu, columns=columns)


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Radial):
    """Rational quadratic kernel ``(1 + r^2 / (2 alpha))^-alpha``, a radial kernel.

    ``r^2 = sum_j (x_j - z_j)^2 / l_j^2``. It is explained as a sum of Gaussian kernels that misses
    it by less than 1e-14, or by less than `tol`, with fewer of them; see `pkex.kernels.mixtures`.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    alpha : float, default 1.0
        The exponent, positive.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Matern : Another mixture of Gaussian kernels.
    Cauchy : A product over columns.

    Examples
    --------
    >>> from pkex.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.5774]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", _positive(self.alpha, "RationalQuadratic alpha"))

    def mixture(self, tol: float | None = None) -> mixtures.Mixture:
        return mixtures.rational_quadratic(self.alpha, tol)

    def profile(self, q: Floats) -> Floats:
        return np.exp(-self.alpha * np.log1p(q / (2.0 * self.alpha)))

    def profile_slope(self, q: Floats) -> Floats:
        return -0.5 * np.exp(-(self.alpha + 1.0) * np.log1p(q / (2.0 * self.alpha)))


def _positive(value: object, name: str) -> float:
    result = check_number(value, name)
    if result <= 0.0:
        raise ValueError(f"{name} must be positive, got {result!r}.")
    return result
