"""What it costs that products stand for something else.

A kernel of a distance is a sum of products only up to an error, of which every term has a share
(`Term.error`), for factors in [0, 1]. Other kernels that it is multiplied by make it larger where
their factors leave that range. The worth of every coalition of a pair is then off by at most

    e_i = sum over terms  error prod_j max(1, |p_j|, |a_j|),

with the factors of the other kernels, and a value, a difference of two worths, by ``2 e_i``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term, leaf_values

__all__ = ["bound_missed"]


_ENTRIES = 2**21  # factors evaluated at once


def bound_missed(
    terms: Sequence[Term], x: Floats, z: Floats, weights: Floats, background: Floats | None
) -> Floats:
    """Return how far weighted sums of worths may be off, shape (rows, sets).

    `weights` have shape (points, sets) or (rows, points, sets); the rows of a background stand in
    for absent columns.
    """
    errors: dict[tuple[ColumnKernel, ...], float] = defaultdict(float)
    for term in terms:
        if term.error:
            errors[tuple(leaf for leaf in term.leaves if not leaf.unit)] += term.error
    sizes = np.abs(weights)
    total = np.zeros((len(x), sizes.shape[-1]))
    for leaves, error in errors.items():
        if not leaves:
            total += error * sizes.sum(axis=-2)
            continue
        step = max(1, _ENTRIES // max(1, z.size))
        absent = [_largest(leaf, background, z, step) for leaf in leaves]
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            worth = np.ones((len(x[rows]), len(z)))
            for leaf, without in zip(leaves, absent, strict=True):
                present = np.abs(leaf_values(leaf, leaf.factors, x[rows], z))
                worth *= np.maximum(present, without).prod(axis=2)
            local = sizes if sizes.ndim == 2 else sizes[rows]
            total[rows] += error * (worth[:, None, :] @ local)[:, 0]
    return total


def _largest(leaf: ColumnKernel, background: Floats | None, z: Floats, step: int) -> Floats:
    """Return the largest factors of absent columns, at least 1, at each point."""
    width = z.shape[1] if leaf.columns is None else len(leaf.columns)
    largest = np.ones((len(z), width))
    if background is not None:
        for start in range(0, len(background), step):
            factors = leaf_values(leaf, leaf.factors, background[start : start + step], z)
            np.maximum(largest, np.abs(factors).max(axis=0), out=largest)
    return largest
