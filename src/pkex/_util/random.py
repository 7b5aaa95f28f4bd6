"""Random states, and random rows of a table that do not depend on the order of its rows."""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief

__all__ = ["RandomState", "as_generator", "sample_rows"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for what scikit-learn and NumPy call a random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a non-negative integer, a Generator or a RandomState; got "
            f"{brief(random_state)}."
        ) from error


def sample_rows(X: Floats, max_rows: int, random_state: RandomState) -> Floats:
    """Return a random subsample, which depends on the values of the rows but not on their order.

    So it is the same for permuted samples, which keeps permutation tests exact for any seed.
    """
    if len(X) <= max_rows:
        return X
    last = X[:, -1]
    order = np.argsort(last, kind="stable")
    if (np.diff(last[order]) == 0.0).any():  # else the last column, the first key, is enough
        order = np.lexsort(X.T)
    return X[order[as_generator(random_state).choice(len(X), max_rows, replace=False)]]
