"""A model's games with every kernel multiplied out, where something needs products alone.

Powers of sums have a separate game for Shapley values; interactions, covariances and variances
take them as the sums of products that they are.
"""

from __future__ import annotations

from pkex.games.plan import Plan
from pkex.games.points import WeightedPoints
from pkex.models.expansion import KernelExpansion

__all__ = ["MIXTURE_ERROR", "as_products"]

MIXTURE_ERROR = 1e-7
"""The accepted error of a kernel that is a sum of products up to an error."""


def as_products(
    points: WeightedPoints, part: KernelExpansion, tol: float | None = None
) -> WeightedPoints:
    """Return the games with every kernel as a sum of products, of few terms with a `tol`."""
    plan = points.plan
    short = tol is not None and any(term.error > 0.0 for term in plan.terms)
    if not plan.powers and not short:
        return points
    terms = part.kernel.terms(part.points.shape[1], max(tol or 0.0, plan.tol or 0.0) or None)
    plan = Plan.of(terms, plan.players, plan.tol, measure=plan.measure, general=plan.general)
    return WeightedPoints(plan, part.points, points.weights, points.background)
