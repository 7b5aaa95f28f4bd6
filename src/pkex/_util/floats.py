"""The unit of rounding, and errors as NumPy treats them by default, whatever the user has set.

An underflow to 0 is right everywhere here, and an overflow is looked for where it can happen. With
``np.seterr(all="raise")`` both would be exceptions. The setting is one of each thread, and threads
of pkex have the default, so that it is put in place where a user's thread comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

__all__ = ["UNIT", "default_errstate"]

UNIT = 2.0**-53
"""The largest relative error of one rounding to the nearest double. A bound of an error counts
roundings, and multiplies by it; squares of it are in what the count has to spare."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def default_errstate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with NumPy's default treatment of errors inside."""

    @wraps(function)
    def usual(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **kwargs)

    return usual
