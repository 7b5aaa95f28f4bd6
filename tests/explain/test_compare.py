"""`pkex.compare`: mean and variance of a candidate from its incumbent, against enumeration.

The values of the mean are combinations of predictions at all hybrids of the two rows, and their
covariances those of the model's own posterior covariance. No formula of pkex is used for them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import pkex
from pkex import UnsupportedModelError
from tests._support.cases import alone
from tests._support.posterior_games import functional

RNG = np.random.default_rng(36)
X = RNG.uniform(size=(25, 4))
Y = 3.0 + np.sin(4.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=25)
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
SCALES = [0.4, 0.8, 1.5, 3.0]
INCUMBENT, CANDIDATE = X[3], np.array([0.9, 0.1, 1.4, 0.5])


def process(kernel, table=X, **options):
    options = {"alpha": 0.01, "optimizer": None} | options
    return GaussianProcessRegressor(kernel, **options).fit(table, Y)


MODELS = {
    "rbf": process(gp.RBF(SCALES)),
    "scaled": process(2.0 * gp.RBF(SCALES) + gp.WhiteKernel(0.1), normalize_y=True),
    "matern 5/2": process(gp.Matern(SCALES, nu=2.5)),
    "matern 1/2": process(gp.Matern(SCALES, nu=0.5)),
    "rational quadratic": process(gp.RationalQuadratic(0.7, 1.5)),
    "linear": process(gp.RBF(SCALES) + 0.5 * gp.DotProduct(0.3)),
    "pipeline": make_pipeline(StandardScaler(), process(gp.RBF(1.0))).fit(X, Y),
}
every_model = pytest.mark.parametrize("name", MODELS)


def enumerated(model, candidate, incumbent, groups=None):
    """Return values of the mean, their covariances, values of the variance, and both variances."""
    places, weights = functional(
        candidate, incumbent[None], np.ones(1), groups or alone(len(candidate)), "interventional"
    )
    *steps, last = [step for _, step in getattr(model, "steps", [(None, model)])]
    for step in steps:
        places = step.transform(places)
    mean, cov = last.predict(places, return_cov=True)
    noise = sum(k.noise_level for k in walk(last.kernel_) if isinstance(k, gp.WhiteKernel))
    cov = cov - noise * last._y_train_std**2 * np.eye(len(cov))
    variances = np.diagonal(cov)
    return weights @ mean, weights @ cov @ weights.T, weights @ variances, variances[[0, -1]]


def walk(kernel):
    """Yield a kernel of scikit-learn and all that it is made of."""
    yield kernel
    for part in ("k1", "k2"):
        if hasattr(kernel, part):
            yield from walk(getattr(kernel, part))


@every_model
def test_values_are_those_of_all_hybrids_of_the_two_rows(name):
    model = MODELS[name]
    found = pkex.compare(model, CANDIDATE, INCUMBENT, n_jobs=1)
    values, cov, variance_values, variances = enumerated(model, CANDIDATE, INCUMBENT)
    # scikit-learn subtracts numbers of the size of the prior, which its inverse amplifies
    np.testing.assert_allclose(found.values, values, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.cov, cov, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.std, np.sqrt(np.diagonal(cov)), rtol=0.0, atol=1e-8)
    atol = 1e-9 + found.variance_error_bound
    np.testing.assert_allclose(found.variance_values, variance_values, rtol=0.0, atol=atol)
    np.testing.assert_allclose(found.variances, variances, rtol=0.0, atol=atol)
    predictions = model.predict(np.stack([INCUMBENT, CANDIDATE]))
    np.testing.assert_allclose(found.predictions, predictions, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.difference, np.diff(predictions)[0], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.difference_std, np.sqrt(cov.sum()), rtol=0.0, atol=1e-8)


def test_values_of_draws_have_the_mean_and_the_covariances():
    """What the standard deviations mean: values of functions drawn from the posterior."""
    model = MODELS["rbf"]
    places, weights = functional(CANDIDATE, INCUMBENT[None], np.ones(1), alone(4), "interventional")
    draws = weights @ model.sample_y(places, n_samples=20_000, random_state=0)
    found = pkex.compare(model, CANDIDATE, INCUMBENT)
    errors = found.std / np.sqrt(20_000.0)
    assert (np.abs(draws.mean(axis=1) - found.values) < 5.0 * errors + 1e-9).all()
    # a standard deviation of n draws is off by 1 / sqrt(2 n) of itself: 5 of these
    np.testing.assert_allclose(draws.std(axis=1), found.std, rtol=0.025)


@every_model
def test_what_both_rows_share_is_fixed_and_counts_nothing(name):
    candidate = np.where([True, False, True, False], CANDIDATE, INCUMBENT)
    found = pkex.compare(MODELS[name], candidate, INCUMBENT)
    assert found.fixed == ("x1", "x3")
    for array in (found.values, found.std, found.variance_values):
        assert (array[[1, 3]] == 0.0).all()
        assert (array[[0, 2]] != 0.0).all()
    assert (found.cov[[1, 3]] == 0.0).all()
    assert (found.cov[:, [1, 3]] == 0.0).all()
    assert "fixed" in repr(found)


def test_groups_are_one_feature():
    groups = {"first": [0, 1]}
    found = pkex.compare(MODELS["rbf"], CANDIDATE, INCUMBENT, groups=groups)
    players = [(0, 1), (2,), (3,)]
    values, cov, variance_values, _ = enumerated(MODELS["rbf"], CANDIDATE, INCUMBENT, players)
    assert found.feature_names == ("first", "x2", "x3")
    np.testing.assert_allclose(found.values, values, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(found.cov, cov, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(found.variance_values, variance_values, rtol=0.0, atol=1e-10)


def test_every_output_has_values():
    model = GaussianProcessRegressor(gp.RBF(SCALES), alpha=0.01, optimizer=None)
    model.fit(X, np.stack([Y, -2.0 * Y], axis=1))
    one, found = (pkex.compare(m, CANDIDATE, INCUMBENT) for m in (MODELS["rbf"], model))
    assert found.values.shape == (4, 2)
    np.testing.assert_allclose(found.values, np.outer(one.values, [1.0, -2.0]), atol=1e-12)
    chosen = found.select_output("y1", "plot")
    np.testing.assert_allclose(chosen.values, -2.0 * one.values, atol=1e-12)
    np.testing.assert_allclose(chosen.cov, one.cov, atol=1e-12)
    assert repr(found).count("incumbent") == 4  # a sentence and a table for each
    assert found.to_frame().columns.nlevels == 2


def test_rows_come_in_every_form():
    model = process(gp.RBF(SCALES), FRAME)
    right = pkex.compare(model, CANDIDATE[None], INCUMBENT)
    candidate = pd.DataFrame([CANDIDATE], columns=NAMES)
    shuffled = candidate[["d", "b", "a", "c"]]
    for row in (
        CANDIDATE.tolist(),
        candidate,
        shuffled,
        shuffled.iloc[0],
        dict(shuffled.iloc[0]),
        candidate.assign(another=1.0),
    ):
        found = pkex.compare(model, row, FRAME.iloc[3])
        np.testing.assert_array_equal(found.values, right.values)
        np.testing.assert_array_equal(found.data, right.data)
        assert found.feature_names == ("a", "b", "c", "d")


def test_a_model_without_names_finds_columns_by_those_of_the_incumbent():
    shuffled = pd.DataFrame([CANDIDATE], columns=NAMES)[["d", "b", "a", "c"]]
    found = pkex.compare(MODELS["rbf"], shuffled, FRAME[3:4])
    right = pkex.compare(MODELS["rbf"], CANDIDATE, INCUMBENT)
    np.testing.assert_array_equal(found.values, right.values)
    assert found.feature_names == tuple(NAMES)


def test_categories_are_compared_as_they_are():
    table = FRAME.assign(d=np.array(["red", "blue", "green"])[np.arange(25) % 3])
    encode = make_column_transformer((OneHotEncoder(), ["d"]), remainder="passthrough")
    model = make_pipeline(encode, GaussianProcessRegressor(gp.RBF(1.0), alpha=0.1, optimizer=None))
    model.fit(table, Y)
    candidate = {"a": 0.5, "b": INCUMBENT[1], "c": INCUMBENT[2], "d": "red"}
    assert table["d"][3] == "red"
    found = pkex.compare(model, candidate, table.iloc[3])
    assert found.fixed == ("b", "c", "d")
    other = pkex.compare(model, candidate | {"d": "blue"}, table.iloc[3])
    assert other.fixed == ("b", "c")
    assert other.values[3] != 0.0
    means = model.predict(pd.DataFrame([candidate | {"d": "blue"}]))
    np.testing.assert_allclose(other.predictions[1], means[0], atol=1e-10)
    assert "blue" in repr(other)


def test_a_latent_function_of_a_classifier_is_compared():
    model = GaussianProcessClassifier(4.0 * gp.RBF(0.5), optimizer=None).fit(X, Y > 3.5)
    found = pkex.compare(model, CANDIDATE, INCUMBENT)
    explained = pkex.Explainer(model, INCUMBENT[None])(CANDIDATE[None], return_std=True)
    np.testing.assert_allclose(found.values, explained.values[0], atol=1e-12)
    np.testing.assert_allclose(found.std, explained.std[0], atol=1e-9)


def test_plots_have_a_panel_for_mean_and_variance(tmp_path):
    candidate = np.append(CANDIDATE[:3], INCUMBENT[3])
    found = pkex.compare(MODELS["rbf"], candidate, INCUMBENT)
    display = found.plot()
    mean, variance = display.axes_
    assert len(mean.patches) == len(variance.patches) == 3  # without what is fixed
    lengths = [bar.get_bbox().width for bar in mean.patches if isinstance(bar, Rectangle)]
    np.testing.assert_allclose(lengths, found.values[found.ranking[:3]])
    lengths = [bar.get_bbox().width for bar in variance.patches if isinstance(bar, Rectangle)]
    np.testing.assert_allclose(lengths, found.variance_values[found.ranking[:3]])
    display.figure_.savefig(tmp_path / "plot.png")
    axes = display.figure_.add_subplot()
    assert found.plot(axes, quantity="variance").ax_ is axes
    with pytest.raises(ValueError, match="one ax has room for one quantity"):
        found.plot(axes)
    with pytest.raises(ValueError, match='quantity must be "mean", "variance"'):
        found.plot(quantity="std")


def test_a_file_whose_values_do_not_add_up_is_refused(tmp_path):
    found = pkex.compare(MODELS["rbf"], CANDIDATE, INCUMBENT)
    found.save(tmp_path / "right.npz")
    again = pkex.Comparison.load(tmp_path / "right.npz")
    np.testing.assert_array_equal(again.cov, found.cov)
    assert repr(again) == repr(found)
    found.variance_values[0] += 1e-3
    found.save(tmp_path / "wrong.npz")
    with pytest.raises(ValueError, match="do not add up"):
        pkex.Comparison.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("candidate", "incumbent", "message"),
    [
        (X[:3], X[0], "candidate has 3 rows; compare takes one"),
        (X[0], FRAME[:2], "incumbent has 2 rows; compare takes one"),
        (X[0, :3], X[0], "candidate has 3 columns, but 4 are expected"),
        (X[0], X[0, :3], "incumbent has 3 columns, but 4 are expected"),
        ([0.1, 0.2, np.nan, 0.3], X[0], "candidate contains NaN"),
        (X[0], [0.1, 0.2, np.nan, 0.3], "incumbent contains NaN"),
        (np.ma.array(X[1], mask=[False, True, False, False]), X[0], "candidate has masked entries"),
        (
            X[1],
            np.ma.array(X[:1], mask=[[False, True, False, False]]),
            "incumbent has masked entries",
        ),
        (X[0], X[0], "equal in every column"),
        (X[0], FRAME.to_dict("records")[0] | {"e": 1.0}, "incumbent"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(candidate, incumbent, message):
    with pytest.raises(ValueError, match=message):
        pkex.compare(MODELS["rbf"], candidate, incumbent)


@pytest.mark.parametrize("which", ["candidate", "incumbent"])
@pytest.mark.parametrize("row", ["a", None, 3.0])
def test_what_is_not_a_row_is_refused(row, which):
    rows = {"candidate": X[0], "incumbent": X[1]} | {which: row}
    with pytest.raises(TypeError, match=f"{which} must be a table or an array"):
        pkex.compare(MODELS["rbf"], **rows)


@pytest.mark.parametrize("which", ["candidate", "incumbent"])
def test_entries_that_are_sequences_are_refused(which):
    rows = {"candidate": X[0], "incumbent": X[1]} | {which: [0.1, [0.2], 0.3, 0.4]}
    with pytest.raises(TypeError, match=f"{which} holds values that are not numbers"):
        pkex.compare(MODELS["rbf"], **rows)


def test_models_without_a_posterior_are_refused():
    with pytest.raises(UnsupportedModelError, match="compare needs the posterior"):
        pkex.compare(SVR().fit(X, Y), X[0], X[1])
    with pytest.raises(TypeError, match="compare takes a model, got an Explainer"):
        pkex.compare(pkex.Explainer(MODELS["rbf"]), X[0], X[1])
