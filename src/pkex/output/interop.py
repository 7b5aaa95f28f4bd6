"""Results in the forms of other libraries: `shap.Explanation`, `shapiq.InteractionValues`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_cell, format_number, is_missing, is_number
from pkex._util.extras import import_optional
from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.output.text import value_name

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.interactions import Interactions

__all__ = ["to_shap", "to_shapiq"]


def to_shap(explanation: Explanation) -> Any:
    """See `Explanation.to_shap`."""
    shap = import_optional("shap", "pkex[shap]")
    if len(explanation) == 0:
        raise ValueError("the explanation has no rows; shap cannot hold an empty one.")
    data, display = _feature_data(explanation)
    outputs = explanation.output_names
    names = list(outputs) if explanation.values.ndim == 3 else next(iter(outputs), None)
    return shap.Explanation(
        values=explanation.values.copy(),
        base_values=explanation.base_values.copy(),
        data=data,
        display_data=display,
        feature_names=list(explanation.feature_names),
        output_names=names,
        **_clustering(explanation),
    )


def _clustering(explanation: Explanation) -> dict[str, Floats]:
    """Return the hierarchy as shap's bar plot draws it, where all groups have two members.

    shap has one linkage matrix for each row, and the bar plot takes it where they are equal.
    """
    hierarchy = explanation.hierarchy
    linkage = None if hierarchy is None else hierarchy.linkage()
    return {} if linkage is None else {"clustering": np.stack([linkage] * len(explanation))}


def _feature_data(explanation: Explanation) -> tuple[Floats, NDArray[Any]]:
    """Return one number per row and feature for colours and axes, and what to print in its place.

    A feature of one column has its value, printed with six digits; text becomes codes, in
    alphabetical order. A feature group has no number: NaN, and its columns spelled out
    as far as a plot has room for them.
    """
    data = np.full((len(explanation), len(explanation.feature_groups)), np.nan)
    texts: dict[int, list[str]] = {}
    for feature, columns in enumerate(explanation.feature_groups):
        cells = explanation.data[:, columns]
        if len(columns) > 1:
            titles = [explanation.column_names[c] for c in columns]
            texts[feature] = [_group_text(titles, row) for row in cells]
        elif cells.dtype.kind == "f":  # at once, as tables are long
            data[:, feature] = cells[:, 0]
        elif all(is_number(cell) or is_missing(cell) for cell in cells[:, 0]):
            data[:, feature] = [np.nan if is_missing(c) else float(c) for c in cells[:, 0]]
        else:
            data[:, feature], texts[feature] = _codes([format_cell(cell) for cell in cells[:, 0]])
    # shap prints numbers with all digits they have, so they get no more than a person reads.
    display = np.array([[float(format_number(number)) for number in row] for row in data])
    display = display.astype(object) if texts else display
    for feature, column in texts.items():
        display[:, feature] = column
    return data, display


def _group_text(titles: list[str], cells: NDArray[Any]) -> str:
    shown = [f"{title}={format_cell(cell)}" for title, cell in zip(titles, cells, strict=True)]
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


def to_shapiq(result: Explanation | Interactions, row: int, output: str | int | None) -> Any:
    """See `Explanation.to_shapiq` and `Interactions.to_shapiq`."""
    if result.index in ("IG", "Owen", "Winter", "asymmetric"):
        raise ValueError(f"shapiq has no index for {value_name(result)}s; use to_shap().")
    [places] = select(row, [Axis("row", len(result))])
    if len(places) != 1:
        raise IndexError(f"to_shapiq takes the number of one row, got {brief(row)}.")
    one: Any = result.select_output(output, "to_shapiq")
    number = int(places[0])
    base_value = float(one.base_values[number])
    values: dict[tuple[int, ...], float] = {(): base_value}
    singles = (1, lambda feature: (feature,), one.values)
    for _, subset, table in one.by_order() if one.KIND == "interactions" else [singles]:
        values |= {
            subset(place): value for place, value in enumerate(table[number].ravel().tolist())
        }
    shapiq = import_optional("shapiq", "pkex[shapiq]")
    return shapiq.InteractionValues(
        values=values,
        index=result.index,
        min_order=0,
        max_order=max(map(len, values)),
        n_players=len(result.feature_names),
        estimated=False,
        baseline_value=base_value,
    )
