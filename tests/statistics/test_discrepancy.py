"""MMD and HSIC: the values against all subsets by loops over pairs, axioms, totals, blocks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import pkex
from pkex.kernels import RBF, Categorical
from tests._support import naive
from tests._support.cases import KERNELS, assert_close, pair_game, sample, scales
from tests._support.pairwise import pairwise
from tests._support.unchecked import unchecked

ESTIMATORS = ("unbiased", "biased")
REMOVALS = ("product-of-marginals", "neutral")
SIZES = (1, 2, 5, 10)


def problem(case, d, n=5, m=4):
    """A kernel and two samples, which every kernel takes."""
    rng = np.random.default_rng([d, n, m])
    spread = scales(rng, d)
    data = sample(rng, n + m, d)
    return case.build(spread), data[:n], data[n:], spread


def target_kernel(y):
    """The RBF of length 1 by its formula, as a function of row numbers."""
    return lambda i, j: float(np.exp(-0.5 * (y[i] - y[j]) ** 2))


def gram(kernel, X):
    return sum(t.coefficient * t.factors(X, X).prod(axis=2) for t in kernel.terms(X.shape[1]))


def trace_mmd(K, n, biased):
    """MMD^2 from a kernel matrix, as one writes it in NumPy."""
    xx, zz, xz = K[:n, :n], K[n:, n:], K[:n, n:]
    if biased:
        return xx.mean() + zz.mean() - 2.0 * xz.mean()
    means = [(k.sum() - np.trace(k)) / (len(k) * (len(k) - 1)) for k in (xx, zz)]
    return sum(means) - 2.0 * xz.mean()


def trace_hsic(K, L, biased):
    """HSIC from two kernel matrices, as one writes it in NumPy."""
    n = len(K)
    if biased:
        H = np.eye(n) - 1.0 / n
        return np.trace(K @ H @ L @ H) / (n - 1) ** 2
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    whole = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    return (whole - 2.0 / (n - 2) * (K @ L).sum()) / (n * (n - 3))


def test_the_oracles_agree_with_each_other():
    rng = np.random.default_rng(0)
    K, L = (A @ A.T for A in rng.normal(size=(2, 7, 3)))
    k, l = (lambda i, j, M=M: M[i, j] for M in (K, L))
    assert_close(naive.hsic(k, l, 7, False), naive.hsic_by_quadruples(k, l, 7), 1e-13)
    for biased in (True, False):
        assert_close(naive.hsic(k, l, 7, biased), trace_hsic(K, L, biased), 1e-13)
        assert_close(naive.mmd(k, 4, 3, biased), trace_mmd(K, 4, biased), 1e-13)


@pairwise(case=KERNELS, d=SIZES, estimator=ESTIMATORS, removal=REMOVALS)
def test_mmd_equals_the_definition(case, d, estimator, removal):
    kernel, X, Z, _ = problem(case, d)
    game, size = pair_game(kernel, np.concatenate([X, Z]), removal=removal)
    v = naive.mmd(game, len(X), len(Z), estimator == "biased")
    found = pkex.mmd(X, Z, kernel=kernel, estimator=estimator, removal=removal)
    assert found.removal == removal
    assert_close(found.values, naive.shapley_of_game(v), 1e-13 * size)
    assert_close(found.statistic, v[-1], 1e-13 * size)
    assert found.additivity_error <= 1e-13 * size
    assert found.n_rows == (5, 4)


@pairwise(case=KERNELS, d=SIZES, estimator=ESTIMATORS, removal=REMOVALS)
def test_hsic_equals_the_definition(case, d, estimator, removal):
    kernel, X, _, _ = problem(case, d, n=7)
    y = np.random.default_rng(d).normal(size=7)
    game, size = pair_game(kernel, X, removal=removal)
    v = naive.hsic(game, target_kernel(y), 7, estimator == "biased")
    options = {"target_kernel": RBF(1.0), "estimator": estimator, "removal": removal}
    found = pkex.hsic(X, y, kernel=kernel, **options)
    assert_close(found.values, naive.shapley_of_game(v), 1e-13 * size)
    assert_close(found.statistic, v[-1], 1e-13 * size)
    assert found.additivity_error <= 1e-13 * size
    assert found.n_rows == (7,)


@pairwise(case=KERNELS, estimator=ESTIMATORS, removal=REMOVALS)
def test_groups_are_merged_players(case, estimator, removal):
    kernel, X, Z, _ = problem(case, 7, n=6)
    groups, players = {"a": [5, 1], "b": [2, 3]}, ((0,), (1, 5), (2, 3), (4,), (6,))
    game, size = pair_game(kernel, np.concatenate([X, Z]), players, removal)
    v = naive.mmd(game, 6, 4, estimator == "biased")
    options = {"kernel": kernel, "estimator": estimator, "groups": groups, "removal": removal}
    found = pkex.mmd(X, Z, **options)
    assert found.feature_names == ("x0", "a", "b", "x4", "x6")
    assert found.feature_groups == players
    assert_close(found.values, naive.shapley_of_game(v), 1e-13 * size)
    y = X[:, 0] - X[:, 4]
    game, size = pair_game(kernel, X, players, removal)
    v = naive.hsic(game, target_kernel(y), 6, estimator == "biased")
    found = pkex.hsic(X, y, target_kernel=RBF(1.0), **options)
    assert_close(found.values, naive.shapley_of_game(v), 1e-13 * size)


@pairwise(case=[case for case in KERNELS if case.unit], estimator=ESTIMATORS, d=[3, 40, 300])
def test_totals_equal_trace_formulas(case, estimator, d):
    kernel, X, Z, _ = problem(case, d, n=31, m=18)
    y = np.random.default_rng(d).normal(size=31)
    biased = estimator == "biased"
    both = np.concatenate([X, Z])
    _, size = pair_game(kernel, both)
    expected = trace_mmd(gram(kernel, both), 31, biased)
    assert_close(
        pkex.mmd(X, Z, kernel=kernel, estimator=estimator).statistic, expected, 1e-13 * size
    )
    L = np.exp(-0.5 * (y[:, None] - y) ** 2)
    found = pkex.hsic(X, y, kernel=kernel, target_kernel=RBF(1.0), estimator=estimator)
    assert_close(found.statistic, trace_hsic(gram(kernel, X), L, biased), 1e-13 * size)


def test_a_target_of_several_columns_and_one_of_categories():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 25, 3))
    found = pkex.hsic(X, Y, kernel=RBF(2.0), target_kernel=RBF([1.0, 2.0, 3.0]))
    L = gram(RBF([1.0, 2.0, 3.0]), Y)
    assert_close(found.statistic, trace_hsic(gram(RBF(2.0), X), L, False), 1e-15)
    # the roles exchanged: the same dependence, attributed to the columns of Y
    other = pkex.hsic(Y, X, kernel=RBF([1.0, 2.0, 3.0]), target_kernel=RBF(2.0))
    assert_close(other.statistic, found.statistic, 1e-15)
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=25)]
    same = (labels[:, None] == labels).astype(float)
    found = pkex.hsic(X, labels, kernel=RBF(2.0), estimator="unbiased")
    assert_close(found.statistic, trace_hsic(gram(RBF(2.0), X), same, False), 1e-15)
    codes = np.unique(labels, return_inverse=True)[1]
    again = pkex.hsic(X, codes, kernel=RBF(2.0), target_kernel="categorical", estimator="unbiased")
    assert np.array_equal(again.values, found.values)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_columns_that_look_alike_get_equal_values(case):
    first, second = (1, 2) if case.name in ("mixed", "one-column") else (0, 3)
    _, X, Z, spread = problem(case, 6, n=9)
    spread[second] = spread[first]
    X[:, second], Z[:, second] = X[:, first], Z[:, first]
    kernel = case.build(spread)
    _, size = pair_game(kernel, np.concatenate([X, Z]))
    for found in (pkex.mmd(X, Z, kernel=kernel), pkex.hsic(X, X[:, 4], kernel=kernel)):
        assert_close(found.values[first], found.values[second], 1e-14 * size)


@pytest.mark.parametrize("case", [case for case in KERNELS if case.unit], ids=str)
def test_a_constant_column_gets_exactly_nothing(case):
    kernel, X, Z, _ = problem(case, 5, n=9)
    X[:, 2] = Z[:, 2] = 1.25
    for estimator in ESTIMATORS:
        for found in (
            pkex.mmd(X, Z, kernel=kernel, estimator=estimator, n_permutations=9),
            pkex.hsic(X, X[:, 0], kernel=kernel, estimator=estimator, n_permutations=9),
        ):
            assert found.values[2] == 0.0
            assert np.all(found.null_values[:, 2] == 0.0)
            assert found.p_values[2] == 1.0


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_permuting_columns_permutes_values(case):
    kernel, X, Z, spread = problem(case, 7, n=9)
    places = np.random.default_rng(2).permutation(7)
    moved_x, moved_z = np.empty_like(X), np.empty_like(Z)
    moved_x[:, places], moved_z[:, places] = X, Z
    moved = case.build(spread, places)
    _, size = pair_game(kernel, np.concatenate([X, Z]))
    y = X[:, 0]
    pairs = [
        (pkex.mmd(X, Z, kernel=kernel), pkex.mmd(moved_x, moved_z, kernel=moved)),
        (pkex.hsic(X, y, kernel=kernel), pkex.hsic(moved_x, y, kernel=moved)),
    ]
    for plain, found in pairs:
        assert_close(found.values[places], plain.values, 1e-14 * size)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_samples_can_be_exchanged_and_their_rows_reordered(case, estimator):
    kernel, X, Z, _ = problem(case, 6, n=9)
    _, size = pair_game(kernel, np.concatenate([X, Z]))
    plain = pkex.mmd(X, Z, kernel=kernel, estimator=estimator).values
    swapped = pkex.mmd(Z, X, kernel=kernel, estimator=estimator).values
    reordered = pkex.mmd(X[::-1], Z[::-1], kernel=kernel, estimator=estimator).values
    assert_close(swapped, plain, 1e-14 * size)
    assert_close(reordered, plain, 1e-14 * size)


def test_equal_samples_have_a_biased_mmd_of_nothing():
    X = np.random.default_rng(0).normal(size=(12, 4))
    assert_close(pkex.mmd(X, X, estimator="biased").values, np.zeros(4), 1e-15)
    assert pkex.mmd(X, X).statistic < 0.0  # k(x, x) = 1 stays among the pairs of X with Z


HYPPO = """
import json, sys
import numpy as np
from hyppo.independence import Hsic
from hyppo.ksample import MMD
X, Z, y = map(np.array, json.load(sys.stdin))
print(json.dumps([Hsic(bias=True, gamma=0.2).statistic(X, y),
                  Hsic(bias=False, gamma=0.2).statistic(X, y),
                  MMD(bias=True, gamma=0.2).statistic(X, Z)]))
