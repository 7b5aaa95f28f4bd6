"""Values of games with tiny and with wide factors keep their digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from pkex import Explainer, KernelExpansion
from pkex.games import rules
from pkex.games.protocols import Factors
from pkex.kernels import Custom
from tests._support import naive
from tests._support.cases import COLUMN_KERNELS, alone, assert_close, sample
from tests._support.pairwise import pairwise
from tests.games.test_factors import GAMES, both_games, general, product_game

pytestmark = pytest.mark.digits


# Scales that put points three apart some tens of powers of e away from each other.
FAR = {
    "rbf": 0.3,
    "laplacian": 0.1,
    "cauchy": 1e-5,
    "matern-0.5": 0.1,
    "matern-1.5": 0.1,
    "matern-2.5": 0.1,
    "chi2": 0.05,
    "periodic": 0.2,
    "categorical": 1e-10,
}


def exact_factors(case, spread, x, z, players):
    """Return the players' factors in the working precision, shape (players, rows, points)."""
    factors = np.empty((x.shape[1], len(x), len(z)), dtype=object)
    for j, b, i in np.ndindex(factors.shape):
        name, params = case.oracle(spread[j])
        factors[j, b, i] = 1 - naive.kernel_deficit(name, x[b, j], z[i, j], digits=350, **params)
    return np.stack([factors[list(columns)].prod(axis=0) for columns in players])


def check_digits(case, spread, rows, points, background, removal, players, groups):
    """Compare values and base with those in many digits.

    A value may be off by some roundings of min(a + p, (1 - a) + (1 - p)), the smaller form of its
    player's factors, times the largest worth of the others.
    """
    alpha = np.linspace(0.5, 1.5, len(points))
    expansion = KernelExpansion(points, alpha, case.build(spread))
    options = {} if groups is None else {"groups": groups}
    explain = Explainer(expansion, background, removal=removal, n_jobs=1, **options)
    explanation = explain(rows)
    with mp.workdps(400):
        digits = mpf(2e-13)
        present = exact_factors(case, spread, rows, points, players)
        others = exact_factors(case, spread, background, points, players)
        share = mpf(1) / len(background)
        if removal == "product-of-marginals":
            scenarios = [(mpf(1), others.sum(axis=1) * share)]
        else:
            scenarios = [(share, others[:, b]) for b in range(len(background))]
        for r in range(len(rows)):
            values, size, base = [mpf(0)] * len(players), [mpf(0)] * len(players), mpf(0)
            for w, absent in scenarios:
                for i, weight in enumerate(alpha):
                    p, a, scale = present[:, r, i], absent[:, i], w * mpf(weight)
                    base += scale * a.prod()
                    larger = np.maximum(p, a)
                    for j, phi in enumerate(product_game(p, a, 400)):
                        values[j] += scale * phi
                        smaller = min(p[j] + a[j], (1 - p[j]) + (1 - a[j]))
                        size[j] += scale * smaller * np.delete(larger, j).prod()
            for j, value in enumerate(explanation.values[r]):
                assert abs(mpf(value) - values[j]) <= digits * size[j]
            assert abs(mpf(explanation.base_values[r]) - base) <= digits * base
    return explanation


def column_cases():
    return [case for case in COLUMN_KERNELS if case.name in FAR]


REMOVALS = ["interventional", "product-of-marginals"]
WAYS = {"columns": None, "groups": {"pair": [1, 3]}}


def parse_groups(groups):
    return alone(5) if groups is None else ((0,), (1, 3), (2,), (4,))


@pairwise(
    case=column_cases(),
    groups=WAYS,
    removal=REMOVALS,
    backend=list(GAMES),
)
def test_values_far_out_keep_their_digits(case, groups, removal, backend, monkeypatch):
    """Rows and background are far from all points, so that every worth is tiny."""
    monkeypatch.setenv("PKEX_BACKEND", backend)
    rng = np.random.default_rng(3)
    points = rng.uniform(0.0, 0.3, size=(4, 5))
    rows, background = (3.0 + rng.uniform(0.0, 0.3, size=(n, 5)) for n in (2, 3))
    spread = FAR[case.name] * rng.uniform(0.9, 1.1, size=5)
    explanation = check_digits(
        case, spread, rows, points, background, removal, parse_groups(groups), groups
    )
    assert np.abs(explanation.values).max() < 1e-30


