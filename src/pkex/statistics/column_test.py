"""Is the contribution of a column significant? Exact where it is independent of the others.

Permuting the labels of two samples (or a target) tests that nothing changed at all. When other
columns did change, the share of one that did not still fluctuates like ``1 / sqrt(n)``, while the
band of the permutations shrinks like ``1 / n``: it would be found too often. So the column alone is
permuted over the rows. If it has the same distribution in both samples and is independent of the
other columns in both, or is independent of the other columns and the target jointly, its values are
exchangeable given all the rest, and the test is exact.

Under marginal removal the share of feature j is

    phi_j = sum_il w_il Q_j(i, l) (k_j(i, l) - M_j),

where ``Q_j``, the integral of the products of all other features, does not involve column j, and
``M_j``, a mean over all pairs of different rows, is the same for every permutation. So ``w Q_j`` is
computed once, and a permutation costs one quadratic form in its entries.

A kernel matrix of one column that is smooth has low rank, ``K = L L'``, found by a pivoted Cholesky
factorisation. Then the form is ``sum (W L_pi) L_pi``, matrix products for many permutations at
once. Other kernels are looked up entry by entry.

The means of the columns of L are taken out, ``L = 1 m' + C``, as a permutation only moves what they
add: ``m'm sum W + 2 (W 1)' C_pi m``. The principal columns of C have nearly all of the form. What
the later ones add is at most ``|W| |E|``, Frobenius norms, with ``E`` their part of ``C C'``,
whatever the permutation. So where the first columns alone decide whether a permutation reaches the
observed value, the others are left out.

Permutations stop once enough of them reach the observed value (Besag and Clifford 1991): with h of
the first L, the p-value is ``h / L``, and the test is still exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.reductions import exclude_self
from pkex.games.sources import PointSource
from pkex.games.threads import raise_if_cancelled, run_in_order, workspace
from pkex.kernels.low_rank import find_roots, is_definite, pivoted_cholesky
from pkex.kernels.normal_form import Term
from pkex.statistics.pair_weights import Weights

__all__ = [
    "ColumnTest",
    "HalfMatrix",
    "QuadraticForm",
    "forms_of",
    "p_value",
    "weighted_integrals",
]


_ENOUGH = 20  # permutations that reach the observed value, after which there is no need for more
_BATCH = 16  # permutations drawn together
_LATER = 64  # and evaluated together, after the first ones
_BATCHES = 8  # or so many times as many as are drawn together,
_FEW = 2**13  # where permutations of all have no more entries
_RANK = 24  # of a kernel matrix, above which looking up entries is faster
_LOW = 1e-9  # error of a factorisation of low rank, relative to the largest entry
_OPEN = 0.2  # what the first columns of a factor may leave open, in standard deviations
_EQUAL = 2.0**-43  # rounding of a long sum, relative to the sum of its absolute terms
_TILE = 2**17  # values of pairs at once: 1 MiB
_WIDTH = 256  # points of a tile
_STRIP = 128  # rows of a strip
_ENTRIES = 2**17  # entries of a kernel matrix looked up at once: 1 MiB


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
        for start in range(0, len(matrix), _STRIP):
            strip = matrix[start : start + _STRIP, start:].copy()
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

    def norm(self) -> float:
        """Return Frobenius' norm."""
        squares = 0.0
        for strip in self.strips:
            inside = strip[:, : len(strip)]
            squares += 2.0 * float(np.vdot(strip, strip)) + 2.0 * float(np.vdot(inside, inside))
        return float(np.sqrt(squares))


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
        error = weights.size() * (_LOW + _EQUAL) * largest
        constant = float(mean @ mean) * weights.sum()
        return cls(weights, None, left * sizes, error, means, constant)

    @classmethod
    def of(cls, weights: HalfMatrix, kernel: Floats) -> QuadraticForm:
        """Return the form; a factor of low rank is looked for."""
        largest = float(np.abs(kernel).max(initial=0.0))
        root = _root(kernel, _LOW * largest)
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

    def left_out(self) -> Floats:
        """Return what the columns of the root from each on, or none, add to any form at most."""
        if self.root is None:
            return np.zeros(1)
        squares = (self.root**2).sum(axis=0) ** 2
        later = np.append(np.cumsum(squares[::-1])[::-1], 0.0)
        bounds: Floats = self.weights.norm() * np.sqrt(later)
        return bounds