"""


def test_hyppo_finds_the_same_statistics():
    """It normalises both: to HSIC(X, y) / sqrt(HSIC(X, X) HSIC(y, y)), rooted if biased."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 4)), 0.5 + rng.normal(size=(25, 4))
    y = X[:, :1] ** 2
    result = subprocess.run(
        [sys.executable, "-c", HYPPO],
        input=json.dumps([data.tolist() for data in (X, Z, y)]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # to compile takes longer than to run
        capture_output=True,
        text=True,
        check=True,
    )
    biased, unbiased, between = json.loads(result.stdout)
    kernel = RBF.from_gamma(0.2)

    def covariance(a, b, estimator, target=kernel):
        return pkex.hsic(a, b, kernel=kernel, target_kernel=target, estimator=estimator).statistic

    for estimator, expected in (("biased", biased**2), ("unbiased", unbiased)):
        each = covariance(X, X, estimator) * covariance(y, y, estimator)
        assert_close(covariance(X, y, estimator) / np.sqrt(each), expected, 1e-14)
    # MMD^2 is up to a factor HSIC with the labels, and hyppo's is so with its root
    both, n, m = np.concatenate([X, Z]), len(X), len(Z)
    factor = 2.0 * n**2 * m**2 / (n + m) ** 4
    same = np.equal.outer(np.arange(n + m) < n, np.arange(n + m) < n).astype(float)
    spread = trace_hsic(same, same, True) * covariance(both, both, "biased")
    total = pkex.mmd(X, Z, kernel=kernel, estimator="biased").statistic
    scale = ((n + m) / (n + m - 1.0)) ** 2
    assert_close((between / factor) ** 2, factor * scale * total / np.sqrt(spread), 1e-14)


def test_mmd_is_the_dependence_on_the_label():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 4)), 0.5 + rng.normal(size=(25, 4))
    labels = ["x"] * 20 + ["z"] * 25
    found = pkex.hsic(np.concatenate([X, Z]), labels, kernel=RBF(1.5), estimator="biased")
    expected = pkex.mmd(X, Z, kernel=RBF(1.5), estimator="biased")
    factor = 2.0 * (20 * 25) ** 2 / 45**2 / 44**2
    assert_close(found.values, factor * expected.values, 1e-16)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_blocks_are_averaged(estimator):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(23, 3)), 0.5 + rng.normal(size=(31, 3))
    options = {"kernel": RBF(1.5), "estimator": estimator}
    found = pkex.mmd(X, Z, block_size=13, random_state=1, **options)
    blocks = [
        (rows[rows < 23], rows[rows >= 23] - 23) for rows, _ in unchecked(found.source).blocks
    ]
    assert len(blocks) == 5
    assert max(len(x) + len(z) for x, z in blocks) <= 13
    assert sorted(np.concatenate([x for x, _ in blocks])) == list(range(23))
    assert sorted(np.concatenate([z for _, z in blocks])) == list(range(31))
    by_hand = np.array([pkex.mmd(X[x], Z[z], **options).values for x, z in blocks])
    check_mean(found, by_hand)

    y = X[:, 0] ** 2
    options["target_kernel"] = RBF(1.0)
    found = pkex.hsic(X, y, block_size=6, random_state=1, **options)
    blocks = [rows for rows, _ in unchecked(found.source).blocks]
    assert sorted(np.concatenate(blocks)) == list(range(23))
    by_hand = np.array([pkex.hsic(X[rows], y[rows], **options).values for rows in blocks])
    check_mean(found, by_hand)


