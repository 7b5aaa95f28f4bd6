"""pkex as it is installed without a compiler: the time and memory of one row, as JSON.

    python -m benchmarks.bare [--quick]

It is run by the interpreter of an environment in which pkex was installed without one
(``make build/bare/.installed``), from `benchmarks.peers`. Only what pkex itself needs is imported.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.timing import peak_memory, seconds

Floats = NDArray[np.float64]

SIZES = (10, 20, 50, 100, 200, 500, 1000)
N_POINTS = 450


def fit(name: str, n: int, d: int) -> tuple[Any, Floats]:
    """Return a fitted model with all n points in its expansion, and its training data."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + 0.1 * rng.normal(size=n)
    if name == "SVR":
        return SVR(gamma=1.0 / d, epsilon=0.0, C=1.0).fit(X, y), X
    kernel = gp.RBF(np.sqrt(d / 2.0))
    return GaussianProcessRegressor(kernel, alpha=1e-2, optimizer=None).fit(X, y), X


def main() -> None:
    """Measure and print."""
    config = pkex.show_config("dicts")
    if config["backend"] != "numpy" or os.environ.get("PKEX_BACKEND"):
        raise SystemExit(
            "this measures an install without the compiled backend, which is installed here."
        )
    sizes = SIZES[:3] if "--quick" in sys.argv else SIZES
    found: dict[str, Any] = {"config": config}
    for name in ("SVR", "GPR"):
        found[name] = {"seconds": {}, "memory_mb": {}}
        for d in sizes:
            model, _ = fit(name, N_POINTS, d)
            run = partial(
                pkex.Explainer(model, removal="neutral", n_jobs=1),
                np.random.default_rng(1).normal(size=(1, d)),
            )
            found[name]["seconds"][d] = seconds(run, repeats=9, limit=5.0)
            found[name]["memory_mb"][d] = peak_memory(run)
    print(json.dumps(found))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
