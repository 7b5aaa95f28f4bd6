"""`Explainer.explain_variance`: far from the training points, with and without noise, how long."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.multioutput import MultiOutputRegressor

import pkex
from pkex import Explainer, Posterior
from pkex._util import progress as _progress
from pkex.games import quadratic
from pkex.games.quadratic import QuadraticGame
from pkex.models import posterior_moments as uncertainty
from pkex.models.sums import add_expansions
from tests._support.cases import alone, assert_close
from tests._support.removal_games import GAMES, ORACLES
from tests._support.unchecked import unchecked

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

        found = Explainer(model, background, removal=removal, n_jobs=1).explain_variance(rows)
        # what is explained is a square of a square root, of the size of the prior: some roundings
        atol = 1e-14 * model.kernel_.diag(np.vstack([rows, background])).max()
        assert (np.abs(found.predictions - predicted(rows)) <= found.error_bound + atol).all()
        added = found.base_values + found.values.sum(axis=1)
        assert (np.abs(added - found.predictions) <= found.error_bound).all()
        if seed == 0:  # enumeration takes its time
            for i, row in enumerate(rows):
                values, base = ORACLES[removal](predicted, row, background, shares, alone(3))
                assert_close(found.values[i], values, found.error_bound[i] + atol)
                assert_close(found.base_values[i], base, found.error_bound[i] + atol)


@every_game
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_a_column_times_a_radial_kernel(scale, removal):
    """Factors of both signs, and larger than 1: so is what a sum of products lacks of them."""
    rng = np.random.default_rng(36)
    X, background = scale * rng.normal(size=(12, 3)), scale * rng.normal(size=(4, 3))
    kernel = gp.Matern(1.5 * scale, nu=1.5) * gp.DotProduct(1.0)
    y = np.sin(X[:, 0]) * X[:, 1]
    model = GaussianProcessRegressor(kernel, alpha=5.0, optimizer=None).fit(X, y)
    rows = scale * rng.normal(size=(2, 3))
    found = Explainer(model, background, removal=removal, n_jobs=1).explain_variance(rows)

    def predicted(at):
        return model.predict(at, return_std=True)[1] ** 2

    for i, row in enumerate(rows):
        values, base = ORACLES[removal](predicted, row, background, np.full(4, 0.25), alone(3))
        assert_close(found.values[i], values, found.error_bound[i])
        assert_close(found.base_values[i], base, found.error_bound[i])
    assert (found.error_bound < 1e-4 * np.abs(found.predictions).max()).all()


def test_the_error_bound_has_what_the_prior_is_rounded_by():
    """Base value and prediction are near 1e6, and can be no nearer than a rounding of that."""
    model, rows, background = far_problem(1e6 * gp.RBF(0.02), 0)
    found = Explainer(model, background).explain_variance(rows)
    assert (found.error_bound >= np.spacing(1e6)).all()
    assert (found.error_bound <= 100.0 * np.spacing(1e6)).all()


@every_game
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_a_value_that_is_off_is_found(scale, removal, monkeypatch):
    """Be it by a millionth of a value that is itself far below the roundings of the variance."""
    model, rows, background = far_problem(gp.RBF(scale), 3, alpha=0.1)
    explain = Explainer(model, background, removal=removal)
    right = explain.explain_variance(rows)
    result = QuadraticGame.result

    def perturbed(form):
        sums = result(form)
        sums.values[0, np.argmax(np.abs(sums.values[0, :, 0]))] *= 1.0 + 1e-6
        return sums

    monkeypatch.setattr(QuadraticGame, "result", perturbed)
    assert np.abs(right.values[0]).max() > 0.0
    with pytest.raises(pkex.errors.AdditivityError, match="variance minus its base value"):
        explain.explain_variance(rows)


# noise: against what the model says of itself

X = np.random.default_rng(21).normal(size=(24, 3))
Y = 40.0 * np.sin(X[:, 0]) + 30.0 * X[:, 1] * X[:, 2]
WHITE = 2.0 * gp.RBF(1.3) + gp.WhiteKernel(0.3)
NOISY = {
    "alpha": (gp.RBF(1.2), {"alpha": 0.2}, 0.0, 0.2),
    "tiny alpha": (gp.RBF(1.2) + gp.WhiteKernel(0.1), {}, 0.1, 0.1 + 1e-10),
    "white": (WHITE, {"alpha": 0.2}, 0.3, 0.5),
    "white, scaled": (WHITE, {"alpha": 0.2, "normalize_y": True}, 0.3, 0.5),
    "white twice": (
        3.0 * WHITE + gp.DotProduct() + gp.WhiteKernel(0.05),
        {"alpha": 0.1},
        0.95,
        1.05,
    ),
    "equal alphas": (WHITE, {"alpha": np.full(24, 0.2), "normalize_y": True}, 0.3, 0.5),
}  # kernel, options, noise of predict and of an observation in the units of the kernel


def noisy(name, y=Y):
    kernel, options, *levels = unchecked(NOISY[name])
    return GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, y), levels


@pytest.mark.parametrize("name", NOISY)
def test_the_noise_of_an_observation(name):
    model, (predicted, observed) = noisy(name)
    rows = X[:4] + 0.3
    own = model.predict(rows, return_std=True)[1] ** 2
    unit = model._y_train_std**2
    explain = Explainer(model, X[4:8])
    by_default, without, with_noise = (
        explain.explain_variance(rows, observation_noise=noise) for noise in (None, False, True)
    )
    atol = 1e-9 * own.max()
    assert_close(by_default.predictions, own, atol)
    assert_close(without.predictions, own - predicted * unit, atol)
    assert_close(with_noise.predictions, own + (observed - predicted) * unit, atol)
    for other in (without, with_noise):  # noise is the same everywhere, so that no feature has it
        assert np.array_equal(other.values, by_default.values)
        added = other.base_values + other.values.sum(axis=1)
        assert (np.abs(added - other.predictions) <= other.error_bound).all()


def test_an_observation_varies_as_a_new_draw_does():
    """By the definition: the joint prior of training targets and of a new one, conditioned."""
    model, _ = noisy("white, scaled")
    row = X[:1] + 0.3
    rows = np.vstack([X, row])
    joint = model.kernel_(rows) + model.alpha * np.eye(len(rows))
    left = joint[-1, -1] - joint[-1, :-1] @ np.linalg.solve(joint[:-1, :-1], joint[:-1, -1])
    found = Explainer(model).explain_variance(row, observation_noise=True)
    assert_close(found.predictions, left * model._y_train_std**2, 1e-9 * found.predictions.max())


def test_noise_of_several_outputs_has_their_units():
    model, (_, observed) = noisy("white, scaled", np.column_stack([Y, 0.01 * Y + X[:, 0]]))
    explain = Explainer(model, X[4:8])
    gap = [
        explain.explain_variance(X[:2], observation_noise=noise).predictions
        for noise in (True, False)
    ]
    unit = model._y_train_std**2
    assert_close(gap[0] - gap[1], np.tile(observed * unit, (2, 1)), 1e-9 * unit.max())


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("alpha", None, "latent variance, without observation noise"),
        ("alpha", True, "predictive variance, observation noise included"),
        ("white", None, "predictive variance, observation noise included"),
        ("white", False, "latent variance, without observation noise"),
    ],
)
def test_a_result_says_whether_noise_is_in_it(name, option, words):
    model, _ = noisy(name)
    found = Explainer(model, X[4:8]).explain_variance(X[:1], observation_noise=option)
    assert words in str(found)
    assert found.quantity == words.partition(",")[0]


def test_noise_that_differs_from_row_to_row():
    """Is left out where it can be, and refused elsewhere."""
    model = GaussianProcessRegressor(WHITE, alpha=np.linspace(0.1, 0.4, 24), optimizer=None)
    explain = Explainer(model.fit(X, Y), X[4:8])
    own = model.predict(X[:2], return_std=True)[1] ** 2
    assert_close(explain.explain_variance(X[:2]).predictions, own, 1e-9)
    without = explain.explain_variance(X[:2], observation_noise=False)
    assert_close(without.predictions, own - 0.3, 1e-9)
    with pytest.raises(pkex.UnsupportedModelError, match=r"differs from row to row.*=False"):
        explain.explain_variance(X[:2], observation_noise=True)


def test_a_white_kernel_that_is_multiplied_by_one_of_the_row():
    odd = gp.RBF(1.0) + gp.WhiteKernel(0.1) * gp.DotProduct(1.0)
    model = GaussianProcessRegressor(odd, optimizer=None).fit(X, Y)
    explain, rows = Explainer(model, X[4:8]), X[:2] + 0.3
    for option in (None, True):
        with pytest.raises(pkex.UnsupportedModelError, match="differs from row to row"):
            explain.explain_variance(rows, observation_noise=option)
    noise = 0.1 * (1.0 + (rows**2).sum(axis=1))
    expected = model.predict(rows, return_std=True)[1] ** 2 - noise
    assert_close(
        explain.explain_variance(rows, observation_noise=False).predictions, expected, 1e-9
    )


def test_an_alpha_that_was_changed_after_the_fit_is_not_believed():
    model, _ = noisy("alpha")
    model.set_params(alpha=0.4)
    with pytest.raises(pkex.UnsupportedModelError, match="is unknown"):
        Explainer(model).explain_variance(X[:1], observation_noise=True)


def test_the_noise_of_an_expansion_is_what_it_was_given():
    kernel = pkex.kernels.RBF()
    cholesky = np.linalg.cholesky(kernel(X) + 0.1 * np.eye(len(X)))

    def variance(option, **noise):
        posterior = Posterior(cholesky, **noise)
        f = pkex.KernelExpansion(X, np.ones(len(X)), kernel, posterior=posterior)
        return Explainer(f, X[4:8]).explain_variance(X[:1], observation_noise=option).predictions

    latent = variance(False, noise=0.2, observation_noise=0.5)
    assert_close(variance(None, noise=0.2, observation_noise=0.5), latent + 0.2, 1e-12)
    assert_close(variance(True, noise=0.2, observation_noise=0.5), latent + 0.5, 1e-12)
    with pytest.raises(pkex.UnsupportedModelError, match=r"Posterior\(..., observation_noise"):
        variance(True, noise=0.2)
    with pytest.raises(TypeError, match="must be None, True or False"):
        variance("yes")
    with pytest.raises(ValueError, match="observation_noise must be a variance"):
        Posterior(cholesky, observation_noise=-0.1)


def test_a_part_that_is_known_has_no_variance_and_warns_of_none():
    """The slope of a prior mean, whose own posterior is times 0."""
    kernel = pkex.kernels.RBF()
    cholesky = np.linalg.cholesky(kernel(X) + 0.1 * np.eye(len(X)))
    options: Any = {"posterior": Posterior(cholesky, observation_noise=0.1)}
    process = pkex.KernelExpansion(X, np.ones(len(X)), kernel, **options)
    known = Posterior(np.ones((1, 1)), np.zeros((1, 1)), 0.0, 0.0)
    slope = pkex.KernelExpansion([[9.0, 1.0, 2.0]], [1.0], pkex.kernels.Linear(), posterior=known)
    explainers = [Explainer(f, X[4:8]) for f in (process, add_expansions([slope, process]))]
    for option in (None, True):
        alone_, both = (e.explain_variance(X[:2], observation_noise=option) for e in explainers)
        assert np.array_equal(both.values, alone_.values)
        assert np.array_equal(both.predictions, alone_.predictions)
    alone_, both = (e(X[:2], return_std=True) for e in explainers)
    assert np.array_equal(both.std, alone_.std)


# how long it takes


class Clock:
    """A clock that goes on by some seconds whenever it is looked at."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def perf_counter(self):
        self.now += self.step
        return self.now


