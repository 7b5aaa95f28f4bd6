"""Sparse rows: the values of dense ones, those of columns that are not stored as one number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import pkex
from pkex.errors import UnsupportedModelError
from pkex.sparse import REST

RNG = np.random.default_rng(0)


def table(n_rows, n_columns, density=0.15, seed=0):
    rng = np.random.default_rng(seed)
    stored = rng.random((n_rows, n_columns)) < density
    return sparse.csr_array(np.where(stored, rng.random((n_rows, n_columns)), 0.0))


Z, X = table(30, 40, seed=1), table(8, 40, seed=2)
KERNELS = [
    pkex.kernels.RBF(0.7),
    pkex.kernels.RBF(0.3),
    pkex.kernels.Laplacian(1.5),
    pkex.kernels.Cauchy(0.8),
]


def check(found, dense, rows):
    """Compare with dense values: entries one by one, the others by their sum."""
    outputs = found.values if isinstance(found.values, tuple) else (found.values,)
    all_values = dense.values if dense.values.ndim == 3 else dense.values[:, :, None]
    rest = found.rest if found.rest.ndim == 2 else found.rest[:, None]
    stored = rows.toarray() != 0.0
    size = np.abs(all_values).max()
    for k, values in enumerate(outputs):
        assert isinstance(values, sparse.csr_array)
        np.testing.assert_array_equal(values.indptr, sparse.csr_array(rows).indptr)
        expected = np.where(stored, all_values[:, :, k], 0.0)
        np.testing.assert_allclose(values.toarray(), expected, rtol=1e-9, atol=1e-12 * size)
        others = np.where(stored, 0.0, all_values[:, :, k]).sum(axis=1)
        np.testing.assert_allclose(rest[:, k], others, rtol=1e-9, atol=1e-11 * size)
    np.testing.assert_allclose(found.predictions, dense.predictions, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.base_values, dense.base_values, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("removal", ["neutral", "marginal"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_values_are_those_of_dense_rows(kernel, removal, n_outputs):
    alpha = RNG.normal(size=(30, n_outputs)) if n_outputs > 1 else RNG.normal(size=30)
    f = pkex.KernelExpansion(Z.toarray(), alpha, kernel, 0.5)
    background = table(12, 40, seed=3) if removal == "marginal" else None
    rows = background if background is None else background.toarray()
    dense = pkex.Explainer(f, rows, removal=removal)(X.toarray())
    found = pkex.SparseExplainer(f, background, removal=removal)(X)
    check(found, dense, X)
    assert found.residual < 1e-11
    assert found.rules[0].relative_error < 1e-13


@pytest.mark.parametrize("removal", ["neutral", "marginal"])
def test_rest_by_enumeration(removal):
    """Seven columns, by all coalitions of the definition."""
    from itertools import combinations
    from math import factorial

    z, rows = table(5, 7, 0.4, 4).toarray(), table(3, 7, 0.4, 5)
    alpha, b = RNG.normal(size=5), table(4, 7, 0.4, 6).toarray()

    def worth(x, subset):
        present = np.exp(-0.5 * (x - z) ** 2)
        absent = np.ones_like(z)
        if removal == "marginal":
            absent = np.exp(-0.5 * (b[:, None, :] - z) ** 2).mean(axis=0)
        inside = np.isin(np.arange(7), subset)
        return alpha @ np.where(inside, present, absent).prod(axis=1)

    f = pkex.KernelExpansion(z, alpha, pkex.kernels.RBF())
    rows_of = sparse.csr_array(b) if removal == "marginal" else None
    found = pkex.SparseExplainer(f, rows_of, removal=removal)(rows)
    for i, x in enumerate(rows.toarray()):
        phi = np.zeros(7)
        for j in range(7):
            others = [k for k in range(7) if k != j]
            for size in range(7):
                share = factorial(size) * factorial(6 - size) / factorial(7)
                for subset in combinations(others, size):
                    phi[j] += share * (worth(x, [*subset, j]) - worth(x, list(subset)))
        np.testing.assert_allclose(found.values.toarray()[i], np.where(x != 0, phi, 0), atol=1e-13)
        assert found.rest[i] == pytest.approx(phi[x == 0].sum(), abs=1e-13)


def test_stored_zeros_and_empty_rows():
    f = pkex.KernelExpansion(Z.toarray(), RNG.normal(size=30), pkex.kernels.RBF())
    rows = X.copy()
    rows.data[::3] = 0.0
    rows = sparse.csr_array(sparse.vstack([rows, sparse.csr_array((1, 40))]))
    clean = rows.copy()
    clean.eliminate_zeros()
    found = pkex.SparseExplainer(f)(rows)
    check(
        found, pkex.Explainer(f, removal="marginal", background=Z.toarray())(rows.toarray()), clean
    )
    assert len(pkex.SparseExplainer(f)(rows[:0])) == 0


MACHINES = [
    SVR(C=3.0),
    SVC(C=3.0),
    NuSVC(nu=0.3),
    OneClassSVM(nu=0.3),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_on_sparse_rows(machine, classes):
    rows = table(60, 25, 0.2, 7)
    target = RNG.integers(0, classes, 60)
    machine = machine.fit(rows, target)
    found = pkex.SparseExplainer(machine)(rows[:5])
    dense = pkex.Explainer(machine)(rows[:5].toarray())
    check(found, dense, rows[:5])
    assert found.output_names == dense.output_names


TEXTS = [
    "the price is good and the service is good",
    "a bad meal and a bad night",
    "good food, kind people",
    "never again: cold food, bad service",
    "kind people and a good night",
    "cold and bad",
]


def test_a_pipeline_of_tf_idf_names_its_tokens():
    model = make_pipeline(TfidfVectorizer(), SVC(C=5.0)).fit(TEXTS, [1, 0, 1, 0, 1, 0])
    explanation = pkex.SparseExplainer(model)(["Good food & <bad> people"])
    frame = explanation.to_frame()
    assert set(frame["feature"]) == {"good", "food", "bad", "people", REST}
    total = explanation.base_values[0] + frame["value"].sum()
    expected = model.decision_function(["good food bad people"])
    assert total == pytest.approx(expected[0], rel=1e-9)
    by_name = frame.set_index("feature")["value"]
    assert by_name["good"] > 0.0 > by_name["bad"]
    page = explanation.text(0, "Good food & <bad> people").html()
    assert page.count("<span") == 4
    assert "&amp; &lt;" in page
    assert "<bad>" not in page
    assert "255,0,81" in page.split(">Good<")[0].rsplit("<span", 1)[1]
    assert "0,139,251" in page.split(">bad<")[0].rsplit("<span", 1)[1]
    assert f"all other columns together: {explanation.rest[0]:+.4g}" in page
    with pytest.raises(IndexError, match="there is no row 1"):
        explanation.text(1, "")


def test_importance_counts_absent_entries_as_zero():
    f = pkex.KernelExpansion(Z.toarray(), RNG.normal(size=30), pkex.kernels.RBF())
    found = pkex.SparseExplainer(f)(X)
    dense = np.column_stack([found.values.toarray(), found.rest])
    importance = found.importance()
    np.testing.assert_allclose(importance.values, np.abs(dense).mean(axis=0), atol=1e-15)
    errors = np.abs(dense).std(axis=0, ddof=1) / np.sqrt(len(dense))
    np.testing.assert_allclose(importance.standard_errors, errors, atol=1e-8)
    centred = np.abs(dense - dense.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(importance.centred, centred, atol=1e-15)
    assert importance.feature_names[-1] == REST


def test_to_shap_adds_up():
    pytest.importorskip("shap")
    f = pkex.KernelExpansion(Z.toarray(), RNG.normal(size=(30, 2)), pkex.kernels.RBF())
    found = pkex.SparseExplainer(f)(X)
    for k in range(2):
        shown = found.to_shap(k)
        total = shown.base_values + shown.values.sum(axis=1)
        np.testing.assert_allclose(total, found.predictions[:, k], atol=1e-12)


def test_what_cannot_be_explained_is_refused():
    iris, species = load_iris(return_X_y=True)
    rows = sparse.csr_array(iris)
    with pytest.raises(UnsupportedModelError, match="got KernelRidge: pass dense rows"):
        pkex.SparseExplainer(KernelRidge(kernel="rbf").fit(rows, species))
    with pytest.raises(UnsupportedModelError, match="kernel='linear'"):
        pkex.SparseExplainer(SVC(kernel="linear").fit(rows, species))
    wide = pkex.KernelExpansion(iris[:5], np.ones(5), pkex.kernels.RBF((1.0, 2.0, 3.0, 4.0)))
    with pytest.raises(UnsupportedModelError, match="same parameters in all columns"):
        pkex.SparseExplainer(wide)
    f = pkex.KernelExpansion(Z.toarray(), np.ones(30), pkex.kernels.RBF())
    with pytest.raises(ValueError, match="removal must be 'marginal' or 'neutral' for sparse rows"):
        pkex.SparseExplainer(f, removal="interventional")
    with pytest.raises(ValueError, match="neutral removal takes no background"):
        pkex.SparseExplainer(f, X, removal="neutral")
    with pytest.raises(ValueError, match="background has 7 columns, but the model takes 40"):
        pkex.SparseExplainer(f, table(3, 7))
    with pytest.raises(ValueError, match="feature_names has 2 names, but there are 40 columns"):
        pkex.SparseExplainer(f, feature_names=["a", "b"])
    explainer = pkex.SparseExplainer(f)
    with pytest.raises(TypeError, match="X must be a sparse matrix, got ndarray"):
        explainer(X.toarray())
    with pytest.raises(ValueError, match="X has 7 columns, but the model takes 40"):
        explainer(table(3, 7))
    bad = X.copy()
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        explainer(bad)
    narrow = pkex.KernelExpansion(Z.toarray(), np.ones(30), pkex.kernels.RBF(0.1))
    with pytest.raises(ValueError, match="take a wider kernel"):
        pkex.SparseExplainer(narrow, removal="neutral")
    both = pkex.KernelExpansion(Z.toarray(), RNG.normal(size=(30, 2)), pkex.kernels.RBF())
    several = pkex.SparseExplainer(both)(X)
    with pytest.raises(ValueError, match="there are 2 outputs"):
        several.to_frame()
    with pytest.raises(KeyError, match="there is no output 'z'"):
        several.to_frame("z")
    changed = SVR().fit(rows, species)
    changed.dual_coef_ = changed.dual_coef_ * 1.5
    with pytest.raises(pkex.AdditivityError, match="it was changed after it was fitted"):
        pkex.SparseExplainer(changed)(rows[:2])
