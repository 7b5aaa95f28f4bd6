"""Blocks of work on threads: results in order, and memory that threads keep."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Generic, TypeVar, cast

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from pkex._util.types import Floats
from pkex.games.cluster import detect_cluster, inside_worker, run_on_cluster

__all__ = [
    "cluster_width",
    "jobs_of_short_steps",
    "raise_if_cancelled",
    "run_in_order",
    "workspace",
]

Task = TypeVar("Task")
Result = TypeVar("Result")

_local = threading.local()


def run_in_order(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None
) -> Iterator[Result]:
    """Yield the results of the tasks in their order, by threads or a cluster where that helps."""
    if n_jobs == 1 or len(tasks) < 2 or _cores_are_busy():
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
    times as long as one for sparse rows in NumPy (benchmarks.threads).
    """
    return n_jobs if cluster_width(n_jobs) else 1


def _cores_are_busy() -> bool:
    """Tell whether the cores are taken already: inside a worker, of joblib.Parallel as well."""
    return bool(get_active_backend()[0].nesting_level) or inside_worker()


def _run_by_threads(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> Iterator[Result]:
    """Yield the results in order; the caller's thread is one of those that do the tasks.

    So there are no more threads than cores, and none waits for another while there are tasks. A few
    results are kept ahead. An interrupt stops the other threads after the tasks that are under way;
    those that take long look now and then whether that happened, by `raise_if_cancelled`.
    """
    queue = _TaskQueue(run, tasks, n_threads)
    others = [threading.Thread(target=queue.work, daemon=True) for _ in range(n_threads - 1)]
    for thread in others:
        thread.start()
    try:
        for number in range(len(tasks)):
            yield queue.result(number)
    finally:
        queue.stop()
        for thread in others:
            thread.join()


class _TaskQueue(Generic[Task, Result]):
    """Tasks that several threads take one by one, and their results until they are asked for."""

    def __init__(
        self, run: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
    ) -> None:
        self._run, self._tasks, self._ahead = run, tasks, 2 * n_threads
        self._next = self._asked = 0  # the next task, and the result that is asked for
        self._done: dict[int, tuple[Result | None, BaseException | None]] = {}
        self._changed = threading.Condition(threading.Lock())
        self._stopped = threading.Event()

    def work(self) -> None:
        """Do tasks until there are no more, in a thread of the queue."""
        _local.stop = self._stopped
        while (number := self._take(wait=True)) is not None:
            self._do(number, BaseException)  # else the caller would wait for ever

    def result(self, number: int) -> Result:
        """Return a result; do other tasks while it is under way elsewhere."""
        with self._changed:
            self._asked = number
            self._changed.notify_all()  # as threads may go further ahead
        while number not in self._done:
            other = self._take(wait=False)
            if other is not None:
                self._do(other, Exception)  # an interrupt leaves at once
                continue
            with self._changed:
                self._changed.wait_for(lambda: number in self._done)
        result, error = self._done.pop(number)
        if error is not None:
            raise error
        return cast("Result", result)

    def stop(self) -> None:
        """Give out no more tasks."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def _take(self, wait: bool) -> int | None:
        """Return the number of a task to do; None where none is left, or none yet."""
        with self._changed:
            while not self._stopped.is_set() and self._next < len(self._tasks):
                if self._next <= self._asked + self._ahead:
                    self._next += 1
                    return self._next - 1
                if not wait:
                    return None
                self._changed.wait()
        return None

    def _do(self, number: int, kept: type[BaseException]) -> None:
        """Do a task, and keep its result or an error of some kind."""
        result, error = None, None
        try:
            result = self._run(self._tasks[number])
        except kept as raised:
            error = raised
        with self._changed:
            self._done[number] = result, error
            self._changed.notify_all()


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
