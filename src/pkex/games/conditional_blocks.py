"""Conditional games of blocks: dependent players within a block, independent blocks.

With v(S) the mean of the product of all factors given the values of the present players, and
blocks c that are independent, a coalition is worth a product over blocks,

    v(S) = prod_c h_c(S and c),      h_c(T) = prod_T p  E[prod of the others | x_T].

So the values are integrals as those of product games, with blocks in the place of players:

    phi_j = integral prod_{c' != c} E_t[h_c'] (E_t[h_c | j in T] - E_t[h_c | j not in T]) dt,

where T has every player of c with probability t. Both are polynomials in t and 1 - t, whose
coefficients are sums of h_c(T) over the T of one size; the degree of the integrand is the number of
players minus 1, as that of a product game, so the rule that is exact for these is exact here.

*Gaussian blocks.* Let X be Gaussian with mean m and covariance V given x_T, where V is 0 and m is x
for present columns. With S the diagonal matrix of the roots of ``g_k = 1 / (2 l_k^2)``

    E exp(-|S (X - z)|^2) = |M|^-1/2 exp(-|A (z - m)|^2),    M = I + 2 S V S = L L',  A = L^-1 S,

which holds for V = 0, for singular V and for g = 0. A and V depend on T alone, m on T and the row.

*Other blocks.* A block of one player has the mean of its factors over the background; one of
categories the mean over the background rows that have the same categories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex._util.words import join_names
from pkex.games.rules import Rule
from pkex.kernels.normal_form import Term

__all__ = [
    "OFF_SUPPORT",
    "RANK_TOLERANCE",
    "BlockTable",
    "CategoryBlock",
    "GaussianBlock",
    "GaussianTable",
    "PairSums",
    "SingleBlock",
    "off_support",
    "standardise",
    "sum_blocks",
]


RANK_TOLERANCE = 1e-10
"""Eigenvalues of a correlation matrix below this count as 0."""
OFF_SUPPORT = 1e-4
"""How far a row may be from the support of a singular covariance, in standard deviations."""

_ENTRIES = 2**20  # of an array that is made at once


class PairSums(NamedTuple):
    """The weighted sums of one row: (players, sets), (sets,), (sets,)."""

    values: Floats
    totals: Floats
    magnitudes: Floats


class BlockTable(Protocol):
    """The worths of the coalitions of one block, for one term."""

    @property
    def players(self) -> tuple[int, ...]:
        """The players of the block."""

    @property
    def absent(self) -> Floats:
        """The worth of no player at each point."""

    def worths(self, row: Floats, points: slice) -> Floats:
        """Return the worths of all coalitions, of shape (2^players, points).

        Coalition T has the number ``sum_{i in T} 2^i``.
        """

    def rounding(self, x: Floats) -> float:
        """Return how many units of rounding a worth may be off by, beside those of factors."""


def present_in(n_players: int) -> NDArray[np.bool_]:
    """Return which players the coalitions have, of shape (2^players, players)."""
    numbers = np.arange(2**n_players)
    inside: NDArray[np.bool_] = (numbers[:, None] >> np.arange(n_players)) % 2 == 1
    return inside


class GaussianBlock:
    """A Gaussian model of the columns of some players, conditioned on those of each coalition.

    Parameters
    ----------
    players : tuple of int
    groups : sequence of tuples of int
        The columns of each of these players.
    rows, weights : arrays of shape (rows, columns) and (rows,)
        The background, with weights that sum to 1.
    names : sequence of str
        Those of the players, for messages.
    """

    def __init__(
        self,
        players: tuple[int, ...],
        groups: Sequence[tuple[int, ...]],
        rows: Floats,
        weights: Floats,
        names: Sequence[str],
    ) -> None:
        self.players, self.names = players, tuple(names)
        self.columns = tuple(column for group in groups for column in group)
        owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        self._owner = owner.tolist()
        self.mean, self.scale, correlation = standardise(rows[:, self.columns], weights)
        self.is_present = present_in(len(players))[:, owner]
        size = len(self.columns)
        shape = (len(self.is_present), size, size)
        self.maps, self.covariances, self.condition = np.zeros(shape), np.zeros(shape), 1.0
        for number, present in enumerate(self.is_present):
            inside, outside = np.ix_(present, present), np.ix_(~present, present)
            eigenvalues, vectors = np.linalg.eigh(correlation[inside])
            kept = eigenvalues > RANK_TOLERANCE
            some, vectors = eigenvalues[kept], vectors[:, kept]
            if some.size:
                self.condition = max(self.condition, 1.0 / float(some.min()))
            slope = correlation[outside] @ (vectors / some) @ vectors.T
            self.maps[number][inside] = np.eye(int(present.sum()))
            self.maps[number][outside] = slope
            rest = correlation[np.ix_(~present, ~present)] - slope @ correlation[outside].T
            self.covariances[number][np.ix_(~present, ~present)] = 0.5 * (rest + rest.T)
        eigenvalues, vectors = np.linalg.eigh(correlation)
        self._null = vectors[:, eigenvalues <= RANK_TOLERANCE]

    def standard(self, x: Floats) -> Floats:
        """Return the columns of rows, centred and scaled."""
        return (x[:, self.columns] - self.mean) / self.scale

    def check_support(self, x: Floats) -> None:
        """Raise where a row is impossible under a singular covariance."""
        if not self._null.size:
            return
        off = self.standard(x) @ self._null
        bad = ~(np.abs(off) <= OFF_SUPPORT)
        if bad.any():
            row = int(np.argmax(bad.any(axis=1)))
            direction = self._null @ off[row]  # of the relations that the row breaks
            direction /= np.linalg.norm(direction)
            tied = {self._owner[k] for k in np.flatnonzero(np.abs(direction) > 1e-3)}
            names = [self.names[player] for player in sorted(tied)]
            raise off_support(names, row, float(np.linalg.norm(off[row])))


def off_support(names: Sequence[str], row: int, distance: float) -> ValueError:
    """Return an error for a row that a singular covariance does not allow."""
    named = join_names([repr(name) for name in names])
    what = f"the columns {named} determine each other" if len(names) > 1 else f"{named} is constant"
    return ValueError(
        f"row {row} is impossible under the conditional model: in the background {what}, and this "
        f"row is off by {distance:.2g} standard deviations. Leave out columns that are copies, use "
        "blocks= without them, or removal='interventional'."
    )


def standardise(values: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return means, standard deviations and the correlation matrix; 0 for a constant column."""
    mean = weights @ values
    centred = values - mean
    covariance = (centred.T * weights) @ centred / (1.0 - weights @ weights)
    scale = np.sqrt(np.diag(covariance))
    size = np.abs(values).max(axis=0)
    constant = scale <= 1e-12 * size
    scale = np.where(constant, np.where(size > 0.0, size, 1.0), scale)
    correlation = covariance / np.outer(scale, scale)
    correlation[constant] = correlation[:, constant] = 0.0
    return mean, scale, correlation


