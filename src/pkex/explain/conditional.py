"""What conditional removal does not answer, refused with what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkex.explain.problem import Problem

__all__ = ["refuse_conditional"]


def refuse_conditional(problem: Problem, asked: str, reason: str) -> None:
    """Raise where what was `asked` for has no formula under conditional removal."""
    if problem.removal == "conditional":
        raise ValueError(
            f"conditional removal is not supported for {asked}: {reason}. Use "
            "removal='interventional' or 'product-of-marginals'."
        )
