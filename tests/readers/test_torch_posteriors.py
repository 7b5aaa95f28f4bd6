"""Posteriors of variational processes, of samples and of ensembles, by brute force.

A value is a linear combination of predictions at hybrids, so its covariance is that combination on
both sides of the model's own posterior covariance, which knows nothing of kernels or parts.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("gpytorch")  # `make torch` installs it

import torch
from botorch.models import ModelListGP
from botorch.models.transforms.outcome import Standardize

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support import torch_models as models
from tests._support.cases import alone
from tests._support.posterior_games import functional
from tests._support.torch_models.cases import UNIT, posterior_covariance, sampled, single

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),  # of torch, about a product
]
torch.set_num_threads(1)

WORDS = ("Fully", "Ensemble", "Approximate", "Variational")
APPROXIMATE = [c for c in models.MODELS if any(word in c.name for word in WORDS)]
one_output = pytest.mark.parametrize("case", [c for c in APPROXIMATE if c.n_outputs == 1], ids=str)
mixtures = pytest.mark.parametrize("case", [c for c in models.MODELS if c.is_mixture], ids=str)


def named(name):
    [case] = [case for case in models.MODELS if case.name == name]
    return case


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
@one_output
def test_covariances_are_those_of_the_models_own_posterior(case, removal):
    rows, background, shares = case.table[-2:], case.table[3:5], np.array([0.3, 0.7])
    explain = case.explain(background, background_weights=shares, removal=removal)
    found = explain(rows, return_std=True, return_cov=True)
    for i, row in enumerate(rows):
        hybrids, weights = functional(row, background, shares, alone(len(row)), removal)
        places, inverse = np.unique(hybrids, axis=0, return_inverse=True)
        weights = np.stack([np.bincount(inverse.ravel(), w, len(places)) for w in weights])
        own = case.covariance(places) - case.jitter * np.eye(len(places))
        expected = weights @ own @ weights.T
        size = np.diagonal(expected).max()
        np.testing.assert_allclose(found.cov[i], expected, rtol=0.0, atol=1e-10 * size)
        std = np.sqrt(np.diagonal(expected))
        np.testing.assert_allclose(found.std[i], std, rtol=0.0, atol=1e-8 * size**0.5)


def test_a_matrix_that_is_not_positive_is_there():
    case = named("ApproximateGP less certain than its prior")
    [part] = pkex.as_expansion(case.model()).parts
    assert np.linalg.eigvalsh(part.posterior.inverse())[0] < -0.1
    assert not part.posterior.regression


def test_outputs_of_a_batch_have_the_covariances_of_their_process():
    case = named("ApproximateGP, 2 outputs")
    row, background = case.table[-1], case.table[3:5]
    found = case.explain(background)(row[None], return_cov=True).cov[0]
    hybrids, weights = functional(row, background, np.full(2, 0.5), alone(4), "interventional")
    with torch.no_grad():
        base = case.model().variational_strategy.base_variational_strategy
        full = base(torch.tensor(hybrids)).covariance_matrix.numpy()
    for output in range(2):
        own = full[output] - case.jitter * np.eye(len(hybrids))
        expected = weights @ own @ weights.T
        np.testing.assert_allclose(found[..., output], expected, rtol=0.0, atol=1e-12)


@mixtures
def test_a_mixture_has_the_covariances_and_the_spread_of_its_processes(case):
    """The law of total covariance, with the explanation of each process by itself."""
    rows, background = case.table[-2:], case.table[3:9]
    found = case.explain(background)(rows, return_cov=True)
    parts = pkex.as_expansion(case.model()).parts
    n_samples = parts[0].posterior.mixture.n_samples
    assert len(parts) == n_samples > 1
    values, covariances = [], []
    for part in parts:
        posterior = pkex.Posterior(
            part.posterior.cholesky, np.sqrt(n_samples) * np.sqrt(part.posterior.scales)[None]
        )
        alpha = n_samples * part.coefficients
        process = pkex.KernelExpansion(
            part.points, alpha, part.kernel, preparation=part.preparation, posterior=posterior
        )
        one = Explainer(process, background)(rows, return_cov=True)
        values.append(one.values)
        covariances.append(one.cov)
    away = np.array(values) - np.mean(values, axis=0)
    assert np.abs(away).max() > 1e-3  # the processes differ
    expected = np.mean(covariances, axis=0) + np.einsum("srj,srk->rjk", away, away) / n_samples
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.values, np.mean(values, axis=0), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.cov, expected, rtol=0.0, atol=1e-11 * size)


# a warp is steep at the ends of its range
@pytest.mark.parametrize("case", [c for c in models.MODELS if c.is_mixture
                                  and "warped" not in c.name], ids=str)  # fmt: skip
def test_gradients_of_a_mixture_by_differences_of_its_own_covariance(case):
    row, step = 0.1 + 0.8 * case.table[5], 1e-3
    std = case.explain(case.table[3:9]).gradients(row[None], return_std=True).std[0]
    for column in range(len(row)):
        around = row + step * np.outer([-1.0, 1.0], np.arange(len(row)) == column)
        own = case.covariance(around)
        expected = np.sqrt(own[0, 0] + own[1, 1] - 2.0 * own[0, 1]) / (2.0 * step)
        assert std[column] == pytest.approx(expected, rel=1e-3)


@pytest.mark.filterwarnings("ignore:Data")  # of BoTorch, about the scale of data
def test_models_of_a_list_keep_their_mixtures_apart():
    every = [sampled(), single(rows=UNIT)(), sampled(n_samples=3, outcome_transform=Standardize(1))]
    background, rows = UNIT[3:6].numpy(), UNIT[-2:].numpy()
    found = Explainer(ModelListGP(*every), background)(rows, return_std=True).std
    for output, one in enumerate(every):
        expected = Explainer(one, background)(rows, return_std=True).std
        np.testing.assert_allclose(found[..., output], expected, rtol=1e-10)


@mixtures
def test_what_a_mixture_has_by_its_own_covariance(case):
    row, background = case.table[-1], case.table[3:5]
    explain, d = case.explain(background), case.table.shape[1]
    found = explain.interactions(
        row[None], index="Moebius", subsets=[(0,), (0, 1)], return_std=True
    )
    here = np.arange(d) == 0
    both = np.arange(d) < 2
    corners = [np.where(inside, row, background) for inside in (False, here, here ^ both, both)]
    own = case.covariance(np.concatenate(corners))
    for number, signs in enumerate([(-1.0, 1.0, 0.0, 0.0), (1.0, -1.0, -1.0, 1.0)]):
        weights = np.repeat(signs, 2) / 2
        expected = np.sqrt(weights @ own @ weights)
        assert found.values_std[0, number] == pytest.approx(expected, rel=1e-7, abs=1e-7)
    effects = explain.effects([0], grid_resolution=3, return_std=True)
    rows = np.concatenate([np.where(here, value, background) for value in effects.grid[0]])
    means = np.kron(np.eye(len(effects.grid[0])), np.full(2, 0.5))
    expected = means @ case.covariance(rows) @ means.T
    np.testing.assert_allclose(effects.cov[0], expected, rtol=0.0, atol=1e-8 * expected.max())


@mixtures
def test_what_has_no_formula_for_a_mixture_says_so(case):
    explain = case.explain(case.table[3:9])
    with pytest.raises(UnsupportedModelError, match="leave_one_out needs"):
        explain.leave_one_out()
    assert explain.influence(case.table[:1], X_train=case.table).kind == "representer"


@pytest.mark.parametrize("case", APPROXIMATE, ids=str)
def test_explainers_with_such_a_posterior_pickle(case):
    explain = case.explain(case.table[3:6])
    again = pickle.loads(pickle.dumps(explain))
    rows = case.table[:1]
    assert np.array_equal(again(rows, return_std=True).std, explain(rows, return_std=True).std)


@pytest.mark.filterwarnings("ignore:Data")  # of BoTorch, about the scale of data
@one_output
def test_indices_of_draws_have_the_variance_of_the_models_own_posterior(case):
    """``E Var f = Var m + mean of the posterior variance - variance of the mean``, by rows."""
    rows = case.table[:3]
    try:
        found = pkex.sensitivity(case.model(), rows, n_draws=400, random_state=0)
    except UnsupportedModelError as error:
        assert "known random features" in str(error)  # noqa: PT017
        assert "Linear" in case.name
        return
    grid = np.stack(np.meshgrid(*rows.T, indexing="ij"), axis=-1).reshape(-1, rows.shape[1])
    with torch.no_grad():
        cov = posterior_covariance(case.model(), grid) - case.jitter * np.eye(len(grid))
    expected = found.variance + np.diag(cov).mean() - cov.mean()
    drawn = found.draws["variance"]
    allowed = 5.0 * drawn.std() / len(drawn) ** 0.5
    allowed += found.draws_error * (expected - found.variance)
    assert abs(drawn.mean() - expected) < allowed
    assert found.interval("shapley")[0].shape == (rows.shape[1],)


@mixtures
def test_the_importance_of_a_mixture_has_intervals(case):
    explain = Explainer(case.model(), case.table[3:9])
    found = explain.importance(case.table[:4], n_draws=99, random_state=0)
    again = explain.importance(case.table[:4], n_draws=99, random_state=0)
    np.testing.assert_array_equal(found.draws, again.draws)
    low, high = found.interval(0.9)
    assert (low < high).all()
