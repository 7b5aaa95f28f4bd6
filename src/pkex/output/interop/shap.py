"""An `Explanation` as a `shap.Explanation`, for shap's plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import cell_text, is_missing, is_number, number_text
from pkex._util.extras import optional
from pkex._util.types import Floats

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["player_data", "to_shap"]


def to_shap(explanation: Explanation) -> Any:
    """See `Explanation.to_shap`."""
    shap = optional("shap", "pkex[shap]")
    if len(explanation) == 0:
        raise ValueError("the explanation has no rows; shap cannot hold an empty one.")
    data, display = player_data(explanation)
    names: list[str] | str | None = None
    if explanation.output_names is not None:
        several = explanation.values.ndim == 3
        names = list(explanation.output_names) if several else explanation.output_names[0]
    return shap.Explanation(
        values=explanation.values.copy(),
        base_values=explanation.base_values.copy(),
        data=data,
        display_data=display,
        feature_names=list(explanation.feature_names),
        output_names=names,
    )


def player_data(explanation: Explanation) -> tuple[Floats, NDArray[Any]]:
    """Return one number per row and player for colours and axes, and what to print in its place.

    A player of one column has its raw value, printed with six digits; text becomes codes, in
    alphabetical order. A player of several columns has no number: NaN, and its columns spelled out
    as far as a plot has room for them.
    """
    data = np.full((len(explanation), len(explanation.players)), np.nan)
    texts: dict[int, list[str]] = {}
    for player, columns in enumerate(explanation.players):
        cells = explanation.data[:, columns]
        if len(columns) > 1:
            titles = [explanation.column_names[c] for c in columns]
            texts[player] = [_group_text(titles, row) for row in cells]
        elif cells.dtype.kind == "f":
            data[:, player] = cells[:, 0]
        elif all(is_number(cell) or is_missing(cell) for cell in cells[:, 0]):
            data[:, player] = [np.nan if is_missing(c) else float(c) for c in cells[:, 0]]
        else:
            data[:, player], texts[player] = _codes([cell_text(cell) for cell in cells[:, 0]])
    # shap prints numbers with all digits they have, so they get no more than a person reads.
    display = np.array([[float(number_text(number)) for number in row] for row in data])
    display = display.astype(object) if texts else display
    for player, column in texts.items():
        display[:, player] = column
    return data, display


def _group_text(titles: list[str], cells: NDArray[Any]) -> str:
    shown = [f"{title}={cell_text(cell)}" for title, cell in zip(titles, cells, strict=True)]
    text = ", ".join(shown)
    return f"({text})" if len(text) <= 40 else f"({len(shown)} columns)"


def _codes(texts: list[str]) -> tuple[Floats, list[str]]:
    """Return the code of each text, and the texts as shap may print them.

    shap's bar plot strips trailing zeros from text as well, which quotes prevent.
    """
    code = {text: i for i, text in enumerate(sorted(set(texts)))}
    codes = np.array([code[text] for text in texts], dtype=np.float64)
    if any(text.endswith("0") for text in code):
        texts = [repr(text) for text in texts]
    return codes, texts
