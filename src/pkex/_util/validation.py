"""Turning what users pass into float64 arrays, or into a sentence that says what is wrong.

Every check names the argument, what was found, and what to do instead.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from pkex._util.cells import is_missing
from pkex._util.types import Floats, TableLike

__all__ = [
    "as_floats",
    "as_matrix",
    "brief",
    "check_columns",
    "check_count",
    "check_n_jobs",
    "check_number",
    "check_positive",
    "check_tolerance",
    "check_unique_names",
    "column_names",
    "default_names",
    "first_rows",
    "is_dask",
    "is_index",
    "refuse_dask",
    "refuse_masked",
]


_FEW = 12  # entries that a message shows
_LETTERS = 160  # and letters
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = _SHORT.maxdict = _FEW
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 2 * _LETTERS  # cut below, all alike


def as_floats(value: TableLike, name: str, names: Sequence[str] | None = None) -> Floats:
    """Return `value`, which may be sparse, as a finite dense float64 array of any shape.

    `names` are column names, used to say where the first bad entry stands.
    """
    if value is None:
        raise TypeError(f"{name} is None; pass an array of numbers.")
    refuse_masked(value, name)
    try:
        raw = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    except ValueError as error:
        raise ValueError(f"{name} is ragged: its rows differ in length.") from error
    if raw.dtype.kind not in "buifO":
        raise TypeError(
            f"{name} has dtype {raw.dtype}; only real numbers are supported. Encode text and dates "
            "as numbers first (for category codes see pkex.kernels.Categorical)."
        )
    try:
        array = _convert(raw)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} holds values that are not numbers ({error}). Encode text as numbers first "
            "(for category codes see pkex.kernels.Categorical)."
        ) from error
    finite = np.isfinite(array)
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f"at index {place}"
        if array.ndim == 2:
            column = repr(names[place[1]]) if names and place[1] < len(names) else place[1]
            where = f"in row {place[0]}, column {column}"
        raise ValueError(
            f"{name} contains NaN or infinity ({finite.size - finite.sum()} of {finite.size} "
            f"entries, the first {where}). Impute or drop such rows first."
        )
    return array


def refuse_masked(value: object, name: str) -> None:
    """Raise for an array with masked entries, or a list of such: what is hidden would be used."""
    parts = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} has masked entries; fill them or drop such rows first.")


_SAMPLE = "pass a sample that fits memory, e.g. {name}.compute(), or of a frame {name}.sample(...)."


def is_dask(value: object) -> bool:
    """Tell whether a value is a collection of Dask, without importing it.

    Examples
    --------
    >>> is_dask([[1.0, 2.0]])
    False
    """
    return type(value).__module__.partition(".")[0] == "dask"


def refuse_dask(value: object, name: str, advice: str = _SAMPLE) -> None:
    """Raise for a collection of Dask, which NumPy would load in silence."""
    if is_dask(value):
        raise TypeError(
            f"{name} is a dask {type(value).__name__}, which would be loaded as a whole: "
            f"{advice.format(name=name)}"
        )


def _convert(raw: NDArray[Any]) -> Floats:
    """Return an array as float64; what is missing, such as pandas' NA, becomes NaN."""
    try:
        return raw.astype(np.float64)
    except (TypeError, ValueError):
        if raw.dtype != object:
            raise
    gaps = [not isinstance(cell, np.ndarray) and is_missing(cell) for cell in raw.flat]
    return np.where(np.reshape(gaps, raw.shape), np.nan, raw).astype(np.float64)


def as_matrix(
    value: TableLike, name: str, n_columns: int | None = None, names: Sequence[str] | None = None
) -> Floats:
    """Return `value` as a finite float64 matrix (rows, columns) with at least one of each."""
    array = as_floats(value, name, names)
    if array.ndim != 2:
        hint = f" A single row is {name}[None, :]." if array.ndim == 1 else ""
        raise ValueError(
            f"{name} must be two-dimensional (rows, columns), got shape {array.shape}.{hint}"
        )
    check_columns(array.shape, name, n_columns)
    return array


def check_columns(shape: tuple[int, ...], name: str, n_columns: int | None) -> None:
    """Refuse a table that is empty, or has another number of columns than a model takes."""
    if n_columns is not None and shape[1] != n_columns:
        raise ValueError(
            f"{name} has {shape[1]} columns, but {n_columns} are expected: the columns of "
            "the points the model was built from, in the same order."
        )
    if 0 in shape:
        raise ValueError(f"{name} is empty (shape {shape}); at least one row is needed.")


