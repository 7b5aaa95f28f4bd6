"""Backgrounds: what they are named, in which forms they come, and which are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.neighbors import KernelDensity
from sklearn.svm import SVR

import pkex
from pkex import Explainer, KernelExpansion, UnsupportedModelError
from pkex.kernels import RBF, Custom, Linear
from tests._support.cases import assert_close
from tests._support.removal_games import GAMES, all_games, enumerated, explained

RNG = np.random.default_rng(11)
POINTS, ROWS, BACKGROUND = RNG.random((20, 4)), RNG.random((3, 4)), RNG.random((6, 4))
NAMES = ("age", "zip", "city", "bmi")
EXPANSION = KernelExpansion(POINTS, RNG.normal(size=20), RBF(0.7), 0.5, NAMES)
LINEAR_MODEL = SVR(kernel="linear").fit(POINTS, POINTS[:, 0])
WITH_LINEAR_PART = KernelExpansion(POINTS, np.ones(20), 0.5 * (RBF() * Linear()))
WITHOUT_DATA = KernelExpansion(POINTS, np.ones(20), RBF(), background=None)
LINEAR_WITHOUT_DATA = KernelExpansion(POINTS, np.ones(20), Linear(), background=None)


def test_the_result_names_its_game():
    found = {
        None: Explainer(EXPANSION),
        "neutral": Explainer(EXPANSION, removal="neutral"),
        "interventional": Explainer(EXPANSION, BACKGROUND),
        "product-of-marginals": Explainer(EXPANSION, BACKGROUND, removal="product-of-marginals"),
    }
    for removal, explain in found.items():
        name = removal or "product-of-marginals"
        assert explain.removal == explain(ROWS).removal == explain(ROWS)[1].removal == name
        assert f"removal={name!r}" in repr(explain)
        assert name in repr(explain(ROWS))
        again = pickle.loads(pickle.dumps(explain(ROWS)))
        assert again.removal == name
    assert len({float(explain.expected_value) for explain in found.values()}) == 4


def test_neutral_removal_by_name_is_the_game_of_the_paper():
    """The neutral base value, and the rules of neutral removal."""
    explanation = Explainer(EXPANSION, removal="neutral")(ROWS)
    base = EXPANSION.coefficients.sum() + 0.5
    assert_close(explanation.base_values, base, 1e-14)
    assert explanation.rule.relative_error <= pkex.games.rules.FULL_PRECISION
    value = enumerated(
        lambda present: sum(
            a * np.exp(-0.5 * sum((ROWS[0, j] - p[j]) ** 2 for j in present) / 0.7**2)
            for a, p in zip(EXPANSION.coefficients, POINTS, strict=True)
        ),
        4,
    )[0]
    assert_close(explanation.values[0], value, 1e-13)


@all_games
def test_explainers_with_a_background_pickle(removal):
    explain = Explainer(EXPANSION, BACKGROUND, removal=removal, n_jobs=1)
    before = explain(ROWS)
    again = pickle.loads(pickle.dumps(explain))
    assert np.array_equal(again(ROWS).values, before.values)
    assert again.expected_value == explain.expected_value
    assert again.removal == removal


@all_games
def test_backgrounds_come_as_frames_lists_sparse_and_integers(removal):
    whole = np.round(4.0 * BACKGROUND)
    values = explained(EXPANSION, ROWS, whole, removal=removal).values
    for background in (
        pd.DataFrame(whole, columns=NAMES),
        whole.tolist(),
        csr_matrix(whole),
        whole.astype(np.int32),
        np.asfortranarray(whole),
    ):
        again = explained(EXPANSION, ROWS, background, removal=removal).values
        assert np.array_equal(again, values)


def test_a_background_that_the_user_changes_later_does_not_matter():
    background = BACKGROUND.copy()
    explain = Explainer(EXPANSION, background, n_jobs=1)
    background[:] = 0.0
    assert_close(explain(ROWS).values, explained(EXPANSION, ROWS, BACKGROUND).values, 0.0)


def test_expected_value_of_several_outputs():
    two = KernelExpansion(POINTS, np.stack([np.ones(20), np.arange(20.0)], axis=1), RBF())
    expected = np.asarray(Explainer(two, BACKGROUND).expected_value)
    assert expected.shape == (2,)
    assert_close(expected, two.predict(BACKGROUND).mean(axis=0), 1e-11)


def nan_above_a_half(x, z):
    return np.where(x > 0.5, np.nan, 1.0) * (z == z)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("removal", ["neutral", *GAMES])
@pytest.mark.parametrize("d", [1, 4])
def test_factors_that_are_nan_are_refused_with_a_sentence(removal, d, backend, monkeypatch):
    if backend == "native":
        pytest.importorskip("pkex.games.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    f = KernelExpansion(np.zeros((2, d)), [1.0, 2.0], Custom(nan_above_a_half))
    background = None if removal == "neutral" else np.ones((2, d))
    row = np.full((1, d), 0.7 if removal == "neutral" else 0.2)
    with pytest.raises(ValueError, match="NaN or infinite factors"):
        explained(f, row, background, removal=removal)


def options(**given):
    return lambda: Explainer(EXPANSION, **given)


FRAME = pd.DataFrame(BACKGROUND, columns=NAMES)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (options(background=BACKGROUND[:, :3]), ValueError, "3 columns, but 4"),
        (options(background=BACKGROUND * np.nan), ValueError, "NaN.*row 0, column 'age'"),
        (options(background=np.full((2, 4), np.inf)), ValueError, "infinity"),
        (options(background=BACKGROUND[:0]), ValueError, "empty"),
        (options(background=[]), ValueError, "two-dimensional"),
        (options(background=BACKGROUND[0]), ValueError, r"two-dimensional.*reshape\(1, -1\)"),
        (options(background=3.0), TypeError, "must be a table or an array.*got 3.0"),
        (options(background="rows"), TypeError, "must be a table or an array.*'rows'"),
        (options(background=FRAME[["zip", "age", "city"]]), ValueError, r"'bmi'\] is missing"),
        (options(background_weights=np.ones(6)), ValueError, "without a background"),
        (options(background=BACKGROUND, background_weights=np.ones(5)), ValueError, "6 numbers"),
        (options(background=BACKGROUND, background_weights=1.0), ValueError, "6 numbers"),
        (options(background=BACKGROUND, background_weights=-np.ones(6)), ValueError, "positive"),
        (options(background=BACKGROUND, background_weights=np.zeros(6)), ValueError, "positive"),
        (options(background=BACKGROUND, background_weights=[1, 1, 1, 0, 1, 1]), ValueError,
         "positive"),
        (options(background=BACKGROUND, background_weights=np.nan * np.ones(6)), ValueError,
         "background_weights contains NaN"),
        (options(background=BACKGROUND, background_weights=["a"] * 6), TypeError,
         "background_weights"),
        (options(removal="sideways"), ValueError,
         "'product-of-marginals', 'interventional', 'conditional' or 'neutral'"),
        (options(background=BACKGROUND, removal="mean"), ValueError, "got 'mean'"),
        (options(background=BACKGROUND, removal="neutral"), ValueError, "takes no background"),
        (options(removal="interventional"), ValueError, r"pass some.*X_train\[:100\]"),
        (lambda: Explainer(LINEAR_MODEL, removal="neutral"), UnsupportedModelError,
         "dot-product part.*Leave out removal='neutral'.*pass a background"),
        (lambda: Explainer(WITH_LINEAR_PART, removal="neutral"), UnsupportedModelError,
         "dot-product part.*pass a background"),
        (lambda: Explainer(WITHOUT_DATA), ValueError,
         r"finds none.*Explainer\(model, X_train\[:100\]\), or choose removal='neutral'"),
        (lambda: Explainer(WITHOUT_DATA, removal="product-of-marginals"), ValueError, "finds none"),
        (lambda: Explainer(LINEAR_WITHOUT_DATA), ValueError, r"X_train\[:100\]\)\.$"),
        (lambda: Explainer(EXPANSION, BACKGROUND)(ROWS[:, :3]), ValueError, "3 columns, but 4"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    "background", [BACKGROUND[:, :3], BACKGROUND[0], BACKGROUND[:0], BACKGROUND * np.nan]
)
def test_the_sentence_is_about_the_background(background):
    with pytest.raises(ValueError, match=r"^background"):
        Explainer(EXPANSION, background)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e308])
def test_only_the_ratio_of_weights_counts(size):
    weights = size * np.array([1.0, 0.5, 1.0, 0.25, 1.0, 1.0])
    found = Explainer(EXPANSION, BACKGROUND, background_weights=weights).expected_value
    expected = Explainer(EXPANSION, BACKGROUND, background_weights=[4, 2, 4, 1, 4, 4])
    assert_close(found, expected.expected_value, 1e-14 * np.abs(EXPANSION.coefficients).sum())


@pytest.mark.parametrize("backend", ["numpy", "native"])
@all_games
def test_a_density_far_out_is_more_than_noise(removal, backend, monkeypatch):
    """Values add up to what they explain with the digits of that, and not of 1."""
    if backend == "native":
        pytest.importorskip("pkex.games.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    model = KernelDensity(bandwidth=0.8).fit(X)
    rows, background = 9.0 + rng.normal(size=(2, 3, 4))
    explanation = Explainer(model, background, removal=removal, n_jobs=1)(rows)
    density = np.exp(model.score_samples(rows))
    assert density.max() < 1e-30
    size = np.abs(explanation.values).sum(axis=1) + density
    total = explanation.values.sum(axis=1) + explanation.base_values
    assert_close(total / size, density / size, 1e-12)
    if removal == "interventional":
        base = np.exp(model.score_samples(background)).mean()
        assert_close(explanation.base_values / base, np.ones(3), 1e-12)
