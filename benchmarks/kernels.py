"""Kernels of a distance and powers beside the RBF kernel, and beside shap's samplers.

    python -m benchmarks.kernels

KernelExpansions of 450 points and 100 columns, standard normal data, one row, one thread, default
precision. A row under each kernel is compared with a row under the RBF kernel of the same length
scale and the same removal, in the same run; interventional values have 20 background rows. shap's
explainers run with their default budgets on a Matern 5/2 model and these rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import seconds
from pkex.kernels import RBF, Kernel, Matern, Polynomial, RationalQuadratic

Floats = NDArray[np.float64]

N_POINTS, N_COLUMNS, N_BACKGROUND = 450, 100, 20
WIDTH = N_COLUMNS**0.5
REMOVALS = ("neutral", "product-of-marginals", "interventional")
KERNELS: dict[str, tuple[Kernel, float | None]] = {
    "RBF": (RBF(WIDTH), None),
    "Matern 5/2": (Matern(WIDTH, nu=2.5), None),
    "Matern 5/2, tol=1e-6": (Matern(WIDTH, nu=2.5), 1e-6),
    "Matern 3/2": (Matern(WIDTH, nu=1.5), None),
    "Matern 1/2": (Matern(WIDTH, nu=0.5), None),
    "rational quadratic, alpha = 1": (RationalQuadratic(WIDTH), None),
    "polynomial, degree 3": (Polynomial(3, 1.0 / N_COLUMNS, 1.0), None),
}


def data() -> tuple[Floats, Floats, Floats, Floats]:
    """Return points, their coefficients, background rows, and a row to explain."""
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(N_POINTS, N_COLUMNS)), rng.normal(size=N_POINTS)
    background, row = rng.normal(size=(N_BACKGROUND, N_COLUMNS)), rng.normal(size=(1, N_COLUMNS))
    return points, alpha, background, row


def ours(removal: str) -> dict[str, dict[str, float]]:
    """Return the time of a row under every kernel, and its ratio to the RBF kernel."""
    points, alpha, background, row = data()
    found: dict[str, dict[str, float]] = {}
    for name, (kernel, tol) in KERNELS.items():
        if removal == "neutral" and isinstance(kernel, Polynomial):
            continue  # it has none
        f = pkex.KernelExpansion(points, alpha, kernel)
        rows = background if removal == "interventional" else None
        explainer = pkex.Explainer(f, rows, removal=removal, tol=tol, n_jobs=1)
        taken = seconds(partial(explainer, row), repeats=5, limit=5.0)
        first = found.get("RBF", {"seconds": taken})["seconds"]
        found[name] = {"seconds": taken, "ratio": taken / first}
        print(f"{removal:<16}{name:<32}{1e3 * taken:>9.2f} ms{taken / first:>9.1f}", flush=True)
    return found


def samplers() -> dict[str, dict[str, float]]:
    """Return times and differences of shap's explainers on the Matern 5/2 model."""
    points, alpha, background, row = data()
    f = pkex.KernelExpansion(points, alpha, KERNELS["Matern 5/2"][0])
    exact = pkex.Explainer(f, background, n_jobs=1)
    kernel = shap.KernelExplainer(f.predict, background)
    permutation = shap.PermutationExplainer(f.predict, background)
    budget = 10 * (2 * N_COLUMNS + 1)
    methods: dict[str, Callable[[], Floats]] = {
        "pkex interventional": lambda: exact(row).values[0],
        "shap Permutation": lambda: permutation(row, max_evals=budget, silent=True).values[0],
        "shap Kernel, all features": lambda: kernel.shap_values(row, l1_reg=False, silent=True)[0],
    }
    right = methods["pkex interventional"]()
    found = {}
    for name, explain in methods.items():
        off = float(np.abs(explain() - right).max() / np.abs(right).max())
        taken = seconds(explain, repeats=3, limit=10.0)
        found[name] = {"seconds": taken, "relative_difference": off}
        print(f"{name:<32}{1e3 * taken:>9.1f} ms, off by {off:.1e}", flush=True)
    return found


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config("shap")}
    results |= {removal: ours(removal) for removal in REMOVALS}
    results["samplers"] = samplers()
    store("kernels", results)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
