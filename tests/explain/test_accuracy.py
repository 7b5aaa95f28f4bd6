"""The error of every value, measured in 40-digit arithmetic.

The bound is 1e-13 times the sum of the absolute coefficients: the size of what is summed.
"""

from __future__ import annotations

import numpy as np
import pytest

import pkex
from pkex.kernels import RBF
from tests._support import naive
from tests._support.cases import COLUMN_KERNELS, sample
from tests._support.pairwise import pairwise

pytestmark = pytest.mark.digits

BANDWIDTHS = {
    "narrow": lambda d: np.full(d, 1e-3),  # factors all near or exactly 0
    "default": lambda d: np.full(d, np.sqrt(d)),
    "wide": lambda d: np.full(d, 1e5),  # factors all near 1
    "mixed": lambda d: np.geomspace(1e-4, 1e4, d),
}


def error(case, scale, points, rows, alpha):
    """Return the largest error of any value, relative to the sum of absolute coefficients."""
    expansion = pkex.KernelExpansion(points, alpha, case.build(scale))
    explanation = pkex.Explainer(expansion, removal="neutral")(rows)
    assert np.isfinite(explanation.values).all()
    worst = 0.0
    for row, values in zip(rows, explanation.values, strict=True):
        deficits = [
            [
                naive.kernel_deficit(case.oracle(s)[0], float(x), float(z), **case.oracle(s)[1])
                for s, x, z in zip(scale.tolist(), row, point, strict=True)
            ]
            for point in points
        ]
        exact = naive.shapley(deficits, alpha.tolist(), digits=40)
        worst = max(worst, *(abs(float(a - v)) for a, v in zip(exact, values, strict=True)))
    return worst / np.abs(alpha).sum()


@pytest.mark.filterwarnings("ignore::pkex.PrecisionWarning")  # of predictions that hardly vary
@pairwise(case=COLUMN_KERNELS, d=[1, 2, 3, 10, 50, 200, 1000], bandwidth=list(BANDWIDTHS))
def test_no_value_is_off_by_more_than_1e_13(case, d, bandwidth):
    rng = np.random.default_rng([d, len(bandwidth)])
    n, n_rows = (4, 2) if d <= 50 else (2, 1) if d <= 200 else (1, 1)
    points, rows = sample(rng, n, d), sample(rng, n_rows, d)  # with ties: factors exactly 1
    alpha = rng.normal(size=n)
    assert error(case, BANDWIDTHS[bandwidth](d), points, rows, alpha) < 1e-13


@pytest.mark.parametrize("d", [1, 2, 3, 10, 50, 200, 1000])
@pytest.mark.parametrize("kind", ["zero", "one", "binary"])
def test_factors_exactly_0_and_1(kind, d):
    """With k factors 0 and the rest 1 the k share the drop from 1 to 0 equally."""
    rng = np.random.default_rng(d)
    zero = {"zero": np.ones(d), "one": np.zeros(d), "binary": rng.integers(0, 2, size=d)}[kind]
    expansion = pkex.KernelExpansion(1e3 * zero[None, :], [1.0], RBF())
    values = pkex.Explainer(expansion, removal="neutral")(np.zeros((1, d))).values[0]
    assert np.abs(values + zero / max(1, zero.sum())).max() < 1e-15


@pytest.mark.parametrize("width", [1e-3, 1.0, 100.0, 1e5])
def test_ten_thousand_columns_are_finite_and_additive(width):
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(8, 10_000)), rng.normal(size=8)
    expansion = pkex.KernelExpansion(points, alpha, RBF(width), 0.5)
    rows = rng.normal(size=(2, 10_000))
    explanation = pkex.Explainer(expansion, removal="neutral")(rows)
    assert np.isfinite(explanation.values).all()
    scale = np.abs(alpha).sum()
    assert np.abs(explanation.predictions - expansion.predict(rows)).max() < 1e-12 * scale


def test_wide_kernels_keep_relative_accuracy():
    """Factors that all round to 1 still give values with all their digits."""
    points, row = np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 0.0, 0.0]])
    values = pkex.Explainer(pkex.KernelExpansion(points, [1.0], RBF(1e9)), removal="neutral")(
        row
    ).values[0]
    exact = -0.5 * (points[0] / 1e9) ** 2
    assert np.abs(values / exact - 1.0).max() < 1e-15
