"""The one way in which sums over pairs are made: block by block, on threads, added up in order.

A `Reduction` knows its blocks, what is done with one, and how the results are put together. Blocks
do not depend on the number of threads and are added in a fixed order, so neither do the results.
"""

from __future__ import annotations

from typing import Any

from pkex._util.progress import Forecast, show_progress
from pkex.games.protocols import Reduction
from pkex.games.threads import run_in_order

__all__ = ["run_reduction"]


def run_reduction(
    reduction: Reduction[Any],
    *,
    n_jobs: int | None = 1,
    progress: bool = False,
    forecast: Forecast | None = None,
) -> Any:
    """Return the result of a reduction.

    Parameters
    ----------
    reduction : Reduction
    n_jobs : int or None
        Number of threads, as in joblib; one inside a worker of joblib.
    progress : bool
        Whether to show a progress bar (tqdm) when it takes longer than two seconds.
    forecast : Forecast, optional
        Of work that this is a part of, in pairs.
    """
    tasks = reduction.tasks()
    parts = map(reduction.run, tasks) if n_jobs == 1 else run_in_order(reduction.run, tasks, n_jobs)
    if tasks and (progress or forecast is not None):
        pairs = [_length(task.rows) * _length(task.points) for task in tasks]
        if forecast is not None:
            parts = forecast.watch(parts, pairs)
        if progress:
            parts = show_progress(parts, pairs, max(task.rows.stop for task in tasks))
    for part in parts:
        reduction.add(part)
    return reduction.result()


def _length(part: slice) -> int:
    return int(part.stop - part.start)
