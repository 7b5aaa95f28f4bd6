"""What 200 000 points, 10 000 columns and 10^6 rows cost, and what a second worker of Dask brings.

    python -m benchmarks.wide_and_long          # the three sizes, each alone, one thread
    python -m benchmarks.wide_and_long --dask   # with the packages of `make cluster`

Each size is measured on the part of it that fits a minute, and extrapolated by the law that the
page states: time in proportion to rows, to points and to columns.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import pkex
from benchmarks.record import RESULTS, config, load, store
from benchmarks.timing import peak_memory

__all__ = ["main"]

NAME = "wide_and_long"


def explainer_of(n_points: int, n_columns: int, removal: str) -> tuple[pkex.Explainer, Any]:
    """Return an explainer of a kernel expansion of random points, and rows to explain."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_points, n_columns))
    kernel = pkex.kernels.RBF(float(np.sqrt(2.0 * n_columns)))
    f = pkex.KernelExpansion(points, rng.normal(size=n_points), kernel)
    return pkex.Explainer(f, removal=removal, n_jobs=1), rng.normal(size=(2000, n_columns))


def sizes() -> list[dict[str, Any]]:
    """Measure the three sizes and half of each, for the law."""
    found = []
    for what, n_points, n_columns, n_rows, removal in (
        ("points", 200_000, 20, 1, "neutral"),
        ("points", 100_000, 20, 1, "neutral"),
        ("columns", 200, 10_000, 1, "marginal"),
        ("columns", 200, 5_000, 1, "marginal"),
        ("rows", 500, 20, 1000, "marginal"),
        ("rows", 500, 20, 500, "marginal"),
    ):
        explainer, rows = explainer_of(n_points, n_columns, removal)
        rows = rows[:n_rows]
        explainer(rows)  # what is made once
        taken = []
        for _ in range(3):
            start = time.process_time()  # of the processor, as the machine is shared
            explainer(rows)
            taken.append(time.process_time() - start)
        memory = peak_memory(lambda e=explainer, r=rows: e(r))  # type: ignore[misc]
        entry = {"what": what, "points": n_points, "columns": n_columns, "rows": n_rows}
        found.append(entry | {"removal": removal, "seconds": min(taken), "memory": memory})
    return found


def dask() -> dict[str, Any]:
    """Time the same interventional values with one and with two worker processes of Dask."""
    import joblib
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 20))
    f = pkex.KernelExpansion(points, rng.normal(size=1000), pkex.kernels.RBF(6.0))
    explainer, rows = pkex.Explainer(f, points[:100]), rng.normal(size=(2048, 20))  # some 20 s
    times, values = {}, []
    for n_workers in (1, 2):
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as c,
            Client(c),
            joblib.parallel_config(backend="dask"),
        ):
            explainer(rows[:512])  # workers import pkex
            start = time.perf_counter()
            values.append(explainer(rows).values)
            times[str(n_workers)] = time.perf_counter() - start
    return {"rows": len(rows), "seconds": times, "same": bool((values[0] == values[1]).all())}


def main() -> None:
    """Measure, and add to the stored results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dask", action="store_true")
    asked = parser.parse_args()
    known = load(NAME) if (RESULTS / f"{NAME}.json").exists() else {}
    if asked.dask:
        known["dask"] = dask()
        known["dask_config"] = config("dask")
    else:
        known |= {"sizes": sizes(), "config": config()}
    store(NAME, known)


if __name__ == "__main__":
    main()
