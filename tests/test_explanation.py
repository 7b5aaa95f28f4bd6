"""Explanation: selection, other libraries' forms and their plots, display, and files."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from cases import assert_close

from pkex import Explainer, Explanation, KernelExpansion, rules
from pkex.kernels import RBF

RNG = np.random.default_rng(5)
NAMES = ["age", "zip", "city", "bmi"]
OUTPUTS = ["a vs b", "a vs c", "b vs c"]
POINTS, ROWS = RNG.normal(size=(30, 4)), RNG.normal(size=(25, 4))
ALPHA = RNG.normal(size=(30, 3))
GROUPS = {"address": ["zip", "city"]}

REGRESSION = KernelExpansion(POINTS, ALPHA[:, 0], RBF(1.5), 0.5, NAMES)
BINARY = KernelExpansion(POINTS, np.sign(ALPHA[:, 1]), RBF(1.0), -0.2, NAMES, ["sick vs well"])
THREE = KernelExpansion(POINTS, ALPHA, RBF(1.5), [0.1, 0.2, 0.3], NAMES, OUTPUTS)

ONE, CLASSIFIED, SEVERAL = (
    Explainer(f, removal="neutral")(ROWS) for f in (REGRESSION, BINARY, THREE)
)
GROUPED = Explainer(REGRESSION, groups=GROUPS, removal="neutral")(ROWS)

TABLE = ROWS.astype(object)
TABLE[:, 1] = [1000 + 10 * i for i in range(25)]
TABLE[:, 2] = [("Wien", "Graz", "Linz")[i % 3] for i in range(25)]
TABLE[3, 2] = None
TABLE[4, 3] = float("nan")
TEXT, TEXT_GROUPED = replace(ONE, data=TABLE), replace(GROUPED, data=TABLE)

ALL = {"one": ONE, "named": CLASSIFIED, "several": SEVERAL, "grouped": GROUPED, "text": TEXT}
ALL |= {"text-grouped": TEXT_GROUPED, "part": SEVERAL[2:5, ["bmi", "age"], 1:], "none": ONE[:0]}
everything = pytest.mark.parametrize("explanation", ALL.values(), ids=ALL)


def assert_equal(left, right) -> None:
    """Check that two arrays hold the same numbers, texts, and NaN at the same places."""
    assert left.shape == right.shape
    assert list(map(repr, left.ravel())) == list(map(repr, right.ravel()))


def assert_same(left: Explanation, right: Explanation) -> None:
    """Check that two explanations agree bit by bit."""
    for name in ("values", "base_values", "predictions", "data"):
        first, second = getattr(left, name), getattr(right, name)
        assert first.dtype == second.dtype
        assert_equal(first, second)
    for name in ("feature_names", "column_names", "players", "output_names", "residual"):
        assert getattr(left, name) == getattr(right, name)
    assert (left.removal, left.complete) == (right.removal, right.complete)


# Selection


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
        assert chosen.players == tuple((i,) for i in range(len(features)))


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
    assert chosen.players == ((0,), (1, 2))
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
    assert [len(row) for row in ONE[:3]] == [1, 1, 1]


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
        ({"players": ((0,),)}, "players must have shape"),
        ({"players": ((0,), (1,), (2,), (4,))}, "columns 0 to 3"),
        ({"output_names": ("a", "b")}, "output_names must have shape"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        replace(ONE, **change)


# shap


@everything
def test_shap_gets_one_entry_of_data_per_player(explanation):
    if len(explanation) == 0:
        with pytest.raises(ValueError, match="no rows"):
            explanation.to_shap()
        return
    shown = explanation.to_shap()
    assert_equal(shown.values, explanation.values)
    assert_equal(shown.base_values, explanation.base_values)
    assert shown.data.shape == shown.display_data.shape == explanation.values.shape[:2]
    assert shown.data.dtype == np.float64
    assert list(shown.feature_names) == list(explanation.feature_names)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
def test_shap_shapes_are_right_when_they_coincide(n_rows):
    """As many rows as players or outputs, or one: shap guesses axes from shapes."""
    one, several = ONE[:n_rows].to_shap(), SEVERAL[:n_rows].to_shap()
    assert one.base_values.shape == (n_rows,)
    assert one[0].values.shape == (4,)
    assert one[0].base_values == ONE.base_values[0]
    assert several.base_values.shape == (n_rows, 3)
    second = several[:, :, "a vs c"]
    assert_close(second.values, SEVERAL.values[:n_rows, :, 1], 0.0)
    assert_close(second.base_values, SEVERAL.base_values[:n_rows, 1], 0.0)
    assert_close(second[0].base_values, SEVERAL.base_values[0, 1], 0.0)
    assert_close(several[:, "bmi", 2].values, SEVERAL.values[:n_rows, 3, 2], 0.0)
    assert one[:, "bmi"].feature_names == "bmi"


def test_shap_names_outputs():
    assert ONE.to_shap().output_names is None
    assert CLASSIFIED.to_shap().output_names == "sick vs well"
    assert SEVERAL.to_shap().output_names == OUTPUTS
    assert SEVERAL[..., 1].to_shap().output_names == "a vs c"


def test_text_becomes_codes_and_is_shown_as_text():
    shown = TEXT.to_shap()
    assert_close(shown.data[:, :2], np.column_stack([ROWS[:, 0], TABLE[:, 1].astype(float)]), 0.0)
    assert_close(shown.data[:5, 2], [2, 0, 1, 3, 0], 0.0)
    assert list(shown.display_data[:5, 2]) == ["Wien", "Graz", "Linz", "missing", "Graz"]
    assert np.isnan(shown.data[4, 3])
    assert np.isnan(shown.display_data[4, 3])
    assert shown.display_data[0, 0] == pytest.approx(ROWS[0, 0], rel=5e-6)
    assert len(repr(shown.display_data[0, 0])) < 10


def test_a_group_is_spelled_out():
    shown = TEXT_GROUPED.to_shap()
    assert np.isnan(shown.data[:, 1]).all()
    assert shown.display_data[1, 1] == "(zip=1010, city=Graz)"
    assert shown.display_data[3, 1] == "(zip=1030, city=missing)"


def test_text_that_ends_in_zero_is_quoted():
    """shap's bar plot would strip the zeros: "ward 10" would read "ward 1"."""
    table = TABLE.copy()
    table[:, 2] = [f"ward {10 + i % 2}" for i in range(25)]
    table[:, 3] = [i % 2 == 0 for i in range(25)]
    shown = replace(ONE, data=table).to_shap()
    assert list(shown.display_data[:2, 2]) == ["'ward 10'", "'ward 11'"]
    assert list(shown.display_data[:2, 3]) == ["True", "False"]
    assert_close(shown.data[:2, 3], [1.0, 0.0], 0.0)


