"""How long drift detection takes against reference data that are kept.

    python -m benchmarks.drift

Standard normal data, one thread, CPU seconds, the minimum over repeats. `detect` and `explain` of
batches of several sizes against a reference of 5,000 rows x 20 columns that was saved and loaded;
with a batch in which two columns are shifted, `explain` is also measured, and what a changed column
costs. `detect` of 3,000 + 3,000 rows x 300 columns. 999 permutations. Memory is what the process
grows by at its peak.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import peak_memory

Floats = NDArray[np.float64]

REFERENCE, COLUMNS = 5000, 20
BATCHES = (50, 200, 500, 1000, 5000)
WIDE_ROWS, WIDE_COLUMNS = 3000, 300


def cpu(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the CPU seconds of a call, the minimum over repeats."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return float(best)


def batches(rng: np.random.Generator) -> dict[str, Any]:
    """Measure batches against a reference that was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reference.npz")
        reference = rng.normal(size=(REFERENCE, COLUMNS))
        pkex.MMDDrift(random_state=0, n_jobs=1).fit(reference).save(path)
        loading = cpu(lambda: pkex.MMDDrift.load(path))
        drift = pkex.MMDDrift.load(path)
    results: dict[str, Any] = {"load": loading, "detect": {}}
    for size in BATCHES:
        batch = rng.normal(size=(size, COLUMNS))
        results["detect"][str(size)] = cpu(lambda b=batch: drift.detect(b))  # type: ignore[misc]
        print(f"detect, {size} rows: {results['detect'][str(size)]:.2f} s", flush=True)
    batch = rng.normal(size=(200, COLUMNS))
    results["memory"] = peak_memory(lambda: drift.detect(batch))
    results["explain"] = cpu(lambda: drift.explain(batch), 1)
    batch[:, :2] += 1.0
    changed = cpu(lambda: drift.explain(batch), 1)
    results["explain, a changed column"] = max(0.0, changed - results["explain"]) / 2
    print(
        f"detect takes {results['memory']:.0f} MB; explain, 200 rows: {results['explain']:.1f} s, "
        f"and {results['explain, a changed column']:.2f} s for each of two changed columns",
        flush=True,
    )
    return results


def many_columns(rng: np.random.Generator) -> dict[str, float]:
    """Measure many columns."""
    X, Z = rng.normal(size=(2, WIDE_ROWS, WIDE_COLUMNS))
    drift = pkex.MMDDrift(random_state=0, n_jobs=1).fit(X)
    seconds = cpu(lambda: drift.detect(Z), 1)
    print(f"detect, {WIDE_ROWS} + {WIDE_ROWS} rows x {WIDE_COLUMNS} columns: {seconds:.1f} s")
    return {"detect": seconds}


def main() -> None:
    """Measure, print and store."""
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        stored = {"batches": batches(rng), "wide": many_columns(rng)}
    store("drift", {"config": config(), **stored})


if __name__ == "__main__":
    main()
