"""How pairs are cut into blocks, which do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["rectangle", "triangle"]


def rectangle(n_rows: int, n_points: int, pairs: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows and points into blocks of at most `pairs` pairs, long in the points."""
    width = max(1, min(n_points, pairs))
    step = max(1, pairs // width)
    for rows in _cut(0, n_rows, step):
        for points in _cut(0, n_points, width):
            yield rows, points


def triangle(n_rows: int, step: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Cut the pairs of one sample, each unordered pair once, into blocks of `step` x `width`.

    The points of a block start at its first row or after its last. In a block that starts at its
    first row, both (i, k) and (k, i) are met for the rows themselves; `width` is not below `step`.
    """
    for rows in _cut(0, n_rows, step):
        for points in _cut(rows.start, n_rows, width):
            yield rows, points


def _cut(start: int, stop: int, step: int) -> Iterator[slice]:
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))
