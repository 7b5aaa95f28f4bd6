"""From a model to its `Interactions`; the sums are made in `pkex.games.interactions`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.functionals import INDICES
from pkex.games.interactions import Recipe
from pkex.games.interactions.reductions import InteractionSums, interactions_of
from pkex.games.interactions.request import (
    check_request,
    check_room,
    list_indices,
    make_recipe,
    parse_subsets,
    result_arrays,
)
from pkex.games.sums import GameSums
from pkex.models.preparation import mixed, taken
from pkex.models.products import as_products
from pkex.results.interactions import Interactions

if TYPE_CHECKING:
    from pkex.explain.explainer import Explainer

__all__ = ["explain_interactions", "shap_interaction_values"]


_DEFAULTS = {"SV": "k-SII", "BV": "BII"}  # of an explainer's index


def explain_interactions(
    explainer: Explainer,
    X: Any,
    index: str | None,
    max_order: int,
    players: Iterable[Any] | None,
    progress: bool,
) -> Interactions:
    """See `Explainer.interactions`."""
    if index is None and explainer.index not in _DEFAULTS:
        raise ValueError(
            f"the explainer has {explainer.index} values, which no interaction index goes with: "
            f"choose one, e.g. interactions(X, index='k-SII'); there are {list_indices()}."
        )
    rows, table, prepared = _prepared(explainer, X)
    about = explainer.about_rows(rows)
    names = about.feature_names
    chosen = None if players is None else parse_subsets(players, names)
    index, max_order = check_request(index or _DEFAULTS[explainer.index], max_order, chosen)
    general = explainer.removal != "neutral"
    recipe = make_recipe(index, max_order, len(names), general, explainer.tol, chosen)
    check_room(recipe, len(prepared[0]), explainer.expansion.n_outputs)
    sums = _summed(explainer, recipe, prepared, progress)
    bases = np.sum([part.bases for part in explainer._parts], axis=0)
    residual = sums.check(bases, "prediction minus base value")
    _noticed(explainer, sums, prepared)
    explainer._check_own(rows, sums.totals)
    several = explainer._base.ndim > 0
    parts = result_arrays(sums, chosen, several)
    base = np.empty((len(sums.totals), *explainer._base.shape))
    base[...] = explainer._base
    fitted = parts.pop("fitted")
    if fitted is not None:
        base = fitted + explainer._offset
    predictions = sums.totals.reshape(base.shape) + explainer._offset
    about = replace(about, index=index, efficient=INDICES[index].efficient)
    return Interactions(
        about,
        max_order,
        base,
        predictions,
        residual,
        **parts,
        data=explainer._shown(table, prepared),
        error=(sums.error + explainer._of_offset).reshape(base.shape),
        rules=sums.rules,
        row_labels=rows.index if hasattr(rows, "iloc") else None,
    )


def shap_interaction_values(explainer: Explainer, X: Any, progress: bool) -> Floats:
    """See `Explainer.shap_interaction_values`."""
    if explainer.index != "SV":
        raise ValueError(
            f"shap's interaction values split Shapley values, but the explainer has "
            f"{explainer.index} values; leave index={explainer.index!r} out, or use "
            "interactions(X)."
        )
    n_players = len(explainer.players)
    recipe = make_recipe("SII", 2, n_players, explainer.removal != "neutral", explainer.tol)
    rows, _, prepared = _prepared(explainer, X)
    check_room(recipe, len(prepared[0]), explainer.expansion.n_outputs)
    sums = _summed(explainer, recipe, prepared, progress)
    explainer._check_own(rows, sums.totals)
    bases = np.sum([part.bases for part in explainer._parts], axis=0)
    _check_shapley(sums, bases)
    _noticed(explainer, sums, prepared)
    assert sums.pairs is not None
    values = 0.5 * sums.pairs
    every = np.arange(n_players)
    values[:, every, every] = sums.main - values.sum(axis=2)
    return values if explainer._base.ndim else values[..., 0]


def _prepared(explainer: Explainer, X: Any) -> tuple[Any, Any, list[Floats]]:
    """Return the rows as they came, after the steps that mix columns, and as each part has them."""
    expansion = explainer.expansion
    rows: Any = taken(expansion, X)
    table = mixed(expansion, rows)
    return rows, table, [part.prepare(table) for part in expansion.parts]


def _summed(
    explainer: Explainer, recipe: Recipe, prepared: list[Floats], progress: bool
) -> InteractionSums:
    """Return the sums over all parts of a model."""
    found = []
    parts = explainer.expansion.parts
    for points, part, x in zip(explainer._parts, parts, prepared, strict=True):
        games, jobs = as_products(points, part), explainer.n_jobs
        found.append(interactions_of(games, x, recipe, n_jobs=jobs, progress=progress))
    return found[0] if len(found) == 1 else reduce(add, found)


def _noticed(explainer: Explainer, sums: InteractionSums, prepared: list[Floats]) -> None:
    """Warn where rounding shows, as `Explainer` does of its values."""
    magnitudes = sums.sizes
    bases = np.zeros(sums.totals.shape[1])
    none = np.zeros((len(sums.totals), 0, sums.totals.shape[1]))
    plain = GameSums(none, sums.totals, bases, magnitudes, magnitudes, sums.rules, False)
    explainer._warn_of_noise(plain, 0.0, prepared)


def _check_shapley(sums: InteractionSums, bases: Floats) -> None:
    """Refuse Shapley values that do not add up: k-SII of order 1."""
    alone = Recipe(INDICES["k-SII"], 1, sums.recipe.n_players, sums.recipe.general)
    replace(sums, recipe=alone, pairs=None).check(bases, "prediction minus base value")
