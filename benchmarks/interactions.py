"""All pairs of a row: beside the bare matrix product, and beside shapiq's estimate.

    python -m benchmarks.interactions

SVR with an RBF kernel (gamma = 1/d), 450 training points, standard normal data, one row, one
thread. All pairs of a row are one matrix product of as many rows as there are points times nodes;
the bare product is one of random matrices of that shape, ``(players, points * nodes)`` times its
transpose's shape.

With 100 background rows shapiq's `TabularExplainer` estimates the same pairs from a budget of
coalitions: 1000, 2000 and 3000, all of which are stored. Its error is the largest difference to the
exact pairs, relative to the largest of them.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import shapiq
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import fit
from benchmarks.record import config, store
from benchmarks.timing import seconds

Floats = NDArray[np.float64]

POINTS = 450
SIZES = (10, 30, 100, 1000)
BUDGETS = (1000, 2000, 3000)
WITH_BACKGROUND = 50  # features beside shapiq


def bare(d: int, nodes: int) -> float:
    """Return the time of a matrix product of the shape of all pairs."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, POINTS * nodes, d))
    return seconds(lambda: left.T @ right, repeats=5)


def beside_the_product(d: int, removal: str) -> dict[str, float]:
    """Return the times of all pairs of a row, and of the bare product."""
    model, _ = fit("SVR", POINTS, d)
    row = np.random.default_rng(1).normal(size=(1, d))
    explainer = pkex.Explainer(model, removal=removal, n_jobs=1)
    nodes = max(rule.size for rule in explainer.interactions(row).rules)
    taken = seconds(partial(explainer.interactions, row), repeats=5)
    product = bare(d, nodes)
    return {"seconds": taken, "bare": product, "ratio": taken / product, "nodes": float(nodes)}


def beside_shapiq(d: int) -> dict[str, dict[str, float]]:
    """Return times and errors with 100 background rows."""
    model, X = fit("SVR", POINTS, d)
    row, background = np.random.default_rng(1).normal(size=(1, d)), X[:100]
    explainer = pkex.Explainer(model, background, n_jobs=1)
    exact = explainer.interactions(row)
    assert exact.pairs is not None
    largest = float(np.abs(exact.pairs).max())
    ours = seconds(partial(explainer.interactions, row), repeats=5)
    found = {"pkex": {"seconds": ours, "relative_difference": 0.0, "ratio": 1.0}}
    for budget in BUDGETS:
        estimator = shapiq.TabularExplainer(
            model.predict, background, sample_size=100, max_order=2, random_state=0
        )
        values: list[Any] = []

        def estimate(
            estimator: Any = estimator, budget: int = budget, values: list[Any] = values
        ) -> None:
            values.append(estimator.explain(row[0], budget=budget))

        taken = seconds(estimate, repeats=1)
        pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
        off = max(abs(float(values[0][i, j]) - exact.pairs[0, i, j]) for i, j in pairs)
        found[f"shapiq, budget {budget}"] = {
            "seconds": taken,
            "relative_difference": off / largest,
            "ratio": taken / ours,
        }
    return found


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config("shapiq", "scikit-learn"), "product": {}}
    for d in SIZES:
        for removal in ("neutral", "product-of-marginals"):
            one = beside_the_product(d, removal)
            results["product"][f"{removal}, d = {d}"] = one
            print(
                f"d = {d:<5}{removal:<10}{1e3 * one['seconds']:>9.2f} ms, {one['ratio']:>6.2f} "
                f"times the bare product ({one['nodes']:.0f} nodes)",
                flush=True,
            )
    results["background"] = beside_shapiq(WITH_BACKGROUND)
    for name, entry in results["background"].items():
        print(
            f"d = {WITH_BACKGROUND}, 100 background rows, {name:<22}{entry['seconds']:>8.3f} s, "
            f"{entry['ratio']:>6.1f} times pkex, off by {entry['relative_difference']:.1%}",
            flush=True,
        )
    store("interactions", results)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
