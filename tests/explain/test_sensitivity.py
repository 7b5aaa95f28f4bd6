"""Sensitivity indices against the whole grid of marginals, and against closed forms."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex import KernelExpansion, sensitivity
from pkex.kernels import RBF, Laplacian, Linear, Matern, RationalQuadratic
from pkex.models.sums import add_expansions
from tests._support.cases import alone, assert_close, sample, scales
from tests._support.naive import shapley_by_enumeration
from tests._support.removal_games import CASES

D, N = 4, 4


def by_grid(predict, X, weights, players):
    """Return E f, and Var E[f | x_S] for every set of players, by all combinations of rows."""
    n_rows, n_players = len(X), len(players)
    draws = np.array(list(product(range(n_rows), repeat=n_players)))
    rows = np.empty((len(draws), X.shape[1]))
    for i, columns in enumerate(players):
        rows[:, list(columns)] = X[draws[:, i]][:, list(columns)]
    table = predict(rows).reshape((n_rows,) * n_players)

    def mean(values, axes):
        for axis in sorted(axes, reverse=True):
            values = np.tensordot(values, weights, axes=(axis, 0))
        return values

    centre = mean(table, range(n_players))
    worth = {}
    for chosen in product((False, True), repeat=n_players):
        inside = frozenset(i for i, has in enumerate(chosen) if has)
        given = mean(table, [i for i in range(n_players) if i not in inside]) - centre
        worth[inside] = float(mean(given * given, range(given.ndim)))
    return float(centre), worth


def indices(worth, n_players):
    every = frozenset(range(n_players))
    first = [worth[frozenset({j})] for j in range(n_players)]
    total = [worth[every] - worth[every - {j}] for j in range(n_players)]
    shapley = np.array(shapley_by_enumeration(lambda s: worth[frozenset(s)], n_players), float)
    second = np.zeros((n_players, n_players))
    for i, j in product(range(n_players), repeat=2):
        if i != j:
            second[i, j] = worth[frozenset({i, j})] - first[i] - first[j]
    return np.array(first), np.array(total), shapley, second


def check(f, X, weights, groups=None, atol=1e-12):
    found = sensitivity(f, X, sample_weight=weights, groups=groups, order=2, n_jobs=1)
    mean, worth = by_grid(f.predict, X, weights / weights.sum(), found.feature_groups)
    size = np.sqrt(worth[frozenset(range(len(found.feature_groups)))])
    assert found.mean == pytest.approx(mean, rel=1e-10, abs=1e-10 * size)
    variance = worth[frozenset(range(len(found.feature_groups)))]
    assert found.variance == pytest.approx(variance, rel=1e-10)
    ours = (found.first_order, found.total_order, found.shapley, found.second_order)
    for one, other in zip(ours, indices(worth, len(found.feature_groups)), strict=True):
        assert_close(one, other / variance, atol)
    return found


def problem(case, seed=0):
    rng = np.random.default_rng([seed, len(case.name)])
    kernel = case.build(scales(rng, D))
    points, X = sample(rng, 6, D), sample(rng, N, D)
    return KernelExpansion(points, rng.normal(size=6), kernel, 0.3), X, rng.uniform(0.5, 1.0, N)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_indices_for_every_kernel(case):
    f, X, weights = problem(case)
    found = check(f, X, weights, atol=1e-10)  # kernels of any sign and size cancel
    assert found.error_bound < 1e-8


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=str)
def test_a_group_keeps_its_rows_together(case):
    f, X, weights = problem(case, seed=1)
    found = check(f, X, weights, groups={"both": [0, 2]}, atol=1e-10)
    assert found.feature_names == ("both", "x1", "x3")


@pytest.mark.parametrize(
    "kernel", [Matern(1.5, nu=2.5), RationalQuadratic(2.0, alpha=1.0)], ids=str
)
def test_kernels_of_a_distance_are_short_sums(kernel):
    rng = np.random.default_rng(11)
    f = KernelExpansion(rng.normal(size=(6, 3)), rng.normal(size=6), kernel)
    X = rng.normal(size=(4, 3))
    found = sensitivity(f, X, order=2)
    _, worth = by_grid(f.predict, X, np.full(4, 0.25), alone(3))  # by the closed formula
    variance = worth[frozenset(range(3))]
    assert 1e-12 < found.error_bound < 1e-4
    ours = (found.first_order, found.total_order, found.shapley, found.second_order)
    for one, other in zip(ours, indices(worth, 3), strict=True):
        assert_close(one, other / variance, found.error_bound)


def test_order_and_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    model = SVR(C=10.0).fit(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
    found = sensitivity(model, X, order=2)
    first, total, shapley = found.first_order, found.total_order, found.shapley
    slack = found.error_bound
    assert 0.0 < slack < 1e-9
    assert (first >= -slack).all()
    assert (first <= shapley + slack).all()
    assert (shapley <= total + slack).all()
    assert shapley.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.second_order >= -slack).all()
    assert first.sum() + found.second_order.sum() / 2.0 <= 1.0 + slack
    pair = np.unravel_index(np.argmax(found.second_order), (6, 6))
    assert set(pair) == {1, 2}


def test_several_outputs_and_parts():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    model = SVC().fit(X, labels)
    found = sensitivity(model, X, order=2)
    assert found.first_order.shape == (3, 3)
    assert found.second_order.shape == (3, 3, 3)
    assert found.variance.shape == (3,)
    assert found.output_names == ("0", "1", "2")
    expansion = pkex.as_expansion(model)
    for output in range(3):
        alpha = expansion.coefficients[:, output]
        one = KernelExpansion(expansion.points, alpha, expansion.kernel)
        expected = sensitivity(one, X, order=2)
        assert_close(found.shapley[:, output], expected.shapley, 1e-12)
        assert_close(found.second_order[..., output], expected.second_order, 1e-12)


def test_log_odds_are_analysed_as_they_are_explained():
    """Those of a logistic regression are linear, and shares of a sum are those of its variance."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3)) * [1.0, 2.0, 0.5]
    model = LogisticRegression().fit(X, X @ [1.0, 1.0, -3.0] + rng.normal(size=80) > 0.0)
    found = sensitivity(model, X, outputs="log-odds")
    variances = model.coef_[0] ** 2 * X.var(axis=0)
    assert_close(found.shapley, variances / variances.sum(), 1e-12)
    assert_close(found.variance, variances.sum(), 1e-10)
    with pytest.raises(ValueError, match="no probabilities whose log-odds"):
        sensitivity(SVC().fit(X, X[:, 0] > 0.0), X, outputs="log-odds")


