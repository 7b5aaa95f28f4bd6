"""Matern kernels of each column, multiplied."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import check_number
from pkex.kernels.columns import Stationary, kinked_slopes
from pkex.kernels.messages import rough_paths

__all__ = ["ProductMatern"]


@dataclass(frozen=True, repr=False)
class ProductMatern(Stationary):
    """Product of one-dimensional Matern kernels, one for each column.

    With ``a = sqrt(2 nu) |x - z| / l`` the factor is ``exp(-a)``, ``(1 + a) exp(-a)`` or
    ``(1 + a + a^2/3) exp(-a)``. The radial kernel, as scikit-learn has it, is `Matern`.

    Parameters
    ----------
    length_scale : float or sequence of float
        One length scale for all columns, or one per column.
    nu : {0.5, 1.5, 2.5}
        Smoothness.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Matern : The radial kernel, as scikit-learn has it.
    Laplacian : The same for nu = 0.5.

    Examples
    --------
    >>> from pkex.kernels import ProductMatern
    >>> ProductMatern(nu=2.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.2746]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        nu = check_number(self.nu, "ProductMatern nu")
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

    def slopes(self, x: Floats, z: Floats) -> Floats:
        if self.nu == 0.5:
            return kinked_slopes(self._scaled(x, z), self.length_scale)
        a, rate = self._distance(x, z), math.sqrt(2.0 * self.nu) / np.asarray(self.length_scale)
        size = a * np.exp(-a) if self.nu == 1.5 else a * (1.0 + a) / 3.0 * np.exp(-a)
        slopes: Floats = -np.sign(x - z) * rate * size
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        if self.nu == 0.5:
            raise rough_paths(self)
        rate = 3.0 if self.nu == 1.5 else 5.0 / 3.0
        return rate * np.ones_like(x) / np.square(self.length_scale)
