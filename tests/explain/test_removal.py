"""Interventional and marginal removal against their definitions, however the work is cut.

The definitions are in `removal_games.py`.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pkex import Explainer, KernelExpansion
from pkex.games import points, single_player, sources
from pkex.games.plan import Plan
from pkex.games.points import Background, WeightedPoints
from pkex.kernels import RBF
from tests._support.cases import alone, assert_close
from tests._support.pairwise import pairwise
from tests._support.removal_games import (
    CASES,
    GAMES,
    LINEAR,
    all_games,
    all_kernels,
    by_factors,
    check,
    explained,
    magnitude,
    problem,
)


@pairwise(
    case=CASES,
    game=[*product(GAMES, (1, 2, 4)), ("interventional", 7)],
    backend=["numpy", "native"],
)
def test_values_equal_the_definition(case, game, backend, monkeypatch):
    removal, d = game
    if backend == "native":
        pytest.importorskip("pkex.games.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    expansion, rows, background, _ = problem(case, d, 3)
    check(expansion, rows, background, removal)


@all_kernels
def test_marginal_values_equal_the_definition_by_mean_factors(case):
    expansion, rows, background, _ = problem(case, 6, 11)
    values = explained(expansion, rows, background, removal="product-of-marginals")
    atol = 1e-13 * magnitude(expansion, rows, background)
    shares = np.full(11, 1.0 / 11.0)
    for i, row in enumerate(rows):
        expected, base = by_factors(
            expansion.kernel,
            expansion.points,
            expansion.coefficients,
            row,
            background,
            shares,
            alone(6),
        )
        assert_close(values.values[i], expected, atol)
        assert_close(values.base_values[i], base + 0.25, atol)


@all_kernels
@all_games
def test_several_outputs(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3, outputs=(3,))
    explanation = check(expansion, rows, background, removal)
    assert explanation.values.shape == (2, 4, 3)
    assert explanation.base_values.shape == (2, 3)


@all_kernels
@all_games
def test_a_group_is_one_player(case, removal):
    """All its columns come from the same background row, also under marginal removal."""
    expansion, rows, background, _ = problem(case, 6, 3)
    players = ((0,), (1, 5), (2, 3), (4,))
    groups = {"a": [5, 1], "b": [2, 3]}
    explanation = check(expansion, rows, background, removal, players, groups=groups)
    assert explanation.feature_names == ("x0", "a", "b", "x4")


@all_kernels
@all_games
def test_one_group_of_all_columns(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3)
    check(expansion, rows, background, removal, ((0, 1, 2, 3),), groups=[[0, 1, 2, 3]])


@all_kernels
@all_games
def test_weights_of_the_background(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3)
    weights = np.array([1.0, 7.0, 0.25])
    shares = weights / weights.sum()
    check(expansion, rows, background, removal, shares=shares, background_weights=weights.tolist())


@all_kernels
def test_a_single_row_gives_baseline_values_in_both_games(case):
    expansion, rows, background, _ = problem(case, 5, 1)
    first = check(expansion, rows, background, "interventional")
    second = check(expansion, rows, background, "product-of-marginals")
    assert_close(first.values, second.values, 1e-14 * magnitude(expansion, rows, background))


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("budget", [1, 30, 200])
@all_games
def test_blocks_do_not_change_values(removal, budget, backend, monkeypatch):
    """Small blocks of pairs and of absent factors, kept for the next call or not."""
    if backend == "native":
        pytest.importorskip("pkex.games.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    for case in CASES[0], LINEAR[1], LINEAR[2]:
        expansion, rows, background, _ = problem(case, 4, 5, n=11, n_rows=3)
        whole = explained(expansion, rows, background, removal=removal)
        atol = 1e-14 * magnitude(expansion, rows, background)
        with monkeypatch.context() as small:
            small.setattr(sources, "_BLOCK", budget)
            small.setattr(points, "_ABSENT", budget)
            small.setattr(sources, "_SCENARIOS", budget)
            small.setattr(single_player, "_ROWS", budget)
            for kept in (0, 2**23):
                small.setattr(points, "_ABSENT_KEPT", kept)
                explain = Explainer(expansion, background, removal=removal, n_jobs=1)
                for again in (explain(rows), explain(rows)):
                    assert_close(again.values, whole.values, atol)
                    assert_close(again.base_values, whole.base_values, atol)


@pytest.mark.parametrize("kept", [0, 2**23])
@all_games
def test_threads_do_not_change_a_bit(removal, kept, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 500)
    monkeypatch.setattr(points, "_ABSENT_KEPT", kept)
    expansion, rows, background, _ = problem(CASES[0], 20, 7, n=60, n_rows=11)
    one, four = (
        explained(expansion, rows, background, removal=removal, n_jobs=n).values for n in (1, 4)
    )
    assert np.array_equal(one, four)


@all_kernels
@all_games
def test_the_two_backends_agree(case, removal, monkeypatch):
    pytest.importorskip("pkex.games.native")
    expansion, rows, background, _ = problem(case, 30, 6, n=20)
    found = []
    for backend in ("numpy", "native"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        found.append(explained(expansion, rows, background, removal=removal))
    atol = 1e-13 * magnitude(expansion, rows, background)
    assert_close(found[0].values, found[1].values, atol)
    assert_close(found[0].base_values, found[1].base_values, atol)


def test_the_backend_can_change_between_calls(monkeypatch):
    pytest.importorskip("pkex.games.native")
    expansion, rows, background, _ = problem(CASES[0], 6, 5)
    explain = Explainer(expansion, background)
    values = []
    for backend in ("numpy", "native", "numpy"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        values.append(explain(rows).values)
    assert_close(values[0], values[1], 1e-14)
    assert np.array_equal(values[0], values[2])


@all_games
def test_a_plan_serves_other_points_of_the_same_number(removal):
    """Absent factors that are kept belong to the points that they were made for."""
    rng = np.random.default_rng(0)
    rows, first, second, others = (rng.normal(size=(4, 3)) for _ in range(4))
    background = Background(np.asfortranarray(others), np.full(4, 0.25), removal == GAMES[1])
    used, fresh = (Plan.of(RBF().terms(3), alone(3), general=True) for _ in range(2))
    found = [
        WeightedPoints(plan, z, np.ones((4, 1)), background).explain(rows).values
        for plan, z in ((used, first), (used, second), (fresh, second))
    ]
    assert_close(found[1], found[2], 0)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@all_games
@pytest.mark.parametrize("d", [60, 300])
def test_a_tolerance_keeps_its_promise(removal, d):
    """An integral is off by tol at most, and a value by |p - a| <= 1 times that for each point."""
    rng = np.random.default_rng(d)
    expansion = KernelExpansion(rng.normal(size=(15, d)), rng.normal(size=15), RBF(d**0.5 / 3.0))
    rows, background = rng.normal(size=(3, d)), rng.normal(size=(4, d))
    tight = explained(expansion, rows, background, removal=removal)
    loose = explained(expansion, rows, background, removal=removal, tol=1e-5)
    error = np.abs(loose.values - tight.values).max()
    assert 0.0 < error <= 1e-5 * np.abs(expansion.coefficients).sum()
    assert max(r.size for r in loose.rules) < max(r.size for r in tight.rules)
    assert loose.rule.relative_error <= 1e-5
