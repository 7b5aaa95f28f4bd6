"""Series for exponents near those of absent players, in the NumPy backend, in forty digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from pkex.games import near_one, numpy_backend, rules
from pkex.games.factors import to_exponents
from pkex.games.protocols import Factors
from pkex.kernels import RBF, Chi2, Laplacian, Periodic
from tests._support.cases import alone, assert_close
from tests.games.test_factors import general, product_game

pytestmark = pytest.mark.digits

Game = numpy_backend.NumPyGame


class Swept(Game):
    """The same games by nodes alone."""

    def _exponents(self, x, z):
        return None


def rules_with_series():
    found = {rule.size: rule for rule in rules.general_ladder(400).rules}
    return [rule for rule in found.values() if near_one.build_series(rule, 6) is not None]


SOME = [rule for rule in rules_with_series() if rule.size in (5, 8, 12, 16)]


def test_rules_of_up_to_16_nodes_have_series():
    sizes = {rule.size for rule in rules_with_series()}
    assert {4, 8, 12, 16} <= sizes
    assert max(sizes) == 16


CUTS = [(terms, True) for terms in near_one.SIGNED] + [(k, False) for k in near_one.POSITIVE]


@pytest.mark.parametrize(("terms", "signed"), CUTS)
def test_series_leave_out_less_than_an_ulp(terms, signed):
    """At nodes of every kind, on both sides of 0, relative to functions of size 1."""
    limit = (near_one.SIGNED if signed else near_one.POSITIVE)[terms]
    places = [limit * k / 8.0 for k in ((-8, -7, -4, 1, 6, 8) if signed else (0.1, 1, 3, 7, 8))]
    with mp.workdps(40):
        for rule in SOME:
            series = near_one.build_series(rule, terms, signed=signed)
            assert series.logs.shape == series.shares.shape == (rule.size, terms)
            for t, logs, shares in zip(rule.nodes, *series, strict=True):
                for place in places:
                    e = mpf(place)
                    v = -mp.expm1(-e)
                    g, log = v / (1 - mpf(t) * v) / e, mp.log1p(-mpf(t) * v) / e
                    powers = [e**k for k in range(terms)]
                    found = [mp.fdot(map(mpf, one), powers) for one in (shares, logs)]
                    assert abs(found[0] - g) <= 2.0**-51
                    assert abs(found[1] - log) <= 2.0**-52


def exact_values(s, r):
    """The values of one pair by the definition, from its exponents."""
    with mp.workdps(60):
        return product_game([mp.exp(-mpf(v)) for v in s], [mp.exp(-mpf(v)) for v in r])


@pytest.mark.parametrize("reach", [0.01, 0.1, 0.4, 0.78])
@pytest.mark.parametrize("level", [0.0, 0.5, 30.0], ids=["neutral", "general", "tail"])
def test_values_of_both_signs(level, reach):
    """Relative to the largest worth of a coalition; rounding of large exponents included."""
    rng = np.random.default_rng([int(100 * reach), int(level)])
    d, n = 16, 3
    s = rng.uniform(0.0, reach, size=(d, 1, n))
    r = None
    if level:
        r = rng.uniform(0.0, level, size=(d, n)) + reach
        s = r[:, None, :] + rng.uniform(-reach, reach, size=(d, 1, n))
    ladder = rules.general_ladder(d) if level else rules.ladder(d)
    game = Game(RBF().terms(d)[0], alone(d), ladder)
    solved = game._solve_exponents(s, r)
    assert solved.changes is None  # by series
    none = np.zeros((d, n)) if r is None else r
    for pair in range(n):
        exact = exact_values(s[:, 0, pair], none[:, pair])
        worth = np.exp(-np.minimum(s[:, 0, pair], none[:, pair]).sum())
        total = mp.exp(-mp.fsum(map(mpf, s[:, 0, pair])))
        size = max(solved.magnitudes[pair] if level < 30 else worth, 1e-300)
        digits = 1e-15 * (1.0 + none[:, pair].sum())
        for found, value in zip(solved.integrals[:, pair], exact, strict=True):
            assert abs(mpf(found) - value) <= digits * size
        assert abs(mpf(solved.totals[pair]) - total) <= digits * size
        if level == 30.0:
            assert solved.magnitudes[pair] == pytest.approx(worth, rel=1e-12)


def test_sums_of_large_exponents_are_rounded_once():
    rng = np.random.default_rng(4)
    r = rng.uniform(0.0, 3.0, size=(500, 7))
    for found, column in zip(near_one.absent_sums(r), r.T, strict=True):
        assert abs(found - math.fsum(column)) <= np.spacing(found)
    for found, column in zip(near_one.player_sums(r - 1.5), r.T - 1.5, strict=True):
        size = math.fsum(np.abs(column))
        assert abs(found - math.fsum(column)) <= (16 + 500 / 16) * 2.0**-53 * size


def test_small_values_keep_their_relative_digits():
    d = 20
    s = np.geomspace(1e-12, 1e-2, d)[:, None, None]
    solved = Game(RBF().terms(d)[0], alone(d), rules.ladder(d))._solve_exponents(s, None)
    exact = exact_values(s[:, 0, 0], np.zeros(d))
    for found, value in zip(solved.integrals[:, 0], exact, strict=True):
        assert abs(mpf(found) - value) <= 1e-15 * abs(value)


KERNELS = [
    RBF(4.0),
    RBF(6.0) * Laplacian(50.0).on(0, 3),
    Periodic(4.0, periodicity=3.0),
    Chi2(0.05),
]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_series_and_nodes_agree(kernel, grouped):
    """Pairs near and far in one block, and a background row that equals a row in some columns."""
    rng = np.random.default_rng(1)
    d = 40
    x, z = np.abs(rng.normal(size=(3, d))), np.abs(rng.normal(size=(50, d)))
    x[0] *= 10.0  # far from all points
    background = np.abs(rng.normal(size=(2, d)))
    background[0, :5] = x[1, :5]
    weights = rng.normal(size=(50, 2))
    players = tuple((2 * j, 2 * j + 1) for j in range(d // 2)) if grouped else alone(d)
    (term,) = kernel.terms(d)
    means = general(Game, term, players).mean_factors(z[:20], z, np.full(20, 0.05))
    for ladder, run in (
        (rules.ladder(len(players)), lambda game: game.explain(x, z, weights)),
        (rules.general_ladder(len(players)), lambda game: game.explain(x, z, weights, means)),
        (
            rules.general_ladder(len(players)),
            lambda game: game.explain_against(x, z, weights, background, np.array([0.3, 0.7])),
        ),
    ):
        found = run(Game(term, players, ladder))
        swept = run(Swept(term, players, ladder))
        size = np.abs(swept.magnitudes).max()
        assert_close(found.values, swept.values, 2e-15 * size)
        assert_close(found.totals, swept.totals, 2e-15 * size)
        assert (found.magnitudes <= swept.magnitudes * (1.0 + 1e-9)).all()
        assert found.rules
    found, swept = np.zeros((2, len(players) + 1, 3, 50))
    Game(term, players, rules.ladder(len(players))).add_pairs(x, z, found)
    Swept(term, players, rules.ladder(len(players))).add_pairs(x, z, swept)
    assert_close(found, swept, 1e-14)


def test_a_column_that_equals_the_background_has_the_value_0():
    rng = np.random.default_rng(2)
    d = 30
    x, z = rng.normal(size=(1, d)), rng.normal(size=(20, d))
    row = x + (np.arange(d) >= 4) * 0.3
    (term,) = RBF(8.0).terms(d)
    found = general(Game, term).explain_against(x, z, np.ones((20, 1)), row, np.ones(1))
    assert np.array_equal(found.values[0, :4, 0], np.zeros(4))
    assert np.abs(found.values[0, 4:, 0]).min() > 0.0


@pytest.mark.parametrize("bad", [0.0, -0.5, 1.5])
def test_absent_factors_without_exponents_take_nodes(bad):
    rng = np.random.default_rng(3)
    d = 20
    x, z = rng.normal(size=(2, d)), rng.normal(size=(9, d))
    values = rng.uniform(0.5, 1.0, size=(d, 9))
    values[3, 4] = bad
    absent = Factors(values, 1.0 - values)
    (term,) = RBF(8.0).terms(d)
    assert not np.isfinite(to_exponents(absent)).all()
    found = general(Game, term).explain(x, z, np.eye(9), absent)
    swept = general(Swept, term).explain(x, z, np.eye(9), absent)
    assert np.array_equal(found.values, swept.values)
