"""Explanations of every form: one output and several, groups, text, parts of them and none."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from pkex import Explainer, Explanation, KernelExpansion
from pkex.kernels import RBF


def changed(result, **changes):
    """Return a result with some attributes changed, of it or of what it is about."""
    about = getattr(result, "about", None)
    if about is not None:
        names = {field.name for field in fields(about)} & changes.keys()
        changes["about"] = replace(about, **{name: changes.pop(name) for name in names})
    return replace(result, **changes)


RNG = np.random.default_rng(5)
NAMES = ["age", "zip", "city", "bmi"]
OUTPUTS = ["a vs b", "a vs c", "b vs c"]
POINTS, ROWS = RNG.normal(size=(30, 4)), RNG.normal(size=(25, 4))
ALPHA = RNG.normal(size=(30, 3))
GROUPS = {"address": ["zip", "city"]}

REGRESSION = KernelExpansion(POINTS, ALPHA[:, 0], RBF(1.5), 0.5, NAMES)
BINARY = KernelExpansion(POINTS, np.sign(ALPHA[:, 1]), RBF(1.0), -0.2, NAMES, ["sick vs well"])
THREE = KernelExpansion(POINTS, ALPHA, RBF(1.5), [0.1, 0.2, 0.3], NAMES, OUTPUTS)

ONE, CLASSIFIED, SEVERAL = (
    Explainer(f, removal="neutral")(ROWS) for f in (REGRESSION, BINARY, THREE)
)
GROUPED = Explainer(REGRESSION, groups=GROUPS, removal="neutral")(ROWS)

TABLE = ROWS.astype(object)
TABLE[:, 1] = [1000 + 10 * i for i in range(25)]
TABLE[:, 2] = [("Wien", "Graz", "Linz")[i % 3] for i in range(25)]
TABLE[3, 2] = None
TABLE[4, 3] = float("nan")
TEXT, TEXT_GROUPED = changed(ONE, data=TABLE), changed(GROUPED, data=TABLE)

ALL = {"one": ONE, "named": CLASSIFIED, "several": SEVERAL, "grouped": GROUPED, "text": TEXT}
ALL |= {"text-grouped": TEXT_GROUPED, "part": SEVERAL[2:5, ["bmi", "age"], 1:], "none": ONE[:0]}
everything = pytest.mark.parametrize("explanation", ALL.values(), ids=ALL)


def assert_equal(left, right) -> None:
    """Check that two arrays hold the same numbers, texts, and NaN at the same places."""
    assert left.shape == right.shape
    assert list(map(repr, left.ravel())) == list(map(repr, right.ravel()))


def assert_same(left: Explanation, right: Explanation) -> None:
    """Check that two explanations agree bit by bit."""
    for name in ("values", "base_values", "predictions", "data"):
        first, second = getattr(left, name), getattr(right, name)
        assert first.dtype == second.dtype
        assert_equal(first, second)
    names = ("feature_names", "column_names", "feature_groups", "output_names", "additivity_error")
    for name in names:
        assert getattr(left, name) == getattr(right, name)
    assert (left.removal, left.complete) == (right.removal, right.complete)
