"""A progress bar over rows, by tqdm, which is an extra."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pkex._util.extras import install_command

__all__ = ["row_bar", "with_bar"]

Result = TypeVar("Result")

_DELAY = 2.0  # seconds before it appears


def row_bar(total: int, **options: Any) -> Any:
    """Return a bar over rows; further options are tqdm's."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        command = install_command("pkex[progress]")
        raise ImportError(f"progress=True needs tqdm: {command}.") from error
    return tqdm(total=total, desc="pkex", unit="row", **_room(), **options)


def _room() -> dict[str, int]:
    """Return a size to assume of a terminal that has none, in which tqdm would hide the bar."""
    try:
        known = not sys.stderr.isatty() or 0 not in os.get_terminal_size(sys.stderr.fileno())
    except OSError:  # something that only says it is a terminal
        known = True
    columns, rows = shutil.get_terminal_size()
    return {} if known else {"ncols": columns, "nrows": rows}


def with_bar(blocks: Iterator[Result], sizes: Sequence[int], n_rows: int) -> Iterator[Result]:
    """Show a progress bar over rows when they take longer than two seconds.

    `sizes` are the shares of the blocks in the work, in any unit: a row counts as done where that
    share of the work is.
    """
    done, total = 0, max(1, sum(sizes))
    with row_bar(n_rows, delay=_DELAY) as bar:
        for block, size in zip(blocks, sizes, strict=True):
            done += size
            bar.update(n_rows * done // total - bar.n)
            yield block
