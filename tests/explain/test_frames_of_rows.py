"""``explainer.explain_frame``: the kind of table that came; Dask is told without being there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR

import pkex

X, Y = load_iris(return_X_y=True, as_frame=True)
ONE = pkex.Explainer(SVR(C=5.0).fit(X, Y), X[:20])
THREE = pkex.Explainer(SVC(C=5.0).fit(X, np.array(["a", "b", "c"])[Y]))


@pytest.mark.parametrize("explainer", [ONE, THREE], ids=["one", "three"])
def test_a_frame_is_of_the_kind_that_came_in(explainer):
    rows = X[40:60]
    expected = explainer(rows)
    frame = explainer.explain_frame(rows)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == list(rows.index)
    np.testing.assert_array_equal(frame.to_numpy(), expected.to_frame().to_numpy())
    own = [*X.columns, "base_value", "prediction"]
    if explainer is THREE:
        own = [f"{output}: {name}" for output in "abc" for name in own]
    assert list(frame.columns) == own
    polars = explainer.explain_frame(pl.from_pandas(rows))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == own
    np.testing.assert_array_equal(polars.to_numpy(), frame.to_numpy())
    arrow = explainer.explain_frame(pa.Table.from_pandas(rows, preserve_index=False))
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == own


def test_what_is_no_frame_is_refused():
    with pytest.raises(TypeError, match=r"frame takes a data frame .* got ndarray: for an array"):
        ONE.explain_frame(X.to_numpy())
    with pytest.raises(TypeError, match=r"lazy frame of polars.* collect it first"):
        ONE.explain_frame(pl.from_pandas(X).lazy())
    names = ["base_value", "b", "c", "d"]
    table = X.set_axis(names, axis=1)
    explainer = pkex.Explainer(SVR().fit(table, Y))
    with pytest.raises(ValueError, match=r"a feature is named 'base_value'.*groups="):
        explainer.explain_frame(table)
    named = pkex.Explainer(SVR().fit(table, Y), groups={"my_base_value": ["base_value"]})
    assert list(named.explain_frame(table[:2]).columns[:1]) == ["my_base_value"]


def lazy(name, module="dask.array.core"):
    """An object that looks like a collection of Dask and must not be touched."""

    def touched(self, *args, **kwargs):
        raise AssertionError("it was loaded")

    kind = type(name, (), {"__array__": touched, "__module__": module})
    return kind()


def test_collections_of_dask_are_not_loaded():
    for table in (lazy("Array"), lazy("DataFrame", "dask.dataframe.dask_expr._collection")):
        with pytest.raises(TypeError, match=r"X is a dask .*explainer\.shap_values\(X\) or"):
            ONE(table)
        with pytest.raises(TypeError, match=r"background is a dask .*background\.compute\(\)"):
            pkex.Explainer(SVR().fit(X, Y), table)
        with pytest.raises(TypeError, match=r"X is a dask .* pass a sample that fits memory"):
            pkex.mmd(table, X)
        with pytest.raises(TypeError, match="Z is a dask"):
            pkex.mmd(X, table)
        with pytest.raises(TypeError, match="y is a dask"):
            pkex.hsic(X, table)
