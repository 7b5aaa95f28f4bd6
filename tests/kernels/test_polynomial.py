"""Polynomial kernels: values against enumeration, by power series and multiplied out."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import pairwise

import pkex
from pkex.games import BetaShapley
from pkex.kernels import RBF, Constant, Laplacian, Linear, Polynomial
from tests._support import naive
from tests._support.cases import assert_close

KERNELS = {
    "cube": Polynomial(3, 0.7, 0.4),
    "line": Polynomial(1, 0.5, -1.0),
    "fifth power without a constant": Polynomial(5, 0.4, 0.0),
    "constant": Polynomial(2, 0.0, 3.0),
    "some columns, in a sum": Polynomial(4, 0.3, -0.5).on(0, 2, 3) + RBF(),
    "multiples": 2.0 * Polynomial(2) * Constant(0.5) + Linear() + Polynomial(3, 0.2),
    "times a product kernel": Polynomial(2) * Laplacian(2.0),
}
REMOVALS = ("interventional", "product-of-marginals")
RNG = np.random.default_rng(4)
POINTS, ROWS, BACKGROUND = (RNG.normal(size=(n, 4)) for n in (6, 2, 3))


def model(kernel, n_outputs=None):
    alpha = np.random.default_rng(1).normal(size=6 if n_outputs is None else (6, n_outputs))
    return pkex.KernelExpansion(POINTS, alpha, kernel, 0.7)


def worth(f, x, players, coalition, removal):
    """The worth of some players from predictions alone; absent ones have rows of the background."""
    absent = [j for j in range(len(players)) if j not in coalition]
    choices = list(product(range(3), repeat=len(absent)))
    if removal == "interventional":
        choices = [(b,) * len(absent) for b in range(3)]
    hybrids = []
    for chosen in choices:
        hybrid = x.copy()
        for player, b in zip(absent, chosen, strict=True):
            hybrid[list(players[player])] = BACKGROUND[b, list(players[player])]
        hybrids.append(hybrid)
    return f.predict(hybrids).mean(axis=0)


def slow_values(f, x, players, removal):
    return naive.shapley_by_enumeration(lambda c: worth(f, x, players, c, removal), len(players))


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_enumeration(name, removal):
    f = model(KERNELS[name])
    explanation = pkex.Explainer(f, BACKGROUND, removal=removal)(ROWS)
    size = np.abs(f.predict(np.vstack([ROWS, BACKGROUND]))).max()
    for row, x in enumerate(ROWS):
        slow = np.array(slow_values(f, x, explanation.feature_groups, removal))
        assert_close(explanation.values[row], slow, 1e-12 * size)
        assert np.abs(explanation.values[row] - slow).max() <= explanation.error_bound[row]
    assert_close(explanation.predictions, f.predict(ROWS), 1e-12 * size)
    assert_close(
        explanation.base_values, worth(f, ROWS[0], explanation.feature_groups, (), removal), 1e-12
    )


@pytest.mark.parametrize("removal", REMOVALS)
def test_groups_and_several_outputs(removal):
    f = model(Polynomial(3, 0.5, 1.0).on(0, 1, 3), n_outputs=2)
    groups = {"both": [0, 3], "out": [2]}
    explanation = pkex.Explainer(f, BACKGROUND, removal=removal, groups=groups)(ROWS)
    for row, x in enumerate(ROWS):
        for output in range(2):
            one = pkex.KernelExpansion(POINTS, f.coefficients[:, output], f.kernel, 0.7)
            slow = slow_values(one, x, explanation.feature_groups, removal)
            assert_close(explanation.values[row, :, output], slow, 1e-12)


@pytest.mark.parametrize("measure", ["BV", BetaShapley(4, 1)], ids=str)
@pytest.mark.parametrize("removal", REMOVALS)
def test_other_measures_are_those_of_the_kernel_multiplied_out(measure, removal):
    """Whose terms go through the product games, which other tests compare with enumeration."""
    kernel = Polynomial(4, 0.5, 0.3)
    fast = pkex.Explainer(model(kernel), BACKGROUND, removal=removal, index=measure)(ROWS)
    slow_kernel = kernel * RBF(1e150)  # which is 1, but no constant
    slow = pkex.Explainer(model(slow_kernel), BACKGROUND, removal=removal, index=measure)(ROWS)
    assert_close(fast.values, slow.values, 1e-11)


def test_the_power_of_a_mean_is_another_game():
    """Marginal removal averages the power."""
    f = pkex.KernelExpansion([[1.0, 1.0]], [1.0], Polynomial(2, 1.0, 0.0))
    background = [[-1.0, 0.0], [1.0, 0.0]]  # of mean 0 and variance 1
    explanation = pkex.Explainer(f, background, removal="product-of-marginals")([[3.0, 0.0]])
    assert_close(explanation.base_values, [1.0], 1e-15)
    assert_close(explanation.values, [[8.0, 0.0]], 1e-14)


def test_the_matrix_is_that_of_scikit_learn():
    ours = Polynomial(3, 0.2, 0.5)(ROWS, POINTS)
    assert_close(ours, pairwise.polynomial_kernel(ROWS, POINTS, 3, 0.2, 0.5), 1e-13)


def test_many_columns_are_finite_and_add_up():
    rng = np.random.default_rng(2)
    points, rows = rng.normal(size=(8, 1000)), rng.normal(size=(2, 1000))
    f = pkex.KernelExpansion(points, rng.normal(size=8), Polynomial(3, 0.01, 1.0))
    for arguments in ((), (points[:3],)):
        explanation = pkex.Explainer(f, *arguments)(rows)
        assert np.isfinite(explanation.values).all()
        total = explanation.values.sum(axis=1) + explanation.base_values
        assert_close(total, f.predict(rows), 1e-12 * np.abs(f.predict(rows)).max())


def test_neutral_removal_is_refused():
    with pytest.raises(pkex.UnsupportedModelError, match="does not factor over features"):
        pkex.Explainer(model(Polynomial()), removal="neutral")
    with pytest.raises(ValueError, match="which neutral removal does not support"):
        pkex.mmd(POINTS, ROWS, kernel=Polynomial(), removal="neutral")


def test_statistics_take_few_columns():
    kernel = Polynomial(2, 0.5, 1.0)
    shifted = BACKGROUND + 1.0
    found = pkex.mmd(POINTS, shifted, kernel=kernel, n_permutations=20, random_state=0)
    matrix = kernel(POINTS), kernel(shifted), kernel(POINTS, shifted)
    same = sum((m.sum() - np.trace(m)) / (len(m) * (len(m) - 1)) for m in matrix[:2])
    assert_close(found.statistic, same - 2.0 * matrix[2].mean(), 1e-12)
    assert_close(found.values.sum(), found.statistic, 1e-12)
    wide = np.random.default_rng(0).normal(size=(5, 60))
    with pytest.raises(ValueError, match="a sum of 39,711 products over columns"):
        pkex.mmd(wide, wide + 1.0, kernel=Polynomial(3))


def test_powers_that_overflow_are_refused():
    f = pkex.KernelExpansion([[1e80, 1.0]], [1.0], Polynomial(4))
    with pytest.raises(ValueError, match="overflow"):
        pkex.Explainer(f, [[0.0, 0.0]])([[1e80, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"degree": 0}, "degree must be an integer from 1 to 20"),
        ({"degree": 2.5}, "degree must be an integer"),
        ({"degree": 21}, "degree must be an integer"),
        ({"gamma": -1.0}, "gamma must not be negative"),
        ({"coef0": np.nan}, "coef0"),
    ],
)
def test_parameters_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Polynomial(**arguments)
