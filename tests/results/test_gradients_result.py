"""`Gradients` as a result: selection, frames, files, text and plots."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

import pkex

RNG = np.random.default_rng(4)
X = pd.DataFrame(
    RNG.normal(size=(20, 3)), columns=["a", "b", "c"], index=list("abcdefghijklmnopqrst")
)


def process():
    model = GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None).fit(X, X["a"] * X["b"])
    return pkex.Explainer(model).gradients(X[:5], return_std=True)


def classes():
    model = SVC().fit(X, np.array(["no", "maybe", "yes"])[np.arange(20) % 3])
    return pkex.Explainer(model).gradients(X[:5])


def test_selection_by_name_and_number():
    gradients = process()
    one = gradients[1, ["c", "a"]]
    assert one.feature_names == ("c", "a")
    assert np.array_equal(one.values, gradients.values[1:2][:, [2, 0]])
    assert np.array_equal(one.std, gradients.std[1:2][:, [2, 0]])
    assert list(one.row_index) == ["b"]
    several = classes()
    output = several[..., several.output_names[1]]
    assert np.array_equal(output.values, several.values[..., 1])


def test_frames():
    frame = process().to_frame()
    assert list(frame.columns) == ["a", "b", "c", "a std", "b std", "c std"]
    assert list(frame.index) == list("abcde")
    several = classes()
    frame = several.to_frame()
    assert frame.columns.names == ["output", "feature"]
    name = several.output_names[2]
    assert np.array_equal(frame[name].to_numpy(), several.values[..., 2])
    assert several.to_frame(output=name).shape == (5, 3)


@pytest.mark.parametrize("make", [process, classes])
def test_a_file_holds_everything(make, tmp_path):
    gradients = make()
    gradients.save(tmp_path / "g.npz")
    loaded = pkex.Gradients.load(tmp_path / "g.npz")
    assert np.array_equal(loaded.values, gradients.values)
    assert (loaded.std is None) == (gradients.std is None)
    assert repr(loaded) == repr(gradients)
    assert loaded._repr_html_() == gradients._repr_html_()
    joined = pkex.Gradients.concat([loaded, gradients[:2]])
    assert len(joined) == 7


def test_text_says_what_is_known():
    gradients = process()
    assert "posterior standard deviation" in repr(gradients[0])
    assert "±" in repr(gradients[0])
    assert all(word in repr(gradients) for word in ("mean", "lowest", "highest"))
    assert "decision function" in repr(classes())
    assert gradients.ranking.tolist() == np.argsort(-np.abs(gradients.values).mean(axis=0)).tolist()


def test_plots_have_a_lane_for_each_column():
    gradients = process()
    one = gradients[0].plot()
    assert [t.get_text() for t in one.ax_.get_yticklabels()] == [
        gradients.feature_names[i] for i in gradients[0].ranking
    ]
    assert "± 2 posterior" in one.ax_.get_xlabel()
    many = gradients.plot(max_display=2)
    assert len(many.ax_.get_yticklabels()) == 2
    assert "mean of 5 rows" in many.ax_.get_xlabel()
    several = classes()
    drawn = several.plot(output=1)
    assert drawn.ax_.get_title(loc="left") == several.output_names[1]
    with pytest.raises(ValueError, match="output"):
        several.plot()


def test_a_feature_named_like_a_standard_deviation():
    rows = X.set_axis(["a", "a std", "c"], axis=1)
    model = GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None).fit(rows, X["a"])
    gradients = pkex.Explainer(model).gradients(rows[:2], return_std=True)
    with pytest.raises(ValueError, match=r"named 'a std'.*rename it with with_names"):
        gradients.to_frame()
    names = ["a", "b", "c"]
    assert "a std" in gradients.with_names(names, names).to_frame()
