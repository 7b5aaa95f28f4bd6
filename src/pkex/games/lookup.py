"""Entries of a matrix under many permutations of its rows and columns.

A test that permutes a target looks up ``L[pi(i), pi(j)]`` for every pair and permutation, which is
as much work as filling the pairs; so there is a compiled loop for it.
"""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.backend import native

__all__ = ["look_up"]


def look_up(matrix: Floats, left: Indices, right: Indices, out: Floats) -> None:
    """Write ``matrix[left[s, r], right[s, p]]`` to ``out[s, r, p]``.

    Parameters
    ----------
    matrix : array of shape (size, size)
    left : integer array of shape (sets, rows)
    right : integer array of shape (sets, points)
    out : array of shape (sets, rows, points)
    """
    compiled = native()
    if compiled is not None and left.dtype == np.int64:
        compiled.look_up(matrix, left, right, out)
        return
    for block, rows, columns in zip(out, left, right, strict=True):
        # whole rows first, one after the other in memory, which is faster than here and there
        matrix[rows].take(columns, axis=1, out=block, mode="clip")
