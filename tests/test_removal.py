"""Interventional and marginal removal against their definitions, and against shap.

The oracles know the model only by its predictions. Under interventional removal a coalition is
worth the mean prediction when the other columns are those of a background row; under marginal
removal every absent player is drawn from the background independently of the others, so all
combinations of background rows are predicted. Shapley values follow by enumeration.
"""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import KERNELS, Case, assert_close, sample, scales
from models import MODELS
from naive import shapley_by_enumeration
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer, KernelExpansion, UnsupportedModelError
from pkex.games import points, single_player, sources
from pkex.games.plan import Plan
from pkex.games.points import Background, WeightedPoints
from pkex.kernels import RBF, Constant, Custom, Linear

GAMES = ("interventional", "marginal")
LINEAR = [
    Case("linear", lambda s, p: Linear(), unit=False),
    Case("rbf-plus-linear", lambda s, p: RBF(s, columns=p) + 0.3 * Linear(), unit=False),
    Case("rbf-times-linear", lambda s, p: RBF(s, columns=p) * Linear(), unit=False),
    Case(
        "linear-and-constant-times-rbf",
        lambda s, p: (Linear() + Constant(0.5)) * RBF(s, columns=p) + Constant(2.0),
        unit=False,
    ),
]
CASES = [*KERNELS, *LINEAR]

all_kernels = pytest.mark.parametrize("case", CASES, ids=str)
all_games = pytest.mark.parametrize("removal", GAMES)


# --------------------------------------------------------------------------------------- oracles


def spliced(row, replacements, players, present):
    """Return a row for each replacement, with the columns of the players present from `row`."""
    rows = np.array(replacements)
    for player in present:
        rows[:, list(players[player])] = row[list(players[player])]
    return rows


def interventional(predict, row, background, shares, players):
    """Return the Shapley values and the base value by enumeration."""

    def value(present):
        return shares @ predict(spliced(row, background, players, present))

    return enumerated(value, len(players))


def marginal(predict, row, background, shares, players):
    """Return the same for players drawn independently: by all combinations of background rows."""
    draws = np.array(list(product(range(len(background)), repeat=len(players))))
    weights = shares[draws].prod(axis=1)
    rows = np.empty((len(draws), background.shape[1]))
    for i, columns in enumerate(players):
        for column in columns:
            rows[:, column] = background[draws[:, i], column]

    def value(present):
        return weights @ predict(spliced(row, rows, players, present))

    return enumerated(value, len(players))


def by_factors(kernel, points, alpha, row, background, shares, players):
    """Return the marginal values and base from the definition by mean factors."""
    d = points.shape[1]

    def value(present):
        worth = 0.0
        for term in kernel.terms(d):
            own = term.factors(row[None, :], points)[0]
            theirs = term.factors(background, points)
            product_of_all = np.full(len(points), term.coefficient)
            for i, columns in enumerate(players):
                if i in present:
                    product_of_all *= own[:, columns].prod(axis=1)
                else:
                    product_of_all *= shares @ theirs[:, :, columns].prod(axis=2)
            worth += product_of_all @ alpha
        return worth

    return enumerated(value, len(players))


def enumerated(value, n_players):
    table = {}

    def remembered(present):
        if present not in table:
            table[present] = value(present)
        return table[present]

    phi = shapley_by_enumeration(remembered, n_players)
    return np.array(phi, dtype=float), np.asarray(remembered(frozenset()))


ORACLES = {"interventional": interventional, "marginal": marginal}


def problem(case, d, n_background, seed=0, n=9, n_rows=2, outputs=()):
    rng = np.random.default_rng([seed, d, n_background, n])
    spread = scales(rng, d)
    points, rows = sample(rng, n, d), sample(rng, n_rows, d)
    background = sample(rng, n_background, d)
    alpha = rng.normal(size=(n, *outputs))
    return KernelExpansion(points, alpha, case.build(spread), 0.25), rows, background, spread


def singles(d):
    return tuple((j,) for j in range(d))


def magnitude(expansion, *rows):
    """The worth of a coalition at most, whichever rows its columns come from.

    Rounding errors of values and bases are relative to it.
    """
    points, total = expansion.points, 1.0
    alpha = np.abs(expansion.coefficients.reshape(len(points), -1)).max(axis=1)
    for term in expansion.kernel.terms(points.shape[1]):
        sizes = np.abs(term.factors(np.concatenate(rows), points)).max(axis=0)
        total += term.coefficient * alpha @ np.maximum(1.0, sizes).prod(axis=1)
    return total


