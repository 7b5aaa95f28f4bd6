"""Readers of variational processes: expansions over their inducing points, which are not data.

With inducing points Z, ``K = k(Z, Z)`` and its Cholesky factor L, the mean at a row is

    m(x) + k(x, Z) alpha,    alpha = L^-T v         where the variational mean v is whitened,
                             alpha = K^-1 (v - m(Z))    where it is not.

Its covariance with the variational covariance S is

    k(x, z) - k(x, Z) L^-T C L^-1 k(Z, z),    C = I - S              where S is whitened,
                                              C = I - L^-1 S L^-T    where it is not.

K has the jitter of the strategy on its diagonal. A whitened strategy adds it to the variance of a
row as well, which counts as noise of the prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from gpytorch.distributions import MultivariateNormal
from linear_operator.utils.cholesky import psd_safe_cholesky

from pkex.errors import UnsupportedModelError
from pkex.models.expansion_base import Data
from pkex.readers import Given, Reading
from pkex.readers.gpytorch.copies import array, compute_exactly, working_copy
from pkex.readers.gpytorch.models import Process, check_prior, likelihood_noise
from pkex.readers.gpytorch.transforms import explain_logarithms
from pkex.readers.reading import refuse_given

__all__ = ["read_approximate_process", "read_variational_model"]


def read_approximate_process(model: Any, given: Given) -> Reading:
    """ApproximateGP with inducing points: the mean of the latent process."""
    refuse_given(given, model)
    working = working_copy(model)
    return _read_variational(working, working, None)


def read_variational_model(model: Any, given: Given) -> Reading:
    """SingleTaskVariationalGP: the posterior mean, with its training points as data."""
    refuse_given(given, model)
    working, notes = explain_logarithms(working_copy(model))
    rows = array(working.model.train_inputs[0])
    rows = rows[(0,) * (rows.ndim - 2)]  # the same for every output
    reading = _read_variational(working, working.model, Data(rows, "training points"))
    return replace(reading, notes=notes)


def _read_variational(working: Any, process: Any, data: Data | None) -> Reading:
    strategy = process.variational_strategy
    if type(strategy).__name__ == "IndependentMultitaskVariationalStrategy":
        strategy = strategy.base_variational_strategy
    kind = type(strategy).__name__
    if kind not in ("VariationalStrategy", "UnwhitenedVariationalStrategy"):
        raise UnsupportedModelError(
            f"the variational strategy {kind} is not supported; VariationalStrategy and "
            "UnwhitenedVariationalStrategy are, and IndependentMultitaskVariationalStrategy "
            "around one."
        )
    points = strategy.inducing_points
    with compute_exactly():
        process(points)  # which initialises what was never trained
        prior = check_prior(process.forward(points), working)
        chosen = strategy.variational_distribution
        values = chosen.mean
        covariance = prior.lazy_covariance_matrix.add_jitter(strategy.jitter_val).to_dense()
        root = psd_safe_cholesky(covariance)
        whitened = kind == "VariationalStrategy"
        unit = torch.eye(root.shape[-1], dtype=root.dtype).expand(root.shape)
        core = unit
        if isinstance(chosen, MultivariateNormal):  # not a point, whose covariance is 0
            spread = chosen.covariance_matrix
            if not whitened:
                half = torch.linalg.solve_triangular(root, spread, upper=False)
                spread = torch.linalg.solve_triangular(root, half.mT, upper=False)
            core = unit - spread
        if whitened:
            left = values.unsqueeze(-1)
            alpha = torch.linalg.solve_triangular(root.mT, left, upper=True).squeeze(-1)
        else:
            left = (values - prior.mean).unsqueeze(-1)
            alpha = torch.cholesky_solve(left, root).squeeze(-1)
    noise = None if data is None else likelihood_noise(working.likelihood, prior)
    jitter = float(strategy.jitter_val) if whitened else 0.0
    return Process(
        working, process.forward, points, prior, alpha, data, root, noise, core, jitter
    ).reading()
