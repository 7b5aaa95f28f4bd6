"""What the report of a `Change` shows, as JSON: values of every feature before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.report._page import Fact, by_output, finite, make_facts
from pkex.output.view.change import change_remarks, difference, sentences

if TYPE_CHECKING:
    from pkex.results.change import Change

__all__ = ["payload"]

_NOTES = {
    "p-value": "The smallest adjusted p-value: did anything change?",
    "Significance level": "A p-value of at most this is statistically significant.",
    "Permutations": "Of the labels before and after.",
    "Error bound": "Proven, of every value and prediction, in their units.",
}


def payload(
    change: Change, sample_names: tuple[str, str] | None, alpha: float | None
) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    alpha = change.alpha if alpha is None else alpha
    count = len(change.feature_names)
    sides = []
    for means, quantiles in (
        (change.means_before, change.quantiles_before),
        (change.means_after, change.quantiles_after),
    ):
        boxes = np.moveaxis(quantiles.reshape(5, count, -1), 0, 1)
        outputs = [[finite(box) for box in boxes[:, :, k]] for k in range(boxes.shape[2])]
        sides.append({"means": by_output(means, count), "boxes": outputs})
    tests = () if change.p_features is None else change.p_features
    return {
        "title": "What changed between two tables",
        "facts": _facts(change, alpha),
        "verdict": list(sentences(change, alpha)),
        "remarks": change_remarks(change, alpha),
        "output_names": change.output_names,
        "summaries": [difference(change, k) for k in range(len(change.output_names) or 1)],
        "samples": sample_names or change.sample_names,
        "sides": sides,
        "contributions": by_output(change.differences, count),
        "p_values": [by_output(part, count) for part in tests],
        "alpha": alpha,
        "ranking": change.ranking.tolist(),
    }


def _facts(change: Change, alpha: float) -> list[Fact]:
    values = {
        "Rows": " and ".join(map(str, change.n_rows)),
        "Features": len(change.feature_names),
        "Columns": len(change.column_names),
        "Outputs": len(change.output_names) if len(change.output_names) > 1 else None,
        "Removal": change.removal,
        "Background": change.background_info,
    }
    if change.n_permutations:
        values |= {
            "Permutations": change.n_permutations,
            "p-value": f"{change.p_value:.3g}",
            "Significance level": f"{alpha:g}",
        }
    if change.error_bound is not None:
        values["Error bound"] = f"{change.error_bound:.1g}"
    return make_facts(values, _NOTES)
