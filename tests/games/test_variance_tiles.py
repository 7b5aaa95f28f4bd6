"""Tiles of variances, compiled and in NumPy, beside integrals in many digits; pairs of players."""

from __future__ import annotations

from math import prod

import mpmath
import numpy as np
import pytest

from pkex.games import pair_variances, variance_tiles
from pkex.games.backend import native
from pkex.games.engine import run_reduction
from pkex.games.pair_variances import PairVariances
from pkex.games.rules import exact
from pkex.games.variance_tiles import NO_RULES, ShortColumns, TileRules, rules_of, sum_tile

pytestmark = pytest.mark.native


def draw(n_players, first, second, n_outputs, seed=0, size=0.3):
    """Return changes, means of both blocks and weights; the atoms include one of a single player.

    Factors are of any sign, and larger than 1 in part.
    """
    rng = np.random.default_rng([seed, n_players])
    changes = size * rng.normal(size=(n_players, first, second))
    left, right = (rng.uniform(-0.2, 1.2, size=(n_players, n)) for n in (first, second))
    left[0, 0] = right[-1, -1] = 0.0
    weights = rng.normal(size=(n_outputs, first)), rng.normal(size=(n_outputs, second))
    return changes, (left, right), weights


def coefficients_without(a, c, j):
    """Return those of the polynomial ``prod_{i != j} (a_i + t c_i)``, lowest first."""
    powers = [mpmath.mpf(1)]
    for i, (start, slope) in enumerate(zip(a, c, strict=True)):
        if i != j:
            longer = [*(start * x for x in powers), 0]
            for k, x in enumerate(powers):
                longer[k + 1] += slope * x
            powers = longer
    return powers


def plain(changes, means, weights):
    """Return indices and totals in many digits, and the sums of the sizes of their terms."""
    d, n_outputs = len(changes), len(weights[0])
    indices = [[[mpmath.mpf(0)] * n_outputs for _ in range(d)] for _ in range(3)]
    totals, sizes = [mpmath.mpf(0)] * n_outputs, np.zeros(n_outputs)
    with mpmath.workdps(50):
        for p, q in np.ndindex(changes.shape[1:]):
            c = [mpmath.mpf(float(x)) for x in changes[:, p, q]]
            both = zip(means[0][:, p], means[1][:, q], strict=True)
            a = [mpmath.mpf(float(x)) * mpmath.mpf(float(y)) for x, y in both]
            pair = [mpmath.mpf(float(w[p])) * float(v[q]) for w, v in zip(*weights, strict=True)]
            largest = prod(max(abs(x), abs(x + y)) for x, y in zip(a, c, strict=True))
            sizes += [float(abs(weight) * largest) for weight in pair]
            present = prod(x + y for x, y in zip(a, c, strict=True))
            for output, weight in enumerate(pair):
                totals[output] += weight * present
            for j in range(d):
                powers = coefficients_without(a, c, j)
                integral = sum(x / (k + 1) for k, x in enumerate(powers))
                for index, value in zip(indices, (powers[0], sum(powers), integral), strict=True):
                    for output, weight in enumerate(pair):
                        index[j][output] += weight * c[j] * value
    return np.array(indices, dtype=float), np.array(totals, dtype=float), sizes


def close(found, wanted, sizes, units=64.0):
    """Compare with the rounding that the sizes of terms allow."""
    assert (np.abs(found - wanted) <= units * 2.0**-53 * sizes).all()


