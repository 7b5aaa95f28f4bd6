"""Triangular systems, solved by LAPACK without the interpreter's lock.

`scipy.linalg.solve_triangular` calls the same routine and keeps the lock, so that threads that
solve wait for each other.
"""

from __future__ import annotations

import ctypes
import re
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
    routine, count = _dtrtrs()
    sizes, info = (count(n), count(n_columns)), count(0)
    routine(
        b"L" if by_column else b"U",
        b"N" if by_column != transposed else b"T",
        b"N",
        *map(ctypes.byref, sizes),
        matrix.ctypes.data,
        ctypes.byref(sizes[0]),
        solved.ctypes.data,
        ctypes.byref(sizes[0]),
        ctypes.byref(info),
    )
    if info.value != 0:
        raise np.linalg.LinAlgError(f"singular matrix: the diagonal is 0 at {info.value - 1}")
    return solved


@cache
def _dtrtrs() -> tuple[Any, Any]:
    """Return LAPACK's routine, and the type of its integers.

    Calls of a `ctypes.CFUNCTYPE` release the interpreter's lock.
    """
    exported = LowLevelCallable.from_cython(cython_lapack, "dtrtrs")
    count = _integers_of(exported.signature)
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    some = ctypes.POINTER(count)
    kinds: list[Any] = [*[ctypes.c_char_p] * 3, some, some]
    kinds += [ctypes.c_void_p, some, ctypes.c_void_p, some, some]
    capsule = exported.function
    routine = ctypes.CFUNCTYPE(None, *kinds)(address_of(capsule, name_of(capsule)))
    return routine, count


def _integers_of(signature: str) -> Any:
    """Return the type of the integers of a routine, whose signature is written in C.

    It is C's int, but has 64 bits where SciPy, from 1.18 on, was built with
    ``-Dcython-blas-abi=ilp64``. Where 32 are read of 64, these are the lower ones on most machines.
    """
    return ctypes.c_int if re.search(r"\bint \*", signature) else ctypes.c_int64