def explained(expansion, rows, background=None, **options):
    return Explainer(expansion, background, **{"n_jobs": 1} | options)(rows)


def check(expansion, rows, background, removal, players=None, shares=None, **options):
    """Compare with the oracle, to 1e-13 of the largest worth: some hundreds of roundings."""
    players = singles(expansion.points.shape[1]) if players is None else players
    explanation = explained(expansion, rows, background, removal=removal, **options)
    shares = np.full(len(background), 1.0 / len(background)) if shares is None else shares
    atol = 1e-13 * magnitude(expansion, rows, background)
    for i, row in enumerate(rows):
        values, base = ORACLES[removal](expansion.predict, row, background, shares, players)
        assert_close(explanation.values[i], values, atol)
        assert_close(explanation.base_values[i], base, atol)
    return explanation


# ---------------------------------------------------------------------------------- definitions


@all_kernels
@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("removal", "d"), [*product(GAMES, (1, 2, 4)), ("interventional", 7)])
def test_values_equal_the_definition(case, d, removal, backend, monkeypatch):
    if backend == "native":
        pytest.importorskip("pkex.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    expansion, rows, background, _ = problem(case, d, 3)
    check(expansion, rows, background, removal)


@all_kernels
def test_marginal_values_equal_the_definition_by_mean_factors(case):
    expansion, rows, background, _ = problem(case, 6, 11)
    values = explained(expansion, rows, background, removal="marginal")
    atol = 1e-13 * magnitude(expansion, rows, background)
    shares = np.full(11, 1.0 / 11.0)
    for i, row in enumerate(rows):
        expected, base = by_factors(
            expansion.kernel,
            expansion.points,
            expansion.coefficients,
            row,
            background,
            shares,
            singles(6),
        )
        assert_close(values.values[i], expected, atol)
        assert_close(values.base_values[i], base + 0.25, atol)


@all_kernels
@all_games
def test_several_outputs(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3, outputs=(3,))
    explanation = check(expansion, rows, background, removal)
    assert explanation.values.shape == (2, 4, 3)
    assert explanation.base_values.shape == (2, 3)


@all_kernels
@all_games
def test_a_group_is_one_player(case, removal):
    """All its columns come from the same background row, also under marginal removal."""
    expansion, rows, background, _ = problem(case, 6, 3)
    players = ((0,), (1, 5), (2, 3), (4,))
    groups = {"a": [5, 1], "b": [2, 3]}
    explanation = check(expansion, rows, background, removal, players, groups=groups)
    assert explanation.feature_names == ("x0", "a", "b", "x4")


@all_kernels
@all_games
def test_one_group_of_all_columns(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3)
    check(expansion, rows, background, removal, ((0, 1, 2, 3),), groups=[[0, 1, 2, 3]])


@all_kernels
@all_games
def test_weights_of_the_background(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3)
    weights = np.array([1.0, 7.0, 0.25])
    shares = weights / weights.sum()
    check(expansion, rows, background, removal, shares=shares, background_weights=weights.tolist())


@all_kernels
def test_a_single_row_gives_baseline_values_in_both_games(case):
    expansion, rows, background, _ = problem(case, 5, 1)
    first = check(expansion, rows, background, "interventional")
    second = check(expansion, rows, background, "marginal")
    assert_close(first.values, second.values, 1e-14 * magnitude(expansion, rows, background))


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("budget", [1, 30, 200])
@all_games
def test_blocks_do_not_change_values(removal, budget, backend, monkeypatch):
    """Small blocks of pairs and of absent factors, kept for the next call or not."""
    if backend == "native":
        pytest.importorskip("pkex.native")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    for case in CASES[0], LINEAR[1], LINEAR[2]:
        expansion, rows, background, _ = problem(case, 4, 5, n=11, n_rows=3)
        whole = explained(expansion, rows, background, removal=removal)
        atol = 1e-14 * magnitude(expansion, rows, background)
        with monkeypatch.context() as small:
            small.setattr(sources, "_BLOCK", budget)
            small.setattr(points, "_ABSENT", budget)
            small.setattr(sources, "_SCENARIOS", budget)
            small.setattr(single_player, "_ROWS", budget)
            for kept in (0, 2**23):
                small.setattr(points, "_ABSENT_KEPT", kept)
                explain = Explainer(expansion, background, removal=removal, n_jobs=1)
                for again in (explain(rows), explain(rows)):
                    assert_close(again.values, whole.values, atol)
                    assert_close(again.base_values, whole.base_values, atol)


@pytest.mark.parametrize("kept", [0, 2**23])
@all_games
def test_threads_do_not_change_a_bit(removal, kept, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 500)
    monkeypatch.setattr(points, "_ABSENT_KEPT", kept)
    expansion, rows, background, _ = problem(CASES[0], 20, 7, n=60, n_rows=11)
    one, four = (
        explained(expansion, rows, background, removal=removal, n_jobs=n).values for n in (1, 4)
    )
    assert np.array_equal(one, four)


@all_kernels
@all_games
def test_the_two_backends_agree(case, removal, monkeypatch):
    pytest.importorskip("pkex.native")
    expansion, rows, background, _ = problem(case, 30, 6, n=20)
    found = []
    for backend in ("numpy", "native"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        found.append(explained(expansion, rows, background, removal=removal))
    atol = 1e-13 * magnitude(expansion, rows, background)
    assert_close(found[0].values, found[1].values, atol)
    assert_close(found[0].base_values, found[1].base_values, atol)


def test_the_backend_can_change_between_calls(monkeypatch):
    pytest.importorskip("pkex.native")
    expansion, rows, background, _ = problem(CASES[0], 6, 5)
    explain = Explainer(expansion, background)
    values = []
    for backend in ("numpy", "native", "numpy"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        values.append(explain(rows).values)
    assert_close(values[0], values[1], 1e-14)
    assert np.array_equal(values[0], values[2])


@all_games
def test_a_plan_serves_other_points_of_the_same_number(removal):
    """Absent factors that are kept belong to the points that they were made for."""
    rng = np.random.default_rng(0)
    rows, first, second, others = (rng.normal(size=(4, 3)) for _ in range(4))
    background = Background(np.asfortranarray(others), np.full(4, 0.25), removal == GAMES[1])
    used, fresh = (Plan.of(RBF().terms(3), singles(3), general=True) for _ in range(2))
    found = [
        WeightedPoints(plan, points, np.ones((4, 1)), background).explain(rows).values
        for plan, points in ((used, first), (used, second), (fresh, second))
    ]
    assert_close(found[1], found[2], 0)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@all_games
@pytest.mark.parametrize("d", [60, 300])
def test_a_tolerance_keeps_its_promise(removal, d):
    """An integral is off by tol at most, and a value by |p - a| <= 1 times that for each point."""
    rng = np.random.default_rng(d)
    expansion = KernelExpansion(rng.normal(size=(15, d)), rng.normal(size=15), RBF(d**0.5 / 3.0))
    rows, background = rng.normal(size=(3, d)), rng.normal(size=(4, d))
    tight = explained(expansion, rows, background, removal=removal)
    loose = explained(expansion, rows, background, removal=removal, tol=1e-5)
    error = np.abs(loose.values - tight.values).max()
    assert 0.0 < error <= 1e-5 * np.abs(expansion.coefficients).sum()
    assert max(r.size for r in loose.rules) < max(r.size for r in tight.rules)
    assert loose.rule.relative_error <= 1e-5


# ----------------------------------------------------------------------------------- properties


@all_kernels
@all_games
def test_values_and_base_sum_to_the_prediction(case, removal):
    expansion, rows, background, _ = problem(case, 9, 13)
    explanation = explained(expansion, rows, background, removal=removal)
    atol = 1e-13 * magnitude(expansion, rows, background)
    assert_close(explanation.predictions, expansion.predict(rows), atol)
    assert explanation.residual <= atol


@all_kernels
def test_the_base_is_the_mean_prediction_over_the_background(case):
    expansion, rows, background, _ = problem(case, 12, 40)
    atol = 1e-13 * magnitude(expansion, rows, background)
    predicted = expansion.predict(background)
    plain = Explainer(expansion, background)
    assert isinstance(plain.expected_value, float)
    assert_close(plain.expected_value, predicted.mean(), atol)
    assert_close(plain(rows).base_values, predicted.mean(), atol)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=40)
    weighted = Explainer(expansion, background, background_weights=weights)
    assert_close(weighted.expected_value, weights @ predicted / weights.sum(), atol)


def test_the_base_is_right_to_ten_digits_for_a_fitted_model():
    X, y = load_diabetes(return_X_y=True)
    model = SVR(C=50.0).fit(X, y)
    base = Explainer(model, X[:100]).expected_value
    assert abs(base / model.predict(X[:100]).mean() - 1.0) < 1e-10


@all_kernels
@all_games
def test_columns_that_look_alike_get_equal_values(case, removal):
    first, second = (1, 2) if case.name in ("mixed", "one-column") else (0, 3)
    expansion, rows, background, spread = problem(case, 6, 5)
    spread[second] = spread[first]
    points = expansion.points.copy()
    for table in (points, rows, background):
        table[:, second] = table[:, first]
    alike = KernelExpansion(points, expansion.coefficients, case.build(spread))
    values = explained(alike, rows, background, removal=removal).values
    atol = 1e-14 * magnitude(alike, rows, background)
    assert_close(values[:, first], values[:, second], atol)


@all_kernels
@all_games
def test_a_column_that_is_as_in_the_background_gets_nothing(case, removal):
    expansion, rows, background, _ = problem(case, 5, 4)
    rows[:, 2] = background[:, 2] = 1.25
    values = explained(expansion, rows, background, removal=removal).values
    assert_close(values[:, 2], 0.0, 1e-15 * magnitude(expansion, rows, background))


@all_games
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(columns=(0, 2)),
        RBF(columns=(0, 2)) + 0.5 * RBF(2.0, columns=(2, 3)),
        RBF(columns=(3,)),
        Constant(2.0),
    ],
)
def test_a_column_that_the_kernel_ignores_gets_exactly_nothing(kernel, removal):
    rng = np.random.default_rng(0)
    points, rows, background = rng.normal(size=(6, 5)), rng.normal(size=(3, 5)), rng.random((4, 5))
    expansion = KernelExpansion(points, rng.normal(size=6), kernel)
    values = explained(expansion, rows, background, removal=removal).values
    covered = {c for term in kernel.terms(5) for leaf in term.leaves for c in leaf.columns}
    for column in range(5):
        assert (values[:, column] == 0.0).all() == (column not in covered)


