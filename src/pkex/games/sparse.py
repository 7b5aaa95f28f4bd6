"""Product games of sparse rows and points: a pair costs the players that both have.

Let the kernel be 1 between two zeros. For a point z and a node t, with ``p_j`` the factor of a
present and ``a_j`` that of an absent player, the game of a row x needs

    P(t) = prod_j f_j(t),    f_j(t) = (1 - t) a_j + t p_j,    g_j(t) = (p_j - a_j) / f_j(t),

and then ``phi_j`` is the integral of ``g_j P``. For a *first row*, which is the same for all rows,
``P`` and the sum ``G`` of all ``g_j`` are known for every point and node. A row corrects the
players J where it differs from that: with f', g' of the first row

    P = P' prod_{j in J} f_j / f'_j,        sum_{j not in J} g_j = G' - sum_{j in J} g'_j.

Where a point has no entry for player j, its factor depends on the row alone. So the product is one
over all of J, the same for all points, times one over the entries of the point; and

    sum_i alpha_i g_ij P_i = g_j0 sum_i alpha_i P_i + sum_{entries i of j} alpha_i (g_ij - g_j0) P_i

with ``g_j0`` that of a point without an entry. The second sum of all players together has as many
terms as rows and points have entries in common. The values of what a row does not store come out as
one number, the *rest*, exactly and without a list of them.

In the code `corrected` is J, and `at_entries` and `at_empty` have ``p_j`` and ``a_j`` at the
entries of points and at points without one; so `f` and `f_empty`, `g_empty` (``g_j0``). What
belongs to the first row is called so: `first_f` is f', `first_g_empty` is ``g'_j0``. `gains` are
the summands ``(g_ij - g_j0) P_i``, and `product` is P times the weight of the node.

- neutral removal: ``a_j = 1``; the first row is one of zeros.
- marginal removal: ``a_j`` is the mean of the factors over a background; the first row is zero.
- interventional removal: ``a_j`` is the factor of a row b of the background, for one after the
  other. All factors of the first row are those of zeros, ``a_j = p_j = k(0, z_j)``, so that
  ``G' = 0``; J has what x or b store, and players that b alone stores go to the rest.

**Rounding**, in units of 2^-53. Let s and r be the exponents of ``p_j`` and ``a_j``. Exponents are
right to 8 units of themselves, means of B factors to 2 (B + 8) of r; so log f is right to
``5 + (2 B + 32) max(s, r)`` with what the logarithm itself rounds. P has the sum of at most

    T = players of the background + 6 entries of a point + 2 |J|

such logarithms, each counted as often as it is added or taken away; let R be the sum of their
``max(s, r)``, over all of these. The order of summation costs as many units of R as a point and J
have entries, and 40 for sums over all players, which NumPy makes by halves. Hence
``5 T + (n + 2 B + 72) R`` units for P, the same for the change of the player's own factor, and one
for each point and node that are summed. Terms that cancel, ``g_j0 P_i`` where the point has an
entry and ``g'_j P``, are at most ``1 / min(t, 1 - t)`` in size: if ``a_j`` is the larger factor,
f_j is at least ``(1 - t) a_j`` and the change at most ``a_j``, and likewise with t for ``p_j``.
Hence the units are multiplied by the mean of that over the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.protocols import Factors
from pkex.games.rules import Rule
from pkex.games.sparse_integrals import Corrections, First, integrate, weigh
from pkex.games.stored import AtEntries, Batch, Ends, Indices, Row, StoredPoints, split_rows
from pkex.games.threads import raise_if_cancelled
from pkex.kernels.entries import MOST

__all__ = ["Scenarios", "SparseGame", "SparseSums"]


_SLACK = 1.0 + 2.0**-40  # of lam, by its own rounding
_STEP = 64  # players to which their number is rounded up, so that rows share rules
_PAIRS = 2**22  # flags of background rows and players that are held at once


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Sparse rows that stand in for absent players, with weights that sum to 1.

    With `marginal` there is one scenario, of mean factors; else one for each row.
    """

    rows: Any
    weights: Floats
    marginal: bool


class SparseSums(NamedTuple):
    """Weighted sums over points, for one row.

    Attributes
    ----------
    values : array of shape (players that the row stores, sets)
    rest, totals : arrays of shape (sets,)
        The sum over all other players, and that of the products of all factors.
    rules : set of Rule
    units : float
        What rounding costs a value, in units of 2^-53 of the sum of absolute weights.
    lam : float
        The largest sum of the sizes of a pair's changes.
    """

    values: Floats
    rest: Floats
    totals: Floats
    rules: set[Rule]
    units: float
    lam: float


