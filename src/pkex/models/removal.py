"""How features are removed: the rows that they are taken from, and the line that says so.

Every result carries that line. By default the background is the model's training points or support
vectors: the rows that its reader knows to be data, at most `MAX_ROWS` of them, chosen by their
values alone, so that neither their order nor a seed matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.random import sample_rows
from pkex._util.sparse import sample_sparse_rows, to_dense
from pkex._util.types import Floats
from pkex._util.validation import as_floats, brief
from pkex.games.points import Background
from pkex.games.sparse import Scenarios
from pkex.kernels.messages import no_neutral_removal
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import to_model_columns

__all__ = [
    "MAX_ROWS",
    "NEUTRAL",
    "NEUTRAL_NOTE",
    "check_removal",
    "describe_background",
    "describe_default_background",
    "make_backgrounds",
    "normalise_weights",
]


MAX_ROWS = 500  # of a model's own data

NEUTRAL = "none; the kernel factor of a removed feature is 1 (neutral)"
NEUTRAL_NOTE = (
    "Neutral values include a constant offset per feature, so irrelevant features can rank high; "
    "use centred importance or another removal"
)

_VECTORS = "support vectors"
_NOT_TYPICAL = "Support vectors may not be representative; pass training rows"


def check_removal(removal: str | None, background: object) -> str:
    """Return how features are removed, or raise when that does not go with the background."""
    if removal is None:
        return "product-of-marginals" if background is None else "interventional"
    known = ("product-of-marginals", "interventional", "conditional", "neutral")
    if not isinstance(removal, str) or removal not in known:
        raise ValueError(
            "removal must be 'product-of-marginals', 'interventional', 'conditional' or "
            f"'neutral', got {brief(removal)}."
        )
    if removal == "neutral" and background is not None:
        raise ValueError("neutral removal takes no background: leave one of them out.")
    if removal == "interventional" and background is None:
        raise ValueError(
            "interventional removal takes the values of removed features from background rows: "
            "pass some, e.g. Explainer(model, X_train[:100])."
        )
    return removal


def normalise_weights(background: Any, weights: ArrayLike | None) -> Floats | None:
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


def make_backgrounds(
    expansion: KernelExpansion,
    removal: str,
    background: Any,
    weights: Floats | None,
    weighted: bool,
    *,
    sparse: bool = False,
) -> tuple[str, Sequence[Any]]:
    """Return how features are removed, as text, and for each part the rows they are taken from.

    These are a `Background` for each part, with `sparse` `Scenarios`, or None: factors become 1.
    """
    if removal == "neutral":
        _refuse_linear(expansion)
        return NEUTRAL, [None] * len(expansion.parts)
    if background is None or weights is None:
        tables = [_rows_of(part, sparse) for part in expansion.parts]
        every = [np.full(rows.shape[0], 1.0 / rows.shape[0]) for rows in tables]
        description = describe_default_background(expansion)
    else:
        table = to_model_columns(expansion, background, "background")
        parts = expansion.parts
        take = [part.prepare_sparse if sparse else part.prepare for part in parts]
        tables = [prepare(table, "background") for prepare in take]
        every = [weights] * len(tables)
        description = describe_background(removal, len(weights), weighted)
    pairs, marginal = list(zip(tables, every, strict=True)), removal == "product-of-marginals"
    if sparse:
        return description, [Scenarios(rows, w, marginal) for rows, w in pairs]
    return description, [Background(np.asfortranarray(rows), w, marginal) for rows, w in pairs]


def _refuse_linear(expansion: KernelExpansion) -> None:
    for part in expansion.parts:
        if not part.kernel.has_neutral_removal:
            raise no_neutral_removal(part.kernel)


def describe_default_background(expansion: KernelExpansion) -> str:
    """Say that training points or support vectors serve as background."""
    every = [part.background for part in expansion.parts if _counts(part)]
    used_data = [data for data in every if data is not None]
    if not used_data:
        return "none needed; the model is constant"
    totals = [int(data.rows.shape[0]) for data in used_data]
    used = [min(total, MAX_ROWS) for total in totals]
    kind = " and ".join(dict.fromkeys(data.kind for data in used_data))
    if len(used_data) == 1:
        some = "" if used == totals else f"{_span(used)} of "
        what = f"{some}{_span(totals)} {kind if totals[0] != 1 else kind[:-1]}"
    else:
        some = _span(used) if used == totals else f"{_span(used)} of {_span(totals)}"
        what = f"{some} {kind}, for each of {len(used_data)} parts"
    # the rows that each was fitted on; where these are not known, vectors are taken for few of them
    vectors = [(int(data.rows.shape[0]), data.n_fit) for data in used_data if data.kind == _VECTORS]
    fitted = [n_fit for _, n_fit in vectors if n_fit is not None]
    if vectors and len(fitted) == len(used_data):
        what += f" (of {_span(fitted)} training row{'s' if max(fitted) != 1 else ''})"
    few = any(n_fit is None or 2 * count < n_fit for count, n_fit in vectors)
    return f"{what}, features treated as independent{f'. {_NOT_TYPICAL}' if few else ''}"


def describe_background(removal: str, n_rows: int, weighted: bool) -> str:
    """Say which rows of the user serve as background."""
    rows = f"{n_rows:,} {'weighted ' if weighted else ''}row{'s' if n_rows != 1 else ''}"
    if removal == "product-of-marginals" and n_rows > 1:
        return f"{rows}, features treated as independent"
    return f"{rows} (interventional)"


def _rows_of(part: KernelExpansion, sparse: bool) -> Any:
    if not _counts(part):
        return part.sparse_points[:1] if sparse else part.points[:1]  # any row would do
    if part.background is not None:
        rows = part.background.rows
        part.check_sizes(rows, "the model's training points")
        if sparse:
            return sample_sparse_rows(rows, MAX_ROWS, 0)
        return sample_rows(to_dense(rows), MAX_ROWS, 0)
    other = ""
    if part.kernel.has_neutral_removal:
        other = ", or choose removal='neutral', which needs no rows"
    raise ValueError(
        "removed features are averaged over the training points, but pkex finds none in this "
        f"model: pass some rows as the background, e.g. Explainer(model, X_train[:100]){other}."
    )


def _counts(part: KernelExpansion) -> bool:
    return bool(part.coefficients.any())


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
