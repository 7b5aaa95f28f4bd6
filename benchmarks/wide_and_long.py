"""What 200 000 points, 10 000 columns and 10^6 rows cost, each alone; one thread.

    python -m benchmarks.wide_and_long

Each is measured at its full size and at half of it, to see the law at work that the page states:
time in proportion to rows, to points and to columns. `benchmarks.cluster` measures what a second
worker brings, and `benchmarks.streaming` long files.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import pkex
from benchmarks.record import config, store
from benchmarks.timing import peak_memory

__all__ = ["main"]

NAME = "wide_and_long"
REPEATS = 3  # of what takes less than ten seconds


def explainer_of(n_points: int, n_columns: int, removal: str) -> pkex.Explainer:
    """Return an explainer of a kernel expansion of random points."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_points, n_columns))
    kernel = pkex.kernels.RBF(float(np.sqrt(2.0 * n_columns)))
    f = pkex.KernelExpansion(points, rng.normal(size=n_points), kernel)
    return pkex.Explainer(f, removal=removal, n_jobs=1)


def sizes() -> list[dict[str, Any]]:
    """Measure the three sizes, each after half of it."""
    found = []
    for what, n_points, n_columns, n_rows, removal in (
        ("points", 100_000, 20, 1, "neutral"),
        ("points", 200_000, 20, 1, "neutral"),
        ("points", 100_000, 20, 1, "product-of-marginals"),
        ("points", 200_000, 20, 1, "product-of-marginals"),
        ("columns", 200, 5_000, 1, "product-of-marginals"),
        ("columns", 200, 10_000, 1, "product-of-marginals"),
        ("rows", 500, 20, 500_000, "product-of-marginals"),
        ("rows", 500, 20, 1_000_000, "product-of-marginals"),
    ):
        explainer = explainer_of(n_points, n_columns, removal)
        rows = np.random.default_rng(1).normal(size=(n_rows, n_columns))
        explainer(rows[:1])  # what is made once
        taken: list[float] = []

        def run(explainer: pkex.Explainer = explainer, rows: Any = rows) -> None:
            start = time.process_time()  # of the processor, as machines are shared
            explainer(rows)
            taken.append(time.process_time() - start)  # noqa: B023

        memory = peak_memory(run)
        while len(taken) < REPEATS and taken[0] < 10.0:
            run()
        entry = {"what": what, "points": n_points, "columns": n_columns, "rows": n_rows}
        found.append(entry | {"removal": removal, "seconds": min(taken), "memory": memory})
        print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure and store."""
    store(NAME, {"sizes": sizes(), "config": config()})


if __name__ == "__main__":
    main()
