"""Readers: every model of `models/` is explained as it is, or refused with a sentence.

The oracles are the model's own output and the value function of `models/`, which is written from
the model's attributes and scikit-learn's kernels; neither goes through a reader of pkex.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import assert_close
from joblib import Parallel, delayed
from models import MODELS, REFUSALS
from models.case import class_decision
from models.data import CULTIVAR, DIABETES, IRIS, SPECIES, TARGET, WINE_FRAME, X
from models.vector_machines import GRAM, rbf_of_tables
from naive import shapley_by_enumeration
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, KernelPCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVR, OneClassSVM

import pkex
from pkex import AdditivityError, Explainer, KernelExpansion, UnsupportedModelError, as_expansion
from pkex._classes import elsewhere
from pkex.kernels import RBF
from pkex.readers import Reading, register, supported

LibSVM = SVR.__mro__[2]  # what SVR and its relatives derive from

all_models = pytest.mark.parametrize("case", MODELS, ids=str)
both_games = pytest.mark.parametrize("default", [True, False])


def explainer(case, removal=None, **options):
    """Return the Explainer of a case, made as a user would: by default, or another game."""
    with case.quiet(), warnings.catch_warnings():
        if case.warns is not None:
            warnings.filterwarnings("ignore", message=case.warns)
        model = case.model()
        read = as_expansion(model, **case.given) if case.given else model
        background = case.background if removal == "interventional" else None
        return Explainer(read, background, removal=removal, outputs=case.choice, **options)


@cache
def explained(case_name, removal=None):
    """Return the explanation of the rows of a case."""
    case = next(case for case in MODELS if case.name == case_name)
    explain = explainer(case, removal)
    with case.quiet():
        return explain(case.rows)


def scale(case, own):
    """Return what rounding is relative to, for every output.

    Prediction and values are sums of terms alpha_i k(x, x_i) of both signs, so their rounding is
    relative to the sum of the terms' sizes, and not to what is left after they cancel: the
    coefficients of a Gaussian process with little noise are thousands of times its prediction.
    """
    return np.maximum(np.abs(own), case.size())


def game_of(case, default):
    return "marginal" if default else case.other_removal


@all_models
@both_games
def test_base_and_values_sum_to_the_models_own_output(case, default):
    explanation = explained(case.name, None if default else case.other_removal)
    own = case.own_output().reshape(len(explanation), -1)
    total = (explanation.base_values + explanation.values.sum(axis=1)).reshape(own.shape)
    # 1e-10: n rounding errors of 1e-16 each, and those of scikit-learn's |x|^2 + |z|^2 - 2 x z
    assert (np.abs(total - own) <= 1e-10 * scale(case, own)).all()


@all_models
@both_games
def test_values_are_shapley_values_of_the_models_game_by_enumeration(case, default):
    explanation = explained(case.name, None if default else case.other_removal)
    assert explanation.removal == game_of(case, default)
    n_players = len(case.feature_names)
    for row in (0, len(explanation) - 1):
        value = case.value(case.rows[row : row + 1], explanation.removal)
        empty, full = value(frozenset()), value(frozenset(range(n_players)))
        expected = np.array(shapley_by_enumeration(value, n_players), dtype=float)
        atol = 1e-12 * scale(case, full)  # as above, with at most 2^6 sums in place of one
        values = explanation.values[row].reshape(expected.shape)
        assert (np.abs(values - expected) <= atol).all()
        assert (np.abs(explanation.base_values[row].reshape(empty.shape) - empty) <= atol).all()


@all_models
def test_groups_of_columns_by_default(case):
    """A text column or group is one player: of its factors the mean of the product is taken."""
    names = case.feature_names
    players = ((0, len(names) - 1), *((j,) for j in range(1, len(names) - 1)))
    players = players if len(names) > 1 else ((0,),)
    with case.quiet():
        explanation = explainer(case, groups=[list(players[0])])(case.rows)
    value = case.value(case.rows[:1], "marginal", players)
    expected = np.array(shapley_by_enumeration(value, len(players)), dtype=float)
    atol = 1e-12 * scale(case, value(frozenset(range(len(players)))))
    assert (np.abs(explanation.values[0].reshape(expected.shape) - expected) <= atol).all()


@all_models
@both_games
def test_the_game_is_that_of_the_model(case, default):
    """The oracle itself: with all columns present its value is the model's own output."""
    own = case.own_output().reshape(case.rows.shape[0], -1)
    present = frozenset(range(len(case.feature_names)))
    for row, expected in enumerate(own):
        value = case.value(case.rows[row : row + 1], game_of(case, default))(present)
        assert (np.abs(value - expected) <= 1e-12 * scale(case, expected)).all()


