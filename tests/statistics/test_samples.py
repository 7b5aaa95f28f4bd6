"""What `mmd` and `hsic` take as data, and what they refuse with a sentence."""

from __future__ import annotations

import warnings
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import pkex
from pkex.kernels import RBF, Categorical, Product
from pkex.tables.frames import Table, as_table, codes, stack_tables
from tests._support.cases import assert_close
from tests._support.unchecked import unchecked

X, Z = (np.random.default_rng(seed).normal(size=(n, 3)) for seed, n in ((0, 10), (1, 8)))
Y = X[:, 0] + X[:, 1] ** 2


def mixed(seed, n):
    """A table with columns of every kind."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "text": rng.choice(["u", "v", "w"], n),
            "level": pd.Categorical(rng.choice(["p", "q"], n), categories=["p", "q", "never"]),
            "flag": rng.random(n) > 0.5,
            "count": rng.integers(5, size=n),
        }
    )


A, B = mixed(0, 12), mixed(1, 15)


def refused(call, error, *patterns):
    """Check that a call is refused with one or more sentences that hold the patterns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as info:
            call()
    message = str(info.value)
    assert message.endswith(".")
    for pattern in patterns:
        assert pattern in message, message


@pytest.mark.parametrize(
    ("first", "second", "patterns"),
    [
        (X, Z[:, :2], ["X has 3 columns and Z has 2", "same columns"]),
        (A, B.drop(columns="text"), ["X has 5 columns and Z has 4"]),
        (A, B.rename(columns={"text": "word"}), ["'text', 'word'", "same columns"]),
        (A, B[list(A.columns[::-1])], ["in another order", "in the same order"]),
        (A, B.assign(text=1.0), ["column 'text' holds categories in X and numbers in Z"]),
        (A.assign(text=1.0), B, ["column 'text' holds numbers in X and categories in Z"]),
        (pd.DataFrame(X), pd.DataFrame(Z)[[1, 0, 2]], ["same columns"]),
    ],
    ids=["array", "frame", "names", "order", "numbers", "text", "integers"],
)
def test_columns_must_be_the_same_ones(first, second, patterns):
    refused(lambda: pkex.mmd(first, second), ValueError, *patterns)


def test_fewer_rows_than_needed():
    refused(lambda: pkex.mmd(X[:1], Z), ValueError, "X has 1 row; at least 2")
    refused(lambda: pkex.mmd(X, Z[:1]), ValueError, "Z has 1 row; at least 2")
    refused(lambda: pkex.mmd(X[:0], Z), ValueError, "X is empty")
    refused(lambda: pkex.mmd(A, B[:0]), ValueError, "Z is empty")
    for estimator, fewest in (("unbiased", 4), ("biased", 2)):
        refused(
            lambda e=estimator: pkex.hsic(X[:1], Y[:1], estimator=e),
            ValueError,
            f"X has 1 row; at least {fewest}",
        )
    # a single row has a biased MMD: pairs with itself and with the others
    one = pkex.mmd(X[:1], Z, estimator="biased", n_permutations=5, random_state=0)
    assert one.n_rows == (1, len(Z))
    K = one.kernel(np.concatenate([X[:1], Z]))
    assert_close(one.statistic, 1.0 + K[1:, 1:].mean() - 2.0 * K[0, 1:].mean(), 1e-15)
    refused(
        lambda: pkex.hsic(X[:3], Y[:3], estimator="unbiased"),
        ValueError,
        "X has 3 rows; at least 4",
        "unbiased",
    )
    assert pkex.hsic(X[:4], Y[:4], estimator="unbiased").n_rows == (4,)
    assert pkex.hsic(X[:2], Y[:2], estimator="biased").n_rows == (2,)
    assert pkex.mmd(X[:2], Z[:2], n_permutations=5).n_rows == (2, 2)


def test_no_columns():
    refused(lambda: pkex.mmd(X[:, :0], Z[:, :0]), ValueError, "X is empty", "column")


def test_constant_data():
    ones = np.ones((4, 2))
    refused(lambda: pkex.mmd(ones, ones), ValueError, "all columns are constant")
    refused(lambda: pkex.hsic(ones, Y[:4]), ValueError, "all columns are constant")
    for y in (np.ones(10), ["a"] * 10, np.ones((10, 2)), np.full(10, True)):
        refused(lambda y=y: pkex.hsic(X, y), ValueError, "y is constant")
    # constant in each sample, but not the same: the clearest difference there is
    assert pkex.mmd(ones, 0.0 * ones).statistic > 0.5


