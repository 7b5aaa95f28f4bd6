"""Sentences about columns name what was planted, with the numbers of the two tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

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
