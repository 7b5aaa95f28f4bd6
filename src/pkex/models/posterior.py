"""`Posterior`: what the covariance of a Gaussian process needs beside its mean.

The mean of a Gaussian process is a `KernelExpansion`. Given its training points ``x_i``, the
latent function has the covariance

    cov(f(x), f(z)) = k(x, z) - k_x' (K + noise)^-1 k_z,      k_x = (k(x, x_1), ..., k(x, x_n)),

with the kernel and the points of the expansion. What is left to know is the Cholesky factor of
``K + noise``, the units of the outputs, and the noise that a new observation has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular

from pkex._util.types import Floats
from pkex._util.validation import as_floats

__all__ = ["Posterior"]


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
    noise : float, default 0.0
        The variance of the noise that `predict` of the model counts for a new row, in the units of
        the kernel. Covariances of values are those of the latent function, without it.

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
    noise: float

    def __init__(
        self, cholesky: ArrayLike, mixing: ArrayLike | None = None, noise: float = 0.0
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
        if not noise >= 0.0:
            raise ValueError(f"noise must be a variance, got {noise!r}.")
        for name, value in (
            ("cholesky", np.tril(factor)),
            ("mixing", outputs.copy()),
            ("noise", float(noise)),
        ):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"Posterior({len(self.cholesky)} points, {self.mixing.shape[1]} outputs, "
            f"noise={self.noise:.4g})"
        )

    @property
    def scales(self) -> Floats:
        """What a variance in the units of the kernel is multiplied by, for each output."""
        scales: Floats = (self.mixing * self.mixing).sum(axis=0)
        return scales

    def mixed(self, matrix: Floats) -> Posterior:
        """Return the posterior of the outputs times a matrix."""
        return Posterior(self.cholesky, self.mixing @ matrix, self.noise)

    def padded(self, before: int, after: int) -> Posterior:
        """Return the posterior with outputs before and after that it takes no part in."""
        return Posterior(self.cholesky, np.pad(self.mixing, ((0, 0), (before, after))), self.noise)

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