def warned(monkeypatch, kernel, step, n_rows=20, **options):
    """Return what a variance warns of, when every tile of pairs takes so many seconds."""
    monkeypatch.setattr(_progress, "time", Clock(step))
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, Y)
    rows = np.random.default_rng(0).normal(size=(n_rows, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pkex.PerformanceWarning)
        Explainer(model, X[4:6], n_jobs=1).explain_variance(rows, **options)
    assert all(Path(warning.filename) == Path(__file__) for warning in caught)  # points to the call
    return [str(warning.message) for warning in caught]


def test_a_variance_that_takes_long_says_so_once(monkeypatch):
    [said] = warned(monkeypatch, gp.Matern(1.2, nu=1.5), 3000.0)
    assert "the variance of 20 rows will take about" in said
    assert "hours" in said
    for words in ("products", "progress=True", "Fewer rows", "such as RBF"):
        assert words in said
    [said] = warned(monkeypatch, gp.RBF(1.2), 1000.0, progress=True)
    assert "products" not in said
    assert "progress=True" not in said  # it is there


def test_a_variance_that_is_done_soon_says_nothing(monkeypatch):
    assert warned(monkeypatch, gp.Matern(1.2, nu=1.5), 0.0) == []
    # 3 blocks of rows at 15 seconds: a minute is not over
    assert warned(monkeypatch, gp.RBF(1.2), 15.0, n_rows=2 * quadratic._BLOCK + 1) == []


def test_the_forecast_is_that_of_all_outputs(monkeypatch):
    """Of which the first part alone would not take a minute."""
    one = GaussianProcessRegressor(gp.RBF(1.2), alpha=0.1, optimizer=None)
    processes = MultiOutputRegressor(one).fit(X, np.column_stack([Y] * 12))
    monkeypatch.setattr(_progress, "time", Clock(10.0))
    with pytest.warns(pkex.PerformanceWarning, match="about 2 minutes"):
        Explainer(processes, X[4:6], n_jobs=1).explain_variance(X[:2])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 4, 5, 9])
