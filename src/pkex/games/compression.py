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
random coefficients (Halko, Martinsson and Tropp 2011), drawn from a fixed seed; a few at a time, of
what the ones before leave.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats

__all__ = ["compress"]


_LEFT = 1e-8  # of the size of a column, which no part outside of the basis has more of
_STEP = 16  # combinations at a time
_WORTH = 0.6  # of the rows: a basis that is larger saves too little


def compress(blocks: Sequence[Floats]) -> list[Floats]:
    """Return an array of shape (rank, atoms) for each bundle, with the covariances of the atoms.

    Parameters
    ----------
    blocks : sequence of arrays of shape (bundles, rows, atoms of a block)
        Centred factors, times the roots of the weights of the rows.
    """
    rng, drawn = np.random.default_rng(0), list[Floats]()
    bundles = range(len(blocks[0]))
    columns = (np.concatenate([block[j] for block in blocks], axis=1) for j in bundles)
    return [_shorten(one, rng, drawn) for one in columns]


def _shorten(columns: Floats, rng: np.random.Generator, drawn: list[Floats]) -> Floats:
    """Return a matrix of fewer rows with the same products of columns, or the matrix itself.

    Random coefficients that were `drawn` for other columns are taken again.
    """
    n_rows, n_atoms = columns.shape
    most = int(_WORTH * n_rows)
    sizes = np.sqrt(np.einsum("ra,ra->a", columns, columns))
    outside = columns / np.where(sizes > 0.0, sizes, 1.0)
    basis, inside = np.empty((n_rows, 0)), list[Floats]()
    while basis.shape[1] + _STEP <= most:
        if len(drawn) == len(inside):
            drawn.append(rng.standard_normal((n_atoms, _STEP)))
        sketch = outside @ drawn[len(inside)]
        for _ in range(2):  # once leaves roundings of what was there before
            sketch -= basis @ (basis.T @ sketch)
            sketch, _ = np.linalg.qr(sketch)
        inside.append(sketch.T @ outside)
        outside -= sketch @ inside[-1]
        basis = np.concatenate([basis, sketch], axis=1)
        left = np.einsum("ra,ra->a", outside, outside).max(initial=0.0)
        if left <= _LEFT**2:
            short: Floats = np.concatenate(inside) * sizes
            return short
    return columns
