"""What `sensitivity` takes for inputs: names, samples, fixed values; what it refuses and notes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import pkex
from pkex import KernelExpansion, sensitivity
from pkex.kernels import RBF, Categorical
from pkex.models.preparation import Preparation
from tests._support.cases import assert_close

RNG = np.random.default_rng(21)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
PLAIN = SVR(C=5.0).fit(X, Y)
SCALED = make_pipeline(StandardScaler(), SVR(C=5.0)).fit(X, Y)
RANGES = {"a": (-1.0, 1.0), "b": (-1.0, 2.0), "c": stats.norm()}
MODELS = pytest.mark.parametrize("model", [PLAIN, SCALED], ids=["plain", "pipeline"])
UNNAMED = pytest.mark.filterwarnings("ignore:X has feature names, but StandardScaler was fitted")
GAPLESS = [(0.0, 2.0), stats.norm(1.0, 0.2), stats.uniform(0, 2)]
NAMES = ("x0", "x1", "x2")
CODES = RNG.integers(3, size=40).astype(float)
MIXED = KernelExpansion(
    np.column_stack([X[:, :2], CODES]),
    RNG.normal(size=40),
    RBF(1.0, columns=(0, 1)) * Categorical(0.3, columns=(2,)),
)


def by_values(f, columns, weights):
    """Return the variance and the first-order indices over all combinations of values."""
    rows = np.array(list(product(*columns)))
    shares = np.array([np.prod(entry) for entry in product(*weights)])
    values = f.predict(rows)
    mean = shares @ values
    variance = shares @ (values - mean) ** 2
    first = []
    for j, own in enumerate(columns):
        inside = [rows[:, j] == value for value in own]
        means = [shares[place] @ values[place] / shares[place].sum() for place in inside]
        first.append(np.dot(weights[j], (np.array(means) - mean) ** 2) / variance)
    return variance, np.array(first)


def rounded(rows):
    """Return the rows with integers in their second column, as a model may see them."""
    return np.column_stack([rows[:, 0], np.round(rows[:, 1]), rows[:, 2]])


class ColumnsOfBins:
    """A column as columns of 0 and 1, one for each bin."""

    def __init__(self, edges):
        self.edges = edges

    def __call__(self, rows):
        places = np.digitize(np.asarray(rows)[:, 0], self.edges)
        return np.eye(len(self.edges) + 1)[places]


# names


@UNNAMED
@MODELS
def test_a_frame_gives_its_names_to_a_model_without_any(model):
    found = sensitivity(model, FRAME, groups={"both": ["a", "c"]})
    assert found.feature_names == ("both", "b")
    assert found.column_names == ("a", "b", "c")
    assert_close(found.shapley, sensitivity(model, X, groups=[[0, 2]]).shapley, 1e-14)


@MODELS
def test_a_mapping_gives_its_names_in_its_order_to_a_model_without_any(model):
    found = sensitivity(model, RANGES, groups=[["a", "b"]])
    assert found.feature_names == ("a + b", "c")
    assert "in the order of the mapping" in found.inputs
    numbered = sensitivity(model, dict(enumerate(RANGES.values())), groups=[[0, 1]])
    assert "order of the mapping" not in numbered.inputs
    assert_close(found.shapley, numbered.shapley, 1e-14)


def test_a_model_with_names_takes_a_mapping_in_any_order():
    model = SVR(C=5.0).fit(FRAME, Y)
    turned = dict(reversed(RANGES.items()))
    found = sensitivity(model, turned)
    assert found.feature_names == ("a", "b", "c")
    assert "order of the mapping" not in found.inputs
    assert_close(found.shapley, sensitivity(model, RANGES).shapley, 1e-14)


@pytest.mark.parametrize(
    "given",
    [{"a": (0.0, 1.0)}, RANGES | {"d": (0.0, 1.0)}, {"a": (0.0, 1.0), 1: (0.0, 1.0), 2: 0.5}],
    ids=["too few", "too many", "numbers beside names"],
)
def test_names_that_do_not_fit_are_refused(given):
    with pytest.raises(ValueError, match=r"fitted without names.*each of its 3 columns"):
        sensitivity(PLAIN, given)


@UNNAMED
@MODELS
def test_an_explainer_takes_the_names_of_each_frame(model):
    explainer = pkex.Explainer(model, groups=[[0, 1]])
    with_names = explainer(FRAME[:2])
    assert with_names.feature_names == ("a + b", "c")
    assert with_names.column_names == ("a", "b", "c")
    other = explainer(FRAME[:2].rename(columns={"c": "z"}))
    assert other.feature_names == ("a + b", "z")
    assert explainer(X[:2]).feature_names == ("x0 + x1", "x2")
    assert explainer.feature_names == ("x0 + x1", "x2")
    np.testing.assert_array_equal(other.values, explainer(X[:2]).values)
    pairs = explainer.interactions(FRAME[:2], subsets=[("a + b", "c")])
    assert pairs.feature_names == ("a + b", "c")
    named = pkex.Explainer(model, groups={"c": [0, 1]})  # which is not to be two names
    assert named(FRAME[:2]).feature_names == ("c", "x2")


def test_a_frame_of_values_has_the_names_of_its_frame():
    found = pkex.Explainer(PLAIN).explain_frame(FRAME[:2])
    assert list(found.columns) == ["a", "b", "c", "base_value", "prediction"]


# values


def test_fixed_values_and_samples_are_their_values():
    sample = [0.0, 1.0, 1.0, 3.0]
    f = KernelExpansion(X[:6], RNG.normal(size=6), RBF(1.5))
    found = sensitivity(f, {0: sample, 1: 0.25, 2: np.array([-1.0, 0.5, 2.0])})
    columns = ([0.0, 1.0, 3.0], [0.25], [-1.0, 0.5, 2.0])
    weights = ([0.25, 0.5, 0.25], [1.0], [1 / 3, 1 / 3, 1 / 3])
    variance, first = by_values(f, columns, weights)
    assert found.variance == pytest.approx(variance, rel=1e-12)
    assert_close(found.first_order, first, 1e-12)
    assert found.total_order[1] == 0.0
    assert found.error_bound < 1e-12  # nothing is integrated


@pytest.mark.parametrize("names", [True, False], ids=["frame", "array"])
def test_a_sample_of_texts_goes_through_an_encoder(names):
    kinds = RNG.choice(["red", "green", "blue"], size=40)
    rows = pd.DataFrame({"kind": kinds, "size": X[:, 0]})
    rows = rows if names else rows.to_numpy()
    encoder = make_column_transformer((OneHotEncoder(), [0]), remainder=StandardScaler())
    model = make_pipeline(encoder, SVR(C=5.0)).fit(rows, X[:, 0] * (kinds == "red"))
    given = {0: ["red", "green", "green"], 1: (-1.0, 1.0)}
    found = sensitivity(model, given)
    assert found.notes == []
    codes = np.array([["red", 0.5], ["green", 0.5]], dtype=object)
    shown = model.predict(pd.DataFrame(codes, columns=["kind", "size"]) if names else codes)
    assert abs(shown[0] - shown[1]) > 0.1  # so that the kind matters
    assert found.total_order[0] > 0.1
    with pytest.raises(ValueError, match=r"holds categories.*more than two of its values"):
        sensitivity(model, given | {0: (0.0, 2.0)})


# what cannot be meant


@pytest.mark.parametrize("given", GAPLESS, ids=["range", "normal", "uniform"])
def test_a_range_of_categories_is_refused(given):
    ranges = {0: (-1.0, 1.0), 1: (-1.0, 1.0)}
    with pytest.raises(ValueError, match=r"'x2' holds categories.*scipy\.stats\.randint\(0, 3\)"):
        sensitivity(MIXED, ranges | {2: given})
    found = sensitivity(MIXED, ranges | {2: stats.randint(0, 3)})
    assert found.total_order[2] > 0.01
    assert found.notes == []
    same = sensitivity(MIXED, ranges | {2: [0.0, 1.0, 2.0]})
    assert_close(same.shapley, found.shapley, 1e-12)


def test_codes_that_are_no_integers_in_a_row_are_named():
    kernel = RBF(1.0, columns=(0,)) * Categorical(columns=(1,))
    f = KernelExpansion([[0.0, 1.0], [1.0, 4.0], [2.0, 2.5]], [1.0, -1.0, 2.0], kernel)
    with pytest.raises(ValueError, match=r"a sample of its values \[1\.0, 2\.5, 4\.0\]"):
        sensitivity(f, {0: (0.0, 1.0), 1: (1.0, 4.0)})


@pytest.mark.parametrize(
    ("given", "instead"),
    [((-2.0, 3.4), "-2, 4"), (stats.norm(0.0, 1.0), "-8, 9")],  # all that is rounded to
    ids=["range", "normal"],
)
def test_a_range_of_a_column_that_the_model_rounds_is_refused(given, instead):
    whole = Preparation(rounded, NAMES, (0, 1, 2))
    model = KernelExpansion(rounded(X), RNG.normal(size=40), RBF(1.0), preparation=whole)
    ranges = {0: (-1.0, 1.0), 1: given, 2: (-1.0, 1.0)}
    with pytest.raises(ValueError, match=rf"rounds the column 'x1'.*stats\.randint\({instead}\)"):
        sensitivity(model, ranges)
    found = sensitivity(model, ranges | {1: stats.randint(-2, 4)})
    assert found.total_order[1] > 0.0


def test_transforms_that_are_continuous_are_not_called_rounding():
    log = FunctionTransformer(np.log, feature_names_out="one-to-one")
    positive = np.abs(X) + 0.1
    model = make_pipeline(log, StandardScaler(), SVR(C=5.0)).fit(positive, Y)
    found = sensitivity(model, dict.fromkeys(range(3), (0.2, 2.0)))  # log(round(0.2)) is -inf
    assert found.shapley.sum() == pytest.approx(1.0)


def test_a_range_of_a_column_that_is_binned_is_one():
    bins = ColumnsOfBins((-0.5, 0.5))
    whole = Preparation(bins, ("x0",), (0, 0, 0))
    f = KernelExpansion(bins(X[:, :1]), Y, RBF(1.0), preparation=whole)
    found = sensitivity(f, {0: (-1.5, 1.5)})
    values = f.predict(np.linspace(-1.5, 1.5, 3001)[1::2, None])  # a third in each bin
    assert found.variance == pytest.approx(values.var(), rel=0.01)  # which has steps
    dependent = sensitivity(f, X[:, :1])
    assert dependent.notes == []


def test_ranges_far_beyond_the_data_are_noted():
    ranges = {"a": (-1.0, 1.0), "b": (-1.0, 200.0), "c": (2.0, 60.0)}
    found = sensitivity(PLAIN, ranges)
    assert found.notes[0] == (
        "Ranges are ten times as wide as the data of the model, or wider (b, c): it extrapolates "
        "there"
    )
    assert found.notes[0] in str(found)
    assert sensitivity(SCALED, ranges).notes[:1] == found.notes[:1]
    near = {name: stats.norm(X[:, i].mean(), X[:, i].std()) for i, name in enumerate("abc")}
    assert sensitivity(PLAIN, near).notes == []


def test_a_category_that_the_model_never_saw_is_noted():
    ranges = {0: (-1.0, 1.0), 1: (-1.0, 1.0), 2: stats.randint(0, 5)}
    [note] = sensitivity(MIXED, ranges).notes
    assert note == "The model has never seen some of the categories (x2)"


def test_an_encoder_that_ignores_what_it_never_saw_is_noted():
    rows = pd.DataFrame({"kind": RNG.choice(["r", "g", "b"], size=40), "size": X[:, 0]})
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder=StandardScaler()
    )
    model = make_pipeline(encoder, SVR(C=5.0)).fit(rows, Y)
    [note] = sensitivity(model, {"kind": ["r", "g", "x"], "size": (-1.0, 1.0)}).notes
    assert note == "The model has never seen some of the categories (kind)"


@pytest.mark.parametrize(
    "given",
    [(1.0, 0.0), (1.0, 1.0), [1.0], [], "normal", None, float("nan"), [1.0, 2.0, np.inf],
     ["a", "b", "c"], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0, 3.0]], True, {1.0}],
    ids=repr,
)  # fmt: skip
def test_malformed_values_say_what_is_accepted(given):
    message = r"a range \(low, high\) with low below high, a frozen distribution.*, a number.*list"
    with pytest.raises(ValueError, match=message):
        sensitivity(PLAIN, {0: (0.0, 1.0), 1: given, 2: (0.0, 1.0)})


def test_a_sample_of_too_many_values_is_refused():
    with pytest.raises(ValueError, match="more than 10000 different values"):
        sensitivity(PLAIN, {0: np.arange(20_000.0), 1: 0.0, 2: 0.0})


def test_what_is_noted_of_ranges_is_kept_in_a_file(tmp_path):
    found = sensitivity(PLAIN, {"a": (-1.0, 1.0), "b": (-1.0, 200.0), "c": 0.0})
    found.save(tmp_path / "s.npz")
    assert pkex.Sensitivity.load(tmp_path / "s.npz").notes == found.notes != []
