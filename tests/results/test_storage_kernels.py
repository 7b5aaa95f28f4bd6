"""Kernels in files: they come back, or as their description."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVR

import pkex
from pkex.kernels import (
    RBF,
    Categorical,
    Constant,
    Custom,
    Linear,
    Matern,
    Periodic,
    ProductMatern,
    RationalQuadratic,
)
from pkex.kernels.data import Described, from_data, to_data
from pkex.results.explanation import Explanation
from tests._support.stored import content, cosine, written
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.frontend

TREES = [
    RBF([1.0, 1 / 3]),
    2.5 * RBF(0.5).on(0, 3) * Categorical([0.1, 0.2]).on(1, 2),
    ProductMatern(1.5, nu=2.5) + Constant(0.1) * Linear(),
    Periodic(0.7, 24.0, columns=(4,)) * (RBF(1e-300) + Constant(3.0)),
    Matern([1.0, 2.0], nu=0.8) + RationalQuadratic(0.5, alpha=2.0).on(1),
]


@pytest.mark.parametrize("kernel", TREES, ids=str)
def test_kernels_come_back(kernel):
    again = from_data(json.loads(json.dumps(to_data(kernel))))
    assert again == kernel
    assert repr(again) == repr(kernel)


def test_a_file_that_says_matern_means_the_product_over_columns():
    """As it did when the name had that meaning."""
    old = {"kind": "Matern", "columns": None, "length_scale": 1.5, "nu": 2.5}
    assert from_data(old) == ProductMatern(1.5, nu=2.5)
    assert to_data(Matern(1.5, nu=2.5))["kind"] == "EuclideanMatern"


def test_a_kernel_of_ones_own_comes_back_as_its_description(tmp_path):
    points = np.random.default_rng(0).normal(size=(5, 2))
    kernel = RBF(2.0) * Custom(cosine)
    explanation = pkex.Explainer(pkex.KernelExpansion(points, np.ones(5), kernel))(points)
    assert explanation.kernel is kernel
    explanation.save(tmp_path / "a.npz")
    found = unchecked(Explanation.load(tmp_path / "a.npz").kernel)
    assert repr(found) == repr(kernel) == "RBF(length_scale=2.0) * Custom(function=cosine)"
    assert found.kernels[0] == RBF(2.0)
    with pytest.raises(ValueError, match="kept its description only and cannot be evaluated"):
        found(points)


@dataclass(frozen=True, repr=False)
class Wide(RBF):
    """A kernel with the fields of one of pkex's, but not one of them."""


def test_a_kernel_derived_from_one_of_pkex_is_not_taken_for_it():
    found = from_data(to_data(Wide(2.0)))
    assert isinstance(found, Described)
    assert repr(found) == "Wide(length_scale=2.0)"


def test_several_kernels_are_all_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    models = [SVR(gamma=gamma) for gamma in (0.5, 2.0)]
    chain = MultiOutputRegressor(SVR()).fit(X, y)
    chain.estimators_ = [model.fit(X, t) for model, t in zip(models, y.T, strict=True)]
    explanation = pkex.Explainer(chain)(X[:3])
    assert explanation.kernels == (RBF.from_gamma(0.5), RBF.from_gamma(2.0))
    assert explanation.kernel is None
    explanation.save(tmp_path / "a.npz")
    assert Explanation.load(tmp_path / "a.npz").kernels == explanation.kernels
    assert content(explanation)[0]["kernel"] == "; ".join(map(repr, explanation.kernels))


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "Custom", "function": "print"},
        {"kind": "Kernel"},
        {"kind": ["RBF"]},
        {"kind": "described", "text": 1},
        {"kind": "RBF", "length_scale": -1.0},
        {"kind": "RBF", "length_scale": "1"},
        {"kind": "RBF", "length": 1.0},
        {"kind": "Sum", "kernels": [1.0]},
        {"kind": "Scale", "factor": 2.0, "kernel": None},
    ],
    ids=str,
)
def test_what_is_no_kernel(data, tmp_path):
    header, arrays = content()
    header["kernels"] = [data]
    with pytest.raises(ValueError, match=r"a\.npz is damaged: its parts do not fit together"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


def test_kernels_inside_kernels_without_end(tmp_path):
    header, arrays = content()
    nested = to_data(RBF(1.0))
    for _ in range(200):
        nested = {"kind": "Product", "kernels": [{"kind": "Sum", "kernels": [nested]}]}
    header["kernels"] = [nested]
    with pytest.raises(ValueError, match="instead of a kernel"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))
