"""How long a statistic will take, from the time that a sample of the same work takes.

The work is a sum over the pairs of rows, with `block_size` over the pairs of each block. A test
adds work for each permutation: over all pairs again, or over those of the units that are permuted
together, which are no more than some number. Both are timed on samples of rows that grow until one
takes long enough to be measured.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Rates", "measure_rates"]

Run = Callable[[int, int], object]

_START = 256  # rows of the first sample
_SECONDS = 0.5  # that a sample should take
_SHARE = 16  # of all pairs a sample has at most one in so many


@dataclass(frozen=True)
class Rates:
    """Seconds for a pair of rows.

    Attributes
    ----------
    pair : float
        For the statistic itself.
    tested : float
        For all permutations.
    units : int or None
        How many rows, or joined rows, a test permutes at most; None without a limit.

    Examples
    --------
    >>> rates = Rates(pair=1e-7, tested=1e-6, units=1000)
    >>> rates.seconds(100_000, None), round(rates.seconds(100_000, 1000))
    (1001.0, 110)
    """

    pair: float
    tested: float
    units: int | None = None

    def seconds(self, n_rows: int, block_size: int | None) -> float:
        """Return how long the statistic of so many rows takes."""
        size = min(n_rows, block_size or n_rows)
        permuted = min(size, self.units or size)
        return n_rows / size * (self.pair * size**2 + self.tested * permuted**2)


def measure_rates(
    run: Run, n_rows: int, block_size: int | None, permutations: int, units: int | None = None
) -> Rates | None:
    """Return the rates of `run(n_rows, n_permutations)`; None where it is done sooner than timed.

    Parameters
    ----------
    run : callable
        Computes the statistic of a sample of so many rows, with so many permutations.
    n_rows, block_size, permutations
        Of the work that is ahead.
    units : int, optional
        As in `Rates`.
    """
    pairs = n_rows * min(n_rows, block_size or n_rows)
    if pairs < _SHARE * _START**2:
        return None
    tested = 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again with the work itself
            run(_START // 4, 0)  # what is done once in a process is not measured
            most = math.isqrt(pairs // _SHARE)
            pair = _per_pair(run, most, 0)
            if permutations:  # of no more rows than are permuted one by one
                tested = _per_pair(run, min(most, units or most), permutations) - pair
    except ValueError:  # of a sample, such as one in which nothing varies
        return None
    return Rates(pair, max(0.0, tested), units)


def _per_pair(run: Run, most: int, permutations: int) -> float:
    """Return the seconds for a pair, from a sample of at most so many rows."""
    n_rows = _START
    while True:
        start = time.perf_counter()
        run(n_rows, permutations)
        seconds = time.perf_counter() - start
        if seconds >= _SECONDS or 2 * n_rows > most:
            return seconds / n_rows**2
        n_rows *= 2
