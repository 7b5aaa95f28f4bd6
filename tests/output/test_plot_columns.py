"""What is drawn along axes: few integers, many categories, dates, and what is missing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.offsetbox import TextArea

from pkex.output.plots import shades
from pkex.output.plots.cohorts import cohorts_of
from pkex.tables.dates import day_text, days_of_cells
from tests._support.explanations import changed
from tests.output.test_displays import ONE, Z

pytestmark = pytest.mark.frontend

mpl.use("Agg")
RNG = np.random.default_rng(5)
ROWS = len(ONE)
MOMENTS = [pd.Timestamp("2021-03-01") + timedelta(days=3 * k) for k in range(ROWS)]


def having(cells, column=0):
    """Return an explanation that has these cells in a column."""
    data = Z.astype(object)
    data[:, column] = cells
    return changed(ONE, data=data)


def towns(count):
    return np.array([f"town {'abcdefghijklmnopqrst'[k % count]}" for k in range(ROWS)])


def test_rows_with_gaps_are_a_cohort():
    cells = Z[:, 1].copy()
    cells[:4] = np.nan
    for missing in (np.nan, None):
        data = cells.astype(object)
        data[:4] = missing
        found = cohorts_of(having(data, 1), "x1")
        middle = np.median(Z[4:, 1])
        assert [int(mask.sum()) for mask in found.values()] == [23, 23, 4]
        assert list(found)[-1] == "x1 = missing"
        assert all((Z[mask, 1] < middle).all() for mask in list(found.values())[:1])
    assert list(cohorts_of(ONE, cells))[-1] == "missing"
    having(cells, 1).plot.bar(cohorts="x1").figure_.canvas.draw()


def test_few_integers_stand_side_by_side():
    counts = RNG.integers(0, 3, ROWS).astype(float)
    ax = having(counts).plot.dependence(0).ax_
    assert list(ax.get_xticks()) == [0.0, 1.0, 2.0]
    x = ax.collections[-1].get_offsets()[:, 0]
    np.testing.assert_array_equal(np.round(x), counts)
    assert len(np.unique(x)) == ROWS
    assert ax.get_xlim() == (-0.5, 2.5)
    far = having(np.where(counts > 1.0, 1000.0, counts)).plot.dependence(0).ax_
    assert set(far.collections[0].get_offsets()[:, 0]) <= {0.0, 1.0, 1000.0}  # no room to spread


@pytest.mark.parametrize("count", [6, 12, 15])
def test_categories_have_places_of_their_own(count):
    display = having(towns(count)).plot.dependence(0)
    display.figure_.canvas.draw()
    labels = display.ax_.get_xticklabels()
    assert len(labels) == min(count, 12)
    if count <= 12:
        assert {label.get_text() for label in labels} == set(towns(count))
    else:
        assert labels[-1].get_text() == "others"
    angles = {label.get_rotation() for label in labels}
    assert angles == ({0.0} if count == 6 else {35.0})
    if count == 6:
        places = [label.get_window_extent() for label in labels]
        assert all(p.count_overlaps(places[k + 1 :]) == 0 for k, p in enumerate(places))


@pytest.mark.parametrize("count", [5, 9])
def test_every_colour_of_a_swarm_has_a_name(count):
    display = having(towns(count)).plot.beeswarm()
    display.figure_.canvas.draw()
    names = [area.get_text() for area in display.ax_.findobj(TextArea)]
    assert len(names) == min(count, 6)
    assert "…" not in names
    assert ("others" in names) == (count > 6)
    for area in display.ax_.findobj(TextArea):
        assert area.get_window_extent().x0 >= 0.0


CLOCKS = {
    "pandas": MOMENTS,
    "numpy": [np.datetime64(moment, "ns") for moment in MOMENTS],
    "dates": [moment.date() for moment in MOMENTS],
    "zones": [datetime(m.year, m.month, m.day, tzinfo=UTC) for m in MOMENTS],
}


@pytest.mark.parametrize("cells", CLOCKS.values(), ids=CLOCKS.keys())
def test_dates_have_an_axis_of_time(cells):
    column = np.empty(ROWS, dtype=object)
    column[:] = cells
    found = having(column)
    ax = found.plot.dependence(0).ax_
    ax.figure.canvas.draw()
    assert isinstance(ax.xaxis.get_major_formatter(), mpl.dates.ConciseDateFormatter)
    [dots] = [c for c in ax.collections if len(c.get_offsets()) == ROWS]
    np.testing.assert_allclose(dots.get_offsets()[:, 0], mpl.dates.date2num(MOMENTS))
    halves = cohorts_of(found, "x0")
    assert list(halves) == ["x0 < 2021-05-13 12:00", "x0 ≥ 2021-05-13 12:00"]
    assert [int(mask.sum()) for mask in halves.values()] == [25, 25]
    cells_of = shades.feature_values(found, 0)
    assert not cells_of.categories
    assert cells_of.dated
    bar = found.plot.dependence(1, color=0).ax_.child_axes[0]
    texts = [label.get_text() for label in bar.get_yticklabels()]
    assert texts == [day_text(round(end)) for end in cells_of.ends]
    assert not found.plot.beeswarm().ax_.findobj(TextArea)


def test_dates_with_gaps_and_what_is_no_date():
    gaps = np.array([*MOMENTS[:-2], None, pd.NaT], dtype=object)
    assert np.isnan(days_of_cells(gaps)).sum() == 2
    ax = having(gaps).plot.dependence(0).ax_
    assert ax.get_xlabel() == "x0 (2 rows with missing values not shown)"
    assert days_of_cells(np.array([date(2020, 1, 1), "then"], dtype=object)) is None
    assert days_of_cells(np.array([None, 1.0], dtype=object)) is None


def test_numbers_below_narrow_axes_do_not_meet():
    named = changed(ONE, feature_names=("a name of very many letters", *ONE.feature_names[1:]))
    figure, axes = plt.subplots(2, 3, figsize=(14.0, 7.0), layout="constrained")
    for row, ax in enumerate(axes.flat):
        named.plot.waterfall(row, ax)
    figure.canvas.draw()
    for ax in axes.flat:
        places = [tick.label1.get_window_extent() for tick in ax.xaxis._update_ticks()]
        assert all(p.count_overlaps(places[k + 1 :]) == 0 for k, p in enumerate(places))
