"""Files of explanations: every format version is read, and parts that do not fit are refused."""

from datetime import UTC, date, datetime, time

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
from pkex.kernels.data import Described
from pkex.results.explanation import Explanation
from tests._support.explanations import changed
from tests._support.stored import FILES, INDEXES, classified, content, example, written

pytestmark = pytest.mark.frontend

mpl.use("Agg")


@pytest.mark.parametrize("version", range(1, Explanation.CODEC.version + 1))
def test_files_of_every_version_are_read(version):
    found = Explanation.load(FILES / f"explanation_v{version}.npz")
    expected = example()
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.base_values, expected.base_values, rtol=1e-12)
    np.testing.assert_allclose(found.predictions, expected.predictions, rtol=1e-12)
    np.testing.assert_array_equal(found.data, expected.data)
    for name in (
        "feature_names",
        "column_names",
        "feature_groups",
        "output_names",
        "removal",
        "complete",
    ):
        assert getattr(found, name) == getattr(expected, name)
    assert isinstance(found.kernel, Described)  # their kernels are text
    assert repr(found.kernel) == "RBF(length_scale=1.5)"
    assert 0.0 <= found.additivity_error < 1e-15


def test_text_of_the_first_version_is_read():
    found = Explanation.load(FILES / "explanation_v1_text.npz")
    assert found.column_names == ("city", "age")
    assert list(map(repr, found.data.flat)) == ["'Wien'", "1.0", "'Graz'", "nan", "'Linz'", "3.0"]
    assert found.values[1].round(4).tolist() == [-0.3007, 0.0827]


def test_a_field_that_is_not_there_is_none(tmp_path):
    header, arrays = content()
    del header["kernel"], header["kernels"]
    assert Explanation.load(written(tmp_path / "a.npz", header, arrays)).kernel is None


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_labels_and_classes_are_saved(index, tmp_path):
    explanation = classified(index)
    explanation.save(tmp_path / "a.npz")
    found = Explanation.load(tmp_path / "a.npz")
    for name in ("classes", "output_classes", "output_kind", "background_info"):
        assert getattr(found, name) is not None
        assert getattr(found, name) == getattr(explanation, name)
    np.testing.assert_array_equal(found.predicted_class, explanation.predicted_class)
    if isinstance(index[0], tuple) and index.nlevels == 1:  # which are kept as text
        assert list(found.row_index) == [str(label) for label in index[:6]]
    else:
        assert list(found.row_index) == list(index[:6])
        assert list(found.row_index.names) == list(index.names)


MOMENTS = {
    "dates": date(2024, 1, 31),
    "times of a day": time(12, 30),
    "times": datetime(2024, 1, 31, 12, 30, 0, 5),
    "times in a zone": datetime(2024, 1, 31, tzinfo=UTC),
    "timestamps": pd.Timestamp("2024-01-31 12:30:00.000000007"),
    "timestamps in a zone": pd.Timestamp("2024-01-31", tz="Europe/Vienna"),
    "dates of numpy": np.datetime64("2024-01-31"),
    "times of numpy": np.datetime64("2024-01-31T12:30:00.000000007"),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_dates_in_the_data_come_back_as_what_they_were(moment, tmp_path):
    data = np.array([[moment, "Wien", 1.5], [None, pd.NaT, np.nan]] * 2, dtype=object)
    changed(example(), data=data).save(tmp_path / "a.npz")
    found = Explanation.load(tmp_path / "a.npz").data
    assert found[0].tolist() == [moment, "Wien", 1.5]
    assert type(found[0, 0]) is type(moment)
    assert found[1, :2].tolist() == [None, None]


def test_a_table_of_dates_of_numpy_alone(tmp_path):
    data = np.full((4, 3), np.datetime64("2024-01-31", "ns"))
    changed(example(), data=data).save(tmp_path / "a.npz")
    np.testing.assert_array_equal(Explanation.load(tmp_path / "a.npz").data.astype("M8[ns]"), data)


def test_interactions_of_a_table_with_dates_are_saved(tmp_path):
    table = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) % 3})
    table["day"] = pd.date_range("2024-01-31", periods=8)
    columns = make_column_transformer((StandardScaler(), ["a", "b"]))
    model = make_pipeline(columns, SVR()).fit(table, table["a"])
    found = pkex.Explainer(model).interactions(table)
    found.save(tmp_path / "a.npz")
    again = pkex.Interactions.load(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.data, found.data)


def _deep(levels):
    return b"[" * levels + b"]" * levels


