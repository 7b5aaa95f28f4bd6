"""Training rows, targets, weights and rows to explain, which tests of influence share."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

__all__ = ["BACKGROUND", "NOISE", "RNG", "ROWS", "TWO", "WEIGHTS", "X", "Y", "ridge"]

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=len(X))
TWO = np.column_stack([Y, 3.0 + 5.0 * X[:, 1]])
WEIGHTS = RNG.uniform(0.2, 3.0, len(X))
NOISE = RNG.uniform(0.05, 0.5, len(X))
ROWS, BACKGROUND = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))


def ridge(**how):
    return KernelRidge(**{"kernel": "rbf", "gamma": 0.4, "alpha": 0.1} | how)
