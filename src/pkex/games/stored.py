"""What rows have at the entries of sparse points, player by player.

A player has an *entry* at a point that is not zero in some of its columns. At all other points its
factor depends on the row alone, so that a row needs one number for each of its players, and one for
each entry that they have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices, Players
from pkex.kernels.entries import MOST, exponents, in_columns
from pkex.kernels.normal_form import Term

__all__ = ["AtEntries", "Indices", "Owners", "Row", "StoredPoints", "split_rows"]


class Row(NamedTuple):
    """The entries of a sparse row, none of them 0, by ascending column."""

    columns: Indices
    values: Floats


def split_rows(table: Any) -> list[Row]:
    """Return the rows of a CSR array."""
    ends = zip(table.indptr[:-1], table.indptr[1:], strict=True)
    return [Row(table.indices[a:b], table.data[a:b]) for a, b in ends]


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
        owners = self.of_column[row.columns]
        return owners if self.are_columns else np.unique(owners)


class AtEntries(NamedTuple):
    """Exponents of some players for a row: at points without an entry, and at all entries.

    Attributes
    ----------
    empty : array of shape (players,)
    entries : array of shape (entries,)
    """

    empty: Floats
    entries: Floats


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

    def at(self, row: Row, players: Indices, ids: Indices, place: Indices) -> AtEntries:
        """Return the exponents of a row for some players, among them all that it stores.

        `ids` are the entries of the players, and `place` says whose they are: see `in_columns`.
        """
        term, of_column = self.term, self.owners.of_column
        alone = exponents(term, row.columns, row.values, 0.0)
        who = np.searchsorted(players, of_column[row.columns])
        empty = np.bincount(who, alone, len(players)).astype(np.float64, copy=False)
        if self.owners.are_columns:
            cells = np.zeros(len(players))
            cells[who] = row.values
            at_entries = exponents(term, players[place], cells[place], self._cells[ids])
            return AtEntries(empty, at_entries)
        cell, of_row = in_columns(self._starts, row.columns)
        both = exponents(term, row.columns[of_row], row.values[of_row], self._cells[cell])
        entry = np.searchsorted(ids, self._entry[cell])
        gains = np.bincount(entry, both - self._alone[cell] - alone[of_row], len(ids))
        at_entries = np.clip(self._sums[ids] + empty[place] + gains, 0.0, MOST)
        single = self.owners.alone[of_column[row.columns]][of_row]
        at_entries[entry[single]] = both[single]  # which no difference has to be formed for
        return AtEntries(np.minimum(empty, MOST), at_entries)
