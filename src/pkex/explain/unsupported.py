"""Questions that have no answer under conditional removal or under a hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkex.games.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pkex.explain.problem import Problem

__all__ = ["refuse_conditional", "refuse_conditional_hierarchy", "refuse_hierarchy"]


def refuse_conditional(problem: Problem, asked: str, reason: str) -> None:
    """Raise where what was `asked` for has no formula under conditional removal."""
    if problem.removal == "conditional":
        raise ValueError(
            f"conditional removal is not supported for {asked}: {reason}. Use "
            "removal='interventional' or 'product-of-marginals'."
        )


def refuse_hierarchy(problem: Problem, asked: str) -> None:
    """Raise where what was `asked` for goes by all orders of the features."""
    if isinstance(problem.semivalue, Hierarchy):
        raise ValueError(
            f"{asked} with a hierarchy is not supported: Owen, Winter and asymmetric values "
            "have none here. Use an explainer without hierarchy=, or with groups=."
        )


def refuse_conditional_hierarchy(hierarchy: Any) -> None:
    """Raise where conditional values are asked for with a hierarchy."""
    if hierarchy is not None:
        raise ValueError(
            "conditional removal is not supported with a hierarchy: pkex has conditional Shapley "
            "values of single features. Use removal='interventional' or 'product-of-marginals'."
        )
