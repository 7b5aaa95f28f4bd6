"""`Explanation.error_bound` holds in forty digits, and a warning comes where it is large.

The oracle takes the stored numbers of an expansion (points, coefficients, prepared rows) exactly
and computes the game of every pair in forty digits, from the definition. Numbers are those of
gmpy2, which takes a tenth of the time of mpmath where there are so many.
"""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from functools import cache
from math import comb, prod

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVR, NuSVC

import pkex
from pkex import Explainer, Explanation, KernelExpansion, PrecisionWarning, as_expansion
from pkex.kernels import RBF, Linear, Matern
from pkex.models.preparation import to_model_columns
from tests._support.models import MODELS
from tests._support.models.data import CULTIVAR, WINE
from tests.explain.test_sparse import KERNELS, REMOVALS, SPARSE_MODELS, WIDTHS

pytestmark = pytest.mark.digits

BITS = 140  # more than forty digits
MANY_TERMS = 12  # beyond, a background has two rows, as forty digits take their time


# ---------------------------------------------------------------------------------------- oracle


def factor(leaf, place, x, z):
    """Return the factor of one column, `place` among those that the leaf covers, by its formula."""
    apart = mpfr(x) - mpfr(z)
    name = type(leaf).__name__
    if name == "Dot":
        return mpfr(x) * mpfr(z)
    if name == "Monomial":
        return (mpfr(x) * mpfr(z)) ** leaf.powers[place]
    if name == "Chi2":
        gamma = leaf.gamma[place] if isinstance(leaf.gamma, tuple) else leaf.gamma
        return gmpy2.exp(-mpfr(gamma) * apart**2 / (mpfr(x) + mpfr(z))) if apart else mpfr(1)
    scales = leaf.length_scale
    scale = mpfr(scales[place] if isinstance(scales, tuple) else scales)
    if name == "RBF":
        return gmpy2.exp(-(apart**2) / (2 * scale**2))
    if name == "Cauchy":
        return 1 / (1 + (apart / scale) ** 2)
    if name == "Laplacian":
        return gmpy2.exp(-abs(apart) / scale)
    if name == "ProductMatern":
        a = gmpy2.sqrt(2 * mpfr(leaf.nu)) * abs(apart) / scale
        return {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[leaf.nu] * gmpy2.exp(-a)
    assert name == "Periodic"
    turn = gmpy2.const_pi() * apart / mpfr(leaf.periodicity)
    return gmpy2.exp(-2 * gmpy2.sin(turn) ** 2 / scale**2)


def player_factors(term, players, row, point):
    """Return the factor of each player: the product over its columns and the leaves."""
    found = [mpfr(1)] * len(players)
    owner = {column: k for k, columns in enumerate(players) for column in columns}
    for leaf in term.leaves:
        covered = range(term.n_columns) if leaf.columns is None else leaf.columns
        for place, column in enumerate(covered):
            found[owner[column]] *= factor(leaf, place, float(row[column]), float(point[column]))
    return found


def pair_values(present, absent):
    """Return the Shapley values of the product game of a pair."""
    d = len(present)
    weights = [mpfr(1) / (d * comb(d - 1, q)) for q in range(d)]
    values = []
    for j in range(d):
        counts = [mpfr(1)]  # sums of products by the number of players present
        for i in range(d):
            if i != j:
                up, stay = [mpfr(0), *counts], [*counts, mpfr(0)]
                counts = [present[i] * a + absent[i] * b for a, b in zip(up, stay, strict=True)]
        integral = sum(w * c for w, c in zip(weights, counts, strict=True))
        values.append((present[j] - absent[j]) * integral)
    return values


def pairs(explain, table, row):
    """Yield the games of a row: weights of the outputs, present and absent factors."""
    expansion = explain.expansion
    for part, games in zip(expansion.parts, explain.problem.games, strict=True):
        prepared = part.prepare(to_model_columns(expansion, table))[row]
        alpha = part.coefficients.reshape(len(part.points), -1)
        for term in part.kernel.terms(part.points.shape[1]):
            for point, weights in zip(part.points, alpha, strict=True):
                present = player_factors(term, games.plan.players, prepared, point)
                for share, absent in scenarios(term, games, point):
                    scale = mpfr(term.coefficient) * share
                    yield [mpfr(float(weight)) * scale for weight in weights], present, absent


def ends(explain, games):
    """Return the base and the prediction of a row."""
    base = [mpfr(0)] * explain.expansion.n_outputs
    for part in explain.expansion.parts:
        base = [
            b + mpfr(float(o)) for b, o in zip(base, np.atleast_1d(part.intercept), strict=True)
        ]
    total = list(base)
    for weights, present, absent in games:
        for k, weight in enumerate(weights):
            base[k] += weight * prod(absent)
            total[k] += weight * prod(present)
    return base, total


def exact(explain, table, row):
    """Return the values (players, outputs), the base and the prediction of a row."""
    values = [[mpfr(0)] * explain.expansion.n_outputs for _ in explain.feature_groups]
    games = list(pairs(explain, table, row))
    for weights, present, absent in games:
        for j, value in enumerate(pair_values(present, absent)):
            for k, weight in enumerate(weights):
                values[j][k] += weight * value
    return values, *ends(explain, games)


def scenarios(term, games, point):
    """Return the weights and absent factors of the scenarios of a pair."""
    background = games.background
    if background is None:
        return [(mpfr(1), [mpfr(1)] * len(games.plan.players))]
    shares = [mpfr(float(share)) for share in background.weights]
    shares = [share / sum(shares) for share in shares]
    every = [player_factors(term, games.plan.players, row, point) for row in background.rows]
    if not background.marginal:
        return list(zip(shares, every, strict=True))
    pairs = list(zip(shares, every, strict=True))
    means = [sum(share * one[j] for share, one in pairs) for j in range(len(games.plan.players))]
    return [(mpfr(1), means)]


def check(explain, table, row=0):
    """Compare a row with the oracle, and return the largest error and its bound."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        explanation = explain(table)
    shape = explanation.base_values.shape
    assert explanation.error_bound.shape == shape
    values, bases, predictions = explanation.with_output_axis()
    bound = explanation.error_bound.reshape(len(values), -1)[row]
    worst = 0.0
    with gmpy2.context(precision=BITS):
        expected, base, total = exact(explain, table, row)
        for k, limit in enumerate(bound):
            gaps = [abs(mpfr(float(values[row, j, k])) - e[k]) for j, e in enumerate(expected)]
            gaps += [abs(mpfr(float(bases[row, k])) - base[k])]
            gaps += [abs(mpfr(float(predictions[row, k])) - total[k])]
            assert max(gaps) <= limit
            worst = max(worst, float(max(gaps)))
    return worst, float(bound.max())


def check_ends(explain, rows, *results):
    """Compare base and prediction of the first row of some results with the oracle."""
    with gmpy2.context(precision=BITS):
        expected = np.array(ends(explain, pairs(explain, rows, 0)))
        for result in results:
            found = [np.atleast_1d(part[0]) for part in (result.base_values, result.predictions)]
            assert (abs(np.array(found) - expected) <= np.atleast_1d(result.error_bound[0])).all()


# ------------------------------------------------------------------------------- the bound holds


@cache
def noisy_process():
    table, y = load_diabetes(return_X_y=True)
    return GaussianProcessRegressor(gp.RBF(20.0), optimizer=None).fit(table, y), table


@cache
def noisy_classifier():
    table = np.random.default_rng(5).normal(size=(80, 3))[40:]
    label = (table[:, 0] > 0.0).astype(int)
    both = np.vstack([table, table[:20]])
    model = NuSVC(nu=0.1).fit(both, np.concatenate([label, 1 - label[:20]]))
    return model, table


@pytest.mark.parametrize("game", ["neutral", "product-of-marginals", "interventional"])
def test_the_bound_holds_where_coefficients_are_huge(game):
    model, table = noisy_process()
    background = None if game == "neutral" else table[: 12 if game == "product-of-marginals" else 2]
    explain = Explainer(model, background, removal=game)
    worst, bound = check(explain, table[:1])
    assert worst > 1e-5  # rounding shows
    assert bound < 100.0


def test_the_bound_holds_for_conflicting_duplicates():
    model, table = noisy_classifier()
    for options in ({}, {"removal": "neutral"}, {"background": table[:3]}):
        worst, bound = check(Explainer(model, **options), table[:2], row=1)
        assert bound > 1.0  # more than an output is worth, and it says so
        assert worst <= bound


def made_by(case):
    with case.quiet():
        model = case.model()
        background = None if case.own_data else case.background
        model = as_expansion(model, **case.given) if case.given else model
        explain = Explainer(model, background, removal="product-of-marginals")
        parts = explain.expansion.parts
        if any(len(part.kernel.terms(part.points.shape[1])) > MANY_TERMS for part in parts):
            explain = Explainer(model, case.rows[:2], removal="product-of-marginals")
        return explain


@pytest.mark.parametrize("case", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore:.*combines columns")
def test_well_posed_models_are_right_to_their_bound_without_a_warning(case):
    """The warnings of pkex are errors in these tests."""
    explain = made_by(case)
    with case.quiet():
        explanation = explain(case.rows)
        spread = np.max(explain.problem.noise.spread(100))
        assert explanation.error_bound.max() < 1e-6 * max(
            spread, np.abs(explanation.predictions).max()
        )
        worst, bound = check(explain, case.rows)
    assert worst <= bound


def test_the_bound_holds_where_averaged_factors_cancel():
    """The rounding of a mean is relative to what is averaged, not to what is left."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)) * [1e6, 1.0, 1e3]
    rows -= rows.mean(axis=0)
    points = rng.normal(size=(7, 3)) * [1e3, 1.0, 10.0]
    alpha = rng.normal(size=7)
    for kernel in (Linear(), RBF([1e6, 1.0, 1e3]) * Linear(), RBF(1e6) + 0.5 * Linear()):
        for removal in ("product-of-marginals", "interventional"):
            f = KernelExpansion(points, alpha, kernel)
            check(Explainer(f, rows[:20], removal=removal), rows[20:22])


@pytest.mark.parametrize("distance", [5.0, 12.0, 20.0])
def test_the_bound_holds_in_the_tail_and_is_small_there(distance):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(30, 3))
    f = KernelExpansion(points, np.full(30, 1.0 / 30.0), RBF([0.7, 1.0, 1.3]))
    row = rng.normal(size=(1, 3)) + distance
    for background in (points[:10] + distance, points[:1] + 0.9 * distance):
        for removal in ("product-of-marginals", "interventional"):
            explain = Explainer(f, background, removal=removal)
            worst, bound = check(explain, row)
            assert worst <= bound < 1e-12 * np.exp(-distance)


