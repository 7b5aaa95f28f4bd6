"""`Posterior`: what the covariance of a Gaussian process needs beside its mean.

The mean of a Gaussian process is a `KernelExpansion`. Given its training points ``x_i``, the
latent function has the covariance

    cov(f(x), f(z)) = k(x, z) - k_x' (K + noise)^-1 k_z,      k_x = (k(x, x_1), ..., k(x, x_n)),

with the kernel and the points of the expansion. What is left to know is the Cholesky factor L of
``K + noise``, the units of the outputs, and the noise that a new row has: what the model's own
`predict` counts of it, and all that an observation has.

A variational process has inducing points in place of training points, and a symmetric matrix C, the
*core*, in the middle: ``L^-T C L^-1`` takes the place of the inverse, with ``L L' = K``. For values
``N(m, S)`` at the inducing points it is ``C = I - L^-1 S L^-T``, which need not be positive.

The samples of a `SampleMixture` are processes of which one is right. Their covariances are
averaged, and the covariance of their means is added (law of total covariance).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotri

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import as_floats
from pkex.models.triangular import solve_lower

__all__ = ["Posterior", "SampleMixture", "invert_cholesky"]

_BLOCK = 256  # rows of a matrix that are mirrored at once


@dataclass(frozen=True, eq=False)
class SampleMixture:
    """Equally likely processes, such as those of sampled hyperparameters; compared by identity.

    Attributes
    ----------
    n_samples : int
    """

    n_samples: int


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
    core : array of shape (n_points, n_points), optional
        The symmetric C of a variational process, whose covariance is ``k(x, z) - k_x' L^-T C L^-1
        k_z``; by default the identity. Shapley values ``V`` then lose ``V' L^-T C L^-1 V``.
    regression : bool, default True
        Whether the coefficients of the expansion are ``(K + noise)^-1`` times targets. Those of a
        classifier are not, so leaving out a row has no formula.
    mixture : SampleMixture, optional
        The mixture that the process is a sample of; the expansion then has ``1 / n_samples`` of the
        mean of the sample, and `mixing` as much of the process.
    sample : int, default 0
        The number of the sample in the mixture.

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
    core: Floats | None = None
    regression: bool = True
    mixture: SampleMixture | None = None
    sample: int = 0

    def __init__(
        self,
        cholesky: ArrayLike,
        mixing: ArrayLike | None = None,
        noise: float | None = 0.0,
        observation_noise: float | None = None,
        *,
        core: ArrayLike | None = None,
        regression: bool = True,
        mixture: SampleMixture | None = None,
        sample: int = 0,
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
        arrays = {"cholesky": np.tril(factor), "mixing": outputs.copy()}
        if core is not None:
            arrays["core"] = _as_core(core, factor.shape)
        for name, value in arrays.items():
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        alone = core is None and mixture is None
        for name, fact in (("regression", regression and alone), ("mixture", mixture)):
            object.__setattr__(self, name, fact)
        object.__setattr__(self, "sample", sample)

    def __repr__(self) -> str:
        noise = "differs" if self.noise is None else f"{self.noise:.4g}"
        n_outputs = self.mixing.shape[1]
        return f"Posterior({len(self.cholesky)} points, {n_outputs} outputs, noise={noise})"

    @property
    def scales(self) -> Floats:
        """Variance of each output per unit of variance of the kernel.

        A sample of a mixture counts with its weight, not with the square of it.

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
        n_samples = 1 if self.mixture is None else self.mixture.n_samples
        scales: Floats = n_samples * (self.mixing * self.mixing).sum(axis=0)
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
        return solve_lower(self.cholesky, values)

    def coefficients(self, whitened: Floats) -> Floats:
        """Return ``(K + noise)^-1 values`` from whitened values, or ``L^-T C L^-1 values``.

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
        return self._solve_transposed(self.weigh(whitened))

    def weigh(self, whitened: Floats) -> Floats:
        """Return the core times whitened values, or the values where it is the identity.

        The data explain ``whitened.T @ posterior.weigh(whitened)`` of a prior covariance.

        Parameters
        ----------
        whitened : array of shape (n_points, n_columns)
            From `whiten`.

        Returns
        -------
        array of shape (n_points, n_columns)
            The weighed values; without a core the array itself.

        See Also
        --------
        pkex.Posterior.whiten : The first half of the solution.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(np.eye(2), core=np.diag([1.0, 0.5]))
        >>> posterior.weigh(np.array([[2.0], [4.0]])).ravel()
        array([2., 2.])
        """
        return whitened if self.core is None else self.core @ whitened

    def _solve_transposed(self, values: Floats) -> Floats:
        return solve_lower(self.cholesky, values, transposed=True)

    def inverse(self) -> Floats:
        """Return ``(K + noise)^-1``; with a core ``L^-T C L^-1``.

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
        if self.core is None:
            return invert_cholesky(self.cholesky)
        matrix = self._solve_transposed(self._solve_transposed(self.core).T)
        symmetric: Floats = 0.5 * (matrix + matrix.T)
        return symmetric

    @lazy
    def inverse_norm(self) -> float:
        """The largest eigenvalue of ``(K + noise)^-1``, without the core.

        See Also
        --------
        pkex.Posterior.inverse : The inverse of the matrix.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> float(posterior.inverse_norm)
        0.25
        """
        return float(np.linalg.eigvalsh(invert_cholesky(self.cholesky))[-1])

    def bound_rounding(self, whitened: Floats) -> Floats:
        """Return what rounding may move explained variances by, in units of rounding.

        The Cholesky factor of ``A = K + noise`` is that of a matrix E away, with ``|E_ij| <= u
        sqrt(A_ii A_jj)`` up to a small factor. It moves ``v' A^-1 v`` by ``b' E b`` with ``b = A^-1
        v``, and ``v' L^-T C L^-1 v`` by ``b' E b - 2 b' E c`` with ``c = L^-T C L^-1 v``.

        Parameters
        ----------
        whitened : array of shape (n_points, n_columns)
            From `whiten`.

        Returns
        -------
        array of shape (n_columns,)
            The bound for each column, to be multiplied by the unit of rounding.

        See Also
        --------
        pkex.Posterior.whiten : The first half of the solution.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> posterior = pkex.Posterior(2.0 * np.eye(2))
        >>> posterior.bound_rounding(np.array([[2.0], [4.0]]))
        array([20.])
        """
        roots, size = self._roots_and_size
        solved = roots * self._solve_transposed(whitened)
        squares = (solved * solved).sum(axis=0)
        if self.core is not None:
            other = roots * self.coefficients(whitened)
            squares = squares + 2.0 * np.sqrt(squares * (other * other).sum(axis=0))
        bound: Floats = size * squares
        return bound

    @lazy
    def _roots_and_size(self) -> tuple[Floats, float]:
        """The roots of the diagonal of A, and the largest row sum of A scaled by them."""
        roots = np.linalg.norm(self.cholesky, axis=1)[:, None]
        scaled = self.cholesky / roots
        return roots, float(np.abs(scaled @ scaled.T).sum(axis=1).max())


def _as_core(core: ArrayLike, shape: tuple[int, ...]) -> Floats:
    matrix = as_floats(core, "core")
    if matrix.shape != shape:
        raise ValueError(f"core must have the shape {shape} of cholesky, got {matrix.shape}.")
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ValueError("core must be symmetric.")
    symmetric: Floats = 0.5 * (matrix + matrix.T)
    return symmetric


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
