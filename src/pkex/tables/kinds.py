"""Which columns of a table are numbers and which are categories, wherever the table comes from.

Columns of text, categories and booleans are categories, wherever they stand. Dates and times of
files are a third kind; lists and whatever else are none. A column is asked for its type first, and
a column of objects for its cells. Columns of frames and of Arrow tables have types of their own,
and the same rule. Integers that float64 does not hold are found here, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import is_missing

__all__ = [
    "Kind",
    "first_rounded",
    "is_arrow_text",
    "kind_of_arrow",
    "kind_of_cells",
    "kind_of_series",
]

Kind = Literal["numeric", "categorical", "date", "other"]
_EXACT = 2**53  # up to which float64 holds every integer


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


def first_rounded(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Return place and value of the first integer that float64 does not hold; None without one.

    Examples
    --------
    >>> first_rounded(np.array([2**53, 2**60, 2**53 + 1]))
    (2, 9007199254740993)
    """
    if cells.dtype.kind in "iu":
        far = np.flatnonzero((cells > _EXACT) | (cells < -_EXACT))
        odd = cells[far] // (cells[far] & -cells[far])  # without the factors of 2
        places = far[(odd > _EXACT) | (odd < -_EXACT)]
        return (int(places[0]), int(cells[places[0]])) if len(places) else None
    if cells.dtype == object:
        for place, cell in enumerate(cells):
            if isinstance(cell, Decimal):
                is_integer = cell.is_finite() and cell == cell.to_integral_value()
            else:
                is_integer = isinstance(cell, Integral)
            value = int(cell) if is_integer else 0
            if abs(value) > _EXACT and (value.bit_length() > 1024 or int(float(value)) != value):
                return place, value
    return None