@all_models
def test_shapes_and_names(case):
    explanation, n_rows = explained(case.name), case.rows.shape[0]
    outputs = (case.n_outputs,) if case.n_outputs > 1 else ()
    assert explanation.values.shape == (n_rows, len(case.feature_names), *outputs)
    assert explanation.base_values.shape == explanation.predictions.shape == (n_rows, *outputs)
    assert explanation.feature_names == case.feature_names
    assert explanation.output_names == case.outputs


@pytest.mark.parametrize("case", [case for case in MODELS if case.warns], ids=str)
def test_a_step_that_mixes_columns_is_announced_where_the_user_stands(case):
    with pytest.warns(UserWarning, match=case.warns) as caught:
        Explainer(case.model())
    assert [w.filename for w in caught] == [__file__]


def test_the_warning_points_at_the_user_through_wrappers():
    search = GridSearchCV(make_pipeline(PCA(2), SVR()), {"svr__C": [1.0, 2.0]}, cv=2)
    search.fit(DIABETES, TARGET)
    for entry in (Explainer, as_expansion):
        with pytest.warns(UserWarning, match="PCA mixes columns") as caught:
            entry(search)
        assert [w.filename for w in caught] == [__file__]


def winner(names, outputs):
    """Return the label that the outputs favour: a "a vs b" above 0 speaks for a."""
    if " vs " not in names[0]:
        return names[int(np.argmax(outputs))]
    votes = [
        name.split(" vs ")[int(output <= 0.0)] for name, output in zip(names, outputs, strict=True)
    ]
    tally = sorted((votes.count(label), label) for label in set(votes))
    tied = len(tally) > 1 and tally[-1][0] == tally[-2][0]
    return None if tied else tally[-1][1]


classifiers = pytest.mark.parametrize(
    "case", [case for case in MODELS if is_classifier(case.model())], ids=str
)


@classifiers
def test_the_predicted_classes_are_the_models_own(case):
    explanation = explained(case.name)
    own = case.model().predict(case.rows)
    assert explanation.predicted.tolist() == own.tolist()
    assert explanation.predicted.dtype == own.dtype
    assert explanation.classes == tuple(map(str, case.model().classes_))
    assert explanation[1:].predicted.tolist() == own[1:].tolist()


@classifiers
def test_a_positive_value_speaks_for_the_class_that_is_named(case):
    explanation = explained(case.name)
    for name, (yes, no) in zip(explanation.outputs, explanation.sides, strict=True):
        assert name == (yes if no is None else f"{yes} vs {no}")
    assert ("latent mean" in explanation.number) == ("GPC" in case.name)
    assert ("decision function" in explanation.number) == ("GPC" not in case.name)


@pytest.mark.parametrize("case", [c for c in MODELS if c.name.startswith("OneClass")], ids=str)
def test_positive_values_of_a_one_class_machine_speak_for_inliers(case):
    explanation = explained(case.name)
    assert explanation.sides == (("inlier", "outlier"),)
    own = np.where(case.model().predict(case.rows) > 0, "inlier", "outlier")
    assert explanation.predicted.tolist() == own.tolist()
    assert ((explanation.predictions > 0) == (own == "inlier")).all()


