"""Interventional and marginal values of fitted models: by their own outputs, and by shap."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer
from tests._support.cases import alone, assert_close
from tests._support.models import MODELS
from tests._support.removal_games import enumerated, interventional


def table_rows(table, rows):
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def spliced_table(table, row, present):
    """Return the rows of the table with the columns `present` from the row of that number."""
    if hasattr(table, "iloc"):
        result = table.copy()
        for column in present:
            result[table.columns[column]] = [table.iloc[row, column]] * len(table)
        return result.astype(table.dtypes)
    result = np.array(table.toarray() if hasattr(table, "toarray") else table)
    result[:, list(present)] = result[row, list(present)]
    return csr_matrix(result) if hasattr(table, "toarray") else result


@pytest.mark.parametrize("case", [case for case in MODELS if case.warns is None], ids=str)
def test_fitted_models_against_their_own_outputs(case):
    """Background and coalitions in the columns of the user, through all steps of a pipeline."""
    n_players, n_rows = len(case.feature_names), case.rows.shape[0]
    model = pkex.as_expansion(case.model(), **case.given) if case.given else case.model()
    with case.quiet():
        explanation = Explainer(model, case.rows, outputs=case.choice)(case.rows)

        def value(present):
            outputs = case.own_output(spliced_table(case.rows, 0, sorted(present)))
            return outputs.reshape(n_rows, -1).mean(axis=0)

        values, base = enumerated(value, n_players)
    # the rounding of scikit-learn's predictions, relative to the size of their terms
    atol = 1e-10 * np.maximum(np.abs(base), case.size())
    assert (np.abs(explanation.values[0].reshape(values.shape) - values) <= atol).all()
    assert (np.abs(explanation.base_values[0].reshape(base.shape) - base) <= atol).all()


def test_a_background_before_a_step_that_mixes_columns():
    """It is given in the user's columns; what comes out of the step is explained."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), PCA(3), SVR(C=20.0)).fit(X, y)
    with pytest.warns(UserWarning, match="PCA combines columns"):
        explanation = Explainer(model, X[:6])(X[10:12])
    mixed = model[:-1].transform(X)
    for i, row in enumerate(mixed[10:12]):
        shares = np.full(6, 1.0 / 6.0)
        values, base = interventional(model[-1].predict, row, mixed[:6], shares, alone(3))
        assert_close(explanation.values[i], values, 1e-9)
        assert_close(explanation.base_values[i], base, 1e-9)


# ------------------------------------------------------------------------------------------ shap


