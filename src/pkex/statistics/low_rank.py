"""Each feature by itself under many sets of weights, where kernels and weights have low rank.

The kernel of a feature by itself is ``K = U U'`` with few columns in U (`pkex.kernels.low_rank`),
and a pair of units of the kinds s and t (samples, classes, targets) has the weight

    w_st = scale (sum_r f_sr f_tr + g_s + g_t) + constant,

again with few r (`Factored`). A set of weights says which kind every row has, and the sum over all
pairs is

    sum_il w_il K_il = scale (sum |U' f|^2 + 2 g' K 1) + constant 1' K 1,

without the pairs ``i = l`` where a row is not paired with itself. So a set costs products of small
matrices in place of a pass over all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices, Places
from pkex.games.lookup import contract_looked_up
from pkex.games.permutations import EQUAL, PermutedSums
from pkex.games.threads import raise_if_cancelled, run_in_order
from pkex.kernels.low_rank import ACCEPTED, find_roots, is_definite
from pkex.kernels.normal_form import Term
from pkex.statistics.pair_weights import Factored, Shuffled

__all__ = ["univariate_sums"]


_ENTRIES = 2**20  # of g by unit at once, and of products: 8 MiB
_ROOTS = 2**21  # entries of all U of a task: 16 MiB
_MOST = 64  # rank of a kernel
_NEGLECTED = 2.0**-48  # of |U|^2 |f|^2, in one product
_LEAST = 2**20  # products of weights and values in a pass over all pairs that is worth avoiding


def univariate_sums(
    terms: Sequence[Term],
    groups: Sequence[Sequence[int]],
    x: Floats,
    shuffled: Shuffled,
    *,
    n_jobs: int | None = 1,
) -> PermutedSums | None:
    """Return the sums over all pairs of the kernel of each feature by itself, for all sets.

    None where a pass over all pairs is no slower: there are few, or ranks are large.
    """
    if len(groups) * shuffled.n_sets * len(x) ** 2 < 2 * _LEAST:
        return None
    weights = shuffled.factored
    if weights is None or not is_definite(terms, constant=False):
        return None
    most = min(_MOST, len(x) // (2 * weights.table.shape[1]))
    sums_of = _PlayerSums(
        *(terms, x, weights, shuffled.layers, shuffled.n_fixed),
        *(shuffled.with_self, shuffled.total, most),
    )
    # in fours, so that threads have as much to do
    n_parts = 4 * -(-len(groups) // (4 * max(1, _ROOTS // max(1, most * len(x)))))
    step = -(-len(groups) // n_parts)
    tasks = [groups[start : start + step] for start in range(0, len(groups), step)]
    parts = []
    for part in run_in_order(sums_of, tasks, n_jobs):
        if part is None:
            return None
        parts.append(part)
    sums, rounding = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("sums", "rounding")
    )
    return PermutedSums(sums, rounding, 0.0, ())


@dataclass(frozen=True, eq=False)
class _PlayerSums:
    """Gives the sums of some features, or None where the rank of one is above `most`."""

    terms: Sequence[Term]
    x: Floats
    weights: Factored
    layers: tuple[Indices, ...]
    n_fixed: int
    with_self: bool
    total: float
    most: int

    def __call__(self, groups: Sequence[Sequence[int]]) -> PermutedSums | None:
        raise_if_cancelled()
        roots: list[Floats] = []
        for root in find_roots(self.terms, groups, self.x, self.most):
            if root is None:
                return None
            roots.append(_rotate(root))
        table, linear, constant, scale, kinds, error = self.weights
        owners = np.repeat(np.arange(len(roots)), [root.shape[1] for root in roots])
        rows = np.stack([root @ root.sum(axis=0) for root in roots], axis=1)
        diagonal = np.stack([(root**2).sum(axis=1) for root in roots], axis=1)
        totals = rows.sum(axis=0)
        together, rows, diagonals = (
            _by_unit(part, self.layers, self.n_fixed)
            for part in (np.concatenate(roots, axis=1), rows, diagonal)
        )
        squares = scale * ((table**2).sum(axis=1) + 2.0 * linear) + constant
        sums = np.empty((len(roots), len(kinds)))
        products = _ColumnProducts.of(
            together, owners, table, np.bincount(kinds[0], minlength=len(table))
        )
        n_sets = max(1, _ENTRIES // max(together.shape))
        for start in range(0, len(kinds), n_sets):
            chosen = kinds[start : start + n_sets]
            part = 2.0 * (linear[chosen] @ rows).T
            products.add_squares(np.ascontiguousarray(chosen), part)
            part *= scale
            part += constant * totals[:, None]
            if not self.with_self:
                part -= (squares[chosen] @ diagonals).T
            sums[:, start : start + n_sets] = part
        # as in `ByPermutation`, and what the factors leave out of kernels and of weights
        rounding = EQUAL * self.total / len(self.x) ** 2 * totals
        rounding += ACCEPTED * self.total * diagonal.max(axis=0) + error * totals
        rounding += scale * products.neglected
        return PermutedSums(sums, rounding, 0.0, ())


class _ColumnProducts(NamedTuple):
    """The columns of all U and of f, and which are multiplied with which.

    Both are rotated so that later columns are small. No permutation makes ``(U_c' f_r)^2`` larger
    than ``|U_c|^2 |f_r|^2``, so where both are late, their product is not formed.
    """

    columns: Floats
    """Of all U by unit, shape (columns, 1, units), the largest ones for their features first."""
    indicators: Floats
    """1 where a column is a feature's, shape (features, columns)."""
    table: Floats
    """Those of f, shape (rank, 1, kinds)."""
    counts: Sequence[int]
    """How many of the first columns of U are multiplied with each of f."""
    neglected: Floats
    """A bound of what is left out, for each feature."""

    @classmethod
    def of(
        cls, together: Floats, owners: Indices, table: Floats, units: Indices
    ) -> _ColumnProducts:
        """Choose products of U, whose columns have owners, and f, whose kinds have some units."""
        table = _rotate(table, units)
        sizes = units @ table**2
        of_columns = (together**2).sum(axis=0)
        allowed = _NEGLECTED * sizes.sum() * np.bincount(owners, of_columns)[owners]
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(allowed / of_columns, kind="stable")
        of_columns, allowed, owners = of_columns[order], allowed[order], owners[order]
        counts = [int((of_columns * size > allowed).sum()) for size in sizes]
        n_features = int(owners.max()) + 1
        neglected = np.zeros(n_features)
        for size, count in zip(sizes, counts, strict=True):
            neglected += size * np.bincount(owners[count:], of_columns[count:], n_features)
        columns = np.ascontiguousarray(together.T[order])[:, None]
        indicators = (owners == np.arange(n_features)[:, None]).astype(np.float64)
        return cls(columns, indicators, np.ascontiguousarray(table.T)[:, None], counts, neglected)

    def add_squares(self, kinds: Places, sums: Floats) -> None:
        """Add ``|U' f|^2`` of each feature for sets of kinds (sets, units), to (features, sets)."""
        first = np.zeros((len(kinds), 1), dtype=np.int32)
        for column, count in zip(self.table, self.counts, strict=True):
            raise_if_cancelled()
            if count:
                products = contract_looked_up(column, first, kinds, self.columns[:count])
                products *= products
                sums += self.indicators[:, :count] @ products


def _rotate(root: Floats, counts: Indices | None = None) -> Floats:
    """Return U R, R a rotation that makes the first columns as large as they can be."""
    weighted = root if counts is None else counts[:, None] * root
    _, rotation = np.linalg.eigh(root.T @ weighted)
    rotated: Floats = root @ rotation[:, ::-1]
    return rotated


def _by_unit(values: Floats, layers: Sequence[Indices], n_fixed: int) -> Floats:
    """Add up what the rows of every unit have, one row of `values` each; fixed ones as one unit."""
    result: Floats = values[layers[0]]
    for layer in layers[1:]:
        result[: len(layer)] += values[layer]
    if n_fixed:
        free = len(result) - n_fixed
        result = np.concatenate([result[:free], result[free:].sum(axis=0, keepdims=True)])
    return result
