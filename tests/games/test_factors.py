"""Factors in both forms, their means, and games whose absent factors are given in both.

A factor near 0 keeps its digits as a value, one near 1 as a deficit. The games are checked against
the definition of the Shapley value.
"""

from __future__ import annotations

from math import comb

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from pkex.games import numpy_backend, rules
from pkex.games.backend import game_class
from pkex.games.protocols import Factors
from pkex.kernels import RBF, Categorical, Cauchy, Chi2, Custom, Laplacian, Periodic, ProductMatern
from tests._support import naive
from tests._support.cases import COLUMN_KERNELS, KERNELS, alone, assert_close, sample, scales
from tests._support.pairwise import pairwise

gmpy2 = pytest.importorskip("gmpy2")
pytestmark = [pytest.mark.native, pytest.mark.digits]

GAMES = {"numpy": numpy_backend.NumPyGame, "native": game_class()}

both_games = pytest.mark.parametrize("kind", GAMES.values(), ids=GAMES)


def general(kind, term, players=None):
    players = players or alone(term.n_columns)
    return kind(term, players, rules.general_ladder(len(players)))


def product_game(p, a, digits=60):
    """Return the Shapley values of one product game in many digits, by the definition.

    Player j gains (p_j - a_j) times the mean over sizes q of the mean product over coalitions of
    q others: their elementary sums, by a recurrence. It is in gmpy2, as mpmath takes ten times as
    long.
    """
    with mp.workdps(digits), gmpy2.context(precision=mp.prec, emin=gmpy2.get_emin_min()):
        p, a = [as_mpfr(v) for v in p], [as_mpfr(v) for v in a]
        d, phi = len(p), []
        for j in range(d):
            sums = [gmpy2.mpfr(1)]
            for i in range(d):
                if i != j:
                    moved = [0, *(s * p[i] for s in sums)]
                    stayed = [*(s * a[i] for s in sums), 0]
                    sums = [x + y for x, y in zip(stayed, moved, strict=True)]
            integral = sum(s / comb(d - 1, q) for q, s in enumerate(sums)) / d
            phi.append(as_mpf((p[j] - a[j]) * integral))
        return phi


def as_mpfr(number):
    """Return a float or a number of mpmath in gmpy2, to the precision of its context."""
    fraction = naive.exactly(number)
    return gmpy2.mpfr(gmpy2.mpq(fraction.numerator, fraction.denominator))


def as_mpf(number):
    """Return a number of gmpy2 in mpmath, without rounding."""
    mantissa, exponent = map(int, number.as_mantissa_exp())
    return mpmath.ldexp(mpf(mantissa), exponent)


PLAYERS = {"columns": None, "groups": ((0, 3), (1,), (5, 4, 2))}


@pairwise(case=KERNELS, players=PLAYERS, kind=GAMES)
def test_factors_are_the_products_of_the_columns(case, players, kind):
    rng = np.random.default_rng(len(case.name))
    x, z = sample(rng, 3, 6), sample(rng, 41, 6)
    shares = np.array([0.2, 0.5, 0.3])
    for term in case.build(scales(rng, 6)).terms(6):
        game = general(kind, term, players)
        by_column = term.factors(x, z)
        expected = np.stack([by_column[:, :, c].prod(axis=2) for c in game.players])
        size = 1.0 + np.abs(expected)
        found = game.factors(x, z)
        assert_close(found.values / size, expected / size, 1e-14)
        assert_close(found.deficits / size, (1.0 - expected) / size, 1e-14)
        means = game.mean_factors(x, z, shares)
        expected = np.tensordot(shares, expected, axes=(0, 1))
        size = np.tensordot(shares, size, axes=(0, 1))
        assert_close(means.values / size, expected / size, 1e-14)
        assert_close(means.deficits / size, (1.0 - expected) / size, 1e-14)


@pairwise(
    case=[c for c in COLUMN_KERNELS if c.name != "custom"],
    width=[1e-2, 1.0, 1e6],
    kind=GAMES,
)
def test_both_forms_keep_their_digits(case, width, kind):
    """Relative to the value itself, for single factors, groups of three and means of rows."""
    rng = np.random.default_rng(5)
    spread = width * scales(rng, 3)
    x, z = sample(rng, 4, 3), sample(rng, 9, 3)
    (term,) = case.build(spread).terms(3)
    shares = [0.125, 0.5, 0.25, 0.125]
    with mp.workdps(400):
        exact = np.empty((3, 4, 9), dtype=object)
        for j, b, i in np.ndindex(exact.shape):
            name, params = case.oracle(spread[j])
            u = naive.kernel_deficit(name, x[b, j], z[i, j], digits=350, **params)
            exact[j, b, i] = 1 - u
        grouped = exact.prod(axis=0)[None]
        digits = mpf(1e-14)
        for players, known in ((None, exact), (((0, 1, 2),), grouped)):
            game = general(kind, term, players)
            mean = sum(mpf(w) * known[:, b] for b, w in enumerate(shares))
            for found, expected in (
                (game.factors(x, z), known),
                (game.mean_factors(x, z, np.array(shares)), mean),
            ):
                for value, deficit, k in zip(
                    found.values.ravel(), found.deficits.ravel(), expected.ravel(), strict=True
                ):
                    exponent = 1 - mpmath.log(k) if k else 1  # rounding of the exponent
                    assert abs(mpf(value) - k) <= digits * k * exponent + mpf(1e-307)
                    assert abs(mpf(deficit) - (1 - k)) <= digits * (1 - k)


