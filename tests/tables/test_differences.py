"""Sizes of differences are normal quantiles of what SciPy, or orders at random, give."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from pkex._util.types import Floats
from pkex.tables.differences import adjust_size, outside_size, share_size, superiority

RNG = np.random.default_rng(32)


def as_numbers(cells: ArrayLike) -> Floats:
    return np.asarray(cells, dtype=np.float64)


def test_superiority_is_that_of_all_pairs():
    before, after = as_numbers(RNG.integers(0, 6, 40)), as_numbers(RNG.integers(1, 7, 30))
    pairs = np.sign(after[:, None] - before)
    assert superiority(before, after) == pytest.approx(pairs.mean())


@pytest.mark.parametrize(("counts", "totals"), [((300, 420), (1000, 1000)), ((40, 5), (300, 200))])
def test_shares_of_many_cells_have_the_score_of_their_difference(counts, totals):
    others = np.subtract(totals, counts)
    chi2 = stats.chi2_contingency([counts, others], correction=False).statistic
    sign = np.sign(counts[1] / totals[1] - counts[0] / totals[0])
    assert share_size(counts, totals) == pytest.approx(sign * np.sqrt(chi2))


@pytest.mark.parametrize(
    ("counts", "totals"), [((0, 2), (1500, 100)), ((0, 7), (300, 300)), ((9, 0), (300, 200))]
)
def test_shares_of_few_cells_have_the_quantile_of_a_binomial(counts, totals):
    share = totals[1] / sum(totals)
    side: Literal["greater", "less"] = (
        "greater" if counts[1] / totals[1] > counts[0] / totals[0] else "less"
    )
    p = stats.binomtest(counts[1], sum(counts), share, alternative=side).pvalue
    sign = 1.0 if side == "greater" else -1.0
    assert share_size(counts, totals) == pytest.approx(sign * stats.norm.isf(p))
    others = [total - count for count, total in zip(counts, totals, strict=True)]
    assert share_size(others, totals) == pytest.approx(-sign * stats.norm.isf(p))
    # the chance that rows at random give, from a finite table, is smaller: the size errs downwards
    tail = stats.hypergeom(sum(totals), sum(counts), totals[1])
    exact = tail.sf(counts[1] - 1) if sign > 0.0 else tail.cdf(counts[1])
    assert exact <= p


def test_no_cells_and_equal_shares_have_no_size():
    for counts, totals in [((0, 0), (9, 9)), ((9, 9), (9, 9)), ((0, 1), (0, 5)), ((1, 1), (9, 9))]:
        assert share_size(counts, totals) == 0.0


def test_numbers_outside_a_range_have_the_chance_that_orders_at_random_give():
    """Before the first and after the last of the first table: two geometric numbers."""
    rng = np.random.default_rng(0)
    order = rng.random((4000, 600)) < 1.0 / 3.0  # whether a number is one of the second table
    ends = np.argmin(order, axis=1) + np.argmin(order[:, ::-1], axis=1)
    for count in (1, 2, 4):
        p = stats.norm.sf(outside_size(count, 1.0 / 3.0))
        assert p == pytest.approx(stats.nbinom(2, 2.0 / 3.0).sf(count - 1))
        assert abs(np.mean(ends >= count) - p) <= 4.0 * np.sqrt(p * (1.0 - p) / 4000)
    assert outside_size(0, 0.5) == 0.0


def test_the_largest_of_many_sizes_counts_as_one():
    assert adjust_size(3.0, 1) == pytest.approx(3.0)
    assert stats.norm.sf(adjust_size(3.0, 20)) == pytest.approx(20.0 * stats.norm.sf(3.0))
    assert adjust_size(1.0, 1000) == 0.0
    assert np.isfinite(adjust_size(60.0, 5))
