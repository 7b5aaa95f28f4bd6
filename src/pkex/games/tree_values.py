"""The passes over a hierarchy in NumPy: products up, weights down; see `pkex.games.hierarchy`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.hierarchy import Hierarchy
from pkex.games.rules import exact
from pkex.games.tree_products import leave_one_out

__all__ = ["group_weights", "share_out"]

Product = Callable[[Any, Any], Any]


def group_weights(tree: Hierarchy, p: Floats, a: Floats | None) -> Floats:
    """Return ``Q_j``, what a change of the factor of each player counts, shape (players, pairs).

    `p` and `a`, the factors of present and of absent players, have the same shape; the latter are 1
    by default.
    """
    ones = np.ones_like(p[0])
    absent = [ones] * len(p) if a is None else list(a)
    weights = share_out(tree, list(p), absent, np.multiply, ones, _integrals)
    return np.stack(weights)


def share_out(
    tree: Hierarchy,
    present: Sequence[Any],
    absent: Sequence[Any],
    product: Product,
    one: Any,
    integrals: Callable[[list[Any], list[Any]], Iterable[Any]],
) -> list[Any]:
    """Return what the change of each player counts; for numbers, or series with their `product`.

    `integrals` has for the factors of three siblings or more the integrals of the products over all
    but each.
    """
    up, down = list(present), list(absent)
    for members in tree.children:
        both = up[members[0]], down[members[0]]
        for vertex in members[1:]:
            both = product(both[0], up[vertex]), product(both[1], down[vertex])
        up.append(both[0])
        down.append(both[1])
    weights: list[Any] = [None] * len(up)
    weights[-1] = one
    for i in range(len(tree.children) - 1, -1, -1):
        members, weight = tree.children[i], weights[tree.n_features + i]
        weights[tree.n_features + i] = None  # nobody asks for it again
        p, a = [up[vertex] for vertex in members], [down[vertex] for vertex in members]
        if len(members) == 1:
            weights[members[0]] = weight
            continue
        others: Iterable[Any]
        if tree.ordered[i]:
            others = _in_order(p, a, product)
        elif len(members) == 2:
            others = [0.5 * (p[1] + a[1]), 0.5 * (p[0] + a[0])]
        else:
            others = integrals(p, a)
        for vertex, other in zip(members, others, strict=True):
            weights[vertex] = product(weight, other)
    return weights[: tree.n_features]


def _in_order(p: list[Any], a: list[Any], product: Product) -> list[Any]:
    """Return the products of the present ones before each, and of the absent ones after it."""
    before, after = [None, p[0]], [a[-1], None]
    for factor in p[1:-1]:
        before.append(product(before[-1], factor))
    for factor in a[-2:0:-1]:
        after.insert(0, product(factor, after[0]))
    return [
        right if left is None else left if right is None else product(left, right)
        for left, right in zip(before, after, strict=True)
    ]


def _integrals(p: list[Any], a: list[Any]) -> Floats:
    absent = np.stack(a)
    return leave_one_out(absent - np.stack(p), absent, exact(len(p)))
