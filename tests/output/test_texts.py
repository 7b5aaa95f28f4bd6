"""Texts: tokens as the vectorizer finds them, tinted; files and pictures of their explanations."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import pkex
from pkex.output.view.rows import REST
from pkex.tables.token_spans import spans_of
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.frontend

TEXTS = [
    "the price is good and the service is good",
    "a bad meal and a bad night",
    "good food, kind people",
    "never again: cold food, bad service",
    "kind people and a good night",
    "cold and bad",
]
TARGET = [1, 0, 1, 0, 1, 0]
STARS = [5, 1, 4, 2, 5, 1]


def fitted(vectorizer=None, target=TARGET):
    return make_pipeline(vectorizer or TfidfVectorizer(), SVC(C=5.0)).fit(TEXTS, target)


ODD = "Good <b>food</b> & BAD people"


def test_a_pipeline_names_its_tokens_and_keeps_the_texts():
    model = fitted()
    explanation = unchecked(pkex.Explainer(model)([ODD]))
    frame = explanation.to_frame()
    assert set(frame["feature"]) == {"good", "food", "bad", "people", REST}
    total = explanation.base_values[0] + frame["value"].sum()
    assert total == pytest.approx(model.decision_function([ODD])[0], rel=1e-9)
    by_name = frame.set_index("feature")["value"]
    assert by_name["good"] > 0.0 > by_name["bad"]
    page = explanation.plot.text(0).html()
    assert page.count("title=") == 4
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert f'title="good: {by_name["good"]:+.4g}">Good</span>' in page
    assert f"remaining features {explanation.rest[0]:+.4g}" in page
    raises, lowers = "rgba(213, 94, 0", "rgba(0, 114, 178"
    assert raises in page.split(">Good<")[0].rsplit("<span", 1)[1]
    assert lowers in page.split(">BAD<")[0].rsplit("<span", 1)[1]
    assert explanation.plot.text(-1).html() == page


@pytest.mark.parametrize(
    "rows",
    [tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)],
    ids=["tuple", "array", "objects"],
)
def test_texts_come_in_any_column(rows):
    explainer = unchecked(pkex.Explainer(fitted(), TEXTS[:3]))
    np.testing.assert_array_equal(explainer(rows).rest, explainer(TEXTS).rest)


def test_a_column_of_a_frame_is_texts():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(TEXTS, index=range(5, 11))
    explanation = unchecked(pkex.Explainer(fitted())(column))
    assert explanation.texts == tuple(TEXTS)
    labels = list(range(5, 11))
    assert list(explanation.row_index) == list(explanation.dense().row_index) == labels
    assert explanation.to_frame()["row"].unique().tolist() == labels
    assert "row 10" in repr(explanation[5])


@pytest.mark.parametrize("count", [-1, 1.5, "all"])
def test_a_number_of_features_is_asked_for(count):
    with pytest.raises(ValueError, match="max_columns must be a number of features"):
        unchecked(pkex.Explainer(fitted())(TEXTS)).dense(count)


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ("one text", TypeError, "X is a single document; the model takes a list of documents"),
        ([["a", "b"]], TypeError, "X must be a list or a column of documents"),
        (sparse.csr_array((2, 3)), TypeError, "already vectorized, make an Explainer of the last"),
        ([], ValueError, "X is empty"),
        (None, TypeError, "X must be a list or a column of documents"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(rows, error, words):
    with pytest.raises(error, match=words):
        pkex.Explainer(fitted())(rows)


def words(vectorizer, text):
    """Return the letters of each span with its token."""
    vectorizer = vectorizer.fit([text, "cafe good food Straße"])
    names = vectorizer.get_feature_names_out()
    columns = {name: i for i, name in enumerate(names)}
    spans = spans_of(vectorizer, columns, text)
    analysed = set(vectorizer.build_analyzer()(text))
    assert {names[span.column] for span in spans} <= analysed
    return [(text[span.start : span.stop], str(names[span.column])) for span in spans]


def test_spans_are_where_the_vectorizer_finds_tokens():
    found = words(CountVectorizer(), "A good, GOOD day")
    assert found == [("good", "good"), ("GOOD", "good"), ("day", "day")]
    found = words(CountVectorizer(lowercase=False), "Good good")
    assert found == [("Good", "Good"), ("good", "good")]
    found = words(CountVectorizer(strip_accents="unicode"), "Café gut")
    assert found == [("Café", "cafe"), ("gut", "gut")]
    found = words(CountVectorizer(ngram_range=(2, 2), stop_words=["and"]), "good and food")
    assert found == [("good and food", "good food")]
    found = words(CountVectorizer(token_pattern=r"(?u)#(\w+)"), "a #tag and word")
    assert found == [("tag", "tag")]
    found = words(CountVectorizer(analyzer="char", ngram_range=(3, 3)), "Banana")
    assert ("ana", "ana") in found
    assert [letters for letters, token in found if token == "ana"] == ["ana", "ana"]
    found = words(CountVectorizer(analyzer="char_wb", ngram_range=(4, 4)), "so good")
    assert ("goo", " goo") in found
    found = words(CountVectorizer(tokenizer=stems, token_pattern=None), "Walking, walked")
    assert found == [("Walk", "walk"), ("walk", "walk")]
    found = words(CountVectorizer(tokenizer=reverse, token_pattern=None), "Good, day")
    assert found == [("Good,", "doog"), ("day", "yad")]
    found = words(CountVectorizer(analyzer=stems), "walking home")
    assert found == [("walking", "walk"), ("home", "home")]
    # a letter that becomes two in lower case moves all that follow
    assert words(CountVectorizer(), "İs good")[-1] == ("good", "good")


def reverse(text):
    return [word.strip(",")[::-1] for word in text.split()]


def stems(text):
    return [word.strip(",").removesuffix("ing").removesuffix("ed") for word in text.split()]


def test_letters_of_several_tokens_have_the_values_of_all():
    model = fitted(TfidfVectorizer(ngram_range=(1, 2)))
    explanation = unchecked(pkex.Explainer(model)(["kind people"]))
    page = explanation.plot.text(0).html()
    by_name = explanation.to_frame().set_index("feature")["value"]
    both = f"kind: {by_name['kind']:+.4g}, kind people: {by_name['kind people']:+.4g}"
    assert f'title="{both}">kind</span>' in page


def test_groups_of_tokens_are_one_feature():
    model = fitted()
    explainer = pkex.Explainer(model, groups={"praise": ["good", "kind"]})
    explanation = unchecked(explainer(["good and kind, but cold"]))
    assert "praise" in set(explanation.to_frame()["feature"])
    page = explanation.plot.text(0).html()
    assert page.count('title="praise: ') == 2


def test_rows_that_were_vectorized_take_their_text():
    model = fitted()
    rows = model[0].transform([ODD])
    explanation = pkex.Explainer(model[-1])(rows)
    with pytest.raises(ValueError, match=r"pass the document of the row, plot.text.0, text"):
        explanation.plot.text(0)
    f = pkex.KernelExpansion(
        sparse.csr_array(rows), [1.0], pkex.kernels.RBF(), 0.0, model[0].get_feature_names_out()
    )
    named = pkex.Explainer(f, model[0].transform(TEXTS))(rows)
    assert named.plot.text(0, ODD).html().count("title=") == 4
    with pytest.raises(IndexError, match="there is no row 1"):
        named.plot.text(1, ODD)


def test_other_steps_that_keep_tokens_apart():
    plain = fitted()
    model = make_pipeline(CountVectorizer(), TfidfTransformer(), SVC(C=5.0)).fit(TEXTS, TARGET)
    with pytest.warns(UserWarning, match="TfidfTransformer combines columns"):
        explainer = pkex.Explainer(model)
    found, expected = map(unchecked, (explainer([ODD]), pkex.Explainer(plain)([ODD])))
    np.testing.assert_allclose(found.values.toarray(), expected.values.toarray(), atol=1e-12)
    assert found.plot.text(0).html() == expected.plot.text(0).html()


@pytest.fixture(params=[TARGET, STARS], ids=["one output", "several"])
def explanation(request):
    return pkex.Explainer(fitted(target=request.param), TEXTS)([ODD, "cold night", "nothing"])


def test_files_come_back_as_they_were(explanation, tmp_path):
    path = tmp_path / "texts.npz"
    explanation.save(path)
    again = pkex.SparseExplanation.load(path)
    for first, second in zip(
        explanation.with_output_axis[0], again.with_output_axis[0], strict=True
    ):
        assert (first != second).nnz == 0
        assert (first.indices == second.indices).all()
    for name in ("rest", "base_values", "predictions", "error_bound"):
        np.testing.assert_array_equal(getattr(again, name), getattr(explanation, name))
    same = (
        "feature_names",
        "feature_groups",
        "output_names",
        "removal",
        "background_info",
        "texts",
        "kernels",
    )
    for name in (
        *same,
        "classes",
        "output_classes",
        "output_kind",
        "index",
        "additivity_error",
        "column_names",
    ):
        assert getattr(again, name) == getattr(explanation, name)
    assert [rule.size for rule in again.rules] == [rule.size for rule in explanation.rules]
    assert list(again.predicted_class) == list(explanation.predicted_class)
    assert (again.data != explanation.data).nnz == 0
    assert repr(again) == repr(explanation)
    output = explanation.output_names[0] if isinstance(explanation.values, tuple) else None
    for row in range(3):
        page = explanation.plot.text(row, output=output).html()
        assert again.plot.text(row, output=output).html() == page
        assert again[row].plot.text(0, output=output).html() == page
        assert explanation[row].plot.text(0, output=output).html() == page


def changed(path, entry, change):
    """Write a file again with one of its arrays changed."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays[entry] = change(arrays[entry].copy())
    np.savez(path, **arrays)


