"""Sparse rows and points under a hierarchy: a row costs what hangs beside its way up the tree.

Let J be the players that a row stores, with those of the background row under interventional
removal. The vertices above them make up the *way* of the row. All other children of the way hang
on it as a whole: such a subtree c counts by its products ``P_c`` and ``A_c`` alone, and its members
have ``(P_c - A_c)`` times the weight of c together, as values sum up at every level. So a row has
the game of a smaller tree, whose leaves are J and what hangs beside it, and the values of the
latter add up to the rest. Four things keep that tree small:

- Interventional removal: members of c have the factor of zeros, present or absent. ``P_c = A_c``
  changes no value, but multiplies the worth of all coalitions: c is taken from the tree, and its
  factor goes to the weight of the point.
- A subtree in which a point has no entry has ``P_c = 1``, and ``A_c = 1`` under neutral removal or
  where the background stores nothing of it. Siblings without an order can change places, since only
  the sum of their values counts; so each point has its subtrees with entries in the first *slots*
  of their parent, as many as a point needs at most.
- In an ordered group a run of subtrees between two members of the way is one leaf: its values
  telescope.
- Under product-of-marginals removal a subtree that the background stores something of differs from
  1 at every point, and is a leaf of the tree.

So binary trees and trees of small groups stay sparse under every removal, and any tree stays sparse
under neutral and interventional removal. A group of many members is integrated with half as many
nodes; `MOST_MEMBERS` and `MOST_LEAVES` bound the work and the memory of a row.

**Rounding**, in units of 2^-53. Products are exponentials of sums of exponents, which are right to
8 units of themselves, those of means of B factors to 2 (B + 8), and a sum of n of them is right to
n more. A coalition with the sum E is worth ``exp(-E)``, so that it is off by ``(n + 2 B + 24) E
exp(-E)`` units, less than half of the bracket, and a value, the difference of two, by less than
the bracket. To this come the roundings of a game of as many players as there are leaves
(`WeightedPoints.roundings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.games.factors import Factors, compute_drops, to_exponents
from pkex.games.hierarchy import Hierarchy
from pkex.games.sources import make_given_game
from pkex.games.sparse import Scenarios, SparseGame, SparseSums
from pkex.games.stored import Batch, Indices, Row, StoredPoints

__all__ = ["MOST_LEAVES", "MOST_MEMBERS", "TREE_POINTS", "SparseTreeGame", "TreeOrder"]

MOST_LEAVES = 2**14
"""Leaves of the tree of a row at most: with `TREE_POINTS` points 128 MiB an array, of which there
are five."""

MOST_MEMBERS = 2**11
"""Members of a group at most that are integrated together, for a row."""

TREE_POINTS = 2**10
"""Points of a block at most."""


class Way(NamedTuple):
    """The groups above the players of a row, and what hangs beside them.

    Attributes
    ----------
    on_way : array of bool, shape (vertices,)
        Whether a vertex is a player of the row, or a group above one.
    groups : array of shape (groups,)
        The groups, ascending.
    starts, owners : arrays of shape (leaves,)
        Where each leaf, a subtree or a run of them, begins in the order of players, and its group.
    after : array of shape (leaves,)
        The member of an ordered group that the leaf follows; -1 for none, and in other groups.
    """

    on_way: Any
    groups: Indices
    starts: Indices
    owners: Indices
    after: Indices


@dataclass(frozen=True, eq=False)
class TreeOrder:
    """A hierarchy whose players are in an order in which every group is an interval.

    Attributes
    ----------
    tree : Hierarchy
    """

    tree: Hierarchy

    @lazy
    def children(self) -> list[Indices]:
        """The members of each group."""
        return [np.array(members, dtype=np.intp) for members in self.tree.children]

    @lazy
    def parents(self) -> Indices:
        """The group of each vertex; -1 for the last one."""
        parents = np.full(self.tree.n_features + len(self.children), -1, dtype=np.intp)
        for i, members in enumerate(self.children):
            parents[members] = self.tree.n_features + i
        return parents

    @lazy
    def starts(self) -> Indices:
        """Where each vertex begins in that order; the first ones are the places of players."""
        n_players = self.tree.n_features
        sizes = np.ones(len(self.parents), dtype=np.intp)
        for i, members in enumerate(self.children):
            sizes[n_players + i] = sizes[members].sum()
        starts = np.zeros_like(sizes)
        for i in range(len(self.children) - 1, -1, -1):
            members = self.children[i]
            starts[members] = starts[n_players + i] + np.cumsum(sizes[members]) - sizes[members]
        return starts

    @lazy
    def in_order(self) -> Indices:
        """The players in that order."""
        return np.argsort(self.starts[: self.tree.n_features])

    def way(self, players: Indices) -> Way:
        """Return the groups above some players, and what hangs beside them."""
        n_players, parents = self.tree.n_features, self.parents
        on_way = np.zeros(len(parents), dtype=bool)
        if not len(players):  # everything hangs on the last group, as one
            root, nothing = np.array([len(parents) - 1]), np.array([-1])
            return Way(on_way, root, np.zeros(1, dtype=np.intp), root, nothing)
        on_way[players] = True
        level = np.unique(parents[players])
        while len(level):
            level = level[(level >= 0) & ~on_way[level]]
            on_way[level] = True
            level = np.unique(parents[level])
        groups = np.flatnonzero(on_way[n_players:]) + n_players
        leaves, after = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for group in groups:
            members = self.children[group - n_players]
            hang = ~on_way[members]
            before = np.full(len(members), -1)
            if self.tree.ordered[group - n_players]:  # the first of each run
                last = np.maximum.accumulate(np.where(hang, -1, np.arange(len(members))))
                before = np.where(last < 0, -1, members[last])
                hang[1:] &= ~hang[:-1]
            leaves.append(members[hang])
            after.append(before[hang])
        vertices = np.concatenate(leaves)
        return Way(on_way, groups, self.starts[vertices], parents[vertices], np.concatenate(after))


class SparseTreeGame(SparseGame):
    """The games of one term between sparse rows and some sparse points, under a hierarchy.

    Parameters
    ----------
    stored, weights, ladder, scenarios
        As in `SparseGame`.
    order : TreeOrder
    """

    def __init__(
        self,
        stored: StoredPoints,
        weights: Floats,
        ladder: Any,
        scenarios: Scenarios | None,
        order: TreeOrder,
    ) -> None:
        super().__init__(stored, weights, ladder, scenarios)
        self.order = order

    def _explain(
        self,
        rows: Sequence[Row],
        players: Sequence[Indices],
        corrected: Sequence[Indices],
        other: Row | None,
    ) -> list[SparseSums]:
        sums = []
        for row, wanted, mine in zip(rows, players, corrected, strict=True):
            one = self._explain_row(row, mine, other)
            if self.each:  # what the other row alone stores is not told apart
                kept = np.isin(mine, wanted)
                rest = one.rest + one.values[~kept].sum(axis=0)
                one = one._replace(values=one.values[kept], rest=rest)
            sums.append(one)
        return sums

    def _explain_row(self, row: Row, players: Indices, other: Row | None) -> SparseSums:
        """Return the sums of a row against one scenario, with the values of all of `players`."""
        stored, weights = self.stored, self.weights
        batch = stored.batch([players])
        present, absent = self._player_factors(batch, row, other)
        if self.each:
            mine = stored.by_point(stored.points[batch.ids], stored.zeros[batch.ids])
            weights = np.exp(-np.maximum(stored.total - mine, 0.0))[:, None] * weights
            if not len(players):  # both rows are zero: all coalitions are worth the same
                return _without_change(self.order.tree, weights.sum(axis=0), stored.most)
            tree = self.order.tree.restricted(players.tolist())
        else:
            tree, hanging, without = self._beside(players)
            present = _join(present, hanging)
            absent = None if absent is None or without is None else _join(absent, without)
        general = self.scenarios is not None
        game = make_given_game(tree.n_features, tree, general=general, tol=None)
        shaped = Factors(*(np.ascontiguousarray(part[:, None]) for part in present))
        block = game.explain_given(shaped, np.ascontiguousarray(weights), absent)
        drops = present.deficits if absent is None else compute_drops(present, absent)
        lam = float(np.abs(drops).sum(axis=0).max(initial=0.0))
        n_background = 0 if self.scenarios is None else len(self.scenarios.weights)
        units = 34.0 * tree.n_features + 280.0 + stored.n_points  # of a game of so many players
        units += stored.most + len(players) + 2.0 * n_background + 64.0
        of_players, of_leaves = np.split(block.values[0], [len(players)])
        total = block.totals[0]
        return SparseSums(of_players, of_leaves.sum(axis=0), total, set(block.rules), units, lam)

    def _player_factors(
        self, batch: Batch, row: Row, other: Row | None
    ) -> tuple[Factors, Factors | None]:
        """Return the factors of the players of a row at all points, present and absent."""
        stored = self.stored
        at, shape = (batch.place, stored.points[batch.ids]), (len(batch.players), stored.n_points)

        def spread(empty: Floats, entries: Floats) -> Floats:
            table = np.repeat(empty[:, None], shape[1], axis=1)
            table[at] = entries
            return table

        s = stored.at([row], batch)
        r = None if other is None else stored.at([other], batch)
        absent, without = self._absent(batch.ids, batch.players, r)
        present = _from_exponents(spread(*s))
        if absent is None or without is None:
            return present, None
        return present, Factors(*map(spread, without, absent))

    def _beside(self, players: Indices) -> tuple[Hierarchy, Factors, Factors | None]:
        """Return the tree of a row, and the factors of what hangs beside it, present and absent."""
        stored, order = self.stored, self.order
        way = order.way(players)
        edges = np.concatenate([way.starts, order.starts[players]])
        sorting = np.argsort(edges)
        # entries of other players; the leaf of each, and the pairs of leaf and point that they make
        mine = np.zeros(stored.owners.n_players, dtype=bool)
        mine[players] = True
        chosen = np.flatnonzero(~mine[stored.players])
        places = order.starts[stored.players[chosen]]
        leaf = sorting[np.searchsorted(edges[sorting], places, side="right") - 1]
        keys, pair = np.unique(leaf * stored.n_points + stored.points[chosen], return_inverse=True)
        leaf, point = np.divmod(keys, stored.n_points)
        exponents = np.bincount(pair, stored.zeros[chosen], len(keys))
        always = np.zeros(len(way.starts))  # exponents of absent players at points without entries
        if self.scenarios is not None:
            at_entries, at_empty = self._absent_exponents
            sums = np.add.reduceat(at_empty[order.in_order], edges[sorting])
            always = sums[np.argsort(sorting)][: len(always)]
            more = at_entries[chosen] - at_empty[stored.players[chosen]]
            lost = np.maximum(np.bincount(pair, more, len(keys)) + always[leaf], 0.0)
        tree, place = self._small_tree(players, way, always, leaf, point)
        shape = tree.n_features - len(players), stored.n_points
        present = np.zeros(shape)
        present[place, point] = exponents
        if self.scenarios is None:
            return tree, _from_exponents(present), None
        absent = np.zeros(shape)
        absent[: np.count_nonzero(always)] = always[always > 0.0][:, None]
        absent[place, point] = lost
        return tree, _from_exponents(present), _from_exponents(absent)

    @lazy
    def _absent_exponents(self) -> tuple[Floats, Floats]:
        """Exponents of mean factors, at all entries and at points without."""
        at_entries, at_empty = map(to_exponents, self._means)
        return at_entries, at_empty

    def _small_tree(
        self, players: Indices, way: Way, always: Floats, leaf: Indices, point: Indices
    ) -> tuple[Hierarchy, Indices]:
        """Return the tree of a row, and the leaf of it where each pair of leaf and point goes.

        After the players come leaves whose absent factor is not 1 at any point, then those of
        ordered groups, then the slots of each group. Leaves that follow the players count from 0.
        """
        tree, n_players = self.order.tree, self.order.tree.n_features
        in_order = np.array(tree.ordered)[way.owners - n_players]
        kept = np.concatenate(
            [np.flatnonzero(always > 0.0), np.flatnonzero((always == 0.0) & in_order)]
        )
        place = np.full(len(always), -1)
        place[kept] = np.arange(len(kept))
        place = place[leaf]
        moved = np.flatnonzero(place < 0)
        ranks = _ranks(way.owners[leaf[moved]], point[moved])
        needed = np.zeros(len(self.order.parents), dtype=np.intp)  # slots of each group
        np.maximum.at(needed, way.owners[leaf[moved]], ranks + 1)
        members: list[list[int]] = []
        first_slot = np.zeros_like(needed)
        n_leaves = len(kept)
        for group in way.groups:
            children = self.order.children[group - n_players]
            on_way = children[way.on_way[children]]
            beside = np.flatnonzero(way.owners[kept] == group)
            if tree.ordered[group - n_players]:
                follows = {int(way.after[kept[i]]): -1 - int(i) for i in beside}
                inside = [
                    one for child in (-1, *on_way.tolist()) for one in (child, follows.get(child))
                ]
                members.append([one for one in inside[1:] if one is not None])
                continue
            count = _round_slots(len(on_way) + len(beside), int(needed[group]))
            _check_members(len(on_way) + len(beside) + count, self.scenarios is not None)
            first_slot[group] = n_leaves
            slots = range(n_leaves, n_leaves + count)
            members.append([*on_way.tolist(), *(-1 - i for i in (*beside.tolist(), *slots))])
            n_leaves += count
        _check_leaves(len(players) + n_leaves)
        place[moved] = first_slot[way.owners[leaf[moved]]] + ranks
        number = np.zeros(len(self.order.parents), dtype=np.intp)
        number[players] = np.arange(len(players))
        number[way.groups] = len(players) + n_leaves + np.arange(len(way.groups))
        numbers = number.tolist()
        small = tuple(
            tuple(len(players) - 1 - one if one < 0 else numbers[one] for one in inside)
            for inside in members
        )
        ordered = tuple(tree.ordered[group - n_players] for group in way.groups)
        return Hierarchy(len(players) + n_leaves, small, ("",) * len(small), ordered), place


def _from_exponents(exponents: Floats) -> Factors:
    return Factors(np.exp(-exponents), -np.expm1(-exponents))


def _join(first: Factors, second: Factors) -> Factors:
    return Factors(*(np.concatenate(both) for both in zip(first, second, strict=True)))


def _ranks(owners: Indices, points: Indices) -> Indices:
    """Return how many pairs of the same owner and point come before each."""
    sorting = np.lexsort((points, owners))
    owners, points = owners[sorting], points[sorting]
    new = np.append(True, (np.diff(owners) != 0) | (np.diff(points) != 0))[: len(owners)]
    counts = np.arange(len(owners))
    ranks = np.empty_like(counts)
    ranks[sorting] = counts - np.maximum.accumulate(np.where(new, counts, 0))
    return ranks


def _round_slots(n_others: int, n_slots: int) -> int:
    """Return a number of slots, with which groups of many members share quadrature rules."""
    count = n_others + n_slots
    step = 1 if count <= 16 else 8 if count <= 128 else 64
    return n_slots and -(-count // step) * step - n_others


def _without_change(tree: Hierarchy, totals: Floats, most: int) -> SparseSums:
    rule = tree.ladder(tree.n_features, None, general=True).rules[0]
    values, rest = np.zeros((0, len(totals))), np.zeros(len(totals))
    return SparseSums(values, rest, totals, {rule}, most + 64.0, 0.0)


def _check_members(count: int, general: bool) -> None:
    if count > MOST_MEMBERS:
        less = ", or removal='interventional' or 'neutral', which need fewer" if general else ""
        raise UnsupportedModelError(
            f"a group of the hierarchy has {count} members that a sparse row and the points or the "
            f"background store; sparse rows support {MOST_MEMBERS}. Divide the group into smaller "
            f"ones{less}."
        )


def _check_leaves(count: int) -> None:
    if count > MOST_LEAVES:
        raise UnsupportedModelError(
            f"a sparse row has {count} features and groups beside its way up the hierarchy; "
            f"{MOST_LEAVES} are supported, which take 1 GiB. Use a hierarchy that is less deep, "
            "or removal='interventional', which needs the stored features alone."
        )
