"""Indices of posterior draws: beside brute force, the exact posterior, and what is refused."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVR

import pkex
from pkex import kernels
from pkex.errors import UnsupportedModelError
from pkex.explain import posterior_draws
from pkex.explain.fitted import read_model
from pkex.explain.problem import Problem
from pkex.games.players import parse_groups
from pkex.kernels.spectral import draw_frequencies
from pkex.models.posterior import SampleMixture
from pkex.models.sums import add_expansions
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(36)
X = RNG.uniform(-1.0, 1.0, size=(9, 3))
Y = np.sin(3.0 * X[:, 0]) * X[:, 1] + X[:, 2]
KERNELS = [
    gp.RBF([0.7, 0.9, 1.5]),
    2.0 * gp.Matern([0.7, 0.9, 1.5], nu=2.5),
    gp.RationalQuadratic(0.8) + 0.5 * gp.RBF(0.6) + gp.ConstantKernel(0.3),
]
STATIONARY = [
    kernels.RBF([0.5, 2.0]),
    kernels.Laplacian([1.0, 3.0]),
    kernels.Cauchy(1.5),
    kernels.Matern([0.5, 2.0], nu=1.5),
    kernels.Matern(1.0, nu=0.5),
    kernels.ProductMatern([1.0, 2.0], nu=2.5),
    kernels.RationalQuadratic(1.0, alpha=0.7),
    2.0 * kernels.RBF().on(0) + 0.5 * kernels.Matern().on(1) * kernels.RBF(2.0),
    kernels.RBF(2.0) + kernels.Constant(1.5),
]


def fit(kernel, y=Y, alpha=0.01):
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(X, y)


def enumerate_indices(values):
    """Return the indices of a function on a grid of equally likely rows, by enumeration."""
    d = values.ndim
    everyone = tuple(range(d))

    def worth(coalition):
        return values.mean(axis=tuple(set(everyone) - set(coalition))).var()

    total = worth(everyone)
    first = np.array([worth((j,)) for j in everyone])
    without = np.array([worth(tuple(k for k in everyone if k != j)) for j in everyone])
    effects = np.zeros(d)
    for j in everyone:
        others = [k for k in everyone if k != j]
        for size in range(d):
            for some in combinations(others, size):
                gain = worth((*some, j)) - (worth(some) if some else 0.0)
                effects[j] += gain / (d * comb(d - 1, size))
    pairs = np.zeros((d, d))
    for i, j in combinations(everyone, 2):
        pairs[i, j] = pairs[j, i] = worth((i, j)) - first[i] - first[j]
    return first / total, (total - without) / total, effects / total, pairs / total, total


@pytest.mark.parametrize("groups", [None, [[0, 2], [1]]], ids=["columns", "groups"])
@pytest.mark.parametrize("kernel", KERNELS, ids=["RBF", "Matern", "sum"])
def test_the_indices_of_a_draw_are_those_of_its_function(kernel, groups, monkeypatch):
    """The function is evaluated on the grid of all rows, from the weights that were drawn."""
    drawn = []
    draw_part = posterior_draws._draw_part

    def record(*args):
        found = draw_part(*args)
        drawn.append(found[0])
        return found

    monkeypatch.setattr(posterior_draws, "_draw_part", record)
    y = np.column_stack([Y, X[:, 0] ** 2])  # two outputs, which are drawn apart
    model = fit(kernel, y)
    found = pkex.sensitivity(model, X, groups=groups, order=2, n_draws=3, random_state=1)
    inside = groups or [[0], [1], [2]]
    places = np.indices((len(X),) * len(inside)).reshape(len(inside), -1)
    grid = np.empty((places.shape[1], 3))
    for columns, place in zip(inside, places, strict=True):
        grid[:, columns] = X[np.ix_(place, columns)]
    [part] = drawn
    values = (np.exp(1j * (grid @ part.waves.rates.T)) @ part.wave_weights).real
    values += kernel(grid, X) @ part.point_weights
    values = values.reshape(-1, 3, 2)
    kinds = ("first_order", "total_order", "shapley", "second_order", "variance")
    for draw in range(3):
        for output in range(2):
            table = values[:, draw, output].reshape((len(X),) * len(inside))
            for kind, expected in zip(kinds, enumerate_indices(table), strict=True):
                # Matern: a sum of Gaussian kernels up to 1e-7, times coefficients
                got = found.draws[kind][draw, ..., output]
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


def condition(kernel, noise=0.01, **options):
    """Return an exact process with some noise."""
    cholesky = np.linalg.cholesky(kernel(X) + noise * np.eye(len(X)))
    alpha = np.linalg.solve(cholesky @ cholesky.T, Y)
    n_samples = options["mixture"].n_samples if "mixture" in options else 1
    posterior = pkex.Posterior(cholesky, np.full((1, 1), 1.0 / n_samples), **options)
    return pkex.KernelExpansion(X, alpha / n_samples, kernel, posterior=posterior)


def slope(rate, **options):
    """Return a prior mean, which is known."""
    posterior = pkex.Posterior(np.ones((1, 1)), np.zeros((1, 1)), **options)
    n_samples = options["mixture"].n_samples if "mixture" in options else 1
    weights = np.full(1, 1.0 / n_samples)
    points = np.full((1, 3), rate)
    return pkex.KernelExpansion(points, weights, kernels.Linear(), posterior=posterior)


def test_draws_of_a_mixture_are_of_one_sample_each(monkeypatch):
    """With a slope of the prior mean each; a part beside the mixture is in all draws."""
    mixture = SampleMixture(3)
    processes = [
        condition(kernels.RBF(scale), 0.05, mixture=mixture, sample=number)
        for number, scale in enumerate((0.6, 1.0, 2.0))
    ]
    slopes = [slope(0.3 * number, mixture=mixture, sample=number) for number in range(3)]
    other = condition(0.5 * kernels.Matern(1.5, nu=2.5))
    divided, drawn = [], []
    divide, draw_part = posterior_draws.divide_draws, posterior_draws._draw_part

    def record_places(*args):
        divided.extend(divide(*args))
        return divided

    def record(*args):
        found = draw_part(*args)
        drawn.append(found[0])
        return found

    monkeypatch.setattr(posterior_draws, "divide_draws", record_places)
    monkeypatch.setattr(posterior_draws, "_draw_part", record)
    f = add_expansions([other, *processes, *slopes])
    found = pkex.sensitivity(f, X, order=2, n_draws=5, random_state=2)
    grid = np.stack(np.meshgrid(*X.T, indexing="ij"), axis=-1).reshape(-1, 3)
    values = np.zeros((len(grid), 5))
    for part, places, one in zip(f.parts[:4], divided[:4], drawn, strict=True):
        waves = (np.exp(1j * (grid @ one.waves.rates.T)) @ one.wave_weights).real
        values[:, places] += waves + part.kernel(grid, X) @ one.point_weights
    for number, places in enumerate(divided[4:]):
        np.testing.assert_array_equal(places, divided[1 + number])
        values[:, places] += 0.3 * number * grid.sum(axis=1)[:, None]
    assert sorted(map(len, divided[1:4])) == [1, 2, 2]
    np.testing.assert_array_equal(np.sort(np.concatenate(divided[1:4])), np.arange(5))
    kinds = ("first_order", "total_order", "shapley", "second_order", "variance")
    for draw in range(5):
        expected = enumerate_indices(values[:, draw].reshape((len(X),) * 3))
        for kind, one in zip(kinds, expected, strict=True):
            np.testing.assert_allclose(found.draws[kind][draw], one, rtol=1e-6, atol=1e-6)


def test_a_mixture_of_equal_samples_has_the_draws_of_its_process():
    """In distribution: means of the draws agree, and samples add no variance that is not there."""
    mixture, kernel = SampleMixture(4), kernels.RBF([0.7, 0.9, 1.5])
    same = [condition(kernel, mixture=mixture, sample=number) for number in range(4)]
    one, other = (
        pkex.sensitivity(f, X, n_draws=400, random_state=0).draws["variance"]
        for f in (condition(kernel), add_expansions(same))
    )
    error = np.sqrt((one.var() + other.var()) / 400)
    assert abs(one.mean() - other.mean()) < 4.0 * error
    assert 0.7 < one.std() / other.std() < 1.4


def test_draws_of_a_variational_process_have_its_moments(monkeypatch):
    """Values at its points are less certain than with a core of 1; the jitter is noise."""
    random = np.random.default_rng(1)
    kernel, n_draws = kernels.RBF([0.7, 0.9, 1.5]), 5_000
    cholesky = np.linalg.cholesky(kernel(X) + 1e-6 * np.eye(len(X)))
    half = 0.4 * random.normal(size=(len(X), len(X)))
    core = np.eye(len(X)) - half @ half.T
    posterior = pkex.Posterior(cholesky, core=core)
    f = pkex.KernelExpansion(X, random.normal(size=len(X)), kernel, posterior=posterior)
    rows = X[:3] + 0.2
    monkeypatch.setattr(posterior_draws, "_FEATURES", (1024, 1024))
    drawn, error = posterior_draws._draw_part(f, rows, n_draws, random)
    values = (np.exp(1j * (rows @ drawn.waves.rates.T)) @ drawn.wave_weights).real
    values += kernel(rows, X) @ drawn.point_weights
    white = np.linalg.solve(cholesky, kernel(X, rows))
    cov = kernel(rows) - white.T @ core @ white
    scale = np.sqrt(np.diag(cov))
    gaps = (np.cov(values) - cov) / np.outer(scale, scale)
    assert np.abs(gaps).max() < 4.0 * (2.0 / n_draws) ** 0.5 + 0.05
    mean = kernel(rows, X) @ f.alpha[:, 0]
    np.testing.assert_allclose(values.mean(axis=1), mean, atol=4.0 * scale.max() / n_draws**0.5)
    assert 0.0 < error < 0.05
    assert pkex.sensitivity(f, X, n_draws=19, random_state=0).draws["shapley"].shape == (19, 3)


def test_a_constant_takes_no_waves_from_the_others():
    kernel = kernels.RBF() + kernels.Constant(1e6)
    waves = draw_frequencies(kernel, 2, 512, np.random.default_rng(0))
    assert np.count_nonzero(waves.rates.any(axis=1)) == 512
    assert waves.variances.sum() == pytest.approx(1e6 + 1.0)


def test_distributions_with_groups_are_integrated():
    """Columns of a group are independent there: each has nodes of its own."""
    model = fit(KERNELS[0])
    ranges = {0: [-1.0, 0.0, 1.0], 1: [-1.0, -0.2, 0.5, 0.9], 2: [0.0, 0.3, 0.6]}
    found = pkex.sensitivity(model, ranges, groups=[[0, 2], [1]], n_draws=4, random_state=0)
    apart = pkex.sensitivity(model, ranges, order=2, n_draws=4, random_state=0)
    np.testing.assert_allclose(found.draws["variance"], apart.draws["variance"])
    closed = apart.draws["first_order"][:, [0, 2]].sum(axis=1)
    closed += apart.draws["second_order"][:, 0, 2]
    np.testing.assert_allclose(found.draws["first_order"][:, 0], closed)


def test_draws_have_the_moments_of_the_posterior(monkeypatch):
    """Mean and covariance of many draws at some rows; the noise differs from row to row."""
    noise = np.linspace(0.001, 0.3, len(X))
    model = fit(3.0 * gp.RBF([0.7, 0.9, 1.5]), Y, noise)
    fitted = read_model(model, None)
    groups, names = parse_groups(None, fitted.expansion.feature_names)
    problem = Problem(fitted, groups, names)
    part = problem.expansion.parts[0]
    n_draws, rows = 5_000, np.array([[0.0, 0.0, 0.0], [0.5, -0.5, 0.2], [0.9, 0.9, -0.9]])
    monkeypatch.setattr(posterior_draws, "_FEATURES", (1024, 1024))
    drawn, error = posterior_draws._draw_part(part, rows, n_draws, np.random.default_rng(0))
    values = (np.exp(1j * (rows @ drawn.waves.rates.T)) @ drawn.wave_weights).real
    values += model.kernel_(rows, X) @ drawn.point_weights
    mean, cov = model.predict(rows, return_cov=True)
    scale = np.sqrt(np.diag(cov))
    # 4 standard errors of a mean; of a correlation 1 / sqrt(draws), and the error of the waves
    np.testing.assert_allclose(values.mean(axis=1), mean, atol=4.0 * scale.max() / n_draws**0.5)
    gaps = (np.cov(values) - cov) / np.outer(scale, scale)
    assert np.abs(gaps).max() < 4.0 * (2.0 / n_draws) ** 0.5 + 0.05
    assert 0.0 < error < 0.05


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_random_frequencies_have_the_kernel_as_their_mean(kernel):
    rows = RNG.uniform(-1.0, 1.0, size=(6, 2))
    waves = draw_frequencies(kernel, 2, 2**14, np.random.default_rng(0))
    gaps = rows[:, None] - rows[None]
    found = np.cos(gaps @ waves.rates.T) @ waves.variances
    # random points alone would have a standard error of 2^-7 of the variance
    np.testing.assert_allclose(found, kernel(rows), atol=0.02 * waves.variances.sum())


def test_the_functions_of_the_simulation_have_the_indices_of_brute_force():
    """A Monte Carlo twin, by Saltelli's and Jansen's estimators, of functions from the prior."""
    from simulations.sensitivity_intervals import PriorFunctions

    random = np.random.default_rng(0)
    functions = PriorFunctions(kernels.RBF([0.3, 0.8, 2.0]), 3, 2, random, n_waves=128)
    truth = functions.indices()
    a, b = random.uniform(size=(2, 50_000, 3))
    f_a, f_b = functions(a), functions(b)
    variance = np.concatenate([f_a, f_b]).var(axis=0)
    np.testing.assert_allclose(truth["variance"], variance, rtol=0.05)
    for j in range(3):  # a standard error is below 0.009
        mixed = a.copy()
        mixed[:, j] = b[:, j]
        f_mixed = functions(mixed)
        first = (f_b * (f_mixed - f_a)).mean(axis=0) / variance
        total = 0.5 * ((f_a - f_mixed) ** 2).mean(axis=0) / variance
        np.testing.assert_allclose(truth["first_order"][:, j], first, atol=0.04)
        np.testing.assert_allclose(truth["total_order"][:, j], total, atol=0.04)
    np.testing.assert_allclose(truth["shapley"].sum(axis=1), 1.0)


def test_the_mean_of_the_draws_has_the_variance_that_the_posterior_mean_lacks():
    """``E Var f = Var m + mean of the posterior variance - variance of the mean``, by rows."""
    model = fit(gp.RBF([0.7, 0.9, 1.5]), Y, 0.1)
    found = pkex.sensitivity(model, X, n_draws=2000, random_state=0)
    grid = np.stack(np.meshgrid(*X.T, indexing="ij"), axis=-1).reshape(-1, 3)
    _, cov = model.predict(grid, return_cov=True)
    expected = found.variance + np.diag(cov).mean() - cov.mean()
    drawn = found.draws["variance"]
    allowed = 4.0 * drawn.std() / len(drawn) ** 0.5 + found.draws_error * (
        expected - found.variance
    )
    assert abs(drawn.mean() - expected) < allowed
    assert expected > 1.05 * found.variance


def test_intervals_are_order_statistics():
    found = pkex.sensitivity(fit(KERNELS[0]), X, n_draws=199, random_state=0)
    low, high = found.interval("shapley", level=0.9)
    ordered = np.sort(found.draws["shapley"], axis=0)
    np.testing.assert_allclose(low, ordered[9], rtol=1e-12)
    np.testing.assert_allclose(high, ordered[189], rtol=1e-12)
    assert found.interval("variance")[0].shape == ()
    with pytest.raises(ValueError, match=r"one of shapley, .* \(order=2 adds second_order\)"):
        found.interval("second_order")
    with pytest.raises(ValueError, match=r"199 draws have intervals up to level 0\.99"):
        found.interval("shapley", 0.995)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        found.interval("shapley", -0.5)
    with pytest.raises(ValueError, match="pass n_draws=199"):
        pkex.sensitivity(fit(KERNELS[0]), X).interval()


def test_draws_depend_on_the_seed_and_not_on_threads():
    model = fit(KERNELS[0])
    one, two, other = (
        pkex.sensitivity(model, X, n_draws=3, random_state=seed, n_jobs=n_jobs).draws["shapley"]
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)
    plain = pkex.sensitivity(model, X)
    np.testing.assert_array_equal(
        plain.shapley, pkex.sensitivity(model, X, n_draws=3, random_state=0).shapley
    )
    assert plain.draws == {}


def test_text_frame_plot_and_file(tmp_path):
    import matplotlib as mpl

    mpl.use("Agg")

    found = pkex.sensitivity(fit(KERNELS[0]), X, n_draws=39, random_state=0)
    low, high = found.interval("shapley")
    best = found.ranking[0]
    assert "90 % credible intervals from 39 posterior draws" in str(found)
    assert f"{found.shapley[best]:.4f} [{low[best]:.3f}, {high[best]:.3f}]" in str(found)
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["shapley_low"], low[found.ranking])
    means = found.draws["total_order"].mean(axis=0)
    np.testing.assert_array_equal(frame["total_order_mean"], means[found.ranking])
    display = found.plot()
    assert "90 % credible intervals" in display.ax_.get_xlabel()
    [whiskers] = [one for one in display.ax_.collections if hasattr(one, "get_segments")]
    ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([low, high])[found.ranking])
    found.save(tmp_path / "draws.npz")
    again = pkex.Sensitivity.load(tmp_path / "draws.npz")
    assert str(again) == str(found)
    assert again.draws_error == found.draws_error
    np.testing.assert_array_equal(again.draws["first_order"], found.draws["first_order"])
    few = pkex.sensitivity(fit(KERNELS[0]), X, n_draws=5, random_state=0)
    assert "credible" not in str(few)
    assert "shapley_low" not in few.to_frame()


def test_an_output_of_several_has_its_draws():
    model = fit(KERNELS[0], np.column_stack([Y, X[:, 0]]))
    found = pkex.sensitivity(model, X, order=2, n_draws=19, random_state=0)
    assert str(found).count("[") == 18
    one = found.select_output(1, "plot")
    np.testing.assert_array_equal(one.draws["shapley"], found.draws["shapley"][..., 1])
    assert one.draws["second_order"].shape == (19, 3, 3)
    assert one.draws["variance"].shape == (19,)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(UnsupportedModelError, match="posterior of a Gaussian process"):
        pkex.sensitivity(SVR().fit(X, Y), X, n_draws=9)
    for kernel in (gp.RBF() + gp.DotProduct(), gp.RBF() * gp.DotProduct()):
        with pytest.raises(UnsupportedModelError, match="known random features"):
            pkex.sensitivity(fit(kernel), X, n_draws=9)
    points, kernel = X[:4], kernels.RBF()
    noise = 0.1 * np.eye(4) + 0.05
    cholesky = np.linalg.cholesky(kernel(points) + noise)
    f = pkex.KernelExpansion(points, np.ones(4), kernel, posterior=pkex.Posterior(cholesky))
    with pytest.raises(UnsupportedModelError, match="independent noise"):
        pkex.sensitivity(f, X, n_draws=9)
    for wrong in (-1, 2.5, "many"):
        with pytest.raises(ValueError, match="n_draws must be a non-negative integer"):
            pkex.sensitivity(fit(KERNELS[0]), X, n_draws=unchecked(wrong))
    with pytest.raises(ValueError, match="random_state must be"):
        pkex.sensitivity(fit(KERNELS[0]), X, n_draws=9, random_state=unchecked("seed"))


def test_rough_processes_of_one_input_take_more_waves_and_say_their_error():
    """Where points are dense, high frequencies have the variance that is left."""
    x = np.linspace(0.0, 1.0, 60)[:, None]
    model = GaussianProcessRegressor(gp.Matern(0.5, nu=0.5), alpha=1e-4, optimizer=None)
    found = pkex.sensitivity(model.fit(x, np.sin(6.0 * x[:, 0])), x + 0.003, n_draws=19)
    assert found.draws_error > 0.0
    note = any("posterior variance of the draws" in one for one in found.notes)
    assert note == (found.draws_error > 0.2)
