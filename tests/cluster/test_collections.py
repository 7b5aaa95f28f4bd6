"""Tables of Dask stay lazy, and give what the same tables in memory give."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

import pkex
from pkex.explain import dask as explain_dask
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.cluster

X, Y = load_iris(return_X_y=True, as_frame=True)
X.index = [f"flower {i}" for i in range(len(X))]
ONE = pkex.Explainer(SVR(C=5.0).fit(X, Y), X[:20])
THREE = pkex.Explainer(SVC(C=5.0).fit(X, np.array(["a", "b", "c"])[Y]))
BOTH = pytest.mark.parametrize("explainer", [ONE, THREE])


@BOTH
@pytest.mark.parametrize("chunks", [(40, 4), (150, 4), (40, 3), (1, 2)])
def test_values_of_an_array(explainer, chunks):
    rows = X.to_numpy()
    if chunks[0] == 1:
        rows = rows[:5]
    lazy = explainer.shap_values(da.from_array(rows, chunks=chunks))
    expected = explainer.shap_values(rows)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == np.float64
    np.testing.assert_allclose(lazy.compute(scheduler="threads"), expected, rtol=1e-12)


@BOTH
def test_unknown_chunks_and_frames(explainer):
    rows = da.from_array(X.to_numpy(), chunks=(40, 2))
    some = rows[rows[:, 0] > 5.8]
    assert np.isnan(some.shape[0])
    lazy = explainer.shap_values(some)
    expected = explainer.shap_values(X[X.iloc[:, 0] > 5.8])
    assert np.isnan(lazy.shape[0])
    assert lazy.shape[1:] == expected.shape[1:]
    np.testing.assert_allclose(lazy.compute(scheduler="threads"), expected, rtol=1e-12)
    frame = dd.from_pandas(X, npartitions=3, sort=False)
    lazy = explainer.shap_values(frame[frame.iloc[:, 0] > 5.8])
    np.testing.assert_allclose(lazy.compute(scheduler="threads"), expected, rtol=1e-12)


def test_the_problem_is_in_the_graph_once_and_nothing_is_computed(monkeypatch):
    calls: Any = []
    explain = unchecked(explain_dask).explain_rows
    monkeypatch.setattr(
        explain_dask, "explain_rows", lambda *a, **k: calls.append(1) or explain(*a, **k)
    )
    lazy = ONE.shap_values(da.from_array(X.to_numpy(), chunks=(10, 4)))
    frame = ONE.explain_frame(dd.from_pandas(X, npartitions=5, sort=False))
    assert not calls
    for graph in (dict(lazy.dask), dict(frame.dask)):
        holders = [key for key, task in graph.items() if "Problem" in str(key)]
        assert len(holders) == 1
    lazy.compute(scheduler="sync")
    assert len(calls) == 15


@BOTH
def test_a_frame_is_of_the_kind_that_came_in(explainer):
    expected = explainer(X)
    frame = explainer.explain_frame(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == list(X.index)
    wide = expected.to_frame()
    np.testing.assert_array_equal(frame.to_numpy(), wide.to_numpy())
    if explainer is ONE:
        assert list(frame.columns) == [*X.columns, "base_value", "prediction"]
    else:
        assert list(frame.columns[:5]) == [*(f"a: {c}" for c in X.columns), "a: base_value"]
    polars = explainer.explain_frame(pl.from_pandas(X.reset_index(drop=True)))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == list(frame.columns)
    np.testing.assert_array_equal(polars.to_numpy(), frame.to_numpy())
    arrow = explainer.explain_frame(pa.Table.from_pandas(X, preserve_index=False))
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == list(frame.columns)
    lazy = explainer.explain_frame(dd.from_pandas(X, npartitions=3, sort=False))
    assert isinstance(lazy, dd.DataFrame)
    assert list(lazy.columns) == list(frame.columns)
    computed = lazy.compute(scheduler="threads")
    assert list(computed.index) == list(frame.index)
    np.testing.assert_allclose(computed.to_numpy(), frame.to_numpy(), rtol=1e-12)


def test_empty_partitions():
    frame = dd.from_pandas(X, npartitions=3, sort=False)
    none = frame[frame.iloc[:, 0] > 100.0]
    assert len(ONE.explain_frame(none).compute(scheduler="threads")) == 0
    assert ONE.shap_values(none).compute(scheduler="threads").shape == (0, 4)


def test_on_a_cluster(client):
    lazy = ONE.shap_values(da.from_array(X.to_numpy(), chunks=(30, 4)))
    np.testing.assert_allclose(lazy.compute(), ONE.shap_values(X), rtol=1e-12)


def test_what_would_load_a_collection_is_refused():
    rows, frame = (
        da.from_array(X.to_numpy(), chunks=(50, 4)),
        dd.from_pandas(X, npartitions=2, sort=False),
    )
    for table in (rows, frame):
        with pytest.raises(TypeError, match=r"X is a dask .*explainer\.shap_values\(X\) or"):
            ONE(table)
        with pytest.raises(TypeError, match=r"background is a dask .*background\.compute\(\)"):
            pkex.Explainer(SVR().fit(X, Y), table)
        with pytest.raises(TypeError, match=r"X is a dask .* pass a sample that fits memory"):
            pkex.mmd(table, X)
        with pytest.raises(TypeError, match=r"y is a dask"):
            pkex.hsic(X, table)
        for call in (
            ONE.interactions,
            ONE.shap_interaction_values,
            ONE.gradients,
            ONE.integrated_gradients,
            ONE.influence,
            lambda rows: ONE.loss(rows, Y),
            lambda rows: pkex.permutation_importance(ONE.expansion, rows, Y),
            lambda rows: pkex.sage(ONE.expansion, rows, Y),
            ONE.expansion.predict,
            lambda rows: pkex.sensitivity(ONE.expansion, rows),
            lambda rows: pkex.HSICSelector().fit(rows, Y),
            lambda rows: pkex.MMDDrift().fit(rows),
        ):
            with pytest.raises(TypeError, match=r"X is a dask .* pass a sample that fits memory"):
                call(table)
    with pytest.raises(TypeError, match="frame takes a dask data frame, got a dask Array"):
        ONE.explain_frame(rows)
    with pytest.raises(ValueError, match="X must be a dask array of shape"):
        ONE.shap_values(rows[0])


def test_dask_is_not_imported():
    code = "import sys, pkex; pkex.Explainer; pkex.mmd; sys.exit('dask' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