@all_models
def test_nothing_is_said_about_classes_of_what_has_none(case):
    explanation = explained(case.name)
    known = is_classifier(case.model()) or case.name.startswith("OneClass")
    for part in (explanation.predicted, explanation.classes, explanation.sides, explanation.number):
        assert (part is not None) == known


@classifiers
def test_outputs_favour_the_class_they_name_first(case):
    explanation = explained(case.name)
    predicted = [str(label) for label in case.model().predict(case.rows)]
    totals = explanation.predictions.reshape(len(predicted), -1)
    favoured = [winner(explanation.output_names, total) for total in totals]
    other = elsewhere(explanation)
    if other is not None:  # predict counts votes first, and the explanation says where it matters
        assert other.tolist() == [
            a if a != p else None for a, p in zip(favoured, predicted, strict=True)
        ]
        favoured = [a if o is None else None for a, o in zip(favoured, other, strict=True)]
    assert any(favoured)
    assert [a for a in favoured if a] == [p for p, a in zip(predicted, favoured, strict=True) if a]


# ------------------------------------------------------------------- pickles, threads, processes


@all_models
def test_explainers_pickle(case):
    again = pickle.loads(pickle.dumps(explainer(case)))
    with case.quiet():
        values = again(case.rows).values
    assert_close(values, explained(case.name).values, 1e-14 * case.size().max())


MIXED = [
    case
    for case in MODELS
    if case.name
    in (
        "SVC 3 classes",
        "KernelPCA 3 components",
        "GPC 3 classes, one_vs_rest",
        "OneHotEncoder by name, remainder passthrough",
        "OneVsRestClassifier around a pipeline by name",
        "TransformedTargetRegressor MinMaxScaler around a pipeline",
    )
]


@pytest.mark.parametrize("case", MIXED, ids=str)
def test_threads_can_share_an_explainer(case):
    explain, expected = explainer(case), explained(case.name).values
    rows = [case.rows[i : i + 1] for i in range(len(expected))] * 6
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(explain, rows))
    values = np.concatenate([each.values for each in found])
    assert_close(values, np.concatenate([expected] * 6), 1e-14 * case.size().max())


def test_inside_joblib():
    model = make_pipeline(StandardScaler(), SVR(C=20.0)).fit(DIABETES, TARGET)
    explain = Explainer(model)
    parts = Parallel(n_jobs=2)(delayed(explain)(DIABETES[i : i + 5]) for i in (0, 5, 10))
    values = np.concatenate([part.values for part in parts])
    assert_close(values, explain(DIABETES[:15]).values, 1e-12)  # values are of the order of 10


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
@pytest.mark.parametrize("entry", [Explainer, as_expansion])
@pytest.mark.filterwarnings("ignore:PCA mixes columns")  # which is said before the refusal
def test_what_cannot_be_explained_is_refused_with_a_sentence(refusal, entry):
    model = refusal.make()
    with pytest.raises(UnsupportedModelError) as caught:
        entry(model)
    sentence = str(caught.value)
    for words in refusal.words:
        assert words in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVR(kernel="precomputed").fit(rbf_kernel(X), TARGET), "precomputed.*pass both"),
        (SVR(kernel=rbf_kernel).fit(X, TARGET), "kernel of its own.*pkex kernel"),
    ],
)
def test_half_of_what_is_needed_is_refused(model, words):
    given = {"points": X} if model.kernel == "precomputed" else {"kernel": rbf_kernel}
    with pytest.raises(UnsupportedModelError, match=words):
        as_expansion(model, **given)


def test_a_wrong_kernel_is_noticed():
    model = SVR(kernel=rbf_kernel, C=20.0).fit(X, TARGET)  # gamma is 1/4: length scale sqrt(2)
    as_expansion(model, kernel=RBF(np.sqrt(2.0)))
    with pytest.raises(AdditivityError, match="predicts"):
        as_expansion(model, kernel=RBF(1.0))


