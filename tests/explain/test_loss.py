"""`Explainer.loss` and `sage`: against enumeration of coalitions, and against sage-importance."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer
from pkex.explain import loss
from pkex.games.coalitions import prefers_coalitions
from tests._support.cases import alone, assert_close
from tests._support.models import MODELS
from tests._support.naive import shapley_by_enumeration
from tests._support.removal_games import (
    all_games,
    all_kernels,
    enumerated,
    interventional,
    magnitude,
    problem,
    spliced,
)

rng = np.random.default_rng(35)
X = rng.normal(size=(40, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=40)
SVM = SVR(C=10.0).fit(X[:25], Y[:25])


def of_mean(predict, row, background, shares, players, target):
    """Return values and base of ``(y - E f)^2``, by all combinations of background rows."""
    draws = np.array(list(product(range(len(background)), repeat=len(players))))
    weights = shares[draws].prod(axis=1)
    rows = np.empty((len(draws), background.shape[1]))
    for i, columns in enumerate(players):
        for column in columns:
            rows[:, column] = background[draws[:, i], column]

    def value(present):
        return (target - weights @ predict(spliced(row, rows, players, present))) ** 2

    return enumerated(value, len(players))


def of_rows(predict, row, background, shares, players, target):
    """Return values and base of ``E (y - f)^2``."""
    return interventional(lambda at: (target - predict(at)) ** 2, row, background, shares, players)


LOSSES: dict[str, Any] = {"product-of-marginals": of_mean, "interventional": of_rows}


def check(model, predict, rows, y, background, removal, atol, players=None, **options):
    """Compare with the oracle, and with the model's own errors."""
    players = alone(rows.shape[1]) if players is None else players
    shares = np.full(len(background), 1.0 / len(background))
    explainer = Explainer(model, background, removal=removal, n_jobs=1, **options)
    losses = explainer.loss(rows, y)
    with patch.object(loss, "prefers_coalitions", return_value=False):
        by_pairs = explainer.loss(rows, y)
    for name in ("values", "base_values", "predictions"):
        assert_close(getattr(by_pairs, name), getattr(losses, name), atol)
    assert_close(losses.predictions, (y - predict(rows)) ** 2, atol)
    for i, row in enumerate(rows):
        values, base = LOSSES[removal](predict, row, background, shares, players, y[i])
        assert_close(losses.values[i], values, atol)
        assert_close(losses.base_values[i], base, atol)
        for some in (losses, by_pairs):
            gap = np.abs(some.values[i] - values)
            assert gap.max() <= some.error_bound[i].max() + 1e-3 * atol  # of the oracle
    return losses


@all_games
@all_kernels
def test_every_kernel_by_enumeration(case, removal):
    expansion, rows, background, _ = problem(case, 3, 3)
    y = np.random.default_rng(1).normal(size=len(rows))
    # some roundings of the largest square
    atol = 1e-14 * magnitude(expansion, rows, background) ** 2
    check(expansion, expansion.predict, rows, y, background, removal, atol)


@all_games
def test_groups_and_several_outputs(removal):
    targets = np.column_stack([Y, X[:, 0] ** 2])
    model = MultiOutputRegressor(SVR(C=10.0)).fit(X[:25], targets[:25])
    options: dict[str, Any] = {"groups": {"both": [0, 2]}, "players": ((0, 2), (1,))}
    rows, y = X[30:32], targets[30:32]
    check(model, model.predict, rows, y, X[:3], removal, 1e-11, **options)


@all_games
@pytest.mark.parametrize(
    "kernel",
    [gp.Matern(nu=1.5), gp.RationalQuadratic(), gp.RBF() + gp.DotProduct(), gp.DotProduct() ** 2],
    ids=str,
)
def test_kernels_that_are_sums_of_products(kernel, removal):
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X[:25], Y[:25])
    # radial kernels are sums of products up to 1e-7 of the coefficients
    check(model, model.predict, X[30:32], Y[30:32], X[:3], removal, 1e-5)


REGRESSIONS = [
    case
    for case in MODELS
    if case.n_outputs == 1
    and case.own.__name__ == "predict"
    and 1 < len(case.feature_names) <= 6
    and case.gram is None
    and case.choice is None
    and case.background is None
    and case.warns is None
    and not case.given
]


def squared_error(value, target, present):
    """Return the squared error of a coalition."""
    return (target - float(value(present)[0])) ** 2


