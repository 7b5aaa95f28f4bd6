"""Kernels of codes with a matrix, and the factors of fidelities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pkex
from pkex.kernels import RBF, Tabulated
from pkex.kernels.data import from_data, to_data
from pkex.kernels.fidelity import Downsampling, ExponentialDecay, TruncatedBias
from tests._support.naive import shapley_by_enumeration

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(3, 2))
MATRIX: Any = ROOT @ ROOT.T + 0.1 * np.eye(3)
CODES = (1.0, 4.0, 2.0)
KERNEL = RBF(0.8, columns=(0, 2)) * Tabulated(MATRIX, CODES, columns=(1,))
POINTS = np.column_stack([RNG.normal(size=9), np.tile(CODES, 3), RNG.normal(size=9)])
ALPHA = RNG.normal(size=9)


def plain(x, z):
    """Return the kernel of two rows, as the formula reads."""
    place = {code: number for number, code in enumerate(CODES)}
    distance = (x[0] - z[0]) ** 2 + (x[2] - z[2]) ** 2
    return math.exp(-0.5 * distance / 0.8**2) * MATRIX[place[x[1]], place[z[1]]]


def predict(rows):
    return np.array(
        [sum(a * plain(x, z) for a, z in zip(ALPHA, POINTS, strict=True)) for x in rows]
    )


def test_the_matrix_is_one_factor():
    expected = [[plain(x, z) for z in POINTS] for x in POINTS]
    np.testing.assert_allclose(KERNEL(POINTS, POINTS), expected, rtol=0.0, atol=1e-14)


def test_values_are_those_of_enumeration():
    row, background = POINTS[0], POINTS[3:7]
    f = pkex.KernelExpansion(POINTS, ALPHA, KERNEL)
    values = pkex.Explainer(f, background)(row[None]).values[0]

    def value(present):
        hybrids = background.copy()
        hybrids[:, sorted(present)] = row[sorted(present)]
        return predict(hybrids).mean()

    expected = np.array(shapley_by_enumeration(value, 3), dtype=float)
    np.testing.assert_allclose(values, expected, rtol=0.0, atol=1e-13)
    assert abs(expected[1]) > 0.01


def test_a_matrix_of_several_columns_is_one_for_each():
    both = Tabulated(MATRIX, CODES, columns=(1, 2))
    [term] = (RBF(columns=(0,)) * both).terms(3)
    rows = POINTS[:, [0, 1, 1]]
    for column in (1, 2):
        rows[:, column] = np.roll(rows[:, column], column)
        alone = Tabulated(MATRIX, CODES, columns=(column,))
        worth = term.restrict((column,)).worth(rows, rows)
        np.testing.assert_array_equal(worth, alone(rows, rows))


def test_p_values_with_a_matrix_of_several_columns_are_those_of_a_product():
    rng = np.random.default_rng(0)
    tables = [
        np.column_stack([rng.normal(size=40), *rng.choice(CODES, (2, 40), p=p)])
        for p in ([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])
    ]
    alone = [Tabulated(0.3 * MATRIX, CODES, columns=(column,)) for column in (1, 2)]
    both = Tabulated(0.3 * MATRIX, CODES, columns=(1, 2))
    one, two = (
        pkex.mmd(*tables, kernel=kernel, n_permutations=99, random_state=0)
        for kernel in (RBF(columns=(0,)) * both, RBF(columns=(0,)) * alone[0] * alone[1])
    )
    np.testing.assert_allclose(one.values, two.values, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(one.p_values, two.p_values)


def test_it_is_data_for_files():
    assert from_data(to_data(KERNEL)) == KERNEL


@pytest.mark.parametrize(
    ("matrix", "codes", "words"),
    [
        ([[1.0, 2.0]], None, "must be symmetric"),
        ([[1.0, 0.5], [0.4, 1.0]], None, "must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], None, r"positive semi-definite, .* eigenvalue -1"),
        ([[1.0]], (1.0, 2.0), "must be 1 different finite numbers"),
        ([[1.0, 0.0], [0.0, 1.0]], (1.0, 1.0), "must be 2 different"),
        ([[1.0, 0.0], [0.0, 1.0]], (1.0, math.nan), "must be 2 different"),
    ],
)
def test_what_is_no_covariance_of_codes_is_refused(matrix, codes, words):
    with pytest.raises(ValueError, match=words):
        Tabulated(matrix, codes)


def test_unknown_codes_are_refused():
    f = pkex.KernelExpansion(POINTS, ALPHA, KERNEL)
    with pytest.raises(ValueError, match=r"holds the code 3, .* the codes are 1, 4, 2"):
        f.predict([[0.0, 3.0, 0.0]])
    with pytest.raises(ValueError, match="limited to column 7"):
        Tabulated(MATRIX).on(7)(POINTS)


def test_codes_have_no_derivative_and_no_ranges():
    f = pkex.KernelExpansion(POINTS, ALPHA, KERNEL)
    with pytest.raises(pkex.UnsupportedModelError, match="no values between them"):
        pkex.Explainer(f).gradients(POINTS[:1])
    with pytest.raises(ValueError, match="'x1' holds categories"):
        pkex.sensitivity(f, dict.fromkeys(range(3), (-1.0, 1.0)))


FIDELITIES = [
    (Downsampling(0.7, 0.2), lambda x, z: 0.2 + (1.0 - x) ** 1.7 * (1.0 - z) ** 1.7),
    (ExponentialDecay(0.6, 1.3, 0.1), lambda x, z: 0.1 + (1.0 + (x + z) / 0.6) ** -1.3),
    (TruncatedBias(1.4), lambda x, z: (1.0 - x) * (1.0 - z) * (1.0 + x * z) ** 1.4),
]


@pytest.mark.parametrize(("kernel", "formula"), FIDELITIES, ids=lambda part: type(part).__name__)
def test_factors_of_fidelities_and_their_derivatives(kernel, formula):
    x, z = np.meshgrid(np.linspace(0.05, 0.95, 7), np.linspace(0.02, 0.9, 5))
    np.testing.assert_allclose(kernel.factors(x, z), formula(x, z), rtol=1e-14)
    step = 1e-5
    slopes = (formula(x + step, z) - formula(x - step, z)) / (2.0 * step)
    np.testing.assert_allclose(kernel.slopes(x, z), slopes, rtol=1e-7, atol=1e-8)
    if isinstance(kernel, TruncatedBias):
        assert np.isnan(kernel.slopes(np.array([0.0, 1.0]), np.array([0.5, 0.5]))).all()
        outside = kernel.slopes(np.array([-0.5, 1.5]), np.array([0.5, 0.5]))
        np.testing.assert_array_equal(outside, 0.0)
        return
    row = x[0]
    mixed = (kernel.slopes(row, row + step) - kernel.slopes(row, row - step)) / (2.0 * step)
    np.testing.assert_allclose(kernel.curvatures(row), mixed, rtol=1e-6)


def test_a_fidelity_beyond_its_target_is_refused():
    with pytest.raises(ValueError, match=r"goes up to 1\.5"):
        Downsampling().check_values(np.array([[0.2], [1.5]]), "X")