class GaussianTable:
    """The worths of a Gaussian block under Gaussian kernels with the precisions `g`."""

    def __init__(self, block: GaussianBlock, precisions: Floats, z: Floats) -> None:
        self.block, self.players = block, block.players
        scales = np.sqrt(precisions[list(block.columns)]) * block.scale
        inner = 2.0 * scales[:, None] * block.covariances * scales
        size = len(scales)
        lower = np.linalg.cholesky(inner + np.eye(size))
        self.factors = np.ascontiguousarray(np.linalg.solve(lower, np.diag(scales)))
        self.shares = 1.0 / np.prod(np.diagonal(lower, axis1=1, axis2=2), axis=1)
        self.z = np.ascontiguousarray(block.standard(z).T)
        self.reach = scales

    def means(self, x: Floats) -> Floats:
        """Return the conditional means of the columns, of shape (rows, 2^players, columns)."""
        means: Floats = np.einsum("tkl,rl->rtk", self.block.maps, self.block.standard(x))
        return means

    @property
    def absent(self) -> Floats:
        """The worth of no player at each point."""
        worth: Floats = self.shares[0] * np.exp(-np.square(self.factors[0] @ self.z).sum(axis=0))
        return worth

    def worths(self, row: Floats, points: slice) -> Floats:
        """Return the worths of all coalitions at some points."""
        means = self.means(row[None])[0]
        gaps = self.factors @ (self.z[None, :, points] - means[:, :, None])
        worths: Floats = self.shares[:, None] * np.exp(-np.einsum("tkn,tkn->tn", gaps, gaps))
        return worths

    def rounding(self, x: Floats) -> float:
        """Return the units of rounding of a worth, beside those of factors.

        An exponent e that is off by delta moves a worth by at most ``exp(-e) delta``. Here e is the
        square of a length that is off by k units of what it is a difference of, times the condition
        number of the conditioning; ``2 sqrt(e) exp(-e) < 1``.
        """
        block = self.block
        sizes = np.abs(self.z).max(axis=1) + np.abs(block.maps).sum(axis=2).max(axis=0) * float(
            np.abs(block.standard(x)).max(initial=0.0)
        )
        return 16.0 * len(sizes) * (1.0 + block.condition) * float(self.reach @ sizes)


