"""docs/wide_and_long.md, from the results of wide_and_long, texts, streaming, drift and cluster."""

from __future__ import annotations

from typing import Any

from benchmarks.drift import COLUMNS, REFERENCE, WIDE_COLUMNS, WIDE_ROWS
from benchmarks.page._format import distinct, machine, on_machine
from benchmarks.record import load

HEAD = """\
# Wide and long

<!-- made by python -m benchmarks.page from benchmarks/results -->
"""

SIZES = """\
## What size costs

What 200 000 points, 10 000 columns or 10^6 rows cost, each alone. One thread, measured by `python
-m benchmarks.wide_and_long` in seconds of the processor; RBF kernels, random points.

**The law.** A row costs points x columns x nodes, and nodes are few whatever the number of
columns where the kernel's width grows with it, as the usual heuristics let it. So time is in
proportion to rows, to points and to columns, and to the rows of an interventional background.
Memory is the points, the rows, and the result: eight bytes for each row, feature and output.

| what is large | removal | measured | time | at half of it | more memory |
|---|---|---|---|---|---|
"""

LAW = """
All sizes are measured in full. "At half of it" puts the law to the test: twice as much of what is
large takes {low:.1f} to {high:.1f} times as long in these runs. By the law, 200 000 points and 10^6
rows together, which do not fit an hour, are 10^6 times the time of a row in the first lines.
"""

SPARSE = """\
## Sparse rows

A pair costs the columns that both points have, whatever the number of columns: see
[documents and sparse rows](guide/text.md). TF-IDF with {columns} columns and {points} support
vectors of {stored} words each, generated documents, one thread (`python -m benchmarks.texts`):

| removal | a row, of the processor | building | error bound |
|---|---|---|---|
{lines}

The process, with scikit-learn and the documents, took {memory:.0f} MB at its peak. Points and
rows made dense have the same values, up to {gap:.0e} where the largest is {largest:.2g}.
"""

STATISTICS = """\
## Long statistics

All pairs of n rows are n^2. Beyond 10 000 rows [`pkex drift`](howto/command_line.md) takes a
sample, drawn evenly from all rows, and prints a note. `--block-size`, or `block_size=` of `mmd` and
`hsic`, takes blocks of all rows, in proportion to their number, with standard errors.
"""

KEPT = """\
## Drift against a kept reference

`detect` of [`MMDDrift`](guide/drift.md), with 999 permutations, against {reference} rows of
{columns} columns, of one thread: a smaller batch does not take longer.

| rows of the batch | time of `detect` |
|---:|---:|
{lines}

Loading the reference takes {load}, `detect` of 200 rows {memory:.0f} MB besides the data. `explain`
of 200 rows takes {explain}, and {changed} more for every column that changed. `detect` of {rows} +
{rows} rows of {wide} columns takes {many} (`python -m benchmarks.drift`).
"""

FILES = """\
## Long files

`pkex explain` reads, explains and writes in parts, in bounded memory, and goes on after an
interruption: see [the command line](howto/command_line.md).
"""

CLUSTER = """\
## Where a cluster helps

Every row brings its data and takes back as many values, and every batch of blocks costs the
process that sends it some milliseconds. So a cluster pays where there are seconds of work: an
interventional background, thousands of points, permutations. It does not help for a few thousand
rows with the default removal, which take a second, nor for a single row, whose points are one block
after the other in memory. On one machine threads, the default, do without the sending.
"""

FILES_OF_RESULTS = ("wide_and_long", "texts", "streaming", "drift", "cluster")
NAMES = {"points": "200 000 points", "columns": "10 000 columns", "rows": "10^6 rows"}
WORK = {
    "interventional": "values with 100 background rows: 2048 rows, 1000 points, 20 columns",
    "mmd": "MMD, 499 permutations: 2 x 10 000 rows, 20 columns",
    "hsic": "HSIC, 499 permutations: 4000 rows, 20 columns",
}


def page() -> str:
    """Return the page."""
    sizes, texts, streaming, drift, cluster = map(load, FILES_OF_RESULTS)
    sections = (
        ("wide_and_long", SIZES + _sizes(sizes["sizes"]) + _law(sizes["sizes"])),
        ("texts", _sparse(texts)),
        ("streaming", STATISTICS + _drift(streaming)),
        ("drift", _kept(drift)),
        ("streaming", FILES + _explain(streaming["explain"])),
        ("cluster", CLUSTER + _workers(cluster["work"])),
    )
    machines = distinct(machine(load(name)) for name in FILES_OF_RESULTS)
    parts = [HEAD]
    for name, text in sections:
        parts += on_machine([text], [name], machines)
    return "\n".join(parts)


