"""Pair sums, their weights and permutations, and the hot loop that hands out single pairs."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import pkex
from pkex.games import numpy_backend, permutations, reductions, rules
from pkex.games.backend import game_class
from pkex.games.engine import run_reduction
from pkex.games.permutations import ByPermutation
from pkex.games.plan import Plan
from pkex.games.protocols import Factors
from pkex.games.reductions import ByPair, ByRow
from pkex.games.sources import PointSource
from pkex.kernels import RBF, Categorical, Custom, Laplacian
from pkex.statistics import block_mean as estimate
from pkex.statistics import pair_weights as weights
from pkex.statistics.pair_weights import HSICWeights, MMDWeights
from tests._support import naive
from tests._support.cases import (
    KERNELS,
    alone,
    assert_close,
    pair_game,
    pair_source,
    sample,
    scales,
)

ESTIMATORS = ("unbiased", "biased")


def set_width(monkeypatch, points):
    """Cut tiles to so many points."""
    for kind in (weights.Shuffled, weights._ShuffledTargets):
        monkeypatch.setattr(kind, "width", points)


def games(kernel, d, players=None):
    """The games of both backends for every term (that of NumPy twice without a compiled one)."""
    players = players or alone(d)
    ladder = rules.ladder(len(players))
    return [
        (term, game_class()(term, players, ladder), numpy_backend.NumPyGame(term, players, ladder))
        for term in kernel.terms(d)
    ]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 3), (3, 37, 6), (5, 16, 21)], ids=str)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_single_pairs_sum_to_the_explained_ones(case, shape):
    """Both backends; added on top of what is there, into a part of a larger array."""
    n_rows, n_points, d = shape
    rng = np.random.default_rng([len(case.name), *shape])
    x, z = sample(rng, n_rows, d), sample(rng, n_points, d)
    start = rng.normal(size=(d + 3, n_rows + 2, n_points + 5))
    for term, fast, slow in games(case.build(scales(rng, d)), d):
        one_hot = np.eye(n_points)
        block = slow.explain(x, z, one_hot)
        size = block.magnitudes.max() * term.coefficient
        for game in (fast, slow):
            values = start.copy()
            part = values[1 : d + 2, 2:, 3 : n_points + 3]
            used, largest = game.add_pairs(x, z, part)
            added = part - start[1 : d + 2, 2:, 3 : n_points + 3]
            expected = term.coefficient * block.values.transpose(1, 0, 2)
            assert_close(added[:-1], expected, 1e-14 * (4.0 + size))
            assert_close(added[-1], term.coefficient * block.totals, 1e-14 * (4.0 + size))
            assert largest <= block.magnitudes.max() * (1.0 + 1e-12)
            assert largest >= 1.0
            assert used
            part[...] = start[1 : d + 2, 2:, 3 : n_points + 3]
            assert np.array_equal(values, start)  # nothing else was touched


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 100])
def test_every_number_of_points_and_layout(n_points):
    rng = np.random.default_rng(n_points)
    x, z = rng.normal(size=(4, 6)), rng.normal(size=(n_points, 6))
    kernel = RBF(2.0) * Custom(lambda x, z: 1.5 - x * z).on(2)
    players = ((4, 0), (1,), (2, 5), (3,))
    wide_x, wide_z = rng.normal(size=(8, 12)), rng.normal(size=(2 * n_points, 12))
    wide_x[::2, ::2], wide_z[::2, ::2] = x, z
    for _, fast, slow in games(kernel, 6, players):
        expected = np.zeros((5, 4, n_points))
        _, size = slow.add_pairs(x, z, expected)
        for left, right in [
            (x, z),
            (np.asfortranarray(x), np.asfortranarray(z)),
            (wide_x[::2, ::2], wide_z[::2, ::2]),
            (x[::-1], z[::-1]),
        ]:
            found = np.zeros((5, 4, n_points))
            fast.add_pairs(left, right, found)
            if left is not x and np.array_equal(left, x[::-1]):
                found = found[:, ::-1, ::-1]
            assert_close(found, expected, 1e-14 * size)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_no_pairs_add_nothing(shape):
    x, z = np.ones((shape[0], 2)), np.ones((shape[1], 2))
    for _, fast, slow in games(RBF(1.0) + Custom(lambda x, z: x * z), 2):
        for game in (fast, slow):
            values = np.zeros((3, *shape))
            used, largest = game.add_pairs(x, z, values)
            assert not used
            assert largest == 0.0


def test_factors_that_are_no_numbers_are_refused():
    for _, fast, slow in games(Custom(lambda x, z: np.sqrt(x - z)), 2):
        for game in (fast, slow):
            with pytest.raises(ValueError, match="NaN or infinite factors"):
                game.add_pairs(np.zeros((2, 2)), np.ones((3, 2)), np.zeros((3, 2, 3)))


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 3), (2, 9), (40, 7)])
def test_mmd_weights(n, m, biased):
    found = MMDWeights(n, m, biased).block(slice(0, n + m), slice(0, n + m))
    for i in range(n + m):
        for j in range(n + m):
            if i != j or biased:
                both = [
                    naive.mmd(lambda *pair, at=at: float(pair == at), n, m, biased)
                    for at in ((i, j), (j, i))
                ]
                assert_close(found[i, j], 0.5 * sum(both), 1e-16)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("n", [4, 5, 9])
def test_hsic_weights(monkeypatch, n, biased, kept):
    monkeypatch.setattr(weights, "_PAIRS", 2 * n + 1)
    if not kept:
        monkeypatch.setattr(weights, "_KEPT", 0)
    y = np.random.default_rng(n).normal(size=(n, 2))
    L = RBF(1.5)(y)
    made = HSICWeights(y, RBF(1.5), biased)
    found = made.block(slice(0, n), slice(0, n))
    sizes = 0.0
    for i in range(n):
        for j in range(n):
            if i != j or biased:
                both = [
                    naive.hsic(lambda *pair, at=at: float(pair == at), lambda *p: L[p], n, biased)
                    for at in ((i, j), (j, i))
                ]
                expected = 0.5 * sum(both)
                assert_close(found[i, j], expected, 1e-15)
                sizes += abs(expected)
    assert sizes <= made.total
    assert_close(made.block(slice(1, 3), slice(2, n)), found[1:3, 2:], 1e-16)


def statistic(y, n, m, kernel, estimator):
    """Weights of MMD between the first n and the last m rows, or of HSIC with y."""
    biased = estimator == "biased"
    return MMDWeights(n, m, biased) if y is None else HSICWeights(y[:, None], kernel, biased)


@pytest.mark.parametrize("general", [True, False])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("which", ["mmd", "hsic"])
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_small_tiles_and_blocks_change_nothing(monkeypatch, case, which, estimator, general):
    """Sums, permuted sums and row sums agree however the pairs are cut."""
    rng = np.random.default_rng(0)
    X, kernel = sample(rng, 23, 5), case.build(scales(rng, 5))
    y = X[:, 0] + X[:, 3] if which == "hsic" else None
    players = ((0,), (1, 4), (2,), (3,))
    plan = Plan.of(kernel.terms(5), players, apart=False, general=general)
    made = statistic(y, 13, 10, RBF(1.0), estimator)
    size = pair_game(kernel, X)[1]
    source = pair_source(plan, X)
    whole = run_reduction(ByPair(plan, source, made))
    whole.check()
    monkeypatch.setattr(reductions, "_PAIRS", 50)
    again = pair_source(plan, X, n_jobs=2)
    if general:
        for one, other in zip(source.absent.factors, again.absent.factors, strict=True):
            assert_close(one.values, other.values, 1e-15 * size)
    assert_close(run_reduction(ByPair(plan, again, made)).values, whole.values, 1e-14 * size)
    by_row = run_reduction(ByRow(plan, source, made))
    assert_close(by_row.values.sum(axis=0), whole.values[0], 1e-14 * size)
    shuffled = made.shuffled(4, np.random.default_rng(1))
    permuted = run_reduction(ByPermutation(source, shuffled))
    permuted.of_games(plan, 23, made.total).check()
    assert_close(permuted.sums[:-1, :1], whole.values[0], 1e-14 * size)
    assert_close(permuted.sums[-1, 0], whole.totals[0, 0], 1e-14 * size)
    for points, tile in ((7, 100), (3, 15), (1, 1), (100, 10**6)):
        set_width(monkeypatch, points)
        monkeypatch.setattr(permutations, "_TILE", tile)
        again = run_reduction(ByPermutation(source, shuffled), n_jobs=2)
        assert_close(again.sums, permuted.sums, 1e-14 * size)
        assert_close(again.rounding, permuted.rounding, 1e-14 * size)


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
    rows = [layer[shuffled.first[: len(layer), b]] for layer in shuffled.layers]
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
        assert_close(found.null_totals[b - 1], expected.total, 1e-14)
    check_p_values(found, B)


def check_p_values(found, B):
    assert found.n_permutations == B
    for j, value in enumerate(found.values):
        count = sum(null >= value - 1e-12 for null in found.null_values[:, j])
        by_labels = (count + 1) / (B + 1)
        assert found.p_values[j] >= by_labels
        if by_labels > 0.1 or found.removal == "neutral":
            assert found.p_values[j] == by_labels
    count = sum(null >= found.total - 1e-12 for null in found.null_totals)
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
    assert [len(layer) for layer in shuffled.layers[1:]] == [n // size + m // size] * (size - 1)
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
        monkeypatch.setattr(weights, "_KEPT", 0)
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
    monkeypatch.setattr(weights, "_FEWEST_OF_CLASS", 3)
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
        alone = pkex.hsic(X, moved, **options).alone
        assert_close(found.alone_null_values[b - 1], alone, 1e-14)
    check_p_values(found, 12)
    again = pkex.hsic(X, y, n_permutations=12, random_state=0, n_jobs=2, **options)
    assert np.array_equal(again.null_values, found.null_values)


def test_permutations_stay_within_blocks(seen):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 2)), rng.normal(size=(26, 2))
    found = pkex.mmd(X, Z, kernel=RBF(1.0), block_size=16, n_permutations=8, n_jobs=1)
    both = np.concatenate([X, Z])
    expected = np.zeros((8, 2))
    for (rows, _), shuffled in zip(found.source.blocks, seen, strict=True):
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
    options = {"kernel": Categorical(0.5), "removal": "neutral"}
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
    run_in_order, begun, may_end = estimate.run_in_order, threading.Event(), threading.Event()
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


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 3), (3, 37, 6), (2, 64, 5)], ids=str)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_factors_are_added_to_a_part_of_an_array(case, shape):
    """Both backends, with a group, on top of what is there."""
    n_rows, n_points, d = shape
    rng = np.random.default_rng([len(case.name), *shape])
    x, z = sample(rng, n_rows, d), sample(rng, n_points, d)
    players = ((0, d - 1), *((j,) for j in range(1, d - 1))) if d > 1 else ((0,),)
    start = rng.normal(size=(len(players) + 2, n_rows, n_points + 3))
    for term, fast, slow in games(case.build(scales(rng, d)), d, players):
        by_column = term.factors(x, z)
        expected = np.stack([by_column[..., list(p)].prod(axis=-1) for p in players])
        size = max(1.0, np.abs(by_column).max()) ** 2
        for game in (fast, slow):
            values = start.copy()
            part = values[1:-1, :, 2 : n_points + 2]
            game.add_factors(x, z, part)
            added = part - start[1:-1, :, 2 : n_points + 2]
            assert_close(added, term.coefficient * expected, 1e-14 * (4.0 + size))
            part[...] = start[1:-1, :, 2 : n_points + 2]
            assert np.array_equal(values, start)


@pytest.mark.parametrize("removal", ["marginal", "neutral"])
@pytest.mark.parametrize("ask", ["total", "row_values", "value", "component"])
def test_what_does_not_add_up_is_never_returned(monkeypatch, ask, removal):
    """Each number of an attribution is compared with a sum of other numbers."""
    X, Z = np.random.default_rng(0).normal(size=(2, 20, 3))
    honest, factors = PointSource.explain, PointSource.factors
    found = pkex.mmd(X, Z, removal=removal)
    asked = {
        "total": lambda: pkex.mmd(X, Z, removal=removal),
        "row_values": lambda: found.row_values,
        "value": lambda: found.value([0, 2]),
        "component": lambda: found.component([0, 2]),
    }[ask]

    def dishonest(self, *args):
        sums = honest(self, *args)
        sums.values[0, 0] += 1e-9
        return sums

    def other_factors(self, *args):
        values, deficits = factors(self, *args)
        return Factors(values, deficits + 1e-9)

    monkeypatch.setattr(PointSource, "explain", dishonest)
    monkeypatch.setattr(PointSource, "factors", other_factors)
    with pytest.raises(pkex.AdditivityError, match="rounding explains at most"):
        asked()