@pytest.fixture(params=["native", "numpy"])
def backend(request, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if request.param == "native" and native() is None:
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", request.param)


@pytest.mark.parametrize(
    "shape", [(1, 2, 3, 1), (2, 1, 1, 2), (5, 3, 17, 1), (10, 2, 9, 3), (23, 2, 5, 1)], ids=str
)
def test_a_tile_is_its_integrals(backend, shape):
    n_players = shape[0]
    tile = changes, means, weights = draw(*shape)
    indices, totals, sizes = plain(*tile)
    found = sum_tile(changes, means, weights, rules_of(n_players))
    close(found.indices, indices, sizes, 64.0 * n_players)
    close(found.totals, totals, sizes, 64.0 * n_players)
    assert found.rules
    without = sum_tile(changes, means, weights, NO_RULES)
    np.testing.assert_array_equal(without.indices[:2], found.indices[:2])
    assert not without.indices[2].any()
    assert without.rules == ()


@pytest.mark.parametrize("size", [1e-3, 0.05, 1.0])
def test_the_rule_of_a_pair_covers_it(backend, size):
    """Of many players the cheapest rule, as far as the exact one from its bound."""
    n_players = 30
    changes, means, weights = draw(n_players, 4, 9, 1, size=size)
    means = tuple(np.abs(part) + 0.5 for part in means)
    rules = rules_of(n_players)
    found = sum_tile(changes, means, weights, rules)
    one = exact(n_players)
    wanted = sum_tile(changes, means, weights, TileRules.of((one,), (np.inf,)))
    absent = means[0][:, :, None] * means[1][:, None, :]
    largest = np.maximum(np.abs(absent), np.abs(absent + changes)).prod(axis=0)
    sizes = np.abs(weights[0][0]) @ largest @ np.abs(weights[1][0])
    assert np.abs(found.indices - wanted.indices).max() <= 1e-14 * sizes
    assert min(rule.size for rule in found.rules) < one.size or size == 1.0
    assert set(found.rules) <= set(rules.rules)


def test_the_value_of_a_player_that_hardly_varies_keeps_its_digits(backend):
    changes, means, weights = draw(4, 1, 1, 1, seed=3)
    whole = sum_tile(changes, means, weights, rules_of(4)).indices[:, 2, 0] / changes[2]
    changes[2] *= 1e-200
    small = sum_tile(changes, means, weights, rules_of(4)).indices[:, 2, 0] / changes[2]
    np.testing.assert_allclose(small, whole, rtol=1e-13)


def test_blocks_of_larger_arrays_are_read_in_place(backend):
    changes, means, weights = draw(6, 7, 12, 2)
    every = sum_tile(changes, means, weights, rules_of(6))
    wider = [np.concatenate([part, part], axis=1) for part in (*means, *weights)]
    left, right, mine, theirs = (part[:, : part.shape[1] // 2] for part in wider)
    found = sum_tile(changes, (left, right), (mine, theirs), rules_of(6))
    np.testing.assert_array_equal(found.indices, every.indices)


@pytest.mark.parametrize("shape", [(3, 1, 1), (3, 8, 16), (20, 11, 19)], ids=str)
def test_covariances_are_products_of_columns(backend, shape):
    n_players, first, second = shape
    rng = np.random.default_rng(6)
    short = ShortColumns.of([rng.normal(size=(1 + j % 4, 40)) / 9.0 for j in range(n_players)])
    _, means, weights = draw(n_players, first, second, 2)
    blocks = slice(0, first), slice(12, 12 + second)
    changes = short.multiply(*blocks)
    wanted = np.einsum("ra,rc->ac", *(short.numbers[1:3, block] for block in blocks))
    np.testing.assert_allclose(changes[1], wanted, rtol=1e-13, atol=1e-16)
    own = np.einsum("jaa->ja", short.multiply(slice(0, 40), slice(0, 40)))
    np.testing.assert_allclose(short.variances(), own, rtol=1e-13)
    sizes = plain(changes, means, weights)[2]
    given = sum_tile(changes, means, weights, rules_of(n_players))
    found = sum_tile((short, *blocks), means, weights, rules_of(n_players))
    close(found.indices, given.indices, sizes + 0.1, 64.0 * n_players)
    close(found.totals, given.totals, sizes + 0.1, 64.0 * n_players)


@pytest.mark.parametrize("n_players", [3, 20])
def test_every_instruction_set_sums(n_players):
    kernel = pytest.importorskip("pkex.games.native._kernel")
    tile = changes, means, weights = draw(n_players, 3, 13, 2)
    wanted = variance_tiles._sum_by_numpy(changes, means, weights, rules_of(n_players))
    sizes = plain(*tile)[2]
    for isa in kernel.config()["isas"]:
        rules = rules_of(n_players)
        sums, used = np.empty((2, 3 * n_players + 1)), np.empty(len(rules.rules), dtype=np.uint8)
        kernel.sum_variances(
            changes, None, None, None, *means, *weights, *rules[1:], sums, used, isa
        )
        indices = sums[:, :-1].reshape(2, 3, n_players).transpose(1, 2, 0)
        close(indices, wanted.indices, sizes, 64.0 * n_players)
        close(sums[:, -1], wanted.totals, sizes, 64.0 * n_players)
        assert used.any()


def test_arguments_are_checked():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    changes, (left, right), (mine, theirs) = draw(3, 4, 5, 2)
    rules = rules_of(3)
    given = {"changes": changes, "left": left, "right": right}
    given |= {"left_columns": None, "right_columns": None, "starts": None}
    given |= {"left_weights": mine, "right_weights": theirs}
    given |= {"sizes": rules.sizes, "limits": rules.limits}
    given |= {"nodes": rules.nodes, "shares": rules.weights}
    given |= {"to": np.empty((2, 10)), "used": np.empty(1, dtype=np.uint8)}
    columns = {"changes": None, "left_columns": left, "right_columns": right}
    columns |= {"starts": np.arange(4)}
    kernel.sum_variances(**given)
    kernel.sum_variances(**(given | columns))
    for wrong, words in (
        ({"left": left[:0]}, "left must have a player"),
        ({"left": left[:, :2]}, "changes must have the shape"),
        ({"right": right[:2]}, "right must have the shape"),
        ({"changes": None}, "changes or columns must be given"),
        (columns | {"starts": np.array([0, 2, 1, 3])}, "starts must ascend from 0"),
        (columns | {"left_columns": left[:2]}, "left_columns must have the shape"),
        ({"right": np.asfortranarray(right)}, "last axis of right must be contiguous"),
        ({"right_weights": mine}, "right_weights must have the shape"),
        ({"to": np.empty((2, 9))}, "to must have the shape"),
        ({"limits": np.zeros(1)}, "last of the limits must be infinite"),
        ({"sizes": np.zeros(1, dtype=np.int64)}, "sizes must be positive"),
        ({"nodes": np.zeros(7)}, "nodes must have the shape"),
        ({"nodes": np.zeros(1)}, "nodes must be those of all sizes"),
        ({"sizes": np.array([2**63 - 1])}, "nodes must be those of all sizes"),
        ({"used": np.empty(2, dtype=np.uint8)}, "a flag for each rule"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.sum_variances(**(given | wrong))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_of_two_players_are_sums_over_pairs_of_atoms(monkeypatch, n_jobs):
    monkeypatch.setattr(pair_variances, "_AT_ONCE", 40)  # so that atoms are cut
    rng = np.random.default_rng(4)
    short = [rng.normal(size=(rank, 11)) for rank in (2, 5, 1, 3)]
    means, weights = rng.normal(size=(4, 11)), rng.normal(size=(11, 2))
    game = PairVariances(ShortColumns.of(short), means, weights)
    found = run_reduction(game, n_jobs=n_jobs)
    assert not found[np.arange(4), np.arange(4)].any()
    for j, m in zip(*np.triu_indices(4, 1), strict=True):
        others = means[[i for i in range(4) if i not in (j, m)]].prod(axis=0)
        form = (short[j].T @ short[j]) * (short[m].T @ short[m])
        wanted = np.einsum(
            "as,ac,cs->s", weights * others[:, None], form, weights * others[:, None]
        )
        np.testing.assert_allclose(found[j, m], wanted, rtol=1e-12)
        np.testing.assert_array_equal(found[m, j], found[j, m])
