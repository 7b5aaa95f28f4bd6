"""The compiled hot loop: it gives what that in NumPy gives, on every instruction set.

The comparison and its tolerance are in `native_games.py`.
"""

from __future__ import annotations

import threading
import time

import mpmath
import numpy as np
import pytest

from pkex.games import numpy_backend, rules
from pkex.games.protocols import Factors
from pkex.kernels import (
    RBF,
    Categorical,
    Cauchy,
    Chi2,
    Custom,
    Laplacian,
    Periodic,
    ProductMatern,
)
from tests._support.cases import KERNELS, alone, assert_close, sample, scales
from tests._support.native_games import ISAS, check, kernel_module, native

pytestmark = pytest.mark.native


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 3), (3, 37, 6), (1, 64, 21)], ids=str)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_every_kernel_as_in_numpy(case, shape):
    rng = np.random.default_rng([len(case.name), *shape])
    n_rows, n_points, d = shape
    kernel = case.build(scales(rng, d))
    x, z = sample(rng, n_rows, d), sample(rng, n_points, d)
    check(kernel, x, z, rng.normal(size=(n_points, 1)))
    check(kernel, x, z, rng.normal(size=(n_rows, n_points, 3)))


@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 16, 33, 100, 257, 600])
def test_every_number_of_players_and_bandwidth(d, width):
    rng = np.random.default_rng(d)
    x, z = rng.normal(size=(2, d)), rng.normal(size=(21, d))
    check(RBF(width * np.sqrt(d)), x, z, rng.normal(size=(21, 1)))


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 100])
def test_every_number_of_points(n_points):
    rng = np.random.default_rng(n_points)
    x, z = rng.normal(size=(3, 6)), rng.normal(size=(n_points, 6))
    for n_sets in (1, 2):
        check(RBF(2.0) * Custom(np.subtract).on(2), x, z, rng.normal(size=(n_points, n_sets)))


@pytest.mark.parametrize("n_sets", [1, 2, 3, 8, 15, 16, 17, 33, 200])
@pytest.mark.parametrize("by_row", [False, True])
def test_every_number_of_weight_sets(n_sets, by_row):
    rng = np.random.default_rng(n_sets)
    x, z = rng.normal(size=(4, 10)), rng.normal(size=(45, 10))
    shape = (4, 45, n_sets) if by_row else (45, n_sets)
    check(Laplacian(5.0), x, z, rng.normal(size=shape))


def test_groups_and_columns_that_no_kernel_covers():
    rng = np.random.default_rng(0)
    x, z, weights = sample(rng, 3, 9), sample(rng, 30, 9), rng.normal(size=(30, 2))
    players = ((8, 0), (3,), (1, 2, 4), (5, 7), (6,))
    for kernel in (
        RBF(scales(rng, 9)),
        RBF(2.0).on(0, 1, 8) * Categorical(0.2).on(4) * Chi2(0.3).on(1, 3),
        ProductMatern(3.0).on(0, 8) * Custom(lambda x, z: 1.0 + x - z).on(8, 3) * RBF(1.5).on(3),
    ):
        check(kernel, x, z, weights, players=players)


def test_long_rules_with_and_without_symmetry():
    """Rules of several groups of nodes, below and above the lam up to which nodes are mirrored."""
    rng = np.random.default_rng(1)
    x, z, weights = rng.normal(size=(2, 90)), rng.normal(size=(24, 90)), rng.normal(size=(24, 1))
    for size in (1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 45):
        rule = rules.exact(2 * size)
        nodes = rng.uniform(size=size)
        other = rules.Rule("any", nodes, rule.weights, 90, np.inf, False, 1.0)
        for chosen in (rule, other):
            ladder = rules.Ladder((chosen,), np.array([np.inf]), 90)
            check(RBF(np.sqrt(90.0)), x, z, weights, ladder=ladder)
            check(RBF(0.5), x, z, weights, ladder=ladder)


@pytest.mark.parametrize("n_players", [1, 2, 3, 6, 20, 71])
def test_the_general_game(n_players):
    rng = np.random.default_rng(n_players)
    x, z = rng.normal(size=(3, n_players)), rng.normal(size=(29, n_players))
    ladder = rules.general_ladder(n_players)
    for present in (
        rng.uniform(-1.0, 1.0, size=(n_players, 29)),
        rng.uniform(-1.0, 1.0, size=(29, n_players)).T,
        np.ones((n_players, 29)),
        rng.normal(size=(n_players, 29)),  # out of range: the fallback
    ):
        absent = Factors(present, 1.0 - present)
        for n_sets in (1, 3):
            check(RBF(1.5), x, z, rng.normal(size=(29, n_sets)), absent=absent, ladder=ladder)
    cosine = Custom(lambda x, z: np.cos(x - z))
    check(cosine, x, z, rng.normal(size=(29, 1)), absent=absent, ladder=ladder)


