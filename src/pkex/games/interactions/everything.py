"""All players, all pairs and all triples of players at once, as matrix products of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.interactions.recipe import Portion
from pkex.games.protocols import Ratios

__all__ = ["sum_all"]


Sums = dict[Any, Floats]  # by a node, or None for the integral, and a size of subsets


def sum_all(ratios: Ratios, portions: Sequence[Portion]) -> Sums:
    """Return the sums of all subsets of some sizes, over groups of pairs at some nodes."""
    total: Sums = {}
    for portion in portions:
        sums = _sum_gram(ratios, portion) or _sum_plain(ratios, portion)
        for size, array in sums.items():
            key = portion.where, size
            total[key] = total[key] + array if key in total else array
    return total


def _sum_gram(ratios: Ratios, portion: Portion) -> Sums:
    """Return players and pairs of players by ``T T'``; nothing where weights have both signs."""
    if not portion.has_gram:
        return {}
    pairs, weights, _, nodes, shares, order, _ = portion
    pair_weights, sums_by_size, result = weights[:, 0], dict[int, Floats](), Sums()
    if 2 in shares:
        product, sums_by_size[2] = ratios.gram(pairs, order, nodes, shares[2], pair_weights)
        if (pair_weights.min() < 0.0) != (shares[2].min() < 0.0):
            product = -product
        result[2] = product[None]
    for size in (0, 1):
        if size not in shares:
            continue
        known = [k for k in sums_by_size if np.array_equal(shares[k], shares[size])]
        sums = (
            sums_by_size[known[0]]
            if known
            else ratios.sums(pairs, order, nodes, shares[size], pair_weights)
        )
        sums_by_size[size] = sums
        # single players by absent minus present factors
        result[size] = sums[-1:].copy() if size == 0 else -sums[:-1, None]
    return result


def _sum_plain(ratios: Ratios, portion: Portion) -> Sums:
    """Return subsets of any weights."""
    pairs, weights, _, nodes, shares, order, _ = portion
    n_sets = weights.shape[1]
    products, table = ratios.plain(pairs, order, nodes)
    lacking = -len(weights) % ratios.width
    padded = np.pad(weights, ((0, lacking), (0, 0))) if lacking else weights
    pair_weights = padded.reshape(-1, ratios.width, n_sets)[order]
    pair_weights = pair_weights.reshape(len(products), 1, products.shape[2], n_sets)
    local: Floats = np.empty(0)
    used, result = None, Sums()
    for size, share in shares.items():
        if used is None or not np.array_equal(used, share):
            used = share
            scaled = products * share[:, None]
            local = (scaled[:, :, :, None] * pair_weights).reshape(-1, n_sets)
        if size == 0:
            result[0] = local.sum(axis=0)
        elif size == 1:
            result[1] = -(table @ local)  # these are absent minus present factors
        elif size == 2:
            result[2] = np.stack([_gram(table, local[:, i]) for i in range(n_sets)])
        else:
            result[3] = -np.stack([_cube(table, local[:, i]) for i in range(n_sets)])
    return result


def _gram(ratios: Floats, weights: Floats) -> Floats:
    """Return ``R diag(w) R'``."""
    product = (ratios * weights) @ ratios.T
    return 0.5 * (product + product.T)


def _cube(ratios: Floats, weights: Floats) -> Floats:
    """Return ``sum_e w_e R_ie R_je R_ke`` for all i < j < k, in their order."""
    n_players = len(ratios)
    parts = []
    for i in range(n_players - 2):
        rest = ratios[i + 1 :]
        product = (rest * (weights * ratios[i])) @ rest.T
        parts.append(product[np.triu_indices(len(rest), 1)])
    return np.concatenate(parts) if parts else np.zeros(0)
