"""The weights of the pairs of one sample, as they are and permuted; those of MMD.

MMD and HSIC are ``sum_ij w_ij k(x_i, x_j)`` with symmetric weights that sum to 0. Permuting the
labels of two samples, or the values of a target, permutes the weights. `target_weights` has those
of HSIC.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices, Places
from pkex.games.threads import workspace

__all__ = [
    "UNITS",
    "Factored",
    "MMDWeights",
    "Shuffled",
    "Units",
    "Weights",
    "join_rows",
    "unit_size",
]


_SETS = 256  # weight sets made at once
UNITS = 1024  # rows, or joined rows, that permutation tests of samples or classes permute at most
_FEWEST_UNITS = 256  # of either sample, where rows are joined


class Weights(ABC):
    """Symmetric weights of the pairs of some rows, and what they become under permutations.

    Attributes
    ----------
    with_self : bool
        Whether a row is paired with itself.
    """

    with_self: bool

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def total(self) -> float:
        """An upper bound of the sum of absolute weights."""

    @abstractmethod
    def block(self, rows: slice, points: slice) -> Floats:
        """Return the weights of some pairs."""

    @abstractmethod
    def shuffled(self, n_permutations: int, generator: np.random.Generator) -> Shuffled:
        """Return the weights and those of `n_permutations` random permutations."""

    @abstractmethod
    def sample(self, count: int, generator: np.random.Generator) -> tuple[Indices, Weights]:
        """Return about `count` of the rows at random, with the weights of their own statistic."""

    @contextmanager
    def held(self, n_jobs: int | None = 1) -> Iterator[None]:  # noqa: ARG002
        """Keep in memory for a while what makes weights fast to give, computed on threads."""
        yield


@dataclass(frozen=True)
class Shuffled(ABC):
    """Many sets of weights, for tiles of pairs.

    Attributes
    ----------
    layers : tuple of integer arrays
        The rows in the order of the tiles. Entry k of all layers is one *unit*, rows that are
        permuted together; a tile has the sums over the pairs of two units. Later layers may end
        before the first does.
    with_self, total
        As in `Weights`.
    n_sets : int
    n_fixed : int
        How many of the last units no permutation moves; they are of one kind.
    width : int
        How many points of a tile suit them.
    """

    width: ClassVar[int] = 512
    layers: tuple[Indices, ...]
    with_self: bool
    total: float
    n_sets: int
    n_fixed: int = field(default=0, kw_only=True)

    @abstractmethod
    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return sums of `values` (numbers, rows, points) over the pairs, for `finish`."""

    def finish(self, sums: Floats) -> Floats:
        """Turn the sums of all tiles into those of the statistic, one column per set."""
        return sums

    @property
    @abstractmethod
    def factored(self) -> Factored | None:
        """The weights as numbers of kinds, where few are enough."""


class Factored(NamedTuple):
    """Units of the kinds s and t have ``scale (sum_r f_sr f_tr + g_s + g_t) + constant``."""

    table: Floats
    """f, of shape (kinds, rank)."""
    linear: Floats
    """g, of shape (kinds,)."""
    constant: float
    scale: float
    kinds: Places
    """Which kind every unit has in each set, shape (sets, units); all fixed ones are the last."""
    error: float
    """How far a weight may be off."""


class Units(NamedTuple):
    """Rows of one sample, or one class, joined into units: see `Shuffled.layers`.

    First come the units of several rows, sample by sample, then those of a single row.
    """

    layers: tuple[Indices, ...]
    joined: list[int]
    """How many units of several rows each sample has."""
    singles: list[int]


