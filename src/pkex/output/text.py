"""Views as text for `repr`, and the words that tables, plots and reports have in common."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_cell
from pkex._util.types import Floats
from pkex._util.words import join_names, pluralise
from pkex.output.view import TableView, View

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = [
    "LINES",
    "OUTPUTS",
    "align_numbers",
    "cut",
    "describe_groups",
    "draw",
    "draw_lines",
    "feature_text",
    "kernel_text",
    "leaves_out",
    "name_rest",
    "rank_by_size",
    "value_name",
]

LINES, OUTPUTS = 8, 4  # of a table, and how many tables


def draw(view: View) -> str:
    """Return a view in lines, indented below the headline."""
    return "\n".join([view.headline, *(f"  {line}" for line in draw_lines(view))])


def draw_lines(view: View) -> list[str]:
    """Return the lines below the headline."""
    stacked = [[table] for table in view.tables if table.title] or [[*view.tables]]
    tables = [line for beside in stacked if beside for line in _table(beside)]
    below = [view.more] if view.more else []
    return [*view.lead, *view.notes, *tables, *below, *view.remarks]


def _table(tables: Sequence[TableView]) -> list[str]:
    """Return tables side by side, without a head above the names; none if they have no lines."""
    table = tables[0]
    width = max(map(len, table.names), default=0)
    columns = [[f"{name:<{width}}" for name in ("", *table.names)]]
    for column in (column for part in tables for column in part.columns):
        cells, spreads = column.cells, column.spreads
        if any(spreads):
            wide, long = (max(map(len, texts)) for texts in (cells, spreads))
            pairs = zip(cells, spreads, strict=True)
            cells = [f"{cell:>{wide}} {spread:<{long}}" for cell, spread in pairs]
        width = max(map(len, (column.title, *cells)))
        columns.append([f"{cell:>{width}}" for cell in (column.title, *cells)])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    return [table.title][: bool(table.title)] + lines if table.names else []


def rank_by_size(size: Floats, count: int | None = None) -> NDArray[np.intp]:
    """Return the features of the largest sizes, the largest first."""
    return np.argsort(-size, kind="stable")[:count]


def leaves_out(explanation: Explanation, shown: Sequence[Any] | NDArray[np.intp]) -> bool:
    """Tell whether the features shown are not all that the prediction is made of."""
    return len(shown) < len(explanation.feature_names) or not explanation.complete


def kernel_text(kernel: object) -> str:
    """Return a kernel with six digits of each number.

    Examples
    --------
    >>> import pkex
    >>> kernel_text(pkex.kernels.RBF(282.17182478057583))
    'RBF(length_scale=282.172)'
    """
    return re.sub(r"\d+\.\d+(e[-+]\d+)?", lambda number: f"{float(number[0]):.6g}", str(kernel))


def value_name(result: Any) -> str:
    """Return what the values of a result are called, by their index.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
    >>> value_name(pkex.Explainer(f)([[0.0]]))
    'Shapley value'
    """
    names = {"SV": "Shapley value", "IG": "integrated gradient"}
    return names.get(result.index, f"{result.index} value")


def describe_groups(result: Any) -> str | None:
    """Return the groups at the top of a hierarchy and how deep it is; None where there is none.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0, 1.0]], [1.0], pkex.kernels.RBF())
    >>> describe_groups(pkex.Explainer(f, hierarchy={"a": ["x0", "x1"]}))
    'a, x2; 2 levels'
    """
    tree = result.hierarchy
    if tree is None:
        return None
    names = [*result.feature_names, *tree.names]
    top = join_names([names[vertex] for vertex in tree.cut(1)])
    return f"{top}; {pluralise(tree.depth, 'level')}"


def name_rest(explanation: Explanation, shown: int) -> str:
    """Return what to call the sum of all features but those shown."""
    left = len(explanation.feature_names) - shown
    if not explanation.complete:
        return "features that were not selected" if not left else "remaining features"
    return pluralise(left, "other feature")


def feature_text(explanation: Explanation, row: int, feature: int) -> str:
    """Return the values of a feature's columns, each cut to a readable length."""
    columns = explanation.feature_groups[feature]
    texts = [cut(format_cell(explanation.data[row, column]), 24) for column in columns[:3]]
    return ", ".join([*texts, "…"] if len(columns) > 3 else texts)


def cut(text: str, letters: int) -> str:
    """Return a text, or its beginning where it is longer than `letters`."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def align_numbers(numbers: Any) -> list[str]:
    """Return signed numbers of a column with the same number of decimals.

    Examples
    --------
    >>> align_numbers([12.345, -0.5])
    ['+12.35', '-0.50']
    """
    largest = max(map(abs, numbers), default=0.0)
    if largest == 0.0:
        return ["+0"] * len(numbers)
    if not 1e-4 <= largest < 1e6:
        return [f"{number:+.3e}" for number in numbers]
    decimals = max(0, 3 - math.floor(math.log10(largest)))
    return [f"{number:+.{decimals}f}" for number in numbers]