@pytest.mark.parametrize("case", REGRESSIONS, ids=str)
def test_every_regression_model_by_enumeration(case):
    """With the value function of the shared list, squared."""
    rows = case.rows[:2]
    y = np.array([0.3, -2.0])
    with case.quiet():
        losses = Explainer(case.model(), n_jobs=1).loss(rows, y)
    scale = float(case.size().max()) ** 2 + 4.0
    own, n_features = case.own_output(rows).reshape(-1), len(case.feature_names)
    assert_close(losses.predictions, (y - own) ** 2, 1e-6 * scale)
    for i in range(2):
        value = case.value(rows[i : i + 1], "product-of-marginals")
        expected = shapley_by_enumeration(partial(squared_error, value, y[i]), n_features)
        assert_close(losses.values[i], np.array(expected, dtype=float), 1e-6 * scale)


def test_threads_and_rows_change_nothing():
    whole = Explainer(SVM, X[:5], n_jobs=1).loss(X[:40], Y[:40])
    threads = Explainer(SVM, X[:5], n_jobs=3).loss(X[:40], Y[:40])
    assert np.array_equal(whole.values, threads.values)
    assert np.array_equal(whole.base_values, threads.base_values)
    part = Explainer(SVM, X[:5], n_jobs=1).loss(X[:7], Y[:7])
    assert_close(part.values, whole.values[:7], 1e-13)


@pytest.mark.parametrize("index", ["BV", pkex.games.BetaShapley(4, 1)], ids=str)
@pytest.mark.parametrize("n_features", [1, 2, 9])
@all_games
def test_coalitions_and_pairs_of_points_agree(removal, n_features, index):
    """For every semivalue, and for any number of features that coalitions are taken for."""
    rows = np.random.default_rng(n_features).normal(size=(30, n_features))
    y = np.sin(rows.sum(axis=1))
    model = SVR(C=10.0).fit(rows, y)
    explainer = Explainer(model, rows[:4], removal=removal, index=index, n_jobs=1)
    both = []
    for few in (True, False):
        with patch.object(loss, "prefers_coalitions", return_value=few):
            both.append(explainer.loss(rows[:3], y[:3]))
    # some roundings of the square of the coefficients
    assert_close(both[0].values, both[1].values, 1e-15 * np.abs(model.dual_coef_).sum() ** 2)


def test_coalitions_are_for_few_features():
    assert prefers_coalitions(10, 450)
    assert prefers_coalitions(14, 450)
    assert not prefers_coalitions(14, 30)
    assert not prefers_coalitions(15, 10**6)


def test_the_result_says_what_it_explains():
    losses = Explainer(SVM).loss(X[30:], Y[30:])
    assert losses.quantity == "squared error"
    assert "of the squared error" in repr(losses)
    assert_close(losses.base_values + losses.values.sum(axis=1), losses.predictions, 1e-12)


def test_banzhaf_values_need_not_add_up():
    losses = Explainer(SVM, X[:5], index="BV").loss(X[30:], Y[30:])
    assert_close(losses.predictions, (Y[30:] - SVM.predict(X[30:])) ** 2, 1e-12)
    assert not losses.efficient


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: Explainer(SVM, removal="neutral").loss(X, Y), ValueError, "neutral removal"),
        (lambda: Explainer(SVM).loss(X, Y[:3]), ValueError, "shape"),
        (lambda: Explainer(SVM).loss(X, np.where(X[:, 0] > 0, np.nan, Y)), ValueError, "NaN"),
        (lambda: Explainer(SVM).loss(X, ["a"] * 40), TypeError, "real numbers"),
        (
            lambda: Explainer(SVC().fit(X, Y > 0)).loss(X, Y),
            pkex.UnsupportedModelError,
            "permutation_importance",
        ),
        (
            lambda: pkex.sage(SVC().fit(X, Y > 0), X, Y),
            pkex.UnsupportedModelError,
            "log loss is not a quadratic",
        ),
        (lambda: pkex.sage(SVM, X, Y[:3], max_samples=10), ValueError, "shape"),
        (lambda: pkex.sage(SVM, X[:, :2], Y), ValueError, "^X has 2 columns"),
        (lambda: pkex.sage(SVM, X, Y, background=X[:, :2]), ValueError, "^background has 2"),
        (lambda: pkex.sage(SVM, X, Y, max_samples=0), ValueError, "max_samples"),
        (lambda: pkex.sage(SVM, X, Y, max_samples=1.5), ValueError, "max_samples"),
    ],
)
def test_what_is_refused(ask, error, words):
    with pytest.raises(error, match=words):
        ask()


