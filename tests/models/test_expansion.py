"""KernelExpansion: prediction, names, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp_kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from pkex import KernelExpansion, UnsupportedModelError
from pkex.kernels import RBF, Categorical, Chi2, Laplacian, Linear
from pkex.models import expansion, sums
from tests._support.cases import assert_close
from tests._support.unchecked import unchecked

POINTS = np.arange(12.0).reshape(4, 3) / 5.0
ALPHA = np.array([1.0, -2.0, 0.5, 3.0])


def test_predict_is_the_models_own():
    X, y = load_diabetes(return_X_y=True)
    svr = SVR(C=100.0, gamma=5.0).fit(X, y)
    ridge = KernelRidge(kernel="laplacian", gamma=0.5).fit(X, np.stack([y, -y], axis=1))
    gp = GaussianProcessRegressor(gp_kernels.RBF(0.2), alpha=1.0, optimizer=None).fit(X, y)
    models: list[tuple[Any, Any]] = [
        (svr, (svr.support_vectors_, svr.dual_coef_[0], RBF.from_gamma(5.0), svr.intercept_)),
        (ridge, (X, ridge.dual_coef_, Laplacian(2.0))),
        (gp, (X, gp.alpha_, RBF(0.2))),
    ]
    for model, ours in models:
        assert_close(KernelExpansion(*ours).predict(X), model.predict(X), 1e-9)


def test_predict_in_blocks(monkeypatch):
    f = KernelExpansion(POINTS, ALPHA, RBF())
    whole = f.predict(POINTS)
    monkeypatch.setattr(expansion, "_PREDICT_BLOCK", 1)
    assert_close(f.predict(POINTS), whole, 1e-15)


def test_one_output_is_never_a_column():
    for alpha, offset in ((ALPHA, 0.5), (ALPHA[:, None], [0.5])):
        f = KernelExpansion(POINTS, alpha, RBF(), offset)
        assert f.predict(POINTS).shape == (4,)
        assert f.intercept.shape == f.base_value.shape == ()
        assert f.output_names is None
    assert KernelExpansion(POINTS, ALPHA, RBF(), output_names=["f"]).output_names == ("f",)


def test_several_outputs():
    f = KernelExpansion(POINTS, np.stack([ALPHA, 2 * ALPHA], axis=1), RBF(), [1.0, -1.0])
    assert f.predict(POINTS).shape == (4, 2)
    assert f.output_names == ("y0", "y1")
    assert_close(f.base_value, [3.5, 4.0], 1e-15)


def test_the_base_value_counts_the_factors_of_the_kernel():
    f = KernelExpansion(POINTS, ALPHA, 2.0 * RBF() + 3.0 * Laplacian(), 1.0)
    assert f.base_value == 5.0 * ALPHA.sum() + 1.0


def test_a_linear_part_has_outputs_but_no_base_value():
    several = KernelExpansion(POINTS, np.stack([ALPHA, 2 * ALPHA], axis=1), RBF() + Linear())
    one = KernelExpansion(POINTS, ALPHA, Linear())
    joined = sums.stack([one, several], ["a", "b", "c"])
    assert (one.n_outputs, several.n_outputs, joined.n_outputs) == (1, 2, 3)
    expected = np.column_stack([f.predict(POINTS) for f in (one, several)])
    assert_close(joined.predict(POINTS), expected, 1e-14)
    for f in (one, several, joined):
        with pytest.raises(UnsupportedModelError, match=r"dot-product part.*pass a background"):
            _ = f.base_value


def test_names_come_from_the_frame():
    frame = pd.DataFrame(POINTS, columns=["age", "bmi", "bp"])
    f = KernelExpansion(frame, ALPHA, RBF())
    assert f.feature_names == ("age", "bmi", "bp")
    assert_close(f.predict(frame), f.predict(POINTS), 0.0)
    assert_close(f.predict(frame[["age", "bp", "bmi"]]), f.predict(POINTS), 0.0)
    with pytest.raises(ValueError, match=r"columns of X are \['age', 'bp'\]"):
        f.predict(frame[["age", "bp"]])
    with pytest.raises(ValueError, match="2 columns, but 3"):
        f.predict(frame[["age", "bp"]].to_numpy())
    assert KernelExpansion(POINTS, ALPHA, RBF()).feature_names == ("x0", "x1", "x2")


def test_arrays_are_copied_and_frozen():
    points = POINTS.copy()
    f = KernelExpansion(points, ALPHA, RBF())
    points[:] = 0.0
    assert f.points[1, 1] == 0.8
    with pytest.raises(ValueError, match="read-only"):
        f.points[0, 0] = 1.0


def test_sparse_points_and_rows():
    points = np.where(POINTS > 1.0, POINTS, 0.0)
    f = KernelExpansion(sparse.csr_array(points), ALPHA, RBF())
    assert_close(f.predict(sparse.csc_matrix(points)), f.predict(points), 0.0)


def test_pickle():
    f = KernelExpansion(POINTS, ALPHA, RBF() * Categorical().on(1), 0.5, ["a", "b", "c"])
    again = pickle.loads(pickle.dumps(f))
    assert again.kernel == f.kernel
    assert again.feature_names == f.feature_names
    assert_close(again.predict(POINTS), f.predict(POINTS), 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, bool, object])
def test_any_real_dtype_becomes_float64(dtype):
    points = np.array([[0, 1], [1, 1]]).astype(dtype)
    f = KernelExpansion(points, [1, 2], RBF())
    assert f.points.dtype == f.coefficients.dtype == f.predict(points).dtype == np.float64


BAD = np.where(np.eye(4, 3) > 0, np.nan, POINTS)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: KernelExpansion(BAD, ALPHA, RBF()), ValueError, r"NaN.*row 0, column 0"),
        (lambda: KernelExpansion(POINTS - np.inf, ALPHA, RBF()), ValueError, "infinity"),
        (lambda: KernelExpansion(POINTS, ALPHA * np.nan, RBF()), ValueError, "coefficients cont"),
        (lambda: KernelExpansion(POINTS, ALPHA, RBF(), np.inf), ValueError, "intercept contains"),
        (lambda: KernelExpansion(POINTS[0], ALPHA, RBF()), ValueError, "two-dimensional"),
        (lambda: KernelExpansion(POINTS[:0], [], RBF()), ValueError, "empty"),
        (lambda: KernelExpansion(POINTS[:, :0], ALPHA, RBF()), ValueError, "empty"),
        (lambda: KernelExpansion(POINTS, ALPHA[:3], RBF()), ValueError, "4 points"),
        (lambda: KernelExpansion(POINTS, np.ones((4, 0)), RBF()), ValueError, "n_outputs"),
        (
            lambda: KernelExpansion(POINTS, ALPHA, RBF(), [1.0, 2.0]),
            ValueError,
            "intercept must be",
        ),
        (lambda: KernelExpansion(POINTS, ALPHA, unchecked("rbf")), TypeError, r"kernels\.RBF"),
        (lambda: KernelExpansion(POINTS, ALPHA, unchecked(np.exp)), TypeError, "Custom"),
        (lambda: KernelExpansion(POINTS, ALPHA, RBF([1.0, 2.0])), ValueError, "covers 3"),
        (lambda: KernelExpansion(-POINTS, ALPHA, Chi2()), ValueError, "points that it covers"),
        (lambda: KernelExpansion([["a", "b"]], [1.0], RBF()), TypeError, "real numbers"),
        (lambda: KernelExpansion(unchecked([[1.0, "b"]]), [1.0], RBF()), TypeError, "real numbers"),
        (
            lambda: KernelExpansion(unchecked([[1.0, None, {}]]), [1.0], RBF()),
            TypeError,
            "not numbers",
        ),
        (lambda: KernelExpansion([[1.0, 2.0], [3.0]], [1, 1], RBF()), ValueError, "ragged"),
        (lambda: KernelExpansion(POINTS * 1j, ALPHA, RBF()), TypeError, "complex"),
        (lambda: KernelExpansion(POINTS, ALPHA, RBF(), 0.0, ["a"]), ValueError, "1 entries"),
        (lambda: KernelExpansion(POINTS, ALPHA, RBF(), 0.0, "abc"), TypeError, "single string"),
        (
            lambda: KernelExpansion(POINTS, ALPHA, RBF(), 0.0, unchecked([1, 2, 3])),
            TypeError,
            "strings",
        ),
        (lambda: KernelExpansion(POINTS, ALPHA, RBF(), 0.0, list("aab")), ValueError, "'a' more"),
        (
            lambda: KernelExpansion(POINTS, ALPHA, RBF(), output_names=["a", "b"]),
            ValueError,
            "output_names has 2",
        ),
    ],
)
def test_bad_input_gets_a_sentence(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("n", [1, 7, 8, 30])
def test_columns_start_on_cache_lines_also_after_a_copy(n):
    points = np.random.default_rng(0).normal(size=(n, 5))
    f = KernelExpansion(points, np.ones(n), RBF())
    for one in (f, pickle.loads(pickle.dumps(f)), copy.deepcopy(f), copy.copy(f)):
        assert np.array_equal(one.points, points)
        assert not one.points.flags.writeable
        starts = [one.points[:, j].ctypes.data for j in range(5)]
        assert all(start % 64 == 0 for start in starts)
        assert one.points.strides[0] == 8
