"""`Posterior`: what the covariance of a Gaussian process needs beside its mean.

The mean of a Gaussian process is a `KernelExpansion`. Given its training points ``x_i``, the
latent function has the covariance

    cov(f(x), f(z)) = k(x, z) - k_x' (K + noise)^-1 k_z,      k_x = (k(x, x_1), ..., k(x, x_n)),

with the kernel and the points of the expansion. What is left to know is the Cholesky factor of
``K + noise``, the units of the outputs, and the noise that a new row has: what the model's own
`predict` counts of it, and all that an observation has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular

from pkex._util.types import Floats
from pkex._util.validation import as_floats

if TYPE_CHECKING:
    from pkex.kernels.algebra import Kernel

__all__ = ["Posterior", "noise_levels"]

_SOME = 20  # training points at which a prior is looked at for noise


@dataclass(frozen=True, eq=False, init=False)
class Posterior:
    """The posterior of a Gaussian process, beside the points and the kernel of its expansion.

    Its outputs are linear combinations of independent processes with one kernel and one matrix of
    training points: most often each output is one process times the scale of its target.

    Parameters
    ----------
    cholesky : array of shape (n_points, n_points)
        The lower triangular L with ``L L' = K + noise``, in the units of the kernel.
    mixing : array of shape (n_processes, n_outputs), default one process and one output
        The outputs as combinations of the processes; row r has what the outputs take of process r.
    noise : float or None, default 0.0
        The variance of the noise that `predict` of the model counts for a new row, in the units of
        the kernel; None where it differs from row to row. Covariances of values are those of the
        latent function, without it.
    observation_noise : float, optional
        The variance of the noise of a new observation, in the units of the kernel, what `predict`
        counts of it included; None where it is not known or differs from row to row.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from pkex.models.posterior import Posterior
    >>> points, kernel = np.array([[0.0, 0.0], [1.0, 1.0]]), pkex.kernels.RBF()
    >>> cholesky = np.linalg.cholesky(kernel(points) + 0.1 * np.eye(2))
    >>> alpha = np.linalg.solve(cholesky.T, np.linalg.solve(cholesky, [1.0, 2.0]))
    >>> f = pkex.KernelExpansion(points, alpha, kernel, posterior=Posterior(cholesky))
    >>> pkex.Explainer(f)([[0.0, 1.0]], return_std=True).std.round(4)
    array([[0.3146, 0.3146]])
    """

    cholesky: Floats
    mixing: Floats
    noise: float | None
    observation_noise: float | None

    def __init__(
        self,
        cholesky: ArrayLike,
        mixing: ArrayLike | None = None,
        noise: float | None = 0.0,
        observation_noise: float | None = None,
    ) -> None:
        factor = as_floats(cholesky, "cholesky")
        if factor.ndim != 2 or factor.shape[0] != factor.shape[1]:
            raise ValueError(f"cholesky must be a square matrix, got shape {factor.shape}.")
        if not (np.diagonal(factor) > 0.0).all():
            raise ValueError("cholesky must have a positive diagonal.")
        outputs = np.ones((1, 1)) if mixing is None else as_floats(mixing, "mixing")
        if outputs.ndim != 2:
            raise ValueError(
                f"mixing must have shape (n_processes, n_outputs), got {outputs.shape}."
            )
        for name, level in (("noise", noise), ("observation_noise", observation_noise)):
            if level is not None and not level >= 0.0:
                raise ValueError(f"{name} must be a variance, got {level!r}.")
            object.__setattr__(self, name, None if level is None else float(level))
        for name, value in (("cholesky", np.tril(factor)), ("mixing", outputs.copy())):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        noise = "differs" if self.noise is None else f"{self.noise:.4g}"
        n_outputs = self.mixing.shape[1]
        return f"Posterior({len(self.cholesky)} points, {n_outputs} outputs, noise={noise})"

    @property
    def scales(self) -> Floats:
        """What a variance in the units of the kernel is multiplied by, for each output."""
        scales: Floats = (self.mixing * self.mixing).sum(axis=0)
        return scales

    def mixed(self, matrix: Floats) -> Posterior:
        """Return the posterior of the outputs times a matrix."""
        return replace(self, mixing=self.mixing @ matrix)

    def padded(self, before: int, after: int) -> Posterior:
        """Return the posterior with outputs before and after that it takes no part in."""
        return replace(self, mixing=np.pad(self.mixing, ((0, 0), (before, after))))

    def whitened(self, values: Floats) -> Floats:
        """Return ``L^-1 values`` for values of shape (n_points, columns)."""
        found: Floats = solve_triangular(self.cholesky, values, lower=True, check_finite=False)
        return found

    def coefficients(self, whitened: Floats) -> Floats:
        """Return ``(K + noise)^-1 values`` from what `whitened` returned."""
        found: Floats = solve_triangular(
            self.cholesky, whitened, lower=True, trans=1, check_finite=False
        )
        return found

    def inverse(self) -> Floats:
        """Return ``(K + noise)^-1``, symmetric."""
        found = cho_solve((self.cholesky, True), np.eye(len(self.cholesky)), check_finite=False)
        inverse: Floats = 0.5 * (found + found.T)
        return inverse

    def size(self) -> float:
        """Return the largest row sum of ``K + noise``, a bound on its largest eigenvalue."""
        matrix = self.cholesky @ self.cholesky.T
        return float(np.abs(matrix).sum(axis=1).max())


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
    own = _level(prior[:_SOME] - latent, size)
    besides = _level(given, float(np.max(given)))
    return own, None if own is None or besides is None else own + besides


def _level(noise: Floats, size: float) -> float | None:
    """Return what all variances are up to rounding of numbers of some size; None if they differ."""
    if np.ptp(noise) > 1e-9 * size:
        return None
    level = float(noise.mean())
    return level if level > 1e-12 * size else 0.0
