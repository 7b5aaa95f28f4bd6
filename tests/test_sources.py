"""Sources of factors: given arrays and pairs of points, by both backends, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from cases import KERNELS, alone, assert_close, sample, scales
from naive import shapley_by_enumeration
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import pkex
from pkex.games import Banzhaf
from pkex.games.engine import reduced
from pkex.games.plan import Plan
from pkex.games.reductions import ByRow
from pkex.games.sources import GivenFactors, PairsOfPoints, Points, SameFactors


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
    sums = reduced(ByRow(plan, source, weights, bases), n_jobs=2)
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
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_pairs_of_points_are_a_quadratic_form(case):
    d = 4
    rng = np.random.default_rng(len(case.name))
    kernel, x, z = case.build(scales(rng, d)), sample(rng, 2, d), sample(rng, 3, d)
    plan = Plan.of(kernel.terms(d), alone(d), apart=False)
    form = rng.normal(size=(3, 3))
    source = PairsOfPoints.of(Points(plan.games(), np.asfortranarray(x), np.asfortranarray(z)))
    assert source.shape == (2, 9)
    weights = form.reshape(-1, 1)
    worth_of_none = sum(term.coefficient for term in plan.terms) ** 2 * form.sum()
    sums = reduced(ByRow(plan, source, weights, np.array([worth_of_none])))
    sums.check()
    for row in range(2):

        def worth(subset, row=row):
            values = np.zeros(3)
            for term in plan.terms:
                factors = term.factors(x[row : row + 1], z)[0]
                values += term.coefficient * factors[:, sorted(subset)].prod(axis=1)
            return values @ form @ values

        size = max(abs(worth(set(s))) for k in range(d + 1) for s in combinations(range(d), k))
        size += np.abs(form).sum() * max(1.0, np.abs(kernel(x, z)).max()) ** 2
        assert_close(
            sums.values[row, :, 0],
            np.array(shapley_by_enumeration(worth, d), dtype=float),
            1e-12 * size,
        )


@pytest.mark.usefixtures("backend")
def test_the_variance_of_a_gaussian_process_is_such_a_form():
    """``k(x, x) - k' K^-1 k`` for an RBF: minus the form, and a constant."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(12, 3)), rng.normal(size=(4, 3))
    model = GaussianProcessRegressor(gp.RBF(1.5), alpha=0.1, optimizer=None).fit(X, X[:, 0])
    inverse = np.linalg.inv(gp.RBF(1.5)(X) + 0.1 * np.eye(12))
    plan = Plan.of(pkex.kernels.RBF(1.5).terms(3), alone(3))
    source = PairsOfPoints.of(Points(plan.games(), np.asfortranarray(rows), np.asfortranarray(X)))
    sums = reduced(ByRow(plan, source, -inverse.reshape(-1, 1), np.array([-inverse.sum()])))
    sums.check()
    variance = model.predict(rows, return_std=True)[1] ** 2
    assert_close(1.0 + sums.totals[:, 0], variance, 1e-12)


def test_pairs_of_points_have_no_absent_factors():
    plan = Plan.of(pkex.kernels.RBF(1.0).terms(2), alone(2), general=True)
    x = np.asfortranarray(np.ones((2, 2)))
    absent = SameFactors.of([plan.games()[0].mean_factors(x, x[:1], np.full(2, 0.5))], 1)
    with pytest.raises(ValueError, match="absent factors of 1 only"):
        PairsOfPoints.of(Points(plan.games(), x, x, absent))
