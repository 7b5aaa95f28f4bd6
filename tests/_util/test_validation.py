"""What messages show of the values that they are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import pkex
from pkex import KernelExpansion
from pkex._util.validation import brief
from pkex.kernels import RBF, Custom, Laplacian, Linear
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(0)
TABLE: Any = RNG.normal(size=(450, 100))
ALPHA: Any = RNG.normal(size=450)
F = KernelExpansion(TABLE, ALPHA, RBF())
NAMED = KernelExpansion(pd.DataFrame(TABLE).add_prefix("measurement "), ALPHA, RBF())
EXPLANATION = pkex.Explainer(F, n_jobs=1, removal="neutral")(TABLE[:3])
ATTRIBUTION = pkex.mmd(TABLE[:5, :2], TABLE[5:9, :2])
MANY = sum((RBF(float(k)).on(k) for k in range(2, 100)), start=Laplacian())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("rbf", "'rbf'"),
        (None, "None"),
        (-0.5, "-0.5"),
        ([0, 2], "[0, 2]"),
        (("a", 1.5), "('a', 1.5)"),
        ({"a": [0, 1]}, "{'a': [0, 1]}"),
        (np.array([1, 2]), "array([1, 2])"),
        (np.float64(0.5), repr(np.float64(0.5))),
        (TABLE, "an array of shape (450, 100)"),
        (pd.DataFrame(TABLE), "a DataFrame of shape (450, 100)"),
        (pd.Series(ALPHA), "a Series of shape (450,)"),
        (RBF(2.0), "RBF(length_scale=2.0)"),
    ],
)
def test_short_values_are_shown_and_large_ones_described(value, text):
    assert brief(value) == text


LONG = {
    "lists": TABLE.tolist(),
    "list": ALPHA.tolist(),
    "text": "x" * 10_000,
    "mapping": dict.fromkeys(range(100), "x" * 50),
    "kernel": MANY,
    "array in a list": [TABLE],
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_long_values_are_cut(value):
    assert len(brief(value)) <= 160
    assert "\n" not in brief(value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: KernelExpansion(unchecked(RBF(1.0)), TABLE, ALPHA),
            r"got an array of shape \(450,\)\. The order",
        ),
        (
            lambda: KernelExpansion(TABLE, unchecked(RBF(1.0)), ALPHA),
            r"\(points, coefficients, kernel\)",
        ),
        (
            lambda: KernelExpansion(TABLE, ALPHA, TABLE),
            r"shape \(450, 100\). Wrap a function",
        ),
        (lambda: KernelExpansion(TABLE, ALPHA, MANY * Linear()).base_value, "a dot-product part"),
        (lambda: KernelExpansion(TABLE, ALPHA, RBF(), feature_names=TABLE), "must hold strings"),
        (lambda: NAMED.predict(pd.DataFrame(TABLE).add_prefix("m")), "are missing"),
        (lambda: RBF(columns=TABLE), "must be integers"),
        (lambda: RBF(pd.DataFrame(TABLE)), r"must be a number, got a DataFrame of shape"),
        (lambda: Custom(TABLE), r"got an array of shape \(450, 100\)"),
        (lambda: Custom(lambda x, z: x + np.nan * z).on(*range(100))(TABLE[:2]), "NaN or infinite"),
        (lambda: pkex.Explainer(F, removal=TABLE), "removal must be 'product-of-marginals'"),
        (lambda: pkex.Explainer(F, n_jobs=TABLE, removal="neutral"), "n_jobs must be an integer"),
        (
            lambda: pkex.Explainer(F, tol=TABLE, removal="neutral"),
            "tol must be a number, got an array of shape",
        ),
        (lambda: pkex.Explainer(F, groups={"a": [TABLE]}, removal="neutral"), "names or indices"),
        (
            lambda: pkex.Explainer(NAMED, groups={"a": ["weight"]}, removal="neutral"),
            "the columns are",
        ),
        (lambda: EXPLANATION[[TABLE.tolist()]], "must be chosen|are chosen by"),
        (lambda: ATTRIBUTION.value("x" * 10_000), "a list of features"),
        (lambda: ATTRIBUTION.plot(max_display=TABLE), "max_display must be"),
        (lambda: ATTRIBUTION.report("x", sample_names=TABLE), "must be two strings"),
        (lambda: pkex.mmd(TABLE, TABLE, kernel=ALPHA), "kernel must be 'median-per-column'"),
        (lambda: pkex.mmd(TABLE, TABLE, n_permutations=ALPHA), "n_permutations must be an integer"),
        (
            lambda: pkex.mmd(TABLE, TABLE, random_state=unchecked("x" * 10_000)),
            "random_state must be None",
        ),
        (
            lambda: pkex.mmd(TABLE, TABLE, kernel=MANY * Linear(), removal="neutral"),
            "has a dot-product part",
        ),
        (lambda: pkex.HSICSelector(TABLE).fit(TABLE, ALPHA), "n_features_to_select must be"),
        (lambda: pkex.HSICSelector(alpha=TABLE).fit(TABLE, ALPHA), "alpha must be between"),
        (lambda: pkex.MMDDrift(max_reference=TABLE).fit(TABLE), "max_reference must be"),
        (
            lambda: pkex.games.rules.few_node(unchecked(sparse.csr_array(TABLE))),
            "size must be an integer",
        ),
        (lambda: pkex.show_config(TABLE), "mode must be"),
        (lambda: pkex.reference.value(F, TABLE[0], [TABLE]), "has the member an array of shape"),
    ],
)
def test_messages_stay_short_whatever_was_passed(make, words):
    with pytest.raises((TypeError, ValueError, IndexError), match=words) as caught:
        make()
    assert len(str(caught.value)) < 700
