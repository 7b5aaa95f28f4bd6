"""P-values of permutations, adjusted where there are many, and one test of all.

The smallest p-value of B permutations is ``1 / (B + 1)``. For k features it is adjusted to at least
``k / (B + 1)``, by either method as long as only one feature stands out: with 60 columns and 999
permutations nothing is below 0.06, however clear it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pkex._util.types import Floats

__all__ = [
    "benjamini_hochberg",
    "choose_n_permutations",
    "combined_p",
    "holm",
    "needed_permutations",
    "permutation_p",
    "smallest_adjusted_p_value",
    "step_down_max",
    "tie_tolerance",
]


_TIE = 1e-9  # relative difference below which a permuted statistic counts as equal
_UNIT = 1e-6  # standard deviations that are told apart
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
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg's method, which bounds the false share.

    `scipy.stats` has it as well, and takes more than a second to import.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order, count = np.argsort(p_values), len(p_values)
    scaled = p_values[order] * (count / np.arange(1.0, count + 1.0))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


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


def combined_p(together: Floats, each: Floats, slack: Floats) -> float:
    """Return the p-value of the question whether there is anything, in one column or in all.

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
    >>> combined_p(together, each, np.zeros(31))
    0.01
    """
    of_all = _p_of_rows(together[:, None], slack[:1])[:, 0]
    of_one = _p_of_rows(_standing_out(each, slack[1:])[:, None], np.zeros(1))[:, 0]
    smaller = np.minimum(of_all, of_one)
    return float(np.mean(smaller <= smaller[0]))


def step_down_max(statistics: Floats) -> Floats:
    """Return the p-values of many tests, adjusted by the maxima of Westfall and Young.

    The chance of any false alarm is bounded, as by Holm, but by what the permutations themselves
    say of the largest statistic: the smallest p-value is ``1 / (B + 1)`` for any number of tests,
    and tests that depend on each other cost less. Statistics are compared in standard deviations
    over all B + 1 labellings. The observed one is among these, so all are treated alike and the
    test of the largest statistic is exact. A test whose statistic never varies has the p-value 1.

    Parameters
    ----------
    statistics : array of shape (permutations + 1, tests)
        Large where something is there; the observed ones first, then those under permutations.

    Examples
    --------
    >>> statistics = np.random.default_rng(0).normal(size=(200, 30))
    >>> statistics[0, 7] = 5.0
    >>> adjusted = step_down_max(statistics)
    >>> float(adjusted[7]), bool(np.delete(adjusted, 7).min() > 0.05)
    (0.005, True)
    """
    centre, deviation = statistics.mean(axis=0), statistics.std(axis=0)
    varies = deviation > _TIE * np.abs(statistics).max(axis=0)
    scaled = (statistics - centre) / np.where(varies, deviation, 1.0)
    heights = np.where(varies, scaled, -np.inf)
    order = np.argsort(-heights[0], kind="stable")
    # for each test the largest height among it and those that stand out less, in each labelling
    largest = np.maximum.accumulate(heights[:, order[::-1]], axis=1)[:, ::-1]
    reached = largest >= largest[0] - _TIE * np.maximum(1.0, np.abs(largest[0]))
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
    unit = np.maximum(_UNIT, 1000.0 * slack / scale)
    height = np.round((each - each.mean(axis=0)) / (scale * unit)) * unit
    highest = np.where(p_values == least[:, None], height, -np.inf).max(axis=1)
    rank = np.searchsorted(np.sort(highest), highest) / len(highest)  # below 1
    standing: Floats = rank - np.round(least * len(least))
    return standing


def _p_of_rows(statistics: Floats, slack: Floats) -> Floats:
    """Return for each number which share of its column is as large, itself among them."""
    count = len(statistics)
    p_values = np.empty_like(statistics)
    for column, ordered in enumerate(np.sort(statistics, axis=0).T):
        below = np.searchsorted(ordered, statistics[:, column] - slack[column])
        p_values[:, column] = (count - below) / count
    return p_values
