"""Kernels that MMD and HSIC take, refuse, and choose by the data."""

from __future__ import annotations

import numpy as np
import pytest

import pkex
from pkex.kernels import RBF, Custom, Laplacian, Linear
from tests._support import naive
from tests._support.cases import assert_close, pair_game
from tests._support.unchecked import unchecked
from tests.statistics.test_discrepancy import REMOVALS, gram, target_kernel, trace_hsic


@pytest.mark.parametrize("kernel", [Linear(), RBF() + 2.0 * Linear(), Linear() * RBF()], ids=str)
def test_a_linear_kernel_averages_absent_columns_but_has_no_neutral_removal(kernel):
    X = np.random.default_rng(0).normal(size=(9, 3))
    for call in (
        lambda **options: pkex.mmd(X[:5], X[5:], kernel=kernel, **options),
        lambda **options: pkex.hsic(X, X[:, 0], kernel=kernel, target_kernel=RBF(1.0), **options),
    ):
        with pytest.raises(ValueError, match=r"has a dot-product part.*choose a kernel"):
            call(removal="neutral")
    game, size = pair_game(kernel, X)
    found = pkex.mmd(X[:5], X[5:], kernel=kernel, n_permutations=19, random_state=0)
    assert_close(found.values, naive.shapley_of_game(naive.mmd(game, 5, 4)), 1e-13 * size)
    v = naive.hsic(game, target_kernel(X[:, 0]), 9, biased=False)
    found = pkex.hsic(X, X[:, 0], kernel=kernel, target_kernel=RBF(1.0))
    assert_close(found.values, naive.shapley_of_game(v), 1e-13 * size)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("n_permutations", [0, 9])
def test_a_kernel_so_small_that_sums_underflow_is_no_bug(n_permutations, removal):
    """As with models, rounding is then that of the smallest numbers there are."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(25, 3))
    options = {"n_permutations": n_permutations, "random_state": 0, "removal": removal}
    for tiny in (1e-316, 5e-324):
        found = pkex.mmd(X, Z, kernel=tiny * RBF(), **options)
        expected = tiny * pkex.mmd(X, Z, kernel=RBF(), **options).values
        assert_close(found.values, expected, 500 * 45 * 5e-324)
        assert found.additivity_error <= 500 * 45 * 5e-324
    pkex.hsic(X, X[:, 0], kernel=1e-316 * RBF(), **options)


def test_a_linear_kernel_is_welcome_for_a_target():
    X = np.arange(12.0).reshape(6, 2)
    L = X[:, :1] @ X[:, :1].T
    found = pkex.hsic(X, X[:, 0], kernel=RBF(2.0), target_kernel=Linear(), estimator="biased")
    assert_close(found.statistic, trace_hsic(gram(RBF(2.0), X), L, True), 1e-13)


def test_kernels_that_do_not_fit_the_data_are_refused():
    X = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(ValueError, match=r"2 values of length_scale.*covers 3 columns"):
        pkex.mmd(X, X, kernel=RBF([1.0, 2.0]))
    with pytest.raises(ValueError, match="limited to column 7"):
        pkex.hsic(X, X[:, 0], kernel=Laplacian().on(7))
    with pytest.raises(ValueError, match=r"kernel must be 'median-per-column'.*got 'rbf'"):
        pkex.mmd(X, X, kernel="rbf")
    with pytest.raises(ValueError, match="NaN or infinite factors"):
        pkex.mmd(X, X, kernel=Custom(lambda x, z: np.sqrt(x - z)))
    with pytest.raises(ValueError, match="NaN or infinite factors"):
        pkex.hsic(X, X[:, 0], target_kernel=Custom(lambda x, z: np.sqrt(x - z)))


def test_a_target_kernel_that_fails_in_a_late_row_is_refused():
    """Symmetry is checked on the first rows only; the factors of all rows are looked at."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.append(np.linspace(0.0, 1.0, 79), 9.0)
    kernel = Custom(lambda x, z: np.where(x + z > 5.0, np.nan, np.exp(-np.abs(x - z))))
    for n_permutations in (0, 9):
        with pytest.raises(ValueError, match="NaN or infinite factors"):
            pkex.hsic(X, y, target_kernel=kernel, n_permutations=n_permutations)


def test_a_kernel_that_is_not_symmetric_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    kernel = Custom(lambda x, z: 1.0 + 0.3 * np.tanh(x - 2.0 * z))
    for call in (lambda: pkex.mmd(X, X[:9], kernel=kernel), lambda: pkex.hsic(X, X, kernel=kernel)):
        with pytest.raises(ValueError, match="not symmetric"):
            call()


def test_the_median_heuristic_looks_at_some_rows_of_many():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    every = unchecked(pkex.kernels.median_rbf(X, max_rows=3000).length_scale)
    some = [pkex.kernels.median_rbf(X, random_state=seed).length_scale for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert_close(some, [every] * 3, 0.05 * every)


def test_the_median_heuristic_sets_the_default_kernel():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    both = np.concatenate([X, Z])
    apart = np.sqrt(((both[:, None] - both) ** 2).sum(axis=2))[np.triu_indices(50, 1)]
    single = unchecked(pkex.mmd(X, Z, kernel="median").kernel)
    assert_close(single.length_scale, np.median(apart), 1e-14)
    assert single == pkex.kernels.median_rbf(both)
    by_column = unchecked(pkex.mmd(X, Z).kernel)
    assert pkex.mmd(X, Z, kernel="median-per-column").kernel == by_column
    assert by_column == pkex.kernels.median_rbf(both, per_column=True)
    for j in range(3):
        column = np.abs(both[:, None, j] - both[:, j])[np.triu_indices(50, 1)]
        assert_close(by_column.length_scale[j], np.median(column) * np.sqrt(3.0), 1e-14)
