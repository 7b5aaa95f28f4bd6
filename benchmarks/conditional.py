"""Conditional values of a row, in units of a neutral row among 100; beside shapiq's imputer.

    python -m benchmarks.conditional

`python -m benchmarks.correlated` runs it after its own part.

450 points, 50 columns, RBF kernel, one thread: a Markov chain of 50 lags, and blocks of 5 columns.
Times are CPU times, the shortest of several. NumPy's times are those of the same calls with
``PKEX_BACKEND=numpy``, in units of the compiled neutral row. shapiq estimates the worth of every
coalition by draws from the conditional Gaussian distribution; its error is the largest difference
to pkex, relative to the largest value, in a game of 8 columns whose coalitions are all evaluated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store

Floats = NDArray[np.float64]

POINTS, FEATURES, BLOCK, REPEATS = 450, 50, 5, 7
LIMITS = {"chain": 400.0, "blocks": 60.0}
DRAWS = (100, 1000)


def cpu_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the shortest CPU time of a call, as the machine may be shared."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def expansion(rows: Floats, rng: np.random.Generator) -> pkex.KernelExpansion:
    """Return a function with the rows as points."""
    kernel = pkex.kernels.RBF(float(np.sqrt(rows.shape[1])) * float(rows.std()))
    return pkex.KernelExpansion(rows, rng.normal(size=len(rows)), kernel)


def make_tables(rng: np.random.Generator) -> dict[str, Floats]:
    """Return tables of a series' lags, and of blocks of correlated columns."""
    noise = rng.normal(size=(POINTS, FEATURES))
    chain = noise.copy()
    for k in range(1, FEATURES):
        chain[:, k] = 0.8 * chain[:, k - 1] + 0.6 * noise[:, k]
    common = np.repeat(rng.normal(size=(POINTS, FEATURES // BLOCK)), BLOCK, axis=1)
    return {"chain": chain, "blocks": noise + common}


def explainer_of(kind: str, rows: Floats, rng: np.random.Generator) -> pkex.Explainer:
    """Return the explainer of a model of dependence."""
    blocks = [list(range(k, k + BLOCK)) for k in range(0, FEATURES, BLOCK)]
    options: dict[str, Any] = {"blocks": blocks} if kind == "blocks" else {}
    return pkex.Explainer(
        expansion(rows, rng),
        rows,
        removal="conditional",
        conditional_model=kind,
        n_jobs=1,
        **options,
    )


def beside_shapiq(rng: np.random.Generator) -> dict[str, Any]:
    """Return times and errors of shapiq's Gaussian imputer in a game of 8 columns."""
    try:
        from shapiq.imputer import GaussianImputer
    except ImportError:
        return {}
    n_columns = 8
    rows = rng.normal(size=(POINTS, n_columns)) + rng.normal(size=(POINTS, 1))
    model, x = expansion(rows, rng), rows[:1]
    explainer = pkex.Explainer(
        model, rows, removal="conditional", blocks=[list(range(n_columns))], n_jobs=1
    )
    exact = explainer(x).values[0]
    results = {"pkex": {"seconds": cpu_seconds(lambda: explainer(x)), "relative_difference": 0.0}}
    coalitions = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns)) % 2 == 1
    sizes = coalitions.sum(axis=1)
    factorial = np.array([float(np.prod(np.arange(1, k + 1))) for k in range(n_columns + 1)])
    for draws in DRAWS:
        imputer = GaussianImputer(
            model=model.predict, data=rows, x=x, sample_size=draws, random_state=0, verbose=False
        )
        start = time.process_time()
        worths = imputer.value_function(coalitions)
        taken = time.process_time() - start
        values = np.zeros(n_columns)
        for j in range(n_columns):
            without = np.flatnonzero(~coalitions[:, j])
            s = sizes[without]
            weight = factorial[s] * factorial[n_columns - 1 - s] / factorial[n_columns]
            values[j] = weight @ (worths[without + 2**j] - worths[without])
        off = float(np.abs(values - exact).max() / np.abs(exact).max())
        results[f"shapiq, {draws} draws"] = {"seconds": taken, "relative_difference": off}
    return results


def main() -> None:
    """Measure, print and store."""
    rng = np.random.default_rng(0)
    tables = make_tables(rng)
    neutral = pkex.Explainer(expansion(tables["blocks"], rng), removal="neutral", n_jobs=1)
    unit = cpu_seconds(lambda: neutral(tables["blocks"][:100])) / 100
    results: dict[str, Any] = {"config": config(), "neutral": unit, "times": {}}
    print(f"{'neutral row among 100':<28}{1e6 * unit:>10.1f} us")
    for kind, rows in tables.items():
        explainer, few = explainer_of(kind, rows, rng), rows[:10]
        for backend in ("compiled", "numpy"):
            if backend == "numpy":
                os.environ["PKEX_BACKEND"] = "numpy"
            try:
                repeats = REPEATS if backend == "compiled" else 2
                taken = cpu_seconds(lambda e=explainer, x=few: e(x), repeats) / len(few)  # type: ignore[misc]
            finally:
                os.environ.pop("PKEX_BACKEND", None)
            ratio = taken / unit
            limit = f" (at most {LIMITS[kind]:.0f})" if backend == "compiled" else ""
            results["times"][f"{kind}, {backend}"] = {"seconds": taken, "ratio": ratio}
            print(
                f"{kind + ', ' + backend:<28}{1e6 * taken:>10.1f} us, {ratio:>7.1f} neutral rows"
                f"{limit}",
                flush=True,
            )
    results["shapiq"] = beside_shapiq(rng)
    for name, entry in results["shapiq"].items():
        print(
            f"{name + ', 8 columns':<28}{1e3 * entry['seconds']:>10.2f} ms, off by "
            f"{entry['relative_difference']:.1e}"
        )
    store("conditional", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
