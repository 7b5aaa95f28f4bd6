"""What a model does to its rows before the kernel sees them, and which columns it takes.

`select_columns` finds the columns that the model was fitted with, `combine_columns` applies the
steps that combine several, and `to_model_columns` does both; what is left, column by column, is
`KernelExpansion.prepare`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, column_names, default_names, refuse_dask, refuse_masked

if TYPE_CHECKING:
    from pkex._util.types import Players
    from pkex.models.expansion import KernelExpansion

__all__ = [
    "Preparation",
    "Slopes",
    "combine_columns",
    "prepare_groups",
    "select_columns",
    "stays_sparse",
    "to_model_columns",
]


class Slopes(NamedTuple):
    """Derivatives of prepared columns by the input columns that they are made from.

    Attributes
    ----------
    values : array of shape (n_rows, n_prepared_columns)
        NaN where a value is missing, infinite where a step has no finite derivative.
    bent : tuple of str
        The steps that are not affine: they bend a straight path.
    """

    values: Floats
    bent: tuple[str, ...] = ()

    def scale(self, factor: float) -> Slopes:
        """Return the slopes of columns that are multiplied by a number."""
        return Slopes(factor * self.values, self.bent)

    def then(self, inner: Slopes, origins: Sequence[int]) -> Slopes:
        """Return the slopes after a second step, whose columns come from these columns."""
        return Slopes(self.values[:, list(origins)] * inner.values, self.bent + inner.bent)


@dataclass(frozen=True, eq=False)
class Preparation:
    """What a model does to its input before the kernel sees it, each output from one column.

    Attributes
    ----------
    transform : callable
        Takes the rows as the user has them, returns a matrix (rows, prepared columns).
    names : tuple of str
        Names of the columns as the user has them.
    origins : tuple of int
        For each prepared column the input column it is made from.
    before : callable, optional
        Applied to the rows first: steps that combine columns. Their outputs are then explained,
        and `names` are the names of these.
    inputs : tuple of str, optional
        Names of the columns that `before` takes, where it knows them.
    texts : vectorizer, optional
        The first of the steps before, where it takes documents and cuts them into tokens.
    slopes : callable, optional
        Takes the rows as `transform` does, returns the derivatives of the prepared columns as
        `Slopes`; None where they are not known.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVR
    >>> model = make_pipeline(StandardScaler(), SVR()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.as_expansion(model).preparation.origins
    (0,)
    """

    transform: Callable[[Any], Any]
    names: tuple[str, ...]
    origins: tuple[int, ...]
    before: Callable[[Any], Any] | None = None
    inputs: tuple[str, ...] | None = None
    texts: Any = None
    slopes: Callable[[Any], Slopes] | None = None


def to_model_columns(expansion: KernelExpansion, X: Any, name: str = "X") -> Any:
    """Return `X` in the model's columns, after the steps that combine them."""
    return combine_columns(expansion, select_columns(expansion, X, name))


def select_columns(expansion: KernelExpansion, X: Any, name: str = "X") -> Any:
    """Return the columns of `X` that the model was fitted with, in its order.

    They are found by name where both have names; else `X` is what it is, a tensor as an array.
    """
    refuse_dask(X, name)
    X = X.detach().cpu().numpy() if hasattr(X, "detach") else X
    preparation = expansion.preparation
    if preparation is not None and preparation.texts is not None:
        return _texts(X, name)
    refuse_masked(X, name)
    names = column_names(X, name)
    _check_shape(X, name)
    known = expansion.feature_names
    if preparation is not None and preparation.before is not None:
        known = preparation.inputs or ()
    if names is None or names == known or not known:
        return X
    missing = [entry for entry in known if entry not in names]
    if missing and known == default_names("x", len(known)):
        if preparation is not None and len(set(names)) < len(names):
            double = next(entry for entry in names if names.count(entry) > 1)
            raise ValueError(
                f"{name} has more than one column named {double!r}; rename one, or pass "
                f"np.asarray({name}), as the model was fitted without names."
            )
        return X  # the model was fitted without names, so that any will do
    if missing:
        raise ValueError(
            f"the columns of {name} are {brief(list(names))}, but the model was fitted with "
            f"{brief(list(known))}: {brief(missing)} {'is' if len(missing) == 1 else 'are'} "
            f"missing. Add the missing columns, or pass np.asarray({name}) if only the names "
            "differ."
        )
    twice = [entry for entry in known if names.count(entry) > 1]
    if twice:
        raise ValueError(
            f"{name} has more than one column named {twice[0]!r}, so the model's columns cannot be "
            "selected by name; drop or rename one."
        )
    if hasattr(X, "iloc"):  # pandas may have other columns twice, which narwhals refuses
        return X[list(known)]
    return nw.from_native(X, eager_only=True).select(*known).to_native()


def prepare_groups(part: KernelExpansion, feature_groups: Players) -> Players:
    """Return the feature groups in prepared columns: all that are made from their input columns."""
    if part.preparation is None:
        return feature_groups
    prepared_columns: dict[int, list[int]] = defaultdict(list)
    for column, origin in enumerate(part.preparation.origins):
        prepared_columns[origin].append(column)
    return tuple(tuple(j for i in group for j in prepared_columns[i]) for group in feature_groups)


def stays_sparse(expansion: KernelExpansion) -> bool:
    """Tell whether all points are sparse, and no two columns are made from the same one."""
    for part in expansion.parts:
        origins = () if part.preparation is None else part.preparation.origins
        if part.sparse_points is None or len(set(origins)) < len(origins):
            return False
    return True


def _texts(X: Any, name: str) -> Any:
    """Return the documents that a vectorizer takes; each is a row."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{name} is a single document; the model takes a list of documents: [{brief(X)}]."
        )
    if isinstance(X, Number) or X is None or hasattr(X, "tocsr") or np.ndim(X) != 1:
        shape = getattr(X, "shape", None)
        raise TypeError(
            f"{name} must be a list or a column of documents, because the model's first step "
            "vectorizes text; got "
            f"{brief(X) if shape is None else f'a {type(X).__name__} of shape {shape}'}. To "
            "explain rows that are already vectorized, make an Explainer of the last step."
        )
    if not len(X):
        raise ValueError(f"{name} is empty; at least one document is needed.")
    return X


def combine_columns(expansion: KernelExpansion, X: Any) -> Any:
    """Return rows in the model's columns after the steps that combine them, if any."""
    preparation = expansion.preparation
    if preparation is None or preparation.before is None:
        return X
    return preparation.before(X)


def _check_shape(X: Any, name: str) -> None:
    """Refuse what is not a table before a step of a pipeline meets it."""
    shape = getattr(X, "shape", None)
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # ragged, which is said later
            shape = np.shape(X)
    if X is None or isinstance(X, str | bytes | Number):
        raise TypeError(f"{name} must be a table or an array of rows and columns, got {brief(X)}.")
    if isinstance(shape, tuple) and len(shape) != 2:
        problem, hint = f"got shape {shape}", ""
        if len(shape) == 1:
            hint = f" Pass {name}[:1] of a table, or row.reshape(1, -1), for a single row."
            if hasattr(X, "name") and hasattr(X, "to_frame"):  # of pandas or polars
                problem = f"got a {type(X).__name__}"
                hint = " Pass a frame for a single row, e.g. frame[:1] or row.to_frame().T."
        raise ValueError(f"{name} must be two-dimensional (rows, columns), {problem}.{hint}")
