"""A row of an `Explanation` or of `Interactions` as `shapiq.InteractionValues`, for its plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.validation import brief, is_index
from pkex._util.words import counted

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.interactions import Interactions

__all__ = ["interactions_to_shapiq", "to_shapiq"]


def to_shapiq(explanation: Explanation, row: int) -> Any:
    """See `Explanation.to_shapiq`; `explanation` has one output here."""
    shapiq = optional("shapiq", "pkex[shapiq]")
    one = explanation[row]
    if len(one) != 1:
        raise IndexError(f"to_shapiq takes the number of one row, got {brief(row)}.")
    n_players = one.values.shape[1]
    lookup = {(): 0} | {(player,): player + 1 for player in range(n_players)}
    return shapiq.InteractionValues(
        values=np.concatenate([one.base_values, one.values[0]]),
        interaction_lookup=lookup,
        index=explanation.index,
        min_order=0,
        max_order=1,
        n_players=n_players,
        estimated=False,
        baseline_value=float(one.base_values[0]),
    )


def interactions_to_shapiq(found: Interactions, row: int, output: str | int | None) -> Any:
    """See `Interactions.to_shapiq`."""
    shapiq = optional("shapiq", "pkex[shapiq]")
    if not is_index(row) or not -len(found) <= row < len(found):
        raise IndexError(
            f"to_shapiq takes the number of one of {counted(len(found), 'row')}, got {brief(row)}."
        )
    number = found.output_number(output, "to_shapiq")
    base = float(found.base_values.reshape(len(found), -1)[row, number])
    values: dict[tuple[int, ...], float] = {(): base}
    for _, subset, table in found.by_order():
        each = enumerate(table[row, :, number].tolist())
        values |= {subset(place): value for place, value in each}
    return shapiq.InteractionValues(
        values=values,
        index=found.index,
        min_order=0,
        max_order=max(map(len, values)),
        n_players=len(found.feature_names),
        estimated=False,
        baseline_value=base,
    )
