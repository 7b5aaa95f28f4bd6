"""`pkex.reference` against its definition and against many digits.

Errors are measured against the scale of a game: |v(S)| <= sum|w| for factors in [0, 1], and so is
every Shapley value. Where all weights are positive nothing cancels between points, and errors are
relative to each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from pkex import KernelExpansion, UnsupportedModelError, reference
from pkex.kernels import RBF, Kernel, Linear
from tests._support import naive
from tests._support.exact_games import EPS, Floats, exact_deficits, exact_value, uniform
from tests._support.pairwise import pairwise

Algorithm = Callable[[Any, Any], Floats]

ALGORITHMS = [
    reference.brute_force,
    reference.newton,
    reference.prefix_suffix,
    reference.fft,
    reference.chebyshev,
]
# At d <= 12, in units of rounding errors of sum|w|. The first two only round; the others lose what
# the size of their intermediate values costs, up to 2^d, and for Chebyshev the condition number
# of its matrix as well. About ten times what the seeds below show.
SMALL_D_TOLERANCE = {
    "brute_force": 4 * EPS,
    "prefix_suffix": 4 * EPS,
    "newton": 100 * EPS,
    "fft": 100 * EPS,
    "chebyshev": 1e4 * EPS,
}


def accumulated(d: int) -> float:
    """Return the relative error left by 2d steps whose roundings are independent in sign."""
    return 2 * math.sqrt(d) * EPS


def named(algorithms: Sequence[Algorithm]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("algorithm", algorithms, ids=lambda f: f.__name__)


def near_one(n: int, d: int, seed: int) -> Floats:
    """Return the factors of an RBF kernel with gamma = 1/d: sum of deficits about 1 at every d."""
    return np.exp(-(np.random.default_rng(seed).standard_normal((n, d)) ** 2) / d)


def with_zeros_and_ones(n: int, d: int, seed: int) -> Floats:
    """Return factors that are exactly 0, exactly 1 or between, each with probability 1/3."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 2 / 3, rng.integers(0, 2, (n, d)), rng.random((n, d)))


def subsets(members: Any) -> Iterator[tuple[Any, ...]]:
    members = list(members)
    return chain.from_iterable(combinations(members, q) for q in range(len(members) + 1))


# --- the algorithms at small d -------------------------------------------------------------------


@pairwise(
    game=[(1, 0), (2, 1), (3, 2), (5, 3), (8, 4), (12, 5), (12, 6)],
    make=[uniform, near_one, with_zeros_and_ones],
    algorithm=ALGORITHMS,
)
def test_agrees_with_many_digits(
    algorithm: Algorithm, make: Callable[..., Floats], game: tuple[int, int]
) -> None:
    d, seed = game
    factors = make(7, d, seed)
    weights = np.random.default_rng(seed + 100).standard_normal(7)
    expected = [float(phi) for phi in naive.shapley(exact_deficits(factors), weights.tolist())]
    tolerance = SMALL_D_TOLERANCE[algorithm.__name__] * np.abs(weights).sum()
    np.testing.assert_allclose(algorithm(factors, weights), expected, rtol=0, atol=tolerance)


