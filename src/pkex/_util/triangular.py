"""Triangular systems, solved by LAPACK without the interpreter's lock.

`scipy.linalg.solve_triangular` calls the same routine and keeps the lock, so that threads that
solve wait for each other.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy import LowLevelCallable
from scipy.linalg import cython_lapack

from pkex._util.types import Floats

__all__ = ["solve_lower"]


def solve_lower(factor: Floats, values: Floats, *, transposed: bool = False) -> Floats:
    """Return ``L^-1 values`` for a lower triangular L, or ``L'^-1 values``.

    Parameters
    ----------
    factor : array of shape (n, n)
        L; nothing is read above its diagonal.
    values : array of shape (n, columns)

    Examples
    --------
    >>> import numpy as np
    >>> solve_lower(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[2.0], [3.0]])).ravel()
    array([1., 2.])
    """
    n, n_columns = values.shape
    if factor.shape != (n, n):
        raise ValueError(f"values of {n} rows need a factor of as many, got {factor.shape}.")
    solved = np.array(values, dtype=np.float64, order="F")
    if solved.size == 0:
        return solved
    matrix = np.asarray(factor, dtype=np.float64)
    by_column = matrix.flags.f_contiguous
    if not by_column:
        matrix = np.ascontiguousarray(matrix)  # by column this is the transpose, an upper triangle
    info = ctypes.c_int(0)
    _dtrtrs()(
        b"L" if by_column else b"U",
        b"N" if by_column != transposed else b"T",
        b"N",
        *(ctypes.byref(ctypes.c_int(count)) for count in (n, n_columns)),
        matrix.ctypes.data,
        ctypes.byref(ctypes.c_int(n)),
        solved.ctypes.data,
        ctypes.byref(ctypes.c_int(n)),
        ctypes.byref(info),
    )
    if info.value != 0:
        raise np.linalg.LinAlgError(f"singular matrix: the diagonal is 0 at {info.value - 1}")
    return solved


@cache
def _dtrtrs() -> Any:
    """Return LAPACK's routine; calls of a `ctypes.CFUNCTYPE` release the interpreter's lock."""
    capsule = LowLevelCallable.from_cython(cython_lapack, "dtrtrs").function
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    count = ctypes.POINTER(ctypes.c_int)
    kinds: list[Any] = [*[ctypes.c_char_p] * 3, count, count]
    kinds += [ctypes.c_void_p, count, ctypes.c_void_p, count, count]
    return ctypes.CFUNCTYPE(None, *kinds)(address_of(capsule, name_of(capsule)))
