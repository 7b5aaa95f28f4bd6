"""The general game by ratios of factors, in the compiled hot loop: series in signed exponents."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from pkex.games import rules
from pkex.games.factors import Absent, Factors
from pkex.games.sources import SameFactors
from pkex.kernels import RBF, Categorical, Chi2, Laplacian, Periodic, ProductMatern
from tests._support import naive
from tests._support.cases import alone, assert_close
from tests._support.native_games import ISAS, ByNodes, native
from tests._support.native_games import check as check_against_numpy
from tests._support.pairwise import pairwise

pytestmark = [pytest.mark.native, pytest.mark.digits]

signed_series = native._kernel.signed_series


def distances(size):
    """Return the distances of the nodes of a rule from its centre, in units of 1/2."""
    return 1.0 - 2.0 * rules.few_node(size).nodes[: (size + 1) // 2]


def polynomial(coefficients, s):
    return mpmath.fsum(mpmath.mpf(c) * s**k for k, c in enumerate(coefficients))


@pytest.mark.parametrize("size", [2, 3, 5, 8, 11, 16])
def test_signed_series_keep_their_bounds(size):
    found = signed_series(distances(size))
    assert [terms for terms, *_ in found] == [6, 7, 8, 9, 10, 11, 12, 13, 14]
    for terms, limit, logs, shares in found:
        n_logs = len(logs) * terms // len(shares)
        allowed = 2.0**-53 if n_logs == terms else 3.2 * 2.0**-52
        for i, eta in enumerate(distances(size)):
            log, share = (a[i * n : (i + 1) * n] for a, n in ((logs, n_logs), (shares, terms)))
            # the extrema of the first polynomial that was cut off, on both sides
            for angle in np.pi * np.arange(terms + 1) / terms:
                with mpmath.workdps(40):
                    e = mpmath.mpf(limit) * mpmath.cos(angle)
                    if abs(e) < 1e-9:
                        continue
                    sinh, cosh = mpmath.sinh(e / 2), mpmath.cosh(e / 2)
                    both = cosh + mpmath.mpf(eta) * sinh
                    # beyond the bound there is the rounding of the coefficients
                    assert abs(polynomial(share, e) - 2 * sinh / both / e) <= 2.0**-52 + 2.0**-52
                    assert abs(polynomial(log, e) - mpmath.log(both) / e) <= allowed + 2.0**-53


def test_limits_are_as_proven():
    """What is cut off, with the bound of the coefficients that test_series.py checks."""

    def left_out(terms, limit, first=0, shrink=lambda n: 1.0):
        total = 0.0
        for n in range(terms, 120):
            ways = sum(math.comb(n, (n - k) // 2) for k in range(terms, n + 1) if (n - k) % 2 == 0)
            size = 8.01 * math.pi ** (-n - 2.0 + first) * shrink(n)
            total += size * limit**n * 2.0 ** (1 - n) * ways
        return total

    for terms, limit, *_ in signed_series(distances(8)):
        assert 0.999 * 2.0**-52 < left_out(terms, limit) <= 2.0**-52
        # the n-th coefficient of the logarithms is (1 - eta^2) / (4 (n + 1)) times the one below
        cut = terms if terms < 10 else terms - 1
        allowed = 2.0**-53 if terms < 10 else 3.2 * 2.0**-52
        assert left_out(cut, limit, 1, lambda n: 0.25 / (n + 1)) <= allowed


def test_there_are_none_for_nodes_that_are_too_close_to_the_ends():
    assert signed_series(distances(17)) == []
    assert signed_series(np.array([np.nan])) == []
    assert signed_series(np.array([1.0])) == []


def exact_pair(kind, x, z, b, scale):
    """Return values, total and the largest worth of one pair in 40 digits."""
    d = len(x)
    nodes, weights = naive.gauss_legendre((d + 1) // 2, 40)
    with mpmath.workdps(50):

        def factors(row):
            pairs = zip(row, z, strict=True)
            made = [
                naive.kernel_deficit(kind, float(u), float(v), length_scale=scale) for u, v in pairs
            ]
            return [1 - u for u in made]

        p, a = factors(x), factors(b)
        values = [mpmath.mpf(0)] * d
        for t, w in zip(nodes, weights, strict=True):
            terms = [ai + t * (pi - ai) for ai, pi in zip(a, p, strict=True)]
            product = w * mpmath.fprod(terms)
            values = [v + product / term for v, term in zip(values, terms, strict=True)]
        values = [(pi - ai) * v for v, ai, pi in zip(values, a, p, strict=True)]
        worth = mpmath.fprod(max(pair) for pair in zip(a, p, strict=True))
        sizes = np.array([float(v / worth) for v in values])
        return sizes, float(mpmath.fprod(p) / worth), float(worth)


@pairwise(d=[9, 20, 60], width=[30.0, 3.0, 1.5, 1.0, 0.8, 0.5], kind=["rbf", "laplacian"])
def test_every_value_of_a_pair_is_right_relative_to_the_largest_worth(d, width, kind):
    rng = np.random.default_rng([d, int(10 * width)])
    x, z, b = rng.normal(size=(3, 1, d))
    b[0, 2] = x[0, 2]  # a null player
    b[0, 3] = x[0, 3] * (1.0 + 1e-9)  # and nearly one, whose value keeps its digits
    scale = width * math.sqrt(d / 2) if kind == "rbf" else width * d
    kernel = RBF(scale) if kind == "rbf" else Laplacian(scale)
    exact, total, worth = exact_pair(kind, x[0], z[0], b[0], scale)
    (term,) = kernel.terms(d)
    game = native.NativeGame(term, alone(d), rules.general_ladder(d))
    for isa in ISAS:
        values, found, size = np.empty((1, d, 1)), np.empty((1, 1)), np.empty((1, 1))
        game._pack(None, isa).explain(
            x, z, np.ones((1, 1)), values, found, size, background=b, shares=np.ones(1)
        )
        assert_close(values[0, :, 0] / worth, exact, 4e-15)
        assert_close(found[0, 0] / worth, total, 4e-15)
        assert values[0, 2, 0] == 0.0
        if width >= 1.0:
            assert_close(values[0, 3, 0] / worth / exact[3], 1.0, 1e-13)


@pytest.mark.parametrize("far", [8.0, 20.0, 24.0, 25.0])
def test_far_out_values_are_right_relatively(far):
    """Where row and background are far from all points, factors are tiny and their ratios not."""
    d = 30
    rng = np.random.default_rng(1)
    x, z, b = rng.normal(size=(3, 1, d))
    x[0] *= 0.05
    b[0] = x[0] + 0.02 * rng.normal(size=d)
    z[0] += far * np.sign(z[0])
    exact, total, worth = exact_pair("rbf", x[0], z[0], b[0], math.sqrt(d / 2))
    (term,) = RBF(math.sqrt(d / 2)).terms(d)
    game = native.NativeGame(term, alone(d), rules.general_ladder(d))
    sums = game.explain_against(x, z, np.ones((1, 1)), b, np.ones(1))
    assert worth < 1e-25
    # of an exponent of some hundreds, each unit of rounding costs as many of the worth
    assert_close(sums.values[0, :, 0] / worth, exact, 4e-16 * -math.log(worth))
    assert_close(sums.totals[0, 0] / worth, total, 4e-16 * -math.log(worth))
    assert_close(sums.magnitudes[0, 0] / worth, 1.0, 1e-12)


def games_of(kernel, d, players=None):
    (term,) = kernel.terms(d)
    players = players or alone(d)
    ladder = rules.general_ladder(len(players))
    return (kind(term, players, ladder) for kind in (native.NativeGame, ByNodes))


def compare(actual, expected, atol=4e-15):
    size = expected.magnitudes
    assert_close(actual.values / size[:, None, :], expected.values / size[:, None, :], atol)
    assert_close(actual.totals / size, expected.totals / size, atol)
    assert (actual.magnitudes <= size * (1 + 1e-12)).all()


def check(kernel, x, z, weights, background, players=None):
    """Compare interventional and marginal removal with the other backend."""
    shares = np.full(len(background), 1.0 / len(background))
    game, other = games_of(kernel, x.shape[1], players)
    args = (x, z, weights, background, shares)
    compare(game.explain_against(*args), other.explain_against(*args))
    means = other.mean_factors(background, z, shares)
    expected = other.explain(x, z, weights, means)
    compare(game.explain(x, z, weights, means), expected)  # without exponents
    compare(game.explain(x, z, weights, Absent.of(means)), expected)
    same = SameFactors.of([Factors(*(part.mean(axis=1) for part in means))], len(z) + 5)
    absent = same.at(0, slice(3, 3 + len(z)))
    compare(game.explain(x, z, weights, absent), other.explain(x, z, weights, absent))
    values, others = np.zeros((2, len(game.players) + 1, len(x), len(z)))
    added, more = game.add_pairs(x, z, values, absent), other.add_pairs(x, z, others, absent)
    assert_close(values, others, 4e-15)
    assert added.largest <= more.largest * (1 + 1e-12)


@pairwise(width=[9.0, 4.0, 1.0], n_sets=[1, 3], n_points=[1, 3, 8, 9, 16, 17, 31, 40])
def test_every_number_of_points(n_points, n_sets, width):
    rng = np.random.default_rng(n_points)
    x, z, background = (rng.normal(size=(n, 40)) for n in (2, n_points, 3))
    check(RBF(width), x, z, rng.normal(size=(n_points, n_sets)), background)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(12.0).on(*range(15)) * Laplacian(90.0).on(*range(15, 36)),
        Chi2(0.01),
        Chi2(1.0),
        Periodic(20.0, periodicity=3.0).on(*range(30)) * RBF(30.0),
        Categorical(0.9).on(0, 7) * RBF(9.0).on(*range(1, 36)),
        Categorical(0.0).on(3) * RBF(9.0),  # a factor 0 has no exponent
        Categorical(0.9),
        Categorical(0.2),
        ProductMatern(20.0, nu=0.5),
        ProductMatern(40.0, nu=1.5).on(0) * RBF(9.0),  # has no exponent
        RBF(9.0).on(*range(20)),  # and players without columns
    ],
    ids=repr,
)
def test_every_kind_that_has_exponents(kernel):
    rng = np.random.default_rng(3)
    x, z, background = (rng.gamma(2.0, size=(n, 36)).round(1) for n in (2, 21, 4))
    check(kernel, x, z, rng.normal(size=(21, 1)), background)


@pytest.mark.parametrize("kernel", [RBF(12.0), Laplacian(60.0), RBF(3.0)], ids=repr)
@pytest.mark.parametrize("n_players", [3, 10, 30])
def test_players_with_several_columns(n_players, kernel):
    rng = np.random.default_rng(4)
    x, z, background = (rng.normal(size=(n, 70)) for n in (2, 19, 3))
    order = rng.permutation(70)
    players = tuple(tuple(sorted(order[i::n_players].tolist())) for i in range(n_players))
    check(kernel, x, z, rng.normal(size=(19, 1)), background, players)


def test_near_and_far_rows_of_a_background():
    """Far ones are left to the sweep over both factors, whatever comes before and after."""
    rng = np.random.default_rng(5)
    x, z, background = (rng.normal(size=(n, 30)) for n in (1, 24, 36))
    for far in ([0], [33], [1, 2, 30], range(0, 36, 2)):
        some, points = background.copy(), z.copy()
        some[list(far)] *= 30.0
        points[[3, 20]] *= 20.0
        for n_sets in (1, 2):
            check(RBF(6.0), x, points, rng.normal(size=(24, n_sets)), some)


def test_many_background_rows_need_no_memory_of_their_own():
    """The hot loop meets some rows at a time; the results are those of their parts."""
    rng = np.random.default_rng(6)
    x, z, background = (rng.normal(size=(n, 24)) for n in (1, 5, 1000))
    weights, shares = rng.normal(size=(5, 1)), np.full(1000, 1e-3)
    game, _ = games_of(RBF(4.0), 24)
    whole = game.explain_against(x, z, weights, background, shares)
    parts = [
        game.explain_against(x, z, weights, background[i : i + 100], shares[i : i + 100])
        for i in range(0, 1000, 100)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    assert_close(whole.values, total.values, 1e-15)


def test_a_row_is_explained_as_it_is_alone():
    rng = np.random.default_rng(7)
    x, z, background = (rng.normal(size=(n, 40)) for n in (6, 50, 40))
    x[2] *= 20.0
    weights, shares = rng.normal(size=(50, 1)), np.full(40, 1.0 / 40)
    game, _ = games_of(RBF(5.0), 40)
    means = Absent.of(game.mean_factors(background, z, shares))
    whole = game.explain_against(x, z, weights, background, shares)
    marginal = game.explain(x, z, weights, means)
    for i in range(6):
        row = x[i : i + 1]
        alone_ = game.explain_against(row, z, weights, background, shares)
        assert np.array_equal(alone_.values[0], whole.values[i])
        assert np.array_equal(game.explain(row, z, weights, means).values[0], marginal.values[i])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["x", "z", "background"])
def test_what_is_not_finite_is_refused_or_is_a_factor_of_0(bad, place):
    rng = np.random.default_rng(8)
    arrays = {
        name: rng.normal(size=(n, 40)) for name, n in (("x", 1), ("z", 19), ("background", 3))
    }
    arrays[place][-1, 5] = bad
    game, other = games_of(RBF(9.0), 40)
    x, z, background = arrays.values()
    args = (x, z, np.ones((19, 1)), background, np.full(3, 1.0 / 3.0))
    if math.isnan(bad):
        with pytest.raises(ValueError, match="NaN"):
            game.explain_against(*args)
    elif place == "background":
        compare(game.explain_against(*args), other.explain_against(*args), 1e-13)


def test_exponents_of_absent_factors():
    values = np.array([[1.0, 0.5, 1e-300], [1.0 - 2.0**-40, 0.25, 0.0], [0.5, 1.25, -0.5]])
    deficits = 1.0 - values
    exponents = Absent(values, deficits).exponents
    with np.errstate(divide="ignore", invalid="ignore"):
        assert_close(exponents[0], -np.log(values[0]), 1e-13)
    assert exponents[1, 0] == pytest.approx(2.0**-40 + 2.0**-81, rel=1e-15)
    assert exponents[1, 2] == np.inf
    assert np.isnan(exponents[2, 1:]).all()  # beyond [0, 1], for which there is another rule
    assert_close(exponents[3, 0], exponents[:3, 0].sum(), 1e-15)
    tiles = Absent(values, deficits).tiles
    assert tiles.shape == (1, 4, 16)
    assert np.array_equal(tiles[0, :, :3], exponents, equal_nan=True)


def test_factors_beyond_1_take_the_rule_for_them():
    rng = np.random.default_rng(9)
    x, z = rng.normal(size=(2, 20)), rng.normal(size=(11, 20))
    values = rng.uniform(0.5, 1.5, size=(20, 11))
    absent = Absent(values, 1.0 - values)
    check_against_numpy(
        RBF(4.0),
        x,
        z,
        rng.normal(size=(11, 1)),
        absent=absent,
        ladder=rules.general_ladder(20),
        atol=1e-13,
    )


def test_exponents_that_do_not_fit_are_refused():
    (term,) = RBF(3.0).terms(20)
    program = native.NativeGame(term, alone(20), rules.general_ladder(20))._pack()
    x, z, ones = np.zeros((2, 20)), np.zeros((17, 20)), np.ones((20, 17))
    results = np.empty((2, 20, 1)), np.empty((2, 1)), np.empty((2, 1))
    given = (x, z, np.ones((17, 1)), *results)
    tiles = np.zeros((2, 21, 16))
    assert program.explain(*given, ones, 0.0 * ones, tiles)[0] == 0
    for wrong in (tiles[:1], tiles[:, :20], tiles[:, :, :15], np.asfortranarray(tiles)):
        with pytest.raises(ValueError, match="absent_exponents"):
            program.explain(*given, ones, 0.0 * ones, wrong)
    with pytest.raises(ValueError, match="go with absent factors"):
        program.explain(*given, None, None, tiles)
