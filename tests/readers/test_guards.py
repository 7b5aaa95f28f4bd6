"""Guards of readers: what a subclass may have of its own differs from library to library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import HalvingGridSearchCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.svm import SVR

import pkex
from pkex import AdditivityError, Explainer, KernelExpansion, UnsupportedModelError
from pkex.kernels import RBF
from pkex.readers import Guard, Reading, register
from pkex.readers._guard import SKLEARN
from tests._support.cases import assert_close
from tests._support.models.data import TARGET, X


class Process:
    """A model of a library whose users always derive from it: it is called, they write `forward`.

    So are the Gaussian processes of GPyTorch.
    """

    def __init__(self, points, targets):
        self.points, self.targets = points, targets

    def forward(self, rows, others):
        raise NotImplementedError

    def weights(self):
        matrix = self.forward(self.points, self.points) + 0.1 * np.eye(len(self.points))
        return np.linalg.solve(matrix, self.targets)

    def __call__(self, rows):
        return self.forward(rows, self.points) @ self.weights()


Process.__module__ = "process_library.models"


class OwnProcess(Process):
    """What every user of that library writes."""

    def __init__(self, points, targets, width=0.5):
        super().__init__(points, targets)
        self.width = width

    def forward(self, rows, others):
        return RBF(self.width)(rows, others)


class WiderProcess(OwnProcess):
    """A user's process that does not compute what its parts say."""

    def forward(self, rows, others):
        return RBF(1.1 * self.width)(rows, others)


class CalledOtherwise(OwnProcess):
    def __call__(self, rows):
        return np.minimum(super().__call__(rows), 1.0)


class WeighedOtherwise(OwnProcess):
    def weights(self):
        return np.zeros(len(self.points))


def read_process(model, given):
    f = KernelExpansion(
        model.points, model.weights(), RBF(model.width), background="training points"
    )
    return Reading(f, model)


@pytest.fixture
def register_process(monkeypatch):
    monkeypatch.setattr(pkex.readers, "_readers", dict(pkex.readers._readers))

    def add(**options):
        register("process_library.models.Process", **options)(read_process)

    return add


CALLED = Guard(outputs=["__call__"], free=["forward"])


def test_a_class_that_users_always_derive_from_can_be_read(register_process):
    model = OwnProcess(X[:20], TARGET[:20])
    with pytest.raises(UnsupportedModelError, match="OwnProcess is not a supported model"):
        Explainer(model)
    register_process()
    with pytest.raises(UnsupportedModelError, match=r"OwnProcess overrides \w+\.forward"):
        Explainer(model)
    register_process(guard=CALLED)
    explanation = Explainer(model)(X[:3])
    size = np.abs(model.weights()).sum()
    assert_close(explanation.predictions, model(X[:3]), 1e-13 * size)
    values = explanation.base_values + explanation.values.sum(axis=1)
    assert_close(values, model(X[:3]), 1e-12 * size)
    derived = type("Derived", (OwnProcess,), {"forward": OwnProcess.forward})
    assert_close(
        Explainer(derived(X[:20], TARGET[:20]))(X[:3]).values, explanation.values, 1e-13 * size
    )


@pytest.mark.parametrize(
    ("kind", "method"), [(CalledOtherwise, "__call__"), (WeighedOtherwise, "weights")]
)
def test_what_is_not_free_there_is_refused(kind, method, register_process):
    register_process(guard=CALLED)
    with pytest.raises(UnsupportedModelError, match=rf"{kind.__name__} overrides \w+\.{method}"):
        Explainer(kind(X[:20], TARGET[:20]))


def test_what_is_free_and_not_what_was_read_is_an_error(register_process):
    register_process(guard=CALLED)
    with pytest.raises(AdditivityError, match="the converted model predicts"):
        Explainer(WiderProcess(X[:20], TARGET[:20]))


def test_a_guard_is_that_of_one_library(register_process):
    """What is free there is not in scikit-learn, and the other way round."""
    register_process(guard=CALLED)

    class Forward(SVR):
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(UnsupportedModelError, match=r"Forward overrides \w+\.predict"):
        Explainer(Forward().fit(X, TARGET))

    class Scored(SVR):
        def score(self, X, y):
            return 0.0

    SKLEARN.check(Scored(), SVR)
    with pytest.raises(UnsupportedModelError, match=r"Scored overrides \w+\.score"):
        CALLED.check(Scored(), SVR)


def test_subclasses_of_a_library_are_known_to_it_but_not_what_stands_beside_them():
    class Beside(DummyRegressor, KernelRidge):
        pass

    with pytest.raises(UnsupportedModelError, match=r"DummyRegressor overrides \w+\.predict"):
        SKLEARN.check(Beside(), KernelRidge)
    search = HalvingGridSearchCV(SVR(), {"C": [1.0]})
    SKLEARN.check(search, BaseSearchCV)
    with pytest.raises(UnsupportedModelError, match=r"overrides \w+\._\w+"):
        Guard().check(search, BaseSearchCV)


@pytest.mark.parametrize("names", ["predict", [1], [None]])
def test_a_guard_needs_names_of_methods(names):
    for which in ("outputs", "free"):
        with pytest.raises(TypeError, match=rf"{which} of a Guard must be names of methods"):
            Guard(**{which: names})
