"""The uncertainty of the latent function of `GaussianProcessClassifier`, against enumeration.

The oracle is Laplace's approximation as scikit-learn has it: ``k(x, z) - v_x' v_z`` with
``v = B^-1/2 W^1/2 k``, on all hybrids of a row and a background.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as gp

import pkex
from pkex import Explainer
from tests._support.cases import alone, assert_close
from tests._support.models import MODELS
from tests._support.posterior_games import functional
from tests._support.removal_games import GAMES, ORACLES

D = 3
RNG = np.random.default_rng(8)
X = RNG.normal(size=(20, D))
SCORES = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
ROWS, BACKGROUND, SHARES = RNG.normal(size=(2, D)), RNG.normal(size=(2, D)), np.array([0.4, 0.6])
KERNELS = {
    "rbf": 4.0 * gp.RBF([0.8, 1.0, 1.7]),
    "matern": 3.0 * gp.Matern(1.5, nu=2.5),
    "noise": 2.0 * gp.RBF(1.3) + gp.WhiteKernel(0.3),
    "certain": 1e7 * gp.RBF(1.0) + 1e6 * gp.DotProduct(1.0),  # with weights of 1e-10
}
every_game = pytest.mark.parametrize("removal", GAMES)


def fitted(name, y=SCORES > 0.0, **options):
    return GaussianProcessClassifier(KERNELS[name], optimizer=None, **options).fit(X, y)


def latent_covariance(machine, rows):
    """Return the covariance of the latent function at some rows, without noise."""
    apart = np.asarray(rows) + 0.0
    white = np.linalg.solve(
        machine.L_, machine.W_sr_[:, None] * machine.kernel_(machine.X_train_, apart)
    )
    return machine.kernel_(apart, apart.copy()) - white.T @ white


def values_of(covariance, row, removal):
    hybrids, matrix = functional(row, BACKGROUND, SHARES, alone(D), removal)
    return matrix @ covariance(hybrids) @ matrix.T


def explainer(model, removal, **options):
    return Explainer(model, BACKGROUND, background_weights=SHARES, removal=removal, **options)


@every_game
@pytest.mark.parametrize("name", KERNELS)
def test_covariances_are_those_of_laplaces_approximation(name, removal):
    model = fitted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pkex.PrecisionWarning)
        found = explainer(model, removal)(ROWS, return_std=True, return_cov=True)
    for i, row in enumerate(ROWS):
        machine = model.base_estimator_
        expected = values_of(lambda rows: latent_covariance(machine, rows), row, removal)  # noqa: B023
        size = np.diagonal(expected).max()
        assert_close(found.cov[i], expected, 1e-9 * size)
        assert_close(found.std[i], np.sqrt(np.diagonal(expected)), 1e-8 * size**0.5)


def test_training_points_without_weight_do_not_count():
    """A class that is certain has the weight 0, whose inverse is infinite."""
    model = fitted("rbf")
    machine = model.base_estimator_
    machine.W_sr_[[0, 3]] = 0.0
    matrix = np.outer(machine.W_sr_, machine.W_sr_) * machine.kernel_(X)
    machine.L_ = np.linalg.cholesky(np.eye(len(X)) + matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pkex.PrecisionWarning)
        found = explainer(model, "interventional")(ROWS, return_cov=True).cov
    own = values_of(lambda rows: latent_covariance(machine, rows), ROWS[0], "interventional")
    assert_close(found[0], own, 1e-12)


@every_game
@pytest.mark.parametrize("name", ["rbf", "noise"])
def test_the_variance_is_that_of_the_latent_function(name, removal):
    model = fitted(name)
    machine = model.base_estimator_
    level = 0.3 * (name == "noise")

    def variance(rows):
        return np.diagonal(latent_covariance(machine, rows)) + level

    found = explainer(model, removal).explain_variance(ROWS)
    for i, row in enumerate(ROWS):
        values, base = ORACLES[removal](variance, row, BACKGROUND, SHARES, alone(D))
        assert_close(found.values[i], values, 1e-10)
        assert_close(found.base_values[i], base, 1e-10)
    assert_close(found.predictions, variance(ROWS), 1e-10)
    if hasattr(model, "latent_mean_and_variance"):  # of scikit-learn 1.7 and later
        assert_close(found.predictions, model.latent_mean_and_variance(ROWS)[1], 1e-10)
    with pytest.raises(pkex.UnsupportedModelError, match="noise of this model is unknown"):
        explainer(model, removal).explain_variance(ROWS, observation_noise=True)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_classes_have_the_posterior_of_their_machines(multi_class):
    classes = np.digitize(SCORES, [-0.7, 0.7])
    model = fitted("rbf", classes, multi_class=multi_class)
    every = model.base_estimator_.estimators_
    outputs = {"outputs": "ovo"} if multi_class == "one_vs_one" else {}
    found = explainer(model, "interventional", **outputs)(ROWS, return_std=True).std
    for output, machine in enumerate(every):
        own = values_of(lambda rows: latent_covariance(machine, rows), ROWS[0], "interventional")  # noqa: B023
        assert_close(found[0, :, output], np.sqrt(np.diagonal(own)), 1e-9)
    if multi_class == "one_vs_one":  # the mean over the pairs of a class, which are independent
        by_class = explainer(model, "interventional")(ROWS, return_std=True).std
        pairs = np.square(found)
        assert_close(by_class[..., 0] ** 2, (pairs[..., 0] + pairs[..., 1]) / 4.0, 1e-10)


def test_every_classifier_of_the_list_has_standard_deviations():
    cases = [case for case in MODELS if case.name.startswith("GPC")]
    assert len(cases) >= 4
    for case in cases:
        model = case.model()
        rows = np.asarray(model.base_estimator_.estimators_[0].X_train_
                          if hasattr(model.base_estimator_, "estimators_")
                          else model.base_estimator_.X_train_)[:4]  # fmt: skip
        found = Explainer(model, rows, **case.given)(rows[:1] + 0.1, return_std=True)
        assert found.std.shape == found.values.shape
        assert (found.std > 0.0).any()


def test_leaving_out_a_row_is_not_that_of_a_regression():
    explain = Explainer(fitted("rbf"), BACKGROUND)
    with pytest.raises(pkex.UnsupportedModelError, match="leave_one_out needs"):
        explain.leave_one_out()
    assert explain.influence(ROWS).kind == "representer"
