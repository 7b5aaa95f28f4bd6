"""Triangular systems, beside SciPy's, which calls the same routine."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from pkex.models.triangular import _integers_of, solve_lower

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 129)], ids=str)
def test_solutions_are_those_of_scipy(shape, order, transposed):
    factor = RANDOM.normal(size=(shape[0], shape[0])) + 3.0 * np.eye(shape[0])  # and a rest above
    factor = np.array(factor, order=order)
    for values in (RANDOM.normal(size=shape), RANDOM.normal(size=shape[::-1]).T):
        before = values.copy()
        found = solve_lower(factor, values, transposed=transposed)
        expected = solve_triangular(factor, values, lower=True, trans="T" if transposed else "N")
        np.testing.assert_array_equal(found, expected)
        lower = np.tril(factor).T if transposed else np.tril(factor)
        size = np.abs(lower) @ np.abs(found) * shape[0]
        assert (np.abs(lower @ found - values) <= 2.0**-52 * size).all()
        np.testing.assert_array_equal(values, before)


def test_some_of_a_table():
    table = RANDOM.normal(size=(12, 12)) + 4.0 * np.eye(12)
    part, values = table[::2, ::2], RANDOM.normal(size=(12, 8))[::2, ::2]
    expected = solve_triangular(part, values, lower=True)
    np.testing.assert_allclose(solve_lower(part, values), expected, rtol=1e-13)


def test_nothing_to_solve():
    assert solve_lower(np.eye(3), np.zeros((3, 0))).shape == (3, 0)
    assert solve_lower(np.eye(0), np.zeros((0, 2))).shape == (0, 2)


def test_what_cannot_be_solved():
    with pytest.raises(np.linalg.LinAlgError, match="diagonal is 0 at 1"):
        solve_lower(np.diag([1.0, 0.0]), np.ones((2, 1)))
    with pytest.raises(ValueError, match="need a factor of as many"):
        solve_lower(np.eye(2), np.ones((3, 1)))


def test_integers_are_those_of_the_signature():
    """SciPy writes int64_t where it was built for them."""
    assert _integers_of("void (char *, int *, __pyx_t_d *, int *)") is ctypes.c_int
    assert _integers_of("void (char *, int64_t *, __pyx_t_d *, int64_t *)") is ctypes.c_int64
