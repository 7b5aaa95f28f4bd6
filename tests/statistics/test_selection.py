"""`HSICSelector` as a transformer of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import pkex
from pkex import HSICSelector
from pkex.kernels import RBF, Laplacian
from tests._support.cases import broken_checks
from tests._support.unchecked import unchecked

SELECTORS = {
    "default": HSICSelector(),
    "share": HSICSelector(0.5, kernel="median-per-column"),
    "alpha": HSICSelector(alpha=0.5, n_permutations=20, random_state=0),
    "unbiased": HSICSelector(estimator="unbiased", kernel=RBF(2.0), target_kernel=Laplacian()),
}
CHECKS = [
    pytest.param(estimator, check, id=f"{name}-{getattr(check, 'func', check).__name__}-{place}")
    for name, selector in SELECTORS.items()
    for place, (estimator, check) in enumerate(estimator_checks_generator(selector))
    # which runs only where an environment variable was set before SciPy was imported
    if getattr(check, "func", check).__name__ not in {"check_array_api_input", *broken_checks()}
]


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")  # a test may say so
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def data(n=60, d=8, seed=0):
    """The target depends on columns 1 and 4."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2.0 * X[:, 1] + X[:, 4] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [(None, 4), (1, 1), (8, 8), (np.int64(3), 3), (0.25, 2), (0.26, 3), (1.0, 8), (0.01, 1)],
)
def test_the_columns_with_the_largest_values_are_kept(wanted, count):
    X, y = data()
    selector = HSICSelector(wanted).fit(X, y)
    expected = pkex.hsic(X, y).values
    assert np.array_equal(selector.scores_, expected)
    assert selector.pvalues_ is None
    assert np.array_equal(
        selector.get_support(indices=True), np.sort(np.argsort(-expected)[:count])
    )
    assert np.array_equal(selector.transform(X), X[:, selector.get_support()])
    assert selector.n_features_in_ == 8


def test_a_share_of_one_column_or_half_of_it_is_one():
    X, y = data(d=5)
    assert HSICSelector().fit(X[:, 1:2], y).get_support().tolist() == [True]
    assert HSICSelector().fit(X, y).get_support().sum() == 2


@pytest.mark.parametrize("by", ["either", "contribution", "univariate"])
def test_false_discoveries_are_controlled(by):
    X, y = data(n=100)
    selector = HSICSelector(alpha=0.1, by=by, n_permutations=199, random_state=0).fit(X, y)
    found = pkex.hsic(X, y, n_permutations=199, random_state=0)
    expected: Any = {
        "contribution": found.p_values,
        "univariate": found.p_univariate,
        "either": [
            min(1, 2 * min(p)) for p in zip(found.p_values, found.p_univariate, strict=True)
        ],
    }[by]
    assert np.array_equal(selector.pvalues_, expected)
    assert np.array_equal(
        selector.scores_, found.univariate if by == "univariate" else found.values
    )
    # Benjamini and Hochberg: the largest k with p_(k) <= alpha k / m
    ranked = np.sort(expected)
    passing = np.flatnonzero(ranked <= 0.1 * np.arange(1, 9) / 8)
    limit = ranked[passing[-1]] if passing.size else -1.0
    assert np.array_equal(selector.get_support(), np.asarray(expected) <= limit)
    assert selector.get_support()[1]
    assert selector.attribution_.n_permutations == 199


