"""Hierarchies beside Shapley values and shap, then conditional values beside shapiq.

    python -m benchmarks.correlated

An expansion of 450 points, RBF kernel, one thread, CPU time. A binary hierarchy of 100 columns is
compared with Shapley values under each removal, for two widths of the kernel: the default of
scikit-learn's `gamma="scale"`, and one three times as narrow. shap's Partition explainer has the
same clustering, 10 columns and 10 background rows, with its default number of evaluations and
with enough of them to be exact. `benchmarks.conditional` has the second part.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from threadpoolctl import threadpool_limits

import pkex
from benchmarks import conditional
from pkex.kernels import RBF

__all__ = ["main"]

N_POINTS, N_COLUMNS, N_ROWS, N_BACKGROUND = 450, 100, 100, 20
REPEATS = {"native": 15, "numpy": 3}


def cpu_seconds(*calls: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Return the least CPU time of each call; they take turns, so that a busy moment meets all."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats + 1):  # the first is to warm up
        for call, spent in zip(calls, times, strict=True):
            start = time.process_time()
            call()
            if turn:
                spent.append(time.process_time() - start)
    return [min(spent) for spent in times]


def binary_tree(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return columns clustered by correlation."""
    corner = np.triu_indices(X.shape[1], 1)
    tree: np.ndarray[Any, Any] = linkage(1.0 - np.abs(np.corrcoef(X.T))[corner], "average")
    return tree


def hierarchies(backend: str) -> None:
    """Print the times of rows with a binary hierarchy and without, on one backend."""
    os.environ["PKEX_BACKEND"] = backend
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(N_POINTS, N_COLUMNS)), rng.normal(size=N_POINTS)
    tree = binary_tree(X)
    n_rows = N_ROWS if backend == "native" else 10
    print(f"{backend}: {N_POINTS} points, {N_COLUMNS} columns, {n_rows} rows")
    for scale in (7.1, 2.4):
        neutral = 0.0
        model = pkex.KernelExpansion(X, alpha, RBF(scale))
        for removal in ("neutral", "product-of-marginals", "interventional"):
            rows = X[:N_BACKGROUND] if removal == "interventional" else None
            options: dict[str, Any] = {"removal": removal, "n_jobs": 1}
            plain = pkex.Explainer(model, rows, **options)
            grouped = pkex.Explainer(model, rows, hierarchy=tree, **options)
            calls = [partial(explainer, X[:n_rows]) for explainer in (plain, grouped)]
            times = cpu_seconds(*calls, repeats=REPEATS[backend])
            shapley, winter = (1e6 * seconds / n_rows for seconds in times)
            neutral = neutral or shapley
            print(
                f"  length scale {scale}, {removal}: Shapley {shapley:.0f} us a row, "
                f"hierarchy {winter:.0f} us, {winter / shapley:.2f} times, "
                f"{winter / neutral:.2f} neutral Shapley rows"
            )


def beside_shap() -> None:
    """Print times and errors of shap's Partition explainer."""
    import shap

    os.environ["PKEX_BACKEND"] = "native"
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(N_POINTS, 10)), rng.normal(size=N_POINTS)
    model = pkex.KernelExpansion(X, alpha, RBF(2.2))
    masker = shap.maskers.Partition(X[:10], clustering=binary_tree(X))
    explainer = pkex.Explainer(model, masker, n_jobs=1)
    ours = explainer(X[:3])
    mine = cpu_seconds(partial(explainer, X[:3]), repeats=15)[0] / 3
    print(f"10 columns, 10 background rows: pkex {1e3 * mine:.3f} ms a row")
    for evaluations in (500, 2**14):
        theirs = shap.explainers.Partition(model.predict, masker)
        call = partial(theirs, X[:3], max_evals=evaluations, silent=True)
        found, spent = call(), cpu_seconds(call, repeats=2)[0] / 3
        error = np.abs(found.values - ours.values).max() / np.abs(ours.values).max()
        print(
            f"  shap.explainers.Partition, max_evals={evaluations}: {1e3 * spent:.1f} ms a row, "
            f"{spent / mine:.0f} times as long, largest error {error:.1e} of the largest value"
        )


def main() -> None:
    """Run all sections."""
    with threadpool_limits(1):
        for backend in ("native", "numpy"):
            hierarchies(backend)
        beside_shap()
        os.environ.pop("PKEX_BACKEND", None)
        conditional.main()


if __name__ == "__main__":
    main()