def p_value(
    blocks: Sequence[Sequence[QuadraticForm]], n_permutations: int, random: np.random.Generator
) -> float:
    """Return the p-value of the sum of all forms, under permutations within each block."""
    forms = [form for block in blocks for form in block]
    itself = [np.arange(len(form.weights))[None] for form in forms]
    observed = sum(float(form.values(order)[0]) for form, order in zip(forms, itself, strict=True))
    slack = sum(form.error for form in forms)
    heads, left_out = [slice(None)] * len(forms), 0.0
    n_rows = max((len(form.weights) for form in forms), default=1)
    at_once = _BATCH * max(1, min(_BATCHES, _FEW // (_BATCH * n_rows)))
    reached, done = 0, 0
    while done < n_permutations:
        raise_if_cancelled()
        count = min(at_once, n_permutations - done)
        orders = _draw(blocks, count, random)
        every = list(zip(forms, orders, heads, strict=True))
        null = sum((form.values(order, head) for form, order, head in every), np.zeros(count))
        is_open = np.abs(null - (observed - slack)) <= left_out + slack
        if left_out and is_open.any():
            for form, order, head in every:
                null[is_open] += form.values(order[is_open], slice(head.stop, None))
        for exceeds in (null >= observed - slack).tolist():
            done += 1
            reached += int(exceeds)
            if reached == _ENOUGH:
                return reached / done
        if done == count and forms:  # after the first ones
            heads, left_out = _choose_heads(forms, float(null.std()))
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


def _choose_heads(forms: Sequence[QuadraticForm], deviation: float) -> tuple[list[slice], float]:
    """Return the first columns of roots that nearly always decide, and what they leave open."""
    allowed = _OPEN * deviation / len(forms)
    heads, left_out = [], 0.0
    for form in forms:
        bounds = form.left_out()
        count = int(np.argmax(bounds <= allowed))  # the last of them is 0
        heads.append(slice(count) if form.root is not None else slice(None))
        left_out += float(bounds[count])
    return heads, left_out


@dataclass(frozen=True, eq=False)
class ColumnTest:
    """Tests features on the rows of some blocks.

    Attributes
    ----------
    sources : sequence of PointSource
        All pairs of the rows of each block.
    weights : sequence of Weights
    n_permutations : int
    n_jobs : int or None
    """

    sources: Sequence[PointSource]
    weights: Sequence[Weights]
    n_permutations: int
    n_jobs: int | None

    def __call__(self, group: tuple[list[int], Indices]) -> list[float]:
        """Return the p-values of some features, given with their seeds."""
        features, seeds = group
        integrals = [
            weighted_integrals(source, weights, features, n_jobs=self.n_jobs)
            for source, weights in zip(self.sources, self.weights, strict=True)
        ]
        tasks = [
            (feature, [block[place] for block in integrals], seeds[place])
            for place, feature in enumerate(features)
        ]
        return list(run_in_order(self._test, tasks, self.n_jobs))

    def _test(self, task: tuple[int, list[list[HalfMatrix | None]], Indices]) -> float:
        feature, integrals, seed = task
        blocks = [
            forms_of(source, feature, of_terms)
            for source, of_terms in zip(self.sources, integrals, strict=True)
        ]
        return p_value(blocks, self.n_permutations, np.random.default_rng(seed))


def weighted_integrals(
    source: PointSource, weights: Weights, features: Sequence[int], *, n_jobs: int | None = 1
) -> list[list[HalfMatrix | None]]:
    """Return for each of some features and each term ``w c Q_j``, c the coefficient of the term.

    None stands for a term that the feature takes no part in.
    """
    takes_part = [_takes_part(source, feature) for feature in features]
    strips_of = _Strips(source, weights, features)
    n_rows = len(source.x)
    tasks = [slice(start, min(start + _STRIP, n_rows)) for start in range(0, n_rows, _STRIP)]
    strips = list(run_in_order(strips_of, tasks, n_jobs))
    return [
        [
            HalfMatrix([strip[term][place] for strip in strips]) if is_part else None
            for term, is_part in enumerate(is_part_of_terms)
        ]
        for place, is_part_of_terms in enumerate(takes_part)
    ]


def _takes_part(source: PointSource, feature: int) -> list[bool]:
    """Tell for each term whether a feature has a factor in it."""
    return [
        any(leaf.columns is None or column in leaf.columns for leaf in game.term.leaves)
        for game in source.games
        for column in game.players[feature][:1]
    ]


def forms_of(
    source: PointSource, feature: int, integrals: Sequence[HalfMatrix | None]
) -> list[QuadraticForm]:
    """Return the forms whose sum is the share of a feature, up to a constant.

    There is one for each term of the kernel that the feature takes part in.
    """
    forms = []
    for game, weights in zip(source.games, integrals, strict=True):
        if weights is None:
            continue
        term = game.term.restrict(game.players[feature], coefficient=1.0)
        root = None
        if len(source.x) ** 2 > _ENTRIES and is_definite([term]):
            [root] = find_roots([term], [game.players[feature]], source.x, _RANK, _LOW)
        if root is not None:
            forms.append(QuadraticForm.of_root(weights, root, 1.0))
        else:
            forms.append(QuadraticForm.of(weights, _matrix(term, source.x)))
    return forms


@dataclass(frozen=True, eq=False)
class _Strips:
    """Gives strips of ``w c Q_j`` for some features, of each term: (features, rows, later rows)."""

    source: PointSource
    weights: Weights
    features: Sequence[int]

    def __call__(self, rows: slice) -> list[Floats]:
        n_terms, n_rows = len(self.source.games), len(self.source.x)
        n_values = len(self.source.games[0].players) + 1
        local = exclude_self(self.weights, rows, slice(rows.start, n_rows))
        local[:, : len(local)] *= 0.5
        width = max(1, min(_WIDTH, _TILE // n_values))
        step = max(1, _TILE // (n_values * width))
        strips = []
        for term in range(n_terms):
            strip = np.empty((len(self.features), *local.shape))
            for first in range(rows.start, rows.stop, step):
                raise_if_cancelled()
                some = slice(first, min(first + step, rows.stop))
                for start in range(rows.start, n_rows, width):
                    points = slice(start, min(start + width, n_rows))
                    tile = workspace(
                        "tile", n_values, some.stop - some.start, points.stop - points.start
                    )
                    tile[...] = 0.0
                    self.source.add_integrals(term, some, points, tile)
                    here = (
                        slice(some.start - rows.start, some.stop - rows.start),
                        slice(points.start - rows.start, points.stop - rows.start),
                    )
                    np.multiply(tile[self.features], local[here], out=strip[:, *here])
            strips.append(strip)
        return strips


def _matrix(term: Term, x: Floats) -> Floats:
    """Return the kernel matrix of a term."""
    step = max(1, _ENTRIES // len(x))
    return np.concatenate([term.worth(x[i : i + step], x) for i in range(0, len(x), step)])


def _root(kernel: Floats, accepted: float) -> Floats | None:
    """Return L with ``|K - L L'| <= accepted`` in every entry, of low rank; None if there is none.

    A kernel of the user's own need not be definite, so every entry is compared.
    """
    n_rows = len(kernel)
    [root] = pivoted_cholesky(kernel.diagonal()[None], kernel.__getitem__, _RANK, 0.5 * accepted)
    if root is None:
        return None
    step = max(1, _ENTRIES // n_rows)
    for start in range(0, n_rows, step):
        some = slice(start, start + step)
        if not (np.abs(root[some] @ root.T - kernel[some]) <= accepted).all():
            return None
    return root
