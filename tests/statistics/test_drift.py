"""`MMDDrift`: reference data that samples are compared with."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

import pkex
from pkex import MMDDrift
from pkex.kernels import RBF, Chi2, Laplacian
from tests._support.cases import assert_close, broken_checks
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(0)
REFERENCE, NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(30, 3))
NEW[:, 2] += 1.5


def frame(seed, n, levels="uv"):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list(levels), n)})


CHECKS = [
    pytest.param(estimator, check, id=f"{getattr(check, 'func', check).__name__}-{place}")
    for place, (estimator, check) in enumerate(
        estimator_checks_generator(MMDDrift(n_permutations=5, random_state=0))
    )
    # the one named here runs only where an environment variable was set before SciPy was imported
    if getattr(check, "func", check).__name__ not in {"check_array_api_input", *broken_checks()}
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", [None, "median", "median-per-column", Laplacian(2.0)], ids=str)
def test_a_score_is_the_mmd_with_the_reference(kernel, estimator):
    drift = MMDDrift(kernel, estimator=estimator, n_permutations=19, random_state=0)
    found = drift.fit(REFERENCE).explain(NEW)
    options = {"kernel": kernel, "estimator": estimator}
    expected = pkex.mmd(REFERENCE, NEW, n_permutations=19, random_state=0, **options)
    assert np.array_equal(found.values, expected.values)
    assert np.array_equal(found.null_values, expected.null_values)
    assert found.p_value == expected.p_value
    assert np.array_equal(found.p_values, expected.p_values)
    assert found.n_rows == (40, 30)
    score = drift.score(NEW)
    assert type(score) is float
    assert_close(score, expected.statistic, 1e-15)
    neutral = drift.set_params(removal="neutral").explain(NEW)
    expected = pkex.mmd(REFERENCE, NEW, removal="neutral", **options)
    assert_close(neutral.values, expected.values, 1e-15)


def test_drift_is_found_where_it_is():
    drift = MMDDrift(n_permutations=200, random_state=0).fit(REFERENCE)
    found = drift.explain(NEW)
    assert found.p_value <= 2 / 201
    assert found.ranking[0] == 2
    assert found.p_values[2] == 1 / 201
    again = drift.explain(NEW)
    assert np.array_equal(again.null_values, found.null_values)
    shifted = drift.explain(NEW + 100.0)
    assert shifted.kernel != found.kernel  # the heuristic looks at both samples
    assert MMDDrift(RBF(2.0)).fit(REFERENCE).explain(NEW).kernel == RBF(2.0)


def test_detection_is_the_permutation_test_at_a_level():
    drift = MMDDrift(n_permutations=99, random_state=0).fit(REFERENCE)
    assert drift.detect(NEW) is True
    same = np.random.default_rng(5).normal(size=(30, 3))
    p = drift.explain(same).p_value
    assert drift.detect(same, alpha=p) is True
    assert drift.detect(same, alpha=p - 0.005) is False
    assert not hasattr(drift, "predict")
    for alpha in (0.0, 1.0, -0.1, 2.0):
        with pytest.raises(ValueError, match=r"alpha must lie between 0 and 1"):
            drift.detect(NEW, alpha=alpha)
    with pytest.raises(TypeError, match="alpha must be a number"):
        drift.detect(NEW, alpha=unchecked("5 %"))
    with pytest.raises(ValueError, match=r"n_permutations is 99; .* needs at least 999 "):
        drift.detect(NEW, alpha=0.001)
    with pytest.raises(ValueError, match="needs at least 19 permutations"):
        MMDDrift(n_permutations=0).fit(REFERENCE).detect(NEW)


def test_groups_blocks_and_no_permutations():
    drift = MMDDrift(groups={"g": [0, 2]}, block_size=20, n_permutations=0, random_state=0)
    found = drift.fit(REFERENCE).explain(NEW)
    assert found.feature_names == ("g", "x1")
    assert found.p_value is None
    assert found.standard_error > 0.0
    assert_close(found.values.sum(), found.statistic, 1e-15)


def test_names_and_categories_are_kept():
    drift = MMDDrift(n_permutations=9, random_state=0).fit(frame(0, 30))
    assert list(drift.feature_names_in_) == ["a", "b"]
    assert drift.categorical_ == (False, True)
    assert drift.n_features_in_ == 2
    found = drift.explain(frame(1, 20, "uvw"))  # with a category that the reference lacks
    assert found.feature_names == ("a", "b")
    other = drift.explain(pl.from_pandas(frame(1, 20, "uvw")))
    assert np.array_equal(other.values, found.values)
    drift.fit(REFERENCE)
    assert not hasattr(drift, "feature_names_in_")
    assert drift.explain(NEW).feature_names == ("x0", "x1", "x2")


def test_other_columns_are_refused():
    drift = MMDDrift().fit(frame(0, 30))
    new = frame(1, 20)
    for wrong, words in [
        (new[["a"]], r"X lacks the columns \['b'\] of the reference"),
        (new.rename(columns={"b": "c"}), r"X lacks the columns \['b'\] of the reference"),
        (new.assign(b=1.0), "column 'b' holds categories in the reference and numbers in X"),
        (new[:1], "X has 1 row; at least 2"),
        (new.assign(a=np.inf), "X contains NaN or infinity"),
    ]:
        with pytest.raises(ValueError, match=words):
            drift.score(wrong)
    with pytest.raises(NotFittedError):
        MMDDrift().score(new)
    with pytest.raises(ValueError, match="1 sample"):
        MMDDrift().fit(REFERENCE[:1])
    with pytest.raises(ValueError, match="Chi2 needs non-negative values"):
        MMDDrift(Chi2()).fit(np.abs(REFERENCE)).score(NEW)


def test_a_column_without_any_cell_in_either_table_changes_nothing():
    """The others are tested as before; where it gets cells, that is a change."""
    old, new = (pd.DataFrame(rows, columns=list("abc")) for rows in (REFERENCE, NEW))
    empty = [table.assign(d=np.nan) for table in (old, new)]
    drift = MMDDrift(n_permutations=99, random_state=0).fit(empty[0])
    attribution = drift.explain(empty[1])
    assert drift.detect(empty[1]) is True
    assert attribution.values[3] == 0.0
    assert attribution.p_univariate_adjusted[3] == 1.0
    assert attribution.significant() == ("c",)
    assert drift.explain(new.assign(d=1.0)).significant() == ("d", "c")
    nothing = [table[["d"]] for table in empty]
    with pytest.raises(ValueError, match="all columns are constant"):
        MMDDrift(n_permutations=99).fit(nothing[0]).detect(nothing[1])


def test_columns_are_taken_by_name():
    drift = MMDDrift(n_permutations=19, random_state=0).fit(frame(0, 30))
    new = frame(1, 20, "uvw")
    expected = drift.explain(new)
    moved = new.assign(more="x")[["more", "b", "a"]]
    for other in (moved, pl.from_pandas(moved)):
        found = drift.explain(other)
        assert np.array_equal(found.values, expected.values)
        assert found.feature_names == ("a", "b")
        assert drift.detect(other) == expected.detected()
    with pytest.raises(ValueError, match="X contains NaN"):
        MMDDrift(missing="refuse").fit(frame(0, 30)).score(new.assign(a=np.nan))


def test_constant_reference_data():
    drift = MMDDrift(n_permutations=19, random_state=0).fit(np.ones((20, 2)))
    assert drift.explain(1.0 + NEW[:, :2]).p_value == 0.05
    with pytest.raises(ValueError, match="constant"):
        drift.score(np.ones((5, 2)))


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, "x", True])
def test_parameters_that_make_no_sense(wrong):
    for rows in (REFERENCE, REFERENCE[:2]):
        with pytest.raises(ValueError, match=r"max_reference must be .*at least 2, got"):
            MMDDrift(max_reference=wrong).fit(rows)


def test_at_most_so_many_rows_are_kept():
    drift = MMDDrift(max_reference=10, random_state=0).fit(REFERENCE)
    assert drift.reference_.shape == (10, 3)
    kept = [np.flatnonzero((row == REFERENCE).all(axis=1))[0] for row in drift.reference_]
    assert kept == sorted(set(kept))
    assert np.array_equal(clone(drift).fit(REFERENCE).reference_, drift.reference_)
    everything = MMDDrift(max_reference=100).fit(REFERENCE)
    assert np.array_equal(everything.reference_, REFERENCE)


def test_later_changes_of_the_data_do_not_matter():
    data = REFERENCE.copy()
    drift = MMDDrift(RBF(1.0), n_permutations=0).fit(data)
    before = drift.score(NEW)
    data += 1.0
    assert drift.score(NEW) == before


def save_by_joblib(drift, folder):
    joblib.dump(drift, folder / "drift.joblib")
    return joblib.load(folder / "drift.joblib")


def save_by_skops(drift, folder):
    skops.io.dump(drift, folder / "drift.skops")
    types = skops.io.get_untrusted_types(file=folder / "drift.skops")
    assert all(name.startswith("pkex.") for name in types)
    return skops.io.load(folder / "drift.skops", trusted=types)


def save_by_itself(drift, folder):
    drift.save(folder / "drift.npz")
    assert b"pickle" not in (folder / "drift.npz").read_bytes()
    return MMDDrift.load(folder / "drift.npz")


def everything(seed, n):
    """A table of every kind of column, with gaps."""
    table = frame(seed, n).assign(
        flag=np.random.default_rng(seed).random(n) < 0.5,
        day=pd.date_range("2026-01-01", periods=n),
        code=pd.Categorical(np.arange(n) % 3),
    )
    table.loc[2, ["a", "b", "day", "code"]] = None
    return table


DATA = {
    "numbers": (REFERENCE, NEW),
    "mixed": (frame(0, 30), frame(1, 20, "uw")),
    "everything": (everything(0, 30), everything(1, 20)),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    "save",
    [
        lambda drift, _: pickle.loads(pickle.dumps(drift)),
        save_by_joblib,
        save_by_skops,
        save_by_itself,
    ],
    ids=["pickle", "joblib", "skops", "itself"],
)
def test_it_can_be_saved(tmp_path, save, data):
    reference, new = DATA[data]
    drift = MMDDrift(n_permutations=19, random_state=0, groups=None).fit(reference)
    loaded = save(drift, tmp_path)
    expected, found = drift.explain(new), loaded.explain(new)
    assert np.array_equal(found.values, expected.values)
    assert np.array_equal(found.p_values, expected.p_values)
    assert found.feature_names == expected.feature_names


@pytest.mark.parametrize("kernel", [None, "median", Laplacian(2.0)], ids=str)
def test_a_file_has_all_parameters(tmp_path, kernel):
    drift = MMDDrift(
        *(kernel,),
        removal="neutral",
        estimator="biased",
        groups={"g": ["b", "a"]},
        missing="drop",
        n_permutations=29,
        block_size=20,
        max_reference=25,
        random_state=3,
        n_jobs=1,
    ).fit(pd.DataFrame(REFERENCE, columns=["a", "b", "c"]))
    drift.save(tmp_path / "drift.npz")
    loaded = MMDDrift.load(tmp_path / "drift.npz")
    expected = drift.get_params()
    assert loaded.get_params() == expected | {"groups": {"g": (0, 1), "c": (2,)}}
    new = pd.DataFrame(NEW, columns=["a", "b", "c"])
    assert np.array_equal(loaded.explain(new).null_values, drift.explain(new).null_values)
    assert loaded.detect(new[["c", "a", "b"]]) == drift.detect(new)


def test_files_that_are_refused(tmp_path):
    path = tmp_path / "drift.npz"
    with pytest.raises(NotFittedError):
        MMDDrift().save(path)
    state = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"random_state is .* cannot be saved"):
        MMDDrift(random_state=state).fit(REFERENCE).save(path)
    assert not path.exists()
    pkex.mmd(REFERENCE, NEW).save(path)
    with pytest.raises(ValueError, match=r"not written by MMDDrift\.save"):
        MMDDrift.load(path)
    MMDDrift().fit(frame(0, 30)).save(path)
    content = dict(np.load(path))
    content["codes"][3] = 7
    np.savez(path, **content)
    with pytest.raises(ValueError, match="codes of categories that are not there"):
        MMDDrift.load(path)


def test_clone_and_parameters():
    drift = MMDDrift(Laplacian(2.0), n_permutations=7, max_reference=9)
    assert clone(drift).get_params() == drift.get_params()
    assert "n_permutations=7" in repr(drift)


def test_a_single_column_is_found_among_many_by_default():
    X, Z = np.random.default_rng(0).normal(size=(2, 50, 40))
    Z[:, 7] += 3.0
    drift = MMDDrift(random_state=0).fit(X)
    assert drift.detect(Z)
    found = drift.explain(Z)
    assert found.n_permutations == 999
    assert list(np.flatnonzero(found.p_adjusted <= 0.05)) == [7]
    with pytest.raises(ValueError, match=r"n_permutations is 9999; .* needs at least 999999"):
        drift.detect(Z, alpha=1e-6)
