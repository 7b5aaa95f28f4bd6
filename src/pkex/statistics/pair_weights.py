"""The weights of the pairs of one sample that make MMD and HSIC, as they are and permuted.

Both statistics are ``sum_ij w_ij k(x_i, x_j)`` with symmetric weights that sum to 0. Permuting the
labels of two samples, or the values of a target, permutes the weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.lookup import look_up
from pkex.games.threads import workspace
from pkex.kernels.algebra import Kernel
from pkex.kernels.low_rank import ACCEPTED, root_of

__all__ = ["UNITS", "Factored", "HSICWeights", "MMDWeights", "Shuffled", "Weights"]


_PAIRS = 2**18  # entries of a target's kernel matrix evaluated at once: 2 MiB
_KEPT = 2**24  # and kept, if those of all different targets are no more: 128 MiB
_SETS = 256  # weight sets made at once
_WEIGHTS = 2**21  # and weights of all of these: 16 MiB
UNITS = 1024  # rows, or joined rows, that permutation tests of samples or classes permute at most
_FEWEST_UNITS = 256  # of either sample, where rows are joined
_FEWEST_OF_CLASS = 32  # of every class of a target
_RANK = 64  # of a target's kernel matrix that is taken as one of low rank


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
    def held(self) -> Iterator[None]:
        """Keep in memory for a while what makes weights fast to give."""
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
    width : int
        How many points of a tile suit them.
    """

    width: ClassVar[int] = 512
    layers: tuple[Indices, ...]
    with_self: bool
    total: float

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
    kinds: Indices
    """Which kind every unit has in each set, shape (sets, units)."""
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


