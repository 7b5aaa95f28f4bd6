"""Which columns of a table depend on each other: the one answer to that in pkex.

It goes by the columns alone, never by a model. Each pair has a strength between 0 and 1 and a
p-value, by a measure that fits what the columns hold:

- numbers: Spearman's rank correlation, with the p-value of Student's t of n - 4 degrees of freedom;
- categories: Cramer's V, with the p-value of Pearson's chi-squared test;
- a number and a category: the correlation ratio of the ranks, with the p-value of Kruskal and
  Wallis, ``H = (n - 1) eta^2``.

Those of t have two degrees fewer than for Gaussian columns, since ranks of few rows have heavier
tails: with n - 2 a p-value of 0.0001 is 4.5 times too small for 10 rows and 1.9 times for 25, with
n - 4 none between 0.05 and 0.00002 is. None of the three holds for rare values: two columns that
are 0 but in one row are equal in one table of n. So where both have a value in half of their
rows or more, the p-value is at least Fisher's for the rows in which both have another one, and
categories of fewer than 5 rows are taken together.

A pair depends where its strength is at least 0.3 and its p-value is significant at 5 % after
Holm's adjustment for all pairs. So among independent columns at most one table in twenty has any.

The cost is bounded: at most 2000 rows are looked at, evenly spread over the table, and the first
500 columns. Fewer than 10 rows say nothing; neither do constant columns, nor categories that most
rows have for themselves (more than a fifth as many as rows), where chi-squared does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from pkex._util.cells import is_missing
from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.tables.kinds import Kind, kind_of_cells, kind_of_series

__all__ = ["MAX_COLUMNS", "Dependence", "Pair", "codes_of", "cramers_v", "unit_ranks"]


MAX_ROWS = 2000
MAX_COLUMNS = 500
_FEWEST = 10  # rows
_ROWS_OF_A_CATEGORY = 5
_FEWER_DEGREES = 4  # than rows
_ALPHA = 0.05
_STRENGTH = 0.3


class Pair(NamedTuple):
    """Two columns, by number, and how much they depend on each other, from 0 to 1."""

    first: int
    second: int
    strength: float


class Dependence:
    """The columns of a table that depend on each other, found when `pairs` is first asked for.

    Parameters
    ----------
    table : data frame, array or sparse matrix
        At most 2000 of its rows are copied.
    rows : array of int, optional
        The rows that count; all by default.
    categorical : collection of int
        Numbers of columns that hold categories, whatever their type, unless these are too many.

    Examples
    --------
    >>> import numpy as np
    >>> from pkex.tables.dependence import Dependence
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100))
    >>> [(pair.first, pair.second) for pair in Dependence(np.column_stack([x, y, x**3])).pairs]
    [(0, 2)]
    """

    def __init__(
        self, table: Any, rows: Indices | None = None, categorical: Sequence[int] = ()
    ) -> None:
        if rows is None:
            rows = np.arange(table.shape[0] if hasattr(table, "shape") else len(table))
        if len(rows) > MAX_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, MAX_ROWS).astype(np.intp)]
        self._categorical = frozenset(categorical)
        self._sample = _copy_rows(table, rows)

    @classmethod
    def from_pairs(cls, pairs: Sequence[Pair]) -> Dependence:
        """Return pairs that were found before, in a file."""
        dependence = cls(np.empty((0, 0)))
        dependence.__dict__["pairs"] = tuple(pairs)
        return dependence

    @lazy
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of columns that depend on each other, the strongest first."""
        every = sorted(self._every, key=lambda one: one[1])
        significant = []
        for k, (pair, p_value) in enumerate(every):
            if p_value * (len(every) - k) > _ALPHA:  # Holm: the first that is not ends it
                break
            significant.append(pair)
        strong = [pair for pair in significant if pair.strength >= _STRENGTH]
        return tuple(sorted(strong, key=lambda pair: -pair.strength))

    @property
    def _every(self) -> list[tuple[Pair, float]]:
        """All pairs of columns that can be compared, with their p-values."""
        numbers: dict[int, Floats] = {}
        categories: dict[int, Indices] = {}
        others: dict[int, NDArray[np.bool_]] = {}  # rows without the commonest value
        for j, (column, kind) in enumerate(_columns(self._sample)):
            if kind == "other" or len(column) < _FEWEST:
                continue
            if kind == "categorical" or j in self._categorical:
                codes, count = codes_of(column)
                if 2 <= count <= len(codes) / _ROWS_OF_A_CATEGORY:
                    codes = _merge_rare(codes)
                    if codes.any():
                        categories[j] = codes
                        _note_majority(others, j, codes)
                    continue
            if kind == "numeric" and (ranks := unit_ranks(column.astype(np.float64))).any():
                numbers[j] = ranks
                _note_majority(others, j, ranks)
        pairs = _of_numbers(numbers) + _of_both(numbers, categories) + _of_categories(categories)
        return _of_rare_values(pairs, others)

    def strengths(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return how strongly groups of columns depend on each other: their strongest pairs.

        That of a group with itself is 1, and that of what cannot be compared 0. All columns have to
        be among those that are looked at.
        """
        n_rows, n_columns = np.shape(self._sample)
        if n_columns >= MAX_COLUMNS and max(map(max, groups)) >= MAX_COLUMNS:
            raise ValueError(
                f"correlations are found among at most {MAX_COLUMNS} columns; pass a linkage "
                "matrix of all columns."
            )
        if n_rows < _FEWEST:
            raise ValueError(
                f"correlations of columns need at least {_FEWEST} rows, but there are {n_rows}."
            )
        owner = {column: k for k, columns in enumerate(groups) for column in columns}
        strengths = np.eye(len(groups))
        for (first, second, strength), _ in self._every:
            i, j = owner[first], owner[second]
            strengths[i, j] = strengths[j, i] = max(strengths[i, j], strength)
        return strengths

    def linkage(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return a linkage matrix of groups of columns, by 1 minus their strengths, on average."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        if len(groups) < 2:  # nothing to cluster
            return np.empty((0, 4))
        merges: Floats = linkage(squareform(1.0 - self.strengths(groups), checks=False), "average")
        return merges

    def __reduce__(self) -> tuple[Any, ...]:  # without the rows
        return Dependence.from_pairs, (self.pairs,)

    def between(self, groups: Sequence[Sequence[int]]) -> tuple[Pair, ...]:
        """Return the pairs whose columns are in different groups, by the numbers of these."""
        owner = {column: k for k, columns in enumerate(groups) for column in columns}
        pairs: dict[tuple[int, int], Pair] = {}
        for first, second, strength in self.pairs:
            i, j = sorted((owner[first], owner[second]))
            if i != j:
                pairs.setdefault((i, j), Pair(i, j, strength))
        return tuple(pairs.values())


def _copy_rows(table: Any, rows: Indices) -> Any:
    """Return a copy of some rows."""
    if hasattr(table, "tocsr"):
        return table.tocsr()[rows][:, :MAX_COLUMNS].toarray()
    if hasattr(table, "iloc"):
        return table.iloc[rows, :MAX_COLUMNS]
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist(), :MAX_COLUMNS].to_native()
    return np.asarray(table)[rows, :MAX_COLUMNS]


def _columns(sample: Any) -> list[tuple[NDArray[Any], Kind]]:
    """Return the columns of a sample, and what they hold."""
    try:
        frame = nw.from_native(sample, pass_through=True)
    except DuplicateError:
        frame = np.asarray(sample)
    if isinstance(frame, nw.DataFrame):
        series = [frame[:, j] for j in range(frame.shape[1])]
        return [(np.asarray(one.to_numpy()), kind_of_series(one)) for one in series]
    if frame.dtype.kind in "uif":
        return [(column, "numeric") for column in frame.T]
    return [(column, kind_of_cells(column)) for column in frame.T]


def codes_of(column: NDArray[Any]) -> tuple[Indices, int]:
    """Return categories as 0, 1, ..., and how many there are; those missing are one of them."""
    places: dict[Any, int] = {}
    keys = [None if is_missing(cell) else cell for cell in column.tolist()]
    codes = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.intp)
    return codes, len(places)


def unit_ranks(column: Floats) -> Floats:
    """Return the ranks with mean 0 and norm 1, of missing values 0; all 0 for a constant."""
    from scipy.stats import rankdata  # here, as it is slow to import

    known = ~np.isnan(column)
    ranks = np.zeros(len(column))
    if known.any():
        ranks[known] = rankdata(column[known])
        ranks[known] -= ranks[known].mean()
    size = float(np.linalg.norm(ranks))
    return ranks / size if size > 0.0 else ranks


def _of_numbers(numbers: dict[int, Floats]) -> list[tuple[Pair, float]]:
    from scipy.special import stdtr

    if len(numbers) < 2:
        return []
    places, ranks = list(numbers), np.array(list(numbers.values()))
    first, second = np.triu_indices(len(places), 1)
    strength = np.minimum(np.abs(ranks @ ranks.T)[first, second], 1.0)
    freedom = ranks.shape[1] - float(_FEWER_DEGREES)
    t = strength * np.sqrt(freedom / np.maximum(1.0 - strength**2, 1e-300))
    p_values = 2.0 * stdtr(freedom, -t)
    rows = zip(first.tolist(), second.tolist(), strength.tolist(), p_values.tolist(), strict=True)
    return [(Pair(places[i], places[j], s), p) for i, j, s, p in rows]


def _of_both(
    numbers: dict[int, Floats], categories: dict[int, Indices]
) -> list[tuple[Pair, float]]:
    from scipy.special import chdtrc

    if not numbers:
        return []
    pairs, ranks = [], np.array(list(numbers.values()))
    for place, codes in categories.items():
        sizes = np.bincount(codes)
        sums = np.array([np.bincount(codes, weights=row) for row in ranks])
        shares = np.minimum((sums * sums / sizes).sum(axis=1), 1.0)  # between the categories
        p_values = chdtrc(len(sizes) - 1.0, (len(codes) - 1.0) * shares)
        for other, share, p in zip(numbers, shares.tolist(), p_values.tolist(), strict=True):
            pairs.append((Pair(min(place, other), max(place, other), share**0.5), p))
    return pairs


def _of_categories(categories: dict[int, Indices]) -> list[tuple[Pair, float]]:
    from scipy.special import chdtrc

    pairs, places = [], list(categories)
    for k, first in enumerate(places):
        for second in places[k + 1 :]:
            one, other = categories[first], categories[second]
            strength, share = cramers_v(one, other)
            p_value = float(chdtrc(one.max() * other.max(), share * len(one)))
            pairs.append((Pair(first, second, strength), p_value))
    return pairs


def _merge_rare(codes: Indices) -> Indices:
    """Return codes in which rare categories are one; those of few rows in all are the commonest."""
    counts = np.bincount(codes)
    rare = counts < _ROWS_OF_A_CATEGORY
    if counts[rare].sum() < _ROWS_OF_A_CATEGORY:
        merged = np.where(rare[codes], counts.argmax(), codes)
    else:
        merged = np.where(rare[codes], len(counts), codes)
    _, dense = np.unique(merged, return_inverse=True)
    result: Indices = dense.reshape(-1).astype(np.intp)
    return result


def _note_majority(others: dict[int, NDArray[np.bool_]], place: int, column: NDArray[Any]) -> None:
    """Put down in which rows a column has another value than in half of the rows or more."""
    values, counts = np.unique(column, return_counts=True)
    if 2 * counts.max() >= len(column):
        others[place] = column != values[counts.argmax()]


def _of_rare_values(
    pairs: list[tuple[Pair, float]], others: dict[int, NDArray[np.bool_]]
) -> list[tuple[Pair, float]]:
    """Return the pairs with p-values that hold for columns with the same value in most rows."""
    where = [
        k
        for k, (pair, p_value) in enumerate(pairs)
        if pair.first in others and pair.second in others and p_value <= _ALPHA
    ]
    if not where:
        return pairs
    from scipy.stats import hypergeom

    masks = [(others[pairs[k][0].first], others[pairs[k][0].second]) for k in where]
    counts = np.array([[(a & b).sum(), len(a), a.sum(), b.sum()] for a, b in masks])
    joint, given = counts[:, 0], counts[:, 1:].T
    tails = np.minimum(hypergeom.sf(joint - 1, *given), hypergeom.cdf(joint, *given))
    result = list(pairs)
    for k, tail in zip(where, tails.tolist(), strict=True):
        pair, p_value = result[k]
        result[k] = pair, max(p_value, min(1.0, 2.0 * tail))
    return result


def cramers_v(one: Indices, other: Indices) -> tuple[float, float]:
    """Return Cramer's V of two columns of codes, and chi-squared over the number of rows."""
    shape = (one.max() + 1, other.max() + 1)
    counts = np.bincount(one * shape[1] + other, minlength=shape[0] * shape[1])
    table = counts.reshape(shape).astype(np.float64)
    outer = table.sum(axis=1)[:, None] * table.sum(axis=0)
    share = max(0.0, float((table * table / outer).sum()) - 1.0)
    return min(1.0, (share / max(1, min(shape) - 1)) ** 0.5), share
