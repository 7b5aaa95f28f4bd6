"""The names of array types, for annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Indices", "Players"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Players = tuple[tuple[int, ...], ...]
"""The columns of each feature or group of features."""
