"""How large values may be: up to where differences and products of two rows are double numbers.

A difference that overflows is infinite, and the factor of a kernel that is 0 there would be wrong
without a word; a dot product that overflows is not a number. So tables are compared with what the
kernel takes of each column, and refused with the name of the column that is too large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.columns import Stationary
from pkex.kernels.leaves import Dot
from pkex.kernels.normal_form import NormalForm
from pkex.kernels.polynomial import Monomial

__all__ = ["LARGEST", "check_sizes", "check_widths", "size_limits"]


LARGEST = 2.0**1023
"""Two numbers of at most this size have a difference that is finite."""

_PRODUCTS = 305.0  # decimal exponent of the largest product over columns, or power of a sum


def size_limits(form: NormalForm, points: Any) -> Floats:
    """Return how large values of each column may be beside `points`, shape (n_columns,).

    Without rows in `points` only differences count; of sparse ones as well, whose kernels have no
    products. Of a product over columns in which ``x z`` stands p times, each ``|x z|`` may be the
    p-th root of what the product may be.
    """
    n_columns = int(points.shape[1])
    limits, rates = np.full(n_columns, np.inf), np.zeros(n_columns)
    leaves = [leaf for term in form.terms for leaf in term.leaves]
    for columns in {leaf.columns for leaf in leaves if isinstance(leaf, Stationary)}:
        limits[slice(None) if columns is None else list(columns)] = LARGEST
    for term in form.terms:
        growing = [leaf for leaf in term.leaves if isinstance(leaf, Dot | Monomial)]
        degree = sum(1 if isinstance(leaf, Dot) else sum(leaf.powers) for leaf in growing)
        for leaf in growing:
            for column in range(n_columns) if leaf.columns is None else leaf.columns:
                rates[column] = max(rates[column], 10.0 ** -(_PRODUCTS / degree))
    for power in form.powers:
        covered = list(power.columns)
        # the sum itself before it is multiplied by gamma, and its power
        rate = max(10.0**-_PRODUCTS, power.gamma * 10.0 ** -(_PRODUCTS / power.degree))
        rate *= len(covered)
        rates[covered] = np.maximum(rates[covered], rate)
    if rates.any():
        with np.errstate(divide="ignore", over="ignore"):
            limits = np.minimum(limits, 1.0 / (rates * np.abs(points).max(axis=0, initial=0.0)))
    return limits


def check_sizes(X: Any, limits: Any, name: str, names: Sequence[str] | None = None) -> None:
    """Raise a ValueError where values of a table, which may be sparse, are beyond the limits."""
    stored = hasattr(X, "tocsr")
    sizes, most = (np.abs(X.data), limits[X.indices]) if stored else (np.abs(X), limits)
    right = sizes <= most
    if right.all():
        return
    place = np.argwhere(~right)[0]
    column = int(X.indices[place[0]] if stored else place[1])
    title = repr(names[column]) if names is not None and column < len(names) else column
    raise ValueError(
        f"a value of {sizes[tuple(place)]:.2g} in column {title} of {name} is too large for double "
        "precision: its differences from other rows, or products with them, overflow. Rescale the "
        "column, for example with StandardScaler."
    )


def check_widths(numbers: Floats, name: str, names: Sequence[str] | None) -> None:
    """Raise a ValueError where a width of the heuristic, or a difference, might overflow."""
    limits = np.full(numbers.shape[1], LARGEST / math.sqrt(numbers.shape[1]))
    check_sizes(numbers, limits, name, names)
