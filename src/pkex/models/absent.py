"""What an absent feature is: the rows that stand in for it, and the line that says so.

Every result carries that line. Without a background a model's own data stand in: the rows that its
reader knows to be data, at most `MAX_ROWS` of them, chosen by their values alone, so that neither
their order nor a seed matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.random import some_rows
from pkex._util.sparse import some_sparse_rows, to_dense
from pkex._util.types import Floats
from pkex._util.validation import as_floats, brief
from pkex.games.points import Background
from pkex.games.sparse import Scenarios
from pkex.kernels.algebra import has_neutral_removal
from pkex.kernels.messages import no_neutral_removal
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import seen

__all__ = [
    "CAUTION",
    "MAX_ROWS",
    "NEUTRAL",
    "own_rows",
    "removal_of",
    "said_of_background",
    "said_of_own_rows",
    "shares_of",
    "stand_ins",
]


MAX_ROWS = 500  # of a model's own data

NEUTRAL = "have the kernel factor 1"
CAUTION = (
    "under neutral removal a column is charged for being looked at: its values hold an offset, "
    "much the same in every row, and columns that do not matter can rank high; centred importance "
    "leaves it out, other removals do not have it"
)

_VECTORS = "support vectors"
_NOT_TYPICAL = "Support vectors may not be representative; pass training rows"


def removal_of(removal: str | None, background: object) -> str:
    """Return the name of the game, or raise when it does not go with the background."""
    if removal is None:
        return "marginal" if background is None else "interventional"
    if not isinstance(removal, str) or removal not in ("marginal", "interventional", "neutral"):
        raise ValueError(
            f"removal must be 'marginal', 'interventional' or 'neutral', got {brief(removal)}."
        )
    if removal == "neutral" and background is not None:
        raise ValueError("neutral removal takes no background: leave one of them out.")
    if removal == "interventional" and background is None:
        raise ValueError(
            "interventional removal takes absent features from a background: pass some rows, e.g. "
            "Explainer(model, X_train[:100])."
        )
    return removal


def shares_of(background: Any, weights: ArrayLike | None) -> Floats | None:
    """Return the weights of the background rows, with the sum 1; None without a background."""
    if background is None:
        if weights is not None:
            raise ValueError("background_weights were given without a background.")
        return None
    shape = getattr(background, "shape", None) or np.shape(background)  # of texts, too
    n_rows = int(shape[0]) if shape else 0
    if weights is None:
        return np.full(n_rows, 1.0 / max(1, n_rows))
    shares = as_floats(weights, "background_weights")
    if shares.shape != (n_rows,):
        raise ValueError(
            f"background_weights must be {n_rows} numbers, one for each row of the background; "
            f"got shape {shares.shape}."
        )
    if not (shares > 0.0).all():
        raise ValueError(f"background_weights must be positive, got {shares.min():g}.")
    shares = shares / shares.max()  # so that their sum does not overflow
    normalised: Floats = shares / shares.sum()
    return normalised


def stand_ins(
    expansion: KernelExpansion,
    removal: str,
    background: Any,
    weights: Floats | None,
    weighted: bool,
    *,
    sparse: bool = False,
) -> tuple[str, Sequence[Any]]:
    """Return what absent features are, as text, and for each part the rows that they have.

    These are a `Background` for each part, with `sparse` `Scenarios`, or None: factors become 1.
    """
    if removal == "neutral":
        _refuse_linear(expansion)
        return NEUTRAL, [None] * len(expansion.parts)
    if background is None or weights is None:
        tables = [_rows_of(part, sparse) for part in expansion.parts]
        every = [np.full(rows.shape[0], 1.0 / rows.shape[0]) for rows in tables]
        said = said_of_own_rows(expansion)
    else:
        table = seen(expansion, background, "background")
        parts = expansion.parts
        take = [part.prepare_sparse if sparse else part.prepare for part in parts]
        tables = [prepare(table, "background") for prepare in take]
        every = [weights] * len(tables)
        said = said_of_background(removal, len(weights), weighted)
    pairs, marginal = list(zip(tables, every, strict=True)), removal == "marginal"
    if sparse:
        return said, [Scenarios(rows, w, marginal) for rows, w in pairs]
    return said, [Background(np.asfortranarray(rows), w, marginal) for rows, w in pairs]


def _refuse_linear(expansion: KernelExpansion) -> None:
    for part in expansion.parts:
        if not has_neutral_removal(part.kernel):
            raise no_neutral_removal(part.kernel)


def own_rows(expansion: KernelExpansion) -> list[Floats]:
    """Return the rows that stand in for absent features in each part, in its prepared columns."""
    return [_rows_of(part, False) for part in expansion.parts]


def said_of_own_rows(expansion: KernelExpansion) -> str:
    """Say that absent features are averaged over the model's own data."""
    every = [part.background for part in expansion.parts if _counts(part)]
    found = [data for data in every if data is not None]
    if not found:
        return "of no consequence, the model is constant"
    totals = [int(data.rows.shape[0]) for data in found]
    used = [min(total, MAX_ROWS) for total in totals]
    kind = " and ".join(dict.fromkeys(data.kind for data in found))
    if len(found) == 1:
        some = "" if used == totals else f"{_span(used)} of "
        what = f"{some}the model's {_span(totals)} {kind if totals[0] != 1 else kind[:-1]}"
    else:
        some = _span(used) if used == totals else f"{_span(used)} of {_span(totals)}"
        what = f"each of {len(found)} parts' own rows, {some} {kind}"
    # the rows that each was fitted on; where these are not known, vectors are taken for few of them
    vectors = [(int(data.rows.shape[0]), data.n_fit) for data in found if data.kind == _VECTORS]
    fitted = [n_fit for _, n_fit in vectors if n_fit is not None]
    if vectors and len(fitted) == len(found):
        what += f" (of {_span(fitted)} training row{'s' if max(fitted) != 1 else ''})"
    few = any(n_fit is None or 2 * count < n_fit for count, n_fit in vectors)
    return f"averaged over {what}, columns independent{f'. {_NOT_TYPICAL}' if few else ''}"


def said_of_background(removal: str, n_rows: int, weighted: bool) -> str:
    """Say that absent features come from the rows that a user passed."""
    rows = f"{n_rows:,} {'weighted ' if weighted else ''}background row{'s' if n_rows != 1 else ''}"
    if n_rows == 1:
        return f"as in {rows}"
    if removal == "marginal":
        return f"averaged over {rows}, columns independent"
    return f"as in each of {rows}, averaged"


def _rows_of(part: KernelExpansion, sparse: bool) -> Any:
    if not _counts(part):
        return part.sparse_points[:1] if sparse else part.points[:1]  # any row would do
    if part.background is not None:
        rows = part.background.rows
        part.check_sizes(rows, "the model's own data")
        if sparse:
            return some_sparse_rows(rows, MAX_ROWS, 0)
        return some_rows(to_dense(rows), MAX_ROWS, 0)
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
