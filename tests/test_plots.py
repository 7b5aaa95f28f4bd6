"""Attributions drawn: what stands in the axes, for data of every kind."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import pkex
from pkex import plots
from pkex.plots import AttributionDisplay

mpl.use("Agg")

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(60, 4)), RNG.normal((0.0, 2.0, 0.0, 0.0), size=(50, 4))
PLAIN = pkex.mmd(X, Z)
TESTED = pkex.mmd(X, Z, n_permutations=19, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_have_the_values_with_the_largest_on_top():
    display = TESTED.plot()
    assert isinstance(display, AttributionDisplay)
    assert display.figure_ is display.ax_.figure.figure
    assert labels(display.ax_)[::-1] == [TESTED.feature_names[i] for i in TESTED.order]
    bands, bars = display.ax_.containers
    assert [bar.get_width() for bar in bars][::-1] == list(TESTED.values[TESTED.order])
    low, high = TESTED.null_band[:, TESTED.order]
    np.testing.assert_allclose([band.get_x() for band in bands][::-1], low)
    np.testing.assert_allclose([band.get_x() + band.get_width() for band in bands][::-1], high)
    written = [text.get_text() for text in display.ax_.texts][::-1]
    assert written == [f"p = {p:.2g}" for p in TESTED.p_holm[TESTED.order]]
    assert "p = 0.05" in display.ax_.get_title(loc="left")


def test_without_permutations_there_are_no_bands():
    display = PLAIN.plot()
    assert len(display.ax_.containers) == 1
    assert not display.ax_.texts
    assert display.ax_.get_legend() is None


def test_marginals_are_those_of_the_first_columns():
    display = TESTED.plot(marginals=2)
    names = [ax.get_xlabel() for ax in display.marginal_axes_]
    assert names == [TESTED.feature_names[i] for i in TESTED.order[:2]]
    lines = display.marginal_axes_[0].get_lines()
    assert [line.get_label() for line in lines] == ["X", "Z"]
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in lines]
    assert peaks[1] - peaks[0] > 1.0
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in lines]
    assert np.all(np.abs(np.array(areas) - 1.0) < 0.1)
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
    assert [text.get_text() for text in ax.get_xticklabels()] == ["Graz", "Linz", "Wien"]
    heights = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(
        heights, [(first["city"] == c).mean() for c in sorted(set(first["city"]))]
    )


def test_targets_of_numbers_are_scattered_and_classes_compared():
    y = X[:, 0] ** 2
    ax = pkex.hsic(X, y).plot(marginals=1).marginal_axes_[0]
    assert len(ax.collections[0].get_offsets()) == len(X)
    ax = pkex.hsic(X, np.where(y > 1.0, "far", "near")).plot(marginals=1).marginal_axes_[0]
    assert {line.get_label() for line in ax.get_lines()} == {"far", "near"}
    both = pd.DataFrame({"number": y, "text": np.where(y > 1.0, "far", "near")})
    ax = pkex.hsic(X, both).plot(marginals=1).marginal_axes_[0]
    assert ax.get_ylabel() == "number"
    city = pd.DataFrame({"city": RNG.choice(["Graz", "Wien"], len(X))})
    ax = pkex.hsic(city, y).plot().marginal_axes_[0]
    assert ax.get_xlabel() == "y0 by city"


def test_of_many_classes_the_rare_ones_are_joined():
    y = np.array([f"c{min(i // 8, 6)}" for i in range(len(X))])
    ax = pkex.hsic(X, y).plot(marginals=1).marginal_axes_[0]
    names = {*ax.get_legend_handles_labels()[1]}
    assert len(names) == 5
    assert "others" in names


def test_a_class_named_others_is_not_lost():
    y = np.array(["others", *(f"c{min(i // 8, 6)}" for i in range(len(X) - 1))])
    y[20:] = np.where(np.arange(len(X) - 20) % 3 == 0, "others", y[20:])  # the largest class
    groups = plots._classes(y)
    assert {"others", "all others"} < set(groups)
    assert np.array_equal(groups["others"], y == "others")
    assert np.array_equal(sum(rows.astype(int) for rows in groups.values()), np.ones(len(y)))


def test_groups_and_long_names():
    long = "a very long name that goes on and on"
    found = pkex.mmd(X, Z, groups={long: [0, 1]})
    display = found.plot(marginals=3)
    assert labels(display.ax_)[-1].endswith("…")
    assert [ax.get_xlabel() for ax in display.marginal_axes_][:2] == ["x0", "x1"]


@pytest.mark.parametrize("options", [{"max_display": 0}, {"max_display": 2.5}, {"marginals": -1}])
def test_sizes_that_make_no_sense(options):
    with pytest.raises(ValueError, match=r"must be an integer of at least [01], got"):
        PLAIN.plot(**options)


def test_only_the_first_are_shown():
    assert len(labels(PLAIN.plot(max_display=2).ax_)) == 2
