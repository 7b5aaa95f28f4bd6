"""Classifiers: outputs by class or by pair, what they say, and the class that is predicted."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from pkex import Explainer, Explanation, KernelExpansion, as_expansion
from pkex.kernels import RBF
from pkex.models.classes import describe_output, largest_output_class
from pkex.readers import Given, read
from tests._support.cases import assert_close
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIGIT,
    DIGITS,
    IRIS,
    MALIGNANT,
    NAMED_SPECIES,
    SPECIES,
    TARGET,
    WINE_FRAME,
    X,
)
from tests._support.naive import shapley_by_enumeration
from tests._support.written import Page


def signed_means(model, rows):
    """Return the mean of the signed pair functions of each class, one pair after the other.

    scikit-learn's "ovo" decision function of classes i < j is positive for i, when there are three
    classes or more.
    """
    model = pickle.loads(pickle.dumps(model)).set_params(decision_function_shape="ovo")
    pairs = list(combinations(range(len(model.classes_)), 2))
    found = np.zeros((len(rows), len(model.classes_)))
    for column, (i, j) in zip(model.decision_function(rows).T, pairs, strict=True):
        found[:, i] += column
        found[:, j] -= column
    return found / (len(model.classes_) - 1)


THREE = SVC(C=3.0).fit(IRIS, NAMED_SPECIES)
FOUR = NuSVC(nu=0.2).fit(DIGITS, DIGIT)


@pytest.mark.parametrize(("model", "table"), [(THREE, IRIS), (FOUR, DIGITS)])
@pytest.mark.parametrize("background", [False, True])
def test_the_values_of_a_class_sum_to_the_mean_of_its_signed_pair_functions(
    model, table, background
):
    explain = Explainer(model, table[:9] if background else None)
    explanation = explain(table)
    assert explanation.output_names == tuple(map(str, model.classes_))
    size = np.abs(model.dual_coef_).sum()
    assert_close(explanation.predictions, signed_means(model, table), 1e-12 * size)
    total = explanation.base_values + explanation.values.sum(axis=1)
    assert_close(total, signed_means(model, table), 1e-12 * size)
    assert_close(explanation.values.sum(axis=2), 0.0, 1e-12 * size)  # what one gains others lose


@pytest.mark.parametrize(("model", "table"), [(THREE, IRIS), (FOUR, DIGITS)])
def test_interventional_values_of_classes_by_hybrids_through_the_models_own_function(model, table):
    """A hybrid has the columns of a coalition from the row, and the others from the background."""
    background, row = table[3:40:9], table[-1]
    found = Explainer(model, background)(row[None])

    def value(present):
        hybrids = background.copy()
        hybrids[:, list(present)] = row[list(present)]
        return signed_means(model, hybrids).mean(axis=0)

    expected = np.array(shapley_by_enumeration(value, table.shape[1]), dtype=float)
    size = np.abs(model.dual_coef_).sum()
    assert_close(found.values[0], expected, 1e-12 * size)
    assert_close(found.base_values[0], value(frozenset()), 1e-12 * size)


@pytest.mark.parametrize(("model", "table"), [(THREE, IRIS), (FOUR, DIGITS)])
def test_scores_of_ovr_are_votes_and_a_squashed_copy_of_what_is_explained(model, table):
    """As docs/guide/classifiers.md says: sklearn.utils.multiclass._ovr_decision_function."""
    explained = Explainer(model, table[:5])(table).predictions
    ovo = pickle.loads(pickle.dumps(model)).set_params(decision_function_shape="ovo")
    k, votes = len(model.classes_), np.zeros_like(explained)
    pairs = combinations(range(k), 2)
    for column, (i, j) in zip(ovo.decision_function(table).T, pairs, strict=True):
        votes[np.arange(len(table)), np.where(column >= 0.0, i, j)] += 1
    total = (k - 1) * explained
    assert_close(model.decision_function(table), votes + total / (3 * (np.abs(total) + 1)), 1e-9)


def split():
    """Return a machine and rows whose votes go to another class than the largest mean."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(120, 3))
    labels = np.array(["a", "b", "c"])[np.digitize(table[:, 0] + rng.normal(size=120), [-0.2, 0.2])]
    model = SVC(C=10.0).fit(table, labels)
    return model, table


