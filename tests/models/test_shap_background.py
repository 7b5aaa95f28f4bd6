"""Backgrounds of shap: their rows, weights and names, without importing shap."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import pkex

NAMES = ["age", "bmi", "bp"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, X[:, 0] - X[:, 1] ** 2


def same(first, second):
    assert first.removal == second.removal
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.base_values, second.base_values)


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
@pytest.mark.parametrize("framed", [False, True])
def test_means_of_shap_have_their_weights(removal, framed, data):
    X, y = data
    X = pd.DataFrame(X, columns=NAMES) if framed else X
    means = shap.kmeans(X, 7)
    assert len(set(means.weights)) > 1
    model = make_pipeline(StandardScaler(), SVR()).fit(X, y)
    rows = pd.DataFrame(means.data, columns=NAMES) if framed else means.data
    given = pkex.Explainer(model, rows, background_weights=means.weights, removal=removal)
    found = pkex.Explainer(model, means, removal=removal)
    same(found(X[:5]), given(X[:5]))
    mean = np.average(model.predict(rows), weights=means.weights)
    if removal == "interventional":
        assert found.expected_value == pytest.approx(mean, rel=1e-12)


def test_values_are_those_of_shap(data):
    """shap's exact explainer, with the same weighted means as background."""
    X, y = data
    model = SVR().fit(X, y)
    means = shap.kmeans(X, 4)
    theirs = shap.KernelExplainer(model.predict, means, silent=True)
    values = theirs.shap_values(X[:3], nsamples=2**3, silent=True)  # all coalitions
    np.testing.assert_allclose(pkex.Explainer(model, means)(X[:3]).values, values, atol=1e-9)


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("max_samples", [100, 20])
def test_the_rows_that_a_masker_drew(framed, max_samples, data):
    X, y = data
    X = pd.DataFrame(X, columns=NAMES) if framed else X
    masker = shap.maskers.Independent(X, max_samples=max_samples)
    assert len(masker.data) == max_samples
    model = SVR().fit(X, y)
    rows = pd.DataFrame(masker.data, columns=NAMES) if framed else masker.data
    same(pkex.Explainer(model, masker)(X[:5]), pkex.Explainer(model, rows)(X[:5]))
    weights = np.arange(1.0, max_samples + 1.0)
    given = pkex.Explainer(model, rows, background_weights=weights)
    same(pkex.Explainer(model, masker, background_weights=weights)(X[:5]), given(X[:5]))


def test_a_masker_of_text_and_numbers_is_a_frame_again(data):
    X, y = data
    table = pd.DataFrame({"city": np.where(X[:, 0] > 0.0, "Wien", "Graz"), "age": X[:, 1]})
    prepared = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["age"]))
    model = make_pipeline(prepared, SVR()).fit(table, y)
    masker = shap.maskers.Independent(table, max_samples=200)
    same(pkex.Explainer(model, masker)(table[:5]), pkex.Explainer(model, table)(table[:5]))


def test_data_that_are_turned(data):
    from shap.utils._legacy import DenseData

    X, y = data
    model = SVR().fit(X, y)
    turned = DenseData(X.T.copy(), NAMES)
    assert turned.transposed
    frame = pd.DataFrame(X, columns=NAMES)
    same(pkex.Explainer(model, turned)(X[:5]), pkex.Explainer(model, frame)(X[:5]))


def test_a_mean_without_rows_is_left_out(data):
    X, y = data
    means = shap.kmeans(X, 4)
    model = SVR().fit(X, y)
    fewer = pkex.Explainer(model, means.data[1:], background_weights=means.weights[1:])
    means.weights[0] = 0.0
    same(pkex.Explainer(model, means)(X[:5]), fewer(X[:5]))


def test_what_cannot_be_taken_gets_a_sentence(data):
    from shap.utils._legacy import DenseData

    X, y = data
    model = SVR().fit(X, y)
    means = shap.kmeans(X, 4)
    with pytest.raises(
        ValueError, match=r"already has weights, as from shap\.kmeans.*background\.data"
    ):
        pkex.Explainer(model, means, background_weights=means.weights)
    grouped = DenseData(X.copy(), ["a", "b"], [np.array([0, 1]), np.array([2])])
    with pytest.raises(
        ValueError, match=r"groups of columns, which is not supported: pass background\.data"
    ):
        pkex.Explainer(model, grouped)
    for other in (shap.maskers.Impute(X), shap.maskers.Fixed()):
        words = f"background is shap's {type(other).__name__}, .*shap.maskers.Independent"
        with pytest.raises(TypeError, match=words):
            pkex.Explainer(model, other)
    with pytest.raises(ValueError, match="neutral removal takes no background"):
        pkex.Explainer(model, means, removal="neutral")


def test_shap_is_not_imported():
    code = (
        "import sys, pkex\n"
        "f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())\n"
        "pkex.Explainer(f, [[0.5]])([[1.0]]); assert 'shap' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
