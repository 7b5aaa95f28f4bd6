"""What the inputs of a model range over: a table, or a distribution for each column.

The columns are independent of each other; of a table the columns of a group stay together, row by
row. A distribution is integrated by a rule:

- a range (low, high), or `scipy.stats.uniform`: Gauss-Legendre;
- another continuous distribution: the trapezoidal rule in u after ``x = ppf(q)``,
  ``q = 1 / (1 + exp(-pi sinh(u)))`` (double exponential; Takahasi and Mori 1974), whose ends carry
  less than 1e-15 of the weight;
- a discrete one with at most 10,000 values: its values;
- a sample, a list or array of more than two values: these;
- a number: that, as the input is fixed.

`pkex.models.ranges` knows which of these suit a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.cells import is_number
from pkex._util.extras import import_optional
from pkex._util.types import Floats, Players
from pkex._util.validation import as_floats, brief, default_names, is_index
from pkex.games.gauss import gauss_legendre
from pkex.games.moments import Bundles
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import to_model_columns
from pkex.models.ranges import refuse_range

__all__ = ["Inputs", "bundle_inputs", "from_distributions", "from_table", "names_in"]


_REACH = 3.2  # of the double exponential rule
_VALUES = 10_000  # of a discrete distribution or a sample
_ACCEPTED = (
    "a range (low, high) with low below high, a frozen distribution such as scipy.stats.norm(0, 1),"
    " a number for a fixed input, or a list of more than two values for a sample"
)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows in the columns of a model, with weights.

    Attributes
    ----------
    table : table of shape (n_rows, n_columns)
        After the steps that combine columns, as `Preparation` takes them.
    weights : array of shape (n_rows,) or (n_rows, n_columns)
        With the sum 1; for each column where the rows are nodes of rules.
    rows : list of arrays of shape (n_rows, n_prepared_columns)
        The table as the kernel of each part of the model sees it.
    description : str
        What the inputs are, in words.
    """

    table: Any
    weights: Floats
    rows: list[Floats]
    description: str

    @property
    def by_column(self) -> bool:
        """Whether each column has a separate rule."""
        return self.weights.ndim == 2


def from_table(expansion: KernelExpansion, X: ArrayLike, sample_weight: ArrayLike | None) -> Inputs:
    """Return the rows of a table as inputs."""
    table = to_model_columns(expansion, X)
    n_rows = int(table.shape[0] if hasattr(table, "shape") else np.shape(table)[0])
    if n_rows < 2:
        raise ValueError(f"X must have at least 2 rows for the inputs to vary, got {n_rows}.")
    rows = [part.prepare(table) for part in expansion.parts]
    if sample_weight is None:
        return Inputs(table, np.full(n_rows, 1.0 / n_rows), rows, f"the columns of {n_rows} rows")
    shares = as_floats(sample_weight, "sample_weight")
    if shares.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be {n_rows} numbers, one for each row of X; got shape "
            f"{shares.shape}."
        )
    if not (shares >= 0.0).all() or not shares.any():
        raise ValueError("sample_weight must not be negative, and not 0 everywhere.")
    shares = shares / shares.max()  # so that their sum does not overflow
    return Inputs(table, shares / shares.sum(), rows, f"the columns of {n_rows} weighted rows")


def bundle_inputs(inputs: Inputs, feature_groups: Players) -> tuple[Players, Bundles]:
    """Return the columns of each independent bundle of inputs, and its weights and feature.

    The columns of a group are one bundle where the rows are those of a table.
    """
    owners = [i for i, group in enumerate(feature_groups) for _ in group]
    if not inputs.by_column:
        shares = np.repeat(inputs.weights.reshape(-1, 1), len(feature_groups), axis=1)
        return feature_groups, Bundles(shares, np.arange(len(feature_groups)), len(feature_groups))
    columns = [j for group in feature_groups for j in group]
    shares = np.ascontiguousarray(inputs.weights[:, columns])
    return tuple((j,) for j in columns), Bundles(shares, np.array(owners), len(feature_groups))


def names_in(expansion: KernelExpansion, X: Mapping[Any, Any]) -> tuple[str, ...] | None:
    """Return the names that a mapping gives, in its order, to a model without any; else None.

    Raises
    ------
    ValueError
        When the keys are names, but not as many as the model has columns.
    """
    known = _names(expansion)
    texts = [key for key in X if isinstance(key, str)]
    if known != default_names("x", len(known)) or not texts or set(texts) & set(known):
        return None  # the keys are the model's, or are refused later
    if len(texts) == len(X) == len(known):
        return tuple(texts)
    raise ValueError(
        f"X has distributions for {brief(list(X))}, but the model was fitted without names. Pass "
        f"one for each of its {len(known)} columns, named in their order, or number them 0 to "
        f"{len(known) - 1}."
    )


