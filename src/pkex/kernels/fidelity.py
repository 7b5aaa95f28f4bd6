"""The factors that BoTorch's multi-fidelity kernels have for one column of fidelities.

A fidelity s runs from 0 to 1, the target, or counts iterations. They are no public kernels, as
nobody but readers of such models makes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.leaves import ColumnKernel

__all__ = ["Downsampling", "ExponentialDecay", "TruncatedBias"]


@dataclass(frozen=True, repr=False)
class Downsampling(ColumnKernel):
    """``offset + (1 - x)^(1 + power) (1 - z)^(1 + power)``, for values of at most 1."""

    power: float = 1.0
    offset: float = 0.0

    def check_values(self, X: Floats, name: str) -> None:
        if X.size and X.max() > 1.0:
            raise ValueError(
                f"a column of {name} with fidelities goes up to {X.max():g}, where its "
                "DownsamplingKernel is not defined; fidelities are at most 1."
            )

    def factors(self, x: Floats, z: Floats) -> Floats:
        return self.offset + (1.0 - x) ** (1.0 + self.power) * (1.0 - z) ** (1.0 + self.power)

    def slopes(self, x: Floats, z: Floats) -> Floats:
        return self._slope(x) * (1.0 - z) ** (1.0 + self.power)

    def curvatures(self, x: Floats) -> Floats:
        return self._slope(x) ** 2

    def _slope(self, x: Floats) -> Floats:
        slope: Floats = -(1.0 + self.power) * (1.0 - x) ** self.power
        return slope


@dataclass(frozen=True, repr=False)
class ExponentialDecay(ColumnKernel):
    """``offset + (1 + |x + z| / length_scale)^-power``."""

    length_scale: float = 1.0
    power: float = 1.0
    offset: float = 0.0

    def factors(self, x: Floats, z: Floats) -> Floats:
        factors: Floats = self.offset + (1.0 + np.abs(x + z) / self.length_scale) ** -self.power
        return factors

    def slopes(self, x: Floats, z: Floats) -> Floats:
        rate = (1.0 + np.abs(x + z) / self.length_scale) ** (-self.power - 1.0)
        signs = np.where(x + z == 0.0, np.nan, np.sign(x + z))  # there is a kink
        slopes: Floats = -self.power / self.length_scale * signs * rate
        return slopes

    def curvatures(self, x: Floats) -> Floats:
        rate = (1.0 + 2.0 * np.abs(x) / self.length_scale) ** (-self.power - 2.0)
        curvature = self.power * (self.power + 1.0) / self.length_scale**2 * rate
        return np.where(x == 0.0, np.nan, curvature)


@dataclass(frozen=True, repr=False)
class TruncatedBias(ColumnKernel):
    """``(1 - x) (1 - z) (1 + x z)^power`` with values cut to [0, 1]."""

    power: float = 1.0

    def factors(self, x: Floats, z: Floats) -> Floats:
        x, z = np.clip(x, 0.0, 1.0), np.clip(z, 0.0, 1.0)
        factors: Floats = (1.0 - x) * (1.0 - z) * (1.0 + x * z) ** self.power
        return factors

    def slopes(self, x: Floats, z: Floats) -> Floats:
        inside = np.where((x == 0.0) | (x == 1.0), np.nan, (x > 0.0) & (x < 1.0))  # kinks
        x, z = np.clip(x, 0.0, 1.0), np.clip(z, 0.0, 1.0)
        root = 1.0 + x * z
        slope = (self.power * z * (1.0 - x) - root) * root ** (self.power - 1.0)
        slopes: Floats = inside * (1.0 - z) * slope
        return slopes
