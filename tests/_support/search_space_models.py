"""Campaigns of BayBE and clients of Ax: the list that is explained, and the refused.

They need these packages, which `make torch` installs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from ax.adapter.registry import Generators
from ax.adapter.transforms.one_hot import OneHot
from ax.adapter.transforms.stratified_standardize_y import StratifiedStandardizeY
from ax.adapter.transforms.unit_x import UnitX
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


@dataclass(frozen=True)
class SearchCase:
    """A model, with rows and its own prediction."""

    name: str
    problem: Callable[[], Any]

    def __str__(self) -> str:
        return self.name

    def model(self) -> Any:
        """Return the model."""
        return self.problem()[0]


@dataclass(frozen=True)
class Refusal:
    """A model that is refused, and a pattern of the sentence that says why and what to do."""

    name: str
    make: Callable[[], Any]
    words: str

    def __str__(self) -> str:
        return self.name


@cache
def fitted_surrogate():
    """Return a surrogate of one target, rows, and its own prediction."""
    made, rows, _ = of_campaign("one")
    surrogate = GaussianProcessSurrogate()
    surrogate.fit(made.searchspace, made.objective, made.measurements)
    return surrogate, rows, lambda X: surrogate.posterior(X).mean.detach().numpy()


@cache
def composite():
    """Return the surrogate of a campaign of two targets, rows, and its own prediction."""
    made, rows, _ = of_campaign("two")
    surrogate = made.get_surrogate()
    return surrogate, rows, lambda X: surrogate.posterior(X).mean.detach().numpy()


def adapter():
    """Return the adapter of a client, rows, and its own prediction."""
    made, rows, own = of_client("one")
    return made._generation_strategy.adapter, rows, own


MODELS = [
    SearchCase("BayBE, one target", partial(of_campaign, "one")),
    SearchCase("BayBE, two targets", partial(of_campaign, "two")),
    SearchCase("BayBE, a task parameter", partial(of_campaign, "task")),
    SearchCase("BayBE, a surrogate", fitted_surrogate),
    SearchCase("BayBE, surrogates of two targets", composite),
    SearchCase("Ax, one metric", partial(of_client, "one")),
    SearchCase("Ax, two metrics", partial(of_client, "two")),
    SearchCase("Ax, an adapter", adapter),
]


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


def stratified():
    """Return an adapter whose metric is scaled by kind; the first arms are of one kind."""
    made = Client(random_seed=0)
    made.configure_experiment(
        name="strata",
        parameters=[
            RangeParameterConfig("x", (0.0, 1.0), "float"),
            ChoiceParameterConfig("kind", ["a", "b", "c"], "str", is_ordered=False),
        ],
    )
    made.configure_optimization(objective="-loss")
    for number in range(15):
        x, kind = (number % 7) / 7.0, "aaaaaaabbbbcccc"[number]
        loss = np.sin(3.0 * x) + 5.0 * x * (kind == "b")
        trial = made.attach_trial({"x": x, "kind": kind})
        made.complete_trial(trial, raw_data={"loss": float(loss)})
    experiment = made._experiment
    return Generators.BOTORCH_MODULAR(
        experiment=experiment,
        data=experiment.lookup_data(),
        transforms=[StratifiedStandardizeY, OneHot, UnitX],
        transform_configs={"StratifiedStandardizeY": {"parameter_name": "kind"}},
    )


REFUSALS = [
    Refusal("BayBE, no measurements", lambda: Campaign(SearchSpace.from_product(PARAMETERS)),
            "no measurements"),
    Refusal("BayBE, not fitted", GaussianProcessSurrogate, "is not fitted.*call fit"),
    Refusal("BayBE, a random forest", random_forest,
            "RandomForestSurrogate.*GaussianProcessSurrogate is"),
    Refusal("Ax, without a model", lambda: client("one", 2), "no model yet.*get_next_trials"),
    Refusal("Ax, a random adapter", sobol, "no model of BoTorch.*TorchAdapter is supported"),
    Refusal("Ax, a metric that is scaled by kind", stratified,
            "'loss'.*differ from arm to arm.*StratifiedStandardizeY.*surrogate.model"),
    Refusal("an object that holds a campaign", Holder,
            "attribute 'surrogate', a Campaign, is supported: pass that"),
    Refusal("BayBE, a search space", lambda: campaign("one").searchspace,
            "Of baybe .*Campaign.*Gaussian"),
]  # fmt: skip
