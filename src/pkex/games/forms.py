"""Quadratic forms of many columns in single precision: what tests of single columns permute.

The compiled loop holds more numbers in a register than libraries of linear algebra that were made
for any processor, and multiplies with the columns again where the products stand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.backend import native

__all__ = ["DEPTH", "Singles", "add_form"]


DEPTH = 128
"""So many products are added up in single precision at most, all else in double precision."""

Singles = NDArray[np.float32]


def add_form(strip: Singles, moved: Singles, sums: Floats) -> None:
    """Add ``sum_ip strip[i, p] moved[i, c] moved[p, c]`` to `sums`.

    Parameters
    ----------
    strip : array of shape (rows, points)
        Entries of some rows of a matrix, from the first of these rows on.
    moved : array of shape (points, columns)
    sums : array of shape (columns,)

    Examples
    --------
    >>> import numpy as np
    >>> from pkex.games.forms import add_form
    >>> strip, moved = np.array([[0.5, 2.0]], np.float32), np.array([[1.0], [3.0]], np.float32)
    >>> sums = np.zeros(1)
    >>> add_form(strip, moved, sums)
    >>> sums
    array([6.5])
    """
    compiled = native()
    if compiled is not None:
        compiled.add_form(strip, moved, sums)
        return
    products = np.zeros((len(strip), moved.shape[1]))
    for start in range(0, len(moved), DEPTH):
        some = slice(start, start + DEPTH)
        products += strip[:, some] @ moved[some]
    products *= moved[: len(strip)]
    sums += products.sum(axis=0)