def test_shap_cannot_change_the_explanation():
    before = ONE.values.copy()
    shown = ONE.to_shap()
    shown.values[:] = 0.0
    shown.base_values[:] = 0.0
    shown.data[:] = 0.0
    assert_close(ONE.values, before, 0.0)
    assert ONE.base_values.all()
    assert_close(ONE.data, ROWS, 0.0)


def decision(plots, shown):
    plots.decision(
        shown.base_values[0],
        shown.values,
        features=shown.display_data,
        feature_names=list(shown.feature_names),
        show=False,
    )


PLOTS = {
    "waterfall": lambda plots, shown: plots.waterfall(shown[0], show=False),
    "beeswarm": lambda plots, shown: plots.beeswarm(shown, show=False),
    "bar": lambda plots, shown: plots.bar(shown, show=False),
    "bar-of-one-row": lambda plots, shown: plots.bar(shown[0], show=False),
    "scatter": lambda plots, shown: plots.scatter(shown[:, "bmi"], color=shown, show=False),
    "heatmap": lambda plots, shown: plots.heatmap(shown, show=False),
    "force": lambda plots, shown: plots.force(shown[0], matplotlib=True, show=False),
    "decision": decision,
}
PLOTTED = {
    "regression": (lambda: ONE.to_shap(), "bmi"),
    "binary": (lambda: CLASSIFIED.to_shap(), "bmi"),
    "three-by-pkex": (lambda: SEVERAL[..., "a vs c"].to_shap(), "bmi"),
    "three-by-shap": (lambda: SEVERAL.to_shap()[:, :, "b vs c"], "bmi"),
    "text": (lambda: TEXT.to_shap(), "city"),
    "grouped": (lambda: TEXT_GROUPED.to_shap(), "address"),
}


