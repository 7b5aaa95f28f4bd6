"""A `Sensitivity` is looked at and kept as other results are; so is what an explanation has of one.

That is, of the posterior of a Gaussian process: standard deviations, covariances, the variance.
"""

from __future__ import annotations

import json

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explanation, Sensitivity, sensitivity
from pkex.kernels import RBF
from tests._support.explanations import changed
from tests._support.unchecked import unchecked
from tests._support.written import Page

mpl.use("Agg")

from matplotlib import pyplot as plt

RNG = np.random.default_rng(12)
X = RNG.normal(size=(40, 3))
F = pkex.KernelExpansion(X, RNG.normal(size=40), RBF(1.5), feature_names=["a", "b<", "c"])
ONE = sensitivity(F, X, order=2)
TWO = sensitivity(SVC().fit(X, RNG.integers(3, size=40)), X, order=2)
PROCESS = GaussianProcessRegressor(gp.RBF(1.5), alpha=0.1, optimizer=None)
PROCESS.fit(X, np.column_stack([X[:, 0], X[:, 1] * X[:, 2]]))
UNSURE = pkex.Explainer(PROCESS, X[:5])(X[:4], return_std=True, return_cov=True)
BOTH = pytest.mark.parametrize("found", [ONE, TWO], ids=["one output", "three"])


