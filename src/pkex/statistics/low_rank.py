"""Each player by itself under many sets of weights, where kernels and weights have low rank.

The kernel of a player by itself is ``K = U U'`` with few columns in U (`pkex.kernels.low_rank`),
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

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.permutations import EQUAL, PermutedSums
from pkex.games.threads import raise_if_cancelled, run_in_order
from pkex.kernels.low_rank import ACCEPTED, root_of
from pkex.kernels.normal_form import Term
from pkex.statistics.pair_weights import Factored, Shuffled

__all__ = ["sums_alone"]


_ENTRIES = 2**20  # of permuted f at once: 8 MiB
_ROOTS = 2**22  # entries of all U, above which players are taken in parts: 32 MiB
_MOST = 64  # rank of a kernel


def sums_alone(
    terms: Sequence[Term],
    players: Sequence[Sequence[int]],
    x: Floats,
    shuffled: Shuffled,
    *,
    n_jobs: int | None = 1,
) -> PermutedSums | None:
    """Return the sums over all pairs of the kernel of each player by itself, for all sets.

    None where ranks are so large that a pass over all pairs is no slower.
    """
    weights = shuffled.factored
    if weights is None:
        return None
    most = min(_MOST, len(x) // (4 * weights.table.shape[1]))
    found: list[PermutedSums] = []
    roots: list[Floats] = []
    for player in players:
        root = root_of([term.restricted(player) for term in terms], x, most)
        if root is None:
            return None
        roots.append(root)
        if sum(each.size for each in roots) > _ROOTS:
            found.append(_sums(roots, weights, shuffled, n_jobs))
            roots = []
    if roots:
        found.append(_sums(roots, weights, shuffled, n_jobs))
    sums, rounding = (
        np.concatenate([getattr(part, name) for part in found]) for name in ("sums", "rounding")
    )
    return PermutedSums(sums, rounding, 0.0, ())


def _sums(
    roots: Sequence[Floats], weights: Factored, shuffled: Shuffled, n_jobs: int | None
) -> PermutedSums:
    """Return what some players give."""
    table, linear, constant, scale, kinds, error = weights
    n_sets, n_units = kinds.shape
    starts = np.cumsum([0, *(root.shape[1] for root in roots[:-1])])
    rows = np.stack([root @ root.sum(axis=0) for root in roots], axis=1)
    diagonal = np.stack([(root**2).sum(axis=1) for root in roots], axis=1)
    totals = rows.sum(axis=0)
    together, rows, own = (
        _by_unit(part, shuffled.layers) for part in (np.concatenate(roots, axis=1), rows, diagonal)
    )
    squares = scale * ((table**2).sum(axis=1) + 2.0 * linear) + constant

    def run(some: slice) -> Floats:
        raise_if_cancelled()
        chosen = kinds[some]
        moved = table[chosen.T].reshape(n_units, -1)  # (units, sets x rank)
        products = together.T @ moved
        products *= products
        by_player = np.add.reduceat(products, starts, axis=0)
        sums: Floats = by_player.reshape(len(roots), len(chosen), -1).sum(axis=2)
        sums += 2.0 * (linear[chosen] @ rows).T
        sums *= scale
        sums += constant * totals[:, None]
        if not shuffled.with_self:
            sums -= (squares[chosen] @ own).T
        return sums

    step = max(1, _ENTRIES // (n_units * table.shape[1]))
    tasks = [slice(start, start + step) for start in range(0, n_sets, step)]
    sums = np.concatenate(list(run_in_order(run, tasks, n_jobs)), axis=1)
    # as in `ByPermutation`, and what the factors leave out of kernels and of weights
    rounding = EQUAL * shuffled.total / len(roots[0]) ** 2 * totals
    rounding += ACCEPTED * shuffled.total * diagonal.max(axis=0) + error * totals
    return PermutedSums(sums, rounding, 0.0, ())


def _by_unit(values: Floats, layers: Sequence[Indices]) -> Floats:
    """Add up what the rows of every unit have, one row of `values` each."""
    result: Floats = values[layers[0]]
    for layer in layers[1:]:
        result[: len(layer)] += values[layer]
    return result
