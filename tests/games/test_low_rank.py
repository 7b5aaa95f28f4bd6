"""Kernel matrices of low rank, players by themselves made of them, and weights looked up."""

from typing import Any

import numpy as np
import pytest

from pkex.games import lookup
from pkex.games.backend import native
from pkex.kernels import RBF, Categorical, Cauchy, Custom, Laplacian, Linear, Matern, Polynomial
from pkex.kernels.low_rank import ACCEPTED, find_root
from pkex.statistics.low_rank import univariate_sums
from pkex.statistics.pair_weights import MMDWeights
from pkex.statistics.target_weights import HSICWeights

pytestmark = pytest.mark.native

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(480, 4))
X[:, 3] = RANDOM.integers(5, size=480)
SMOOTH = [
    RBF(1.5),
    0.3 * RBF(2.0) + 2.0 * RBF(4.0),
    RBF(2.0).on(0, 1, 2) * Categorical(0.25).on(3),
    Cauchy(6.0),
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_a_root_gives_every_entry(kernel):
    for player in ([0], [3]):
        terms = [term.restrict(player) for term in kernel.terms(4)]
        exact = sum(term.worth(X, X) for term in terms)
        root = find_root(terms, X, 64)
        assert root is not None
        assert root.shape[1] < 40
        # what is left of the diagonal, and rounding of a sum of a few dozen products
        assert np.abs(root @ root.T - exact).max() <= (ACCEPTED + 64 * 2.0**-52) * exact.max()


def test_there_is_no_root_where_ranks_are_large_or_nothing_is_known():
    few = find_root(RBF(1.5).terms(1), X[:, :1], 64)
    assert find_root(RBF(1.5).terms(1), X[:, :1], few.shape[1]) is not None
    assert find_root(RBF(1.5).terms(1), X[:, :1], few.shape[1] - 1) is None
    assert find_root(Laplacian(1.0).terms(1), X[:, :1], 64) is None
    # 1 for equal values and symmetric, but of a user's own
    assert find_root(Custom(lambda x, z: np.exp(-((x - z) ** 2))).terms(1), X[:, :1], 64) is None
    assert find_root(Linear().terms(1), X[:, :1], 64) is None

    class Mine(RBF):
        pass

    assert find_root(Mine(1.5).terms(1), X[:, :1], 64) is None


def weights_of(n_rows, kind, with_self):
    if kind == "mmd":
        return MMDWeights(n_rows // 3, n_rows - n_rows // 3, with_self)
    y = RANDOM.normal(size=(n_rows, 1))
    if kind == "classes":
        return HSICWeights(np.floor(y.clip(-1.9, 1.9)), Categorical(0.0), with_self)
    return HSICWeights(y, RBF(20.0), with_self)


@pytest.mark.parametrize("with_self", [False, True])
@pytest.mark.parametrize("kind", ["mmd", "classes", "target"])
def test_players_by_themselves(kind, with_self, monkeypatch):
    """Against sums over all pairs with permuted weights; units of several rows are met as well."""
    monkeypatch.setattr("pkex.statistics.pair_weights.UNITS", 128)
    monkeypatch.setattr("pkex.statistics.pair_weights._FEWEST_UNITS", 16)
    monkeypatch.setattr("pkex.statistics.target_weights._FEWEST_OF_CLASS", 4)
    monkeypatch.setattr("pkex.statistics.low_rank._ROOTS", 300)  # players in several parts
    monkeypatch.setattr("pkex.statistics.low_rank._ENTRIES", 300)  # and few sets at once
    weights = weights_of(len(X), kind, with_self)
    shuffled = weights.shuffled(5, np.random.default_rng(3))
    assert (len(shuffled.layers) > 1) == (kind != "target")
    # wide, as ranks must be small beside the number of rows
    kernel = RBF(40.0).on(0, 1, 2) * Categorical(0.25).on(3)
    players = [(0,), (1, 2), (3,)] if kind != "target" else [(0,), (1,), (3,)]
    found = univariate_sums(kernel.terms(4), players, X, shuffled)
    factored = shuffled.factored
    assert factored.table.shape[1] == {"mmd": 1, "classes": 4}.get(kind, factored.table.shape[1])
    assert found.sums.shape == (len(players), 6)
    # the row of a unit that stands for its kind in a set: one whose unit has it without permutation
    example = {kind: unit for unit, kind in enumerate(factored.kinds[0])}
    every = weights.block(slice(0, len(X)), slice(0, len(X)))
    for place, player in enumerate(players):
        matrix: Any = sum(term.restrict(player).worth(X, X) for term in kernel.terms(4))
        if not with_self:
            np.fill_diagonal(matrix, 0.0)
        for b, kinds in enumerate(factored.kinds):
            stands_for = np.empty(len(X), dtype=int)
            for layer in shuffled.layers:
                units = [example[kind] for kind in kinds[: len(layer)]]
                stands_for[layer] = shuffled.layers[0][units]
            expected = (every[np.ix_(stands_for, stands_for)] * matrix).sum()
            assert abs(found.sums[place, b] - expected) <= found.rounding[place]
    assert (found.rounding <= 1e-11 * shuffled.total).all()
    again = univariate_sums(kernel.terms(4), players, X, shuffled, n_jobs=2)
    np.testing.assert_array_equal(found.sums, again.sums)


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Polynomial(2), Matern(1.0, 2.5)], ids=repr)
def test_other_targets_take_a_pass_over_all_pairs(kernel):
    y = RANDOM.normal(size=(400, 1))
    shuffled = HSICWeights(y, kernel, False).shuffled(2, np.random.default_rng(0))
    assert shuffled.factored is None
    assert univariate_sums(RBF(9.0).terms(4), [(0,), (1,)], X, shuffled) is None


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_weights_are_looked_up_and_contracted(backend, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if backend == "native" and native() is None:
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    for size, rows, points, n_sets, n_values in (
        (1, 1, 1, 1, 1),
        (37, 5, 29, 7, 3),
        (200, 3, 8, 24, 4),
        (300, 2, 290, 57, 9),
        (64, 2, 64, 49, 5),
        (9, 4, 0, 3, 2),
    ):
        matrix = RANDOM.normal(size=(size + rows, size))
        orders = np.array([RANDOM.permutation(size) for _ in range(n_sets)], dtype=np.int32)
        left, right = orders[:, :rows] + rows, orders[:, size - points :]
        values = RANDOM.normal(size=(n_values, rows, points))
        found = lookup.contract_looked_up(matrix, left, right, values)
        weights = matrix[left[:, :, None], right[:, None]]
        expected = np.einsum("vrp,srp->vs", values, weights)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_every_instruction_set_contracts():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    matrix, values = RANDOM.normal(size=(50, 50)), RANDOM.normal(size=(6, 4, 40))
    left, right = (RANDOM.integers(50, size=(31, n), dtype=np.int32) for n in (4, 40))
    expected = np.einsum("vrp,srp->vs", values, matrix[left[:, :, None], right[:, None]])
    for isa in kernel.config()["isas"]:
        sums = np.empty((6, 31))
        kernel.contract_looked_up(matrix, left, right, values, sums, isa)
        np.testing.assert_allclose(sums, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 7, 31, 32, 33, 100])
