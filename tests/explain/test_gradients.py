"""Gradients of every model, against differences of its predictions and many digits."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mpmath import mp, mpf
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVR

import pkex
from pkex import Explainer, KernelExpansion, PrecisionWarning, UnsupportedModelError
from pkex.kernels import RBF, Laplacian, Matern
from tests._support import mp_kernels
from tests._support.cases import assert_close
from tests._support.models import MODELS
from tests.readers.test_readers import explainer

RNG = np.random.default_rng(3)
X = RNG.normal(size=(20, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
ROWS = RNG.normal(size=(4, 3))
SIDES = (1.0, -1.0, 2.0, -2.0)  # of steps
WITHOUT = (  # words of what has no derivative
    *("OneHotEncoder", "Binarizer", "QuantileTransformer", "KBinsDiscretizer", "OrdinalEncoder"),
    *("TargetEncoder", "SplineTransformer", "no value in"),
)


def differences(predict, rows, columns, steps):
    """Return derivatives by columns: Richardson's extrapolation of central differences.

    The shape is (n_rows, n_columns, n_outputs). All rows are predicted at once.
    """
    moves = [(column, k * step) for column, step in zip(columns, steps, strict=True) for k in SIDES]
    if hasattr(rows, "iloc"):
        names = rows.columns
        tables = [rows.assign(**{names[c]: rows[names[c]].astype(float) + s}) for c, s in moves]
        table: Any = pd.concat(tables)
    else:
        shifts = [s * (np.arange(rows.shape[1]) == c) for c, s in moves]
        table = np.concatenate([np.asarray(rows, dtype=float) + shift for shift in shifts])
    own = np.asarray(predict(table), dtype=float).reshape(len(columns), 4, len(rows), -1)
    near, far = (own[:, a] - own[:, b] for a, b in ((0, 1), (2, 3)))
    slopes = (8.0 * near - far) / (12.0 * np.reshape(steps, (-1, 1, 1)))
    return np.moveaxis(slopes, 0, 1)


def between(rows):
    """Return rows that are not training rows, so that they lie at no kink."""
    if hasattr(rows, "iloc"):
        numbers = rows.select_dtypes("number").columns
        shift = 0.0511 * rows[numbers].std().fillna(0.0)
        return rows.assign(**{name: rows[name] + shift[name] for name in numbers})
    return np.asarray(rows) + 0.0511 * np.asarray(rows).std(axis=0)


# features behind steps that combine columns are not those that `own_output` takes
@pytest.mark.parametrize("case", [case for case in MODELS if case.features is None], ids=str)
def test_every_model_has_the_gradient_of_its_predictions(case):
    rows = between(case.rows)[:2]
    explain = explainer(case)
    try:
        with case.quiet():
            gradients: Any = explain.gradients(rows)
    except (UnsupportedModelError, ValueError) as error:
        assert any(words in str(error) for words in WITHOUT)  # noqa: PT017
        return
    values = gradients.values.reshape(*gradients.values.shape[:2], -1)
    with case.quiet(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        size = np.abs(case.own_output(case.rows)).max()
        spreads = np.std(np.asarray(case.rows).astype(float), axis=0)
        steps = 2e-5 * np.where(spreads > 0.0, spreads, 1.0)
        expected = differences(case.own_output, rows, range(values.shape[1]), steps)
    # of the steps, and of rounding divided by them
    assert_close(spreads[:, None] * values, spreads[:, None] * expected, 1e-6 * size)


def test_gradients_of_a_model_in_many_digits():
    kernel = 0.5 * RBF([1.0, 2.0, 0.7]) + Matern(1.3, nu=2.5)
    alpha = RNG.normal(size=(20, 2))
    gradients: Any = Explainer(KernelExpansion(X, alpha, kernel)).gradients(ROWS)
    assert gradients.values.shape == (4, 3, 2)
    for row, values in zip(ROWS, gradients.values, strict=True):
        expected = alpha.T @ [mp_kernels.differentiate(kernel, row, point) for point in X]
        assert_close(values, expected.T, 1e-13)


KERNELS = {
    "rbf": 2.0 * gp.RBF([0.8, 1.0, 1.7]) + gp.WhiteKernel(0.1),
    "matern-1.5": gp.Matern(1.3, nu=1.5),
    "matern-2.5": gp.Matern([0.9, 1.2, 2.0], nu=2.5) * gp.ConstantKernel(3.0),
    "rational-quadratic": gp.RationalQuadratic(1.1, alpha=0.8),
    "linear": gp.RBF(1.0) + 0.5 * gp.DotProduct(1.0),
    "product": gp.RBF(1.5) * gp.Matern(1.4, nu=2.5) + gp.DotProduct(0.5) * gp.RBF(2.0),
}


def process(kernel, **options):
    options = {"alpha": 0.05, "optimizer": None, "normalize_y": True} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, **options).fit(X[:, : options.pop("d", 3)], Y)


def posterior_covariance(model, row, step=1e-9):
    """Return the covariance of differences of the posterior in 50 digits, without its noise."""
    expansion: Any = pkex.as_expansion(model)
    kernel, points = expansion.kernel, expansion.points
    with mp.workdps(50):
        h, x = mpf(step), [mpf(float(one)) for one in row]
        z = [[mpf(float(one)) for one in point] for point in points]
        factor = mp.matrix(expansion.posterior.cholesky.tolist())
        matrix = factor * factor.T
        places = [[*x[:j], x[j] + s * h, *x[j + 1 :]] for j in range(len(x)) for s in (1, -1)]
        cross = mp.matrix([[mp_kernels.evaluate(kernel, p, q) for q in z] for p in places])
        prior = mp.matrix([[mp_kernels.evaluate(kernel, p, q) for q in places] for p in places])
        inverse = matrix**-1
        covariance = prior - cross * inverse * cross.T
        variances = []
        for j in range(len(x)):
            a, b = 2 * j, 2 * j + 1
            second = covariance[a, a] - 2 * covariance[a, b] + covariance[b, b]
            variances.append(second / (4 * h * h))
        return np.array([float(one) for one in variances]) * model._y_train_std**2


@pytest.mark.parametrize("name", KERNELS)
def test_standard_deviations_agree_with_differences_of_the_posterior(name):
    model = process(KERNELS[name])
    gradients: Any = Explainer(model).gradients(ROWS[:2], return_std=True)
    for row, std in zip(ROWS[:2], gradients.std, strict=True):
        expected = posterior_covariance(model, row)
        assert_close(std**2, expected, 1e-7 * expected.max())  # Matern 3/2 errs by the step


def test_scaled_outputs_scale_standard_deviations():
    targets = np.column_stack([Y, -3.0 * Y + 1.0])
    model = GaussianProcessRegressor(gp.RBF(1.2), alpha=0.1, optimizer=None, normalize_y=True)
    both: Any = Explainer(model.fit(X, targets)).gradients(ROWS, return_std=True)
    assert_close(both.std[..., 1], 3.0 * both.std[..., 0], 1e-12)
    assert_close(both.values[..., 1], -3.0 * both.values[..., 0], 1e-12)


def test_a_process_far_from_its_points_has_the_prior_of_its_gradient():
    model = process(gp.RBF([0.5, 1.0, 2.0]), normalize_y=False)
    gradients: Any = Explainer(model).gradients([[50.0, 50.0, 50.0]], return_std=True)
    assert_close(gradients.std[0], [2.0, 1.0, 0.5], 1e-14)


STEPS: dict[str, Any] = {
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "max": MaxAbsScaler(),
    "min max": MinMaxScaler((-1.0, 3.0)),
    "clipped": MinMaxScaler(clip=True),
    "power": PowerTransformer(),
    "power, not scaled": PowerTransformer(standardize=False),
    "function": make_pipeline(FunctionTransformer(np.arcsinh), StandardScaler()),
    "twice": make_union(StandardScaler(), FunctionTransformer(np.tanh)),
    "columns": make_column_transformer(
        (PowerTransformer(), [2, 0]), (make_pipeline(StandardScaler(), MinMaxScaler()), [1])
    ),
    "some": make_column_transformer((StandardScaler(), [1]), ("passthrough", [0])),
    "twice, weighted": FeatureUnion(
        [("a", StandardScaler()), ("b", MinMaxScaler())], transformer_weights={"a": 1.5}
    ),
    "columns, weighted": ColumnTransformer(
        [("a", StandardScaler(), [2, 0]), ("b", "passthrough", [1])], transformer_weights={"b": 0.5}
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_followed_by_the_chain_rule(name):
    kernel = gp.RBF(1.5) + gp.WhiteKernel(0.1)
    last = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    model = make_pipeline(STEPS[name], last).fit(X, Y)
    gradients: Any = Explainer(model).gradients(ROWS, return_std=True)

    def covariance(rows):
        process, prepared = model[-1], model[:-1].transform(rows)
        return process.predict(prepared, return_cov=True)[1] - 0.1 * process._y_train_std**2 * (
            np.eye(len(rows))
        )

    for column in range(3):
        expected = differences(model.predict, ROWS, [column], [1e-3])
        assert_close(gradients.values[:, [column]], expected[..., 0], 1e-7)
        for i, row in enumerate(ROWS):
            h = 1e-3
            cov = covariance(np.stack([row + h * np.eye(3)[column], row - h * np.eye(3)[column]]))
            variance = (cov[0, 0] - 2.0 * cov[0, 1] + cov[1, 1]) / (4.0 * h * h)
            assert_close(gradients.std[i, column] ** 2, variance, 1e-5)


@pytest.mark.parametrize("kind", [MaxAbsScaler, MinMaxScaler])
def test_a_scaler_that_clips_is_flat_outside_its_range(kind):
    if "clip" not in kind().get_params():
        pytest.skip("this scikit-learn does not clip")
    model = make_pipeline(kind(clip=True), SVR()).fit(X, Y)
    rows = np.array([[9.0, 0.1, -9.0], [0.2, -9.0, 0.3]])
    gradients: Any = Explainer(model).gradients(rows)
    expected = differences(model.predict, rows, range(3), [1e-3] * 3)
    assert_close(gradients.values, expected[..., 0], 1e-8)
    assert (gradients.values == 0.0).tolist() == [[True, False, True], [False, True, False]]


def test_a_frame_and_named_steps():
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"r{i}" for i in range(20)])
    columns = make_column_transformer((StandardScaler(), ["c"]), (PowerTransformer(), ["a", "b"]))
    model = make_pipeline(columns, SVR()).fit(frame, Y)
    gradients: Any = Explainer(model, frame[:5]).gradients(frame[:3])
    assert gradients.feature_names == ("a", "b", "c")
    assert list(gradients.to_frame().index) == ["r0", "r1", "r2"]
    expected = differences(model.predict, frame[:3], [1], [1e-3])
    assert_close(gradients[:, "b"].values, expected[..., 0], 1e-8)


def test_a_list_is_followed_through_a_function():
    model = make_pipeline(FunctionTransformer(np.sqrt), StandardScaler(), SVR()).fit(X**2, Y)
    explain = Explainer(model)
    listed = explain.gradients((ROWS**2).tolist())
    assert np.array_equal(listed.values, explain.gradients(ROWS**2).values)


def test_groups_do_not_change_gradients():
    model = SVR().fit(X, Y)
    plain: Any = Explainer(model).gradients(ROWS)
    grouped: Any = Explainer(model, groups={"both": [0, 1]}).gradients(ROWS)
    assert np.array_equal(plain.values, grouped.values)
    assert grouped.feature_names == ("x0", "x1", "x2")


@pytest.mark.parametrize("removal", ["neutral", "product-of-marginals"])
def test_removal_does_not_matter(removal):
    model = process(KERNELS["rbf"])
    one: Any = Explainer(model, removal=removal).gradients(ROWS, return_std=True)
    two: Any = Explainer(model, X[:3]).gradients(ROWS, return_std=True)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.std, two.std)


def test_several_parts_add_up():
    targets = np.column_stack([Y, Y**2])
    model = MultiOutputRegressor(process(gp.RBF(1.3))).fit(X, targets)
    both: Any = Explainer(model).gradients(ROWS, return_std=True)
    for k, one in enumerate(model.estimators_):
        alone: Any = Explainer(one).gradients(ROWS, return_std=True)
        assert_close(both.values[..., k], alone.values, 1e-14)
        assert_close(both.std[..., k], alone.std, 1e-14)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(n_jobs):
    rows = RNG.normal(size=(300, 3))
    model = process(KERNELS["product"])
    one: Any = Explainer(model, n_jobs=1).gradients(rows, return_std=True)
    other: Any = Explainer(model, n_jobs=n_jobs).gradients(rows, return_std=True)
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.std, other.std)


def test_blocks_of_points_and_rows(monkeypatch):
    model = process(KERNELS["matern-2.5"])
    whole: Any = Explainer(model).gradients(ROWS, return_std=True)
    monkeypatch.setattr("pkex.explain.gradients._ENTRIES", 7)
    parts: Any = Explainer(model).gradients(ROWS, return_std=True)
    assert_close(parts.values, whole.values, 1e-14)
    assert_close(parts.std, whole.std, 1e-14)


def test_a_kink_is_named():
    f = KernelExpansion(X, Y, Laplacian(), feature_names=["a", "b", "c"])
    rows = ROWS.copy()
    rows[2, 1] = X[7, 1]
    with pytest.raises(ValueError, match="row 2 by 'b'"):
        Explainer(f).gradients(rows)
    unused = Y.copy()
    unused[7] = 0.0
    Explainer(KernelExpansion(X, unused, Laplacian())).gradients(rows)


def test_what_has_no_standard_deviation_is_refused():
    with pytest.raises(UnsupportedModelError, match="posterior"):
        Explainer(SVR().fit(X, Y)).gradients(ROWS, return_std=True)
    for kernel in (gp.Matern(nu=0.5), gp.PairwiseKernel(metric="laplacian")):
        with pytest.raises(UnsupportedModelError, match="sample paths"):
            Explainer(process(kernel)).gradients(ROWS, return_std=True)
        Explainer(process(kernel)).gradients(ROWS)


def test_steps_without_derivatives_are_named():
    frame = pd.DataFrame({"town": ["a", "b"] * 10, "size": X[:, 0]})
    columns = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), ["size"]))
    model = make_pipeline(columns, SVR()).fit(frame, Y)
    with pytest.raises(
        UnsupportedModelError, match="OneHotEncoder in front of the model, for town"
    ):
        Explainer(model).gradients(frame[:2])
    model = make_pipeline(FunctionTransformer(np.sqrt), SVR()).fit(X**2, Y)
    with pytest.raises(ValueError, match="no finite derivative at row 0 in 'x1'"):
        Explainer(model).gradients([[1.0, 0.0, 1.0]])


def test_a_badly_conditioned_process_warns():
    points = np.linspace(0.0, 1.0, 60)[:, None]
    model = GaussianProcessRegressor(gp.RBF(1.0), alpha=1e-13, optimizer=None)
    explain = Explainer(model.fit(points, np.sin(points[:, 0])))
    with pytest.warns(PrecisionWarning, match="standard deviations of the gradients"):
        explain.gradients([[0.5]], return_std=True)


def test_an_explainer_that_was_pickled_has_the_same_gradients():
    model = make_pipeline(PowerTransformer(), SVR()).fit(X, Y)
    explain = Explainer(model)
    again = pickle.loads(pickle.dumps(explain))
    assert np.array_equal(explain.gradients(ROWS).values, again.gradients(ROWS).values)