def check_mean(found, by_hand):
    """The values are the mean of those of the blocks, with the standard error of a mean."""
    assert_close(found.values, by_hand.mean(axis=0), 1e-15)
    assert_close(found.statistic, by_hand.sum(axis=1).mean(), 1e-15)
    root = np.sqrt(len(by_hand))
    assert_close(found.standard_errors, by_hand.std(axis=0, ddof=1) / root, 1e-15)
    assert_close(found.standard_error, by_hand.sum(axis=1).std(ddof=1) / root, 1e-15)
    assert "±" in repr(found)
    assert list(found.to_frame().columns) == ["contribution", "standard_error", "univariate"]


def test_a_block_as_large_as_the_data_is_the_plain_statistic():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 12, 3))
    plain = pkex.mmd(X, Z)
    found = pkex.mmd(X, Z, block_size=1000, random_state=0)
    assert_close(found.values, plain.values, 1e-15)
    assert found.standard_error is None
    assert_close(pkex.hsic(X, Z, block_size=99).values, pkex.hsic(X, Z).values, 1e-15)


def test_blocks_smaller_than_a_sample_allows_are_made_larger():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(100, 2)), rng.normal(size=(5, 2))
    found = pkex.mmd(X, Z, block_size=4, random_state=0)
    assert [sum(rows >= 100) for rows, _ in unchecked(found.source).blocks] == [3, 2]
    found = pkex.hsic(X[:10], X[:10, 0], block_size=4, estimator="unbiased", random_state=0)
    assert min(len(rows) for rows, _ in unchecked(found.source).blocks) >= 4


