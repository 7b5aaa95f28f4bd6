"""Effects beside scikit-learn's brute partial dependence, and beside their definitions."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier, is_regressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression

import pkex
from pkex._util.cells import is_missing
from pkex.models.grids import column_cells
from pkex.models.preparation import combine_columns, select_columns
from tests._support.effect_models import TABLE, TARGET, diabetes_machine, diabetes_process
from tests._support.mixtures import MixtureByDefinition, mixture_of_processes
from tests._support.models import MODELS

_CLOSE = 1e-10  # of the range, as scikit-learn's own sums round differently


def _explainer(case, rows):
    if case.given:
        return pkex.Explainer(pkex.as_expansion(case.model(), **case.given), rows)
    options = {"outputs": case.choice} if case.choice else {}
    return pkex.Explainer(case.model(), rows, **options)


class _Output(RegressorMixin, BaseEstimator):
    """A function of rows as a model that scikit-learn accepts."""

    def __init__(self, function):
        self.predict = function

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True


def _as_scikit_learn_model(case, expansion, rows):
    """Return the model if scikit-learn asks it for what is explained, else its output as a model.

    Scikit-learn asks for predictions of a regressor, or the decision function of a classifier.
    Latent means, densities, components and decisions between pairs of classes are other outputs.
    """
    model = case.model()
    if expansion.preparation is not None and expansion.preparation.before is not None:
        # columns of the input are not those that are explained
        return _Output(lambda X: sum(p.evaluate(p.prepare(X)) for p in expansion.parts))
    own = case.own_output(rows)
    for accepts, method in ((is_regressor, "predict"), (is_classifier, "decision_function")):
        if case.gram is None and accepts(model) and hasattr(model, method):
            asked = getattr(model, method)(rows)
            if np.shape(asked) == own.shape and np.allclose(asked, own, rtol=1e-12):
                return model
    return _Output(case.own_output)


def _like_scikit_learn(model, table, column, cells, **options):
    """Return scikit-learn's grid and its individual curves (rows, places, outputs)."""
    words = cells.dtype == object
    if hasattr(table, "astype") and not words and hasattr(table, "iloc"):
        table = table.astype({table.columns[column]: float})  # no integers for scikit-learn
    theirs = partial_dependence(
        model,
        table,
        [column],
        kind="both",
        method="brute",
        categorical_features=[column] if words else None,
        **options,
    )
    places = theirs["grid_values"][0]
    known = np.array([not is_missing(place) for place in places])
    known |= not known.any()  # for them a missing value is a place; for us if there are no others
    curves = np.moveaxis(theirs["individual"], 0, -1)
    return places[known], curves[:, known], theirs["average"].T[known]


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, about names and feature types
@pytest.mark.parametrize("case", MODELS, ids=str)
def test_curves_of_every_model_are_those_of_scikit_learn(case):
    rows = case.rows[:5]
    explainer = _explainer(case, rows)
    expansion = explainer.expansion
    table = combine_columns(expansion, select_columns(expansion, rows))
    model = _as_scikit_learn_model(case, expansion, rows)
    for j in range(min(2, len(explainer.feature_names))):
        cells = column_cells(table, j)
        # integers, categories and columns with gaps have their values as places
        discrete = (
            cells.dtype == object or (cells == np.round(cells)).all() or np.isnan(cells).any()
        )
        size: dict[str, Any] = {"grid_resolution": 6 if discrete else 3}
        effects = explainer.effects(j, kind="both", **size)
        method = "decision_function" if is_classifier(model) else "auto"
        places, curves, average = _like_scikit_learn(
            model, table, j, cells, response_method=method, **size
        )
        np.testing.assert_array_equal(effects.grid[0], places)
        scale = np.ptp(curves) + np.abs(curves).max()
        # the log-odds of probabilities near 1 have few digits
        limit = scale * (1e-6 if case.log_odds else _CLOSE)
        assert np.abs(effects.individual[0].reshape(curves.shape) - curves).max() <= limit
        assert np.abs(effects.average[0].reshape(average.shape) - average).max() <= limit


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, about names
@pytest.mark.parametrize("case", [case for case in MODELS if case.log_odds], ids=str)
def test_probabilities_are_averaged_after_the_link(case):
    rows = case.rows[:5]
    options: dict[str, Any] = {"grid_resolution": 3, "response_method": "predict_proba"}
    effects = _explainer(case, rows).effects(0, kind="both", **options)
    cells = column_cells(rows, 0)
    places, curves, average = _like_scikit_learn(case.model(), rows, 0, cells, **options)
    np.testing.assert_array_equal(effects.grid[0], places)
    # LIBSVM couples two classes as if they were more, and stops at an error of 0.005 / 2
    limit = 5e-3 if "SVC probability" in case.name else _CLOSE
    assert np.abs(effects.individual[0].reshape(curves.shape) - curves).max() <= limit
    assert np.abs(effects.average[0].reshape(average.shape) - average).max() <= limit