def test_a_sum_of_expansions_is_one_function():
    rng = np.random.default_rng(2)
    points, X = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    first = KernelExpansion(points, rng.normal(size=7), RBF(1.0))
    second = KernelExpansion(points[:4], rng.normal(size=4), Laplacian(2.0))
    both = add_expansions([first, second])
    check(both, X, np.ones(5))


def test_a_pipeline_is_analysed_in_its_own_columns():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, -1.0]
    model = make_pipeline(StandardScaler(), SVR(C=5.0)).fit(X, X[:, 0] * X[:, 1])
    scaled = model[0].transform(X)
    assert_close(sensitivity(model, X).shapley, sensitivity(model[-1], scaled).shapley, 1e-12)
    ranges = {i: (low, high) for i, (low, high) in enumerate(zip(X.min(0), X.max(0), strict=True))}
    own = {
        i: tuple((np.array(ends) - model[0].mean_[i]) / model[0].scale_[i])
        for i, ends in ranges.items()
    }
    found = sensitivity(model, ranges).shapley
    assert_close(found, sensitivity(model[-1], own).shapley, 1e-9)


def test_of_a_linear_model_they_are_the_squared_slopes():
    rng = np.random.default_rng(4)
    f = KernelExpansion([[1.0, 2.0, -3.0]], [1.0], Linear())
    X = 1e3 + rng.normal(size=(50, 3)) * [1.0, 2.0, 1.0]  # far from 0
    expected = np.array([1.0, 4.0, 9.0]) * X.var(axis=0)
    found = sensitivity(f, X, order=2)
    for index in (found.first_order, found.total_order, found.shapley):
        assert_close(index, expected / expected.sum(), 1e-12)
    assert found.variance == pytest.approx(expected.sum(), rel=1e-10)
    assert_close(found.second_order, np.zeros((3, 3)), 1e-12)


def test_distributions_against_closed_forms():
    """``exp(-x^2 / 2)`` of a standard normal and of a uniform variable."""
    f = KernelExpansion([[0.0, 0.0]], [1.0], RBF(1.0))
    found = sensitivity(f, {"x0": stats.norm(), "x1": (-1.0, 2.0)})
    uniform = stats.uniform(-1.0, 3.0)

    def moment(power, variable):
        if variable == 0:
            return (1.0 + power) ** -0.5
        width = power**-0.5
        ends = stats.norm.cdf([-1.0 / width, 2.0 / width])
        return float(np.diff(ends)[0]) * width * (2.0 * np.pi) ** 0.5 / 3.0

    m, s = [moment(1, i) for i in (0, 1)], [moment(2, i) for i in (0, 1)]
    variance = s[0] * s[1] - (m[0] * m[1]) ** 2
    first = [(s[0] - m[0] ** 2) * m[1] ** 2, (s[1] - m[1] ** 2) * m[0] ** 2]
    assert found.variance == pytest.approx(variance, rel=1e-9)
    assert found.mean == pytest.approx(m[0] * m[1], rel=1e-9)
    assert_close(found.first_order, np.array(first) / variance, 1e-9)
    assert found.error_bound < 1e-9
    same = sensitivity(f, {"x0": stats.norm(), "x1": uniform})
    assert_close(same.shapley, found.shapley, 1e-14)


