"""What rows have at the entries of sparse points, player by player.

A player has an *entry* at a point that is not zero in some of its columns. At all other points its
factor depends on the row alone, so that a row needs one number for each of its players, and one for
each entry that they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices, Players
from pkex.games.factors import compute_drops
from pkex.games.protocols import Factors
from pkex.kernels.entries import MOST, exponents, in_columns
from pkex.kernels.normal_form import Term

__all__ = ["AtEntries", "Batch", "Ends", "Indices", "Owners", "Row", "StoredPoints", "split_rows"]


class Row(NamedTuple):
    """The entries of a sparse row, none of them 0, by ascending column."""

    columns: Indices
    values: Floats


def split_rows(table: Any) -> list[Row]:
    """Return the rows of a CSR array."""
    columns = table.indices.astype(np.intp, copy=False)
    ends = pairwise(table.indptr.tolist())
    return [Row(columns[a:b], table.data[a:b]) for a, b in ends]


class Owners:
    """Which player each column belongs to.

    Parameters
    ----------
    players : tuple of tuples of int
        The columns of each player.
    n_columns : int
    """

    def __init__(self, players: Players, n_columns: int) -> None:
        self.n_players = len(players)
        self.of_column = np.zeros(n_columns, dtype=np.intp)
        sizes = np.array([len(columns) for columns in players], dtype=np.intp)
        columns = np.fromiter((j for player in players for j in player), np.intp)
        self.of_column[columns] = np.repeat(np.arange(len(players)), sizes)
        self.alone = sizes == 1  # whether a player has a single column
        self.are_columns = len(players) == n_columns and bool(
            (self.of_column == np.arange(n_columns)).all()
        )

    def of(self, row: Row) -> Indices:
        """Return the players that a row stores, ascending."""
        return row.columns if self.are_columns else np.unique(self.of_column[row.columns])


class AtEntries(NamedTuple):
    """Exponents of some players for a row: at points without an entry, and at all entries.

    Attributes
    ----------
    empty : array of shape (players,)
    entries : array of shape (entries,)
    """

    empty: Floats
    entries: Floats


class Ends(NamedTuple):
    """Factors of present and of absent players, and their difference with all its digits."""

    present: Floats
    absent: Floats
    change: Floats

    @classmethod
    def of(cls, exponents: Floats, absent: Factors | None) -> Ends:
        """Return those of players with these exponents; absent factors are 1 if None."""
        values, deficits = np.exp(-exponents), -np.expm1(-exponents)
        if absent is None:
            return cls(values, np.ones(1), -deficits)
        return cls(values, absent.values, -compute_drops(Factors(values, deficits), absent))

    @classmethod
    def first(cls, exponents: Floats) -> Ends:
        """Return those of players whose factor is the same, present or absent."""
        values = np.exp(-exponents)
        return cls(values, values, np.zeros_like(values))

    def select(self, chosen: Any) -> Ends:
        """Return some of them."""
        parts = (part if len(part) == 1 < len(chosen) else part[chosen] for part in self)
        return Ends(*parts)

    def at(self, t: Any) -> Floats:
        """Return the factors f at a node."""
        factors: Floats = (1.0 - t) * self.absent + t * self.present
        return factors


class Batch(NamedTuple):
    """The entries that players of some rows have, row by row, player by player.

    Attributes
    ----------
    n_rows : int
    rows, players : arrays of shape (players of all rows,)
        The row that wants it, and the player, which ascend.
    ids, place : arrays of shape (entries,)
        The entries, and whose each is, as `in_columns` says.
    """

    n_rows: int
    rows: Indices
    players: Indices
    ids: Indices
    place: Indices

    def select(self, chosen: Indices) -> tuple[Batch, Any, Any]:
        """Return the batch of some rows, and which players and entries it has of this one."""
        numbers = np.full(self.n_rows, -1)
        numbers[chosen] = np.arange(len(chosen))
        of_player = numbers[self.rows] >= 0
        of_entry = of_player[self.place]
        place = (np.cumsum(of_player) - 1)[self.place[of_entry]]
        rows, players = numbers[self.rows[of_player]], self.players[of_player]
        batch = Batch(len(chosen), rows, players, self.ids[of_entry], place)
        return batch, of_player, of_entry


class StoredPoints:
    """The entries of sparse points, by player, with their exponents for a row of zeros.

    Parameters
    ----------
    term : Term
    z : CSR array of shape (points, columns), without stored zeros
    owners : Owners

    Attributes
    ----------
    starts : array of shape (players + 1,)
        Where the entries of each player begin.
    points : array of shape (entries,)
        The point of each entry.
    zeros : array of shape (entries,)
        The exponents of a row of zeros.
    """

    def __init__(self, term: Term, z: Any, owners: Owners) -> None:
        self.term, self.owners, self.n_points = term, owners, int(z.shape[0])
        by_column = z.tocsc()
        by_column.sort_indices()
        self._starts, self._cells = by_column.indptr.astype(np.intp), by_column.data
        columns = np.repeat(np.arange(z.shape[1]), np.diff(self._starts))
        self._alone = exponents(term, columns, 0.0, self._cells)
        self.starts, self.points = self._starts, by_column.indices.astype(np.intp)
        self.zeros = self._alone
        if not owners.are_columns:
            keys = owners.of_column[columns] * self.n_points + self.points
            pairs, self._entry = np.unique(keys, return_inverse=True)
            players, self.points = np.divmod(pairs, self.n_points)
            self.starts = np.searchsorted(players, np.arange(owners.n_players + 1))
            self._sums = np.bincount(self._entry, self._alone, len(pairs))
            self.zeros = np.minimum(self._sums, MOST)

    @lazy
    def players(self) -> Indices:
        """The player of each entry."""
        return np.repeat(np.arange(self.owners.n_players), np.diff(self.starts))

    @lazy
    def total(self) -> Floats:
        """The exponents of a row of zeros, summed over the entries of each point."""
        return self.by_point(self.points, self.zeros)

    @lazy
    def most(self) -> int:
        """The largest number of entries of a point."""
        return int(np.bincount(self.points, minlength=1).max())

    def by_point(self, points: Indices, entries: Floats) -> Floats:
        """Return sums over entries that belong to these points."""
        sums = np.bincount(points, entries, self.n_points)
        return sums.astype(np.float64, copy=False)  # which are integers where there are none

    def at(self, rows: Sequence[Row], batch: Batch) -> AtEntries:
        """Return the exponents of rows for the players of a batch, among them all that they store.

        There is a row for each of the batch.
        """
        term, of_column = self.term, self.owners.of_column
        columns = np.concatenate([row.columns for row in rows])
        cells = np.concatenate([row.values for row in rows])
        numbers = np.repeat(np.arange(len(rows)), [len(row.columns) for row in rows])
        alone = exponents(term, columns, cells, 0.0)
        n_players, players, place, ids = (
            self.owners.n_players,
            batch.players,
            batch.place,
            batch.ids,
        )
        keys = batch.rows * n_players + players  # which ascend, as players of a row do
        who = np.searchsorted(keys, numbers * n_players + of_column[columns])
        empty = np.bincount(who, alone, len(players)).astype(np.float64, copy=False)
        if self.owners.are_columns:
            by_player = np.zeros(len(players))
            by_player[who] = cells
            at_entries = exponents(term, players[place], by_player[place], self._cells[ids])
            return AtEntries(empty, at_entries)
        cell, of_row = in_columns(self._starts, columns)
        both = exponents(term, columns[of_row], cells[of_row], self._cells[cell])
        n_entries = len(self.points)
        keys = batch.rows[place] * n_entries + ids
        entry = np.searchsorted(keys, numbers[of_row] * n_entries + self._entry[cell])
        gains = np.bincount(entry, both - self._alone[cell] - alone[of_row], len(ids))
        at_entries = np.clip(self._sums[ids] + empty[place] + gains, 0.0, MOST)
        single = self.owners.alone[of_column[columns]][of_row]
        at_entries[entry[single]] = both[single]  # which no difference has to be formed for
        return AtEntries(np.minimum(empty, MOST), at_entries)

    def batch(self, players: Sequence[Indices]) -> Batch:
        """Return the entries of the players of some rows, one row after the other."""
        rows = np.repeat(np.arange(len(players)), [len(one) for one in players])
        every = np.concatenate([*players, np.empty(0, dtype=np.intp)])
        return Batch(len(players), rows, every, *in_columns(self.starts, every))

    def by_row_and_point(self, batch: Batch, entries: Floats) -> Floats:
        """Return sums over the entries of a batch, shape (rows, points)."""
        cells = batch.rows[batch.place] * self.n_points + self.points[batch.ids]
        sums = np.bincount(cells, entries, batch.n_rows * self.n_points)
        return sums.astype(np.float64, copy=False).reshape(batch.n_rows, self.n_points)
