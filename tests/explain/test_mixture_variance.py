"""The variance of a mixture of processes, against the law of total variance at all hybrids."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import pkex
from pkex._util import progress
from pkex.explain import sample_variance
from pkex.games import engine
from pkex.games.coalitions import CoalitionSquares
from pkex.games.squares import MeanSquareGame
from pkex.models.posterior import SampleMixture
from pkex.models.sums import add_expansions
from tests._support.cases import alone, assert_close
from tests._support.mixtures import NOISE, POINTS, MixtureByDefinition, mixture_of_processes
from tests._support.posterior_games import functional
from tests._support.removal_games import GAMES, ORACLES

RNG = np.random.default_rng(3)
ROWS, BACKGROUND, SHARES = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 3)), [0.2, 0.5, 0.3]
every_game = pytest.mark.parametrize("removal", GAMES)


def explainer(removal, scale=1.0, count=3, **options):
    return pkex.Explainer(
        mixture_of_processes(scale, count), BACKGROUND, background_weights=SHARES, removal=removal,
        **options,
    )  # fmt: skip


@every_game
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("pairs", [False, True])
def test_values_of_the_variance_by_enumeration(removal, pairs, count, monkeypatch):
    """The third sample has a Matern kernel, which is a sum of products up to an error."""

    def own(rows):
        return 4.0 * np.diagonal(MixtureByDefinition(count).predict(rows)[1])

    forms, run = [], engine.run_reduction
    if pairs:
        monkeypatch.setattr(sample_variance, "prefers_coalitions", lambda *_: False)

    def record(form, **options):
        forms.append(form)
        return run(form, **options)

    monkeypatch.setattr(sample_variance, "run_reduction", record)
    found = explainer(removal, 2.0, count).explain_variance(ROWS, observation_noise=False)
    by_pairs = pairs or removal == "product-of-marginals"
    assert [type(form) for form in forms] == [MeanSquareGame if by_pairs else CoalitionSquares]
    atol = 1e-11 if count == 2 else found.error_bound.max()
    assert_close(found.predictions, own(ROWS), atol)
    for i, row in enumerate(ROWS):
        values, base = ORACLES[removal](own, row, BACKGROUND, np.array(SHARES), alone(3))
        assert_close(found.values[i], values, atol)
        assert_close(found.base_values[i], base, atol)
    assert (found.error_bound < (1e-3 if count == 3 else 1e-9)).all()
    assert found.additivity_error < 1e-12


def test_the_noise_is_that_of_the_samples():
    explain = explainer("interventional")
    latent = explain.explain_variance(ROWS, observation_noise=False)
    noisy = explain.explain_variance(ROWS)
    assert_close(noisy.predictions, latent.predictions + NOISE, 1e-12)
    assert_close(noisy.values, latent.values, 1e-12)


@every_game
def test_the_number_of_threads_changes_no_bit(removal):
    one, two = (
        explainer(removal, n_jobs=n_jobs).explain_variance(np.tile(ROWS, (20, 1)))
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.error_bound, two.error_bound)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_variance_that_takes_long_names_the_number_of_samples(pairs, monkeypatch):
    """Of which each is a sum of two parts: its process, and its prior mean."""
    seconds = count(step=1000.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=partial(next, seconds)))
    monkeypatch.setattr(sample_variance, "prefers_coalitions", lambda *_: not pairs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pkex.PerformanceWarning)
        explainer("interventional", n_jobs=1).explain_variance(ROWS)
    needed = "pairs of" if pairs else "sets of features in each of"
    words = f"means of a mixture of 3 processes needs all {needed}"
    assert [words in str(warning.message) for warning in caught].count(True) == 1


def test_samples_that_are_equal_add_no_variance():
    part, mixture = mixture_of_processes().parts[0], SampleMixture(3)
    posterior = pkex.Posterior(part.posterior.cholesky)
    one = pkex.KernelExpansion(POINTS, 3.0 * part.alpha, part.kernel, posterior=posterior)
    samples = [
        pkex.KernelExpansion(
            POINTS,
            part.alpha,
            part.kernel,
            posterior=pkex.Posterior(
                part.posterior.cholesky, np.full((1, 1), 1 / 3), mixture=mixture, sample=number
            ),
        )
        for number in range(3)
    ]
    several = pkex.Explainer(add_expansions(samples), BACKGROUND).explain_variance(ROWS)
    expected = pkex.Explainer(one, BACKGROUND).explain_variance(ROWS)
    assert_close(several.values, expected.values, 1e-12)
    assert_close(several.predictions, expected.predictions, 1e-12)


def test_two_rows_are_compared():
    incumbent, candidate = BACKGROUND[0], ROWS[0].copy()
    candidate[1] = incumbent[1]
    found = pkex.compare(mixture_of_processes(), candidate, incumbent)
    places, weights = functional(candidate, incumbent[None], np.ones(1), alone(3), "interventional")
    means, cov = MixtureByDefinition().predict(places)
    variances = np.diagonal(cov)
    assert_close(found.values, weights @ means, 1e-11)
    assert_close(found.cov, weights @ cov @ weights.T, 1e-11)
    atol = found.variance_error_bound.max()
    assert_close(found.variance_values, weights @ variances, atol)
    assert_close(found.variances, variances[[0, -1]], atol)
    assert found.values[1] == found.variance_values[1] == 0.0
