"""Models of columns that depend on each other; a call with the same arguments gives the same."""

from __future__ import annotations

import numpy as np

import pkex
from pkex import kernels

__all__ = ["correlated", "expansion", "problem"]


def correlated(n_rows, n_columns, seed=34):
    """Rows whose columns all depend on each other, with means and scales of their own."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_columns) + 0.6 * rng.normal(size=(n_columns, n_columns))
    scales = rng.uniform(0.5, 3.0, size=n_columns)
    return rng.normal(size=(n_rows, n_columns)) @ mixing * scales + rng.normal(size=n_columns)


def expansion(rows, lengths, n_outputs=1, kernel=None):
    rng = np.random.default_rng(35)
    alpha = rng.normal(size=(len(rows), n_outputs))
    kernel = kernel or kernels.RBF(tuple(lengths))
    return pkex.KernelExpansion(rows, alpha, kernel, rng.normal(size=n_outputs))


def problem(n_columns, n_outputs=1):
    rows = correlated(60, n_columns)
    shares = np.random.default_rng(36).uniform(0.8, 2.5, size=n_columns)
    lengths = shares * rows.std(axis=0)
    return rows, lengths, expansion(rows[:15], lengths, n_outputs), rows[20:22]