@all_kernels
@all_games
def test_values_are_linear_in_the_coefficients(case, removal):
    expansion, rows, background, _ = problem(case, 6, 4)
    points, alpha, kernel = expansion.points, expansion.coefficients, expansion.kernel
    beta = np.random.default_rng(1).normal(size=alpha.size)
    first, second, both = (
        explained(KernelExpansion(points, c, kernel), rows, background, removal=removal)
        for c in (alpha, beta, 2.0 * alpha - 3.0 * beta)
    )
    sizes = KernelExpansion(points, np.abs(alpha) + np.abs(beta), kernel)
    atol = 1e-14 * magnitude(sizes, rows, background)
    assert_close(both.values, 2.0 * first.values - 3.0 * second.values, atol)
    assert_close(both.base_values, 2.0 * first.base_values - 3.0 * second.base_values, atol)


@all_kernels
def test_values_are_linear_in_the_background(case):
    """Interventional values are the weighted mean of the baseline values of the rows."""
    expansion, rows, background, _ = problem(case, 6, 4)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    together = explained(expansion, rows, background, background_weights=weights)
    alone = [explained(expansion, rows, b[None, :]) for b in background]
    atol = 1e-14 * magnitude(expansion, rows, background)
    values = sum(w * each.values for w, each in zip(weights, alone, strict=True))
    assert_close(together.values, values, atol)


