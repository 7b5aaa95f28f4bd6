"""Blocks of work on threads: results in order, and memory that threads keep."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.games.cluster import detect_cluster, inside_worker, run_on_cluster

__all__ = [
    "check_n_jobs",
    "cluster_width",
    "jobs_of_short_steps",
    "raise_if_cancelled",
    "run_in_order",
    "workspace",
]

Task = TypeVar("Task")
Result = TypeVar("Result")

_local = threading.local()


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse what joblib would not take as a number of threads."""
    if n_jobs is not None and not is_index(n_jobs):
        raise TypeError(f"n_jobs must be an integer or None, got {brief(n_jobs)}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, or -1 for all cores.")


def run_in_order(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None
) -> Iterator[Result]:
    """Yield the results of the tasks in their order, by threads or a cluster where that helps."""
    if len(tasks) == 1 or _cores_are_busy():
        return map(run, tasks)
    if cluster_width(n_jobs):
        return run_on_cluster(run, tasks, get_active_backend()[0], n_jobs)
    n_threads = effective_n_jobs(n_jobs)
    return map(run, tasks) if n_threads == 1 else _run_by_threads(run, tasks, n_threads)


def cluster_width(n_jobs: int | None) -> int:
    """Return how many tasks a cluster would do at once; 0 where they are done here."""
    if n_jobs == 1 or _cores_are_busy() or detect_cluster(get_active_backend()[0]) is None:
        return 0
    return int(effective_n_jobs(n_jobs))


def jobs_of_short_steps(n_jobs: int | None) -> int | None:
    """Return how many jobs suit tasks of many short NumPy steps: one, unless a cluster does them.

    Threads hand the interpreter's lock to each other between the steps. Two of them took 1.1 to 1.7
    times as long as one for sparse rows in NumPy and for posterior covariances
    (benchmarks.threads).
    """
    return n_jobs if cluster_width(n_jobs) else 1


def _cores_are_busy() -> bool:
    """Tell whether the cores are taken already: inside a worker, of joblib.Parallel as well."""
    return bool(get_active_backend()[0].nesting_level) or inside_worker()


def _run_by_threads(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> Iterator[Result]:
    """Yield the results in order, with a few tasks ahead so that the threads have work.

    An interrupt leaves by the executor, which waits for the tasks that are under way; those that
    take long look now and then whether that happened, by `raise_if_cancelled`.
    """
    stop = threading.Event()

    def obey(task: Task) -> Result:
        _local.stop = stop
        return run(task)

    with ThreadPoolExecutor(n_threads) as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                ahead.append(pool.submit(obey, task))
                if len(ahead) > 2 * n_threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def raise_if_cancelled() -> None:
    """Raise CancelledError in a thread whose results nobody waits for any more."""
    stop: threading.Event | None = getattr(_local, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


def workspace(name: str, *shape: int) -> Floats:
    """Return memory of this thread, which is kept because new memory is slow to touch."""
    size = math.prod(shape)
    kept: Floats | None = getattr(_local, name, None)
    if kept is None or kept.size < size:
        kept = np.empty(size)
        setattr(_local, name, kept)
    return kept[:size].reshape(shape)
