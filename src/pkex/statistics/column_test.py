"""Is the contribution of a column significant? Exact where it is independent of the others.

Permuting the labels of two samples (or a target) tests that nothing changed at all. When other
columns did change, the share of one that did not still fluctuates like ``1 / sqrt(n)``, while the
band of the permutations shrinks like ``1 / n``: it would be found too often. So the column alone is
permuted over the rows. If it has the same distribution in both samples and is independent of the
other columns in both, or is independent of the other columns and the target jointly, its values are
exchangeable given all the rest, and the test is exact.

Under marginal removal the share of player j is

    phi_j = sum_il w_il Q_j(i, l) (k_j(i, l) - M_j),

where ``Q_j``, the integral of the products of all other players, does not involve column j, and
``M_j``, a mean over all pairs of different rows, is the same for every permutation. So ``w Q_j`` is
computed once, and a permutation costs one quadratic form in its entries.

A kernel matrix of one column that is smooth has low rank, ``K = L L'``, found by a pivoted Cholesky
factorisation and checked entry by entry. Then the form is ``sum (W L_pi) L_pi``, matrix products
for many permutations at once. Other kernels are looked up entry by entry.

Permutations stop once enough of them reach the observed value (Besag and Clifford 1991): with h of
the first L, the p-value is ``h / L``, and the test is still exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.blocks import triangle
from pkex.games.engine import run_reduction
from pkex.games.protocols import Game, Task
from pkex.games.sources import PointSource
from pkex.games.threads import raise_if_cancelled, workspace
from pkex.kernels.low_rank import pivoted_cholesky
from pkex.kernels.normal_form import Term
from pkex.statistics.pair_weights import Weights

__all__ = ["QuadraticForm", "forms_of", "p_value"]


_ENOUGH = 20  # permutations that reach the observed value, after which there is no need for more
_BATCH = 16  # permutations evaluated together
_RANK = 24  # of a kernel matrix, above which looking up entries is faster
_LOW = 1e-9  # error of a factorisation of low rank, relative to the largest entry
_EQUAL = 2.0**-43  # rounding of a long sum, relative to the sum of its absolute terms
_TILE = 2**17  # values of pairs at once: 1 MiB
_WIDTH = 256  # points of a tile
_ENTRIES = 2**17  # entries of a kernel matrix looked up at once: 1 MiB


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """``sum_il W_il K_il``, and what it is when the rows and columns of K are permuted.

    Attributes
    ----------
    weights : array of shape (rows, rows)
    kernel : array of shape (rows, rows) or None
        Symmetric, like the weights; None where there is a root.
    root : array of shape (rows, rank) or None
        A factor L of low rank with ``K = L L'``, where there is one.
    error : float
        How far a value may be from the exact one, or from an equal one.
    """

    weights: Floats
    kernel: Floats | None
    root: Floats | None
    error: float

    @classmethod
    def of(cls, weights: Floats, kernel: Floats) -> QuadraticForm:
        """Return the form; a factor of low rank is looked for."""
        size, largest = float(np.abs(weights).sum()), float(np.abs(kernel).max(initial=0.0))
        root = _root(kernel, _LOW * largest)
        if root is None:
            return cls(weights, kernel, None, size * _EQUAL * largest)
        return cls(weights, None, root, size * (_LOW + _EQUAL) * largest)

    def values(self, orders: Indices) -> Floats:
        """Return the form for each of the permutations `orders` (permutations, rows)."""
        n_rows = len(self.weights)
        if self.kernel is not None:
            return np.array([self._looked_up(self.kernel, order) for order in orders])
        assert self.root is not None
        moved = self.root[orders.T].reshape(n_rows, -1)  # (rows, permutations x rank)
        columns = np.einsum("ij,ij->j", self.weights @ moved, moved)
        sums: Floats = columns.reshape(len(orders), -1).sum(axis=1)
        return sums

    def _looked_up(self, kernel: Floats, order: Indices) -> float:
        n_rows = len(order)
        step = max(1, _ENTRIES // n_rows)
        total = 0.0
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            # W and K are symmetric, so that pairs with earlier rows have been counted twice
            later = np.take(kernel[order[rows]], order[start:], axis=1)
            weights = self.weights[rows, start:]
            here = slice(0, rows.stop - start)
            total += 2.0 * float(np.vdot(weights, later))
            total -= float(np.vdot(weights[:, here], later[:, here]))
        return total


def forms_of(
    source: PointSource, weights: Weights, players: Sequence[int], *, n_jobs: int | None = 1
) -> list[list[QuadraticForm]]:
    """Return for each of some players the forms whose sum is its share, up to a constant.

    There is one for each term of the kernel that the player takes part in.
    """
    n_rows = len(source.x)
    local = weights.block(slice(0, n_rows), slice(0, n_rows))
    if not weights.with_self:
        np.fill_diagonal(local, 0.0)
    forms: list[list[QuadraticForm]] = [[] for _ in players]
    for number, game in enumerate(source.games):
        terms = [game.term.restricted(game.players[player]) for player in players]
        taking_part = [k for k, term in enumerate(terms) if term.leaves]
        if not taking_part:
            continue
        wanted = _Integrals(source, number, [players[k] for k in taking_part])
        integrals: Floats = run_reduction(wanted, n_jobs=n_jobs)
        for k, integral in zip(taking_part, integrals, strict=True):
            integral *= local
            kernel = _kernel(terms[k], game.players[players[k]], source.x, game)
            forms[k].append(QuadraticForm.of(integral, kernel))
    return forms


def p_value(
    blocks: Sequence[Sequence[QuadraticForm]], n_permutations: int, random: np.random.Generator
) -> float:
    """Return the p-value of the sum of all forms, under permutations within each block."""
    observed, slack = 0.0, 0.0
    for forms in blocks:
        for form in forms:
            observed += float(form.values(np.arange(len(form.weights))[None])[0])
            slack += form.error
    reached, done = 0, 0
    while done < n_permutations:
        raise_if_cancelled()
        count = min(_BATCH, n_permutations - done)
        null = np.zeros(count)
        for forms in blocks:
            if forms:
                rows = np.arange(len(forms[0].weights))
                orders = np.stack([random.permutation(rows) for _ in range(count)])
                for form in forms:
                    null += form.values(orders)
        for exceeds in (null >= observed - slack).tolist():
            done += 1
            reached += int(exceeds)
            if reached == _ENOUGH:
                return reached / done
    return (reached + 1.0) / (n_permutations + 1.0)


class _Integrals:
    """c Q_j of a term for some players and all pairs of rows, c the coefficient of the term."""

    def __init__(self, source: PointSource, term: int, players: Sequence[int]) -> None:
        self.source, self.term, self.players = source, term, players
        self.found: Floats | None = None  # not sent to workers, so made when the first tile comes

    def tasks(self) -> Sequence[Task]:
        """Return the tiles."""
        n_values, n_rows = self.source.n_values, len(self.source.x)
        width = max(1, min(n_rows, _WIDTH, _TILE // n_values))
        step = max(1, min(width, _TILE // (n_values * width)))
        return [Task(*tile) for tile in triangle(n_rows, step, width)]

    def run(self, task: Task) -> tuple[slice, slice, Floats]:
        """Return what a tile has, and where it is."""
        raise_if_cancelled()
        rows, points, _ = task
        shape = (rows.stop - rows.start, points.stop - points.start)
        tile = workspace("tile", self.source.n_values, *shape)
        tile[...] = 0.0
        self.source.add_integrals(self.term, rows, points, tile)
        return rows, points, tile[self.players]

    def add(self, part: tuple[slice, slice, Floats]) -> None:
        """Fill in a tile, on both sides of the diagonal; no two tiles meet."""
        if self.found is None:
            self.found = np.empty((len(self.players), *self.source.shape))
        rows, points, chosen = part
        self.found[:, rows, points] = chosen
        self.found[:, points, rows] = chosen.transpose(0, 2, 1)

    def result(self) -> Floats:
        """Return the integrals, shape (players, rows, rows)."""
        assert self.found is not None  # there are rows
        return self.found


def _kernel(term: Term, player: Sequence[int], x: Floats, game: Game) -> Floats:
    """Return the factors of a term in which one player takes part, for all pairs of rows."""
    rest = tuple(column for column in range(term.n_columns) if column not in player)
    players = (tuple(player), rest) if rest else (tuple(player),)
    alone = type(game)(replace(term, coefficient=1.0), players, game.ladder)  # type: ignore[call-arg]
    kernel = np.empty((len(x), len(x)))
    step = max(1, _TILE // (2 * len(x)))
    for start in range(0, len(x), step):
        rows = slice(start, min(start + step, len(x)))
        tile = workspace("tile", len(players), rows.stop - start, len(x) - start)
        tile[...] = 0.0
        alone.add_factors(x[rows], x[start:], tile)
        kernel[rows, start:] = tile[0]
        kernel[start:, rows] = tile[0].T
    return kernel


def _root(kernel: Floats, accepted: float) -> Floats | None:
    """Return L with ``|K - L L'| <= accepted`` in every entry, of low rank; None if there is none.

    A kernel of the user's own need not be definite, so every entry is compared.
    """
    n_rows = len(kernel)
    root, _ = pivoted_cholesky(kernel.diagonal(), kernel.__getitem__, _RANK, 0.5 * accepted)
    root = np.ascontiguousarray(root)  # whose rows are permuted
    step = max(1, _ENTRIES // n_rows)
    for start in range(0, n_rows, step):
        some = slice(start, start + step)
        if not (np.abs(root[some] @ root.T - kernel[some]) <= accepted).all():
            return None
    return root