def test_missing_values_are_refused_where_that_is_asked():
    mmd, hsic = (partial(call, missing="refuse") for call in (pkex.mmd, pkex.hsic))
    bad = X.copy()
    bad[3, 1] = np.nan
    where = "in row 3, column 1"
    refused(lambda: mmd(bad, Z), ValueError, "X contains NaN", where, "Impute or drop")
    refused(lambda: mmd(Z, bad), ValueError, "Z contains NaN", where)
    refused(lambda: hsic(X, bad[:, 1]), ValueError, "y contains NaN")
    refused(lambda: hsic(np.where(bad > 1, np.inf, X), Y), ValueError, "NaN or infinity")
    frame = A.assign(number=[np.nan, *A["number"][1:]])
    refused(lambda: mmd(frame, B), ValueError, "in row 0, column 'number'")
    for kind in (object, "Float64"):
        column = pd.Series([1.0, 2.0, pd.NA, *range(9)], dtype=kind)
        frame = A.assign(number=column)
        refused(lambda f=frame: mmd(f, B), ValueError, "NaN", "in row 2, column 'number'")
        refused(lambda c=column: hsic(A, c), ValueError, "y contains NaN", "row 2")
    for name, column in {
        "text": [None, *A["text"][1:]],
        "level": pd.Categorical([None, *A["level"][1:]]),
        "flag": pd.array([None, *A["flag"][1:]], dtype="boolean"),
    }.items():
        frame = A.assign(**{name: column})
        refused(lambda f=frame: mmd(f, B), ValueError, "missing", repr(name), "row 0")
        refused(lambda f=frame: mmd(pl.from_pandas(f), B), ValueError, "missing", repr(name))
    refused(
        lambda: mmd(A.assign(text=[None, *A["text"][1:]]), B),
        ValueError,
        "missing values in column 'text' (1 of",
    )
    frame = A.assign(count=pd.array([None, *A["count"][1:]], dtype="Int64"))
    refused(lambda: mmd(frame, B), ValueError, "in row 0, column 'count'")
    refused(lambda: pkex.mmd(np.ma.masked_greater(X, 1.0), Z), ValueError, "masked")
    # by default infinity is refused, and a target with gaps
    refused(lambda: pkex.mmd(np.where(X > 1, np.inf, X), Z), ValueError, "NaN or infinity")
    refused(lambda: pkex.hsic(X, bad[:, 1]), ValueError, "y contains NaN")
    refused(lambda: pkex.mmd(X, Z, missing="keep"), ValueError, "missing must be 'separate'")


def test_targets_of_the_wrong_length():
    refused(lambda: pkex.hsic(X, Y[:9]), ValueError, "X has 10 rows and y has 9")
    refused(lambda: pkex.hsic(X, Y[None]), ValueError, "X has 10 rows and y has 1")
    refused(lambda: pkex.hsic(X, list("abc")), ValueError, "X has 10 rows and y has 3")


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True, None])
def test_numbers_of_permutations(wrong):
    for call in (
        lambda: pkex.mmd(X, Z, n_permutations=wrong),
        lambda: pkex.hsic(X, Y, n_permutations=wrong),
    ):
        refused(call, ValueError, "n_permutations must be an integer of at least 0", repr(wrong))
    assert pkex.mmd(X, Z, n_permutations=unchecked(np.int32(3))).n_permutations == 3


@pytest.mark.parametrize("wrong", [3, 0, -4, 8.0, "all", True])
def test_sizes_of_blocks(wrong):
    refused(lambda: pkex.mmd(X, Z, block_size=wrong), ValueError, "at least 4", repr(wrong))
    if wrong != 3:
        options = {"estimator": "biased", "block_size": wrong}
        refused(lambda: pkex.hsic(X, Y, **options), ValueError, "at least 2")
    refused(lambda: pkex.hsic(X, Y, block_size=wrong), ValueError, "at least 4")


