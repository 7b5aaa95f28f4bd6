"""Explainer and Explanation: shapes, names, groups, and the additivity check."""

from __future__ import annotations

import pickle
import sys
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
from pkex import AdditivityError, Explainer, KernelExpansion
from pkex._util import progress as _progress
from pkex.games import sources
from pkex.games import threads as _threads
from pkex.games.points import WeightedPoints
from pkex.kernels import RBF, Chi2, Custom
from tests._support import naive
from tests._support.cases import assert_close
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(11)
POINTS, ROWS = RNG.random((20, 4)), RNG.random((3, 4))
ALPHA = RNG.normal(size=20)
EXPANSION = KernelExpansion(POINTS, ALPHA, RBF(0.7), 0.5, ["age", "zip", "city", "bmi"])
TWO = KernelExpansion(POINTS, np.stack([ALPHA, -ALPHA], axis=1), RBF(0.7), [0.0, 1.0])


def test_one_output():
    explanation = Explainer(EXPANSION, removal="neutral")(ROWS)
    assert explanation.values.shape == (3, 4)
    assert explanation.base_values.shape == explanation.predictions.shape == (3,)
    assert_close(explanation.base_values, ALPHA.sum() + 0.5, 1e-15 * 20)
    assert_close(explanation.data, ROWS, 0.0)
    assert explanation.feature_names == EXPANSION.feature_names
    assert explanation.output_names == ()
    assert len(explanation) == 3


def test_several_outputs():
    explanation = Explainer(TWO, removal="neutral")(ROWS)
    assert explanation.values.shape == (3, 4, 2)
    assert explanation.base_values.shape == explanation.predictions.shape == (3, 2)
    assert explanation.output_names == ("y0", "y1")
    assert_close(explanation.values[..., 0], -explanation.values[..., 1], 1e-15)


def test_as_shap_names_it():
    one, two = Explainer(EXPANSION, removal="neutral"), Explainer(TWO, removal="neutral")
    assert isinstance(one.expected_value, float)
    assert one.expected_value == EXPANSION.base_value
    assert np.shape(two.expected_value) == (2,)
    assert_close(one.shap_values(ROWS), one(ROWS).values, 0.0)


def test_one_row_and_one_column():
    f = KernelExpansion(POINTS[:, :1], ALPHA, RBF())
    explanation = Explainer(f, removal="neutral")(ROWS[:1, :1])
    assert_close(explanation.values[0], f.predict(ROWS[:1, :1]) - f.base_value, 1e-14)


def test_the_result_says_how_exact_it_is():
    explanation = Explainer(EXPANSION, removal="neutral")(ROWS)
    assert explanation.rule in explanation.rules
    assert explanation.rule.relative_error == max(r.relative_error for r in explanation.rules)
    assert explanation.rule.relative_error <= pkex.games.rules.FULL_PRECISION
    assert 0.0 <= explanation.additivity_error < 1e-13
    for words in ("3 samples x 4 features", "neutral", "error bound"):
        assert words in repr(explanation)
    assert explanation.rule.family == "gauss-legendre"
    assert "1 sample x 4 features x 2 outputs" in repr(Explainer(TWO, removal="neutral")(ROWS[:1]))
    assert "features=4" in repr(Explainer(EXPANSION, removal="neutral"))


def test_groups_by_name_by_index_and_mixed():
    by_name = Explainer(EXPANSION, groups={"address": ["city", "zip"]}, removal="neutral")(ROWS)
    by_index = Explainer(EXPANSION, groups=[[1, 2]], removal="neutral")(ROWS)
    groups = {"address": (unchecked(np.int64(1)), "city")}
    mixed = Explainer(EXPANSION, groups=groups, removal="neutral")(ROWS)
    assert by_name.feature_names == mixed.feature_names == ("age", "address", "bmi")
    assert by_index.feature_names == ("age", "zip + city", "bmi")
    assert_close(by_name.values, by_index.values, 0.0)
    assert_close(by_name.values, mixed.values, 0.0)
    assert by_name.data.shape == (3, 4)


