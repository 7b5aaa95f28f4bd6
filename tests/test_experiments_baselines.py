"""Baselines against the definition on small games, and the games against each other and pkex."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVR

import pkex
from tests._support.naive import shapley_by_enumeration

pytestmark = pytest.mark.experiments

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what packages say when they are imported
    pytest.importorskip("optuna")  # not for lowest versions
    pytest.importorskip("pyHSICLasso")
    from experiments import games
    from experiments.baselines import Coalitions, Sample, bishap, bivariate, gemfix, kernel_shap
    from experiments.baselines.bishap import page_rank
    from experiments.recovery import methods
    from experiments.regression import neutral_game, paired_kernel_shap

D = 5


@pytest.fixture(scope="module")
def tables():
    """Two random games as tables from coalitions to values."""
    rng = np.random.default_rng(0)
    return [{key: rng.normal() for key in product((False, True), repeat=D)} for _ in range(2)]


def values_of(tables):
    return lambda members: np.array([[game[tuple(S)] for game in tables] for S in members.tolist()])


def by_definition(game):
    def value(S):
        return game[tuple(i in S for i in range(D))]

    return [float(phi) for phi in shapley_by_enumeration(value, D)]


@pytest.fixture(scope="module")
def sample(tables):
    return Sample.of(Coalitions.every(D), values_of(tables))


def test_kernel_shap_of_all_coalitions_is_exact(tables, sample):
    expected = [by_definition(game) for game in tables]
    np.testing.assert_allclose(kernel_shap(sample), expected, atol=1e-12)


def test_gemfix_of_all_coalitions_is_exact(tables, sample):
    expected = [by_definition(game) for game in tables]
    np.testing.assert_allclose(gemfix(sample, lam=0.0), expected, atol=1e-10)
    assert np.abs(gemfix(sample, lam=1e-3) - expected).max() < 0.01


def test_bivariate_values_of_all_coalitions_are_exact(tables, sample):
    for game, G in zip(tables, bivariate(sample), strict=True):
        for j in range(D):
            present = {S: v * S[j] for S, v in game.items()}
            np.testing.assert_allclose(G[:, j], by_definition(present), atol=1e-12)


def test_page_rank_is_the_stationary_distribution(sample):
    for G, rank in zip(bivariate(sample), bishap(sample), strict=True):
        odds = np.abs(G) * (1.0 - np.eye(D))
        step = 0.85 * odds / odds.sum(axis=0) + 0.15 / D
        np.testing.assert_allclose(step @ rank, rank)
        assert rank.sum() == pytest.approx(1.0)


def test_page_rank_of_nothing_is_uniform():
    np.testing.assert_allclose(page_rank(np.zeros((4, 4))), 0.25)


def test_estimates_come_closer_with_more_coalitions():
    d, rng = 10, np.random.default_rng(1)
    points, alpha, x = rng.normal(size=(20, d)), rng.normal(size=20), rng.normal(size=(1, d))
    game = games.neutral(games.Machine(points, alpha, 0.1, 0.5))
    exact = kernel_shap(Sample.of(Coalitions.every(d), lambda S: game(S, x)))
    for solve in (kernel_shap, gemfix):
        errors = []
        for budget in (40, 800):
            drawn = Coalitions.drawn(d, budget, np.random.default_rng(0))
            errors.append(np.abs(solve(Sample.of(drawn, lambda S: game(S, x))) - exact).max())
        assert errors[1] < 0.5 * errors[0]


def test_drawn_coalitions_are_pairs_from_the_kernel():
    d, budget = 30, 20_000
    drawn = Coalitions.drawn(d, budget, np.random.default_rng(0))
    assert drawn.weights.sum() == budget
    known = dict(zip(map(bytes, drawn.members), drawn.weights, strict=True))
    assert all(known[bytes(~S)] == known[bytes(S)] for S in drawn.members)
    sizes = drawn.members.sum(axis=1)
    assert sizes.min() >= 1
    assert sizes.max() <= d - 1
    odds = 1.0 / (np.arange(1, d) * (d - np.arange(1, d)))
    counts = np.bincount(sizes, weights=drawn.weights, minlength=d)[1:]
    deviation = 5.0 * np.sqrt(budget * odds / odds.sum())  # five standard deviations and more
    assert (np.abs(counts - budget * odds / odds.sum()) < deviation).all()


def test_large_budget_takes_every_coalition():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(
        Coalitions.drawn(D, 100, rng).members, Coalitions.every(D).members
    )
    with pytest.raises(ValueError, match="two players and two coalitions are needed, got 1 and 10"):
        Coalitions.drawn(1, 10, rng)


# games


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, D))
    svr = SVR(C=5.0, gamma=0.2).fit(X, np.sin(X).sum(axis=1))
    return svr, X[:7], rng.normal(size=(3, D))


def test_neutral_game_is_the_paper_s(fitted):
    svr, _, rows = fitted
    members = np.vstack([Coalitions.every(D).members, np.ones((1, D), dtype=bool)])
    found = games.neutral(games.Machine.of(svr))(members, rows)
    expansion = pkex.as_expansion(svr).parts[0]
    expected: Any = [
        [pkex.reference.value(expansion, x, np.flatnonzero(S).tolist()) for x in rows]
        for S in members
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found[-1], svr.predict(rows), atol=1e-12)


def test_interventional_game_averages_predictions(fitted):
    svr, background, rows = fitted
    members = Coalitions.every(D).members
    found = games.interventional(games.Machine.of(svr), background)(members, rows)
    expected = [[svr.predict(np.where(S, x, background)).mean() for x in rows] for S in members]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_observational_game_follows_its_formula(fitted):
    svr, background, rows = fitted
    machine, lam, m = games.Machine.of(svr), 0.01, len(background)
    members = np.array([[True, False, True, False, False], [True] * D])
    found = games.observational(machine, background, lam)(members, rows)

    def k(a, b, columns):
        return np.exp(-machine.gamma * ((a[columns] - b[columns]) ** 2).sum())

    S = np.array([0, 2])
    rest = np.array([1, 3, 4])
    K_S = np.array([[k(a, b, S) for b in background] for a in background])
    for x, value, full in zip(rows, *found, strict=True):
        shares = np.linalg.inv(K_S + m * lam * np.eye(m)) @ [k(b, x, S) for b in background]
        total = machine.offset
        for point, alpha in zip(machine.points, machine.alpha, strict=True):
            absent = sum(w * k(point, b, rest) for w, b in zip(shares, background, strict=True))
            total += alpha * k(point, x, S) * absent
        assert value == pytest.approx(total, abs=1e-9)
        assert full == pytest.approx(svr.predict(x[None])[0], abs=1e-12)


@pytest.mark.parametrize("removal", ["neutral", "interventional"])
def test_regression_on_all_coalitions_is_pkex(removal, fitted):
    svr, background, rows = fitted
    machine = games.Machine.of(svr)
    if removal == "neutral":
        game, explainer = games.neutral(machine), pkex.Explainer(svr, removal="neutral")
    else:
        game, explainer = games.interventional(machine, background), pkex.Explainer(svr, background)
    found = kernel_shap(Sample.of(Coalitions.every(D), lambda S: game(S, rows)))
    np.testing.assert_allclose(found, explainer(rows).values, atol=1e-12)


def test_shapiq_on_all_coalitions_is_pkex(fitted):
    svr, _, rows = fitted
    expected = pkex.Explainer(svr, removal="neutral")(rows).values
    for x, phi in zip(rows, expected, strict=True):
        found = paired_kernel_shap(neutral_game(games.Machine.of(svr), x), D, 2**D, seed=0)
        np.testing.assert_allclose(found, phi, atol=1e-6)  # shapiq weighs the ends by 1e6


def test_methods_of_the_recovery_experiment_agree_on_a_small_model(fitted):
    svr, background, rows = fitted
    found = {name: explain(rows) for name, explain in methods(svr, background, (100,), 0).items()}
    exact = found["pkex interventional"]
    np.testing.assert_allclose(found["RKHS-SHAP interventional, 100"], exact, atol=1e-12)
    np.testing.assert_allclose(found["GEMFIX, 100"], exact, atol=0.05 * np.abs(exact).max())
    assert all(scores.shape == (3, D) for scores in found.values())
