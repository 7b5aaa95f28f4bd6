"""Products of parameters in which every pair of values occurs.

A fault that needs three values at once is rare, and products of three lists and more are what most
tests would consist of. `make test` runs a few rows of such a product, in which every two values of
different parameters still meet; `make nightly` runs the other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def pairs_of(row: Sequence[int]) -> set[tuple[int, int, int, int]]:
    """Return the pairs of a row, each as two axes and the places of the values on them."""
    return {(i, j, row[i], row[j]) for i, j in combinations(range(len(row)), 2)}


def cover(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return few rows of a product of axes of these sizes, with every pair of places in some row.

    Each time the row with the most new pairs is taken, the first of several.
    """
    left = {row: pairs_of(row) for row in product(*map(range, sizes))}
    missing: set[tuple[int, int, int, int]] = set().union(*left.values())
    rows = []
    while missing:
        best = max(left, key=lambda row: len(left[row] & missing))
        missing -= left.pop(best)
        rows.append(best)
    return rows


def pairwise(**axes: Iterable[Any] | Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize a test by a product of three axes or more; a mapping has names for its values.

    Rows beyond a cover of all pairs are marked `nightly`.
    """
    if len(axes) < 3:
        raise ValueError("every row of a product of two axes is a pair; stack parametrize instead.")
    named = {axis: _named(values) for axis, values in axes.items()}
    often = set(cover([len(values) for values in named.values()]))
    rows = []
    for places in product(*(range(len(values)) for values in named.values())):
        chosen = [values[place] for values, place in zip(named.values(), places, strict=True)]
        rows.append(
            pytest.param(
                *(value for _, value in chosen),
                id="-".join(name for name, _ in chosen),
                marks=() if places in often else pytest.mark.nightly,
            )
        )
    return pytest.mark.parametrize(tuple(named), rows)


def _named(values: Iterable[Any] | Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the values of an axis with their names."""
    if isinstance(values, Mapping):
        return list(values.items())
    return [(getattr(value, "__name__", str(value)), value) for value in values]