@pytest.mark.parametrize("case", ["by themselves", "together"])
def test_either_way_a_column_may_matter(case):
    """Of 20 columns two matter, by themselves or only together."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 20))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=250)
    if case == "together":
        X = X[:, :6]
        y = np.sign(X[:, 0] * X[:, 1]) + 0.3 * rng.normal(size=250)
    options: Any = {"alpha": 0.1, "random_state": 0, "n_permutations": 999}
    chosen = {
        by: HSICSelector(by=by, **options).fit(X, y).get_support(indices=True).tolist()
        for by in ("either", "contribution", "univariate")
    }
    assert {0, 1} <= set(chosen["either"])
    blind = "contribution" if case == "by themselves" else "univariate"
    assert not {0, 1} <= set(chosen[blind])


def test_nothing_may_be_found():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    selector = HSICSelector(alpha=0.04, n_permutations=199, random_state=0).fit(X, y)
    assert not selector.get_support().any()
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (40, 0)


@pytest.mark.parametrize("wrong", [0, 9, -1, 1.5, 0.0, -0.5, float("nan"), "all", True, [3]])
def test_numbers_of_columns_that_make_no_sense(wrong):
    with pytest.raises(
        ValueError, match=r"n_features_to_select must be .* 8, or a fraction.*; got"
    ):
        HSICSelector(wrong).fit(*data())


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1, 2, "x", float("nan"), True])
def test_rates_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match="alpha must be between 0 and 1, got"):
        HSICSelector(alpha=wrong).fit(*data())


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many"])
def test_permutations_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match="n_permutations"):
        HSICSelector(alpha=0.1, n_permutations=wrong).fit(*data())


def test_other_refusals():
    X, y = data()
    with pytest.raises(ValueError, match="by must be 'either', 'contribution' or 'univariate'"):
        HSICSelector(by="both").fit(X, y)
    with pytest.raises(ValueError, match="not both"):
        HSICSelector(2, alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="requires y"):
        HSICSelector().fit(X, None)
    with pytest.raises(ValueError, match="kernel must be 'median-per-column'"):
        HSICSelector(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match=r"X has 60 rows and y has 59|inconsistent numbers"):
        HSICSelector().fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        HSICSelector().get_support()
    with pytest.raises(ValueError, match="constant"):
        HSICSelector().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="8 features"):
        HSICSelector().fit(X, y).transform(X[:, :5])


def test_an_alpha_set_after_fitting_is_refused_with_a_sentence():
    selector = HSICSelector().fit(*data()).set_params(alpha=0.1)
    with pytest.raises(ValueError, match=r"alpha.*fit"):
        selector.get_support()


def test_in_a_pipeline_and_a_search():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    model = make_pipeline(StandardScaler(), HSICSelector(random_state=0), Ridge())
    grid = [
        {"hsicselector__n_features_to_select": [2, 0.5, 10]},
        {"hsicselector__alpha": [0.2, 0.9], "hsicselector__n_permutations": [100]},
    ]
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.2
    assert len(search.cv_results_["params"]) == 5
    again = GridSearchCV(model, grid, cv=3, n_jobs=2).fit(X, y)
    assert np.allclose(again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_classes():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    text = HSICSelector(2).fit(X, names)
    numbers = HSICSelector(2, target_kernel="categorical").fit(X, y)
    assert np.array_equal(text.scores_, numbers.scores_)
    assert text.get_support(indices=True).tolist() == [2, 3]
    score = make_pipeline(HSICSelector(2), LogisticRegression()).fit(X, names).score(X, names)
    assert score > 0.9


def test_frames_keep_their_names():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    selector = HSICSelector(3).fit(X, y)
    assert list(selector.feature_names_in_) == list(X.columns)
    assert list(selector.get_feature_names_out()) == ["bmi", "s4", "s5"]
    assert list(selector.set_output(transform="pandas").transform(X).columns) == ["bmi", "s4", "s5"]
    frame = selector.set_output(transform="polars").transform(X)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["bmi", "s4", "s5"]
    polars = pl.from_pandas(X)
    found = HSICSelector(3).fit(polars, pl.Series("y", y))
    assert list(found.get_feature_names_out()) == ["bmi", "s4", "s5"]
    assert list(HSICSelector(3).fit(X.to_numpy(), y).get_feature_names_out()) == ["x2", "x7", "x8"]


def test_columns_of_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=80),
            "text": rng.choice(["u", "v", "w"], 80),
            "level": pd.Categorical(rng.choice(["p", "q"], 80)),
        }
    )
    y = (frame["text"] == "v") + 0.1 * rng.normal(size=80)
    selector = HSICSelector(1).set_output(transform="pandas").fit(frame, y)
    assert list(selector.transform(frame).columns) == ["text"]
    assert selector.attribution_.categorical == (False, True, True)
    assert selector.attribution_.feature_names == ("noise", "text", "level")


def test_sparse_input_and_several_targets():
    X, y = data()
    plain = HSICSelector(3).fit(X, y)
    sparse = HSICSelector(3).fit(scipy.sparse.csr_array(X), y)
    assert np.array_equal(sparse.scores_, plain.scores_)
    chosen = sparse.transform(scipy.sparse.csr_array(X))
    assert scipy.sparse.issparse(chosen)
    assert np.array_equal(unchecked(chosen).toarray(), plain.transform(X))
    several = HSICSelector(3).fit(X, np.column_stack([y, X[:, 6]]))
    assert np.array_equal(several.scores_, pkex.hsic(X, np.column_stack([y, X[:, 6]])).values)


def test_clone_pickle_and_random_state():
    X, y = data()
    selector = HSICSelector(alpha=0.2, n_permutations=80, random_state=1, kernel=RBF(2.0))
    copy = clone(selector)
    assert copy.get_params() == selector.get_params()
    first, second = selector.fit(X, y), copy.fit(X, y)
    assert np.array_equal(first.pvalues_, second.pvalues_)
    loaded = pickle.loads(pickle.dumps(first))
    assert np.array_equal(loaded.transform(X), first.transform(X))
    assert np.array_equal(loaded.inverse_transform(loaded.transform(X)) != 0.0,
                          np.tile(first.get_support(), (60, 1)))  # fmt: skip


def test_its_pickle_is_small():
    X, y = data(n=300)
    assert len(pickle.dumps(HSICSelector().fit(X, y))) < 10 * X.nbytes


def test_where_nothing_can_be_found_a_warning_says_so():
    X = np.random.default_rng(0).normal(size=(30, 12))
    selector = HSICSelector(alpha=0.05, n_permutations=99, random_state=0)
    with pytest.warns(UserWarning, match=r"is below 0\.24, .* pass n_permutations=959 or fewer"):
        selector.fit(X, X[:, 0])


def test_a_single_column_is_found_among_many_by_default():
    X = np.random.default_rng(0).normal(size=(120, 60))
    y = X[:, 4] + 0.3 * X[:, 5] ** 3
    found = HSICSelector(alpha=0.05, random_state=0).fit(X, y)
    assert 4 in found.get_support(indices=True)
    assert found.attribution_.n_permutations == 4799
    assert HSICSelector(n_features_to_select=1).fit(X, y).attribution_.p_values is None