@all_kernels
@all_games
def test_permuting_columns_permutes_values(case, removal):
    expansion, rows, background, spread = problem(case, 7, 4)
    places = np.random.default_rng(2).permutation(7)
    moved = [np.empty_like(t) for t in (expansion.points, rows, background)]
    for table, original in zip(moved, (expansion.points, rows, background), strict=True):
        table[:, places] = original
    kernel = case.build(spread, places)
    there = KernelExpansion(moved[0], expansion.coefficients, kernel)
    values = explained(there, moved[1], moved[2], removal=removal).values
    plain = explained(expansion, rows, background, removal=removal).values
    assert_close(values[:, places], plain, 1e-13 * magnitude(expansion, rows, background))


@all_kernels
@all_games
def test_the_order_of_the_background_does_not_matter(case, removal):
    expansion, rows, background, _ = problem(case, 6, 9)
    order = np.random.default_rng(3).permutation(9)
    weights = np.arange(1.0, 10.0)
    first = explained(expansion, rows, background, removal=removal, background_weights=weights)
    second = explained(
        expansion, rows, background[order], removal=removal, background_weights=weights[order]
    )
    atol = 1e-14 * magnitude(expansion, rows, background)
    assert_close(first.values, second.values, atol)
    assert_close(first.base_values, second.base_values, atol)


