"""Readers: odd models, from constants to a thousand columns, and the names of their columns."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, KernelPCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVR, OneClassSVM

from pkex import Explainer, UnsupportedModelError, as_expansion
from pkex.kernels import RBF
from tests._support.cases import assert_close
from tests._support.models.data import CULTIVAR, DIABETES, IRIS, SPECIES, TARGET, WINE_FRAME, X
from tests._support.models.vector_machines import GRAM, rbf_of_tables


def test_a_machine_without_support_vectors_is_a_constant():
    """With the default epsilon of 0.1 a target that varies less than that needs no vectors."""
    model = SVR().fit(DIABETES, TARGET / 10_000.0)
    assert len(model.support_vectors_) == 0
    explanation = Explainer(model)(DIABETES[:3])
    assert_close(explanation.values, np.zeros((3, 4)), 0.0)
    assert_close(explanation.predictions, model.predict(DIABETES[:3]), 0.0)


@pytest.mark.parametrize(
    "model",
    [
        SVR(gamma=0.0),
        SVC(gamma=0.0),
        OneClassSVM(gamma=0.0),
        *(KernelRidge(kernel=name, gamma=0.0) for name in ("rbf", "laplacian", "chi2")),
        GaussianProcessRegressor(
            gp.PairwiseKernel(0.0, "fixed", metric="rbf"), alpha=1.0, optimizer=None
        ),
    ],
    ids=str,
)
def test_a_kernel_with_the_rate_0_is_a_constant(model):
    model.fit(np.abs(X), TARGET > 150)
    own = getattr(model, "decision_function", model.predict)(np.abs(X[:3]))
    explanation = Explainer(model)(np.abs(X[:3]))
    assert_close(explanation.values, np.zeros((3, 4)), 0.0)
    assert_close(explanation.predictions, own, 1e-9)


def test_one_target_in_a_column_is_one_output():
    column = TARGET[:, None]
    for model in (
        KernelRidge(kernel="rbf").fit(X, column),
        GaussianProcessRegressor(alpha=1.0, optimizer=None, normalize_y=True).fit(X, column),
    ):
        explanation = Explainer(model)(X[:3])
        assert explanation.values.shape == (3, 4)
        assert explanation.base_values.shape == (3,)


def test_one_length_scale_in_a_list_is_isotropic():
    kernel = gp.RBF([0.1])
    model = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(X, TARGET)
    assert_close(Explainer(model)(X[:3]).predictions, model.predict(X[:3]), 1e-9)


def test_a_fractional_power_of_a_laplacian():
    kernel = gp.PairwiseKernel(6.0, metric="laplacian") ** 0.5
    model = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(X, TARGET)
    assert_close(Explainer(model)(X[:3]).predictions, model.predict(X[:3]), 1e-9)


@pytest.mark.parametrize("kind", [KernelRidge, KernelPCA])
def test_pkex_kernels_work_where_scikit_learn_calls_them_with_pairs_of_rows(kind):
    model = kind(kernel=RBF(0.1)).fit(X[:20], TARGET[:20])
    own = model.predict(X[:3]) if kind is KernelRidge else model.transform(X[:3])
    assert_close(Explainer(model)(X[:3]).predictions, own, 1e-9)


@pytest.mark.parametrize("kind", [SVR, NuSVR, SVC, OneClassSVM])
def test_names_of_the_table_that_a_machine_with_its_own_kernel_was_fitted_to(kind):
    model = kind(kernel=RBF(0.1)).fit(DIABETES, TARGET > 150)
    explain = Explainer(model)
    assert explain(DIABETES[:3]).feature_names == tuple(DIABETES.columns)
    moved = DIABETES.iloc[:3, ::-1]
    assert_close(explain(moved).values, explain(DIABETES[:3]).values, 0.0)


@pytest.mark.parametrize("kind", [SVR, KernelRidge, KernelPCA, OneClassSVM])
def test_names_of_points_that_were_given(kind):
    """Those that the model has seen, if any, are names of columns of the kernel matrix."""
    gram = pd.DataFrame(GRAM(X)).add_prefix("row")
    model = kind(kernel="precomputed").fit(gram, TARGET)
    expansion = as_expansion(model, kernel=RBF(0.1), points=DIABETES)
    assert expansion.feature_names == tuple(DIABETES.columns)
    moved = DIABETES.iloc[:3, ::-1]
    explain = Explainer(expansion)
    assert_close(explain(moved).values, explain(DIABETES[:3]).values, 0.0)
    assert as_expansion(model, kernel=RBF(0.1), points=X).feature_names[0] == "x0"


def test_names_of_points_behind_a_wrapper():
    gram = pd.DataFrame(rbf_kernel(WINE_FRAME)).add_prefix("row")
    model = OneVsRestClassifier(SVC(kernel="precomputed")).fit(gram, CULTIVAR)
    expansion = as_expansion(model, kernel=RBF(np.sqrt(2.5)), points=WINE_FRAME)
    assert expansion.feature_names == tuple(WINE_FRAME.columns)


def test_one_vs_one_with_precomputed_kernels_is_refused():
    """Every estimator has a part of the points, and an SVC is one-vs-one by itself."""
    model = OneVsOneClassifier(SVC(kernel="precomputed")).fit(rbf_kernel(IRIS), SPECIES)
    with pytest.raises(UnsupportedModelError, match="one-vs-one by itself"):
        as_expansion(model, kernel=RBF(np.sqrt(2.0)), points=IRIS)


@pytest.mark.parametrize(("label", "extent"), [(1, "every row"), (0, "no row")])
@pytest.mark.parametrize("place", [0, 2])
def test_a_class_that_all_rows_have_or_none_is_refused(label, extent, place):
    labels = np.column_stack([SPECIES == 0, SPECIES == 1, SPECIES == 2]).astype(int)
    labels[:, place] = label
    with pytest.warns(UserWarning, match="present in all training examples"):
        model = OneVsRestClassifier(SVC()).fit(IRIS, labels)
    with pytest.raises(UnsupportedModelError, match=f"{extent} that .* has the class {place}"):
        Explainer(model)
    Explainer(model.estimators_[int(place == 0)])  # as the message advises


def test_one_vs_rest_with_precomputed_kernels():
    model = OneVsRestClassifier(SVC(kernel="precomputed")).fit(rbf_kernel(IRIS), SPECIES)
    given = {"kernel": RBF(np.sqrt(2.0)), "points": IRIS}
    found = Explainer(as_expansion(model, **given))(IRIS[::20]).predictions
    assert_close(found, model.decision_function(rbf_kernel(IRIS[::20], IRIS)), 1e-9)


def test_outputs_that_use_different_columns_have_zeros_for_the_others():
    inner = make_pipeline(SelectKBest(f_regression, k=1), SVR(C=20.0))
    targets = np.column_stack([TARGET, 1000.0 * DIABETES["age"]])
    model = MultiOutputRegressor(inner).fit(DIABETES, targets)
    values = Explainer(model)(DIABETES[:3]).values
    chosen = [np.flatnonzero(each[0].get_support()) for each in model.estimators_]
    assert chosen[0] != chosen[1]
    for output, column in enumerate(chosen):
        assert (values[:, column, output] != 0.0).all()
        assert (np.delete(values[..., output], column, axis=1) == 0.0).all()


def test_a_target_that_is_predicted_through_fewer_numbers():
    """Two correlated targets from one output: the way back is affine, to more columns."""
    targets = np.column_stack([TARGET, 2.0 * TARGET + 7.0])  # on a line, so nothing is lost
    regressor = KernelRidge(kernel="rbf", gamma=30.0)
    model = TransformedTargetRegressor(regressor, transformer=PCA(1)).fit(X, targets)
    explanation = Explainer(model)(X[:3])
    assert explanation.values.shape == (3, 4, 2)
    assert explanation.output_names == ("y0", "y1")
    assert_close(explanation.predictions, model.predict(X[:3]), 1e-8)


def test_a_density_with_tolerances_is_explained_as_the_exact_one():
    cloud = np.random.default_rng(3).normal(size=(3000, 2))
    rough = KernelDensity(bandwidth=0.3, rtol=0.1).fit(cloud)
    exact = KernelDensity(bandwidth=0.3).fit(cloud)
    own = np.exp(exact.score_samples(cloud[:5]))
    assert_close(Explainer(rough)(cloud[:5]).predictions, own, 1e-12)  # the density is below 1


@pytest.mark.parametrize(("bandwidth", "words"), [(10.0, "too small"), (1e-3, "too large")])
def test_a_density_beyond_double_precision_is_refused(bandwidth, words):
    cloud = np.random.default_rng(4).normal(size=(20, 784))
    with pytest.raises(UnsupportedModelError, match=words):
        Explainer(KernelDensity(bandwidth=bandwidth).fit(cloud))


def test_manhattan_by_another_name():
    model = KernelDensity(
        kernel="exponential", metric="minkowski", metric_params={"p": 1}, bandwidth=0.1
    ).fit(X)
    own = np.exp(model.score_samples(X[:3]))
    assert_close(Explainer(model)(X[:3]).predictions, own, 1e-12 * own.max())


@pytest.mark.parametrize("size", [1e4, 3e5])
def test_large_unscaled_columns(size):
    """Where scikit-learn itself loses digits in |x|^2 + |z|^2 - 2 x z, that is no error of ours.

    A column of prices, say, with the default gamma: k(x, x) is exp(-gamma eps |x|^2), not 1.
    """
    prices = np.column_stack([X[:, 0], size * (3.0 + np.arange(60) / 20.0)])
    model = KernelRidge(kernel="rbf").fit(prices, TARGET)
    explanation = Explainer(model)(prices[:3])
    rounding = 16 * np.finfo(float).eps * 0.5 * (prices**2).sum(axis=1).max()
    slack = (1e-10 + rounding) * np.abs(model.dual_coef_).sum()
    assert_close(explanation.predictions, model.predict(prices[:3]), slack)


def days(shift):
    """A table with a column of time that counts from long ago, and a target."""
    rng = np.random.default_rng(8)
    time, other = np.sort(rng.uniform(0.0, 300.0, 100)), rng.normal(size=100)
    return np.column_stack([time + shift, other]), np.sin(time / 30.0) + other


@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(FunctionTransformer(), m)])
@pytest.mark.parametrize(
    ("model", "shift"),
    [
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1), 1.7e9),
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1), 1e8),
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=1e-3), 1e7),
        (KernelPCA(2, kernel="rbf", gamma=1e-3), 1.7e9),
        (KernelPCA(1, kernel="rbf", gamma=1e-3), 1e11),
    ],
)
def test_columns_so_far_from_0_that_the_model_loses_its_digits_are_refused(model, shift, wrap):
    """scikit-learn predicts something else than the formula: noise, with timestamps in seconds."""
    table, y = days(shift)
    model = wrap(clone(model))
    with pytest.raises(UnsupportedModelError, match=r"loses digits.* Centre or scale"):
        Explainer(model.fit(table, y))
    Explainer(model.fit(table - [shift, 0.0], y))


def test_columns_so_far_from_0_that_the_model_loses_some_digits_are_announced():
    table, y = days(3e6)
    model = KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1).fit(table, y)
    with pytest.warns(UserWarning, match=r"predictions are off by \de-0[56] .* refit") as caught:
        explain = Explainer(model)
    assert [w.filename for w in caught] == [__file__]
    gap = np.abs(explain(table).predictions - model.predict(table)).max()
    assert 1e-6 < gap / np.abs(model.predict(table)).max() < 1e-3


def test_a_thousand_columns_and_more():
    """Where binomials overflow, others return NaN."""
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(30, 1200))
    model = make_pipeline(StandardScaler(), SVR(C=5.0)).fit(wide, wide[:, 0])
    explanation = Explainer(model)(wide[:2])
    assert np.isfinite(explanation.values).all()
    assert_close(explanation.predictions, model.predict(wide[:2]), 1e-10)


def test_text_labels_with_spaces_and_numbers_as_labels():
    named = SVC().fit(WINE_FRAME, np.array(["from Barolo", "from Asti", "old"])[CULTIVAR])
    assert Explainer(named)(WINE_FRAME[:1]).output_names == ("from Asti", "from Barolo", "old")
    assert Explainer(named, outputs="ovo")(WINE_FRAME[:1]).output_names == (
        "from Asti vs from Barolo",
        "from Asti vs old",
        "from Barolo vs old",
    )
    numbered = SVC().fit(WINE_FRAME, CULTIVAR > 0)
    assert Explainer(numbered)(WINE_FRAME[:1]).output_names == ("True vs False",)


def test_the_error_names_no_address():
    """A sentence that is the same every time: no ``<function f at 0x7f...>``."""
    with pytest.raises(UnsupportedModelError) as caught:
        Explainer(SVR(kernel=rbf_of_tables).fit(X, TARGET))
    assert re.search("rbf_of_tables", str(caught.value))
    assert " at 0x" not in str(caught.value)
