"""Values so large that differences or products overflow are refused with the name of the column.

Below that, values are those of the same table in smaller units.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pkex
from pkex.cli import main
from pkex.kernels import (
    RBF,
    Cauchy,
    Chi2,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    ProductMatern,
    RationalQuadratic,
    median_rbf,
)
from tests._support.cases import assert_close

RNG = np.random.default_rng(0)
NAMES = ["age", "income"]
X, Z = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)) + 0.5
SIGNS = [np.column_stack([rows[:, 0], np.sign(rows[:, 1])]) for rows in (X, Z)]
HUGE = [signs * [1.0, 1e308] for signs in SIGNS]  # whose differences are infinite
STATIONARY = [RBF, Laplacian, Cauchy, ProductMatern, Matern, RationalQuadratic]
WORDS = (
    r"a value of 1e\+308 in column 'income' of .* overflow\. Rescale the column, .*StandardScaler"
)


def frame(rows):
    return pd.DataFrame(rows, columns=NAMES)


def refused():
    return pytest.raises(ValueError, match=WORDS)


@pytest.mark.parametrize("kernel", [None, "median", "median-per-column", *STATIONARY])
def test_statistics_of_differences_beyond_the_largest_number(kernel):
    """With the native kernel the first of them were wrong without a word."""
    huge, given = [frame(rows) for rows in HUGE], kernel
    if isinstance(kernel, type):
        given = kernel([1.0, 1e300])
    with refused():
        pkex.mmd(*huge, kernel=given)
    with refused():
        pkex.hsic(huge[0], X[:, 0], kernel=given)
    with refused():
        pkex.hsic(X, huge[0]["income"], target_kernel=given and RBF(1e307))


@pytest.mark.parametrize("kernel", [None, "median-per-column", *STATIONARY[:-1]])
def test_just_below_values_are_those_of_other_units(kernel):
    """4e307 is so large that differences are nearly the largest number; 2^1020 is exact."""
    unit = 2.0**1020
    near = [signs * [1.0, 4.0 * unit] for signs in SIGNS]
    plain = [signs * [1.0, 4.0] for signs in SIGNS]
    small = kernel([1.0, 2.0]) if isinstance(kernel, type) else kernel
    large = kernel([1.0, 2.0 * unit]) if isinstance(kernel, type) else kernel
    found, expected = pkex.mmd(*near, kernel=large), pkex.mmd(*plain, kernel=small)
    assert_close(found.values, expected.values, 1e-15)
    if isinstance(kernel, type):
        f, g = (
            pkex.KernelExpansion(rows[0], X[:, 0], one)
            for rows, one in ((near, large), (plain, small))
        )
        assert_close(pkex.Explainer(f)(near[1]).values, pkex.Explainer(g)(plain[1]).values, 1e-13)


@pytest.mark.parametrize("kernel", STATIONARY)
@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_models_of_differences_beyond_the_largest_number(kernel, table):
    kernel = kernel([1.0, 1e300])
    f = pkex.KernelExpansion(table(X), X[:, 0], kernel, feature_names=NAMES)
    huge = table(HUGE[0])
    for call in (
        lambda: pkex.KernelExpansion(huge, X[:, 0], kernel, feature_names=NAMES),
        lambda: f.predict(huge),
        lambda: pkex.Explainer(f, huge),
        lambda: pkex.Explainer(f)(huge),
        lambda: pkex.Explainer(f).interactions(huge),
        lambda: pkex.sensitivity(f, huge),
    ):
        with refused():
            call()


def test_the_median_heuristic_names_the_column():
    for per_column in (False, True):
        with refused():
            median_rbf(frame(HUGE[0]), per_column=per_column)
        with pytest.raises(ValueError, match="in column 1 of X is too large"):
            median_rbf(HUGE[0], per_column=per_column)
    wide = np.column_stack([np.repeat(X[:, :1], 7, axis=1), np.full(20, 7e307)])
    with pytest.raises(ValueError, match="7e\\+307 in column 7"):  # a width is larger than a value
        median_rbf(wide, per_column=True)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(2),
        Polynomial(1, gamma=1e-200),  # the sum overflows before it is multiplied
        Polynomial(3, gamma=1e-200, coef0=0.0),
        RBF() + Polynomial(3),
        RBF() * Linear(),
        Linear() * Linear(),
    ],
    ids=lambda kernel: repr(kernel)[:40],
)
def test_products_that_overflow_name_the_column(kernel):
    """Some of them asked to be reported as errors of pkex, or predicted NaN."""
    f = pkex.KernelExpansion(X, X[:, 0], kernel, feature_names=NAMES)
    for call in (
        lambda: f.predict(HUGE[0]),
        lambda: pkex.Explainer(f, HUGE[0]),
        lambda: pkex.Explainer(f, X[:3])(HUGE[0]),
        lambda: pkex.Explainer(f, X[:3], removal="product-of-marginals")(HUGE[0]),
        lambda: pkex.sensitivity(f, HUGE[0]),
        lambda: pkex.mmd(frame(HUGE[0]), frame(HUGE[1]), kernel=kernel),
        lambda: pkex.hsic(frame(HUGE[0]), X[:, 0], kernel=kernel),
        lambda: pkex.Explainer(pkex.KernelExpansion(HUGE[0], X[:, 0], kernel, 0.0, NAMES)),
    ):
        with refused():
            call()


@pytest.mark.filterwarnings("ignore::pkex.errors.PrecisionWarning")  # of one column beside others
def test_polynomials_have_numbers_or_name_a_column():
    """Points, background and rows of many sizes, with degrees and rates; nothing in between."""
    sizes = [1.0, 1e100, 1e150, 1e154, 1e200, 1e307]
    rows = np.clip(X[:3], -1.5, 1.5)
    count, said = 0, set()
    for degree, gamma in product((1, 2, 3), (1.0, 1e-200)):
        kernel = Polynomial(degree, gamma=gamma)
        for of_points, of_background, of_rows in product(sizes, repeat=3):
            points = rows * [1.0, of_points]
            background, explained = rows[:2] * [1.0, of_background], rows[1:] * [1.0, of_rows]
            f = pkex.KernelExpansion(points, [1.0, 2.0, -1.0], kernel, feature_names=NAMES)
            try:
                found = pkex.Explainer(f, background)(explained)
            except ValueError as error:
                said.add(re.sub("[0-9].*? in", "... in", str(error)))
                continue
            count += 1
            assert np.isfinite(found.values).all()
            assert np.isfinite(found.predictions).all()
    assert count > 100  # by no means all are refused
    tables = ("background", "X")
    assert {one.partition(" is too large")[0] for one in said} == {
        f"a value of ... in column 'income' of {name}" for name in tables
    }


def test_values_that_are_not_subtracted_may_be_the_largest():
    f = pkex.KernelExpansion(np.abs(HUGE[0]), X[:, 0], Chi2(1e-300))
    assert np.isfinite(pkex.Explainer(f)(np.abs(HUGE[1])).values).all()


def test_the_command_line_names_the_column(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, rows in zip(("a.csv", "b.csv"), HUGE, strict=True):
        frame(rows).to_csv(name, index=False)
    frame(HUGE[0]).assign(target=X[:, 0]).to_csv("table.csv", index=False)
    for call in (["drift", "a.csv", "b.csv"], ["dependence", "table.csv", "--target", "target"]):
        assert main([*call, "--out", "out"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "a value of 1e+308 in column 'income'" in said
        assert "StandardScaler" in said


def test_a_sum_of_kernels_takes_what_its_parts_take():
    """A column that only a kernel without differences sees may be as large as it likes."""
    kernel = RBF([1.0]).on(0) * Chi2(1e-300).on(1)
    rows = np.abs(HUGE[0])
    f = pkex.KernelExpansion(rows, X[:, 0], kernel)
    assert np.isfinite(f.predict(rows)).all()
    with pytest.raises(ValueError, match="in column 'x0' of X is too large"):
        f.predict(rows[:, ::-1])
