"""Standard deviations of interaction values, against the model's own covariance of coalitions."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVR

import pkex
from tests._support.cases import alone, assert_close
from tests._support.mixtures import MixtureByDefinition, mixture_of_processes
from tests._support.naive_interactions import interactions as by_definition
from tests._support.removal_games import GAMES, spliced

RNG = np.random.default_rng(6)
KERNELS = {
    "ard": lambda d: 2.0 * gp.RBF(np.linspace(0.8, 1.6, d)),
    "matern": lambda d: gp.Matern(np.linspace(1.0, 2.0, d), nu=2.5),
    "linear": lambda d: gp.RBF(np.full(d, 1.2)) + 0.5 * gp.DotProduct(1.0),
    "times linear": lambda d: gp.RBF(np.full(d, 1.2)) * gp.DotProduct(0.5),
}
INDICES = ("k-SII", "SII", "STII", "FSII", "BII", "Moebius", "Co-Moebius", "CHII")
every_game = pytest.mark.parametrize("removal", GAMES)


def process(d, name="ard", outputs=None):
    X = np.random.default_rng(d).normal(size=(12, d))
    y = np.sin(X[:, 0]) * X[:, -1]
    y = y if outputs is None else np.outer(y, outputs)
    model = GaussianProcessRegressor(KERNELS[name](d), alpha=0.05, optimizer=None, normalize_y=True)
    return model.fit(X, y)


def case(d):
    shares = np.array([0.2, 0.5, 0.3]) if d < 4 else np.array([0.4, 0.6])
    return RNG.normal(size=(2, d)), RNG.normal(size=(len(shares), d)), shares


def covariance_of_coalitions(model, row, background, shares, removal):
    """The posterior covariance of the worths of all coalitions, by the model's own."""
    d = len(row)
    rows, weights = background, shares
    if removal == "product-of-marginals":
        draws = np.array(list(product(range(len(background)), repeat=d)))
        weights = shares[draws].prod(axis=1)
        rows = background[draws, np.arange(d)]
    chosen = [[j for j in range(d) if m >> j & 1] for m in range(1 << d)]
    hybrids = np.concatenate([spliced(row, rows, alone(d), present) for present in chosen])
    unique, back = np.unique(hybrids, axis=0, return_inverse=True)
    cov = model.predict(unique, return_cov=True)[1]
    matrix = np.zeros((1 << d, len(unique)))
    for m in range(1 << d):
        np.add.at(matrix[m], back.ravel()[m * len(rows) : (m + 1) * len(rows)], weights)
    return matrix @ cov @ matrix.T


def check(found, model, rows, background, shares, removal, index, order):
    d = rows.shape[1]
    for i, row in enumerate(rows):
        cov = covariance_of_coalitions(model, row, background, shares, removal)
        values = by_definition(np.eye(1 << d), index, order)
        expected = {S: np.sqrt(max(0.0, w @ cov @ w)) for S, w in values.items()}
        tolerance = 1e-9 * np.sqrt(np.abs(cov).max())  # roots of variances right to 1e-15 or so
        squares = 1e-11 * np.abs(cov).max()
        for S in combinations(range(d), 1):
            assert abs(found.main_std[(i, *S)] ** 2 - expected[S] ** 2) < squares
        for j, k in combinations(range(d), 2):
            assert abs(found.pairs_std[i, j, k] ** 2 - expected[j, k] ** 2) < squares
            assert found.pairs_std[i, j, k] == found.pairs_std[i, k, j]
        assert tolerance < found.main_std[i].max()  # else nothing was compared
        assert tolerance < found.pairs_std[i].max()
        assert (np.diagonal(found.pairs_std[i]) == 0.0).all()


@every_game
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [2, 3, 4])
def test_those_of_the_models_own_posterior_on_all_coalitions(d, name, removal):
    model, (rows, background, shares) = process(d, name), case(d)
    explainer = pkex.Explainer(
        model, background, background_weights=shares, removal=removal, n_jobs=1
    )
    found = explainer.interactions(rows, return_std=True)
    check(found, model, rows, background, shares, removal, "k-SII", 2)
    plain = explainer.interactions(rows)
    np.testing.assert_array_equal(found.pairs, plain.pairs)
    assert plain.pairs_std is None


