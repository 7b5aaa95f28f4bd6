"""Sparse rows on workers of Dask: the results of one process to the last bit."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from scipy import sparse

import pkex
from pkex.games import cluster, sparse_points
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("removal", ["product-of-marginals", "interventional", "neutral"])
def test_values_are_those_of_one_process(client, monkeypatch, removal):
    rng = np.random.default_rng(0)
    z, x = (sparse.csr_array(rng.random((n, 50)) * (rng.random((n, 50)) < 0.2)) for n in (40, 60))
    f = pkex.KernelExpansion(z, rng.normal(size=(40, 2)), pkex.kernels.RBF())
    background = x[:5] if removal == "interventional" else None
    explainer = pkex.Explainer(f, background, removal=removal)
    monkeypatch.setattr(sparse_points, "_ROWS", 8)
    calls = []
    send = cluster._run_by_dask

    def counting(run, tasks, at):
        calls.append(len(tasks))
        return send(run, tasks, at)

    monkeypatch.setattr(cluster, "_run_by_dask", counting)
    with joblib.parallel_config(backend="dask"):
        found = unchecked(explainer(x))
    assert len(calls) == 1
    assert calls[0] >= 8
    with joblib.parallel_config(backend="threading", n_jobs=1):
        expected = unchecked(explainer(x))
    np.testing.assert_array_equal(found.rest, expected.rest)
    for one, other in zip(found.values, expected.values, strict=True):
        np.testing.assert_array_equal(one.data, other.data)
