"""What calls cost beside an earlier version of pkex: part of `benchmarks.removal`.

    python -m benchmarks.before

prints the times of one version as JSON. It is run in turns by the interpreter here and by that of
an environment with the earlier one (``make build/before/.installed``), so only what both have is
used. The cases are those that gain least from series in signed exponents: steep kernels, kernels of
other shapes, and groups of columns. One thread, 450 points, standard normal data; times are those
of the processor, as the machine is shared.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import pkex
from pkex import kernels

__all__ = ["compared"]

MOST = 1.05  # of the earlier time, which is called the same
POINTS, BACKGROUND, TURNS = 450, 50, 4
ROWS = {"neutral": 20, "product-of-marginals": 20, "interventional": 1}
ENOUGH = 0.15  # seconds of each case in a turn


def _kernels(d: int) -> dict[str, tuple[Any, dict[str, list[int]] | None]]:
    """Return kernels with the groups of columns that act as one."""
    product_matern = getattr(kernels, "ProductMatern", kernels.Matern)  # as it was called before
    wide = float(np.sqrt(d / 2.0))
    half = d // 2
    mixed = kernels.RBF(wide).on(*range(half)) * kernels.Laplacian(4.0 * wide).on(*range(half, d))
    groups = {f"g{k}": list(range(k, d, d // 10)) for k in range(d // 10)}
    return {
        "RBF": (kernels.RBF(wide), None),
        "RBF, 10 times as steep": (kernels.RBF(wide / np.sqrt(10.0)), None),
        "RBF, 100 times as steep": (kernels.RBF(wide / 10.0), None),
        "Laplacian": (kernels.Laplacian(float(d)), None),
        "Laplacian, steep": (kernels.Laplacian(2.0), None),
        "Cauchy": (kernels.Cauchy(wide), None),
        "product of Matern 5/2": (product_matern(wide, 2.5), None),
        "periodic": (kernels.Periodic(wide, 3.0), None),
        "chi squared": (kernels.Chi2(1.0 / d), None),
        "categorical": (kernels.Categorical(0.8), None),
        "RBF and Laplacian": (mixed, None),
        "RBF, groups of 10": (kernels.RBF(wide), groups),
        "Laplacian, groups of 10": (kernels.Laplacian(float(d)), groups),
    }


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield names and calls."""
    for d in (20, 100):
        rng = np.random.default_rng(d)
        tables = [rng.normal(size=(n, d)) for n in (POINTS, BACKGROUND, max(ROWS.values()))]
        weights = rng.normal(size=POINTS)
        for name, (kernel, groups) in _kernels(d).items():
            domain = {"chi squared": np.abs, "categorical": np.rint}.get(name, np.asarray)
            points, background, rows = (domain(table) for table in tables)
            expansion = pkex.KernelExpansion(points, weights, kernel)
            for removal, count in ROWS.items():
                where = None if removal == "neutral" else background
                explainer = pkex.Explainer(
                    expansion, where, removal=removal, groups=groups, n_jobs=1
                )
                yield f"{name}, d = {d}, {removal}", partial(explainer, rows[:count])


def measured() -> dict[str, float]:
    """Return the shortest processor times, in seconds."""
    found = {}
    for name, run in cases():
        best, spent = np.inf, 0.0
        while spent < ENOUGH:
            start = time.process_time()
            run()
            taken = time.process_time() - start
            best, spent = min(best, taken), spent + taken
        found[name] = float(best)
    return found


def compared(before: str) -> dict[str, Any]:
    """Measure both versions in turns, the earlier one by the interpreter `before`; print ratios."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(TURNS):
        for version, python in (("before", before), ("now", sys.executable)):
            command = [python, "-m", "benchmarks.before"]
            output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            for name, taken in json.loads(output).items():
                known = best.setdefault(name, {})
                known[version] = min(known.get(version, np.inf), taken)
    for name, times in best.items():
        times["ratio"] = times["now"] / times["before"]
        print(
            f"{name:<50}{1e3 * times['now']:>9.2f} ms, {times['ratio']:>5.2f} of what it took "
            f"(at most {MOST}: {'yes' if times['ratio'] <= MOST else 'NO'})",
            flush=True,
        )
    return {"most": MOST, "cases": best}


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steep kernels, whose predictions are tiny
        print(json.dumps(measured()))