@every_game
@pytest.mark.parametrize("index", INDICES)
def test_every_index(index, removal):
    model, (rows, background, shares) = process(3), case(3)
    explainer = pkex.Explainer(
        model, background, background_weights=shares, removal=removal, n_jobs=1
    )
    found = explainer.interactions(rows, index=index, return_std=True)
    check(found, model, rows, background, shares, removal, index, 2)


@every_game
def test_chosen_subsets(removal):
    model, (rows, background, shares) = process(4, "linear"), case(4)
    explainer = pkex.Explainer(
        model, background, background_weights=shares, removal=removal, n_jobs=1
    )
    subsets = [(0, 1, 2), (3,), (1, 2), (0, 1, 2, 3)]
    found = explainer.interactions(rows, index="SII", subsets=subsets, return_std=True)
    for i, row in enumerate(rows):
        cov = covariance_of_coalitions(model, row, background, shares, removal)
        values = by_definition(np.eye(16), "SII", 4)
        expected = [np.sqrt(values[S] @ cov @ values[S]) for S in subsets]
        assert_close(found.values_std[i], expected, 1e-6)
        assert min(expected) > 1e-4


def test_several_outputs_have_their_scales():
    model, (rows, background, _) = process(3, outputs=[1.0, -2.0]), case(3)
    found = pkex.Explainer(model, background).interactions(rows, return_std=True)
    assert found.pairs_std.shape == (2, 3, 3, 2)
    assert_close(found.pairs_std[..., 1], 2.0 * found.pairs_std[..., 0], 1e-9)
    one = found.select_output(1, "to_frame")
    np.testing.assert_array_equal(one.main_std, found.main_std[..., 1])


@every_game
def test_a_mixture_has_the_spread_of_its_samples(removal):
    rows, background, shares = case(3)
    explainer = pkex.Explainer(
        mixture_of_processes(), background, background_weights=shares, removal=removal, n_jobs=1
    )
    model = MixtureByDefinition()
    found = explainer.interactions(rows, return_std=True)
    check(found, model, rows, background, shares, removal, "k-SII", 2)
    found = explainer.interactions(rows, index="SII", return_std=True)
    check(found, model, rows, background, shares, removal, "SII", 2)
    subsets = [(0, 1, 2), (1,), (0, 2)]
    found = explainer.interactions(rows, index="SII", subsets=subsets, return_std=True)
    for i, row in enumerate(rows):
        cov = covariance_of_coalitions(model, row, background, shares, removal)
        values = by_definition(np.eye(8), "SII", 3)
        expected = [np.sqrt(values[S] @ cov @ values[S]) for S in subsets]
        assert_close(found.values_std[i], expected, 1e-9)


def test_text_frame_and_file(tmp_path):
    model, (rows, background, _) = process(3), case(3)
    found = pkex.Explainer(model, background).interactions(rows[:1], return_std=True)
    top = found.top(1)[0].features
    i, j = (found.feature_names.index(name) for name in top)
    assert f"± {found.pairs_std[0, i, j]:.2g}" in repr(found)
    assert "posterior standard deviation" in repr(found)
    assert found.to_frame()[f"{' & '.join(top)} std"].item() == found.pairs_std[0, i, j]
    found.save(tmp_path / "interactions.npz")
    again = pkex.Interactions.load(tmp_path / "interactions.npz")
    np.testing.assert_array_equal(again.pairs_std, found.pairs_std)
    np.testing.assert_array_equal(again.main_std, found.main_std)


def test_what_has_no_standard_deviations_is_refused():
    model, (rows, background, _) = process(3), case(3)
    explainer = pkex.Explainer(model, background)
    with pytest.raises(ValueError, match="return_std supports main effects and pairs"):
        explainer.interactions(rows, max_order=3, return_std=True)
    with pytest.raises(ValueError, match="return_std does not support FBII with max_order=2"):
        explainer.interactions(rows, index="FBII", return_std=True)
    with pytest.raises(ValueError, match="does not support neutral removal"):
        pkex.Explainer(model, removal="neutral").interactions(rows, return_std=True)
    vectors = SVR().fit(model.X_train_, model.y_train_)
    with pytest.raises(pkex.UnsupportedModelError, match="return_std needs the posterior"):
        pkex.Explainer(vectors, background).interactions(rows, return_std=True)
