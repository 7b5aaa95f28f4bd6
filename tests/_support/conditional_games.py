"""Slow, obvious twins of conditional values: enumeration over coalitions, and draws.

A coalition is worth ``E[f(X) | X_S = x_S]``. The oracle has the covariance of the whole row, with
zeros between blocks or with the correlations of a chain multiplied along it, conditions it at once,
and takes the mean of the product of Gaussian factors by the formula of the convolution
``(V + diag(l^2))``; it knows nothing of blocks, gaps or quadrature.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def sample_covariance(rows, weights=None):
    """Return mean and unbiased covariance of weighted rows."""
    weights = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / weights.sum()
    mean = weights @ rows
    centred = rows - mean
    return mean, (centred.T * weights) @ centred / (1.0 - (weights**2).sum())


def block_covariance(rows, blocks, weights=None):
    """Return mean and covariance with zeros between blocks."""
    mean, full = sample_covariance(rows, weights)
    covariance = np.diag(np.diag(full))
    for block in blocks:
        covariance[np.ix_(block, block)] = full[np.ix_(block, block)]
    return mean, covariance


def chain_covariance(rows, weights=None):
    """Return mean and covariance of the Markov chain with the correlations of neighbours."""
    mean, full = sample_covariance(rows, weights)
    scale = np.sqrt(np.diag(full))
    correlation = full / np.outer(scale, scale)
    for i, j in itertools.combinations(range(len(scale)), 2):
        along = math.prod(correlation[k, k + 1] for k in range(i, j))
        full[i, j] = full[j, i] = along * scale[i] * scale[j]
    return mean, full


def condition(mean, covariance, x, inside):
    """Return mean and covariance of the other columns given those inside."""
    inside = np.asarray(inside, dtype=bool)
    if not inside.any():
        return mean, covariance
    between = covariance[np.ix_(~inside, inside)]
    slope = between @ np.linalg.pinv(covariance[np.ix_(inside, inside)], rcond=1e-10)
    there = mean[~inside] + slope @ (x - mean)[inside]
    return there, covariance[np.ix_(~inside, ~inside)] - slope @ between.T


def mean_of_gaussians(z, lengths, mean, covariance):
    """Return ``E prod_k exp(-(X_k - z_k)^2 / (2 l_k^2))`` at every point."""
    if not len(mean):
        return np.ones(len(z))
    spread = covariance + np.diag(lengths**2)
    gap = z - mean
    exponents = np.einsum("ni,ij,nj->n", gap, np.linalg.inv(spread), gap)
    return math.prod(lengths) / math.sqrt(np.linalg.det(spread)) * np.exp(-0.5 * exponents)


def gaussian_worth(x, z, alpha, lengths, mean, covariance):
    """Return v as a function of the columns that are present."""

    def worth(inside):
        inside = np.asarray(inside, dtype=bool)
        there = np.exp(-0.5 * np.square((x - z)[:, inside] / lengths[inside]).sum(axis=1))
        given = condition(mean, covariance, x, inside)
        return alpha.T @ (there * mean_of_gaussians(z[:, ~inside], lengths[~inside], *given))

    return worth


def drawn_worth(x, predict, mean, covariance, rng, n_draws):
    """Return v by draws from the conditional distribution."""

    def worth(inside):
        inside = np.asarray(inside, dtype=bool)
        rows = np.tile(x, (1 if inside.all() else n_draws, 1))
        if not inside.all():
            given = condition(mean, covariance, x, inside)
            rows[:, ~inside] = rng.multivariate_normal(*given, size=n_draws, method="eigh")
        return predict(rows).mean(axis=0)

    return worth


def semivalues(worth, groups, weight=None):
    """Return the values of groups of columns by enumeration; Shapley's by default.

    `weight(s, d)` is that of a coalition of s others among d players.
    """
    d = len(groups)
    n_columns = sum(map(len, groups))
    weight = weight or (lambda s, d: 1.0 / (d * math.comb(d - 1, s)))
    worths = {}
    for players in itertools.product([False, True], repeat=d):
        inside = np.zeros(n_columns, dtype=bool)
        for group, there in zip(groups, players, strict=True):
            inside[list(group)] = there
        worths[players] = worth(inside)
    values = []
    for j in range(d):
        total = 0.0
        for players, without in worths.items():
            if not players[j]:
                more = (*players[:j], True, *players[j + 1 :])
                total = total + weight(sum(players), d) * (worths[more] - without)
        values.append(total)
    return np.array(values), worths[(False,) * d]
