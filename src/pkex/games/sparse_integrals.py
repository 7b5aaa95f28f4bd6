"""The integrals of sparse rows: what `pkex.games.sparse` explains, with the names of its head.

There is a compiled loop, row by row. In NumPy all rows of a batch go together, in many short steps
between which threads would wait for each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.backend import native
from pkex.games.rules import Rule
from pkex.games.stored import Batch, Ends, StoredPoints

__all__ = ["Corrections", "First", "integrate", "weigh"]


class First(NamedTuple):
    """The first row at the nodes of a rule: log P' and G', shape (nodes, points)."""

    log_products: Floats
    changes: Floats | None


class Corrections(NamedTuple):
    """Factors of the corrected players, and those that the first row has in their place."""

    at_entries: Ends
    at_empty: Ends
    first_at_entries: Ends
    first_at_empty: Ends


def integrate(
    rule: Rule,
    stored: StoredPoints,
    batch: Batch,
    ends: Corrections,
    first: First,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return the values of the players of rows with one rule, and the rest of each row.

    Parameters
    ----------
    rule : Rule
    stored : StoredPoints
    batch : Batch
        The corrected players of the rows, and their entries.
    ends : Corrections
    first : First
    weights : array of shape (points, sets)
    """
    shapes = (len(batch.players), weights.shape[1]), (batch.n_rows, weights.shape[1])
    values, rest = (np.zeros(shape) for shape in shapes)
    compiled = native()
    if compiled is None:
        _add_integrals(rule, stored, batch, ends, first, weights, values, rest)
        return values, rest
    compiled.integrate_sparse(
        rule.nodes,
        rule.weights,
        _starts(batch.rows, batch.n_rows),
        _starts(batch.place, len(batch.players)),
        stored.points[batch.ids].astype(np.int64, copy=False),
        *map(tuple, ends),
        np.ascontiguousarray(first.log_products),
        first.changes,
        np.ascontiguousarray(weights),
        values,
        rest,
    )
    return values, rest


def _starts(owners: Indices, count: int) -> Indices:
    """Return where the parts of each owner begin, which ascend, and where the last one ends."""
    return np.searchsorted(owners, np.arange(count + 1)).astype(np.int64, copy=False)


def weigh(worths: Floats, weights: Floats) -> Floats:
    """Return the weighted sums over points, (rows, sets): each row as if it were alone."""
    sums: Floats = (worths[:, None, :] @ weights)[:, 0]
    return sums


def _add_integrals(
    rule: Rule,
    stored: StoredPoints,
    batch: Batch,
    ends: Corrections,
    first: First,
    weights: Floats,
    values: Floats,
    rest: Floats,
) -> None:
    """Do as `integrate`, in NumPy."""
    at_entries, at_empty, first_at_entries, first_at_empty = ends
    n_rows, place = batch.n_rows, batch.place
    points, row_of_entry = stored.points[batch.ids], batch.rows[place]
    gains, first_gains = np.zeros((2, len(points)))  # of the entries, without the weights
    for node, (t, weight) in enumerate(zip(rule.nodes, rule.weights, strict=True)):
        f_empty, first_f_empty = at_empty.at(t), first_at_empty.at(t)
        g_empty, first_g_empty = at_empty.change / f_empty, first_at_empty.change / first_f_empty
        f, first_f = at_entries.at(t), first_at_entries.at(t)
        ratios = np.broadcast_to(first_f_empty / f_empty, g_empty.shape)
        logs = stored.by_row_and_point(batch, np.log(f / first_f * ratios[place]))
        logs += np.bincount(batch.rows, -np.log(ratios), n_rows)[:, None]
        product = weight * np.exp(first.log_products[node] + logs)
        here, summed = product[row_of_entry, points], weigh(product, weights)
        gains += (at_entries.change / f - g_empty[place]) * here
        first_gains += (first_at_entries.change / first_f - first_g_empty[place]) * here
        values += g_empty[:, None] * summed[batch.rows]
        rest -= np.bincount(batch.rows, first_g_empty, n_rows)[:, None] * summed
        if first.changes is not None:
            rest += weigh(product * first.changes[node], weights)
    at_points = weights[points]
    for number in range(weights.shape[1]):
        column = at_points[:, number]
        values[:, number] += np.bincount(place, gains * column, len(values))
        rest[:, number] -= np.bincount(row_of_entry, first_gains * column, n_rows)
