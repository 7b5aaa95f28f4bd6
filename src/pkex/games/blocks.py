"""How pairs are cut into blocks, which do not depend on the number of threads.

Blocks are of much the same size, so that all cores have work to the end, and there are many of
them, about `MANY`, unless they would become so small that handing them over takes time.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["MANY", "SMALLEST_PART", "balance", "cut_points", "even_step", "rectangle", "triangle"]

MANY = 64  # blocks of a call that is large enough
SMALLEST_PART = 8  # the smallest block is this part of the largest


def balance(total: int, most: int) -> int:
    """Return how large blocks of some work should be, where they may have `most` of it each."""
    return max(1, min(most, max(total // MANY, most // SMALLEST_PART)))


def cut_points(n_points: int, pairs: int) -> int:
    """Return how many points a block has, where it may have so many pairs; whatever the rows are.

    What is kept for points is then found again by every call.
    """
    return even_step(n_points, pairs // SMALLEST_PART)


def even_step(total: int, step: int) -> int:
    """Return the step, not above this one, that cuts a range into parts of much the same size."""
    step = max(1, step)
    return -(-total // max(1, -(-total // step)))


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