@pytest.mark.filterwarnings("ignore::pkex.PrecisionWarning")  # of predictions that hardly vary
@pairwise(
    case=column_cases(),
    groups=WAYS,
    removal=REMOVALS,
    backend=list(GAMES),
)
def test_values_of_wide_kernels_keep_their_digits(case, groups, removal, backend, monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    rng = np.random.default_rng(4)
    points, rows, background = (rng.uniform(0.0, 3.0, size=(n, 5)) for n in (4, 2, 3))
    spread = 1e6 * rng.uniform(0.9, 1.1, size=5)
    explanation = check_digits(
        case, spread, rows, points, background, removal, parse_groups(groups), groups
    )
    assert np.abs(explanation.values).max() < 1e-5


@pairwise(case=column_cases(), removal=REMOVALS, backend=list(GAMES))
def test_values_with_tiny_and_plain_factors_keep_their_digits(case, removal, backend, monkeypatch):
    """Ties, zeros, and columns of every width from 1/100 to 1e8."""
    monkeypatch.setenv("PKEX_BACKEND", backend)
    rng = np.random.default_rng(5)
    points, rows, background = (sample(rng, n, 5) for n in (4, 2, 3))
    spread = np.array([1e-2, 0.3, 1.0, 1e4, 1e8])
    check_digits(case, spread, rows, points, background, removal, alone(5), None)


@both_games
@pytest.mark.parametrize("d", [40, 101])
def test_the_rule_of_a_tail_is_right_beside_its_worth(d, kind):
    """Factors from 0.02 to 0.98: lam is moderate, and the largest worth far below rounding."""
    rng = np.random.default_rng(d)
    present, values = rng.uniform(0.02, 0.98, size=(2, d, 3))
    absent = Factors(values, 1.0 - values)
    (term,) = Custom(lambda x, z: x * z).terms(d)
    for n_nodes in (None, 1e-6):
        game = kind(term, alone(d), rules.general_ladder(d, n_nodes))
        block = game.explain(np.ones((1, d)), present.T.copy(), np.eye(3), absent)
        worth = np.maximum(present, values).prod(axis=0)
        assert (worth < 1e-5).all()
        assert (block.magnitudes[0] <= worth * (1.0 + 2.0 * d)).all()
        error = max(rule.relative_error for rule in block.rules) + 1e-15 * d
        for i in range(3):
            exact = np.array([float(v) for v in product_game(present[:, i], values[:, i])])
            assert_close(block.values[0, :, i] / worth[i], exact / worth[i], error)


@both_games
def test_tails_of_zeros_and_of_underflow(kind):
    """Factors that are 0, whose products underflow, or that differ by hundreds of powers."""
    d, tiny = 8, 1e-60
    (term,) = Custom(lambda x, z: x * z).terms(d)
    cases = [
        (np.zeros(d), np.zeros(d)),
        (np.zeros(d), np.full(d, tiny)),
        (np.full(d, tiny), np.full(d, 2.0 * tiny)),
        (np.full(d, 5e-324), np.full(d, 5e-324)),
        (np.array([0.0, 1e-9, *np.full(d - 2, 0.3)]), np.array([0.0, 1e-12, *np.full(d - 2, 0.2)])),
        (np.array([-1e-9, *np.full(d - 1, 0.3)]), np.array([1e-9, *np.full(d - 1, -0.2)])),
        (np.array([1e-9, *np.full(d - 1, 2.0)]), np.array([1e-9, *np.full(d - 1, 3.0)])),
    ]
    present, values = (np.stack(part, axis=1) for part in zip(*cases, strict=True))
    n = len(cases)
    absent = Factors(values, 1.0 - values)
    game = general(kind, term)
    block = game.explain(np.ones((1, d)), present.T.copy(), np.eye(n), absent)
    added = np.zeros((d + 1, 1, n))
    game.add_pairs(np.ones((1, d)), present.T.copy(), added, absent)
    assert np.isfinite(block.magnitudes).all()
    assert (block.magnitudes > 0.0).all()
    for i, (p, a) in enumerate(cases):
        exact = np.array([float(v) for v in product_game(p, a, 400)])
        worth = max(1e-290, np.maximum(np.abs(p), np.abs(a)).prod())
        assert_close(block.values[0, :, i] / worth, exact / worth, 1e-14)
        assert_close(added[:-1, 0, i] / worth, exact / worth, 1e-14)
        assert_close(block.totals[0, i] / worth, p.prod() / worth, 1e-14)
