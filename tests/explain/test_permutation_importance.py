"""`permutation_importance`: against all shuffles of eight rows, and against scikit-learn."""

from __future__ import annotations

import threading
import warnings
from itertools import permutations
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.inspection import permutation_importance as sampled_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex.explain import replaced
from tests._support.cases import assert_close
from tests._support.models import MODELS
from tests._support.unchecked import unchecked

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
FEW, TARGETS = X[40:48], Y[40:48]
LABELS = (Y > 0.2).astype(int)
THREE = np.digitize(Y, [-0.4, 0.4])
SHUFFLES = np.array(list(permutations(range(8))))  # all 8! of them

LINEAR = LogisticRegression().fit(X[:40], LABELS[:40])
MACHINE = SVC(C=10.0).fit(X[:40], LABELS[:40])
RIDGE = KernelRidge(kernel="rbf", alpha=0.1).fit(X[:40], Y[:40])
PLAIN = {
    "ridge": RIDGE,
    "polynomial": KernelRidge(kernel="poly", degree=3, alpha=0.1).fit(X[:40], Y[:40]),
    "linear": KernelRidge(alpha=0.1).fit(X[:40], Y[:40]),
    "matern": GaussianProcessRegressor(gp.Matern(nu=1.5), alpha=0.1, optimizer=None).fit(
        X[:40], Y[:40]
    ),
    "scaled": make_pipeline(StandardScaler(), SVR()).fit(X[:40], Y[:40]),
}


def exactly(losses, shuffle_weights):
    """Return mean and standard deviation over all 8! shuffles of a weighted mean of losses."""
    sums = (shuffle_weights[None] * losses[np.arange(8), SHUFFLES]).sum(axis=1)
    return sums.mean(), sums.std()


POINTWISE: dict[str, Any] = {
    "neg_mean_squared_error": lambda y, z: (y - z) ** 2,
    "neg_mean_absolute_error": lambda y, z: np.abs(y - z),
    "r2": lambda y, z: (y - z) ** 2 / TARGETS.var(),
    "d2_absolute_error_score": lambda y, z: (
        np.abs(y - z) / np.abs(TARGETS - np.median(TARGETS)).mean()
    ),
}


def pairs_of_rows(predict, columns):
    """Return predictions of row i with columns of row b, shape (8, 8)."""
    at = np.repeat(FEW, 8, axis=0)
    at[:, columns] = np.tile(FEW, (8, 1))[:, columns]
    return predict(at).reshape(8, 8)


@pytest.mark.parametrize("scoring", POINTWISE)
@pytest.mark.parametrize("name", PLAIN)
def test_mean_and_standard_deviation_over_all_shuffles(name, scoring):
    model = PLAIN[name]
    importance = pkex.permutation_importance(model, FEW, TARGETS, scoring=scoring)
    loss = POINTWISE[scoring]
    own = get_scorer(scoring)(model, FEW, TARGETS)
    assert importance.importances_std is not None
    for j in range(3):
        losses = loss(TARGETS[:, None], pairs_of_rows(model.predict, [j]))
        mean, std = exactly(losses, np.full(8, 0.125))
        base = loss(TARGETS, model.predict(FEW)).mean()
        at_own = 1.0 if scoring[1] == "2" else 0.0
        assert_close(at_own - base, own, 1e-12)  # the loss is that of the scorer
        # the mixture of a radial kernel is off by 1e-10 of the coefficients
        assert_close(importance.importances_mean[j], mean - base, 1e-8)
        assert_close(importance.importances_std[j], std, 1e-8)


