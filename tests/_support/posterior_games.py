"""The posterior of a Gaussian process by its definition, on all hybrids of a row and a background.

A value is a linear combination of what the function is at the hybrids, so that its covariance is
that combination on both sides of the covariance of the model at the hybrids.
"""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np

from tests._support.removal_games import spliced


def functional(row, background, shares, players, removal):
    """Return the hybrids of a row, and the matrix that makes values of what f is there."""
    n_players = len(players)
    rows, weights = background, shares
    if removal == "product-of-marginals":
        draws = np.array(list(product(range(len(background)), repeat=n_players)))
        weights = shares[draws].prod(axis=1)
        rows = np.empty((len(draws), background.shape[1]))
        for i, columns in enumerate(players):
            rows[:, columns] = background[draws[:, i]][:, columns]
    hybrids, matrix = [], []
    for chosen in product((False, True), repeat=n_players):
        present = [i for i, inside in enumerate(chosen) if inside]
        hybrids.append(spliced(row, rows, players, present))
        size = len(present)
        share = np.empty(n_players)
        for i, inside in enumerate(chosen):  # weights of the coalition with i, and without
            if inside:
                share[i] = 1.0 / (n_players * comb(n_players - 1, size - 1))
            else:
                share[i] = -1.0 / (n_players * comb(n_players - 1, size))
        matrix.append(np.outer(share, weights))
    return np.concatenate(hybrids), np.concatenate(matrix, axis=1)


def latent_covariance(kernel, points, cholesky, rows):
    """Return ``k(x, z) - k_x' (L L')^-1 k_z`` for all pairs of rows."""
    white = np.linalg.solve(cholesky, kernel(points, rows))
    return kernel(rows) - white.T @ white
