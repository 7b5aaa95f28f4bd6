"""Training rows, targets, weights and rows to explain, which tests of influence share."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

__all__ = ["BACKGROUND", "NOISE", "ROWS", "TWO", "WEIGHTS", "X", "Y", "ridge"]

_RNG = np.random.default_rng(5)
X = _RNG.normal(size=(24, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * _RNG.normal(size=len(X))
TWO = np.column_stack([Y, 3.0 + 5.0 * X[:, 1]])
WEIGHTS = _RNG.uniform(0.2, 3.0, len(X))
NOISE = _RNG.uniform(0.05, 0.5, len(X))
ROWS, BACKGROUND = _RNG.normal(size=(3, 3)), _RNG.normal(size=(4, 3))


def ridge(**how):
    return KernelRidge(**{"kernel": "rbf", "gamma": 0.4, "alpha": 0.1} | how)
