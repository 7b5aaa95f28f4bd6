"""Permuted statistics are the statistics of permuted rows, whatever the blocks and the threads."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import pkex
from pkex.games import permutations
from pkex.kernels import RBF, Categorical, Laplacian
from pkex.statistics import block_mean as estimate
from pkex.statistics import pair_weights as weights
from pkex.statistics import target_weights
from pkex.statistics.pair_weights import MMDWeights
from pkex.statistics.target_weights import HSICWeights
from tests._support.cases import assert_close
from tests._support.unchecked import unchecked
from tests.games.test_pairs import ESTIMATORS, set_width


@pytest.fixture
def seen(monkeypatch):
    """What `Weights.shuffled` returned, in order."""
    made = []
    for kind in (MMDWeights, HSICWeights):
        shuffled = kind.shuffled

        def record(self, *args, shuffled=shuffled):
            made.append(shuffled(self, *args))
            return made[-1]

        monkeypatch.setattr(kind, "shuffled", record)
    return made


def first_sample(shuffled, b):
    """The rows that permutation b counts to the first sample."""
    labels = shuffled.first[:, b]
    if shuffled.n_fixed:  # which share the last label
        labels = np.append(labels[:-1], np.repeat(labels[-1], shuffled.n_fixed))
    rows = [layer[labels[: len(layer)]] for layer in shuffled.layers]
    return np.sort(np.concatenate(rows))


def check_mmd_permutations(found, shuffled, X, Z, B, **options):
    """Recompute every permutation from scratch, with rows really moved between the samples."""
    both, every = np.concatenate([X, Z]), np.arange(len(X) + len(Z))
    assert np.array_equal(first_sample(shuffled, 0), np.arange(len(X)))
    assert sorted(np.concatenate(shuffled.layers)) == list(every)
    assert found.null_values.shape == (B, X.shape[1])
    for b in range(1, B + 1):
        one = first_sample(shuffled, b)
        assert len(one) == len(X)
        other = np.setdiff1d(every, one)
        expected = pkex.mmd(both[one], both[other], **options)
        assert_close(found.null_values[b - 1], expected.values, 1e-14)
        assert_close(found.null_statistics[b - 1], expected.statistic, 1e-14)
    check_p_values(found, B)


def check_p_values(found, B):
    assert found.n_permutations == B
    for j, value in enumerate(found.values):
        count = sum(null >= value - 1e-12 for null in found.null_values[:, j])
        by_labels = (count + 1) / (B + 1)
        assert found.p_values[j] >= by_labels
        if by_labels > 0.1 or found.removal == "neutral":
            assert found.p_values[j] == by_labels
    count = sum(null >= found.statistic - 1e-12 for null in found.null_statistics)
    assert found.p_statistic == (count + 1) / (B + 1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "m"), [(9, 9), (7, 12), (2, 5)])
def test_permuted_labels_are_the_statistic_of_permuted_rows(seen, n, m, estimator):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 3)), 0.8 + rng.normal(size=(m, 3))
    options = {"kernel": Laplacian(1.5), "estimator": estimator}
    found = pkex.mmd(X, Z, n_permutations=30, random_state=0, **options)
    assert_close(found.values, pkex.mmd(X, Z, **options).values, 1e-15)
    check_mmd_permutations(found, seen[0], X, Z, 30, **options)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "m"), [(20, 20), (23, 31), (12, 47), (41, 8)])
def test_joined_rows_are_permuted_together(seen, monkeypatch, n, m, estimator):
    monkeypatch.setattr(weights, "UNITS", 16)
    monkeypatch.setattr(weights, "_FEWEST_UNITS", 4)
    if n == 23:  # tiles of single rows alone, too
        set_width(monkeypatch, 1)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 3)), 0.3 + rng.normal(size=(m, 3))
    options = {"kernel": RBF(1.5), "estimator": estimator}
    found = pkex.mmd(X, Z, n_permutations=12, random_state=0, **options)
    [shuffled] = seen
    size = min(-(-(n + m) // 16), min(n, m) // 4)
    assert len(shuffled.layers) == size > 1
    few, many = sorted((n // size, m // size))  # of a much larger sample some rows stay
    n_units = few + min(many, max(16 - few, few))
    assert [len(layer) for layer in shuffled.layers[1:]] == [n_units] * (size - 1)
    assert_close(found.values, pkex.mmd(X, Z, **options).values, 1e-15)
    check_mmd_permutations(found, shuffled, X, Z, 12, **options)
    for unit in zip(*(layer[: len(shuffled.layers[-1])] for layer in shuffled.layers), strict=True):
        assert len({row < n for row in unit}) == 1  # of one sample
        labels = [{row in first_sample(shuffled, b) for row in unit} for b in range(13)]
        assert all(len(label) == 1 for label in labels)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", ["numbers", "categories", "several"])
def test_permuted_targets_are_the_statistic_of_permuted_targets(
    seen, monkeypatch, kind, estimator, kept
):
    if not kept:
        monkeypatch.setattr(target_weights, "_KEPT", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 3))
    y = {
        "numbers": X[:, 0] + rng.normal(size=15),
        "categories": np.array(["a", "b", "c"])[rng.integers(3, size=15)],
        "several": X[:, :2] ** 2,
    }[kind]
    kernel = Categorical() if kind == "categories" else RBF(1.5)
    options = {"kernel": RBF(2.0), "target_kernel": kernel, "estimator": estimator}
    found = pkex.hsic(X, y, n_permutations=20, random_state=0, **options)
    assert_close(found.values, pkex.hsic(X, y, **options).values, 1e-16)
    for b, targets in enumerate(seen[0].targets[1:]):
        expected = pkex.hsic(X, np.unique(y, axis=0)[targets], **options)
        assert_close(found.null_values[b], expected.values, 1e-15)
    check_p_values(found, 20)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("counts", [(20, 20, 20), (9, 31, 14), (50, 8)])
def test_joined_rows_of_a_class_are_permuted_together(seen, monkeypatch, counts, estimator):
    monkeypatch.setattr(weights, "UNITS", 16)
    monkeypatch.setattr(target_weights, "_FEWEST_OF_CLASS", 3)
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.array(list("abc"))[: len(counts)], counts))
    X = rng.normal(size=(len(y), 3)) + 0.3 * (y == "a")[:, None]
    options = {"kernel": RBF(1.5), "estimator": estimator}
    found = pkex.hsic(X, y, n_permutations=12, random_state=0, **options)
    [shuffled] = seen
    size = min(-(-len(y) // 16), min(counts) // 3)
    assert len(shuffled.layers) == size > 1
    assert sorted(np.concatenate(shuffled.layers)) == list(range(len(y)))
    assert_close(found.values, pkex.hsic(X, y, **options).values, 1e-15)
    kinds = np.unique(y)
    for b, targets in enumerate(shuffled.targets):
        moved = np.empty_like(y)
        for layer in shuffled.layers:
            moved[layer] = kinds[targets[: len(layer)]]
        assert sorted(moved) == sorted(y)
        if b == 0:
            assert np.array_equal(moved, y)
            continue
        expected = pkex.hsic(X, moved, **options)
        assert_close(found.null_values[b - 1], expected.values, 1e-14)
        alone = pkex.hsic(X, moved, **options).univariate
        assert_close(found.univariate_null_values[b - 1], alone, 1e-14)
    check_p_values(found, 12)
    again = pkex.hsic(X, y, n_permutations=12, random_state=0, n_jobs=2, **options)
    assert np.array_equal(again.null_values, found.null_values)


def test_permutations_stay_within_blocks(seen):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 2)), rng.normal(size=(26, 2))
    found = pkex.mmd(X, Z, kernel=RBF(1.0), block_size=16, n_permutations=8, n_jobs=1)
    both = np.concatenate([X, Z])
    expected = np.zeros((8, 2))
    for (rows, _), shuffled in zip(unchecked(found.source).blocks, seen, strict=True):
        for b in range(8):
            one = rows[first_sample(shuffled, b + 1)]
            other = np.setdiff1d(rows, one)
            expected[b] += pkex.mmd(both[one], both[other], kernel=RBF(1.0)).values
    assert_close(found.null_values, expected / len(seen), 1e-15)
    check_p_values(found, 8)


def test_ties_of_discrete_data_are_counted(seen):
    """The statistic takes few values, so many permutations give the observed one exactly."""
    rng = np.random.default_rng(0)
    X, Z = rng.integers(2, size=(6, 2)).astype(float), rng.integers(2, size=(7, 2)).astype(float)
    options: dict[str, Any] = {"kernel": Categorical(0.5), "removal": "neutral"}
    found = pkex.mmd(X, Z, n_permutations=400, random_state=0, **options)
    both, half = np.concatenate([X, Z]), Fraction(1, 2)
    game = {}
    for i in range(13):
        for j in range(13):
            a, b = (Fraction(1) if both[i, c] == both[j, c] else half for c in (0, 1))
            # the Shapley values of two players, and their sum
            game[i, j] = np.array(
                [(a - 1) * (1 + b) / 2, (b - 1) * (1 + a) / 2, a * b - 1], dtype=object
            )

    def exact(b):
        one = first_sample(seen[0], b)
        other = np.setdiff1d(np.arange(13), one)
        means = [(rows, rows, Fraction(1, len(rows) * (len(rows) - 1))) for rows in (one, other)]
        parts = [*means, (one, other, Fraction(-2, 42))]
        return sum(w * game[i, j] for p, q, w in parts for i in p for j in q if i != j)

    observed = exact(0)
    null = [exact(b) for b in range(1, 401)]
    ties = sum(values[2] == observed[2] for values in null)
    assert ties > 10
    expected = [Fraction(1 + sum(v[j] >= observed[j] for v in null), 401) for j in range(3)]
    assert [*found.p_values, found.p_statistic] == [float(p) for p in expected]


@pytest.mark.parametrize("which", ["mmd", "hsic", "blocks"])
def test_permutations_depend_on_the_random_state_alone(monkeypatch, which):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 40, 3))

    def run(random_state, **options):
        if which == "hsic":
            return pkex.hsic(X, Z, n_permutations=15, random_state=random_state, **options)
        size = 20 if which == "blocks" else None
        options |= {"n_permutations": 15, "block_size": size, "random_state": random_state}
        return pkex.mmd(X, Z, **options)

    plain = run(3)
    assert np.array_equal(run(3).null_values, plain.null_values)
    assert not np.array_equal(run(4).null_values, plain.null_values)
    assert np.array_equal(run(np.random.default_rng(3)).null_values, plain.null_values)
    old = [run(np.random.RandomState(0)).null_values for _ in range(2)]
    assert np.array_equal(*old)
    generator = np.random.default_rng(3)
    assert not np.array_equal(run(generator).null_values, run(generator).null_values)
    monkeypatch.setattr(permutations, "_TILE", 400)
    for options in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": None}, {"progress": True}):
        found = run(3, **options)
        assert_close(found.null_values, plain.null_values, 1e-15)
        assert np.array_equal(found.p_values, plain.p_values)
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    assert_close(run(3).null_values, plain.null_values, 1e-15)
    assert np.array_equal(run(3).p_values, plain.p_values)


def test_a_generator_put_back_to_its_state_repeats_itself():
    X, Z = np.random.default_rng(0).normal(size=(2, 20, 2))
    generator = np.random.default_rng(5)
    state = generator.bit_generator.state
    first = pkex.mmd(X, Z, n_permutations=9, random_state=generator).null_values
    generator.bit_generator.state = state
    again = pkex.mmd(X, Z, n_permutations=9, random_state=generator).null_values
    assert np.array_equal(first, again)


def test_blas_threads_are_given_back(monkeypatch):
    """A call that ends while a later one runs must not leave the limit of one thread behind."""
    X, Z = np.random.default_rng(0).normal(size=(2, 20, 3))
    run_in_order = unchecked(estimate).run_in_order
    begun, may_end = threading.Event(), threading.Event()
    first = threading.Thread(target=pkex.mmd, args=(X, Z))

    def overlapping(*args):
        if threading.current_thread() is first:
            begun.set()
            may_end.wait(10.0)
        else:
            may_end.set()
            first.join()
        return run_in_order(*args)

    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    monkeypatch.setattr(estimate, "run_in_order", overlapping)
    before = threads()
    first.start()
    assert begun.wait(10.0)
    pkex.mmd(X, Z)
    assert threads() == before
