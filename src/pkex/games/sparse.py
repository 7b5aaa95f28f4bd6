"""Sums of product games over sparse points, for sparse rows: a pair costs its nonzero entries.

Let the kernel of a column be 1 between two zeros. For a point z and a node t, with ``p_j`` the
factor of a present and ``a_j`` that of an absent column, the game of a row x needs

    P(t) = prod_j f_j(t),    f_j(t) = a_j + t (p_j - a_j),    g_j(t) = (p_j - a_j) / f_j(t),

and then ``phi_j`` is the integral of ``g_j P``. For a row of zeros ``f_j`` and ``g_j`` do not
depend on the row: their product, and the sum of all g, are prepared for every point and node. They
in turn differ from those of a point of zeros only where the point has an entry. A row corrects the
columns where it is not zero:

    P = P_0 prod_{j in x} f_j / f_j^0,        sum_{j not in x} g_j = G_0 - sum_{j in x} g_j^0.

The first gives the values of its stored columns, the second, times P and integrated, the sum of the
values of all other columns, exactly and without listing them. Under neutral removal ``a_j = 1``, so
that columns which are zero in both points are null players. Under marginal removal ``a_j`` is the
mean of the factors over the rows of a background, of which the zeros are one summand.

Factors are kept as deficits ``1 - k``, with the digits of those near 1, as they are where entries
are small beside the width of the kernel. Those below `_LEAST` would lose digits and are refused.
All others are in (0, 1], so that no division meets a zero, and sums of logarithms stand for
products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex.games.measures import Shapley
from pkex.games.rules import Rule
from pkex.kernels.algebra import ColumnKernel

__all__ = ["SparsePoints", "SparseSums"]

Floats = NDArray[np.float64]

_LEAST = 2.0**-13  # factor of a column, of which a deficit still has forty binary digits
_PAIRS = 2**22  # entries of a background and of points that are compared at once


class SparseSums(NamedTuple):
    """What a row gives.

    Attributes
    ----------
    values : array of shape (entries, sets)
        Those of the columns that the row stores.
    rest : array of shape (sets,)
        The sum over all other columns.
    total : array of shape (sets,)
        The sum of the products of all factors.
    rule : Rule
    """

    values: Floats
    rest: Floats
    total: Floats
    rule: Rule


class _Node(NamedTuple):
    """A node, with what a row of zeros has at it: log P_0 and G_0, shape (points,)."""

    t: float
    weight: float
    log_product: Floats
    changes: Floats


@dataclass(eq=False)
class SparsePoints:
    """Sparse points with weights, under one column kernel with ``k(0, 0) = 1``.

    Parameters
    ----------
    kernel : ColumnKernel
        With the same parameters in all columns.
    z : CSC array of shape (points, columns), without stored zeros
    weights : array of shape (points, sets)
    background : CSC array of shape (rows, columns), without stored zeros, or None
        Rows over which an absent factor is averaged; None for neutral removal.
    tol : float or None
    """

    kernel: ColumnKernel
    z: Any
    weights: Floats
    background: Any = None
    tol: float | None = None
    _nodes: dict[Rule, list[_Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_columns = self.z.shape[1]
        zero, columns = np.zeros(1), np.repeat(np.arange(n_columns), np.diff(self.z.indptr))
        self._rows, self._columns = self.z.indices, columns
        self._present = self._deficits(zero, self.z.data)  # of a row of zeros
        self._empty = np.zeros(n_columns)  # deficits of absent columns where a point has no entry
        self._absent = np.zeros(self.z.nnz)
        if self.background is not None:
            self._average()
        for deficits in (self._present, self._absent, self._empty):
            _check_digits(deficits)
        self._ladder = Shapley().ladder(n_columns, self.tol, general=self.background is not None)
        over = self._by_point(np.abs(self._absent - self._present) - self._empty[columns])
        self._lam = float(self._empty.sum()) + over
        self._log_present = self._by_point(np.log1p(-self._present))
        changes = np.log1p(-self._absent) - np.log1p(-self._empty)[columns]
        self._log_absent = float(np.log1p(-self._empty).sum()) + self._by_point(changes)

    @property
    def bases(self) -> Floats:
        """Weighted sums of the worth of no player, shape (sets,)."""
        found: Floats = np.exp(self._log_absent) @ self.weights
        return found

    def explain(self, columns: NDArray[np.intp], entries: Floats) -> SparseSums:
        """Return the sums of a row with some entries, none of them 0, in these columns."""
        here, absent, before = self._at(columns)
        present = self._deficits(entries, here)
        _check_digits(present)
        changes, old = absent - present, absent - before
        lam = self._lam + (np.abs(changes) - np.abs(old)).sum(axis=1)
        rule = self._rule(float(lam.max(initial=0.0)))
        values = np.zeros(here.shape)
        rest = np.zeros(len(here))
        for t, weight, log_product, all_changes in self._prepared(rule):
            factors, others = 1.0 - absent + t * changes, 1.0 - absent + t * old
            product = weight * np.exp(log_product + np.log(factors / others).sum(axis=1))
            values += product[:, None] * (changes / factors)
            rest += product * (all_changes - (old / others).sum(axis=1))
        gained = (np.log1p(-present) - np.log1p(-before)).sum(axis=1)
        total = np.exp(self._log_present + gained)
        weights = self.weights
        return SparseSums(values.T @ weights, rest @ weights, total @ weights, rule)

    def _deficits(self, x: Floats, z: Floats) -> Floats:
        """Return deficits of the kernel; its formula may pass infinity where x = z."""
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return self.kernel.deficits(x, z)

    def _at(self, columns: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Return entries of the points, absent deficits and those of zeros, (points, columns)."""
        n_points = self.z.shape[0]
        here, before = np.zeros((2, n_points, len(columns)))
        absent = np.tile(self._empty[columns], (n_points, 1))
        for place, column in enumerate(columns):
            stored = slice(self.z.indptr[column], self.z.indptr[column + 1])
            rows = self._rows[stored]
            here[rows, place] = self.z.data[stored]
            absent[rows, place] = self._absent[stored]
            before[rows, place] = self._present[stored]
        return here, absent, before

    def _rule(self, lam: float) -> Rule:
        """Return the cheapest rule that covers all pairs of a row."""
        ladder = self._ladder
        return ladder.rules[int(np.searchsorted(ladder.limits, lam))]

    def _prepared(self, rule: Rule) -> list[_Node]:
        """Return the nodes of a rule with what a row of zeros has there; kept for the next row."""
        if rule not in self._nodes:
            self._nodes[rule] = [
                self._node(float(t), float(w))
                for t, w in zip(rule.nodes, rule.weights, strict=True)
            ]
        return self._nodes[rule]

    def _node(self, t: float, weight: float) -> _Node:
        empty = self._empty
        none = 1.0 - empty * (1.0 - t)  # f of a column without entries
        factors = 1.0 - self._absent + t * (self._absent - self._present)
        logs = np.log(factors) - np.log(none)[self._columns]
        changes = (self._absent - self._present) / factors - (empty / none)[self._columns]
        return _Node(
            t,
            weight,
            float(np.log(none).sum()) + self._by_point(logs),
            float((empty / none).sum()) + self._by_point(changes),
        )

    def _by_point(self, entries: Floats) -> Floats:
        """Return sums over the stored entries of each point."""
        sums = np.bincount(self._rows, entries, minlength=self.z.shape[0])
        return sums.astype(np.float64, copy=False)  # which are integers where there are none

    def _average(self) -> None:
        """Find the mean deficits over the background: at zeros, and at every stored entry."""
        rows, n_rows = self.background, self.background.shape[0]
        zero = np.zeros(1)
        for column in range(rows.shape[1]):
            known = rows.data[rows.indptr[column] : rows.indptr[column + 1]]
            if known.size:
                self._empty[column] = self._deficits(known, zero).sum() / n_rows
            stored = slice(self.z.indptr[column], self.z.indptr[column + 1])
            entries = self.z.data[stored]
            total = (n_rows - known.size) * self._present[stored]
            step = max(1, _PAIRS // max(1, known.size))
            for start in range(0, len(entries) if known.size else 0, step):
                some = slice(start, start + step)
                found = self._deficits(known[None, :], entries[some, None])
                total[some] += found.sum(axis=1)
            self._absent[stored] = total / n_rows


def _check_digits(deficits: Floats) -> None:
    """Refuse factors so small that their deficits have lost their digits."""
    if deficits.max(initial=0.0) > 1.0 - _LEAST:
        raise ValueError(
            "a single column makes the kernel smaller than 1e-4, so that sparse sums would lose "
            "digits: take a wider kernel, scale the columns, or pass dense rows to pkex.Explainer."
        )