@pytest.mark.parametrize(
    ("model", "scoring"),
    [
        (MACHINE, "accuracy"),
        (MACHINE, "balanced_accuracy"),
        (LINEAR, "neg_log_loss"),
        (LINEAR, "neg_brier_score"),
        (SVC(C=10.0).fit(X[:40], THREE[:40]), "accuracy"),
        (
            GaussianProcessClassifier(gp.RBF(), optimizer=None).fit(X[:40], THREE[:40]),
            "balanced_accuracy",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_classifiers_over_all_shuffles(model, scoring):
    labels = (LABELS if len(model.classes_) == 2 else THREE)[40:48]
    importance = pkex.permutation_importance(model, FEW, labels, scoring=scoring)
    weights = np.full(8, 0.125)
    if scoring == "balanced_accuracy":
        counts = np.bincount(labels)
        weights = 1.0 / counts[labels] / np.count_nonzero(counts)

    def losses(at, y):
        if "accuracy" in scoring:
            return (model.predict(at) != y).astype(float)
        certain = model.predict_proba(at)[np.arange(len(at)), y]
        return -np.log(certain) if scoring == "neg_log_loss" else (1.0 - certain) ** 2

    base = weights @ losses(FEW, labels)
    scorer: Any = get_scorer(scoring)
    assert_close(("accuracy" in scoring) - base, scorer(model, FEW, labels), 1e-12)
    assert importance.importances_std is not None
    for j in range(3):
        at = np.repeat(FEW, 8, axis=0)
        at[:, j] = np.tile(FEW[:, j], 8)
        mean, std = exactly(losses(at, np.repeat(labels, 8)).reshape(8, 8), weights)
        assert_close(importance.importances_mean[j], mean - base, 1e-12)
        assert_close(importance.importances_std[j], std, 1e-12)


def test_weights_stay_with_rows_and_groups_are_shuffled_together():
    weights = np.arange(1.0, 9.0)
    importance = pkex.permutation_importance(
        RIDGE,
        FEW,
        TARGETS,
        groups={"both": [0, 2]},
        sample_weight=weights,
        scoring="neg_mean_squared_error",
    )
    shares = weights / weights.sum()
    assert importance.feature_names == ("both", "x1")
    assert importance.importances_std is not None
    for place, columns in enumerate([[0, 2], [1]]):
        losses = (TARGETS[:, None] - pairs_of_rows(RIDGE.predict, columns)) ** 2
        mean, std = exactly(losses, shares)
        base = shares @ (TARGETS - RIDGE.predict(FEW)) ** 2
        assert_close(importance.importances_mean[place], mean - base, 1e-12)
        assert_close(importance.importances_std[place], std, 1e-12)


def test_weighted_r2_is_that_of_scikit_learn():
    weights = np.arange(1.0, 9.0)
    found = pkex.permutation_importance(RIDGE, FEW, TARGETS, sample_weight=weights)
    plain = pkex.permutation_importance(
        RIDGE, FEW, TARGETS, sample_weight=weights, scoring="neg_mean_squared_error"
    )
    shares = weights / weights.sum()
    spread = shares @ (TARGETS - shares @ TARGETS) ** 2
    assert_close(found.values, plain.values / spread, 1e-12)


def test_several_outputs_have_their_mean_score():
    targets = np.column_stack([Y, 3.0 * X[:, 0]])
    model = MultiOutputRegressor(SVR(C=10.0)).fit(X[:40], targets[:40])
    both = pkex.permutation_importance(model, X[40:], targets[40:]).values
    each = [
        pkex.permutation_importance(one, X[40:], targets[40:, k]).values
        for k, one in enumerate(model.estimators_)
    ]
    assert_close(both, np.mean(each, axis=0), 1e-12)


LISTED = [
    case
    for case in MODELS
    if case.own.__name__ in ("predict", "decision")
    and not case.name.startswith("OneClassSVM")  # which has no score
    and case.gram is None
    and case.warns is None
    and not case.given
    and case.choice is None
    and 1 < len(case.feature_names) <= 12
]


@pytest.mark.parametrize("case", LISTED, ids=str)
def test_every_model_within_the_noise_of_scikit_learn(case):
    """Of four shuffles: five standard errors, as a hundred models have several features each."""
    model, rows = case.model(), case.rows[:12]
    noise = np.random.default_rng(0)
    with case.quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the model, which is asked for hundreds of tables
        y: Any = model.predict(rows)
        if case.own.__name__ == "predict" and np.asarray(y).dtype.kind == "f":
            y = y + (np.std(y) or 1.0) * noise.normal(size=np.shape(y))
        sampled = sampled_importance(model, rows, y, n_repeats=4, random_state=0)
        exact = pkex.permutation_importance(model, rows, y)
    std = unchecked(exact.importances_std)
    assert len(exact.values) == len(sampled.importances_mean)
    limit = 5.0 * std / 4**0.5 + 1e-6 * (1.0 + np.abs(exact.values))
    assert (np.abs(sampled.importances_mean - exact.values) <= limit).all()


def test_weights_that_leave_out_a_class_or_a_spread():
    some = (LABELS[0] == LABELS).astype(float)
    with pytest.warns(UserWarning, match="y_pred contains classes"):
        own = get_scorer("balanced_accuracy")(MACHINE, X, LABELS, sample_weight=some)
    exact = asked(MACHINE, LABELS, scoring="balanced_accuracy", sample_weight=some)
    rest = pkex.permutation_importance(MACHINE, X, LABELS, sample_weight=some)
    assert_close(exact.values, rest.values, 1e-14)  # the accuracy of the one class that counts
    assert own > 0.5
    with pytest.raises(ValueError, match="constant"):
        asked(sample_weight=np.eye(60)[0])
    with pytest.raises(ValueError, match="constant"):
        pkex.permutation_importance(RIDGE, X[:1], Y[:1])


@pytest.mark.parametrize("kind", [float, bool, np.int8])
def test_classes_are_numbers_of_any_kind(kind):
    exact = asked(MACHINE, LABELS.astype(kind))
    assert np.array_equal(exact.values, asked(MACHINE, LABELS).values)
    again = SVC(C=10.0).fit(X[:40], LABELS[:40].astype(kind))
    assert np.array_equal(exact.values, asked(again, LABELS).values)


def test_threads_and_blocks_change_nothing(monkeypatch):
    one = pkex.permutation_importance(RIDGE, X, Y, n_jobs=1)
    three = pkex.permutation_importance(RIDGE, X, Y, n_jobs=3)
    for name in ("values", "standard_errors", "importances_std"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
    monkeypatch.setattr(replaced, "_KEPT", 0)
    monkeypatch.setattr(replaced, "_FACTORS", 3 * 40 * 7)  # seven rows a block
    blocks = pkex.permutation_importance(RIDGE, X, Y, n_jobs=1)
    assert_close(blocks.values, one.values, 1e-12)
    assert_close(blocks.importances_std, one.importances_std, 1e-12)


def test_rows_are_drawn():
    found = pkex.permutation_importance(RIDGE, X, Y, max_samples=20, random_state=1)
    again = pkex.permutation_importance(RIDGE, X, Y, max_samples=1 / 3, random_state=1)
    assert found.n_rows == 20
    assert np.array_equal(found.values, again.values)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library):
    frame = pd.DataFrame({"number": X[:, 0], "kind": np.array(["u", "v", "w"])[THREE]})
    steps = make_column_transformer((StandardScaler(), ["number"]), (OneHotEncoder(), ["kind"]))
    other = nw.from_native(frame)
    other = other.to_polars() if library == "polars" else other.to_arrow()
    try:
        steps.fit(frame).transform(other)
    except (TypeError, ValueError):
        pytest.skip(f"this scikit-learn does not take frames of {library}")
    for model, y in ((SVC(), THREE), (SVR(), Y)):
        fitted = make_pipeline(steps, model).fit(frame, y)
        drawn: dict[str, Any] = {"max_samples": 20, "random_state": 0}
        for options in ({}, drawn):
            found = pkex.permutation_importance(fitted, other, y, **options)
            expected = pkex.permutation_importance(fitted, frame, y, **options)
            np.testing.assert_array_equal(found.values, expected.values)
    found = pkex.sage(fitted, other, Y, max_samples=5, random_state=0)
    expected = pkex.sage(fitted, frame, Y, max_samples=5, random_state=0)
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_model_is_asked_by_one_thread(monkeypatch):
    """Models of scikit-learn set filters of warnings, which would stay set if two threads did."""
    threads, predict = set(), SVC.predict

    def watched(self, X):
        threads.add(threading.get_ident())
        return predict(self, X)

    monkeypatch.setattr(SVC, "predict", watched)
    pkex.permutation_importance(SVC().fit(X[:40], THREE[:40]), X, THREE, n_jobs=4)
    assert threads == {threading.get_ident()}


def test_standard_errors_are_those_of_fresh_rows():
    """Over 200 tables of 50 rows the means vary as the standard errors say, within a fifth."""
    draw = np.random.default_rng(3)
    means, errors = [], []
    for _ in range(200):
        rows = draw.normal(size=(50, 3))
        y = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2]
        found = pkex.permutation_importance(
            RIDGE, rows, y, scoring="neg_mean_squared_error", n_jobs=1
        )
        means.append(found.values)
        errors.append(found.standard_errors)
    ratio = np.mean(errors, axis=0) / np.std(means, axis=0)
    assert (np.abs(ratio - 1.0) < 0.2).all()


def test_the_result_is_an_importance(tmp_path: Path):
    frame = pd.DataFrame(X[40:], columns=["age", "bmi", "bp"])
    found = pkex.permutation_importance(RIDGE, frame, Y[40:])
    assert found.feature_names == ("age", "bmi", "bp")
    assert "decrease of r2 when shuffled" in found.plot().ax_.get_xlabel()
    assert "std of a shuffle" in repr(found)
    assert list(found.to_frame()) == ["importance", "standard_error", "importance_std"]
    found.save(tmp_path / "importance.npz")
    loaded = pkex.Importance.load(tmp_path / "importance.npz")
    assert np.array_equal(unchecked(loaded.importances_std), unchecked(found.importances_std))
    assert loaded.meaning == found.meaning


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: asked(scoring="neg_root_mean_squared_error"), ValueError, "expectation of a root"),
        (lambda: asked(MACHINE, LABELS, scoring="roc_auc"), ValueError, "compares rows"),
        (lambda: asked(MACHINE, LABELS, scoring="f1_macro"), ValueError, "balanced_accuracy"),
        (lambda: asked(scoring="explained_variance"), ValueError, "use 'r2'"),
        (lambda: asked(scoring="something"), ValueError, "Known are"),
        (lambda: asked(scoring=lambda model, X, y: 0.0), TypeError, "a function hides"),
        (lambda: asked(scoring="accuracy"), ValueError, "for classifiers"),
        (lambda: asked(MACHINE, LABELS, scoring="r2"), ValueError, "for regression"),
        (
            lambda: asked(MACHINE, LABELS, scoring="neg_log_loss"),
            pkex.UnsupportedModelError,
            "known function",
        ),
        (lambda: asked(MACHINE, LABELS + 5), ValueError, "y has the class '5'"),
        (lambda: asked(RIDGE, Y[:3]), ValueError, "y must have shape"),
        (lambda: asked(RIDGE, np.ones(60)), ValueError, "constant"),
        (lambda: asked(sample_weight=np.ones(3)), ValueError, "sample_weight must be 60"),
        (lambda: asked(sample_weight=-np.ones(60)), ValueError, "must not be negative"),
        (lambda: asked(max_samples=0), ValueError, "max_samples"),
        (lambda: asked(groups={"a": ["none"]}), ValueError, "groups name the column"),
    ],
)
def test_what_is_refused(ask, error, words):
    with pytest.raises(error, match=words):
        ask()


def asked(model: Any = RIDGE, y: Any = Y, **options: Any) -> pkex.Importance:
    return pkex.permutation_importance(model, X, y, **options)