# ------------------------------------------------------------------------------------------ SAGE


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 5.0]])
@pytest.mark.parametrize("groups", [None, {"both": [0, 2]}])
def test_sage_is_the_mean_of_enumerated_losses(groups, weights):
    rows, y, background = X[30:34], Y[30:34], X[:3]
    importance = pkex.sage(
        SVM, rows, y, background=background, background_weights=weights, groups=groups, n_jobs=1
    )
    shares = np.full(3, 1.0 / 3.0) if weights is None else np.array(weights) / 8.0
    players = alone(3) if groups is None else [(0, 2), (1,)]
    each = np.array(
        [
            of_mean(SVM.predict, row, background, shares, players, target)[0]
            for row, target in zip(rows, y, strict=True)
        ]
    )
    assert_close(importance.values, -each.mean(axis=0), 1e-12)
    assert_close(importance.standard_errors, each.std(axis=0, ddof=1) / 2.0, 1e-12)
    options: dict[str, Any] = {"background_weights": weights, "groups": groups}
    losses = Explainer(SVM, background, removal="product-of-marginals", **options).loss(rows, y)
    gain = losses.base_values.mean() - ((y - SVM.predict(rows)) ** 2).mean()
    assert_close(importance.values.sum(), gain, 1e-12)


def test_sage_draws_rows_and_averages_over_all():
    drawn = pkex.sage(SVM, X, Y, max_samples=10, random_state=3)
    again = pkex.sage(SVM, X, Y, max_samples=0.25, random_state=3)
    assert drawn.n_rows == 10
    assert np.array_equal(drawn.values, again.values)
    whole = pkex.sage(SVM, X, Y)
    assert (np.abs(drawn.values - whole.values) <= 5.0 * drawn.standard_errors).all()


class Independent:
    """An imputer of sage-importance that draws every column independently, by all draws."""

    def __init__(self, model, background):
        self.model, self.num_groups = model, background.shape[1]
        every = product(range(len(background)), repeat=background.shape[1])
        draws = np.array(list(every))
        self.rows = np.column_stack(
            [background[draws[:, j], j] for j in range(background.shape[1])]
        )

    def __call__(self, x, S):
        n, count = len(x), len(self.rows)
        at, present = np.repeat(x, count, axis=0), np.repeat(S, count, axis=0)
        at = np.where(present, at, np.tile(self.rows, (n, 1)))
        return self.model.predict(at).reshape(n, count).mean(axis=1)


@pytest.mark.parametrize("n_background", [1, 3])
def test_sage_importance_agrees_within_its_noise(n_background):
    sage = pytest.importorskip("sage")
    background = X[:n_background]
    exact = pkex.sage(SVM, X, Y, background=background)
    estimator = sage.PermutationEstimator(Independent(SVM, background), "mse", random_state=0)
    sampled = estimator(
        X, Y, batch_size=128, n_permutations=1024, detect_convergence=False, bar=False
    )
    # four standard errors of three numbers
    assert (np.abs(sampled.values - exact.values) <= 4.0 * sampled.std).all()


def test_kernel_ridge_without_an_intercept():
    """A target far from 0: the square of the model is large beside its error."""
    model = KernelRidge(kernel="rbf", alpha=0.1).fit(X[:25], 150.0 + Y[:25])
    y = 150.0 + Y[30:32]
    check(model, model.predict, X[30:32], y, X[:3], "product-of-marginals", 1e-8)


def test_plots_and_tables_name_the_squared_error():
    losses = pkex.Explainer(SVM, X[:5]).loss(X[:3], Y[:3])
    labels = [label.get_text() for label in losses[0].plot().ax_.get_yticklabels()]
    assert labels[-1] == losses.plot.decision().ax_.get_xlabel() == "squared error"
    assert losses.plot.heatmap().ax_.get_xlabel() == "3 rows, by squared error"
    assert "prediction" not in losses._repr_html_()
    banzhaf = pkex.Explainer(SVM, X[:5], index="BV").loss(X[:1], Y[:1])
    assert "(squared error)" in repr(banzhaf)
