"""Readers: models that were changed, subclasses, and readers that others register."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.decomposition import KernelPCA
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import pkex
from pkex import AdditivityError, Explainer, KernelExpansion, UnsupportedModelError
from pkex.kernels import RBF
from pkex.readers import Reading, register, supported
from tests._support.cases import assert_close
from tests._support.models import MODELS, REFUSALS
from tests._support.models.case import class_decision
from tests._support.models.data import DIABETES, IRIS, SPECIES, TARGET, X

LibSVM = SVR.__mro__[2]  # what SVR and its relatives derive from


# --------------------------------------------------------------------- models that were changed


def capped(base, method, limit=1.0):
    """Return a subclass whose method cuts off what is large, which few points show."""

    def cut(self, rows):
        return np.minimum(getattr(base, method)(self, rows), limit)

    return type(f"Capped{base.__name__}", (base,), {method: cut})


@pytest.mark.parametrize(
    ("model", "y", "method"),
    [
        (capped(SVR, "predict")(C=20.0), TARGET, "predict"),
        (capped(SVC, "decision_function")(), TARGET > 150, "decision_function"),
        (capped(SVC, "predict")(), TARGET > 150, "predict"),
        (capped(SVR, "_compute_kernel")(kernel=RBF(0.1)), TARGET, "_compute_kernel"),
        (capped(OneClassSVM, "score_samples")(), None, "score_samples"),
        (capped(KernelRidge, "predict")(kernel="rbf"), TARGET, "predict"),
        (capped(KernelPCA, "transform")(2, kernel="rbf"), None, "transform"),
        (capped(KernelDensity, "score_samples")(), None, "score_samples"),
        (capped(GaussianProcessRegressor, "predict", 1e6)(optimizer=None), TARGET, "predict"),
        (capped(GaussianProcessClassifier, "predict_proba")(), TARGET > 150, "predict_proba"),
        (capped(FrozenEstimator, "predict")(SVR().fit(X, TARGET)), TARGET, "predict"),
        (type("M", (capped(SVR, "predict"),), {})(), TARGET, "predict"),
        (type("M", (SVR, capped(LibSVM, "predict")), {})(), TARGET, "predict"),
    ],
)
def test_a_subclass_that_predicts_otherwise_is_refused(model, y, method):
    model.fit(X, y)
    for made in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(UnsupportedModelError, match=rf"Capped\w+ overrides \w+\.{method}\b"):
            Explainer(made)


def test_a_kernel_of_somebody_else_under_a_known_name_is_refused():
    class RBF(gp.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.maximum(super().__call__(X, Y), 1e-9)

    model = GaussianProcessRegressor(RBF(0.1), optimizer=None).fit(X, TARGET)
    with pytest.raises(UnsupportedModelError, match="neither a product over columns nor a sum"):
        Explainer(model)


def test_a_method_that_was_put_on_a_model_is_refused():
    model = SVR().fit(X, TARGET)
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(UnsupportedModelError, match=r"this SVR overrides SVR\.predict"):
        Explainer(model)


def test_coefficients_that_are_not_those_of_predict_are_an_error():
    model = SVC().fit(IRIS, SPECIES)
    model.dual_coef_ = 2.0 * model.dual_coef_  # predict has a copy of its own
    with pytest.raises(AdditivityError, match="changed after fitting"):
        Explainer(model)


def test_a_model_in_a_pipeline_that_changes_after_it_was_read_is_an_error():
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")).fit(DIABETES, TARGET)
    explain = Explainer(model)
    explain(DIABETES[:3])
    model[-1].dual_coef_ *= 1.001
    with pytest.raises(AdditivityError, match="changed after fitting"):
        explain(DIABETES[:3])


def test_a_plain_model_is_explained_as_it_was_when_it_was_read():
    model = KernelRidge(kernel="rbf").fit(X, TARGET)
    explain, before = Explainer(model), model.predict(X[:3])
    model.fit(X, -TARGET)
    assert_close(explain(X[:3]).predictions, before, 1e-10 * np.abs(model.dual_coef_).sum())


# ------------------------------------------------------------------------- registry and dispatch


class PlainSubclass(SVR):
    """A user's subclass that changes nothing."""


class FewerParameters(SVC):
    """A user's subclass with an __init__, a fit and a score of its own, and something new."""

    def __init__(self, C=1.0):
        super().__init__(C=C)

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)

    def score(self, X, y):
        return -super().score(X, y)

    def margins(self, X):
        return np.abs(self.decision_function(X))


