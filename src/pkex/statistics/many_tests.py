"""Many tests at once: p-values adjusted for their number, and permutations enough for that.

The smallest p-value of B permutations is ``1 / (B + 1)``. For k players it is adjusted to at least
``k / (B + 1)``, by either method as long as one player alone stands out: with 60 columns and 999
permutations nothing is below 0.06, however clear it is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["enough_permutations", "holm", "lowest_adjusted", "needed_permutations", "step_up"]

Floats = NDArray[np.float64]

_FEW, _MANY = 999, 9999  # permutations of a test that chooses their number


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted by Holm's method, which bounds the chance of any false alarm.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values)
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def step_up(p_values: Floats) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg's method, which bounds the false share.

    `scipy.stats` has it as well, and takes more than a second to import.

    >>> step_up(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order, count = np.argsort(p_values), len(p_values)
    scaled = p_values[order] * (count / np.arange(1.0, count + 1.0))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def lowest_adjusted(n_players: int, n_permutations: int) -> float:
    """Return the smallest adjusted p-value that a single player can have.

    >>> lowest_adjusted(60, 999)
    0.06
    """
    return min(1.0, n_players / (n_permutations + 1))


def needed_permutations(n_players: int, alpha: float) -> int:
    """Return permutations that leave room below the level: the lowest p-value is half of it.

    >>> needed_permutations(60, 0.05)
    2399
    """
    return math.ceil(2 * n_players / alpha) - 1


def enough_permutations(n_players: int, alpha: float) -> int:
    """Return how many permutations to take for so many players where nobody said.

    >>> enough_permutations(20, 0.05), enough_permutations(60, 0.05), enough_permutations(900, 0.05)
    (999, 2399, 9999)
    """
    return min(_MANY, max(_FEW, needed_permutations(n_players, alpha)))
