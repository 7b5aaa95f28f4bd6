"""What an absent feature is: the rows that stand in for it, and the line that says so.

Every result carries that line. Without a background a model's own data stand in: the rows that its
reader knows to be data, at most `MAX_ROWS` of them, chosen by their values alone, so that neither
their order nor a seed matters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pkex._random import some_rows
from pkex.kernels.algebra import has_neutral_removal
from pkex.models.expansion import KernelExpansion

__all__ = ["CAUTION", "MAX_ROWS", "NEUTRAL", "own_rows", "said_of_background", "said_of_own_rows"]

Floats = NDArray[np.float64]

MAX_ROWS = 500  # of a model's own data

NEUTRAL = "have the kernel factor 1"
CAUTION = (
    "under neutral removal a column is charged for being looked at: its values hold an offset, "
    "much the same in every row, and columns that do not matter can rank high; centred importance "
    "leaves it out, other removals do not have it"
)

_VECTORS = "support vectors"
_NOT_TYPICAL = "which lie near the boundary: pass training rows to start from a typical one"


def own_rows(expansion: KernelExpansion) -> list[Floats]:
    """Return the rows that stand in for absent features in each part, in its prepared columns."""
    return [_rows_of(part) for part in expansion.parts]


def said_of_own_rows(expansion: KernelExpansion) -> str:
    """Say that absent features are averaged over the model's own data."""
    every = [part.background for part in expansion.parts if _counts(part)]
    found = [data for data in every if data is not None]
    if not found:
        return "of no consequence, the model is constant"
    totals = [len(data.rows) for data in found]
    used = [min(total, MAX_ROWS) for total in totals]
    kind = " and ".join(dict.fromkeys(data.kind for data in found))
    if len(found) == 1:
        some = "" if used == totals else f"{_span(used)} of "
        what = f"{some}the model's {_span(totals)} {kind if totals[0] != 1 else kind[:-1]}"
    else:
        some = _span(used) if used == totals else f"{_span(used)} of {_span(totals)}"
        what = f"each of {len(found)} parts' own rows, {some} {kind}"
    if _VECTORS in kind:
        return f"averaged, columns independent, over {what}, {_NOT_TYPICAL}"
    return f"averaged over {what}, columns independent"


def said_of_background(removal: str, n_rows: int, weighted: bool) -> str:
    """Say that absent features come from the rows that a user passed."""
    rows = f"{n_rows:,} {'weighted ' if weighted else ''}background row{'s' if n_rows != 1 else ''}"
    if n_rows == 1:
        return f"as in {rows}"
    if removal == "marginal":
        return f"averaged over {rows}, columns independent"
    return f"as in each of {rows}, averaged"


def _rows_of(part: KernelExpansion) -> Floats:
    if not _counts(part):
        return part.points[:1]  # any row would do
    if part.background is not None:
        return some_rows(part.background.rows, MAX_ROWS, 0)
    other = ""
    if has_neutral_removal(part.kernel):
        other = ", or choose removal='neutral', which needs no rows"
    raise ValueError(
        "absent features are averaged over the model's own data, but this model keeps none that "
        "pkex knows of: pass some rows as the background, e.g. "
        f"Explainer(model, X_train[:100]){other}."
    )


def _counts(part: KernelExpansion) -> bool:
    return bool(part.coefficients.any())


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