def test_discrete_distributions_are_their_values():
    f = KernelExpansion([[0.0, 1.0], [2.0, 0.0]], [1.0, -2.0], RBF(1.0))
    found = sensitivity(f, {0: stats.randint(0, 4), 1: stats.binom(3, 0.5)})
    grid = np.array(list(product(range(4), repeat=2)), dtype=float)
    pmf = stats.binom(3, 0.5).pmf(np.arange(4))
    weights = np.full(16, 0.25) * np.tile(pmf, 4)
    values = f.predict(grid)
    variance = weights @ (values - weights @ values) ** 2
    assert found.variance == pytest.approx(variance, rel=1e-12)


def test_a_group_of_distributions_is_the_union_of_its_columns():
    rng = np.random.default_rng(6)
    f = KernelExpansion(rng.normal(size=(5, 3)), rng.normal(size=5), RBF(1.0) + Linear())
    given = dict.fromkeys(range(3), (-1.0, 1.0))
    found = sensitivity(f, given, groups=[[0, 2]])
    single = sensitivity(f, given, order=2)
    pair = single.first_order[[0, 2]].sum() + single.second_order[0, 2]
    assert found.first_order[0] == pytest.approx(pair, abs=1e-12)
    assert found.total_order[1] == pytest.approx(single.total_order[1], abs=1e-12)


def test_kinks_are_told_in_the_error():
    f = KernelExpansion([[0.3, 0.1], [0.7, 0.5]], [1.0, -1.0], Laplacian(0.2))
    found = sensitivity(f, {0: (0.0, 1.0), 1: (0.0, 1.0)})
    X = (np.arange(4000)[:, None] + 0.5) / 4000.0 * np.ones(2)
    fine = sensitivity(f, X)
    assert 1e-9 < found.error_bound < 1e-3
    assert np.abs(found.shapley - fine.shapley).max() <= found.error_bound + 1e-6


