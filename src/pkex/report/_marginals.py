"""How a column differs between two samples, or goes with a target: small pictures as JSON.

A picture is one of

- histogram: edges and, for each series, the share of its rows in each bin;
- bars: categories and, for each series, the share of its rows in each of them;
- scatter: points of a number against a number;
- boxes: for each category, quantiles of a number.

A series is a sample or a class of the target. Columns of few different numbers count as categories.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex.report._page import finite
from pkex.tables.cells import cell_text, is_number, name_of_rest

__all__ = ["between", "with_target"]

_MAX_CATEGORIES, _MAX_CLASSES, _MAX_POINTS = 8, 6, 600
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Cells = NDArray[Any]
Floats = NDArray[np.float64]


def between(first: Cells, second: Cells, names: tuple[str, str]) -> dict[str, Any]:
    """Return a picture of one column in two samples."""
    series = np.repeat([0, 1], [len(first), len(second)])
    return _distributions(np.concatenate([first, second]), series, list(names))


def with_target(cells: Cells, target: Cells) -> dict[str, Any]:
    """Return a picture of one column against a target of classes or numbers."""
    y = _numbers(target, _MAX_CLASSES)
    if y is None:
        return _distributions(cells, *_categories(target, _MAX_CLASSES))
    x = _numbers(cells, _MAX_CATEGORIES)
    if x is None:
        codes, names = _categories(cells, _MAX_CATEGORIES)
        boxes = [finite(np.quantile(y[codes == k], _QUANTILES)) for k in range(len(names))]
        return {"kind": "boxes", "categories": names, "boxes": boxes}
    points = np.column_stack([x, y])
    if len(points) > _MAX_POINTS:
        points = np.random.default_rng(0).choice(points, _MAX_POINTS, replace=False)
    return {"kind": "scatter", "x": finite(points[:, 0]), "y": finite(points[:, 1])}


def _distributions(cells: Cells, series: NDArray[np.intp], names: list[str]) -> dict[str, Any]:
    """Return the distribution of `cells` in each series; `series` has the one of each row."""
    numbers = _numbers(cells, _MAX_CATEGORIES)
    picture: dict[str, Any]
    if numbers is None:
        codes, categories = _categories(cells, _MAX_CATEGORIES)
        picture = {"kind": "bars", "categories": categories}
        counts = [
            np.bincount(codes[series == k], minlength=len(categories)) for k in range(len(names))
        ]
    else:
        edges = _edges(numbers, len(names))
        inside = np.clip(numbers, edges[0], edges[-1])
        picture = {"kind": "histogram", "edges": finite(edges)}
        counts = [np.histogram(inside[series == k], edges)[0] for k in range(len(names))]
    picture["series"] = [
        {"name": name, "shares": finite(np.round(count / count.sum(), 5))}
        for name, count in zip(names, counts, strict=True)
    ]
    return picture


def _edges(numbers: Floats, n_series: int) -> Floats:
    """Return the edges of the bins; the outer bins also hold what lies far outside."""
    low, high = np.quantile(numbers, [0.005, 0.995])
    room = 0.25 * (high - low)
    low, high = max(low - room, numbers.min()), min(high + room, numbers.max())
    n_bins = int(np.clip(2 * (len(numbers) / n_series) ** (1 / 3), 6, 30))  # Rice's rule
    return np.linspace(low, high if high > low else low + 1.0, n_bins + 1)


def _numbers(cells: Cells, few: int) -> Floats | None:
    """Return the cells as numbers; None when there is text or there are few different ones."""
    if not all(map(is_number, cells)):
        return None
    numbers = cells.astype(np.float64)
    return numbers if len(np.unique(numbers)) > few else None


def _categories(cells: Cells, limit: int) -> tuple[NDArray[np.intp], list[str]]:
    """Return the code of each cell and the categories: numbers in order, texts by frequency."""
    numeric = all(map(is_number, cells))
    texts = cells.astype(np.float64) if numeric else np.array([cell_text(cell) for cell in cells])
    found, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    if numeric and len(found) <= limit:
        order = np.arange(len(found))
    names = [cell_text(found[k]) for k in order]
    ranks = np.argsort(order)[codes]
    if len(names) > limit:
        names = [*names[: limit - 1], name_of_rest(names)]
        ranks = np.minimum(ranks, limit - 1)
    return ranks, names