@all_kernels
@all_games
def test_a_row_twice_is_a_row_of_weight_two(case, removal):
    expansion, rows, background, _ = problem(case, 6, 4)
    twice = np.vstack([background, background[1:2]])
    first = explained(expansion, rows, twice, removal=removal)
    second = explained(
        expansion, rows, background, removal=removal, background_weights=[5.0, 10.0, 5.0, 5.0]
    )
    atol = 1e-14 * magnitude(expansion, rows, background)
    assert_close(first.values, second.values, atol)
    assert_close(first.base_values, second.base_values, atol)


@all_kernels
@all_games
def test_a_row_explained_by_itself_has_values_zero(case, removal):
    expansion, rows, _, _ = problem(case, 8, 1)
    explanation = explained(expansion, rows[:1], rows[:1], removal=removal)
    atol = 1e-14 * magnitude(expansion, rows)
    assert_close(explanation.values, 0.0, atol)
    assert_close(explanation.base_values, expansion.predict(rows[:1]), atol)


@pytest.mark.parametrize("case", [case for case in KERNELS if case.unit], ids=str)
def test_a_background_where_all_factors_are_one_is_neutral_removal(case):
    """The neutral game is the general one with absent factors 1."""
    expansion, rows, _, _ = problem(case, 6, 1)
    point = KernelExpansion(expansion.points[:1], [1.5], expansion.kernel, 0.25)
    neutral, general = (
        Explainer(point, removal="neutral")(rows),
        Explainer(point, expansion.points[:1])(rows),
    )
    atol = 1e-14 * magnitude(point, rows)
    assert_close(neutral.values, general.values, atol)
    assert_close(neutral.base_values, general.base_values, atol)


def test_linear_values_are_those_of_a_linear_model():
    """A weight times the distance to the mean, in both games, for any number of columns."""
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(40, 200)), rng.normal(size=(40, 2))
    rows, background = rng.normal(size=(5, 200)), rng.normal(size=(30, 200))
    shares = rng.random(30)
    slopes = points.T @ alpha
    expected = (rows - shares @ background / shares.sum())[:, :, None] * slopes
    f = KernelExpansion(points, alpha, Linear(), [1.0, -2.0])
    for removal in GAMES:
        found = explained(f, rows, background, removal=removal, background_weights=shares)
        assert_close(found.values, expected, 1e-13 * np.abs(alpha).sum())
        assert_close(found.predictions, f.predict(rows), 1e-12 * np.abs(alpha).sum())


def test_one_column_keeps_its_digits_under_neutral_removal():
    """As several columns do: the deficit is never taken as 1 - k."""
    point = KernelExpansion([[1.0]], [1.0], RBF(1e9))
    assert_close(Explainer(point, removal="neutral")([[0.0]]).values, -5e-19, 1e-33)
    several = KernelExpansion([[1.0, 2.0]], [1.0], RBF(1e9))
    grouped = Explainer(several, groups=[[0, 1]], removal="neutral")([[0.0, 0.0]]).values
    assert_close(grouped, -2.5e-18, 1e-32)


# --------------------------------------------------------------------- fitted models, own outputs


def table_rows(table, rows):
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def spliced_table(table, row, present):
    """Return the rows of the table with the columns `present` from the row of that number."""
    if hasattr(table, "iloc"):
        result = table.copy()
        for column in present:
            result[table.columns[column]] = [table.iloc[row, column]] * len(table)
        return result.astype(table.dtypes)
    result = np.array(table.toarray() if hasattr(table, "toarray") else table)
    result[:, list(present)] = result[row, list(present)]
    return csr_matrix(result) if hasattr(table, "toarray") else result


