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
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from pkex._util.types import Floats
from pkex._util.validation import as_floats

if TYPE_CHECKING:
    from pkex.kernels.algebra import Kernel

__all__ = ["Posterior", "invert_cholesky", "noise_levels"]

_BLOCK = 256  # rows of a matrix that are mirrored at once
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

    See Also
    --------
    pkex.KernelExpansion : Takes it as ``posterior=``.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> points, kernel = np.array([[0.0, 0.0], [1.0, 1.0]]), pkex.kernels.RBF()
    >>> cholesky = np.linalg.cholesky(kernel(points) + 0.1 * np.eye(2))
    >>> alpha = np.linalg.solve(cholesky.T, np.linalg.solve(cholesky, [1.0, 2.0]))
    >>> f = pkex.KernelExpansion(points, alpha, kernel, posterior=pkex.Posterior(cholesky))
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
        """Variance of each output per unit of variance of the kernel.

        See Also
        --------
        pkex.Posterior.combine_outputs : Change the outputs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.scales
        array([1.])
        """
        scales: Floats = (self.mixing * self.mixing).sum(axis=0)
        return scales

    def combine_outputs(self, matrix: Floats) -> Posterior:
        """Return the posterior of the outputs times a matrix.

        Parameters
        ----------
        matrix : array of shape (n_outputs, n_new_outputs)
            The new outputs as combinations of the outputs.

        Returns
        -------
        Posterior
            The posterior of the new outputs.

        See Also
        --------
        pkex.Posterior.scales : Variances of the outputs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.combine_outputs(np.array([[3.0]])).scales
        array([9.])
        """
        return replace(self, mixing=self.mixing @ matrix)

    def pad(self, before: int, after: int) -> Posterior:
        """Return the posterior with outputs before and after that do not depend on it.

        Parameters
        ----------
        before : int
            Number of outputs before.
        after : int
            Number of outputs after.

        Returns
        -------
        Posterior
            The posterior of all outputs.

        See Also
        --------
        pkex.Posterior.combine_outputs : Change the outputs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.pad(1, 0).scales
        array([0., 1.])
        """
        return replace(self, mixing=np.pad(self.mixing, ((0, 0), (before, after))))

    def whiten(self, values: Floats) -> Floats:
        """Return ``L^-1 values``, with the Cholesky factor L.

        Parameters
        ----------
        values : array of shape (n_points, n_columns)
            Such as kernel values of the training points with some rows.

        Returns
        -------
        array of shape (n_points, n_columns)
            The whitened values.

        See Also
        --------
        pkex.Posterior.coefficients : The second half of the solution.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.whiten(np.array([[2.0], [4.0]])).ravel()
        array([1., 2.])
        """
        whitened: Floats = solve_triangular(self.cholesky, values, lower=True, check_finite=False)
        return whitened

    def coefficients(self, whitened: Floats) -> Floats:
        """Return ``(K + noise)^-1 values`` from whitened values.

        Parameters
        ----------
        whitened : array of shape (n_points, n_columns)
            From `whiten`.

        Returns
        -------
        array of shape (n_points, n_columns)
            The solution.

        See Also
        --------
        pkex.Posterior.whiten : The first half of the solution.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.coefficients(posterior.whiten(np.array([[2.0], [4.0]]))).ravel()
        array([0.5, 1. ])
        """
        solution: Floats = solve_triangular(
            self.cholesky, whitened, lower=True, trans=1, check_finite=False
        )
        return solution

    def inverse(self) -> Floats:
        """Return ``(K + noise)^-1``.

        Returns
        -------
        array of shape (n_points, n_points)
            The inverse, exactly symmetric.

        See Also
        --------
        pkex.Posterior.coefficients : Solve without the inverse.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.inverse()
        array([[0.25, 0.  ],
               [0.  , 0.25]])
        """
        return invert_cholesky(self.cholesky)

    def size(self) -> float:
        """Return the largest absolute row sum of ``K + noise``.

        Returns
        -------
        float
            A bound on its largest eigenvalue.

        See Also
        --------
        pkex.Posterior.inverse : The inverse of the matrix.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.size()
        4.0
        """
        matrix = self.cholesky @ self.cholesky.T
        return float(np.abs(matrix).sum(axis=1).max())


def invert_cholesky(factor: Floats) -> Floats:
    """Return ``(L L')^-1`` for a lower triangular L, symmetric; at the cost of two factorisations.

    Examples
    --------
    >>> invert_cholesky(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    inverse, _ = dpotri(factor.T)  # the upper triangle; below it stays what L' has there: zeros
    for start in range(0, len(inverse), _BLOCK):
        stop = start + _BLOCK
        inverse[stop:, start:stop] = inverse[start:stop, stop:].T
        square = inverse[start:stop, start:stop]
        square += np.triu(square, 1).T
    symmetric: Floats = inverse
    return symmetric


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
