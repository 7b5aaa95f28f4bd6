"""Results as data frames of pandas: lines of rows or of features, a block of columns an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import import_optional
from pkex._util.types import Floats
from pkex.output.view.rows import REST

if TYPE_CHECKING:
    from pkex.results.sparse import SparseExplanation

__all__ = ["feature_frame", "row_frame", "sparse_frame"]


def row_frame(
    result: Any,
    names: Sequence[str],
    values: Floats,
    totals: bool,
    stds: Floats | None = None,
    index: Any = None,
) -> Any:
    """Return a line for each row and a column for each name.

    Base values and predictions follow, if `totals` are wanted, and standard deviations.
    """
    several = values.shape[2:]
    shape = (len(result), len(names), *(several or (1,)))
    added, blocks = [], [values.reshape(shape)]
    if totals:
        added += ["base_value", "prediction"]
        both = (result.base_values, result.predictions)
        blocks += [part.reshape(shape[0], 1, shape[2]) for part in both]
    if stds is not None:
        added += [f"{name} std" for name in names]
        blocks.append(stds.reshape(shape))
    clash = set(names).intersection(added)
    if clash:
        raise ValueError(
            f"a feature is named {clash.pop()!r}, like a column that to_frame adds; use "
            "to_frame(totals=False)."
        )
    index = result.row_index if index is None else index
    table = np.concatenate(blocks, axis=1)
    return _frame([*names, *added], table, index, result.output_names, "feature")


def feature_frame(result: Any, columns: Mapping[str, Floats | None]) -> Any:
    """Return a line for each feature, the largest first, and a column for each array there is."""
    pandas, order = import_optional("pandas", "pandas"), result.ranking
    tables = {
        name: column.reshape(len(order), -1)[order]
        for name, column in columns.items()
        if column is not None
    }
    index = pandas.Index([result.feature_names[i] for i in order], name="feature")
    table = np.stack(list(tables.values()), axis=1)
    return _frame(list(tables), table, index, result.output_names, "index")


def _frame(names: list[str], table: Floats, index: Any, outputs: Sequence[str], level: str) -> Any:
    """Return a frame of a table of shape (n_lines, n_names, n_outputs)."""
    pandas = import_optional("pandas", "pandas")
    columns: Any = names
    if table.shape[2] > 1:
        columns = pandas.MultiIndex.from_product([outputs, names], names=["output", level])
    blocks = list(np.moveaxis(table, 2, 0))
    return pandas.DataFrame(np.hstack(blocks), columns=columns, index=index)


def sparse_frame(explanation: SparseExplanation) -> Any:
    """See `SparseExplanation.to_frame`."""
    pandas = import_optional("pandas", "pandas")
    values, data = explanation.values, explanation.data
    lines = []
    for row in range(len(explanation)):
        here = slice(values.indptr[row], values.indptr[row + 1])
        stored = slice(data.indptr[row], data.indptr[row + 1])
        cells = dict(zip(data.indices[stored].tolist(), data.data[stored].tolist(), strict=True))
        phi, features = values.data[here], values.indices[here]
        for i in np.argsort(-np.abs(phi), kind="stable"):
            columns = explanation.feature_groups[features[i]]
            cell = cells.get(columns[0], 0.0) if len(columns) == 1 else np.nan
            lines.append((row, explanation.feature_names[features[i]], cell, phi[i]))
        lines.append((row, REST, np.nan, explanation.rest[row]))
    return pandas.DataFrame(lines, columns=["row", "feature", "data", "value"])