def test_a_row_whose_largest_output_is_another_class_says_so():
    model, table = split()
    explanation = Explainer(model, table[:10])(table)
    means, own = signed_means(model, table), model.predict(table)
    largest = model.classes_[means.argmax(axis=1)]
    apart = np.flatnonzero(largest != own)
    assert 0 < len(apart) < len(table) / 2
    assert explanation.predicted_class.tolist() == own.tolist()
    other = largest_output_class(explanation)
    assert np.flatnonzero(other != None).tolist() == apart.tolist()  # noqa: E711
    assert other[apart].tolist() == largest[apart].tolist()
    row = int(apart[0])
    told = f"row 0: predicted {own[row]}, largest output {largest[row]}\n"
    assert told in str(explanation[row])
    assert f"{largest[row]}" in explanation[row]._repr_html_()
    assert f"in {len(apart)} of 120 rows the largest output is another class" in str(explanation)
    agreed = int(np.flatnonzero(largest == own)[0])
    assert f"row 0: predicted {own[agreed]}\n" in str(explanation[agreed])
    assert "another class" not in str(explanation[agreed])
    assert largest_output_class(explanation[..., "a"]) is None
    pairs = Explainer(model, table[:10], outputs="ovo")(table)
    assert largest_output_class(pairs) is None
    assert pairs.predicted_class.tolist() == own.tolist()


@pytest.mark.parametrize("outputs", ["classes", "ovo"])
def test_outputs_are_chosen_through_wrappers(outputs):
    plain = SVC().fit(WINE_FRAME, CULTIVAR)
    names = ("0", "1", "2") if outputs == "classes" else ("0 vs 1", "0 vs 2", "1 vs 2")
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0, 2.0]}, cv=2)
    for model in (plain, FrozenEstimator(plain), search.fit(WINE_FRAME, CULTIVAR)):
        explain = Explainer(model, WINE_FRAME[:9], outputs=outputs)
        explanation = explain(WINE_FRAME[:5])
        assert explanation.output_names == names
        assert as_expansion(model, outputs=outputs).output_names == names
        assert explanation.predicted_class.tolist() == model.predict(WINE_FRAME[:5]).tolist()
        assert explanation.classes == ("0", "1", "2")


@pytest.mark.parametrize("outputs", ["classes", "ovo"])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (SVC().fit(CANCER, MALIGNANT), "SVC"),
        (SVR().fit(X, TARGET), "SVR"),
        (OneClassSVM().fit(X), "OneClassSVM"),
        (make_pipeline(StandardScaler(), SVR()).fit(X, TARGET), "Pipeline"),
        (OneVsRestClassifier(SVC()).fit(IRIS, SPECIES), "OneVsRestClassifier"),
        (OneVsOneClassifier(SVC()).fit(CANCER, MALIGNANT), "OneVsOneClassifier"),
        (GaussianProcessClassifier(optimizer=None).fit(IRIS, SPECIES), "GaussianProcessClassifier"),
        (KernelExpansion(X, TARGET, RBF()), "KernelExpansion"),
    ],
)
def test_a_model_without_a_choice_of_outputs_says_so(model, name, outputs):
    for entry in (Explainer, as_expansion):
        with pytest.raises(ValueError, match=rf"this {name} has no choice of outputs.*Leave"):
            entry(model, outputs=outputs)


@pytest.mark.parametrize("outputs", ["odds", "", "Classes", 3, ["classes"]])
@pytest.mark.parametrize("model", [THREE, SVR().fit(X, TARGET)])
def test_what_is_no_choice_of_outputs_is_refused(model, outputs):
    for entry in (Explainer, as_expansion):
        with pytest.raises(ValueError, match="outputs must be 'classes', 'ovo' or "):
            entry(model, outputs=outputs)