@pytest.mark.parametrize("features", ["bmi", "sex", ("bmi", "s5"), ("sex", "bp")], ids=str)
def test_grid_and_curves_are_those_of_scikit_learn(features):
    model, rows = diabetes_machine()
    names = [features] if isinstance(features, str) else list(features)
    effects = pkex.Explainer(model, rows).effects([features], kind="both", grid_resolution=9)
    theirs = partial_dependence(model, rows, names, kind="both", method="brute", grid_resolution=9)
    grid = effects.grid[0] if isinstance(effects.grid[0], tuple) else (effects.grid[0],)
    for ours, other in zip(grid, theirs["grid_values"], strict=True):
        np.testing.assert_array_equal(ours, other)
    scale = np.ptp(theirs["individual"])
    assert np.abs(effects.individual[0] - theirs["individual"][0]).max() <= _CLOSE * scale
    assert np.abs(effects.average[0] - theirs["average"][0]).max() <= _CLOSE * scale


def test_weights_of_the_background_count():
    model, rows = diabetes_machine()
    weights = np.arange(1.0, 41.0)
    explainer = pkex.Explainer(model, rows, background_weights=weights)
    average = explainer.effects("bmi", grid_resolution=5).average[0]
    theirs = partial_dependence(
        model, rows, ["bmi"], method="brute", grid_resolution=5, sample_weight=weights
    )
    np.testing.assert_allclose(average, theirs["average"][0], rtol=1e-12)


def test_partial_dependence_is_the_moebius_value_of_a_feature_plus_the_base_value():
    model, rows = diabetes_machine()
    explainer = pkex.Explainer(model, rows)
    effects = explainer.effects("bmi", grid_resolution=5)
    table = pd.concat([rows[:1]] * 5, ignore_index=True).assign(bmi=effects.grid[0])
    moebius = explainer.interactions(table, index="Moebius", subsets=["bmi"])
    np.testing.assert_allclose(
        moebius["bmi"] + explainer.expected_value, effects.average[0], rtol=1e-10
    )


def _brute_ale(predict, rows, column, edges, weights):
    values = rows[:, column]
    effects = [0.0]
    counts = []
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = (values > low) & (values <= high) | ((k == 0) & (values == low))
        above, below = rows[inside].copy(), rows[inside].copy()
        above[:, column], below[:, column] = high, low
        change = predict(above) - predict(below)
        effects.append(effects[-1] + np.average(change, weights=weights[inside]))
        counts.append(weights[inside].sum())
    curve = np.array(effects)
    return curve - np.average((curve[1:] + curve[:-1]) / 2.0, weights=counts)


@pytest.mark.parametrize("kernel", [RBF(0.2), Matern(0.2, nu=1.5), RBF(0.2) + DotProduct(0.1)])
@pytest.mark.parametrize("percentiles", [(0.0, 1.0), (0.1, 0.9)])
def test_ale_is_its_definition(kernel, percentiles):
    X = TABLE.to_numpy()
    model = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None).fit(X[:60], TARGET[:60])
    rows, weights = X[:50], np.linspace(1.0, 2.0, 50)
    explainer = pkex.Explainer(model, rows, background_weights=weights)
    effects = explainer.effects([2], kind="ale", grid_resolution=8, percentiles=percentiles)
    ale = _brute_ale(model.predict, rows, 2, effects.grid[0], weights)
    assert np.abs(effects.average[0] - ale).max() <= 1e-10 * np.ptp(ale)
    assert len(effects.grid[0]) == 8