def plus(place, step):
    def change(array):
        array[place] += step
        return array

    return change


@pytest.mark.parametrize(
    ("entry", "change", "words"),
    [
        ("rest", plus(0, 1e-3), "miss the prediction"),
        ("values", plus((0, 0), 1e-3), "miss the prediction"),
        ("stored", plus(0, 1000), "do not ascend, or are out of range"),
        ("stored", lambda a: a[::-1], "do not ascend"),
        ("starts", plus(1, 100), "do not follow each other"),
        ("starts", plus(0, 1), "do not follow each other"),
        ("data", plus(0, np.nan), "not a number"),
        ("spans", plus((0, 2), 1000), "outside its document"),
        ("spans", plus((0, 3), 1000), "column of a token is out of range"),
        ("rest", lambda a: a[:-1], "rest"),
        ("header", lambda a: np.frombuffer(b"{}", np.uint8), "damaged"),
    ],
)
def test_damaged_files_are_refused(entry, change, words, tmp_path):
    path = tmp_path / "texts.npz"
    pkex.Explainer(fitted())([ODD, "cold night"]).save(path)
    changed(path, entry, change)
    with pytest.raises(ValueError, match=words):
        pkex.SparseExplanation.load(path)


def test_files_of_other_results_are_refused(tmp_path):
    f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
    pkex.Explainer(f)([[0.5]]).save(tmp_path / "dense.npz")
    with pytest.raises(ValueError, match=r"its format is .pkex.Explanation."):
        pkex.SparseExplanation.load(tmp_path / "dense.npz")