@BOTH
def test_files(found, tmp_path):
    found.save(tmp_path / "indices.npz")
    again = Sensitivity.load(tmp_path / "indices.npz")
    for name in ("first_order", "total_order", "shapley", "second_order", "variance", "mean"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert again.correlated == found.correlated
    assert str(again) == str(found)
    assert again.feature_groups == found.feature_groups


def test_a_file_that_was_changed_is_refused(tmp_path):

    changed(ONE, shapley=2.0 * ONE.shapley).save(tmp_path / "wrong.npz")
    with pytest.raises(ValueError, match="sum to 2, not to 1"):
        Sensitivity.load(tmp_path / "wrong.npz")
    with pytest.raises(ValueError, match="Explanation"):
        Explanation.load(tmp_path / "wrong.npz")


@BOTH
def test_frames(found):
    frame = found.to_frame()
    assert list(frame.index) == [found.feature_names[i] for i in found.ranking]
    shown = frame["shapley"] if found.shapley.ndim == 1 else frame["1", "shapley"]
    effects = found.shapley if found.shapley.ndim == 1 else found.shapley[:, 1]
    np.testing.assert_array_equal(shown, effects[found.ranking])


def test_text_and_notebook():
    text = str(ONE)
    assert text.startswith(f"Sensitivity(3 inputs, variance {float(ONE.variance):.4g})")
    assert "independent of each other" in text
    assert "of the variance" in text
    assert "2: variance" in str(TWO)
    page = ONE._repr_html_()
    assert "b&lt;" in page
    assert f"{ONE.shapley.max():.4g}" in page
    assert "1 total-order" in TWO._repr_html_()


def test_plots():
    drawn = unchecked(ONE.plot(max_display=2))
    assert drawn.ax_.get_xlabel() == "fraction of the variance (the 2 largest of 3)"
    bars = [patch.get_width() for patch in drawn.ax_.patches]
    top = ONE.ranking[:2]
    np.testing.assert_allclose(bars[:2], ONE.first_order[top])
    np.testing.assert_allclose(bars[2:], (ONE.total_order - ONE.first_order)[top])
    np.testing.assert_allclose(drawn.ax_.lines[0].get_xdata(), ONE.shapley[top])
    assert "1: Sobol indices" in TWO.plot(output="1").ax_.get_title(loc="left")
    _, ax = plt.subplots()
    assert TWO.plot.pairs(ax, output=2).ax_ is ax
    with pytest.raises(ValueError, match="3 outputs; choose one"):
        TWO.plot()
    with pytest.raises(ValueError, match="pass order=2"):
        sensitivity(F, X).plot.pairs()


def test_print_plot_and_report_say_what_the_numerical_error_is_of(tmp_path):
    from dataclasses import replace

    coarse = replace(ONE, error_bound=9e-4)
    note = "Numerical error of an index: up to 0.0009 (of computing it, not of the model)"
    assert coarse.notes == [note]
    assert note in str(coarse)
    assert note in coarse.plot().ax_.get_xlabel().replace("\n", " ")
    _, ax = plt.subplots()  # which may have no room below
    assert "error" not in coarse.plot(ax).ax_.get_xlabel()
    coarse.report(tmp_path / "report.html")
    assert note in Page(tmp_path / "report.html").data["remarks"]
    assert ONE.notes == []


@BOTH
def test_report(found, tmp_path):
    found.report(tmp_path / "report.html", title="Inputs", details={"model": "a machine"})
    data = Page(tmp_path / "report.html").data
    assert data["title"] == "Inputs"
    assert len(data["shapley"]) == (1 if found is ONE else 3)
    np.testing.assert_allclose(data["shapley"][0], found.shapley.reshape(3, -1)[:, 0], rtol=1e-7)
    first, second, part = data["second_order"][0][0]
    pairs = found.second_order.reshape(3, 3, -1)[..., 0]
    assert part == pytest.approx(pairs.max(), rel=1e-6)
    assert pairs[first, second] == pairs.max()
    from pkex.output.report import write

    with pytest.raises(ValueError, match="row_names are for explanations"):
        write(found, tmp_path / "report.html", row_names=["a"])


def test_correlated_features_are_named_in_print_plot_and_file(tmp_path):
    x, y, z = RNG.normal(size=(3, 200))
    rows = np.column_stack([x, -x + 0.5 * y, y + z])
    f = pkex.KernelExpansion(rows[:20], RNG.normal(size=20), RBF(), feature_names=["a", "b", "c"])
    found = sensitivity(f, rows)
    note = "Features are correlated (a, b, c): indices assume independence. Group them"
    assert found.correlated == (("a", "b"), ("b", "c"))
    assert found.notes == [note]
    assert note in str(found)
    assert note in found.plot().ax_.get_xlabel().replace("\n", " ")
    found.save(tmp_path / "s.npz")
    assert Sensitivity.load(tmp_path / "s.npz").notes == [note]
    grouped = sensitivity(f, rows, groups={"ab": ["a", "b"]})
    assert grouped.correlated == (("ab", "c"),)
    assert sensitivity(f, rows, groups=[[0, 1, 2]]).notes == []
    some = np.repeat([1.0, 0.0], 100)  # rows of weight 0 do not count
    apart = np.concatenate([RNG.normal(size=(100, 3)), rows[:100]])
    assert sensitivity(f, apart, sample_weight=some).notes == []


def test_independent_designs_are_not_called_correlated():
    """Whatever the model: it follows its training rows more closely than their marginals."""
    alarms = 0
    for seed in range(20):
        rows = qmc.Sobol(6, seed=seed).random(64)
        y = np.sin(6.0 * rows[:, 0]) * rows[:, 1] + rows[:, 2]
        model = GaussianProcessRegressor(gp.Matern(0.2), alpha=1e-6, optimizer=None).fit(rows, y)
        alarms += "group" in str(sensitivity(model, rows)).lower()
    assert alarms <= 3  # of 20 tables, 1 is expected: P(more than 3) is 2 %, and the seeds are kept


def test_a_file_of_an_earlier_version_is_read(tmp_path):
    arrays = ONE.CODEC.pack(ONE)
    header = json.loads(bytes(arrays["header"]))
    del header["dependence"], header["input_notes"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    unchecked(np.savez)(tmp_path / "old.npz", **arrays, rows_variance=np.array(2.0))
    again = Sensitivity.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(again.shapley, ONE.shapley)
    assert again.correlated == ()


# what an explanation has


def test_a_selection_keeps_the_posterior_that_belongs_to_it():
    some = UNSURE[[2, 0], ["x2", "x0"], "y1"]
    np.testing.assert_array_equal(some.std, UNSURE.std[[2, 0]][:, [2, 0], 1])
    np.testing.assert_array_equal(some.cov, UNSURE.cov[[2, 0]][:, [2, 0]][:, :, [2, 0], 1])
    assert UNSURE[0].cov.shape == (1, 3, 3, 2)


def test_an_explanation_keeps_the_posterior_in_a_file(tmp_path):
    UNSURE.save(tmp_path / "unsure.npz")
    again = Explanation.load(tmp_path / "unsure.npz")
    np.testing.assert_array_equal(again.std, UNSURE.std)
    np.testing.assert_array_equal(again.cov, UNSURE.cov)
    variance = pkex.Explainer(PROCESS).explain_variance(X[:2])
    variance.save(tmp_path / "variance.npz")
    assert Explanation.load(tmp_path / "variance.npz").quantity == "latent variance"
    plain = pkex.Explainer(PROCESS)(X[:2])
    plain.save(tmp_path / "plain.npz")
    assert Explanation.load(tmp_path / "plain.npz").std is None


def test_an_explanation_shows_the_posterior():
    one = UNSURE[0, :, "y0"]
    assert f"± {one.std[0].max():.2g}" in str(one)
    assert "posterior standard deviation" in str(one)
    assert f" ± {one.std[0, 0]:.2g}" in one._repr_html_()
    frame = one.to_frame()
    np.testing.assert_array_equal(frame["x1 std"], one.std[:, 1])
    assert "x1 std" in UNSURE.to_frame()["y1"]
    assert "latent variance" in str(pkex.Explainer(PROCESS).explain_variance(X[:1]))


def test_a_report_shows_the_posterior(tmp_path):
    UNSURE.report(tmp_path / "report.html")
    data = Page(tmp_path / "report.html").data
    assert len(data["stds"]) == 2
    assert any("posterior standard deviation" in entry["note"] for entry in data["facts"])
    for noise, words in (
        (False, "latent variance, without observation noise"),
        (True, "predictive variance, observation noise included"),
    ):
        variance = pkex.Explainer(PROCESS).explain_variance(X[:2], observation_noise=noise)
        variance.report(tmp_path / "report.html")
        data = Page(tmp_path / "report.html").data
        quantity, _, said = words.partition(", ")
        assert data["title"] == f"Which features drive the {quantity}"
        assert any(f"{said}." in entry["note"] for entry in data["facts"])
        assert data["stds"] is None


def test_shapes_of_a_posterior_are_checked():

    with pytest.raises(ValueError, match="std must have shape"):
        changed(UNSURE, std=UNSURE.std[:, :2])
    with pytest.raises(ValueError, match="cov must have shape"):
        changed(UNSURE, cov=UNSURE.std)


def test_of_a_classifier_it_says_what_the_output_is(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = pkex.sensitivity(SVC().fit(X, X[:, 0] > 0.0), X)
    assert found.output_kind == "decision function"
    assert "output: decision function" in repr(found)
    found.save(tmp_path / "s.npz")
    assert pkex.Sensitivity.load(tmp_path / "s.npz").output_kind == found.output_kind
    assert pkex.sensitivity(SVR().fit(X, X[:, 0]), X).output_kind is None
