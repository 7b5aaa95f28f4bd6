"""The covariances of many functions of one input, from few numbers for each.

The atoms of a kernel of a distance are Gaussians of one input with some widths, thousands of
functions that are nearly combinations of a few dozen. Let C hold their centred values, one row for
each row of a table and one column for each atom. All that is asked of it are the covariances
``C' C``. For a matrix Q with orthonormal columns and ``B = Q' C``, what is left, ``E = C - Q B``,
is orthogonal to Q, so that

    C' C = B' B + E' E,      |(E' E)_ac| <= |e_a| |e_c|.

Here ``|e_a| <= 1e-8 |c_a|`` for every atom, which is computed and not estimated. So a covariance is
off by less than a rounding, 1.1e-16, of the product of two standard deviations, which is what a
matrix product over all rows is off by as well. Q is found from combinations of the columns with
random coefficients (Halko, Martinsson and Tropp 2011), drawn from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats

__all__ = ["compress"]


_LEFT = 1e-8  # of the size of a column, which no part outside of the basis has more of
_FIRST = 24  # combinations at first
_WORTH = 0.6  # of the rows: a basis that is larger saves too little


def compress(blocks: Sequence[Floats]) -> list[Floats]:
    """Return an array of shape (rank, atoms) for each bundle, with the covariances of the atoms.

    Parameters
    ----------
    blocks : sequence of arrays of shape (bundles, rows, atoms of a block)
        Centred factors, times the roots of the weights of the rows.
    """
    bundles = range(len(blocks[0]))
    return [_shorten(np.concatenate([block[j] for block in blocks], axis=1)) for j in bundles]


def _shorten(columns: Floats) -> Floats:
    """Return a matrix of fewer rows with the same products of columns, or the matrix itself."""
    n_rows, n_atoms = columns.shape
    size, most = _FIRST, int(_WORTH * n_rows)
    sizes = np.sqrt(np.einsum("ra,ra->a", columns, columns))
    scaled = columns / np.where(sizes > 0.0, sizes, 1.0)
    rng = np.random.default_rng(0)
    sketch = np.empty((n_rows, 0))
    while size <= most:
        more = scaled @ rng.standard_normal((n_atoms, size - sketch.shape[1]))
        sketch = np.concatenate([sketch, more], axis=1)
        basis, _ = np.linalg.qr(sketch)
        inside = basis.T @ scaled
        outside = scaled - basis @ inside
        left = np.einsum("ra,ra->a", outside, outside).max(initial=0.0)
        if left <= _LEFT**2:
            inside *= sizes
            return inside
        size = size + size // 2
    return columns
