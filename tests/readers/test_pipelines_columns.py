"""Columns of pipelines: by name and in which order, in groups, and which comes from which."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectPercentile,
    VarianceThreshold,
    f_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer
from pkex.readers.sklearn.columns import origins
from tests._support.cases import assert_close
from tests._support.models.data import DIABETES, PATIENTS, TARGET, X
from tests._support.models.oracle import dense
from tests._support.models.pipelines import columns
from tests._support.naive import shapley_by_enumeration
from tests._support.prepared import NAMES, ROUNDING, encoded, plain, scaled, value_of

BAD_TABLES = {
    "renamed": lambda frame: frame.rename(columns={"bmi": "BMI"}),
    "missing": lambda frame: frame.drop(columns="s5"),
}
OTHER_TABLES = {
    "reordered": lambda frame: frame[list(frame.columns[::-1])],
    "extra": lambda frame: frame.assign(extra="?")[["extra", *frame.columns]],
    "both": lambda frame: frame.assign(extra=1.0)[["extra", *frame.columns[::-1]]],
}
NAMED_MODELS = {
    "SVR": lambda: plain().fit(DIABETES, TARGET),
    "scaler": lambda: scaled().fit(DIABETES, TARGET),
    "columns": lambda: make_pipeline(
        columns((StandardScaler(), ["bmi", "age"]), remainder="passthrough"), plain()
    ).fit(DIABETES, TARGET),
    "mixed": lambda: make_pipeline(StandardScaler(), PCA(2), plain()).fit(DIABETES, TARGET),
    "search": lambda: GridSearchCV(scaled(), {"svr__C": [1.0, 2.0]}, cv=2).fit(DIABETES, TARGET),
    "one vs one": lambda: OneVsOneClassifier(make_pipeline(StandardScaler(), SVC())).fit(
        DIABETES, TARGET // 120
    ),
}


@pytest.mark.filterwarnings("ignore:PCA combines columns")
@pytest.mark.parametrize("model", NAMED_MODELS)
@pytest.mark.parametrize("bad", BAD_TABLES)
@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_that_are_not_those_of_the_fit_are_refused(model, bad, convert):
    explain = Explainer(NAMED_MODELS[model](), removal="neutral")
    table = convert(BAD_TABLES[bad](DIABETES[:3]))
    with pytest.raises(ValueError, match=r"columns|[Ff]eature names"):
        explain(table)


@pytest.mark.filterwarnings("ignore:PCA combines columns")
@pytest.mark.parametrize("model", NAMED_MODELS)
@pytest.mark.parametrize("other", OTHER_TABLES)
@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_in_another_order_and_more_of_them_are_taken_by_name(model, other, convert):
    """In rows and background alike, and for the model's own prediction, which is compared."""
    fitted, change = NAMED_MODELS[model](), OTHER_TABLES[other]
    rows, background = convert(DIABETES[:7]), convert(DIABETES[20:30])
    expected = Explainer(fitted, background)(rows)
    found = Explainer(fitted, convert(change(DIABETES[20:30])))(convert(change(DIABETES[:7])))
    assert_close(found.values, expected.values, 0.0)
    assert found.feature_names == expected.feature_names
    assert found.data.tolist() == expected.data.tolist()


@pytest.mark.parametrize("model", ["SVR", "scaler", "columns"])
@pytest.mark.parametrize("width", [3, 5])
def test_the_wrong_number_of_columns_is_refused(model, width):
    """Without names, too: rivals accept any width."""
    unnamed = plain() if model == "SVR" else scaled()
    if model == "columns":
        unnamed = make_pipeline(columns((StandardScaler(), [0]), remainder="passthrough"), plain())
    explain = Explainer(unnamed.fit(X, TARGET), removal="neutral")
    with pytest.raises(ValueError, match=f"{width} (columns|features)"):
        explain(np.ones((2, width)))