def test_files_hold_no_pickle(tmp_path):
    pkex.Explainer(fitted())([ODD]).save(tmp_path / "texts.npz")
    with zipfile.ZipFile(tmp_path / "texts.npz") as archive:
        header = json.loads(archive.read("header.npy")[128:].lstrip(b"\x00").decode())
    assert header["format"] == "pkex.SparseExplanation"
    with np.load(tmp_path / "texts.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "fiu" for name in arrays.files)


def test_the_dense_form_adds_up_and_draws(explanation):
    dense = explanation.dense()
    total = dense.base_values + dense.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.predictions, atol=1e-12)
    assert dense.feature_names[-1] == REST
    few = explanation.dense(2)
    assert len(few.feature_names) == 3
    np.testing.assert_allclose(few.values.sum(axis=1), dense.values.sum(axis=1), atol=1e-12)
    for display in (explanation.plot(), explanation.plot.bar(), explanation[0].plot()):
        assert display.figure_ is not None
    assert "text" in repr(explanation.plot)


def test_importance_counts_what_is_not_stored_as_zero(explanation):
    importance = explanation.importance()
    dense = explanation.dense().values
    np.testing.assert_allclose(importance.values, np.abs(dense).mean(axis=0), atol=1e-15)
    errors = np.abs(dense).std(axis=0, ddof=1) / np.sqrt(len(dense))
    np.testing.assert_allclose(importance.standard_errors, errors, atol=1e-15)
    centred = np.abs(dense - dense.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(importance.centred, centred, atol=1e-15)
    assert importance.feature_names == explanation.dense().feature_names


def test_shap_has_the_rest_as_a_feature(explanation):
    pytest.importorskip("shap")
    shown = explanation.to_shap()
    total = shown.base_values + shown.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.predictions, atol=1e-12)


def test_text_and_table_say_what_they_show(explanation):
    text, page = repr(explanation), explanation._repr_html_()
    assert text.startswith("SparseExplanation(3 samples x ")
    assert "background: 6 rows (interventional)" in text
    assert "remaining features" in text
    assert "&lt;b&gt;" in page
    assert "<b>food" not in page
    shown = repr(pkex.Explainer(fitted(), index="BV")([ODD]))
    assert "BV values do not add up" in shown


def test_the_class_of_each_text_is_said(explanation, tmp_path):
    """What values push towards, and what the model itself says of the row."""
    target = STARS if isinstance(explanation.values, tuple) else TARGET
    own = fitted(target=target).predict(list(explanation.texts))
    assert list(explanation.predicted_class) == list(own)
    assert list(explanation[1:].predicted_class) == list(own[1:])
    assert list(explanation.dense().predicted_class) == list(own)
    text, page = repr(explanation), explanation._repr_html_()
    assert f"predicted {own[0]}" in text
    assert "push towards" in text
    assert "predicted</th>" in page
    explanation.report(tmp_path / "report.html", max_columns=3, title="Reviews")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Reviews" in written
    assert REST in written


def test_outputs_are_chosen_by_name():
    explanation = pkex.Explainer(fitted(target=STARS))(TEXTS)
    assert isinstance(explanation.values, tuple)
    one = explanation[1:3, "5"]
    assert one.values.shape[0] == 2
    np.testing.assert_array_equal(
        one.rest, explanation.rest[1:3, explanation.output_names.index("5")]
    )
    with pytest.raises(ValueError, match="4 outputs; choose one"):
        explanation.to_frame()
    with pytest.raises(KeyError, match="9"):
        explanation.to_frame("9")