HEADERS = {
    "nested": _deep(200_000),
    "nested in a field": b'{"format": "pkex.Explanation", "version": 1, "x": '
    + _deep(10**5)
    + b"}",
    "a number of many digits": b'{"format": "pkex.Explanation", "version": ' + b"9" * 10_000 + b"}",
    "no UTF-8": b'{"format": "\xff"}',
    "a list": b"[]",
    "nothing": b"",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_are_no_header(header, tmp_path):
    path = written(tmp_path / "a.npz", header, content()[1])
    with pytest.raises(ValueError, match=r"a\.npz is damaged or was not written by"):
        Explanation.load(path)


def labelled(kind, labels):
    levels = [{"kind": kind, "labels": labels}]
    return {"several": False, "names": [None], "levels": levels}


CHANGES = {
    "values of text": lambda h, a: a.update(values=a["values"].astype(str)),
    "values of dates": lambda h, a: a.update(values=a["values"].astype("M8[s]")),
    "complex values": lambda h, a: a.update(values=a["values"] + 1j),
    "values of records": lambda h, a: a.update(values=np.zeros((4, 2, 2), dtype=[("x", "f8")])),
    "no predictions": lambda h, a: a.pop("predictions"),
    "no data": lambda h, a: a.pop("data"),
    "no removal": lambda h, a: h.pop("removal"),
    "names are numbers": lambda h, a: h.update(feature_names=[1, 2]),
    "names are a text": lambda h, a: h.update(feature_names="ab"),
    "names are null": lambda h, a: h.update(column_names=None),
    "removal is a list": lambda h, a: h.update(removal=["neutral"]),
    "complete is a number": lambda h, a: h.update(complete=1),
    "residual is a text": lambda h, a: h.update(additivity_error="0"),
    "residual is a flag": lambda h, a: h.update(additivity_error=True),
    "residual is too large": lambda h, a: h.update(additivity_error=10**400),
    "residual is spelled": lambda h, a: h.update(additivity_error={"float": "1e3"}),
    "players are fractions": lambda h, a: h.update(feature_groups=[[0.0], [1.0, 2.0]]),
    "players are negative": lambda h, a: h.update(feature_groups=[[-1], [1, 2]]),
    "rule is negative": lambda h, a: h.update(rule=-1),
    "rule is a flag": lambda h, a: h.update(rule=False),
    "rules are a mapping": lambda h, a: h.update(rules={}),
    "a rule is a list": lambda h, a: h.update(rules=[[]]),
    "a rule of two axes": lambda h, a: a.update(rule_0_nodes=a["rule_0_nodes"][None]),
    "weights for other nodes": lambda h, a: a.update(rule_0_weights=np.ones(9)),
    "version is a flag": lambda h, a: h.update(version=True),
    "version is 0": lambda h, a: h.update(version=0),
    "format is a list": lambda h, a: h.update(format=["pkex.Explanation"]),
    "cells are lists": lambda h, a: h.update(data=[[[1], 2, 3]] * 4),
    "a day that is none": lambda h, a: h.update(data=[[{"date": "2024-02-31"}, 2, 3]] * 4),
    "a day that moves": lambda h, a: h.update(data=[[{"datetime64": "now"}, 2, 3]] * 4),
    "a number of no kind": lambda h, a: h.update(data=[[{"int": "1"}, 2, 3]] * 4),
    "one cell for three columns": lambda h, a: h.update(data=[[1]] * 4),
    "rows of text": lambda h, a: h.update(data=["abc"] * 4),
    "classes are a text": lambda h, a: h.update(classes="ab"),
    "sides are texts": lambda h, a: h.update(output_classes=["ab", "cd"]),
    "sides of three": lambda h, a: h.update(output_classes=[["a", "b", "c"]] * 2),
    "a side for one output": lambda h, a: h.update(output_classes=[["a", None]]),
    "predictions are lists": lambda h, a: h.update(predicted_class=[[1]] * 4),
    "too few predictions": lambda h, a: h.update(predicted_class=[1]),
    "labels are a list": lambda h, a: h.update(index=[1, 2, 3, 4]),
    "too few labels": lambda h, a: h.update(index=labelled("int64", [1])),
    "labels of another kind": lambda h, a: h.update(index=labelled("int64", list("abcd"))),
    "labels of no kind": lambda h, a: h.update(index=labelled("int999", [1, 2, 3, 4])),
    "labels that are no dates": lambda h, a: h.update(index=labelled("datetime64[ns]", ["x"] * 4)),
    "labels without levels": lambda h, a: h.update(index={"several": False, "names": []}),
    "values are not a number": lambda h, a: a["values"].fill(np.nan),
    "values are infinite": lambda h, a: a["values"].fill(np.inf),
    "values overflow": lambda h, a: a["values"].fill(1.5e308),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_parts_that_do_not_fit(change, tmp_path):
    header, arrays = content()
    change(header, arrays)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


@pytest.mark.parametrize("name", ["values", "base_values", "predictions"])
@pytest.mark.parametrize("version", [1, 2])
def test_values_that_no_longer_add_up_are_refused(name, version, tmp_path):
    header, arrays = content()
    header["version"] = version
    arrays[name].flat[1] += 1e-9
    path = written(tmp_path / "a.npz", header, arrays)
    with pytest.raises(ValueError, match=r"values of row 0 miss the prediction by 1e-09"):
        Explanation.load(path)
    header["complete"] = False  # a selection of features does not add up
    assert not Explanation.load(written(path, header, arrays)).complete


def test_an_honest_residual_is_accepted(tmp_path):
    """Predictions may miss the sum by what the explanation says, and rounding."""
    exact = example()
    missed = changed(exact, predictions=exact.predictions + 1e-9, additivity_error=1e-9)
    missed.save(tmp_path / "a.npz")
    assert Explanation.load(tmp_path / "a.npz").additivity_error == 1e-9


def test_rounding_of_many_values_is_accepted(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(50, 1000)) * 10.0 ** rng.uniform(-6.0, 6.0, size=(50, 1000))
    names = tuple(f"x{i}" for i in range(1000))
    made = changed(
        example()[:, :, "a"],
        values=values,
        base_values=np.full(50, 1e3),
        predictions=np.array([1e3 + sum(row) for row in values]),  # added one after the other
        data=np.zeros((50, 1000)),
        feature_names=names,
        column_names=names,
        feature_groups=tuple((i,) for i in range(1000)),
        additivity_error=0.0,
        error_bound=None,
    )
    made.save(tmp_path / "a.npz")
    Explanation.load(tmp_path / "a.npz")


def test_arrays_of_either_byte_order_and_layout(tmp_path):
    header, arrays = content()
    arrays["values"] = np.asfortranarray(arrays["values"].astype(">f8"))
    found = Explanation.load(written(tmp_path / "a.npz", header, arrays))
    assert found.values.dtype == np.dtype(float)
    np.testing.assert_array_equal(found.values, example().values)