def _joined(samples: Sequence[Indices], size: int, generator: np.random.Generator) -> Units:
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

    @lazy
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
        return constant + scale * np.outer(f[rows], f[points])

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
        exact test as well, for less work.
        """
        size = min(-(-self.n_rows // UNITS), min(self.n, self.m) // _FEWEST_UNITS)
        samples = [np.arange(self.n), np.arange(self.n, self.n_rows)]
        units = _joined(samples, max(1, size), generator)
        parts = []
        for sizes in (units.joined, units.singles):
            labels = np.repeat([True, False], sizes)
            table = np.empty((len(labels), n_permutations + 1), dtype=bool)
            table[:, 0] = labels
            for b in range(1, n_permutations + 1):
                table[:, b] = generator.permutation(labels)
            parts.append(table)
        return _ShuffledLabels(
            units.layers, self.with_self, self.total, np.concatenate(parts), self._parts
        )


@dataclass(frozen=True)
class _ShuffledLabels(Shuffled):
    """Weights of MMD: `first` (units, sets) tells which units count as the first sample's."""

    first: NDArray[np.bool_]
    parts: MMDParts

    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return ``sum f_i f_j values_ij`` for each set, and the plain sum."""
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
        kinds = self.first.T.astype(np.intp)
        return Factored(np.array([[f_z], [f_x]]), np.zeros(2), constant, scale, kinds, 0.0)


class Centring(NamedTuple):
    """The weight of a pair is ``scale (l_ik - means_i - means_k + mean)``, means by target."""

    scale: float
    means: Floats
    mean: float
    bound: float
    """Of the sum of absolute weights."""


class HSICWeights(Weights):
    """The weights of HSIC with a target: its kernel matrix, centred.

    They are ``s (l_ij - a_i - a_j + b)``; the biased estimator takes means over all pairs, the
    unbiased one (Song et al. 2012) over pairs of different rows.

    Parameters
    ----------
    y : array of shape (n_rows, target columns)
    kernel : Kernel
    with_self : bool
        Whether a row is paired with itself: the biased estimator.
    """

    def __init__(self, y: Floats, kernel: Kernel, with_self: bool) -> None:
        self.kernel, self.with_self = kernel, with_self
        # Rows with the same target have the same weights, so that few classes make a small matrix.
        found = np.unique(y, axis=0, return_inverse=True, return_counts=True)
        self.targets, self._counts = found[0], found[2].astype(np.float64)
        self._kinds: Indices = found[1].reshape(-1)
        self._matrix: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._kinds)

    @property
    def total(self) -> float:
        """An upper bound of the sum of absolute weights."""
        return self._centring.bound

    @lazy
    def _centring(self) -> Centring:
        """Return s, a and b, and the bound of the absolute weights; a for each target."""
        n, counts = self.n_rows, self._counts
        row_sums, sizes = np.empty((2, len(counts)))
        for some in self._blocks():
            part = self.kernel(self.targets[some], self.targets)
            row_sums[some], sizes[some] = part @ counts, np.abs(part) @ counts
            if not self.with_self:
                row_sums[some] -= part[np.arange(len(part)), np.arange(some.start, some.stop)]
        total = float(counts @ row_sums)
        if self.with_self:
            scale, a, b = 1.0 / (n - 1) ** 2, row_sums / n, total / n**2
        else:
            scale = 1.0 / (n * (n - 3))
            a, b = row_sums / (n - 2), total / ((n - 1) * (n - 2))
        size = counts @ sizes + 2.0 * n * (counts @ np.abs(a)) + n * n * abs(b)
        return Centring(scale, a, b, float(scale * size))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all weights in memory for a while, unless they are too many."""
        count = len(self.targets)
        if count * count <= _KEPT:
            matrix, every = np.empty((count, count)), np.arange(count)
            for some in self._blocks():
                self._evaluate(every[some], every, matrix[some])
            self._matrix = matrix
        try:
            yield
        finally:
            self._matrix = None

    def _blocks(self) -> Iterator[slice]:
        """Cut the targets so that a block of them with all targets stays below the budget."""
        count = len(self.targets)
        step = max(1, _PAIRS // count)
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def _evaluate(self, left: Indices, right: Indices, out: Floats) -> None:
        """Write the weights of some pairs of targets to `out`."""
        scale, a, b, _ = self._centring
        out[...] = self.kernel(self.targets[left], self.targets[right])
        out -= a[left, None]
        out -= a[right]
        out += b
        out *= scale

    def at(self, left: Indices, right: Indices, out: Floats) -> None:
        """Write the weights of pairs of targets, by their numbers, to `out`."""
        if self._matrix is None:
            self._evaluate(left, right, out)
            return
        for target, weights in zip(left.tolist(), out, strict=True):
            self._matrix[target].take(right, out=weights, mode="clip")

    def of_sets(self, left: Indices, right: Indices, out: Floats) -> None:
        """Write weights of many sets, whose targets are (sets, rows) and (sets, points), to `out`.

        The last has the shape (sets, rows, points).
        """
        if self._matrix is not None:
            look_up(self._matrix, left, right, out)
            return
        for weights, targets, others in zip(out, left, right, strict=True):
            self._evaluate(targets, others, weights)

    def block(self, rows: slice, points: slice) -> Floats:
        """Return the weights of some pairs."""
        left, right = self._kinds[rows], self._kinds[points]
        part = np.empty((len(left), len(right)))
        self.at(left, right, part)
        return part

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Indices, Weights]:
        """Return some of the rows."""
        rows = generator.choice(self.n_rows, min(count, self.n_rows), replace=False)
        y = self.targets[self._kinds[rows]]
        return rows, HSICWeights(y, self.kernel, self.with_self)

    @lazy
    def root(self) -> Floats | None:
        """U with ``l = U U'`` over the targets, where its rank is low."""
        if self.kernel.normal_form(self.targets.shape[1]).powers:
            return None
        return root_of(self.kernel.terms(self.targets.shape[1]), self.targets, _RANK)

    def factored(self, targets: Indices) -> Factored | None:
        """Return the weights of sets of targets (sets, rows) from a kernel matrix of low rank.

        With ``l = U U'`` and m the mean of U over the rows, ``l_ij = (U_i - m) (U_j - m)' +
        U_i m' + U_j m' - m m'``. What is not the first product nearly cancels with the means.
        """
        if self.root is None:
            return None
        scale, a, b, _ = self._centring
        mean = self._counts @ self.root / self.n_rows
        linear = self.root @ mean - a
        constant = scale * (b - float(mean @ mean))
        size = float((self.root[0] ** 2).sum())  # its diagonal, which is the same for all
        error = ACCEPTED * scale * size
        return Factored(self.root - mean, linear, constant, scale, targets, error)

    def shuffled(self, n_permutations: int, generator: np.random.Generator) -> Shuffled:
        """Return the weights for permuted targets, the given ones first.

        Where there are few classes in many rows, rows of one class are joined as those of one
        sample are in MMD: a tile then holds the sums over the pairs of two units.
        """
        size = min(-(-self.n_rows // UNITS), int(self._counts.min()) // _FEWEST_OF_CLASS)
        if size <= 1:
            layers: tuple[Indices, ...] = (np.arange(self.n_rows),)
            strata = [self._kinds]
        else:
            every = range(len(self.targets))
            classes = [np.flatnonzero(self._kinds == kind) for kind in every]
            units = _joined(classes, size, generator)
            layers = units.layers
            strata = [np.repeat(np.arange(len(every)), n) for n in (units.joined, units.singles)]
        targets = np.empty((n_permutations + 1, len(layers[0])), dtype=np.intp)
        targets[0] = np.concatenate(strata)
        for b in range(1, n_permutations + 1):
            targets[b] = np.concatenate([generator.permutation(kinds) for kinds in strata])
        return _ShuffledTargets(layers, self.with_self, self.total, self, targets)


@dataclass(frozen=True)
class _ShuffledTargets(Shuffled):
    """Weights of HSIC: `targets` (sets, rows) says which target each row has."""

    width: ClassVar[int] = 2048  # long rows to look weights up in
    weights: HSICWeights
    targets: Indices

    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return the weighted sums for each set."""
        n_values, n_rows, n_points = values.shape
        flat = values.reshape(n_values, -1)
        sums = np.empty((n_values, len(self.targets)))
        step = max(1, min(_SETS, _WEIGHTS // flat.shape[1]))
        for start in range(0, len(self.targets), step):
            some = self.targets[start : start + step]
            sets = workspace("weights", len(some), n_rows, n_points)
            self.weights.of_sets(some[:, rows], some[:, points], sets)
            sums[:, start : start + step] = flat @ sets.reshape(len(some), -1).T
        return sums

    @property
    def factored(self) -> Factored | None:
        """The weights by target."""
        return self.weights.factored(self.targets)
