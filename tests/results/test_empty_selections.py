"""Results from which no row was selected: they print, save and have frames, but no plots."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

import pkex

RNG = np.random.default_rng(8)
X = RNG.normal(size=(12, 3))
ONE, TWO = (KernelRidge(kernel="rbf", alpha=0.1).fit(X, X[:, :k]) for k in (1, 2))
ASKED = {
    "explanation": lambda explainer: explainer(X[:2]),
    "gradients": lambda explainer: explainer.gradients(X[:2]),
    "influence": lambda explainer: explainer.influence(X[:2], top=2),
    "leave-one-out": lambda explainer: explainer.leave_one_out(),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [ONE, TWO], ids=["one output", "two outputs"])
@pytest.mark.parametrize("name", ASKED)
def test_no_rows(name, model, tmp_path):
    full = ASKED[name](pkex.Explainer(model))
    none = full[:0]
    assert len(none) == 0
    assert "(0 " in repr(none)
    assert "(0 " in none._repr_html_()
    frame = none.to_frame()
    assert len(frame) == 0
    assert list(frame.columns) == list(full.to_frame().columns)
    none.save(tmp_path / "none.npz")
    assert repr(type(none).load(tmp_path / "none.npz")) == repr(none)
    with pytest.raises(ValueError, match="no rows, so there is nothing to draw"):
        none.plot(output=0)


def test_a_report_needs_rows(tmp_path):
    with pytest.raises(ValueError, match="the influence has no rows"):
        ASKED["influence"](pkex.Explainer(ONE))[:0].report(tmp_path / "report.html")


def test_an_effect_must_be_selected():
    effects = pkex.Explainer(SVR().fit(X, X[:, 0]), X).effects(grid_resolution=3)
    with pytest.raises(IndexError, match="holds no effect"):
        effects[[]]
