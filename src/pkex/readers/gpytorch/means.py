"""The prior mean of a process: affine in the columns, found by asking for it at a few rows.

Zero, constant and linear means are affine, whatever module or formula they come from. The slope is
found from the mean at a middle row and one step away along every column; at the model's own rows,
and at rows around them, the mean must be what slope and offset say.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError

__all__ = ["affine_mean"]


def affine_mean(mean: Callable[[Floats], Floats], rows: Floats) -> tuple[Floats, float]:
    """Return the slope and the offset of a mean.

    Parameters
    ----------
    mean : callable
        Takes rows as the kernel sees them, returns the prior mean at each.
    rows : array of shape (n_rows, n_columns)
        The points of the model.
    """
    middle, steps = rows.mean(axis=0), rows.std(axis=0)
    steps[steps == 0.0] = 1.0
    around = np.random.default_rng(0).normal(size=(8, rows.shape[1])) * 2.0 * steps + middle
    some = rows[:: max(1, len(rows) // 8)][:8]
    means = mean(np.concatenate([middle[None], middle + np.diag(steps), around, some]))
    n_columns = rows.shape[1]
    slope = (means[1 : n_columns + 1] - means[0]) / steps
    size = np.abs(means).max()
    slope[np.abs(slope * steps) <= 1e-13 * size] = 0.0  # rounding of a constant
    offset = float(means[0] - middle @ slope)
    checked = np.concatenate([around, some])
    terms = size + np.abs(checked * slope).sum(axis=1).max()
    if np.abs(checked @ slope + offset - means[n_columns + 1 :]).max() > 1e-9 * terms:
        raise UnsupportedModelError(
            "the prior mean of this model is not an affine function of its columns, so "
            "contributions of single columns cannot add up to it. Use ZeroMean, ConstantMean or "
            "LinearMean, or subtract the mean from the targets and explain a process that is "
            "fitted to the difference."
        )
    return slope, offset
