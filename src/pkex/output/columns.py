"""How a column differs between two samples, or goes with a target: a summary of it.

What is drawn is decided here, and drawn by `pkex.output.plots` with matplotlib and by the page of a
report in SVG:

- `Shares`: of each series the share of its rows in every bin of a histogram, or in every category;
- `Points`: of a number against a number;
- `Boxes`: for each category, quantiles of a number.

A series is a sample or a class of the target. Columns of few different numbers count as categories;
so do ranges of numbers, by their quantiles, where a histogram would be a single spike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_cell, format_number, is_missing, is_number, others_name
from pkex._util.types import Cells, Floats

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["Boxes", "Points", "Shares", "bulk", "categories", "describe_column", "varied_columns"]

_MAX_CATEGORIES, _MAX_CLASSES, _MAX_POINTS = 8, 6, 600
_MAX_RANGES = 7
_TAILS = (0.005, 0.02, 0.05)  # shares of the rows at either end that bins may leave out
_SQUEEZED = 2.5  # how much wider all numbers may be than most of them
_SPIKE = 0.5  # share of the rows in one bin of a histogram that still says something
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Shares:
    """The distribution of a column in each series.

    Attributes
    ----------
    series : tuple of str
        Names of samples or classes.
    shares : array of shape (n_series, n_bins or n_categories)
        Of the rows of each series; its lines sum to 1.
    edges : array of shape (n_bins + 1,), or None
        Of the bins, where the column is one of numbers.
    categories : tuple of str
        Empty for a column of numbers.
    beyond : float
        The share of all rows that lie beyond the edges; the outer bins hold them.
    missing : tuple of float
        Of a column of numbers, the share of missing cells in each series; empty if there are none.
        Bins hold the other cells. Missing categories are a category.
    """

    series: tuple[str, ...]
    shares: Floats
    edges: Floats | None = None
    categories: tuple[str, ...] = ()
    beyond: float = 0.0
    missing: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Points:
    """A column of numbers against a target of numbers."""

    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Boxes:
    """Quantiles of a target of numbers for each category, shape (n_categories, 5).

    The quantiles are 5, 25, 50, 75 and 95 %.
    """

    categories: tuple[str, ...]
    quantiles: Floats


ColumnSummary = Shares | Points | Boxes


def describe_column(
    attribution: Attribution, column: int, sample_names: Sequence[str] | None = None
) -> ColumnSummary:
    """Return the summary of a column of an attribution, which must hold its samples.

    Parameters
    ----------
    attribution : Attribution
    column : int
    sample_names : sequence of two str, optional
        What to call the samples; by default what the attribution calls them.
    """
    assert attribution.samples is not None
    first, second = attribution.samples
    categorical = attribution.categorical[column]
    if attribution.target_kernel is None:
        names = attribution.sample_names if sample_names is None else sample_names
        return between(first[:, column], second[:, column], names, categorical)
    return _with_target(first[:, column], second[:, 0], categorical)


def varied_columns(
    attribution: Attribution, features: Iterable[int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield features, each with its columns that vary; none where the samples are not known."""
    for feature in features if attribution.samples is not None else ():
        columns = attribution.feature_groups[feature]
        varied = [column for column in columns if not _is_constant(attribution, column)]
        if varied:
            yield int(feature), varied


def _is_constant(attribution: Attribution, column: int) -> bool:
    """Tell whether a column is the same in all rows, so that there is nothing to see in it."""
    assert attribution.samples is not None
    both = attribution.target_kernel is None  # else the second sample is the target
    samples = attribution.samples if both else attribution.samples[:1]
    cells = np.concatenate([sample[:, column] for sample in samples]).tolist()
    return len({None if is_missing(cell) else cell for cell in cells}) == 1


def between(first: Cells, second: Cells, names: Sequence[str], categorical: bool = False) -> Shares:
    """Return the summary of one column in two samples; `categorical` makes numbers categories.

    Examples
    --------
    >>> few = between(np.array([1.0, 1.0, 2.0, 2.0]), np.array([2.0, 2.0]), ("old", "new"))
    >>> few.categories, few.shares.tolist()
    (('1', '2'), [[0.5, 0.5], [0.0, 1.0]])
    """
    series = np.repeat([0, 1], [len(first), len(second)])
    return _distributions(np.concatenate([first, second]), series, names, categorical)


def _with_target(cells: Cells, target: Cells, categorical: bool) -> ColumnSummary:
    """Return the summary of one column against a target of classes or numbers."""
    if not categorical and any(map(is_missing, cells)):
        known = np.array([not is_missing(cell) for cell in cells])
        cells, target = cells[known], target[known]
    y = _numbers(target, _MAX_CLASSES)
    if y is None:
        return _distributions(cells, *categories(target, _MAX_CLASSES), categorical)
    x = None if categorical else _numbers(cells, _MAX_CATEGORIES)
    if x is None:
        codes, names = categories(cells, _MAX_CATEGORIES)
        boxes = [np.quantile(y[codes == k], _QUANTILES) for k in range(len(names))]
        return Boxes(tuple(names), np.array(boxes))
    points = np.column_stack([x, y])
    if len(points) > _MAX_POINTS:
        points = np.random.default_rng(0).choice(points, _MAX_POINTS, replace=False)
    return Points(points[:, 0], points[:, 1])


