"""What the report of a `Sensitivity` shows, as JSON: indices of every input, and pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.report._page import Fact, by_output, finite, make_facts
from pkex.output.view.features import largest_pairs, sensitivity_remarks

if TYPE_CHECKING:
    from pkex.results.sensitivity import Sensitivity

__all__ = ["payload"]

MAX_PAIRS = 40  # of the table of pairs, for each output
_NOTES = {
    "Range": "Inputs vary independently of each other. Where columns are correlated, that includes "
    "combinations which do not occur; groups keep columns together.",
    "Variance": "With independent inputs; indices are fractions of it.",
    "Error bound": "Of computing an index, not of the model; nothing is sampled.",
}


def payload(sensitivity: Sensitivity) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    count, pairs = len(sensitivity.feature_groups), sensitivity.second_order
    kinds = ("first_order", "shapley", "total_order")
    shapley = np.nan_to_num(sensitivity.shapley.reshape(count, -1).T)
    tables = () if pairs is None else np.nan_to_num(pairs).reshape(count, count, -1).T
    return {
        "title": "Sobol indices and Shapley effects",
        "facts": _facts(sensitivity),
        "remarks": sensitivity_remarks(sensitivity),
        "output_names": sensitivity.output_names,
        "variance": finite(np.reshape(sensitivity.variance, -1)),
        "rankings": np.argsort(-shapley, axis=1, kind="stable").tolist(),
        **{kind: by_output(getattr(sensitivity, kind), count) for kind in kinds},
        "second_order": [
            [[i, j, *finite([table[i, j]])] for i, j in largest_pairs(table, MAX_PAIRS)]
            for table in tables
        ],
        "max_pairs": MAX_PAIRS,
    }


def _facts(sensitivity: Sensitivity) -> list[Fact]:
    several = sensitivity.shapley.ndim == 2
    values = {
        "Inputs": len(sensitivity.feature_groups),
        "Columns": len(sensitivity.column_names),
        "Range": sensitivity.inputs,
        "Outputs": len(sensitivity.output_names) if several else None,
        "Variance": None if several else f"{float(sensitivity.variance):.4g}",
        "Mean": None if several else f"{float(sensitivity.mean):.4g}",
        "Error bound": f"{sensitivity.error_bound:.1g}",
    }
    return make_facts(values, _NOTES)
