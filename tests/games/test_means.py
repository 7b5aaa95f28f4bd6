"""Means of factors over a background by nodes, sweeps and equal values, against many digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from pkex import Explainer, KernelExpansion
from pkex.games import gauss_means, means, numpy_backend, rules
from pkex.games.backend import game_class
from pkex.games.engine import run_reduction
from pkex.games.hierarchy_input import parse_hierarchy
from pkex.games.reductions import MeanFactors
from pkex.kernels import RBF, Categorical, Cauchy, Laplacian
from tests._support.cases import alone
from tests._support.hierarchies import by_orders

pytestmark = pytest.mark.native

GAMES = {"numpy": numpy_backend.NumPyGame, "native": game_class()}
UNIT = 2.0**-53

both_games = pytest.mark.parametrize("kind", GAMES.values(), ids=GAMES)


def game_of(kernel, d, kind=game_class()):  # noqa: B008
    (term,) = kernel.terms(d)
    return kind(term, alone(d), rules.general_ladder(d))


@pytest.fixture(autouse=True)
def every_way(monkeypatch):
    """Small tables take the ways of large ones."""
    monkeypatch.setattr(means, "_LAPLACIAN", 0)
    monkeypatch.setattr(means, "_REPEATED", 0)
    monkeypatch.setattr(gauss_means, "_SHORTEN", 1)


def exact(kernel, x, z, shares):
    """Return the mean factor and the mean deficit of one column at one point, in 40 digits."""
    with mp.workdps(60):
        scale, z = mpf(kernel.length_scale), mpf(z)
        value = deficit = mpf(0)
        for row, share in zip(x, shares, strict=True):
            away = abs(mpf(row) - z) / scale
            factor = mp.exp(-away if isinstance(kernel, Laplacian) else -away * away / 2)
            value += mpf(share) * factor
            deficit += mpf(share) * (1 - factor)  # at least 1e-20, so 40 digits are left
        return value, deficit


def check(found, kernels, x, z, shares, points, n_units):
    """Compare some points: relative to the deficit, and to the factor where that is small.

    The exponent of a tiny factor is rounded as well, and what underflows is 0.
    """
    units = n_units * mpf(UNIT)
    for column, kernel in enumerate(kernels):
        for point in points:
            k, u = exact(kernel, x[:, column], z[point, column], shares)
            value, deficit = (mpf(part[column, point]) for part in found)
            assert abs(deficit - u) <= units * u
            if u < 0.5:  # shares are rounded and do not sum to 1, but what is near 1 is 1 - u
                assert abs(value - (1 - u)) <= units * u + UNIT
            else:
                assert abs(value - k) <= units * k * (1 - mp.log(k)) + mpf("1e-307")


RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=300)
COLUMNS = {
    "normal": (NORMAL, NORMAL),
    "far from 0": (2000.0 + NORMAL, 2000.0 + NORMAL),
    "skewed": (np.exp(2.0 * NORMAL), np.exp(2.0 * NORMAL)),
    "outliers": (np.where(np.arange(300) % 50, NORMAL, 40.0 * NORMAL), NORMAL),
    "elsewhere": (NORMAL, NORMAL + 6.0),
    "ties": (np.round(NORMAL, 1), np.round(NORMAL)),
    "two places": (np.where(np.arange(300) % 2, 0.0, 100.0) + 0.01 * NORMAL, 50.0 * (NORMAL > 0)),
}
POINTS = [0, 50]


@both_games
@pytest.mark.parametrize("scale", [0.02, 0.5, 3.0, 1e6], ids=str)
@pytest.mark.parametrize("make", [RBF, Laplacian])
def test_means_have_the_digits_of_sums(make, scale, kind):
    x, z = (np.stack([pair[i] for pair in COLUMNS.values()], axis=1) for i in (0, 1))
    scales = scale * np.linspace(0.8, 1.3, len(COLUMNS))
    shares = RNG.uniform(0.5, 1.5, size=len(x))
    shares /= shares.sum()
    kernel = make(tuple(scales))
    found = means.mean_factors(game_of(kernel, x.shape[1], kind), x, z, shares)
    kernels = [make(one) for one in scales]
    check(found, kernels, x, z, shares, POINTS, means.mean_roundings(*map(len, (x, z))))


def test_what_is_proven_is_right_and_usual_columns_are_proven():
    x = np.random.default_rng(1).normal(size=(400, 5))
    shares = np.full(400, 1.0 / 400)
    rates = np.array([1e-8, 0.02, 0.1, 0.5, 1e4])

    def sums(some, nodes):
        kernel = RBF(tuple(np.sqrt(0.5 / rates[some])))
        return means._in_blocks(game_of(kernel, len(some)), x[:, some], nodes, shares, 32)

    found = gauss_means.gauss_means(sums, 60.0, x, x, shares, rates, 1024.0)
    assert found.proven[:4].mean() > 0.9
    assert not found.proven[4].any()  # so steep that there is nothing between two rows
    kernels = [RBF(float(np.sqrt(0.5 / rate))) for rate in rates[:4]]
    # what is seen, far below what is proven
    check(found.means, kernels, x, x, shares, range(0, 400, 157), 60.0)


def test_an_interpolated_mean_that_is_off_does_not_count_as_proven():
    """Too few nodes: the bound must tell, point by point."""
    x = np.random.default_rng(2).normal(size=(400, 1))
    shares = np.full(400, 1.0 / 400)
    game = game_of(RBF(1.0), 1)

    def sums(some, nodes):
        return game.mean_factors(x, nodes, shares)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gauss_means, "_terms", lambda width: 5)
        found = gauss_means.gauss_means(sums, 450.0, x, x, shares, np.array([0.5]), 1024.0)
    right = game.mean_factors(x, x, shares)
    off = np.abs(found.means.deficits - right.deficits) > 2048.0 * UNIT * right.deficits
    assert off.any()
    assert not (off & found.proven).any()


@both_games
def test_mixed_kernels_and_orders_of_columns(kind):
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(260, 6)), rng.normal(size=(300, 6))
    x[:, 4], z[:, 4] = rng.integers(3, size=260), rng.integers(3, size=300)
    shares = np.full(260, 1.0 / 260)
    kernel = RBF((2.0, 1.0)).on(3, 0) * Laplacian(2.0).on(1) * Cauchy().on(2) * Categorical().on(4)
    (term,) = kernel.terms(6)  # which leaves a column out
    players = ((5,), (3,), (1,), (0,), (4,), (2,))
    game = kind(term, players, rules.general_ladder(6))
    for found, plain in zip(
        means.mean_factors(game, x, z, shares), game.mean_factors(x, z, shares), strict=True
    ):
        np.testing.assert_allclose(found, plain, rtol=2e-13)


@pytest.mark.parametrize("backend", GAMES)
@pytest.mark.parametrize("removal", ["product-of-marginals", "interventional"])
def test_means_of_some_columns_know_nothing_of_a_hierarchy(removal, backend, monkeypatch):
    """Columns that are averaged in several ways, each with a game of its own."""
    monkeypatch.setenv("PKEX_BACKEND", backend)
    rng = np.random.default_rng(8)
    X, alpha = rng.normal(size=(280, 4)), rng.normal(size=280)
    X[:, 3] = rng.integers(3, size=280)
    kernels = [RBF(2.0), Laplacian(1.5), Cauchy(2.0), Categorical(0.4)]
    kernel = math.prod(each.on(j) for j, each in enumerate(kernels[1:], 1)) * kernels[0].on(0)
    tree, background, row = [[0, 3], [1, 2]], X[:70], X[100:101]

    def factors(rows):
        return np.stack([k(rows[:, [j]], X[:, [j]]) for j, k in enumerate(kernels)])

    present, absent = factors(row), factors(background)
    if removal == "product-of-marginals":
        absent = absent.mean(axis=1, keepdims=True)

    def worth(coalition):
        chosen = [present[j] if j in coalition else absent[j] for j in range(4)]
        return math.prod(chosen).mean(axis=0) @ alpha

    expected, base = by_orders(tree)(worth, 4)
    expansion = KernelExpansion(X, alpha, kernel)
    found = Explainer(expansion, background, removal=removal, hierarchy=tree)(row)
    np.testing.assert_allclose(found.values[0], expected, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.base_values[0], base, rtol=0.0, atol=1e-12)


@both_games
def test_means_over_pairs_under_a_hierarchy(kind):
    x = np.asfortranarray(np.random.default_rng(9).normal(size=(300, 3)))
    (term,) = (RBF(2.0).on(0, 2) * Laplacian(2.0).on(1)).terms(3)
    tree = parse_hierarchy([[0, 1], 2], ["a", "b", "c"])
    ladders = tree.ladder(3, None, general=True), rules.general_ladder(3)
    ours, plain = (means.mean_over_pairs(kind(term, alone(3), ladder), x) for ladder in ladders)
    for part, other in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(part, other)


def test_groups_and_products_on_one_column_are_added_up():
    x = np.random.default_rng(4).normal(size=(300, 3))
    shares = np.full(300, 1.0 / 300)
    (term,) = RBF().terms(3)
    (twice,) = (RBF() * Laplacian().on(1)).terms(3)
    for game in (
        game_class()(term, ((0, 2), (1,)), rules.general_ladder(2)),
        game_class()(twice, alone(3), rules.general_ladder(3)),
    ):
        plain, found = game.mean_factors(x, x, shares), means.mean_factors(game, x, x, shares)
        assert np.array_equal(found.values, plain.values)


@both_games
@pytest.mark.parametrize("kernel", [RBF(2.0), RBF(0.3), Laplacian(5.0), RBF(1e6)], ids=str)
def test_means_over_pairs_leave_out_a_row_with_itself(kernel, kind, monkeypatch):
    x = np.asfortranarray(np.random.default_rng(5).normal(size=(300, 3)))
    game = game_of(kernel, 3, kind)
    assert means.mean_over_pairs(game, x) is not None
    found = run_reduction(MeanFactors([game], x)).single(0)
    monkeypatch.setattr("pkex.games.reductions.mean_over_pairs", lambda *_: None)
    plain = run_reduction(MeanFactors([game], x)).single(0)
    for part, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-13)


def test_steep_kernels_over_pairs_are_added_up():
    """The mean over different rows is far below 1/n, which a row has with itself."""
    x = np.asfortranarray(np.random.default_rng(6).normal(size=(300, 2)))
    assert means.mean_over_pairs(game_of(Laplacian(1e-4), 2), x) is None
    assert means.mean_over_pairs(game_of(RBF(1e-4), 2), x) is None


def test_the_default_explainer_takes_these_means():
    """The base value is the sum of products of means, here in many digits."""
    rng = np.random.default_rng(7)
    X, alpha = rng.normal(size=(280, 4)), np.zeros(280)
    alpha[[3, 100, 277]] = 1.0, -2.0, 3.0
    kernel = RBF(2.0)
    explainer = Explainer(KernelExpansion(X, alpha, kernel), n_jobs=1)
    shares = np.full(280, 1.0 / 280)
    with mp.workdps(40):
        base = mpf(0)
        for i in np.flatnonzero(alpha):
            product = mpf(alpha[i])
            for j in range(4):
                product *= exact(kernel, X[:, j], X[i, j], shares)[0]
            base += product
        error = explainer(X[:1]).error_bound[0]
        assert abs(mpf(explainer.expected_value) - base) <= min(error, 1e-13)
