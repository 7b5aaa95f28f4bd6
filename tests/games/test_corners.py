"""Integrals in two variables, by both backends, beside plain sums with many more nodes."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.games import rules
from pkex.games.backend import native
from pkex.games.corners import (
    Cells,
    integrate_diagonal,
    integrate_products,
    measure_cells,
    square_of,
)

pytestmark = pytest.mark.native

RANDOM = np.random.default_rng(0)
# players, rows, points, background rows, pairs
SHAPES = [(1, 1, 1, 1, 1), (2, 3, 2, 4, 5), (3, 2, 3, 2, 11), (5, 4, 1, 3, 1), (13, 2, 2, 6, 21)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.fixture(params=["native", "numpy"])
def backend(request, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if request.param == "native" and native() is None:
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", request.param)


def make_cells(shape, most=0.9):
    players, rows, points, others, pairs = shape
    deficits = [(players, rows), (players, points, others), (players, pairs)]
    places = [(points, rows), (points, rows), (others, pairs), (others, pairs)]
    both, beside, none = (RANDOM.uniform(0.0, most, size=size) for size in deficits)
    names = (RANDOM.integers(0, stop, size=count) for stop, count in places)
    return Cells.of(both, beside, none, *names), RANDOM.uniform(0.1, 1.0, size=pairs)


def corners_of(cells, n, m):
    """The deficits of a cell, one number for each player, as the docstring of `Cells` has them."""
    return (
        cells.both[:, n],
        cells.beside[:, cells.left[n], cells.second[m]],
        cells.beside[:, cells.right[n], cells.first[m]],
        cells.none[:, m],
    )


def plain(cells, shares):
    """The integrals of all players with each other, with 40 nodes of Gauss in each variable."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    n_players = len(cells.both)
    matrices = np.zeros((cells.both.shape[1], n_players, n_players))
    for n, m in np.ndindex(len(matrices), len(shares)):
        both, one, other, none = (part[:, None, None] for part in corners_of(cells, n, m))
        t, s = nodes[:, None], nodes
        f = 1.0 - (
            t * s * both + t * (1 - s) * one + (1 - t) * s * other + (1 - t) * (1 - s) * none
        )
        in_t = -(s * both + (1 - s) * one - s * other - (1 - s) * none)
        in_s = -(t * both - t * one + (1 - t) * other - (1 - t) * none)
        for j, k in np.ndindex(n_players, n_players):
            rest = np.delete(f, [j, k], axis=0).prod(axis=0)
            change = (one + other - both - none)[j] if j == k else in_t[j] * in_s[k]
            matrices[n, j, k] += shares[m] * (weights @ (change * rest) @ weights)
    return matrices


@every_shape
def test_integrals_are_those_of_more_nodes(backend, shape):
    (cells, shares), square = make_cells(shape), square_of(rules.exact(shape[0] + 1))
    expected = plain(cells, shares)
    every = np.arange(shape[0])
    size = float(np.abs(expected).max())
    found = integrate_diagonal(cells, square, shares)
    np.testing.assert_allclose(found, expected[:, every, every], rtol=0.0, atol=1e-13 * size)
    products = integrate_products(cells, square, shares)
    products[:, every, every] = found
    np.testing.assert_allclose(products, expected, rtol=0.0, atol=1e-12 * size)


def test_factors_of_nothing(backend):
    """Where a factor and its derivatives are 0 everywhere, so is every product with it."""
    (cells, shares), square = make_cells((3, 2, 2, 2, 3)), square_of(rules.exact(4))
    for part in cells[:3]:
        part[1] = 1.0
    products = integrate_products(cells, square, shares)
    diagonal = integrate_diagonal(cells, square, shares)
    for found in (products, diagonal):  # corners times nodes add up to 1 up to rounding
        np.testing.assert_allclose(found, 0.0, atol=1e-15)


