"""Missing cells as data: a column with some is one feature of two factors.

The first factor is that of its value, the median of the observed cells where one is missing; the
second is that of an indicator, a category of its own that says whether the cell is missing. The
kernel of the feature is the product of both, and strictly positive definite in the indicator, so
that a change of missingness alone is a change. Both belong to one feature: they are permuted
together, and where the feature is removed, the mean of the product takes their place. The width of
the value's factor comes from observed cells. In a column of categories a missing cell is one more
category, and nothing has to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Players
from pkex.tables.frames import Table, codes

__all__ = ["MISSING", "Encoded", "encode"]

MISSING = ("separate", "drop", "refuse")
"""What to do with missing cells, the default first."""


class Encoded(NamedTuple):
    """A table as finite numbers, with indicators of missing cells as columns after the others."""

    numbers: Floats
    categorical: tuple[bool, ...]
    feature_groups: Players
    observed: NDArray[np.bool_] | None
    """Which cells were observed, of all columns; None where none is missing."""
    names: tuple[str, ...]
    """Of all columns."""


def encode(table: Table, feature_groups: Sequence[Sequence[int]]) -> Encoded:
    """Return a table without gaps."""
    numbers = codes(table)
    gaps = np.isnan(numbers)
    groups = tuple(map(tuple, feature_groups))
    partly = np.flatnonzero(gaps.any(axis=0)).tolist()
    if not partly:
        return Encoded(numbers, table.categorical, groups, None, table.names)
    for column in partly:
        known = numbers[~gaps[:, column], column]
        numbers[gaps[:, column], column] = np.median(known) if len(known) else 0.0
    width = numbers.shape[1]
    place = {column: width + number for number, column in enumerate(partly)}
    groups = tuple((*group, *(place[j] for j in group if j in place)) for group in groups)
    return Encoded(
        np.concatenate([numbers, gaps[:, partly].astype(np.float64)], axis=1),
        (*table.categorical, *(True for _ in partly)),
        groups,
        ~np.concatenate([gaps, np.zeros((len(gaps), len(partly)), dtype=bool)], axis=1),
        (*table.names, *(f"{table.names[column]} is missing" for column in partly)),
    )
