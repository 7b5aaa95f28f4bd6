"""What is asked of interactions, checked and turned into a recipe; and what becomes of the sums.

Interactions of a model and of a statistic share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pkex._util.indexing import parse_subset
from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex._util.words import pluralise
from pkex.games.functionals import INDICES
from pkex.games.interactions.recipe import Recipe, Subset
from pkex.games.interactions.reductions import InteractionSums

__all__ = [
    "check_request",
    "check_room",
    "list_indices",
    "make_recipe",
    "parse_subsets",
    "result_arrays",
]

_PAIRS = 2**33  # bytes of a table of pairs at most: 8 GiB
_TRIPLES = 2**30  # bytes of all triples: 1 GiB
_LARGEST = 8  # players of a chosen subset


def list_indices() -> str:
    """Return the names of all indices, for a sentence."""
    *names, last = map(repr, INDICES)
    return f"{', '.join(names)} and {last}"


def check_request(index: Any, max_order: Any, chosen: Sequence[Subset] | None) -> tuple[str, int]:
    """Return the index and the largest order, or say what is wrong with them."""
    if not isinstance(index, str) or index not in INDICES:
        raise ValueError(f"index must be one of {list_indices()}; got {brief(index)}.")
    if not is_index(max_order) or max_order < 1:
        raise ValueError(f"max_order must be 2 or 3, got {brief(max_order)}.")
    if chosen is None:
        if max_order not in (2, 3):
            raise ValueError(
                f"max_order must be 2 or 3, got {max_order}; larger subsets are chosen one by one, "
                "as in subsets=[('a', 'b', 'c', 'd')]."
            )
        return index, int(max_order)
    largest = max(map(len, chosen))
    if largest > _LARGEST or max_order > _LARGEST:
        raise ValueError(
            f"interactions of at most {_LARGEST} features are computed, got "
            f"{max(largest, int(max_order))}."
        )
    if not INDICES[index].by_order:
        return index, largest
    if largest > max_order:
        raise ValueError(
            f"{index} of order {max_order} has no value for {largest} features: its values depend "
            f"on the largest order. Pass max_order={largest}, or an index that does not depend on "
            "it, such as 'SII'."
        )
    return index, int(max_order)


def parse_subsets(players: Iterable[Any], names: tuple[str, ...]) -> tuple[Subset, ...]:
    """Return chosen subsets by numbers."""
    if isinstance(players, str) or not isinstance(players, Iterable):
        raise TypeError(
            "subsets must be a list of subsets, e.g. subsets=[('bmi', 's5')]; got "
            f"{brief(players)}."
        )
    subsets: list[Subset] = []
    for entry in players:
        one = [entry] if isinstance(entry, str) or not isinstance(entry, Iterable) else entry
        subsets.append(parse_subset(one, names))
    if not subsets:
        raise ValueError("subsets names no subset; leave it out for all of them.")
    return tuple(dict.fromkeys(subsets))


@lru_cache(maxsize=32)
def make_recipe(
    index: str,
    most: int,
    n_players: int,
    general: bool,
    tol: float | None,
    chosen: tuple[Subset, ...] | None = None,
) -> Recipe:
    """Return what is to be computed, the same for the same request: it keeps what it derives."""
    if chosen is not None and index == "FBII":
        chosen = ((), *chosen)  # its value of the empty set is none that is known
    return Recipe(INDICES[index], most, n_players, general, tol, chosen)


def result_arrays(
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


def check_room(recipe: Recipe, n_rows: int, n_outputs: int) -> None:
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
                f"all {what} of {d} features in "
                f"{pluralise(n_rows, 'row')}{f' and {n_outputs} outputs' if n_outputs > 1 else ''} "
                f"would take {size / 2**30:,.1f} GiB, and pkex holds at most {most / 2**30:g} GiB "
                "of them; explain fewer rows at a time, form groups, or choose some with "
                "subsets=[...]."
            )