@every_shape
def test_extents_are_the_largest_of_all_cells(backend, shape):
    cells, shares = make_cells(shape, 1.4)
    found = measure_cells(cells)
    for n in range(shape[1]):
        lam, deficits = 0.0, []
        for m in range(len(shares)):
            both, one, other, none = corners_of(cells, n, m)
            changes = both - other, one - none, both - one, other - none
            lam = max(lam, *(float(np.abs(change).sum()) for change in changes))
            deficits += [both, one, other, none]
        np.testing.assert_allclose(found.lam[n], lam, rtol=1e-14)
        assert found.highest[n] == 1.0 - np.min(deficits)
        assert found.lowest[n] == 1.0 - np.max(deficits)


def test_some_cells_have_their_corners(backend):
    cells, shares = make_cells((3, 4, 2, 3, 6))
    square, (rows, pairs) = square_of(rules.exact(4)), (slice(1, 3), slice(2, 5))
    some = cells.cut(rows, pairs)
    assert some.both.shape == (3, 2)
    assert len(some.first) == 3
    expected = plain(some, shares[pairs])
    every = np.arange(3)
    found = integrate_diagonal(some, square, shares[pairs])
    np.testing.assert_allclose(found, expected[:, every, every], rtol=1e-12)
    corners = cells.take(np.array([2, 0])).corners()
    for i, n in enumerate((2, 0)):
        for m in range(6):
            for part, expected in zip(corners, corners_of(cells, n, m), strict=True):
                np.testing.assert_array_equal(part[:, i, m], expected)


@every_shape
def test_every_instruction_set_integrates(shape):
    kernel = pytest.importorskip("pkex.games.native._kernel")
    (cells, shares), square = make_cells(shape), square_of(rules.exact(shape[0] + 1))
    expected = plain(cells, shares)
    size = float(np.abs(expected).max())
    every = np.arange(shape[0])
    for isa in kernel.config()["isas"]:
        sums, matrices = np.empty((shape[1], shape[0])), np.empty((shape[1], shape[0], shape[0]))
        kernel.integrate_cells(*cells, square.packed, shares, sums, isa)
        kernel.multiply_cells(*cells, square.packed, shares, matrices, isa)
        matrices[:, every, every] = sums
        np.testing.assert_allclose(matrices, expected, rtol=0.0, atol=1e-12 * size)
        measures = np.empty((3, shape[1]))
        kernel.measure_cells(*cells, np.unique(cells.first), np.unique(cells.second), measures, isa)
        np.testing.assert_allclose(measures[0], measure_cells(cells).lam, rtol=1e-14)


def test_arrays_are_checked():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    (cells, shares), square = make_cells((2, 3, 2, 4, 5)), square_of(rules.exact(3)).packed
    sums, matrices, measures = np.empty((3, 2)), np.empty((3, 2, 2)), np.empty((3, 3))
    beyond = np.array([0, 1, 2])
    for changes, words in (
        ({"left": beyond}, "left must be places"),
        ({"right": beyond - 1}, "right must be places"),
        ({"first": beyond}, "first must have 5 places"),
        ({"second": np.full(5, 4)}, "second must be places"),
        ({"beside": np.zeros((3, 2, 4))}, "beside must have the shape"),
        ({"none": np.zeros((2, 0))}, "there must be players and pairs"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.integrate_cells(*cells._replace(**changes), square, shares, sums)
    for wrong, words in (
        ((square[:12].copy(), shares, sums), "square must have the shape"),
        ((square[:, :4].copy(), shares, sums), "nodes of square must be padded"),
        ((square[:, :0].copy(), shares, sums), "nodes of square must be padded"),
        ((square, shares[:4], sums), "shares must have the shape"),
        ((square, shares, sums[:2]), "sums must have the shape"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.integrate_cells(*cells, *wrong)
    with pytest.raises(ValueError, match="matrices must have the shape"):
        kernel.multiply_cells(*cells, square, shares, matrices[:2])
    with pytest.raises(ValueError, match="to must have the shape"):
        kernel.measure_cells(*cells, cells.first, cells.second, measures[:2])
    with pytest.raises(ValueError, match="firsts must be places"):
        kernel.measure_cells(*cells, np.array([4]), cells.second, measures)
