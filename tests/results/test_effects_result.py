"""`Effects` as a result: selection, files, frames, plots, scikit-learn's display, the report."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR

import pkex
from pkex.output.report import _effects as _effects_report

_X, _Y = load_diabetes(return_X_y=True, as_frame=True)


@cache
def _effects(**options):
    model = GaussianProcessRegressor(RBF(0.2), alpha=0.5, optimizer=None).fit(_X[:40], _Y[:40])
    features = ["bmi", "sex", ("bmi", "s5")]
    given: dict[str, Any] = {"kind": "both", "return_std": True, "grid_resolution": 6} | options
    return pkex.Explainer(model, _X[:25]).effects(features, **given)


def test_effects_are_selected_by_name_and_number():
    effects = _effects()
    for key in ("bmi & s5", 2, -1, slice(2, 3)):
        one = effects[key]
        assert one.features == (("bmi", "s5"),)
        np.testing.assert_array_equal(one.average[0], effects.average[2])
        np.testing.assert_array_equal(one.h_statistic(), effects.h_statistic()[2:])
    with pytest.raises(KeyError, match="age"):
        effects["age"]


def test_selected_and_centred_curves_can_be_sent_to_other_processes():
    for effects in (_effects(), _effects()["bmi"], _effects()["sex"].centered()):
        again = pickle.loads(pickle.dumps(effects))
        np.testing.assert_array_equal(again.h_statistic(), effects.h_statistic())


def test_background_rows_are_not_joined():
    with pytest.raises(TypeError, match="effects have no rows to join"):
        pkex.Effects.concat([_effects(), _effects()])


def test_a_file_has_all_arrays(tmp_path):
    effects = _effects()
    effects.save(tmp_path / "effects.npz")
    loaded = pkex.Effects.load(tmp_path / "effects.npz")
    assert repr(loaded) == repr(effects)
    for name in ("average", "individual", "std", "data"):
        for a, b in zip(getattr(effects, name), getattr(loaded, name), strict=True):
            np.testing.assert_array_equal(a, b)
    assert loaded.cov[2] is None
    np.testing.assert_array_equal(loaded.h_statistic(), effects.h_statistic())


def test_a_frame_has_a_line_for_each_place():
    effects = _effects()
    frame = effects.to_frame()
    assert len(frame) == 6 + 2 + 36
    assert list(frame.columns) == ["feature", "with", "value", "with_value", "average", "std"]
    np.testing.assert_array_equal(frame["average"][8:], effects.average[2].ravel())
    with pytest.raises(ValueError, match="kind='both'"):
        _effects(kind="individual", return_std=False).to_frame()


def test_wrong_shapes_are_refused():
    effects = _effects()
    with pytest.raises(ValueError, match=r"average\[0\] must have shape"):
        replace(effects, average=(np.zeros(3), *effects.average[1:]))
    with pytest.raises(ValueError, match="one entry for each"):
        replace(effects, std=())


def test_the_plot_has_a_panel_for_each_effect():
    effects = _effects()
    display = effects.plot(n_lines=10)
    assert [ax.get_xlabel() for ax in display.axes_] == ["bmi", "sex", "bmi"]
    assert display.axes_[0].get_ylim() == display.axes_[1].get_ylim()
    assert len(display.axes_[0].lines) == 11
    np.testing.assert_array_equal(display.axes_[0].lines[-1].get_ydata(), effects.average[0])
    with pytest.raises(ValueError, match="one ax has room"):
        effects.plot(plt.gca())
    assert effects["bmi"].plot(plt.gca()).ax_ is plt.gca()


def test_a_single_place_is_drawn():
    f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, 2.0], pkex.kernels.RBF())
    rows = [[0.0, 3.0], [1.0, 3.0]]
    curve, surface = pkex.Explainer(f, rows).effects([1, (0, 1)]).plot().axes_[:2]
    assert curve.lines[-1].get_marker() == "o"
    low, high = surface.get_ylim()
    np.testing.assert_allclose([low, high], [2.5, 3.5])


def test_several_outputs_are_chosen():
    X, y = load_iris(return_X_y=True, as_frame=True)
    effects = pkex.Explainer(SVC().fit(X, y), X[::5]).effects(kind="ale", grid_resolution=4)
    with pytest.raises(ValueError, match="3 outputs; choose one"):
        effects.plot()
    assert effects.plot(output=1).ax_.get_ylabel() == "accumulated local effect"
    assert "output" in effects.to_frame()


def test_scikit_learn_draws_them():
    display = _effects().to_sklearn().plot()
    assert len(display.axes_.ravel()) >= 3
    f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
    ale = pkex.Explainer(f).effects(kind="ale")
    with pytest.raises(ValueError, match="no display"):
        ale.to_sklearn()


def _categories(**options):
    X = _X[["bmi", "bp"]].assign(kind=["x", "y"] * 221)
    steps = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    explainer = pkex.Explainer(make_pipeline(steps, SVR()).fit(X[:40], _Y[:40]), X[:12])
    given: dict[str, Any] = {"kind": "both", "grid_resolution": 4} | options
    return explainer.effects(**given)


def test_scikit_learn_draws_averages_of_categories_and_no_mixed_pairs():
    _categories(features=["bmi", "kind"]).to_sklearn().plot()
    with pytest.raises(ValueError, match="numbers and categories"):
        _categories(features=[("bmi", "kind")]).to_sklearn()
    with pytest.raises(ValueError, match="individual curves of numbers only"):
        _categories(features=["kind"], kind="individual").to_sklearn()


def test_a_pair_of_a_group_is_drawn_and_shown():
    X = _X[["bmi", "bp"]].assign(kind=["x", "y"] * 221)
    steps = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(steps, SVR()).fit(X[:40], _Y[:40])
    explainer = pkex.Explainer(model, X[:12], groups={"both": ["kind", "bp"]})
    effects = explainer.effects([("both", "bmi")], grid_resolution=4)
    assert "1 pair" in repr(effects)
    assert len(effects.plot().ax_.get_xticks()) == 0  # joint values have no order


def test_the_report_has_the_curves(tmp_path):
    effects = _effects()
    effects.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(
        page.split('type="application/json"')[1].split(">", 1)[1].split("</script>")[0]
    )
    assert data["effects"] == ["bmi", "sex", "bmi & s5"]
    np.testing.assert_allclose(data["panels"][0][0]["average"], effects.average[0], rtol=1e-7)
    assert data["panels"][0][2]["pair"]
    assert data["effects_are"] == "2 features and 1 pair"
    assert all(word in data["lines"] for word in ("average", "band", "thin lines"))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("average", "Line: average over the background."),
        ("individual", "Thin lines: individual background rows."),
        ("ale", "Line: mean differences between neighbouring places, accumulated; its mean is 0."),
    ],
)
def test_the_report_says_what_its_lines_are(kind, words):
    f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
    data = _effects_report.payload(pkex.Explainer(f).effects(kind=kind))
    assert data["lines"] == f"{words} All curves have the same vertical axis."
