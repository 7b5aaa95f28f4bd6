"""The posterior of a Gaussian process of scikit-learn, or of scikit-optimize, built on it.

`predict(return_std=True)` of scikit-learn counts a WhiteKernel, and no `alpha`. scikit-optimize
sets its WhiteKernel to 0 behind the fit and keeps the level as `noise_`, so that its `predict`
counts no noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.validation import as_matrix
from pkex.kernels.algebra import Kernel
from pkex.models.noise_levels import noise_levels
from pkex.models.posterior import Posterior

__all__ = ["make_laplace_posterior", "make_posterior"]

_NO_WEIGHT = 1e-280  # of a training point whose class is certain, in place of 0


def make_posterior(model: Any, kernel: Kernel) -> Posterior:
    """Return what the covariance of a fitted GaussianProcessRegressor needs beside its kernel.

    A WhiteKernel counts on the diagonal alone. In a product with a kernel that is not stationary
    its noise differs from row to row.
    """
    points, root = as_matrix(model.X_train_, "X_train_"), model.L_
    prior = model.kernel_.diag(points)
    given = np.ravel(model.alpha) + (getattr(model, "noise_", None) or 0.0)
    noise, observed = noise_levels(kernel, points, prior, given)
    if noise is not None and observed is not None:
        fitted = (root * root).sum(axis=1)  # the diagonal of K + noise
        if np.abs(fitted - (prior + (observed - noise))).max() > 1e-9 * fitted.max():
            observed = None  # alpha was changed after the fit
    scales = np.atleast_1d(np.asarray(model._y_train_std, dtype=np.float64))
    mixing = np.diag(np.broadcast_to(scales, model.alpha_[0].size))
    return Posterior(root, mixing, noise, observed)


def make_laplace_posterior(machine: Any, kernel: Kernel) -> Posterior:
    """Return the posterior of the latent function of a classifier of two classes.

    With the weights W of Laplace's approximation it is that of a regression with the noise
    ``W^-1``, and ``K + W^-1 = W^-1/2 B W^-1/2``; the model has the Cholesky factor of B.
    """
    points = as_matrix(machine.X_train_, "X_train_")
    noise, _ = noise_levels(kernel, points, machine.kernel_.diag(points), np.zeros(1))
    roots = np.maximum(machine.W_sr_, np.sqrt(_NO_WEIGHT))
    return Posterior(machine.L_ / roots[:, None], None, noise, regression=False)
