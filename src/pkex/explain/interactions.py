"""From a model or a statistic to its `Interactions`: what was asked for becomes a recipe.

`Explainer.interactions`, `Explainer.shap_interaction_values` and `Attribution.interactions` come
here. The sums are made in `pkex.games.interactions.reductions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.indexing import subset_of
from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex._util.words import counted
from pkex.games.functionals import INDICES
from pkex.games.interactions import Recipe, Subset
from pkex.games.interactions.reductions import InteractionSums, sum_interactions
from pkex.games.sums import GameSums
from pkex.models.preparation import mixed, taken
from pkex.models.products import as_products
from pkex.results.about import About
from pkex.results.interactions import Interactions

if TYPE_CHECKING:
    from pkex.explain.explainer import Explainer
    from pkex.results.attribution import Attribution

__all__ = ["of_model", "of_statistic", "shap_values"]


_PAIRS = 2**33  # bytes of a table of pairs at most: 8 GiB
_TRIPLES = 2**30  # bytes of all triples: 1 GiB
_LARGEST = 8  # players of a chosen subset
_DEFAULTS = {"SV": "k-SII", "BV": "BII"}  # of an explainer's index


def of_model(
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
            f"choose one, e.g. interactions(X, index='k-SII'); there are {_known()}."
        )
    names = explainer.player_names
    chosen = None if players is None else _subsets(players, names)
    index, max_order = _asked(index or _DEFAULTS[explainer.index], max_order, chosen)
    general = explainer.removal != "neutral"
    recipe = _recipe(index, max_order, len(names), general, explainer.tol, chosen)
    rows, table, prepared = _prepared(explainer, X)
    _check_room(recipe, len(prepared[0]), explainer.expansion.n_outputs)
    sums = _summed(explainer, recipe, prepared, progress)
    bases = np.sum([part.bases for part in explainer._parts], axis=0)
    residual = sums.check(bases, "prediction minus base value")
    _noticed(explainer, sums, prepared)
    explainer._check_own(rows, sums.totals)
    several = explainer._base.ndim > 0
    parts = _parts_of(sums, chosen, several)
    base = np.empty((len(sums.totals), *explainer._base.shape))
    base[...] = explainer._base
    fitted = parts.pop("fitted")
    if fitted is not None:
        base = fitted + explainer._offset
    predictions = sums.totals.reshape(base.shape) + explainer._offset
    about = replace(explainer.about, index=index, efficient=INDICES[index].efficient)
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


def shap_values(explainer: Explainer, X: Any, progress: bool) -> Floats:
    """See `Explainer.shap_interaction_values`."""
    if explainer.index != "SV":
        raise ValueError(
            f"shap's interaction values split Shapley values, but the explainer has "
            f"{explainer.index} values; leave index={explainer.index!r} out, or use "
            "interactions(X)."
        )
    n_players = len(explainer.players)
    recipe = _recipe("SII", 2, n_players, explainer.removal != "neutral", explainer.tol)
    rows, _, prepared = _prepared(explainer, X)
    _check_room(recipe, len(prepared[0]), explainer.expansion.n_outputs)
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


def of_statistic(
    attribution: Attribution,
    index: str,
    max_order: int,
    players: Iterable[Any] | None,
    progress: bool,
) -> Interactions:
    """See `Attribution.interactions`."""
    names = attribution.feature_names
    chosen = None if players is None else _subsets(players, names)
    index, max_order = _asked(index, max_order, chosen)
    source = attribution._data_for("interactions")
    recipe = _recipe(index, max_order, len(names), source.marginal, source.tol, chosen)
    _check_room(recipe, 1, 1)
    sums = source.interactions(recipe, progress)
    residual = sums.check(np.zeros(1), f"the statistic {attribution.statistic}")
    parts = _parts_of(sums, chosen, False)
    fitted = parts.pop("fitted")
    about = About(
        names,
        attribution.column_names,
        attribution.players,
        removal=attribution.removal,
        absent=attribution.absent.removeprefix("absent columns: "),
        index=index,
        efficient=INDICES[index].efficient,
    )
    return Interactions(
        about,
        max_order,
        np.zeros(1) if fitted is None else fitted,
        sums.totals[:, 0],
        residual,
        **parts,
        whole=attribution.statistic,
        rules=sums.rules,
    )


def _known() -> str:
    *names, last = map(repr, INDICES)
    return f"{', '.join(names)} and {last}"


def _asked(index: Any, max_order: Any, chosen: Sequence[Subset] | None) -> tuple[str, int]:
    """Return the index and the largest order, or say what is wrong with them."""
    if not isinstance(index, str) or index not in INDICES:
        raise ValueError(f"index must be one of {_known()}; got {brief(index)}.")
    if not is_index(max_order) or max_order < 1:
        raise ValueError(f"max_order must be 2 or 3, got {brief(max_order)}.")
    if chosen is None:
        if max_order not in (2, 3):
            raise ValueError(
                f"max_order must be 2 or 3, got {max_order}; larger subsets are chosen one by one, "
                "as in players=[('a', 'b', 'c', 'd')]."
            )
        return index, int(max_order)
    largest = max(map(len, chosen))
    if largest > _LARGEST or max_order > _LARGEST:
        raise ValueError(
            f"interactions of at most {_LARGEST} players are computed, got "
            f"{max(largest, int(max_order))}."
        )
    if not INDICES[index].by_order:
        return index, largest
    if largest > max_order:
        raise ValueError(
            f"{index} of order {max_order} has no value for {largest} players: its values depend "
            f"on the largest order. Pass max_order={largest}, or an index that does not depend on "
            "it, such as 'SII'."
        )
    return index, int(max_order)


def _subsets(players: Iterable[Any], names: tuple[str, ...]) -> tuple[Subset, ...]:
    """Return chosen subsets by numbers."""
    if isinstance(players, str) or not isinstance(players, Iterable):
        raise TypeError(
            "players must be a list of subsets, e.g. players=[('bmi', 's5')]; got "
            f"{brief(players)}."
        )
    found: list[Subset] = []
    for entry in players:
        one = [entry] if isinstance(entry, str) or not isinstance(entry, Iterable) else entry
        found.append(subset_of(one, names))
    if not found:
        raise ValueError("players names no subset; leave it out for all of them.")
    return tuple(dict.fromkeys(found))


def _recipe(
    index: str,
    most: int,
    n_players: int,
    general: bool,
    tol: float | None,
    chosen: tuple[Subset, ...] | None = None,
) -> Recipe:
    if chosen is not None and index == "FBII":
        chosen = ((), *chosen)  # its value of the empty set is none that is known
    return Recipe(INDICES[index], most, n_players, general, tol, chosen)


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
        found.append(sum_interactions(games, x, recipe, n_jobs=jobs, progress=progress))
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


def _parts_of(
    sums: InteractionSums, chosen: tuple[Subset, ...] | None, several: bool
) -> dict[str, Any]:
    """Return the arrays of an `Interactions`, without an axis of a single output."""

    def shown(array: Floats | None) -> Floats | None:
        return array if array is None or several else array[..., 0]

    fitted, values = sums.none, None
    if chosen is not None:
        extra = sums.chosen.shape[1] - len(chosen)
        fitted = sums.chosen[:, 0] if extra else None
        values = shown(sums.chosen[:, extra:])
    return {
        "main": None if chosen is not None else shown(sums.main),
        "pairs": shown(sums.pairs),
        "triples": shown(sums.triples),
        "subsets": chosen,
        "values": values,
        "fitted": shown(fitted),
    }


def _check_room(recipe: Recipe, n_rows: int, n_outputs: int) -> None:
    """Refuse tables that would not fit into memory, with their size."""
    if recipe.subsets is not None:
        return
    d = recipe.n_players
    pairs, triples = 8 * n_rows * n_outputs * d * d, 0
    if recipe.most > 2:
        triples = 8 * n_rows * n_outputs * (d * (d - 1) * (d - 2) // 6)
    for what, size, most in (("triples", triples, _TRIPLES), ("pairs", pairs, _PAIRS)):
        if size > most:
            raise ValueError(
                f"all {what} of {d} players in {counted(n_rows, 'row')}"
                f"{f' and {n_outputs} outputs' if n_outputs > 1 else ''} would take "
                f"{size / 2**30:,.1f} GiB, and pkex holds at most {most / 2**30:g} GiB of them; "
                "explain fewer rows at a time, form groups, or choose subsets by players=[...]."
            )