def test_a_frame_with_other_names_will_do_for_a_model_that_saw_none():
    """As in scikit-learn, where only a pipeline's steps warn about it."""
    explain = Explainer(plain().fit(X, TARGET), removal="neutral")
    assert explain(X[:2]).feature_names == ("x0", "x1", "x2", "x3")
    assert explain(DIABETES[:2]).feature_names == tuple(DIABETES.columns)
    behind = Explainer(scaled().fit(X, TARGET), removal="neutral")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        explanation = behind(DIABETES[:2])
    assert explanation.feature_names == tuple(DIABETES.columns)


def test_an_array_will_do_for_a_model_that_saw_names():
    explain = Explainer(plain().fit(DIABETES, TARGET), removal="neutral")
    assert explain(X[:2]).feature_names == NAMES
    behind = Explainer(scaled().fit(DIABETES, TARGET), removal="neutral")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        explanation = behind(X[:2])
    assert explanation.feature_names == NAMES


# ----------------------------------------------------------------------------------------- groups


ORIGINS = (1, 1, 3, 3, 3, 3, 0, 2, 4)


@pytest.mark.parametrize(
    ("groups", "names", "players"),
    [
        ({"body": ["bmi", "s5"]}, ("age", "sex", "body", "pressure"), [{0}, {1}, {2, 4}, {3}]),
        ({"who": ["sex", "age"]}, ("who", "bmi", "pressure", "s5"), [{0, 1}, {2}, {3}, {4}]),
        (
            {"text": ["pressure", "sex"], "body": [2, "s5"]},
            ("age", "text", "body"),
            [{0}, {1, 3}, {2, 4}],
        ),
        ([["sex", "pressure"]], ("age", "sex + pressure", "bmi", "s5"), [{0}, {1, 3}, {2}, {4}]),
    ],
)
def test_groups_of_columns_raw_and_one_hot(groups, names, players):
    """A group is one player with all that is made from its columns: brute force over players."""
    model = encoded(sparse_output=False).fit(PATIENTS, TARGET)
    explanation = Explainer(model, groups=groups, removal="neutral")(PATIENTS[:2])
    assert explanation.feature_names == names
    assert explanation.column_names == tuple(PATIENTS.columns)
    value = value_of(model, PATIENTS[:1], ORIGINS)

    def merged(present):
        return value(frozenset().union(*(players[i] for i in present)))

    assert_close(explanation.values[0], shapley_by_enumeration(merged, len(players)), ROUNDING)


def test_groups_name_columns_of_the_input_and_not_codes():
    model = encoded().fit(PATIENTS, TARGET)
    with pytest.raises(ValueError, match=r"'sex_F'.*'age', 'sex', 'bmi', 'pressure', 's5'"):
        Explainer(model, groups={"women": ["sex_F"]}, removal="neutral")


# --------------------------------------------------------------------------- steps that mix columns


class Centre(TransformerMixin, BaseEstimator):
    """A user's own step: it takes the mean of a row away, and tells nothing about itself."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X = np.asarray(X)
        return X - X.mean(axis=1, keepdims=True)


class Backwards(VarianceThreshold):
    """A user's own selector, whose columns are not in the order that its mask tells."""

    def transform(self, X):
        return np.asarray(super().transform(X))[:, ::-1]


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ([PCA(2)], ("pca0", "pca1")),
        ([StandardScaler(), PCA(2), StandardScaler()], ("pca0", "pca1")),
        ([PCA(3), PCA(2)], ("pca0", "pca1")),
        ([FunctionTransformer(np.cumsum, kw_args={"axis": 1})], NAMES),
        ([Centre()], ("centre0", "centre1", "centre2", "centre3")),
        ([StandardScaler(), Centre(), StandardScaler()],
         ("centre0", "centre1", "centre2", "centre3")),
        ([Backwards()], NAMES),
    ],
)  # fmt: skip
def test_after_a_step_that_mixes_columns_its_outputs_are_explained(steps, names):
    model = make_pipeline(*steps, SVR(C=20.0, gamma=0.3)).fit(DIABETES, TARGET)
    with pytest.warns(UserWarning, match=f"combines columns.*{names[0]}"):
        explain = Explainer(model, removal="neutral")
    explanation = explain(DIABETES[:3])
    assert explanation.feature_names == names
    assert_close(explanation.predictions, model.predict(DIABETES[:3]), ROUNDING)
    last = max(i for i, step in enumerate(steps) if not isinstance(step, StandardScaler))
    mixed = DIABETES[:3]
    for _, step in model.steps[: last + 1]:
        mixed = step.transform(mixed)
    mixed = np.asarray(mixed)
    assert_close(explanation.data, mixed, 0.0)
    rest = model[last + 1 :]
    if len(rest) == 1:
        assert_close(
            Explainer(rest[-1], removal="neutral")(mixed).values, explanation.values, ROUNDING
        )