def _brute_covariance(model, rows, columns, grid):
    """Return the posterior covariance of the mean over rows at each place."""
    tables = []
    for values in grid:
        tables.append(rows.copy())
        tables[-1][:, columns] = values
    _, cov = model.predict(np.vstack(tables), return_cov=True)
    count = len(rows)
    return cov.reshape(len(grid), count, len(grid), count).mean(axis=(1, 3))


def test_covariances_of_a_mixture():
    model, rows = MixtureByDefinition(), np.random.default_rng(3).normal(size=(5, 3))
    explainer = pkex.Explainer(mixture_of_processes(2.0), rows)
    effects = explainer.effects([1, (0, 2)], grid_resolution=4, return_std=True)
    cov = 4.0 * _brute_covariance(model, rows, [1], effects.grid[0][:, None])
    np.testing.assert_allclose(effects.cov[0], cov, atol=1e-11 * cov.max())
    np.testing.assert_allclose(effects.std[0] ** 2, np.diag(cov), atol=1e-11 * cov.max())
    pairs = np.array(list(product(*effects.grid[1])))
    surface = 4.0 * np.diag(_brute_covariance(model, rows, [0, 2], pairs)).reshape(4, 4)
    assert np.abs(effects.std[1] ** 2 - surface).max() <= 1e-11 * surface.max()
    ale = explainer.effects([1], kind="ale", grid_resolution=4, return_std=True)
    points, maps = _ale_map(rows, 1, ale.grid[0])
    _, full = model.predict(points, return_cov=True)
    np.testing.assert_allclose(ale.cov[0], 4.0 * maps @ full @ maps.T, atol=1e-10 * cov.max())


_KERNELS = [RBF(3.0), 2.0 * Matern(3.0, nu=1.5) + RBF(np.linspace(1, 4, 10)), DotProduct(1.0)]


@pytest.mark.parametrize("kernel", _KERNELS, ids=str)
def test_covariances_are_those_of_the_posterior(kernel):
    model, rows = diabetes_process(kernel)
    explainer = pkex.Explainer(model, rows)
    effects = explainer.effects([2, (2, 8)], grid_resolution=4, return_std=True)
    cov = _brute_covariance(model, rows, [2], effects.grid[0][:, None])
    scale = np.abs(cov).max()
    assert np.abs(effects.cov[0] - cov).max() <= 1e-10 * scale
    np.testing.assert_allclose(effects.std[0] ** 2, np.diag(cov), atol=1e-10 * scale)
    pairs = np.array(list(product(*effects.grid[1])))
    surface = np.diag(_brute_covariance(model, rows, [2, 8], pairs)).reshape(4, 4)
    assert np.abs(effects.std[1] ** 2 - surface).max() <= 1e-10 * surface.max()
    assert effects.cov[1] is None


def test_every_output_has_its_covariances():
    X = TABLE.to_numpy()[:40] / 0.05
    Y = np.column_stack([TARGET[:40], X[:, 2] - X[:, 8]])
    model = GaussianProcessRegressor(RBF(3.0), alpha=0.3, optimizer=None, normalize_y=True)
    model.fit(X, Y)
    effects = pkex.Explainer(model, X[:8]).effects([2], grid_resolution=3, return_std=True)
    for m, scale in enumerate(Y.std(axis=0)):
        one = GaussianProcessRegressor(RBF(3.0), alpha=0.3, optimizer=None).fit(X, Y[:, m])
        cov = scale**2 * _brute_covariance(one, X[:8], [2], effects.grid[0][:, None])
        np.testing.assert_allclose(effects.cov[0][..., m], cov, atol=1e-10 * np.abs(cov).max())


def test_covariances_of_centred_curves_and_of_ale():
    model, rows = diabetes_process(RBF(3.0))
    explainer = pkex.Explainer(model, rows)
    effects = explainer.effects([2], grid_resolution=4, return_std=True)
    centred = effects.centered()
    cov = _brute_covariance(model, rows, [2], effects.grid[0][:, None])
    change = np.eye(4) - np.eye(4)[:1]
    np.testing.assert_allclose(centred.cov[0], change @ cov @ change.T, atol=1e-9 * cov.max())
    assert centred.std[0][0] == 0.0
    ale = explainer.effects([2], kind="ale", grid_resolution=4, return_std=True)
    edges = ale.grid[0]
    # a linear map of predictions: its rows are the curves of unit vectors of predictions
    points, maps = _ale_map(rows, 2, edges)
    _, full = model.predict(points, return_cov=True)
    np.testing.assert_allclose(ale.cov[0], maps @ full @ maps.T, atol=1e-9 * cov.max())


