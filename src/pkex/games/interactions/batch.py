"""Pairs of points, measured and sorted by rule, and added to a tally."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.interactions.chosen import add_chosen
from pkex.games.interactions.everything import add_all
from pkex.games.interactions.recipe import Portion, Recipe
from pkex.games.interactions.tally import Tally
from pkex.games.protocols import Factors, Game, Measured
from pkex.games.rules import Ladder, Rule
from pkex.games.threads import raise_if_cancelled

__all__ = ["add_batch"]


_UNDERFLOW = 2.0**-700  # what is lost by underflow, and by `NOTHING`, is far below
# Choices by time, of `python -m benchmarks.interactions`:
_ALIKE = 1.5  # ratio of the sizes of rules up to which few pairs all take the larger one
_WIDE = 512  # columns of a tile at least, as its product with itself costs a pass over d x d
_TRIPLES = 4  # tiles for triples are wider by this, as a product is formed for each player


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def add_batch(
    recipe: Recipe,
    game: Game,
    present: Factors,
    absent: Factors | None,
    weights: Floats,
    tally: Tally,
) -> None:
    """Add pairs of points to a tally.

    Parameters
    ----------
    recipe : Recipe
    game : Game
        Whose factors these are.
    present : Factors of shape (players, points)
    absent : Factors of shape (players, pairs), or None
        1 if None. The pairs are the points, once or several times.
    weights : array of shape (pairs, sets)
    tally : Tally
    """
    ratios, rungs = game.ratios, recipe.rules
    pairs = ratios.measured(game.term, present, absent, rungs.lower)
    _note_sizes(recipe, pairs, weights, tally)
    everything = recipe.subsets is None
    width = ratios.width if everything else 1
    groups = list(_group_by_rule(recipe, pairs, rungs, width, ratios.entries))
    whole = np.arange(-(-len(pairs.lam) // width))
    work = [Portion(pairs, weights, None, r.nodes, recipe.shares(r), order) for r, order in groups]
    for node, sizes in recipe.nodes.items():
        shares = dict.fromkeys(sizes, np.ones(1))
        work.append(Portion(pairs, weights, node, np.array([node]), shares, whole))
    for portion in work:
        step = _tile_width(recipe, ratios.entries, width * len(portion.nodes))
        for first in range(0, len(portion.order), step):
            raise_if_cancelled()
            some = portion._replace(order=portion.order[first : first + step])
            if everything:
                add_all(ratios, some, tally)
            else:
                add_chosen(recipe, some, tally)
            tally.add({}, largest=len(some.order) * width * len(some.nodes))
    if recipe.integrated:
        tally.rules.update(rule for rule, _ in groups)


def _tile_width(recipe: Recipe, entries: int, columns: int) -> int:
    """Return how many groups of so many columns make a tile that stays in cache."""
    step = max(entries // recipe.n_players, _WIDE) // columns
    if recipe.subsets is None and recipe.most > 2:
        step *= _TRIPLES
    return max(1, step)


def _note_sizes(recipe: Recipe, pairs: Measured, weights: Floats, tally: Tally) -> None:
    """Add what bounds errors to a tally, and the products of all present factors.

    A value of s players is at most ``prod_S |p_j - a_j|`` times the magnitude, so at most the
    widest of these to the power s where it is above 1; all values of at most k players together are
    at most ``(1 + lam)^k`` times it. Outside of the rules' range the magnitude is that of the
    values of games, ``prod max(1, |p_j|, |a_j|)`` times ``1 + lam``.
    """
    magnitudes, lam, outside = pairs.magnitudes, pairs.lam, pairs.outside
    widest = np.where(magnitudes < 1.0, 2.0, pairs.widest)  # in the tail, relative to the larger
    if outside.any():
        start = 1.0 if pairs.start is None else pairs.start[:, outside]
        ends = np.maximum(np.abs(start), np.abs(start - pairs.drops[:, outside]))
        over = np.multiply.reduce(np.maximum(1.0, ends), axis=0)
        magnitudes = magnitudes.copy()
        magnitudes[outside] *= over * (1.0 + lam[outside])
    magnitudes = np.maximum(magnitudes, _UNDERFLOW)
    sizes = np.abs(weights)
    tally.add_array("sizes", (magnitudes * np.maximum(1.0, widest) ** recipe.most) @ sizes)
    tally.add_array("reach", (magnitudes * (1.0 + lam) ** recipe.most) @ sizes)
    tally.add_array("totals", pairs.totals @ weights)


def _group_by_rule(
    recipe: Recipe, pairs: Measured, rungs: Ladder, width: int, entries: int
) -> Iterator[tuple[Rule, Indices]]:
    """Yield rules, each with the groups of pairs that take it: the largest that one of them needs.

    Rules of much the same size are not told apart where all pairs fit one tile.
    """
    if not recipe.integrated:
        return
    steps = np.searchsorted(rungs.limits, pairs.lam + recipe.more_players)
    steps[pairs.outside] = len(rungs.rules)
    rules = (*rungs.rules, None)
    most, least = int(steps.max()), int(steps.min())
    largest, smallest = rules[most], rules[least]
    if largest is not None and smallest is not None:
        fits = pairs.drops.size * largest.size <= entries
        if most == least or (fits and largest.size <= _ALIKE * smallest.size):
            yield largest, np.arange(-(-len(steps) // width))
            return
    key = np.pad(steps, (0, -len(steps) % width)).reshape(-1, width).max(axis=1)
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order])) + 1
    for first, last in pairwise([0, *edges.tolist(), len(order)]):
        some = order[first:last]
        yield rules[int(key[some[0]])] or rungs.fallback, some
