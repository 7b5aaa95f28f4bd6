"""Factors near 1, which the compiled hot loop explains by series in their exponents."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from pkex.games import numpy_backend, rules
from pkex.kernels import RBF, Categorical, Chi2, Laplacian, Periodic, ProductMatern
from tests._support import naive
from tests._support.cases import alone, assert_close
from tests._support.native_games import ISAS, check, native
from tests._support.pairwise import pairwise

pytestmark = [pytest.mark.native, pytest.mark.digits]

series = native._kernel.series
SIZES = range(1, 17)


def shares_and_logs(t, s):
    """Return g(s) / s and l(s) / s in many digits."""
    u = -mpmath.expm1(-s)
    return u / (1 - t * u) / s, mpmath.log1p(-t * u) / s


def polynomial(coefficients, s):
    return mpmath.fsum(mpmath.mpf(c) * s**k for k, c in enumerate(coefficients.tolist()))


@pytest.mark.parametrize("size", SIZES)
def test_series_keep_their_bounds(size):
    rule = rules.few_node(size)
    found = series(rule.nodes)
    assert [terms for terms, *_ in found] == [6, 7, 8, 9, 10, 11, 12, 14]
    for terms, limit, logs, shares in found:
        shares = np.reshape(shares, (size, terms))
        logs = np.reshape(logs, (size, -1))
        allowed = 2.0**-55 if logs.shape[1] == terms else 3 * 2.0**-52
        for t, log, share in zip(rule.nodes, logs, shares, strict=True):
            # the extrema of the first polynomial that was cut off, and some points between
            for angle in np.pi * np.arange(1, 2 * terms + 1) / (2 * terms):
                with mpmath.workdps(40):
                    s = limit * mpmath.sin(angle / 2) ** 2
                    true_share, true_log = shares_and_logs(mpmath.mpf(t), s)
                    # beyond the bound there is the rounding of the coefficients
                    assert abs(polynomial(share, s) - true_share) <= 2.0**-52 + 2.0**-52
                    assert abs(polynomial(log, s) - true_log) <= allowed + 2.0**-53


def test_coefficients_of_a_share_are_as_small_as_the_limits_assume():
    """(2 + 2 cosh x) sum |x + i pi (2k+1)|^(-n-1) <= 8.01 pi^(-n-1) from n = 7 on."""
    poles = np.pi * (2.0 * np.arange(20_000) + 1.0)
    for n in range(7, 40):
        for x in np.linspace(0.0, 5.3, 107):
            distances = np.hypot(x, poles) / np.pi
            assert (4.0 + 4.0 * math.cosh(x)) * (distances ** (-n - 1.0)).sum() <= 8.01


def test_there_are_none_for_nodes_that_are_too_close_to_the_ends():
    assert series(rules.few_node(17).nodes) == []
    assert series(np.array([0.5, np.nan])) == []
    assert series(np.array([0.0])) == []


@pairwise(
    d=[24, 60, 200],
    width=[30.0, 5.0, 3.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.6],
    kind=["rbf", "laplacian"],
)
def test_every_value_of_a_pair_keeps_its_digits(d, width, kind):
    rng = np.random.default_rng([d, int(10 * width)])
    x, z = rng.normal(size=(2, 1, d))
    scale = width * math.sqrt(d / 2) if kind == "rbf" else width * d
    kernel = RBF(scale) if kind == "rbf" else Laplacian(scale)
    deficits = [
        naive.kernel_deficit(kind, float(a), float(b), length_scale=scale)
        for a, b in zip(x[0], z[0], strict=True)
    ]
    exact = np.array([float(v) for v in naive.shapley([deficits], [1.0], digits=40)])
    (term,) = kernel.terms(d)
    game = native.NativeGame(term, alone(d), rules.ladder(d))
    for isa in ISAS:
        values, total, magnitude = np.empty((1, d, 1)), np.empty((1, 1)), np.empty((1, 1))
        game._pack(None, isa).explain(x, z, np.ones((1, 1)), values, total, magnitude)
        assert_close(values[0, :, 0] / exact, 1.0, 4e-15)
        assert_close(total[0, 0], 1.0 + exact.sum(), 4e-15)


@pytest.mark.parametrize("n_points", [1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 33, 40])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_every_number_of_points(n_points, n_sets):
    rng = np.random.default_rng(n_points)
    x, z = rng.normal(size=(3, 40)), rng.normal(size=(n_points, 40))
    check(RBF(9.0), x, z, rng.normal(size=(n_points, n_sets)))


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(12.0).on(*range(15)) * Laplacian(90.0).on(*range(15, 36)),
        Chi2(0.01),
        Periodic(20.0, periodicity=3.0).on(*range(30)) * RBF(30.0),
        Categorical(0.9).on(0, 7) * RBF(9.0).on(*range(1, 36)),
        Categorical(0.0).on(3) * RBF(9.0),
        ProductMatern(20.0, nu=0.5),
        ProductMatern(40.0, nu=1.5).on(0) * RBF(9.0),  # has no exponent
        RBF(9.0).on(*range(20)),  # and players without columns
        RBF(9.0) + Laplacian(99.0),
    ],
    ids=repr,
)
def test_every_kind_that_has_exponents(kernel):
    rng = np.random.default_rng(3)
    x, z = rng.gamma(2.0, size=(2, 36)).round(1), rng.gamma(2.0, size=(37, 36)).round(1)
    for n_sets in (1, 3):
        check(kernel, x, z, rng.normal(size=(37, n_sets)))


def test_players_with_several_columns():
    rng = np.random.default_rng(4)
    x, z, weights = rng.normal(size=(2, 70)), rng.normal(size=(50, 70)), rng.normal(size=(50, 1))
    order = rng.permutation(70)
    players = tuple(tuple(sorted(order[i::30].tolist())) for i in range(30))
    check(RBF(12.0), x, z, weights, players=players)


def test_points_near_and_far_in_one_row():
    """Near ones are done by series, the first far one makes the row go on without."""
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 50)), rng.normal(size=(64, 50))
    for far in ([0], [20], [63], [16, 17, 40], range(64)):
        some = z.copy()
        some[list(far)] *= 20.0
        for n_sets in (1, 2):
            check(RBF(8.0), x, some, rng.normal(size=(64, n_sets)))


def test_pair_values_are_as_in_numpy():
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(3, 40)), rng.normal(size=(21, 40))
    (term,) = RBF(9.0).terms(40)
    game = native.NativeGame(term, alone(40), rules.ladder(40))
    expected, actual = np.zeros((2, 41, 3, 21))
    numpy_backend.NumPyGame(term, alone(40), rules.ladder(40)).add_pairs(x, z, expected)
    game.add_pairs(x, z, actual)
    assert_close(actual, expected, 4e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 9, 36])
def test_what_is_not_finite_is_refused(bad, place):
    rng = np.random.default_rng(7)
    x, z = rng.normal(size=(1, 40)), rng.normal(size=(37, 40))
    z[place, 5] = bad
    (term,) = RBF(9.0).terms(40)
    game = native.NativeGame(term, alone(40), rules.ladder(40))
    if math.isnan(bad):
        with pytest.raises(ValueError, match="NaN"):
            game.explain(x, z, np.ones((37, 1)))
    else:  # as in NumPy: a factor 0
        other = numpy_backend.NumPyGame(term, alone(40), rules.ladder(40))
        expected = other.explain(x, z, np.ones((37, 1)))
        assert_close(game.explain(x, z, np.ones((37, 1))).values, expected.values, 1e-13)


def test_equal_columns_have_equal_values_and_null_players_none():
    rng = np.random.default_rng(8)
    x, z = rng.normal(size=(2, 40)), rng.normal(size=(30, 40))
    z[:, 7], x[:, 7] = z[:, 3], x[:, 3]
    z[:, 11] = x[0, 11]
    (term,) = RBF(9.0).terms(40)
    values = (
        native.NativeGame(term, alone(40), rules.ladder(40)).explain(x, z, np.ones((30, 1))).values
    )
    assert np.array_equal(values[:, 7], values[:, 3])
    assert values[0, 11, 0] == 0.0