def _ale_map(rows, column, edges):
    points = []

    def collect(table):
        points.append(table)
        return np.zeros(len(table))

    _brute_ale(collect, rows, column, edges, np.ones(len(rows)))
    stacked = np.vstack(points)
    maps = np.empty((len(edges), len(stacked)))
    for unit in range(len(stacked)):
        values = iter(np.split(np.eye(len(stacked))[unit], np.cumsum([len(p) for p in points])))
        maps[:, unit] = _brute_ale(
            lambda _, values=values: next(values), rows, column, edges, np.ones(len(rows))
        )
    return stacked, maps


def _brute_h(predict, rows):
    """Return H squared of column 2, and of columns 2 and 8, from predictions."""

    def dependence(columns):
        curve = []
        for row in rows:
            table = rows.copy()
            table[:, columns] = row[columns]
            curve.append(predict(table).mean())
        return np.array(curve) - np.mean(curve)

    whole = predict(rows) - predict(rows).mean()
    others = dependence([j for j in range(10) if j != 2])
    single = ((whole - dependence([2]) - others) ** 2).sum() / (whole**2).sum()
    both = dependence([2, 8])
    pair = ((both - dependence([2]) - dependence([8])) ** 2).sum() / (both**2).sum()
    return [single, pair]


@pytest.mark.parametrize("kernel", [RBF(3.0), Matern(3.0, nu=2.5)], ids=str)
def test_h_statistic_is_that_of_brute_partial_dependence(kernel):
    model, rows = diabetes_process(kernel)
    effects = pkex.Explainer(model, rows).effects([2, (2, 8)], grid_resolution=3)
    np.testing.assert_allclose(effects.h_statistic(), _brute_h(model.predict, rows), rtol=1e-8)


def test_h_statistic_of_probabilities_is_not_that_of_log_odds():
    rows = TABLE.to_numpy()[:12]
    model = LogisticRegression(C=1e4).fit(TABLE.to_numpy(), TARGET > 140.0)
    explainer = pkex.Explainer(model, rows, outputs="log-odds")
    options: dict[str, Any] = {"grid_resolution": 3, "response_method": "predict_proba"}
    effects = explainer.effects([2, (2, 8)], **options)
    expected = _brute_h(lambda table: model.predict_proba(table)[:, 1], rows)
    np.testing.assert_allclose(effects.h_statistic(), expected, rtol=1e-8)
    assert "log-odds" not in repr(effects)
    assert min(expected) > 1e-4 > explainer.effects([2, (2, 8)]).h_statistic().max()


def test_an_additive_model_has_no_interactions():
    X = TABLE.to_numpy()[:50]
    kernel = pkex.kernels.RBF(0.1).on(0) + pkex.kernels.RBF(0.1).on(1)
    f = pkex.KernelExpansion(X, np.linspace(-1.0, 1.0, 50), kernel)
    h = pkex.Explainer(f, X).effects([0, (0, 1)]).h_statistic()
    assert np.abs(h).max() < 1e-20


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    model, rows = diabetes_process(2.0 * RBF(3.0) + Matern(3.0))
    monkeypatch.setattr("pkex.explain.effect_sums._ENTRIES", 2000)
    options: dict[str, Any] = {"kind": "both", "grid_resolution": 5, "return_std": True}
    one, two = (
        pkex.Explainer(model, rows, n_jobs=n).effects([0, 2, (2, 8)], **options) for n in (1, 2)
    )
    for name in ("average", "individual", "std"):
        for a, b in zip(getattr(one, name), getattr(two, name), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.h_statistic(), two.h_statistic())


def test_bands_cover_the_true_curve_at_their_level():
    # 8 functions of the prior; simulations/effects.py has 200 of them, and prints a table
    from simulations.effects import simulate

    covered = simulate(n_functions=8)
    assert covered.mean() >= 0.86  # 0.954 of many, and 8 functions spread it by about 0.03