def test_the_sentence_says_what_the_number_is_and_towards_what_it_pushes():
    several = Explainer(THREE, IRIS[:5])(IRIS[:2])
    pairs = Explainer(THREE, IRIS[:5], outputs="ovo")(IRIS[:2])
    two = Explainer(SVC().fit(CANCER, np.where(MALIGNANT, "ill", "well")), CANCER[:5])(CANCER[:2])
    latent = Explainer(
        GaussianProcessClassifier(optimizer=None).fit(CANCER, MALIGNANT), CANCER[:5]
    )(CANCER[:2])
    one_class = Explainer(OneClassSVM(nu=0.3).fit(X), X[:5])(X[:2])
    rest = Explainer(OneVsRestClassifier(SVC()).fit(IRIS, SPECIES), IRIS[:5])(IRIS[:2])
    for explanation, sentence in (
        (several, "mean decision function of each class against each other class: positive values "
         "push towards the class, negative ones away from it"),
        (several[..., "setosa"], "mean decision function of each class against each other class: "
         "positive values push towards setosa, negative ones away from it"),
        (pairs, "decision function of each pair of classes: positive values push towards the class "
         "named first"),
        (pairs[..., 0], "decision function of each pair of classes: positive values push towards "
         "setosa, negative ones towards versicolor"),
        (two, "decision function: positive values push towards well, negative ones towards ill"),
        (latent, "latent mean: positive values push towards 1, negative ones towards 0"),
        (one_class, "decision function: positive values push towards inlier, negative ones towards "
         "outlier"),
        (rest, "decision function of each class against the rest: positive values push towards the "
         "class, negative ones away from it"),
    ):  # fmt: skip
        assert describe_output(explanation) == sentence
        assert sentence in repr(explanation)
        assert sentence in explanation._repr_html_()
        told = f"predicted {explanation.predicted_class[0]}"
        one = explanation.values.ndim == 2
        assert (f"row 0 ({told})" if one else f"row 0: {told}\n") in str(explanation[0])
        assert str(explanation.predicted_class[0]) in explanation._repr_html_()
    regression = Explainer(SVR().fit(X, TARGET), X[:5])(X[:2])
    assert describe_output(regression) is None
    assert "predicted" not in repr(regression)
    assert ">predicted<" not in regression._repr_html_()


# ------------------------------------------------------------------------------ predicted classes


def test_the_class_is_asked_for_when_it_is_looked_at(monkeypatch):
    """A model takes longer to predict the class of a row than it takes to explain it."""
    calls: Any = []
    own = SVC.predict
    monkeypatch.setattr(SVC, "predict", lambda self, rows: calls.append(1) or own(self, rows))
    explanation = Explainer(THREE, IRIS[:5])(IRIS[:4])
    _ = explanation.values, explanation.importance(), explanation.predictions
    assert calls == []
    assert explanation.predicted_class.tolist() == explanation.predicted_class.tolist()
    assert calls == [1]


def test_rows_that_are_changed_after_the_call_do_not_matter():
    for table, make in (
        (IRIS.copy(), SVC),
        (WINE_FRAME.copy(), lambda: make_pipeline(StandardScaler(), SVC())),
    ):
        labels = SPECIES if len(table) == len(SPECIES) else CULTIVAR
        model = make().fit(table, labels)
        expected = model.predict(table).tolist()
        explanation = Explainer(model, table[:5])(table)
        table[:] = 0.0
        assert explanation.predicted_class.tolist() == expected


def test_a_fit_after_the_reading_does_not_matter():
    model = SVC().fit(IRIS, SPECIES)
    expected = model.predict(IRIS).tolist()
    explanation = Explainer(model, IRIS[:5])(IRIS)
    model.fit(IRIS, SPECIES[::-1])
    assert explanation.predicted_class.tolist() == expected


def test_pickles_and_files_have_the_class_and_not_the_model(tmp_path):
    for labels in (SPECIES, NAMED_SPECIES, SPECIES > 0):
        explanation = Explainer(SVC().fit(IRIS, labels), IRIS[:5])(IRIS[:7])
        data = pickle.dumps(explanation)
        assert b"SVC" not in data
        explanation.save(tmp_path / "e.npz")
        for again in (pickle.loads(data), Explanation.load(tmp_path / "e.npz")):
            assert again.predicted_class.tolist() == explanation.predicted_class.tolist()
            assert again.predicted_class.dtype.kind == explanation.predicted_class.dtype.kind
            assert again.classes == explanation.classes
            assert again.output_classes == explanation.output_classes
            assert again.output_kind == explanation.output_kind
            assert repr(again) == repr(explanation)