# ---------------------------------------------------------------- which column comes from which


STEPS = [
    OneHotEncoder(drop="if_binary", sparse_output=False),
    OneHotEncoder(max_categories=3, sparse_output=False),
    OneHotEncoder(min_frequency=15, drop="first", sparse_output=False),
    OrdinalEncoder(min_frequency=4),
    KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    KBinsDiscretizer(3, encode="onehot", strategy="kmeans", random_state=0),
    SplineTransformer(n_knots=4, include_bias=False, extrapolation="linear"),
    SelectFromModel(LinearRegression(), max_features=2),
    RFE(LinearRegression(), n_features_to_select=3),
    SelectPercentile(f_regression, percentile=50),
    columns((columns((StandardScaler(), [1])), [0, 3]), (MinMaxScaler(), [2]), remainder="drop"),
    columns(("passthrough", [3, 0]), remainder=make_pipeline(StandardScaler(), MinMaxScaler())),
    columns((StandardScaler(), []), (MinMaxScaler(), [2, 1])),
    FeatureUnion([("a", make_pipeline(MinMaxScaler(), SelectPercentile(percentile=50))),
                  ("b", columns((StandardScaler(), [2])))]),
    make_pipeline("passthrough", VarianceThreshold(), "passthrough"),
    SimpleImputer(strategy="most_frequent"),
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_an_output_depends_on_the_column_it_is_said_to_be_made_from(step):
    """Changing one column of the input changes those of its outputs, and no other."""
    codes = np.round(X * 40) % 6 if "Encoder" in repr(step) else X.copy()
    fitted = clone(step).fit(codes, TARGET > 150)
    found = origins(fitted, ["x0", "x1", "x2", "x3"])
    before = dense(fitted.transform(codes))
    assert before.shape[1] == len(found)
    for column in range(4):
        other = codes.copy()
        other[:, column] = codes[::-1, column]
        moved = (dense(fitted.transform(other)) != before).any(axis=0)
        assert set(np.flatnonzero(moved)) <= {j for j, i in enumerate(found) if i == column}
        assert moved.any() == (column in found)


def test_a_column_that_nothing_uses_has_no_effect():
    """Dropped columns are players whose value is 0, so that the names are those of the input."""
    model = make_pipeline(columns((OrdinalEncoder(), ["sex"])), SVR(C=20.0)).fit(PATIENTS, TARGET)
    explanation = Explainer(model, removal="neutral")(PATIENTS[:4])
    assert explanation.feature_names == tuple(PATIENTS.columns)
    assert (explanation.values[:, [0, 2, 3, 4]] == 0.0).all()
    total = explanation.base_values + explanation.values[:, 1]
    assert_close(total, model.predict(PATIENTS[:4]), ROUNDING)


def test_as_expansion_of_a_pipeline_predicts_from_raw_rows():
    model = encoded().fit(PATIENTS, TARGET)
    expansion = pkex.as_expansion(model)
    assert expansion.feature_names == tuple(PATIENTS.columns)
    assert_close(expansion.predict(PATIENTS), model.predict(PATIENTS), ROUNDING)
