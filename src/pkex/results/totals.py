"""`Totals` and `PairTotals`: what is said of all rows, whether they are at hand or not.

A table that is explained in parts is never there as a whole: its totals are added up part by part,
and the explanation that is shown beside them holds a sample of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkex.models.classes import count_disagreements
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.interactions import Interactions

__all__ = ["PairTotals", "Totals", "class_counts"]


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals over the rows of an explanation.

    Attributes
    ----------
    n_rows : int
    importance : Importance
    error : float or None
        The largest proven bound; None where it is not known.
    predicted : dict of str to int, or None
        How many rows have each predicted class, in the order of the classes.
    apart : int
        How many rows have their largest output in another class than the predicted one.
    pairs : PairTotals or None
        Those of the interactions, where there are some.
    """

    n_rows: int
    importance: Importance
    error: float | None
    predicted: dict[str, int] | None
    apart: int
    pairs: PairTotals | None = None

    @classmethod
    def of(cls, explanation: Explanation) -> Totals:
        """Return the totals of an explanation that holds all rows."""
        error = explanation.error_bound
        return cls(
            len(explanation),
            explanation.importance(),
            None if error is None else float(error.max(initial=0.0)),
            class_counts(explanation),
            count_disagreements(explanation),
        )


@dataclass(frozen=True, eq=False)
class PairTotals:
    """Totals of the pairs over the rows of interactions.

    Attributes
    ----------
    n_rows : int
    sizes, means : arrays of shape (n_features, n_features, n_outputs)
        Means over the rows of the absolute values, and of the values.
    error : float or None
        The largest proven bound; None where it is not known.
    """

    n_rows: int
    sizes: NDArray[np.float64]
    means: NDArray[np.float64]
    error: float | None

    @classmethod
    def of(cls, interactions: Interactions) -> PairTotals:
        """Return the totals of interactions that hold all rows."""
        assert interactions.pairs is not None  # not of chosen subsets
        d = len(interactions.feature_names)
        pairs = interactions.pairs.reshape(len(interactions), d, d, -1)
        bound = interactions.error_bound
        error = None if bound is None else float(bound.max(initial=0.0))
        return cls(len(interactions), np.abs(pairs).mean(axis=0), pairs.mean(axis=0), error)

    def plus(self, other: PairTotals) -> PairTotals:
        """Return the totals of the rows of both."""
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / n_rows
        known = self.error is not None and other.error is not None
        return PairTotals(
            n_rows,
            self.sizes + (other.sizes - self.sizes) * share,
            self.means + (other.means - self.means) * share,
            max(self.error or 0.0, other.error or 0.0) if known else None,
        )


def class_counts(explanation: Explanation) -> dict[str, int] | None:
    """Return how many rows have each predicted class; None where no class is predicted."""
    if explanation.predicted_class is None:
        return None
    predicted = [str(label) for label in explanation.predicted_class]
    labels = dict.fromkeys((*(explanation.classes or ()), *predicted))
    return {label: predicted.count(label) for label in labels}
