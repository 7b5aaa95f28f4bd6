"""Explanations of parts make the explanation of the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import pkex
from tests._support.explanations import changed
from tests._support.unchecked import unchecked

X, Y = load_iris(return_X_y=True, as_frame=True)
X.index = [f"flower {i}" for i in range(len(X))]
MODELS = {
    "regression": SVR(C=5.0).fit(X, Y),
    "classes": SVC(C=5.0).fit(X, np.array(["a", "b", "c"])[Y]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("removal", ["product-of-marginals", "neutral"])
def test_parts_make_the_whole(name, removal):
    explainer = pkex.Explainer(MODELS[name], removal=removal)
    whole = explainer(X)
    found = pkex.Explanation.concat(explainer(X[start : start + 40]) for start in range(0, 150, 40))
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.predictions, whole.predictions, rtol=1e-12)
    np.testing.assert_array_equal(found.data, whole.data)
    assert list(found.row_index) == list(X.index)
    assert found.error_bound.shape == whole.error_bound.shape
    assert found.kernels == whole.kernels
    for field in (
        "feature_names",
        "output_names",
        "classes",
        "output_classes",
        "output_kind",
        "background_info",
        "removal",
    ):
        assert getattr(found, field) == getattr(whole, field)
    if name == "classes":
        np.testing.assert_array_equal(found.predicted_class, whole.predicted_class)
    assert max(rule.relative_error for rule in found.rules) == found.rule.relative_error


def test_standard_deviations_come_along():
    model = GaussianProcessRegressor(RBF() + WhiteKernel(1.0), optimizer=None).fit(X[::8], Y[::8])
    explainer = pkex.Explainer(model)
    parts = [explainer(part, return_std=True) for part in (X[:3], X[3:7])]
    found = pkex.Explanation.concat(parts)
    np.testing.assert_array_equal(found.std, np.concatenate([part.std for part in parts]))


def test_what_one_part_does_not_know_is_not_known():
    explainer = pkex.Explainer(MODELS["regression"])
    first, second = explainer(X[:3]), explainer(X[3:5])
    found = pkex.Explanation.concat([first, changed(second, row_index=None, error_bound=None)])
    assert found.row_index is None
    assert found.error_bound is None
    assert len(pkex.Explanation.concat([first])) == 3


def test_text_beside_numbers():
    explainer = pkex.Explainer(MODELS["regression"])
    first, second = explainer(X[:3]), explainer(X[3:5])
    second = changed(second, data=second.data.astype(object))
    assert pkex.Explanation.concat([first, second]).data.dtype == object


def test_what_does_not_go_together_is_refused():
    explainer = pkex.Explainer(MODELS["regression"])
    first = explainer(X[:3])
    with pytest.raises(ValueError, match="concat takes at least one explanation"):
        pkex.Explanation.concat([])
    with pytest.raises(TypeError, match="concat takes explanations, got DataFrame"):
        pkex.Explanation.concat([first, pd.DataFrame()])
    for other, word in (
        (pkex.Explainer(MODELS["regression"], removal="neutral")(X[:3]), "removal"),
        (pkex.Explainer(MODELS["regression"], groups=[[0, 1]])(X[:3]), "features"),
        (first[:, :2], "features"),
        (pkex.Explainer(MODELS["classes"])(X[:3]), "outputs"),
        (pkex.Explainer(MODELS["regression"], index="BV")(X[:3]), "index"),
    ):
        with pytest.raises(ValueError, match=f"explanation 1 differs from the first in its {word}"):
            pkex.Explanation.concat([first, other])


@pytest.mark.parametrize("several", [False, True])
def test_sparse_rows_are_joined(several, tmp_path):
    rng = np.random.default_rng(0)
    points = csr_array(rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.5))
    alpha = rng.normal(size=(6, 2)) if several else rng.normal(size=6)
    explainer = unchecked(pkex.Explainer(pkex.KernelExpansion(points, alpha, pkex.kernels.RBF())))
    whole = explainer(points)
    joined = pkex.SparseExplanation.concat([explainer(points[:2]), explainer(points[2:])])
    assert len(joined) == 6
    for one, other in zip(
        unchecked(joined).with_output_axis[0], whole.with_output_axis[0], strict=True
    ):
        np.testing.assert_array_equal(one.toarray(), other.toarray())
    np.testing.assert_array_equal(joined.rest, whole.rest)
    np.testing.assert_array_equal(joined.data.toarray(), whole.data.toarray())
    joined.save(tmp_path / "joined.npz")
    assert repr(pkex.SparseExplanation.load(tmp_path / "joined.npz")) == repr(joined)


def test_documents_that_were_loaded_keep_the_places_of_their_tokens(tmp_path):
    texts = ["good food", "bad food", "good good", "so bad"]
    model = make_pipeline(TfidfVectorizer(), SVR()).fit(texts, [1.0, -1.0, 1.0, -1.0])
    parts = []
    for i, some in enumerate((texts[:1], texts[1:])):
        pkex.Explainer(model)(some).save(tmp_path / f"{i}.npz")
        parts.append(pkex.SparseExplanation.load(tmp_path / f"{i}.npz"))
    joined = pkex.SparseExplanation.concat(parts)
    assert joined.texts == tuple(texts)
    whole = unchecked(pkex.Explainer(model)(texts))
    for row, text in enumerate(texts):
        assert joined.spans.of(row, text) == whole.spans.of(row, text)


def test_interactions_are_joined_where_they_are_of_one_kind():
    explainer = pkex.Explainer(MODELS["regression"])
    first, second = (explainer.interactions(X[rows]) for rows in (slice(0, 2), slice(2, 5)))
    joined = pkex.Interactions.concat([first, second])
    np.testing.assert_array_equal(joined.pairs, np.concatenate([first.pairs, second.pairs]))
    with pytest.raises(ValueError, match="differs from the first in its max_order"):
        pkex.Interactions.concat([first, explainer.interactions(X[:2], max_order=3)])
    with pytest.raises(TypeError, match="importances have no rows"):
        pkex.Importance.concat([explainer(X[:3]).importance()])
