"""`Explainer.variance`: away from the training points, with and without noise, and how long."""

from __future__ import annotations

import numpy as np
import pytest
from cases import alone, assert_close
from removal_games import GAMES, ORACLES
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import pkex
from pkex import Explainer
from pkex.games.quadratic import QuadraticForm

every_game = pytest.mark.parametrize("removal", GAMES)

# short length scales: most rows are far from all training points
SHORT = {
    "rbf": gp.RBF(0.1),
    "shorter": gp.RBF(0.02),
    "scaled": 4e3 * gp.RBF(0.1),
    "noise": gp.RBF(0.1) + gp.WhiteKernel(0.1),
    "two scales": gp.RBF(0.1) + 1e-3 * gp.RBF(2.0),
    "laplacian": gp.PairwiseKernel(metric="laplacian", gamma=20.0),
    "linear": gp.RBF(0.1) + 1e-4 * gp.DotProduct(1.0),
    "times linear": gp.RBF(0.1) * gp.DotProduct(0.5),
}


def far_problem(kernel, seed, **options):
    """Return a process of 30 rows in 3 columns, other rows, and a background of 3 others."""
    rng = np.random.default_rng(seed)
    X, background, rows = (rng.normal(size=(n, 3)) for n in (30, 3, 2))
    model = GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, X[:, 0])
    return model, rows, background


@every_game
@pytest.mark.parametrize("name", SHORT)
def test_values_add_up_away_from_the_training_points(name, removal):
    """Where the variance is that of the prior but for a small difference, which is explained."""
    shares = np.full(3, 1.0 / 3.0)
    for seed in range(10):
        model, rows, background = far_problem(SHORT[name], seed, alpha=0.1 * (seed % 2) + 1e-10)

        def predicted(at, model=model):
            return model.predict(at, return_std=True)[1] ** 2

        found = Explainer(model, background, removal=removal, n_jobs=1).variance(rows)
        # what is explained is a square of a square root, of the size of the prior: some roundings
        atol = 1e-14 * model.kernel_.diag(np.vstack([rows, background])).max()
        assert (np.abs(found.predictions - predicted(rows)) <= found.error + atol).all()
        added = found.base_values + found.values.sum(axis=1)
        assert (np.abs(added - found.predictions) <= found.error).all()
        if seed == 0:  # enumeration takes its time
            for i, row in enumerate(rows):
                values, base = ORACLES[removal](predicted, row, background, shares, alone(3))
                assert_close(found.values[i], values, found.error[i] + atol)
                assert_close(found.base_values[i], base, found.error[i] + atol)


def test_the_error_bound_has_what_the_prior_is_rounded_by():
    """Base value and prediction are near 1e6, and can be no nearer than a rounding of that."""
    model, rows, background = far_problem(1e6 * gp.RBF(0.02), 0)
    found = Explainer(model, background).variance(rows)
    assert (found.error >= np.spacing(1e6)).all()
    assert (found.error <= 100.0 * np.spacing(1e6)).all()


@every_game
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_a_value_that_is_off_is_found(scale, removal, monkeypatch):
    """Be it by a millionth of a value that is itself far below the roundings of the variance."""
    model, rows, background = far_problem(gp.RBF(scale), 3, alpha=0.1)
    explain = Explainer(model, background, removal=removal)
    right = explain.variance(rows)
    result = QuadraticForm.result

    def perturbed(form):
        sums = result(form)
        sums.values[0, np.argmax(np.abs(sums.values[0, :, 0]))] *= 1.0 + 1e-6
        return sums

    monkeypatch.setattr(QuadraticForm, "result", perturbed)
    assert np.abs(right.values[0]).max() > 0.0
    with pytest.raises(pkex.errors.AdditivityError, match="variance minus its base value"):
        explain.variance(rows)
