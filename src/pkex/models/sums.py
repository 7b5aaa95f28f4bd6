"""Expansions made of others: their sums, several side by side, and others with something changed.

Every function here takes expansions of any number of `parts` and returns one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkex._util.floats import default_errstate
from pkex._util.lazy import lazy
from pkex._util.sparse import equal_tables, is_sparse, to_dense
from pkex._util.types import Floats, Players, TableLike
from pkex._util.validation import column_names, default_names
from pkex.models.expansion import KernelExpansion
from pkex.models.expansion_base import Data

__all__ = [
    "ExpansionSum",
    "add_base_values",
    "add_expansions",
    "combine_outputs",
    "evolve",
    "result_names",
    "stack",
    "with_names",
]


class ExpansionSum(KernelExpansion):
    """A sum of expansions of the same input, for outputs that have different kernels.

    Every part has all the outputs, with coefficients 0 for those that it takes no part in. Points,
    coefficients and kernels are those of the parts.

    Parameters
    ----------
    parts : tuple of KernelExpansion

    Examples
    --------
    >>> import pkex
    >>> from sklearn.multioutput import MultiOutputRegressor
    >>> from sklearn.svm import SVR
    >>> X, Y = [[0.0], [1.0], [3.0]], [[0.0, 1.0], [1.0, 0.0], [0.0, 5.0]]
    >>> model = MultiOutputRegressor(SVR(C=10.0, epsilon=0.9)).fit(X, Y)
    >>> expansion = pkex.as_expansion(model)
    >>> expansion.predict([[0.5]]).shape, len(expansion.parts)
    ((1, 2), 2)
    """

    def __init__(self, parts: tuple[KernelExpansion, ...]) -> None:
        first = parts[0]
        for name, value in (
            ("_parts", parts),
            ("feature_names", first.feature_names),
            ("output_names", first.output_names),
            ("preparation", first.preparation),  # for the steps before and the names
        ):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in (
            "points",
            "coefficients",
            "kernel",
            "intercept",
            "background",
            "posterior",
            "ridge",
        ):
            raise AttributeError(
                f"this model is a sum of {len(self.parts)} expansions, each with its own {name}: "
                f"see expansion.parts[0].{name}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"ExpansionSum(parts={self.parts!r})"

    @property
    def parts(self) -> tuple[KernelExpansion, ...]:
        """The expansions that it is a sum of."""
        parts: tuple[KernelExpansion, ...] = self.__dict__["_parts"]
        return parts

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.parts[0].n_outputs

    @lazy
    def base_value(self) -> Floats:
        """The value of the empty coalition; refused for kernels with a linear part."""
        base: Floats = np.sum([part.base_value for part in self.parts], axis=0)
        return base

    @default_errstate
    def predict(self, X: TableLike) -> Floats:
        """Return the sum at the rows of `X`, shape (n_rows,) or (n_rows, n_outputs)."""
        prediction: Floats = np.sum([part.predict(X) for part in self.parts], axis=0)
        return prediction


def add_base_values(expansion: KernelExpansion, games: Sequence[Any]) -> Floats:
    """Return the worth without features in the games of all parts, () or (n_outputs,)."""
    pairs = zip(games, expansion.parts, strict=True)
    bases = [game.bases.reshape(part.intercept.shape) + part.intercept for game, part in pairs]
    return np.asarray(np.sum(bases, axis=0))


def add_expansions(parts: Sequence[KernelExpansion]) -> KernelExpansion:
    """Return the sum of some expansions: the only one, or several in one."""
    return parts[0] if len(parts) == 1 else ExpansionSum(tuple(parts))


def with_names(expansion: KernelExpansion, names: tuple[str, ...] | None) -> KernelExpansion:
    """Return the expansion with names of its columns, if it has none of its own and they fit."""
    if names is None or not _fits(expansion, names):
        return expansion
    parts: list[KernelExpansion] = []
    for part in expansion.parts:
        before = part.preparation
        preparation = None if before is None else replace(before, names=names)
        parts += evolve(part, feature_names=names, preparation=preparation).parts
    return add_expansions(parts)


def result_names(
    expansion: KernelExpansion, feature_groups: Players, titles: tuple[str, ...], X: Any
) -> dict[str, tuple[str, ...]]:
    """Return the names of features and columns in a result for the rows `X`.

    These are the model's, or those of a data frame where the model has none, column by column:
    each result has the names of its own frame. Groups keep the names that they were given.
    """
    known, names = expansion.feature_names, column_names(X)
    if names is not None and set(known) - set(names) and _fits(expansion, names):
        default_titles = [" + ".join(known[i] for i in group) for group in feature_groups]
        renamed = tuple(
            " + ".join(names[i] for i in group) if title == before else title
            for group, title, before in zip(feature_groups, titles, default_titles, strict=True)
        )
        if len(set(renamed)) == len(renamed):
            return {"feature_names": renamed, "column_names": names}
    return {"feature_names": titles, "column_names": known}


def _fits(expansion: KernelExpansion, names: tuple[str, ...]) -> bool:
    """Tell whether a model without names can take these."""
    known = expansion.feature_names
    n_columns = len(known)
    if known != default_names("x", n_columns) or names == known:
        return False
    before = [part.preparation and part.preparation.before for part in expansion.parts]
    # where steps combine columns, these are names of their inputs
    return len(set(names)) == len(names) == n_columns and all(step is None for step in before)


def evolve(expansion: KernelExpansion, **changes: Any) -> KernelExpansion:
    """Return the expansion with some of its constructor's arguments changed, in every part.

    A posterior or a ridge goes with the points, the kernel and the coefficients that it was found
    with: where one of these is changed, it has to be given anew.
    """
    kept = ("coefficients", "kernel", "intercept", "feature_names", "output_names")
    also: tuple[str, ...] = ("preparation", "background")
    if not {"points", "coefficients", "kernel"}.intersection(changes):
        also += ("posterior", "ridge")
    parts = tuple(
        KernelExpansion(
            **{name: getattr(part, name) for name in kept + also}
            | {"points": part.kept_points}
            | changes
        )
        for part in expansion.parts
    )
    return add_expansions(parts)


def stack(expansions: Sequence[KernelExpansion], output_names: Sequence[str]) -> KernelExpansion:
    """Return one expansion whose outputs are those of the given ones, in their order.

    Each output keeps the data of its own expansion, so that it has the values that it would have
    by itself. Expansions of the same kernel and data are joined.
    """
    widths = [expansion.n_outputs for expansion in expansions]
    parts: list[KernelExpansion] = []
    for i, expansion in enumerate(expansions):
        edges = (sum(widths[:i]), sum(widths[i + 1 :]))
        for part in expansion.parts:
            alpha = part.alpha
            padded = {
                "coefficients": np.pad(alpha, ((0, 0), edges)),
                "intercept": np.pad(part.intercepts, edges),
                "output_names": output_names,
                "posterior": part.posterior and part.posterior.pad(*edges),
                "ridge": None if part.ridge is None else np.pad(part.ridge, edges, mode="edge"),
            }
            parts += evolve(part, **padded).parts
    first = parts[0]
    if any(
        p.kernel != first.kernel
        or p.preparation is not None
        or p.posterior is not None
        or p.ridge is not None
        or not _same_data(p.background, first.background)
        for p in parts
    ):
        return add_expansions(parts)
    changes = {
        "points": _stack_tables([part.kept_points for part in parts]),
        "coefficients": np.concatenate([part.coefficients for part in parts]),
        "intercept": np.sum([part.intercept for part in parts], axis=0),
    }
    return evolve(first, **changes)


def _stack_tables(tables: list[Any]) -> Any:
    """Return the rows of some tables, sparse if all of them are."""
    if not all(map(is_sparse, tables)):
        return np.concatenate([to_dense(table) for table in tables])
    from scipy.sparse import vstack

    return vstack(tables, format="csr")


def combine_outputs(
    expansion: KernelExpansion,
    weights: Floats,
    output_names: Sequence[str] | None,
    shift: Floats | float = 0.0,
) -> KernelExpansion:
    """Return the expansion whose outputs are those of the given one times a matrix, shifted."""
    parts: list[KernelExpansion] = []
    for part, share in zip(expansion.parts, _divide_shift(expansion), strict=True):
        changes = {
            "coefficients": part.alpha @ weights,
            "intercept": part.intercepts @ weights + share * shift,
            "output_names": output_names,
            "posterior": part.posterior and part.posterior.combine_outputs(weights),
            "ridge": _combine_ridges(part.ridge, weights),
        }
        parts += evolve(part, **changes).parts
    return add_expansions(parts)


def _divide_shift(expansion: KernelExpansion) -> list[float]:
    """Return what each part takes of a shift: the first all of it, or its mixture.

    Then each sample of the mixture takes as much, so that a shift adds nothing to their spread.
    """
    first = expansion.parts[0].posterior
    mixture = None if first is None else first.mixture
    shares = [0.0] * len(expansion.parts)
    if mixture is None:
        shares[0] = 1.0
        return shares
    seen = set()
    for number, part in enumerate(expansion.parts):
        posterior = part.posterior
        if posterior is None or posterior.mixture is not mixture or posterior.sample in seen:
            continue
        seen.add(posterior.sample)
        shares[number] = 1.0 / mixture.n_samples
    return shares


def _combine_ridges(ridge: Floats | None, weights: Floats) -> Floats | None:
    """Return the ridges of outputs times a matrix; None where outputs of several are added."""
    if ridge is None or np.ptp(ridge) == 0.0:
        return None if ridge is None else np.full(weights.shape[1], ridge[0])
    diagonal = (
        weights.shape[0] == weights.shape[1] and not (weights - np.diag(np.diag(weights))).any()
    )
    return ridge if diagonal else None


def _same_data(first: Data | None, second: Data | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.kind == second.kind and equal_tables(first.rows, second.rows)