def test_other_options():
    both = (lambda **o: pkex.mmd(X, Z, **o), lambda **o: pkex.hsic(X, Y, **o))
    wrong: Any
    for call in both:
        for wrong in ("u", 1, None):
            refused(lambda c=call, w=wrong: c(estimator=w), ValueError, "'biased'", repr(wrong))
        for wrong in ("rbf", 1.0, RBF):
            refused(lambda c=call, w=wrong: c(kernel=w), ValueError, "a kernel of pkex.kernels")
        for wrong in (-1, "a", 1.5):
            refused(lambda c=call, w=wrong: c(random_state=w), ValueError, "random_state must be")
        with pytest.raises(TypeError, match="n_jobs must be an integer"):
            call(n_jobs="2")
        refused(lambda c=call: c(groups={"g": [7]}), ValueError, "groups name column 7")
        refused(lambda c=call: c(groups={"g": ["q"]}), ValueError, "the column 'q'")
        refused(lambda c=call: c(tol=-1.0), ValueError, "tol must be at least")
    refused(lambda: pkex.mmd(X, Z, estimator="u"), ValueError, "'unbiased' or 'biased'")
    refused(lambda: pkex.hsic(X, Y, target_kernel="rbf"), ValueError, "'categorical' or a kernel")


def test_shapes_and_types():
    refused(lambda: pkex.mmd(X[:, 0], Z[:, 0]), ValueError, "two-dimensional", "X[:, None]")
    refused(lambda: pkex.mmd(X[None], Z[None]), ValueError, "two-dimensional")
    refused(lambda: pkex.mmd(A["number"], B["number"]), ValueError, "X.to_frame()")
    refused(lambda: pkex.mmd([[1.0, 2.0], [3.0]], Z), ValueError, "ragged")
    refused(lambda: pkex.mmd(None, Z), TypeError, "X is None")
    refused(lambda: pkex.hsic(X, None), TypeError, "y is None")
    refused(lambda: pkex.mmd(X + 0j, Z), TypeError, "complex128")
    refused(lambda: pkex.mmd("data.csv", Z), TypeError)
    for dates in (pd.date_range("2020", periods=12), pd.to_timedelta(range(12))):
        refused(lambda d=dates: pkex.mmd(A.assign(number=d), B), ValueError, "'number' holds days")
    lists = pl.from_pandas(A).with_columns(number=pl.Series([[1.0]] * 12))
    refused(lambda: pkex.mmd(lists, B), TypeError, "'number'", "drop it")
    refused(
        lambda: pkex.mmd(pd.DataFrame(X, columns=["a", "a", "b"]), Z), ValueError, "more than once"
    )


def test_a_lazy_frame_is_refused():
    refused(lambda: pkex.mmd(pl.from_pandas(A).lazy(), B), TypeError, "lazy frame; collect it")


@pytest.mark.parametrize(
    "change",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_array,
        lambda x: x.astype(object),
        lambda x: pd.DataFrame(x),
        lambda x: pd.DataFrame(x, index=range(5, 5 + len(x))),
        lambda x: pl.DataFrame(x, schema=["x0", "x1", "x2"]),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    ],
    ids=["list", "fortran", "csr", "csc", "object", "pandas", "index", "polars", "strides"],
)
def test_numbers_in_every_container(change):
    plain = pkex.mmd(X, Z)
    found = pkex.mmd(change(X), change(Z))
    assert np.array_equal(found.values, plain.values)
    assert found.feature_names == ("x0", "x1", "x2")
    assert np.array_equal(pkex.hsic(change(X), Y).values, pkex.hsic(X, Y).values)
    both = pkex.hsic(X, change(Z[:5].repeat(2, axis=0)))
    assert np.array_equal(both.values, pkex.hsic(X, Z[:5].repeat(2, axis=0)).values)


def test_numbers_of_other_types():
    plain = pkex.mmd(X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float))
    assert np.array_equal(pkex.mmd(X.astype("f4"), Z.astype("f4")).values, plain.values)
    small = pkex.mmd((9 * X).astype(np.int8), (9 * Z).astype(np.int8))
    assert np.array_equal(small.values, pkex.mmd(np.trunc(9 * X), np.trunc(9 * Z)).values)
    frame = A.assign(number=[Decimal(i) for i in range(12)])
    assert np.array_equal(pkex.mmd(frame, B).values, pkex.mmd(A.assign(number=range(12)), B).values)
    frame = A.assign(count=A["count"].astype("Int64"))
    assert np.array_equal(pkex.mmd(frame, B).values, pkex.mmd(A, B).values)


