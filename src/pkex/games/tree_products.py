"""All products but one, for the nodes of a rule, from a balanced tree.

Upwards the product of every subtree, downwards the product of everything outside it: the three
multiplications per factor and node of prefix and suffix products, and no division, but the number
of NumPy calls grows with log(players) and every call runs over contiguous memory.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from pkex._util.types import Floats
from pkex.games.rules import Rule
from pkex.games.threads import workspace

__all__ = ["SWEEP", "leave_one_out"]


SWEEP = 2**17
"""Doubles in the widest array of a sweep: 1 MiB, so that a sweep stays in cache."""


def leave_one_out(u: Floats, start: Floats | None, rule: Rule) -> Floats:
    """Return ``sum_l w_l prod_{i != j} (a_i - t_l u_i)`` for every j.

    `u` and `start`, the a_i, which are 1 by default, have shape (players, pairs).
    """
    n_players, n_pairs = u.shape
    levels = _levels(n_players)
    n_vertices = levels[-1].stop
    step = min(rule.size, max(1, 8 * SWEEP // (n_players * n_pairs)))
    inside, outside = workspace("sweep", 2, step, n_vertices, n_pairs)
    result = np.zeros_like(u)
    for first in range(0, rule.size, step):
        t, w = rule.nodes[first : first + step], rule.weights[first : first + step]
        inside, outside = inside[: len(t)], outside[: len(t)]
        leaves = inside[:, :n_players]
        np.multiply(t[:, None, None], u, out=leaves)
        np.subtract(1.0 if start is None else start, leaves, out=leaves)
        outside[:, -1] = w[:, None]
        _fill_outside(levels, inside, outside)
        result += outside[:, :n_players].sum(axis=0)
    return result


@lru_cache(maxsize=256)
def _levels(n_players: int) -> tuple[slice, ...]:
    """Return where the levels of the tree stand, from the players up to the root."""
    levels = [slice(0, n_players)]
    while (width := levels[-1].stop - levels[-1].start) > 1:
        levels.append(slice(levels[-1].stop, levels[-1].stop + (width + 1) // 2))
    return tuple(levels)


def _fill_outside(levels: tuple[slice, ...], inside: Floats, outside: Floats) -> None:
    """Fill in the products inside every vertex, upwards, and outside it, downwards.

    On axis 1 stand the vertices of all levels. The children of vertex i of a level are i and
    ``half + i`` of the level below; with an odd number of them the last of the first half is an
    only child.
    """
    for level, above in pairwise(levels):
        half = above.stop - above.start
        left, right = inside[:, level][:, :half], inside[:, level][:, half:]
        couples = right.shape[1]
        parents = inside[:, above]
        np.multiply(left[:, :couples], right, out=parents[:, :couples])
        parents[:, couples:] = left[:, couples:]
    for above, level in pairwise(reversed(levels)):
        half = above.stop - above.start
        left, right = inside[:, level][:, :half], inside[:, level][:, half:]
        couples = right.shape[1]
        parents, children = outside[:, above], outside[:, level]
        np.multiply(parents[:, :couples], right, out=children[:, :couples])
        np.multiply(parents[:, :couples], left[:, :couples], out=children[:, half:])
        children[:, couples:half] = parents[:, couples:]
