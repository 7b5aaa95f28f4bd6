"""A `Change` as a result: one verdict in all places, files, frames."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import pkex
from tests._support.written import Page

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
MODEL = SVR(C=10.0).fit(X, X[:, 0] - X[:, 1])
CLASSES = SVC().fit(X, np.arange(60) % 3)


def tables(rng):
    """Return two small tables; in half of the cases one column of them changed."""
    before, after = rng.normal(size=(2, 25, 3))
    after[:, rng.integers(3)] += rng.choice([0.0, 1.0])
    return before, after


@pytest.mark.parametrize("seed", range(6))
def test_all_places_say_the_same(seed, tmp_path):
    rng = np.random.default_rng([5, seed])
    before, after = tables(rng)
    options: dict[str, Any] = (
        {"y_before": before[:, 0], "y_after": after[:, 0]} if seed % 3 == 0 else {}
    )
    model = CLASSES if seed % 3 == 1 else MODEL
    change = pkex.change(
        model, before, after, **options, n_permutations=99, random_state=rng, alpha=0.1, n_jobs=1
    )
    sentences = change.verdict()
    assert sentences.startswith("Change" if change.detected() else "No change")
    assert f"p = {change.p_value:.3g} (alpha = 0.1)" in sentences
    names = re.search(r"Features whose contribution changed: ([^.]+)\.", sentences)
    assert (tuple(names[1].split(", ")) if names else ()) == change.significant()
    # a named feature need not have a column that changed
    named = "Features whose" in sentences
    assert ("does not mean that their columns changed" in sentences) == named
    assert {*change.significant()} == {
        name
        for name, p_values in zip(change.feature_names, change.p_values, strict=True)
        if np.min(p_values) <= 0.1
    }
    if change.significant():
        assert change.detected()
    for line in repr(change).split("\n")[1:3]:
        assert line.strip() in sentences
    change.report(tmp_path / "report.html")
    assert " ".join(Page(tmp_path / "report.html").data["verdict"]) == sentences
    change.save(tmp_path / "change.npz")
    again = pkex.Change.load(tmp_path / "change.npz")
    assert repr(again) == repr(change)
    assert again.verdict(0.01) == change.verdict(0.01)
    assert again.to_frame().equals(change.to_frame())


def test_the_frame_has_the_order_of_the_ranking():
    change = pkex.change(MODEL, X[:20], X[20:] + 0.5, n_permutations=19, random_state=0)
    frame = change.to_frame()
    assert list(frame.index) == [change.feature_names[i] for i in change.ranking]
    np.testing.assert_array_equal(frame["after"] - frame["before"], frame["contribution"])
    smallest = frame[["p_mean", "p_distribution"]].min(axis=1)
    assert (np.diff(smallest) >= 0.0).all()


def test_numbers_that_do_not_add_up_are_not_loaded(tmp_path):
    change = pkex.change(MODEL, X[:20], X[20:], n_permutations=0)
    path = tmp_path / "change.npz"
    replace(change, means_after=change.means_after + 0.1).save(path)
    with pytest.raises(ValueError, match="do not add up"):
        pkex.Change.load(path)


def test_shapes_are_checked():
    change = pkex.change(MODEL, X[:20], X[20:], n_permutations=0)
    with pytest.raises(ValueError, match="distances must have shape"):
        replace(change, distances=np.zeros(2))
    with pytest.raises(ValueError, match="sample_names must have two entries"):
        replace(change, sample_names=("one",))


def test_the_plot_marks_what_is_significant_and_asks_for_an_output():
    change = pkex.change(MODEL, X[:30], X[30:] + np.eye(3)[0], random_state=0)
    texts = [text.get_text() for text in change.plot(max_display=2).ax_.texts]
    stars = [text.endswith("*") for text in texts]
    names = [change.feature_names[i] for i in change.ranking[:2]]
    assert stars == [name in change.significant() for name in names]
    classes = pkex.change(CLASSES, X[:30], X[30:], n_permutations=0)
    with pytest.raises(ValueError, match="3 outputs; choose one"):
        classes.plot()
    assert "Mean prediction of 1" in classes.plot(output="1").ax_.get_title(loc="left")


def test_the_losses_can_be_selected_alone(tmp_path):
    before, after = np.random.default_rng(7).normal(size=(2, 40, 3))
    targets: dict[str, Any] = {
        "y_before": before[:, 0] - before[:, 1],
        "y_after": after[:, 0] + 2.0 * after[:, 1],
    }
    change = pkex.change(MODEL, before, after, **targets, random_state=0, n_jobs=1)
    losses = change.select_output("squared error", "select_output")
    frame = change.to_frame(output="squared error")
    assert change.loss_contributions is not None
    np.testing.assert_array_equal(
        frame["contribution"][["x0", "x1", "x2"]], change.loss_contributions
    )
    for contributions in (losses.contributions, losses.loss_contributions):
        np.testing.assert_array_equal(contributions, change.loss_contributions)
    assert (losses.prediction, losses.loss, losses.base_loss) == (
        None,
        change.loss,
        change.base_loss,
    )
    assert losses.significant() == change.significant(output="squared error") != ()
    assert "Mean prediction" not in losses.verdict()
    assert "to the error changed" in losses.verdict()
    losses.save(tmp_path / "losses.npz")
    assert repr(pkex.Change.load(tmp_path / "losses.npz")) == repr(losses)
    losses.report(tmp_path / "losses.html")
    assert "Mean squared error" in losses.plot().ax_.get_title(loc="left")
