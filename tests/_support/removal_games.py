"""Interventional and marginal removal by their definitions, and problems to try them on.

The oracles know the model only by its predictions. Under interventional removal a coalition is
worth the mean prediction when the other columns are those of a background row; under marginal
removal every absent player is drawn from the background independently of the others, so all
combinations of background rows are predicted. Shapley values follow by enumeration.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pkex import Explainer, KernelExpansion
from pkex.kernels import RBF, Constant, Linear
from tests._support.cases import KERNELS, Case, alone, assert_close, sample, scales
from tests._support.naive import shapley_by_enumeration

GAMES = ("interventional", "product-of-marginals")
LINEAR = [
    Case("linear", lambda s, p: Linear(), unit=False),
    Case("rbf-plus-linear", lambda s, p: RBF(s, columns=p) + 0.3 * Linear(), unit=False),
    Case("rbf-times-linear", lambda s, p: RBF(s, columns=p) * Linear(), unit=False),
    Case(
        "linear-and-constant-times-rbf",
        lambda s, p: (Linear() + Constant(0.5)) * RBF(s, columns=p) + Constant(2.0),
        unit=False,
    ),
]
CASES = [*KERNELS, *LINEAR]

all_kernels = pytest.mark.parametrize("case", CASES, ids=str)
all_games = pytest.mark.parametrize("removal", GAMES)


# --------------------------------------------------------------------------------------- oracles


def spliced(row, replacements, players, present):
    """Return a row for each replacement, with the columns of the players present from `row`."""
    rows = np.array(replacements)
    for player in present:
        rows[:, list(players[player])] = row[list(players[player])]
    return rows


def interventional(predict, row, background, shares, players, attribute=None):
    """Return the Shapley values and the base value by enumeration, or others by `attribute`."""

    def value(present):
        return shares @ predict(spliced(row, background, players, present))

    return (attribute or enumerated)(value, len(players))


def marginal(predict, row, background, shares, players, attribute=None):
    """Return the same for players drawn independently: by all combinations of background rows."""
    draws = np.array(list(product(range(len(background)), repeat=len(players))))
    weights = shares[draws].prod(axis=1)
    rows = np.empty((len(draws), background.shape[1]))
    for i, columns in enumerate(players):
        for column in columns:
            rows[:, column] = background[draws[:, i], column]

    def value(present):
        return weights @ predict(spliced(row, rows, players, present))

    return (attribute or enumerated)(value, len(players))


def by_factors(kernel, points, alpha, row, background, shares, players):
    """Return the marginal values and base from the definition by mean factors."""
    d = points.shape[1]

    def value(present):
        worth = 0.0
        for term in kernel.terms(d):
            own = term.factors(row[None, :], points)[0]
            theirs = term.factors(background, points)
            product_of_all = np.full(len(points), term.coefficient)
            for i, columns in enumerate(players):
                if i in present:
                    product_of_all *= own[:, columns].prod(axis=1)
                else:
                    product_of_all *= shares @ theirs[:, :, columns].prod(axis=2)
            worth += product_of_all @ alpha
        return worth

    return enumerated(value, len(players))


def enumerated(value, n_players):
    table = {}

    def remembered(present):
        if present not in table:
            table[present] = value(present)
        return table[present]

    phi = shapley_by_enumeration(remembered, n_players)
    return np.array(phi, dtype=float), np.asarray(remembered(frozenset()))


ORACLES = {"interventional": interventional, "product-of-marginals": marginal}


def problem(case, d, n_background, seed=0, n=9, n_rows=2, outputs=()):
    rng = np.random.default_rng([seed, d, n_background, n])
    spread = scales(rng, d)
    points, rows = sample(rng, n, d), sample(rng, n_rows, d)
    background = sample(rng, n_background, d)
    alpha = rng.normal(size=(n, *outputs))
    return KernelExpansion(points, alpha, case.build(spread), 0.25), rows, background, spread


def magnitude(expansion, *rows):
    """The worth of a coalition at most, whichever rows its columns come from.

    Rounding errors of values and bases are relative to it.
    """
    points, total = expansion.points, 1.0
    alpha = np.abs(expansion.coefficients.reshape(len(points), -1)).max(axis=1)
    for term in expansion.kernel.terms(points.shape[1]):
        sizes = np.abs(term.factors(np.concatenate(rows), points)).max(axis=0)
        total += term.coefficient * alpha @ np.maximum(1.0, sizes).prod(axis=1)
    return total


def explained(expansion, rows, background=None, **options):
    return Explainer(expansion, background, **{"n_jobs": 1} | options)(rows)


def check(expansion, rows, background, removal, players=None, shares=None, **options):
    """Compare with the oracle, to 1e-13 of the largest worth: some hundreds of roundings."""
    players = alone(expansion.points.shape[1]) if players is None else players
    explanation = explained(expansion, rows, background, removal=removal, **options)
    shares = np.full(len(background), 1.0 / len(background)) if shares is None else shares
    atol = 1e-13 * magnitude(expansion, rows, background)
    for i, row in enumerate(rows):
        values, base = ORACLES[removal](expansion.predict, row, background, shares, players)
        assert_close(explanation.values[i], values, atol)
        assert_close(explanation.base_values[i], base, atol)
    return explanation
