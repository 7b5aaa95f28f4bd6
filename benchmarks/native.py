"""How close the compiled backend is to its limits.

    python -m benchmarks.native

- the time of a row over the time that the same code needs to evaluate its factors alone;
- growth of the time from d = 100 to d = 1000, at gamma = 1/d and with factors near 0;
- factor-node steps a second on a million games of 20 players, beside a bare multiply-add loop of
  the same number of operations, five a step as the plain recurrences have them: the factor
  ``1 - t u`` forward and back, the prefix, the suffix, and the sum of their products;
- two threads beside one; the overhead of a call beyond the native time.

One thread unless threads are the subject, minimum over repeats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
import pkex.games.native._kernel as kernel
from benchmarks.record import config, store
from benchmarks.timing import growth, seconds
from pkex.games import native
from pkex.games.rules import ladder
from pkex.kernels import RBF

Floats = NDArray[np.float64]

OPERATIONS = 5
SIZES = (20, 50, 100, 200, 500, 1000)


def problem(n: int, d: int, gamma: float, n_rows: int = 1) -> tuple[pkex.Explainer, Floats]:
    """Return an explainer for standard normal points, and rows to explain."""
    rng = np.random.default_rng([n, d])
    points, alpha = rng.normal(size=(n, d)), rng.normal(size=n)
    expansion = pkex.KernelExpansion(points, alpha, RBF.from_gamma(gamma))
    return pkex.Explainer(expansion, n_jobs=1, removal="neutral"), rng.normal(size=(n_rows, d))


def times(n: int, d: int, gamma: float) -> dict[str, float]:
    """Return the microseconds of a row: the call, the compiled backend, and the factors alone."""
    explain, row = problem(n, d, gamma)
    part = explain.expansion.parts[0]
    game = native.NativeGame(part.kernel.terms(d)[0], explain.feature_groups, ladder(d))
    weights = part.coefficients[:, None]
    return {
        "call": 1e6 * seconds(lambda: explain(row), repeats=60, limit=2.0),
        "explain": 1e6
        * seconds(lambda: game.explain(row, part.points, weights), repeats=60, limit=2.0),
        "evaluate": 1e6 * seconds(lambda: game.evaluate(row, part.points), repeats=60, limit=2.0),
    }


def million_games() -> dict[str, float]:
    """Return steps a second of the compiled backend and of a bare multiply-add loop."""
    n, d, n_rows = 1000, 20, 1000
    rng = np.random.default_rng(0)
    points, rows = np.asfortranarray(rng.normal(size=(n, d))), rng.normal(size=(n_rows, d))
    gamma = 1.0 / (d * points.var())
    rungs = ladder(d)
    game = native.NativeGame(
        RBF.from_gamma(gamma).terms(d)[0], tuple((j,) for j in range(d)), rungs
    )
    weights = rng.normal(size=(n, 1))
    lam = -np.expm1(-gamma * (rows[:20, None] - points[None]) ** 2).sum(axis=2)
    nodes = np.array([rule.size for rule in rungs.rules])[np.searchsorted(rungs.limits, lam)]
    steps = float(n * n_rows * d * nodes.mean())
    taken = seconds(lambda: game.explain(rows, points, weights), repeats=7)
    bare = seconds(lambda: kernel.multiply_add(int(OPERATIONS * steps)), repeats=7)
    return {
        "nodes_per_pair": float(nodes.mean()),
        "steps_per_second": steps / taken,
        "bare_steps_per_second": steps / bare,
        "share": bare / taken,
    }


def two_threads() -> float:
    """Return how many times as fast two threads are as one."""
    one, rows = problem(2000, 50, 1.0 / 50, 1000)
    two = pkex.Explainer(one.expansion, n_jobs=2, removal="neutral")
    return seconds(lambda: one(rows), repeats=7) / seconds(lambda: two(rows), repeats=7)


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config(), "row_us": {}}
    for n in (450, 5000):
        for d in SIZES:
            row = times(n, d, 1.0 / d)
            results["row_us"][f"n = {n}, d = {d}"] = row
            ratio = row["explain"] / row["evaluate"]
            print(
                f"n = {n:<5}d = {d:<5}call {row['call']:>9.1f} us, compiled backend "
                f"{row['explain']:>9.1f}, factors alone {row['evaluate']:>8.1f}, ratio {ratio:.2f}",
                flush=True,
            )
    for name, gamma in (("gamma = 1/d", None), ("factors near 0", 10.0)):
        taken = {d: times(450, d, gamma or 1.0 / d)["explain"] for d in (100, 1000)}
        results[f"growth, {name}"] = taken[1000] / taken[100]
        power = growth(taken, 100, 1000)
        print(
            f"{name}: d = 1000 takes {taken[1000] / taken[100]:.1f} times d = 100 (d^{power:.2f})"
        )
    results["million"] = million_games()
    print("a million games of 20 players:", results["million"])
    results["two_threads"] = two_threads()
    print(f"two threads: {results['two_threads']:.2f} times as fast as one")
    small = times(100, 10, 0.1)
    results["overhead_us"] = small["call"] - small["explain"]
    print(f"overhead of a call on one row, d = 10, n = 100: {results['overhead_us']:.0f} us")
    store("native", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