def test_a_tolerance_is_part_of_the_bound():
    rng = np.random.default_rng(1)
    f = KernelExpansion(rng.normal(size=(5, 25)), rng.normal(size=5), RBF(2.0))
    rows = rng.normal(size=(1, 25))
    for removal, shows in (("neutral", 1e-9), ("product-of-marginals", 1e-10)):  # rounding is 1e-15
        loose = Explainer(f, removal=removal, tol=1e-4)
        worst, bound = check(loose, rows)
        assert shows < worst < bound < 1e-2


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:30])
@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.filterwarnings("ignore::pkex.errors.PrecisionWarning")  # of sparse rows
def test_the_bound_holds_for_dense_rows_of_sparse_points(kernel, removal):
    """Points far from 0 and near each other: what sparse sums take away again is large."""
    rng = np.random.default_rng(1)
    for n_columns, size, near in ((40, 1.0, 0.1), (300, 1e3, 0.01)):
        if n_columns != 40 and (isinstance(kernel, Matern) or kernel == RBF(WIDTHS)):
            continue  # there are widths of 40 columns, and digits of many terms take their time
        stored = rng.random((6, n_columns)) < 0.5
        points = np.where(stored, size * rng.random((6, n_columns)), 0.0)
        rows = points[:3] + np.where(stored[:3], near * rng.random((3, n_columns)), 0.0)
        f = KernelExpansion(csr_array(points), rng.normal(size=6), kernel, 0.1)
        background = None if removal == "neutral" else csr_array(rows[1:])
        explain = Explainer(f, background, removal=removal)
        few = explain.interactions(rows[:1], subsets=[(0, 1)], index="SII")
        check_ends(explain, rows[:1], explain(rows[:1]), explain(csr_array(rows[:1])), few)


