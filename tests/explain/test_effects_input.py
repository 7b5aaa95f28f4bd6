"""What effects take: pipelines, grids, groups, defaults, and what they refuse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from tests._support.effect_models import TABLE, TARGET, diabetes_machine, diabetes_process


def test_grid_through_a_pipeline_has_the_units_of_the_input():
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(TABLE * 100.0, TARGET)
    rows = TABLE[:30] * 100.0
    effects = pkex.Explainer(model, rows).effects(["bmi"], grid_resolution=6)
    theirs = partial_dependence(model, rows, ["bmi"], method="brute", grid_resolution=6)
    np.testing.assert_array_equal(effects.grid[0], theirs["grid_values"][0])
    np.testing.assert_allclose(effects.average[0], theirs["average"][0], rtol=1e-12)


def test_integers_and_groups_have_places_that_occur():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 300, 200), rng.normal(size=200), rng.normal(size=200)])
    f = pkex.KernelExpansion(X[:30], rng.normal(size=30), pkex.kernels.RBF([50.0, 1.0, 1.0]))
    explainer = pkex.Explainer(f, X, groups={"both": ["x1", "x2"]})
    effects = explainer.effects(["x0", "both"], grid_resolution=40)
    assert (effects.grid[0] == np.round(effects.grid[0])).all()
    assert effects.grid[1].shape == (40, 2)
    table = X.copy()
    table[:, 1:] = effects.grid[1][3]
    assert effects.average[1][3] == pytest.approx(f.predict(table).mean(), rel=1e-12)


def test_a_grid_has_no_absolute_scale():
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + 1e4 * rng.random(40), 1e-10 * rng.normal(size=40)])
    model = make_pipeline(StandardScaler(), SVR()).fit(X, X[:, 1] * 1e10)
    effects = pkex.Explainer(model, X).effects([0, 1], grid_resolution=5)
    for grid in effects.grid:
        np.testing.assert_allclose(np.diff(grid), np.ptp(grid) / 4, rtol=1e-6)


def test_bins_are_numbers_and_codes_are_not():
    X = pd.DataFrame({"number": np.linspace(0.0, 1.0, 40) ** 2, "code": np.arange(40) % 7})
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=6)
    bins = KBinsDiscretizer(4, strategy="uniform")
    steps = make_column_transformer((bins, ["number"]), (encoder, ["code"]))
    model = make_pipeline(steps, SVR()).fit(X, X["number"] + X["code"])
    explainer = pkex.Explainer(model, X)
    effects = explainer.effects(["number", "code"], grid_resolution=5)
    assert [len(grid) for grid in effects.grid] == [5, 7]
    assert explainer.effects(kind="ale").features == (("number",),)


def test_by_default_ale_is_of_columns_that_have_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=20), "kind": list("xy") * 10, "same": 1.0, "b": 0.0})
    X["b"] = rng.normal(size=20)
    steps = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(steps, SVR()).fit(X, X["a"] + (X["kind"] == "x"))
    effects = pkex.Explainer(model, X).effects(kind="ale", grid_resolution=4)
    assert {name for names in effects.features for name in names} == {"a", "b"}
    explainer = pkex.Explainer(model, X, groups={"numbers": ["a", "b", "same"]})
    with pytest.raises(ValueError, match="no feature has accumulated local effects"):
        explainer.effects(kind="ale")


def test_h_of_what_does_not_vary_is_nan():
    X = TABLE[["bmi", "bp"]].assign(one=0.1, two=0.7)[:30]
    explainer = pkex.Explainer(SVR().fit(X, TARGET[:30]), X)
    h = explainer.effects([("one", "two"), ("bmi", "one")], grid_resolution=3).h_statistic()
    assert np.isnan(h[0])
    assert h[1] < 1e-20


@pytest.mark.parametrize("removal", [None, "neutral"])
def test_without_a_background_the_points_are_one(removal):
    model, _ = diabetes_machine()
    effects = pkex.Explainer(model, removal=removal).effects("bmi", grid_resolution=5)
    vectors = pd.DataFrame(model.support_vectors_, columns=TABLE.columns)
    theirs = partial_dependence(model, vectors, ["bmi"], method="brute", grid_resolution=5)
    np.testing.assert_allclose(effects.average[0], theirs["average"][0], rtol=1e-10)
    assert "no background was passed" in effects.background_info


def test_by_default_the_features_that_vary_most_come_first():
    f = pkex.KernelExpansion(np.eye(8), np.ones(8), pkex.kernels.RBF([1, 9, 2, 9, 3, 9, 4, 5]))
    rows = np.random.default_rng(0).normal(size=(30, 8))
    effects = pkex.Explainer(f, rows).effects(grid_resolution=5)
    assert len(effects) == 6
    assert effects.features[0] == ("x0",)


_BAD = {
    "kind": ({"kind": "pdp"}, ValueError, "kind must be one of average"),
    "resolution": ({"grid_resolution": 1}, ValueError, "at least 2"),
    "percentiles": ({"percentiles": (0.9, 0.1)}, ValueError, "two ascending numbers"),
    "name": ({"features": ["none"]}, KeyError, "none"),
    "triple": ({"features": [("bmi", "bp", "s5")]}, ValueError, "make them a group"),
    "twice": ({"features": [("bmi", "bmi")]}, ValueError, "two different features"),
    "number": ({"features": 2.5}, TypeError, "names, numbers and pairs"),
    "empty": ({"features": []}, ValueError, "empty"),
    "std": ({"return_std": True}, pkex.UnsupportedModelError, "needs the posterior"),
    "ale pair": ({"features": [("bmi", "bp")], "kind": "ale"}, ValueError, "of one column"),
    "response": ({"response_method": "predict"}, ValueError, "predict_proba"),
    "link": ({"response_method": "predict_proba"}, pkex.UnsupportedModelError, "log-odds"),
}


@pytest.mark.parametrize(("options", "error", "words"), _BAD.values(), ids=_BAD)
def test_bad_arguments_are_refused(options, error, words):
    model, rows = diabetes_machine()
    with pytest.raises(error, match=words):
        pkex.Explainer(model, rows).effects(**options)


def test_what_has_no_meaning_is_refused():
    model, rows = diabetes_process(RBF(3.0))
    with pytest.raises(ValueError, match="kind='both'"):
        pkex.Explainer(model, rows).effects(kind="individual", return_std=True)
    pipeline = make_pipeline(StandardScaler(), SVR()).fit(TABLE, TARGET)
    with pytest.raises(ValueError, match="pass rows as the background"):
        pkex.Explainer(pipeline).effects()
    classifier = GaussianProcessClassifier(RBF(3.0), optimizer=None).fit(rows, rows[:, 2] > 0)
    with pytest.raises(pkex.UnsupportedModelError, match="not a known function"):
        pkex.Explainer(classifier, rows).effects(response_method="predict_proba")
    explainer = pkex.Explainer(LogisticRegression().fit(rows, rows[:, 2] > 0), rows)
    with pytest.raises(ValueError, match="log-odds only"):
        explainer.effects(kind="ale", response_method="predict_proba")


def test_several_outputs_are_the_last_axis():
    X, y = load_iris(return_X_y=True, as_frame=True)
    effects = pkex.Explainer(SVC().fit(X, y), X[::5]).effects([0, (0, 1)], grid_resolution=4)
    assert effects.average[0].shape == (4, 3)
    assert effects.average[1].shape == (4, 4, 3)
    one = effects.select_output("1", "plot")
    np.testing.assert_array_equal(one.average[1], effects.average[1][..., 1])
    np.testing.assert_array_equal(one.h_statistic(), effects.h_statistic()[:, 1])
