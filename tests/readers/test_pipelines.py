"""Pipelines as users have them: tables of every kind in, the user's own columns and values out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.feature_selection import (
    VarianceThreshold,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, SVR

from pkex import Explainer
from pkex.errors import UnsupportedModelError
from tests._support.cases import assert_close
from tests._support.models.data import DIABETES, PATIENTS, TARGET, X
from tests._support.models.pipelines import columns
from tests._support.naive import shapley_by_enumeration
from tests._support.prepared import NAMES, ROUNDING, encoded, plain, scaled, value_of

TABLES: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "array, Fortran order": np.asfortranarray,
    "array, read-only": lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
    "array of objects": lambda X: X.astype(object),
    "nested lists": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, other index": lambda X: pd.DataFrame(X, columns=NAMES, index=range(90, 90 + len(X))),
    "pandas, floats as index": lambda X: pd.DataFrame(
        X, columns=NAMES, index=np.linspace(10.0, 11.0, len(X))
    ),
    "pandas, objects": lambda X: pd.DataFrame(X, columns=NAMES).astype(object),
    "pandas, nullable floats": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas, numbers as names": lambda X: pd.DataFrame(X),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "csr matrix": scipy.sparse.csr_matrix,
    "csc array": scipy.sparse.csc_array,
    "coo matrix": scipy.sparse.coo_matrix,
}
NAMED: tuple[str, ...] = (
    "pandas",
    "pandas, other index",
    "pandas, floats as index",
    "pandas, objects",
)
NAMED += ("pandas, nullable floats", "polars")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("make", [plain, scaled], ids=["SVR", "scaler"])
def test_a_model_is_explained_with_the_table_it_was_fitted_with(make, table):
    """Values, names and data do not depend on how the same numbers are held."""
    sparse = hasattr(TABLES[table](X), "tocsr")
    if sparse and make is scaled:
        model, reference = (make_pipeline(MaxAbsScaler(), plain()) for _ in range(2))
    else:
        model, reference = make(), make()
    rows = TABLES[table](X[:4])
    explanation = Explainer(model.fit(TABLES[table](X), TARGET), removal="neutral")(rows)
    expected = Explainer(reference.fit(X, TARGET), removal="neutral")(X[:4])
    values, data = explanation.values, explanation.data
    if sparse:  # a row stores all of its columns, and the rest is none
        assert (np.abs(explanation.rest) <= explanation.error_bound).all()
        values, data = values.toarray(), data.toarray()
    assert_close(values, expected.values, ROUNDING)
    assert_close(explanation.predictions, model.predict(rows), ROUNDING)
    assert_close(data, X[:4], 0.0)
    assert explanation.data.dtype == np.float64
    assert explanation.feature_names == (NAMES if table in NAMED else ("x0", "x1", "x2", "x3"))


def reversed_columns(step):
    plain_transform = step.transform
    step.transform = lambda X: np.asarray(plain_transform(X))[:, ::-1]
    return step


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        VarianceThreshold(),
        FunctionTransformer(np.tanh),
        make_pipeline(StandardScaler(), MinMaxScaler()),
        columns((StandardScaler(), ["age", "bmi"]), (MinMaxScaler(), ["bp", "s5"])),
        FeatureUnion([("one", StandardScaler())]),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_step_with_a_transform_of_its_own_is_refused(step):
    """It may mix columns, so that values would be given to the wrong ones."""
    frame = pd.DataFrame(X, columns=["age", "bmi", "bp", "s5"])
    model = make_pipeline(clone(step), plain()).fit(frame, TARGET)
    Explainer(model)
    reversed_columns(model[0])
    with pytest.raises(UnsupportedModelError, match=r"overrides \w+\.transform.*plain"):
        Explainer(model)


def test_a_step_inside_a_step_with_a_transform_of_its_own_is_refused():
    inside = make_pipeline(StandardScaler(), MinMaxScaler())
    model = make_pipeline(columns((inside, [0, 1, 2, 3])), plain()).fit(X, TARGET)
    reversed_columns(model[0].transformers_[0][1][1])
    with pytest.raises(UnsupportedModelError, match=r"this MinMaxScaler overrides \w+\.transform"):
        Explainer(model)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8, bool, np.float32, np.float64])
@pytest.mark.parametrize("make", [plain, scaled], ids=["SVR", "scaler"])
@pytest.mark.parametrize("framed", [False, True], ids=["array", "frame"])
def test_numbers_of_any_type(make, kind, framed):
    digits = np.round(20 * np.abs(X)).astype(kind)
    table = pd.DataFrame(digits, columns=NAMES) if framed else digits
    model = make().fit(table, TARGET)
    explanation = Explainer(model, removal="neutral")(table[:3])
    # a scaler computes in single precision for float32, and so does the model that is explained
    assert_close(explanation.predictions, model.predict(table[:3]), ROUNDING)
    assert_close(explanation.data, digits[:3].astype(float), 0.0)
    assert explanation.data.dtype == np.float64


def test_columns_of_different_types_in_one_frame():
    frame = pd.DataFrame(
        {
            "i": np.arange(60) % 7,
            "b": np.arange(60) % 3 == 0,
            "f": X[:, 0].astype(np.float32),
            "n": pd.array([1, 2, 3] * 20, dtype="Int64"),
        }
    )
    model = scaled().fit(frame, TARGET)
    explanation = Explainer(model, removal="neutral")(frame[:5])
    assert explanation.feature_names == ("i", "b", "f", "n")
    assert_close(explanation.predictions, model.predict(frame[:5]), ROUNDING)
    assert_close(explanation.data.astype(float), frame[:5].astype(float).to_numpy(), 0.0)


@pytest.mark.parametrize("make", [plain, scaled], ids=["SVR", "scaler"])
def test_one_row_is_the_row_among_many(make):
    explain = Explainer(make().fit(DIABETES, TARGET), removal="neutral")
    many = explain(DIABETES)
    for row in (0, 7, 59):
        one = explain(DIABETES[row : row + 1])
        assert one.values.shape == (1, 4)
        assert_close(one.values[0], many.values[row], ROUNDING)


@pytest.mark.parametrize("table", [X[0], X[0].tolist()])
@pytest.mark.parametrize("make", [plain, scaled], ids=["SVR", "scaler"])
def test_a_row_that_is_no_table_is_refused(make, table):
    explain = Explainer(make().fit(X, TARGET), removal="neutral")
    with pytest.raises(ValueError, match=r"two-dimensional|2D array"):
        explain(table)


# ------------------------------------------------------------------------------------ text columns

TEXT = {
    "pandas text": lambda frame: frame,
    "pandas objects": lambda frame: frame.astype({"sex": object, "pressure": object}),
    "pandas category": lambda frame: frame.astype({"sex": "category", "pressure": "category"}),
    "pandas nullable": lambda frame: frame.convert_dtypes(),
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "polars category": lambda frame: pl.DataFrame(frame.to_dict("list")).with_columns(
        pl.col("sex", "pressure").cast(pl.Categorical)
    ),
}


@pytest.mark.parametrize("kind", TEXT)
def test_text_columns_are_one_player_each_and_shown_as_text(kind):
    table = TEXT[kind](PATIENTS)
    model = encoded(sparse_output=False).fit(table, TARGET)
    explanation = Explainer(model, removal="neutral")(table[:4])
    assert explanation.feature_names == ("age", "sex", "bmi", "pressure", "s5")
    assert explanation.data.dtype == object
    assert explanation.data.tolist() == PATIENTS[:4].to_numpy().tolist()
    value = value_of(model, table[:1], (1, 1, 3, 3, 3, 3, 0, 2, 4))
    assert_close(explanation.values[0], shapley_by_enumeration(value, 5), ROUNDING)
    assert_close(explanation.predictions, model.predict(table[:4]), ROUNDING)


def test_text_in_nested_lists():
    rows = PATIENTS.to_numpy().tolist()
    model = make_pipeline(
        columns((OneHotEncoder(), [1, 3]), remainder="passthrough"), SVR(C=20.0, gamma=1e-3)
    ).fit(rows, TARGET)
    explanation = Explainer(model, removal="neutral")(rows[:2])
    assert explanation.data.tolist() == rows[:2]  # numbers are numbers, text is text
    assert_close(explanation.predictions, model.predict(rows[:2]), ROUNDING)


def test_a_one_hot_player_is_not_the_sum_of_its_columns():
    model = encoded(sparse_output=False).fit(PATIENTS, TARGET)
    whole = Explainer(model, removal="neutral")(PATIENTS[:4]).values[:, 3]
    behind = model[:-1].transform(PATIENTS[:4])
    columns_apart = Explainer(model[-1], removal="neutral")(behind).values[:, 2:6].sum(axis=1)
    assert np.abs(whole - columns_apart).max() > 1e-3


@pytest.mark.parametrize("how", ["ignore", "infrequent_if_exist"])
def test_a_category_that_was_never_seen(how):
    options = {"min_frequency": 12} if how == "infrequent_if_exist" else {}
    model = encoded(handle_unknown=how, **options).fit(PATIENTS, TARGET)
    strange = PATIENTS[:3].assign(pressure="unheard of")
    explanation = Explainer(model, removal="neutral")(strange)
    assert_close(explanation.predictions, model.predict(strange), ROUNDING)
    assert (explanation.data[:, 3] == "unheard of").all()


def test_a_category_that_was_never_seen_is_an_error_where_the_encoder_says_so():
    explain = Explainer(encoded().fit(PATIENTS, TARGET), removal="neutral")
    with pytest.raises(ValueError, match="unknown categories"):
        explain(PATIENTS[:3].assign(pressure="unheard of"))


def test_missing_values_are_shown_as_missing():
    holed = DIABETES.copy()
    holed.iloc[::5, 1] = np.nan
    model = make_pipeline(SimpleImputer(add_indicator=True), plain()).fit(holed, TARGET)
    explanation = Explainer(model, removal="neutral")(holed[:6])
    np.testing.assert_array_equal(explanation.data, holed[:6].to_numpy())
    assert_close(explanation.predictions, model.predict(holed[:6]), ROUNDING)


def test_missing_text():
    holed = PATIENTS.astype({"pressure": object})
    holed.loc[::6, "pressure"] = None
    model = encoded(handle_unknown="ignore").fit(holed, TARGET)
    explanation = Explainer(model, removal="neutral")(holed[:7])
    assert_close(explanation.predictions, model.predict(holed[:7]), ROUNDING)


def test_missing_values_are_refused_where_the_model_cannot_take_them():
    holed = DIABETES[:3].copy()
    holed.iloc[1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Explainer(plain().fit(DIABETES, TARGET), removal="neutral")(holed)
    with pytest.raises(ValueError, match="NaN"):
        Explainer(scaled().fit(DIABETES, TARGET), removal="neutral")(holed)


def test_a_warning_about_names_is_given_once():
    """A pipeline is asked several times: to prepare rows, for its prediction, for its class."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    named = make_pipeline(StandardScaler(), SVC()).fit(table, np.arange(30) % 2)
    unnamed = make_pipeline(StandardScaler(), SVC()).fit(table.to_numpy(), np.arange(30) % 2)
    for model, rows in ((named, table.to_numpy()), (unnamed, table)):
        explain = Explainer(model)
        with pytest.warns(UserWarning, match="feature names, but") as caught:
            assert len(explain(rows).predicted_class) == 30
        assert len(caught) == 1


def test_what_is_no_table_gets_a_sentence_of_ours():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    explain = Explainer(make_pipeline(StandardScaler(), SVC()).fit(table, np.arange(30) % 2))
    for row in (table.to_numpy()[0], table.iloc[0], list(table.iloc[0])):
        with pytest.raises(ValueError, match=r"X must be two-dimensional.*for a single row"):
            explain(row)
        with pytest.raises(ValueError, match=r"background must be two-dim.*for a single row"):
            Explainer(explain.expansion, row)
    for nothing in (3.0, "rows.csv", None):
        with pytest.raises(TypeError, match="X must be a table or an array of rows and columns"):
            explain(nothing)
    unnamed = make_pipeline(StandardScaler(), SVC()).fit(table.to_numpy(), np.arange(30) % 2)
    twice = table.set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match=r"X has more than one column named 'a'; rename one"):
        Explainer(unnamed)(twice)
