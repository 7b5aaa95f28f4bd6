"""Sparse rows: the values of dense ones, those of what a row does not store as one number."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import pkex
from pkex._util.random import sample_rows
from pkex._util.sparse import sample_sparse_rows
from pkex.games.backend import native
from pkex.games.sparse_points import SparseGameSums
from pkex.kernels import RBF, Cauchy, Chi2, Laplacian, Linear, Matern, Polynomial
from pkex.kernels.entries import kernel_matrix, matrix_rounding
from pkex.models.sums import stack
from tests._support.models import MODELS
from tests._support.naive import shapley_by_enumeration
from tests._support.pairwise import pairwise
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(0)


def table(n_rows, n_columns, density=0.15, seed=0):
    rng = np.random.default_rng(seed)
    stored = rng.random((n_rows, n_columns)) < density
    return sparse.csr_array(np.where(stored, rng.random((n_rows, n_columns)), 0.0))


Z, X, B = table(30, 40, seed=1), table(5, 40, seed=2), table(5, 40, seed=3)
ALPHA = RNG.normal(size=(30, 2))
WIDTHS = tuple(np.linspace(0.3, 2.0, 40))
KERNELS = [
    RBF(0.7),
    RBF(0.05),  # so narrow that single factors are 1e-80
    RBF(WIDTHS),
    Laplacian(1.5),
    Cauchy(0.8),
    Chi2(0.6),
    RBF(0.7) + 0.5 * Laplacian(1.0).on(0, 5, 7, 9) * RBF(2.0),
    Matern(1.0, nu=2.5),
]
REMOVALS = ["neutral", "product-of-marginals", "interventional"]
GROUPS = [None, {"first": [0, 1, 2, 3], "second": [10, 20, 30]}]
INDICES = ["SV", "BV", pkex.games.BetaShapley(4, 1)]


def check(found, dense, size=1.0):
    """Compare with dense values: what is stored one by one, the others by their sum."""
    assert isinstance(found, pkex.SparseExplanation)
    assert isinstance(dense, pkex.Explanation)
    values, rest = found.with_output_axis
    every = dense.values.reshape(*dense.values.shape[:2], -1)
    bound = np.reshape(found.error_bound + dense.error_bound, rest.shape)
    near = 1e-12 * size
    for k, one in enumerate(values):
        assert isinstance(one, sparse.csr_array)
        stored = np.zeros(one.shape, dtype=bool)
        stored[np.repeat(np.arange(len(found)), np.diff(one.indptr)), one.indices] = True
        gaps = np.abs(one.toarray() - np.where(stored, every[:, :, k], 0.0))
        assert (gaps <= bound[:, [k]]).all()
        assert gaps.max() <= near
        others = np.where(stored, 0.0, every[:, :, k]).sum(axis=1)
        assert np.abs(rest[:, k] - others).max() <= 10.0 * near
    for name in ("predictions", "base_values"):
        np.testing.assert_allclose(getattr(found, name), getattr(dense, name), atol=near)
    assert found.feature_names == dense.feature_names
    assert found.output_names == dense.output_names
    assert found.background_info == dense.background_info


@pytest.mark.filterwarnings("ignore::pkex.errors.PrecisionWarning")  # of the narrow kernel
@pairwise(
    groups=dict(zip(["columns", "groups"], GROUPS, strict=True)),
    removal=REMOVALS,
    kernel=KERNELS,
)
def test_values_are_those_of_dense_rows(kernel, removal, groups):
    terms = len(kernel.terms(40))  # many of a kernel of a distance, which other indices share
    for index, n_outputs in product(INDICES if terms < 3 else INDICES[:1], (1, 2)):
        alpha = ALPHA if n_outputs == 2 else ALPHA[:, 0]
        options = {"removal": removal, "groups": groups, "index": index}
        wide = None if removal == "neutral" else B
        plain = None if removal == "neutral" else B.toarray()
        f = pkex.KernelExpansion(Z.toarray(), alpha, kernel, 0.5)
        g = pkex.KernelExpansion(Z, alpha, kernel, 0.5)
        dense = pkex.Explainer(f, plain, **options)(X.toarray())
        explainer = pkex.Explainer(g, wide, **options)
        found = explainer(X)
        check(found, dense)
        assert found.rule.relative_error < 1e-13
        assert (found.additivity_error < 1e-11) == found.efficient
        np.testing.assert_allclose(explainer.expected_value, dense.base_values[0], atol=1e-12)
        if groups is None and index == "SV":
            check(found, explainer(X.toarray()))  # dense rows of the same explainer


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("groups", [None, [[0, 4], [2, 3, 5]]], ids=["columns", "groups"])
def test_values_and_rest_by_enumeration(removal, groups):
    """Seven columns, by all coalitions of the definition."""
    z, rows, b = table(5, 7, 0.4, 4), table(4, 7, 0.4, 5), table(3, 7, 0.5, 6)
    alpha, shares = RNG.normal(size=5), np.array([0.5, 0.3, 0.2])
    f = pkex.KernelExpansion(z, alpha, RBF(0.6))
    given = {} if removal == "neutral" else {"background": b, "background_weights": shares}
    explainer = pkex.Explainer(f, removal=removal, groups=groups, **given)
    found = explainer(rows)

    def factors(x, columns):
        """Products over the columns of a player, shape (rows of x, points)."""
        gaps = x[:, None, columns] - z.toarray()[None][:, :, columns]
        return np.exp(-((gaps / 0.6) ** 2).sum(axis=2) / 2.0)

    players = [list(player) for player in explainer.feature_groups]
    for i, x in enumerate(rows.toarray()):

        def worth(subset, x=x):
            present = [factors(x[None], p) if k in subset else None for k, p in enumerate(players)]
            absent = [factors(b.toarray(), p) for p in players]
            if removal == "neutral":
                absent = [np.ones((1, 5))] * len(players)
            if removal == "product-of-marginals":
                absent = [shares @ a for a in absent]
            parts = [a if p is None else p for p, a in zip(present, absent, strict=True)]
            product = np.ones((1, 5))
            for part in parts:
                product = product * part
            mean = shares @ product if len(product) == 3 else product[0]
            return float(alpha @ mean)

        phi = np.array(shapley_by_enumeration(worth, len(players)))
        stored = np.array([x[player].any() for player in players])
        np.testing.assert_allclose(
            found.values[[i]].toarray()[0], np.where(stored, phi, 0.0), atol=1e-14
        )
        assert found.rest[i] == pytest.approx(phi[~stored].sum(), abs=1e-14)


def test_a_tolerance_is_kept_to():
    f = pkex.KernelExpansion(Z, ALPHA, RBF(0.4), 0.5)
    exact, rough = (pkex.Explainer(f, B, tol=tol)(X) for tol in (None, 1e-4))
    assert rough.rule.size < exact.rule.size
    for one, other in zip(exact.values, rough.values, strict=True):
        gaps = abs((one - other).toarray()).max(axis=1, keepdims=True)
        assert gaps.max() > 0.0
        assert (gaps <= rough.error_bound + exact.error_bound).all()


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("groups", GROUPS, ids=["columns", "groups"])
def test_both_backends_integrate_alike(removal, groups, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if native() is None:
        pytest.skip("pkex was installed without the native kernel")
    expansion = pkex.KernelExpansion(Z, ALPHA, KERNELS[6])
    background = None if removal == "neutral" else B
    found = []
    for backend in ("native", "numpy"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        found.append(pkex.Explainer(expansion, background, removal=removal, groups=groups)(X))
    compiled, plain = found
    np.testing.assert_allclose(compiled.rest, plain.rest, rtol=0.0, atol=1e-13)
    for mine, theirs in zip(compiled.values, plain.values, strict=True):
        assert abs(mine - theirs).max() <= 1e-13


@pytest.mark.parametrize("removal", REMOVALS)
def test_threads_and_blocks_do_not_matter(removal, monkeypatch):
    f = pkex.KernelExpansion(Z, ALPHA, RBF(0.7))
    background = None if removal == "neutral" else B
    one = pkex.Explainer(f, background, removal=removal, n_jobs=1)(X)
    monkeypatch.setattr("pkex.games.sparse_points._ROWS", 3)
    two = pkex.Explainer(f, background, removal=removal, n_jobs=2)(X)
    assert all((a.data == b.data).all() for a, b in zip(one.values, two.values, strict=True))
    monkeypatch.setattr("pkex.games.sparse_points._POINTS", 7)
    cut = pkex.Explainer(f, background, removal=removal)(X)
    for a, b in zip(one.values, cut.values, strict=True):
        np.testing.assert_allclose(a.data, b.data, atol=1e-13)
    np.testing.assert_allclose(one.rest, cut.rest, atol=1e-13)


def test_stored_zeros_empty_rows_and_one_column():
    f = pkex.KernelExpansion(Z, ALPHA[:, 0], RBF())
    rows = X.copy()
    rows.data[::3] = 0.0
    rows = sparse.csr_array(sparse.vstack([rows, sparse.csr_array((1, 40))]))
    found = unchecked(pkex.Explainer(f)(rows))
    assert found.values[[-1]].nnz == 0
    assert (found.data.data != 0.0).all()
    check(found, pkex.Explainer(f)(rows.toarray()))
    empty = pkex.KernelExpansion(sparse.csr_array((3, 40)), [1.0, 2.0, 3.0], RBF())
    check(pkex.Explainer(empty)(X), pkex.Explainer(empty)(X.toarray()))
    narrow = pkex.KernelExpansion(sparse.csr_array([[1.0], [0.0]]), [1.0, 2.0], RBF())
    cells = sparse.csr_array([[2.0], [0.0]])
    for removal in ("neutral", "product-of-marginals"):
        explainer = pkex.Explainer(narrow, removal=removal)
        check(explainer(cells), explainer(cells.toarray()))


def test_the_same_rows_stand_in_as_for_dense_points():
    rng = np.random.default_rng(5)
    cells = rng.integers(-2, 3, (300, 6)) * (rng.random((300, 6)) < 0.4)
    chosen = sample_sparse_rows(sparse.csr_array(cells.astype(float)), 50, 0)
    np.testing.assert_array_equal(chosen.toarray(), sample_rows(cells.astype(float), 50, 0))


SPARSE_MODELS = [case for case in MODELS if case.sparse_rows is not None]


@pytest.mark.parametrize("case", SPARSE_MODELS, ids=str)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_models_of_the_list_that_were_fitted_on_sparse_rows(case, kind):
    with case.quiet():
        options = {"outputs": case.choice}
        explainer = pkex.Explainer(case.model(), case.background, **options)
        found, dense = explainer(kind(case.sparse_rows)), explainer(case.rows)
    kernels = explainer.expansion.parts[0].kernel
    if isinstance(kernels, RBF | Laplacian):
        check(found, dense, np.abs(dense.values).max())
    else:  # a linear kernel is not 1 between two zeros
        np.testing.assert_allclose(found.values, dense.values, atol=1e-12)


def test_there_are_models_on_both_sides():
    kinds = {type(pkex.as_expansion(case.model()).parts[0].kernel) for case in SPARSE_MODELS}
    assert {RBF, Linear} <= kinds
    assert len(SPARSE_MODELS) >= 6


ROWS = sparse.csr_matrix(table(60, 25, 0.2, 7))  # older scikit-learn takes no arrays
CLASSES = RNG.integers(0, 3, 60)
MACHINES = [
    SVR(C=3.0),
    NuSVR(nu=0.5),
    SVC(C=3.0),
    NuSVC(nu=0.2),
    OneClassSVM(nu=0.3),
    KernelRidge(kernel="rbf", gamma=0.5),
    KernelRidge(kernel="laplacian", gamma=0.5),
    OneVsRestClassifier(SVC()),
    make_pipeline(MaxAbsScaler(), SVC()),
    make_pipeline(SelectKBest(chi2, k=10), SVC()),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: repr(m)[:40])
@pytest.mark.parametrize("groups", [None, [[0, 1], [4, 9, 20]]], ids=["columns", "groups"])
def test_machines_on_sparse_rows(machine, groups):
    explainer = pkex.Explainer(machine.fit(ROWS, CLASSES), groups=groups)
    assert all(part.sparse_points is not None for part in explainer.expansion.parts)
    found = unchecked(explainer(ROWS[:5]))
    assert not any("points" in part.__dict__ for part in explainer.expansion.parts)
    check(found, explainer(ROWS[:5].toarray()))
    again = pickle.loads(pickle.dumps(explainer))(ROWS[:5])
    assert (again.rest == found.rest).all()
    assert repr(explainer.expansion).count("sparse points") == len(explainer.expansion.parts)


def test_sparse_rows_of_dense_points_are_explained_in_all_columns():
    f = pkex.KernelExpansion(Z.toarray(), ALPHA, RBF())
    found = pkex.Explainer(f, B)(X)
    assert isinstance(found, pkex.Explanation)
    np.testing.assert_array_equal(found.values, pkex.Explainer(f, B)(X.toarray()).values)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), RBF() + Linear()], ids=repr)
def test_kernels_that_are_not_1_between_zeros_have_dense_points(kernel):
    f = pkex.KernelExpansion(Z, ALPHA, kernel)
    assert f.sparse_points is None
    found, dense = (pkex.Explainer(f)(rows) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(found.values, dense.values)


def test_an_expansion_of_sparse_points_predicts_and_joins_as_a_dense_one():
    f, g = (pkex.KernelExpansion(z, ALPHA, KERNELS[6], 0.5) for z in (Z, Z.toarray()))
    np.testing.assert_allclose(f.predict(X), g.predict(X), rtol=1e-13)
    np.testing.assert_allclose(f.predict(X.toarray()), g.predict(X), rtol=1e-13)
    np.testing.assert_array_equal(f.points, g.points)
    np.testing.assert_array_equal(f.base_value, g.base_value)
    both = stack([f, f], list("abcd"))
    assert both.sparse_points.shape == (60, 40)
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again.predict(X), f.predict(X))


def test_interactions_of_sparse_rows_are_those_of_dense_ones():
    f = pkex.KernelExpansion(Z, ALPHA[:, 0], RBF())
    explainer = pkex.Explainer(f, B)
    found, dense = (explainer.interactions(rows[:2]) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(found.pairs, dense.pairs)


def test_values_that_do_not_add_up_are_an_error(monkeypatch):
    f = pkex.KernelExpansion(Z, ALPHA, RBF())
    explainer = pkex.Explainer(f)
    right = SparseGameSums.add_up
    monkeypatch.setattr(SparseGameSums, "add_up", lambda self: right(self) + 1e-6)
    with pytest.raises(pkex.AdditivityError, match="rounding explains at most"):
        explainer(X)


def test_rounding_that_shows_is_warned_of():
    f = pkex.KernelExpansion(sparse.vstack([Z, Z]), np.r_[ALPHA[:, 0], -ALPHA[:, 0]] * 1e12, RBF())
    with pytest.warns(pkex.errors.PrecisionWarning, match="rounding errors are visible"):
        pkex.Explainer(f)(X)


def test_the_models_own_prediction_is_another():
    texts = ["good food", "bad food", "a good night", "a bad night"]
    model = make_pipeline(TfidfVectorizer(), SVC()).fit(texts, [1, 0, 1, 0])
    explainer = pkex.Explainer(model)
    explainer(texts)
    model[-1].dual_coef_.data[:] *= 1.5
    model[-1]._dual_coef_.data[:] *= 1.5
    with pytest.raises(pkex.AdditivityError, match="where the model"):
        explainer(texts)


FAR = [1.0, 30.0, 1e3]  # how far points lie from 0


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:30])
def test_rounding_of_a_sparse_kernel_matrix_is_bounded(kernel, far):
    """Rows near points: the exponents of both cancel. Dense rows have no such sums."""
    points = Z * far
    near = points.copy()
    near.data = near.data + 0.05 * np.random.default_rng(8).random(near.nnz)
    rows = sparse.csr_array(sparse.vstack([near, X * far]))
    found, bound = (function(kernel, rows, points) for function in (kernel_matrix, matrix_rounding))
    expected = kernel(rows.toarray(), points.toarray())
    # dense: 40 columns of 8 units each; factors below 2^-500; what a mixture misses
    dense = 2.0**-53 * 320.0 * expected * (1.0 + np.abs(np.log(np.maximum(expected, 1e-300))))
    dense += 1e-15 if isinstance(kernel, Matern) else 2.0**-500
    assert (np.abs(found - expected) <= bound + dense).all()
    assert bound.max() < 1e-9


@pytest.mark.filterwarnings("ignore:Solver terminated early")  # of steep polynomials
def test_one_class_machines_of_any_setting_are_read_and_others_refused():
    """Predictions on the margin are 0, where nothing but the size of the sums allows rounding."""
    settings = product((0.03, 0.3, 3.0), (0.1, 0.5, 0.9), ("rbf", "linear", "poly"), (0.1, 0.3))
    for gamma, nu, kernel, density in settings:
        rows = sparse.csr_matrix(table(20, 600, density, 3) * 1e3)
        model = OneClassSVM(kernel=kernel, gamma=gamma, nu=nu, max_iter=100).fit(rows)
        pkex.as_expansion(model)
        model.dual_coef_ = model.dual_coef_ * (1.0 + 1e-5)
        with pytest.raises(pkex.AdditivityError, match="where the model"):
            pkex.as_expansion(model)


def test_pipelines_of_far_rows_are_read_and_others_refused():
    """Here rows of a call are compared, those that a user has."""
    rows = sparse.csr_matrix(table(20, 600, 0.3, 3) * 1e3)
    model = make_pipeline(SelectKBest(chi2, k=500), OneClassSVM(gamma=0.3, nu=0.1))
    model.fit(rows, np.arange(20) % 2)
    explainer = pkex.Explainer(model)
    explainer(rows[:5])
    explainer(rows[:5].toarray())
    model[-1]._intercept_ += 1e-5
    for few in (rows[:5], rows[:5].toarray()):
        with pytest.raises(pkex.AdditivityError, match="where the model"):
            explainer(few)


BAD = X.copy()
BAD.data[3] = np.nan


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: e(table(3, 7)), ValueError, "X has 7 columns, but 40 are expected"),
        (lambda e: e(BAD), ValueError, "X contains NaN or infinity .1 of .* in row 0, column 'x"),
        (lambda e: e(X[:0]), ValueError, "X is empty .shape .0, 40"),
        (lambda e: e(X.astype(complex)), TypeError, "X has dtype complex128"),
        (lambda e: pkex.Explainer(e.expansion, table(3, 7)), ValueError, "background has 7 col"),
        (lambda e: pkex.Explainer(e.expansion, BAD), ValueError, "background contains NaN"),
        (lambda e: pkex.KernelExpansion(BAD, ALPHA[:5], RBF()), ValueError, "points contains NaN"),
        (
            lambda e: pkex.Explainer(e.expansion, B, removal="neutral"),
            ValueError,
            "takes no background",
        ),
        (
            lambda e: pkex.KernelExpansion(-1.0 * Z, ALPHA, Chi2()),
            ValueError,
            "Chi2 needs non-negative values",
        ),
        (lambda e: e(X, return_std=True), pkex.UnsupportedModelError, "Gaussian process"),
    ],
)
def test_what_is_wrong_is_said(call, error, words):
    explainer = pkex.Explainer(pkex.KernelExpansion(Z, ALPHA, RBF()))
    with pytest.raises(error, match=words):
        call(explainer)