@pytest.mark.parametrize("case", [case for case in MODELS if case.warns is None], ids=str)
def test_fitted_models_against_their_own_outputs(case):
    """Background and coalitions in the columns of the user, through all steps of a pipeline."""
    n_players, n_rows = len(case.feature_names), case.rows.shape[0]
    model = pkex.as_expansion(case.model(), **case.given) if case.given else case.model()
    with case.quiet():
        explanation = Explainer(model, case.rows, outputs=case.choice)(case.rows)

        def value(present):
            outputs = case.own_output(spliced_table(case.rows, 0, sorted(present)))
            return outputs.reshape(n_rows, -1).mean(axis=0)

        values, base = enumerated(value, n_players)
    # the rounding of scikit-learn's predictions, relative to the size of their terms
    atol = 1e-10 * np.maximum(np.abs(base), case.size())
    assert (np.abs(explanation.values[0].reshape(values.shape) - values) <= atol).all()
    assert (np.abs(explanation.base_values[0].reshape(base.shape) - base) <= atol).all()


def test_a_background_before_a_step_that_mixes_columns():
    """It is given in the user's columns; what comes out of the step is explained."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), PCA(3), SVR(C=20.0)).fit(X, y)
    with pytest.warns(UserWarning, match="PCA mixes columns"):
        explanation = Explainer(model, X[:6])(X[10:12])
    mixed = model[:-1].transform(X)
    for i, row in enumerate(mixed[10:12]):
        shares = np.full(6, 1.0 / 6.0)
        values, base = interventional(model[-1].predict, row, mixed[:6], shares, singles(3))
        assert_close(explanation.values[i], values, 1e-9)
        assert_close(explanation.base_values[i], base, 1e-9)


# ------------------------------------------------------------------------------------------ shap


@pytest.fixture(scope="module")
def shap():
    """The module, whose import sets off a warning of matplotlib's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The set_bad function", PendingDeprecationWarning)
        import shap

        return shap


def shap_exact(shap, function, background, rows):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.explainers.ExactExplainer(function, masker)(rows)


X, TARGET = load_diabetes(return_X_y=True)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)[:120, :10]
ARD = gp.RBF([0.1, 0.3, 0.05, 0.2, 0.5, 0.4, 0.1, 0.3, 0.06, 0.2])


def process(kernel):
    return GaussianProcessRegressor(kernel, alpha=0.5, optimizer=None, normalize_y=True)


@pytest.mark.parametrize(
    ("model", "table", "y", "method"),
    [
        (SVR(C=50.0), X, TARGET, "predict"),
        (SVC(C=3.0), CANCER, BENIGN[:120], "decision_function"),
        (KernelRidge(kernel="rbf", gamma=20.0, alpha=0.1), X, TARGET, "predict"),
        (KernelRidge(kernel="laplacian", gamma=4.0, alpha=0.1), X[:, :6], TARGET, "predict"),
        (process(3.0 * ARD + gp.WhiteKernel(0.2)), X, TARGET, "predict"),
        (process(gp.DotProduct(0.5) + gp.RBF(0.2)), X[:, :6], TARGET, "predict"),
        (process(gp.DotProduct(0.5) * gp.RBF(0.2)), X[:, :6], TARGET, "predict"),
        (SVR(kernel="linear", C=50.0), X, TARGET, "predict"),
        (SVC(kernel="linear"), CANCER, BENIGN[:120], "decision_function"),
        (KernelRidge(alpha=0.1), X, TARGET, "predict"),
    ],
    ids=lambda given: str(given) if hasattr(given, "fit") else "",
)
def test_shap_enumerates_the_same_values(shap, model, table, y, method):
    table = table[:120]
    fitted = model.fit(table, y[:120])
    background, rows = table[20:32], table[:2]
    theirs = shap_exact(shap, getattr(fitted, method), background, rows)
    ours = Explainer(fitted, background)(rows)
    scale = max(1.0, np.abs(theirs.values).max())
    assert_close(ours.values, theirs.values, 1e-9 * scale)
    assert_close(ours.base_values, theirs.base_values, 1e-9 * scale)


def test_shap_enumerates_the_same_values_of_a_pipeline_on_a_frame(shap):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    frame = frame.drop(columns=["s1", "s2", "s3"])
    model = make_pipeline(StandardScaler(), SVR(C=20.0)).fit(frame, y)

    def function(rows):
        return model.predict(pd.DataFrame(rows, columns=frame.columns))

    theirs = shap_exact(shap, function, frame[30:42], frame[:2])
    ours = Explainer(model, frame[30:42])(frame[:2])
    assert_close(ours.values, theirs.values, 1e-9 * np.abs(theirs.values).max())
    assert ours.feature_names == tuple(frame.columns)
    assert_close(ours.to_shap().values, ours.values, 0.0)