def test_an_explanation_has_no_attributes_that_it_has_not():
    explanation = Explainer(THREE, IRIS[:5])(IRIS[:2])
    assert not hasattr(explanation, "toarray")
    with pytest.raises(AttributeError, match="no attribute 'prediction'"):
        _ = explanation.prediction


def test_arrays_and_frames_predict_alike_through_one_vs_rest():
    """Machines inside saw names that rows may not have; nothing is warned about."""
    frame = WINE_FRAME
    for model in (
        OneVsRestClassifier(SVC()),
        OneVsRestClassifier(GridSearchCV(SVC(), {"C": [1.0]}, cv=2)),
        OneVsRestClassifier(GaussianProcessClassifier(optimizer=None)),
        OneVsOneClassifier(SVC()),
    ):
        model.fit(frame, CULTIVAR)
        explain, own = Explainer(model, frame[:9]), model.predict(frame).tolist()
        assert explain(frame).predicted_class.tolist() == own
        assert explain(frame.to_numpy()).predicted_class.tolist() == own


def test_several_labels_of_a_row():
    labels = np.column_stack([SPECIES == 0, SPECIES <= 1, SPECIES == 2]).astype(int)
    model = OneVsRestClassifier(SVC()).fit(IRIS, labels)
    explanation = Explainer(model, IRIS[:9])(IRIS)
    own = model.predict(IRIS)
    expected = [" and ".join(np.array(["0", "1", "2"])[row > 0]) or "none" for row in own]
    assert explanation.predicted_class.tolist() == expected
    assert "0 and 1" in expected
    assert largest_output_class(explanation) is None


def test_regressors_that_tell_classes_apart_have_no_sides():
    """0 decides nothing for them, so nothing is said; the outputs are what they were."""
    for kind, names in ((OneVsRestClassifier, ("0", "1", "2")), (OneVsOneClassifier, None)):
        model = kind(SVR()).fit(IRIS, SPECIES)
        explanation = Explainer(model, IRIS[:5])(IRIS[:2])
        assert explanation.output_kind is None
        assert explanation.predicted_class is None
        assert explanation.output_names == (names or ("1 vs 0", "2 vs 0", "2 vs 1"))


def test_one_vs_rest_of_precomputed_kernels_predicts_from_rows():
    gram = RBF(1.0)(IRIS, IRIS)
    model = OneVsRestClassifier(SVC(kernel="precomputed")).fit(gram, SPECIES)
    reading = read(model, Given(RBF(1.0), IRIS))
    assert reading.classes.predict(IRIS[:9]).tolist() == model.predict(gram[:9]).tolist()


# -------------------------------------------------------------------------------------- the report


def test_the_report_says_what_the_output_is_and_what_is_predicted(tmp_path):
    model, table = split()
    explanation = Explainer(model, table[:10])(table)
    explanation.report(tmp_path / "report.html")
    data = Page(tmp_path / "report.html").data
    assert data["meaning"] == describe_output(explanation)
    assert data["predicted_class"] == model.predict(table).tolist()
    assert data["largest_class"] == largest_output_class(explanation).tolist()
    facts = {fact["label"]: fact for fact in data["facts"]}
    assert facts["Output"]["value"].startswith("Mean decision function of each class against")
    assert facts["Classes"]["value"] == "a, b, c"
    assert "rows the largest output is another class" in facts["Classes"]["note"]
    regression = Explainer(SVR().fit(X, TARGET), X[:5])(X[:5])
    regression.report(tmp_path / "report.html")
    data = Page(tmp_path / "report.html").data
    assert data["meaning"] is data["predicted_class"] is data["largest_class"] is None
    assert not {"Output", "Classes"} & {fact["label"] for fact in data["facts"]}