@both_games
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(),
        Laplacian(),
        Cauchy(),
        ProductMatern(),
        ProductMatern(nu=2.5),
        Chi2(),
        Periodic(1e-3),
        Categorical(),
    ],
    ids=str,
)
def test_far_points_have_the_factor_0(kernel, kind):
    x = np.array([[0.0], [1.0]])
    z = np.array([[0.25], [40.0], [1e5], [1e155], [1e300]])
    (term,) = kernel.terms(1)
    found = general(kind, term).factors(x, z)
    expected = term.factors(x, z).transpose(2, 0, 1)
    assert_allclose(found.values, expected, rtol=1e-12, atol=1e-299)
    assert_close(found.deficits, 1.0 - expected, 1e-15)


@both_games
def test_factors_that_are_no_numbers_stay(kind):
    (term,) = (RBF().on(0) * Custom(lambda x, z: np.sqrt(x - z)).on(1)).terms(2)
    game = general(kind, term)
    found = game.factors(np.zeros((1, 2)), np.ones((3, 2)))
    assert np.isnan(found.values[1]).all()
    with pytest.raises(ValueError, match="NaN or infinite"):
        game.explain(np.zeros((1, 2)), np.ones((3, 2)), np.ones((3, 1)), nothing(2, 3))


def nothing(d, n):
    return Factors(np.zeros((d, n)), np.ones((d, n)))


@both_games
@pytest.mark.parametrize("n_rows", [1, 7, 1000])
def test_a_mean_of_ones_is_1(n_rows, kind):
    """However the shares are rounded: a mean above 1 would be out of range."""
    (term,) = RBF().terms(2)
    shares = np.full(n_rows, 1.0 / n_rows)
    found = general(kind, term).mean_factors(np.ones((n_rows, 2)), np.ones((5, 2)), shares)
    assert np.array_equal(found.values, np.ones((2, 5)))
    assert np.array_equal(found.deficits, np.zeros((2, 5)))


