"""The noise of a Gaussian process: what its predictions count of it, and what observations have."""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.algebra import Kernel

__all__ = ["noise_levels"]

_SOME = 20  # training points at which a prior is looked at for noise


def noise_levels(
    kernel: Kernel, points: Floats, prior: Floats, given: Floats
) -> tuple[float | None, float | None]:
    """Return `noise` and `observation_noise` of a `Posterior`; None where they differ by row.

    Parameters
    ----------
    kernel : Kernel
        Of the latent function.
    points : array of shape (n_points, n_columns)
        The training points.
    prior : array of shape (n_points,)
        Their variances under the model's own prior, which may have noise on its diagonal.
    given : array of shape (n_points,) or more
        The variances of the noise that observations have besides.
    """
    latent = np.array([kernel(row[None, :])[0, 0] for row in points[:_SOME]])
    size = float(np.abs(latent).max() + np.abs(prior).max())
    model_noise = _level(prior[:_SOME] - latent, size)
    added_noise = _level(given, float(np.max(given)))
    if model_noise is None or added_noise is None:
        return model_noise, None
    return model_noise, model_noise + added_noise


def _level(noise: Floats, size: float) -> float | None:
    """Return what all variances are up to rounding of numbers of some size; None if they differ."""
    if np.ptp(noise) > 1e-9 * size:
        return None
    level = float(noise.mean())
    return level if level > 1e-12 * size else 0.0
