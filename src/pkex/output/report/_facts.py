"""Facts that a report states about a result: a label, a value, and a note that explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pkex.games.rules import Rule

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation

__all__ = ["Fact", "accuracy", "fact", "features"]

Fact = dict[str, str]


def fact(label: str, value: object, note: str = "") -> Fact:
    """Return a fact as the page takes it."""
    return {"label": label, "value": str(value), "note": note}


def features(result: Explanation | Attribution) -> Fact:
    """Return how many features there are, and of how many columns they are made."""
    n_columns, n_players = len(result.column_names), len(result.players)
    return fact(
        "Features", n_players, f"Made of {n_columns} columns." if n_columns != n_players else ""
    )


def accuracy(result: Explanation | Attribution, relative_to: str) -> list[Fact]:
    """Return the rules, what they were proven to err by at most, and the check of the sum."""
    if result.rule.relative_error == 0.0 or any(rule.is_fallback for rule in result.rules):
        error = fact(
            "Certified error", "rounding", "The rule is exact for every factor of this kernel."
        )
    else:
        bound = f"≤ {result.rule.relative_error:.2g}"
        error = fact("Certified error", bound, f"Relative to {relative_to}; proven, not estimated.")
    rules = "Each pair of points takes the cheapest that suffices."
    found = [fact("Rules", _rules(result.rules), rules), error]
    if math.isnan(result.residual):  # values that do not add up
        return found
    gap = f"{result.residual:.1e}" if result.residual else "0"
    said = "The largest gap between the values' sum and its target; checked to be rounding."
    return [*found, fact("Additivity residual", gap, said)]


def _rules(rules: Sequence[Rule]) -> str:
    sizes: dict[str, list[int]] = {}
    for rule in rules:
        sizes.setdefault(rule.family, []).append(rule.size)
    return "; ".join(f"{family}, {_span(found)} nodes" for family, found in sizes.items())


def _span(sizes: list[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"{low} to {high}" if low < high else f"{low}"
