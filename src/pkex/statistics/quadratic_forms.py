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
what is missing. Where that leaves open whether a permutation reaches the observed value, it waits
until that has to be known: then the next columns are added for all that wait, and what is open
still is computed in full.

Permutations stop once enough of them reach the observed value (Besag and Clifford 1991): with h of
the first L, the p-value is ``h / L``, and the test is still exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
_OPEN = 1.5  # what a rough value may leave open, in standard deviations,
_NEAR = 6.0  # or more where the observed value is further from the mean than so many,
_CLOSE = 0.1  # and what it may leave open with the next columns


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
        return float(self.row_sums().sum())

    def size(self) -> float:
        """Return the sum of the absolute entries."""
        return float(self.row_sizes.sum())

    def row_sums(self) -> Floats:
        """Return the sum of every row of the matrix."""
        return self._sum_rows(lambda strip: strip)

    @lazy
    def row_sizes(self) -> Floats:
        """The sum of the absolute entries of every row."""
        return self._sum_rows(np.abs)

    def _sum_rows(self, entries: Callable[[Floats], Floats]) -> Floats:
        sums = np.zeros(len(self))
        for rows, strip in self.rows():
            some = entries(strip)
            sums[rows] += some.sum(axis=1)
            sums[rows.start :] += some.sum(axis=0)
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
        row_sums = weights.row_sums()
        means = np.stack([row_sums, 2.0 * centred @ mean])
        error = weights.size() * (LOW + _EQUAL) * largest
        constant = float(mean @ mean) * float(row_sums.sum())
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

    def rough_values(self, orders: Indices, count: int | None = None, first: int = 0) -> Floats:
        """Return the form from the first `count` columns of its root, or all, in single precision.

        It is off by at most `rough_bounds` has for that count; also where it is made of two parts,
        the second one from the columns after some `first` ones.
        """
        single, columns = self._single, slice(first, count)
        if single is None:
            return self.values(orders, columns)
        assert self.means is not None
        root = np.ascontiguousarray(single.root[:, columns])
        n_rows, rank = root.shape
        moved = root.take(orders.T, axis=0).reshape(n_rows, len(orders) * rank)
        sums = np.zeros(moved.shape[1])
        for (rows, _), strip in zip(self.weights.rows(), single.strips, strict=True):
            add_form(strip, moved[rows.start :], sums)
        values: Floats = 2.0 * single.scale * sums.reshape(len(orders), rank).sum(axis=1)
        if not first:
            row_sums, linear = self.means
            values += linear[orders] @ row_sums + self.constant
        return values

    def rough_bounds(self) -> Floats:
        """Return how far `rough_values` may be off, by how many columns of the root it takes."""
        if self._single is None:
            return self.left_out
        return self.left_out + self._single.errors

    @lazy
    def _single(self) -> _Single | None:
        """The weights and the root in single precision, where there is a root of many rows."""
        if self.root is None or len(self.root) < _MANY or not self.root.size:
            return None
        return _Single.of(self.weights, self.root)

    @lazy
    def left_out(self) -> Floats:
        """What the columns of the root from each on, or none, add to any form at most."""
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
        most = of_weights * float(weights.row_sizes.max())
        squares = np.cumsum(np.append(0.0, (rounded.astype(np.float64) ** 2).sum(axis=0)))
        # the products of a strip, four roundings, and room for those of these bounds
        errors = (DEPTH + 16) * _UNIT * most * squares
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
    if not forms:
        return 1.0
    itself = [np.arange(len(form.weights))[None] for form in forms]
    observed = sum(float(form.values(order)[0]) for form, order in zip(forms, itself, strict=True))
    slack = sum(form.error for form in forms)
    rough = _RoughSums(forms, observed - slack, slack)
    waiting = list[_Waiting]()
    n_rows = max(len(form.weights) for form in forms)
    at_once = _BATCH * max(1, min(_BATCHES, _FEW // (_BATCH * n_rows)))
    reached = np.empty(0, dtype=bool)  # of all permutations so far; waiting ones have not
    while len(reached) < n_permutations:
        done = len(reached)
        if done:
            raise_if_cancelled()
        number = min(at_once, n_permutations - done)
        orders = _draw(blocks, number, random)
        null, is_open = rough.decide(orders)
        reached = np.append(reached, (null >= rough.limit) & ~is_open)
        [places] = np.nonzero(is_open)
        waiting.append(_Waiting(done + places, [some[places] for some in orders], null[places]))
        # the first ones have all columns, and what is open is settled before columns are chosen
        must_settle = not done or len(reached) == n_permutations
        n_waiting = sum(len(some.places) for some in waiting)
        if must_settle or np.count_nonzero(reached) + n_waiting >= _ENOUGH:
            every = _Waiting.join(waiting)
            reached[every.places] = rough.settle(every) >= rough.limit
            waiting.clear()
            [places] = np.nonzero(reached)
            if len(places) >= _ENOUGH:
                return _ENOUGH / (int(places[_ENOUGH - 1]) + 1)
        if not done:  # after the first ones
            rough.choose_columns(null)
            at_once = max(at_once, _LATER)
    return (np.count_nonzero(reached) + 1.0) / (n_permutations + 1.0)


class _Waiting(NamedTuple):
    """Permutations of which it is open whether they reach the observed value."""

    places: Indices
    """Their numbers."""
    orders: list[Indices]
    """The permutations, for each form."""
    rough: Floats
    """What the first columns give."""

    @classmethod
    def join(cls, parts: Sequence[_Waiting]) -> _Waiting:
        """Return the permutations of all parts."""
        orders = [
            np.concatenate(some) for some in zip(*(part.orders for part in parts), strict=True)
        ]
        places, rough = (np.concatenate([part[i] for part in parts]) for i in (0, 2))
        return cls(places, orders, rough)


class _RoughSums:
    """The sum of some forms under permutations, from the first columns of their roots.

    Parameters
    ----------
    forms : sequence of QuadraticForm
    limit : float
        What a permutation has to reach.
    slack : float
        How far the sum may be off in full.
    """

    def __init__(self, forms: Sequence[QuadraticForm], limit: float, slack: float) -> None:
        self.forms, self.limit, self.slack = forms, limit, slack
        self._bounds = [form.rough_bounds() for form in forms]
        self._first = self._next = [len(bounds) - 1 for bounds in self._bounds]  # columns

    def choose_columns(self, null: Floats) -> None:
        """Choose how many columns decide most permutations, and nearly all, by some values."""
        size = float(np.abs(null).max()) or 1.0  # its square may be infinite, or 0
        deviation = size * float((null / size).std())
        far = abs(self.limit - float(null.mean())) - _NEAR * deviation
        self._first = self._columns_for(max(_OPEN * deviation, far))
        self._next = self._columns_for(_CLOSE * deviation)

    def _columns_for(self, allowed: float) -> list[int]:
        """Return how many columns of each root leave out no more than that: one at least."""
        share, counts = allowed / len(self.forms), list[int]()
        for form in self.forms:
            enough = form.left_out <= share
            enough[0], enough[-1] = False, True
            counts.append(int(np.argmax(enough)))
        return counts

    def decide(self, orders: Sequence[Indices]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return rough values, and where they leave open whether the limit is reached."""
        every = zip(self.forms, orders, self._first, strict=True)
        null = np.add.reduce([form.rough_values(order, count) for form, order, count in every])
        return null, self._is_open(null, self._first)

    def settle(self, waiting: _Waiting) -> Floats:
        """Return values that leave nothing open."""
        null, counts = waiting.rough, list[int]()
        for form, order, first, count in zip(
            self.forms, waiting.orders, self._first, self._next, strict=True
        ):
            counts.append(max(first, count))
            if count > first:
                null = null + form.rough_values(order, count, first)
        [places] = np.nonzero(self._is_open(null, counts))
        if len(places):
            every = zip(self.forms, waiting.orders, strict=True)
            null[places] = np.add.reduce([form.values(order[places]) for form, order in every])
        return null

    def _is_open(self, null: Floats, counts: Sequence[int]) -> NDArray[np.bool_]:
        both = zip(self._bounds, counts, strict=True)
        left_out = sum(float(bounds[count]) for bounds, count in both)
        is_open: NDArray[np.bool_] = np.abs(null - self.limit) <= left_out + self.slack
        return is_open if left_out else np.zeros(len(null), dtype=bool)


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