def test_the_arguments_are_left_alone():
    x, z, frame = X.copy(), Z.copy(), A.copy()
    pkex.mmd(x, z, n_permutations=3)
    pkex.hsic(frame, frame["text"], n_permutations=3)
    assert np.array_equal(x, X)
    assert np.array_equal(z, Z)
    pd.testing.assert_frame_equal(frame, A)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-160, 1e-8, 1e8, 1e150, 1e200, 1e307])
def test_huge_and_tiny_numbers(scale):
    plain = pkex.mmd(X, Z).values
    atol = 1e-3 if scale < 1e-310 else 1e-14  # subnormal numbers have few digits
    assert_close(pkex.mmd(scale * X, scale * Z).values, plain, atol)
    plain = pkex.hsic(X, Y, kernel="median-per-column").values
    assert_close(pkex.hsic(scale * X, scale * Y, kernel="median-per-column").values, plain, atol)


def test_one_column_duplicates_and_a_large_offset():
    assert pkex.mmd(X[:, :1], Z[:, :1]).values.shape == (1,)
    options: Any = {"estimator": "biased", "removal": "neutral"}  # means would be over other pairs
    twice = pkex.mmd(np.repeat(X, 2, axis=0), np.repeat(Z, 2, axis=0), **options)
    plain = pkex.mmd(X, Z, kernel=twice.kernel, **options)
    assert_close(twice.values, plain.values, 1e-15)
    equal = np.zeros((40, 2))
    equal[:3] = np.arange(6.0).reshape(3, 2)  # most pairs are equal, so is their median
    assert min(unchecked(pkex.mmd(equal, equal[::-1]).kernel).length_scale) > 0.0
    assert unchecked(pkex.mmd(equal, equal[::-1], kernel="median").kernel).length_scale > 0.0
    whole = np.round(64.0 * X), np.round(64.0 * Z)
    moved = pkex.mmd(whole[0] + 1e12, whole[1] + 1e12)
    assert_close(moved.values, pkex.mmd(*whole).values, 1e-15)


def test_columns_of_every_kind():
    found = pkex.mmd(A, B)
    assert found.feature_names == tuple(A.columns)
    assert found.categorical == (False, True, True, True, False)
    assert isinstance(found.kernel, Product)
    rbf, categorical = map(unchecked, found.kernel.kernels)
    assert (type(rbf), rbf.columns) == (RBF, (0, 4))
    assert (type(categorical), categorical.columns) == (Categorical, (1, 2, 3))
    # by hand: codes for the categories, and the same kernel
    first, second = (
        np.column_stack([
            frame["number"], frame["text"].map({"u": 0, "v": 1, "w": 2}),
            frame["level"].map({"p": 0, "q": 1}).astype(int), frame["flag"], frame["count"],
        ]).astype(float)
        for frame in (A, B)
    )  # fmt: skip
    assert np.array_equal(pkex.mmd(first, second, kernel=found.kernel).values, found.values)
    by_column = unchecked(pkex.mmd(A, B, kernel="median-per-column").kernel).kernels
    assert len(by_column[0].length_scale) == 2
    assert len(by_column[1].mismatch) == 3
    assert found.samples[0].dtype == object
    assert found.samples[0][0, 1] == A["text"][0]


def test_frames_of_every_library_are_the_same():
    plain = pkex.mmd(A, B, groups={"words": ["text", "level"]})
    for change in (pl.from_pandas, pa.Table.from_pandas):
        found = pkex.mmd(change(A), change(B), groups={"words": ["text", "level"]})
        assert np.array_equal(found.values, plain.values)
        assert found.feature_names == plain.feature_names
    across = pkex.mmd(A, pl.from_pandas(B), groups={"words": ["text", "level"]})
    assert np.array_equal(across.values, plain.values)
    enum = pl.from_pandas(A).with_columns(pl.col("text").cast(pl.Enum(["w", "v", "u", "t"])))
    assert np.array_equal(pkex.mmd(enum, B).values, pkex.mmd(A, B).values)


