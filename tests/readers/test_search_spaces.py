"""Readers of BayBE and Ax; run by `make torch`, which installs these.

The oracle is the optimiser's own prediction at hybrids, in the parameters of its search space.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from ax.adapter.registry import Generators
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from baybe import Campaign
from baybe.objectives import ParetoObjective, SingleTargetObjective
from baybe.parameters import (
    CategoricalParameter,
    NumericalContinuousParameter,
    NumericalDiscreteParameter,
    TaskParameter,
)
from baybe.searchspace import SearchSpace
from baybe.surrogates import GaussianProcessSurrogate, RandomForestSurrogate
from baybe.targets import NumericalTarget

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support.naive import shapley_by_enumeration

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

PARAMETERS = [
    NumericalDiscreteParameter("temperature", (50, 60, 70, 80, 90)),
    CategoricalParameter("solvent", ("a", "b", "c"), encoding="OHE"),
    NumericalContinuousParameter("concentration", (0.1, 0.4)),
]
SITE = TaskParameter("site", ("A", "B", "C"), active_values=["A"])
TARGETS = [NumericalTarget("yield"), NumericalTarget("cost", minimize=True)]


def measurements(parameters):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            each.name: rng.choice(each.values, 12)
            if hasattr(each, "values")
            else rng.uniform(0.1, 0.4, 12)
            for each in parameters
        }
    )
    table["yield"] = (
        0.1 * table["temperature"] + 3.0 * (table["solvent"] == "b") + rng.normal(size=12)
    )
    table["cost"] = table["concentration"] * table["temperature"] + rng.normal(size=12)
    return table


@cache
def campaign(kind):
    """Return a campaign of one target, of two, or with a task parameter."""
    parameters = [*PARAMETERS, SITE] if kind == "task" else PARAMETERS
    targets = TARGETS if kind == "two" else TARGETS[:1]
    objective = ParetoObjective(TARGETS) if kind == "two" else SingleTargetObjective(TARGETS[0])
    made = Campaign(SearchSpace.from_product(parameters), objective)
    names = [*(each.name for each in parameters), *(each.name for each in targets)]
    made.add_measurements(measurements(parameters)[names])
    return made


@cache
def client(kind, n_trials=9):
    """Return a client of one metric or of two, after some trials."""
    logging.disable(logging.CRITICAL)
    made = Client(random_seed=0)
    made.configure_experiment(
        name="search",
        parameters=[
            RangeParameterConfig("rate", (1e-4, 1e-1), "float", scaling="log"),
            RangeParameterConfig("depth", (1, 6), "int"),
            ChoiceParameterConfig("kind", ["a", "b", "c"], "str", is_ordered=False),
        ],
    )
    made.configure_optimization(objective="-loss, -time" if kind == "two" else "-loss")
    for _ in range(n_trials):
        for number, point in made.get_next_trials(1).items():
            x = np.log10(point["rate"])
            raw = {"loss": 0.3 * (x + 2.0) ** 2 + 0.1 * point["depth"] + (point["kind"] == "b")}
            if kind == "two":
                raw["time"] = 2.0 * point["depth"] + x * x
            made.complete_trial(number, raw_data={name: float(v) for name, v in raw.items()})
    return made


def points():
    return pd.DataFrame(
        {"rate": [1e-2, 1e-3, 5e-2, 2e-4], "depth": [3, 1, 6, 2], "kind": ["a", "c", "b", "a"]}
    )


def of_campaign(kind):
    """Return a campaign, rows, and its own prediction."""
    made = campaign(kind)
    names = list(made.searchspace.parameter_names)
    rows = made.measurements[names].iloc[:4].reset_index(drop=True)
    return made, rows, lambda X: made.posterior(X).mean.detach().numpy()


def of_client(kind):
    """Return a client, rows, and its own prediction."""
    made = client(kind)
    metrics = ["loss", "time"][: 1 + (kind == "two")]

    def own(X):
        found = made.predict(X.to_dict("records"))
        return np.array([[one[metric][0] for metric in metrics] for one in found])

    return made, points(), own


CASES = [(of_campaign, kind) for kind in ("one", "two", "task")]
CASES += [(of_client, kind) for kind in ("one", "two")]
all_cases = pytest.mark.parametrize(("make", "kind"), CASES)


@all_cases
def test_values_are_those_of_brute_force_over_hybrids(make, kind):
    model, rows, own = make(kind)
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
def test_its_own_points_are_data_and_explainers_pickle(make, kind):
    model, rows, own = make(kind)
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


def test_surrogates_and_adapters_are_doors_as_well():
    model, rows, _ = of_campaign("one")
    expected = Explainer(model, rows)(rows).values
    surrogate = GaussianProcessSurrogate()
    surrogate.fit(model.searchspace, model.objective, model.measurements)
    np.testing.assert_allclose(Explainer(surrogate, rows)(rows).values, expected, rtol=1e-3)
    adapter = client("one")._generation_strategy.adapter
    same = Explainer(adapter, points())(points()).values
    assert np.array_equal(same, Explainer(client("one"), points())(points()).values)


def test_values_of_a_sensitivity_analysis_sum_to_one():
    model, rows, _ = of_campaign("one")
    found = pkex.sensitivity(model, rows)
    assert found.shapley.sum() == pytest.approx(1.0)


class Holder:
    """Something that has a campaign inside."""

    def __init__(self):
        self.surrogate = campaign("one")


def random_forest():
    surrogate = RandomForestSurrogate()
    made = campaign("one")
    surrogate.fit(made.searchspace, made.objective, made.measurements)
    return surrogate


def sobol():
    return Generators.SOBOL(experiment=client("one")._experiment)


REFUSALS = {
    "no measurements": (lambda: Campaign(SearchSpace.from_product(PARAMETERS)), "no measurements"),
    "not fitted": (GaussianProcessSurrogate, "is not fitted.*call fit"),
    "a random forest": (random_forest, "RandomForestSurrogate.*GaussianProcessSurrogate is"),
    "an early client": (lambda: client("one", 2), "no model yet.*get_next_trials"),
    "a random adapter": (sobol, "no model of BoTorch.*TorchAdapter is supported"),
    "a holder": (Holder, "attribute 'surrogate', a Campaign, is supported: pass that"),
    "a search space": (lambda: campaign("one").searchspace, "Of baybe .*Campaign.*Gaussian"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_explained_is_refused_with_a_sentence(name):
    make, words = REFUSALS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make()
    with pytest.raises(UnsupportedModelError, match=words) as caught:
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