def _distributions(
    cells: Cells, series: NDArray[np.intp], names: Sequence[str], categorical: bool
) -> Shares:
    """Return the distribution of `cells` in each series; `series` has the one of each row."""
    known = np.array([not is_missing(cell) for cell in cells])
    numbers = None if categorical else _numbers(cells[known], _MAX_CATEGORIES)
    missing: tuple[float, ...] = ()
    if numbers is not None and not known.all():
        missing = tuple(float(1.0 - known[series == k].mean()) for k in range(len(names)))
        series = series[known]
    edges = None if numbers is None else _edges(numbers, len(names))
    labels: list[str] = []
    beyond = 0.0
    if numbers is None or edges is None:
        codes, labels = categories(cells, _MAX_CATEGORIES) if numbers is None else _ranges(numbers)
        counts = [np.bincount(codes[series == k], minlength=len(labels)) for k in range(len(names))]
    else:
        inside = np.clip(numbers, edges[0], edges[-1])
        counts = [np.histogram(inside[series == k], edges)[0] for k in range(len(names))]
        beyond = float(np.mean(inside != numbers))
    shares = np.array([count / max(1, count.sum()) for count in counts])
    return Shares(tuple(names), shares, edges, tuple(labels), beyond, missing)


def bulk(numbers: Floats) -> tuple[float, float]:
    """Return where an axis begins and ends, so that few numbers far out do not squeeze the others.

    The middle nine tenths with half their width on either side, where all numbers would take more
    than twice and a half as much; else the smallest and the largest number.

    Examples
    --------
    >>> bulk(np.arange(11.0)), bulk(np.append(np.arange(100.0), 1e6))
    ((0.0, 10.0), (0.0, 140.0))
    """
    least, most = float(numbers.min()), float(numbers.max())
    low, high = np.quantile(numbers, [0.05, 0.95])
    room = 0.5 * (high - low)
    low, high = max(least, float(low - room)), min(most, float(high + room))
    return (low, high) if most - least > _SQUEEZED * (high - low) > 0.0 else (least, most)


def _edges(numbers: Floats, n_series: int) -> Floats | None:
    """Return the edges of the bins; the outer bins also hold what lies far outside.

    None where one of them would hold most rows, a spike that says nothing, however the few numbers
    at the ends are clipped.
    """
    n_bins = int(np.clip(2 * (len(numbers) / n_series) ** (1 / 3), 6, 30))  # Rice's rule
    for tail in _TAILS:
        low, high = np.quantile(numbers, [tail, 1.0 - tail])
        room = 0.25 * (high - low)
        low, high = max(low - room, numbers.min()), min(high + room, numbers.max())
        if not low < high:
            return None
        edges = np.linspace(low, high, n_bins + 1)
        if np.histogram(np.clip(numbers, low, high), edges)[0].max() <= _SPIKE * len(numbers):
            return edges
    return None


def _ranges(numbers: Floats) -> tuple[NDArray[np.intp], list[str]]:
    """Return the range of each number, and what to call them: as many rows in one as in another.

    A number that most rows have is a range of its own.

    Examples
    --------
    >>> _ranges(np.array([1.0, 2.0, 30.0, 400.0, 5000.0, 60000.0, 7e5, 8e6]))[1][:2]
    ['1 to 2', '2 to 30']
    >>> _ranges(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]))[1]
    ['0', '1 to 1.5', '1.5 to 2']
    """
    unique, counts = np.unique(numbers, return_counts=True)
    most = unique[counts.argmax()] if counts.max() > _SPIKE * len(numbers) else np.nan
    rest = numbers[numbers != most]
    count = min(_MAX_RANGES, max(1, len(np.unique(rest))))
    edges = np.unique(np.quantile(rest, np.linspace(0.0, 1.0, count + 1)))
    codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, max(0, len(edges) - 2))
    pairs = pairwise(edges)
    names = [f"{_brief(low)} to {_brief(high)}" for low, high in pairs] or [_brief(edges[0])]
    if np.isnan(most):
        return codes, names
    return np.where(numbers == most, 0, codes + 1), [f"{most:.6g}", *names]


def _brief(number: float) -> str:
    """Return a number to three digits, without an exponent where it is short that way."""
    return format_number(float(f"{number:.3g}"))


def _numbers(cells: Cells, few: int) -> Floats | None:
    """Return the cells as numbers; None when there is text or there are few different ones."""
    if not all(map(is_number, cells)):
        return None
    numbers = cells.astype(np.float64)
    return numbers if len(np.unique(numbers)) > few else None


def categories(cells: Cells, limit: int) -> tuple[NDArray[np.intp], list[str]]:
    """Return the code of each cell and the categories: numbers in order, texts by frequency.

    Examples
    --------
    >>> categories(np.array(["b", "a", "b"]), 6)
    (array([0, 1, 0]), ['b', 'a'])
    """
    numeric = all(is_number(cell) and not is_missing(cell) for cell in cells)
    texts = cells.astype(np.float64) if numeric else np.array([format_cell(cell) for cell in cells])
    unique, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    in_order = numeric and len(unique) <= limit
    order = np.arange(len(unique)) if in_order else np.argsort(-counts, kind="stable")
    names = [format_cell(unique[k]) for k in order]
    ranks = np.argsort(order)[codes]
    if len(names) > limit:
        names = [*names[: limit - 1], others_name(names)]
        ranks = np.minimum(ranks, limit - 1)
    return ranks, names
