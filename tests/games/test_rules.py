"""The certificates of the rules, checked in many digits.

A rule's certificate bounds the relative error of ``sum_l w_l prod_i (1 - t_l u_i)`` as a value of
``E[1/(K+1)]``, with the nodes and weights exactly as stored. Both sides are computed here in 60
digits, so what is measured is the rule and not the arithmetic.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import binom

from pkex.games import rules
from pkex.games.gauss import gauss_legendre
from tests._support import naive

pytestmark = pytest.mark.rules

TOLERANCES = (None, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
SIZES = (1, 2, 3, 5, 17, 60, 177, 500, 2000)


def deficits(kind, d, lam=None, seed=0):
    """Return d deficits in [0, 1], scaled to the sum `lam` where it is given."""
    rng = np.random.default_rng([seed, d])
    u = {
        "random": rng.random(d),
        "binary": rng.integers(0, 2, size=d).astype(float),
        "tiny": rng.random(d) * 1e-9,
        "mixed": 10.0 ** rng.uniform(-12, 0, size=d),
        "ones": np.ones(d),
        "equal": np.full(d, 0.5),
    }[kind]
    if lam is None or u.sum() <= lam:
        return u
    if kind == "binary":
        u[np.cumsum(u) > lam] = 0.0
        return u
    return u * (lam / u.sum()) * (1.0 - 1e-12)


def applied(rule, u):
    """Return what the rule makes of the integral, in 60 digits."""
    bits = 260
    u_fixed = naive.fixed(u.tolist(), bits)
    total = 0
    for t, w in zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True):
        product = 1 << bits
        t_fixed = int(mpf(t) * 2**bits)
        for factor in (1 << bits) - (t_fixed * u_fixed >> bits):
            product = product * int(factor) >> bits
        total += int(mpf(w) * 2**bits) * product >> bits
    return mp.ldexp(mpf(total), -bits)


def relative_error(rule, u):
    with mp.workdps(60):
        exact = naive.expected_reciprocal(u.tolist(), digits=60)
        return float(abs(applied(rule, u) / exact - 1))


@pytest.mark.parametrize("kind", ["random", "binary", "tiny", "mixed", "ones", "equal"])
@pytest.mark.parametrize("d", SIZES)
def test_the_rule_for_all_games_keeps_its_certificate(d, kind):
    """The last step of the ladder, which covers every sum of deficits; d + 1 players."""
    u = deficits(kind, d)
    for tol in TOLERANCES if d <= 200 else (None, 1e-6):
        rule = rules.ladder(d + 1, tol).rules[-1]
        assert rule.covers(d + 1, float(u.sum()))
        assert relative_error(rule, u) <= rule.relative_error <= (tol or rules.FULL_PRECISION)


@pytest.mark.parametrize("kind", ["random", "binary", "mixed", "ones", "equal"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8, 11, 16, 24, 40, 64])
def test_few_nodes_keep_their_certificate_at_the_limit(size, kind):
    for tol in TOLERANCES:
        rule = rules.few_node(size, tol)
        for d in (2 * size + 1, 300):
            u = deficits(kind, d, rule.max_lam)
            assert rule.covers(d + 1, float(u.sum()))
            error = relative_error(rule, u)
            assert error <= rule.relative_error <= (tol or rules.FULL_PRECISION)


def test_the_limit_is_nearly_attained():
    """At 1.15 times lam_max an even spread over many players breaks the tolerance."""
    for size in (4, 8, 16, 32):
        rule = rules.few_node(size, 1e-10)
        u = np.full(1500, 1.15 * rule.max_lam / 1500)
        assert relative_error(rule, u) > 1e-10


@pytest.mark.parametrize("size", [2, 5, 8, 13, 24])
@pytest.mark.parametrize("tol", [None, 1e-6])
def test_the_table_holds_in_hoeffdings_worst_case_up_to_5000_players(size, tol):
    """With the mean fixed, an expectation is extremal at s sure trials plus r equal ones."""
    rule = rules.few_node(size, tol)
    lam, level = rule.max_lam, tol or 2.0**-52
    k = np.arange(int(lam + 40.0 * math.sqrt(lam + 1.0) + 200.0))
    errors = monomial_errors(size, len(k))
    worst = 0.0
    for sure in range(int(lam) + 1):
        for r in np.unique(np.geomspace(max(1, math.ceil(lam - sure)), 5000, 60).astype(int)):
            weight = binom.pmf(k - sure, r, min(1.0, (lam - sure) / r))
            worst = max(worst, (weight @ errors) / (weight @ (1.0 / (k + 1.0))))
    assert 0.5 * level < worst <= level


def monomial_errors(size, count):
    """Return 1/(k+1) minus the Gauss-Legendre value of (1-t)^k, from exact nodes."""
    t, w = naive.gauss_legendre(size, 60)
    with mp.workdps(60):
        powers, errors = [mpf(1)] * size, []
        for k in range(count):
            value = mp.fsum(a * b for a, b in zip(w, powers, strict=True))
            errors.append(max(0.0, float(mpf(1) / (k + 1) - value)) if k >= 2 * size else 0.0)
            powers = [p * (1 - node) for p, node in zip(powers, t, strict=True)]
    return np.array(errors)


@pytest.mark.parametrize("size", [1, 4, 8, 15, 30])
def test_lam_max_is_what_the_script_computes(size):
    path = Path(__file__).parents[2] / "scripts" / "make_rules.py"
    spec = importlib.util.spec_from_file_location("make_rules", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for tol in (None, 1e-8):
        assert script.lam_max(size, tol or 2.0**-52) == rules.few_node(size, tol).max_lam


@pytest.mark.parametrize("size", [*range(1, 65), 100, 333, 1000])
def test_gauss_legendre_nodes_keep_relative_accuracy_near_zero(size):
    t, w = gauss_legendre(size)
    exact_t, exact_w = naive.gauss_legendre(size, 40)
    assert t.shape == w.shape == (size,)
    with mp.workdps(40):
        for ours, exact in ((t, exact_t), (w, exact_w)):
            error = max(abs(mpf(a) / b - 1) for a, b in zip(ours.tolist(), exact, strict=True))
            assert error <= (0.75 if size <= 64 else 1.0) * 2.0**-52


def test_rounding_of_nodes_costs_at_most_its_share():
    """The constant c <= 1.5 in the bound on what rounded nodes cost."""
    for size in (*range(1, 20), 40, 64):
        t, w = gauss_legendre(size)
        k = np.arange(1, 20 * size * size + 10)[:, None]
        assert ((k + 1) * (w * k * t * (1 - t) ** (k - 1)).sum(axis=1)[:, None]).max() < 1.5 + 1e-9


@pytest.mark.parametrize("tol", TOLERANCES)
def test_ladders_climb(tol):
    for players in (1, 2, 3, 7, 50, 1000, 10_000, 100_000):
        ladder = rules.ladder(players, tol)
        sizes = [rule.size for rule in ladder.rules]
        assert sizes == sorted(set(sizes))
        assert list(ladder.limits) == sorted(set(ladder.limits))
        assert ladder.limits[-1] == math.inf
        assert all(rule.covers(players, limit) for rule, limit in zip(*steps(ladder), strict=True))
        assert sizes[-1] <= max(1, (players + 1) // 2)
        assert sizes[-1] <= 64


def steps(ladder):
    return ladder.rules, ladder.limits


def test_only_the_exact_rule_covers_any_factors():
    ladder = rules.ladder(200)
    assert not any(rule.covers(200, 1.0, any_factors=True) for rule in ladder.rules)
    assert ladder.fallback.covers(200, any_factors=True)
    assert ladder.fallback.size == 100


def test_looser_tolerances_need_fewer_nodes():
    sizes = [rules.ladder(1000, tol).rules[-1].size for tol in TOLERANCES]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 3


def test_the_families_are_those_that_the_docstring_names():
    ladders = [make(d) for make in (rules.ladder, rules.general_ladder) for d in (5, 1000)]
    found = {rule.family for ladder in ladders for rule in (*ladder.rules, ladder.fallback)}
    text = rules.Rule.__doc__.partition("family : str")[2].partition("nodes, weights")[0]
    assert found == set(re.findall(r'"([^"]+)"', " ".join(text.split())))
    assert {ladder.fallback.is_fallback for ladder in ladders} == {True}
    assert not any(rule.is_fallback for ladder in ladders for rule in ladder.rules)


def test_a_rule_states_its_domain():
    assert not rules.few_node(8).covers(10, lam=100.0)
    assert not rules.log_chebyshev(100).covers(10**9)
    assert "lam <=" in repr(rules.few_node(8))
    assert "players <=" in repr(rules.log_chebyshev(100))
    assert rules.log_chebyshev(10**9) is None
    with pytest.raises(ValueError, match="few-node rules have 1 to"):
        rules.few_node(1000)


@pytest.mark.parametrize("bad", [0, -5, 2.5, None, "a", True])
def test_bad_sizes_get_a_sentence(bad):
    for make in (rules.exact, rules.few_node, rules.ladder, rules.log_chebyshev):
        with pytest.raises(ValueError, match="integer of at least 1"):
            make(bad)


@pytest.mark.parametrize("bad", [0.0, 1e-20, 1.0, math.nan])
def test_bad_tolerances_get_a_sentence(bad):
    for make in (rules.ladder, rules.few_node, rules.log_chebyshev, rules.general_ladder):
        with pytest.raises(ValueError, match="tol must be"):
            make(5, bad)


def test_the_data_are_well_formed():
    path = Path(rules.__file__).with_name("rules.json")
    data = json.loads(path.read_text())
    assert set(data) == {"about", "tolerances", "lam_max", "log_chebyshev"}
    for level in data["tolerances"]:
        for entry in data["log_chebyshev"][repr(level)]:
            nodes, weights = np.array(entry["nodes"]), np.array(entry["weights"])
            assert (np.diff(nodes) > 0).all()
            assert 0.0 < nodes[0] < nodes[-1] < 1.0
            assert (weights > 0.0).all()
            assert entry["relative_error"] <= max(level, rules.FULL_PRECISION)
