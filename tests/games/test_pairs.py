"""Pair sums and their weights, and the hot loop that hands out single pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pkex
from pkex.games import numpy_backend, permutations, reductions, rules
from pkex.games.backend import game_class
from pkex.games.engine import run_reduction
from pkex.games.permutations import ByPermutation
from pkex.games.plan import Plan
from pkex.games.protocols import Factors
from pkex.games.reductions import ByPair, ByRow, MeanFactors
from pkex.games.sources import PointSource
from pkex.kernels import RBF, Custom
from pkex.statistics import pair_weights as weights
from pkex.statistics import target_weights
from pkex.statistics.pair_weights import MMDWeights
from pkex.statistics.target_weights import HSICWeights
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
from tests._support.pairwise import pairwise

ESTIMATORS = ("unbiased", "biased")


def set_width(monkeypatch, points):
    """Cut tiles to so many points."""
    for kind in (weights.Shuffled, target_weights._ShuffledTargets):
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


@pytest.mark.parametrize("length_scale", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("d", [3, 12, 40])
def test_integrals_of_some_players_are_values_without_their_own_change(d, length_scale):
    """By series, sweeps and both backends; the factor of a constant column does not change."""
    x = np.random.default_rng(d).normal(size=(45, d))
    x[:, 1] = 0.0
    players = np.array([d - 1, 1, 0])
    plan = Plan.of(RBF(length_scale).terms(d), alone(d), None, apart=False, general=True)
    found = []
    for backend in (game_class(), numpy_backend.NumPyGame):
        pairs = plan.games(backend)
        absent = run_reduction(MeanFactors(pairs, np.asfortranarray(x)))
        source = PointSource(pairs, np.asfortranarray(x), np.asfortranarray(x), absent)
        integrals, values = np.zeros((3, 30, 37)), np.zeros((d + 1, 30, 37))
        rows, points = slice(2, 32), slice(5, 42)
        source.add_integrals(0, rows, points, players, integrals)
        source.add_values(rows, points, values)
        factors = source.factors(0, rows, points)
        changes = absent.single(0).deficits[players, None, None] - factors.deficits[players]
        np.testing.assert_allclose(integrals * changes, values[players], rtol=0.0, atol=1e-14)
        found.append(integrals)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-20)


@pytest.mark.parametrize("length_scale", [0.3, 0.15, 0.1])
def test_integrals_of_a_tiny_factor_that_does_not_change(length_scale):
    """A group of indicators, one for each row: its factors underflow, and so would ``p - a``."""
    numbers = np.random.default_rng(0).normal(size=(24, 11))
    x = np.asfortranarray(np.hstack([np.eye(24), numbers]))
    groups = (tuple(range(24)), *((24 + j,) for j in range(11)))
    plan = Plan.of(
        RBF([length_scale] * 24 + [30.0] * 11).terms(35), groups, None, apart=False, general=True
    )
    found = []
    for backend in (game_class(), numpy_backend.NumPyGame):
        pairs = plan.games(backend)
        source = PointSource(pairs, x, x, run_reduction(MeanFactors(pairs, x)))
        found.append(np.zeros((2, 24, 24)))
        source.add_integrals(0, slice(0, 24), slice(0, 24), np.array([0, 3]), found[-1])
    assert np.isfinite(found[0]).all()
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


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
    monkeypatch.setattr(target_weights, "_PAIRS", 2 * n + 1)
    if not kept:
        monkeypatch.setattr(target_weights, "_KEPT", 0)
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


@pytest.mark.parametrize("biased", [True, False])
def test_weights_that_are_held_are_sent_without_their_matrix(biased):
    y = np.random.default_rng(0).normal(size=(300, 1))
    made, every = HSICWeights(y, RBF(1.5), biased), slice(0, 300)
    with made.held():
        sent = pickle.dumps(made)
        there = pickle.loads(sent)
        assert len(sent) < 300 * 300
        np.testing.assert_array_equal(there.block(every, every), made.block(every, every))


def statistic(y, n, m, kernel, estimator):
    """Weights of MMD between the first n and the last m rows, or of HSIC with y."""
    biased = estimator == "biased"
    return MMDWeights(n, m, biased) if y is None else HSICWeights(y[:, None], kernel, biased)


@pairwise(case=KERNELS, which=["mmd", "hsic"], estimator=ESTIMATORS, general=[True, False])
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


@pytest.mark.parametrize("removal", ["product-of-marginals", "neutral"])
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