def test_rows_do_not_depend_on_those_beside_them(n_rows, n_jobs, monkeypatch):
    """They are done some at a time, so that a forecast and a bar come early."""
    monkeypatch.setattr(quadratic, "_BLOCK", 4)
    model, _ = noisy("white")
    explain = Explainer(model, X[4:7], n_jobs=n_jobs)
    rows = np.random.default_rng(1).normal(size=(n_rows, 3))
    found = explain.explain_variance(rows)
    assert found.values.shape == (n_rows, 3)
    for i, row in enumerate(rows):
        one = explain.explain_variance(row[None])
        assert_close(found.values[i], one.values[0], 1e-14)
        assert found.base_values[i] == one.base_values[0]


class Bar:
    """What a progress bar showed."""

    def __init__(self, total):
        self.total, self.n, self.shown = total, 0, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, count):
        self.n += count
        self.shown.append(self.n)


@every_game
@pytest.mark.parametrize("n_rows", [1, 100])
@pytest.mark.parametrize("call", ["variance", "std"])
def test_a_progress_bar_moves_and_counts_rows(call, n_rows, removal, monkeypatch):
    bars: Any = []
    monkeypatch.setattr(_progress, "row_bar", lambda n, **_: bars.append(Bar(n)) or bars[-1])
    monkeypatch.setattr(uncertainty, "_PAIRS", 2**9)
    monkeypatch.setattr(quadratic, "_FACTORS", 2**12)
    model = GaussianProcessRegressor(gp.Matern(1.2, nu=1.5), alpha=0.1, optimizer=None)
    explain = Explainer(model.fit(X[:8], Y[:8]), X[2:8], removal=removal)
    rows = np.random.default_rng(2).normal(size=(n_rows, 3))
    if call == "variance":
        explain.explain_variance(rows, progress=True)
    else:
        explain(rows, return_std=True, progress=True)
        bars = bars[1:]  # of the values themselves
        assert len(bars) == 2  # of the prior, and of what the training points explain
    for bar in bars:
        assert bar.total == n_rows
        assert bar.shown[-1] == n_rows
        assert bar.shown == sorted(bar.shown)
    assert any(len(set(bar.shown)) > 5 for bar in bars)  # it moves, also within one row


@every_game
def test_processes_of_kernels_of_several_kinds(removal):
    """Of sums up to an error the base value of every row is found, of products that of all."""
    rng = np.random.default_rng(41)
    X, background, rows = rng.normal(size=(12, 3)), rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    processes = [
        GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, X[:, 0])
        for kernel in (gp.RBF(1.5), gp.Matern(1.5, nu=1.5))
    ]

    def explain(model):
        return Explainer(model, background, removal=removal, n_jobs=1).explain_variance(rows)

    whole = explain(add_expansions([pkex.as_expansion(process) for process in processes]))
    apart = [explain(process) for process in processes]
    for name in ("values", "base_values", "predictions"):
        expected = sum(getattr(one, name) for one in apart)
        assert_close(getattr(whole, name), expected, whole.error_bound.max() + 1e-12)
