"""docs/benchmarks.md and the comparison in README.md, made from the results of the benchmarks.

    python -m benchmarks.page

A file here is a section of the page: its words, and the tables that stand between them. No number
is typed by hand: they come from benchmarks/results/*.json, which the benchmarks write. Tests
compare both files with what is made here.
"""

from __future__ import annotations

from benchmarks.page import (
    engine,
    interactions,
    kernels,
    peers,
    removal,
    sensitivity,
    statistics,
)
from benchmarks.page.readme import readme

__all__ = ["page", "readme"]


def page() -> str:
    """Return the page."""
    parts = [
        *peers.head(),
        *removal.section(),
        *kernels.section(),
        *interactions.section(),
        *peers.many_rows(),
        *statistics.section(),
        *sensitivity.section(),
        *engine.building(),
        *engine.beside_the_paper(),
        *engine.limits(),
        *engine.without_compiler(),
    ]
    return "\n".join(parts)
