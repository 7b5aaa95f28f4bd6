"""Tables of Dask, which are not loaded: what is asked of them becomes part of their graph.

Dask is recognised by the module of a type, so that it need not be installed, let alone imported.
The problem stands in a graph once, as a node of its own, and every chunk of rows refers to it.
Chunks are explained with one thread each, as Dask has threads or workers of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import is_dask
from pkex.explain.problem import Problem
from pkex.explain.values import explain_rows
from pkex.games.cluster import working

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["LAZY", "frame_of_values", "lazy_values"]


# for the sentence about a collection that an explainer is called with
LAZY = (
    "use explainer.shap_values(X) or explainer.explain_frame(X), which stay lazy, or pass "
    "X.compute() if it fits memory."
)


def lazy_values(problem: Problem, table: Any) -> Any:
    """Return the values of a Dask array or data frame as a Dask array; nothing is computed."""
    import dask
    import dask.array

    held = dask.delayed(problem, pure=True, traverse=False)
    shape = _shape(problem)
    if hasattr(table, "to_delayed") and hasattr(table, "columns"):
        parts = [
            dask.array.from_delayed(
                dask.delayed(_values)(part, held), (np.nan, *shape), dtype=np.float64
            )
            for part in table.to_delayed()
        ]
        return dask.array.concatenate(parts, allow_unknown_chunksizes=True)
    if getattr(table, "ndim", None) != 2:
        raise ValueError(
            f"X must be a dask array of shape (n_rows, n_columns) or a dask data frame, got "
            f"{type(table).__name__} of shape {getattr(table, 'shape', None)}."
        )
    table = table.rechunk({1: -1})
    return dask.array.map_blocks(
        _values,
        table,
        held,
        chunks=(table.chunks[0], *((size,) for size in shape)),
        dtype=np.float64,
        meta=np.empty((0,) * (1 + len(shape))),
        **({"new_axis": [2]} if len(shape) == 2 else {}),
    )


def frame_of_values(problem: Problem, table: Any, n_jobs: int | None) -> Any:
    """See `Explainer.explain_frame`."""
    if is_dask(table):
        return _dask_frame(problem, table)
    frame = nw.from_native(table, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy frame of {type(table).__module__}; collect it first.")
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"explain_frame takes a data frame of pandas, polars, pyarrow or dask, got "
            f"{type(table).__name__}: for an array use explainer(X).to_frame()."
        )
    columns = _columns(explain_rows(problem, table, n_jobs=n_jobs))
    if hasattr(table, "iloc"):
        return type(table)(columns, index=table.index)
    return nw.from_dict(columns, backend=frame.implementation).to_native()


def _dask_frame(problem: Problem, table: Any) -> Any:
    """Return a Dask data frame that explains its partitions when it is computed."""
    import dask

    if not (hasattr(table, "map_partitions") and hasattr(table, "columns")):
        raise TypeError(
            f"explain_frame takes a dask data frame, got a dask {type(table).__name__}: for an "
            "array use explainer.shap_values(X)."
        )
    held = dask.delayed(problem, pure=True, traverse=False)
    meta = _frame(table._meta[:0], problem)
    return table.map_partitions(_frame, held, meta=meta, enforce_metadata=False)


def _values(rows: Any, problem: Problem) -> Floats:
    """Return the values of a chunk, which may have no rows."""
    if not len(rows):
        return np.empty((0, *_shape(problem)))
    with working():
        values: Floats = explain_rows(problem, rows, n_jobs=1).values
        return values


def _frame(rows: Any, problem: Problem) -> Any:
    """Return the frame of a partition, which may have no rows."""
    if not len(rows):
        about = problem.about_rows(rows)
        names = _names(about.feature_names, about.output_names, problem.intercept.shape)
        return type(rows)({name: np.empty(0) for name in names}, index=rows.index)
    with working():
        return frame_of_values(problem, rows, 1)


def _shape(problem: Problem) -> tuple[int, ...]:
    """Return the shape of the values of a row."""
    return (len(problem.feature_groups), *problem.intercept.shape)


def _columns(explanation: Explanation) -> dict[str, Floats]:
    values, base, predictions = explanation.with_output_axis()
    shape = explanation.base_values.shape[1:]
    names = _names(explanation.feature_names, explanation.output_names, shape)
    columns = [
        column
        for k in range(values.shape[2])
        for column in (*values[:, :, k].T, base[:, k], predictions[:, k])
    ]
    return {name: np.ascontiguousarray(c) for name, c in zip(names, columns, strict=True)}


def _names(
    features: Sequence[str], outputs: Sequence[str] | None, shape: tuple[int, ...]
) -> list[str]:
    """Return the names of the columns: for several outputs each after that of its output."""
    ends = ("base_value", "prediction")
    for name in ends:
        if name in features:
            raise ValueError(
                f"a feature is named {name!r}, as a column that explain_frame adds: give it "
                f'another name with groups={{"my_{name}": ["{name}"]}}.'
            )
    names = [*features, *ends]
    if not shape:
        return names
    outputs = outputs or [f"y{k}" for k in range(shape[0])]
    return [f"{output}: {name}" for output in outputs for name in names]