def test_the_wrong_number_of_points_is_noticed():
    """Which points they are cannot be checked: such a model has only seen a matrix."""
    model = SVR(kernel="precomputed", C=20.0).fit(rbf_kernel(X, gamma=0.5), TARGET)
    as_expansion(model, kernel=RBF(1.0), points=X)
    for points in (X[:50], np.vstack([X, X])):
        with pytest.raises(ValueError, match="points"):
            as_expansion(model, kernel=RBF(1.0), points=points)


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
        with pytest.raises(UnsupportedModelError, match=rf"Capped\w+ has a {method} of its own"):
            Explainer(made)


def test_a_kernel_of_somebody_else_under_a_known_name_is_refused():
    class RBF(gp.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.maximum(super().__call__(X, Y), 1e-9)

    model = GaussianProcessRegressor(RBF(0.1), optimizer=None).fit(X, TARGET)
    with pytest.raises(UnsupportedModelError, match="does not factorise"):
        Explainer(model)


def test_a_method_that_was_put_on_a_model_is_refused():
    model = SVR().fit(X, TARGET)
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(UnsupportedModelError, match="this SVR has a predict of its own"):
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
        with pytest.raises(UnsupportedModelError, match="has a predict of its own"):
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
    with pytest.raises(UnsupportedModelError, match=r"Capped\w+ has a predict of its own"):
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
    assert "the model's 60 training points" in Explainer(model)(X[:1]).absent
    register("another_library.machines.Average")(average_reader())
    with pytest.raises(ValueError, match=r"keeps none.*pass some rows"):
        Explainer(model)
    in_pipeline = make_pipeline(StandardScaler().fit(X), model)
    with pytest.raises(ValueError, match=r"keeps none.*pass some rows"):
        Explainer(in_pipeline)
    assert pkex.readers.read(model).background == (None,)
    assert Explainer(model, X[:5])(X[:1]).removal == "interventional"
    assert Explainer(model, removal="neutral")(X[:1]).removal == "neutral"


def test_without_the_reader_it_is_refused():
    with pytest.raises(UnsupportedModelError, match="Average is not a model"):
        Explainer(Average().fit(X))


def test_every_reader_has_a_case_or_a_refusal():
    """A reader that is added without a test is noticed."""
    made = [case.model() for case in MODELS] + [refusal.make() for refusal in REFUSALS]
    names = {pkex.readers._public_name(cls) for model in made for cls in type(model).__mro__}
    assert set(supported()) <= names


def test_nothing_of_scikit_learn_is_imported_with_pkex():
    code = "import pkex, sys; print(sorted(m for m in sys.modules if m.startswith('sklearn')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------ odd models


def test_a_machine_without_support_vectors_is_a_constant():
    """With the default epsilon of 0.1 a target that varies less than that needs no vectors."""
    model = SVR().fit(DIABETES, TARGET / 10_000.0)
    assert len(model.support_vectors_) == 0
    explanation = Explainer(model)(DIABETES[:3])
    assert_close(explanation.values, np.zeros((3, 4)), 0.0)
    assert_close(explanation.predictions, model.predict(DIABETES[:3]), 0.0)


@pytest.mark.parametrize(
    "model",
    [
        SVR(gamma=0.0),
        SVC(gamma=0.0),
        OneClassSVM(gamma=0.0),
        *(KernelRidge(kernel=name, gamma=0.0) for name in ("rbf", "laplacian", "chi2")),
        GaussianProcessRegressor(
            gp.PairwiseKernel(0.0, "fixed", metric="rbf"), alpha=1.0, optimizer=None
        ),
    ],
    ids=str,
)
def test_a_kernel_with_the_rate_0_is_a_constant(model):
    model.fit(np.abs(X), TARGET > 150)
    own = getattr(model, "decision_function", model.predict)(np.abs(X[:3]))
    explanation = Explainer(model)(np.abs(X[:3]))
    assert_close(explanation.values, np.zeros((3, 4)), 0.0)
    assert_close(explanation.predictions, own, 1e-9)


def test_one_target_in_a_column_is_one_output():
    column = TARGET[:, None]
    for model in (
        KernelRidge(kernel="rbf").fit(X, column),
        GaussianProcessRegressor(alpha=1.0, optimizer=None, normalize_y=True).fit(X, column),
    ):
        explanation = Explainer(model)(X[:3])
        assert explanation.values.shape == (3, 4)
        assert explanation.base_values.shape == (3,)


def test_one_length_scale_in_a_list_is_isotropic():
    kernel = gp.RBF([0.1])
    model = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(X, TARGET)
    assert_close(Explainer(model)(X[:3]).predictions, model.predict(X[:3]), 1e-9)


def test_a_fractional_power_of_a_laplacian():
    kernel = gp.PairwiseKernel(6.0, metric="laplacian") ** 0.5
    model = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(X, TARGET)
    assert_close(Explainer(model)(X[:3]).predictions, model.predict(X[:3]), 1e-9)


@pytest.mark.parametrize("kind", [KernelRidge, KernelPCA])
def test_pkex_kernels_work_where_scikit_learn_calls_them_with_pairs_of_rows(kind):
    model = kind(kernel=RBF(0.1)).fit(X[:20], TARGET[:20])
    own = model.predict(X[:3]) if kind is KernelRidge else model.transform(X[:3])
    assert_close(Explainer(model)(X[:3]).predictions, own, 1e-9)


@pytest.mark.parametrize("kind", [SVR, NuSVR, SVC, OneClassSVM])
def test_names_of_the_table_that_a_machine_with_its_own_kernel_was_fitted_to(kind):
    model = kind(kernel=RBF(0.1)).fit(DIABETES, TARGET > 150)
    explain = Explainer(model)
    assert explain(DIABETES[:3]).feature_names == tuple(DIABETES.columns)
    moved = DIABETES.iloc[:3, ::-1]
    assert_close(explain(moved).values, explain(DIABETES[:3]).values, 0.0)


@pytest.mark.parametrize("kind", [SVR, KernelRidge, KernelPCA, OneClassSVM])
def test_names_of_points_that_were_given(kind):
    """Those that the model has seen, if any, are names of columns of the kernel matrix."""
    gram = pd.DataFrame(GRAM(X)).add_prefix("row")
    model = kind(kernel="precomputed").fit(gram, TARGET)
    expansion = as_expansion(model, kernel=RBF(0.1), points=DIABETES)
    assert expansion.feature_names == tuple(DIABETES.columns)
    moved = DIABETES.iloc[:3, ::-1]
    explain = Explainer(expansion)
    assert_close(explain(moved).values, explain(DIABETES[:3]).values, 0.0)
    assert as_expansion(model, kernel=RBF(0.1), points=X).feature_names[0] == "x0"


def test_names_of_points_behind_a_wrapper():
    gram = pd.DataFrame(rbf_kernel(WINE_FRAME)).add_prefix("row")
    model = OneVsRestClassifier(SVC(kernel="precomputed")).fit(gram, CULTIVAR)
    expansion = as_expansion(model, kernel=RBF(np.sqrt(2.5)), points=WINE_FRAME)
    assert expansion.feature_names == tuple(WINE_FRAME.columns)


def test_one_vs_one_with_precomputed_kernels_is_refused():
    """Every estimator has a part of the points, and an SVC is one-vs-one by itself."""
    model = OneVsOneClassifier(SVC(kernel="precomputed")).fit(rbf_kernel(IRIS), SPECIES)
    with pytest.raises(UnsupportedModelError, match="one-vs-one by itself"):
        as_expansion(model, kernel=RBF(np.sqrt(2.0)), points=IRIS)


@pytest.mark.parametrize(("label", "extent"), [(1, "every row"), (0, "no row")])
@pytest.mark.parametrize("place", [0, 2])
def test_a_class_that_all_rows_have_or_none_is_refused(label, extent, place):
    labels = np.column_stack([SPECIES == 0, SPECIES == 1, SPECIES == 2]).astype(int)
    labels[:, place] = label
    with pytest.warns(UserWarning, match="present in all training examples"):
        model = OneVsRestClassifier(SVC()).fit(IRIS, labels)
    with pytest.raises(UnsupportedModelError, match=f"{extent} that .* has the class {place}"):
        Explainer(model)
    Explainer(model.estimators_[int(place == 0)])  # as the message advises


def test_one_vs_rest_with_precomputed_kernels():
    model = OneVsRestClassifier(SVC(kernel="precomputed")).fit(rbf_kernel(IRIS), SPECIES)
    given = {"kernel": RBF(np.sqrt(2.0)), "points": IRIS}
    found = Explainer(as_expansion(model, **given))(IRIS[::20]).predictions
    assert_close(found, model.decision_function(rbf_kernel(IRIS[::20], IRIS)), 1e-9)


def test_outputs_that_use_different_columns_have_zeros_for_the_others():
    inner = make_pipeline(SelectKBest(f_regression, k=1), SVR(C=20.0))
    targets = np.column_stack([TARGET, 1000.0 * DIABETES["age"]])
    model = MultiOutputRegressor(inner).fit(DIABETES, targets)
    values = Explainer(model)(DIABETES[:3]).values
    chosen = [np.flatnonzero(each[0].get_support()) for each in model.estimators_]
    assert chosen[0] != chosen[1]
    for output, column in enumerate(chosen):
        assert (values[:, column, output] != 0.0).all()
        assert (np.delete(values[..., output], column, axis=1) == 0.0).all()


def test_a_target_that_is_predicted_through_fewer_numbers():
    """Two correlated targets from one output: the way back is affine, to more columns."""
    targets = np.column_stack([TARGET, 2.0 * TARGET + 7.0])  # on a line, so nothing is lost
    regressor = KernelRidge(kernel="rbf", gamma=30.0)
    model = TransformedTargetRegressor(regressor, transformer=PCA(1)).fit(X, targets)
    explanation = Explainer(model)(X[:3])
    assert explanation.values.shape == (3, 4, 2)
    assert explanation.output_names == ("y0", "y1")
    assert_close(explanation.predictions, model.predict(X[:3]), 1e-8)


def test_a_density_with_tolerances_is_explained_as_the_exact_one():
    cloud = np.random.default_rng(3).normal(size=(3000, 2))
    rough = KernelDensity(bandwidth=0.3, rtol=0.1).fit(cloud)
    exact = KernelDensity(bandwidth=0.3).fit(cloud)
    own = np.exp(exact.score_samples(cloud[:5]))
    assert_close(Explainer(rough)(cloud[:5]).predictions, own, 1e-12)  # the density is below 1


@pytest.mark.parametrize(("bandwidth", "words"), [(10.0, "too small"), (1e-3, "too large")])
def test_a_density_beyond_double_precision_is_refused(bandwidth, words):
    cloud = np.random.default_rng(4).normal(size=(20, 784))
    with pytest.raises(UnsupportedModelError, match=words):
        Explainer(KernelDensity(bandwidth=bandwidth).fit(cloud))


def test_manhattan_by_another_name():
    model = KernelDensity(
        kernel="exponential", metric="minkowski", metric_params={"p": 1}, bandwidth=0.1
    ).fit(X)
    own = np.exp(model.score_samples(X[:3]))
    assert_close(Explainer(model)(X[:3]).predictions, own, 1e-12 * own.max())


@pytest.mark.parametrize("size", [1e4, 3e5])
def test_large_unscaled_columns(size):
    """Where scikit-learn itself loses digits in |x|^2 + |z|^2 - 2 x z, that is no error of ours.

    A column of prices, say, with the default gamma: k(x, x) is exp(-gamma eps |x|^2), not 1.
    """
    prices = np.column_stack([X[:, 0], size * (3.0 + np.arange(60) / 20.0)])
    model = KernelRidge(kernel="rbf").fit(prices, TARGET)
    explanation = Explainer(model)(prices[:3])
    rounding = 16 * np.finfo(float).eps * 0.5 * (prices**2).sum(axis=1).max()
    slack = (1e-10 + rounding) * np.abs(model.dual_coef_).sum()
    assert_close(explanation.predictions, model.predict(prices[:3]), slack)


def days(shift):
    """A table with a column of time that counts from long ago, and a target."""
    rng = np.random.default_rng(8)
    time, other = np.sort(rng.uniform(0.0, 300.0, 100)), rng.normal(size=100)
    return np.column_stack([time + shift, other]), np.sin(time / 30.0) + other


@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(FunctionTransformer(), m)])
@pytest.mark.parametrize(
    ("model", "shift"),
    [
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1), 1.7e9),
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1), 1e8),
        (KernelRidge(kernel="rbf", gamma=1e-3, alpha=1e-3), 1e7),
        (KernelPCA(2, kernel="rbf", gamma=1e-3), 1.7e9),
        (KernelPCA(1, kernel="rbf", gamma=1e-3), 1e11),
    ],
)
def test_columns_so_far_from_0_that_the_model_loses_its_digits_are_refused(model, shift, wrap):
    """scikit-learn predicts something else than the formula: noise, with timestamps in seconds."""
    table, y = days(shift)
    model = wrap(clone(model))
    with pytest.raises(UnsupportedModelError, match=r"loses digits.* Centre or scale"):
        Explainer(model.fit(table, y))
    Explainer(model.fit(table - [shift, 0.0], y))