def test_a_tolerance_takes_fewer_nodes_and_keeps_its_promise():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 20, 60))
    exact, loose = (pkex.mmd(X, Z, kernel=RBF(4.0), tol=tol) for tol in (None, 1e-4))
    assert max(rule.size for rule in loose.rules) < max(rule.size for rule in exact.rules)
    error = np.abs(loose.values - exact.values).max()
    assert 1e-14 < error <= 4.0 * 1e-4


def test_units_do_not_matter():
    """Values and p-values of a table in other units, with rows enough for a subsample."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(700, 3)), rng.normal(size=(500, 3), loc=np.array([0.0, 0.1, 0.2]))
    y, units = X[:, 1] + rng.normal(size=700), np.array([1000.0, 1e-6, 3.0])
    options: dict[str, Any] = {"n_permutations": 19, "random_state": 0}
    for plain, scaled in (
        (pkex.mmd(X, Z, **options), pkex.mmd(X * units, Z * units, **options)),
        (pkex.hsic(X, y, **options), pkex.hsic(X * units, 7.0 * y, **options)),
    ):
        assert_close(scaled.values, plain.values, 1e-9 * plain.statistic)
        assert_close(scaled.univariate, plain.univariate, 1e-9 * plain.univariate.max())
        assert np.array_equal(scaled.p_values, plain.p_values)
        assert np.array_equal(scaled.p_univariate, plain.p_univariate)


def test_the_synthetic_case_of_the_paper():
    """20 variables, the last ten Student t (3 degrees of freedom) instead of normal."""
    means = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, Z = rng.normal(size=(2, 150, 20))
        Z[:, 10:] = rng.standard_t(3, size=(150, 10))
        means.append(pkex.mmd(X, Z, kernel="median", removal="neutral").values)
    mean = np.mean(means, axis=0)
    assert (mean[:10] < 0.0).all()
    assert (mean[10:] > 0.0).all()


def test_diabetes_by_sex_as_in_the_paper():
    X = load_diabetes(as_frame=True).data
    female = X["sex"] > 0.0
    X = X.drop(columns="sex")
    found = pkex.mmd(X[female], X[~female], kernel="median", removal="neutral")
    order = [found.feature_names[i] for i in found.ranking]
    assert order == ["s3", "s4", "bp", "s6", "age", "s5", "s2", "bmi", "s1"]
    assert np.abs(found.values[[1, 3]]).max() < 0.15 * found.values.max()  # bmi and s1
    # averaged out instead, the order is the same and no share is negative
    ours = pkex.mmd(X[female], X[~female])
    assert [ours.feature_names[i] for i in ours.ranking] == order
    assert ours.values.min() > 0.0
    assert_close(
        ours.statistic, pkex.mmd(X[female], X[~female], removal="neutral").statistic, 1e-15
    )


def test_categories_count_whether_they_are_equal():
    X, Z = np.array([["a"], ["a"], ["b"]]), np.array([["c"], ["b"]])
    found = pkex.mmd(X, Z, kernel=Categorical(0.5))
    # pairs in X: 1 of 3 equal; in Z: none; between: 1 of 6 equal
    expected = (1.0 + 0.5 + 0.5) / 3.0 + 0.5 - 2.0 * (1.0 + 5 * 0.5) / 6.0
    assert_close(found.statistic, expected, 1e-15)
