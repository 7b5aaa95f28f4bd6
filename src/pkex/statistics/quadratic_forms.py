"""Quadratic forms whose matrix is permuted, for tests of single columns: see `column_test`.

A kernel matrix of one column that is smooth has low rank, ``K = L L'``, found by a pivoted Cholesky
factorisation. Then the form is ``sum (W L_pi) L_pi``, matrix products for many permutations at
once. Other kernels are looked up entry by entry.

The means of the columns of L are taken out, ``L = 1 m' + C``, as a permutation only moves what they
add: ``m'm sum W + 2 (W 1)' C_pi m``. The principal columns of C have nearly all of the form. What
the later ones add is at most ``|W| |E|``, Frobenius norms, with ``E`` their part of ``C C'``,
whatever the permutation.

Numbers of single precision halve the time, with an error that is known beforehand. Each is off by
``u = 2^-24`` of itself, a sum of n products by ``n u`` of the sum of their sizes, in any order; and
``sum |W_il| |c_i| |c_l|`` is at most the largest row sum of ``|W|`` times ``|c|^2``, again whatever
the permutation.

Most permutations do not come near the observed value. So the form is first computed roughly, from
the first columns of a factor of the kernel matrix and in single precision, with a proven bound of
what is missing; where that leaves open whether a permutation reaches the
observed value, it is computed in full.

Permutations stop once enough of them reach the observed value (Besag and Clifford 1991): with h of
the first L, the p-value is ``h / L``, and the test is still exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.forms import DEPTH, Singles, add_form
from pkex.games.threads import raise_if_cancelled
from pkex.kernels.low_rank import pivoted_cholesky

__all__ = ["LOW", "RANK", "STRIP", "HalfMatrix", "QuadraticForm", "p_value"]


STRIP = 128
"""Rows of a strip."""
RANK = 24
"""Of a kernel matrix, above which looking up entries is faster."""
LOW = 1e-9
"""Error of a factorisation of low rank, relative to the largest entry."""
_EQUAL = 2.0**-43  # rounding of a long sum, relative to the sum of its absolute terms
_ENTRIES = 2**17  # entries of a kernel matrix looked up at once: 1 MiB
_MANY = 512  # rows from which on single precision pays
_UNIT = 2.0**-24  # half of the last digit of a number of single precision
_TINY = 2.0**-140  # below the smallest of them
_EXPONENTS = 900  # of weights and roots that can be scaled to 1
_ENOUGH = 20  # permutations that reach the observed value, after which there is no need for more
_BATCH = 16  # permutations drawn together
_LATER = 64  # and evaluated together, after the first ones
_BATCHES = 8  # or so many times as many as are drawn together,
_FEW = 2**13  # where permutations of all have no more entries
_OPEN = 0.2  # what a rough value may leave open, in standard deviations,
_NEAR = 6.0  # or more where the observed value is further from the mean than so many


@dataclass(frozen=True, eq=False)
class HalfMatrix:
    """The half of a symmetric matrix above its diagonal, in strips of rows.

    Attributes
    ----------
    strips : sequence of arrays of shape (some rows, all rows from the first of these on)
        The entries between the rows of one strip stand there twice, so they are halved: the sum
        of all entries of the matrix is twice that of the strips.
    """

    strips: Sequence[Floats]

    @classmethod
    def of(cls, matrix: Floats) -> HalfMatrix:
        """Return the half of a matrix."""
        strips = []
        for start in range(0, len(matrix), STRIP):
            strip = matrix[start : start + STRIP, start:].copy()
            strip[:, : len(strip)] *= 0.5
            strips.append(strip)
        return cls(strips)

    def __len__(self) -> int:
        return int(self.strips[0].shape[1])

    def rows(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the strips, with their rows."""
        start = 0
        for strip in self.strips:
            yield slice(start, start + len(strip)), strip
            start += len(strip)

    def sum(self) -> float:
        """Return the sum of all entries of the matrix."""
        return 2.0 * float(sum(strip.sum() for strip in self.strips))

    def size(self) -> float:
        """Return the sum of the absolute entries."""
        return 2.0 * float(sum(np.abs(strip).sum() for strip in self.strips))

    def row_sums(self) -> Floats:
        """Return the sum of every row of the matrix."""
        sums = np.zeros(len(self))
        for rows, strip in self.rows():
            sums[rows] += strip.sum(axis=1)
            sums[rows.start :] += strip.sum(axis=0)
        return sums

    def largest(self) -> float:
        """Return the largest absolute entry of the strips."""
        return max(float(max(strip.max(), -strip.min())) for strip in self.strips)

    def norm(self) -> float:
        """Return Frobenius' norm."""
        largest, squares = self.largest() or 1.0, 0.0
        for strip in self.strips:
            scaled = strip / largest  # squares of tiny numbers are 0
            inside = scaled[:, : len(strip)]
            squares += 2.0 * float(np.vdot(scaled, scaled)) + 2.0 * float(np.vdot(inside, inside))
        return largest * float(np.sqrt(squares))


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """``sum_il W_il K_il``, and what it is when the rows and columns of K are permuted.

    Attributes
    ----------
    weights : HalfMatrix
    kernel : array of shape (rows, rows) or None
        Symmetric, like the weights; None where there is a root.
    root : array of shape (rows, rank) or None
        Where K has a factor of low rank: its columns without their means, the principal ones.
    error : float
        How far a value may be from the exact one, or from an equal one.
    means : array of shape (2, rows), or None
        With a root ``W 1`` and ``2 C m``, whose product the means of the columns add,
    constant : float
        and ``m'm sum W``, which no permutation changes.
    """

    weights: HalfMatrix
    kernel: Floats | None
    root: Floats | None
    error: float
    means: Floats | None = None
    constant: float = 0.0

    @classmethod
    def of_root(cls, weights: HalfMatrix, root: Floats, largest: float) -> QuadraticForm:
        """Return the form of a kernel matrix with a factor of low rank."""
        mean = root.mean(axis=0)
        centred = root - mean
        left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
        means = np.stack([weights.row_sums(), 2.0 * centred @ mean])
        error = weights.size() * (LOW + _EQUAL) * largest
        constant = float(mean @ mean) * weights.sum()
        return cls(weights, None, left * sizes, error, means, constant)

    @classmethod
    def of(cls, weights: HalfMatrix, kernel: Floats) -> QuadraticForm:
        """Return the form; a factor of low rank is looked for."""
        largest = float(np.abs(kernel).max(initial=0.0))
        root = _root(kernel, LOW * largest)
        if root is not None:
            return cls.of_root(weights, root, largest)
        return cls(weights, kernel, None, weights.size() * _EQUAL * largest)

    def values(self, orders: Indices, columns: slice = slice(None)) -> Floats:
        """Return the form for each of the permutations `orders` (permutations, rows).

        With `columns` the part of some columns of the root; the first ones come with the means.
        """
        if self.kernel is not None:
            return np.array([self._looked_up(self.kernel, order) for order in orders])
        assert self.root is not None
        assert self.means is not None
        root = np.ascontiguousarray(self.root[:, columns])
        n_rows, rank = root.shape
        # (rows, permutations x rank)
        moved = root.take(orders.T, axis=0).reshape(n_rows, len(orders) * rank)
        sums = np.zeros(moved.shape[1])
        for rows, strip in self.weights.rows():
            sums += np.einsum("ij,ij->j", strip @ moved[rows.start :], moved[rows])
        values: Floats = 2.0 * sums.reshape(len(orders), rank).sum(axis=1)
        if not columns.start:
            row_sums, linear = self.means
            values += linear[orders] @ row_sums + self.constant
        return values

    def _looked_up(self, kernel: Floats, order: Indices) -> float:
        total = 0.0
        for rows, strip in self.weights.rows():
            total += float(
                np.vdot(strip, np.take(kernel[order[rows]], order[rows.start :], axis=1))
            )
        return 2.0 * total

    def rough_values(self, orders: Indices, count: int | None = None) -> Floats:
        """Return the form from the first `count` columns of its root, or all, in single precision.

        It is off by at most `rough_bounds` has for that count.
        """
        single = self._single
        if single is None:
            return self.values(orders, slice(count))
        assert self.means is not None
        root = np.ascontiguousarray(single.root[:, :count])
        n_rows, rank = root.shape
        moved = root.take(orders.T, axis=0).reshape(n_rows, len(orders) * rank)
        sums = np.zeros(moved.shape[1])
        for (rows, _), strip in zip(self.weights.rows(), single.strips, strict=True):
            add_form(strip, moved[rows.start :], sums)
        values: Floats = 2.0 * single.scale * sums.reshape(len(orders), rank).sum(axis=1)
        row_sums, linear = self.means
        values += linear[orders] @ row_sums + self.constant
        return values

    def rough_bounds(self) -> Floats:
        """Return how far `rough_values` may be off, by how many columns of the root it takes."""
        bounds = self.left_out()
        if self._single is not None:
            bounds += self._single.errors
        return bounds

    @lazy
    def _single(self) -> _Single | None:
        """The weights and the root in single precision, where there is a root of many rows."""
        if self.root is None or len(self.root) < _MANY or not self.root.size:
            return None
        return _Single.of(self.weights, self.root)

    def left_out(self) -> Floats:
        """Return what the columns of the root from each on, or none, add to any form at most."""
        if self.root is None:
            return np.zeros(1)
        largest = float(np.abs(self.root).max(initial=0.0)) or 1.0
        squares = ((self.root / largest) ** 2).sum(axis=0) ** 2
        later = np.append(np.cumsum(squares[::-1])[::-1], 0.0)
        bounds: Floats = self.weights.norm() * largest * np.sqrt(later) * largest
        return bounds


