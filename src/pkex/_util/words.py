"""Names and numbers of things, as a sentence has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "LATENT",
    "NOISE",
    "PREDICTIVE",
    "SQUARED_ERROR",
    "class_name",
    "format_duration",
    "join_names",
    "pluralise",
]

# the variances of a Gaussian process that are explained, and what a sentence says of them
LATENT, PREDICTIVE = "latent variance", "predictive variance"
SQUARED_ERROR = "squared error"
NOISE = {LATENT: ", without observation noise", PREDICTIVE: ", observation noise included"}

_SHOWN = 12  # names in a sentence before it says "and more"


def join_names(names: Sequence[object]) -> str:
    """Return names as a sentence has them, cut when there are many.

    Examples
    --------
    >>> join_names(["age", "bmi"])
    'age, bmi'
    >>> join_names([f"x{i}" for i in range(100)])
    'x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 88 more'
    """
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more


def pluralise(count: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> pluralise(1, "row"), pluralise(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def class_name(model: Any) -> str:
    """Return the class of a model; of a pipeline, the classes of its steps.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVR
    >>> class_name(make_pipeline(StandardScaler(), SVR()))
    'Pipeline(StandardScaler, SVR)'
    """
    steps = getattr(model, "steps", None)
    names = [type(step).__name__ for _, step in steps] if steps else []
    return type(model).__name__ + (f"({', '.join(names)})" if names else "")


def format_duration(seconds: float) -> str:
    """Return a time as one says it.

    Examples
    --------
    >>> [format_duration(s) for s in (5.0, 80.0, 600.0, 8000.0, 1e6)]
    ['a few seconds', '1 minute', '10 minutes', '2 hours', '12 days']
    """
    for unit, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * unit or (unit == 60.0 and seconds >= 30.0):
            return pluralise(round(seconds / unit), name)
    return "a few seconds"
