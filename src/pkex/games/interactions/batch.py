"""Pairs of points, measured and sorted by rule, and added to the tallies of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.games.interactions.chosen import sum_chosen
from pkex.games.interactions.everything import sum_all
from pkex.games.interactions.recipe import Recipe
from pkex.games.interactions.tally import Tally
from pkex.games.protocols import Factors, Game, Measured
from pkex.games.rules import Rule
from pkex.games.threads import raise_if_cancelled

__all__ = ["add_rows"]


_UNDERFLOW = 2.0**-700  # what is lost by underflow, and by `NOTHING`, is far below
# Ratio of the sizes of rules up to which few pairs all take the larger one: a choice by time, of
# `python -m benchmarks.interactions`.
_ALIKE = 1.5


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def add_rows(
    recipe: Recipe,
    game: Game,
    present: Factors,
    absent: Factors | None,
    weights: Floats,
    tallies: Sequence[Tally],
) -> None:
    """Add pairs of rows and points to the tallies of the rows.

    Parameters
    ----------
    recipe : Recipe
    game : Game
        Whose factors these are.
    present : Factors of shape (players, rows, points)
    absent : Factors of shape (players, pairs), or None
        1 if None. The pairs are the points, once or several times.
    weights : array of shape (pairs, sets)
    tallies : sequence of Tally
        One for each row.
    """
    ratios, rungs = game.ratios, recipe.rules
    width = ratios.width if recipe.subsets is None else 1  # pairs that go together
    raise_if_cancelled()
    for row, tally in enumerate(tallies):
        here = Factors(*(part[:, row] for part in present))
        pairs = ratios.measured(game.term, here, absent, rungs.lower)
        sizes = _bound_sizes(recipe, pairs, weights)
        groups = _group_by_rule(recipe, pairs, width, ratios.entries)
        portions = recipe.portions(pairs, weights, groups, width, ratios)
        if recipe.subsets is None:
            sums = sum_all(ratios, portions)
        else:
            sums = {"chosen": sum_chosen(recipe, portions)}
        largest = width * max(len(some.order) * len(some.nodes) for some in portions)
        tally.add(
            sizes | sums,
            rules=[rule for rule, _ in groups],
            largest=largest,
            n_blocks=len(portions),
        )


def _bound_sizes(recipe: Recipe, pairs: Measured, weights: Floats) -> dict[Any, Floats]:
    """Return what bounds errors, and the weighted products of all present factors.

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
    return {
        "sizes": (magnitudes * np.maximum(1.0, widest) ** recipe.most) @ sizes,
        "reach": (magnitudes * (1.0 + lam) ** recipe.most) @ sizes,
        "totals": pairs.totals @ weights,
    }


def _group_by_rule(
    recipe: Recipe, pairs: Measured, width: int, entries: int
) -> list[tuple[Rule, Indices]]:
    """Return rules, each with the groups of pairs that take it: the largest that one of them needs.

    Rules of much the same size are not told apart where all pairs fit one tile.
    """
    if not recipe.integrated:
        return []
    rungs, more = recipe.rules, recipe.more_players
    largest_lam = _by_group(pairs.lam, width).max(axis=1)
    key = np.searchsorted(rungs.limits, largest_lam + more)
    key[_by_group(pairs.outside, width).any(axis=1)] = len(rungs.rules)
    most, least = int(key.max()), int(np.searchsorted(rungs.limits, pairs.lam.min() + more))
    if most < len(rungs.rules):
        largest, smallest = rungs.rules[most], rungs.rules[least]
        n_nodes = len(largest.nodes)
        fits = pairs.drops.size * n_nodes <= entries
        if most == least or (fits and n_nodes <= _ALIKE * len(smallest.nodes)):
            return [(largest, np.arange(len(key)))]
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order])) + 1
    groups = []
    for some in np.split(order, edges):
        step = int(key[some[0]])
        rule = rungs.rules[step] if step < len(rungs.rules) else rungs.fallback
        groups.append((rule, some))
    return groups


def _by_group(numbers: NDArray[Any], width: int) -> NDArray[Any]:
    """Return numbers of pairs by groups, the last one filled up with zeros."""
    lacking = -len(numbers) % width
    if lacking:
        numbers = np.concatenate([numbers, np.zeros(lacking, dtype=numbers.dtype)])
    return numbers.reshape(-1, width)
