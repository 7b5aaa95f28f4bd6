"""The joint statistics of the family test: all columns together, under several kernels.

A kernel sees some changes better than others. An RBF of the median width sees changes of means, and
hardly notices 5 % of the cells in a wrong unit; a distance notices those. So the verdict asks
several kernels, which cost little beside the values of games:

- ``rbf``: the mean of RBFs of 1/2, 1, 2 and 4 times the widths of the median heuristic. With
  ``E = -log k`` of the heuristic's kernel that is the mean of ``exp(-E / w^2)``;
- ``laplacian``: ``exp(-sum_j |x_j - z_j| / (l_j sqrt(d)))``, the same widths l;
- ``energy``: minus the Euclidean distance of rows whose columns are divided by their interquartile
  range, or by their standard deviation where that is 0; two different categories are as far apart
  as one-hot columns, sqrt(2). Its statistic is the energy distance.

Different categories add to the exponents of the first two as in the heuristic's kernel. A kernel
that the user gave is the only one, ``kernel``.

All parameters come from the rows of both samples together, so they do not depend on labels, and the
test is exact (`pkex._util.p_values.family_test`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.distances import measure_distances
from pkex.games.protocols import Added
from pkex.games.threads import workspace
from pkex.kernels import Kernel
from pkex.kernels.heuristic import Heuristic

__all__ = ["GivenKernel", "JointFiller", "Members", "SeveralKernels"]


_PAIRS = 2**17  # of a tile
_DIFFERENT = 2.0  # the squared distance of two one-hot rows
_WIDEST = 16.0  # (4 widths)^2


class Members(Protocol):
    """Kernels of all columns together."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""

    def add(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add them for all pairs of rows of `x` and `z` to `values` (members, rows, points)."""


@dataclass(frozen=True, eq=False)
class GivenKernel:
    """The kernel that the user gave."""

    kernel: Kernel
    names: tuple[str, ...] = ("kernel",)

    def add(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add the kernel."""
        values[0] += self.kernel(x, z)


@dataclass(frozen=True, eq=False)
class SeveralKernels:
    """The kernels of the median heuristic; see the head of this file.

    Attributes
    ----------
    numeric : sequence of int
        The columns of numbers.
    widths : array of shape (numeric columns,)
    scales : array of shape (numeric columns,)
        Interquartile ranges.
    categorical : sequence of int
        The columns of categories.
    exponents : array of shape (categorical columns,)
        What two different categories add to ``-log k``.
    names : tuple of str
        Of the three kernels.
    """

    numeric: list[int]
    widths: Floats
    scales: Floats
    categorical: list[int]
    exponents: Floats
    names: tuple[str, ...] = ("rbf", "laplacian", "energy")

    @classmethod
    def of(cls, heuristic: Heuristic, observed: NDArray[np.bool_] | None) -> SeveralKernels:
        """Return the kernels for the table of a heuristic."""
        widths, flags = heuristic.widths, np.array(heuristic.categorical)
        numeric, categorical = np.flatnonzero(~flags).tolist(), np.flatnonzero(flags).tolist()
        scales = _spreads(heuristic.numbers[:, numeric])
        for place, column in enumerate(numeric):
            if observed is not None and not observed[:, column].all():
                scales[place] = _spreads(heuristic.numbers[observed[:, column], column, None])[0]
        exponents = -np.log(widths[categorical])
        return cls(numeric, widths[numeric], scales, categorical, exponents)

    def add(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add the three kernels."""
        count = len(self.numeric) + len(self.categorical)
        memory = workspace("members", 4, len(x), len(z))
        squares, sums, distances, quarter = memory
        if self.numeric:
            left, right = (t[:, self.numeric] if self.categorical else t for t in (x, z))
            scales = np.stack([self.widths, np.sqrt(count) * self.widths, self.scales])
            measure_distances(left, right, scales, out=memory[:3])
            squares *= 0.5
        else:
            memory[...] = 0.0
        for column, exponent in zip(self.categorical, self.exponents, strict=True):
            differ = x[:, column][:, None] != z[:, column]
            squares += exponent * differ
            sums += exponent * differ
            distances += _DIFFERENT * differ
        squares /= -_WIDEST
        power = np.exp(squares, out=squares)
        for width in range(4):  # from the widest to the narrowest, a fourth power each
            values[0] += np.multiply(power, 0.25, out=quarter)
            if width < 3:
                power *= power
                power *= power
        values[1] += np.exp(np.negative(sums, out=sums), out=sums)
        values[2] -= np.sqrt(distances, out=distances)


def _spreads(cells: Floats) -> Floats:
    """Return the interquartile range of each column, or its standard deviation, or 1."""
    if not cells.size:
        return np.ones(cells.shape[1])
    low, high = np.quantile(cells, [0.25, 0.75], axis=0)
    spreads = high - low
    same = spreads == 0.0
    spreads[same] = cells[:, same].std(axis=0)
    result: Floats = np.where((spreads > 0.0) & (spreads < np.inf), spreads, 1.0)
    return result


@dataclass(frozen=True, eq=False)
class JointFiller:
    """Fills the tiles of `ByPermutation` with the kernels of the members."""

    members: Members
    x: Floats
    z: Floats

    @property
    def n_values(self) -> int:
        """One for each member."""
        return len(self.members.names)

    @property
    def pairs(self) -> int:
        """Pairs of a tile that suit it."""
        return _PAIRS

    def between(self, x: Floats, z: Floats) -> JointFiller:
        """Return the kernels between other rows and points."""
        return JointFiller(self.members, x, z)

    def add_values(self, rows: slice, points: slice, values: Floats) -> Added:
        """Add the kernels of the pairs to `values`."""
        self.members.add(self.x[rows], self.z[points], values)
        return Added((), 0.0)
