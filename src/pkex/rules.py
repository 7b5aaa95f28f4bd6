"""The quadrature rules, each with a proven error: the public path of `pkex.games.rules`."""

from __future__ import annotations

from pkex.games.rules import (
    FULL_PRECISION,
    Ladder,
    Rule,
    ellipse,
    exact,
    few_node,
    general_ladder,
    ladder,
    log_chebyshev,
)

__all__ = [
    "FULL_PRECISION",
    "Ladder",
    "Rule",
    "ellipse",
    "exact",
    "few_node",
    "general_ladder",
    "ladder",
    "log_chebyshev",
]
