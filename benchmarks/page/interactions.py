"""All pairs of a row, beside a bare matrix product and beside shapiq."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import difference, figure, table, versions
from benchmarks.record import load

INTERACTIONS = """\
## Interactions

All pairs of one row (k-SII of order 2) of an SVR with {points} training points. They are one matrix
product, and the ratio is the time of the call to that of a bare product of the same shape.
(`python -m benchmarks.interactions`{versions})
"""


TOGETHER = """
With 100 background rows and {d} features, beside shapiq's `TabularExplainer`, whose pairs are
estimates from a budget of coalitions; every budget that was tried is shown. The percentage is the
largest difference to the exact pairs, relative to the largest of them:
"""


def interactions(results: dict[str, Any]) -> str:
    """Return times of all pairs beside the bare product, and beside shapiq's estimates."""
    lines = [
        [
            key,
            f"{figure(1e3 * one['seconds'])} ms",
            f"{figure(1e3 * one['bare'])} ms",
            f"{one['nodes']:.0f}",
            f"{one['ratio']:.2f}",
        ]
        for key, one in results["product"].items()
    ]
    head = ["", "all pairs of a row", "the bare product", "nodes", "ratio"]
    beside = [
        [
            name,
            f"{figure(one['seconds'])} s",
            "exact" if not one["relative_difference"] else difference(one["relative_difference"]),
            f"{one['ratio']:.0f}",
        ]
        for name, one in results["background"].items()
    ]
    return (
        table(head, lines)
        + TOGETHER.format(d=50)
        + "\n"
        + table(["", "a row", "off by", "times pkex"], beside)
    )


def section() -> list[str]:
    """Return the section on interactions."""
    results = load("interactions")
    head = INTERACTIONS.format(points=450, versions=versions(results))
    return [head, interactions(results)]