def column_names(value: object, name: str = "X") -> tuple[str, ...] | None:
    """Return the column names of a data frame when they are all strings, else None."""
    if isinstance(value, np.ndarray | list | tuple):  # narwhals would take longer to say so
        return None
    try:
        frame = nw.from_native(value, pass_through=True)
    except DuplicateError:
        frame = value  # whose names differ from those of any model
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame; collect it first.")
    columns: Any = getattr(frame, "columns", None)
    if not isinstance(columns, Iterable):
        return None
    names = tuple(columns)
    return names if names and all(isinstance(entry, str) for entry in names) else None


def first_rows(table: Any, count: int) -> Any:
    """Return the first rows of a table, of whatever kind; a frame of pandas may slice by label."""
    if hasattr(table, "iloc"):
        return table.iloc[:count]
    return (table.tocsr() if hasattr(table, "tocsr") else table)[:count]


def default_names(prefix: str, count: int) -> tuple[str, ...]:
    """Return ``x0, x1, ...`` as scikit-learn names columns that have no name."""
    return tuple(f"{prefix}{i}" for i in range(count))


def check_unique_names(value: Iterable[str], name: str, count: int) -> tuple[str, ...]:
    """Return `value` as a tuple of `count` different strings."""
    if isinstance(value, str):
        raise TypeError(
            f"{name} must be a sequence of strings, got the single string {brief(value)}."
        )
    names = tuple(value)
    for entry in names:
        if not isinstance(entry, str):
            raise TypeError(f"{name} must hold strings, got {brief(entry)}; use str(...) on each.")
    if len(names) != count:
        raise ValueError(f"{name} has {len(names)} entries, but {count} are needed.")
    if len(set(names)) != count:
        twice = next(entry for entry in names if names.count(entry) > 1)
        raise ValueError(f"{name} holds {twice!r} more than once; names must differ.")
    return names


def brief(value: object) -> str:
    """Return what a message shows of a value: all of it where it is short, else what it is.

    Examples
    --------
    >>> brief("rbf"), brief([1.5, 2.5]), brief(np.zeros((450, 100)))
    ("'rbf'", '[1.5, 2.5]', 'an array of shape (450, 100)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) > _FEW:
        kind = type(value).__name__
        return f"{'an array' if kind == 'ndarray' else f'a {kind}'} of shape {shape}"
    text = " ".join(_SHORT.repr(value).split())
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 30]} ... {text[-25:]}"


def is_index(value: object) -> bool:
    """Tell whether `value` can serve as an integer index (a bool cannot)."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def check_count(value: Any, name: str, least: int) -> int:
    """Return `value` as an integer; refuse another, or a small one."""
    if not is_index(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")
    return int(value)


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse what joblib would not take as a number of threads."""
    if n_jobs is not None and not is_index(n_jobs):
        raise TypeError(f"n_jobs must be an integer or None, got {brief(n_jobs)}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, or -1 for all cores.")


def check_number(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {brief(value)} ({type(value).__name__}).")
    result = float(value)
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return result


def check_positive(value: object, name: str) -> float | tuple[float, ...]:
    """Return one positive finite number, or a tuple of them (one per column)."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        entries = tuple(check_number(entry, f"{name}[{i}]") for i, entry in enumerate(value))
        if not entries:
            raise ValueError(f"{name} is empty; give one number, or one per column.")
    else:
        entries = (check_number(value, name),)
    for entry in entries:
        if entry <= 0.0:
            raise ValueError(
                f"{name} must be positive, got {entry!r}; give one number, or one per column."
            )
    return entries if isinstance(value, Sequence | np.ndarray) else entries[0]


def check_tolerance(value: object, least: float) -> float | None:
    """Return an accepted relative error from `least` up to 1 as a float, or None as it is."""
    if value is None:
        return None
    tol = check_number(value, "tol")
    if not least <= tol < 1.0:
        raise ValueError(
            f"tol must be at least {least:.2g}, the smallest error bound in double precision, and "
            f"below 1; got {tol!r}. None asks for full double precision."
        )
    return tol