@pytest.fixture
def draw(tmp_path):
    """Draw into a file and return the text of the figure.

    The environment variable PKEX_PLOTS names a directory to keep the pictures in.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, text

    def to_file(plot, name):
        pyplot.close("all")
        np.random.seed(0)  # noqa: NPY002  shap shuffles with the global generator
        plot()
        figure = pyplot.gcf()
        target = tmp_path / f"{name}.png"
        figure.savefig(target, bbox_inches="tight")
        if "PKEX_PLOTS" in os.environ:
            figure.savefig(f"{os.environ['PKEX_PLOTS']}/{name}.png", bbox_inches="tight", dpi=60)
        assert target.stat().st_size > 3000
        words = " ".join(item.get_text() for item in figure.findobj(text.Text))
        pyplot.close("all")
        return words

    return to_file


@pytest.mark.parametrize("model", PLOTTED)
@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.filterwarnings("ignore:All-NaN slice encountered:RuntimeWarning")  # groups, beeswarm
def test_shap_plots(draw, plot, model):
    import shap

    shown, feature = PLOTTED[model][0](), PLOTTED[model][1]
    words = draw(partial(PLOTS[plot], shap.plots, shown), f"shap-{plot}-{model}")
    assert "bmi" in words
    if plot == "waterfall":
        total = shown.base_values[0] + shown.values[0].sum()
        assert f"{abs(total):.3f}".rstrip("0") in words
    if plot in ("waterfall", "bar-of-one-row", "force"):
        assert {"city": "Wien", "address": "(zip=1000, city=Wien)"}.get(feature, "bmi") in words


def test_shap_plots_a_column_of_text_by_its_categories(draw):
    import shap

    shown = TEXT.to_shap()[:, "city"]
    words = draw(lambda: shap.plots.scatter(shown, show=False), "shap-scatter-categories")
    for city in ("Wien", "Graz", "Linz", "missing"):
        assert city in words


def test_shap_plots_all_outputs_at_once(draw):
    import shap

    shown = SEVERAL.to_shap()

    def bars():
        names = list(shown.output_names)
        shap.plots.bar({name: shown[:, :, name] for name in names}, show=False)

    words = draw(bars, "shap-bar-of-three-outputs")
    for name in OUTPUTS:
        assert name in words


# shapiq


@pytest.mark.parametrize(
    ("explanation", "output", "single"),
    [
        (ONE, None, ONE),
        (CLASSIFIED, None, CLASSIFIED),
        (CLASSIFIED, "sick vs well", CLASSIFIED),
        (SEVERAL, "b vs c", SEVERAL[..., 2]),
        (SEVERAL, 2, SEVERAL[..., 2]),
        (TEXT_GROUPED, None, TEXT_GROUPED),
    ],
)
def test_shapiq_reads_the_values(explanation, output, single):
    interactions = explanation.to_shapiq(3, output=output)
    assert_close(interactions.get_n_order_values(1), single.values[3], 0.0)
    assert interactions[(1,)] == single.values[3, 1]
    assert interactions[()] == interactions.baseline_value == single.base_values[3]
    assert (interactions.index, interactions.min_order, interactions.max_order) == ("SV", 0, 1)
    assert interactions.n_players == single.values.shape[1]
    assert not interactions.estimated
    # a sum of five numbers of size 10
    assert_close(interactions.values.sum(), single.predictions[3], 1e-14)


@pytest.mark.parametrize("plot", ["plot_force", "plot_waterfall"])
def test_shapiq_plots(draw, plot):
    interactions = SEVERAL.to_shapiq(0, "a vs c")
    words = draw(
        lambda: getattr(interactions, plot)(feature_names=np.array(NAMES), show=False),
        f"shapiq-{plot}",
    )
    assert "bmi" in words


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SEVERAL.to_shapiq(0), ValueError, r"3 outputs; .* to_shapiq\(output='a vs b'\)"),
        (lambda: SEVERAL.to_shapiq(0, "a vs d"), KeyError, "did you mean"),
        (lambda: SEVERAL.to_shapiq(0, [0, 1]), IndexError, "takes one output"),
        (lambda: ONE.to_shapiq(0, 1), IndexError, "no output 1: there is one,"),
        (lambda: CLASSIFIED.to_shapiq(0, "q"), KeyError, "outputs are 'sick vs well'"),
        (lambda: ONE.to_shapiq(0, "q"), KeyError, "no output is named 'q'"),
        (lambda: ONE.to_shapiq(25), IndexError, "no row 25"),
        (lambda: ONE.to_shapiq(slice(2)), IndexError, "one row"),
    ],
)
def test_shapiq_needs_one_row_and_one_output(make, error, words):
    with pytest.raises(error, match=words):
        make()


# pandas


def test_a_frame_adds_up():
    for explanation in (ONE, CLASSIFIED, SEVERAL[..., 0], GROUPED):
        frame = explanation.to_frame()
        assert list(frame) == [*explanation.feature_names, "base_value", "prediction"]
        names = list(explanation.feature_names)
        assert_close(frame[names], explanation.values, 0.0)
        assert_close(frame[[*names, "base_value"]].sum(axis=1), frame["prediction"], 1e-13)
        assert list(explanation.to_frame(totals=False)) == names


def test_a_frame_of_several_outputs_has_two_levels():
    frame = SEVERAL.to_frame()
    assert frame.columns.names == ["output", "feature"]
    assert frame.shape == (25, 18)
    for k, name in enumerate(OUTPUTS):
        one = SEVERAL.to_frame(output=name)
        assert_close(frame[name], one, 0.0)
        assert_close(one, SEVERAL.to_frame(output=k), 0.0)
        assert list(one) == [*NAMES, "base_value", "prediction"]
    assert SEVERAL.to_frame(totals=False).shape == (25, 12)


def test_a_frame_of_some_features_has_the_predictions_of_the_model():
    assert_close(ONE[:, "bmi"].to_frame()["prediction"], ONE.predictions, 0.0)


def test_a_frame_of_no_rows():
    assert SEVERAL[:0].to_frame().shape == (0, 18)


def test_a_feature_with_the_name_of_a_total():
    odd = replace(ONE, feature_names=("age", "prediction", "city", "bmi"))
    with pytest.raises(ValueError, match=r"named 'prediction'.*totals=False"):
        odd.to_frame()
    assert list(odd.to_frame(totals=False)) == list(odd.feature_names)


@pytest.mark.parametrize(
    ("module", "call", "words"),
    [
        ("shap", lambda: ONE.to_shap(), r'pip install "pkex\[shap\]"'),
        ("shapiq", lambda: ONE.to_shapiq(0), r'pip install "pkex\[shapiq\]"'),
        ("pandas", lambda: ONE.to_frame(), 'pip install "pandas"'),
    ],
)
def test_a_library_that_is_not_installed(monkeypatch, module, call, words):
    from pkex import _extras

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extras, "import_module", missing)
    with pytest.raises(ImportError, match=f"needs {module}, which is not installed: {words}"):
        call()


def test_a_library_that_is_broken_says_so_itself(monkeypatch):
    from pkex import _extras

    def broken(name):
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    monkeypatch.setattr(_extras, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="numba"):
        ONE.to_shap()


# Display


def test_few_rows_read_as_sums():
    first, absent, caution, line, *rest = repr(ONE[0]).splitlines()
    assert first.startswith("Explanation(1 row x 4 players, neutral removal")
    assert absent == "  absent features: have the kernel factor 1"
    assert caution.startswith("  caution: under neutral removal a column is charged for being")
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
    evil = replace(
        replace(SEVERAL, data=table),
        feature_names=("<img src=x>", "a&b", '"q"', "d"),
        output_names=("<i>", "b", "c"),
        removal="<u>",
    )
    page = evil._repr_html_()
    for text in ("<script", "<img", "<i>", "<u>", "a&b"):
        assert text not in page
    for text in ("&lt;img src=x&gt;", "a&amp;b", "&lt;i&gt;", "&lt;script&gt;"):
        assert text in page


# Files


@everything
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_what_was_saved_is_loaded(tmp_path, explanation, kind):
    path = kind(tmp_path / "explanation.npz")
    explanation.save(path)
    again = Explanation.load(path)
    assert_same(again, explanation)
    assert again.rule in again.rules
    assert again.rules.index(again.rule) == explanation.rules.index(explanation.rule)
    assert len(again.rules) == len(explanation.rules)
    for old, new in zip(explanation.rules, again.rules, strict=True):
        assert_equal(old.nodes, new.nodes)
        assert_equal(old.weights, new.weights)
        for name in ("family", "max_players", "max_lam", "any_factors", "relative_error"):
            assert getattr(old, name) == getattr(new, name)
            assert type(getattr(old, name)) is type(getattr(new, name))
    assert repr(again) == repr(explanation)
    assert os.listdir(tmp_path) == ["explanation.npz"]


@everything
def test_pickle(explanation):
    assert_same(pickle.loads(pickle.dumps(explanation)), explanation)


def test_every_kind_of_cell_is_saved(tmp_path):
    import pandas

    cells = ["Wien", "", "Zürich \U0001f600", None, True, False, 3, 2**70, 0.1, -0.0]
    cells += [np.float32(0.5)]
    cells += [np.int64(7), np.str_("x"), np.bool_(True), float("inf"), -np.inf, float("nan")]
    cells += [pandas.NA, "null", "nan"]
    table = np.empty((len(cells), 4), dtype=object)
    table[:] = [[cell] * 4 for cell in cells]
    explanation = replace(ONE[: len(cells)], data=table)
    explanation.save(tmp_path / "cells.npz")
    again = Explanation.load(tmp_path / "cells.npz").data[:, 0]
    expected = [*cells[:10], 0.5, 7, "x", True, float("inf"), -np.inf, float("nan"), None]
    expected += ["null", "nan"]
    assert list(map(repr, again)) == list(map(repr, expected))


def test_a_rule_of_its_own_is_kept_apart(tmp_path):
    other = replace(ONE, rule=rules.exact(9), residual=float("nan"))
    other.save(tmp_path / "other.npz")
    again = Explanation.load(tmp_path / "other.npz")
    assert again.rule not in again.rules
    assert (again.rule.size, len(again.rules)) == (5, len(ONE.rules))
    assert np.isnan(again.residual)


def test_the_file_holds_no_pickle_and_plain_json(tmp_path):
    path = tmp_path / "a file without suffix"
    TEXT.save(path)
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes(), parse_constant=pytest.fail)
    assert (header["format"], header["version"]) == ("pkex.Explanation", 2)


def test_an_existing_file_is_replaced_and_a_link_followed(tmp_path):
    path, link = tmp_path / "a.npz", tmp_path / "link.npz"
    path.write_text("old")
    link.symlink_to(path)
    ONE.save(link)
    assert link.is_symlink()
    assert_same(Explanation.load(path), ONE)
    SEVERAL.save(path)
    assert_same(Explanation.load(link), SEVERAL)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    ONE.save(path)

    def full(file, **arrays):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        SEVERAL.save(path)
    assert_same(Explanation.load(path), ONE)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_where_it_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="is a directory; give the name of a file"):
        ONE.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no directory .*nowhere"):
        ONE.save(tmp_path / "nowhere" / "a.npz")
    table = TABLE.copy()
    table[2, 1] = object()
    with pytest.raises(ValueError, match=r"column 'zip' of the data holds <object.*convert"):
        replace(ONE, data=table).save(tmp_path / "a.npz")
    assert not os.listdir(tmp_path)


def rewritten(path, change):
    """Save an explanation whose header `change` has edited."""
    ONE.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h, a: h.update(version=3), "format version 3, but this pkex reads up to 2; update"),
        (lambda h, a: h.update(version="new"), "not written by"),
        (lambda h, a: h.update(format="other"), "its format is 'other'"),
        (lambda h, a: h.pop("format"), "not written by"),
        (lambda h, a: h.pop("players"), "damaged: its parts do not fit"),
        (lambda h, a: h.update(players=3), "damaged: its parts do not fit"),
        (lambda h, a: h.update(rule=99), "damaged"),
        (lambda h, a: a.pop("values"), "damaged"),
        (lambda h, a: a.pop("rule_0_nodes"), "damaged"),
        (lambda h, a: a.update(values=a["values"][1:]), "damaged.*must have shape"),
        (lambda h, a: h.update(data=[[1]]), "damaged"),
    ],
)
def test_a_file_with_other_contents_is_refused(tmp_path, change, words):
    rewritten(tmp_path / "a.npz", change)
    with pytest.raises(ValueError, match=words):
        Explanation.load(tmp_path / "a.npz")


def test_what_is_no_explanation_is_refused(tmp_path):
    path, one_array = tmp_path / "a.npz", io.BytesIO()
    np.save(one_array, np.ones(3))
    with pytest.raises(FileNotFoundError):
        Explanation.load(path)
    with pytest.raises(ValueError, match="is a directory, not a file saved by"):
        Explanation.load(tmp_path)
    for write in (
        lambda: path.write_bytes(b""),
        lambda: path.write_text("age,bmi\n1,2\n"),
        lambda: path.write_bytes(pickle.dumps({"values": 1})),
        lambda: path.write_bytes(one_array.getvalue()),
        lambda: np.savez(path, values=np.ones(3)),
        lambda: np.savez(path, header=np.array([{"format": 1}], dtype=object)),
        lambda: np.savez(path, header=np.frombuffer(b"[1]", dtype=np.uint8)),
        lambda: np.savez(path, header=np.frombuffer(b"\xff{", dtype=np.uint8)),
    ):
        write()
        with pytest.raises(ValueError, match=r"a\.npz is damaged or was not written by"):
            Explanation.load(path)


def test_a_damaged_file_is_refused(tmp_path):
    whole, path = tmp_path / "whole.npz", tmp_path / "a.npz"
    ONE.save(whole)
    content = whole.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged"):
            Explanation.load(path)
    with zipfile.ZipFile(whole) as archive:
        start = archive.getinfo("values.npy").header_offset
    at = content.index(ONE.values.tobytes(), start)
    path.write_bytes(content[:at] + b"\x00" * 8 + content[at + 8 :])
    with pytest.raises(ValueError, match=r"damaged.*CRC"):
        Explanation.load(path)
