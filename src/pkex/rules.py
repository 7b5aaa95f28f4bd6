"""The quadrature rules, each with a proven error: the public path of `pkex.games.rules`.

>>> from pkex import rules
>>> [rules.few_node(size).max_lam for size in (4, 8, 16)]
[0.156995, 2.79104, 19.8403]
"""

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
