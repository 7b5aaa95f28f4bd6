"""Which columns of a table are numbers and which are categories, wherever the table comes from.

Columns of text, categories and booleans are categories, wherever they stand. Dates and times of
files are a third kind; lists and whatever else are none. A column is asked for its type first, and
a column of objects for its cells. Columns of frames and of Arrow tables have types of their own,
and the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import narwhals as nw
import numpy as np

from pkex._util.cells import is_missing

__all__ = ["Kind", "is_arrow_text", "kind_of_arrow", "kind_of_cells", "kind_of_series"]

Kind = Literal["numeric", "categorical", "date", "other"]


def kind_of_cells(cells: Iterable[Any]) -> Kind:
    """Return what a column of objects holds: categories if any is text, or all are booleans.

    Examples
    --------
    >>> kind_of_cells([1, None, 2.5]), kind_of_cells([1, "a"]), kind_of_cells([True, None])
    ('numeric', 'categorical', 'categorical')
    """
    known = [cell for cell in cells if not is_missing(cell)]
    flags = bool(known) and all(isinstance(cell, bool | np.bool_) for cell in known)
    return "categorical" if flags or any(isinstance(cell, str) for cell in known) else "numeric"


def kind_of_series(series: nw.Series[Any]) -> Kind:
    """Return what a column of a data frame holds."""
    dtype = series.dtype
    if dtype.is_numeric():
        return "numeric"
    if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):
        return "categorical"
    if dtype in (nw.Object, nw.Unknown):
        return kind_of_cells(np.asarray(series.to_numpy(), dtype=object))
    return "other"


def kind_of_arrow(dtype: Any) -> Kind:
    """Return what a column of an Arrow table holds; one without any value counts as numbers."""
    from pyarrow import types

    numbers = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    if any(test(dtype) for test in numbers):
        return "numeric"
    if is_arrow_text(dtype) or types.is_boolean(dtype) or types.is_dictionary(dtype):
        return "categorical"
    return "date" if types.is_date(dtype) or types.is_timestamp(dtype) else "other"


def is_arrow_text(dtype: Any) -> bool:
    """Tell whether a column of an Arrow table holds text."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(dtype) for test in tests)