COLUMNS = [
    RBF(0.8),
    RBF(1e4),
    RBF(1e-4),
    RBF(1e140),
    RBF(1e-140),
    RBF(1e200),  # beyond what the compiled formula takes
    RBF(1e-300),
    Laplacian(0.8),
    Laplacian(1e12),
    Laplacian(5e-324),
    Cauchy(0.8),
    Cauchy(1e-150),
    Cauchy(1e100),
    ProductMatern(1.3, nu=0.5),
    ProductMatern(1.3, nu=1.5),
    ProductMatern(1.3, nu=2.5),
    ProductMatern(1e9, nu=1.5),
    ProductMatern(1e9, nu=2.5),
    ProductMatern(1e-300, nu=2.5),
    Chi2(0.7),
    Chi2(1e-12),
    Chi2(1e300),
    Periodic(0.8, periodicity=0.7),
    Periodic(1e8, periodicity=49.0),
    Categorical(0.3),
]


@pytest.mark.parametrize("kernel", COLUMNS, ids=repr)
def test_deficits_keep_their_relative_accuracy(kernel):
    """With one player and unit weights the values are minus the deficits."""
    rng = np.random.default_rng(5)
    z = np.concatenate(
        [
            rng.gamma(1.0, size=40),
            [0.0, 0.0, 0.5, 49.5, 98.0, 1e-9, 1e-160, 1e-300, 1e9, 1e200, 1e308],
        ]
    )
    z = np.concatenate([z, 0.5 * (1.0 + 10.0 ** -np.arange(16.0))])
    x = np.array([0.0, 0.5, 1.0, 49.0])
    (term,) = kernel.terms(1)
    game = native.NativeGame(term, ((0,),), rules.ladder(1))
    actual = -game.explain(x[:, None], z[:, None], np.eye(len(z))).values[:, 0, :]
    with np.errstate(all="ignore"):
        expected = kernel.deficits(x[:, None], z[None, :])
    normal = expected > 1e-300
    assert_close(actual[normal] / expected[normal], 1.0, 8e-15)
    assert_close(actual[~normal], expected[~normal], 1e-307)


@pytest.mark.parametrize("isa", ISAS)
def test_elementary_functions_are_within_two_ulp(isa):
    rng = np.random.default_rng(7)
    negative = -np.concatenate(
        [
            rng.uniform(0.0, 1.0, size=3000),
            rng.uniform(0.0, 70.0, size=3000),
            rng.uniform(0.0, 760.0, size=3000),
            10.0 ** rng.uniform(-320, 3, size=3000),
            np.log(2.0) * (np.arange(200) + 0.5) * (1 + rng.normal(size=200) * 1e-15),
            [
                0.0,
                5e-324,
                708.3,
                708.4,
                709.0,
                744.0,
                745.0,
                745.13,
                745.14,
                746.0,
                750.0,
                1e6,
                1e300,
            ],
        ]
    )
    half = np.concatenate([rng.uniform(0.0, 0.5, size=6000), -0.5 * negative, [0.0, 0.25, 0.5]])
    half = half[half <= 0.5]
    mpmath.mp.prec = 200
    for name, function, arguments in (
        ("exp", mpmath.exp, negative),
        ("expm1", mpmath.expm1, negative),
        ("sinpi", mpmath.sinpi, half),
    ):
        actual = np.empty_like(arguments)
        kernel_module.function(name, arguments, actual, isa)
        for argument, value in zip(arguments.tolist(), actual.tolist(), strict=True):
            true = function(mpmath.mpf(argument))
            ulp = np.spacing(max(abs(float(true)), np.finfo(float).tiny * 2**-52))
            assert abs(mpmath.mpf(value) - true) < 2.0 * ulp, (name, argument, value)