def from_distributions(
    expansion: KernelExpansion, X: Mapping[Any, Any], n_nodes: int, *, has_names: bool
) -> Inputs:
    """Return nodes for the distribution of every column.

    `has_names` says that the model was fitted with the names of its columns.
    """
    names = _names(expansion)
    given = _by_number(X, names)
    texts = expansion.preparation is not None  # such a model may take them
    rules = [_rule(given[i], names[i], n_nodes, texts) for i in range(len(names))]
    length = max(len(rule.nodes) for rule in rules)
    columns, weights = [], np.zeros((length, len(names)))
    for i, (nodes, shares, _) in enumerate(rules):  # what is left over counts nothing
        columns.append(np.concatenate([nodes, np.repeat(nodes[-1:], length - len(nodes))]))
        weights[: len(nodes), i] = shares / shares.sum()
    table: Any = np.empty((length, len(names)), np.result_type(*columns))
    for i, column in enumerate(columns):
        table[:, i] = column
    if expansion.preparation is not None and has_names:
        pandas = import_optional("pandas", "pandas")  # the steps were fitted with names
        table = pandas.DataFrame(dict(zip(names, columns, strict=True)))
    for i, rule in enumerate(rules):
        if rule.continuous:
            refuse_range(expansion, table, i, given[i])
    rows = [part.prepare(table) for part in expansion.parts]
    return Inputs(table, weights, rows, f"a distribution for each of {len(names)} columns")


def _names(expansion: KernelExpansion) -> tuple[str, ...]:
    preparation = expansion.preparation
    if preparation is not None and preparation.before is not None:
        raise ValueError(
            "a step of this model combines columns, so distributions of its input columns are not "
            "supported; pass a table of rows instead."
        )
    return expansion.feature_names


def _by_number(X: Mapping[Any, Any], names: Sequence[str]) -> dict[int, Any]:
    """Return what was given for each column, which is named or numbered."""
    given: dict[int, Any] = {}
    for key, value in X.items():
        if isinstance(key, str) and key in names:
            place = names.index(key)
        elif is_index(key) and 0 <= key < len(names):
            place = int(key)
        else:
            raise ValueError(
                f"X has a distribution for {brief(key)}; the columns are {brief(list(names))}."
            )
        if place in given:
            raise ValueError(f"X has two distributions for the column {names[place]!r}.")
        given[place] = value
    missing = [name for i, name in enumerate(names) if i not in given]
    if missing:
        raise ValueError(
            f"X has no distribution for {brief(missing)}; every column of the model needs "
            f"{_ACCEPTED}."
        )
    return given


class _InputRule(NamedTuple):
    """Nodes and weights, and whether they stand for all numbers between them."""

    nodes: NDArray[Any]
    weights: Floats
    continuous: bool


def _rule(given: Any, name: str, n_nodes: int, texts: bool) -> _InputRule:
    """Return nodes and weights for what was given for a column."""
    if hasattr(given, "ppf") and hasattr(given, "support"):
        return _of_distribution(given, name, n_nodes)
    values = _values(given, texts)
    if values is None:
        raise ValueError(f"the column {name!r} has {brief(given)}; it needs {_ACCEPTED}.")
    if values.ndim == 1 and (len(values) > 2 or values.dtype == object):
        nodes, counts = np.unique(values, return_counts=True)
        if len(nodes) > _VALUES:
            raise ValueError(
                f"the sample for {name!r} has more than {_VALUES} different values; pass a table "
                "of rows, or fewer values."
            )
        return _InputRule(nodes, counts / len(values), False)
    if values.ndim == 0:
        return _InputRule(values.reshape(1), np.ones(1), False)
    t, weights = gauss_legendre(n_nodes)
    return _InputRule(values[0] + (values[1] - values[0]) * t, weights, True)


def _values(given: Any, texts: bool) -> NDArray[Any] | None:
    """Return a number, a range or a sample as an array; None if it is neither."""
    try:
        cells = np.asarray(given, dtype=object)
    except ValueError:  # ragged
        return None
    if cells.ndim > 1 or (cells.ndim == 1 and len(cells) < 2):
        return None
    flat = cells.reshape(-1).tolist()
    if texts and all(isinstance(cell, str) for cell in flat):
        return cells
    if not all(is_number(cell) and np.isfinite(float(cell)) for cell in flat):
        return None
    values = cells.astype(np.float64)
    return None if values.shape == (2,) and not values[0] < values[1] else values


def _of_distribution(given: Any, name: str, n_nodes: int) -> _InputRule:
    low, high = (float(end) for end in given.support())
    kind = getattr(getattr(given, "dist", None), "name", "")
    if kind == "uniform":
        return _rule((low, high), name, n_nodes, False)
    if hasattr(given, "pmf"):
        low, high = float(given.ppf(1e-16)), float(given.isf(1e-16))
        if not high - low < _VALUES:
            raise ValueError(
                f"the distribution of {name!r} has more than {_VALUES} values; pass a table of "
                "rows, or a continuous distribution."
            )
        values = np.arange(low, high + 1.0)
        return _InputRule(values, np.asarray(given.pmf(values), dtype=np.float64), False)
    u = np.linspace(-_REACH, _REACH, n_nodes)
    below, above = (1.0 / (1.0 + np.exp(sign * np.pi * np.sinh(u))) for sign in (-1.0, 1.0))
    weights = np.pi * np.cosh(u) * below * above * (u[1] - u[0])
    nodes = np.where(below < 0.5, given.ppf(below), given.isf(above))
    if not np.isfinite(nodes).all():
        raise ValueError(
            f"the distribution of {name!r} has no finite quantiles; check its parameters."
        )
    return _InputRule(nodes, weights, True)