@dataclass(frozen=True, eq=False)
class SingleBlock:
    """One player, with the mean of its factors over the background where it is absent."""

    players: tuple[int, ...]
    term: Term
    z: Floats
    absent: Floats

    @classmethod
    def of(
        cls,
        player: int,
        columns: tuple[int, ...],
        term: Term,
        z: Floats,
        rows: Floats,
        weights: Floats,
    ) -> SingleBlock:
        """Return the block of a player with some columns, under one term."""
        part = term.restrict(columns, 1.0)
        absent, step = np.zeros(len(z)), max(1, _ENTRIES // z.size)
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            absent += weights[some] @ part.worth(rows[some], z)
        return cls((player,), part, z, absent)

    def worths(self, row: Floats, points: slice) -> Floats:
        """Return the worths without and with the player."""
        return np.stack([self.absent[points], self.term.worth(row[None], self.z[points])[0]])

    def rounding(self, x: Floats) -> float:  # noqa: ARG002
        """Return none: factors and their means are counted elsewhere."""
        return 0.0


class CategoryBlock:
    """Players that hold categories, whose means are over background rows with the same ones.

    Parameters
    ----------
    players : tuple of int
    groups : sequence of tuples of int
        The columns of each of these players.
    term : Term
    z : array of shape (points, columns)
    rows, weights : arrays of shape (rows, columns) and (rows,)
    names : sequence of str
    """

    def __init__(
        self,
        players: tuple[int, ...],
        groups: Sequence[tuple[int, ...]],
        term: Term,
        z: Floats,
        rows: Floats,
        weights: Floats,
        names: Sequence[str],
    ) -> None:
        self.players, self.names = players, tuple(names)
        columns = [column for group in groups for column in group]
        _, first, owner = np.unique(
            rows[:, columns], axis=0, return_index=True, return_inverse=True
        )
        self._weights = np.bincount(owner.reshape(-1), weights=weights)
        self._rows, self._groups, self._z = rows[first], [list(group) for group in groups], z
        self._terms = [term.restrict(group, 1.0) for group in groups]
        self._factors = np.stack([part.worth(self._rows, z) for part in self._terms])
        self.absent: Floats = self._weights @ self._factors.prod(axis=0)

    def worths(self, row: Floats, points: slice) -> Floats:
        """Return the worths of all coalitions at some points."""
        present = [part.worth(row[None], self._z[points])[0] for part in self._terms]
        absent = self._factors[:, :, points]
        same = [(self._rows[:, group] == row[group]).all(axis=1) for group in self._groups]
        coalitions = present_in(len(self.players))
        worths = np.empty((len(coalitions), absent.shape[2]))
        for number, inside in enumerate(coalitions):
            shares = self._weights.copy()
            for i in np.flatnonzero(inside):
                shares *= same[i]
            total = shares.sum()
            if inside.all():
                worths[number] = math.prod(present)
                continue
            if total == 0.0:
                raise self.never_seen(inside)
            means = (shares / total) @ absent[~inside].prod(axis=0)
            worths[number] = means * math.prod(p for p, i in zip(present, inside, strict=True) if i)
        return worths

    def never_seen(self, inside: Any) -> ValueError:
        """Return an error for categories that no background row has together."""
        named = join_names([repr(n) for n, i in zip(self.names, inside, strict=True) if i])
        return ValueError(
            f"a row has categories in {named} that no row of the background has together, so the "
            "other columns of their block have no conditional distribution. Pass a larger "
            "background, explain the columns as one feature (groups=), or use "
            "removal='interventional'."
        )

    def rounding(self, x: Floats) -> float:  # noqa: ARG002
        """Return none: factors and their means are counted elsewhere."""
        return 0.0


def _by_size(worths: Floats) -> tuple[Floats, Floats]:
    """Return sums of worths over coalitions of each size, and what each player adds to these.

    Shapes (players + 1, points) and (players, players, points): the change of player j over the
    coalitions of s others is in ``[j, s]``.
    """
    present = present_in(len(worths).bit_length() - 1)
    count, sizes = present.shape[1], present.sum(axis=1)
    sums = np.zeros((count + 1, worths.shape[1]))
    changes = np.zeros((count, count, worths.shape[1]))
    for worth, inside, size in zip(worths, present, sizes, strict=True):
        sums[size] += worth
        for j, has in enumerate(inside):
            if has:
                changes[j, size - 1] += worth
            else:
                changes[j, size] -= worth
    return sums, changes


def sum_blocks(
    tables: Sequence[Floats],
    players: Sequence[tuple[int, ...]],
    rule: Rule,
    weights: Floats,
    n_players: int,
) -> PairSums:
    """Return the weighted sums over the points of the values of one row.

    Parameters
    ----------
    tables : sequence of arrays of shape (2^players, points)
        The worths of the coalitions of each block.
    players : sequence of tuples of int
        Those of each block.
    rule : Rule
        Exact for so many players.
    weights : array of shape (points, sets)
    n_players : int
    """
    t, u = rule.nodes[:, None], rule.weights
    polynomials, changes = [], []
    for table in tables:
        sums, change = _by_size(table)
        powers = _powers(t, len(sums) - 1)
        polynomials.append(powers @ sums)
        changes.append((_powers(t, len(sums) - 2), change))
    before = [np.ones_like(polynomials[0])]
    for each in polynomials[:-1]:
        before.append(before[-1] * each)
    after = np.ones_like(before[0])
    values = np.zeros((n_players, weights.shape[1]))
    for c in reversed(range(len(tables))):
        others = u[:, None] * (before[c] * after)
        after = after * polynomials[c]
        powers, change = changes[c]
        for j, each in zip(players[c], change, strict=True):
            values[j] = np.einsum("kn,kn->n", others, powers @ each) @ weights
    totals = np.prod([table[-1] for table in tables], axis=0)
    sizes = np.prod([np.abs(table).max(axis=0) for table in tables], axis=0)
    return PairSums(values, totals @ weights, sizes @ np.abs(weights))


def _powers(t: Floats, count: int) -> Floats:
    """Return ``t^s (1 - t)^(count - s)`` for each node and s = 0, ..., count."""
    s = np.arange(count + 1)
    return np.power(t, s) * np.power(1.0 - t, count - s)
