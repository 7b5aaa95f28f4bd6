"""Readers of the processes that optimisers hold; run by `make torch`, which installs these.

The oracle is the process's own prediction at hybrids: rows with the columns of a coalition from the
row that is explained, and the others from the background.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from itertools import combinations
from math import comb

import numpy as np
import pytest

pytest.importorskip("skopt")  # `make torch` installs it
pytest.importorskip("bayes_opt")

from bayes_opt import BayesianOptimization

from pkex import Explainer, UnsupportedModelError, sensitivity
from tests._support import optimiser_models as models
from tests._support.naive import shapley_by_enumeration

pytestmark = pytest.mark.torch

all_models = pytest.mark.parametrize("case", models.MODELS, ids=str)


@pytest.fixture
def table(case):
    return case.table(case.process)


@pytest.fixture
def size(case, table):
    own = case.process.predict(table)
    return np.ptp(own) + np.abs(own).max()


@all_models
def test_base_and_values_sum_to_the_processs_own_mean(case, table, size):
    for rest in ((), (table[2:6],)):
        explanation = Explainer(case.model(), *rest)(table)
        total = explanation.base_values + explanation.values.sum(axis=1)
        assert np.abs(total - case.process.predict(table)).max() <= 1e-9 * size
        names = case.names or tuple(f"x{j}" for j in range(table.shape[1]))
        assert explanation.feature_names == names


@all_models
def test_values_are_those_of_brute_force_over_hybrids(case, table, size):
    row, rows = table[-1], table[2:5]
    found = Explainer(case.model(), rows)(row[None]).values[0]

    def value(present):
        hybrids = rows.copy()
        hybrids[:, sorted(present)] = row[sorted(present)]
        return case.process.predict(hybrids).mean(axis=0)

    expected = np.array(shapley_by_enumeration(value, len(row)), dtype=float)
    assert np.abs(found - expected).max() <= 1e-9 * size
    assert np.abs(expected).max() > 1e-3 * size  # there is something to explain


@all_models
def test_the_uncertainty_of_values_is_that_of_the_processs_own_covariance(case, table):
    """Values are weighted sums of predictions at hybrids, whose covariance the process has."""
    row, rows = table[-1], table[2:4]
    d, tables, weights = len(row), [], []
    for size in range(d + 1):
        for present in map(list, combinations(range(d), size)):
            spliced = rows.copy()
            spliced[:, present] = row[present]
            with_it = 1.0 / (d * comb(d - 1, max(size - 1, 0)))
            without = -1.0 / (d * comb(d - 1, min(size, d - 1)))
            tables.append(spliced)
            weights += [np.where(np.isin(range(d), present), with_it, without) / len(rows)] * 2
    a, hybrids = np.array(weights), np.concatenate(tables)
    kernel, points = case.process.kernel_, case.process.X_train_
    # between two tables, where noise does not count
    cross = kernel(hybrids, points)
    prior = kernel(hybrids, hybrids.copy())
    root = np.linalg.solve(case.process.L_, cross.T)
    covariance = (prior - root.T @ root) * case.process._y_train_std**2
    expected = np.diagonal(a.T @ covariance @ a)
    found = Explainer(case.model(), rows)(row[None], return_std=True).std[0] ** 2
    scale = np.diagonal(prior).max() * case.process._y_train_std**2
    assert np.abs(found - expected).max() <= 1e-8 * scale


@pytest.mark.filterwarnings("ignore:this Gaussian process is badly conditioned")
@all_models
def test_the_variance_is_the_processs_own_with_and_without_noise(case, table):
    """With the noise of the fit, which scikit-optimize takes out of the kernel after it."""
    process, rows = case.process, table[-2:]
    own = process.predict(rows, return_std=True)[1] ** 2
    explain = Explainer(case.model(), table[2:4])
    unit = process._y_train_std**2
    plain = process.kernel_(rows, rows.copy())  # between two tables, where noise does not count
    counted = process.kernel_.diag(rows) - np.diagonal(plain)
    fitted = (process.L_**2).sum(axis=1)[0] - process.kernel_(table[:1], table[:1].copy())[0, 0]
    atol = 1e-6 * np.diagonal(plain).max() * unit  # of kernels that are sums up to an error
    for option, noise in ((None, 0.0), (False, -counted), (True, fitted - counted)):
        found = explain.explain_variance(rows, observation_noise=option).predictions
        assert np.abs(found - (own + noise * unit)).max() <= atol


@all_models
def test_explainers_pickle(case, table):
    """Also where the function that is optimised cannot be pickled, as here."""
    explain = Explainer(case.model(), table[2:6])
    again = pickle.loads(pickle.dumps(explain))
    assert np.array_equal(again(table[:2]).values, explain(table[:2]).values)


@pytest.mark.parametrize("refusal", models.REFUSALS, ids=str)
def test_what_cannot_be_explained_is_refused_with_a_sentence(refusal):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = refusal.make()
    with pytest.raises(UnsupportedModelError) as caught:
        Explainer(model)
    for words in refusal.words:
        assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_an_optimiser_tells_when_its_process_lacks_points():
    optimizer = BayesianOptimization(lambda x, y: x * y, {"x": (0, 1), "y": (0, 1)}, verbose=0)
    optimizer.maximize(init_points=4, n_iter=1)
    with pytest.warns(UserWarning, match=r"4 of its 5 points.*optimizer\.predict"):
        Explainer(optimizer)
    optimizer.predict(optimizer.max["params"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Explainer(optimizer)


def test_the_columns_of_a_category_are_one_player_by_groups():
    [case] = [case for case in models.MODELS if "numbers and a category" in case.name]
    rows = case.process.X_train_
    explanation = Explainer(case.model(), groups={"kind": [2, 3, 4]})(rows)
    assert explanation.feature_names == ("x0", "x1", "kind")


def test_neither_library_is_imported_by_pkex():
    code = (
        "import pkex, sys; from sklearn.gaussian_process import GaussianProcessRegressor as G; "
        "pkex.Explainer(G().fit([[0.0], [1.0]], [0.0, 1.0])); "
        "print([m for m in ('skopt', 'bayes_opt') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sensitivity_refuses_a_range_of_a_parameter_of_integers():
    [case] = [case for case in models.MODELS if str(case) == "bayes_opt, a parameter of integers"]
    table = case.table(case.process)
    ranges = dict.fromkeys(case.names, (0.0, 3.0))
    with pytest.raises(ValueError, match=r"the model rounds the column .* or a sample of values"):
        sensitivity(case.model(), ranges)
    found = sensitivity(case.model(), dict(zip(case.names, table.T, strict=True)))
    assert found.shapley.sum() == pytest.approx(1.0)
