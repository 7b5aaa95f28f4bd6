"""One row of an `Explanation` as `shapiq.InteractionValues`, for shapiq's plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.validation import brief

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["to_shapiq"]


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
