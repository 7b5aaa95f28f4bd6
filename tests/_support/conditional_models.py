"""Models of columns that depend on each other."""

from __future__ import annotations

import numpy as np

import pkex
from pkex import kernels

__all__ = ["RNG", "correlated", "expansion", "problem"]

RNG = np.random.default_rng(34)


def correlated(n_rows, n_columns):
    """Rows whose columns all depend on each other, with means and scales of their own."""
    mixing = np.eye(n_columns) + 0.6 * RNG.normal(size=(n_columns, n_columns))
    scales = RNG.uniform(0.5, 3.0, size=n_columns)
    return RNG.normal(size=(n_rows, n_columns)) @ mixing * scales + RNG.normal(size=n_columns)


def expansion(rows, lengths, n_outputs=1, kernel=None):
    alpha = RNG.normal(size=(len(rows), n_outputs))
    kernel = kernel or kernels.RBF(tuple(lengths))
    return pkex.KernelExpansion(rows, alpha, kernel, RNG.normal(size=n_outputs))


def problem(n_columns, n_outputs=1):
    rows = correlated(60, n_columns)
    lengths = RNG.uniform(0.8, 2.5, size=n_columns) * rows.std(axis=0)
    return rows, lengths, expansion(rows[:15], lengths, n_outputs), rows[20:22]
