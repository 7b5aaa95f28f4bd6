"""P-values of permutations, adjusted where there are many, and one test of all.

The smallest p-value of B permutations is ``1 / (B + 1)``. For k features Holm, and Benjamini and
Hochberg, adjust it to at least ``k / (B + 1)`` as long as only one feature stands out: with 60
columns and 999 permutations nothing is below 0.06, however clear it is. Step-down maxima
(`step_down_max`) have no such floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats

__all__ = [
    "FamilyTest",
    "Standardised",
    "benjamini_hochberg",
    "choose_n_permutations",
    "combine_p",
    "family_test",
    "holm",
    "needed_permutations",
    "permutation_p",
    "smallest_adjusted_p_value",
    "standardise",
    "step_down_max",
    "tie_tolerance",
]


_TAIL = (0.9, 0.99)  # quantiles between which the upper tail of a statistic is measured
# Of the significance level this share is spent on the columns one by one, the rest on statistics of
# all columns. Any share keeps the level; this one was chosen among about a dozen by what tests of
# planted changes detect (docs/p_values.md).
_COLUMNS = 0.6
_TIE = 1e-9  # relative difference below which a permuted statistic counts as equal
_RESOLUTION = 1e-6  # standard deviations that are told apart
_FEW, _MANY = 999, 9999  # permutations of a test that chooses their number


def permutation_p(values: Any, null: Floats, rounding: Any) -> Any:
    """Return ``(k + 1) / (B + 1)`` for each column of `null`, equal values counted in k."""
    exceeding = (null >= values - tie_tolerance(values, null, rounding)).sum(axis=0)
    return (exceeding + 1.0) / (len(null) + 1.0)


def tie_tolerance(values: Any, null: Floats, rounding: Any) -> Any:
    """Return the differences up to which numbers count as equal."""
    return np.maximum(_TIE * np.maximum(np.abs(values), np.abs(null).max(axis=0)), rounding)


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted by Holm's method, which bounds the chance of any false alarm.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values)
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(1.0, steps)[np.argsort(order)]


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg's method, which bounds the false share.

    `scipy.stats` has it as well, and takes more than a second to import.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order, count = np.argsort(p_values), len(p_values)
    scaled = p_values[order] * (count / np.arange(1.0, count + 1.0))
    steps = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(1.0, steps)[np.argsort(order)]


def smallest_adjusted_p_value(n_features: int, n_permutations: int) -> float:
    """Return the smallest adjusted p-value that a single feature can have.

    >>> smallest_adjusted_p_value(60, 999)
    0.06
    """
    return min(1.0, n_features / (n_permutations + 1))


def needed_permutations(n_features: int, alpha: float) -> int:
    """Return permutations that leave room below the level: the lowest p-value is half of it.

    >>> needed_permutations(60, 0.05)
    2399
    """
    return math.ceil(2 * n_features / alpha) - 1


def choose_n_permutations(n_features: int, alpha: float) -> int:
    """Return how many permutations to take for so many features where nobody said.

    >>> [choose_n_permutations(n_features, 0.05) for n_features in (20, 60, 900)]
    [999, 2399, 9999]
    """
    return min(_MANY, max(_FEW, needed_permutations(n_features, alpha)))


class FamilyTest(NamedTuple):
    """One test made of several; see `family_test`."""

    p_value: float
    """Of the question whether there is anything."""
    p_members: Floats
    """Of each joint statistic, and last of the largest column, where there are columns."""
    first: int
    """The member that speaks most clearly."""


def family_test(
    joint: Floats,
    slack: Floats,
    columns: Floats | None = None,
    column_slack: Floats | None = None,
    shares: Sequence[float] = (),
) -> FamilyTest:
    """Return one test of several joint statistics and of the largest of the columns.

    One change among many columns is diluted in a statistic of all of them; a little in each of many
    columns shows in none; and a kernel sees some changes better than another does. So all are
    asked. Every statistic becomes a p-value among all labellings. The smallest p-value of the joint
    statistics is ranked again over the labellings, and so is the largest of the columns on the
    scale of their tails (`standardise`). The smaller one of the two, ranked once more, is the
    answer. A p-value is divided by its share of the significance level before it is compared with
    others; the columns have 3/5. All that is done with every labelling alike, so it is that of one
    permutation test, and exact.

    Parameters
    ----------
    joint : array of shape (permutations + 1, members)
        Statistics of all columns together, as they are in the first place and then under the
        permutations.
    slack : array of shape (members,)
        Differences up to which two numbers count as equal.
    columns : array of shape (permutations + 1, features), optional
        The statistic of each feature by itself, under the same permutations.
    column_slack : array of shape (features,), optional
    shares : sequence of float, optional
        Of the joint statistics; equal ones by default.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> joint, columns = rng.normal(size=(200, 2)), rng.normal(size=(200, 30))
    >>> columns[0, 7] = 5.0
    >>> family_test(joint, np.zeros(2), columns, np.zeros(30)).p_value
    0.005
    """
    of_joint = _p_of_rows(joint, slack)
    least = _rank_smallest(of_joint / (np.array(shares) if len(shares) else 1.0))
    members, clear = of_joint[0], standardise(joint, slack).heights[0]
    if columns is not None:
        scaled = standardise(columns, column_slack)
        largest = scaled.heights.max(axis=1)
        of_columns = _p_of_rows(largest[:, None], np.array([scaled.tie]))[:, 0]
        both = np.column_stack([least / (1.0 - _COLUMNS), of_columns / _COLUMNS])
        least = _rank_smallest(both)
        members, clear = np.append(members, of_columns[0]), np.append(clear, largest[0])
    # of several with the same p-value that which stands out most
    first = min(range(len(members)), key=lambda member: (members[member], -clear[member]))
    return FamilyTest(float(least[0]), members, first)


def combine_p(together: Floats, each: Floats, slack: Floats) -> float:
    """Return the p-value of the verdict as earlier versions had it, for files of these.

    One change among many columns is diluted in a statistic of all of them; a little in each of many
    columns shows in none. So both are asked: the statistic of all columns, and the column with the
    smallest p-value, of several the one that is the most standard deviations above its mean; then
    the smaller one of their p-values. All that is done with every permutation alike, so that the
    answer is that of one permutation test.

    Parameters
    ----------
    together : array of shape (permutations + 1,)
        The statistic, as it is in the first place and then under the permutations.
    each : array of shape (permutations + 1, features)
        That of each feature by itself, under the same permutations.
    slack : array of shape (1 + features,)
        Differences up to which two numbers count as equal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> together, each = rng.normal(size=200), rng.normal(size=(200, 30))
    >>> each[0, 7] = 5.0
    >>> combine_p(together, each, np.zeros(31))
    0.01
    """
    of_all = _p_of_rows(together[:, None], slack[:1])[:, 0]
    of_one = _p_of_rows(_standing_out(each, slack[1:])[:, None], np.zeros(1))[:, 0]
    smaller = np.minimum(of_all, of_one)
    return float(np.mean(smaller <= smaller[0]))


class Standardised(NamedTuple):
    """Statistics of several tests on one scale."""

    heights: Floats
    """Shape (labellings, tests); -inf for a test whose statistic never varies."""
    tie: float
    """Differences up to which two heights count as equal."""


def standardise(
    statistics: Floats, slack: Floats | None = None, *, tails: bool = True
) -> Standardised:
    """Return statistics of different tests on one scale, that of their upper tails.

    A height is the distance from the upper decile, in mean distances of those labellings that are
    above it; none counts more than the last percentile. Standard deviations from the mean, which
    are taken without `tails`, let tests with skewed statistics drown the others. All labellings,
    the observed one among them, are treated alike. A tail that is a single number is replaced by
    the standard deviation.

    Examples
    --------
    >>> standardise(np.column_stack([np.arange(21.0), np.ones(21)])).heights[-3:]
    array([[0.        ,       -inf],
           [0.71428571,       -inf],
           [1.42857143,       -inf]])
    """
    deviation = statistics.std(axis=0)
    equal = _TIE * np.abs(statistics).max(axis=0)
    equal = equal if slack is None else np.maximum(equal, slack)
    low, scale = statistics.mean(axis=0), deviation
    if tails:
        low, high = np.quantile(statistics, _TAIL, axis=0)
        above = statistics > low + equal
        excess = np.where(above, np.minimum(statistics, high) - low, 0.0).sum(axis=0)
        tail = excess / np.maximum(above.sum(axis=0), 1)
        scale = np.where(tail > equal, tail, deviation)
    varies = (deviation > equal) & (scale > equal)
    scale = np.where(varies, scale, 1.0)
    heights = np.where(varies, (statistics - low) / scale, -np.inf)
    tie = float(np.where(varies, equal / scale, 0.0).max(initial=_TIE))
    return Standardised(heights, tie)


def step_down_max(
    statistics: Floats, slack: Floats | None = None, *, tails: bool = False
) -> Floats:
    """Return the p-values of many tests, adjusted by the maxima of Westfall and Young.

    The chance of any false alarm is bounded, as by Holm, but by what the permutations themselves
    say of the largest statistic: the smallest p-value is ``1 / (B + 1)`` for any number of tests,
    and tests that depend on each other cost less. Statistics are compared in standard deviations,
    or on the scale of their upper tails (`standardise`), over all B + 1 labellings. The observed
    one is among these, so all are treated alike and the test of the largest statistic is exact. A
    test whose statistic never varies has the p-value 1.

    Parameters
    ----------
    statistics : array of shape (permutations + 1, tests)
        Large where something is there; the observed ones first, then those under permutations.
    slack : array of shape (tests,), optional
        Differences up to which two numbers count as equal.
    tails : bool
        Whether the scale is that of the upper tails.

    Examples
    --------
    >>> statistics = np.random.default_rng(0).normal(size=(200, 30))
    >>> statistics[0, 7] = 5.0
    >>> adjusted = step_down_max(statistics)
    >>> float(adjusted[7]), bool(np.delete(adjusted, 7).min() > 0.05)
    (0.005, True)
    """
    heights, tie = standardise(statistics, slack, tails=tails)
    order = np.argsort(-heights[0], kind="stable")
    # for each test the largest height among it and those that stand out less, in each labelling
    largest = np.maximum.accumulate(heights[:, order[::-1]], axis=1)[:, ::-1]
    reached = largest >= largest[0] - tie * np.maximum(1.0, np.abs(largest[0]))
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(reached.mean(axis=0))
    return adjusted


def _standing_out(each: Floats, slack: Floats) -> Floats:
    """Return how far each permutation stands out in one of its features; ranks, but for scale.

    Many permutations are the largest in some column. Standard deviations tell these apart; they
    are rounded, as numbers that differ by rounding are equal.
    """
    p_values = _p_of_rows(each, slack)
    least = p_values.min(axis=1)
    deviation = each.std(axis=0)
    scale = np.where(deviation > 0.0, deviation, 1.0)
    unit = np.maximum(_RESOLUTION, 1000.0 * slack / scale)
    height = np.round((each - each.mean(axis=0)) / (scale * unit)) * unit
    highest = np.where(p_values == least[:, None], height, -np.inf).max(axis=1)
    rank = np.searchsorted(np.sort(highest), highest) / len(highest)  # below 1
    standing: Floats = rank - np.round(least * len(least))
    return standing


def _rank_smallest(p_values: Floats) -> Floats:
    """Return for each row of p-values how many rows have one as small as its smallest: a share."""
    smallest = p_values.min(axis=1)
    return _p_of_rows(-smallest[:, None], np.full(1, _TIE))[:, 0]


def _p_of_rows(statistics: Floats, slack: Floats) -> Floats:
    """Return for each number which share of its column is as large, itself among them."""
    count = len(statistics)
    p_values = np.empty_like(statistics)
    for column, ordered in enumerate(np.sort(statistics, axis=0).T):
        below = np.searchsorted(ordered, statistics[:, column] - slack[column])
        p_values[:, column] = (count - below) / count
    return p_values