def wide_model(d):
    rng = np.random.default_rng(d)
    table = rng.normal(size=(200, d))
    y = table[:, 0] * table[:, 1] + np.sin(table[:, 2]) + 0.1 * table.sum(axis=1)
    model = SVR(C=5.0, gamma=2.0 / d).fit(table, y)
    return model, table[:10], table[20:21]


def permutation_estimates(shap, model, background, row, repeats):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    evaluations = 2 * row.shape[1] + 1  # one permutation, forwards and backwards
    return np.array(
        [
            shap.PermutationExplainer(model.predict, masker, seed=seed)(
                row, max_evals=evaluations, silent=True
            ).values[0]
            for seed in range(repeats)
        ]
    )


def kernel_estimates(shap, model, background, row, repeats):
    estimates = []
    explain = shap.KernelExplainer(model.predict, background)
    for seed in range(repeats):
        np.random.seed(seed)  # noqa: NPY002 - it takes no seed of its own
        # all features in the regression, or it would be biased
        estimates.append(explain.shap_values(row, nsamples=900, l1_reg=False, silent=True)[0])
    return np.array(estimates)


def z_scores(estimates, values):
    """Return how many standard errors the mean of independent estimates is from the values."""
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return (estimates.mean(axis=0) - values) / error


@pytest.mark.parametrize("d", [30, 100])
@pytest.mark.parametrize(
    ("estimate", "repeats"), [(permutation_estimates, 40), (kernel_estimates, 20)]
)
def test_estimates_of_shap_lie_around_the_values(shap, estimate, repeats, d):
    """Within their own sampling error, and that error is small enough to tell other values apart.

    A z-score has the t distribution with at least 19 degrees of freedom: among 100 of them one
    above 5 has probability 0.008, and the mean of their squares is 19/17 with a standard deviation
    of 0.2. Both are checked at fixed seeds.
    """
    model, background, row = wide_model(d)
    estimates = estimate(shap, model, background, row, repeats)
    values = Explainer(model, background)(row).values[0]
    z = z_scores(estimates, values)
    assert np.abs(z).max() < 5.0
    assert 0.4 < (z**2).mean() < 2.0
    for other in ("neutral", "marginal"):
        theirs = Explainer(model, None if other == "neutral" else background, removal=other)
        wrong = z_scores(estimates, theirs(row).values[0])
        assert np.abs(wrong).max() > 5.0, other


# ------------------------------------------------------------------------------- names and errors

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
        "marginal": Explainer(EXPANSION, BACKGROUND, removal="marginal"),
    }
    for removal, explain in found.items():
        name = removal or "marginal"
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
    assert explanation.rule.relative_error <= pkex.rules.FULL_PRECISION
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
    expected = Explainer(two, BACKGROUND).expected_value
    assert expected.shape == (2,)
    assert_close(expected, two.predict(BACKGROUND).mean(axis=0), 1e-11)


def nan_above_a_half(x, z):
    return np.where(x > 0.5, np.nan, 1.0) * (z == z)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("removal", ["neutral", *GAMES])
@pytest.mark.parametrize("d", [1, 4])
def test_factors_that_are_nan_are_refused_with_a_sentence(removal, d, backend, monkeypatch):
    if backend == "native":
        pytest.importorskip("pkex.native")
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
        (options(background=3.0), ValueError, "two-dimensional"),
        (options(background="rows"), TypeError, "real numbers"),
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
        (options(removal="conditional"), ValueError, "'marginal', 'interventional' or 'neutral'"),
        (options(background=BACKGROUND, removal="mean"), ValueError, "got 'mean'"),
        (options(background=BACKGROUND, removal="neutral"), ValueError, "takes no background"),
        (options(removal="interventional"), ValueError, r"pass some rows.*X_train\[:100\]"),
        (lambda: Explainer(LINEAR_MODEL, removal="neutral"), UnsupportedModelError,
         "linear part.*Leave out removal='neutral'.*pass a background"),
        (lambda: Explainer(WITH_LINEAR_PART, removal="neutral"), UnsupportedModelError,
         "linear part.*pass a background"),
        (lambda: Explainer(WITHOUT_DATA), ValueError,
         r"keeps none.*Explainer\(model, X_train\[:100\]\), or choose removal='neutral'"),
        (lambda: Explainer(WITHOUT_DATA, removal="marginal"), ValueError, "keeps none"),
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
        pytest.importorskip("pkex.native")
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
