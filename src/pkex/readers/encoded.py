"""Models of encoded columns, as optimisers fit them, in the parameters that users have.

An optimiser encodes parameters before its model sees them: a category becomes columns of 0 and 1, a
number its logarithm. Each encoded column comes from one parameter, so that the encoding is a
preparation, as a one-hot encoder in a pipeline is, and a parameter is one feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import Preparation
from pkex.models.sums import add_expansions, evolve
from pkex.readers.reading import Chain

__all__ = ["encode_inputs", "table_of"]


def encode_inputs(
    expansion: KernelExpansion,
    encode: Callable[[Any], Floats],
    names: Sequence[str],
    origins: Sequence[int],
) -> KernelExpansion:
    """Return an expansion of encoded columns as one of the parameters.

    Parameters
    ----------
    expansion : KernelExpansion
        Of the encoded columns.
    encode : callable
        Takes rows of parameters, returns the encoded columns; can be pickled.
    names : sequence of str
        Of the parameters.
    origins : sequence of int
        For each encoded column the parameter that it is made from.
    """
    parts: list[KernelExpansion] = []
    for part in expansion.parts:
        inner, transform, places = part.preparation, encode, list(origins)
        if inner is not None:
            transform = Chain(encode, inner.transform)
            places = [places[origin] for origin in inner.origins]
        before = Preparation(transform, tuple(names), tuple(places))
        parts += evolve(part, preparation=before).parts
    return add_expansions(parts)


def table_of(X: Any, names: Sequence[str]) -> Any:
    """Return rows of parameters as a pandas frame."""
    import pandas

    if hasattr(X, "columns"):
        return pandas.DataFrame({name: np.asarray(X[name]) for name in names})
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(
            f"rows must have the {len(names)} parameters {brief(list(names))} as columns, got "
            f"shape {rows.shape}."
        )
    return pandas.DataFrame(rows, columns=list(names)).infer_objects()
