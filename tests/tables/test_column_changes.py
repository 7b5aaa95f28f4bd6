"""Sentences about columns name what was planted, with the numbers of the two tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pkex
from pkex.tables.column_changes import describe_column, percent
from pkex.tables.pair_changes import largest_pair_change

RNG = np.random.default_rng(32)
N = 500


def numbers():
    return RNG.normal(50.0, 10.0, size=N)


def replaced(cells, share, new):
    """Return the cells, a share of them replaced."""
    chosen = np.arange(N) < round(share * N)
    return np.where(chosen, new(cells), cells)


PLANTED = {
    "mean": (lambda: numbers() + 8.0, "higher values", "median "),
    "fell": (lambda: numbers() - 8.0, "lower values", "median "),
    "sd": (lambda: 50.0 + 1.5 * (numbers() - 50.0), "wider spread", "standard deviation"),
    "narrow": (lambda: 50.0 + 0.5 * (numbers() - 50.0), "narrower spread", "standard deviation"),
    "unit": (
        lambda: replaced(numbers(), 0.05, lambda x: 1000.0 * x),
        "% of values outside the reference range",
        "% outside",
    ),
    "tail": (
        lambda: replaced(numbers(), 0.04, lambda x: 50.0 + 20.0 * (x - 50.0)),
        "of values outside the reference range",
        "% outside",
    ),
    "missing": (
        lambda: replaced(numbers(), 0.2, lambda _: np.nan),
        "missing cells from 0 % to 20 %",
        "missing cells 0 % to 20 %",
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_sentence_about_numbers_begins_with_what_changed(planted):
    make, words, headline = PLANTED[planted]
    before, after = numbers(), make()
    change = describe_column("income", before, after, "numeric")
    assert words in change.sentence.split(";")[0]
    assert change.sentence.startswith("income: ")
    assert headline in change.headline
    means = [f"{np.nanmean(cells):.1f}" for cells in (before, after)]
    if planted != "unit":
        assert f"mean from {means[0]} to {means[1]}" in change.sentence
    facts = change.as_dict()
    json.dumps(facts, allow_nan=False)
    for key, cells in (("reference", before), ("current", after)):
        known = cells[~np.isnan(cells)]
        expected = np.quantile(known, [0.05, 0.5, 0.95])
        found = [facts[key]["quantiles"][q] for q in ("0.05", "0.5", "0.95")]
        np.testing.assert_allclose(found, expected)
        assert facts[key]["missing"] == pytest.approx(np.isnan(cells).mean())
        assert facts[key]["std"] == pytest.approx(known.std(ddof=1))


def test_equal_tables_are_not_said_to_be_higher_or_wider():
    cells = numbers()
    change = describe_column("x", cells, RNG.permutation(cells), "numeric")
    assert change.headline == ""
    assert change.sentence.startswith("x: mean from ")


def test_categories_that_are_new_gone_or_more_frequent():
    before = np.repeat(["a", "b", "c", "old"], [200, 200, 90, 10]).astype(object)
    after = np.repeat(["a", "b", "c", "new"], [300, 100, 85, 15]).astype(object)
    change = describe_column("plan", before, after, "categorical")
    assert "new category: new (0 % to 3.0 %)" in change.sentence
    assert "category gone: old (2.0 % to 0 %)" in change.sentence
    assert "more frequent: a (40 % to 60 %)" in change.sentence
    assert "less frequent: b (40 % to 20 %)" in change.sentence
    assert "c (" not in change.sentence
    assert change.as_dict()["current"]["shares"]["new"] == pytest.approx(0.03)


def test_only_equal_frequencies_are_called_the_same():
    """Of few cells a small difference has no size, but it is one."""
    two = np.repeat(["a", "c"], [986, 14]), np.repeat(["a", "c"], [99, 1])
    change = describe_column("plan", *two, "categorical")
    assert change.size == 0.0
    assert change.sentence == "plan: more frequent: a (98.6 % to 99.0 %)."
    same = describe_column("plan", two[0], two[0], "categorical")
    assert same.sentence == "plan: the same frequencies."


def test_a_new_category_leads_and_many_are_counted():
    before = np.array(["a"] * 100, dtype=object)
    after = np.array(["a"] * 95 + [f"n{k}" for k in range(5)], dtype=object)
    change = describe_column("plan", before, after, "categorical")
    assert change.headline == "5 new categories"
    assert "2 others (together 0 % to 2.0 %)" in change.sentence
    one = describe_column("plan", before, np.array(["a"] * 97 + ["b"] * 3), "categorical")
    assert one.headline == "new category b"


def test_missing_categories_and_booleans():
    before, after = np.array([True] * 50 + [False] * 50), np.array([True] * 90 + [None] * 10)
    change = describe_column("flag", before.astype(object), after, "categorical")
    assert "category gone: False (50 % to 0 %)" in change.sentence
    assert "missing cells from 0 % to 10 %" in change.sentence


def test_dates_read_as_dates():
    before, after = np.arange(20000.0, 20100.0), np.arange(20100.0, 20200.0)
    change = describe_column("day", before, after, "date")
    assert change.headline == "median 2024-11-23 to 2025-03-03"
    assert "from 2024-10-09, 2024-11-23, 2025-01-06 to 2025-01-17" in change.sentence


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_columns_without_any_value(kind):
    empty, full = np.array([None] * 9, dtype=object), np.array([1.0] * 9, dtype=object)
    for pair in ((empty, full), (full, empty), (empty, empty), (full, full)):
        change = describe_column("x", *pair, kind)
        json.dumps(change.as_dict(), allow_nan=False)
        assert change.sentence.startswith("x: ")
        assert "nan" not in change.sentence


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1.0, 1e12])
def test_numbers_have_the_digits_of_their_unit(factor):
    before, after = numbers(), numbers() + 20.0
    change = describe_column("x", factor * before, factor * after, "numeric")
    said = change.sentence.split("mean from ")[1].split(";")[0].split(" to ")
    means = [factor * before.mean(), factor * after.mean()]
    np.testing.assert_allclose([float(one) for one in said], means, rtol=0.01)


def test_integers_have_no_decimals_and_zero_has_no_sign():
    before, after = RNG.integers(0, 5, N), RNG.integers(1, 6, N)
    change = describe_column("stars", before, after, "numeric")
    assert change.headline == f"median {np.median(before):.0f} to {np.median(after):.0f}"
    assert change.sentence.endswith("quantiles (5, 50, 95 %) from 0, 2, 4 to 1, 3, 5.")
    assert f"mean from {before.mean():.2f} to {after.mean():.2f};" in change.sentence
    half = describe_column("x", before, np.append(after, 2.5), "numeric")
    assert "from 0.00, 2.00, 4.00 to" in half.sentence
    symmetric = np.linspace(-2.0, 2.0, 101) - 1e-9
    assert "-0.00" not in describe_column("x", symmetric, symmetric, "numeric").sentence


def test_durations_have_their_unit_and_deviations_of_dates_are_days():
    short = RNG.uniform(0.0, 30.0, N)
    change = describe_column("wait", short, short + 9.0, "numeric", "days")
    lower, upper = np.median(short), np.median(short + 9.0)
    assert change.headline == f"median {lower:.1f} to {upper:.1f} days"
    assert f"mean from {short.mean():.1f} to {short.mean() + 9.0:.1f} days;" in change.sentence
    assert change.sentence.endswith(" days.")
    spread = describe_column("wait", short, 15.0 + 0.3 * (short - 15.0), "numeric", "days")
    assert spread.headline.startswith("standard deviation ")
    assert spread.headline.endswith(" days")
    days = 20000.0 + np.arange(N) % 100
    wider = describe_column("day", days, 3.0 * (days - 20050.0) + 20050.0, "date")
    stds = days.std(ddof=1), 3.0 * days.std(ddof=1)
    assert wider.headline == f"standard deviation {stds[0]:.3g} to {stds[1]:.3g} days"
    frames = [pd.DataFrame({"wait": pd.to_timedelta(x, "D")}) for x in (short, short + 9.0)]
    [described] = pkex.mmd(*frames, n_permutations=99, random_state=0).changes()
    assert described.headline == f"median {lower:.1f} to {upper:.1f} days"


def test_large_deviations_are_written_out():
    incomes = RNG.normal(50_000.0, 10_000.0, N)
    wider = 50_000.0 + 2.0 * (incomes - 50_000.0)
    change = describe_column("income", incomes, wider, "numeric")
    stds = incomes.std(ddof=1), wider.std(ddof=1)
    assert change.headline == f"standard deviation {stds[0]:.0f} to {stds[1]:.0f}"


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.004, 0.05, 0.5, 0.95, 0.9999, 1.0])
def test_percent_never_rounds_some_to_none_or_all(share):
    text = percent(share)
    assert (text == "0 %") == (share == 0.0)
    assert (text == "100 %") == (share == 1.0)
    assert abs(float(text.split()[0]) - 100.0 * share) <= 0.5


def test_a_pair_whose_correlation_changed():
    before, after = RNG.normal(size=(2, N, 4))
    before[:, 2] = 0.8 * before[:, 1] + 0.6 * before[:, 2]
    before[7, 2] = np.nan
    names = ["a", "b", "c", "d"]
    pair = largest_pair_change(1, [0, 2, 3], before, after, names, [False] * 4)
    assert pair is not None
    assert pair.columns == ("b", "c")
    known = ~np.isnan(before[:, 2])
    expected = stats.spearmanr(before[known, 1], before[known, 2]).statistic
    assert pair.reference == pytest.approx(expected)
    assert pair.current == pytest.approx(stats.spearmanr(after[:, 1], after[:, 2]).statistic)
    assert f"b and c: correlation from {expected:.2f} to" in pair.sentence
    json.dumps(pair.as_dict(), allow_nan=False)
    assert largest_pair_change(0, [1, 2, 3], before, after, names, [False] * 4) is None


def test_pairs_with_categories_have_the_measures_of_scipy():
    x = RNG.normal(size=(2, N))
    text = np.where(x[0] > 0.0, "u", "v").astype(object)
    other = np.where(RNG.random(N) < 0.5, "s", "t").astype(object)
    before = np.column_stack([text, text, x[0]]).astype(object)
    after = np.column_stack([text, other, x[1]]).astype(object)
    kinds = [True, True, False]
    both = largest_pair_change(0, [1], before, after, "abc", kinds)
    mixed = largest_pair_change(0, [2], before, after, "abc", kinds)
    assert both is not None
    assert mixed is not None
    assert both.reference == pytest.approx(1.0)
    counts = pd.crosstab(text, other)
    chi2 = stats.chi2_contingency(counts, correction=False).statistic
    assert both.current == pytest.approx(np.sqrt(chi2 / N))
    h = stats.kruskal(x[1][text == "u"], x[1][text == "v"]).statistic
    assert mixed.current == pytest.approx(np.sqrt(h / (N - 1)))
    assert mixed.measure == "correlation ratio"
