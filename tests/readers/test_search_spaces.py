"""Readers of BayBE and Ax; run by `make torch`, which installs these.

The oracle is the optimiser's own prediction at hybrids, in the parameters of its search space.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("ax")  # `make torch` installs it
pytest.importorskip("baybe")

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support import search_space_models as models
from tests._support.naive import shapley_by_enumeration
from tests._support.search_space_models import client, of_campaign, of_client, points

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

all_cases = pytest.mark.parametrize("case", models.MODELS, ids=str)


@all_cases
def test_values_are_those_of_brute_force_over_hybrids(case):
    model, rows, own = case.problem()
    background, names = rows.iloc[1:], list(rows.columns)
    explanation = Explainer(model, background)(rows.iloc[:1])
    assert set(explanation.feature_names) == set(names)

    def value(present):
        hybrids = background.reset_index(drop=True).copy()
        for place in present:
            hybrids[names[place]] = [rows[names[place]].iloc[0]] * len(hybrids)
        return own(hybrids).mean(axis=0)

    expected = np.array(shapley_by_enumeration(value, len(names)), dtype=float)
    order = [names.index(name) for name in explanation.feature_names]
    found = explanation.values[0].reshape(len(names), -1)
    size = np.abs(own(rows)).max(axis=0)
    assert (np.abs(found - expected[order]) <= 1e-9 * size).all()
    assert (np.abs(expected).max(axis=0) > 1e-3 * size).all()
    if expected.shape[1] > 1:
        assert set(explanation.output_names) in ({"yield", "cost"}, {"loss", "time"})


@all_cases
def test_its_own_points_are_data_and_explainers_pickle(case):
    model, rows, own = case.problem()
    explain = Explainer(model)
    assert "training points" in explain.background_info
    explanation = explain(rows, return_std=True)
    np.testing.assert_allclose(explanation.predictions.reshape(4, -1), own(rows), rtol=1e-9)
    assert (explanation.std > 0.0).all()
    again = pickle.loads(pickle.dumps(explain))
    assert np.array_equal(again(rows).values, explanation.values)
    arrays = rows[list(explanation.feature_names)].to_numpy(dtype=object)
    assert np.array_equal(explain(arrays).values, explanation.values)


@pytest.mark.parametrize(("make", "name"), [(of_campaign, "cost"), (of_client, "time")])
def test_an_objective_is_chosen_by_name(make, name):
    model, rows, _ = make("two")
    whole = Explainer(model, rows)(rows)
    one = Explainer(model, rows, outputs=name)(rows)
    place = whole.output_names.index(name)
    np.testing.assert_allclose(one.values, whole.values[..., place], rtol=1e-10, atol=1e-12)
    several = pkex.compare(model, rows.iloc[1], rows.iloc[0])
    single = pkex.compare(model, rows.iloc[1], rows.iloc[0], outputs=name)
    np.testing.assert_allclose(single.values, several.values[..., place], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(single.std, several.std[..., place], rtol=1e-8)
    with pytest.raises(ValueError, match=rf"has the objectives .*'{name}'.*; got outputs='x'"):
        Explainer(model, outputs="x")
    with pytest.raises(ValueError, match="has no tasks"):
        Explainer(model, task=1)


def test_the_variance_is_the_models_own():
    model, rows, _ = of_campaign("one")
    own = model.posterior(rows).variance.detach().numpy()[:, 0]
    found = Explainer(model).explain_variance(rows).predictions
    np.testing.assert_allclose(found, own, rtol=1e-6)
    found = Explainer(client("one")).explain_variance(points()).predictions
    own = [one["loss"][1] ** 2 for one in client("one").predict(points().to_dict("records"))]
    np.testing.assert_allclose(found, own, rtol=1e-6)


def test_values_of_a_sensitivity_analysis_sum_to_one():
    model, rows, _ = of_campaign("one")
    found = pkex.sensitivity(model, rows)
    assert found.shapley.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("refusal", models.REFUSALS, ids=str)
def test_what_cannot_be_explained_is_refused_with_a_sentence(refusal):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = refusal.make()
    with pytest.raises(UnsupportedModelError, match=refusal.words) as caught:
        Explainer(model)
    assert str(caught.value).endswith(".")


def test_neither_library_is_imported_by_pkex():
    code = (
        "import pkex, sys; from sklearn.svm import SVR; "
        "pkex.Explainer(SVR().fit([[0.0], [1.0]], [0.0, 1.0])); "
        "print([m for m in ('ax', 'baybe', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