def test_columns_so_far_from_0_that_the_model_loses_some_digits_are_announced():
    table, y = days(3e6)
    model = KernelRidge(kernel="rbf", gamma=1e-3, alpha=0.1).fit(table, y)
    with pytest.warns(UserWarning, match=r"predictions are off by \de-0[56] .* refit") as caught:
        explain = Explainer(model)
    assert [w.filename for w in caught] == [__file__]
    gap = np.abs(explain(table).predictions - model.predict(table)).max()
    assert 1e-6 < gap / np.abs(model.predict(table)).max() < 1e-3


def test_a_thousand_columns_and_more():
    """Where binomials overflow, others return NaN."""
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(30, 1200))
    model = make_pipeline(StandardScaler(), SVR(C=5.0)).fit(wide, wide[:, 0])
    explanation = Explainer(model)(wide[:2])
    assert np.isfinite(explanation.values).all()
    assert_close(explanation.predictions, model.predict(wide[:2]), 1e-10)


def test_text_labels_with_spaces_and_numbers_as_labels():
    named = SVC().fit(WINE_FRAME, np.array(["from Barolo", "from Asti", "old"])[CULTIVAR])
    assert Explainer(named)(WINE_FRAME[:1]).output_names == ("from Asti", "from Barolo", "old")
    assert Explainer(named, outputs="pairs")(WINE_FRAME[:1]).output_names == (
        "from Asti vs from Barolo",
        "from Asti vs old",
        "from Barolo vs old",
    )
    numbered = SVC().fit(WINE_FRAME, CULTIVAR > 0)
    assert Explainer(numbered)(WINE_FRAME[:1]).output_names == ("True vs False",)


def test_the_error_names_no_address():
    """A sentence that is the same every time: no ``<function f at 0x7f...>``."""
    with pytest.raises(UnsupportedModelError) as caught:
        Explainer(SVR(kernel=rbf_of_tables).fit(X, TARGET))
    assert re.search("rbf_of_tables", str(caught.value))
    assert " at 0x" not in str(caught.value)


# ------------------------------------------------------------------------------ the support page


def test_the_support_page_is_what_the_script_makes():
    """`python scripts/make_support.py` after a change of models, readers or refusals."""
    script = Path(__file__).parent.parent / "scripts" / "make_support.py"
    spec = importlib.util.spec_from_file_location("make_support", script)
    make_support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_support)
    assert make_support.PAGE.read_text(encoding="utf-8") == make_support.page()