def test_elementary_functions_pass_on_infinity_and_nan():
    for name, limit in (("exp", 0.0), ("expm1", -1.0)):
        actual = np.empty(2)
        kernel_module.function(name, np.array([-np.inf, np.nan]), actual)
        assert actual[0] == limit
        assert np.isnan(actual[1])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_all_instruction_sets_agree(case, isa):
    rng = np.random.default_rng(11)
    x, z, weights = sample(rng, 2, 11), sample(rng, 43, 11), rng.normal(size=(43, 3))
    ladder = rules.ladder(11)
    for term in case.build(scales(rng, 11)).terms(11):
        game = native.NativeGame(term, alone(11), ladder)
        expected = game.explain(x, z, weights)
        results = np.empty((2, 11, 3)), np.empty((2, 3)), np.empty((2, 3))
        program = game._pack(ladder.fallback, isa)
        status, _ = program.explain(x, z, weights, *results, None, None, None, *game._given(x, z))
        assert status == 0
        for actual, known in zip(results, expected[:3], strict=True):
            assert_close(actual, known, 4e-15 * expected.magnitudes.max())


def test_results_are_reproducible_bit_for_bit():
    rng = np.random.default_rng(2)
    x, z, weights = rng.normal(size=(5, 30)), rng.normal(size=(101, 30)), rng.normal(size=(101, 3))
    (term,) = (RBF(3.0).on(range(20)) * ProductMatern(4.0, nu=2.5).on(range(10, 30))).terms(30)
    game = native.NativeGame(term, alone(30), rules.ladder(30))
    first = game.explain(x, z, weights)
    again = native.NativeGame(term, alone(30), rules.ladder(30)).explain(
        np.asfortranarray(x), z, weights
    )
    for one, two in zip(first[:3], again[:3], strict=True):
        assert one.tobytes() == two.tobytes()
    for i in range(5):  # nor do they depend on the other rows
        assert game.explain(x[i : i + 1], z, weights).values.tobytes() == first.values[i].tobytes()


def test_the_gil_is_released():
    """While a long call runs in a thread, this one goes on."""
    rng = np.random.default_rng(3)
    x, z, weights = rng.normal(size=(300, 100)), rng.normal(size=(500, 100)), np.ones((500, 1))
    (term,) = RBF(0.1).terms(100)
    game = native.NativeGame(term, alone(100), rules.ladder(100))
    game.explain(x[:1], z, weights)
    span = []

    def work():
        span.append(time.perf_counter())
        game.explain(x, z, weights)
        span.append(time.perf_counter())

    thread = threading.Thread(target=work)
    thread.start()
    ticks = []
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.0005)
    thread.join()
    assert sum(span[0] < tick < span[1] for tick in ticks) >= 5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_factors_that_are_not_finite_are_refused(bad):
    x, z, weights = np.zeros((2, 3)), np.zeros((9, 3)), np.ones((9, 1))
    (term,) = Custom(lambda x, z: np.where((x + z) == 7.0, bad, 1.0)).terms(3)
    z[8, 1] = 7.0
    for game in (numpy_backend.NumPyGame, native.NativeGame):
        with pytest.raises(ValueError, match="NaN or infinite factors"):
            game(term, alone(3), rules.ladder(3)).explain(x, z, weights)
    if np.isnan(bad):
        z[8, 1] = bad
        for kernel in (
            RBF(),
            Laplacian(),
            Cauchy(),
            ProductMatern(nu=1.5),
            ProductMatern(nu=2.5),
            Chi2(),
            Periodic(),
        ):
            (term,) = kernel.terms(3)
            with pytest.raises(ValueError, match="NaN or infinite factors"):
                native.NativeGame(term, alone(3), rules.ladder(3)).explain(x, z, weights)


def test_weights_that_are_not_finite_are_passed_on():
    (term,) = RBF().terms(2)
    game = native.NativeGame(term, alone(2), rules.ladder(2))
    for n_sets in (1, 2):
        weights = np.ones((11, n_sets))
        weights[4] = np.nan
        block = game.explain(np.zeros((1, 2)), np.ones((11, 2)), weights)
        assert np.isnan(block.values).all()
        assert np.isnan(block.totals).all()
        assert np.isnan(block.magnitudes).all()


def test_evaluate_sums_the_deficits():
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(3, 6)), rng.normal(size=(50, 6))
    (term,) = (RBF(1.5) * Custom(lambda x, z: np.cos(x - z)).on(1)).terms(6)
    game = native.NativeGame(term, alone(6), rules.ladder(6))
    expected = np.abs(numpy_backend.NumPyGame(term, alone(6), rules.ladder(6)).deficits(x, z)).sum(
        axis=(0, 2)
    )
    assert_close(game.evaluate(x, z), expected, 1e-12)


def test_the_configuration_names_an_instruction_set_that_is_there():
    config = native.config()
    assert config["isa"] in config["isas"]
    assert config["lanes"] in (2, 4, 8)
    assert config["compiler"]
