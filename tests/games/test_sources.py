"""Sources of factors: given arrays, by both backends, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.games import Banzhaf
from pkex.games.engine import run_reduction
from pkex.games.plan import Plan
from pkex.games.protocols import Factors
from pkex.games.reductions import ByRow
from pkex.games.sources import GivenFactors
from tests._support.cases import alone, assert_close
from tests._support.naive import shapley_by_enumeration


@pytest.fixture(params=["numpy", "auto"])
def backend(request, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", request.param)


def enumerated(worth, d):
    return np.array(shapley_by_enumeration(worth, d), dtype=float)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 2, 7), (6, 3, 20)], ids=str)
def test_given_factors(shape, general):
    d, n_rows, n_points = shape
    rng = np.random.default_rng(shape)
    present = rng.random((d, n_rows, n_points))
    absent = rng.random((d, n_rows, n_points)) if general else None
    weights = rng.normal(size=(n_rows, n_points, 2))
    source = GivenFactors.of(present, absent)
    plan = Plan.of((), alone(d), general=general)
    without = np.ones_like(present) if absent is None else absent
    bases = np.einsum("ri,ris->rs", without.prod(axis=0), weights)
    sums = run_reduction(ByRow(plan, source, weights, bases), n_jobs=2)
    sums.check()
    for row in range(n_rows):
        expected = np.zeros((d, 2))
        for i in range(n_points):

            def worth(subset, row=row, i=i):
                inside = [j in subset for j in range(d)]
                return np.where(inside, present[:, row, i], without[:, row, i]).prod()

            expected += np.outer(
                np.array(shapley_by_enumeration(worth, d), dtype=float), weights[row, i]
            )
        assert_close(sums.values[row], expected, 1e-13 * n_points)


@pytest.mark.usefixtures("backend")
def test_given_factors_take_any_measure():
    rng = np.random.default_rng(0)
    present = rng.random((5, 2, 3))
    source = GivenFactors.of(present, measure=Banzhaf())
    found = source.explain(0, slice(0, 2), slice(0, 3), np.ones((3, 1)))
    product = (1.0 + present) / 2.0
    for j in range(5):
        others = np.delete(product, j, axis=0).prod(axis=0)
        assert_close(found.values[:, j, 0], ((present[j] - 1.0) * others).sum(axis=1), 1e-15)


@pytest.mark.usefixtures("backend")
def test_absent_factors_that_rows_share():
    rng = np.random.default_rng(1)
    present, absent = rng.random((4, 3, 5)), rng.random((4, 5))
    weights = rng.normal(size=(5, 1))
    own = GivenFactors.of(present, np.repeat(absent[:, None], 3, axis=1))
    shared = GivenFactors(own.game, own.present, Factors(absent, 1.0 - absent))
    rows, points = slice(1, 3), slice(0, 4)
    first, second = (s.explain(0, rows, points, weights[points]) for s in (own, shared))
    assert_close(second.values, first.values, 1e-15)
    assert_close(second.totals, first.totals, 1e-15)
