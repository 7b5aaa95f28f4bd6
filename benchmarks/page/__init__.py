"""docs/benchmarks.md, docs/wide_and_long.md, docs/peers.png and the comparison in README.md.

    python -m benchmarks.page

A file here is a section or a page: its words, and the tables that stand between them. No number
is typed by hand: they come from benchmarks/results/*.json, which the benchmarks write. Every
section says which machine its files come from. Tests compare the pages with what is made here.
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
    threads,
)
from benchmarks.page._format import distinct, machine, on_machine, software
from benchmarks.page.readme import readme
from benchmarks.page.wide_and_long import page as wide_and_long
from benchmarks.record import load

__all__ = ["page", "readme", "wide_and_long"]

HEAD = """\
# Benchmarks

<!-- made by python -m benchmarks.page from benchmarks/results -->

Measured with {software}; one thread, minimum over repeats.
{machines}Times on another machine differ; ratios differ less. Run them yourself: `make bench`.
"""

MACHINES = """\
The tables come from {count} machines, which the headings tell apart: compare times within a table.
"""

SECTIONS = (
    (("interventional",), peers.interventional),
    (("neutral", "exact"), peers.neutral),
    (("removal",), removal.section),
    (("kernels",), kernels.section),
    (("interactions",), interactions.section),
    (("neutral", "exact"), peers.many_rows),
    (("statistics",), statistics.section),
    (("sensitivity",), sensitivity.section),
    (("threads",), threads.section),
    (("building",), engine.building),
    (("scaling",), engine.beside_the_paper),
    (("native",), engine.limits),
    (("without_compiler", "neutral"), engine.without_compiler),
)


def page() -> str:
    """Return the page."""
    files = [load(name) for names, _ in SECTIONS for name in names]
    machines = distinct(map(machine, files))
    several = MACHINES.format(count=len(machines)) if len(machines) > 1 else ""
    parts = [HEAD.format(software="; ".join(distinct(map(software, files))), machines=several)]
    for names, section in SECTIONS:
        parts += on_machine(section(), names, machines)
    return "\n".join(parts)