@pytest.mark.parametrize("case", SPARSE_MODELS, ids=str)
def test_the_bound_holds_for_models_of_sparse_rows(case):
    with case.quiet():
        explain = Explainer(case.model(), case.background, outputs=case.choice)
        check_ends(explain, case.rows, explain(case.rows), explain(case.sparse_rows))


# ------------------------------------------------------------------------------------- the warning


@pytest.mark.parametrize("options", [{}, {"removal": "neutral"}])
def test_noise_is_not_returned_without_a_word(options):
    for model, table in (noisy_process(), noisy_classifier()):
        explain = Explainer(model, **options)
        for _ in range(2):
            with pytest.warns(
                PrecisionWarning, match="coefficients of this model are so"
            ) as caught:
                explanation = explain(table[:3])
            assert [w.filename for w in caught] == [__file__]
        assert f"error bound {explanation.error_bound.max():.1g}" in repr(explanation)
        assert "relative error" not in repr(explanation)


def test_an_error_that_was_asked_for_is_no_reason_to_warn():
    rng = np.random.default_rng(0)
    f = KernelExpansion(rng.normal(size=(20, 60)), rng.normal(size=20), RBF(3.0))
    explanation = Explainer(f, removal="neutral", tol=1e-3)(rng.normal(size=(2, 60)))
    assert explanation.additivity_error > 1e-6 * f.predict(f.points).std()


