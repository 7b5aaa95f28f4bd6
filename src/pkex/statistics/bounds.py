"""How far a statistic and its values may be from exact ones, by certificate and rounding.

The proof, and the symbols of the comments here, are in "What a statistic may be off by" of
docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.protocols import Game, Task
from pkex.games.sources import PointSource, SameFactors
from pkex.games.sums import SMALLEST, GameSums
from pkex.kernels.algebra import Kernel
from pkex.kernels.normal_form import Term, leaf_values
from pkex.statistics.pair_weights import MMDWeights, Weights
from pkex.statistics.target_weights import HSICWeights

__all__ = ["count_permuted_roundings", "error_of", "have_unit_factors"]


_UNIT = 2.0**-53
_ENTRIES = 2**20  # factors evaluated at once: 8 MiB


def have_unit_factors(terms: Sequence[Term]) -> bool:
    """Tell whether all factors are known to lie in [0, 1]."""
    return all(leaf.unit for term in terms for leaf in term.leaves)


def count_permuted_roundings(tasks: Sequence[Task], weights: Weights, n_layers: int) -> float:
    """Return how many additions a term passes through in `ByPermutation`, at most."""
    sides = [(rows.stop - rows.start, points.stop - points.start) for rows, points, _ in tasks]
    # MMD: over the points, then over the rows, or in pairs; HSIC: over all pairs in any order
    tile: float = max(n_rows * n_points for n_rows, n_points in sides)
    if isinstance(weights, MMDWeights):
        tile = max(n_rows + n_points for n_rows, n_points in sides) + 64.0
    return tile + len(tasks) + n_layers**2


def error_of(
    source: PointSource, weights: Weights, sums: GameSums, roundings: float, largest: float | None
) -> float:
    """Return how far each value, and the statistic, may be from exact ones.

    Parameters
    ----------
    source : PointSource
        All pairs of some rows.
    weights : Weights
    sums : GameSums
    roundings : float
        How many additions a term passes through.
    largest : float or None
        The largest magnitude of a pair; None where all factors lie in [0, 1] and the magnitudes of
        `sums` are those of the first weights.
    """
    terms, n_features, n_rows = (
        [g.term for g in source.games],
        len(source.games[0].players),
        len(source.x),
    )
    signs = 1.0 if have_unit_factors(terms) else 2.0
    worth = sum(term.slack * abs(term.coefficient) for term in terms)
    size, weight_roundings = _weight_sizes(weights)  # W and its k
    if largest is None:
        largest, magnitude = worth, float(sums.magnitudes[0, 0])
    else:
        magnitude = size * largest
    count = 16.0 * n_features + 280.0 + len(terms) + signs * roundings
    if isinstance(source.absent, SameFactors):
        tail = math.log(max(math.e, size * worth / max(magnitude, SMALLEST)))
        count += 18.0 * n_features + 8.0 * tail + source.absent.roundings * _reach(source)
    error = (2.0 * sums.rules[0].relative_error + count * _UNIT) * magnitude
    error += weight_roundings * _UNIT * signs * size * largest
    error += 4.0 * (n_features + n_rows) * n_rows * len(terms) * SMALLEST
    for term in terms:
        if term.error:  # products that stand for something else: two worths are off
            error += 2.0 * term.error * size * _largest_product(term, source.x)
    return error


def _weight_sizes(weights: Weights) -> tuple[float, float]:
    """Return the sum of the sizes of what weights are made of, and the roundings they carry."""
    if isinstance(weights, MMDWeights):
        n, m = weights.n, weights.m
        if weights.with_self:
            return 4.0, 32.0
        xx, zz, xz = 1.0 / (n * (n - 1)), 1.0 / (m * (m - 1)), 1.0 / (n * m)
        scale, constant = xx + zz + 2.0 * xz, xx * zz + xz * xz
        x, z = xx + xz, zz + xz
        products = n * (n - 1) * x * x + m * (m - 1) * z * z + 2.0 * n * m * x * z
        return (products + (n + m) * (n + m - 1) * constant) / scale, 32.0
    assert isinstance(weights, HSICWeights)
    n, targets = weights.n_rows, weights.targets
    size, roundings = _target_sizes(weights.kernel, targets)
    if weights.with_self:
        return 4.0 * size * (n / (n - 1)) ** 2, 2.0 * n + roundings
    parts = 1.0 + 2.0 * n / (n - 2) + n * n / ((n - 1) * (n - 2))
    return parts * size * n / (n - 3), 2.0 * n + roundings


def _target_sizes(kernel: Kernel, targets: Floats) -> tuple[float, float]:
    """Return the largest sum of absolute terms of a target's kernel, and what it rounds."""
    width = targets.shape[1]
    form = kernel.normal_form(width)
    degree = max((power.degree for power in form.powers), default=0)
    roundings = 16.0 + 8.0 * width + len(form.terms) + degree * (width + 4.0)
    if not form.powers and have_unit_factors(form.terms):
        return sum(abs(term.coefficient) for term in form.terms), roundings
    largest = 0.0
    for rows in _strips(len(targets), targets.size):
        sizes = np.zeros((len(targets[rows]), len(targets)))
        for term in form.terms:
            sizes += np.abs(term.worth(targets[rows], targets))
        for coefficient, power, gamma, coef0, columns in form.powers:
            chosen = np.abs(targets[:, columns])
            sizes += abs(coefficient) * (gamma * chosen[rows] @ chosen.T + abs(coef0)) ** power
        largest = max(largest, float(sizes.max()))
    return largest, roundings


def _reach(source: PointSource) -> float:
    """Return what the roundings of mean factors count for, summed over the features."""
    assert isinstance(source.absent, SameFactors)
    reach = 0.0
    for number, game in enumerate(source.games):
        if have_unit_factors([game.term]):
            deficits = source.absent.single(number).deficits
            sizes = np.minimum(1.0, np.abs(deficits))
        else:
            sizes = _mean_sizes(game, source.x)
        reach = max(reach, float(sizes.sum()))
    return reach


def _mean_sizes(game: Game, x: Floats) -> Floats:
    """Return the means of the absolute factors over all pairs of different rows, and a bit more."""
    total = np.zeros(len(game.players))
    for rows in _strips(len(x), x.size):
        total += np.abs(game.factors(x[rows], x).values).sum(axis=(1, 2))
    return total / (len(x) * (len(x) - 1.0))


def _largest_product(term: Term, x: Floats) -> float:
    """Return the product over columns of the largest factors, where they may leave [0, 1]."""
    product = 1.0
    for leaf in term.leaves:
        if not leaf.unit:
            largest = [
                np.abs(leaf_values(leaf, leaf.factors, x[rows], x)).max(axis=(0, 1))
                for rows in _strips(len(x), x.size)
            ]
            product *= float(np.maximum(1.0, np.max(largest, axis=0)).prod())
    return product


def _strips(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows so that their factors with `width` cells are not too many at once."""
    step = max(1, _ENTRIES // max(1, width))
    return (slice(start, start + step) for start in range(0, n_rows, step))
