"""Explanation: selection, and display."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pkex import Explainer, KernelExpansion
from pkex.kernels import RBF
from tests._support.cases import assert_close
from tests._support.explanations import (
    ALPHA,
    NAMES,
    ONE,
    POINTS,
    REGRESSION,
    RNG,
    ROWS,
    SEVERAL,
    TABLE,
    TEXT,
    TEXT_GROUPED,
    THREE,
    assert_equal,
    changed,
    everything,
)
from tests._support.unchecked import unchecked


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (3, [3]),
        (-1, [24]),
        (np.int64(2), [2]),
        (slice(2, 9, 3), [2, 5, 8]),
        ([4, 4, -25], [4, 4, 0]),
        (np.array([7, 1]), [7, 1]),
        ([], []),
        (ROWS[:, 0] > 0.0, np.flatnonzero(ROWS[:, 0] > 0.0)),
        ([i % 2 == 0 for i in range(25)], range(0, 25, 2)),
        (..., range(25)),
    ],
)
@pytest.mark.parametrize("explanation", [ONE, SEVERAL, TEXT], ids=["one", "several", "text"])
def test_rows_stay_an_axis(explanation, key, rows):
    chosen, rows = explanation[key], list(rows)
    assert len(chosen) == len(rows)
    for name in ("values", "base_values", "predictions", "data"):
        assert_equal(getattr(chosen, name), getattr(explanation, name)[rows])
    assert chosen.complete
    assert chosen.feature_names == explanation.feature_names


@pytest.mark.parametrize(
    ("key", "features"),
    [
        ("bmi", [3]),
        (3, [3]),
        (["bmi", "age"], [3, 0]),
        (["bmi", 1], [3, 1]),
        (("bmi", "age"), [3, 0]),
        (np.array(["city", "zip"]), [2, 1]),
        (slice(1, 3), [1, 2]),
        ([True, False, False, True], [0, 3]),
    ],
)
def test_features_by_name_and_number(key, features):
    for explanation in (ONE, SEVERAL):
        chosen = explanation[2:, key]
        assert_close(chosen.values, explanation.values[2:, features], 0.0)
        assert_close(chosen.data, ROWS[2:, features], 0.0)
        assert chosen.feature_names == chosen.column_names == tuple(NAMES[i] for i in features)
        assert chosen.feature_groups == tuple((i,) for i in range(len(features)))


def test_a_selection_of_features_keeps_the_predictions_of_the_model():
    chosen = SEVERAL[:, ["bmi"]]
    assert_close(chosen.predictions, SEVERAL.predictions, 0.0)
    assert not chosen.complete
    assert not chosen[0].complete
    assert_close(chosen[3, "bmi", 1].predictions, SEVERAL.predictions[[3], 1], 0.0)
    assert np.abs(chosen.predictions - chosen.base_values - chosen.values[:, 0]).max() > 0.1
    reordered = SEVERAL[:, ::-1]
    assert reordered.complete
    assert_close(reordered.predictions, SEVERAL.predictions, 0.0)


def test_predictions_are_those_of_the_model():
    for f, explanation in ((REGRESSION, ONE), (THREE, SEVERAL)):
        # 30 points with |alpha| of a few: 1e-13 is some hundred roundings
        assert_close(explanation.predictions, f.predict(ROWS), 1e-13)


def test_groups_keep_their_columns():
    chosen = TEXT_GROUPED[:, ["bmi", "address"]]
    assert chosen.column_names == ("bmi", "zip", "city")
    assert chosen.feature_groups == ((0,), (1, 2))
    assert_equal(chosen.data, TABLE[:, [3, 1, 2]])


@pytest.mark.parametrize("key", [1, -2, "a vs c", ["a vs c"], slice(1, 2), [False, True, False]])
def test_one_output_has_no_output_axis(key):
    for chosen in (SEVERAL[..., key], SEVERAL[:, :, key]):
        assert_close(chosen.values, SEVERAL.values[:, :, 1], 0.0)
        assert_close(chosen.base_values, SEVERAL.base_values[:, 1], 0.0)
        assert_close(chosen.predictions, SEVERAL.predictions[:, 1], 0.0)
        assert chosen.output_names == ("a vs c",)


def test_some_outputs():
    chosen = SEVERAL[..., ["b vs c", 0]]
    assert_close(chosen.values, SEVERAL.values[:, :, [2, 0]], 0.0)
    assert chosen.output_names == ("b vs c", "a vs b")
    assert SEVERAL[1, ..., 2].values.shape == (1, 4)


def test_the_position_decides_what_a_name_means():
    f = KernelExpansion(POINTS, ALPHA[:, :2], RBF(), feature_names=NAMES, output_names=["bmi", "x"])
    both = Explainer(f, removal="neutral")(ROWS)
    assert_close(both[:, "bmi"].values, both.values[:, [3]], 0.0)
    assert_close(both[..., "bmi"].values, both.values[:, :, 0], 0.0)
    assert_close(ONE[..., "bmi"].values, ONE[:, "bmi"].values, 0.0)


def test_iteration_is_by_row():
    assert [len(row) for row in unchecked(ONE[:3])] == [1, 1, 1]


WIDE = Explainer(KernelExpansion(RNG.normal(size=(2, 30)), [1.0, 2.0], RBF()), removal="neutral")(
    [[0.0] * 30]
)


@pytest.mark.parametrize(
    ("take", "error", "words"),
    [
        (lambda: ONE[25], IndexError, "no row 25: there are 25, counted from 0"),
        (lambda: ONE[-26], IndexError, "no row -26"),
        (lambda: ONE[:, 4], IndexError, "no feature 4: there are 4, counted from 0"),
        (lambda: SEVERAL[..., 3], IndexError, "no output 3"),
        (lambda: ONE[:, "bmx"], KeyError, "named 'bmx'; did you mean 'bmi'.*'age', 'zip'"),
        (lambda: ONE[:, "q"], KeyError, "no feature is named 'q'. The features are 'age'"),
        (lambda: WIDE[:, "q"], KeyError, "'x9' and 20 more"),
        (lambda: SEVERAL[..., "a vs d"], KeyError, "did you mean 'a vs"),
        (lambda: SEVERAL[:, "a vs b"], KeyError, r"write explanation\[\.\.\., 'a vs b'\]"),
        (lambda: ONE["bmi"], KeyError, r"by the name 'bmi'; for that .* explanation\[:, 'bmi'\]"),
        (lambda: ONE["q"], KeyError, "rows are chosen by numbers"),
        (lambda: ONE[0.5], IndexError, "rows are chosen by numbers, slices.*got 0.5"),
        (lambda: ONE[True], IndexError, "got True"),
        (lambda: ONE[None], IndexError, "got None"),
        (lambda: ONE[[0.5]], IndexError, "got 0.5"),
        (lambda: ONE[[[0, 1]]], IndexError, r"one list, got an array of shape \(1, 2\)"),
        (lambda: ONE[[True, False]], IndexError, "mask has 2 entries, but there are 25 rows"),
        (lambda: ONE[:, "age":"bmi"], TypeError, "slice indices must be integers"),
        (lambda: ONE[:, [0, "age"]], IndexError, "'age' is chosen more than once"),
        (lambda: SEVERAL[..., [0, 0]], IndexError, "output 'a vs b' is chosen more than once"),
        (lambda: ONE[:, []], IndexError, "no feature; choose at least one"),
        (lambda: SEVERAL[..., 3:], IndexError, "no output; choose"),
        (lambda: ONE[..., ...], IndexError, "one ellipsis"),
        (lambda: ONE[:, :, 0], IndexError, r"explanation\[rows, features\] takes at most 2"),
        (lambda: SEVERAL[:, :, :, 0], IndexError, r"\[rows, features, outputs\]"),
    ],
)
def test_what_cannot_be_chosen_gets_a_sentence(take, error, words):
    with pytest.raises(error, match=words):
        take()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": ONE.values[0]}, "values must have shape"),
        ({"values": ONE.values[:, :, None]}, r"got \(25, 4, 1\)"),
        ({"base_values": ONE.base_values[:, None]}, r"base_values must have shape \(25,\)"),
        ({"predictions": ONE.predictions[1:]}, "predictions must have shape"),
        ({"data": ROWS[:, :3]}, "data must have shape"),
        ({"feature_names": ("a",)}, "feature_names must have shape"),
        ({"feature_groups": ((0,),)}, r"feature_names must have shape \(1,\), as feature_groups"),
        ({"feature_groups": ((0,), (1,), (2,), (4,))}, "columns 0 to 3"),
        ({"output_names": ("a", "b")}, "output_names must have shape"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        changed(ONE, **change)


# Display


def test_few_rows_read_as_sums():
    first, background, note, line, *rest = repr(ONE[0]).splitlines()
    assert first.startswith("Explanation(1 sample x 4 features, neutral, error bound")
    assert background == "  background: none; the kernel factor of a removed feature is 1 (neutral)"
    assert note.startswith("  note: Neutral values include a constant offset per feature")
    assert not rest
    numbers = [
        float(sign.strip() + number) for sign, number in re.findall(r"([-+] |-|)([\d.e]+) \(", line)
    ]
    total = float(re.search(r"row 0: (\S+) =", line)[1])
    assert sum(numbers) == pytest.approx(total, abs=5 * 5e-4 * max(map(abs, numbers)))
    assert set(re.findall(r"\((\w+)\)", line)) == {"base", *NAMES}
    assert repr(ONE).count("\n") == 2
    assert repr(SEVERAL[:2]).count("\n") == 8
    assert "row 1, b vs c: " in repr(SEVERAL[:2])


def test_what_is_left_out_is_summed_up():
    chosen = ONE[0, ["bmi", "age"]]
    others = ONE.values[0, 1:3].sum()
    assert f"{abs(others):.4g} (others)" in repr(chosen)
    assert f"{others:+.4g}</td>" in chosen._repr_html_()
    assert "others" not in repr(ONE[0])
    assert "(others)" in repr(WIDE)


@everything
def test_html_is_well_formed(explanation):
    from xml.etree import ElementTree

    page = explanation._repr_html_()
    tree = ElementTree.fromstring(page.replace("<br>", "<br/>"))
    lines = tree.findall(".//tbody/tr")
    n_outputs = explanation.values[0:1, 0:1].size if len(explanation) else 1
    assert len(lines) == min(len(explanation), 9 // n_outputs) * n_outputs
    assert {len(line) for line in lines} <= {len(tree.findall(".//th"))}
    assert "<script" not in page
    assert "white" not in page


def test_html_shows_values_and_raw_data():
    page = TEXT._repr_html_()
    for words in ("Wien", "1000", f"{TEXT.values[0, 0]:+.4g}", f"{TEXT.predictions[0]:.4g}"):
        assert words in page
    assert "and 16 more rows" in page
    assert "and 1 more row<" in ONE[:10]._repr_html_()
    assert "more row" not in ONE[:9]._repr_html_()
    assert "a vs c" in SEVERAL._repr_html_()


def test_html_escapes_names_and_data():
    table = TABLE.copy()
    table[:, 2] = "<script>alert('x')</script>"
    evil = changed(
        changed(SEVERAL, data=table),
        feature_names=("<img src=x>", "a&b", '"q"', "d"),
        output_names=("<i>", "b", "c"),
        removal="<u>",
    )
    page = evil._repr_html_()
    for text in ("<script", "<img", "<i>", "<u>", "a&b"):
        assert text not in page
    for text in ("&lt;img src=x&gt;", "a&amp;b", "&lt;i&gt;", "&lt;script&gt;"):
        assert text in page
