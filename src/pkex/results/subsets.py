"""Subsets of features that have interactions: one as an entry, and those of a size with values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats

__all__ = ["ByOrder", "Interaction", "Subset", "find_place", "list_subsets"]

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


def list_subsets(result: Any) -> list[Group]:
    """Return size, subsets and values of each size that interactions have, smaller ones first."""
    groups, n_features = [], len(result.feature_names)
    for size in sorted({len(subset) for subset in result.subsets or ()}):  # chosen ones
        places = [i for i, subset in enumerate(result.subsets) if len(subset) == size]
        groups.append((size, [result.subsets[i] for i in places], result.values[:, places]))
    for size, array in enumerate((result.main, result.pairs, result.triples), 1):
        if array is not None:
            values = array[:, *np.triu_indices(n_features, 1)] if size == 2 else array
            groups.append((size, list(combinations(range(n_features), size)), values))
    return groups


def find_place(subset: Subset, n: int) -> Subset:
    """Return where a subset of n features stands in its array: a triple by its rank among all."""
    if len(subset) < 3:
        return subset
    i, j, k = subset
    return (comb(n, 3) - comb(n - i, 3) + comb(n - i - 1, 2) - comb(n - j, 2) + k - j - 1,)
