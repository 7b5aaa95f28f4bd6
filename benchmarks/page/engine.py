"""The engine by itself: making an explainer, the paper's algorithms, limits, no compiler."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import NAMES, figure, table
from benchmarks.record import load

BUILDING = """\
## Making an explainer

By default removed features are averaged over the training points or support vectors of the model,
at most 500 rows, before the first row is explained. Nanoseconds for each factor between a point and
a row that it is averaged over: `pkex.Explainer(model)` by default, the same with all points as the
background, and plain sums of all factors, which it [does without](mathematics.md).
(`python -m benchmarks.building`)
"""


WITHOUT = """\
## Without a compiler

Nanoseconds for each factor of a pair of points in the NumPy backend, by the same
[series](mathematics.md) and by nodes alone; 450 points, four rows, gamma = 1/d.
(`python -m benchmarks.without_compiler`)
"""


SLOWER = """
With NumPy a call with one row takes {low:.1f} to {high:.0f} times as long as with the compiled
backend, for {fewest} to {most} features under neutral removal (`python -m benchmarks.peers`).
"""


SCALING = """\
## Beside the paper's algorithms

One row of a model with 450 points, as in the first table. Milliseconds, and the largest error of a
value, measured in 40-digit arithmetic on two points alone and relative to the sum of their absolute
coefficients; a dash where a row was expected to take more than {limit:g} s.
(`python -m benchmarks.scaling`)
"""


MEMORY = """
Without a compiler, 100 rows of 1000 features with 5000 points take {:.0f} MB beyond the data.
"""


LIMITS = """\
## How close to the limit

A prediction has to evaluate every kernel factor once. The table has microseconds for a row, and how
often as long the explanation takes as evaluating the factors alone with the same code. With many
columns the factors are near 1. Then [series](mathematics.md) in their exponents need no
exponentials, and an explanation takes hardly longer. (`python -m benchmarks.native`)
"""


REST = """
From d = 100 to d = 1000 the time of a row grows {growth:.1f}-fold; with factors near 0,
{steep:.1f}-fold. On a million pairs of points with 20 features the compiled backend does
{steps:.1f} thousand million factor-node steps a second, {share:.0%} of a bare multiply-add loop of
as many operations. Two threads are {two:.2f} times as fast as one.
"""


def building() -> list[str]:
    """Return what making the default explainer costs."""
    results = load("building")
    sizes = [name for name in results if name != "config"]
    heads = list(results[sizes[0]])
    lines = [[name, *(figure(results[name][head]) for head in heads)] for name in sizes]
    return [BUILDING, table(["points x columns", *heads], lines)]


def without_compiler() -> list[str]:
    """Return how fast the NumPy backend is."""
    results = load("without_compiler")
    sizes = [name for name in results if name != "config"]
    lines = [[kind, *(figure(results[d][kind]) for d in sizes)] for kind in results[sizes[0]]]
    return [WITHOUT, table(["", *sizes], lines) + slower()]


def slower() -> str:
    """Return how many times as long a row takes without a compiler."""
    results = load("neutral")
    found = [results[model]["seconds"] for model in ("SVR", "GPR")]
    ratios = [times["pkex, NumPy"][d] / times["pkex"][d] for times in found for d in times["pkex"]]
    fewest, *_, most = found[0]["pkex"]
    return SLOWER.format(low=min(ratios), high=max(ratios), fewest=fewest, most=most)


def scaling(results: dict[str, Any]) -> str:
    """Return times and errors of the engine and of the paper's algorithms."""
    times, errors = results["seconds"], results["error"]
    sizes = list(times["engine"])
    lines = [
        [
            NAMES[name],
            *(f"{figure(1e3 * t[d])} ms, {errors[name][d]:.0e}" if d in t else "-" for d in sizes),
        ]
        for name, t in times.items()
    ]
    return table(["features", *sizes], lines) + MEMORY.format(results["memory_mb"])


def beside_the_paper() -> list[str]:
    """Return the section on the paper's algorithms."""
    results = load("scaling")
    limit = float(results["config"]["limit_seconds"])
    return [SCALING.format(limit=limit), scaling(results)]


def limits() -> list[str]:
    """Return the time of a row over that of its factors, and the rest of what was measured."""
    results = load("native")
    lines = [
        [key, figure(e["call"]), figure(e["explain"]), figure(e["evaluate"]), ratio(e)]
        for key, e in results["row_us"].items()
    ]
    head = ["", "a call with one row", "the compiled backend", "its factors alone", "ratio"]
    rest = REST.format(
        growth=results["growth, gamma = 1/d"],
        steep=results["growth, factors near 0"],
        steps=results["million"]["steps_per_second"] / 1e9,
        share=results["million"]["share"],
        two=results["two_threads"],
    )
    return [LIMITS, table(head, lines) + rest]


def ratio(entry: dict[str, float]) -> str:
    """Return how often as long the explanation takes as the factors."""
    return f"{entry['explain'] / entry['evaluate']:.1f}"
