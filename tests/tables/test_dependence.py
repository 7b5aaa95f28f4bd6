"""Columns that depend on each other are found by themselves, and independent ones are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.stats import qmc

from pkex.tables.dependence import Dependence, Pair
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(5)


def names_of(dependence, columns):
    return {frozenset((columns[p.first], columns[p.second])) for p in dependence.pairs}


def table(rng, n_rows, strength):
    """Return a frame with a planted pair of each kind: numbers, both, categories."""
    u, v, w, noise = rng.normal(size=(4, n_rows))
    return pd.DataFrame(
        {
            "a": u,
            "b": np.exp(strength * u + noise),
            "c": v,
            "d": np.where(strength * v + rng.normal(size=n_rows) > 0.0, "high", "low"),
            "e": pd.Categorical(np.digitize(w, [-0.4, 0.4])),
            "f": np.digitize(strength * w + rng.normal(size=n_rows), [-0.5, 0.5]).astype(str),
            "g": rng.normal(size=n_rows),
            "h": rng.choice(["x", "y", "z"], size=n_rows),
        }
    )


@pytest.mark.parametrize("design", ["normal", "sobol", "mixed"])
def test_independent_columns_are_seldom_reported(design):
    draws = 200
    alarms = 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        if design == "sobol":
            rows = qmc.Sobol(8, seed=rng).random(128)
        else:
            rows = table(rng, 40, 0.0) if design == "mixed" else rng.normal(size=(30, 8))
        alarms += bool(Dependence(rows).pairs)
    assert alarms <= draws * 0.05 + 3.0 * (draws * 0.05 * 0.95) ** 0.5  # Holm, 3 standard errors


def test_planted_dependence_is_named_for_every_kind_of_pair():
    frame = table(RNG, 300, 3.0)
    expected = {frozenset("ab"), frozenset("cd"), frozenset("ef")}
    assert names_of(Dependence(frame), "abcdefgh") == expected
    codes = frame.assign(e=frame["e"].astype(int), f=frame["f"].astype(int))[["a", "e", "f"]]
    assert names_of(Dependence(codes.to_numpy(), categorical=(1, 2)), "aef") == {frozenset("ef")}


def test_a_weak_dependence_is_not_worth_a_word_however_significant():
    x, noise = RNG.normal(size=(2, 2000))
    assert stats.spearmanr(x, 0.2 * x + noise).pvalue < 1e-6
    assert Dependence(np.column_stack([x, 0.2 * x + noise])).pairs == ()


def test_strengths_are_those_of_scipy():
    frame = table(RNG, 200, 2.0)
    found = {frozenset(p[:2]): p.strength for p in Dependence(frame).pairs}
    assert found[frozenset((0, 1))] == pytest.approx(stats.spearmanr(frame["a"], frame["b"])[0])
    groups = [part["c"] for _, part in frame.assign(c=stats.rankdata(frame["c"])).groupby("d")]
    h = stats.kruskal(*groups).statistic
    assert found[frozenset((2, 3))] == pytest.approx((h / (len(frame) - 1)) ** 0.5)
    counts = pd.crosstab(frame["e"], frame["f"]).to_numpy()
    v = stats.contingency.association(counts, method="cramer")
    assert found[frozenset((4, 5))] == pytest.approx(v)


@pytest.mark.parametrize("p_value", ["spearman", "kruskal", "chi2"])
def test_p_values_are_those_of_scipy(p_value):
    from pkex.tables import dependence as module

    frame = table(RNG, 60, 0.3)
    ranks = {
        0: module.unit_ranks(frame["a"].to_numpy()),
        1: module.unit_ranks(frame["b"].to_numpy()),
    }
    codes = {
        2: module.codes_of(frame["e"].to_numpy())[0],
        3: module.codes_of(frame["f"].to_numpy())[0],
    }
    if p_value == "spearman":
        [(_, found)] = module._of_numbers(ranks)
        r = abs(stats.spearmanr(frame["a"], frame["b"]).statistic)
        freedom = len(frame) - 4  # two fewer than scipy has, which are too many for few rows
        expected = 2.0 * stats.t.sf(r * (freedom / (1.0 - r * r)) ** 0.5, freedom)
    elif p_value == "kruskal":
        found = module._of_both({0: ranks[0]}, {2: codes[2]})[0][1]
        expected = stats.kruskal(*[part["a"] for _, part in frame.groupby(codes[2])]).pvalue
    else:
        [(_, found)] = module._of_categories(codes)
        counts = pd.crosstab(frame["e"], frame["f"]).to_numpy()
        expected = stats.chi2_contingency(counts, correction=False).pvalue
    assert found == pytest.approx(expected, rel=1e-9)


def test_constants_ties_missing_values_and_few_rows_do_not_matter():
    x = RNG.normal(size=100)
    frame = pd.DataFrame(
        {
            "constant": 1.0,
            "empty": np.nan,
            "x": x,
            "tied": np.round(x),
            "holes": np.where(RNG.random(100) < 0.2, np.nan, x),
            "same": "a",
            "own": [f"row {i}" for i in range(100)],
            "day": pd.Timestamp("2024-01-01"),
            "flag": [None if value < -1.0 else value > 0.0 for value in x],
        }
    )
    found = names_of(Dependence(frame), list(frame))
    related = ["x", "tied", "holes", "flag"]
    assert found == {frozenset((a, b)) for a in related for b in related if a < b}
    assert Dependence(frame[:9]).pairs == ()


def test_rows_are_sampled_evenly_and_copied():
    x = np.arange(10_000.0)
    rows = np.column_stack([x, x % 2.0, -x])
    dependence = Dependence(rows)
    rows[:] = 0.0  # what comes later does not matter
    assert len(dependence._sample) == 2000
    assert dependence.pairs == (Pair(0, 2, unchecked(pytest.approx(1.0))),)
    chosen = Dependence(np.column_stack([x, x]), rows=np.arange(5))
    assert len(chosen._sample) == 5


def test_any_kind_of_table():
    polars = pytest.importorskip("polars")
    x, y = RNG.normal(size=(2, 500))
    rows = np.column_stack([x, y, x + 0.1 * y])
    expected = Dependence(rows).pairs
    assert [pair[:2] for pair in expected] == [(0, 2)]
    twice = pd.DataFrame(rows, columns=["a", "b", "a"])
    for other in (rows.tolist(), sparse.csr_array(rows), polars.DataFrame(rows), twice):
        assert Dependence(other).pairs == expected


def test_columns_of_a_group_are_not_reported_against_each_other():
    x, y = RNG.normal(size=(2, 200))
    dependence = Dependence(np.column_stack([x, y, x + 0.1 * y, -y]))
    assert {frozenset(pair[:2]) for pair in dependence.pairs} == {
        frozenset((0, 2)),
        frozenset((1, 3)),
    }
    assert [pair[:2] for pair in dependence.between([(0, 2), (1,), (3,)])] == [(1, 2)]
    assert dependence.between([(0, 2), (1, 3)]) == ()


def test_many_columns_are_bounded():
    shared = RNG.normal(size=(20, 1))
    wide = shared + np.zeros((20, 600))
    found = Dependence(wide).pairs
    assert max(max(pair[:2]) for pair in found) == 499


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "share"),
    [(10, 30, None), (25, 6, None), (100, 12, None), (10, 6, 0.3), (60, 20, 0.05)],
)
def test_independent_columns_are_rarely_said_to_depend(n_rows, n_columns, share):
    """One table in twenty at most; with that, 18 or more of 200 have a chance of 1 %.

    With Student's t of n - 2 degrees of freedom one in eight tables of 10 rows and 30 columns had a
    pair, and three in ten of the last kind, as columns of few ones are alike by chance.
    """
    rng, count = np.random.default_rng(0), 0
    for _ in range(200):
        table = rng.normal(size=(n_rows, n_columns))
        if share is not None:
            table = (rng.random((n_rows, n_columns)) < share).astype(float)
        count += bool(Dependence(table).pairs)
    assert count <= 17


def test_rare_values_depend_where_they_occur_together():
    rng = np.random.default_rng(0)
    column = (rng.random(500) < 0.04).astype(float)
    other = np.where(rng.random(500) < 0.01, 1.0 - column, column)
    table = np.column_stack([column, other, np.roll(column, 1)])
    assert [(pair.first, pair.second) for pair in Dependence(table).pairs] == [(0, 1)]
    lonely = np.zeros((500, 2))
    lonely[7] = 1.0  # equal, but in one table of 500 by chance: not significant among 21 pairs
    noise = rng.normal(size=(500, 5))
    assert Dependence(np.column_stack([lonely, noise])).pairs == ()


def test_rare_categories_are_taken_together():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(400, 2)).astype(object)
    codes[5] = "rare"  # one row of each, the same one
    assert Dependence(codes, None, [0, 1]).pairs == ()
    codes[:, 1] = codes[:, 0]
    assert len(Dependence(codes, None, [0, 1]).pairs) == 1
