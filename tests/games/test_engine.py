"""Properties of the values, for every kernel of the shared list, and agreement with the oracles."""

from __future__ import annotations

import numpy as np
import pytest

import pkex
from pkex import reference
from pkex.games import sources
from pkex.games.plan import Plan
from pkex.games.points import WeightedPoints
from pkex.kernels import RBF
from tests._support.cases import KERNELS, assert_close, sample, scales

pytestmark = pytest.mark.native

SIZES = (1, 2, 3, 7, 12)


def problem(case, d, seed=0, n=9, n_rows=3):
    rng = np.random.default_rng([seed, d, n])
    spread = scales(rng, d)
    points, rows = sample(rng, n, d), sample(rng, n_rows, d)
    return case.build(spread), points, rows, rng.normal(size=n), spread


def explain(kernel, points, alpha, rows, **options):
    expansion = pkex.KernelExpansion(points, alpha, kernel, 0.25)
    return pkex.Explainer(expansion, removal="neutral", n_jobs=1, **options)(rows)


def magnitude(kernel, points, alpha, rows):
    """The size of the largest coalition's worth, which rounding is relative to."""
    total = 0.0
    for term in kernel.terms(points.shape[1]):
        largest = np.maximum(1.0, np.abs(term.factors(rows, points))).prod(axis=2)
        total += (term.coefficient * largest @ np.abs(alpha)).max()
    return total


def by_term(method, kernel, points, alpha, rows, columns=None):
    """Apply a reference algorithm to each term and row; merge columns into players if given."""
    result = np.zeros(())
    for term in kernel.terms(points.shape[1]):
        factors = term.factors(rows, points)
        if columns is not None:
            factors = np.stack([factors[:, :, list(c)].prod(axis=2) for c in columns], axis=2)
        result = result + np.stack([method(f, term.coefficient * alpha) for f in factors])
    return result


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_values_equal_the_definition(case, d):
    kernel, points, rows, alpha, _ = problem(case, d)
    expected = by_term(reference.brute_force, kernel, points, alpha, rows)
    scale = magnitude(kernel, points, alpha, rows)
    assert_close(explain(kernel, points, alpha, rows).values, expected, 1e-13 * scale)


@pytest.mark.parametrize("d", [40, 200])
@pytest.mark.parametrize("case", [case for case in KERNELS if case.unit], ids=str)
def test_values_equal_prefix_suffix(case, d):
    kernel, points, rows, alpha, _ = problem(case, d, n=4, n_rows=2)
    expected = by_term(reference.prefix_suffix, kernel, points, alpha, rows)
    scale = magnitude(kernel, points, alpha, rows)
    assert_close(explain(kernel, points, alpha, rows).values, expected, 1e-13 * scale)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_values_and_base_sum_to_the_prediction(case, d):
    kernel, points, rows, alpha, _ = problem(case, d)
    expansion = pkex.KernelExpansion(points, alpha, kernel, 0.25)
    explanation = pkex.Explainer(expansion, removal="neutral")(rows)
    scale = magnitude(kernel, points, alpha, rows)
    assert_close(explanation.predictions, expansion.predict(rows), 1e-13 * scale)
    assert explanation.additivity_error <= 1e-13 * scale


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_columns_that_look_alike_get_equal_values(case):
    # two columns that the same part of the kernel covers
    first, second = (1, 2) if case.name in ("mixed", "one-column") else (0, 3)
    _, points, rows, alpha, spread = problem(case, 6)
    spread[second] = spread[first]
    points[:, second], rows[:, second] = points[:, first], rows[:, first]
    values = explain(case.build(spread), points, alpha, rows).values
    scale = magnitude(case.build(spread), points, alpha, rows)
    assert_close(values[:, first], values[:, second], 1e-14 * scale)


