"""Quadratic forms in single precision: what tests of single columns permute."""

import numpy as np
import pytest

from pkex.games import forms
from pkex.games.backend import native

pytestmark = pytest.mark.native

RANDOM = np.random.default_rng(8)
SIZES = ((1, 1, 1), (3, 40, 7), (8, 129, 48), (13, 300, 97), (128, 700, 64), (5, 5, 0), (0, 9, 2))


def arrays_of(rows, points, columns):
    """Return a strip, columns, and the sums that they add to."""
    strip, moved = (RANDOM.normal(size=s).astype(np.float32) for s in ((rows, points), (points, 1)))
    moved = moved + RANDOM.normal(size=(points, columns)).astype(np.float32)
    return strip, moved, RANDOM.normal(size=columns)


def expected_of(strip, moved, sums):
    """Return the sums in double precision, and how far those of single precision may be off."""
    strip, moved = (part.astype(np.float64) for part in (strip, moved))
    terms = np.einsum("ip,ic,pc->cip", strip, moved[: len(strip)], moved)
    bounds = (forms.DEPTH + 16) * 2.0**-24 * np.abs(terms).sum(axis=(1, 2)) + 1e-12
    return sums + terms.sum(axis=(1, 2)), bounds


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("size", SIZES)
def test_forms_are_within_their_bound(backend, size, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if backend == "native" and native() is None:
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    strip, moved, sums = arrays_of(*size)
    expected, bounds = expected_of(strip, moved, sums)
    forms.add_form(strip, moved, sums)
    assert (np.abs(sums - expected) <= bounds).all()


def test_every_instruction_set_adds_forms():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    for isa in kernel.config()["isas"]:
        for size in SIZES:
            strip, moved, sums = arrays_of(*size)
            expected, bounds = expected_of(strip, moved, sums)
            kernel.add_form(strip, moved, sums, isa)
            assert (np.abs(sums - expected) <= bounds).all()


@pytest.mark.parametrize("start", [0, 1, 3])
def test_arrays_may_start_anywhere(start):
    """Numbers of single precision stand at multiples of four bytes."""
    strip, moved, sums = arrays_of(4, 40, 7)
    expected, bounds = expected_of(strip[1:, start:].copy(), moved[start:], sums)
    forms.add_form(strip[1:, start:].copy(), moved[start:], sums)
    assert (np.abs(sums - expected) <= bounds).all()


def test_what_is_added_up_is_checked():
    kernel = pytest.importorskip("pkex.games.native._kernel")
    strip, moved, sums = arrays_of(2, 5, 3)
    for wrong, words in (
        ((strip.T.copy(), moved[:2].copy(), sums), "as many points as rows"),
        ((strip, moved[1:].copy(), sums), "moved must have the shape"),
        ((strip, moved, sums[1:].copy()), "sums must have the shape"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel.add_form(*wrong)
