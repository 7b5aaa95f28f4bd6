"""Hierarchies and conditional removal on Dask workers: the results of one process."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVR

import pkex
from pkex.games import cluster, sources

pytestmark = pytest.mark.cluster

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 8))
X[:, 1] += X[:, 0]
X[:, 3] -= X[:, 2]
MODEL = SVR(C=10.0).fit(X, X[:, 0] + np.sin(X[:, 1] * X[:, 2]))
TREE = {"a": ["x0", "x1"], "b": {"c": ["x2", "x3"], "d": ["x4"]}}
WAYS: dict[str, dict[str, Any]] = {
    "interventional": {"hierarchy": TREE},
    "product-of-marginals": {"hierarchy": TREE, "removal": "product-of-marginals"},
    "ordered": {"hierarchy": pkex.games.Ordered([["x0", "x1"], [f"x{j}" for j in range(2, 8)]])},
    "blocks": {"removal": "conditional"},
    "chain": {"removal": "conditional", "conditional_model": "chain"},
}


def names():
    return [f"x{j}" for j in range(8)]


@pytest.mark.parametrize("way", WAYS)
def test_blocks_that_workers_explain(client, monkeypatch, way):
    monkeypatch.setattr(sources, "_BLOCK", 2**15)
    background = X[:10] if way in ("interventional", "ordered") else X
    sent, send = [], cluster._run_by_dask

    def counting(run, tasks, client):
        sent.append(len(tasks))
        return send(run, tasks, client)

    monkeypatch.setattr(cluster, "_run_by_dask", counting)
    expected = pkex.Explainer(MODEL, background, n_jobs=1, **WAYS[way])(X)
    with joblib.parallel_config(backend="dask"):
        found = pkex.Explainer(MODEL, background, **WAYS[way])(X)
    assert sent
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.error_bound, expected.error_bound)


@pytest.mark.parametrize("way", WAYS)
def test_lazy_arrays_and_frames(client, way):
    import dask.array
    import dask.dataframe
    import pandas

    explainer = pkex.Explainer(MODEL, X[:60], **WAYS[way])
    expected = explainer(X[:50]).values
    lazy = explainer.shap_values(dask.array.from_array(X[:50], chunks=(20, 8)))
    np.testing.assert_allclose(client.compute(lazy).result(), expected, rtol=0, atol=1e-13)
    frame = pandas.DataFrame(X[:50], columns=names())
    parts = explainer.explain_frame(dask.dataframe.from_pandas(frame, npartitions=3))
    values = client.compute(parts).result()[names()].to_numpy()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals", "neutral"])
def test_sparse_rows(client, removal):
    cells = X * (RNG.random(X.shape) < 0.3)
    model = pkex.KernelExpansion(csr_array(cells[:90]), X[:90, 0], pkex.kernels.RBF(0.5))
    background = None if removal == "neutral" else csr_array(cells[90:95])
    explainer = pkex.Explainer(model, background, removal=removal, hierarchy=TREE)
    rows = csr_array(cells[100:130])
    expected = explainer(rows)
    assert isinstance(expected, pkex.SparseExplanation)
    found = client.submit(lambda one, table: one(table), explainer, rows).result()
    with joblib.parallel_config(backend="dask"):
        again = explainer(rows)
    for other in (found, again):
        assert isinstance(other, pkex.SparseExplanation)
        np.testing.assert_array_equal(other.values.toarray(), expected.values.toarray())
        np.testing.assert_array_equal(other.rest, expected.rest)
