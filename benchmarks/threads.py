"""The speed-up by a second thread, for every kind of call that takes time, and its serial part.

    python -m benchmarks.threads [words of the names of calls]

prints for each call the time with one thread and with two, the speed-up, and of the call with two
threads the time during which tasks were at work, the time around them, and the number of tasks.
The function that runs tasks is wrapped from here; the library does not measure itself. BLAS has one
thread throughout, with one thread of pkex as with two. Times are minima; the two numbers of threads
take turns. Needs two quiet cores: a repeat during which other processes took more than a tenth of a
core does not count, where the system says so (Linux), and a call without any other is left out.

Models: SVR with an RBF kernel, 450 points, 50 columns, standard normal data; a Gaussian process of
200 points and 10 columns for standard deviations; 450 sparse points of 5000 columns. MMD compares
1500 with 1500 rows of 50 columns, HSIC takes 2000 rows of 50 columns and a continuous target.
Results are stored, those of other calls are kept. Without words so is the peak memory of one and of
eight threads: 4 rows explained by 5000 points of 200 columns with 1000 background rows, each in a
fresh process.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import RESULTS, config, load, store
from benchmarks.timing import resident
from pkex.explain import effect_background, effect_sums, gradients, importance
from pkex.games import engine, means
from pkex.games.threads import run_in_order
from pkex.models import posterior_moments
from pkex.statistics import block_mean, column_test, low_rank, target_weights

__all__ = ["main"]

POINTS, COLUMNS, BACKGROUND = 450, 50, 100
REPEATS, LIMIT = 60, 5.0  # of a call, as often as fits in so many seconds and at least thrice
SHORTEST = 0.15  # seconds of a repeat, as the system counts in hundredths
OTHERS = 0.1  # of a core
MODULES: tuple[Any, ...] = (
    effect_background,
    effect_sums,
    gradients,
    importance,
    engine,
    means,
    posterior_moments,
    block_mean,
    column_test,
    low_rank,
    target_weights,
)

Call = Callable[[int], object]  # with a number of threads


class Watch:
    """How long several tasks were at work, and how many there were."""

    def __init__(self) -> None:
        self.seconds, self.n_tasks, self.is_running = 0.0, 0, False

    def run_in_order(
        self, run: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int | None
    ) -> Iterator[Any]:
        """Do as `pkex.games.threads.run_in_order`, and note from first to last result."""
        if self.is_running or len(tasks) == 1:  # a single task may have tasks inside
            yield from run_in_order(run, tasks, n_jobs)
            return
        start, self.is_running = time.perf_counter(), True
        self.n_tasks += len(tasks)
        try:
            yield from run_in_order(run, tasks, n_jobs)
        finally:
            self.is_running = False
            self.seconds += time.perf_counter() - start


def explain(
    *args: Any, call: Callable[[pkex.Explainer], object], **options: Any
) -> Callable[[int], object]:
    """Return a call of explainers, which are made once for a number of threads."""
    explainers = {n: pkex.Explainer(*args, n_jobs=n, **options) for n in (1, 2)}
    return lambda n_jobs: call(explainers[n_jobs])


def cases() -> Iterator[tuple[str, Callable[[], Call]]]:
    """Yield names, and functions that make the calls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(POINTS, COLUMNS))
    rows, background = rng.normal(size=(2000, COLUMNS)), rng.normal(size=(BACKGROUND, COLUMNS))
    target = X[:, 0] + 0.1 * rng.normal(size=POINTS)
    model = SVR(epsilon=0.0).fit(X, target)

    def values(table: Any, **options: Any) -> Callable[[pkex.Explainer], object]:
        return lambda explainer: explainer(table, **options)

    for count in (1, 16, 64, 256):
        call = values(rows[:count])
        yield f"interventional, {count} rows", partial(explain, model, background, call=call)
    for count in (100, 450, 2000):
        call = values(rows[:count])
        yield f"neutral, {count} rows", partial(explain, model, removal="neutral", call=call)
    one = values(rows[:1])
    many = pkex.KernelExpansion(
        rng.normal(size=(400_000, COLUMNS)), rng.normal(size=400_000), pkex.kernels.RBF(5.0)
    )
    yield "a row, 400 000 points", partial(explain, many, removal="neutral", call=one)
    yield "a row, 2000 background rows", partial(explain, model, rows, call=one)
    yield (
        "interactions, 16 rows",
        partial(explain, model, background[:20], call=lambda e: e.interactions(rows[:16])),
    )
    process = GaussianProcessRegressor(RBF(np.sqrt(10.0)), alpha=0.1, optimizer=None)
    process.fit(X[:200, :10], target[:200])
    for count in (64, 1024):
        for name, option in (("standard deviations", "return_std"), ("covariances", "return_cov")):
            spread = values(rows[:count, :10], **{option: True})
            yield f"{name}, {count} rows", partial(explain, process, X[:20, :10], call=spread)
    yield (
        "importance with draws, 64 rows",
        partial(
            explain,
            process,
            X[:20, :10],
            call=lambda e: e.importance(rows[:64, :10], n_draws=99, random_state=0),
        ),
    )
    yield "effects of 10 features", partial(explain, model, X, call=lambda e: e.effects(range(10)))
    yield "gradients, 2000 rows", partial(explain, model, X, call=lambda e: e.gradients(rows))
    table: Any = scipy.sparse.random(1450, 5000, density=0.01, random_state=0, format="csr")
    documents = SVR(gamma=0.05, epsilon=0.0).fit(table[:POINTS], target)
    yield "1000 sparse rows", partial(explain, documents, call=values(table[POINTS:]))
    yield "sensitivity", lambda: lambda n: pkex.sensitivity(model, X, n_jobs=n)
    yield "sensitivity, pairs", lambda: lambda n: pkex.sensitivity(model, X, order=2, n_jobs=n)
    left, right, table = (rng.normal(size=(n, COLUMNS)) for n in (1500, 1500, 2000))
    right[:, 0] += 0.3
    y = table[:, 0] + table[:, 1] ** 2 + rng.normal(size=len(table))
    for count in (0, 100):
        options = {"n_permutations": count, "random_state": 0}
        name = f"MMD, {count} permutations" if count else "MMD"
        yield name, partial(_bind, pkex.mmd, left, right, options)
    for count in (0, 200):
        options = {"n_permutations": count, "random_state": 0}
        name = f"HSIC, {count} permutations" if count else "HSIC"
        yield name, partial(_bind, pkex.hsic, table, y, options)


