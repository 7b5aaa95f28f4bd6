"""Grids of input columns: the places at which effects are computed, in the units of the input.

They are those of scikit-learn's `partial_dependence`: the different values of a column where there
are fewer than the resolution, else equal steps between two percentiles. Categories are their own
places, and a column of integers has integers only.
"""

from __future__ import annotations

from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import is_missing, is_number
from pkex._util.types import Floats

__all__ = ["column_cells", "make_grid", "quantile_edges", "replace_column"]


def column_cells(table: Any, column: int) -> NDArray[Any]:
    """Return the cells of a column: float64 where they are numbers, else objects."""
    if hasattr(table, "iloc"):
        cells = np.asarray(table.iloc[:, column], dtype=object)
    elif hasattr(table, "tocsc"):
        return cast("NDArray[Any]", table[:, [column]].toarray()[:, 0].astype(np.float64))
    elif isinstance(table, np.ndarray):
        cells = table[:, column]
    elif isinstance(table, list | tuple):
        cells = np.asarray([row[column] for row in table], dtype=object)
    else:
        cells = np.asarray(nw.from_native(table, eager_only=True)[:, column].to_list(), object)
    if cells.dtype.kind in "uif":
        return cells.astype(np.float64)
    numbers = [is_number(cell) and not isinstance(cell, bool) for cell in cells.tolist()]
    gaps = [is_missing(cell) for cell in cells.tolist()]
    if all(number or gap for number, gap in zip(numbers, gaps, strict=True)) and any(numbers):
        filled = [np.nan if gap else cell for cell, gap in zip(cells.tolist(), gaps, strict=True)]
        return np.asarray(filled, dtype=np.float64)
    return cells.astype(object)


def make_grid(
    cells: NDArray[Any],
    resolution: int,
    percentiles: tuple[float, float],
    name: str,
    *,
    categorical: bool = False,
) -> NDArray[Any]:
    """Return the places of a column with these cells; those that are missing do not count."""
    known = cells[[not is_missing(cell) for cell in cells.tolist()]]
    if not len(known):
        return cells[:1]  # missing everywhere, which is its only place
    if known.dtype == object:
        try:
            return np.array(sorted(set(known.tolist())), dtype=object)
        except TypeError:  # of several kinds
            return np.array(sorted(set(known.tolist()), key=str), dtype=object)
    places = np.unique(known)
    if categorical or len(places) < resolution:
        return places
    from scipy.stats.mstats import mquantiles

    low, high = np.asarray(mquantiles(known, prob=percentiles), dtype=np.float64)
    if not low < high:  # exactly: a column may have small units, or a large offset
        raise ValueError(
            f"the percentiles {percentiles} of the column {name!r} are the same value; choose "
            "others for a grid."
        )
    steps = np.linspace(low, high, num=resolution, endpoint=True)
    return np.unique(np.round(steps)) if (places == np.round(places)).all() else steps


def quantile_edges(
    cells: NDArray[Any], resolution: int, percentiles: tuple[float, float], name: str
) -> Floats:
    """Return the edges of intervals with much the same number of rows; each edge is a value.

    So every interval, which has its right end, holds at least one row.
    """
    known = cells[~np.isnan(cells)]
    if len(np.unique(known)) < 2:
        raise ValueError(
            f"the column {name!r} has a single value in the background; ALE needs two or more."
        )
    levels = np.linspace(*percentiles, num=resolution)
    edges: Floats = np.unique(np.quantile(known, levels, method="inverted_cdf"))
    if len(edges) < 2:
        raise ValueError(
            f"the percentiles {percentiles} of the column {name!r} are the same value; choose "
            "others for ALE."
        )
    return edges


def replace_column(table: Any, column: int, cells: NDArray[Any]) -> Any:
    """Return the first row of a table once for each cell, with the cell in the column's place."""
    count = len(cells)
    if hasattr(table, "tocsr"):
        table = table[:1].toarray()
    if hasattr(table, "iloc"):
        rows = table.iloc[np.zeros(count, dtype=np.intp)].reset_index(drop=True)
        kind = rows.dtypes.iloc[column]
        series = type(rows.iloc[:, column])(cells.tolist(), name=rows.columns[column])
        if str(kind) == "category" or kind.kind not in "biuf":
            series = series.astype(kind)
        rows.isetitem(column, series)
        return rows
    if isinstance(table, list | tuple):
        table = np.asarray(table[:1], dtype=object)
    if isinstance(table, np.ndarray):
        kind = np.result_type(table.dtype, cells.dtype) if table.dtype.kind != "O" else object
        rows = np.repeat(table[:1], count, axis=0).astype(kind)
        rows[:, column] = cells
        return rows
    frame = nw.from_native(table, eager_only=True)
    rows = frame[[0] * count]
    name = rows.columns[column]
    backend = nw.get_native_namespace(table)
    series = nw.new_series(name, cells.tolist(), backend=backend)
    return rows.with_columns(series).to_native()
