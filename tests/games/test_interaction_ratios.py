"""Ratios of pairs at nodes, in NumPy and compiled for every instruction set: beside products
without division in long doubles, and beside each other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import pkex
from pkex.games import _compiled
from pkex.games.gauss import gauss_legendre
from pkex.games.numpy_ratios import NumPyRatios
from pkex.games.protocols import Factors
from pkex.kernels import RBF
from tests._support.pairwise import pairwise
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.native

BACKENDS: dict[str, Any] = {"numpy": NumPyRatios}
if _compiled.GAME is not None:
    from pkex.games import native
    from pkex.games.native.ratios import NativeRatios

    isas = unchecked(native)._kernel.config()["isas"]
    BACKENDS |= {isa: partial(NativeRatios, isa) for isa in isas}

# players, points, repeats: one of everything, parts of vectors and groups, and beyond the size up
# to which the compiled loop forms products itself
SIZES = [(1, 1, 1), (2, 3, 1), (5, 8, 3), (13, 9, 2), (4, 70, 1), (50, 21, 2), (131, 17, 1)]
KINDS = ["neutral", "positive", "vanishing", "both signs", "tail", "outside"]


def problem(kind, players, points, repeats):
    """Return present and absent factors, and weights of one sign."""
    rng = np.random.default_rng(players)
    shape = (players, points * (1 if kind == "neutral" else repeats))
    low = {"both signs": -1.0, "tail": 1e-5}.get(kind, 0.05)
    high = {"tail": 1e-2, "outside": 1.3}.get(kind, 1.0)
    present, absent = rng.uniform(low, high, (players, points)), rng.uniform(low, high, shape)
    if kind == "vanishing":
        present[rng.random(present.shape) < 0.2] = 0.0
        absent[rng.random(shape) < 0.2] = 0.0
        present[rng.random(present.shape) < 0.2] = 1e-20  # not 0, but a - (a - p) is
    given = None if kind == "neutral" else Factors(absent, 1.0 - absent)
    return Factors(present, 1.0 - present), given, -rng.uniform(0.0, 1.0, shape[1])


def products(present, absent, nodes, shares, weights, subset):
    """Return the weighted sum over pairs and nodes of what is left without a subset of players."""
    p = np.asarray(present.values, dtype=np.longdouble)
    a = np.ones_like(p) if absent is None else np.asarray(absent.values, dtype=np.longdouble)
    p = np.tile(p, (1, a.shape[1] // p.shape[1]))
    rest = [j for j in range(len(p)) if j not in subset]
    together = np.prod((a - p)[list(subset)], axis=0)
    factors = a[rest, None] + np.asarray(nodes)[:, None] * (p - a)[rest, None]
    return (np.asarray(shares)[:, None] * np.prod(factors, axis=0) * together * weights).sum()


def scale_of(present, absent, shares, weights):
    """Return a size that none of these sums exceeds: factors of both ends at their largest."""
    p = present.values
    a = np.ones_like(p) if absent is None else absent.values
    largest = np.maximum(np.abs(np.tile(p, (1, a.shape[1] // p.shape[1]))), np.abs(a))
    sizes = np.maximum(largest, 1e-3).prod(axis=0) * np.maximum(1.0, 2.0 * largest.max(axis=0)) ** 2
    return float(np.abs(shares).sum() * (sizes * np.abs(weights)).sum())


@pairwise(backend=list(BACKENDS), kind=KINDS, size=SIZES)
def test_products_of_ratios_are_products_without_division(backend, kind, size):
    """A few dozen roundings, which grow with the number of players."""
    present, absent, weights = problem(kind, *size)
    ratios = BACKENDS[backend]()
    pairs = ratios.measured(RBF().terms(size[0])[0], present, absent, -1.0)
    groups = np.arange(-(-len(weights) // ratios.width))
    rng = np.random.default_rng(0)
    players = size[0]
    couples = {
        tuple(sorted(rng.choice(players, 2, replace=False))) for _ in range(9 * (players > 1))
    }
    for nodes, shares in (([0.0], [1.0]), ([1.0], [2.0]), gauss_legendre(7), gauss_legendre(3)):
        nodes, shares = np.asarray(nodes, dtype=float), np.asarray(shares, dtype=float)
        order = rng.permutation(groups)
        near = 1e-16 * (40 + 8 * players) * scale_of(present, absent, shares, weights)
        sums = ratios.sums(pairs, order, nodes, shares, weights)
        table, plain = ratios.plain(pairs, order, nodes)
        own = np.append(weights, np.zeros(-len(weights) % ratios.width))
        own = own.reshape(-1, ratios.width)[order].reshape(len(table), 1, -1)
        local = (table * shares[:, None] * own).ravel()
        kept = plain.copy()
        for j in range(min(players, 7)):
            truth = products(present, absent, nodes, shares, weights, (j,))
            assert abs(sums[j] - truth) <= near
            assert abs(kept[j] @ local - truth) <= near
        truth = products(present, absent, nodes, shares, weights, ())
        assert abs(sums[-1] - truth) <= near
        for i, j in couples:
            truth = products(present, absent, nodes, shares, weights, (i, j))
            assert abs((kept[i] * kept[j]) @ local - truth) <= near
        if kind == "both signs":
            continue  # the products of the factors, too, have both signs
        gram, others = ratios.gram(pairs, order, nodes, shares, weights)
        assert np.array_equal(gram, gram.T)
        assert np.abs(others - sums).max() <= near
        for i, j in couples:  # weights are negative
            truth = products(present, absent, nodes, shares, weights, (i, j))
            assert abs(-gram[i, j] - truth) <= near


@pairwise(backend=list(BACKENDS)[1:], kind=KINDS, size=SIZES)
def test_pairs_are_measured_alike(backend, kind, size):
    present, absent, _ = problem(kind, *size)
    term = RBF().terms(size[0])[0]
    expected = NumPyRatios().measured(term, present, absent, 0.0)
    actual = BACKENDS[backend]().measured(term, present, absent, 0.0)
    named: Any = zip(expected._fields, expected, actual, strict=True)
    for name, one, other in named:
        if one is None:
            assert other is None
        else:
            np.testing.assert_allclose(other, one, rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_no_number_is_refused(backend):
    present, absent, _ = problem("positive", 5, 8, 1)
    for part in present:
        part[2, 3] = np.nan
    term = RBF().terms(5)[0]
    for given in (None, absent):
        with pytest.raises(ValueError, match="finite"):
            BACKENDS[backend]().measured(term, present, given, 0.0)


@pytest.mark.skipif(len(BACKENDS) == 1, reason="pkex was installed without its native kernel")
@pytest.mark.parametrize("removal", ["neutral", "product-of-marginals", "interventional"])
@pytest.mark.parametrize("n_players", [9, 40])
def test_backends_agree_within_their_errors(removal, n_players, monkeypatch):
    """With signs of weights told apart, as there are many players, and not."""
    rng = np.random.default_rng(3)
    points, alpha = rng.normal(size=(30, n_players)), rng.normal(size=(30, 1))
    for weights in (alpha[:, 0], np.hstack([alpha, alpha[::-1]])):
        f = pkex.KernelExpansion(points, weights, RBF(4.0))
        background = None if removal == "neutral" else points[:5]
        for index in ("k-SII", "STII", "FSII", "FBII"):
            found = {}
            for backend in ("native", "numpy"):
                monkeypatch.setenv("PKEX_BACKEND", backend)
                explain = pkex.Explainer(f, background, removal=removal)
                found[backend] = explain.interactions(points[:2] + 0.1, index=index)
            one, other = found["native"], found["numpy"]
            bound = one.error_bound + other.error_bound
            assert bound.max() < 1e-9
            assert (np.abs(one.pairs - other.pairs).max(axis=(1, 2)) <= bound).all()
            assert (np.abs(one.main - other.main).max(axis=1) <= bound).all()
