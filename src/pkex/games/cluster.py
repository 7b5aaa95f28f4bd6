"""Blocks of work on a cluster, through the backend of joblib that is active.

Inside of ``joblib.parallel_config(backend="dask")`` blocks go to the workers of Dask. What all
blocks need (points, plans, weights) is the result of a task of its own: it is sent once, workers
take it from each other, and Dask makes it again where the worker that had it is lost. Other tasks
are a few slices. The results come back one by one and are added here, in the order of the blocks,
so that they are those of one process. Tasks are sent in batches that take a second at most and
become smaller towards the end, but not tiny, because a batch costs this process some milliseconds,
during which a worker on the same machine may lack a core. Workers have a few batches each, and get
another one as soon as any is done, but only some are ahead of what was added.

Dask gives the tasks of a lost worker to the others. What it gives up, after some losses, is sent
again from here.

Backends of other clusters (Ray, Spark) are given batches by `joblib.Parallel`.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from pkex.games.blas import single_blas

__all__ = ["detect_cluster", "inside_worker", "run_on_cluster", "working"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_LOCAL = {"LokyBackend", "ThreadingBackend", "SequentialBackend", "MultiprocessingBackend"}
_SECONDS = 0.05, 1.0  # that a batch should take, at least and at most
_AHEAD = 8  # batches for each thread of a worker that may be ahead of what was added
_TRIES = 3  # how often what was lost is sent again
_local = threading.local()


def detect_cluster(backend: Any) -> str | None:
    """Return "dask" or "other" for a backend of joblib that is a cluster, None for one that is not.

    Examples
    --------
    >>> from joblib.parallel import get_active_backend
    >>> detect_cluster(get_active_backend()[0]) is None
    True
    """
    names = {kind.__name__ for kind in type(backend).__mro__}
    if "DaskDistributedBackend" in names:
        return "dask"
    return None if type(backend).__name__ in _LOCAL else "other"


def inside_worker() -> bool:
    """Tell whether this thread is at work for somebody: for pkex, or in a task of Dask.

    There the cores are taken already, and joblib does not know it.
    """
    if getattr(_local, "working", False):
        return True
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def run_on_cluster(
    run: Callable[[Task], Result], tasks: Sequence[Task], backend: Any, n_jobs: int | None
) -> Iterator[Result]:
    """Yield the results of the tasks in their order, computed by the workers of a cluster."""
    if detect_cluster(backend) == "dask":
        return _run_by_dask(run, tasks, backend.client)
    return _run_by_joblib(run, tasks, n_jobs)


def _run_by_joblib(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None
) -> Iterator[Result]:
    step = max(1, len(tasks) // (4 * effective_n_jobs(n_jobs)))
    batches = [tasks[start : start + step] for start in range(0, len(tasks), step)]
    batches_done = Parallel(n_jobs=n_jobs)(delayed(_work)(run, batch) for batch in batches)
    for _, results in batches_done:
        yield from results


def _run_by_dask(
    run: Callable[[Task], Result], tasks: Sequence[Task], client: Any
) -> Iterator[Result]:
    """Yield the results in order; what Dask has lost for good is sent again a few times."""
    done, tries = 0, 0
    while True:
        try:
            for results in _batches(run, tasks[done:], client):
                for result in results:
                    done += 1
                    yield result
            return
        except _lost_errors() as error:
            tries += 1
            if tries > _TRIES:
                raise RuntimeError(
                    f"workers of the Dask cluster were lost {tries} times while they had blocks of "
                    "pkex: look at their logs, most often for a lack of memory."
                ) from error


def _batches(
    run: Callable[[Task], Result], tasks: Sequence[Task], client: Any
) -> Iterator[Sequence[Result]]:
    """Yield the results of batches of tasks, with some batches ahead."""
    from distributed import wait

    n_cores = client.ncores()
    n_threads = max(1, sum(n_cores.values()))
    held = _submit(client, _hold, _Sent(run))
    ahead: deque[Any] = deque()
    size, start = 1, 0
    workers: Iterator[str] = cycle(n_cores)  # else the one that holds `run` would have them all
    try:
        while start < len(tasks) or ahead:
            n_free = 2 * n_threads + 1 - sum(not batch.done() for batch in ahead)
            while start < len(tasks) and n_free > 0 and len(ahead) < _AHEAD * n_threads:
                some: Any = tasks[start : start + size]
                ahead.append(_submit(client, _work, held, _Sent(some), on=next(workers, None)))
                start, n_free = start + len(some), n_free - 1
            workers = iter(())  # from now on Dask knows better
            under_way = [batch for batch in ahead if not batch.done()]
            if ahead[0] in under_way:  # later ones may end before, and leave a worker without any
                wait(under_way, return_when="FIRST_COMPLETED")
                continue
            seconds, results = ahead.popleft().result()
            each = max(seconds / len(results), 1e-6)
            fewest, most = (int(limit / each) for limit in _SECONDS)
            left = (len(tasks) - start) // n_threads
            size = max(1, min(most, left, max(fewest, left // 4)))  # all have work to the end
            yield results
    finally:
        client.cancel([held, *ahead])


def _submit(client: Any, call: Callable[..., Any], *given: Any, on: str | None = None) -> Any:
    """Return the future of a call, without a warning that what it is given is large.

    It is made on a worker if that is named, or on another one where that is lost.
    """
    where = {} if on is None else {"workers": [on], "allow_other_workers": True}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(call, *given, pure=False, **where)


def _hold(sent: Any) -> Any:
    """Return what all blocks need; Dask calls it again where the worker is lost that had it."""
    return sent


def _work(run: Any, tasks: Any) -> tuple[float, list[Any]]:
    """Do some tasks, in a worker, with one thread; return the seconds and the results."""
    start = time.perf_counter()
    with working(), single_blas():
        run, tasks = _unwrap(run), _unwrap(tasks)
        results = [run(task) for task in tasks]
    return time.perf_counter() - start, results


class _Sent:
    """Something that is sent as it is, whatever collection it may be."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content apart: arrays in a message of Dask need not be aligned to numbers."""
        from distributed.protocol import pickle

        return _receive, (pickle.dumps(self.content),)


def _receive(data: bytes) -> _Sent:
    """Return what was pickled, with arrays in memory of their own."""
    from distributed.protocol import pickle

    return _Sent(pickle.loads(data))


def _unwrap(value: Any) -> Any:
    return value.content if isinstance(value, _Sent) else value


@contextmanager
def working() -> Iterator[None]:
    """Let this thread be one at work for somebody, which starts no others."""
    before = getattr(_local, "working", False)
    _local.working = True
    try:
        yield
    finally:
        _local.working = before


def _lost_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of Dask that tell that a worker and what it had are gone."""
    from asyncio import CancelledError as OfLoop
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    return (CancelledError, OfLoop, CommClosedError, KilledWorker)
