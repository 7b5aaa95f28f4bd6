"""The interactions of the features of a statistic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.games.functionals import INDICES
from pkex.games.interactions.request import (
    check_request,
    check_room,
    make_recipe,
    parse_subsets,
    result_arrays,
)
from pkex.results.interactions import Interactions

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.statistics.block_mean import BlockMean

__all__ = ["attribute_interactions"]


def attribute_interactions(
    source: BlockMean,
    attribution: Attribution,
    index: str,
    max_order: int,
    subsets: Iterable[Any] | None,
    progress: bool,
) -> Interactions:
    """See `Attribution.interactions`."""
    if attribution.index != "SV":
        raise ValueError(
            "interactions with a hierarchy are not supported: Owen, Winter and asymmetric values "
            "have none here. Leave out hierarchy=, or use groups=."
        )
    names = attribution.feature_names
    chosen = None if subsets is None else parse_subsets(subsets, names)
    index, max_order = check_request(index, max_order, chosen)
    recipe = make_recipe(index, max_order, len(names), source.plan.general, source.plan.tol, chosen)
    check_room(recipe, 1, 1)
    sums = source.interaction_sums(recipe, progress)
    residual = sums.check(np.zeros(1), f"the statistic {attribution.statistic_name}")
    parts = result_arrays(sums, chosen, False)
    fitted = parts.pop("fitted")
    about = replace(attribution.about, index=index, efficient=INDICES[index].efficient)
    return Interactions(
        about,
        max_order,
        np.zeros(1) if fitted is None else fitted,
        sums.totals[:, 0],
        residual,
        **parts,
        explained=attribution.statistic_name,
        rules=sums.rules,
    )