class _Single(NamedTuple):
    """Weights and a root in single precision, scaled so that the largest are about 1."""

    strips: list[Singles]
    root: Singles
    scale: float
    """What products of both have to be multiplied with."""
    errors: Floats
    """How far the form may be off, by how many columns of the root it takes."""

    @classmethod
    def of(cls, weights: HalfMatrix, root: Floats) -> _Single | None:
        """Return both; None where they are too large or small to be scaled."""
        sizes = weights.largest(), float(np.abs(root).max())
        exponents = [int(np.frexp(size)[1]) for size in sizes]
        if max(map(abs, exponents)) > _EXPONENTS:
            return None
        of_weights, of_root = (2.0**-exponent for exponent in exponents)
        strips = [_as_single(strip, of_weights) for strip in weights.strips]
        rounded = _as_single(root, of_root)
        scale = float(np.ldexp(1.0, exponents[0] + 2 * exponents[1]))
        n_rows = len(root)
        row_sums = np.zeros(n_rows)  # of |W|
        for (rows, _), strip in zip(weights.rows(), strips, strict=True):
            absolute = np.abs(strip)
            row_sums[rows] += absolute.sum(axis=1, dtype=np.float64)
            row_sums[rows.start :] += absolute.sum(axis=0, dtype=np.float64)
        squares = np.cumsum(np.append(0.0, (rounded.astype(np.float64) ** 2).sum(axis=0)))
        # the products of a strip, three roundings, and room for those of these bounds
        errors = (DEPTH + 16) * _UNIT * float(row_sums.max()) * squares
        errors += np.arange(len(squares)) * n_rows**2 * _TINY
        return cls(strips, rounded, scale, scale * errors)