def test_sizes_are_added_up(count):
    values = RANDOM.normal(size=(3, 1, count))
    expected = np.abs(values).sum(axis=(1, 2))
    np.testing.assert_allclose(lookup.sum_sizes(values), expected, rtol=1e-14)
    kernel = pytest.importorskip("pkex.games.native._kernel")
    for isa in kernel.config()["isas"]:
        sums = np.full(3, np.nan)
        kernel.sum_sizes(values, sums, isa)
        np.testing.assert_allclose(sums, expected, rtol=1e-14)


def test_what_is_looked_up_is_checked():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    matrix, values, sums = np.zeros((3, 3)), np.zeros((1, 2, 2)), np.zeros((1, 2))
    places = np.array([[0, 2]] * 2, dtype=np.int32)
    wide = np.zeros((2, 4), dtype=np.int32)
    for wrong, words in (
        ((matrix, places + 1, places, values, sums), "left must be numbers of rows"),
        ((matrix, places, places - 1, values, sums), "right must be numbers of columns"),
        ((matrix, places, wide, values, sums), "right must have the sets"),
        ((matrix, places, wide[:, ::2], values, sums), "right must be contiguous"),
        ((matrix, places, places, values, np.zeros((2, 2))), "sums must have the shape"),
        ((np.zeros((3, 2)), places, places, values, sums), "right must be numbers of columns"),
        ((np.zeros((2, 3)), places, places, values, sums), "left must be numbers of rows"),
        ((np.zeros((3, 0)), places, places, values, sums), "right must be numbers of columns"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.contract_looked_up(*wrong)