@named(ALGORITHMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_enumeration_for_any_real_factors(algorithm: Algorithm, seed: int) -> None:
    """Theorem 1 is an identity of polynomials: factors may be negative or above 1."""
    rng = np.random.default_rng(seed)
    factors, weights = rng.uniform(-1.5, 1.5, (3, 6)), rng.standard_normal(3)
    expected = [float(p) for p in naive.shapley_by_enumeration(exact_value(factors, weights), 6)]
    # Values reach 1.5^6 = 11 and, inside the interpolations, 2.5^6 = 244.
    np.testing.assert_allclose(algorithm(factors, weights), expected, rtol=0, atol=1e-11)


@named(ALGORITHMS)
def test_null_players_get_zero_and_equal_players_equal_shares(algorithm: Algorithm) -> None:
    factors = uniform(4, 6, seed=7)
    factors[:, 2] = 1.0
    factors[:, 5] = factors[:, 0]
    phi = algorithm(factors, [1.0, -2.0, 0.5, 3.0])
    assert phi[2] == 0.0
    assert phi[5] == pytest.approx(phi[0], rel=1e-11)


@named(ALGORITHMS)
def test_takes_lists_and_integers_and_leaves_its_input_alone(algorithm: Algorithm) -> None:
    factors, weights = uniform(3, 4, seed=8), np.array([1, 2, 3])
    kept = factors.copy()
    phi = algorithm(factors, weights)
    np.testing.assert_array_equal(factors, kept)
    np.testing.assert_array_equal(phi, algorithm(factors.tolist(), [1.0, 2.0, 3.0]))
    assert phi.dtype == np.float64
    assert phi.shape == (4,)


# --- prefix_suffix at large d --------------------------------------------------------------------


@pytest.mark.parametrize("make", [uniform, near_one, with_zeros_and_ones])
@pytest.mark.parametrize("d", [50, 200])
def test_prefix_suffix_keeps_all_digits(make: Callable[..., Floats], d: int) -> None:
    """Positive weights: each of 2d steps adds a few roundings, and nothing cancels."""
    factors = make(5, d, seed=d)
    weights = np.random.default_rng(d).random(5)
    exact = naive.shapley(exact_deficits(factors), weights.tolist())
    expected = np.array([float(phi) for phi in exact])
    phi = reference.prefix_suffix(factors, weights)
    np.testing.assert_allclose(phi, expected, rtol=accumulated(d))


def test_prefix_suffix_neither_overflows_nor_loses_digits_at_2000_features() -> None:
    """Binomials overflow beyond d = 1029; the normalised tables stay in [0, 1]."""
    d = 2000
    factors = np.vstack([uniform(1, d, seed=1), near_one(1, d, seed=2)])
    weights = np.array([2.0, 1.0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        phi = reference.prefix_suffix(factors, weights)
    assert np.isfinite(phi).all()
    deficits = exact_deficits(factors)
    for j in (0, 999, 1999):
        with mp.workdps(50):
            expected = -sum(
                naive.to_mpf(row[j]) * naive.expected_reciprocal(row[:j] + row[j + 1 :]) * weight
                for row, weight in zip(deficits, weights.tolist(), strict=True)
            )
        assert phi[j] == pytest.approx(float(expected), rel=accumulated(d))
    efficiency = weights @ (factors.prod(axis=1) - 1.0)
    assert phi.sum() == pytest.approx(efficiency, rel=accumulated(d))


# --- the known breakdown of the others -----------------------------------------------------------


def relative_error(algorithm: Algorithm, factors: Floats) -> float:
    weights = np.random.default_rng(9).standard_normal(len(factors))
    exact = reference.prefix_suffix(factors, weights)
    with np.errstate(all="ignore"):
        error = np.abs(algorithm(factors, weights) - exact).max() / np.abs(exact).max()
    return float(error)


@named([reference.newton, reference.fft, reference.chebyshev])
@pytest.mark.parametrize("make", [uniform, near_one])
def test_unstable_algorithms_are_accurate_at_ten_features(
    algorithm: Algorithm, make: Callable[..., Floats]
) -> None:
    """A few of the at most 2^10 rounding errors, and 1e2 times more for Chebyshev's matrix."""
    tolerance = 100 * EPS * (100 if algorithm is reference.chebyshev else 1)
    assert relative_error(algorithm, make(10, 10, seed=3)) < tolerance


@pytest.mark.parametrize(
    ("algorithm", "make", "d", "at_least"),
    [
        (reference.newton, near_one, 50, 1e-6),
        (reference.newton, near_one, 70, 1.0),
        (reference.newton, uniform, 120, 1.0),
        (reference.fft, near_one, 50, 1e-6),
        (reference.fft, near_one, 70, 1.0),
        (reference.fft, uniform, 100, 1.0),
        (reference.chebyshev, near_one, 30, 1e-4),
        (reference.chebyshev, near_one, 40, 1.0),
        (reference.chebyshev, uniform, 50, 1.0),
    ],
)
def test_documented_breakdown(
    algorithm: Algorithm, make: Callable[..., Floats], d: int, at_least: float
) -> None:
    """The losses that the docstrings state are real; whoever repairs one finds it here."""
    assert relative_error(algorithm, make(10, d, seed=4)) > at_least


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 20, 171, 1030, 2000])
def test_shapley_weights_are_the_factorial_formula(d: int) -> None:
    """Two roundings per step; beyond d = 1000 the middle is below the smallest normal double."""
    exact = np.array([float(Fraction(1, d * math.comb(d - 1, q))) for q in range(d)])
    tiny = float(np.finfo(float).tiny)
    np.testing.assert_allclose(reference.shapley_weights(d), exact, rtol=d * EPS, atol=tiny)


def test_shapley_weights_of_all_coalitions_add_up_to_one() -> None:
    for d in range(1, 40):
        counts = [math.comb(d - 1, q) for q in range(d)]
        assert reference.shapley_weights(d) @ counts == pytest.approx(1.0, rel=d * EPS)


@pytest.mark.parametrize("d", [0, -1, 2.5, True, "3"])
def test_shapley_weights_refuses_what_counts_no_features(d: Any) -> None:
    with pytest.raises(ValueError, match="integer of at least 1"):
        reference.shapley_weights(d)


# --- refusals ------------------------------------------------------------------------------------


GOOD = [[0.5, 1.0], [0.25, 0.5]]


@named(ALGORITHMS)
@pytest.mark.parametrize(
    ("factors", "weights", "error", "words"),
    [
        ([0.5, 1.0], [1.0, 1.0], ValueError, "factors.*two-dimensional"),
        ([[[0.5]]], [1.0], ValueError, "factors.*two-dimensional"),
        (np.empty((0, 3)), [], ValueError, "factors.*empty"),
        (np.empty((3, 0)), [1.0] * 3, ValueError, "factors.*empty"),
        ([[0.5, math.nan]], [1.0], ValueError, "factors.*NaN or infinity"),
        ([[0.5, math.inf]], [1.0], ValueError, "factors.*NaN or infinity"),
        ([[0.5, 1.0], [0.5]], [1.0, 1.0], ValueError, "factors.*ragged"),
        ([["a", "b"]], [1.0], TypeError, "factors.*real numbers"),
        ([[0.5j, 1.0]], [1.0], TypeError, "factors.*real numbers"),
        (GOOD, [1.0], ValueError, r"weights has shape \(1,\); pass one per row of factors, 2"),
        (GOOD, [1.0] * 3, ValueError, r"weights has shape \(3,\)"),
        (GOOD, [[1.0], [1.0]], ValueError, r"weights has shape \(2, 1\)"),
        (GOOD, 1.0, ValueError, r"weights has shape \(\)"),
        (GOOD, [1.0, math.nan], ValueError, "weights.*NaN or infinity"),
        (GOOD, [1.0, -math.inf], ValueError, "weights.*NaN or infinity"),
        (GOOD, ["a", "b"], TypeError, "weights.*real numbers"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(
    algorithm: Algorithm, factors: Any, weights: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        algorithm(factors, weights)


def test_brute_force_refuses_more_than_twenty_features() -> None:
    with pytest.raises(ValueError, match="at most 20 columns, got 21; use prefix_suffix"):
        reference.brute_force(np.ones((1, 21)), [1.0])


# --- value and components ------------------------------------------------------------------------


def gaussian(x: Floats, z: Floats) -> Floats:
    return np.exp(-((x[:, None, :] - z[None, :, :]) ** 2) / 2)


def laplacian_of_first(x: Floats, z: Floats) -> Floats:
    """Return factors of a term that only involves column 0: all others are 1."""
    factors = np.ones((len(x), len(z), x.shape[1]))
    factors[:, :, 0] = np.exp(-np.abs(x[:, None, 0] - z[None, :, 0]))
    return factors


TERMS = (
    SimpleNamespace(coefficient=2.0, factors=gaussian),
    SimpleNamespace(coefficient=0.5, factors=laplacian_of_first),
)
NAMES = ("age", "height", "weight", "income")
X = np.array([0.3, -0.2, 1.0, 0.0])


def expansion(outputs: int | None = None) -> Any:
    """Return what `value` needs of an expansion, with the kernel 2 Gaussian + Laplacian / 2."""
    rng = np.random.default_rng(11)
    return SimpleNamespace(
        points=rng.standard_normal((5, 4)),
        coefficients=rng.standard_normal(5 if outputs is None else (5, outputs)),
        intercept=0.25 if outputs is None else rng.standard_normal(outputs),
        feature_names=NAMES,
        kernel=SimpleNamespace(terms=lambda d: TERMS, has_neutral_removal=True),
    )


# Sums of at most 16 components of size up to 2.5 sum|alpha|.
CLOSE: Any = {"rtol": 0, "atol": 1e-13}


@pytest.mark.parametrize("outputs", [None, 1, 3])
def test_value_runs_from_the_base_value_to_the_prediction(outputs: int | None) -> None:
    f = expansion(outputs)
    kernel = sum(t.coefficient * t.factors(X[None], f.points)[0].prod(axis=1) for t in TERMS)
    np.testing.assert_allclose(
        reference.value(f, X, range(4)), kernel @ f.coefficients + f.intercept, **CLOSE
    )
    base = 2.5 * f.coefficients.sum(axis=0) + f.intercept
    np.testing.assert_allclose(reference.value(f, X, []), base, **CLOSE)
    np.testing.assert_allclose(reference.components(f, X, []), base, **CLOSE)


@pytest.mark.parametrize("outputs", [None, 3])
def test_components_of_all_subsets_add_up_to_the_value(outputs: int | None) -> None:
    """Proposition 1 is the Moebius inverse of Proposition 2, for every coalition."""
    f = expansion(outputs)
    for coalition in subsets(range(4)):
        total = sum(reference.components(f, X, part) for part in subsets(coalition))
        np.testing.assert_allclose(total, reference.value(f, X, coalition), **CLOSE)


def test_shapley_values_of_value_are_those_of_the_terms() -> None:
    """The Shapley value is linear: terms are explained one by one and added."""
    f = expansion()
    by_definition = naive.shapley_by_enumeration(lambda s: reference.value(f, X, s), 4)
    by_terms = sum(
        t.coefficient * reference.prefix_suffix(t.factors(X[None], f.points)[0], f.coefficients)
        for t in TERMS
    )
    np.testing.assert_allclose(by_definition, by_terms, **CLOSE)


@pytest.mark.parametrize("function", [reference.value, reference.components])
def test_names_indices_and_any_iterable_mean_the_same(function: Any) -> None:
    f = expansion()
    expected = function(f, X, [1, 3])
    assert isinstance(expected, float)
    for subset in (["height", "income"], ("income", 1), np.array([1, 3]), iter([1, 3]), {1, 3}):
        assert function(f, X.tolist(), subset) == pytest.approx(expected, rel=4 * EPS)
    assert function(expansion(outputs=3), X, [1, 3]).shape == (3,)


@pytest.mark.parametrize("function", [reference.value, reference.components])
@pytest.mark.parametrize(
    ("subset", "error", "words"),
    [
        ([0, 0], ValueError, "column named before"),
        (["age", 0], ValueError, "column named before"),
        (
            ["shoe size"],
            ValueError,
            "'shoe size'; each must be a feature name or an index from 0 to 3",
        ),
        ([4], ValueError, "member 4; each must be a feature name or an index from 0 to 3"),
        ([-1], ValueError, "member -1; each must be"),
        ([1.0], TypeError, "member 1.0; pass column indices or names only"),
        ([True], TypeError, "member True"),
        ([np.array([0]) > 0], TypeError, "indices or names only"),
        ([None], TypeError, "member None"),
        ("age", TypeError, "subset is 'age'; pass a list"),
        (2, TypeError, "subset is 2; pass a list"),
    ],
)
def test_bad_subsets_are_refused_with_a_sentence(
    function: Any, subset: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        function(expansion(), X, subset)


@pytest.mark.parametrize("function", [reference.value, reference.components])
@pytest.mark.parametrize(
    ("x", "words"),
    [
        (X[None], r"x has shape \(1, 4\), but one point is needed; pass shape \(4,\)"),
        (X[:3], r"x has shape \(3,\)"),
        ([0.0, math.nan, 0.0, 0.0], "x contains NaN or infinity"),
    ],
)
def test_bad_points_are_refused_with_a_sentence(function: Any, x: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        function(expansion(), x, [0])


@pytest.mark.parametrize("function", [reference.value, reference.components])
@pytest.mark.parametrize("kernel", [Linear(), RBF() + 0.5 * Linear(), RBF() * Linear()], ids=repr)
def test_a_linear_part_has_no_neutral_removal(function: Any, kernel: Kernel) -> None:
    f = KernelExpansion(np.eye(2), [1.0, 2.0], kernel)
    for subset in ([], [0], [0, 1]):
        with pytest.raises(UnsupportedModelError, match=r"dot-product part.*pass a background"):
            function(f, [0.5, 0.5], subset)
