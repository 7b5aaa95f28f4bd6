"""What columns contribute to effects, in compiled code beside the kernels in Python."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.explain import effect_sums
from pkex.explain.effect_sums import PartOfModel
from pkex.games.backend import native
from pkex.kernels import RBF, Constant, Laplacian, Matern, Polynomial
from pkex.kernels.splitting import split_kernel
from tests._support.cases import COLUMN_KERNELS

RANDOM = np.random.default_rng(0)
X, Z = (np.abs(RANDOM.normal(size=(n, 5))) for n in (7, 11))
COLUMNS = {-1: (0, 3), 2: (1, 2), 4: (4,)}


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if native() is None:
        pytest.skip("pkex was installed without the native kernel")


def both(piece, columns, x, z, monkeypatch):
    """Return contributions with and without compiled code."""
    first = effect_sums._contribute(piece, columns, x, z)
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    second = effect_sums._contribute(piece, columns, x, z)
    assert list(first) == list(second) == list(columns)
    return first, second


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("case", COLUMN_KERNELS, ids=str)
def test_contributions_are_those_of_the_kernels(case, monkeypatch):
    for piece in split_kernel(case.build(np.full(5, 1.3)), 5):
        first, second = both(piece, COLUMNS, X, Z, monkeypatch)
        for name in COLUMNS:
            for one, other in zip(first[name], second[name], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-300)


@pytest.mark.usefixtures("compiled")
def test_no_columns_contribute_one(monkeypatch):
    (piece,) = split_kernel(RBF(columns=(1, 2)), 3)
    columns = {-1: (), 0: (0,), 1: (1, 2)}
    first, second = both(piece, columns, X[:, :3], Z[:, :3], monkeypatch)
    for name in (-1, 0):
        np.testing.assert_array_equal(first[name][0], np.ones((7, 11)))
    np.testing.assert_allclose(first[1][0], second[1][0], rtol=1e-14)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize(
    "kernel",
    [
        0.5 * RBF(1.5) + Laplacian(2.0) * RBF(),
        Constant(2.0) + Polynomial(2),
        Matern(2.0) * RBF(columns=(0, 1)),
    ],
    ids=["products", "sums", "both"],
)
def test_predictions_are_those_of_the_kernel(monkeypatch, backend, kernel):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    alpha = RANDOM.normal(size=(11, 2))
    part = PartOfModel(split_kernel(kernel, 5), Z, X, alpha, [])
    wanted = kernel(X, Z) @ alpha
    np.testing.assert_allclose(part.predict(slice(2, 6)), wanted[2:6], rtol=1e-12, atol=1e-12)
