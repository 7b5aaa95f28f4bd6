"""What the report of a `Sensitivity` shows, as JSON: indices of every input, and pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.report._facts import Fact, fact
from pkex.output.report._page import finite
from pkex.output.view.features import sensitivity_remarks

if TYPE_CHECKING:
    from pkex.results.sensitivity import Sensitivity

__all__ = ["payload"]

MAX_PAIRS = 40  # of the table of pairs, for each output


def payload(sensitivity: Sensitivity, title: str | None, details: list[Fact]) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    count = len(sensitivity.players)
    kinds = {
        "first": sensitivity.first_order,
        "shapley": sensitivity.shapley,
        "total": sensitivity.total_order,
    }
    tables = {kind: table.reshape(count, -1) for kind, table in kinds.items()}
    n_outputs = tables["shapley"].shape[1]
    return {
        "kind": "sensitivity",
        "title": title or "Which inputs drive the output",
        "facts": details + _facts(sensitivity),
        "remarks": sensitivity_remarks(sensitivity),
        "names": sensitivity.feature_names,
        "outputs": sensitivity.outputs,
        "variance": finite(np.reshape(sensitivity.variance, -1)),
        "orders": [
            np.argsort(-np.nan_to_num(tables["shapley"][:, k]), kind="stable").tolist()
            for k in range(n_outputs)
        ],
        **{kind: [finite(table[:, k]) for k in range(n_outputs)] for kind, table in tables.items()},
        "pairs": [_pairs(sensitivity, k) for k in range(n_outputs)],
        "max_pairs": MAX_PAIRS,
    }


def _pairs(sensitivity: Sensitivity, output: int) -> list[list[Any]] | None:
    """Return the largest parts of pairs of inputs."""
    if sensitivity.second_order is None:
        return None
    count = len(sensitivity.players)
    table = sensitivity.second_order.reshape(count, count, -1)[..., output]
    first, second = np.triu_indices(count, 1)
    parts = np.nan_to_num(table[first, second])
    order = np.argsort(-parts, kind="stable")[:MAX_PAIRS]
    return [
        [int(first[i]), int(second[i]), part]
        for i, part in zip(order, finite(parts[order]), strict=True)
    ]


def _facts(sensitivity: Sensitivity) -> list[Fact]:
    n_columns, count = len(sensitivity.column_names), len(sensitivity.players)
    made = f"Made of {n_columns} columns." if n_columns != count else ""
    said = (
        "Every input varies as it does there, whatever the others are. Where columns depend on "
        "each other, that includes combinations which do not occur; groups keep columns together."
    )
    facts = [fact("Inputs", count, made), fact("Range", sensitivity.inputs, said)]
    if sensitivity.shapley.ndim == 2:
        facts.append(fact("Outputs", sensitivity.shapley.shape[1]))
        return [*facts, _error(sensitivity)]
    variance = f"{float(sensitivity.variance):.4g}"
    facts.append(fact("Variance", variance, "With independent inputs; indices are shares of it."))
    facts.append(fact("Mean", f"{float(sensitivity.mean):.4g}"))
    return [*facts, _error(sensitivity)]


def _error(sensitivity: Sensitivity) -> Fact:
    said = "Of computing an index, not of the model; nothing is sampled."
    return fact("Numerical error", f"up to {sensitivity.error:.1g}", said)
