"""MMD and HSIC with attribution, beside one plain NumPy evaluation of the statistic.

    python -m benchmarks.statistics

Standard normal data, five columns of the second sample shifted by half a standard deviation, the
median heuristic, one thread, minimum over repeats; by default and in the paper's game, HSIC with a
target of numbers and with one of twenty classes. The plain evaluation has the statistic alone,
without any attribution or p-value, from the kernel matrix by matrix products. "Labels" are
permutations of labels or targets without the tests of single columns that follow by default. Memory
is what the process grows by at its peak.

"Everything" are calls with nothing but data: the median heuristic and the unbiased estimators are
counted as well. They are also made with two threads, in turns with one, and the results of both
are compared to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import growth, peak_memory, seconds
from pkex.kernels.bandwidth import median_distance
from pkex.kernels.heuristic import MAX_ROWS

Floats = NDArray[np.float64]

ROWS, COLUMNS, PERMUTATIONS = 2000, 50, 200
CHANGED = 5  # columns that differ between the samples
SIZES = (500, 1000, 2000)
CLASSES = 20
THREADED = 1500  # rows of calls that are measured with two threads as well
NO_COLUMNS = patch(
    "pkex.statistics.attribution._TESTED", 0.0
)  # of p-values, none of which is below


def rbf_matrix(X: Floats, length_scale: float) -> Floats:
    """Return the kernel matrix by one matrix product."""
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * X @ X.T
    matrix: Floats = np.exp(-0.5 * np.maximum(distances, 0.0) / length_scale**2)
    return matrix


def plain_mmd(X: Floats, Z: Floats, length_scale: float) -> float:
    """Return the unbiased statistic."""
    n, m = len(X), len(Z)
    K = rbf_matrix(np.concatenate([X, Z]), length_scale)
    within = (K[:n, :n].sum() - n) / (n * (n - 1)) + (K[n:, n:].sum() - m) / (m * (m - 1))
    return float(within - 2.0 * K[:n, n:].mean())


def plain_hsic(X: Floats, y: Floats, length_scale: float, target_scale: float) -> float:
    """Return the biased statistic, ``tr(K H L H) / (n - 1)^2``."""
    K, L = rbf_matrix(X, length_scale), rbf_matrix(y[:, None], target_scale)
    L -= L.mean(axis=0)
    L -= L.mean(axis=1)[:, None]
    return float((K * L).sum() / (len(X) - 1) ** 2)


def plain_classes(X: Floats, classes: Floats, length_scale: float) -> float:
    """Return the biased statistic with the kernel that is 1 for equal classes."""
    K, L = rbf_matrix(X, length_scale), (classes[:, None] == classes).astype(np.float64)
    L -= L.mean(axis=0)
    L -= L.mean(axis=1)[:, None]
    return float((K * L).sum() / (len(X) - 1) ** 2)


def everything(X: Floats, Z: Floats, y: Floats) -> dict[str, Any]:
    """Measure calls with all defaults, and two threads beside one."""
    n = THREADED
    calls: dict[str, tuple[Any, int]] = {
        "mmd": (partial(pkex.mmd, X, Z), PERMUTATIONS),
        "hsic": (partial(pkex.hsic, X, y), PERMUTATIONS),
        f"mmd, {n} rows": (partial(pkex.mmd, X[:n], Z[:n]), PERMUTATIONS // 2),
    }
    results = {}
    for name, (call, count) in calls.items():
        plain = two_threads(partial(call, random_state=0), repeats=5)
        permuted = two_threads(partial(call, random_state=0, n_permutations=count), repeats=3)
        ratio = permuted["1"] / plain["1"]
        results[name] = {"attribution": plain, "permutations": permuted, "ratio": ratio}
        print(
            f"everything, {name}: {plain['1']:.2f} s, two threads {plain['speed-up']:.2f} times as "
            f"fast; with {count} permutations {permuted['1']:.2f} s, {ratio:.1f} times that, two "
            f"threads {permuted['speed-up']:.2f} times as fast; "
            f"same: {plain['same'] and permuted['same']}",
            flush=True,
        )
    return results


def two_threads(call: Callable[..., pkex.Attribution], repeats: int) -> dict[str, Any]:
    """Return the shortest times with one thread and with two, taking turns."""
    best = {1: np.inf, 2: np.inf}
    results = {}
    for _ in range(repeats):
        for n_jobs in best:
            start = time.perf_counter()
            results[n_jobs] = call(n_jobs=n_jobs)
            best[n_jobs] = min(best[n_jobs], time.perf_counter() - start)
    same = all(
        np.array_equal(getattr(results[1], name), getattr(results[2], name))
        for name in ("values", "null_values", "p_values", "univariate_null_values")
        if getattr(results[1], name) is not None
    )
    return {"1": best[1], "2": best[2], "speed-up": best[1] / best[2], "same": same}


def labels_alone(run: Callable[[], object]) -> None:
    """Run without tests of single columns."""
    with NO_COLUMNS:
        run()


def main() -> None:
    """Measure, print and store."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(ROWS, COLUMNS))
    Z[:, :CHANGED] += 0.5
    y = X[:, 0] + rng.normal(size=ROWS)
    results: dict[str, Any] = {"config": config()}
    wide = median_distance(np.concatenate([X, Z]), MAX_ROWS, 0)
    narrow = median_distance(y[:, None], MAX_ROWS, 0)
    kernel, target = pkex.kernels.RBF(wide), pkex.kernels.RBF(narrow)
    mmd = partial(pkex.mmd, X, Z, kernel=kernel, random_state=0, n_jobs=1)
    hsic = partial(pkex.hsic, X, y, kernel=kernel, target_kernel=target, random_state=0, n_jobs=1)
    hsic = partial(hsic, estimator="biased")
    of_mmd, of_hsic = partial(plain_mmd, X, Z, wide), partial(plain_hsic, X, y, wide, narrow)
    cuts = np.quantile(y, np.arange(1, CLASSES) / CLASSES)
    classes = np.searchsorted(cuts, y).astype(np.float64)
    by_class = partial(
        pkex.hsic, X, classes, kernel=kernel, target_kernel="categorical", random_state=0, n_jobs=1
    )
    by_class = partial(by_class, estimator="biased")
    of_classes = partial(plain_classes, X, classes, wide)
    names = ("mmd", "mmd, neutral", "hsic", "hsic, neutral", "hsic, 20 classes")
    results |= dict.fromkeys(names)
    for name, ours, plain in (  # that of the least memory first, as a process gives none back
        ("mmd, neutral", partial(mmd, removal="neutral"), of_mmd),
        ("hsic, neutral", partial(hsic, removal="neutral"), of_hsic),
        ("mmd", mmd, of_mmd),
        ("hsic", hsic, of_hsic),
        ("hsic, 20 classes", by_class, of_classes),
    ):
        permuted = partial(ours, n_permutations=PERMUTATIONS)
        found = {
            "memory": peak_memory(permuted),
            "plain": seconds(plain),
            "attribution": seconds(ours),
            "permutations": seconds(permuted, limit=20.0),
            "labels": seconds(partial(labels_alone, permuted), limit=20.0),
            "difference": abs(ours().statistic - plain()),
        }
        results[name] = found
        print(
            f"{name}, {ROWS} rows{' each' if name.startswith('mmd') else ''}, {COLUMNS} columns: "
            f"{found['attribution']:.2f} s, {found['attribution'] / found['plain']:.1f} times one "
            f"plain evaluation without attribution; with {PERMUTATIONS} permutations "
            f"{found['permutations'] / found['attribution']:.1f} times that, "
            f"{found['labels'] / found['attribution']:.1f} without tests of single columns, and "
            f"{found['memory']:.0f} MB; totals differ by {found['difference']:.1e}",
            flush=True,
        )
    results["everything"] = everything(X, Z, y)
    times = {n: seconds(partial(pkex.mmd, X[:n], Z[:n], kernel=kernel, n_jobs=1)) for n in SIZES}
    results["growth"] = {"seconds": times, "exponent": growth(times, SIZES[0], SIZES[-1])}
    print(
        f"growth of mmd from {SIZES[0]} to {SIZES[-1]} rows: n^{results['growth']['exponent']:.2f}"
    )
    store("statistics", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
