"""Importance with posterior draws: covariances over rows by enumeration, draws by their moments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVR

import pkex
from pkex.explain.importance import joint_covariances
from pkex.games import covariance
from pkex.models.posterior import SampleMixture
from pkex.models.sums import add_expansions
from tests._support.cases import alone, assert_close, sample, scales
from tests._support.posterior_games import functional, latent_covariance
from tests._support.removal_games import CASES, GAMES

D = 3
RNG = np.random.default_rng(36)
X = RNG.normal(size=(15, D))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
ROWS, BACKGROUND = RNG.normal(size=(4, D)), RNG.normal(size=(3, D))
SHARES = np.array([0.2, 0.3, 0.5])
every_game = pytest.mark.parametrize("removal", GAMES)


def process(kernel=None, y=Y, **options):
    options = {"alpha": 0.05, "optimizer": None} | options
    kernel = 2.0 * gp.RBF([0.9, 1.3, 1.8]) if kernel is None else kernel
    return GaussianProcessRegressor(kernel, **options).fit(X, y)


def explainer(model, removal, **options):
    return pkex.Explainer(
        model, BACKGROUND, background_weights=SHARES, removal=removal, n_jobs=1, **options
    )


def found_covariances(explain, rows):
    prepared = explain.problem.prepare(rows)
    return joint_covariances(explain.problem, prepared, n_jobs=1, progress=False)


def brute(rows, background, shares, players, removal, covariance):
    """The covariance of all values of all rows: (rows, features, rows, features)."""
    pieces = [functional(row, background, shares, players, removal) for row in rows]
    cov = covariance(np.concatenate([hybrids for hybrids, _ in pieces]))
    joint, start = np.zeros((len(rows) * len(players), len(cov))), 0
    for i, (hybrids, matrix) in enumerate(pieces):
        joint[i * len(players) : (i + 1) * len(players), start : start + len(hybrids)] = matrix
        start += len(hybrids)
    return (joint @ cov @ joint.T).reshape(len(rows), len(players), len(rows), len(players))


@every_game
@pytest.mark.parametrize(
    "kernel", [None, gp.Matern([1.0, 1.5, 2.0], nu=2.5), gp.RBF() + 0.5 * gp.DotProduct()], ids=str
)
def test_covariances_over_rows_are_those_of_the_models_own_posterior(kernel, removal):
    model = process(kernel, normalize_y=True)

    def own(rows):
        return model.predict(rows, return_cov=True)[1]

    expected = brute(ROWS, BACKGROUND, SHARES, alone(D), removal, own)
    found = found_covariances(explainer(model, removal), ROWS)
    assert found.shape == (D, 1, 4, 4)
    for j in range(D):
        assert_close(found[j, 0], expected[:, j, :, j], 1e-11 * np.abs(expected).max())


@every_game
@pytest.mark.parametrize("case", CASES, ids=str)
def test_covariances_over_rows_for_every_kernel(case, removal):
    rng = np.random.default_rng(len(case.name))
    points, rows, background = sample(rng, 5, D), sample(rng, 3, D), sample(rng, 2, D)
    kernel = case.build(scales(rng, D))
    cholesky = np.tril(rng.normal(size=(5, 5)), -1) + np.diag(rng.uniform(3.0, 4.0, size=5))
    f = pkex.KernelExpansion(points, np.ones(5), kernel, posterior=pkex.Posterior(cholesky))

    def latent(hybrids):
        return latent_covariance(kernel, points, cholesky, hybrids)

    explain = pkex.Explainer(f, background, removal=removal, n_jobs=1)
    found = found_covariances(explain, rows)
    expected = brute(rows, background, np.full(2, 0.5), alone(D), removal, latent)
    for j in range(D):
        assert_close(found[j, 0], expected[:, j, :, j], 1e-12 * np.abs(kernel(points)).max() * 100)


@every_game
def test_groups_and_the_work_cut_into_blocks(removal):
    model, rows = process(), RNG.normal(size=(40, D))  # more rows than blocks
    groups = [[0, 2]]
    explain = explainer(model, removal, groups=groups)
    found = found_covariances(explain, rows)
    stds = explain(rows, return_std=True).std
    assert_close(np.sqrt(np.einsum("jkrr->rj", found)), stds, 1e-10)
    some = found_covariances(explain, rows[[3, 30]])
    assert_close(found[:, :, [[3], [30]], [3, 30]], some, 1e-12)
    players = explain.problem.feature_groups
    players = [list(group) for group in players]

    def own(hybrids):
        return model.predict(hybrids, return_cov=True)[1]

    expected = brute(rows[[3, 30]], BACKGROUND, SHARES, players, removal, own)
    for j in range(2):
        assert_close(some[j, 0], expected[:, j, :, j], 1e-11)


def test_draws_have_the_moments_of_the_joint_normal():
    model = process(y=0.0 * Y)  # mean values are 0: draws are sizes of noise
    explain = explainer(model, "interventional")
    n_draws = 20_000
    importance = explain.importance(ROWS[:2], n_draws=n_draws, random_state=0)
    cov = found_covariances(explain, ROWS[:2])[:, 0]
    std = np.sqrt(np.einsum("jrr->jr", cov))
    assert_close(importance.values, np.zeros(D), 1e-12)
    # E|v| = std sqrt(2 / pi); E|v w| = 2 / pi std std' (sqrt(1 - r^2) + r arcsin(r))
    mean = np.sqrt(2.0 / np.pi) * std.mean(axis=1)
    r = cov[:, 0, 1] / std.prod(axis=1)
    cross = 2.0 / np.pi * std.prod(axis=1) * (np.sqrt(1.0 - r * r) + r * np.arcsin(r))
    variance = 0.25 * ((std * std).sum(axis=1) + 2.0 * cross) - mean**2
    error = np.sqrt(variance / n_draws)
    assert (np.abs(importance.draws.mean(axis=0) - mean) < 5.0 * error).all()
    assert_close(importance.draws.var(axis=0) / variance, np.ones(D), 0.06)
    independent = 0.25 * (std * std).sum(axis=1) * (1.0 - 2.0 / np.pi)
    assert (np.abs(independent / variance - 1.0) > 0.1).any()  # rows are not independent


def test_draws_cover_the_importance_of_functions_drawn_from_the_prior():
    rng = np.random.default_rng(3)
    kernel = gp.RBF([1.0, 2.0])
    covered, count = 0, 40
    for _ in range(count):
        points, rows = rng.uniform(-2.0, 2.0, size=(2, 12, 2))
        mixed = np.array([[x, y] for x in rows[:, 0] for y in rows[:, 1]])
        everything = np.concatenate([points, rows, mixed])
        cov = kernel(everything) + 1e-10 * np.eye(len(everything))
        f = np.linalg.cholesky(cov) @ rng.standard_normal(len(cov))
        noisy = f[:12] + 0.3 * rng.standard_normal(12)
        model = GaussianProcessRegressor(kernel, alpha=0.09, optimizer=None).fit(points, noisy)
        table = f[24:].reshape(12, 12)  # f at all combinations of two coordinates of rows
        at, first, second = f[12:24], table.mean(axis=1), table.mean(axis=0)
        base = table.mean()
        values = np.stack([at - second + first - base, at - first + second - base], axis=1) / 2.0
        explain = pkex.Explainer(model, rows, removal="product-of-marginals", n_jobs=1)
        importance = explain.importance(rows, n_draws=199, random_state=rng)
        low, high = importance.interval(0.9)
        truth = np.abs(values).mean(axis=0)
        covered += int(((low <= truth) & (truth <= high)).sum())
    assert 0.8 <= covered / (2 * count) <= 0.98


def test_several_outputs_and_independent_parts():
    ys = np.column_stack([Y, 3.0 * Y, X[:, 0]])
    model = process(y=ys, normalize_y=True)
    importance = explainer(model, "interventional").importance(ROWS, n_draws=64, random_state=1)
    assert importance.draws.shape == (64, D, 3)
    cov = found_covariances(explainer(model, "interventional"), ROWS)
    assert_close(cov[:, 1], 9.0 * cov[:, 0], 1e-10)
    both = MultiOutputRegressor(process()).fit(X, ys[:, [0, 2]])
    assert explainer(both, "interventional").importance(ROWS, n_draws=8).draws.shape == (8, D, 2)


def test_the_same_state_gives_the_same_draws_and_no_draws_the_plain_importance():
    explain = explainer(process(), "interventional")
    first, again = (explain.importance(ROWS, random_state=5) for _ in range(2))
    assert first.draws.shape == (256, D)
    np.testing.assert_array_equal(first.draws, again.draws)
    plain = explain.importance(ROWS, n_draws=0)
    assert plain.draws is None
    np.testing.assert_array_equal(plain.values, explain(ROWS).importance().values)
    np.testing.assert_array_equal(first.values, plain.values)
    single = explain.importance(ROWS[:1], random_state=0)
    assert "90 % interval" in repr(single)


def test_models_without_a_posterior_have_the_plain_importance_by_default():
    explain = pkex.Explainer(SVR().fit(X, Y), BACKGROUND)
    assert explain.importance(ROWS).draws is None
    with pytest.raises(pkex.UnsupportedModelError, match=r"n_draws=9 needs the posterior"):
        explain.importance(ROWS, n_draws=9)
    neutral = pkex.Explainer(process(), removal="neutral")
    assert neutral.importance(ROWS).draws is None
    with pytest.raises(ValueError, match="does not support neutral removal"):
        neutral.importance(ROWS, n_draws=9)
    ordered = pkex.Explainer(process(), BACKGROUND, hierarchy={"first": [0, 1]})
    assert ordered.importance(ROWS).draws is None
    with pytest.raises(ValueError, match="n_draws=9 with a hierarchy"):
        ordered.importance(ROWS, n_draws=9)


@pytest.mark.parametrize("n_draws", [-1, 2.5, "many"])
def test_other_numbers_of_draws_are_refused(n_draws):
    with pytest.raises(ValueError, match="n_draws must be 0, a positive integer or None"):
        explainer(process(), "interventional").importance(ROWS, n_draws=n_draws)


def test_too_many_rows_are_refused_before_anything_is_computed():
    with pytest.raises(ValueError, match=r"30000 rows would take .* GiB.*n_draws=0"):
        explainer(process(), "product-of-marginals").importance(np.zeros((30000, D)))


def test_intervals_in_text_frame_and_plot():
    importance = explainer(process(), "interventional").importance(ROWS, random_state=0)
    low, high = importance.interval(0.9)
    expected = np.sort(importance.draws, axis=0)
    assert ((expected[11] <= low) & (low <= expected[13])).all()  # the 12.85th of 256
    assert ((expected[242] <= high) & (high <= expected[244])).all()
    wide = importance.interval(level=0.99)
    assert (wide[0] < low).all()
    assert (high < wide[1]).all()
    top = importance.ranking[0]
    assert f"[{low[top]:.3g}, {high[top]:.3g}]" in repr(importance)
    assert "90 % credible intervals from 256 posterior draws" in repr(importance)
    frame = importance.to_frame()
    assert_close(frame[["low", "high"]].to_numpy()[0], [low[top], high[top]], 0.0)
    means = importance.draws.mean(axis=0)
    assert_close(frame["mean_of_draws"], means[importance.ranking], 0.0)
    assert f" {means[top]:.4g} " in repr(importance)
    display = importance.plot()
    lines = display.ax_.collections[0].get_segments()
    assert_close(lines[0][:, 0], [low[top], high[top]], 1e-12)
    assert "whiskers: 90 % credible intervals from 256" in display.ax_.get_xlabel()
    assert_close(display.ax_.lines[-1].get_xdata(), means[importance.ranking], 0.0)
    assert "dots: means of the draws" in " ".join(display.ax_.get_xlabel().split())


def test_a_note_says_why_a_number_lies_outside_of_its_interval():
    importance = explainer(process(), "interventional").importance(ROWS, random_state=0)
    low, high = importance.interval()
    inside = replace(importance, values=importance.draws.mean(axis=0))
    assert ((low <= inside.values) & (inside.values <= high)).all()
    assert "outside of their interval" not in repr(inside)
    outside = replace(importance, values=0.5 * low)
    words = "smoother than the draws: some lie outside of their interval"
    assert words in repr(outside)
    unknown = np.full_like(outside.values, np.nan)  # standard errors, as of a single row
    assert words in repr(replace(outside, standard_errors=unknown))


def test_draws_in_a_file_and_levels_of_intervals(tmp_path):
    importance = explainer(process(), "interventional").importance(ROWS, random_state=0)
    importance.save(tmp_path / "importance.npz")
    np.testing.assert_array_equal(
        pkex.Importance.load(tmp_path / "importance.npz").draws, importance.draws
    )
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 90"):
        importance.interval(90)
    with pytest.raises(
        ValueError, match=r"256 draws have intervals up to level 0\.992, got 0\.999"
    ):
        importance.interval(0.999)
    with pytest.raises(ValueError, match="there are no draws"):
        explainer(process(), "interventional")(ROWS).importance().interval()


def test_few_draws_have_no_interval_that_is_shown():
    few = explainer(process(), "interventional").importance(ROWS, n_draws=9, random_state=0)
    assert "interval" not in repr(few)
    assert "low" not in few.to_frame()
    assert "standard error" in few.plot().ax_.get_xlabel()
    with pytest.raises(ValueError, match=r"9 draws have intervals up to level 0\.8, got 0\.9"):
        few.interval(0.9)
    low, high = few.interval(0.8)
    assert_close(low, few.draws.min(axis=0), 1e-12)
    assert_close(high, few.draws.max(axis=0), 1e-12)


def test_draws_do_not_depend_on_the_basis_of_equal_variances(monkeypatch):
    """Rows that are alike, or far from each other, have eigenvalues that are nearly equal."""
    rows = np.concatenate([ROWS, ROWS, ROWS + 50.0])
    explain = explainer(process(), "product-of-marginals")
    one = explain.importance(rows, random_state=3)
    solve = np.linalg.eigh

    def turned(matrix):
        levels, vectors = solve(matrix[::-1, ::-1])  # as another LAPACK might have them
        return levels, -vectors[::-1]

    monkeypatch.setattr(np.linalg, "eigh", turned)
    other = explain.importance(rows, random_state=3)
    # roots of eigenvalues that are 0 up to rounding: 1e-8 of the largest
    assert_close(one.draws, other.draws, 1e-6)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_do_not_change_the_draws(n_jobs):
    one, other = (
        pkex.Explainer(process(), BACKGROUND, n_jobs=jobs).importance(ROWS, random_state=0)
        for jobs in (1, n_jobs)
    )
    np.testing.assert_array_equal(one.draws, other.draws)


def test_a_background_is_cut_into_strips(monkeypatch):
    explain = explainer(process(), "interventional")
    whole = found_covariances(explain, ROWS)
    monkeypatch.setattr(covariance, "_PAIRS", D * len(BACKGROUND))  # one row for each strip
    assert_close(found_covariances(explain, ROWS), whole, 1e-14)


def test_draws_that_take_long_say_so(monkeypatch):
    seconds = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))
    with pytest.warns(pkex.PerformanceWarning, match=r"joint over 4 rows will take about .* n_dr"):
        explainer(process(), "interventional").importance(ROWS, random_state=0)


def test_a_mixture_draws_each_time_from_one_sample():
    """``E|v|`` of a normal value is that of a folded normal, averaged over rows and samples."""
    mixture, samples, processes = SampleMixture(2), [], []
    for number, scale in enumerate((0.7, 2.0)):
        kernel = pkex.kernels.RBF(scale)
        cholesky = np.linalg.cholesky(kernel(X) + 0.2 * np.eye(len(X)))
        alpha = np.linalg.solve(cholesky @ cholesky.T, Y)
        posterior = pkex.Posterior(cholesky)
        processes.append(pkex.KernelExpansion(X, alpha, kernel, posterior=posterior))
        posterior = pkex.Posterior(cholesky, np.full((1, 1), 0.5), mixture=mixture, sample=number)
        samples.append(pkex.KernelExpansion(X, alpha / 2, kernel, posterior=posterior))
    explain, n_draws = pkex.Explainer(add_expansions(samples), BACKGROUND), 20_000
    found = explain.importance(ROWS, n_draws=n_draws, random_state=0)
    expected = []
    for process in processes:
        one = pkex.Explainer(process, BACKGROUND)(ROWS, return_std=True)
        sizes = one.std * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * (one.values / one.std) ** 2)
        sizes += one.values * special.erf(one.values / one.std / np.sqrt(2.0))
        expected.append(sizes.mean(axis=0))
    assert np.abs(expected[0] - expected[1]).max() > 0.1  # the samples differ
    error = found.draws.std(axis=0) / n_draws**0.5
    assert (np.abs(found.draws.mean(axis=0) - np.mean(expected, axis=0)) < 5.0 * error).all()
    assert_close(found.values, explain(ROWS).importance().values, 1e-12)
    assert "90 % credible intervals" in repr(found)