@both_games
@pytest.mark.parametrize("n_points", [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 65])
def test_every_number_of_points_and_block(n_points, kind, monkeypatch):
    rng = np.random.default_rng(n_points)
    x, z = rng.normal(size=(5, 4)), rng.normal(size=(n_points, 4))
    shares = np.array([0.1, 0.4, 0.2, 0.0, 0.3])
    (term,) = (RBF(1.5) * Custom(lambda x, z: 1.2 - x * z).on(2)).terms(4)
    game = general(kind, term, ((3, 2), (0,), (1,)))
    values = game.factors(x, z).values
    assert values.shape == (3, 5, n_points)
    expected = np.tensordot(shares, values, axes=(0, 1))
    for budget in (1, 60, 2**19):
        if hasattr(kind, "entries"):
            monkeypatch.setattr(kind, "entries", budget)
        else:  # a field of the frozen game
            object.__setattr__(game, "entries", budget)
        found = game.mean_factors(x, z, shares)
        assert_close(found.values, expected, 1e-14 * (1.0 + np.abs(values).max(initial=0.0)))
        assert_close(found.values + found.deficits, np.ones((3, n_points)), 1e-13)
    for left in (np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
        assert_close(game.mean_factors(left, z, np.repeat(shares, 2)[::2]).values, expected, 1e-13)


@both_games
@pytest.mark.parametrize("d", [1, 2, 5, 8])
@pytest.mark.parametrize("size", [1.0, 3.0])
def test_single_pairs_with_absent_factors(d, size, kind):
    """`add_pairs` and `explain` against the definition; beyond 1 the exact rule is taken."""
    rng = np.random.default_rng([d, int(size)])
    x, z = rng.normal(size=(2, d)), rng.normal(size=(11, d))
    values = rng.uniform(-size, size, size=(d, 11))
    absent = Factors(values, 1.0 - values)
    (term,) = (2.5 * RBF(1.5)).terms(d)
    game = general(kind, term)
    start = rng.normal(size=(d + 1, 2, 11))
    added = start.copy()
    used, largest = game.add_pairs(x, z, added, absent)
    block = game.explain(x, z, np.eye(11), absent)
    assert any(rule.is_fallback for rule in used) == (np.abs(values).max() > 1.0)
    assert largest <= block.magnitudes.max() * (1.0 + 1e-12)
    present = game.factors(x, z).values
    scale = size**d
    for row, point in np.ndindex(2, 11):
        exact = product_game(present[:, row, point], values[:, point])
        exact = np.array([float(v) for v in exact])
        assert_close(block.values[row, :, point], exact, 1e-14 * scale)
        assert_close((added - start)[:-1, row, point], 2.5 * exact, 1e-13 * scale)
    product = present.prod(axis=0)
    assert_close(block.totals, product, 1e-14)
    assert_close((added - start)[-1], 2.5 * product, 1e-14 * 10)


@both_games
@pytest.mark.parametrize("size", [1.0, 3.0])
def test_several_sets_of_absent_factors_are_added_one_after_the_other(size, kind):
    rng = np.random.default_rng(int(size))
    x, z = rng.normal(size=(2, 4)), rng.normal(size=(11, 4))
    values = rng.uniform(-size, size, size=(4, 5, 11))
    absent = Factors(values, 1.0 - values)
    (term,) = (2.5 * RBF(1.5)).terms(4)
    game = general(kind, term)
    expected, found = np.zeros((2, 5, 2, 11))
    every = [
        game.add_pairs(x, z, expected, Factors(*(part[:, number] for part in absent)))
        for number in (1, 2, 3)
    ]
    added = game.add_pairs_against(x, z, found, Factors(*(part[:, 1:4] for part in absent)))
    np.testing.assert_array_equal(found, expected)
    assert set(added.rules) == {rule for one in every for rule in one.rules}
    assert added.largest == max(one.largest for one in every)


@both_games
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_a_player_without_columns_takes_the_integral_of_the_others(d, kind):
    """Absent it is 0 and present 1, so that its value is the integral without it."""
    rng = np.random.default_rng(d)
    x, z = rng.normal(size=(2, d)), rng.normal(size=(9, d))
    (term,) = RBF(1.2).terms(d)
    background = rng.normal(size=(6, d))
    shares = np.full(6, 1.0 / 6.0)
    means = general(kind, term).mean_factors(background, z, shares)
    present = general(kind, term).factors(x, z).values
    for j in range(d):
        # as a player in its place whose column no kernel covers, or as one more player
        without = general(kind, term.restrict(set(range(d)) - {j}))
        more = general(kind, term.restrict(set(range(d)) - {j}), (*alone(d), ()))
        for game, at in ((without, j), (more, d)):
            values = np.concatenate([means.values, np.ones((1, 9))])[: len(game.players)]
            deficits = np.concatenate([means.deficits, np.zeros((1, 9))])[: len(game.players)]
            values[j], deficits[j] = 1.0, 0.0
            values[at], deficits[at] = 0.0, 1.0
            absent = Factors(values, deficits)
            block = game.explain(x, z, np.eye(9), absent)
            added = np.zeros((len(game.players) + 1, 2, 9))
            game.add_pairs(x, z, added, absent)
            for row, point in np.ndindex(2, 9):
                p, a = present[:, row, point].copy(), means.values[:, point].copy()
                p[j], a[j] = 1.0, 0.0
                exact = float(product_game(p, a)[j])
                assert_close(block.values[row, at, point], exact, 1e-15)
                assert_close(added[at, row, point], exact, 1e-15)


@pairwise(case=KERNELS, n_sets=[1, 3], kind=GAMES)
def test_rows_in_place_of_absent_players(case, n_sets, kind):
    """As the sum over the rows of games with their factors."""
    rng = np.random.default_rng(len(case.name))
    x, z, rows = sample(rng, 3, 6), sample(rng, 37, 6), sample(rng, 5, 6)
    shares = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    for weights in (rng.normal(size=(37, n_sets)), rng.normal(size=(3, 37, n_sets))):
        for term in case.build(scales(rng, 6)).terms(6):
            game = general(kind, term, ((0, 3), (1,), (5, 4), (2,)))
            found = game.explain_against(x, z, weights, rows, shares)
            others = game.factors(rows, z)
            blocks = [
                game.explain(x, z, weights, Factors(others.values[:, b], others.deficits[:, b]))
                for b in range(5)
            ]
            size = sum(w * block.magnitudes for w, block in zip(shares, blocks, strict=True))
            assert_allclose(found.magnitudes, size, rtol=1e-13)
            for name, scale in (("values", size[:, None]), ("totals", size)):
                parts = (w * getattr(b, name) for w, b in zip(shares, blocks, strict=True))
                assert_close(getattr(found, name) / scale, sum(parts) / scale, 1e-14)
            assert {r.size for r in found.rules} == {r.size for b in blocks for r in b.rules}
