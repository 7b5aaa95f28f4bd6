"""What the report of an `Importance` shows, as JSON: a number for every feature, and its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.report._page import Fact, by_output, make_facts
from pkex.output.spread import importance_notes
from pkex.output.view.features import mean_size

if TYPE_CHECKING:
    from pkex.results.importance import Importance

__all__ = ["payload"]

_NOTES = {"Standard errors": "Over the rows, with this model; they shrink with more rows."}


def payload(importance: Importance) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    count = len(importance.feature_names)
    spread, centred = importance.importances_std, importance.centred
    sizes = np.nan_to_num(importance.values.reshape(count, -1).T)
    return {
        "title": "Feature importance",
        "facts": _facts(importance),
        "remarks": list(importance_notes(importance)),
        "meaning": mean_size(importance),
        "output_names": importance.output_names if importance.values.ndim == 2 else ("",),
        "rankings": np.argsort(-sizes, axis=1, kind="stable").tolist(),
        "values": by_output(importance.values, count),
        "standard_errors": by_output(importance.standard_errors, count),
        "centred": by_output(centred, count) if importance.neutral else None,
        "std": None if spread is None else by_output(spread, count),
    }


def _facts(importance: Importance) -> list[Fact]:
    several = importance.values.ndim == 2
    values = {
        "Features": len(importance.feature_names),
        "Rows": importance.n_rows,
        "Outputs": len(importance.output_names) if several else None,
        "Importance": mean_size(importance),
        "Removal": importance.removal,
        "Background": importance.background_info,
        "Standard errors": "one, on either side of each bar"
        if importance_notes(importance)
        else "",
    }
    return make_facts({name: value or None for name, value in values.items()}, _NOTES)
