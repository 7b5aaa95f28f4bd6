"""Sparse rows under a hierarchy: the values of dense rows, and no dense table in between."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array

import pkex
from pkex import Explainer, KernelExpansion
from pkex.games import Ordered, sparse_tree
from pkex.kernels import RBF, Laplacian

RNG = np.random.default_rng(0)
REMOVALS = ["neutral", "interventional", "product-of-marginals"]
KERNELS = [RBF(0.7), Laplacian(), RBF(0.5) + RBF(3.0)]


def table(n_rows, n_columns, density=0.2):
    shape = (n_rows, n_columns)
    return csr_array(np.where(RNG.random(shape) < density, RNG.random(shape) - 0.3, 0.0))


def random_tree(names, depth=0):
    """Nested lists of features in a random order, some of them `Ordered`."""
    if len(names) == 1:
        return names[0]
    members = list(names)
    if depth < 3 and RNG.random() < 0.8:
        count = RNG.integers(1, min(len(names), 5) + 1)
        cuts = np.sort(RNG.choice(np.arange(1, len(names)), count - 1, replace=False))
        edges = [0, *cuts.tolist(), len(names)]
        pieces = [names[a:b] for a, b in pairwise(edges)]
        members = [random_tree(piece, depth + 1) for piece in pieces]
    return Ordered(members) if RNG.random() < 0.25 else members


def compare(explainer, rows, atol=1e-12):
    """Compare stored values and the rest with the values of dense rows."""
    sparse, dense = explainer(rows), explainer(rows.toarray())
    assert isinstance(sparse, pkex.SparseExplanation)
    assert sparse.index == dense.index
    values = dense.values.reshape(*dense.values.shape[:2], -1)
    stored = (rows.toarray() != 0.0)[:, :, None]
    tables, rest = sparse.with_output_axis
    found = np.stack([one.toarray() for one in tables], axis=2)
    np.testing.assert_allclose(found, np.where(stored, values, 0.0), rtol=0, atol=atol)
    np.testing.assert_allclose(rest, np.where(stored, 0.0, values).sum(1), rtol=0, atol=atol)
    np.testing.assert_allclose(sparse.base_values, dense.base_values, rtol=0, atol=atol)
    off = np.abs(found - np.where(stored, values, 0.0)).max(axis=1)
    both = np.reshape(sparse.error_bound + dense.error_bound, off.shape)
    assert (off <= both).all()
    return sparse


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("trial", range(8))
def test_values_are_those_of_dense_rows(removal, trial):
    """Random trees, sizes, kernels and numbers of outputs; single features included."""
    n_columns, n_points = int(RNG.integers(1, 30)), int(RNG.integers(1, 30))
    for _ in range(trial):  # other numbers for each
        RNG.random()
    names = [f"x{j}" for j in RNG.permutation(n_columns)]
    tree = random_tree(names)
    if trial % 3 == 2 and n_columns > 1:
        tree = linkage(RNG.normal(size=(n_columns, 3)), "average")
    shape = (n_points, 2) if trial % 2 else (n_points,)
    intercept = np.array([0.5, 1.0]) if trial % 2 else 0.3
    model = KernelExpansion(
        table(n_points, n_columns), RNG.normal(size=shape), KERNELS[trial % 3], intercept
    )
    background = None if removal == "neutral" else table(4, n_columns)
    hierarchy = [tree] if isinstance(tree, str) else tree
    explainer = Explainer(model, background, removal=removal, hierarchy=hierarchy)
    compare(explainer, table(4, n_columns, 0.4))


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_empty_rows_and_points_groups_and_many_blocks(removal, backend, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    monkeypatch.setattr("pkex.games.sparse_points.TREE_POINTS", 3)
    points, rows, background = table(10, 12), table(4, 12), table(3, 12)
    rows, background = (
        csr_array(np.vstack([one.toarray(), np.zeros(12)])) for one in (rows, background)
    )
    points = csr_array(points.toarray() * (np.arange(10) != 2)[:, None])
    model = KernelExpansion(points, RNG.normal(size=10), RBF(0.6))
    groups = {"a": [0, 1], "b": [5, 7, 9]}
    hierarchy = [["a", "x2", "x3"], Ordered(["x4", "b", ["x6", "x8"]])]
    background = None if removal == "neutral" else background
    explainer = Explainer(model, background, removal=removal, groups=groups, hierarchy=hierarchy)
    sparse, dense = explainer(rows), explainer(rows.toarray())
    assert isinstance(sparse, pkex.SparseExplanation)
    stored = sparse.values.toarray() != 0.0
    np.testing.assert_allclose(sparse.values.toarray()[stored], dense.values[stored], atol=1e-13)
    rest = np.where(stored, 0.0, dense.values).sum(axis=1)
    np.testing.assert_allclose(sparse.rest, rest, rtol=0, atol=1e-13)


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_wide_table_is_never_dense(removal, monkeypatch):
    """A hundred thousand columns; the twin has those that are stored alone."""
    n_columns, used = 10**5, 40
    small = table(30, used, 0.3)
    columns = np.sort(RNG.choice(n_columns, used, replace=False))

    def widened(one):
        return csr_array((one.data, columns[one.indices], one.indptr), (one.shape[0], n_columns))

    rows, background = table(3, used, 0.3), table(4, used, 0.3)
    alpha = RNG.normal(size=30)
    ours = KernelExpansion(widened(small), alpha, RBF(0.5))
    twin = KernelExpansion(small.toarray(), alpha, RBF(0.5))
    monkeypatch.setattr(csr_array, "toarray", None)
    # groups of the used columns and of some others; all columns without a group are at the top
    blocks = [list(range(a, a + 8)) for a in range(0, used, 8)]
    more = np.setdiff1d(np.arange(1000), columns)[:10].tolist()
    wide = [[*columns[block].tolist(), *more[i : i + 1]] for i, block in enumerate(blocks)]
    given = None if removal == "neutral" else widened(background)
    found = Explainer(ours, given, removal=removal, hierarchy=wide)(widened(rows))
    monkeypatch.undo()
    given = None if removal == "neutral" else background.toarray()
    expected = Explainer(twin, given, removal=removal, hierarchy=blocks)(rows.toarray())
    stored = rows.toarray() != 0.0
    values = found.values[:, columns].toarray()
    np.testing.assert_allclose(values, np.where(stored, expected.values, 0.0), rtol=0, atol=1e-13)
    rest = np.where(stored, 0.0, expected.values).sum(axis=1)
    np.testing.assert_allclose(found.rest, rest, rtol=0, atol=1e-13)


def test_what_is_too_large_is_refused(monkeypatch):
    model = KernelExpansion(table(5, 40, 0.5), RNG.normal(size=5), RBF(0.5))
    rows = table(1, 40, 0.5)
    hierarchy = [list(range(30)), list(range(30, 40))]
    monkeypatch.setattr(sparse_tree, "MOST_MEMBERS", 12)
    with pytest.raises(pkex.errors.UnsupportedModelError, match="support 12"):
        Explainer(model, table(9, 40), removal="product-of-marginals", hierarchy=hierarchy)(rows)
    monkeypatch.setattr(sparse_tree, "MOST_MEMBERS", 100)
    monkeypatch.setattr(sparse_tree, "MOST_LEAVES", 12)
    with pytest.raises(pkex.errors.UnsupportedModelError, match="12 are supported"):
        Explainer(model, removal="neutral", hierarchy=hierarchy)(rows)
    Explainer(model, table(9, 40), hierarchy=hierarchy)(rows)  # interventional values need none


def test_files_texts_and_selections(tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    texts = ["good film", "bad film", "good plot bad cast", "fine cast", "dull plot", "a fine film"]
    model = make_pipeline(TfidfVectorizer(), SVC()).fit(texts, [1, 0, 1, 1, 0, 1])
    groups = {"praise": ["good", "fine"], "blame": ["bad", "dull"]}
    found = Explainer(model, texts, hierarchy=groups)(texts[:3])
    assert isinstance(found, pkex.SparseExplanation)
    assert found.index == "Owen"
    found.save(tmp_path / "values.npz")
    loaded = pkex.SparseExplanation.load(tmp_path / "values.npz")
    assert loaded.hierarchy == found.hierarchy
    np.testing.assert_array_equal(loaded.values.toarray(), found.values.toarray())
    np.testing.assert_allclose(
        found.dense().values.sum(axis=1) + found.base_values, found.predictions
    )
    assert found[1:].index == "Owen"
    found.report(tmp_path / "report.html")
