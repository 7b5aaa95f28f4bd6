"""Time, error and growth of the engine beside the paper's algorithms.

    python -m benchmarks.scaling

One row of a model with 450 points, standard normal data, an RBF kernel with gamma = 1/d. Times are
for one thread and the minimum over repeats; a method is left out from the size on where it takes
more than 20 s. Errors are the largest of any value, measured in 40-digit arithmetic on the first
two points alone, relative to the sum of absolute coefficients. The last line is the peak of the
memory that 100 rows of d = 1000 with 5000 points take beyond the data. All is stored in
``benchmarks/results/scaling.json``.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import growth, seconds
from pkex import reference
from pkex.kernels import RBF
from tests._support import naive

Floats = NDArray[np.float64]
Builder = Callable[[Floats, Floats, Floats, float], Callable[[], Floats]]

SIZES = (10, 20, 50, 100, 200, 500, 1000)
N_POINTS = 450
LIMIT = 20.0


def by_engine(backend: str) -> Builder:
    """Return a builder of functions that explain a row with pkex and this backend."""

    def build(points: Floats, alpha: Floats, row: Floats, gamma: float) -> Callable[[], Floats]:
        expansion = pkex.KernelExpansion(points, alpha, RBF.from_gamma(gamma))
        explain = pkex.Explainer(expansion, n_jobs=1, removal="neutral")

        def run() -> Floats:
            os.environ["PKEX_BACKEND"] = backend
            values: Floats = explain(row).values[0]
            return values

        return run

    return build


def by_reference(method: Callable[[Floats, Floats], Floats]) -> Builder:
    """Return a builder for an algorithm of the paper, kernel factors included."""

    def build(points: Floats, alpha: Floats, row: Floats, gamma: float) -> Callable[[], Floats]:
        kernel = RBF.from_gamma(gamma)
        return lambda: method(kernel.factors(row, points), alpha)

    return build


METHODS = {
    "engine": by_engine("auto"),
    "NumPy backend": by_engine("numpy"),
    "prefix_suffix": by_reference(reference.prefix_suffix),
    "newton": by_reference(reference.newton),
}


def oracle(points: Floats, alpha: Floats, row: Floats, gamma: float) -> Floats:
    """Return the values in 40-digit arithmetic, rounded at the end."""
    scale = float(RBF.from_gamma(gamma).length_scale)  # type: ignore[arg-type]
    deficits = [
        [
            naive.kernel_deficit("rbf", float(x), float(z), length_scale=scale)
            for x, z in zip(row[0], point, strict=True)
        ]
        for point in points
    ]
    return np.array([float(v) for v in naive.shapley(deficits, alpha.tolist(), digits=40)])


def memory() -> float:
    """Return the peak of traced memory, in MB, of explaining 100 rows with the NumPy backend.

    The native kernel's workspace is not traced, and is smaller.
    """
    os.environ["PKEX_BACKEND"] = "numpy"
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(5000, 1000)), rng.normal(size=(100, 1000))
    explain = pkex.Explainer(
        pkex.KernelExpansion(points, np.ones(5000), RBF.from_gamma(1e-3)), removal="neutral"
    )
    tracemalloc.start()
    explain(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config() | {"limit_seconds": str(LIMIT)}}
    times: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    errors: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    print(f"{'d':>5}" + "".join(f"{name + ' ms':>18}{'error':>10}" for name in METHODS))
    for d in SIZES:
        rng = np.random.default_rng(d)
        points, row = rng.normal(size=(N_POINTS, d)), rng.normal(size=(1, d))
        alpha = rng.normal(size=N_POINTS)
        exact = oracle(points[:2], alpha[:2], row, 1.0 / d)
        line = f"{d:>5}"
        for name, build in METHODS.items():
            last = list(times[name].values())[-1:] or [0.0]
            if last[0] * 4.0 > LIMIT:
                line += f"{'-':>18}{'':>10}"
                continue
            times[name][d] = seconds(build(points, alpha, row, 1.0 / d))
            values = build(points[:2], alpha[:2], row, 1.0 / d)()
            errors[name][d] = float(np.abs(values - exact).max() / np.abs(alpha[:2]).sum())
            line += f"{1e3 * times[name][d]:>18.3f}{errors[name][d]:>10.1e}"
        print(line, flush=True)
    for name, measured in times.items():
        power = growth(measured, 100, 1000)
        print(
            f"{name}: grows like d^{power:.2f} from 100 to 1000" if power else f"{name}: stopped",
            *(
                f"; at d = {d} {t / times['engine'][d]:.0f} times the engine, "
                f"{t / times['NumPy backend'][d]:.0f} times that"
                for d, t in measured.items()
                if d in (100, 200, 1000)
            ),
            sep="",
        )
    results |= {"seconds": times, "error": errors, "memory_mb": memory()}
    print(f"memory for 100 rows, d = 1000, n = 5000: {results['memory_mb']:.0f} MB beyond the data")
    store("scaling", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
