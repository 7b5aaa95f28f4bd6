"""Write docs/wide_and_long.md from wide_and_long.json and texts.json in benchmarks/results.

python scripts/make_wide_and_long.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pkex._files import write_whole

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "wide_and_long.json"
TEXTS = ROOT / "benchmarks" / "results" / "texts.json"
PAGE = ROOT / "docs" / "wide_and_long.md"

HEAD = """\
# Wide and long

<!-- made by scripts/make_wide_and_long.py from benchmarks/results/wide_and_long.json -->

What 200 000 points, 10 000 columns or 10^6 rows cost, each alone. One thread, measured by `python
-m benchmarks.wide_and_long` on a shared machine of two cores, in seconds of the processor; RBF
kernels, random points.

**The law.** A row costs points x columns x nodes, and nodes are few whatever the number of
columns where the kernel's width grows with it, as the usual heuristics let it. So time is in
proportion to rows, to points and to columns, and to the rows of an interventional background.
Memory is the points, the rows, and the result: eight bytes for each row, player and output.

| what is large | removal | measured | seconds | half of it | more memory | at full size |
|---|---|---|---|---|---|---|
"""

SPARSE = """
**Sparse rows.** A pair costs the columns that both points have, whatever the number of columns: see
[texts and sparse rows](howto/text.md). TF-IDF with {columns} columns and {points} support vectors
of {stored} words each, made texts, one thread (`python -m benchmarks.texts`):

| removal | a row, of the processor | building | error at most |
|---|---|---|---|
{lines}

The process, with scikit-learn and the texts, took {memory:.0f} MB at its peak. Points and rows made
dense have the same values, up to {gap:.0e} where the largest is {largest:.2g}.
"""

TAIL = """
The last column is the measured time times the rows, by the law: 10^6 rows are 1000 times the
1000 that were measured. "Half of it" is the time at half of what is large, to see the law at work.

**Long statistics.** All pairs of n rows are n^2: [`pkex drift`](cli.md) takes a sample beyond 10
000 rows, and `block_size=` of `mmd` and `hsic` blocks of all rows, in proportion to their number.

**Long files.** `pkex explain` reads, explains and writes in parts, in bounded memory, and goes on
after an interruption: see [the command line](cli.md).

**Where a cluster helps.** {dask}Every row brings its data and takes back as many values, so that
a cluster pays where the work for a row is long beside that: an interventional background,
thousands of points, permutations. It does not help for a few thousand rows of the default game,
which take a second, nor for a single row, whose points are one block after the other in memory
bandwidth.
"""

NAMES = {"points": "200 000 points", "columns": "10 000 columns", "rows": "10^6 rows"}


def page(results: dict[str, Any], texts: dict[str, Any]) -> str:
    """Return the page."""
    lines = []
    full = [entry for number, entry in enumerate(results["sizes"]) if number % 2 == 0]
    half = [entry for number, entry in enumerate(results["sizes"]) if number % 2 == 1]
    for entry, other in zip(full, half, strict=True):
        what, rows = entry["what"], entry["rows"]
        size = f"{entry['points']} points, {entry['columns']} columns, {_rows(rows)}"
        at_full = f"{_time(entry['seconds'])} a row"
        if what == "rows":
            at_full = f"{_time(entry['seconds'] * 1e6 / rows)} for 10^6 rows"
        memory = f"{entry['memory']:.0f} MB"
        cells = [NAMES[what], entry["removal"], size, f"{entry['seconds']:.3g}"]
        cells += [f"{other['seconds']:.3g}", memory, at_full]
        lines.append(f"| {' | '.join(cells)} |")
    table = HEAD + "\n".join(lines) + "\n"
    tail = TAIL.replace("{dask}", _dask(results.get("dask")))
    first, rest = tail.split("\n\n", 1)
    return f"{table}{first}\n{_sparse(texts)}\n{rest}"


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


def _dask(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    one, two = found["seconds"]["1"], found["seconds"]["2"]
    return (
        f"Interventional values of {found['rows']} rows, 1000 points and 100 background rows took "
        f"{one:.0f} s with one worker process of Dask and {two:.0f} s with two, {one / two:.2f} "
        "times as fast, with the same bits (`python -m benchmarks.wide_and_long --dask`). "
    )


def _rows(count: int) -> str:
    return f"{count} row" + "s" * (count != 1)


def _time(seconds: float) -> str:
    if seconds < 1.0:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"


def main() -> None:
    """Write the page."""
    text = page(*(json.loads(path.read_text(encoding="utf-8")) for path in (RESULTS, TEXTS)))
    write_whole(PAGE, lambda file: file.write(text.encode()), PAGE.name)


if __name__ == "__main__":
    main()
