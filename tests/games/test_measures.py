"""Banzhaf and Beta-Shapley values: against enumeration, shapiq, and rules in 40 digits."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import beta as beta_function

import pkex
from pkex.games import Banzhaf, BetaShapley, Shapley
from pkex.games.measures import parse_measure
from tests._support.cases import KERNELS, assert_close, sample, scales
from tests._support.pairwise import pairwise

MEASURES = [
    Banzhaf(),
    BetaShapley(1, 1),
    BetaShapley(16, 1),
    BetaShapley(1, 16),
    BetaShapley(4, 0.5),
    BetaShapley(64, 64),
]
BETAS = [measure for measure in MEASURES if isinstance(measure, BetaShapley)]
REMOVALS = ("neutral", "product-of-marginals", "interventional")


def named(measure):
    return measure.index


def weight(measure, n, size):
    """The weight of one coalition of `size` of the other players, as Kwon and Zou have it."""
    if isinstance(measure, Banzhaf):
        return 0.5 ** (n - 1)
    a, b = measure.alpha, measure.beta
    # w(j) of their paper for j = size + 1, divided by n and by the coalitions of that size
    j = size + 1
    share = n * beta_function(j + b - 1, n - j + a) / beta_function(a, b)
    return share / n


def enumerated(measure, worth, n):
    """The values of a game by its definition; `worth` takes a tuple of players."""
    values = np.zeros(n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            for subset in combinations(others, size):
                change = worth(tuple(sorted((*subset, j)))) - worth(subset)
                values[j] += weight(measure, n, size) * change
    return values


def game_of(expansion, row, removal, background):
    """The worth of a coalition through predictions, or factors where there is no such row."""
    points, alpha = expansion.points, expansion.coefficients
    terms = expansion.kernel.terms(points.shape[1])

    @cache  # every coalition is asked for by each of its players
    def worth(subset):
        inside = list(subset)
        if removal == "interventional":
            rows = background.copy()
            rows[:, inside] = row[inside]
            return expansion.predict(rows).mean()
        total = 0.0
        for term in terms:
            present = term.factors(row[None], points)[0].copy()
            absent = np.ones_like(present)
            if removal == "product-of-marginals":
                absent = term.factors(background, points).mean(axis=0)
            chosen = absent.copy()
            chosen[:, inside] = present[:, inside]
            total += term.coefficient * (chosen.prod(axis=1) @ alpha)
        return total

    return worth


@pairwise(case=KERNELS, measure={named(m): m for m in MEASURES}, removal=REMOVALS)
def test_values_equal_the_definition(case, measure, removal):
    rng = np.random.default_rng([len(case.name), 3])
    d = 5
    points, rows, others = sample(rng, 6, d), sample(rng, 2, d), sample(rng, 4, d)
    expansion = pkex.KernelExpansion(points, rng.normal(size=6), case.build(scales(rng, d)))
    background = None if removal == "neutral" else others
    explain = pkex.Explainer(expansion, background, removal=removal, index=measure, n_jobs=1)
    found = explain(rows)
    assert found.index == measure.index
    assert_close(found.predictions, expansion.predict(rows), 1e-12 * 100)
    for row, values in zip(rows, found.values, strict=True):
        worth = game_of(expansion, row, removal, others)
        size = max(abs(worth(s)) for k in range(d + 1) for s in combinations(range(d), k))
        expected = enumerated(measure, worth, d)
        assert_close(values, expected, 1e-12 * (size + np.abs(expansion.coefficients).sum()))


@pytest.mark.parametrize("measure", [Banzhaf(), BetaShapley(1, 1)], ids=named)
def test_values_equal_shapiq(measure):
    """Which has no Beta-Shapley values but these."""
    shapiq = pytest.importorskip("shapiq")
    base: Any = shapiq.Game
    rng = np.random.default_rng(0)
    points, others = rng.normal(size=(8, 6)), rng.normal(size=(5, 6))
    expansion = pkex.KernelExpansion(points, rng.normal(size=8), pkex.kernels.RBF(2.0), 0.3)
    row = points[0] + 0.1

    class Game(base):
        def value_function(self, coalitions):
            worths = []
            for coalition in coalitions:
                rows = others.copy()
                rows[:, coalition] = row[coalition]
                worths.append(expansion.predict(rows).mean())
            return np.array(worths)

    computer = shapiq.ExactComputer(Game(n_players=6, normalize=False), n_players=6)
    found = pkex.Explainer(expansion, others, index=measure)(row[None]).values[0]
    known = computer("BV" if isinstance(measure, Banzhaf) else "SV")
    assert_close(found, [known[(j,)] for j in range(6)], 1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 61, 400])
@pytest.mark.parametrize("measure", BETAS, ids=named)
def test_rules_are_right_to_their_last_digit(measure, n):
    """Nodes and weights against 40 digits: the nodes are zeros, the moments come out right."""
    (rule,) = measure.ladder(n, None, general=True).rules[-1:]
    if measure.efficient:  # the rules of Shapley values, which have tests of their own
        return
    assert rule.size == (n + 1) // 2
    with mpmath.workdps(60):
        a, b = mpmath.mpf(measure.alpha), mpmath.mpf(measure.beta)
        for k in sorted({0, 1, n // 2, n - 1}):
            if k > n - 1:
                continue
            total = sum(
                mpmath.mpf(float(w))
                * mpmath.mpf(float(t)) ** k
                * (1 - mpmath.mpf(float(t))) ** (n - 1 - k)
                for t, w in zip(rule.nodes, rule.weights, strict=True)
            )
            exact = mpmath.beta(b + k, a + n - 1 - k) / mpmath.beta(a, b)
            scale = mpmath.binomial(n - 1, k)  # a polynomial of Bernstein, at most 1
            assert abs(total - exact) * scale <= rule.relative_error


@pytest.mark.parametrize("measure", [m for m in BETAS if not m.efficient], ids=named)
def test_nodes_and_weights_are_rounded_ones(measure):
    size = 20
    (rule,) = measure.ladder(2 * size, None, general=True).rules
    with mpmath.workdps(50):
        a, b = mpmath.mpf(measure.alpha) - 1, mpmath.mpf(measure.beta) - 1
        for t, w in zip(rule.nodes, rule.weights, strict=True):
            root = mpmath.findroot(
                lambda x: mpmath.jacobi(size, a, b, x), 2 * mpmath.mpf(float(t)) - 1
            )
            node = (1 + root) / 2
            assert abs(node / mpmath.mpf(float(t)) - 1) <= mpmath.mpf(2) ** -52
            slope = mpmath.diff(lambda x: mpmath.jacobi(size, a, b, x), root)
            gamma = (
                mpmath.gamma(size + a + 1)
                * mpmath.gamma(size + b + 1)
                / (mpmath.gamma(size + a + b + 1) * mpmath.factorial(size))
            )
            known = gamma / ((1 - root**2) * slope**2) / mpmath.beta(a + 1, b + 1)
            assert abs(mpmath.mpf(float(w)) / known - 1) <= mpmath.mpf(2) ** -50


def test_beta_one_one_is_shapley_to_the_last_bit():
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(20, 9)), rng.normal(size=20), pkex.kernels.RBF(2.0))
    rows = rng.normal(size=(3, 9))
    plain = pkex.Explainer(f)(rows)
    same = pkex.Explainer(f, index=BetaShapley(1.0, 1.0))(rows)
    assert np.array_equal(plain.values, same.values)
    assert plain.index == "SV"
    assert plain.efficient
    assert same.efficient


def test_measures_look_at_coalitions_as_they_say():
    """A player that matters only alone, and one that matters only beside all the others."""
    f = pkex.KernelExpansion(np.zeros((1, 6)), [1.0], pkex.kernels.RBF(0.5))
    row = np.ones((1, 6))
    small, large = (
        pkex.Explainer(f, removal="neutral", index=BetaShapley(*ab))(row).values[0, 0]
        for ab in ((16, 1), (1, 16))
    )
    banzhaf = pkex.Explainer(f, removal="neutral", index="BV")(row).values[0, 0]
    # each column takes a factor exp(-2): it changes most where no other one is present
    assert small < banzhaf < large < 0.0


@pytest.mark.parametrize("index", ["BV", BetaShapley(16, 1)], ids=str)
def test_values_that_do_not_add_up_are_not_said_to(index, tmp_path):
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(20, 4)), rng.normal(size=20), pkex.kernels.RBF(2.0))
    rows = rng.normal(size=(3, 4))
    found = pkex.Explainer(f, index=index)(rows)
    assert not found.efficient
    assert math.isnan(found.additivity_error)
    assert np.abs(found.base_values + found.values.sum(axis=1) - found.predictions).max() > 1e-3
    assert_close(found.predictions, f.predict(rows), 1e-12)
    text = str(found)
    assert found.index in text
    assert "(base)" not in text
    assert found.index in found._repr_html_()
    with pytest.raises(ValueError, match=r"do not add up.*no waterfall"):
        found.plot.waterfall(0)
    found.save(tmp_path / "values.npz")
    again = type(found).load(tmp_path / "values.npz")
    assert again.index == found.index
    assert not again.efficient
    assert np.array_equal(again.values, found.values)


def test_the_index_reaches_shap_shapiq_and_selections():
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(20, 4)), rng.normal(size=20), pkex.kernels.RBF(2.0))
    found = pkex.Explainer(f, index="BV")(rng.normal(size=(3, 4)))
    assert found[0].index == "BV"
    assert not found[0].efficient
    assert found.to_shapiq(0).index == "BV"
    assert_close(found.to_shap().values, found.values, 0)


@pytest.mark.parametrize("wrong", ["sv", "Banzhaf", None, 3, BetaShapley, ["SV"]], ids=str)
def test_other_indices_are_refused(wrong):
    with pytest.raises(ValueError, match=r"index must be 'SV'.*'BV'.*BetaShapley\(16, 1\)"):
        parse_measure(wrong)


@pytest.mark.parametrize("wrong", [0, -1, 65, math.nan, math.inf, "1", None, True])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be a number above 0 and at most 64"):
        BetaShapley(wrong, 1)
    with pytest.raises(ValueError, match=r"must be a number above 0 and at most 64"):
        BetaShapley(1, wrong)


def test_shapley_is_the_default():
    assert parse_measure("SV") == Shapley()
    f = pkex.KernelExpansion([[0.0]], [1.0], pkex.kernels.RBF())
    assert pkex.Explainer(f).index == "SV"
