"""What interventional and marginal values must satisfy, whatever the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

from pkex import Explainer, KernelExpansion
from pkex.kernels import RBF, Constant, Linear
from tests._support.cases import KERNELS, assert_close
from tests._support.removal_games import (
    GAMES,
    all_games,
    all_kernels,
    explained,
    magnitude,
    problem,
)


@all_kernels
@all_games
def test_values_and_base_sum_to_the_prediction(case, removal):
    expansion, rows, background, _ = problem(case, 9, 13)
    explanation = explained(expansion, rows, background, removal=removal)
    atol = 1e-13 * magnitude(expansion, rows, background)
    assert_close(explanation.predictions, expansion.predict(rows), atol)
    assert explanation.additivity_error <= atol


@all_kernels
def test_the_base_is_the_mean_prediction_over_the_background(case):
    expansion, rows, background, _ = problem(case, 12, 40)
    atol = 1e-13 * magnitude(expansion, rows, background)
    predicted = expansion.predict(background)
    plain = Explainer(expansion, background)
    assert isinstance(plain.expected_value, float)
    assert_close(plain.expected_value, predicted.mean(), atol)
    assert_close(plain(rows).base_values, predicted.mean(), atol)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=40)
    weighted = Explainer(expansion, background, background_weights=weights)
    assert_close(weighted.expected_value, weights @ predicted / weights.sum(), atol)


def test_the_base_is_right_to_ten_digits_for_a_fitted_model():
    X, y = load_diabetes(return_X_y=True)
    model = SVR(C=50.0).fit(X, y)
    base = Explainer(model, X[:100]).expected_value
    assert abs(base / model.predict(X[:100]).mean() - 1.0) < 1e-10


@all_kernels
@all_games
def test_columns_that_look_alike_get_equal_values(case, removal):
    first, second = (1, 2) if case.name in ("mixed", "one-column") else (0, 3)
    expansion, rows, background, spread = problem(case, 6, 5)
    spread[second] = spread[first]
    points = expansion.points.copy()
    for table in (points, rows, background):
        table[:, second] = table[:, first]
    alike = KernelExpansion(points, expansion.coefficients, case.build(spread))
    values = explained(alike, rows, background, removal=removal).values
    atol = 1e-14 * magnitude(alike, rows, background)
    assert_close(values[:, first], values[:, second], atol)


@all_kernels
@all_games
def test_a_column_that_is_as_in_the_background_gets_nothing(case, removal):
    expansion, rows, background, _ = problem(case, 5, 4)
    rows[:, 2] = background[:, 2] = 1.25
    values = explained(expansion, rows, background, removal=removal).values
    assert_close(values[:, 2], 0.0, 1e-15 * magnitude(expansion, rows, background))


@all_games
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(columns=(0, 2)),
        RBF(columns=(0, 2)) + 0.5 * RBF(2.0, columns=(2, 3)),
        RBF(columns=(3,)),
        Constant(2.0),
    ],
)
def test_a_column_that_the_kernel_ignores_gets_exactly_nothing(kernel, removal):
    rng = np.random.default_rng(0)
    points, rows, background = rng.normal(size=(6, 5)), rng.normal(size=(3, 5)), rng.random((4, 5))
    expansion = KernelExpansion(points, rng.normal(size=6), kernel)
    values = explained(expansion, rows, background, removal=removal).values
    covered = {c for term in kernel.terms(5) for leaf in term.leaves for c in leaf.columns}
    for column in range(5):
        assert (values[:, column] == 0.0).all() == (column not in covered)


@all_kernels
@all_games
def test_values_are_linear_in_the_coefficients(case, removal):
    expansion, rows, background, _ = problem(case, 6, 4)
    points, alpha, kernel = expansion.points, expansion.coefficients, expansion.kernel
    beta = np.random.default_rng(1).normal(size=alpha.size)
    first, second, both = (
        explained(KernelExpansion(points, c, kernel), rows, background, removal=removal)
        for c in (alpha, beta, 2.0 * alpha - 3.0 * beta)
    )
    sizes = KernelExpansion(points, np.abs(alpha) + np.abs(beta), kernel)
    atol = 1e-14 * magnitude(sizes, rows, background)
    assert_close(both.values, 2.0 * first.values - 3.0 * second.values, atol)
    assert_close(both.base_values, 2.0 * first.base_values - 3.0 * second.base_values, atol)


@all_kernels
def test_values_are_linear_in_the_background(case):
    """Interventional values are the weighted mean of the baseline values of the rows."""
    expansion, rows, background, _ = problem(case, 6, 4)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    together = explained(expansion, rows, background, background_weights=weights)
    alone = [explained(expansion, rows, b[None, :]) for b in background]
    atol = 1e-14 * magnitude(expansion, rows, background)
    values = sum(w * each.values for w, each in zip(weights, alone, strict=True))
    assert_close(together.values, values, atol)


@all_kernels
@all_games
def test_permuting_columns_permutes_values(case, removal):
    expansion, rows, background, spread = problem(case, 7, 4)
    places = np.random.default_rng(2).permutation(7)
    moved = [np.empty_like(t) for t in (expansion.points, rows, background)]
    for table, original in zip(moved, (expansion.points, rows, background), strict=True):
        table[:, places] = original
    kernel = case.build(spread, places)
    there = KernelExpansion(moved[0], expansion.coefficients, kernel)
    values = explained(there, moved[1], moved[2], removal=removal).values
    plain = explained(expansion, rows, background, removal=removal).values
    assert_close(values[:, places], plain, 1e-13 * magnitude(expansion, rows, background))


@all_kernels
@all_games
def test_the_order_of_the_background_does_not_matter(case, removal):
    expansion, rows, background, _ = problem(case, 6, 9)
    order = np.random.default_rng(3).permutation(9)
    weights = np.arange(1.0, 10.0)
    first = explained(expansion, rows, background, removal=removal, background_weights=weights)
    second = explained(
        expansion, rows, background[order], removal=removal, background_weights=weights[order]
    )
    atol = 1e-14 * magnitude(expansion, rows, background)
    assert_close(first.values, second.values, atol)
    assert_close(first.base_values, second.base_values, atol)


@all_kernels
@all_games
def test_a_row_twice_is_a_row_of_weight_two(case, removal):
    expansion, rows, background, _ = problem(case, 6, 4)
    twice = np.vstack([background, background[1:2]])
    first = explained(expansion, rows, twice, removal=removal)
    second = explained(
        expansion, rows, background, removal=removal, background_weights=[5.0, 10.0, 5.0, 5.0]
    )
    atol = 1e-14 * magnitude(expansion, rows, background)
    assert_close(first.values, second.values, atol)
    assert_close(first.base_values, second.base_values, atol)


@all_kernels
@all_games
def test_a_row_explained_by_itself_has_values_zero(case, removal):
    expansion, rows, _, _ = problem(case, 8, 1)
    explanation = explained(expansion, rows[:1], rows[:1], removal=removal)
    atol = 1e-14 * magnitude(expansion, rows)
    assert_close(explanation.values, 0.0, atol)
    assert_close(explanation.base_values, expansion.predict(rows[:1]), atol)


@pytest.mark.parametrize("case", [case for case in KERNELS if case.unit], ids=str)
def test_a_background_where_all_factors_are_one_is_neutral_removal(case):
    """The neutral game is the general one with absent factors 1."""
    expansion, rows, _, _ = problem(case, 6, 1)
    point = KernelExpansion(expansion.points[:1], [1.5], expansion.kernel, 0.25)
    neutral, general = (
        Explainer(point, removal="neutral")(rows),
        Explainer(point, expansion.points[:1])(rows),
    )
    atol = 1e-14 * magnitude(point, rows)
    assert_close(neutral.values, general.values, atol)
    assert_close(neutral.base_values, general.base_values, atol)


def test_linear_values_are_those_of_a_linear_model():
    """A weight times the distance to the mean, in both games, for any number of columns."""
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(40, 200)), rng.normal(size=(40, 2))
    rows, background = rng.normal(size=(5, 200)), rng.normal(size=(30, 200))
    shares = rng.random(30)
    slopes = points.T @ alpha
    expected = (rows - shares @ background / shares.sum())[:, :, None] * slopes
    f = KernelExpansion(points, alpha, Linear(), [1.0, -2.0])
    for removal in GAMES:
        found = explained(f, rows, background, removal=removal, background_weights=shares)
        assert_close(found.values, expected, 1e-13 * np.abs(alpha).sum())
        assert_close(found.predictions, f.predict(rows), 1e-12 * np.abs(alpha).sum())


def test_one_column_keeps_its_digits_under_neutral_removal():
    """As several columns do: the deficit is never taken as 1 - k."""
    point = KernelExpansion([[1.0]], [1.0], RBF(1e9))
    assert_close(Explainer(point, removal="neutral")([[0.0]]).values, -5e-19, 1e-33)
    several = KernelExpansion([[1.0, 2.0]], [1.0], RBF(1e9))
    grouped = Explainer(several, groups=[[0, 1]], removal="neutral")([[0.0, 0.0]]).values
    assert_close(grouped, -2.5e-18, 1e-32)
