"""Names in pictures are shown as they are, whatever letters they have and however long they are."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from sklearn.svm import SVC

import pkex
from pkex.output.plots.labels import literal, wrap_label
from tests._support.explanations import changed
from tests.output.test_displays import ONE, Z

pytestmark = pytest.mark.frontend

mpl.use("Agg")
RNG = np.random.default_rng(3)
BANDS = ("$0-$50k", "$50k_$100k")
ODD = "$x_{1}$ and $\\frac$"
NAMED = changed(
    ONE,
    feature_names=(ODD, "_hidden", "a $ and b $", *ONE.feature_names[3:]),
    column_names=(ODD, "_hidden", "a $ and b $", *ONE.feature_names[3:]),
    output_names=("$y$ in $",),
    data=np.column_stack([RNG.choice(BANDS, len(Z)).astype(object), Z[:, 1:].astype(object)]),
)


def shown(figure):
    """Return all words of a figure; each must be drawn as it is, and not as a formula."""
    figure.canvas.draw()
    words = [text for text in figure.findobj(Text) if text.get_text()]
    for text in words:
        assert not text._preprocess_math(text.get_text())[1], text
    return [text._preprocess_math(text.get_text())[0] for text in words]


def interactions():
    f = pkex.KernelExpansion(Z[:9], RNG.normal(size=9), pkex.kernels.RBF(2.0))
    found = pkex.Explainer(f).interactions(Z[:5])
    data = np.array([[*BANDS] + ["a"] * (Z.shape[1] - 2)] * 5, dtype=object)
    return changed(found, feature_names=NAMED.feature_names, data=data)


def attribution():
    first, second = (
        pd.DataFrame({"$a$ or $b": RNG.normal(size=40), "band": RNG.choice(BANDS, 40, p=p)})
        for p in ([0.9, 0.1], [0.2, 0.8])
    )
    return changed(pkex.mmd(first, second), sample_names=("$old$", "_new"))


def sensitivity():
    f = pkex.KernelExpansion(Z[:9, :2], RNG.normal(size=9), pkex.kernels.RBF(2.0))
    found = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}, order=2)
    return changed(found, feature_names=(ODD, "$b$"))


def change():
    f = pkex.KernelExpansion(Z[:9, :2], RNG.normal(size=9), pkex.kernels.RBF(2.0))
    found = pkex.change(f, Z[:6, :2], Z[6:12, :2], n_permutations=0)
    return changed(found, feature_names=(ODD, "$b$"), sample_names=("$old$", "_new"))


DRAWN = {
    "beeswarm": (lambda: NAMED.plot(), (ODD, *BANDS, "a $ and b $")),
    "waterfall": (lambda: NAMED.plot.waterfall(0), (f"{ODD} = {NAMED.data[0, 0]}",)),
    "bar": (lambda: NAMED.plot.bar(), (ODD,)),
    "cohorts": (lambda: NAMED.plot.bar(cohorts=0), (ODD,)),
    "dependence": (lambda: NAMED.plot.dependence(0), (ODD, *BANDS, "Shapley value of $y$ in $")),
    "colours": (lambda: NAMED.plot.dependence(1, color=0), (ODD, *BANDS)),
    "heatmap": (lambda: NAMED.plot.heatmap(), (ODD, "Shapley value of $y$ in $")),
    "decision": (lambda: NAMED.plot.decision(), (ODD,)),
    "pairs": (lambda: interactions().plot(), (ODD,)),
    "network": (lambda: interactions().plot.network(), (ODD,)),
    "pair": (lambda: interactions().plot.pair(0, 1), (ODD, *BANDS)),
    "sensitivity": (lambda: sensitivity().plot(), (ODD, "$b$")),
    "parts": (lambda: sensitivity().plot.pairs(), (ODD, "$b$")),
    "change": (lambda: change().plot(), (ODD, "$b$", "$old$", " _new")),
    "attribution": (lambda: attribution().plot(), ("$a$ or $b", *BANDS, "$old$", " _new")),
}


@pytest.mark.parametrize(("draw", "words"), DRAWN.values(), ids=DRAWN.keys())
def test_dollars_are_no_formulas(draw, words):
    assert set(words) <= set(shown(draw().figure_))


def test_a_backslash_stays():
    _, ax = plt.subplots()
    ax.set_xlabel(literal(r"a\$b$"))
    assert r"a\$b$" in shown(ax.figure)


def test_legends_have_entries_that_begin_with_an_underscore():
    display = ONE.plot.bar(cohorts=np.where(np.arange(len(ONE)) < 20, "_a", "_b"))
    [legend] = display.figure_.legends
    assert [text.get_text().strip() for text in legend.get_texts()] == [
        "_b (30 rows)",
        "_a (20 rows)",
    ]


@pytest.mark.parametrize("count", [2, 3, 6])
def test_long_names_of_cohorts_are_inside_the_figure(count):
    cells = [f"the region of the people of the town number {k % count}" for k in range(len(ONE))]
    figure = ONE.plot.bar(cohorts=cells).figure_
    figure.canvas.draw()
    [legend] = figure.legends
    place = legend.get_window_extent()
    assert figure.bbox.x0 <= place.x0
    assert place.x1 <= figure.bbox.x1
    assert len(legend.get_texts()) == count


def test_long_names_of_cohorts_fit_given_axes():
    cells = [f"the region of the people of the town number {k % 2}" for k in range(len(ONE))]
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.0))
    ONE.plot.bar(axes[0], cohorts=cells)
    figure.canvas.draw()
    place = axes[0].get_legend().get_window_extent()
    assert place.width <= 1.1 * axes[0].get_window_extent().width


LONG = ("malignant tumour of the breast", "benign growth of other tissue")


def classes(count):
    names = np.array([*LONG, "nothing that anybody would notice"][:count])
    y = names[np.argmax(Z[:, :count], axis=1)]
    return pkex.Explainer(SVC().fit(Z, y))(Z)


@pytest.mark.parametrize("kind", ["beeswarm", "heatmap", "decision", "dependence", "waterfall"])
@pytest.mark.parametrize("count", [2, 3])
def test_words_about_classes_are_inside_the_figure(kind, count):
    explanation = classes(count)
    display = getattr(explanation.plot, kind)(*([0] if kind in ("dependence", "waterfall") else []))
    figure = display.figure_
    figure.canvas.draw()
    page, panels = figure.bbox, display.axes_
    labels = [axis.label for ax in panels for axis in (ax.xaxis, ax.yaxis)]
    labels += [child.yaxis.label for ax in panels for child in ax.child_axes]
    extents = [label.get_window_extent() for label in labels if label.get_text()]
    for place in extents:
        assert page.x0 - 1 <= place.x0
        assert place.x1 <= page.x1 + 1
        assert page.y0 - 1 <= place.y0
        assert place.y1 <= page.y1 + 1
    below = [ax.xaxis.label.get_window_extent() for ax in panels if ax.get_xlabel()]
    assert mpl.transforms.Bbox.count_overlaps(below[0], below[1:]) == 0


def test_words_are_broken_at_brackets_first():
    assert wrap_label("few words (of them)", 5.0) == "few words (of them)"
    assert wrap_label("some more words (and more)", 1.5).split("\n")[-1] == "(and more)"
