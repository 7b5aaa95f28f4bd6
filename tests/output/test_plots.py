"""Attributions drawn: what stands in the axes, for data of every kind."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import StepPatch

import pkex
from pkex.output import columns, palette
from pkex.plots import AttributionDisplay
from tests._support.unchecked import unchecked
from tests.output.test_report import report

pytestmark = pytest.mark.frontend

mpl.use("Agg")

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(60, 4)), RNG.normal((0.0, 2.0, 0.0, 0.0), size=(50, 4))
PLAIN = pkex.mmd(X, Z)
TESTED = pkex.mmd(X, Z, n_permutations=19, random_state=0)


def outlines(ax):
    """Return the shares and edges of every histogram by its label."""
    steps = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    named = [patch for patch in steps if patch.get_label()]
    data = {patch.get_label(): unchecked(patch.get_data()) for patch in named}
    return {label: (counts.values, counts.edges) for label, counts in data.items()}


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_have_the_values_with_the_largest_on_top():
    display = TESTED.plot()
    assert isinstance(display, AttributionDisplay)
    assert display.figure_ is display.ax_.figure.figure
    assert labels(display.ax_) == [TESTED.feature_names[i] for i in TESTED.ranking]
    low, high = display.ax_.get_ylim()
    assert low > high  # the first is on top
    bands, bars = display.ax_.containers
    assert [bar.get_width() for bar in bars] == list(TESTED.values[TESTED.ranking])
    low, high = TESTED.null_band[:, TESTED.ranking]
    np.testing.assert_allclose([band.get_x() for band in bands], low)
    np.testing.assert_allclose([band.get_x() + band.get_width() for band in bands], high)
    written = [text.get_text() for text in display.ax_.texts]
    assert written == [f"p = {p:.2g}" for p in TESTED.p_adjusted[TESTED.ranking]]
    assert "p = 0.05" in display.ax_.get_title(loc="left")


def test_without_permutations_there_are_no_bands():
    display = PLAIN.plot()
    assert len(display.ax_.containers) == 1
    assert not display.ax_.texts
    assert display.ax_.get_legend() is None
    assert not display.ax_.figure.legends


def test_marginals_are_those_of_the_first_columns():
    display = TESTED.plot(marginals=2)
    names = [ax.get_xlabel() for ax in display.marginal_axes_]
    assert names == [TESTED.feature_names[i] for i in TESTED.ranking[:2]]
    drawn = outlines(display.marginal_axes_[0])
    assert list(drawn) == ["X", "Z"]
    column = TESTED.ranking[0]
    means = [np.average(0.5 * (edges[1:] + edges[:-1]), weights=s) for s, edges in drawn.values()]
    spread = drawn["X"][1][1] - drawn["X"][1][0]  # a bin
    for (shares, edges), mean, sample in zip(drawn.values(), means, (X, Z), strict=True):
        assert abs(mean - sample[:, column].mean()) < 0.5 * spread
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        inner = slice(1, -1)  # the outer bins also hold what lies outside
        assert np.array_equal(
            (shares * len(sample))[inner].round(), np.histogram(sample[:, column], edges)[0][inner]
        )
    assert means[1] - means[0] > 1.0
    assert not TESTED.plot(marginals=0).marginal_axes_


def test_in_given_axes_the_neighbours_stay_free():
    _, (left, right) = plt.subplots(1, 2)
    display = TESTED.plot(left)
    assert display.ax_ is left
    assert display.marginal_axes_ == []
    assert not left.texts
    assert not right.has_data()
    assert all("(p = " in label for label in labels(left))


def test_blocks_show_their_errors():
    found = pkex.mmd(X, Z, block_size=20, random_state=0)
    display = found.plot()
    assert "±" in display.ax_.get_title(loc="left")
    assert len(display.ax_.collections) > len(PLAIN.plot().ax_.collections)  # the whiskers


@pytest.mark.parametrize("scale", [1e-170, 1e-3, 1e200])
def test_numbers_of_every_size(scale):
    pkex.mmd(X * scale, Z * scale).plot().figure_.canvas.draw()


def frame(n, shares):
    city = RNG.choice(["Graz", "Linz", "Wien"], n, p=shares)
    return pd.DataFrame({"city": city, "few": RNG.integers(3, size=n), "one": 1.0})


def test_categories_are_shown_as_shares():
    first, second = frame(80, [0.6, 0.2, 0.2]), frame(70, [0.1, 0.1, 0.8])
    display = pkex.mmd(first, second).plot()
    ax = display.marginal_axes_[0]
    counts = pd.concat([first, second])["city"].value_counts()
    assert labels(ax) == list(counts.index)  # the most frequent first, which is drawn on top
    assert ax.yaxis_inverted()
    for bars, table in zip(ax.containers, (first, second), strict=True):
        shares = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(
            shares, [100.0 * (table["city"] == c).mean() for c in counts.index]
        )


def test_targets_of_numbers_are_scattered_and_classes_compared():
    y = X[:, 0] ** 2
    ax = pkex.hsic(X, y).plot(marginals=1).marginal_axes_[0]
    assert len(np.asarray(ax.collections[0].get_offsets())) == len(X)
    ax = pkex.hsic(X, np.where(y > 1.0, "far", "near")).plot(marginals=1).marginal_axes_[0]
    assert set(outlines(ax)) == {"far", "near"}
    both = pd.DataFrame({"number": y, "text": np.where(y > 1.0, "far", "near")})
    ax = pkex.hsic(X, both).plot(marginals=1).marginal_axes_[0]
    assert ax.get_ylabel() == "number"
    city = pd.DataFrame({"city": RNG.choice(["Graz", "Wien"], len(X))})
    ax = pkex.hsic(city, y).plot().marginal_axes_[0]
    assert ax.get_xlabel().splitlines()[0] == "y0 by city"
    assert sorted(labels(ax)) == ["Graz", "Wien"]
    for town, [box] in zip(labels(ax), ax.containers, strict=True):
        low, high = np.quantile(y[city["city"] == town], [0.25, 0.75])
        assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((low, high))


def test_of_many_classes_the_rare_ones_are_joined():
    y = np.array([f"c{min(i // 8, 6)}" for i in range(len(X))])
    ax = pkex.hsic(X, y).plot(marginals=1).marginal_axes_[0]
    names = {*ax.get_legend_handles_labels()[1]}
    assert len(names) == 6
    assert "others" in names


def test_a_class_named_others_is_not_lost():
    y = np.array(["others", *(f"c{min(i // 8, 6)}" for i in range(len(X) - 1))])
    y[20:] = np.where(np.arange(len(X) - 20) % 3 == 0, "others", y[20:])  # the largest class
    codes, names = columns.categories(y, 6)
    assert {"others", "all others"} < set(names)
    assert len(names) == 6
    assert np.array_equal(codes == names.index("others"), y == "others")
    kept = {name for name in names if name != "all others"}
    assert np.array_equal(codes == names.index("all others"), ~np.isin(y, list(kept)))


def test_groups_and_long_names():
    long = "a very long name that goes on and on and on until it ends"
    found = pkex.mmd(X, Z, groups={long: [0, 1]})
    display = found.plot(marginals=3)
    place = list(found.ranking).index(found.feature_names.index(long))
    assert labels(display.ax_)[place] == "a very long name that go…on and on until it ends"
    assert [ax.get_xlabel() for ax in display.marginal_axes_][:2] == ["x0", "x1"]


@pytest.mark.parametrize("options", [{"max_display": 0}, {"max_display": 2.5}, {"marginals": -1}])
def test_sizes_that_make_no_sense(options):
    with pytest.raises(ValueError, match=r"must be an integer of at least [01], got"):
        PLAIN.plot(**options)


def test_only_the_first_are_shown():
    assert len(labels(PLAIN.plot(max_display=2).ax_)) == 2


# One home for the picture of a column


TABLES = (frame(90, [0.5, 0.3, 0.2]).assign(size=RNG.normal(size=90)),) * 2
PAIRS = {
    "two samples": lambda: pkex.mmd(TABLES[0], TABLES[1][:40]),
    "classes": lambda: pkex.hsic(TABLES[0], TABLES[0]["city"]),
    "numbers": lambda: pkex.hsic(TABLES[0], TABLES[0]["size"] ** 2 + RNG.normal(size=90)),
}


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS.keys())
def test_a_report_draws_the_same_columns(make, tmp_path):
    found = make()
    names = [name for name in found.column_names if name != "one"]  # which is constant
    display = found.plot.marginals(columns=names)
    data = report(found, tmp_path).data
    panels = {panel["column"]: panel for entry in data["marginals"] for panel in entry["panels"]}
    assert set(panels) == set(names)
    for name, ax in zip(names, display.axes_, strict=True):
        panel = panels[name]
        if panel["kind"] == "histogram":
            drawn = outlines(ax)
            for series in panel["series"]:
                shares, edges = drawn.pop(series["name"])
                np.testing.assert_allclose(shares, series["shares"], atol=1e-5)
                np.testing.assert_allclose(edges, panel["edges"], rtol=1e-7)
            assert not drawn
        elif panel["kind"] == "bars":
            assert labels(ax) == panel["categories"]
            for bars, series in zip(ax.containers, panel["series"], strict=True):
                assert bars.get_label() == series["name"]
                widths = [bar.get_width() / 100.0 for bar in bars]
                np.testing.assert_allclose(widths, series["shares"], atol=1e-5)
        elif panel["kind"] == "scatter":
            points = np.column_stack([panel["x"], panel["y"]])
            np.testing.assert_allclose(ax.collections[0].get_offsets(), points, rtol=1e-7)
        else:
            assert labels(ax) == panel["categories"]
            for [box], (_, first, _, third, _) in zip(ax.containers, panel["boxes"], strict=True):
                ends = (box.get_x(), box.get_x() + box.get_width())
                np.testing.assert_allclose(ends, (first, third), rtol=1e-7)


def test_numbers_that_are_categories_are_drawn_as_such():
    codes = pd.DataFrame({"code": pd.Categorical(RNG.integers(12, size=80))})
    ax = pkex.mmd(codes[:40], codes[40:]).plot.marginals().ax_
    assert len(labels(ax)) == 8
    assert "others" in labels(ax)


def test_the_report_has_the_colours_of_the_plots(tmp_path):
    page = report(TESTED, tmp_path)
    ax = TESTED.plot(marginals=0).ax_
    top = ax.containers[1][0]  # the largest contribution, beyond its band
    assert mpl.colors.to_hex(top.get_facecolor()) == palette.RAISES.light
    for name, shade in (("up", palette.RAISES), ("c1", palette.SERIES[1]), ("band", palette.BAND)):
        assert page.style.count(f"--{name}:") == 1
        assert f"--{name}: light-dark({shade.light}, {shade.dark});" in page.style


def test_marginals_are_chosen_by_number_and_name():
    assert [ax.get_xlabel() for ax in TESTED.plot.marginals(columns=["x3", 0]).axes_] == [
        "x3",
        "x0",
    ]
    assert len(TESTED.plot.marginals(columns=2).axes_) == 2
    _, ax = plt.subplots()
    assert TESTED.plot.marginals(ax, columns="x2").ax_ is ax
    with pytest.raises(ValueError, match=r"one ax has room for one column, not for 4; name it"):
        TESTED.plot.marginals(ax)
    with pytest.raises(KeyError, match=r"no column is named 'y'\. The columns are 'x0', "):
        TESTED.plot.marginals(columns="y")
    with pytest.raises(ValueError, match="columns must be an integer of at least 1, got 0"):
        TESTED.plot.marginals(columns=0)


def test_constant_columns_are_not_among_the_panels(tmp_path):
    flat = np.column_stack([np.ones(60), X[:, 0]]), np.column_stack([np.ones(50), Z[:, 1]])
    found = pkex.mmd(*flat)
    assert [ax.get_xlabel() for ax in found.plot().marginal_axes_] == ["x1"]
    assert [ax.get_xlabel() for ax in found.plot.marginals().axes_] == ["x1"]
    panels = report(found, tmp_path).data["marginals"]
    assert [panel["column"] for entry in panels for panel in entry["panels"]] == ["x1"]
    assert found.plot.marginals(columns="x0").ax_.get_xlabel() == "x0"  # when asked for


@pytest.mark.parametrize("power", [0.3, 1.0, 6.0])
def test_a_heavy_tail_does_not_make_a_spike(power):
    """Few rows far outside are counted in the outer bins; else there are ranges by quantile."""
    tail = np.exp(power * np.random.default_rng(0).normal(size=(2, 400)))
    drawn = columns.between(tail[0], tail[1] * 1.5, ("old", "new"))
    assert drawn.shares.mean(axis=0).max() <= 0.5
    assert drawn.shares.sum(axis=1) == pytest.approx(1.0)
    everything = np.concatenate([tail[0], 1.5 * tail[1]])
    if drawn.edges is None:
        assert power == 6.0
        edges = [float(name.split(" to ")[1]) for name in drawn.categories]
        for edge, share in zip(edges, np.cumsum(drawn.shares[0]), strict=True):
            assert abs((tail[0] <= edge).mean() - share) < 0.02  # edges have three digits
        assert drawn.shares.mean(axis=0) == pytest.approx(1.0 / 7.0, abs=0.01)
    else:
        outside = (everything < drawn.edges[0]) | (everything > drawn.edges[-1])
        assert drawn.beyond == pytest.approx(outside.mean())


def test_what_lies_beyond_is_said():
    far = np.append(RNG.normal(size=97), [1e6] * 3)[:, None]
    ax = pkex.mmd(far, far[::-1][:60]).plot.marginals().ax_
    assert re.search(r"x0 \([3-9](\.\d)? % beyond, in the outer bins\)", ax.get_xlabel())


def test_a_number_that_most_rows_have_is_a_range_of_its_own():
    many = np.where(np.arange(300) % 4 == 0, np.exp(3.0 * RNG.normal(size=300)), 0.0)
    drawn = columns.between(many[:200], many[200:], ("old", "new"))
    assert drawn.categories[0] == "0"
    assert drawn.shares[0, 0] == pytest.approx(0.75)
