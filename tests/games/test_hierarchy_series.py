"""Half deficits by series, as the compiled loop has them for hierarchies of factors near 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from pkex.games import Ordered, numpy_backend
from pkex.games.hierarchy_input import parse_hierarchy
from pkex.kernels import RBF, Categorical, Laplacian, ProductMatern
from tests._support import naive
from tests._support.cases import alone, assert_close
from tests._support.hierarchies import exact_weight
from tests._support.native_games import ISAS, native

pytestmark = [pytest.mark.native, pytest.mark.digits]


def names(d):
    return [f"x{j}" for j in range(d)]


def binary(d, rng):
    vertices: list[Any] = list(range(d))
    while len(vertices) > 1:
        first, second = rng.permutation(len(vertices))[:2]
        merged = [vertices[first], vertices[second]]
        vertices = [v for i, v in enumerate(vertices) if i not in (first, second)] + [merged]
    return vertices[0]


def trees(d):
    rng = np.random.default_rng(d)
    return [
        parse_hierarchy(tree, names(d))
        for tree in (
            binary(d, rng),
            [list(range(d // 2)), Ordered([[j] for j in range(d // 2, d - 2)]), d - 2, d - 1],
        )
    ]


def factors(x, z, width):
    deficits = [
        naive.kernel_deficit("rbf", float(a), float(b), length_scale=width)
        for a, b in zip(x[0], z[0], strict=True)
    ]
    return [1 - Fraction(mpmath.nstr(deficit, 40)) for deficit in deficits]


@pytest.mark.parametrize("signed", [False, True])
def test_series_keep_their_bounds(signed):
    found = native._kernel.deficit_series(signed)
    assert len(found) == (8 if signed else 6)
    for terms, (limit, coefficients) in enumerate(found, start=6):
        assert len(coefficients) == terms
        with mpmath.workdps(40):
            for angle in np.pi * np.arange(1, 4 * terms + 1) / (4 * terms):
                share = mpmath.cos(angle) if signed else mpmath.sin(angle / 2) ** 2
                s = limit * share
                true = -mpmath.expm1(-s) / (2 * s)
                value = mpmath.fsum(mpmath.mpf(c) * s**k for k, c in enumerate(coefficients))
                # beyond the bound there is the rounding of the coefficients
                assert abs(value - true) <= 2.0**-55 + 2.0**-54


@pytest.mark.parametrize("width", [1e3, 30.0, 9.0, 5.0, 3.5, 2.5, 2.0, 1.5, 1.0])
@pytest.mark.parametrize("which", [0, 1])
def test_every_value_of_a_pair_keeps_its_digits(width, which):
    d = 12
    rng = np.random.default_rng(int(10 * width))
    x, z = rng.uniform(-1.5, 1.5, size=(2, 1, d))
    tree = trees(d)[which]
    (term,) = RBF(width).terms(d)
    game = native.NativeGame(term, alone(d), tree.ladder(d, None, general=False))
    p = factors(x, z, width)
    expected = np.array([float((p[j] - 1) * exact_weight(tree, p, j)) for j in range(d)])
    product = float(math.prod(p))
    for isa in ISAS:
        values, total, magnitude = np.empty((1, d, 1)), np.empty((1, 1)), np.empty((1, 1))
        game._pack(None, isa).explain(x, z, np.ones((1, 1)), values, total, magnitude)
        assert_close(values[0, :, 0] / expected, 1.0, 4e-15)
        assert_close(total[0, 0] / product, 1.0, 4e-15)


@pytest.mark.parametrize("width", [1e3, 30.0, 9.0, 5.0, 3.5, 2.5, 2.0, 1.5])
@pytest.mark.parametrize("which", [0, 1])
def test_values_of_a_pair_with_a_background_row_keep_theirs(width, which):
    """Exponents of ratios are right to a few units of those of both factors."""
    d = 12
    rng = np.random.default_rng(int(10 * width))
    x, z, background = rng.uniform(-1.5, 1.5, size=(3, 1, d))
    tree = trees(d)[which]
    (term,) = RBF(width).terms(d)
    game = native.NativeGame(term, alone(d), tree.ladder(d, None, general=True))
    p, a = factors(x, z, width), factors(background, z, width)
    ratios = [there / gone for there, gone in zip(p, a, strict=True)]
    start = math.prod(a)
    expected = [float((ratios[j] - 1) * exact_weight(tree, ratios, j) * start) for j in range(d)]
    sums = game.explain_against(x, z, np.ones((1, 1)), background, np.ones(1))
    sizes = ((x - z) ** 2 + (background - z) ** 2)[0] / (2.0 * width**2)
    assert (np.abs(sums.values[0, :, 0] - expected) <= 4e-15 * sizes).all()
    assert_close(sums.totals[0, 0] / float(math.prod(p)), 1.0, 4e-15)


def compare(kernel, x, z, weights, tree, players=None):
    d = x.shape[1]
    players = players or alone(d)
    ladder = tree.ladder(len(players), None, general=False)
    for term in kernel.terms(d):
        theirs = numpy_backend.NumPyGame(term, players, ladder).explain(x, z, weights)
        game = native.NativeGame(term, players, ladder)
        ours = game.explain(x, z, weights)
        size = np.abs(weights).sum(axis=0)
        assert_close(ours.values / size, theirs.values / size, 4e-15)
        assert_close(ours.totals / size, theirs.totals / size, 4e-15)


@pytest.mark.parametrize("n_points", [1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 33, 40])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_every_number_of_points(n_points, n_sets):
    rng = np.random.default_rng(n_points)
    x, z = rng.normal(size=(3, 13)), rng.normal(size=(n_points, 13))
    for tree in trees(13):
        compare(RBF(9.0), x, z, rng.normal(size=(n_points, n_sets)), tree)


def test_points_near_and_far_in_one_row():
    """Near ones are done by series, the first far one makes the row go on without."""
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 13)), rng.normal(size=(64, 13))
    for far in ([0], [20], [63], [16, 17, 40], range(64)):
        some = z.copy()
        some[list(far)] *= 20.0
        for tree in trees(13):
            compare(RBF(8.0), x, some, rng.normal(size=(64, 1)), tree)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(12.0).on(*range(5)) * Laplacian(90.0).on(*range(5, 13)),
        Categorical(0.9).on(0, 7) * RBF(9.0).on(1, 2),  # and players without columns
        ProductMatern(40.0, nu=1.5).on(0) * RBF(9.0),  # has no exponent
        Categorical(0.9),  # costs none
        RBF(9.0) + Laplacian(99.0),
    ],
    ids=repr,
)
def test_kinds_with_and_without_exponents(kernel):
    rng = np.random.default_rng(3)
    x, z = rng.gamma(2.0, size=(2, 13)).round(1), rng.gamma(2.0, size=(37, 13)).round(1)
    for tree in trees(13):
        compare(kernel, x, z, rng.normal(size=(37, 3)), tree)


def test_players_with_several_columns():
    rng = np.random.default_rng(4)
    x, z, weights = rng.normal(size=(2, 40)), rng.normal(size=(50, 40)), rng.normal(size=(50, 1))
    order = rng.permutation(40)
    players = tuple(tuple(sorted(order[i::13].tolist())) for i in range(13))
    for tree in trees(13):
        compare(RBF(12.0), x, z, weights, tree, players)


def test_pair_values_are_as_in_numpy():
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(3, 13)), rng.normal(size=(21, 13))
    (term,) = RBF(9.0).terms(13)
    for tree in trees(13):
        ladder = tree.ladder(13, None, general=False)
        expected, actual = np.zeros((2, 14, 3, 21))
        numpy_backend.NumPyGame(term, alone(13), ladder).add_pairs(x, z, expected)
        native.NativeGame(term, alone(13), ladder).add_pairs(x, z, actual)
        assert_close(actual, expected, 4e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 9, 36])
def test_what_is_not_finite_is_refused(bad, place):
    rng = np.random.default_rng(7)
    x, z = rng.normal(size=(1, 13)), rng.normal(size=(37, 13))
    z[place, 5] = bad
    (term,) = RBF(9.0).terms(13)
    for tree in trees(13):
        ladder = tree.ladder(13, None, general=False)
        game = native.NativeGame(term, alone(13), ladder)
        if math.isnan(bad):
            with pytest.raises(ValueError, match="NaN"):
                game.explain(x, z, np.ones((37, 1)))
        else:  # as in NumPy: a factor 0
            compare(RBF(9.0), x, z, np.ones((37, 1)), tree)
