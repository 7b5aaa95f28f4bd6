"""Terms of models of points, machines among them, sum to the prediction."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support.models import MODELS
from tests._support.models.vector_machines import VECTOR_MACHINES
from tests._support.training_rows import BACKGROUND, ROWS, X, Y, ridge


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_terms_and_intercept_sum_to_the_prediction(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that combine features
        read = pkex.as_expansion(case.model(), **case.given) if case.given else case.model()
        explainer = Explainer(read, case.background, outputs=case.choice)
    influence, reason = None, ""
    try:
        with case.quiet():
            influence = explainer.influence(case.rows)
    except (UnsupportedModelError, ValueError) as error:
        reason = str(error)
    if influence is None:
        assert "not training rows" in reason or "Pass X_train" in reason
        assert case not in VECTOR_MACHINES
        return
    sums = influence.base_values + influence.feature_values.sum(axis=2)
    scale = np.abs(influence.feature_values).sum() + np.abs(influence.values).sum()
    # a kernel that is a sum of others up to an error has terms that are off by that
    np.testing.assert_allclose(sums, influence.values, rtol=0, atol=1e-6 * scale)
    if influence.kind == "representer":
        total = influence.values.sum(axis=1)
        total = total + sum(part.intercept for part in explainer.expansion.parts)
        np.testing.assert_allclose(total, influence.predictions, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_terms_of_a_machine_are_those_of_its_points(n_jobs):
    labels = np.array(["no", "yes"])[(Y > 0.0).astype(int)]
    model = SVC(gamma=0.4).fit(X, labels)
    influence = Explainer(model, BACKGROUND, n_jobs=n_jobs).influence(
        ROWS, X_train=pd.DataFrame(X, columns=["a", "b", "c"]), y_train=labels
    )
    assert influence.values.shape == (len(ROWS), len(X))
    assert influence.train_targets is not None
    assert list(influence.train_targets) == list(labels)
    expected = np.zeros((len(X), 3, 3))
    for i, alpha in zip(model.support_, model.dual_coef_[0], strict=True):
        f = pkex.KernelExpansion(X[i : i + 1], [alpha], pkex.kernels.RBF(np.sqrt(1.25)))
        expected[i] = Explainer(f, BACKGROUND)(ROWS).values
    split = np.moveaxis(influence.feature_values, 1, 0)
    np.testing.assert_allclose(split, expected, rtol=0, atol=1e-13)


def test_identical_rows_of_a_machine_count_as_one():
    twice, y = np.concatenate([X, X[:3]]), np.append(Y, Y[:3] + 2.0)
    model = SVR(C=5.0, epsilon=0.01).fit(twice, y)
    influence = Explainer(model).influence(ROWS, X_train=twice)
    assert (influence.values[:, len(X) :] == 0.0).all()
    total = influence.values.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(total, model.predict(ROWS), rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_do_not_change_a_bit(n_jobs):
    model = ridge().fit(X, Y)
    one = Explainer(model, BACKGROUND, n_jobs=1).influence(X, top=4)
    other = Explainer(model, BACKGROUND, n_jobs=n_jobs).influence(X, top=4)
    assert (one.feature_values == other.feature_values).all()
