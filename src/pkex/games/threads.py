"""Blocks of work on threads: results in order, and memory that threads keep."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.games.cluster import detect_cluster, inside_worker, run_on_cluster

__all__ = [
    "check_n_jobs",
    "cluster_width",
    "raise_if_cancelled",
    "run_in_order",
    "single_blas",
    "workspace",
]

Task = TypeVar("Task")
Result = TypeVar("Result")

_local = threading.local()
_blas_lock = threading.Lock()
_blas: Any = None  # the libraries, looked for once
_blas_users = 0
_blas_limits: Any = None


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


@contextmanager
def single_blas() -> Iterator[None]:
    """Keep BLAS to one thread while pkex has threads of its own.

    The limit is one of the process: the first call that needs it sets it, the last one takes it
    back, however calls in several threads overlap.
    """
    global _blas, _blas_users, _blas_limits
    with _blas_lock:
        if _blas is None:
            _blas = ThreadpoolController()
        if _blas_users == 0 and _blas_limits is None:
            _blas_limits = _blas.limit(limits=1, user_api="blas")
        _blas_users += 1
    _local.blas_users = getattr(_local, "blas_users", 0) + 1
    try:
        yield
    finally:
        _local.blas_users -= 1
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _restore_blas()


def _restore_blas() -> None:
    global _blas_limits
    if _blas_limits is not None:
        _blas_limits.restore_original_limits()
        _blas_limits = None


def _before_fork() -> None:
    """Wait for threads that set the limit: the system's loader has a lock that a child keeps."""
    _blas_lock.acquire()


def _after_fork_in_parent() -> None:
    _blas_lock.release()


def _after_fork_in_child() -> None:
    """Forget the other threads, which a forked process does not have.

    The limit that they set is taken back when the next call leaves; BLAS is not touched here, as
    it may have locks of its own.
    """
    global _blas_lock, _blas_users
    _blas_lock = threading.Lock()
    _blas_users = getattr(_local, "blas_users", 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def workspace(name: str, *shape: int) -> Floats:
    """Return memory of this thread, which is kept because new memory is slow to touch."""
    size = math.prod(shape)
    kept: Floats | None = getattr(_local, name, None)
    if kept is None or kept.size < size:
        kept = np.empty(size)
        setattr(_local, name, kept)
    return kept[:size].reshape(shape)
