"""Explanation in the forms of other libraries, shap, shapiq and pandas, and their plots."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from tests._support.cases import assert_close
from tests._support.explanations import (
    CLASSIFIED,
    GROUPED,
    NAMES,
    ONE,
    OUTPUTS,
    ROWS,
    SEVERAL,
    TABLE,
    TEXT,
    TEXT_GROUPED,
    assert_equal,
    changed,
    everything,
)
from tests._support.unchecked import unchecked


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
    shown = changed(ONE, data=table).to_shap()
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
        (lambda: SEVERAL.to_shapiq(0, unchecked([0, 1])), IndexError, "takes one output"),
        (lambda: ONE.to_shapiq(0, 1), IndexError, "no output 1: there is one,"),
        (lambda: CLASSIFIED.to_shapiq(0, "q"), KeyError, "outputs are 'sick vs well'"),
        (lambda: ONE.to_shapiq(0, "q"), KeyError, "no output is named 'q'"),
        (lambda: ONE.to_shapiq(25), IndexError, "no row 25"),
        (lambda: ONE.to_shapiq(unchecked(slice(2))), IndexError, "one row"),
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
    odd = changed(ONE, feature_names=("age", "prediction", "city", "bmi"))
    with pytest.raises(ValueError, match=r"named 'prediction'.*totals=False"):
        odd.to_frame()
    assert list(odd.to_frame(totals=False)) == list(odd.feature_names)


@pytest.mark.parametrize(
    ("module", "call", "words"),
    [
        ("shap", lambda: ONE.to_shap(), r'pip install .*\[shap\]"'),
        ("shapiq", lambda: ONE.to_shapiq(0), r'pip install .*\[shapiq\]"'),
        ("pandas", lambda: ONE.to_frame(), 'pip install "pandas"'),
    ],
)
def test_a_library_that_is_not_installed(monkeypatch, module, call, words):
    from pkex._util import extras as _extras

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extras, "import_module", missing)
    with pytest.raises(ImportError, match=f"needs {module}, which is not installed: {words}"):
        call()


def test_a_library_that_is_broken_says_so_itself(monkeypatch):
    from pkex._util import extras as _extras

    def broken(name):
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    monkeypatch.setattr(_extras, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="numba"):
        ONE.to_shap()