def test_factors_that_do_not_fit_are_made_again(monkeypatch):
    from pkex.games import moments

    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 3))
    model = SVR().fit(X, X[:, 0] * X[:, 1])
    expected = sensitivity(model, X, order=2)
    for name, size in (("_KEPT", 0), ("_STEP", 300), ("_ROWS", 300), ("_TILE", 200)):
        monkeypatch.setattr(moments, name, size)
    found = sensitivity(model, X, order=2, n_jobs=2)
    assert_close(found.shapley, expected.shapley, 1e-12)
    assert_close(found.second_order, expected.second_order, 1e-12)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("given", ["table", "distributions"])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, kept, given):
    from pkex.games import moments

    sizes = {"_TILE": 2000, "_SIDE": 1, "_STEP": 1000, "_ROWS": 5000}  # so that blocks are many
    for name, size in (sizes | ({} if kept else {"_KEPT": 0})).items():
        monkeypatch.setattr(moments, name, size)
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 4))
    model = SVR(epsilon=0.001).fit(X, X[:, 0] * X[:, 1] + np.sin(X[:, 2]))
    inputs = X if given == "table" else dict.fromkeys(range(4), (-1.0, 2.0))
    one, *others = (sensitivity(model, inputs, order=2, n_jobs=n_jobs) for n_jobs in (1, 2, 3))
    for other in others:
        for name in ("first_order", "total_order", "shapley", "second_order", "variance", "mean"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        assert one.error_bound == other.error_bound


def test_few_digits_are_told():
    f = KernelExpansion([[0.0, 0.0], [1e-6, 0.0]], [1e9, -1e9], RBF())
    with pytest.warns(pkex.PrecisionWarning, match=r"about \d digits? of the indices are correct"):
        found = sensitivity(f, np.random.default_rng(9).normal(size=(20, 2)))
    assert found.error_bound > 1e-4
    assert found.shapley.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, "order must be 1 or 2, got 3"),
        ({"X": [[0.0, 0.0]]}, "at least 2 rows"),
        ({"sample_weight": [1.0]}, "one for each row of X"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, "not be negative, and not 0 everywhere"),
        ({"X": {"x0": (0.0, 1.0)}}, "no distribution for"),
        ({"X": {"x0": (0.0, 1.0), "x1": (1.0, 0.0)}}, "low below high"),
        ({"X": {"x0": (0.0, 1.0), "x1": "normal"}}, "needs a range"),
        ({"X": {"x0": (0.0, 1.0), "x7": (0.0, 1.0)}}, "the columns are"),
        ({"X": {"x0": (0.0, 1.0), 0: (0.0, 1.0), "x1": (0.0, 1.0)}}, "two distributions"),
        ({"X": {"x0": (0.0, 1.0), "x1": stats.poisson(1e9)}}, "more than 10000 values"),
        ({"X": {0: (0.0, 1.0), 1: (0.0, 1.0)}, "sample_weight": [1.0]}, "needs a table of rows"),
        ({"X": [[1.0, 2.0], [1.0, 2.0]]}, "does not vary"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_bad_input(options, message):
    f = KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], RBF())
    given = {"X": [[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]} | options
    with pytest.raises(ValueError, match=message):
        sensitivity(f, given.pop("X"), **given)


@pytest.mark.parametrize(
    ("size", "width", "scale"),
    [(1.0, 1.0, 1.0), (1e3, 1.0, 1.0), (3e4, 1.0, 1.0), (2.0, 1e-5, 1.0), (2.0, 1e-7, 32.0)],
)
def test_rounding_is_within_the_error_bound(size, width, scale):
    """Against many digits, with coefficients that nearly cancel, and inputs that hardly vary."""
    rng = np.random.default_rng(13)
    points = np.repeat(rng.normal(size=(3, 2)), 2, axis=0)
    points[1::2] += rng.normal(size=(3, 2)) / size
    alpha = size * np.array([1.0, -1.0, 0.7, -0.7, -0.4, 0.4])
    X = 0.5 + width * rng.normal(size=(5, 2))
    found = sensitivity(KernelExpansion(points, alpha, RBF(scale)), X, order=2)
    with mpmath.workdps(60):
        scaled = [[[(mpf(x) - mpf(z)) / scale for z in points[:, j]] for x in X[:, j]]
                  for j in range(2)]  # fmt: skip
        exponents = [[[-(e**2) / 2 for e in row] for row in one] for one in scaled]
        k = np.array([[[mpmath.exp(e) for e in row] for row in one] for one in exponents])
        means = [k[j].sum(axis=0) / 5 for j in range(2)]
        forms = [k[j].T.dot(k[j]) / 5 for j in range(2)]
        weights = np.array([mpf(a) for a in alpha])

        def form(first, second):
            return weights.dot((first * second).dot(weights))

        absent = [np.outer(mean, mean) for mean in means]
        nobody, variance = form(*absent), form(*forms) - form(*absent)
        first = [(form(forms[j], absent[1 - j]) - nobody) / variance for j in range(2)]
        second = 1 - first[0] - first[1]
        wanted = np.array([[x, x + second / 2, x + second] for x in first], dtype=float)
    off = [
        np.abs(found.first_order - wanted[:, 0]).max(),
        np.abs(found.shapley - wanted[:, 1]).max(),
        np.abs(found.total_order - wanted[:, 2]).max(),
        abs(found.second_order[0, 1] - float(second)),
    ]
    assert max(off) <= found.error_bound < 1e-4
    assert found.variance == pytest.approx(float(variance), rel=10.0 * found.error_bound)


def test_the_error_bound_has_the_roundings_of_all_players():
    """Of one atom of many players, one of which has most of the variance, beside many digits."""
    rng = np.random.default_rng(3)
    n_players = 1500
    scales = np.append(2.0, np.full(n_players - 1, 32.0))
    point, X = rng.normal(size=(1, n_players)), rng.normal(size=(4, n_players))
    found = sensitivity(KernelExpansion(point, [1.0], RBF(scales.tolist())), X, n_jobs=1)
    with mpmath.workdps(40):
        means, squares = [], []
        for z, scale, column in zip(point[0], scales, X.T, strict=True):
            factors = [mpmath.exp(-(((mpf(x) - mpf(z)) / scale) ** 2) / 2) for x in column]
            means.append((sum(factors) / 4) ** 2)
            squares.append(sum(one * one for one in factors) / 4)
        absent, present = mpmath.fprod(means), mpmath.fprod(squares)
        variance = present - absent
        parts = [b - a for a, b in zip(means, squares, strict=True)]
        first = [c * absent / a / variance for c, a in zip(parts, means, strict=True)]
        total = [c * present / b / variance for c, b in zip(parts, squares, strict=True)]
        off = abs(mpf(float(found.variance)) / variance - 1)
        for values, wanted in ((found.first_order, first), (found.total_order, total)):
            errors = [abs(mpf(float(x)) - y) for x, y in zip(values, wanted, strict=True)]
            off = max(off, *errors)
    assert off <= found.error_bound < 1e-11