@pytest.mark.parametrize(
    ("model", "y"), [(PlainSubclass(C=20.0), TARGET), (FewerParameters(2.0), TARGET // 120)]
)
def test_subclasses_are_read_as_what_they_derive_from(model, y):
    model.fit(X, y)
    own = class_decision(model, X[:3]) if is_classifier(model) else model.predict(X[:3])
    size = np.abs(model.dual_coef_).sum()
    assert_close(Explainer(model)(X[:3]).predictions, own, 1e-10 * size)


class ClippedPipeline(Pipeline):
    """A user's pipeline that predicts something else than its last step."""

    def predict(self, X, **params):
        return np.maximum(super().predict(X, **params), 0.0)


class OwnSearch(GridSearchCV):
    def predict(self, X):
        return -super().predict(X)


def test_a_wrapper_that_predicts_otherwise_is_refused():
    for model in (
        ClippedPipeline([("svr", SVR())]),
        OwnSearch(SVR(), {"C": [1.0]}, cv=2),
    ):
        with pytest.raises(UnsupportedModelError, match=r"overrides \w+\.predict"):
            Explainer(model.fit(X, TARGET))


class Average:
    """A model of another library: the mean of RBF kernels."""

    def fit(self, points):
        self.points = points
        return self

    def predict(self, rows):
        return rbf_kernel(rows, self.points, gamma=0.5).mean(axis=1)


Average.__module__ = "another_library._private.machines"


class NewAverage(Average):
    """A newer one, in the user's own module."""


def average_reader(**options):
    """Return a reader of Average; the options are for the expansion."""

    def read_average(model, given):
        shares = np.full(len(model.points), 1.0 / len(model.points))
        return Reading(KernelExpansion(model.points, shares, RBF(), **options), model.predict)

    return read_average


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(pkex.readers, "_readers", dict(pkex.readers._readers))
    reader = average_reader(background="training points")
    return register("another_library.machines.Average")(reader)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("kind", [Average, NewAverage])
def test_other_libraries_can_register_a_reader(kind):
    model = kind().fit(X)
    assert "another_library.machines.Average" in supported()
    with pytest.raises(UnsupportedModelError, match=r"Capped\w+ overrides \w+\.predict"):
        Explainer(capped(kind, "predict")().fit(X))
    assert_close(Explainer(model)(X[:3]).predictions, model.predict(X[:3]), 1e-14)
    in_pipeline = make_pipeline(StandardScaler(), model)
    in_pipeline[0].fit(X)  # the model was fitted to other rows; a pipeline does not mind
    model.fit(in_pipeline[0].transform(X))
    expected = model.predict(in_pipeline[0].transform(X[:3]))
    assert_close(Explainer(in_pipeline)(X[:3]).predictions, expected, 1e-14)


@pytest.mark.usefixtures("registered")
def test_points_are_not_taken_for_data_by_themselves():
    """A reader that does not say that its points are data leaves the user to pass some."""
    model = Average().fit(X)
    assert "60 training points" in Explainer(model)(X[:1]).background_info
    register("another_library.machines.Average")(average_reader())
    with pytest.raises(ValueError, match=r"finds none in this model.*pass some rows"):
        Explainer(model)
    in_pipeline = make_pipeline(StandardScaler().fit(X), model)
    with pytest.raises(ValueError, match=r"finds none in this model.*pass some rows"):
        Explainer(in_pipeline)
    assert pkex.readers.read(model).background == (None,)
    assert Explainer(model, X[:5])(X[:1]).removal == "interventional"
    assert Explainer(model, removal="neutral")(X[:1]).removal == "neutral"


def test_without_the_reader_it_is_refused():
    with pytest.raises(UnsupportedModelError, match="Average is not a supported model"):
        Explainer(Average().fit(X))


def test_every_reader_has_a_case_or_a_refusal():
    """A reader that is added without a test is noticed."""
    made = [case.model() for case in MODELS] + [refusal.make() for refusal in REFUSALS]
    names = {pkex.readers._public_name(cls) for model in made for cls in type(model).__mro__}
    ours = {name for name in supported() if name.startswith("sklearn.")}  # see test_torch
    assert ours <= names


def test_nothing_of_scikit_learn_is_imported_with_pkex():
    code = "import pkex, sys; print(sorted(m for m in sys.modules if m.startswith('sklearn')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
