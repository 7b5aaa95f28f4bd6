"""Tests of two tables by permuted labels: of the means of columns, and of their distributions.

A labelling is a row of weights over all rows of both tables, ``1 / n`` for a row that counts as
after and ``-1 / m`` for one that counts as before. Then the difference of the means of a column v
is ``w @ v``. The energy distance of its two distributions is, for sorted values (Szekely and Rizzo,
"Energy statistics", 2013; the same number as that of `scipy.stats.energy_distance`),

    sqrt(2 sum_i (v_(i+1) - v_(i)) (w_(1) + ... + w_(i))^2),

as the sum of the first weights is the difference of the two distribution functions between
``v_(i)`` and ``v_(i+1)``. So a permutation costs one pass over the rows, sorted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pkex._util.p_values import step_down_max
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Floats, Indices

__all__ = ["LabelTests", "compare_columns"]

_CELLS = 2**20  # of the labellings that are in memory at once


class LabelTests(NamedTuple):
    """What the labels say about each column.

    Attributes
    ----------
    distances : array of shape (n_columns,)
        The energy distances.
    p_values : array of shape (2, n_columns), or None without permutations
        Adjusted for all tests: of a difference of means, and of the energy distance.
    """

    distances: Floats
    p_values: Floats | None


def compare_columns(
    columns: Floats, n_before: int, n_permutations: int, random_state: RandomState, slack: Floats
) -> LabelTests:
    """Return the tests of all columns as one family.

    Parameters
    ----------
    columns : array of shape (n_rows, n_columns)
        The rows of both tables, those of the first one first.
    n_before : int
        The rows of the first table.
    n_permutations : int
    random_state : RandomState
    slack : array of shape (n_columns,)
        Differences up to which the numbers of a column count as equal.
    """
    n_rows = len(columns)
    weights = np.full(n_rows, 1.0 / (n_rows - n_before))
    weights[:n_before] = -1.0 / n_before
    orders = np.argsort(columns, axis=0, kind="stable")
    gaps = np.diff(np.take_along_axis(columns, orders, axis=0), axis=0)
    constant = np.ptp(columns, axis=0) <= 2.0 * slack
    centred = np.where(constant, 0.0, columns - columns.mean(axis=0))
    gaps = np.where(constant, 0.0, gaps)
    means, distances = [], []
    for labels in _labellings(weights, n_permutations, as_generator(random_state)):
        means.append(np.abs(labels @ centred))
        distances.append(_energy_distances(labels, orders, gaps))
    observed = distances[0][0]
    if not n_permutations:
        return LabelTests(observed, None)
    statistics = np.hstack([np.concatenate(means), np.concatenate(distances)])
    return LabelTests(observed, step_down_max(statistics).reshape(2, -1))


def _labellings(
    weights: Floats, n_permutations: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Yield the weights as they are, then permuted, some permutations at a time."""
    yield weights[None, :]
    at_once = max(1, _CELLS // len(weights))
    for start in range(0, n_permutations, at_once):
        count = min(at_once, n_permutations - start)
        yield generator.permuted(np.tile(weights, (count, 1)), axis=1)


def _energy_distances(labels: Floats, orders: Indices, gaps: Floats) -> Floats:
    """Return the energy distance of each column under each labelling."""
    distances = np.empty((len(labels), orders.shape[1]))
    for column, order in enumerate(orders.T):
        differences = np.cumsum(labels[:, order[:-1]], axis=1)
        distances[:, column] = np.square(differences, out=differences) @ gaps[:, column]
    return np.sqrt(2.0 * distances)
