"""Distances of the family of kernels, by the compiled loop and by SciPy, beside plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.games.backend import native
from pkex.games.distances import measure_distances

pytestmark = pytest.mark.native

RANDOM = np.random.default_rng(0)


def plain(x, z, scales):
    d = np.abs(x[:, None] - z)
    return ((d / scales[0]) ** 2).sum(2), (d / scales[1]).sum(2), ((d / scales[2]) ** 2).sum(2)


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_distances_are_plain_sums(monkeypatch, backend, order):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if backend == "native" and native() is None:
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    for rows, points, columns in ((1, 1, 1), (3, 8, 2), (5, 77, 50), (2, 200, 7), (4, 0, 3)):
        table = np.array(RANDOM.normal(size=(rows + points + 2, columns)), order=order)
        x, z = table[:rows], table[rows : rows + points]
        scales = RANDOM.uniform(0.5, 2.0, size=(3, columns))
        found = measure_distances(x, z, scales)
        np.testing.assert_allclose(found, plain(x, z, scales), rtol=1e-14)
    same = measure_distances(x, x, scales)
    assert (np.diagonal(same, axis1=1, axis2=2) == 0.0).all()
    np.testing.assert_array_equal(same, same.transpose(0, 2, 1))


def test_scales_without_a_reciprocal():
    x, scales = np.array([[0.0], [3e-310]]), np.full((3, 1), 3e-310)
    np.testing.assert_allclose(measure_distances(x, x, scales)[:, 0, 1], 1.0, rtol=1e-12)


def test_every_instruction_set_measures():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    x, z = RANDOM.normal(size=(4, 9)), np.asfortranarray(RANDOM.normal(size=(83, 9)))
    scales = RANDOM.uniform(0.5, 2.0, size=(3, 9))
    for isa in kernel.config()["isas"]:
        distances = np.empty((3, 4, 83))
        kernel.measure_distances(x, z, scales, distances, isa)
        np.testing.assert_allclose(distances, plain(x, z, 1.0 / scales), rtol=1e-14)


def test_tables_are_checked():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    x, scales, to = np.zeros((4, 3)), np.ones((3, 3)), np.empty((3, 4, 4))
    for wrong, words in (
        ((x, x, scales, to), "columns of z must be contiguous"),
        ((x, x[:, :2], scales, to), "z must have the shape"),
        ((x, x.copy("F"), scales[:, :2].copy(), to), "scales must have the shape"),
        ((x, x.copy("F"), scales, to[:, :2].copy()), "to must have the shape"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.measure_distances(*wrong)