def _sizes(entries: list[dict[str, Any]]) -> str:
    """Return the lines of the table; each size stands after half of it."""
    lines = []
    for half, entry in zip(entries[::2], entries[1::2], strict=True):
        measured = (
            f"{entry['points']:_} points, {entry['columns']:_} columns, {entry['rows']:_} row"
        )
        cells = [
            NAMES[entry["what"]],
            entry["removal"],
            measured.replace("_", " ") + "s" * (entry["rows"] != 1),
            _time(entry["seconds"]),
            _time(half["seconds"]),
            f"{entry['memory']:.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def _law(entries: list[dict[str, Any]]) -> str:
    """Return how many times as long twice as much takes."""
    pairs = zip(entries[::2], entries[1::2], strict=True)
    ratios = [entry["seconds"] / half["seconds"] for half, entry in pairs]
    return LAW.format(low=min(ratios), high=max(ratios))


def _sparse(found: dict[str, Any]) -> str:
    lines = []
    for entry in found["removals"]:
        title = entry["removal"]
        if entry["background"]:
            title += f", {entry['background']} background rows"
        cells = [title, _time(entry["processor"]), _time(entry["built"]), f"{entry['error']:.0e}"]
        lines.append(f"| {' | '.join(cells)} |")
    return SPARSE.format(
        columns=found["columns"],
        points=found["points"],
        stored=f"{found['stored']:.0f}",
        lines="\n".join(lines),
        memory=found["memory"],
        gap=found["gap"],
        largest=found["largest"],
    )


def _drift(found: dict[str, Any]) -> str:
    csv, parquet = found["csv"], found["parquet"]
    return (
        f"\n`pkex drift` on two tables of {parquet['rows']:,} rows and 20 columns, with 999 "
        f"permutations, took {parquet['seconds']:.0f} s from Parquet and {csv['seconds']:.0f} s "
        "from CSV on two cores (`python -m benchmarks.streaming`).\n"
    ).replace(",000", " 000")


def _kept(found: dict[str, Any]) -> str:
    batches = found["batches"]
    lines = [f"| {rows} | {_time(seconds)} |" for rows, seconds in batches["detect"].items()]
    return KEPT.format(
        reference=REFERENCE,
        columns=COLUMNS,
        lines="\n".join(lines),
        load=_time(batches["load"]),
        memory=batches["memory"],
        explain=_time(batches["explain"]),
        changed=_time(batches["explain, a changed column"]),
        rows=WIDE_ROWS,
        wide=WIDE_COLUMNS,
        many=_time(found["wide"]["detect"]),
    )


def _explain(found: dict[str, Any]) -> str:
    whole = found["whole"]
    files = ", ".join(f"`{name}`" for name in found["compared"])
    same = "were the same to the last byte" if found["same"] else "differed"
    return (
        f"\n{found['rows'] / 1e6:g} million rows of {found['columns']} columns as Parquet: at most "
        f"{found['memory']:.0f} MB of memory, {whole['seconds']:.0f} s "
        f"({whole['rows_per_second']:.0f} rows a second) on two cores. Killed by SIGKILL after "
        f"{found['killed']['parts']} parts and resumed, {files} {same} "
        "(`python -m benchmarks.streaming`).\n"
    )


def _workers(work: dict[str, Any]) -> str:
    lines = [
        "\nWork of four to ten seconds of one worker process of Dask, single-threaded, with one "
        "and with\ntwo of them (`make bench-cluster`):\n\n",
        "| work | one worker | two workers | times as fast | same bits as one process |\n",
        "|---|---|---|---|---|\n",
    ]
    for name, found in work.items():
        one, two = found["seconds"]["1"], found["seconds"]["2"]
        same = "yes" if found["same"] else "no"
        lines.append(
            f"| {WORK[name]} | {one:.1f} s | {two:.1f} s | {found['ratio']:.2f} | {same} |\n"
        )
    return "".join(lines)


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"