@pytest.mark.parametrize("case", [case for case in KERNELS if case.unit], ids=str)
def test_a_column_that_never_differs_gets_nothing(case):
    kernel, points, rows, alpha, _ = problem(case, 5)
    points[:, 2] = rows[:, 2] = 1.25
    assert np.all(explain(kernel, points, alpha, rows).values[:, 2] == 0.0)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_values_are_linear_in_the_coefficients(case):
    kernel, points, rows, alpha, _ = problem(case, 7)
    beta = np.random.default_rng(1).normal(size=alpha.size)
    both = explain(kernel, points, 2.0 * alpha - 3.0 * beta, rows).values
    apart = [explain(kernel, points, weights, rows).values for weights in (alpha, beta)]
    scale = magnitude(kernel, points, np.abs(alpha) + np.abs(beta), rows)
    assert_close(both, 2.0 * apart[0] - 3.0 * apart[1], 1e-14 * scale)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_several_outputs_equal_one_at_a_time(case):
    kernel, points, rows, alpha, _ = problem(case, 7)
    several = np.stack([alpha, alpha**2, -alpha], axis=1)
    together = explain(kernel, points, several, rows).values
    scale = magnitude(kernel, points, np.abs(several).sum(axis=1), rows)
    for output in range(3):
        alone = explain(kernel, points, several[:, output], rows).values
        assert_close(together[:, :, output], alone, 1e-14 * scale)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_permuting_columns_permutes_values(case):
    kernel, points, rows, alpha, spread = problem(case, 7)
    places = np.random.default_rng(2).permutation(7)
    moved_points, moved_rows = np.empty_like(points), np.empty_like(rows)
    moved_points[:, places], moved_rows[:, places] = points, rows
    moved = explain(case.build(spread, places), moved_points, alpha, moved_rows).values
    scale = magnitude(kernel, points, alpha, rows)
    plain = explain(kernel, points, alpha, rows).values
    assert_close(moved[:, places], plain, 1e-14 * scale)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_a_group_is_one_merged_player(case):
    kernel, points, rows, alpha, _ = problem(case, 8)
    groups = {"a": [5, 1], "b": [2, 3, 7]}
    players = ((0,), (1, 5), (2, 3, 7), (4,), (6,))
    explanation = explain(kernel, points, alpha, rows, groups=groups)
    expected = by_term(reference.brute_force, kernel, points, alpha, rows, players)
    scale = magnitude(kernel, points, alpha, rows)
    assert explanation.feature_names == ("x0", "a", "b", "x4", "x6")
    assert_close(explanation.values, expected, 1e-13 * scale)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_one_group_of_all_columns_takes_everything(case):
    kernel, points, rows, alpha, _ = problem(case, 4)
    explanation = explain(kernel, points, alpha, rows, groups=[[0, 1, 2, 3]])
    scale = magnitude(kernel, points, alpha, rows)
    prediction = pkex.KernelExpansion(points, alpha, kernel, 0.25).predict(rows)
    change = prediction - explanation.base_values
    assert_close(explanation.values[:, 0], change, 1e-14 * scale)


def test_weights_by_row_equal_a_loop_over_rows():
    kernel, points, rows, _, _ = problem(KERNELS[0], 5)
    weights = np.random.default_rng(3).normal(size=(len(rows), len(points), 4))
    plan = Plan.of(kernel.terms(5), tuple((j,) for j in range(5)))
    together = WeightedPoints(plan, points, weights).explain(rows)
    for i in range(len(rows)):
        alone = WeightedPoints(plan, points, weights[i]).explain(rows[i : i + 1])
        assert_close(together.values[i], alone.values[0], 1e-14)
        assert_close(together.bases[i], alone.bases, 1e-14)


@pytest.mark.parametrize("budget", [1, 50, 700])
def test_blocks_do_not_change_values(monkeypatch, budget):
    kernel, points, rows, alpha, _ = problem(KERNELS[0], 7, n=23, n_rows=5)
    whole = explain(kernel, points, alpha, rows).values
    monkeypatch.setattr(sources, "_BLOCK", budget)
    assert_close(explain(kernel, points, alpha, rows).values, whole, 1e-14)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 500)
    kernel, points, rows, alpha, _ = problem(KERNELS[0], 20, n=60, n_rows=11)
    expansion = pkex.KernelExpansion(points, alpha, kernel)
    one, two = (pkex.Explainer(expansion, n_jobs=n, removal="neutral")(rows).values for n in (1, 2))
    assert np.array_equal(one, two)


def test_pairs_take_the_cheapest_rule_that_covers_them():
    rng = np.random.default_rng(0)
    expansion = pkex.KernelExpansion(rng.normal(size=(50, 100)), np.ones(50), RBF(10.0))
    near, far = 0.01 * expansion.points[:1], 100.0 * expansion.points[:1]
    explainer = pkex.Explainer(expansion, removal="neutral")
    sizes = [max(rule.size for rule in explainer(x).rules) for x in (near, far)]
    assert sizes[0] < 10 < 20 < sizes[1]
    assert explainer(far).rule.relative_error <= pkex.games.rules.FULL_PRECISION


def test_factors_outside_the_unit_interval_take_the_exact_rule():
    kernel, points, rows, alpha, _ = problem(next(c for c in KERNELS if c.name == "cosine"), 30)
    explanation = explain(kernel, points, alpha, rows)
    assert {rule.is_fallback for rule in explanation.rules if rule.any_factors} == {True}
    assert "gauss-legendre, any factors" in {rule.family for rule in explanation.rules}
    assert "neutral, error bound" in repr(explanation)
    assert any(rule.size == 15 for rule in explanation.rules)


def test_a_tolerance_takes_fewer_nodes_and_keeps_its_promise():
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(40, 60)), rng.normal(size=40)
    exact = explain(RBF(4.0), points, alpha, points[:5])
    loose = explain(RBF(4.0), points, alpha, points[:5], tol=1e-4)
    assert loose.rule.relative_error <= 1e-4
    assert max(r.size for r in loose.rules) < max(r.size for r in exact.rules) // 2
    error = np.abs(loose.values - exact.values).max()
    assert 1e-12 < error <= 1e-4 * np.abs(alpha).sum()
