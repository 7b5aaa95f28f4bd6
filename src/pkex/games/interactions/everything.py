"""All players, all pairs and all triples of players at once, as matrix products of ratios."""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex.games.interactions.recipe import Portion
from pkex.games.interactions.tally import Tally
from pkex.games.protocols import Ratios
from pkex.games.threads import workspace

__all__ = ["add_all", "has_one_sign"]


def add_all(ratios: Ratios, portion: Portion, tally: Tally) -> None:
    """Add groups of pairs at some nodes to the sums of all subsets of some sizes."""
    if not _add_gram(ratios, portion, tally):
        _add_plain(ratios, portion, tally)


def has_one_sign(weights: Floats) -> bool:
    """Tell whether no two numbers have different signs."""
    return bool(weights.min() >= 0.0 or weights.max() <= 0.0)


def _add_gram(ratios: Ratios, portion: Portion, tally: Tally) -> bool:
    """Add players and pairs of players by ``T T'``, if all weights have one sign."""
    pairs, weights, where, nodes, shares, order = portion
    if weights.shape[1] > 1 or not {0, 1, 2}.issuperset(shares):
        return False
    pair_weights, sums_by_size = weights[:, 0], dict[int, Floats]()
    if 2 in shares:
        if pairs.lowest < 0.0 or not has_one_sign(pair_weights) or not has_one_sign(shares[2]):
            return False
        product, sums_by_size[2] = ratios.gram(pairs, order, nodes, shares[2], pair_weights)
        if (pair_weights.min() < 0.0) != (shares[2].min() < 0.0):
            product = -product
        tally.add_array((where, 2), product[None])
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
        tally.add_array((where, size), sums[-1:].copy() if size == 0 else -sums[:-1, None])
    return True


def _add_plain(ratios: Ratios, portion: Portion, tally: Tally) -> None:
    """Add subsets of any weights."""
    pairs, weights, where, nodes, shares, order = portion
    n_sets = weights.shape[1]
    products, table = ratios.plain(pairs, order, nodes)
    lacking = -len(weights) % ratios.width
    padded = np.pad(weights, ((0, lacking), (0, 0))) if lacking else weights
    pair_weights = padded.reshape(-1, ratios.width, n_sets)[order]
    pair_weights = pair_weights.reshape(len(products), 1, products.shape[2], n_sets)
    local: Floats = np.empty(0)
    used = None
    for size, share in shares.items():
        if used is None or not np.array_equal(used, share):
            used = share
            scaled = products * share[:, None]
            local = (scaled[:, :, :, None] * pair_weights).reshape(-1, n_sets)
        sums: Floats
        if size == 0:
            sums = local.sum(axis=0)
        elif size == 1:
            sums = -(table @ local)  # these are absent minus present factors
        elif size == 2:
            sums = np.stack([_gram(table, local[:, i]) for i in range(n_sets)])
        else:
            sums = -np.stack([_cube(table, local[:, i]) for i in range(n_sets)])
        tally.add_array((where, size), sums)


def _gram(ratios: Floats, weights: Floats) -> Floats:
    """Return ``R diag(w) R'``."""
    scaled = np.multiply(ratios, weights, out=workspace("halves", *ratios.shape))
    product = scaled @ ratios.T
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
