"""A progress bar over rows, by tqdm, which is an extra, and a forecast of how long work takes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pkex._util.extras import import_optional

__all__ = ["LONG", "Forecast", "row_bar", "show_progress"]

Result = TypeVar("Result")

LONG = 60.0  # seconds that are announced
_DELAY = 2.0  # seconds before a bar appears
_SAMPLE = 1.0  # seconds of work that a forecast is made from
_FEW = 100  # rows below which a bar counts hundredths of them


def row_bar(total: int, **options: Any) -> Any:
    """Return a bar over rows; further options are tqdm's."""
    tqdm = import_optional("tqdm.auto", "pkex[progress]").tqdm
    return tqdm(total=total, desc="pkex", unit="row", **_room(), **options)


def _room() -> dict[str, int]:
    """Return a size to assume of a terminal that has none, in which tqdm would hide the bar."""
    try:
        known = not sys.stderr.isatty() or 0 not in os.get_terminal_size(sys.stderr.fileno())
    except OSError:  # something that only says it is a terminal
        known = True
    columns, rows = shutil.get_terminal_size()
    return {} if known else {"ncols": columns, "nrows": rows}


def show_progress(blocks: Iterator[Result], sizes: Sequence[int], n_rows: int) -> Iterator[Result]:
    """Show a progress bar over rows when they take longer than two seconds.

    `sizes` are the shares of the blocks in the work, in any unit: a row counts as done where that
    share of the work is. Few rows are counted in hundredths, so that the bar moves within them.
    """
    done, total = 0, max(1, sum(sizes))
    parts = 100 if n_rows < _FEW else 1
    with row_bar(n_rows, delay=_DELAY) as bar:
        for block, size in zip(blocks, sizes, strict=True):
            done += size
            count = parts * n_rows * done // total
            bar.n = count / parts if count % parts else count // parts
            bar.update(0)
            yield block


class Forecast:
    """Says once that some work takes long, from the time that the first parts of it take.

    Parameters
    ----------
    work : float
        How much there is, in the unit of the sizes that `watch` is given.
    announce : callable
        Called with the seconds that all of it takes, when these are more than `LONG`.
    """

    def __init__(self, work: float, announce: Callable[[float], None]) -> None:
        self.work, self.announce = work, announce
        self.done, self.spent, self.announced = 0.0, 0.0, False

    def watch(self, blocks: Iterator[Result], sizes: Sequence[int]) -> Iterator[Result]:
        """Yield the blocks, and look at the time after each; what is done before does not count."""
        start = time.perf_counter() - self.spent
        for block, size in zip(blocks, sizes, strict=True):
            self.done += size
            self.spent = time.perf_counter() - start
            seconds = self.spent * self.work / self.done
            if not self.announced and self.spent >= _SAMPLE and seconds > LONG:
                self.announced = True
                self.announce(seconds)
            yield block