def _bind(statistic: Any, X: Any, other: Any, options: dict[str, Any]) -> Call:
    return lambda n_jobs: statistic(X, other, n_jobs=n_jobs, **options)


class Repeat:
    """Calls until some time is spent, and what other processes took of a core meanwhile."""

    def __init__(self, call: Call, n_jobs: int, watch: Watch) -> None:
        watch.seconds, watch.n_tasks, count = 0.0, 0, 0
        busy, start = _others_busy(), time.perf_counter()
        while count == 0 or time.perf_counter() - start < SHORTEST:
            call(n_jobs)
            count += 1
        elapsed = time.perf_counter() - start
        self.others = (_others_busy() - busy) / elapsed
        self.seconds, self.in_tasks = elapsed / count, watch.seconds / count
        self.n_tasks = watch.n_tasks // count


def _others_busy() -> float:
    """Return the seconds that other processes have been at work so far; 0 if not known."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _, _, *others = map(int, path.read_text("ascii").split()[1:9])
    here = resource.getrusage(resource.RUSAGE_SELF)
    return (user + nice + system + sum(others)) / 100.0 - here.ru_utime - here.ru_stime


def measure(call: Call, watch: Watch) -> dict[str, float] | None:
    """Return the shortest times with one and two threads, and of the latter what tasks take."""
    best: dict[int, Repeat] = {}
    begin = time.perf_counter()
    for number in range(REPEATS):
        if number > 2 and time.perf_counter() - begin > LIMIT:
            break
        for n_jobs in (1, 2):
            repeat = Repeat(call, n_jobs, watch)
            if repeat.others < OTHERS and (
                n_jobs not in best or repeat.seconds < best[n_jobs].seconds
            ):
                best[n_jobs] = repeat
    if len(best) < 2:
        return None
    one, two = best[1], best[2]
    return {
        "one": one.seconds,
        "two": two.seconds,
        "speed-up": one.seconds / two.seconds,
        "in tasks": two.in_tasks,
        "around": two.seconds - two.in_tasks,
        "tasks": two.n_tasks,
    }


def peak_memory(n_jobs: int) -> float:
    """Return the peak of the resident memory of a process that explains rows, in MB."""
    rng = np.random.default_rng(0)
    points, background, rows = (rng.normal(size=(n, 200)) for n in (5000, 1000, 4))
    model = pkex.KernelExpansion(points, rng.normal(size=5000), pkex.kernels.RBF(10.0))
    pkex.Explainer(model, background, n_jobs=n_jobs)(rows)
    return resident()


def main(words: Sequence[str]) -> None:
    """Print a line for each call, or for those whose names have one of the words."""
    if words[:1] == ["--memory"]:
        print(peak_memory(int(words[1])))
        return
    watch, calls = Watch(), {}
    for module in MODULES:
        module.run_in_order = watch.run_in_order
    head = ("ms, 1 thread", "2 threads", "speed-up", "in tasks", "around", "tasks")
    print(f"{'':<30}" + "".join(f"{word:>14}" for word in head))
    scale = {"speed-up": 1.0, "tasks": 1.0}
    with threadpool_limits(1, user_api="blas"):
        for name, make in cases():
            if words and not any(word in name for word in words):
                continue
            times = measure(make(), watch)
            if times is None:
                print(f"{name:<30} other processes took the cores")
                continue
            calls[name] = times
            line = [scale.get(key, 1e3) * number for key, number in times.items()]
            print(f"{name:<30}" + "".join(f"{n:>14.2f}" for n in line[:-1]) + f"{line[-1]:>14.0f}")
    before = load("threads") if (RESULTS / "threads.json").exists() else {}
    memory = before.get("memory", {})
    if not words:
        memory = {str(n): _run_for_memory(n) for n in (1, 8)}
        print("peak memory, MB:", ", ".join(f"{n} threads {mb:.0f}" for n, mb in memory.items()))
    order = [name for name, _ in cases()]
    every = before.get("calls", {}) | calls
    kept = {name: every[name] for name in order if name in every}
    store("threads", {"config": config("scikit-learn"), "calls": kept, "memory": memory})


def _run_for_memory(n_jobs: int) -> float:
    command = [sys.executable, "-m", "benchmarks.threads", "--memory", str(n_jobs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
