r"""BiSHAP (Masoomi et al., 2022): importance from the Shapley values that players have together.

With :math:`v_j(S) = v(S) 1[j \in S]`, the matrix :math:`G_{ij} = \phi_i(v_j)` says what i is worth
where j is present. All its entries come from one sample of coalitions by Kernel SHAP. Players are
ranked by PageRank on the graph in which j points to i with the weight :math:`|G_{ij}|`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.baselines.coalitions import Sample, kernel_shap

__all__ = ["bishap", "bivariate", "page_rank"]

Floats = NDArray[np.float64]


def bivariate(sample: Sample) -> Floats:
    """Return G for each game, shape (m, d, d)."""
    members = sample.coalitions.members
    d, m = members.shape[1], sample.values.shape[1]
    values = sample.values[:, :, None] * members[:, None, :]  # (K, m, j)
    full = np.repeat(sample.full, d)
    phi = kernel_shap(
        Sample(sample.coalitions, values.reshape(len(members), -1), np.zeros(m * d), full)
    )
    return phi.reshape(m, d, d).transpose(0, 2, 1)


def page_rank(G: Floats, damping: float = 0.85) -> Floats:
    """Return the stationary distribution of a walk from j to i with odds ``|G[i, j]|``, i != j.

    With probability 1 - `damping`, and from a player that points nowhere, the walk goes anywhere.
    """
    d = len(G)
    odds = np.abs(G) * (1.0 - np.eye(d))
    sums = odds.sum(axis=0)
    steps = np.where(sums > 0.0, odds / np.where(sums > 0.0, sums, 1.0), 1.0 / d)
    rank: Floats = np.linalg.solve(np.eye(d) - damping * steps, np.full(d, (1.0 - damping) / d))
    return rank


def bishap(sample: Sample) -> Floats:
    """Return the ranks of the players in each game, shape (m, d); they are positive, sum 1."""
    return np.array([page_rank(G) for G in bivariate(sample)])
