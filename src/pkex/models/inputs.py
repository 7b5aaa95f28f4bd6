"""What the inputs of a model range over: a table, or a distribution for each column.

The columns are independent of each other; of a table the columns of a group stay together, row by
row. A distribution is integrated by a rule:

- a range (low, high), or `scipy.stats.uniform`: Gauss-Legendre;
- another continuous distribution: the trapezoidal rule in u after ``x = ppf(q)``,
  ``q = 1 / (1 + exp(-pi sinh(u)))`` (double exponential; Takahasi and Mori 1974), whose ends carry
  less than 1e-15 of the weight;
- a discrete one with at most 10,000 values: its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.extras import optional
from pkex._util.types import Floats
from pkex._util.validation import as_floats, brief, default_names, is_index
from pkex.games.gauss import gauss_legendre
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import seen

__all__ = ["Inputs", "from_distributions", "from_table"]


_REACH = 3.2  # of the double exponential rule
_VALUES = 10_000  # of a discrete distribution


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows in the columns of a model, with weights.

    Attributes
    ----------
    table : table of shape (n_rows, n_columns)
        After the steps that mix columns, as `Preparation` takes them.
    weights : array of shape (n_rows,) or (n_rows, n_columns)
        With the sum 1; for each column where the rows are nodes of rules.
    said : str
        What the inputs are, in words.
    """

    table: Any
    weights: Floats
    said: str

    @property
    def by_column(self) -> bool:
        """Whether each column has a rule of its own."""
        return self.weights.ndim == 2


def from_table(expansion: KernelExpansion, X: ArrayLike, sample_weight: ArrayLike | None) -> Inputs:
    """Return the rows of a table as inputs."""
    table = seen(expansion, X)
    n_rows = int(table.shape[0] if hasattr(table, "shape") else np.shape(table)[0])
    if n_rows < 2:
        raise ValueError(f"X must have at least 2 rows for the inputs to vary, got {n_rows}.")
    if sample_weight is None:
        return Inputs(table, np.full(n_rows, 1.0 / n_rows), f"the columns of {n_rows} rows")
    shares = as_floats(sample_weight, "sample_weight")
    if shares.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be {n_rows} numbers, one for each row of X; got shape "
            f"{shares.shape}."
        )
    if not (shares >= 0.0).all() or not shares.any():
        raise ValueError("sample_weight must not be negative, and not 0 everywhere.")
    shares = shares / shares.max()  # so that their sum does not overflow
    return Inputs(table, shares / shares.sum(), f"the columns of {n_rows} weighted rows")


def from_distributions(expansion: KernelExpansion, X: Mapping[Any, Any], n_nodes: int) -> Inputs:
    """Return nodes for the distribution of every column."""
    names = _names(expansion)
    given = _by_number(X, names)
    rules = [_rule(given[i], names[i], n_nodes) for i in range(len(names))]
    length = max(len(nodes) for nodes, _ in rules)
    nodes, weights = np.empty((2, length, len(names)))
    for i, (own, shares) in enumerate(rules):  # what is left over counts nothing
        nodes[:, i] = own[-1]
        nodes[: len(own), i] = own
        weights[:, i] = 0.0
        weights[: len(own), i] = shares / shares.sum()
    table: Any = nodes
    if expansion.preparation is not None and names != default_names("x", len(names)):
        pandas = optional("pandas", "pandas")  # the steps were fitted with names
        table = pandas.DataFrame(nodes, columns=list(names))
    return Inputs(table, weights, f"a distribution for each of {len(names)} columns")


def _names(expansion: KernelExpansion) -> tuple[str, ...]:
    preparation = expansion.preparation
    if preparation is not None and preparation.before is not None:
        raise ValueError(
            "a step of this model mixes columns, so that distributions of its input columns do not "
            "stay apart; pass a table instead."
        )
    return expansion.feature_names


def _by_number(X: Mapping[Any, Any], names: Sequence[str]) -> dict[int, Any]:
    """Return what was given for each column, which is named or numbered."""
    found: dict[int, Any] = {}
    for key, value in X.items():
        if isinstance(key, str) and key in names:
            place = names.index(key)
        elif is_index(key) and 0 <= key < len(names):
            place = int(key)
        else:
            raise ValueError(
                f"X has a distribution for {brief(key)}; the columns are {brief(list(names))}."
            )
        if place in found:
            raise ValueError(f"X has two distributions for the column {names[place]!r}.")
        found[place] = value
    missing = [name for i, name in enumerate(names) if i not in found]
    if missing:
        raise ValueError(
            f"X has no distribution for {brief(missing)}; every column of the model needs one: a "
            "range (low, high) or a frozen distribution such as scipy.stats.norm(0, 1)."
        )
    return found


def _rule(given: Any, name: str, n_nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for a distribution."""
    if hasattr(given, "ppf") and hasattr(given, "support"):
        return _of_distribution(given, name, n_nodes)
    ends = np.asarray(given, dtype=np.float64) if np.shape(given) == (2,) else np.empty(0)
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise ValueError(
            f"the column {name!r} has {brief(given)}; it needs a range (low, high) with low below "
            "high, or a frozen distribution such as scipy.stats.norm(0, 1)."
        )
    t, weights = gauss_legendre(n_nodes)
    return ends[0] + (ends[1] - ends[0]) * t, weights


def _of_distribution(given: Any, name: str, n_nodes: int) -> tuple[Floats, Floats]:
    low, high = (float(end) for end in given.support())
    kind = getattr(getattr(given, "dist", None), "name", "")
    if kind == "uniform":
        return _rule((low, high), name, n_nodes)
    if hasattr(given, "pmf"):
        low, high = float(given.ppf(1e-16)), float(given.isf(1e-16))
        if not high - low < _VALUES:
            raise ValueError(
                f"the distribution of {name!r} has more than {_VALUES} values; pass a table of "
                "rows, or a continuous distribution."
            )
        values = np.arange(low, high + 1.0)
        return values, np.asarray(given.pmf(values), dtype=np.float64)
    u = np.linspace(-_REACH, _REACH, n_nodes)
    below, above = (1.0 / (1.0 + np.exp(sign * np.pi * np.sinh(u))) for sign in (-1.0, 1.0))
    weights = np.pi * np.cosh(u) * below * above * (u[1] - u[0])
    nodes = np.where(below < 0.5, given.ppf(below), given.isf(above))
    if not np.isfinite(nodes).all():
        raise ValueError(
            f"the distribution of {name!r} has no finite quantiles; check its parameters."
        )
    return nodes, weights
