"""Explanations of parts of a table, put together to that of the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.games.sums import ranked

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["joined"]

# what explanations of one explainer have in common, in the order of the sentence about it
_SAME = (
    ("feature_names", "features"),
    ("column_names", "columns"),
    ("players", "players"),
    ("output_names", "outputs"),
    ("removal", "removal"),
    ("absent", "absent features"),
    ("index", "index"),
    ("efficient", "index"),
    ("complete", "selection of features"),
    ("classes", "classes"),
    ("sides", "classes"),
    ("number", "outputs"),
    ("quantity", "quantity"),
)


def joined(cls: type[Explanation], explanations: Iterable[Explanation]) -> Explanation:
    """Return one explanation of the rows of all, in order; see `Explanation.concat`."""
    from pkex.results.explanation import Explanation

    parts = list(explanations)
    wrong = next((part for part in parts if not isinstance(part, Explanation)), None)
    if wrong is not None:
        raise TypeError(f"concat takes explanations, got {type(wrong).__name__}.")
    if not parts:
        raise ValueError("concat takes at least one explanation.")
    first = parts[0]
    for number, part in enumerate(parts[1:], 1):
        for name, word in _SAME:
            if getattr(part, name) != getattr(first, name):
                raise ValueError(
                    f"explanation {number} differs from the first in its {word}: concat joins rows "
                    "that one explainer explained."
                )
    rules = ranked({rule for part in parts for rule in part.rules})
    known = all(part.kernels == first.kernels for part in parts)
    return cls(
        values=_rows(parts, "values"),
        base_values=_rows(parts, "base_values"),
        predictions=_rows(parts, "predictions"),
        data=_data(parts),
        **{name: getattr(first, name) for name, _ in _SAME},
        rule=rules[0],
        rules=rules,
        residual=float(np.max([part.residual for part in parts])),
        kernels=first.kernels if known else None,
        error=_rows(parts, "error"),
        std=_rows(parts, "std"),
        cov=_rows(parts, "cov"),
        predicted=_rows(parts, "predicted"),
        row_labels=_labels(parts),
    )


def _rows(parts: Sequence[Explanation], name: str) -> Any:
    """Return the rows of an array in all parts; None where a part does not know it."""
    arrays = [getattr(part, name) for part in parts]
    return None if any(array is None for array in arrays) else np.concatenate(arrays)


def _data(parts: Sequence[Explanation]) -> Any:
    """Return the data of all parts: objects where one has text."""
    arrays = [part.data for part in parts]
    if any(array.dtype == object for array in arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def _labels(parts: Sequence[Explanation]) -> Any:
    """Return what frames called the rows; None where one did not, so that rows have numbers."""
    labels = [part.row_labels for part in parts]
    if any(label is None for label in labels):
        return None
    return labels[0].append(labels[1:])