def unit_size(n_rows: int, smallest: int, fewest: int) -> int:
    """Return how many rows make a unit where the smallest sample keeps at least `fewest` units."""
    return max(1, min(-(-n_rows // UNITS), smallest // fewest))


def join_rows(samples: Sequence[Indices], size: int, generator: np.random.Generator) -> Units:
    """Join the rows of each sample at random into units of `size` rows; some are left over."""
    if size > 1:
        samples = [generator.permutation(sample) for sample in samples]
    counts = [len(sample) // size for sample in samples]
    layers = [
        np.concatenate([s[k * u : (k + 1) * u] for s, u in zip(samples, counts, strict=True)])
        for k in range(size)
    ]
    singles = [s[size * u :] for s, u in zip(samples, counts, strict=True)]
    layers[0] = np.concatenate([layers[0], *singles])
    return Units(tuple(layers), counts, [len(rows) for rows in singles])


class MMDParts(NamedTuple):
    """A pair's weight is ``constant + scale f_i f_k``; f is `first` or `second`, by its sample."""

    constant: float
    scale: float
    first: float
    second: float


@dataclass(frozen=True)
class MMDWeights(Weights):
    """The weights of MMD^2 between the first `n` and the last `m` rows.

    A pair has the weight ``c + s f_i f_j``, with f one of two numbers for the rows of each sample,
    so that permuted labels permute f and a test needs products ``f' V f`` only. Biased, ``f = 1/n``
    and ``-1/m`` do, with ``c = 0`` and ``s = 1``. Unbiased, the weights ``a = 1 / (n (n - 1))`` and
    ``b = 1 / (m (m - 1))`` within the samples and ``e = -1 / (n m)`` between them are no product;
    with ``s = a + b - 2 e``, ``f = (a - e) / s`` and ``(e - b) / s`` differ by 1, and then
    ``c = (a b - e^2) / s`` makes all three right:
    ``a - s f_x^2 = e - s f_x f_z = b - s f_z^2 = c``.
    """

    n: int
    m: int
    with_self: bool

    @property
    def total(self) -> float:
        """The sum of absolute weights, or a little more."""
        return 4.0

    @property
    def n_rows(self) -> int:
        """Number of rows of both samples."""
        return self.n + self.m

    @property
    def _parts(self) -> MMDParts:
        """Return c, s and f of the rows of either sample; the formulas are derived above."""
        n, m = self.n, self.m
        if self.with_self:
            return MMDParts(0.0, 1.0, 1.0 / n, -1.0 / m)
        xx, zz, xz = 1.0 / (n * (n - 1)), 1.0 / (m * (m - 1)), -1.0 / (n * m)
        scale = xx + zz - 2.0 * xz
        constant = (xx * zz - xz * xz) / scale
        return MMDParts(constant, scale, (xx - xz) / scale, (xz - zz) / scale)

    def block(self, rows: slice, points: slice) -> Floats:
        """Return the weights of some pairs."""
        constant, scale, f_x, f_z = self._parts
        f = np.repeat([f_x, f_z], [self.n, self.m])
        weights: Floats = np.outer(f[rows], f[points])
        weights *= scale  # in place, as memory is slow to touch
        weights += constant
        return weights

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Indices, Weights]:
        """Return some of the rows, as many of each sample as its size asks for."""
        kept = [min(size, max(2, round(count * size / self.n_rows))) for size in (self.n, self.m)]
        x = generator.choice(self.n, kept[0], replace=False)
        z = self.n + generator.choice(self.m, kept[1], replace=False)
        return np.concatenate([x, z]), MMDWeights(kept[0], kept[1], self.with_self)

    def shuffled(self, n_permutations: int, generator: np.random.Generator) -> Shuffled:
        """Return the weights for permuted labels, the given ones first.

        In large samples rows are joined at random into units of a few rows of one sample, and the
        labels of units are permuted: a subgroup of the permutations of the rows, which gives an
        exact test as well, for less work. Of a sample that is much larger than the other one, only
        some units, drawn at random, take part, and the others keep their label: a subgroup again.
        The statistic is that of all rows.
        """
        size = unit_size(self.n_rows, min(self.n, self.m), _FEWEST_UNITS)
        samples = [np.arange(self.n), np.arange(self.n, self.n_rows)]
        larger = int(self.m > self.n)
        few = len(samples[1 - larger]) // size
        kept = size * max(UNITS - few, few)
        fixed = np.arange(0)
        if len(samples[larger]) >= kept + size:
            order = generator.permutation(samples[larger])
            samples[larger], fixed = np.sort(order[:kept]), np.sort(order[kept:])
        units = join_rows(samples, size, generator)
        layers = (np.concatenate([units.layers[0], fixed]), *units.layers[1:])
        parts = []
        for sizes in (units.joined, units.singles):
            labels = np.repeat([True, False], sizes)
            table = np.empty((len(labels), n_permutations + 1), dtype=bool)
            table[:, 0] = labels
            for b in range(1, n_permutations + 1):
                table[:, b] = generator.permutation(labels)
            parts.append(table)
        n_sets = n_permutations + 1
        if len(fixed):
            parts.append(np.full((1, n_sets), larger == 0))
        first = np.concatenate(parts)
        return _ShuffledLabels(
            *(layers, self.with_self, self.total, n_sets, first, self._parts),
            n_fixed=len(fixed),
        )


@dataclass(frozen=True)
class _ShuffledLabels(Shuffled):
    """Weights of MMD: `first` (units, sets) tells which units count as the first sample's.

    Its last row is for all fixed units together.
    """

    first: NDArray[np.bool_]
    parts: MMDParts

    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return ``sum f_i f_j values_ij`` for each set, and the plain sum."""
        n_free = len(self.layers[0]) - self.n_fixed
        if points.start >= n_free:  # of one kind, so that their sum is enough
            values, points = values.sum(axis=2, keepdims=True), slice(n_free, n_free + 1)
        if rows.start >= n_free:
            values, rows = values.sum(axis=1, keepdims=True), slice(n_free, n_free + 1)
        n_values, n_rows, n_points = values.shape
        flat = values.reshape(-1, n_points)
        f_x, f_z = self.parts[2:]
        n_sets = self.first.shape[1]
        sums = np.empty((n_values, n_sets + 1))
        for start in range(0, n_sets, _SETS):
            sets = slice(start, min(start + _SETS, n_sets))
            right = np.where(self.first[points, sets], f_x, f_z)
            left = np.where(self.first[rows, sets], f_x, f_z)
            half = workspace("contracted", len(flat), right.shape[1])
            np.matmul(flat, right, out=half)
            np.einsum("jib,ib->jb", half.reshape(n_values, n_rows, -1), left, out=sums[:, sets])
        sums[:, -1] = values.reshape(n_values, -1).sum(axis=1)
        return sums

    def finish(self, sums: Floats) -> Floats:
        """Return ``c sum values_ij + s sum f_i f_j values_ij``."""
        constant, scale, _, _ = self.parts
        finished: Floats = constant * sums[:, -1:] + scale * sums[:, :-1]
        return finished

    @property
    def factored(self) -> Factored:
        """The weights as they are: the kinds are the samples."""
        constant, scale, f_x, f_z = self.parts
        kinds = self.first.T.astype(np.int32)
        return Factored(np.array([[f_z], [f_x]]), np.zeros(2), constant, scale, kinds, 0.0)
