"""Integrated gradients of models: against quadrature of gradients, with completeness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy.sparse import csr_array
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.impute import SimpleImputer
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex import AdditivityError, Explainer, KernelExpansion, UnsupportedModelError
from pkex.kernels import RBF, ColumnKernel, Constant, Laplacian, Matern
from tests._support.cases import assert_close
from tests._support.models import MODELS
from tests.explain.test_gradients import WITHOUT
from tests.readers.test_readers import explainer

RNG = np.random.default_rng(8)
X = RNG.normal(size=(25, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
ROWS, BASELINES = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


def integrate_slowly(explain, rows, baselines, weights, n_nodes=60):
    """Return the mean over baselines of the path integrals of gradients, by one rule."""
    nodes, shares = np.polynomial.legendre.leggauss(n_nodes)
    total: Any = 0.0
    for baseline, weight in zip(baselines, weights, strict=True):
        for t, share in zip(0.5 * (nodes + 1.0), 0.5 * shares, strict=True):
            values: Any = explain.gradients(baseline + t * (rows - baseline)).values
            steps = (rows - baseline).reshape(*rows.shape, *[1] * (values.ndim - 2))
            total = total + weight * share * steps * values
    return total


@pytest.mark.parametrize(
    "kernel", [gp.RBF([1.0, 2.0, 0.8]), gp.Matern(2.0, nu=2.5), gp.RationalQuadratic(1.5)], ids=str
)
def test_values_are_path_integrals_of_gradients(kernel):
    model = GaussianProcessRegressor(2.0 * kernel, alpha=0.1, optimizer=None, normalize_y=True)
    explain = Explainer(model.fit(X, Y), BASELINES, background_weights=SHARES)
    explanation: Any = explain.integrated_gradients(ROWS)
    expected = integrate_slowly(explain, ROWS, BASELINES, SHARES)
    assert_close(explanation.values, expected, 1e-8)  # of the rule near points of a Matern kernel
    assert_close(explanation.base_values, np.full(3, SHARES @ model.predict(BASELINES)), 1e-12)
    assert_close(explanation.predictions, model.predict(ROWS), 1e-12)
    assert explanation.additivity_error < 1e-12
    assert explanation.index == "IG"
    assert (explanation.error_bound < 1e-9).all()


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_every_model_is_complete(case):
    explain = explainer(case)
    rows = case.rows[:1]
    try:
        with case.quiet():
            explanation: Any = explain.integrated_gradients(rows)
    except (UnsupportedModelError, ValueError) as error:
        words = (*WITHOUT, "is not affine")
        assert any(word in str(error) for word in words)  # noqa: PT017
        return
    own = np.asarray(case.own_output(case.rows), dtype=float)
    size = np.abs(own).max()
    assert_close(np.ravel(explanation.predictions), np.ravel(own[:1]), 1e-9 * size)
    assert explanation.additivity_error <= 1e-12 * max(size, case.size().max())
    assert explanation.feature_names == case.feature_names


@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler(), make_union(StandardScaler())])
def test_affine_steps_keep_the_path_straight(step):
    shifted = 5.0 + 3.0 * X
    model = make_pipeline(step, SVR(C=10.0)).fit(shifted, Y)
    explain = Explainer(model, shifted[:2])
    explanation: Any = explain.integrated_gradients(shifted[5:8])
    expected = integrate_slowly(explain, shifted[5:8], shifted[:2], [0.5, 0.5])
    assert_close(explanation.values, expected, 1e-11)


def test_a_step_that_bends_the_path_is_refused():
    model = make_pipeline(PowerTransformer(), SVR()).fit(X, Y)
    with pytest.raises(
        UnsupportedModelError, match="PowerTransformer in front of the model is not affine"
    ):
        Explainer(model).integrated_gradients(ROWS)
    model = make_pipeline(MinMaxScaler(clip=True), SVR()).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="clip=True"):
        Explainer(model).integrated_gradients(ROWS)


def test_a_missing_value_counts_as_what_is_imputed():
    holes = X.copy()
    holes[[0, 3], [1, 2]] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), SVR()).fit(holes, Y)
    filled = model[0].transform(holes)
    explanation: Any = Explainer(model, holes[2:4]).integrated_gradients(holes[:2])
    expected: Any = Explainer(model, filled[2:4]).integrated_gradients(filled[:2])
    assert_close(explanation.values, expected.values, 1e-14)
    with pytest.raises(ValueError, match="row 1 has no value in 'x1'"):
        Explainer(model).gradients(holes[[1, 0]])


def test_groups_sum_their_columns():
    model = SVR(C=10.0).fit(X, Y)
    single: Any = Explainer(model, BASELINES).integrated_gradients(ROWS)
    grouped: Any = Explainer(model, BASELINES, groups={"a": [0, 2]}).integrated_gradients(ROWS)
    assert_close(grouped[:, "a"].values[:, 0], single.values[:, [0, 2]].sum(axis=1), 1e-14)


def test_baselines_are_averaged_with_their_weights():
    model = SVR(C=10.0).fit(X, Y)
    each: Any = [Explainer(model, b[None]).integrated_gradients(ROWS).values for b in BASELINES]
    weighted: Any = Explainer(model, BASELINES, background_weights=SHARES).integrated_gradients(
        ROWS
    )
    assert_close(weighted.values, np.tensordot(SHARES, each, 1), 1e-13)
    assert weighted.background_info == "4 weighted rows as baselines"
    marginal = Explainer(model, BASELINES, removal="product-of-marginals")
    joint: Any = Explainer(model, BASELINES).integrated_gradients(ROWS)
    assert np.array_equal(marginal.integrated_gradients(ROWS).values, joint.values)


def test_by_default_the_points_of_the_model_are_baselines():
    model = SVR(C=10.0, epsilon=0.3).fit(X, Y)
    default: Any = Explainer(model).integrated_gradients(ROWS)
    given: Any = Explainer(model, model.support_vectors_).integrated_gradients(ROWS)
    assert_close(default.values, given.values, 1e-13)
    assert "support vectors" in default.background_info
    assert default.background_info.endswith("as baselines")


def test_several_outputs_and_parts():
    targets = np.column_stack([Y, Y**2])
    model = MultiOutputRegressor(SVR(C=10.0)).fit(X, targets)
    both: Any = Explainer(model, BASELINES).integrated_gradients(ROWS)
    for k, one in enumerate(model.estimators_):
        alone: Any = Explainer(one, BASELINES).integrated_gradients(ROWS)
        assert_close(both.values[..., k], alone.values, 1e-13)
    classes = SVC().fit(X, np.digitize(Y, [-0.5, 0.5]))
    explanation: Any = Explainer(classes, BASELINES).integrated_gradients(ROWS)
    assert explanation.values.shape == (3, 3, 3)
    assert explanation.predicted_class.tolist() == classes.predict(ROWS).tolist()


@pytest.mark.parametrize("kernel", [RBF(1.3), Laplacian(), Matern(nu=2.5), RBF() * Laplacian()])
def test_threads_do_not_change_a_bit(kernel):
    f = KernelExpansion(
        np.tile(X, (24, 1)) + 0.01 * RNG.normal(size=(600, 3)), np.ones(600), kernel
    )
    rows = RNG.normal(size=(60 if isinstance(kernel, RBF) else 2, 3))
    one, *others = [
        Explainer(f, BASELINES[:2], n_jobs=n_jobs).integrated_gradients(rows)
        for n_jobs in (1, 2, 3)
    ]
    for other in others:
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.error_bound, other.error_bound)


def test_a_row_that_is_its_baseline_has_no_values():
    explanation: Any = Explainer(SVR().fit(X, Y), ROWS[:1]).integrated_gradients(ROWS)
    assert not explanation.values[0].any()
    assert explanation.values[1:].any()


def test_a_constant_model_has_no_values():
    f = KernelExpansion(X, Y, Constant(2.0), 0.5)
    explanation: Any = Explainer(f, BASELINES).integrated_gradients(ROWS)
    assert not explanation.values.any()
    assert_close(explanation.predictions, np.full(3, 2.0 * Y.sum() + 0.5), 1e-12)


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Matern(), RBF() * Laplacian()])
def test_a_model_without_coefficients_has_no_values(kernel):
    explain = Explainer(KernelExpansion(X, np.zeros(25), kernel, 0.5), BASELINES)
    assert not explain.integrated_gradients(ROWS).values.any()
    assert not explain.gradients(ROWS).values.any()


def test_neutral_removal_has_no_baselines():
    explain = Explainer(SVR().fit(X, Y), removal="neutral")
    with pytest.raises(ValueError, match="need baselines"):
        explain.integrated_gradients(ROWS)


def test_a_wrong_derivative_is_noticed():
    class Wrong(ColumnKernel):
        def factors(self, x, z):
            return 1.0 / (1.0 + (x - z) ** 2)

        def slopes(self, x, z):
            return -3.0 * (x - z) / (1.0 + (x - z) ** 2) ** 2

    with pytest.raises(AdditivityError, match="integrated gradients miss"):
        Explainer(KernelExpansion(X, Y, Wrong()), BASELINES).integrated_gradients(ROWS)


def test_the_result_is_saved_selected_and_shown(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=pd.Index(range(25), name="id"))
    explanation: Any = Explainer(SVR().fit(frame, Y), frame[:5]).integrated_gradients(frame[5:8])
    explanation.save(tmp_path / "ig.npz")
    loaded = pkex.Explanation.load(tmp_path / "ig.npz")
    assert loaded.index == "IG"
    assert loaded.removal is None
    assert np.array_equal(loaded.values, explanation.values)
    assert repr(loaded) == repr(explanation)
    assert "integrated gradients" in repr(explanation)
    explanation.report(tmp_path / "ig.html")
    assert "integrated gradient" in (tmp_path / "ig.html").read_text(encoding="utf-8")
    assert "integrated gradient" in explanation.importance().plot().ax_.get_xlabel()
    assert len(pkex.Explanation.concat([explanation, loaded])) == 6
    explanation[0].plot()
    explanation.plot()


def shown_texts(display):
    return " ".join(text.get_text() for text in display.figure_.findobj(Text))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_nothing_calls_the_values_shapley_values(kernel, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    explain = Explainer(SVR(kernel=kernel).fit(frame, Y), frame[:5])
    explanation: Any = explain.integrated_gradients(frame[5:8])
    explanation.report(tmp_path / "ig.html")
    page = (tmp_path / "ig.html").read_text(encoding="utf-8")
    importance = explanation.importance()
    parts = (explanation, explanation[0], importance)
    texts = [page, *map(repr, parts), *(one._repr_html_() for one in parts)]
    texts += [shown_texts(one.plot()) for one in parts]
    assert not any("Shapley" in text for text in texts)
    assert not any("removed" in text for text in texts)
    assert "Proven" not in page
    way = "closed form" if kernel == "rbf" else "quadrature"
    assert repr(explanation.rule) == f"Rule(path integral, {way})"
    assert f'"Path integrals","value":"{way}"' in page
    with pytest.raises(ValueError, match="differs from the first"):
        pkex.Explanation.concat([explanation, explain(frame[5:8])])


def test_shap_takes_the_values():
    pytest.importorskip("shap")
    explanation: Any = Explainer(SVR().fit(X, Y), BASELINES).integrated_gradients(ROWS)
    handed = explanation.to_shap()
    assert np.array_equal(handed.values, explanation.values)
    assert np.array_equal(handed.base_values, explanation.base_values)
    with pytest.raises(ValueError, match="no index for integrated gradients"):
        explanation.to_shapiq(0)


def test_sparse_rows_become_dense():
    table = X * (X > 0.5)
    model = SVR().fit(csr_array(table), Y)
    explain = Explainer(model, csr_array(table[:4]))
    dense = Explainer(SVR().fit(table, Y), table[:4])
    for question in ("integrated_gradients", "gradients"):
        sparse = getattr(explain, question)(csr_array(table[5:7])).values
        assert_close(sparse, getattr(dense, question)(table[5:7]).values, 1e-12)
