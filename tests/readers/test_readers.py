"""Readers: every model of `models/` is explained as it is, or refused with a sentence.

The oracles are the model's own output and the value function of `models/`, which is written from
the model's attributes and scikit-learn's kernels; neither goes through a reader of pkex.
"""

from __future__ import annotations

import importlib.util
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from pkex import AdditivityError, Explainer, UnsupportedModelError, as_expansion
from pkex.kernels import RBF
from pkex.models.classes import largest_output_class
from tests._support.cases import assert_close
from tests._support.models import MODELS, REFUSALS
from tests._support.models.data import DIABETES, TARGET, X
from tests._support.naive import shapley_by_enumeration

all_models = pytest.mark.parametrize("case", MODELS, ids=str)
both_games = pytest.mark.parametrize("default", [True, False])


def explainer(case, removal=None, **options):
    """Return the Explainer of a case, made as a user would: by default, or another game."""
    with case.quiet(), warnings.catch_warnings():
        if case.warns is not None:
            warnings.filterwarnings("ignore", message=case.warns)
        model = case.model()
        read = as_expansion(model, **case.given) if case.given else model
        needs = removal == "interventional" or not case.own_data
        background, removal = (
            (case.background if needs else None),
            removal or "product-of-marginals",
        )
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
    return "product-of-marginals" if default else case.other_removal


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
    value = case.value(case.rows[:1], "product-of-marginals", players)
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
    assert explanation.output_names == (case.outputs or ())


@pytest.mark.parametrize("case", [case for case in MODELS if case.warns], ids=str)
def test_a_step_that_mixes_columns_is_announced_where_the_user_stands(case):
    with pytest.warns(UserWarning, match=case.warns) as caught:
        Explainer(case.model())
    assert [w.filename for w in caught] == [__file__]


def test_the_warning_points_at_the_user_through_wrappers():
    search = GridSearchCV(make_pipeline(PCA(2), SVR()), {"svr__C": [1.0, 2.0]}, cv=2)
    search.fit(DIABETES, TARGET)
    for entry in (Explainer, as_expansion):
        with pytest.warns(UserWarning, match="PCA combines columns") as caught:
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
    assert explanation.predicted_class.tolist() == own.tolist()
    assert explanation.predicted_class.dtype == own.dtype
    assert explanation.classes == tuple(map(str, case.model().classes_))
    assert explanation[1:].predicted_class.tolist() == own[1:].tolist()


@classifiers
def test_a_positive_value_speaks_for_the_class_that_is_named(case):
    explanation = explained(case.name)
    for name, (yes, no) in zip(explanation.output_names, explanation.output_classes, strict=True):
        assert name == (yes if no is None else f"{yes} vs {no}")
    latent, odds = "GPC" in case.name, case.log_odds
    assert ("latent mean" in explanation.output_kind) == latent
    assert ("log-odds" in explanation.output_kind.partition(",")[0]) == odds
    assert ("decision function" in explanation.output_kind) == (not latent and not odds)


@pytest.mark.parametrize("case", [c for c in MODELS if c.name.startswith("OneClass")], ids=str)
def test_positive_values_of_a_one_class_machine_speak_for_inliers(case):
    explanation = explained(case.name)
    assert explanation.output_classes == (("inlier", "outlier"),)
    own = np.where(case.model().predict(case.rows) > 0, "inlier", "outlier")
    assert explanation.predicted_class.tolist() == own.tolist()
    assert ((explanation.predictions > 0) == (own == "inlier")).all()


@all_models
def test_nothing_is_said_about_classes_of_what_has_none(case):
    explanation = explained(case.name)
    known = is_classifier(case.model()) or case.name.startswith("OneClass")
    for part in (
        explanation.predicted_class,
        explanation.classes,
        explanation.output_classes,
        explanation.output_kind,
    ):
        assert (part is not None) == known


@classifiers
def test_outputs_favour_the_class_they_name_first(case):
    explanation = explained(case.name)
    predicted = [str(label) for label in case.model().predict(case.rows)]
    totals = explanation.predictions.reshape(len(predicted), -1)
    favoured = [winner(explanation.output_names, total) for total in totals]
    other = largest_output_class(explanation)
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
@pytest.mark.filterwarnings("ignore:PCA combines columns")  # which is said before the refusal
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
        (SVR(kernel=rbf_kernel).fit(X, TARGET), "custom kernel.*pkex kernel"),
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


# ------------------------------------------------------------------------------ the support page


def test_the_support_page_is_what_the_script_makes():
    """`python scripts/make_support.py` after a change of models, readers or refusals."""
    script = Path(__file__).parents[2] / "scripts" / "make_support.py"
    spec = importlib.util.spec_from_file_location("make_support", script)
    make_support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_support)
    assert make_support.PAGE.read_text(encoding="utf-8") == make_support.page()
    assert make_support.DETAILS.read_text(encoding="utf-8") == make_support.details()
