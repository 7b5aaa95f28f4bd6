"""Conditional games of a Gaussian Markov chain: columns in order, such as lags of a series.

Given the present players, the columns of a gap between two neighbouring ones depend on these two
alone. So a coalition is worth a product over its gaps,

    v(S) = prod_S p  prod_gaps G(l, q),      G(l, q) = E[prod of the factors between | x_l, x_q],

with an end of the chain where there is no neighbour, and sums over all coalitions are made by
forward and backward recursions over the last present player, O(d^2) for each point and node:

    F_q = t p_q sum_{l < q} F_l (1 - t)^(q - l - 1) G(l, q),   and B_l the same from behind.

The worth with j present is ``F_j B_j / t`` without the factor t of j, and the mean over all
coalitions is t times that plus 1 - t times the worth without j.

*Gaps.* From x_l on, the product of the density of X_q and the mean of the factors before q is a
Gaussian function of X_q, whose variance depends on l and q alone; its mean and weight are found
from column to column, as in a Kalman filter. Divided by the density of X_q given x_l, at x_q, it is
G(l, q). All columns are centred and scaled: ``X_{k+1} = r_k X_k + noise`` of variance 1 - r_k^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.conditional_blocks import (
    OFF_SUPPORT,
    RANK_TOLERANCE,
    PairSums,
    off_support,
    standardise,
)
from pkex.games.rules import Rule

__all__ = ["ChainTable", "GapRule", "GaussianChain", "sum_chain"]


class GaussianChain:
    """A Gaussian Markov chain in the order of the columns, fitted to a background.

    Parameters
    ----------
    rows, weights : arrays of shape (rows, columns) and (rows,)
        The background, with weights that sum to 1.
    names : sequence of str
        Those of the columns, for messages.

    Attributes
    ----------
    mean, scale : arrays of shape (columns,)
    correlation : array of shape (columns, columns)
        That of the background; the chain has that of neighbours alone.
    slopes, noise : arrays of shape (columns,)
        Column k is ``slopes[k]`` times the one before plus noise of the variance ``noise[k]``; the
        first has the slope 0.
    """

    def __init__(self, rows: Floats, weights: Floats, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.mean, self.scale, self.correlation = standardise(rows, weights)
        variances = np.diag(self.correlation)  # 1, or 0 for a constant column
        self.slopes = np.append(0.0, np.diag(self.correlation, 1))
        noise = variances - self.slopes**2
        self.noise = np.where(noise > RANK_TOLERANCE, noise, 0.0)

    def standard(self, x: Floats) -> Floats:
        """Return rows with columns centred and scaled."""
        return (x - self.mean) / self.scale

    def check_support(self, x: Floats) -> None:
        """Raise where a row is impossible as a column is a function of the one before."""
        tied = np.flatnonzero(self.noise == 0.0)
        if not tied.size:
            return
        values = self.standard(x)
        before = np.where(tied > 0, values[:, tied - 1], 0.0)
        off = np.abs(values[:, tied] - self.slopes[tied] * before)
        if not (off <= OFF_SUPPORT).all():
            row, place = np.argwhere(~(off <= OFF_SUPPORT))[0]
            column = int(tied[place])
            first = column - 1 if self.slopes[column] else column
            raise off_support(self.names[first : column + 1], int(row), float(off[row, place]))

    @property
    def condition(self) -> float:
        """The largest precision of a column given the one before."""
        return float(1.0 / self.noise[self.noise > 0.0].min(initial=1.0))


class GapRule(NamedTuple):
    """What gaps need beside rows and points; arrays of shape (columns + 1, columns + 2).

    From the column ``l - 1`` (0 is the beginning of the chain) to ``q - 1`` (the last is its end).

    Attributes
    ----------
    gain : array
        By how much the factor of a column moves the mean towards the point.
    price : array
        What the squared distance of point and mean adds to the exponent.
    final, prior : arrays
        Half the precisions of the column q with and without the factors in between; 0 at the end.
    share : array
        The gap where all exponents are 0.
    """

    gain: Floats
    price: Floats
    final: Floats
    prior: Floats
    share: Floats


class ChainTable:
    """The gaps of a chain under Gaussian kernels with the precisions `g`."""

    def __init__(self, chain: GaussianChain, precisions: Floats, z: Floats) -> None:
        self.chain = chain
        self.scales = np.sqrt(precisions) * chain.scale
        self.z = np.ascontiguousarray(chain.standard(z).T)

    @lazy
    def gaps(self) -> GapRule:
        """What gaps need beside rows and points."""
        size, slopes, noise = len(self.z), self.chain.slopes, self.chain.noise
        rule = GapRule(*np.zeros((5, size + 1, size + 2)))
        g = self.scales**2
        for left in range(size + 1):
            prior = variance = noise[left] if left < size else 0.0
            if left == 0 and size:
                prior = variance = noise[0]
            share = 1.0
            for q in range(left + 1, size + 2):
                if q == size + 1:
                    rule.share[left, q] = share
                    break
                k = q - 1
                rule.share[left, q] = share
                if prior > 0.0:
                    rule.final[left, q], rule.prior[left, q] = 0.5 / variance, 0.5 / prior
                    rule.share[left, q] = share * np.sqrt(prior / variance)
                spread = 1.0 + 2.0 * g[k] * variance
                rule.gain[left, q] = 2.0 * g[k] * variance / spread
                rule.price[left, q] = g[k] / spread
                share /= np.sqrt(spread)
                if q <= size - 1:
                    variance = slopes[q] ** 2 * variance / spread + noise[q]
                    prior = slopes[q] ** 2 * prior + noise[q]
        return rule

    @lazy
    def packed(self) -> Floats:
        """The same as one array, which the compiled loop takes."""
        return np.array(self.gaps)

    def present(self, row: Floats, points: slice) -> Floats:
        """Return the factors of a row, of shape (columns, points)."""
        x = self.chain.standard(row[None])[0]
        gaps = self.scales[:, None] * (self.z[:, points] - x[:, None])
        factors: Floats = np.exp(-gaps * gaps)
        return factors

    def worths(self, row: Floats, points: slice) -> Floats:
        """Return the gaps of a row, of shape (columns + 1, columns + 2, points)."""
        rule, slopes, x = self.gaps, self.chain.slopes, self.chain.standard(row[None])[0]
        z = self.z[:, points]
        size = len(z)
        gaps = np.zeros((size + 1, size + 2, z.shape[1]))
        for left in range(size + 1):
            gaps[left, left + 1] = 1.0
            if left == size:
                break
            at = slopes[left] * x[left - 1] if left else 0.0  # the mean without factors
            mean, exponent = np.full(z.shape[1], at), np.zeros(z.shape[1])
            for q in range(left + 1, size + 1):
                k = q - 1
                if q > left + 1:
                    power = rule.final[left, q] * np.square(x[k] - mean)
                    power = exponent + power - rule.prior[left, q] * (x[k] - at) ** 2
                    gaps[left, q] = rule.share[left, q] * np.exp(-np.maximum(power, 0.0))
                exponent += rule.price[left, q] * np.square(z[k] - mean)
                mean += rule.gain[left, q] * (z[k] - mean)
                if q < size:
                    mean *= slopes[q]
                    at *= slopes[q]
            gaps[left, size + 1] = rule.share[left, size + 1] * np.exp(-exponent)
        return gaps

    @lazy
    def absent(self) -> Floats:
        """The worth of no player at each point."""
        rule, slopes, size = self.gaps, self.chain.slopes, len(self.z)
        mean, exponent = np.zeros((2, self.z.shape[1]))
        for q in range(1, size + 1):
            distance = self.z[q - 1] - mean
            exponent += rule.price[0, q] * np.square(distance)
            mean += rule.gain[0, q] * distance
            if q < size:
                mean *= slopes[q]
        worth: Floats = rule.share[0, size + 1] * np.exp(-exponent)
        return worth

    def rounding(self, x: Floats) -> float:
        """Return the units of rounding of a worth, beside those of factors; see blocks."""
        sizes = np.abs(self.z).max(axis=1) + np.abs(self.chain.standard(x)).max(axis=0, initial=0.0)
        reach = float(self.scales @ sizes) + float(np.square(sizes).sum())
        return 16.0 * (1.0 + self.chain.condition) * reach


def sum_chain(gaps: Floats, present: Floats, rule: Rule, weights: Floats) -> PairSums:
    """Return the weighted sums over the points of the values of one row.

    Parameters
    ----------
    gaps : array of shape (players + 1, players + 2, points)
    present : array of shape (players, points)
        The factors of present players.
    rule : Rule
        Exact for so many players.
    weights : array of shape (points, sets)
    """
    size, n_points = present.shape
    values = np.zeros((size, n_points))
    for t, share in zip(rule.nodes, rule.weights, strict=True):
        r = 1.0 - t
        forward = np.zeros((size + 2, n_points))  # without the factor of the player
        backward = np.zeros((size + 2, n_points))
        ahead, behind = np.zeros_like(forward), np.zeros_like(backward)
        ahead[0], behind[size + 1] = 1.0, 1.0
        for q in range(1, size + 2):
            powers = r ** np.arange(q - 1, -1, -1)
            forward[q] = np.einsum("l,ln,ln->n", powers, ahead[:q], gaps[:q, q])
            if q <= size:
                ahead[q] = t * present[q - 1] * forward[q]
        for left in range(size, -1, -1):
            powers = r ** np.arange(size + 1 - left)
            backward[left] = np.einsum(
                "q,qn,qn->n", powers, behind[left + 1 :], gaps[left, left + 1 :]
            )
            if left:
                behind[left] = t * present[left - 1] * backward[left]
        inside = forward[1:-1] * present * backward[1:-1]
        if r > 0.0:
            outside = (forward[-1] - t * inside) / r
        else:  # all others are present
            outside = np.array(
                [ahead[j - 1] * gaps[j - 1, j + 1] * behind[j + 1] for j in range(1, size + 1)]
            )
        values += share * (inside - outside)
    totals = present.prod(axis=0)
    return PairSums(values @ weights, totals @ weights, np.abs(weights).sum(axis=0))
