"""`Totals`: what is said of all rows of an explanation, whether they are at hand or not.

A table that is explained in parts is never there as a whole: its totals are added up part by part,
and the explanation that is shown beside them holds a sample of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkex.importance import Importance
from pkex.models.classes import elsewhere

if TYPE_CHECKING:
    from pkex.explanation import Explanation

__all__ = ["Totals", "class_counts", "count_apart"]


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
    """

    n_rows: int
    importance: Importance
    error: float | None
    predicted: dict[str, int] | None
    apart: int

    @classmethod
    def of(cls, explanation: Explanation) -> Totals:
        """Return the totals of an explanation that holds all rows."""
        error = explanation.error
        return cls(
            len(explanation),
            explanation.importance(),
            None if error is None else float(error.max(initial=0.0)),
            class_counts(explanation),
            count_apart(explanation),
        )


def class_counts(explanation: Explanation) -> dict[str, int] | None:
    """Return how many rows have each predicted class; None where no class is predicted."""
    if explanation.predicted is None:
        return None
    found = [str(label) for label in explanation.predicted]
    labels = dict.fromkeys((*(explanation.classes or ()), *found))
    return {label: found.count(label) for label in labels}


def count_apart(explanation: Explanation) -> int:
    """Return how many rows have their largest output in another class than the predicted one."""
    other = elsewhere(explanation)
    return 0 if other is None else sum(most is not None for most in other)
