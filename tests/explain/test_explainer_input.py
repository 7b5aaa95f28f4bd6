"""Input that an Explainer refuses with a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from pkex import Explainer, KernelExpansion, UnsupportedModelError
from pkex.kernels import Chi2, Custom, Periodic
from tests._support.unchecked import unchecked
from tests.explain.test_explainer import ALPHA, EXPANSION, POINTS, ROWS


def nan_factors(x, z):
    return np.where(x > 0.5, np.nan, 1.0) * (z == z)


CUSTOM = KernelExpansion(POINTS, ALPHA, Custom(nan_factors))
HUGE = KernelExpansion(POINTS, ALPHA, Periodic(periodicity=1e-320))
CHI2 = KernelExpansion(POINTS, ALPHA, Chi2())


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: Explainer(lambda x: x, removal="neutral"),
            UnsupportedModelError,
            r"function is not.*supported",
        ),
        (
            lambda: Explainer(EXPANSION, tol=0.0, removal="neutral"),
            ValueError,
            "tol must be at least",
        ),
        (
            lambda: Explainer(EXPANSION, tol=1e-17, removal="neutral"),
            ValueError,
            "None asks for full",
        ),
        (lambda: Explainer(EXPANSION, tol=1.0, removal="neutral"), ValueError, "below 1"),
        (lambda: Explainer(EXPANSION, tol=np.nan, removal="neutral"), ValueError, "finite"),
        (
            lambda: Explainer(EXPANSION, tol=unchecked("tight"), removal="neutral"),
            TypeError,
            "tol must be a number",
        ),
        (lambda: Explainer(EXPANSION, n_jobs=0, removal="neutral"), ValueError, "n_jobs"),
        (
            lambda: Explainer(EXPANSION, n_jobs=unchecked(1.5), removal="neutral"),
            TypeError,
            "n_jobs must be an integer",
        ),
        (
            lambda: unchecked(Explainer)(EXPANSION, threads=2, removal="neutral"),
            TypeError,
            "threads",
        ),
        (
            lambda: Explainer(EXPANSION, groups=unchecked(3), removal="neutral"),
            TypeError,
            "groups must map",
        ),
        (
            lambda: Explainer(EXPANSION, groups="ab", removal="neutral"),
            TypeError,
            "groups must map",
        ),
        (
            lambda: Explainer(EXPANSION, groups=["zip", "city"], removal="neutral"),
            TypeError,
            "a group must be",
        ),
        (
            lambda: Explainer(EXPANSION, groups={"a": unchecked(1)}, removal="neutral"),
            TypeError,
            "a group must be",
        ),
        (
            lambda: Explainer(EXPANSION, groups=[[unchecked(1.5)]], removal="neutral"),
            TypeError,
            "names or indices",
        ),
        (lambda: Explainer(EXPANSION, groups=[[]], removal="neutral"), ValueError, "at least one"),
        (
            lambda: Explainer(EXPANSION, groups=[[1, "zip"]], removal="neutral"),
            ValueError,
            "each once",
        ),
        (
            lambda: Explainer(EXPANSION, groups=[[1], [1, 2]], removal="neutral"),
            ValueError,
            "more than one group",
        ),
        (
            lambda: Explainer(EXPANSION, groups=[["street"]], removal="neutral"),
            ValueError,
            "'street'.*'age'",
        ),
        (
            lambda: Explainer(EXPANSION, groups=[[4]], removal="neutral"),
            ValueError,
            "numbered 0 to 3",
        ),
        (
            lambda: Explainer(EXPANSION, groups=[[-1]], removal="neutral"),
            ValueError,
            "numbered 0 to 3",
        ),
        (
            lambda: Explainer(EXPANSION, groups={"age": [1, 2]}, removal="neutral"),
            ValueError,
            "named 'age'",
        ),
        (
            lambda: Explainer(EXPANSION, removal="neutral")(ROWS[:, :3]),
            ValueError,
            "3 columns, but 4",
        ),
        (lambda: Explainer(EXPANSION, removal="neutral")(ROWS[0]), ValueError, r"X\[:1\]"),
        (lambda: Explainer(EXPANSION, removal="neutral")(ROWS[:0]), ValueError, "empty"),
        (
            lambda: Explainer(EXPANSION, removal="neutral")(ROWS * np.nan),
            ValueError,
            "row 0, column 'age'",
        ),
        (lambda: Explainer(EXPANSION, removal="neutral")(ROWS / 0.0), ValueError, "infinity"),
        (
            lambda: Explainer(EXPANSION, removal="neutral")(ROWS.astype(str)),
            TypeError,
            "real numbers",
        ),
        (
            lambda: Explainer(EXPANSION, removal="neutral")(None),
            TypeError,
            "X must be a table.*got None",
        ),
        (lambda: Explainer(CHI2, removal="neutral")(-ROWS), ValueError, "non-negative"),
        (
            lambda: Explainer(CUSTOM, removal="neutral")(ROWS),
            ValueError,
            "NaN or infinite factors.*nan_factors",
        ),
        (
            lambda: Explainer(HUGE, removal="neutral")(ROWS),
            ValueError,
            "NaN or infinite factors.*Periodic",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_input_gets_a_sentence(make, error, words):
    with pytest.raises(error, match=words):
        make()
