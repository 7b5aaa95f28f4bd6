"""`CoalitionForm`: the variance by all coalitions, beside pairs of atoms, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import pkex
from pkex import Explainer, kernels
from pkex.games import coalitions
from pkex.games.atoms import Atoms
from pkex.games.coalitions import CoalitionForm
from pkex.games.plan import Plan
from pkex.games.points import Background
from tests._support.cases import alone, assert_close
from tests._support.posterior_games import functional

RNG = np.random.default_rng(40)
X = RNG.uniform(size=(30, 5))
ROWS, BACKGROUND, SHARES = X[:2] + 0.3, X[10:13].copy(), np.array([0.2, 0.3, 0.5])
BACKGROUND[0, 2:] = ROWS[0, 2:]  # a pair that differs in two features alone
KERNELS = {
    "matern 5/2": gp.Matern([0.5, 0.7, 1.0, 1.5, 2.0], nu=2.5),
    "matern 1/2": gp.Matern(0.8, nu=0.5),
    "rational quadratic": gp.RationalQuadratic(0.7, 1.5),
    "sum": 0.5 * gp.Matern(0.5, nu=1.5) + 2.0 * gp.RBF(1.0),
    "product": gp.Matern(0.8, nu=2.5) * gp.DotProduct(0.5),
}
MODELS = {
    name: GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, X[:, 0] * X[:, 1])
    for name, kernel in KERNELS.items()
}
GROUPS = {"alone": None, "groups": {"both": [1, 3]}}
every_model = pytest.mark.parametrize("name", MODELS)


def explainer(name, **options):
    return Explainer(MODELS[name], BACKGROUND, background_weights=SHARES, **options)


@pytest.fixture
def taken(monkeypatch):
    """Return a list that has an entry for every form whose coalitions are taken."""
    calls, run = [], CoalitionForm.run

    def counted(form, task):
        calls.append(task)
        return run(form, task)

    monkeypatch.setattr(CoalitionForm, "run", counted)
    return calls


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@every_model
def test_values_are_those_of_all_hybrids(name, groups, taken):
    model, found = MODELS[name], explainer(name, groups=groups).explain_variance(ROWS)
    assert len(taken) == len(ROWS) * len(BACKGROUND)
    players = alone(5) if groups is None else [(1, 3), (0,), (2,), (4,)]
    # scikit-learn takes a small difference of numbers of the size of the prior
    atol = 1e-11 * model.kernel_.diag(np.vstack([ROWS, BACKGROUND])).max()
    for i, row in enumerate(ROWS):
        hybrids, weights = functional(row, BACKGROUND, SHARES, players, "interventional")
        variances = model.predict(hybrids, return_std=True)[1] ** 2
        values = weights @ variances
        names = [found.feature_groups.index(tuple(player)) for player in players]
        assert_close(found.values[i][names], values, found.error_bound[i] + atol)
        own = model.predict(row[None], return_std=True)[1][0] ** 2
        assert_close(found.predictions[i], own, found.error_bound[i] + atol)
        base = SHARES @ model.predict(BACKGROUND, return_std=True)[1] ** 2
        assert_close(found.base_values[i], base, found.error_bound[i] + atol)


@pytest.mark.parametrize("index", ["SV", "BV", pkex.games.BetaShapley(4, 2)], ids=str)
@every_model
def test_pairs_of_atoms_have_the_same_values(name, index, taken, monkeypatch):
    explain = explainer(name, index=index, n_jobs=2)
    by_coalitions = explain.explain_variance(ROWS)
    assert taken
    monkeypatch.setattr(CoalitionForm, "suit", staticmethod(lambda *_: False))
    taken.clear()
    by_pairs = explain.explain_variance(ROWS)
    assert not taken
    bound = by_coalitions.error_bound + by_pairs.error_bound
    for one in ("predictions", "base_values"):
        assert (np.abs(getattr(by_coalitions, one) - getattr(by_pairs, one)) <= bound).all()
    assert (np.abs(by_coalitions.values - by_pairs.values) <= bound[:, None]).all()
    assert (by_coalitions.error_bound <= by_pairs.error_bound).all()  # without a shorter sum


def test_a_hierarchy_and_averages_take_pairs(taken):
    explainer("matern 5/2", hierarchy={"first": [0, 1]}).explain_variance(ROWS[:1])
    explainer("matern 5/2", removal="product-of-marginals").explain_variance(ROWS[:1])
    rbf = GaussianProcessRegressor(gp.RBF(1.0), alpha=0.1, optimizer=None).fit(X, X[:, 0])
    Explainer(rbf, BACKGROUND).explain_variance(ROWS[:1])
    assert not taken


def test_features_that_do_not_differ_make_no_coalitions(taken):
    """So that many features are no hindrance where a candidate differs from the other in few."""
    table = RNG.uniform(size=(12, 30))
    kernel = gp.Matern(np.linspace(1.0, 4.0, 30), nu=2.5)
    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(table, table[:, 0])
    row = table[:1].copy()
    row[0, [3, 20]] += 0.4
    found = Explainer(model, table[:1]).explain_variance(row)
    assert len(taken) == 1
    mixed = np.repeat(table[:1], 4, axis=0)
    mixed[1:3, [3, 20]] = [[row[0, 3], mixed[0, 20]], [mixed[0, 3], row[0, 20]]]
    mixed[3] = row[0]
    none, first, second, both = model.predict(mixed, return_std=True)[1] ** 2
    expected = np.zeros(30)
    expected[3] = 0.5 * (first - none + both - second)
    expected[20] = 0.5 * (second - none + both - first)
    assert_close(found.values[0], expected, 1e-12)
    assert (np.delete(found.values[0], [3, 20]) == 0.0).all()
    far = Explainer(model, table[:1]).explain_variance(table[1:2])  # differs in all 30
    assert len(taken) == 1
    assert far.values.shape == (1, 30)


@pytest.mark.parametrize("first", [0, 1])
def test_the_pair_that_differs_most_decides(first):
    """Of 30 features or of 15 groups, in whichever row and background row it is."""
    table = RNG.uniform(size=(12, 30))
    near = np.repeat(table[:1], 2, axis=0)
    near[1, :2] += 0.4  # in one group
    mixed = near.copy()
    mixed[first] = table[5]
    pairs = tuple((j, j + 1) for j in range(0, 30, 2))
    for players, few in ((alone(30), 2), (pairs, 1)):
        plan = Plan.of(kernels.Matern(nu=2.5).terms(30, 1e-6), players, general=True)
        atoms = Atoms(plan, table)
        assert coalitions._pick_most_varied(players, near, table[:1]) == few
        for x, rows in ((mixed, near), (near, mixed)):
            assert coalitions._pick_most_varied(players, x, rows) == len(players)
            assert not CoalitionForm.suit(atoms, x, Background(rows, np.full(2, 0.5)))
        assert CoalitionForm.suit(atoms, near, Background(near, np.full(2, 0.5)))


def test_a_form_that_is_off_is_found(monkeypatch):
    result = CoalitionForm.result

    def perturbed(form):
        sums = result(form)
        sums.values[0, 0] += 1e-6
        return sums

    monkeypatch.setattr(CoalitionForm, "result", perturbed)
    with pytest.raises(pkex.errors.AdditivityError, match="variance minus its base value"):
        explainer("matern 5/2").explain_variance(ROWS)
