"""One row, beside other explainers; many rows."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import NAMES, figure, table, versions
from benchmarks.record import load

AMONG = "pkex, a row of 100"


DEFAULT, DEFAULT_AMONG = "pkex, default", "pkex, default, a row of 100"


HEAD = """\
# Benchmarks

<!-- made by python -m benchmarks.page from benchmarks/results -->

Measured with {config}; one thread, minimum over repeats.
Times on another machine differ; ratios differ less. Run them yourself: `make bench`.

## One row, beside other explainers

![Time of one row against the number of features, pkex and its peers, log-log](peers.png)

An RBF kernel with gamma = 1/d, standard normal data, 450 training points, all of them in the
expansion. Milliseconds for one row; a dash where a row was expected to take more than {limit:g} s.
Every line is a call with one row, but for those of a row among 100: there one call explains 100
rows, and its time is divided by 100 (`--exact`; no entry where that was not measured).
(`python -m benchmarks.peers --limit {limit:g}`{versions})
"""


GAMES = """\
By default pkex averages absent features over the model's 450 points. With neutral removal, it, its
NumPy backend, the paper's algorithm and shapiq compute the same numbers, exactly. shap's explainers
play another game, with
features replaced from 100 background rows, and estimate its values by sampling with their default
budgets; they are here because they are what one would reach for. The next table compares like
with like.
"""


BATCH = """\
## Many rows

A call has some overhead, which many rows share. Microseconds a row, pkex on an SVR.
(`python -m benchmarks.peers`)
"""


def peers(results: dict[str, Any], exact: dict[str, Any], model: str) -> list[list[str]]:
    """Return the times of one row, method by method, below a line of the numbers of features."""
    times: dict[str, dict[str, float]] = results[model]["seconds"]
    sizes = list(times["pkex"])
    lines = [
        [name, *(figure(1e3 * taken[d] if d in taken else None) for d in sizes)]
        for name, taken in times.items()
    ]
    for place, name in ((1, AMONG), (0, DEFAULT_AMONG), (0, DEFAULT)):
        found = [exact.get(f"{model}, d = {d}", {}).get(name) for d in sizes]
        if any(found):
            lines.insert(place, [name, *(figure(1e3 * t) if t else "" for t in found)])
    return [[f"{model}, features", *sizes], *lines]


def named(lines: list[list[str]], notes: dict[str, str]) -> str:
    """Return a table of the methods under their full names, with notes on some of them."""
    full = [[NAMES[name] + notes.get(name, ""), *cells] for name, *cells in lines[1:]]
    return table(lines[0], full)


def batches(results: dict[str, Any]) -> str:
    """Return the time of a row in batches."""
    found = results["batches"].items()
    return table(["", "us a row"], [[key, figure(e["microseconds_per_row"])] for key, e in found])


def head() -> list[str]:
    """Return the head of the page, with one row beside other explainers."""
    results, exact = load("peers"), load("exact")
    config = results["config"]
    built = "pkex {pkex}, Python {python}, NumPy {numpy}, {compiler}, {machine}".format(**config)
    limit = float(config["limit_seconds"])
    return [
        HEAD.format(config=built, limit=limit, versions=versions(results)),
        *(named(peers(results, exact, model), {}) for model in ("SVR", "GPR")),
        GAMES,
    ]


def many_rows() -> list[str]:
    """Return the section on many rows."""
    return [BATCH, batches(load("peers"))]
