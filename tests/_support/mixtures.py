"""A mixture of processes, and its moments by the law of total covariance."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np

import pkex
from pkex import kernels
from pkex.models.posterior import SampleMixture
from pkex.models.sums import add_expansions
from tests._support.posterior_games import latent_covariance

POINTS = np.random.default_rng(7).normal(size=(10, 3))
TARGETS = np.sin(POINTS[:, 0]) + POINTS[:, 1] * POINTS[:, 2]
SAMPLES = [
    kernels.RBF([0.6, 1.0, 2.0]),
    2.0 * kernels.RBF([1.5, 0.9, 1.1]),
    0.5 * kernels.Matern([2.0, 1.0, 0.8], nu=2.5) + 0.3 * kernels.Linear(),
]
SLOPES = (0.0, 0.4, -0.7)  # of the prior means of the samples
OFFSETS = (1.0, -0.5, 0.3)  # of the prior means as well
OTHER = 0.3 * kernels.RBF([1.0, 2.0, 0.7])  # a process beside the mixture, which is in all samples
NOISE = 0.1


def _condition(kernel, targets):
    cholesky = np.linalg.cholesky(kernel(POINTS) + NOISE * np.eye(len(POINTS)))
    return cholesky, np.linalg.solve(cholesky @ cholesky.T, targets)


def mixture_of_processes(scale=1.0, count=3):
    """Return an expansion of some samples, each with its prior mean, and a process beside them."""
    mixture, n_samples, parts = SampleMixture(count), count, []
    share = np.full((1, 1), scale / n_samples)
    of_mixture = partial(pkex.Posterior, noise=NOISE, mixture=mixture)
    samples = zip(SAMPLES, SLOPES, OFFSETS, strict=True)
    for number, (kernel, slope, offset) in enumerate(islice(samples, count)):
        cholesky, alpha = _condition(kernel, TARGETS - slope * POINTS.sum(axis=1) - offset)
        posterior = of_mixture(cholesky, share, sample=number)
        alpha, constant = scale * alpha / n_samples, scale * offset / n_samples
        parts.append(pkex.KernelExpansion(POINTS, alpha, kernel, constant, posterior=posterior))
        known = of_mixture(np.ones((1, 1)), np.zeros((1, 1)), sample=number)
        points, weights = np.full((1, 3), slope), np.full(1, scale / n_samples)
        parts.append(pkex.KernelExpansion(points, weights, kernels.Linear(), posterior=known))
    cholesky, alpha = _condition(OTHER, TARGETS)
    other = pkex.Posterior(cholesky, np.full((1, 1), scale))
    parts.append(pkex.KernelExpansion(POINTS, scale * alpha, OTHER, 0.2, posterior=other))
    return add_expansions(parts)


class MixtureByDefinition:
    """Predicts as scikit-learn's processes do."""

    def __init__(self, count=3):
        self.count = count

    def predict(self, rows, return_cov=True):
        """Return mean and covariance of the latent function."""
        assert return_cov
        means, covariances = [], []
        samples = zip(SAMPLES, SLOPES, OFFSETS, strict=True)
        for kernel, slope, offset in islice(samples, self.count):
            cholesky, alpha = _condition(kernel, TARGETS - slope * POINTS.sum(axis=1) - offset)
            means.append(kernel(rows, POINTS) @ alpha + slope * rows.sum(axis=1) + offset)
            covariances.append(latent_covariance(kernel, POINTS, cholesky, rows))
        away = np.array(means) - np.mean(means, axis=0)
        cholesky, alpha = _condition(OTHER, TARGETS)
        mean = np.mean(means, axis=0) + OTHER(rows, POINTS) @ alpha + 0.2
        between = away.T @ away / len(means)
        other = latent_covariance(OTHER, POINTS, cholesky, rows)
        return mean, np.mean(covariances, axis=0) + between + other
