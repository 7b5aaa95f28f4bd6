"""`pkex.compare` of GPyTorch and BoTorch models, against their own posteriors at all hybrids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("gpytorch")  # `make torch` installs it

import torch

import pkex
from tests._support import torch_models as models
from tests._support.cases import alone
from tests._support.posterior_games import functional
from tests._support.torch_models.cases import TASK_COLUMN, posterior_covariance

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),  # of torch, about a product
]
torch.set_num_threads(1)

CASES = [c for c in models.MODELS if c.n_outputs == 1 and c.table.dtype == float]
CASES = [c for c in CASES if "SingleTaskGP" in c.name]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_those_of_all_hybrids_of_the_two_rows(case):
    model, rows = case.model(), case.table
    incumbent = rows[0]
    rows[:, 1] = incumbent[1]  # a parameter that is held fixed
    candidate = rows[(rows != incumbent).any(axis=1)][-1]
    found = pkex.compare(model, torch.tensor(candidate), torch.tensor(incumbent[None]), n_jobs=1)
    hybrids, weights = functional(
        candidate, incumbent[None], np.ones(1), alone(len(candidate)), "interventional"
    )
    places, inverse = np.unique(hybrids, axis=0, return_inverse=True)
    weights = np.stack([np.bincount(inverse.ravel(), w, len(places)) for w in weights])
    means = case.own(places)[:, 0]
    cov = posterior_covariance(model, places) - case.jitter * np.eye(len(places))
    size = np.diagonal(cov).max()
    close = 1e-9 * max(size, np.abs(means).max())
    np.testing.assert_allclose(found.values, weights @ means, rtol=0.0, atol=close)
    np.testing.assert_allclose(found.cov, weights @ cov @ weights.T, rtol=0.0, atol=1e-9 * size)
    expected = weights @ np.diagonal(cov)
    atol = 1e-9 * size + found.variance_error_bound
    np.testing.assert_allclose(found.variance_values, expected, rtol=0.0, atol=atol)
    assert found.feature_names[1] in found.fixed
    assert found.values[1] == found.std[1] == found.variance_values[1] == 0.0


@pytest.mark.parametrize("task", [0.0, 2.0])
def test_at_a_task_rows_lack_its_column(task):
    [case] = [case for case in models.MODELS if case.name == "MultiTaskGP"]
    model, whole = case.model(), case.table[:2]
    whole[:, TASK_COLUMN] = task
    rows = np.delete(whole, TASK_COLUMN, axis=1)
    found, every = pkex.compare(model, *rows, task=task), pkex.compare(model, *whole)
    kept = np.arange(whole.shape[1]) != TASK_COLUMN
    np.testing.assert_allclose(found.values, every.values[kept], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.std, every.std[kept], rtol=1e-9)
    np.testing.assert_allclose(
        found.variance_values, every.variance_values[kept], rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(found.predictions, case.own(whole)[::-1, 0], rtol=1e-10)


def test_the_parameters_of_a_search_are_compared_by_name():
    case = next(case for case in CASES if case.name == "SingleTaskGP")
    names = [f"p{j}" for j in range(case.table.shape[1])]
    table = pd.DataFrame(case.table, columns=names)
    found = pkex.compare(case.model(), dict(table.iloc[4]), table.iloc[2])
    by_number = pkex.compare(case.model(), case.table[4], case.table[2])
    np.testing.assert_array_equal(found.values, by_number.values)
    assert found.feature_names == tuple(names)