def test_a_group_is_not_the_sum_of_its_columns():
    grouped = Explainer(EXPANSION, groups=[[1, 2]], removal="neutral")(ROWS).values[:, 1]
    apart = Explainer(EXPANSION, removal="neutral")(ROWS).values[:, 1:3].sum(axis=1)
    assert np.abs(grouped - apart).max() > 1e-6


def test_a_frame_is_explained_by_its_columns():
    frame = pd.DataFrame(ROWS, columns=EXPANSION.feature_names)
    explain = Explainer(EXPANSION, removal="neutral")
    assert_close(explain(frame).values, explain(ROWS).values, 0.0)
    mixed_up = frame.assign(name="?")[["zip", "name", "age", "city", "bmi"]]
    assert_close(explain(mixed_up).values, explain(ROWS).values, 0.0)
    with pytest.raises(ValueError, match=r"\['zip', 'city'\] are missing"):
        explain(frame[["age", "bmi"]])
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(ValueError, match="more than one column named 'age'"):
        explain(twice)
    spare = frame[["age"]].set_axis(["spare"], axis=1)
    other = pd.concat([frame, spare, spare], axis=1)
    assert_close(explain(other).values, explain(ROWS).values, 0.0)


@pytest.mark.parametrize("change", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_columns_of_frames_of_every_library_are_taken_by_name(change):
    frame = pd.DataFrame(ROWS, columns=EXPANSION.feature_names)
    right, other = change(frame), change(frame.assign(id=7)[["zip", "id", "age", "city", "bmi"]])
    short = change(frame[["zip", "age", "bmi"]])
    points = change(pd.DataFrame(POINTS, columns=EXPANSION.feature_names))
    expansion = KernelExpansion(points, ALPHA, RBF())
    assert expansion.feature_names == EXPANSION.feature_names
    for model in (expansion, make_pipeline(StandardScaler(), SVR()).fit(points, ALPHA)):
        explain = Explainer(model, right)
        assert_close(explain(right).values, Explainer(model, frame)(frame).values, 1e-14)
        expected = explain(right).values
        assert_close(explain(other).values, expected, 1e-14)
        assert_close(Explainer(model, other)(right).values, expected, 1e-14)
        with pytest.raises(ValueError, match=r"the columns of X are .*'city'\] is missing"):
            explain(short)
        with pytest.raises(ValueError, match=r"the columns of background are .* is missing"):
            Explainer(model, short)


@pytest.mark.parametrize("kind", ["Float64", object])
def test_what_pandas_calls_na_is_a_missing_value(kind):
    frame = pd.DataFrame(ROWS, columns=EXPANSION.feature_names).astype(kind)
    explain = Explainer(EXPANSION, removal="neutral")
    assert_close(explain(frame).values, explain(ROWS).values, 0.0)
    frame.loc[1, "city"] = pd.NA
    with pytest.raises(ValueError, match=r"X contains NaN .* in row 1, column 'city'"):
        explain(frame)
    with pytest.raises(ValueError, match=r"background contains NaN .* in row 1, column 'city'"):
        Explainer(EXPANSION, frame)
    with pytest.raises(TypeError, match="X holds values that are not numbers"):
        explain(frame.astype(object).where(frame.notna(), "x"))


def test_a_lazy_frame_is_refused():
    lazy = unchecked(pl.DataFrame(ROWS, schema=EXPANSION.feature_names).lazy())
    model = make_pipeline(StandardScaler(), PCA(2), SVR()).fit(POINTS, ALPHA)
    with pytest.warns(UserWarning, match="PCA combines columns"):
        mixing = Explainer(model, removal="neutral")
    for explain in (Explainer(EXPANSION, removal="neutral"), mixing):
        with pytest.raises(TypeError, match="X is a lazy frame; collect it first"):
            explain(lazy)
    with pytest.raises(TypeError, match="background is a lazy frame; collect it first"):
        Explainer(EXPANSION, lazy)
    with pytest.raises(TypeError, match="points is a lazy frame; collect it first"):
        KernelExpansion(lazy, ALPHA, RBF())


def test_explainer_and_explanation_pickle():
    explain = Explainer(
        EXPANSION, groups={"address": ["city", "zip"]}, tol=1e-8, n_jobs=1, removal="neutral"
    )
    again = pickle.loads(pickle.dumps(explain))
    first, second = explain(ROWS), pickle.loads(pickle.dumps(again(ROWS)))
    assert_close(first.values, second.values, 0.0)
    assert first.feature_names == second.feature_names


def test_a_wrong_value_is_an_error_and_never_returned(monkeypatch):
    honest = WeightedPoints.explain

    def dishonest(*args, **options):
        sums = honest(*args, **options)
        sums.values[1, 2] += 1e-9
        return sums

    monkeypatch.setattr(WeightedPoints, "explain", dishonest)
    with pytest.raises(AdditivityError, match=r"row 1, output 0 sum to .* rounding explains"):
        Explainer(EXPANSION, removal="neutral")(ROWS)


def test_nan_values_are_an_error(monkeypatch):
    honest = WeightedPoints.explain

    def broken(*args, **options):
        sums = honest(*args, **options)
        sums.values[0, 0] = np.nan
        return sums

    monkeypatch.setattr(WeightedPoints, "explain", broken)
    with pytest.raises(AdditivityError, match="row 0, output 0"):
        Explainer(EXPANSION, removal="neutral")(ROWS)


def test_memory_stays_bounded():
    """A block at a time: d = 1000 and n = 5000 take far less than the 40 MB times d of a table."""
    f = KernelExpansion(RNG.normal(size=(5000, 1000)), np.ones(5000), RBF(30.0))
    rows = RNG.normal(size=(3, 1000))
    explain = Explainer(f, n_jobs=2, removal="neutral")
    explain(rows[:1, :])  # the rules are cached
    tracemalloc.start()
    explain(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6


def test_a_progress_bar_on_request_and_only_for_long_calls(monkeypatch, capsys):
    monkeypatch.setattr(sources, "_BLOCK", 100)
    monkeypatch.setattr(_progress, "_DELAY", 1e6)  # seconds, whatever the machine is busy with
    explain = Explainer(EXPANSION, n_jobs=1, removal="neutral")
    assert_close(explain(ROWS, progress=True).values, explain(ROWS).values, 0.0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(_progress, "_DELAY", 0.0)
    explain(ROWS, progress=True)
    said = capsys.readouterr().err
    assert "pkex: 100%" in said
    assert f"{len(ROWS)}/{len(ROWS)} [" in said  # rows, not blocks
    assert "row" in said


def test_no_progress_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    Explainer(EXPANSION, removal="neutral")(ROWS)
    with pytest.raises(ImportError, match=r"needs tqdm\.auto, .*: pip install .*\[progress\]\""):
        Explainer(EXPANSION, removal="neutral")(ROWS, progress=True)


def test_inside_a_worker_of_joblib_it_takes_one_thread(monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 100)
    explain = Explainer(EXPANSION, n_jobs=-1, removal="neutral")

    monkeypatch.setattr(_threads, "effective_n_jobs", None)  # threads of its own would fail now
    calls = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(explain)(ROWS) for _ in range(2)
    )
    assert_close(calls[0].values, calls[1].values, 0.0)
    with pytest.raises(TypeError):
        explain(ROWS)


def test_a_tolerance_on_a_pipeline_is_no_disagreement():
    """What the rule leaves out must not be taken for a wrong reading."""
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(POINTS, ALPHA)
    explanation = Explainer(model, tol=1e-3, removal="neutral")(POINTS)
    assert explanation.rule.relative_error <= 1e-3


def test_a_progress_bar_on_a_single_block():
    assert len(Explainer(EXPANSION, removal="neutral")(ROWS, progress=True)) == 3


def test_columns_named_like_the_default_are_taken_by_name_as_well():
    frame = pd.DataFrame(POINTS, columns=["x0", "x1", "x2", "x3"])
    explain = Explainer(SVR().fit(frame, ALPHA))
    moved = frame[["x1", "x0", "x2", "x3"]]
    assert_close(explain(moved).values, explain(frame).values, 0.0)
    named = pd.DataFrame(ROWS, columns=EXPANSION.feature_names)
    with pytest.raises(ValueError, match=r"\['bmi'\] is missing"):
        Explainer(EXPANSION)(named[["age", "zip", "city"]])


def test_what_is_known_already_cannot_be_given():
    for model in (SVR().fit(POINTS, ALPHA), EXPANSION):
        for given in ({"kernel": RBF()}, {"points": POINTS}):
            with pytest.raises(ValueError, match="points="):
                pkex.as_expansion(model, **given)


def test_factors_that_overflow_are_told():
    f = KernelExpansion(np.ones((2, 40)), [1.0, 1.0], Custom(lambda x, z: 1e10 * (x + z)))
    with pytest.raises(ValueError, match="overflow in row 0"):
        Explainer(f, removal="neutral")(np.ones((1, 40)))


def test_tiny_coefficients_are_no_error():
    f = KernelExpansion(POINTS, 1e-322 * np.ones(20), RBF(0.7))
    assert np.isfinite(Explainer(f, removal="neutral")(ROWS).values).all()


def test_masked_and_huge_entries_are_refused():
    masked = np.ma.masked_array(ROWS, mask=ROWS > 0.9)
    with pytest.raises(ValueError, match="masked"):
        Explainer(EXPANSION, removal="neutral")(masked)
    with pytest.raises(TypeError, match="not numbers"):
        Explainer(EXPANSION, removal="neutral")([[10**400, 0, 0, 0]])


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_chi2_is_explained_up_to_the_largest_numbers(backend, monkeypatch):
    """Its factor is of (x - z)^2 / (x + z), whose sum overflows."""
    monkeypatch.setenv("PKEX_BACKEND", backend)
    points, gamma = 1.7e308 * np.array([[1.0, 0.9999], [0.9999, 0.0]]), 1e-301
    f = KernelExpansion(points, [1.0, 2.0], Chi2(gamma))
    explanation = Explainer(f, removal="neutral")(points[:1])
    u = float(naive.kernel_deficit("chi2", points[0, 0], points[1, 0], gamma=gamma))
    assert 0.05 < u < 0.9
    # at the second point the factors are 1 - u and 0, and the shares of the product game follow
    assert_close(explanation.values, [[2.0 * -0.5 * u, 2.0 * (-1.0 + 0.5 * u)]], 1e-14)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize("removal", ["neutral", "product-of-marginals", "interventional"])
def test_errors_that_numpy_is_told_to_raise_are_not_raised(backend, removal, monkeypatch):
    """An underflow is right here, whatever np.seterr says."""
    monkeypatch.setenv("PKEX_BACKEND", backend)

    X = np.random.default_rng(3).normal(size=(20, 3))
    alpha = 1e-310 * X[:, 0]

    def explained():
        f = KernelExpansion(X, alpha, 1e-3 * RBF(0.05) + RBF(1.0))
        rows = None if removal == "neutral" else X[:4]
        explain = Explainer(f, rows, removal=removal)
        explanation = explain(X[:5])
        return explanation.values, explanation.predictions, f.predict(X), f.kernel(X)

    expected = explained()
    with np.errstate(all="raise"):
        for found, same in zip(explained(), expected, strict=True):
            assert_close(found, same, 0.0)
        assert np.geterr()["under"] == "raise"


def test_a_frame_as_the_background_names_the_columns_of_a_model_without_names():
    rows = np.random.default_rng(0).normal(size=(9, 2))
    f = KernelExpansion(rows, rows[:, 0], RBF())
    table = pd.DataFrame(rows, columns=["width", "depth"])
    for background, names in ((table, ("width", "depth")), (rows, ("x0", "x1"))):
        explanation = Explainer(f, background)(rows)
        assert explanation.feature_names == explanation.column_names == names
    explain = Explainer(f, table)
    swapped = explain(table[["depth", "width"]])
    assert np.array_equal(swapped.values, explain(rows).values)
    named = KernelExpansion(rows, rows[:, 0], RBF(), feature_names=["depth", "width"])
    assert Explainer(named, table)(table).feature_names == ("depth", "width")
