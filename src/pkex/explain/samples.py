"""A random part of the rows, where all of them would take too long: `max_samples`."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from pkex._util.random import RandomState, as_generator
from pkex._util.types import Indices
from pkex._util.validation import brief, is_index

__all__ = ["draw_rows", "take_rows"]


def draw_rows(n_rows: int, max_samples: Any, random_state: RandomState) -> Indices | None:
    """Return the places of some rows, in order; None for all of them.

    An integer is a number of rows, at most all; a float is a part of them, as in scikit-learn.
    """
    if is_index(max_samples) and max_samples >= 1:
        count = int(max_samples)
    elif isinstance(max_samples, float) and 0.0 < max_samples <= 1.0:
        count = max(1, int(max_samples * n_rows))
    else:
        raise ValueError(
            "max_samples must be a number of rows of at least 1, or a float above 0.0 and at most "
            f"1.0 for a part of them; got {brief(max_samples)}."
        )
    if count >= n_rows:
        return None
    return np.sort(as_generator(random_state).choice(n_rows, count, replace=False))


def take_rows(table: Any, places: Any) -> Any:
    """Return some rows of a table, of a column, or of texts."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    if hasattr(table, "tocsr"):
        return table.tocsr()[places]
    if isinstance(table, list | tuple):
        return [table[place] for place in places]
    if isinstance(table, np.ndarray):
        return table[places]
    return nw.from_native(table, eager_only=True, allow_series=True)[places].to_native()
