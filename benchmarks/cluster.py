"""What a second worker process of Dask brings, for work of four to ten seconds of one.

    build/cluster/bin/python -m benchmarks.cluster      # in the environment of `make cluster`

Interventional values of a model, MMD and HSIC with permutations, each inside of
``joblib.parallel_config(backend="dask")`` with one worker process and with two, single-threaded.
The results are compared to the last bit with those of this process. Times are minima over repeats,
one and two workers taking turns. ``busy`` is the share of the time in which the workers were at
work in blocks, from Dask's own records: what is missing is sending, waiting, and what this process
does alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import pkex
from benchmarks.record import config, store

__all__ = ["main"]

NAME = "cluster"
WORKERS = (1, 2)
Found = tuple[NDArray[Any], ...]


def interventional(share: float, n_jobs: int | None = -1) -> Found:
    """Explain rows of a model of 1000 points with 100 background rows."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 20))
    f = pkex.KernelExpansion(points, rng.normal(size=1000), pkex.kernels.RBF(6.0))
    rows = rng.normal(size=(int(2048 * share), 20))
    found = pkex.Explainer(f, points[:100], n_jobs=n_jobs)(rows)
    assert found.error_bound is not None
    return found.values, found.predictions, found.error_bound


def mmd(share: float, n_jobs: int | None = -1) -> Found:
    """Compare two samples, five of whose twenty columns differ, with 499 permutations."""
    rng = np.random.default_rng(0)
    n = int(10000 * share**0.5)
    X, Z = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
    Z[:, :5] += 0.3
    return _of(pkex.mmd(X, Z, n_permutations=499, random_state=0, n_jobs=n_jobs))


def hsic(share: float, n_jobs: int | None = -1) -> Found:
    """Measure the dependence of a target on twenty columns, with 499 permutations."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(int(4000 * share**0.5), 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
    return _of(pkex.hsic(X, y, n_permutations=499, random_state=0, n_jobs=n_jobs))


def _of(found: pkex.Attribution) -> Found:
    assert found.p_values is not None
    assert found.null_values is not None
    totals = np.array([found.statistic, found.p_value])
    return found.values, found.null_values, found.p_values, found.univariate, totals


WORK: dict[str, Callable[..., Found]] = {
    "interventional": interventional,
    "mmd": mmd,
    "hsic": hsic,
}


@contextmanager
def workers(count: int) -> Iterator[Any]:
    """Start worker processes of one thread, which have imported pkex, and use them."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        interventional(0.25)
        yield client


def timed(client: Any, run: Callable[[float], Found], share: float) -> tuple[float, float, Found]:
    """Return the time of a call, the seconds that workers were busy with it, and its result."""
    from distributed import get_task_stream

    with get_task_stream(client) as stream:
        start = time.perf_counter()
        found = run(share)
        taken = time.perf_counter() - start
    spans = [
        span["stop"] - span["start"]
        for task in stream.data
        for span in task["startstops"]
        if span["action"] == "compute"
    ]
    return taken, sum(spans), found


def measure(name: str, share: float, repeats: int) -> dict[str, Any]:
    """Measure one kind of work with one and with two workers, and compare the results."""
    run = WORK[name]
    start = time.perf_counter()
    expected = run(share, n_jobs=1)
    alone = time.perf_counter() - start
    seconds: dict[str, list[float]] = {str(count): [] for count in WORKERS}
    busy: dict[str, list[float]] = {str(count): [] for count in WORKERS}
    same = True
    for _ in range(repeats):
        for count in WORKERS:
            with workers(count) as client:
                taken, worked, found = timed(client, run, share)
            seconds[str(count)].append(taken)
            busy[str(count)].append(worked / (taken * count))
            same &= all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    best = {count: min(times) for count, times in seconds.items()}
    at = {count: busy[count][int(np.argmin(times))] for count, times in seconds.items()}
    ratio = best["1"] / best["2"]
    print(
        f"{name}: {best['1']:.1f} s with one worker, {best['2']:.1f} s with two, {ratio:.2f} times "
        f"as fast; busy {at['1']:.0%} and {at['2']:.0%}; one process {alone:.1f} s; same: {same}"
    )
    return {"seconds": best, "busy": at, "process": alone, "ratio": ratio, "same": same}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(WORK), help="which kinds of work")
    parser.add_argument("--share", type=float, default=1.0, help="of the work, to try it out")
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    found = {name: measure(name, asked.share, asked.repeats) for name in asked.names}
    if asked.share == 1.0 and set(found) == set(WORK):
        store(NAME, {"config": config("dask", "distributed"), "work": found})


if __name__ == "__main__":
    main()
