"""Whiskers: their lengths, and words on every plot that say what they are."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text
from scipy.sparse import csr_array
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

import pkex
from pkex.plots import RowDisplay
from tests._support.written import Page, explained
from tests.output.test_displays import BOTH, KINDS, ONE, PLAIN, TESTED, X, Z

mpl.use("Agg")

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 15))
PROCESS = GaussianProcessRegressor(kernels.RBF(3.0), alpha=0.1, optimizer=None)
PROCESS.fit(ROWS, np.column_stack([ROWS[:, 0] + ROWS[:, 1] ** 2, ROWS[:, 2]]))
EXPLAINER = pkex.Explainer(PROCESS, ROWS[:4])
ALONE = GaussianProcessRegressor(kernels.RBF(3.0), alpha=0.1, optimizer=None)
ALONE.fit(ROWS[:, :1], ROWS[:, 1])
CERTAIN = EXPLAINER(ROWS)
MEANS = EXPLAINER(ROWS, return_std=True)[..., "y0"]
JOINT = EXPLAINER(ROWS[:8], return_cov=True)
BLOCKS = pkex.mmd(X, Z, block_size=20, random_state=0)
TOWNS = pd.DataFrame({"town": RNG.choice(["Graz", "Linz", "Wien"], 60)})
RESULTS: dict[str, Any] = {
    "explanation": ONE,
    "several outputs": BOTH,
    "one row": ONE[2],
    "std": MEANS,
    "std of few rows": MEANS[:5],
    "std of one row": MEANS[3],
    "std of some features": MEANS[:, :3],
    "cov": JOINT[..., "y1"],
    "cov of one row": JOINT[2, :, "y0"],
    "cov of several outputs": JOINT,
    "one feature": pkex.Explainer(ALONE)(ROWS[:3, :1], return_cov=True),
    "importance": ONE.importance(),
    "importance after std": MEANS.importance(),
    "attribution": PLAIN,
    "tested": TESTED,
    "blocks": BLOCKS,
    "target by category": pkex.hsic(TOWNS, X[:, 0]),
    "interactions": pkex.Explainer(pkex.KernelExpansion(X, X[:, 0], pkex.kernels.RBF(2.0)))
    .interactions(Z[:6]),
    "sensitivity": pkex.sensitivity(
        pkex.KernelExpansion(X, X[:, 0], pkex.kernels.RBF(2.0)), X, order=2
    ),
    "change": pkex.change(
        pkex.KernelExpansion(X, X[:, 0], pkex.kernels.RBF(2.0)), X[:9], X[9:18], n_permutations=9
    ),
    "sparse": pkex.Explainer(
        pkex.KernelExpansion(csr_array(np.maximum(X, 0.0)), X[:, 0], pkex.kernels.RBF())
    )(csr_array(np.maximum(Z[:6], 0.0))),
}  # fmt: skip
ARGUMENTS: dict[str, list[Any]] = {"dependence": [0], "text": [0, "a text"]}


def on_new_axes(draw):
    return draw(plt.subplots()[1])


def calls():
    """Return every plot of every result, and what the list of displays has besides."""
    found: dict[str, Callable[[], Any]] = {}
    for name, result in RESULTS.items():
        kinds = [kind for kind in dir(result.plot) if not kind.startswith("_")]
        if not getattr(result, "complete", True):  # which these need
            kinds = [kind for kind in kinds if kind not in ("waterfall", "decision")]
        for kind in kinds:
            draw = getattr(result.plot, kind)
            found[f"{name}: {kind}"] = partial(draw, *ARGUMENTS.get(kind, []))
    for name, (draw, _) in KINDS.items():
        found[f"display: {name}"] = partial(draw, None)
        found[f"given axes: {name}"] = partial(on_new_axes, draw)
    found["std: cohorts"] = lambda: MEANS.plot.bar(cohorts="x1")
    return found


CALLS = calls()


def whisker_lines(ax):
    """Return the lines along an axis that stand for an interval: error bars, boxes, bare lines."""
    found: list[Any] = [box for box in ax.containers if isinstance(box, ErrorbarContainer)]
    for lines in ax.collections:
        if isinstance(lines, LineCollection) and lines.get_transform() == ax.transData:
            ends = lines.get_segments()
            if ends and all(len(end) == 2 and (end[0] == end[1]).any() for end in ends):
                found.append(lines)
    return found + [band for band in ax.collections if isinstance(band, PolyCollection)]


def words(figure):
    """Return all texts on a figure, each in one line."""
    return [
        " ".join(text.get_text().split()) for text in figure.findobj(Text) if text.get_visible()
    ]


NAMED = re.compile(
    r"(whiskers|lines|below each name): .*(standard deviation|standard error over|5 to 95 %)"
)


@pytest.mark.parametrize("draw", CALLS.values(), ids=CALLS.keys())
def test_what_is_drawn_around_a_value_is_named(draw):
    shown = draw()
    if not hasattr(shown, "figure_"):  # a text with tinted tokens
        assert "±" not in shown.html()
        return
    shown.figure_.canvas.draw()
    said = words(shown.figure_)
    drawn = any(whisker_lines(ax) for ax in shown.figure_.axes)
    drawn |= any(text.startswith("±") for text in said)
    assert drawn == any(NAMED.search(text) for text in said)
    banded = getattr(shown.result, "null_band", None) is not None
    if banded and shown.ax_.get_xlabel().startswith("contribution to"):
        assert "95 % of permutations" in said


def spans(ax):
    """Return the lengths of the horizontal whiskers of axes; NaN for what is not drawn."""
    every = [
        segment
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]
    return [np.ptp(segment[:, 0]) if segment.ndim == 2 else np.nan for segment in every]


def variance_of_sum(cov, members):
    """Return the variance of a sum, term by term."""
    return sum(cov[i, j] for i in members for j in members)


@pytest.mark.parametrize("draw", ["waterfall", "bar"])
@pytest.mark.parametrize("output", ["y0", "y1"])
def test_whiskers_of_a_row_are_standard_deviations_and_that_of_others_is_of_their_sum(draw, output):
    one = JOINT[2, :, output]
    display = getattr(one.plot, draw)(max_display=6)
    order = np.argsort(-np.abs(one.values[0]))
    rest = np.sqrt(variance_of_sum(one.cov[0], order[5:]))
    np.testing.assert_allclose(spans(display.ax_), 2.0 * np.append(one.std[0, order[:5]], rest))
    assert rest != pytest.approx(np.sqrt((one.std[0, order[5:]] ** 2).sum()), rel=1e-3)
    [said] = [text for text in words(display.figure_) if "whiskers" in text]
    assert said.endswith("whiskers: ± 1 posterior standard deviation")


def test_without_covariances_others_have_no_whisker_and_that_is_said():
    one = MEANS[3]
    display = one.plot.waterfall(max_display=6)
    largest = np.argsort(-np.abs(one.values[0]))[:5]
    np.testing.assert_allclose(spans(display.ax_), [*(2.0 * one.std[0, largest]), np.nan])
    said = "; none for other features without return_cov=True"
    assert any(text.endswith(said) for text in words(display.figure_))
    some = JOINT[0, :3, "y0"]  # the covariances of what was not selected are gone
    row = RowDisplay(some).plot()
    assert np.isnan(spans(row.ax_)).tolist() == [False, False, False, True]
    assert any(text.endswith("; none for other features") for text in words(row.figure_))


def test_a_dependence_has_a_line_for_every_point():
    display = MEANS.plot.dependence("x1")
    [lines] = [c for c in display.ax_.collections if isinstance(c, LineCollection)]
    for segment, row in zip(lines.get_segments(), range(len(MEANS)), strict=True):
        value, std = MEANS.values[row, 1], MEANS.std[row, 1]
        np.testing.assert_allclose(np.sort(segment[:, 1]), [value - std, value + std])
    low, high = display.ax_.get_ylim()
    assert low < (MEANS.values - MEANS.std)[:, 1].min()
    assert high > (MEANS.values + MEANS.std)[:, 1].max()
    assert not [c for c in CERTAIN[..., "y0"].plot.dependence("x1").ax_.collections
                if isinstance(c, LineCollection)]  # fmt: skip


def test_a_beeswarm_of_few_rows_has_lines():
    one = JOINT[..., "y0"]
    display = one.plot.beeswarm(max_display=4)
    order = np.argsort(-np.abs(one.values).mean(axis=0), kind="stable")
    rest = [np.sqrt(variance_of_sum(cov, order[3:])) for cov in one.cov]
    expected = np.concatenate([*one.std[:, order[:3]].T, rest])
    np.testing.assert_allclose(spans(display.ax_), 2.0 * expected)
    low, high = display.ax_.get_xlim()
    assert low < (one.values - one.std)[:, order[:3]].min()
    assert high > (one.values + one.std)[:, order[:3]].max()


def test_a_beeswarm_of_many_rows_has_the_medians():
    display = MEANS.plot.beeswarm(max_display=4)
    order = np.argsort(-np.abs(MEANS.values).mean(axis=0), kind="stable")
    said = [text for text in words(display.figure_) if text.startswith("±")]
    assert said == [f"± {np.median(MEANS.std[:, i]):.2g}" for i in order[:3]]
    assert any(text.endswith("return_cov=True") for text in words(display.figure_))
    _, ax = plt.subplots(figsize=(6.0, 3.0))  # whose lanes have no room for two lines
    [said] = [text for text in words(MEANS.plot(ax).figure_) if "posterior" in text]
    median = np.median(MEANS.std[:, order[:11]])
    assert said.endswith(f"posterior standard deviation: median {median:.2g}")


def test_bars_of_many_rows_tell_standard_errors_from_the_posterior():
    said = "± 1 standard error over 40 rows"
    for result in (CERTAIN[..., "y0"], CERTAIN[..., "y0"].importance()):
        display = result.plot.bar()
        assert f"mean |Shapley value| whiskers: {said}" in words(display.figure_)
        sizes = np.abs(CERTAIN.values[..., 0])
        errors = sizes.std(axis=0, ddof=1) / np.sqrt(40.0)
        np.testing.assert_allclose(
            spans(display.ax_), 2.0 * errors[np.argsort(-sizes.mean(axis=0))]
        )
    for result in (MEANS, MEANS.importance()):
        told = " ".join(words(result.plot.bar().figure_))
        assert f"whiskers: {said}, not posterior uncertainty" in told
    for shown in (str(MEANS.importance()), MEANS.importance()._repr_html_()):
        assert f"{said}, not posterior uncertainty" in shown
    for shown in (str(CERTAIN.importance()), CERTAIN.importance()._repr_html_()):
        assert "posterior" not in shown


def test_cohorts_tell_standard_errors_from_the_posterior():
    told = " ".join(words(MEANS.plot.bar(cohorts="x1").figure_))
    assert "standard error over the rows of each cohort, not posterior uncertainty" in told
    assert "posterior" not in " ".join(words(ONE.plot.bar(cohorts="x1").figure_))


def test_an_importance_keeps_its_words_in_a_file(tmp_path):
    found = MEANS.importance()
    found.save(tmp_path / "a.npz")
    again = pkex.Importance.load(tmp_path / "a.npz")
    assert (again.n_rows, again.has_std) == (found.n_rows, found.has_std) == (40, True)


def test_blocks_are_named():
    display = BLOCKS.plot()
    np.testing.assert_allclose(spans(display.ax_), 2.0 * BLOCKS.standard_errors[BLOCKS.ranking])
    assert any("standard error over blocks of 20 rows" in text for text in words(display.figure_))


def unpacked(packed):
    [(kind, text)] = packed.items()
    return np.frombuffer(b64decode(text), dtype=f"<{kind}")


def test_a_report_has_the_standard_deviations_of_other_features(tmp_path):
    JOINT.report(tmp_path / "report.html")
    data = Page(tmp_path / "report.html").data
    for k, packed in enumerate(data["other_stds"]):
        smallest = np.argsort(np.abs(JOINT.values[..., k]), axis=1)[:, :3]  # of 15, 12 are shown
        expected = [
            np.sqrt(variance_of_sum(cov[..., k], others))
            for cov, others in zip(JOINT.cov, smallest, strict=True)
        ]
        # which are written in single precision
        np.testing.assert_allclose(unpacked(packed), expected, rtol=1e-6)
    assert data["whiskers"]["posterior"] == "± 1 posterior standard deviation"
    MEANS.report(tmp_path / "report.html")
    data = Page(tmp_path / "report.html").data
    assert data["other_stds"] is None
    assert data["whiskers"] == {
        "rows": "± 1 standard error over 40 rows, not posterior uncertainty",
        "posterior": "± 1 posterior standard deviation; none for other features without "
        "return_cov=True",
    }
    ONE.report(tmp_path / "report.html")
    assert Page(tmp_path / "report.html").data["whiskers"]["posterior"] is None


def test_a_report_has_the_standard_deviations_of_features_that_matter_in_one_row_only(tmp_path):
    values = np.ones((30, 50)) + np.arange(50.0)
    values[3, 0] = 99.0  # the largest of its row, of a feature that is not among the first 40
    explained(values, std=0.01 * values).report(tmp_path / "report.html")
    [extras] = Page(tmp_path / "report.html").data["extras"]
    assert [entry[:2] + entry[3:] for entry in extras[3]] == [[0, 99.0, 0.99]]


def test_a_report_names_the_errors_of_blocks(tmp_path):
    BLOCKS.report(tmp_path / "report.html")
    assert Page(tmp_path / "report.html").data["block_size"] == 20