@pytest.fixture(scope="module")
def shap():
    """The module, whose import sets off a warning of matplotlib's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The set_bad function", PendingDeprecationWarning)
        import shap

        return shap


def shap_exact(shap, function, background, rows):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.explainers.ExactExplainer(function, masker)(rows)


X, TARGET = load_diabetes(return_X_y=True)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)[:120, :10]
ARD = gp.RBF([0.1, 0.3, 0.05, 0.2, 0.5, 0.4, 0.1, 0.3, 0.06, 0.2])


def process(kernel):
    return GaussianProcessRegressor(kernel, alpha=0.5, optimizer=None, normalize_y=True)


@pytest.mark.parametrize(
    ("model", "table", "y", "method"),
    [
        (SVR(C=50.0), X, TARGET, "predict"),
        (SVC(C=3.0), CANCER, BENIGN[:120], "decision_function"),
        (KernelRidge(kernel="rbf", gamma=20.0, alpha=0.1), X, TARGET, "predict"),
        (KernelRidge(kernel="laplacian", gamma=4.0, alpha=0.1), X[:, :6], TARGET, "predict"),
        (process(3.0 * ARD + gp.WhiteKernel(0.2)), X, TARGET, "predict"),
        (process(gp.DotProduct(0.5) + gp.RBF(0.2)), X[:, :6], TARGET, "predict"),
        (process(gp.DotProduct(0.5) * gp.RBF(0.2)), X[:, :6], TARGET, "predict"),
        (SVR(kernel="linear", C=50.0), X, TARGET, "predict"),
        (SVC(kernel="linear"), CANCER, BENIGN[:120], "decision_function"),
        (KernelRidge(alpha=0.1), X, TARGET, "predict"),
    ],
    ids=lambda given: str(given) if hasattr(given, "fit") else "",
)
def test_shap_enumerates_the_same_values(shap, model, table, y, method):
    table = table[:120]
    fitted = model.fit(table, y[:120])
    background, rows = table[20:32], table[:2]
    theirs = shap_exact(shap, getattr(fitted, method), background, rows)
    ours = Explainer(fitted, background)(rows)
    scale = max(1.0, np.abs(theirs.values).max())
    assert_close(ours.values, theirs.values, 1e-9 * scale)
    assert_close(ours.base_values, theirs.base_values, 1e-9 * scale)


def test_shap_enumerates_the_same_values_of_a_pipeline_on_a_frame(shap):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    frame = frame.drop(columns=["s1", "s2", "s3"])
    model = make_pipeline(StandardScaler(), SVR(C=20.0)).fit(frame, y)

    def function(rows):
        return model.predict(pd.DataFrame(rows, columns=frame.columns))

    theirs = shap_exact(shap, function, frame[30:42], frame[:2])
    ours = Explainer(model, frame[30:42])(frame[:2])
    assert_close(ours.values, theirs.values, 1e-9 * np.abs(theirs.values).max())
    assert ours.feature_names == tuple(frame.columns)
    assert_close(ours.to_shap().values, ours.values, 0.0)


def wide_model(d):
    rng = np.random.default_rng(d)
    table = rng.normal(size=(200, d))
    y = table[:, 0] * table[:, 1] + np.sin(table[:, 2]) + 0.1 * table.sum(axis=1)
    model = SVR(C=5.0, gamma=2.0 / d).fit(table, y)
    return model, table[:10], table[20:21]


def permutation_estimates(shap, model, background, row, repeats):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    evaluations = 2 * row.shape[1] + 1  # one permutation, forwards and backwards
    return np.array(
        [
            shap.PermutationExplainer(model.predict, masker, seed=seed)(
                row, max_evals=evaluations, silent=True
            ).values[0]
            for seed in range(repeats)
        ]
    )


def kernel_estimates(shap, model, background, row, repeats):
    estimates = []
    explain = shap.KernelExplainer(model.predict, background)
    for seed in range(repeats):
        np.random.seed(seed)  # noqa: NPY002 - it takes no seed of its own
        # all features in the regression, or it would be biased
        estimates.append(explain.shap_values(row, nsamples=900, l1_reg=False, silent=True)[0])
    return np.array(estimates)


def z_scores(estimates, values):
    """Return how many standard errors the mean of independent estimates is from the values."""
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return (estimates.mean(axis=0) - values) / error


@pytest.mark.parametrize("d", [30, 100])
@pytest.mark.parametrize(
    ("estimate", "repeats"), [(permutation_estimates, 40), (kernel_estimates, 20)]
)
def test_estimates_of_shap_lie_around_the_values(shap, estimate, repeats, d):
    """Within their own sampling error, and that error is small enough to tell other values apart.

    A z-score has the t distribution with at least 19 degrees of freedom: among 100 of them one
    above 5 has probability 0.008, and the mean of their squares is 19/17 with a standard deviation
    of 0.2. Both are checked at fixed seeds.
    """
    model, background, row = wide_model(d)
    estimates = estimate(shap, model, background, row, repeats)
    values = Explainer(model, background)(row).values[0]
    z = z_scores(estimates, values)
    assert np.abs(z).max() < 5.0
    assert 0.4 < (z**2).mean() < 2.0
    for other in ("neutral", "product-of-marginals"):
        theirs = Explainer(model, None if other == "neutral" else background, removal=other)
        wrong = z_scores(estimates, theirs(row).values[0])
        assert np.abs(wrong).max() > 5.0, other
