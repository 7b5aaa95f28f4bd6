"""Global importance: means over rows, their standard errors, and the bar plot."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest

import pkex
from pkex.kernels import RBF
from tests._support.cases import assert_close

mpl.use("Agg")

from matplotlib import pyplot as plt

RNG = np.random.default_rng(4)
POINTS, ROWS = RNG.normal(size=(30, 3)), RNG.normal(size=(12, 3))
ALPHA = RNG.normal(size=(30, 2))
ONE = pkex.Explainer(
    pkex.KernelExpansion(POINTS, ALPHA[:, 0], RBF([1.0, 3.0, 9.0])), removal="neutral"
)(ROWS)
TWO = pkex.Explainer(pkex.KernelExpansion(POINTS, ALPHA, RBF([1.0, 3.0, 9.0])), removal="neutral")(
    ROWS
)


def test_means_and_standard_errors():
    importance = ONE.importance()
    sizes = np.abs(ONE.values)
    assert_close(importance.values, sizes.mean(axis=0), 1e-15)
    deviation = np.sqrt(((sizes - sizes.mean(axis=0)) ** 2).sum(axis=0) / 11.0)
    assert_close(importance.standard_errors, deviation / np.sqrt(12.0), 1e-15)
    assert list(importance.ranking) == sorted(range(3), key=lambda j: -importance.values[j])


def test_several_outputs_are_ordered_by_their_sum():
    importance = TWO.importance()
    assert importance.values.shape == importance.standard_errors.shape == (3, 2)
    assert list(importance.ranking) == list(np.argsort(-importance.values.sum(axis=1)))
    assert importance.output_names == ("y0", "y1")


def test_one_row_has_no_standard_error():
    importance = ONE[0].importance()
    assert_close(importance.values, np.abs(ONE.values[0]), 0.0)
    assert np.isnan(importance.standard_errors).all()
    importance.plot()


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        ONE[:0].importance()


def test_it_prints_and_makes_a_frame_most_important_first():
    importance = ONE.importance()
    first = ONE.feature_names[importance.ranking[0]]
    assert repr(importance).splitlines()[1].startswith(first)
    frame = importance.to_frame()
    assert list(frame.columns) == ["importance", "standard_error", "centred"]
    assert frame.index[0] == first
    columns = list(TWO.importance().to_frame().columns)
    assert columns[:3] == [("y0", kind) for kind in ("importance", "standard_error", "centred")]
    assert "y1" in repr(TWO.importance())


@pytest.mark.parametrize("explanation", [ONE, TWO], ids=["one", "two"])
def test_the_plot_shows_the_most_important(explanation):
    ax = explanation.importance().plot(max_display=2).ax_
    importance = explanation.importance()
    names = [explanation.feature_names[j] for j in importance.ranking[:2]]
    assert [label.get_text() for label in ax.get_yticklabels()] == names  # from the top
    assert ax.get_xlabel().splitlines()[0] == "mean |Shapley value| (the 2 largest of 3)"
    assert len(ax.patches) == 2 * importance.values.reshape(3, -1).shape[1]
    given = plt.figure().add_subplot()
    assert importance.plot(given).ax_ is given


def test_matplotlib_is_needed_only_for_plots(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install .*\[plots\]"):
        ONE.importance().plot()


def test_of_many_outputs_the_first_are_printed():
    alpha = RNG.normal(size=(30, 45))
    importance = pkex.Explainer(pkex.KernelExpansion(POINTS, alpha, RBF(2.0)))(ROWS).importance()
    for said in (repr(importance), importance._repr_html_()):
        assert "y2" in said
        assert "y3" not in said
        assert "and 42 more outputs; see to_frame()" in said
    assert max(map(len, repr(importance).splitlines())) < 80
    assert "more output" not in repr(TWO.importance())