def test_predictions_that_hardly_vary_are_noise_sooner():
    """An optimiser that was led astray by the units of the columns: all is one constant."""
    kernel = 1.0 * gp.RBF(2e5) + gp.WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(WINE, CULTIVAR)
    assert 1e-9 < model.predict(WINE).std() < 1e-7
    with pytest.warns(PrecisionWarning):
        Explainer(model)(WINE[:2])


def test_the_warning_is_for_each_output():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 2))
    points[10:] = points[:10] + 1e-9
    huge = 1e12 * np.concatenate([np.ones(10), -np.ones(10)])
    calm = rng.normal(size=20)
    explain = Explainer(KernelExpansion(points, np.stack([calm, huge], axis=1), RBF()))
    with pytest.warns(PrecisionWarning):
        explanation = explain(points[:2])
    assert explanation.error_bound[:, 0].max() < 1e-11 < 1e-4 < explanation.error_bound[:, 1].min()


@pytest.mark.parametrize(
    "f",
    [
        KernelExpansion([[0.0]], [3.0], RBF()),
        KernelExpansion([[0.0], [1.0]], [0.0, 0.0], RBF()),
        KernelExpansion([[0.0], [1.0]], [1.0, 1.0], pkex.kernels.Constant(2.0)),
        KernelExpansion([[0.0], [1.0]], [1e-300, 1e-300], RBF()),
        KernelExpansion([[0.0], [1.0]], [1.0, -1.0], RBF(), 1e6),
    ],
)
@pytest.mark.parametrize("removal", ["product-of-marginals", "neutral"])
def test_predictions_that_do_not_vary_are_no_reason_to_warn(f, removal):
    explanation = Explainer(f, removal=removal)([[0.5], [2.0]])
    assert np.isfinite(explanation.error_bound).all()


def test_no_rows_have_no_error():
    explain = Explainer(KernelExpansion([[0.0]], [3.0], RBF()))
    assert explain(np.ones((3, 1)))[:0].error_bound.shape == (0,)


# -------------------------------------------------------------------------- carried with the values


def test_the_error_goes_where_the_values_go(tmp_path):
    rng = np.random.default_rng(2)
    f = KernelExpansion(rng.normal(size=(8, 3)), rng.normal(size=(8, 2)), RBF())
    explanation = Explainer(f)(rng.normal(size=(5, 3)) * 30.0)
    assert explanation.error_bound.shape == (5, 2)
    explanation.save(tmp_path / "file.npz")
    for again in (
        Explanation.load(tmp_path / "file.npz"),
        pickle.loads(pickle.dumps(explanation)),
    ):
        assert np.array_equal(again.error_bound, explanation.error_bound)
    assert np.array_equal(explanation[1:3].error_bound, explanation.error_bound[1:3])
    assert np.array_equal(explanation[..., "y1"].error_bound, explanation.error_bound[:, 1])
    assert np.array_equal(explanation[2, "x1", 0].error_bound, explanation.error_bound[2:3, 0])
    unknown = replace(explanation, error_bound=None)
    unknown.save(tmp_path / "other.npz")
    assert Explanation.load(tmp_path / "other.npz").error_bound is None
    assert unknown[0].error_bound is None
    assert "sum|alpha|" in repr(unknown)
    with pytest.raises(ValueError, match=r"error_bound must have shape \(5, 2\)"):
        replace(explanation, error_bound=explanation.error_bound[:3])


def test_the_report_states_the_error(tmp_path):
    model = SVR().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 0.0])
    explanation = Explainer(model)([[0.5], [2.0]])
    explanation.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Proven, of every value and prediction; in their units" in page
