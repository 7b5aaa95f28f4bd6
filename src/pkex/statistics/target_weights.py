"""The weights of the pairs of one sample that make HSIC: a target's kernel matrix, centred."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices, Places
from pkex.games.lookup import contract_looked_up, contract_sets
from pkex.games.threads import cluster_width, run_in_order
from pkex.kernels.algebra import Kernel
from pkex.kernels.low_rank import ACCEPTED, find_root
from pkex.statistics.pair_weights import Factored, Shuffled, Weights, join_rows, unit_size

__all__ = ["HSICWeights"]


_PAIRS = 2**18  # entries of a target's kernel matrix evaluated at once: 2 MiB
_KEPT = 2**24  # and kept, if those of all different targets are no more: 128 MiB
_FEWEST_OF_CLASS = 32  # units of every class of a target
_RANK = 64  # of a target's kernel matrix that is taken as one of low rank


class Centring(NamedTuple):
    """The weight of a pair is ``scale (l_ik - means_i - means_k + mean)``, means by target."""

    scale: float
    means: Floats
    mean: float
    bound: float
    """Of the sum of absolute weights."""


class _Strip(NamedTuple):
    """The kernel of some targets with all, and sums over its rows."""

    entries: Floats
    sums: Floats
    """Of the entries, without those of a row and itself where these are no pair, and of sizes."""


def _subtract_means(
    entries: Floats, scale: float, left: Floats, right: Floats, mean: float, out: Floats
) -> None:
    """Write the weights for entries of a kernel matrix to `out`: see `Centring`."""
    np.subtract(entries, left[:, None], out=out)
    out -= right
    out += mean
    out *= scale


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
        targets, kinds, counts = np.unique(y, axis=0, return_inverse=True, return_counts=True)
        self.targets, self._counts = targets, counts.astype(np.float64)
        self._kinds: Indices = kinds.reshape(-1)
        self._is_held = False

    def __getstate__(self) -> dict[str, object]:
        """Return what a worker needs: it makes the matrix sooner than that is sent."""
        return {name: value for name, value in self.__dict__.items() if name != "_matrix"}

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
        return self._centre([self._evaluate_strip(some).sums for some in self._strips()])

    def _centre(self, sums: Sequence[Floats]) -> Centring:
        """Return the centring for what strips of the targets have summed up."""
        n, counts = self.n_rows, self._counts
        row_sums, sizes = np.concatenate(sums, axis=1)
        total = float(counts @ row_sums)
        if self.with_self:
            scale, a, b = 1.0 / (n - 1) ** 2, row_sums / n, total / n**2
        else:
            scale = 1.0 / (n * (n - 3))
            a, b = row_sums / (n - 2), total / ((n - 1) * (n - 2))
        size = counts @ sizes + 2.0 * n * (counts @ np.abs(a)) + n * n * abs(b)
        return Centring(scale, a, b, float(scale * size))

    @contextmanager
    def held(self, n_jobs: int | None = 1) -> Iterator[None]:
        """Keep all weights in memory for a while, unless they are too many."""
        count = len(self.targets)
        is_short = count * count <= _KEPT
        if is_short and not cluster_width(n_jobs):
            matrix = np.empty((count, count))
            sums = list(run_in_order(partial(self._write_strip, matrix), self._strips(), n_jobs))
            # as attributes they are found in place of the lazy ones
            self.__dict__.setdefault("_centring", self._centre(sums))
            list(run_in_order(partial(self._centre_strip, matrix), self._strips(), n_jobs))
            self.__dict__["_matrix"] = matrix
        self._is_held = is_short
        try:
            yield
        finally:
            self._is_held = False
            self.__dict__.pop("_matrix", None)

    @lazy
    def _matrix(self) -> Floats:
        """All weights, by target, while they are held; on a cluster each worker makes them."""
        matrix = np.empty((len(self.targets), len(self.targets)))
        for some in self._strips():
            self._evaluate(some, slice(None), matrix[some])
        return matrix

    def _strips(self) -> list[slice]:
        """Cut the targets so that a strip of them with all targets stays below the budget."""
        count = len(self.targets)
        step = max(1, _PAIRS // count)
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]

    def _evaluate_strip(self, some: slice) -> _Strip:
        """Return the kernel of some targets with all."""
        entries = self.kernel(self.targets[some], self.targets)
        sums = np.stack([entries @ self._counts, np.abs(entries) @ self._counts])
        if not self.with_self:
            sums[0] -= entries[np.arange(len(entries)), np.arange(some.start, some.stop)]
        return _Strip(entries, sums)

    def _write_strip(self, matrix: Floats, some: slice) -> Floats:
        """Write the kernel of some targets with all to their rows of a matrix; return its sums."""
        matrix[some], sums = self._evaluate_strip(some)
        return sums

    def _centre_strip(self, matrix: Floats, some: slice) -> None:
        """Make weights of the kernel of some targets with all, in their rows of a matrix."""
        scale, a, b, _ = self._centring
        _subtract_means(matrix[some], scale, a[some], a, b, matrix[some])

    def _evaluate(self, left: Indices | slice, right: Indices | slice, out: Floats) -> None:
        """Write the weights of some pairs of targets to `out`."""
        scale, a, b, _ = self._centring
        out[...] = self.kernel(self.targets[left], self.targets[right])
        _subtract_means(out, scale, a[left], a[right], b, out)

    def at(self, left: Indices, right: Indices, out: Floats) -> None:
        """Write the weights of pairs of targets, by their numbers, to `out`."""
        if not self._is_held:
            self._evaluate(left, right, out)
            return
        for target, weights in zip(left.tolist(), out, strict=True):
            self._matrix[target].take(right, out=weights, mode="clip")

    def contract(self, values: Floats, targets: Places, rows: slice, points: slice) -> Floats:
        """Return weighted sums of `values` (values, rows, points), a column for each set.

        `targets` (sets, all rows) says which target a row has in a set.
        """
        left, right = targets[:, rows], targets[:, points]
        if self._is_held:
            return contract_looked_up(self._matrix, left, right, values)

        def evaluate(sets: slice, out: Floats) -> None:
            for weights, some, others in zip(out, left[sets], right[sets], strict=True):
                self._evaluate(some, others, weights)

        return contract_sets(values, len(targets), evaluate)

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
        return find_root(self.kernel.terms(self.targets.shape[1]), self.targets, _RANK)

    def factored(self, targets: Places) -> Factored | None:
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
        size = unit_size(self.n_rows, int(self._counts.min()), _FEWEST_OF_CLASS)
        if size == 1:
            layers: tuple[Indices, ...] = (np.arange(self.n_rows),)
            strata = [self._kinds]
        else:
            every = range(len(self.targets))
            classes = [np.flatnonzero(self._kinds == kind) for kind in every]
            units = join_rows(classes, size, generator)
            layers = units.layers
            strata = [np.repeat(np.arange(len(every)), n) for n in (units.joined, units.singles)]
        targets: Places = np.empty((n_permutations + 1, len(layers[0])), dtype=np.int32)
        targets[0] = np.concatenate(strata)
        for b in range(1, n_permutations + 1):
            targets[b] = np.concatenate([generator.permutation(kinds) for kinds in strata])
        n_sets = n_permutations + 1
        return _ShuffledTargets(layers, self.with_self, self.total, n_sets, self, targets)


@dataclass(frozen=True)
class _ShuffledTargets(Shuffled):
    """Weights of HSIC: `targets` (sets, rows) says which target each row has."""

    width: ClassVar[int] = 2048  # long rows to look weights up in
    weights: HSICWeights
    targets: Places  # short numbers, which are read as often as the weights

    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return the weighted sums for each set."""
        return self.weights.contract(values, self.targets, rows, points)

    @property
    def factored(self) -> Factored | None:
        """The weights by target."""
        return self.weights.factored(self.targets)