class SparseGame:
    """The games of one term between sparse rows and some sparse points.

    Parameters
    ----------
    stored : StoredPoints
    weights : array of shape (points, sets)
    ladder : callable
        Returns the rules for a number of players.
    scenarios : Scenarios or None
        None for neutral removal.
    """

    def __init__(
        self, stored: StoredPoints, weights: Floats, ladder: Any, scenarios: Scenarios | None
    ) -> None:
        self.stored, self.weights, self.ladder, self.scenarios = stored, weights, ladder, scenarios
        self._nodes: dict[bytes, First] = {}

    @property
    def each(self) -> bool:
        """Whether the rows of a background stand in one by one."""
        return self.scenarios is not None and not self.scenarios.marginal

    def explain(self, rows: Sequence[Row], players: Sequence[Indices]) -> list[SparseSums]:
        """Return the sums of rows, with values of some players, among them all that a row stores.

        With a background each of its rows stands in for all rows in turn.
        """
        if not self.each:
            return self._explain(rows, players, players, None)
        assert self.scenarios is not None
        totals: list[SparseSums | None] = [None] * len(rows)
        for other, share in zip(self._others, self.scenarios.weights, strict=True):
            raise_if_cancelled()
            stored = self.stored.owners.of(other)
            both = [np.union1d(wanted, stored) for wanted in players]
            sums = self._explain(rows, players, both, other)
            totals = [_add_share(t, s, float(share)) for t, s in zip(totals, sums, strict=True)]
        return [total for total in totals if total is not None]  # all: a background has rows

    @lazy
    def bases(self) -> Floats:
        """Weighted sums of the worth of no player, shape (sets,)."""
        if self.scenarios is None:
            return np.asarray(self.weights.sum(axis=0))
        if self.each:
            total = np.zeros(self.weights.shape[1])
            for other, share in zip(self._others, self.scenarios.weights, strict=True):
                total += share * (self._worths(other, self.stored.owners.of(other)) @ self.weights)
            return total
        at_entries, empty = self._means
        logs, all_empty = np.log(at_entries.values), np.log(empty.values)
        gained = self.stored.by_point(self.stored.points, logs - all_empty[self.stored.players])
        worths: Floats = np.exp(all_empty.sum() + gained) @ self.weights
        return worths

    @lazy
    def _others(self) -> list[Row]:
        assert self.scenarios is not None
        return split_rows(self.scenarios.rows)

    def _explain(
        self,
        rows: Sequence[Row],
        players: Sequence[Indices],
        corrected: Sequence[Indices],
        other: Row | None,
    ) -> list[SparseSums]:
        """Return the sums of rows against one scenario; `corrected` are their players J."""
        stored = self.stored
        batch = stored.batch(corrected)
        s = stored.at(rows, batch)
        r = None if other is None else stored.at([other] * len(rows), batch)
        absent, without = self._absent(batch.ids, batch.players, r)
        ends = Ends.of(s.entries, absent), Ends.of(s.empty, without)
        zeros = stored.zeros[batch.ids], np.zeros(len(batch.players))
        if self.each:
            first_ends = Ends.first(zeros[0]), Ends.first(zeros[1])
        else:
            first_ends = Ends.of(zeros[0], absent), Ends.of(zeros[1], without)
        in_entries, in_empty = (
            np.abs(now.change) - np.abs(first.change)
            for now, first in zip(ends, first_ends, strict=True)
        )
        in_entries = in_entries - in_empty[batch.place]
        lam = (self._lam + stored.by_row_and_point(batch, in_entries)).max(axis=1)
        lam += np.bincount(batch.rows, in_empty, len(rows))
        worths = s.entries - stored.zeros[batch.ids] - s.empty[batch.place]
        worths = stored.by_row_and_point(batch, worths) + stored.total
        worths += np.bincount(batch.rows, s.empty, len(rows))[:, None]
        totals, units = weigh(np.exp(-worths), self.weights), self._units(batch, s, r)
        result: dict[int, SparseSums] = {}
        by_rule = self._rows_by_rule(_SLACK * np.maximum(0.0, lam), corrected)
        for rule, numbers in by_rule.items():
            some, of_player, of_entry = batch.select(numbers)
            parts = [
                now.select(mask)
                for now, mask in zip((*ends, *first_ends), (of_entry, of_player) * 2, strict=True)
            ]
            values, rest = integrate(
                rule, stored, some, Corrections(*parts), self._first(rule), self.weights
            )
            stops = np.cumsum(np.bincount(some.rows, minlength=len(numbers))).tolist()
            amplified = units[numbers] * _amplification(rule) + len(self.weights) + rule.size + 64.0
            by_row = [values[a:b] for a, b in pairwise([0, *stops])]
            for at, number in enumerate(numbers.tolist()):
                shown, others = by_row[at], rest[at]
                if self.each:  # what the other row alone stores is not told apart
                    kept = np.isin(corrected[number], players[number])
                    shown, others = shown[kept], others + shown[~kept].sum(axis=0)
                sizes = float(amplified[at]), float(lam[number])
                result[number] = SparseSums(shown, others, totals[number], {rule}, *sizes)
        return [result[number] for number in range(len(rows))]

    def _absent(
        self, ids: Indices, players: Indices, r: AtEntries | None
    ) -> tuple[Factors | None, Factors | None]:
        """Return the factors of absent players at entries, and at points without; None if 1."""
        if self.scenarios is None:
            return None, None
        if r is not None:
            at_entries, empty = (Factors(np.exp(-e), -np.expm1(-e)) for e in (r.entries, r.empty))
            return at_entries, empty
        at_entries, empty = self._means
        return _select(at_entries, ids), _select(empty, players)

    def _worths(self, row: Row, players: Indices) -> Floats:
        """Return the products of all factors of a row, for each point."""
        stored = self.stored
        batch = stored.batch([players])
        s = stored.at([row], batch)
        gained = s.entries - stored.zeros[batch.ids] - s.empty[batch.place]
        total = stored.total + stored.by_row_and_point(batch, gained)[0] + s.empty.sum()
        worths: Floats = np.exp(-total)
        return worths

    @lazy
    def _means(self) -> tuple[Factors, Factors]:
        """Mean factors over the background, at all entries and at points without.

        A row that stores nothing of a player has there the factor of zeros, so that the others
        are added up, and the share of those that do not store it is found for each player.
        """
        assert self.scenarios is not None
        stored, shares = self.stored, self.scenarios.weights
        values, deficits = np.zeros((2, len(stored.points)))
        without, lacking, left = np.zeros((3, stored.owners.n_players))
        step = max(1, _PAIRS // stored.owners.n_players)
        for start in range(0, len(shares), step):
            here = slice(start, start + step)
            stores = np.zeros((len(shares[here]), stored.owners.n_players), dtype=bool)
            for number, (row, share) in enumerate(
                zip(self._others[here], shares[here], strict=True)
            ):
                raise_if_cancelled()
                players = stored.owners.of(row)
                stores[number, players] = True
                batch = stored.batch([players])
                ids, s = batch.ids, stored.at([row], batch)
                values[ids] += share * np.exp(-s.entries)
                deficits[ids] -= share * np.expm1(-s.entries)
                without[players] += share * np.exp(-s.empty)
                lacking[players] -= share * np.expm1(-s.empty)
            left += shares[here] @ ~stores
        of_zeros = left[stored.players]
        values += of_zeros * np.exp(-stored.zeros)
        deficits -= of_zeros * np.expm1(-stored.zeros)
        return _combine_forms(values, deficits), _combine_forms(without + left, lacking)

    def _rows_by_rule(self, lam: Floats, corrected: Sequence[Indices]) -> dict[Rule, Indices]:
        """Return the cheapest rules that cover all pairs of rows, each with its rows.

        Players whose factor is the same, present or absent, do not count.
        """
        counts = np.array([len(players) for players in corrected])
        if not self.each:
            counts += self.stored.most + self._n_absent
        sizes = np.clip(-(-counts // _STEP) * _STEP, 1, self.stored.owners.n_players)
        rows: dict[Rule, Indices] = {}
        for size in np.unique(sizes).tolist():
            ladder, some = self.ladder(size), np.flatnonzero(sizes == size)
            steps = np.searchsorted(ladder.limits, lam[some])
            for step in np.unique(steps).tolist():
                rule, more = ladder.rules[step], some[steps == step]
                rows[rule] = np.union1d(rows[rule], more) if rule in rows else more
        return rows

    @lazy
    def _n_absent(self) -> int:
        """Number of players that have another factor when absent, at points without an entry."""
        return 0 if self.scenarios is None else int((self._means[1].deficits > 0.0).sum())

    @lazy
    def _lam(self) -> Floats:
        """The sums of the sizes of the changes of the first row, shape (points,)."""
        if self.each:
            return np.zeros(self.stored.n_points)
        at_entries, at_empty = self._first_ends
        sizes = np.abs(at_empty.change)
        at_stored = np.abs(at_entries.change) - sizes[self.stored.players]
        return float(sizes.sum()) + self.stored.by_point(self.stored.points, at_stored)

    @property
    def _first_ends(self) -> tuple[Ends, Ends]:
        """The factors of a row of zeros, at all entries and at points without."""
        everything = np.arange(len(self.stored.points)), np.arange(self.stored.owners.n_players)
        absent, without = self._absent(*everything, None)
        zeros = np.zeros(self.stored.owners.n_players)
        return Ends.of(self.stored.zeros, absent), Ends.of(zeros, without)

    def _first(self, rule: Rule) -> First:
        """Return what the first row has at the nodes of a rule; kept for the next row."""
        key = rule.nodes.tobytes()
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = self._make_first(rule)
        return known

    def _make_first(self, rule: Rule) -> First:
        stored = self.stored
        if self.each:
            return First(np.broadcast_to(-stored.total, (rule.size, stored.n_points)), None)
        at_entries, at_empty = self._first_ends
        logs, changes = np.empty((2, rule.size, stored.n_points))
        for node, t in enumerate(rule.nodes):
            f, f_empty = at_entries.at(t), at_empty.at(t)
            log_empty = np.broadcast_to(np.log(f_empty), at_empty.change.shape)
            more = np.log(f) - log_empty[stored.players]
            logs[node] = log_empty.sum() + stored.by_point(stored.points, more)
            g_empty = at_empty.change / f_empty
            more = at_entries.change / f - g_empty[stored.players]
            changes[node] = g_empty.sum() + stored.by_point(stored.points, more)
        return First(logs, changes)

    def _units(self, batch: Batch, s: AtEntries, r: AtEntries | None) -> Floats:
        """Return what rounding costs P and a change, in units of 2^-53, by row: see the head."""
        n_background, n_logs, reach = self._first_rounding
        at_empty = s.empty if r is None else np.maximum(s.empty, r.empty)
        at_entries = s.entries if r is None else np.maximum(s.entries, r.entries)
        both = self.stored.by_row_and_point(batch, at_entries + at_empty[batch.place])
        total_reach = np.bincount(batch.rows, at_empty, batch.n_rows) + both.max(axis=1)
        total_reach += 2.0 * reach
        n_corrected = np.bincount(batch.rows, minlength=batch.n_rows)
        n_added = self.stored.most + n_corrected + 2.0 * n_background + 72.0
        units: Floats = 10.0 * (n_logs + 2.0 * n_corrected) + 2.0 * n_added * total_reach
        return units

    @lazy
    def _first_rounding(self) -> tuple[int, float, float]:
        """What the first row has of B, T and R of the head."""
        stored, n_background, absent, empty = self.stored, 0, np.zeros(1), np.zeros(1)
        if self.scenarios is not None and not self.each:
            n_background = len(self.scenarios.weights)
            absent, empty = (-np.log(part.values) for part in self._means)
        sizes = np.maximum(stored.zeros, absent)
        if len(empty) > 1:
            sizes = sizes + empty[stored.players]
        largest = float(stored.by_point(stored.points, sizes).max(initial=0.0))
        n_logs = (0 if self.each else self._n_absent) + 6.0 * stored.most
        return n_background, n_logs, float(empty.sum()) + 2.0 * largest


def _amplification(rule: Rule) -> float:
    """Return the mean over the nodes of the largest ``|g_j|``, at least 1."""
    with np.errstate(divide="ignore"):
        largest = 1.0 / np.minimum(rule.nodes, 1.0 - rule.nodes)
    return max(1.0, float(np.abs(rule.weights) @ largest))


def _select(factors: Factors, places: Indices) -> Factors:
    return Factors(*(part[places] for part in factors))


def _combine_forms(values: Floats, deficits: Floats) -> Factors:
    """Return mean factors, with the digits of those near 1, none so small that ratios overflow."""
    near = np.where(deficits < 0.5, 1.0 - deficits, values)
    return Factors(np.maximum(near, np.exp(-MOST)), deficits)


def _add_share(total: SparseSums | None, more: SparseSums, share: float) -> SparseSums:
    """Add a share of some sums to others."""
    values, rest, totals = (share * part for part in more[:3])
    if total is None:
        return more._replace(values=values, rest=rest, totals=totals)
    return SparseSums(
        total.values + values,
        total.rest + rest,
        total.totals + totals,
        total.rules | more.rules,
        max(total.units, more.units),
        max(total.lam, more.lam),
    )
