"""MMD and HSIC."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import figure, table
from benchmarks.record import load

STATISTICS = """\
## MMD and HSIC

2000 rows (for MMD, in each sample) and 50 columns. The plain evaluation has the statistic alone,
from a kernel matrix made by matrix products. (`python -m benchmarks.statistics`)
"""


def statistics(results: dict[str, Any]) -> str:
    """Return the times of MMD and HSIC, and what they grow like."""
    names = {"mmd": "MMD", "mmd, neutral": "MMD, neutral", "hsic": "HSIC"}
    names |= {"hsic, neutral": "HSIC, neutral", "hsic, 20 classes": "HSIC, 20 classes"}
    kinds = {title: results[name] for name, title in names.items() if name in results}
    lines = [
        [f"seconds, {title}", *(figure(entry[key]) for entry in kinds.values())]
        for key, title in (
            ("plain", "the statistic alone, by NumPy"),
            ("attribution", "with the values of all columns"),
            ("labels", "and 200 permutations"),
            ("permutations", "and 200 permutations, with tests of columns unless neutral"),
        )
        if all(key in entry for entry in kinds.values())
    ]
    lines.append(["memory, MB", *(figure(entry["memory"]) for entry in kinds.values())])
    exponent = results["growth"]["exponent"]
    return (
        table(["", *kinds], lines)
        + f"\nThe time grows with the rows to the power {exponent:.1f}.\n"
    )


def section() -> list[str]:
    """Return the section on MMD and HSIC."""
    return [STATISTICS, statistics(load("statistics"))]
