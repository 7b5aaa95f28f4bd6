"""Rows keep what their frame called them: in frames, selections, files, print and reports."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from pkex import Explainer, Explanation
from tests._support.models.data import DIABETES, TARGET
from tests._support.written import Page

MODEL = SVR(C=20.0).fit(DIABETES, TARGET)
ROWS = DIABETES[:4]
INDEXES = {
    "range": pd.RangeIndex(100, 104),
    "integers": pd.Index([7, 3, 3, 0], name="number"),
    "floats": pd.Index([0.5, 1.5, 2.5, np.inf]),
    "text": pd.Index(["Ada", "Bob", "", "Ada"], name="patient"),
    "booleans": pd.Index([True, False, True, True]),
    "dates": pd.date_range("2024-01-31", periods=4, freq="D", name="day"),
    "dates with a zone": pd.date_range("2024-01-31", periods=4, freq="h", tz="Europe/Vienna"),
    "two levels": pd.MultiIndex.from_tuples(
        [("Wien", 1), ("Wien", 2), ("Graz", 1), ("Graz", 2)], names=["town", None]
    ),
}
indexes = pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)


@pytest.mark.filterwarnings("ignore:PCA combines columns")
@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        make_pipeline(StandardScaler(), SVR()).fit(DIABETES, TARGET),
        make_pipeline(PCA(2), SVR()).fit(DIABETES, TARGET),
    ],
    ids=["plain", "scaled", "mixed"],
)
@indexes
def test_a_frame_of_values_has_the_index_of_the_rows(model, index):
    explanation = Explainer(model, DIABETES[:9])(ROWS.set_axis(index))
    pd.testing.assert_index_equal(explanation.to_frame().index, index, exact=True)
    chosen = explanation[[2, 0]]
    pd.testing.assert_index_equal(chosen.to_frame().index, index[[2, 0]])
    assert chosen.row_names == tuple(explanation.row_names[i] for i in (2, 0))


@indexes
def test_the_index_is_there_after_saving_and_pickling(index, tmp_path):
    explanation = Explainer(MODEL, DIABETES[:9])(ROWS.set_axis(index))
    explanation.save(tmp_path / "e.npz")
    for again in (Explanation.load(tmp_path / "e.npz"), pickle.loads(pickle.dumps(explanation))):
        assert again.row_index.equals(index)
        assert list(again.row_index.names) == list(index.names)
        assert again.row_names == explanation.row_names


def test_labels_that_a_file_cannot_hold_become_text(tmp_path):
    periods = pd.period_range("2024-01", periods=4, freq="M")
    explanation = Explainer(MODEL, DIABETES[:9])(ROWS.set_axis(periods))
    explanation.save(tmp_path / "e.npz")
    again = Explanation.load(tmp_path / "e.npz")
    assert list(again.row_index) == ["2024-01", "2024-02", "2024-03", "2024-04"]


def test_rows_without_labels_are_numbered():
    for rows in (ROWS.to_numpy(), pl.from_pandas(ROWS), ROWS.to_numpy().tolist()):
        explanation = Explainer(MODEL, DIABETES[:9])(rows)
        assert explanation.row_index is None
        assert explanation.row_names == ("0", "1", "2", "3")
        assert explanation[2:].row_names == ("0", "1")
        assert explanation.to_frame().index.tolist() == [0, 1, 2, 3]


def test_print_and_notebook_call_rows_by_their_names():
    explanation = Explainer(MODEL, DIABETES[:9])(ROWS.set_axis(INDEXES["two levels"]))
    assert "  row Graz, 1: " in str(explanation)
    assert ">Wien, 2<" in explanation._repr_html_()
    assert "  row Graz, 1: " in str(explanation[2])
    evil = Explainer(MODEL, DIABETES[:9])(ROWS.set_axis(["<b>", "1", "2", "3"]))
    assert "<b>&lt;" not in evil._repr_html_()
    assert "&lt;b&gt;" in evil._repr_html_()


def test_a_report_calls_rows_by_their_names(tmp_path):
    path = tmp_path / "report.html"
    for name, expected in (
        ("range", [100, 101, 102, 103]),
        ("integers", [7, 3, 3, 0]),
        ("text", ["Ada", "Bob", "", "Ada"]),
        ("two levels", ["Wien, 1", "Wien, 2", "Graz, 1", "Graz, 2"]),
    ):
        explanation = Explainer(MODEL, DIABETES[:9])(ROWS.set_axis(INDEXES[name]))
        explanation.report(path)
        assert Page(path).data["rows"] == expected
    explanation.report(path, row_names=["a", "b", "c", 4])
    assert Page(path).data["rows"] == ["a", "b", "c", "4"]


def test_an_index_of_another_length_is_refused():
    explanation = Explainer(MODEL, DIABETES[:9])(ROWS)
    with pytest.raises(ValueError, match=r"row_index must have shape \(4,\)"):
        replace(explanation, row_index=pd.RangeIndex(3))


def test_levels_of_explained_and_of_training_rows_are_told_apart():
    frame = DIABETES[:4].set_axis(INDEXES["two levels"])
    model = KernelRidge(kernel="rbf", alpha=0.1).fit(frame, TARGET[:4])
    influence = Explainer(model).influence(frame[2:], X_train=frame, y_train=TARGET[:4])
    table = influence.to_frame()
    assert list(table.index.names) == ["town", "row_1", "train_town", "train_row_1"]
    assert table.loc[("Graz", 2, "Wien", 1), "influence"] == influence.values[1, 0]
