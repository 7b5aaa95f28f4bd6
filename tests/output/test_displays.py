"""How all displays behave: figures, axes that are given, notebooks, dark pages."""

from __future__ import annotations

import base64
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image

import pkex
from pkex.output import palette
from pkex.output.plots.theme import Theme
from pkex.plots import (
    AttributionDisplay,
    BeeswarmDisplay,
    CohortsDisplay,
    DecisionDisplay,
    DependenceDisplay,
    Display,
    HeatmapDisplay,
    ImportanceDisplay,
    MarginalsDisplay,
    RowDisplay,
    WaterfallDisplay,
    style,
)

pytestmark = pytest.mark.frontend

mpl.use("Agg")

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(60, 4)), RNG.normal((0.0, 2.0, 0.0, 0.0), size=(50, 4))
EXPANSION = pkex.KernelExpansion(X, RNG.normal(size=(60, 2)), pkex.kernels.RBF(2.0))
BOTH = pkex.Explainer(EXPANSION)(Z)
ONE = BOTH[..., "y0"]
PLAIN, TESTED = pkex.mmd(X, Z), pkex.mmd(X, Z, n_permutations=19, random_state=0)
KINDS = {
    "explanation": (lambda ax: ONE.plot(ax), BeeswarmDisplay),
    "one row": (lambda ax: ONE[2].plot(ax), WaterfallDisplay),
    "bar": (lambda ax: BOTH.plot.bar(ax), ImportanceDisplay),
    "bar of a row": (lambda ax: ONE[2].plot.bar(ax), RowDisplay),
    "cohorts": (lambda ax: ONE.plot.bar(ax, cohorts="x1"), CohortsDisplay),
    "beeswarm": (lambda ax: ONE.plot.beeswarm(ax), BeeswarmDisplay),
    "waterfall": (lambda ax: ONE.plot.waterfall(3, ax), WaterfallDisplay),
    "dependence": (lambda ax: ONE.plot.dependence("x1", ax), DependenceDisplay),
    "coloured": (lambda ax: ONE.plot.dependence(1, ax, color="x2"), DependenceDisplay),
    "heatmap": (lambda ax: ONE.plot.heatmap(ax), HeatmapDisplay),
    "decision": (lambda ax: ONE.plot.decision(ax), DecisionDisplay),
    "importance": (lambda ax: ONE.importance().plot(ax), ImportanceDisplay),
    "attribution": (lambda ax: TESTED.plot(ax), AttributionDisplay),
    "attribution bar": (lambda ax: PLAIN.plot.bar(ax), AttributionDisplay),
    "marginals": (lambda ax: PLAIN.plot.marginals(ax, columns="x1"), MarginalsDisplay),
}
every_kind = pytest.mark.parametrize(("draw", "kind"), KINDS.values(), ids=KINDS.keys())


@every_kind
def test_a_display_is_of_one_new_figure(draw, kind):
    display = draw(None)
    assert type(display) is kind
    assert isinstance(display, Display)
    assert [plt.figure(number) for number in plt.get_fignums()] == [display.figure_]
    assert display.ax_.figure.figure is display.figure_
    assert display.ax_.has_data()
    assert repr(display) == f"<{kind.__name__} in ax_ of figure_>"
    display.figure_.canvas.draw()
    plt.close(display.figure_)
    assert not plt.get_fignums()


@pytest.mark.parametrize("interactive", [True, False])
@pytest.mark.parametrize("kind", ["one row", "attribution", "importance"])
def test_a_notebook_shows_it_once(kind, interactive):
    """The last line of a cell shows it; what pyplot would show at the end of the cell is gone."""
    with plt.ion() if interactive else plt.ioff():
        display = KINDS[kind][0](None)
        data, metadata = display._repr_mimebundle_(include=None, exclude=None)
        assert plt.isinteractive() is interactive
    assert not plt.get_fignums()
    picture = Image.open(BytesIO(base64.b64decode(data["image/png"])))
    size = metadata["image/png"]
    assert picture.size == pytest.approx((2 * size["width"], 2 * size["height"]), abs=2)
    assert len(np.unique(np.asarray(picture.convert("L")))) > 10  # there is something in it
    display.figure_.savefig(BytesIO())  # which still works


def test_a_figure_of_the_user_is_left_to_pyplot():
    _, axes = plt.subplots(1, 2)
    display = ONE.plot(axes[0])
    assert display._repr_mimebundle_() == ({"text/plain": repr(display)}, {})
    assert len(plt.get_fignums()) == 1


@every_kind
def test_a_display_in_given_axes_changes_no_other(draw, kind):
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.0))
    display = draw(left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert tuple(figure.get_size_inches()) == (11.0, 4.0)
    assert not right.has_data()
    figure.canvas.draw()
    edge = right.get_window_extent().x0
    for text in left.texts:  # notes stay inside
        assert text.get_window_extent().x1 < edge


def test_nothing_is_shown_by_drawing(monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda *args, **options: shown.append(args))
    for draw, _ in KINDS.values():
        draw(None)
    assert shown == []


@every_kind
def test_shades_suit_the_page(draw, kind):
    """Every word can be read: its contrast with the page is at least that of WCAG AA."""
    for name in ("default", "dark_background"):
        with plt.style.context(name):
            display = draw(None)
            page = mpl.colors.to_rgb(display.figure_.get_facecolor())
            for ax in display.figure_.axes:
                _ = ax.get_xticklabels(), ax.get_yticklabels()  # which are made when asked for
            words = display.figure_.findobj(mpl.text.Text)
            shown = [word for word in words if word.get_text().strip() and word.get_visible()]
            assert len(shown) > 5
            for word in shown:
                assert contrast(mpl.colors.to_rgb(word.get_color()), page) >= 4.5, word


def luminance(colour):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(first, second):
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_a_theme_is_that_of_what_is_behind():
    _, ax = plt.subplots()
    assert Theme.of(ax) == Theme(dark=False)
    ax.set_facecolor("#101010")
    assert Theme.of(ax) == Theme(dark=True)
    ax.patch.set_visible(False)
    assert Theme.of(ax) == Theme(dark=False)
    ax.figure.patch.set_alpha(0.0)
    with plt.rc_context({"text.color": "white"}):
        assert Theme.of(ax) == Theme(dark=True)


def test_a_figure_has_a_page_although_styles_leave_it_out():
    with plt.rc_context({"figure.facecolor": (1.0, 1.0, 1.0, 0.0)}):
        assert ONE.plot().figure_.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


def test_pictures_drawn_by_hand_have_the_same_looks():
    for dark in (False, True):
        with style(dark=dark):
            figure, ax = plt.subplots()
            [line] = ax.plot([0, 1])
        assert line.get_color() == Theme(dark)(palette.SERIES[0])
        assert mpl.colors.to_hex(figure.get_facecolor()) == Theme(dark)(palette.PAGE)
    assert plt.rcParams["axes.spines.top"]  # nothing is left of it


def test_what_can_be_drawn_is_told():
    for result in (ONE, PLAIN, ONE.importance()):
        told = repr(result.plot)
        kinds = [name for name in dir(result.plot) if not name.startswith("_")]
        assert told.endswith(f": {', '.join(kinds)}>")


def test_shap_is_not_needed(monkeypatch):
    from pkex._util import extras as _extras

    def missing(name):
        if name.startswith("shap"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return __import__(name, fromlist=["_"])

    monkeypatch.setattr(_extras, "import_module", missing)
    for draw, _ in KINDS.values():
        draw(None)
