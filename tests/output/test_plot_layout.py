"""Pictures keep to their figure, in every layout and style."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import pkex
from tests._support.explanations import changed
from tests._support.unchecked import unchecked
from tests.output.test_displays import BOTH, EXPANSION, ONE, Z

pytestmark = pytest.mark.frontend

mpl.use("Agg")
RNG = np.random.default_rng(4)


def inside(outer, inner, slack=1.0):
    return (
        outer.x0 - slack <= inner.x0
        and outer.y0 - slack <= inner.y0
        and inner.x1 <= outer.x1 + slack
        and inner.y1 <= outer.y1 + slack
    )


def overlap(first, second):
    return mpl.transforms.Bbox.intersection(first.get_window_extent(), second.get_window_extent())


def few(count, rows=40):
    f = pkex.KernelExpansion(RNG.normal(size=(20, count)), RNG.normal(size=20), pkex.kernels.RBF())
    return pkex.Explainer(f)(RNG.normal(size=(rows, count)))


@pytest.mark.parametrize("count", [1, 2, 4, 12])
@pytest.mark.parametrize("style", ["default", "classic"])
def test_a_heatmap_is_inside_its_figure(count, style):
    with plt.style.context(style):
        display = few(count).plot.heatmap()
        display.figure_.canvas.draw()
        for ax in display.ax_.child_axes:
            assert inside(display.figure_.bbox, ax.get_tightbbox())
        start, end = display.ax_.images[0].get_extent()[:2]
        low, high = display.ax_.get_xlim()
        assert (end - start) / (high - low) > 0.85  # no blank beside


def test_a_heatmap_keeps_to_given_axes():
    figure, ax = plt.subplots()
    before = ax.get_window_extent()
    ONE.plot.heatmap(ax)
    title = ax.set_title("t")
    figure.canvas.draw()
    above, beside = ax.child_axes
    [bar] = [other for other in figure.axes if other is not ax]
    assert inside(figure.bbox, title.get_window_extent())
    for part in (ax, above, beside):
        assert inside(before, part.get_window_extent())
    assert overlap(beside, bar) is None
    assert overlap(above, beside) is None


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_heatmap_of_few_rows_counts_them(rows):
    display = few(3, rows).plot.heatmap()
    display.figure_.canvas.draw()
    assert list(display.ax_.get_xticks()) == list(range(rows))
    labels = display.ax_.child_axes[0].get_yticklabels()
    places = [label.get_window_extent() for label in labels]
    for k, place in enumerate(places):
        assert place.count_overlaps(places[k + 1 :]) == 0


COLOURED = {
    "beeswarm": lambda ax=None: ONE.plot.beeswarm(ax),
    "heatmap": lambda ax=None: ONE.plot.heatmap(ax),
    "dependence": lambda ax=None: ONE.plot.dependence(1, ax, color=2),
    "pairs": lambda ax=None: pkex.Explainer(EXPANSION).interactions(Z[:4]).plot(ax, output=0),
}
coloured = pytest.mark.parametrize("draw", COLOURED.values(), ids=COLOURED.keys())


@coloured
@pytest.mark.parametrize("layout", [None, "tight", "constrained"])
def test_colour_bars_stand_beside_given_axes(draw, layout):
    figure, ax = plt.subplots(layout=layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(ax)
        if layout is None:
            figure.tight_layout()
        figure.canvas.draw()
    [bar] = [other for other in figure.axes if other is not ax]
    assert overlap(ax, bar) is None
    assert inside(figure.bbox, bar.get_tightbbox())


@coloured
@pytest.mark.filterwarnings("ignore:The figure layout has changed to tight")
def test_a_tight_layout_may_follow(draw):
    """As it does in programs that were written for shap."""
    display = draw()
    plt.tight_layout()
    display.figure_.canvas.draw()
    bar = display.ax_.child_axes[-1]
    assert overlap(display.ax_, bar) is None
    assert inside(display.figure_.bbox, bar.get_tightbbox())


def test_panels_have_their_colour_bar_on_the_right():
    display = BOTH.plot.beeswarm()
    display.figure_.canvas.draw()
    [bar] = display.axes_[1].child_axes
    assert inside(display.figure_.bbox, bar.get_tightbbox())
    for ax in display.axes_:
        assert overlap(ax, bar) is None


@pytest.mark.parametrize("layout", [None, "tight", "constrained"])
def test_numbers_of_a_waterfall_stand_beside_its_bars(layout):
    named = changed(ONE, feature_names=("a name of very many letters", *ONE.feature_names[1:]))
    figure, axes = plt.subplots(2, 3, figsize=(14.0, 7.0), layout=layout)
    for row, ax in enumerate(axes.flat):
        named.plot.waterfall(row, ax)
    figure.canvas.draw()
    for ax in axes.flat:
        bars = [patch.get_window_extent() for patch in ax.patches]
        for note in ax.texts:
            assert note.get_window_extent().count_overlaps(bars) == 0


def test_numbers_in_axes_without_a_cell_stand_inside():
    figure = plt.figure()
    ax = figure.add_axes((0.3, 0.1, 0.6, 0.8))
    before = ax.get_window_extent()
    ONE.plot.waterfall(0, ax)
    figure.canvas.draw()
    bars = [patch.get_window_extent() for patch in ax.patches]
    for note in ax.texts:
        assert note.get_window_extent().x1 <= before.x1 + 1.0
        assert note.get_window_extent().count_overlaps(bars) == 0


def test_marks_of_a_waterfall_are_seen_whole():
    ax = unchecked(ONE.plot.waterfall(0).ax_)
    low, high = ax.get_xlim()
    ends = [x for line in ax.lines for x in line.get_xdata()]
    room = 0.02 * (high - low)
    assert low + room < min(ends)
    assert max(ends) < high - room


def test_a_power_of_ten_is_as_large_as_the_numbers():
    small = changed(
        ONE,
        values=ONE.values * 1e-9,
        predictions=ONE.predictions * 1e-9,
        base_values=ONE.base_values * 1e-9,
    )
    ax = small.plot.beeswarm().ax_
    ax.figure.canvas.draw()
    offset = ax.xaxis.get_offset_text()
    assert offset.get_text()
    assert offset.get_fontsize() == ax.get_xticklabels()[0].get_fontsize()
    assert offset.get_color() == ax.get_xticklabels()[0].get_color()


def test_bars_have_no_edges_and_grids_are_seen():
    with plt.style.context("classic"):
        for draw in (ONE.plot.bar, ONE.plot.waterfall):
            assert all(bar.get_linewidth() == 0.0 for bar in draw().ax_.patches)
    with plt.style.context("seaborn-v0_8"):
        ax = ONE.plot.beeswarm().ax_
        line = mpl.colors.to_rgb(ax.get_xgridlines()[0].get_color())
        page = mpl.colors.to_rgb(ax.get_facecolor())
        assert np.abs(np.subtract(line, page)).max() > 0.05


def test_messages_have_calls_that_can_be_made():
    many = pkex.KernelExpansion(Z, RNG.normal(size=(50, 9)), pkex.kernels.RBF(2.0))
    explanation = pkex.Explainer(many)(Z[:5])
    for call in ("dependence('x1'", "waterfall(2"):
        kind, _, written = call.partition("(")
        draw, name = getattr(explanation.plot, kind), written.strip("'")
        argument = int(name) if name.isdigit() else name
        with pytest.raises(ValueError, match=r"e\.g\. plot\.") as error:
            draw(argument)
        assert f"plot.{call}, output=['y0', 'y1'])" in str(error.value)
        with pytest.raises(ValueError, match=r"e\.g\. plot\.") as error:
            draw(argument, plt.figure().subplots(), output=["y0", "y1"])
        assert f"plot.{call}, ax, output='y0')" in str(error.value)
