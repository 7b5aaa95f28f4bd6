"""Integrated gradients of a row with one baseline, beside a prediction and beside sums of steps.

    python -m benchmarks.gradients

SVR with an RBF kernel (gamma = 1/d), 450 training points, 50 features, standard normal data, 1000
rows, one thread. The time of a row is that of 1000 rows divided by 1000. A sum of 50 steps is what
gradient-based tools take by default, Gauss-Legendre (Captum) or the right end of each step; here
it sums pkex's gradients. Its error is the largest difference to the closed form, relative to the
largest value.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import fit
from benchmarks.record import config, store
from benchmarks.timing import seconds

Floats = NDArray[np.float64]

POINTS, FEATURES, ROWS, STEPS = 450, 50, 1000, 50


def sum_steps(explainer: Any, rows: Floats, baseline: Floats, rule: str) -> Floats:
    """Return integrated gradients as a sum of gradients at some steps of the path."""
    nodes, weights = np.polynomial.legendre.leggauss(STEPS)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    if rule == "Riemann":
        nodes, weights = np.arange(1, STEPS + 1) / STEPS, np.full(STEPS, 1.0 / STEPS)
    total = np.zeros_like(rows)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight * explainer.gradients(baseline + node * (rows - baseline)).values
    return total * (rows - baseline)


def main() -> None:
    """Measure, print and store."""
    model, X = fit("SVR", POINTS, FEATURES)
    rows, baseline = np.random.default_rng(1).normal(size=(ROWS, FEATURES)), X[:1].mean(axis=0)
    explainer = pkex.Explainer(model, baseline[None], n_jobs=1)
    exact = explainer.integrated_gradients(rows)
    largest = float(np.abs(exact.values).max())
    predict = seconds(partial(model.predict, rows)) / ROWS
    times = {
        "prediction": (predict, 0.0),
        "gradients": (seconds(partial(explainer.gradients, rows[:100])) / 100, 0.0),
        "integrated gradients": (
            seconds(partial(explainer.integrated_gradients, rows)) / ROWS,
            0.0,
        ),
    }
    for rule in ("Gauss-Legendre", "Riemann"):
        few = rows[:20]
        run = partial(sum_steps, explainer, few, baseline, rule)
        off = float(np.abs(run() - exact.values[:20]).max()) / largest
        times[f"{STEPS} steps, {rule}"] = (seconds(run, repeats=2) / len(few), off)
    results: dict[str, Any] = {"config": config("scikit-learn"), "times": {}}
    for name, (taken, off) in times.items():
        entry = {"seconds": taken, "ratio": taken / predict, "relative_difference": off}
        results["times"][name] = entry
        print(
            f"{name:<28}{1e6 * taken:>10.1f} us, {entry['ratio']:>7.2f} times a prediction, off by "
            f"{off:.1e}",
            flush=True,
        )
    results["additivity_error"] = exact.additivity_error
    store("gradients", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