def test_categories_that_one_sample_lacks():
    found = pkex.mmd(A.assign(text="new"), B, kernel=Categorical(0.5).on(1), estimator="biased")
    shares = B["text"].value_counts(normalize=True)
    inside = (shares**2).sum()
    # pairs of X agree always, pairs of X and Z never
    assert_close(found.statistic, 1.0 + (0.5 + 0.5 * inside) - 2.0 * 0.5, 1e-15)


def test_categories_that_are_equal_numbers_are_the_same():
    """A column of integers with gaps is one of floats, and pandas keeps that in its categories."""
    whole = A.assign(level=pd.Categorical(A["count"]))
    real = B.assign(level=pd.Categorical(B["count"].astype(float)))
    plain = pkex.mmd(whole, B.assign(level=pd.Categorical(B["count"])))
    assert np.array_equal(pkex.mmd(whole, real).values, plain.values)
    drift = pkex.MMDDrift(n_permutations=3).fit(whole)
    assert_close(drift.explain(real).values, plain.values, 1e-15)
    large = [2**53, 2**53 + 1, -0.0, 0, 0.5, "0.5", True]
    found = codes(Table(np.array([large], dtype=object).T, ("x0",), (True,), None))[:, 0]
    assert found.tolist() == [2.0, 3.0, 0.0, 0.0, 1.0, 1.0, 4.0]


def test_text_that_differs_by_a_nul_at_the_end_differs():
    frame = pd.DataFrame({"a": ["x", "x\0", "x\0\0", "x"]}, dtype=object)
    assert codes(as_table(frame, "X"))[:, 0].tolist() == [0.0, 1.0, 2.0, 0.0]


def test_booleans_are_categories_wherever_they_stand():
    plain = pkex.mmd(A, B)
    for kind in ("boolean", object):
        found = pkex.mmd(A.assign(flag=A["flag"].astype(kind)), B)
        assert np.array_equal(found.values, plain.values)
    flags = Y > 0.0
    expected = pkex.hsic(X, np.where(flags, "yes", "no")).values
    for y in (flags, list(flags), pd.Series(flags), flags[:, None], pd.DataFrame({"y": flags})):
        found = pkex.hsic(X, y)
        assert found.target_kernel == Categorical()
        assert np.array_equal(found.values, expected)


def test_targets_of_every_kind():
    for y in (list(Y), tuple(Y), Y[:, None], pd.Series(Y), pl.Series("t", Y), Y.astype(object)):
        assert np.array_equal(pkex.hsic(X, y).values, pkex.hsic(X, Y).values)
    text = np.array(list("abcabcabca"))
    expected = pkex.hsic(X, text)
    assert expected.target_kernel == Categorical()
    for y in (
        list(text),
        text.astype(object),
        pd.Series(text),
        pd.Series(text, dtype="category"),
        pd.Index(text),
        pl.Series("t", text),
        pd.Series(np.unique(text, return_inverse=True)[1], dtype="category"),
        text[:, None],
    ):
        assert np.array_equal(pkex.hsic(X, y).values, expected.values)
    found = pkex.hsic(A, B[:12])  # a table of its own, with columns of every kind
    assert found.sample_names == tuple(B.columns)
    assert pkex.hsic(X, pd.Series(Y, name="price")).sample_names == ("price",)


@pytest.mark.parametrize("kind", ["U", object, np.dtypes.StringDType()], ids=str)
def test_text_arrays(kind):
    first, second = [["a", "x"], ["b", "x"], ["a", "y"]], [["a", "y"], ["c", "x"]]
    plain = pkex.mmd(pd.DataFrame(first), pd.DataFrame(second))
    found = pkex.mmd(np.array(first, dtype=kind), np.array(second, dtype=kind))
    assert np.array_equal(found.values, plain.values)


def test_codes_follow_the_texts():
    table = as_table(pd.DataFrame({"a": ["b", "a", "c"], "n": [2.0, 1.0, 0.0]}), "X")
    assert codes(table).tolist() == [[1.0, 2.0], [0.0, 1.0], [2.0, 0.0]]
    both = stack_tables(table, as_table(pd.DataFrame({"a": ["_"], "n": [5]}), "Z"), ("X", "Z"))
    assert codes(both)[:, 0].tolist() == [2.0, 1.0, 3.0, 0.0]
