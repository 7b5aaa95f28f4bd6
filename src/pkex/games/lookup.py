"""Values of pairs under many permutations of the rows and columns of a matrix of weights.

A test that permutes a target looks up ``L[pi(i), pi(j)]`` for every pair and permutation, which is
as much work as filling the pairs; so there is a compiled loop that contracts what it looks up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkex._util.types import Floats, Places
from pkex.games.backend import native
from pkex.games.threads import workspace

__all__ = ["contract_looked_up", "contract_sets", "sum_sizes"]


_SETS = 256  # weight sets made at once
_WEIGHTS = 2**21  # and weights of all of these: 16 MiB


def contract_looked_up(matrix: Floats, left: Places, right: Places, values: Floats) -> Floats:
    """Return ``sum_rp values[v, r, p] matrix[left[s, r], right[s, p]]``, shape (values, sets).

    Parameters
    ----------
    matrix : array of shape (any, size)
    left : integer array of shape (sets, rows)
    right : integer array of shape (sets, points)
    values : array of shape (values, rows, points)
    """
    compiled = native()
    if compiled is not None:
        sums = np.empty((len(values), len(left)))
        compiled.contract_looked_up(matrix, left, right, values, sums)
        return sums

    def look_up(sets: slice, out: Floats) -> None:
        for block, rows, columns in zip(out, left[sets], right[sets], strict=True):
            # whole rows first, one after the other in memory, which is faster than here and there
            matrix[rows].take(columns, axis=1, out=block, mode="clip")

    return contract_sets(values, len(left), look_up)


def sum_sizes(values: Floats) -> Floats:
    """Return the sums of the absolute values (values, rows, points), shape (values,)."""
    sums = np.empty(len(values))
    compiled = native()
    if compiled is not None:
        compiled.sum_sizes(values, sums)
        return sums
    return np.abs(values).reshape(len(values), -1).sum(axis=1, out=sums)


def contract_sets(values: Floats, n_sets: int, fill: Callable[[slice, Floats], None]) -> Floats:
    """Return the sums of values (values, rows, points) for many sets of weights, (values, sets).

    `fill` writes the weights of some sets, (sets, rows, points), to its second argument.
    """
    flat = values.reshape(len(values), -1)
    sums = np.empty((len(values), n_sets))
    step = max(1, min(_SETS, _WEIGHTS // max(1, flat.shape[1])))
    for start in range(0, n_sets, step):
        sets = slice(start, min(start + step, n_sets))
        weights = workspace("weights", sets.stop - sets.start, *values.shape[1:])
        fill(sets, weights)
        sums[:, sets] = flat @ weights.reshape(len(weights), -1).T
    return sums