def _as_single(values: Floats, scale: float) -> Singles:
    """Return scaled values in single precision."""
    result = np.empty(values.shape, dtype=np.float32)
    np.multiply(values, scale, out=result, casting="same_kind")
    return result


def _root(kernel: Floats, accepted: float) -> Floats | None:
    """Return L with ``|K - L L'| <= accepted`` in every entry, of low rank; None if there is none.

    A kernel of the user's own need not be definite, so every entry is compared.
    """
    n_rows = len(kernel)
    [root] = pivoted_cholesky(kernel.diagonal()[None], kernel.__getitem__, RANK, 0.5 * accepted)
    if root is None:
        return None
    step = max(1, _ENTRIES // n_rows)
    for start in range(0, n_rows, step):
        some = slice(start, start + step)
        if not (np.abs(root[some] @ root.T - kernel[some]) <= accepted).all():
            return None
    return root


def p_value(
    blocks: Sequence[Sequence[QuadraticForm]], n_permutations: int, random: np.random.Generator
) -> float:
    """Return the p-value of the sum of all forms, under permutations within each block."""
    forms = [form for block in blocks for form in block]
    itself = [np.arange(len(form.weights))[None] for form in forms]
    observed = sum(float(form.values(order)[0]) for form, order in zip(forms, itself, strict=True))
    slack = sum(form.error for form in forms)
    counts: list[int | None] = [None] * len(forms)
    bounds = [form.rough_bounds() for form in forms]
    left_out = _left_out(bounds, counts)
    n_rows = max((len(form.weights) for form in forms), default=1)
    at_once = _BATCH * max(1, min(_BATCHES, _FEW // (_BATCH * n_rows)))
    reached, done = 0, 0
    while done < n_permutations:
        if done:
            raise_if_cancelled()
        number = min(at_once, n_permutations - done)
        orders = _draw(blocks, number, random)
        every = list(zip(forms, orders, counts, strict=True))
        null = sum(
            (form.rough_values(order, some) for form, order, some in every), np.zeros(number)
        )
        is_open = np.abs(null - (observed - slack)) <= left_out + slack
        if left_out and is_open.any():
            null[is_open] = sum(
                (form.values(order[is_open]) for form, order, _ in every), np.zeros(is_open.sum())
            )
        for exceeds in (null >= observed - slack).tolist():
            done += 1
            reached += int(exceeds)
            if reached == _ENOUGH:
                return reached / done
        if done == number and forms:  # after the first ones
            size = float(np.abs(null).max()) or 1.0  # its square may be infinite, or 0
            deviation = size * float((null / size).std())
            counts = _choose_counts(forms, observed - slack - float(null.mean()), deviation)
            left_out = _left_out(bounds, counts)
            at_once = max(at_once, _LATER)
    return (reached + 1.0) / (n_permutations + 1.0)


def _draw(
    blocks: Sequence[Sequence[QuadraticForm]], count: int, random: np.random.Generator
) -> list[Indices]:
    """Return random permutations for every form, those of a block the same; a batch at a time."""
    drawn: list[list[Indices]] = [[] for _ in blocks]
    for start in range(0, count, _BATCH):
        for orders, forms in zip(drawn, blocks, strict=True):
            rows = np.arange(len(forms[0].weights) if forms else 0)
            some = range(min(_BATCH, count - start) if forms else 0)
            orders += [random.permutation(rows) for _ in some]
    return [np.stack(orders) for orders, forms in zip(drawn, blocks, strict=True) for _ in forms]


def _choose_counts(
    forms: Sequence[QuadraticForm], distance: float, deviation: float
) -> list[int | None]:
    """Return how many columns of each root nearly always decide; None for all.

    `distance` is that of the observed value from the mean under permutations.
    """
    allowed = max(_OPEN * deviation, abs(distance) - _NEAR * deviation) / len(forms)
    return [
        None if form.root is None else int(np.argmax(form.left_out() <= allowed)) for form in forms
    ]


def _left_out(bounds: Sequence[Floats], counts: Sequence[int | None]) -> float:
    """Return how far the sum of rough values may be from that of the forms."""
    every = zip(bounds, counts, strict=True)
    return sum(float(one[-1 if count is None else count]) for one, count in every)
