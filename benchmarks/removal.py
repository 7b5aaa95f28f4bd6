"""Interventional values beside shap's estimates of the same quantity.

    python -m benchmarks.removal [--before PYTHON]

SVR with an RBF kernel (gamma = 1/d), 450 training points, 100 background rows, standard normal
data, one row. shap's explainers run with their default budgets on the same background. Printed are
the times for one thread, their ratio to pkex, and how far each estimate is from the exact values,
relative to the largest of them.

By default `KernelExplainer` keeps ten features and gives all others the value 0
(``l1_reg="num_features(10)"``), which is a choice and no error of sampling; so it runs a second
time with all features (``l1_reg=False``).

Before that, what an interventional and a marginal game cost beside a neutral one (game_costs.py;
``python -m benchmarks.game_costs`` for these alone), and with ``--before`` what calls cost beside
the version in the environment of that interpreter, which ``make build/before/.installed`` builds
(before.py).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import fit
from benchmarks.before import compared
from benchmarks.game_costs import measured
from benchmarks.record import config, store
from benchmarks.timing import seconds

Floats = NDArray[np.float64]

SIZES = (10, 30, 50, 100)


def methods(model: Any, background: Floats) -> dict[str, Callable[[Floats], Floats]]:
    """Return functions from a row to its values."""
    ours = pkex.Explainer(model, background, n_jobs=1)
    marginal = pkex.Explainer(model, background, removal="marginal", n_jobs=1)
    kernel = shap.KernelExplainer(model.predict, background)
    permutation = shap.PermutationExplainer(model.predict, background)
    evaluations = 10 * (2 * background.shape[1] + 1)
    return {
        "pkex interventional": lambda row: ours(row).values[0],
        "pkex marginal": lambda row: marginal(row).values[0],
        "shap Permutation": lambda row: permutation(row, max_evals=evaluations, silent=True).values[
            0
        ],
        "shap Kernel": lambda row: kernel.shap_values(row, silent=True)[0],
        "shap Kernel, all features": lambda row: kernel.shap_values(row, l1_reg=False, silent=True)[
            0
        ],
    }


def main(before: str | None) -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config("shap", "scikit-learn"), "games": measured()}
    if before is not None:
        results["before"] = compared(before)
    for d in SIZES:
        model, X = fit("SVR", 450, d)
        row = np.random.default_rng(1).normal(size=(1, d))
        found: dict[str, dict[str, float]] = {}
        exact: Floats | None = None
        for name, explain in methods(model, X[:100]).items():
            values = explain(row)
            exact = values if exact is None else exact
            taken = seconds(partial(explain, row), repeats=5, limit=5.0)
            error = float(np.abs(values - exact).max() / np.abs(exact).max())
            found[name] = {"seconds": taken, "relative_difference": error}
        ours = found["pkex interventional"]["seconds"]
        for name, one in found.items():
            one["ratio"] = one["seconds"] / ours
            print(
                f"d = {d:<5}{name:<26}{1e3 * one['seconds']:>10.2f} ms, {one['ratio']:>8.1f} times "
                f"pkex, off by {one['relative_difference']:.1e}",
                flush=True,
            )
        results[f"d = {d}"] = found
    store("removal", results)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--before", metavar="PYTHON", help="of an earlier version of pkex")
        main(parser.parse_args().before)
