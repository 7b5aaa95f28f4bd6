"""Values under a hierarchy by their definition: the mean over all orders that it admits."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from pkex.games import Ordered


def orders(group):
    """Return all orders of the features of a nested list in which groups stay together."""
    if not isinstance(group, list | Ordered):
        return [[group]]
    ordered = isinstance(group, Ordered)
    members: Any = getattr(group, "groups", group)
    found = []
    for permuted in [members] if ordered else itertools.permutations(members):
        for parts in itertools.product(*map(orders, permuted)):
            found.append([feature for part in parts for feature in part])
    return found


def by_orders(tree):
    """Return a function from a game to its values and the worth of nobody."""

    def attribute(value, n_players):
        table = {}

        def worth(present):
            if present not in table:
                table[present] = value(present)
            return table[present]

        admitted = orders(tree)
        added: Counter[Any] = Counter()  # how often a player comes to whom
        for order in admitted:
            added.update((j, frozenset(order[:place])) for place, j in enumerate(order))
        phi = [0.0] * n_players
        for (j, present), count in added.items():
            phi[j] = phi[j] + count * (worth(present | {j}) - worth(present))
        return np.array(phi, dtype=float) / len(admitted), np.asarray(worth(frozenset()))

    return attribute


def random_tree(rng, features, depth=0):
    """Return a nested list of all features, with groups of any size, some of them in order."""
    features = list(rng.permutation(features).tolist())
    if len(features) == 1:
        return features
    if depth and rng.random() < 0.3:
        return maybe_ordered(rng, features)
    n_cuts = rng.integers(1, len(features))
    cuts = sorted(rng.choice(np.arange(1, len(features)), size=n_cuts, replace=False).tolist())
    parts = [features[i:j] for i, j in zip([0, *cuts], [*cuts, len(features)], strict=True)]
    members = [
        part[0] if len(part) == 1 and rng.random() < 0.7 else random_tree(rng, part, depth + 1)
        for part in parts
    ]
    return maybe_ordered(rng, members)


def maybe_ordered(rng, members):
    return Ordered(members) if rng.random() < 0.15 else members


def exact_weight(tree, p, feature):
    """Return the weight of a feature in the neutral game, in rational numbers."""
    products = list(p)
    for members in tree.children:
        product = Fraction(1)
        for vertex in members:
            product *= products[vertex]
        products.append(product)
    weight, vertex = Fraction(1), feature
    for i, members in enumerate(tree.children):
        if vertex in members and tree.ordered[i]:
            for sibling in members[: members.index(vertex)]:
                weight *= products[sibling]
            vertex = tree.n_features + i
        elif vertex in members:
            coefficients = [Fraction(1)]  # of t, of the product over the siblings
            for sibling in members:
                if sibling != vertex:
                    change = products[sibling] - 1
                    shifted = [Fraction(0), *(change * c for c in coefficients)]
                    coefficients = [
                        a + b for a, b in zip([*coefficients, Fraction(0)], shifted, strict=True)
                    ]
            weight *= sum(c / (k + 1) for k, c in enumerate(coefficients))
            vertex = tree.n_features + i
    return weight
