"""Explanations drawn: every number in a picture is one of the explanation."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.svm import SVC

import pkex
from pkex.output import palette
from pkex.output.plots import shades
from pkex.output.plots.cohorts import cohorts_of
from pkex.output.plots.theme import Theme
from pkex.plots import ImportanceDisplay, RowDisplay, WaterfallDisplay
from tests._support.explanations import changed
from tests._support.unchecked import unchecked
from tests.output.test_displays import BOTH, EXPANSION, ONE, Z

pytestmark = pytest.mark.frontend

mpl.use("Agg")
LIGHT = Theme(dark=False)
RNG = np.random.default_rng(1)
WIDE = pkex.Explainer(
    pkex.KernelExpansion(RNG.normal(size=(30, 15)), RNG.normal(size=30), pkex.kernels.RBF(4.0))
)(RNG.normal(size=(40, 15)))


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax):
    return [(patch.get_x(), patch.get_width()) for patch in ax.patches if patch.get_height() > 0.3]


def notes(ax):
    return [text.get_text().replace("\u2212", "-") for text in ax.texts]


@pytest.mark.parametrize("explanation", [ONE, WIDE], ids=["few", "many"])
def test_a_waterfall_leads_from_base_to_prediction(explanation):
    ax = explanation.plot.waterfall(3).ax_
    steps = bars(ax)
    ends = np.cumsum([explanation.base_values[3], *(width for _, width in steps)])
    np.testing.assert_allclose([start for start, _ in steps], ends[:-1], rtol=1e-12, atol=1e-14)
    assert ends[-1] == pytest.approx(explanation.predictions[3], rel=1e-12)
    sizes = np.sort(np.abs(explanation.values[3]))[::-1]
    own = 4 if explanation is ONE else 11
    np.testing.assert_allclose(np.abs([width for _, width in steps])[:own], sizes[:own])
    assert labels(ax)[0] == "base value"
    assert labels(ax)[-1] == "prediction"
    assert float(notes(ax)[-1]) == pytest.approx(explanation.predictions[3], rel=1e-2)
    if explanation is WIDE:
        assert labels(ax)[-2] == "4 other features"
        assert len(steps) == 12


def test_a_waterfall_has_the_colours_of_signs_and_names_feature_values():
    ax = unchecked(ONE.plot.waterfall(3).ax_)
    for patch in ax.patches:
        shade = palette.RAISES if patch.get_width() > 0.0 else palette.LOWERS
        assert mpl.colors.to_hex(patch.get_facecolor()) == shade.light
    order = np.argsort(-np.abs(ONE.values[3]))
    assert labels(ax)[1:-1] == [f"x{i} = {Z[3, i]:.6g}" for i in order]
    assert ax.get_title(loc="left") == "row 3"


def test_intervals_of_values():
    """An explanation that has standard deviations shows them."""
    std = RNG.uniform(0.1, 0.2, size=ONE.values[:1].shape)
    first = ONE[0]
    first.__dict__["std"] = std
    order = np.argsort(-np.abs(first.values[0]))
    display = RowDisplay(first)
    display.plot()
    lines = unchecked(display.ax_).collections
    [segments] = [c.get_segments() for c in lines if len(c.get_segments()) == 4]
    widths = [segment[:, 0].max() - segment[:, 0].min() for segment in segments]
    np.testing.assert_allclose(widths, 2.0 * std[0, order])
    without = RowDisplay(ONE[0])
    without.plot()
    assert not without.ax_.collections


def test_what_has_no_waterfall():
    with pytest.raises(ValueError, match="a selection of the features, which does not add up"):
        ONE[:, :2].plot.waterfall(0)
    with pytest.raises(IndexError, match="a waterfall shows one row; got"):
        ONE.plot.waterfall(unchecked([0, 1]))
    apart = changed(ONE, efficient=False, index="BV")
    for draw in (apart.plot.waterfall, apart.plot.decision):
        with pytest.raises(
            ValueError, match="do not add up to the prediction, so they have no wat"
        ):
            draw()
    assert not plt.get_fignums()
    assert apart.plot.beeswarm().ax_.get_xlabel() == "BV value of y0"
    assert apart.plot.dependence(0).ax_.get_ylabel() == "BV value of y0"
    assert ONE.plot.beeswarm().ax_.get_xlabel() == "Shapley value of y0"


def test_what_fits_is_drawn():
    assert type(ONE[0].plot()) is WaterfallDisplay
    assert type(changed(ONE, efficient=False, index="BV")[0].plot()) is RowDisplay
    assert type(ONE[0, :2].plot()) is RowDisplay
    many = pkex.KernelExpansion(Z, RNG.normal(size=(50, 9)), pkex.kernels.RBF(2.0))
    explanation = pkex.Explainer(many)(Z[:5])
    assert type(explanation.plot()) is ImportanceDisplay
    assert len(unchecked(BOTH.plot()).axes_) == 2
    with pytest.raises(ValueError, match="9 outputs do not fit into one figure; choose up to 6"):
        explanation.plot.heatmap()
    assert len(explanation.plot.heatmap(output=["y0", "y7"]).axes_) == 2
    legend = explanation.plot.bar().figure_.legends[0].get_texts()
    assert [entry.get_text() for entry in legend][-1] == "4 other outputs"
    with pytest.raises(ValueError, match="there is nothing to draw"):
        ONE[:0].plot()


def test_stacked_bars_of_many_outputs_keep_their_sum():
    many = pkex.KernelExpansion(Z, RNG.normal(size=(50, 9)), pkex.kernels.RBF(2.0))
    explanation = pkex.Explainer(many)(Z[:5])
    ax = explanation.plot.bar().ax_
    total = sum(np.array([bar.get_width() for bar in stack]) for stack in ax.containers)
    found = explanation.importance()
    np.testing.assert_allclose(total, found.values.sum(axis=1)[found.ranking])


@pytest.mark.parametrize("explanation", [ONE, WIDE], ids=["few", "many"])
def test_a_beeswarm_has_every_value(explanation):
    ax = explanation.plot.beeswarm(max_display=12).ax_
    order = explanation.importance().ranking
    swarms = [dots.get_offsets() for dots in ax.collections]
    assert len(swarms) == min(12, len(order))
    for place, (swarm, feature) in enumerate(zip(swarms, order[:11], strict=False)):
        np.testing.assert_array_equal(swarm[:, 0], explanation.values[:, feature])
        assert np.abs(swarm[:, 1] - place).max() <= 0.5  # in its lane
    if explanation is WIDE:
        total = explanation.base_values + sum(swarm[:, 0] for swarm in swarms)
        np.testing.assert_allclose(total, explanation.predictions)
        assert labels(ax)[-1] == "4 other features"


def test_points_of_a_swarm_do_not_hide_each_other():
    ax = ONE.plot.beeswarm().ax_
    ax.figure.canvas.draw()
    for dots in ax.collections:
        assert len(np.unique(dots.get_offsets(), axis=0)) == len(ONE)


def classifier():
    n = 60
    table = pd.DataFrame({"size": RNG.normal(size=n), "town": RNG.choice(["Graz", "Wien"], n)})
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    prepare = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["town"]))
    y = np.where(table["size"] + (table["town"] == "Wien") > 0.5, "large", "small")
    model = make_pipeline(prepare, SVC()).fit(table, y)
    return table, pkex.Explainer(model)(table)


def test_categories_have_colours_of_their_own():
    table, explanation = classifier()
    ax = explanation.plot.beeswarm().ax_
    place = labels(ax).index("town")
    colours = [mpl.colors.to_hex(c) for c in ax.collections[place].get_facecolors()]
    shown = set(zip(table["town"], colours, strict=True))
    assert len(shown) == 2
    assert {colour for _, colour in shown} == {LIGHT.series(0), LIGHT.series(1)}
    assert ax.get_xlabel() == "Shapley value (+ towards small, \u2212 towards large)"
    ax = explanation.plot.dependence("size", color="town").ax_
    legend = ax.get_legend()
    keys = {text.get_text() for text in legend.get_texts()}
    assert keys == {"Graz", "Wien"}
    assert legend.get_title().get_text() == "town"
    ax = explanation.plot.dependence("town").ax_
    names = [label.get_text() for label in ax.get_xticklabels()]
    offsets = ax.collections[-1].get_offsets()
    assert [names[round(x)] for x in offsets[:, 0]] == list(table["town"])
    np.testing.assert_array_equal(offsets[:, 1], explanation[:, "town"].values[:, 0])


def test_a_classifier_has_a_panel_for_each_class_and_a_row_that_of_its_own():
    X = RNG.normal(size=(60, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    explanation = pkex.Explainer(SVC().fit(X, y))(X)
    display = unchecked(explanation.plot())
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["a", "b", "c"]
    assert display.axes_[1].get_xlabel() == "Shapley value\n(+ towards b, \u2212 away from b)"
    row = unchecked(explanation[7].plot())
    own = str(explanation.predicted_class[7])
    assert len(row.axes_) == 1
    assert row.ax_.get_title(loc="left").startswith(f"row 0, predicted {own}")
    assert row.ax_.get_xlabel() == f"output (+ towards {own}, \u2212 away from {own})"
    last = bars(row.ax_)[-1]
    expected = explanation[7, :, own].predictions[0]
    assert sum(last) == pytest.approx(expected)
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=r"one ax has room for one of the 3 outputs; choose it"):
        explanation.plot.beeswarm(ax)
    explanation.plot.beeswarm(ax, output="b")


def test_a_dependence_has_the_feature_values():
    ax = unchecked(ONE.plot.dependence("x1", color="x2").ax_)
    [dots] = [c for c in ax.collections if len(c.get_offsets()) == len(ONE)]
    np.testing.assert_array_equal(dots.get_offsets(), np.column_stack([Z[:, 1], ONE.values[:, 1]]))
    cells = shades.feature_values(ONE, 2)
    low, high = cells.ends
    assert (low, high) == pytest.approx(tuple(np.quantile(Z[:, 2], [0.05, 0.95])))
    colours = cells.colours(LIGHT)
    for row, end in ((Z[:, 2].argmin(), palette.LOWERS), (Z[:, 2].argmax(), palette.RAISES)):
        assert mpl.colors.to_hex(colours[row]) == end.light
    [counts] = [unchecked(p).get_data() for p in ax.patches if isinstance(p, mpl.patches.StepPatch)]
    expected, edges = np.histogram(Z[:, 1], bins=len(counts.values))
    np.testing.assert_allclose(counts.values / counts.values.max(), expected / expected.max())
    np.testing.assert_allclose(counts.edges, edges)


def test_what_has_no_dependence_plot():
    groups = pkex.Explainer(EXPANSION, groups={"pair": [0, 1]})(Z)[..., "y0"]
    wrong: list[Any] = [{"feature": "pair"}, {"feature": "x2", "color": "pair"}]
    for options in wrong:
        with pytest.raises(ValueError, match="'pair' is a group of 2 columns and has no single v"):
            groups.plot.dependence(**options)
    with pytest.raises(KeyError, match="no feature is named 'x9'"):
        ONE.plot.dependence("x9")
    with pytest.raises(IndexError, match="a dependence plot shows one feature; got"):
        ONE.plot.dependence(unchecked(["x1", "x2"]))
    dots = groups.plot.beeswarm().ax_.collections[labels(plt.gcf().axes[0]).index("pair")]
    assert mpl.colors.to_hex(dots.get_facecolors()[0]) == palette.MISSING.light


def test_missing_values_are_counted_not_drawn():
    data = Z.copy()
    data[:3, 1] = np.nan
    gaps = changed(ONE, data=data)
    ax = gaps.plot.dependence("x1").ax_
    assert ax.get_xlabel() == "x1 (3 rows with missing values not shown)"
    assert len(ax.collections[-1].get_offsets()) == len(Z) - 3
    assert (
        mpl.colors.to_hex(shades.feature_values(gaps, 1).colours(LIGHT)[0]) == palette.MISSING.light
    )
    gaps.plot.beeswarm().figure_.canvas.draw()


@pytest.mark.parametrize("order", ["prediction", "similarity", "data"])
def test_a_heatmap_has_all_values(order):
    ax = WIDE.plot.heatmap(order=order).ax_
    [image] = ax.images
    table = np.asarray(image.get_array()).T
    top = WIDE.importance().ranking[:11]
    assert table.shape == (40, 12)
    np.testing.assert_allclose(table.sum(axis=1).sum(), (WIDE.values.sum()))
    rows = np.array(
        [np.abs(WIDE.values[:, top] - line[:11]).sum(axis=1).argmin() for line in table]
    )
    np.testing.assert_allclose(table[:, :11], WIDE.values[rows][:, top])
    assert sorted(rows) == list(range(40))
    if order == "prediction":
        assert (np.diff(WIDE.predictions[rows]) >= 0.0).all()
    elif order == "data":
        assert (rows == np.arange(40)).all()
    low, high = image.get_clim()
    assert low == -high  # no value has no colour
    above, aside = map(unchecked, ax.child_axes[:2])
    np.testing.assert_allclose(above.lines[-1].get_ydata(), WIDE.predictions[rows])
    widths = [bar.get_width() for bar in aside.patches]
    np.testing.assert_allclose(widths, np.abs(table).mean(axis=0))


def test_an_order_of_rows_that_there_is_not():
    with pytest.raises(ValueError, match="order must be one of prediction, similarity, data, got"):
        ONE.plot.heatmap(order="size")


def test_decisions_end_at_the_predictions():
    ax = unchecked(WIDE.plot.decision().ax_)
    lines = ax.collections[0].get_segments()
    ends = sorted(line[-1, 0] for line in lines)
    np.testing.assert_allclose(ends, np.sort(WIDE.predictions))
    np.testing.assert_allclose([line[0, 0] for line in lines], WIDE.base_values[0])
    assert all(line[-1, 1] == -0.5 for line in lines)  # the top
    steps = np.array(sorted(line[-1, 0] - line[-2, 0] for line in lines))
    most = WIDE.importance().ranking[0]
    np.testing.assert_allclose(steps, np.sort(WIDE.values[:, most]), atol=1e-12)
    rows = changed(
        WIDE,
        values=np.tile(WIDE.values, (60, 1)),
        base_values=np.tile(WIDE.base_values, 60),
        predictions=np.tile(WIDE.predictions, 60),
        data=np.tile(WIDE.data, (60, 1)),
        error_bound=None,
    )
    with pytest.raises(ValueError, match="2400 lines cannot be distinguished; choose up to 2000"):
        rows.plot.decision()


MASK = np.arange(50) < 20
COHORTS = {
    "a mask": (MASK, {"chosen": MASK, "others": ~MASK}),
    "labels": (np.where(MASK, "old", "new"), {"new": ~MASK, "old": MASK}),
    "a mapping": ({"few": [0, 1], "rest": slice(2, None)}, None),
    "a column": ("x1", {}),
}


@pytest.mark.parametrize(("by", "expected"), COHORTS.values(), ids=COHORTS.keys())
def test_cohorts_have_the_importance_of_their_rows(by, expected):
    found = cohorts_of(ONE, by)
    if expected is None:
        expected = {"few": np.arange(50) < 2, "rest": np.arange(50) >= 2}
    if not expected:
        low = Z[:, 1] < np.median(Z[:, 1])
        assert [mask.tolist() for mask in found.values()] == [low.tolist(), (~low).tolist()]
    else:
        assert {name: mask.tolist() for name, mask in found.items()} == {
            name: mask.tolist() for name, mask in expected.items()
        }
    display = ONE.plot.bar(cohorts=by)
    ax = display.ax_
    order = ONE.importance().ranking
    drawn = [c for c in ax.containers if isinstance(c, mpl.container.BarContainer)]
    for bar, mask in zip(drawn, found.values(), strict=True):
        widths = [patch.get_width() for patch in bar]
        np.testing.assert_allclose(widths, np.abs(ONE.values[mask]).mean(axis=0)[order])
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend == [f"{name} ({mask.sum()} rows)" for name, mask in found.items()]


def test_cohorts_that_make_no_sense():
    with pytest.raises(KeyError, match="no column is named 'x9'"):
        ONE.plot.bar(cohorts="x9")
    with pytest.raises(ValueError, match=r"one entry for each of the 50 rows, or a mapping"):
        ONE.plot.bar(cohorts=[True, False])
    with pytest.raises(ValueError, match="cohorts must be 2 to 6 sets of rows that are not empty"):
        ONE.plot.bar(cohorts=np.ones(50, dtype=bool))
    assert len(cohorts_of(ONE, [str(i % 9) for i in range(50)])) == 6  # with others


@pytest.mark.parametrize("scale", [1e-170, 1e-3, 1e150])
def test_values_of_every_size(scale):
    found = changed(
        ONE,
        values=ONE.values * scale,
        base_values=ONE.base_values * scale,
        predictions=ONE.predictions * scale,
    )
    for draw in (found.plot, waterfall_in(found), found.plot.heatmap, found.plot.decision):
        draw(plt.figure().subplots()).figure_.draw_without_rendering()


def waterfall_in(explanation):
    return lambda ax: explanation.plot.waterfall(0, ax)


def test_values_that_are_all_zero():
    flat = changed(ONE, values=ONE.values * 0.0, predictions=ONE.base_values)
    kinds = (flat.plot, waterfall_in(flat), flat.plot.bar, flat.plot.heatmap, flat.plot.decision)
    for draw in kinds:
        draw(plt.figure().subplots()).figure_.draw_without_rendering()


def test_long_names_are_cut():
    long = "a name that goes on and on and on and on and on and on"
    named = changed(ONE, feature_names=(long, *ONE.feature_names[1:]))
    for draw in (named.plot, named.plot.waterfall, named.plot.bar, named.plot.heatmap):
        assert any("a name that goes on and…on and on" in name for name in labels(draw().ax_))


def test_names_that_differ_at_their_ends_stay_apart():
    names = tuple(
        f"the mean over all the years of station {i}" for i in range(len(ONE.feature_groups))
    )
    display = changed(ONE, feature_names=names).plot.beeswarm(plt.figure().subplots())
    assert len(set(labels(display.ax_))) == len(names)


def test_few_feature_values_far_out_stand_at_the_edge():
    data = ONE.data.copy()
    data[:, 1] = [1e6, -1e6, *range(len(data) - 2)]
    display = changed(ONE, data=data).plot.dependence("x1")
    assert "(2 rows beyond, at the edges)" in display.ax_.get_xlabel()
    inside, left, right = display.ax_.collections[:3]
    x = data[:, 1].astype(float)
    np.testing.assert_array_equal(inside.get_offsets()[:, 0], x[2:])
    for points, row in ((left, 1), (right, 0)):
        [(_, value)] = points.get_offsets()
        assert value == ONE.values[row, 1]
    low, high = display.ax_.get_xlim()
    assert high - low < 20.0 * np.ptp(x[2:])


def test_a_class_named_by_a_number_is_called_a_class():
    model = SVC().fit(Z, Z[:, 0] > 0.0)
    named = changed(pkex.Explainer(model)(Z), output_classes=(("1", "0"),))
    assert (
        named.plot()
        .ax_.get_xlabel()
        .endswith("(+ towards class 1, \N{MINUS SIGN} towards class 0)")
    )


def test_what_panels_share_is_said_once():
    display = BOTH.plot.waterfall(2)
    assert display.figure_.get_suptitle() == "row 2"
    panels = BOTH.plot.beeswarm().axes_
    assert sum(len(ax.child_axes) for ax in panels) == 1  # one scale of colours
    assert len(BOTH.plot.bar(cohorts="x1", output=[0, 1]).figure_.legends) == 1


@pytest.mark.parametrize("kind", ["bar", "beeswarm", "waterfall", "heatmap", "decision"])
def test_sizes_that_make_no_sense(kind):
    with pytest.raises(ValueError, match="max_display must be an integer of at least 1, got 0"):
        getattr(ONE.plot, kind)(max_display=0)
    assert not plt.get_fignums()
