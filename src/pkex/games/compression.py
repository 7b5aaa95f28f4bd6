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
what the ones before leave. Each bundle of inputs has a matrix C, and is a task of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.protocols import Task

__all__ = ["Compression"]


_LEFT = 1e-8  # of the size of a column, which no part outside of the basis has more of
_STEP = 16  # combinations at a time
_WORTH = 0.6  # of the rows: a basis that is larger saves too little


class Compression:
    """Short columns with the covariances of the atoms, for each bundle: a reduction.

    Parameters
    ----------
    blocks : sequence of arrays of shape (bundles, rows, atoms of a block)
        Centred factors, times the roots of the weights of the rows.
    """

    def __init__(self, blocks: Sequence[Floats]) -> None:
        self.blocks, self.short = blocks, list[Floats]()
        self.drawn: dict[int, Floats] = {}  # random coefficients, by step, alike for all bundles

    def tasks(self) -> Sequence[Task]:
        """Return a bundle each, with all atoms."""
        n_atoms = sum(block.shape[2] for block in self.blocks)
        return [Task(slice(j, j + 1), slice(0, n_atoms)) for j in range(len(self.blocks[0]))]

    def run(self, task: Task) -> Floats:
        """Return an array of shape (rank, atoms)."""
        j = task.rows.start
        columns = np.concatenate([block[j] for block in self.blocks], axis=1)
        return _shorten(columns, self._draw)

    def add(self, part: Floats) -> None:
        """Take in the columns of a bundle."""
        self.short.append(part)

    def result(self) -> list[Floats]:
        """Return the columns of all bundles."""
        return self.short

    def _draw(self, n_atoms: int, step: int) -> Floats:
        """Return the coefficients of a step, which do not depend on who asks first."""
        if step not in self.drawn:
            self.drawn[step] = np.random.default_rng(step).standard_normal((n_atoms, _STEP))
        return self.drawn[step]


def _shorten(columns: Floats, draw: Callable[[int, int], Floats]) -> Floats:
    """Return a matrix of fewer rows with the same products of columns, or the matrix itself.

    `draw` returns random coefficients for a number of atoms and a step.
    """
    n_rows, n_atoms = columns.shape
    most = int(_WORTH * n_rows)
    sizes = np.sqrt(np.einsum("ra,ra->a", columns, columns))
    outside = columns / np.where(sizes > 0.0, sizes, 1.0)
    basis, inside = np.empty((n_rows, 0)), list[Floats]()
    while basis.shape[1] + _STEP <= most:
        sketch = outside @ draw(n_atoms, len(inside))
        if inside:  # once leaves roundings of what was there before
            sketch -= basis @ (basis.T @ sketch)
            sketch, _ = np.linalg.qr(sketch)
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
