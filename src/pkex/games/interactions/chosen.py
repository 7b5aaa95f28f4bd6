"""Chosen subsets of any order, by products without division."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.interactions.recipe import Portion, Recipe

__all__ = ["sum_chosen"]


def sum_chosen(recipe: Recipe, portions: Sequence[Portion]) -> Floats:
    """Return the values of chosen subsets over pairs at some nodes, shape (subsets, sets)."""
    assert recipe.subsets is not None
    total = np.zeros((len(recipe.subsets), portions[0].weights.shape[1]))
    for pairs, weights, where, nodes, shares, order, _ in portions:
        drops, pair_weights = pairs.drops[:, order], weights[order]
        start = 1.0 if pairs.start is None else pairs.start[:, None, order]
        factors = start - nodes[None, :, None] * drops[:, None, :]
        for place, subset in enumerate(recipe.subsets):
            functional = recipe.functionals[len(subset)]
            others = [j for j in range(recipe.n_players) if j not in subset]
            if where is None:
                if not functional.density:
                    continue
                outside = shares[len(subset)] @ np.multiply.reduce(factors[others], axis=0)
            else:
                orders = {
                    point.order: point.weight for point in functional.points if point.node == where
                }
                if not orders:
                    continue
                series = _taylor(factors[others, 0], drops[others], max(orders))
                outside = np.zeros(drops.shape[1])
                for degree, weight in orders.items():
                    outside += weight * series[degree]
            together = (-1.0) ** len(subset) * np.multiply.reduce(drops[list(subset)], axis=0)
            total[place] += (together * outside) @ pair_weights
    return total


def _taylor(factors: Floats, drops: Floats, order: int) -> list[Floats]:
    """Return the first coefficients of ``prod_j (f_j - y u_j)`` as a polynomial in y."""
    series = [np.ones(drops.shape[1])] + [np.zeros(drops.shape[1]) for _ in range(order)]
    for f, u in zip(factors, drops, strict=True):
        for r in range(order, 0, -1):
            series[r] = series[r] * f - series[r - 1] * u
        series[0] = series[0] * f
    return series
