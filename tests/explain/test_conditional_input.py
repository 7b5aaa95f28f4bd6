"""What conditional values support, refuse and note."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as process_kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

import pkex
from pkex import kernels
from pkex.errors import UnsupportedModelError
from tests._support.conditional_models import correlated, expansion, problem


def process():
    X = correlated(40, 3)
    model = GaussianProcessRegressor(process_kernels.RBF(3.0), alpha=0.1, optimizer=None)
    return X, X[:, 0], model.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda e, X, y: e(X, return_std=True), "for return_std"),
        (lambda e, X, y: e(X, return_cov=True), "for return_cov"),
        (lambda e, X, y: e.explain_variance(X), "for explain_variance"),
        (lambda e, X, y: e.interactions(X), "for interactions"),
        (lambda e, X, y: e.shap_interaction_values(X), "for interactions"),
        (lambda e, X, y: e.loss(X, y), "for loss"),
        (lambda e, X, y: e.effects([0]), "for effects"),
        (lambda e, X, y: e.integrated_gradients(X), "for integrated gradients"),
    ],
)
def test_unsupported_questions_name_what_to_use(ask, match):
    X, y, model = process()
    for blocks in ([[0, 1]], []):  # also where nothing depends
        explainer = pkex.Explainer(model, X, removal="conditional", blocks=blocks)
        with pytest.raises(ValueError, match=f"conditional removal is not supported {match}"):
            ask(explainer, X[:3], y[:3])


def test_gradients_do_not_depend_on_the_removal():
    X, _, model = process()
    one = pkex.Explainer(model, X, removal="conditional", blocks=[[0, 1]]).gradients(X[:3])
    assert_allclose(one.values, pkex.Explainer(model, X).gradients(X[:3]).values)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"removal": "observational"}, "'conditional' or 'neutral', got 'observational'"),
        ({"blocks": [[0, 1]]}, "blocks needs removal='conditional'"),
        ({"conditional_model": "chain"}, "conditional_model needs removal='conditional'"),
        ({"removal": "conditional", "conditional_model": "tree"}, "must be 'blocks' or 'chain'"),
        (
            {"removal": "conditional", "conditional_model": "chain", "blocks": [[0, 1]]},
            "a chain has none",
        ),
        ({"removal": "conditional", "blocks": [[0, 1], [1, 2]]}, "'x1' is in more than one block"),
        ({"removal": "conditional", "blocks": [[0, "bmi"]]}, "blocks name the column 'bmi'"),
        ({"removal": "conditional", "blocks": [[0, 9]]}, "blocks name the column 9"),
        (
            {"removal": "conditional", "conditional_model": "chain", "groups": [[0, 1]]},
            "chain of single columns",
        ),
    ],
)
def test_bad_options(options, match):
    rows, _, f, _ = problem(5)
    with pytest.raises(ValueError, match=match):
        pkex.Explainer(f, rows, **options)


@pytest.mark.parametrize("blocks", ["x0", [0, 1], 3])
def test_blocks_are_lists_of_lists(blocks):
    rows, _, f, _ = problem(5)
    with pytest.raises(TypeError, match="block"):
        pkex.Explainer(f, rows, removal="conditional", blocks=blocks)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Laplacian(),
        kernels.Cauchy(),
        kernels.Periodic(),
        kernels.ProductMatern(),
        kernels.Linear(),
        kernels.Polynomial(2),
    ],
)
@pytest.mark.parametrize("model", ["blocks", "chain"])
def test_kernels_without_a_gaussian_mean(kernel, model):
    rows = correlated(60, 3)
    options: dict[str, Any] = {"blocks": [[0, 1]]} if model == "blocks" else {}
    with pytest.raises(UnsupportedModelError, match="conditional removal"):
        pkex.Explainer(
            expansion(rows[:9], None, kernel=kernel),
            rows,
            removal="conditional",
            conditional_model=model,
            **options,
        )


def test_large_blocks_few_rows_and_support_vectors():
    rng = np.random.default_rng(37)
    rows = rng.normal(size=(300, 12)) + 2.0 * rng.normal(size=(300, 1))
    with pytest.raises(ValueError, match=r"12 features depend on each other: x0, .*at most 10"):
        pkex.Explainer(expansion(rows[:9], np.ones(12)), rows, removal="conditional")
    with pytest.raises(ValueError, match=r"found in at least 10 rows.* has 5"):
        pkex.Explainer(expansion(rows[:9], np.ones(12)), rows[:5], removal="conditional")
    f = expansion(rows[:9], np.ones(12))
    with pytest.raises(ValueError, match="needs at least 10 background rows, but there are 9"):
        pkex.Explainer(f, rows[:9], removal="conditional", blocks=[list(range(8))])
    model = SVR(epsilon=0.5).fit(rows, np.sin(rows[:, 0]))
    with pytest.raises(ValueError, match="support vectors of this model are not one"):
        pkex.Explainer(model, removal="conditional")
    no_rows = pkex.KernelExpansion(rows[:9], np.ones(9), kernels.RBF(), background=None)
    with pytest.raises(ValueError, match="pass some rows as the background"):
        pkex.Explainer(no_rows, removal="conditional")


def test_training_points_serve_as_background():
    X = correlated(60, 4)
    model = KernelRidge(kernel="rbf", gamma=0.1).fit(X, X[:, 0])
    without = pkex.Explainer(model, removal="conditional", blocks=[[0, 1]])(X[:3])
    given = pkex.Explainer(model, X, removal="conditional", blocks=[[0, 1]])(X[:3])
    assert_allclose(without.values, given.values, atol=1e-12)
    assert without.background_info.startswith("60 training points, Gaussian within blocks")


def test_numbers_and_categories_in_one_block_are_refused():
    rng = np.random.default_rng(37)
    group = np.repeat(["low", "high"], 100)
    X = pd.DataFrame(
        {"g": pd.Categorical(group), "x": rng.normal(size=200) + 3.0 * (group == "low")}
    )
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["g"]), ("passthrough", ["x"])
        ),
        KernelRidge(kernel="rbf"),
    ).fit(X, X["x"])
    with pytest.raises(ValueError, match="'g', 'x' depend on each other, and some are numbers"):
        pkex.Explainer(model, X, removal="conditional")
    as_one = pkex.Explainer(model, X, removal="conditional", groups=[["g", "x"]])
    assert as_one(X[:2]).values.shape == (2, 1)


def test_notes_on_columns_that_are_not_gaussian_and_on_what_is_left_out():
    rng = np.random.default_rng(37)
    rows = rng.normal(size=(500, 4))
    rows[:, 1] += rows[:, 0]
    rows[:, 2] = np.exp(1.5 * rows[:, 0])
    rows[:, 3] += 0.25 * rows[:, 1]
    notes = pkex.Explainer(
        expansion(rows[:9], np.ones(4)), rows, removal="conditional", blocks=[[0, 1], [2, 3]]
    )(rows[:1]).notes
    assert any(note.startswith("Far from Gaussian") and "x2." in note for note in notes)
    assert any("largest linear correlation left out is" in note for note in notes)
    clean = rng.normal(size=(500, 3))
    clean[:, 1] += clean[:, 0]
    notes = pkex.Explainer(expansion(clean[:9], np.ones(3)), clean, removal="conditional")(
        clean[:1]
    ).notes
    assert len(notes) == 1


def test_a_chain_says_which_correlation_it_misses():
    rng = np.random.default_rng(37)
    steps = rng.normal(size=(400, 5)).cumsum(axis=1)
    f = expansion(steps[:9], np.full(5, 2.0))
    true = pkex.Explainer(f, steps, removal="conditional", conditional_model="chain")
    assert not any("chain has the correlations" in note for note in true(steps[:1]).notes)
    mixed = steps[:, [0, 4, 1, 3, 2]]
    other = pkex.Explainer(f, mixed, removal="conditional", conditional_model="chain")
    assert any("chain has the correlations" in note for note in other(mixed[:1]).notes)
