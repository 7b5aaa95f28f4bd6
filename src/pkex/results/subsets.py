"""Subsets of features that have interactions: one as an entry, and those of a size with values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats

__all__ = ["ByOrder", "Interaction", "Subset", "find_place", "group_by_size", "list_subsets"]

Subset = tuple[int, ...]
Group = tuple[int, list[Subset], Floats]
ByOrder = list[tuple[int, Callable[[int], Subset], Floats]]


class Interaction(NamedTuple):
    """An entry of `Interactions.top`: the names of the features, the mean value, and the size.

    Parameters
    ----------
    features : tuple of str
        The names of the features.
    mean : float
        Mean interaction value over the rows and outputs.
    size : float
        Mean absolute interaction value over the rows, summed over the outputs.

    See Also
    --------
    pkex.Interactions.top : The largest interactions.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().top(1)[0].features
    ('x0', 'x1')
    """

    features: tuple[str, ...]
    mean: float
    size: float


def group_by_size(subsets: Sequence[Subset], values: Floats) -> list[Group]:
    """Return chosen subsets of each size and their values, smaller ones first."""
    groups = []
    for size in sorted({len(subset) for subset in subsets}):
        places = [place for place, subset in enumerate(subsets) if len(subset) == size]
        groups.append((size, [subsets[place] for place in places], values[:, places]))
    return groups


def list_subsets(array: Floats, size: int, n_features: int) -> Group:
    """Return all subsets of a size, and their values from the array of that size."""
    values = array[:, *np.triu_indices(n_features, 1)] if size == 2 else array
    return size, list(combinations(range(n_features), size)), values


def find_place(subset: Subset, n: int) -> Subset:
    """Return where a subset of n features stands in its array: a triple by its rank among all."""
    if len(subset) < 3:
        return subset
    i, j, k = subset
    return (comb(n, 3) - comb(n - i, 3) + comb(n - i - 1, 2) - comb(n - j, 2) + k - j - 1,)
