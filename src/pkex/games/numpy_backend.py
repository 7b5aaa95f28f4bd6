"""The hot loop in NumPy: the values of a block of pair games, contracted with weights.

`NativeGame` stands in for the one here where it could be compiled (see `pkex.games.backend`);
both keep to the protocol `pkex.games.protocols.Game` and pass the same tests.

For the pairs of a block the deficits ``u`` of the players are evaluated once, each pair takes the
cheapest rule of the ladder that covers it, and pairs with the same rule are swept together:

    Q_j = sum_l w_l prod_{i != j} (a_i - t_l u_i),        phi_j = -u_j Q_j,

with ``a_i`` the factor of an absent player, 1 under neutral removal, and ``u_i`` that factor minus
the present one. Factors come in two forms, themselves and their deficits ``1 - k``, and ``u_i`` is
formed from the smaller numbers, so that neither tiny factors nor those near 1 lose digits.

The leave-one-out products come from a balanced tree (`tree_products`). Where factors are
exponentials and near those of absent players, nodes are not swept at all: see `near_one`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices, Players
from pkex.games.extents import FLOOR, TAIL, measure_extent
from pkex.games.factors import (
    Factors,
    compute_drops,
    evaluate_both_forms,
    evaluate_columns,
    from_exponents,
    mean_factors,
    to_exponents,
)
from pkex.games.near_one import POSITIVE, SIGNED, absent_sums, add_near_one, player_sums
from pkex.games.numpy_ratios import NumPyRatios
from pkex.games.protocols import Added, BlockSums
from pkex.games.rules import Ladder, Rule
from pkex.games.threads import raise_if_cancelled, workspace
from pkex.games.tree_products import SWEEP, leave_one_out
from pkex.games.tree_values import group_weights
from pkex.kernels.columns import RBF, Chi2, Laplacian, Periodic
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term

__all__ = ["NumPyGame"]


_EXPONENTIALS = (RBF, Laplacian, Chi2, Periodic)  # kernels that tell their exponents
_FEWEST = 32  # players from which on series are worth a look
_FEWEST_GENERAL = 12  # and in the general game, which they spare two exponentials for each factor


class PairValues(NamedTuple):
    """The values of pairs, in two parts, and what goes with them.

    Attributes
    ----------
    integrals, changes : arrays of shape (players, pairs)
        ``Q_j`` and ``p_j - a_j``, whose products are the values; or the values, and None.
    totals, magnitudes : arrays of shape (pairs,)
        The products of all factors, and the sizes that rounding is relative to.
    rules : tuple of Rule
    """

    integrals: Floats
    changes: Floats | None
    totals: Floats
    magnitudes: Floats
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class NumPyGame:
    """The product games of one term: its columns gathered into players, and the rules for them.

    Parameters
    ----------
    term : Term
        The product kernel; its coefficient is left to the caller.
    players : tuple of tuples of int
        The columns of each player; every column belongs to exactly one.
    ladder : Ladder
        The rules for this number of players.
    """

    term: Term
    players: Players
    ladder: Ladder
    ratios = NumPyRatios()

    @property
    def entries(self) -> int:
        """Column factors of a block that suit it: 4 MiB, about six arrays of which live at once."""
        return 2**19

    @np.errstate(over="ignore", under="ignore", invalid="ignore")  # the caller sees what overflowed
    def explain(
        self, x: Floats, z: Floats, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain the pair games of the rows `x` and the points `z`.

        Parameters
        ----------
        x : array of shape (rows, columns)
        z : array of shape (points, columns)
        weights : array of shape (points, sets), or (rows, points, sets)
        absent : Factors of shape (players, points), optional
            The factors of absent players; 1 by default.
        """
        return _contract(self._solve_points(x, z, absent), len(x), weights)

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def explain_given(
        self, present: Factors, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain pairs whose factors are given.

        Parameters
        ----------
        present : Factors of shape (players, rows, points)
        weights : array of shape (points, sets), or (rows, points, sets)
        absent : Factors of shape (players, rows, points) or (players, points), optional
            The factors of absent players; 1 by default.
        """
        return _contract(self._solve(present, absent), present.values.shape[1], weights)

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def explain_against(
        self, x: Floats, z: Floats, weights: Floats, rows: Floats, shares: Floats
    ) -> BlockSums:
        """Explain with each of `rows` in place of absent players, and add up the shares.

        Parameters
        ----------
        x, z, weights
            As in `explain`.
        rows : array of shape (scenarios, columns)
            At least one.
        shares : array of shape (scenarios,)
        """
        s = self._exponents(x, z)
        present, total = self.factors(x, z) if s is None else None, None
        for row, share in zip(rows, shares, strict=True):
            raise_if_cancelled()
            r = self._exponents(row[None, :], z)
            if s is None or r is None:
                others = self.factors(row[None, :], z)
                absent = Factors(others.values[:, 0], others.deficits[:, 0])
                assert present is not None
                solved = self._solve(present, absent)
            else:
                solved = self._solve_exponents(s, r[:, 0])
            block = _contract(solved, len(x), share * weights)
            total = block if total is None else total.plus(block)
        if total is None:
            raise ValueError("the background has no rows.")
        return total

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def add_pairs(
        self,
        x: Floats,
        z: Floats,
        values: Floats,
        absent: Factors | None = None,
        *,
        integrals: Indices | None = None,
    ) -> Added:
        """Add the values of every pair, times the coefficient of the term, to `values`.

        Parameters
        ----------
        x : array of shape (rows, columns)
        z : array of shape (points, columns)
        values : array of shape (players + 1, rows, points)
            The last entry takes the products of all factors; the last axis is contiguous. With
            `integrals` of shape (these players, rows, points).
        absent : Factors of shape (players, points), optional
            The factors of absent players; 1 by default.
        integrals : integer array, optional
            Players for which to add the integrals ``Q_j``, without the change ``p_j - a_j`` of the
            player's own factor, instead of all values; with `absent` only.

        """
        if values.size == 0:
            return Added((), 0.0)
        shape, scale = (-1, len(x), len(z)), self.term.coefficient
        if integrals is not None:
            solved = self._solve(self._present(x, z, absent), absent)
            values += scale * solved.integrals[integrals].reshape(shape)
            return Added(solved.rules, float(solved.magnitudes.max(initial=0.0)))
        added, changes, totals, magnitudes, rules = self._solve_points(x, z, absent)
        if changes is not None:
            added *= changes
        values[:-1] += scale * added.reshape(shape)
        values[-1] += scale * totals.reshape(shape)[0]
        return Added(rules, float(magnitudes.max(initial=0.0)))

    def add_pairs_against(self, x: Floats, z: Floats, values: Floats, absent: Factors) -> Added:
        """Do as `add_pairs` for several sets of absent factors, one after the other."""
        every = [
            self.add_pairs(x, z, values, Factors(*(part[:, number] for part in absent)))
            for number in range(absent.values.shape[1])
        ]
        rules = tuple({rule for added in every for rule in added.rules})
        return Added(rules, max((added.largest for added in every), default=0.0))

    def _present(self, x: Floats, z: Floats, absent: Factors | None) -> Factors:
        """Return the factors of present players; in the neutral game from the deficits alone."""
        if absent is not None:
            return self.factors(x, z)
        u = self.deficits(x, z)
        return Factors(1.0 - u, u)

    def _solve_points(self, x: Floats, z: Floats, absent: Factors | None) -> PairValues:
        """Return the values of the pairs of rows and points."""
        many = absent is not None or len(self.players) >= _FEWEST
        s = self._exponents(x, z) if many else None
        r = None if s is None or absent is None else to_exponents(absent)
        if s is None or (r is not None and not np.isfinite(r).all()):
            return self._solve(self._present(x, z, absent), absent)
        return self._solve_exponents(s, r)

    def _solve_exponents(self, s: Floats, r: Floats | None) -> PairValues:
        """Return the values of pairs from exponents: by series where they are near, else by nodes.

        `s` has the shape (players, rows, points), `r`, of absent players, (players, points).

        A pair is *near* if its largest ``|s - r|`` is small enough for the longest series. Pairs
        are sorted by it, so that chunks of `add_near_one` take few terms; that may stop at a rule
        without series, and what it leaves is solved by nodes together with the pairs that are far.
        Where no more than half of the pairs are near, nodes solve them all: gathering some would
        cost more than series spare (a choice by time: `python -m benchmarks.without_compiler`).
        """
        n_players, n_points = len(s), s.shape[2]
        e = s if r is None else s - r[:, None, :]
        s, e = s.reshape(n_players, -1), e.reshape(n_players, -1)
        most = (e if r is None else np.abs(e)).max(axis=0, initial=0.0)
        point = np.arange(e.shape[1]) % n_points
        order = np.argsort(most)  # what is not a number comes last, and is far
        limit = max((POSITIVE if r is None else SIGNED).values())
        near = order[: np.searchsorted(most, limit, side="right", sorter=order)]
        solved, rules = 0, set[Rule]()
        if 2 * len(near) > e.shape[1]:
            missing = np.zeros(e.shape[1]) if r is None else absent_sums(r)[point]
            values = workspace("values", *e.shape)
            signed = r is not None
            solved, rules = add_near_one(e, missing, most, near, self.ladder, values, signed=signed)
        if not solved:
            absent = None if r is None else from_exponents(r[:, point])
            return self._solve(from_exponents(s), absent)
        sums = player_sums(e)
        totals, magnitudes = np.exp(-(missing + sums)), np.ones(e.shape[1])
        if r is not None:  # the largest worth, of max(p, a): exp of -(sum r + sum min(e, 0))
            worth = np.exp(0.5 * (np.abs(e).sum(axis=0) - sums) - missing)
            magnitudes = np.where(worth < TAIL, np.maximum(worth, FLOOR), 1.0)
        far = order[solved:]
        if len(far):
            absent = None if r is None else from_exponents(r[:, point[far]])
            others = self._solve(from_exponents(s[:, far]), absent)
            assert others.changes is not None
            values[:, far] = others.integrals * others.changes
            totals[far], magnitudes[far] = others.totals, others.magnitudes
            rules.update(others.rules)
        return PairValues(values, None, totals, magnitudes, tuple(rules))

    def _exponents(self, x: Floats, z: Floats) -> Floats | None:
        """Return minus the logarithms of the players' factors, or None where they have none."""
        if len(self.players) < _FEWEST_GENERAL or not self.term.leaves:
            return None
        if self.ladder.tree is not None:  # whose passes want the factors
            return None
        if not all(type(leaf) in _EXPONENTIALS for leaf in self.term.leaves):
            return None
        leaf: Any = self._only_leaf
        if leaf is not None:
            return evaluate_columns(leaf, leaf.exponents, x, z)
        joined = np.zeros((len(self.players), len(x), len(z)))
        for leaf in self.term.leaves:
            exponents = evaluate_columns(leaf, leaf.exponents, x, z)
            for player, exponent in zip(self._owners(leaf), exponents, strict=True):
                joined[player] += exponent
        return joined

    def _solve(self, present: Factors, absent: Factors | None) -> PairValues:
        """Return the values of pairs, in two parts.

        Absent factors have the shape of the present ones, or the same for all rows.
        """
        n_players = len(self.players)
        factors, u = present
        start: Any = None
        if absent is not None:
            start, missing = (part if part.ndim == 3 else part[:, None, :] for part in absent)
            u = compute_drops(present, Factors(start, missing))
            start = np.broadcast_to(start, u.shape)
            start = start.reshape(n_players, -1)
        factors, u = factors.reshape(n_players, -1), u.reshape(n_players, -1)
        lam, outside, magnitudes = measure_extent(self.term, factors, u, start, self.ladder.lower)
        integrals = np.empty_like(u)
        assigned = self._assign(lam, outside)
        for rule, pairs in assigned:
            step = max(1, SWEEP // (n_players * rule.size))
            for first in range(0, len(pairs), step):
                chunk = pairs[first : first + step]
                base = None if start is None else start[:, chunk]
                if self.ladder.tree is not None:
                    p = factors[:, chunk]
                    integrals[:, chunk] = group_weights(self.ladder.tree, p, base)
                    continue
                integrals[:, chunk] = leave_one_out(u[:, chunk], base, rule)
        totals = np.multiply.reduce(factors, axis=0)
        if any(rule.any_factors for rule, _ in assigned):
            largest = np.abs(factors) if start is None else np.maximum(abs(factors), abs(start))
            magnitudes *= np.multiply.reduce(np.maximum(1.0, largest), axis=0)
            magnitudes *= 1.0 + lam
        rules = tuple(rule for rule, _ in assigned)
        return PairValues(integrals, -u, totals, magnitudes, rules)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        """Return ``1 - product of the player's factors``, shape (players, rows, points).

        Factors are joined by ``u <- u + v (1 - u)``, which keeps the digits of small deficits.
        """
        leaf = self._only_leaf
        if leaf is not None:
            return evaluate_columns(leaf, leaf.deficits, x, z)
        joined = np.zeros((len(self.players), len(x), len(z)))
        for leaf in self.term.leaves:
            deficits = evaluate_columns(leaf, leaf.deficits, x, z)
            for player, v in zip(self._owners(leaf), deficits, strict=True):
                joined[player] += v * (1.0 - joined[player])
        return joined

    def factors(self, x: Floats, z: Floats) -> Factors:
        """Return the product of each player's factors, arrays of shape (players, rows, points).

        A player without columns has the factor 1.
        """
        leaf = self._only_leaf
        if leaf is not None:
            return evaluate_both_forms(leaf, x, z)
        shape = (len(self.players), len(x), len(z))
        values, deficits = np.ones(shape), np.zeros(shape)
        for leaf in self.term.leaves:
            by_column = evaluate_both_forms(leaf, x, z)
            for player, value, v in zip(self._owners(leaf), *by_column, strict=True):
                values[player] *= value
                deficits[player] += v * (1.0 - deficits[player])
        return Factors(values, deficits)

    def add_factors(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add the players' factors of every pair, times the coefficient of the term, to `values`.

        Parameters
        ----------
        x : array of shape (rows, columns)
        z : array of shape (points, columns)
        values : array of shape (players, rows, points), the last axis contiguous
        """
        values += self.term.coefficient * (1.0 - self.deficits(x, z))

    def mean_factors(self, x: Floats, z: Floats, shares: Floats) -> Factors:
        """Return the weighted means over the rows of `x` of `factors`, of shape (players, points).

        Parameters
        ----------
        x : array of shape (rows, columns)
        z : array of shape (points, columns)
        shares : array of shape (rows,)
            The weights of the rows, which sum to 1.
        """

        def add(rows: slice, values: Floats, deficits: Floats) -> None:
            factors = self.factors(x[rows], z)
            values += np.einsum("b,jbi->ji", shares[rows], factors.values)
            deficits += np.einsum("b,jbi->ji", shares[rows], factors.deficits)

        step = max(1, self.entries // max(1, self.term.n_columns * len(z)))
        return mean_factors(add, len(x), step, (len(self.players), len(z)))

    @property
    def _only_leaf(self) -> ColumnKernel | None:
        """The kernel, where it is the only one and every column is a player of its own."""
        plain = self.players == tuple((j,) for j in range(self.term.n_columns))
        leaves = self.term.leaves
        return leaves[0] if plain and len(leaves) == 1 and leaves[0].columns is None else None

    def _owners(self, leaf: ColumnKernel) -> list[int]:
        """Return the player of each column that `leaf` covers."""
        owner = {
            column: player for player, columns in enumerate(self.players) for column in columns
        }
        covered = range(self.term.n_columns) if leaf.columns is None else leaf.columns
        return [owner[column] for column in covered]

    def _assign(
        self, lam: Floats, outside: NDArray[np.bool_]
    ) -> list[tuple[Rule, NDArray[np.intp]]]:
        """Return the rules that the pairs need, each with the indices of its pairs."""
        ladder = self.ladder
        steps = np.searchsorted(ladder.limits, lam)
        assigned = [(ladder.fallback, np.flatnonzero(outside))] if outside.any() else []
        for step in np.unique(steps[~outside]):
            pairs = np.flatnonzero((steps == step) & ~outside)
            assigned.append((ladder.rules[step], pairs))
        return assigned


def _contract(solved: PairValues, n_rows: int, weights: Floats) -> BlockSums:
    """Return the weighted sums over the points of each row."""
    integrals, changes, totals, magnitudes, rules = solved
    values = integrals if changes is None else np.multiply(integrals, changes, out=changes)
    n_points = weights.shape[-2]
    shape = (n_rows, 1, n_points)
    return BlockSums(
        values.reshape(len(values), n_rows, n_points).transpose(1, 0, 2) @ weights,
        (totals.reshape(shape) @ weights)[:, 0],
        (magnitudes.reshape(shape) @ np.abs(weights))[:, 0],
        rules,
    )
