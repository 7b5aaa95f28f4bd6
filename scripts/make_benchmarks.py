"""Write docs/benchmarks.md from the stored results of the benchmarks.

    python scripts/make_benchmarks.py [--out PATH]

No number on the page is typed by hand: tables come from benchmarks/results/*.json, which the
benchmarks write. A test compares the page with what this script makes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"

PACKAGES = ("shap", "shapiq", "scikit-learn")

AMONG = "pkex, a row of 100"
NAMES = {
    "pkex": "pkex, a call with one row",
    AMONG: "pkex, a row among 100",
    "pkex, NumPy": "pkex without a compiler (NumPy)",
    "prefix_suffix": "the paper's prefix-suffix algorithm, `pkex.reference.prefix_suffix`",
    "shapiq ProductKernel": "shapiq `ProductKernelExplainer`",
    "shap Permutation": "shap `PermutationExplainer`",
    "shap Sampling": "shap `SamplingExplainer`",
    "shap Kernel": "shap `KernelExplainer`",
    "shap Kernel, all features": "shap `KernelExplainer`, all features",
    "pkex interventional": "pkex, interventional",
    "pkex marginal": "pkex, marginal",
}

HEAD = """\
# Benchmarks

<!-- made by scripts/make_benchmarks.py from benchmarks/results -->

Measured with {config}; one thread, minimum over repeats.
Times on another machine differ; ratios differ less. Run them yourself: `make bench`.

## One row, beside other explainers

![Time of one row against the number of features, pkex and its peers, log-log](peers.png)

An RBF kernel with gamma = 1/d, standard normal data, 450 training points, all of them in the
expansion. Milliseconds for one row; a dash where a row was expected to take more than {limit:g} s.
Every line is a call with one row, but for the second: there one call explains 100 rows, and its
time is divided by 100 (`--exact`; no entry where that was not measured).
(`python -m benchmarks.peers --limit {limit:g}`{versions})
"""

GAMES = """\
The first five lines compute the same numbers, exactly. shap's explainers play another game, with
features replaced from 100 background rows, and estimate its values by sampling with their default
budgets; they are here because they are what one would reach for. The next table compares like
with like.
"""

REMOVAL = """\
## The same game as shap

Interventional values of one row with the same 100 background rows, for an SVR with 450 training
points. The percentage is the largest difference to the exact values in one run, relative to the
largest value. Marginal removal is a game of its own: its difference is no error.
(`python -m benchmarks.removal`{versions})

At 10 features `KernelExplainer` goes through all coalitions and is exact; with more it samples. As
it is set by default it then keeps ten features and gives all others the value 0
(`l1_reg="num_features(10)"`): where more than ten matter, as here, that makes nearly all of its
difference. The last line has all features (`l1_reg=False`); what is left there, and with
`PermutationExplainer`, comes from sampling and differs from run to run.
"""

BATCH = """\
## Many rows

A call has some overhead, which many rows share. Microseconds a row, pkex on an SVR.
(`python -m benchmarks.peers`)
"""

STATISTICS = """\
## MMD and HSIC

2000 rows (for MMD, in each sample) and 50 columns. The plain evaluation has the statistic alone,
from a kernel matrix made by matrix products. (`python -m benchmarks.statistics`)
"""

LIMITS = """\
## How close to the limit

Whoever computes exact values has to look at every kernel factor once. The table has microseconds
for a row, and how often as long the explanation takes as evaluating the factors alone with the
same code. (`python -m benchmarks.native`)
"""

REST = """
From d = 100 to d = 1000 the time of a row grows {growth:.1f}-fold; with factors near 0,
{steep:.1f}-fold. On a million games of 20 players the hot loop does {steps:.1f} thousand million
factor-node steps a second, {share:.0%} of a bare multiply-add loop of as many operations. Two
threads are {two:.2f} times as fast as one.
"""


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, all columns but the first aligned to the right."""
    rows = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def figure(number: float | None) -> str:
    """Return a number with two or three digits, or a dash."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if number >= 10 else f"{number:#.2g}"


def load(name: str) -> dict[str, Any]:
    """Return the stored results of a benchmark."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return results


def peers(results: dict[str, Any], exact: dict[str, Any], model: str) -> str:
    """Return the times of one row, method by method."""
    times: dict[str, dict[str, float]] = results[model]["seconds"]
    sizes = list(times["pkex"])
    lines = [
        [NAMES[name], *(figure(1e3 * taken[d] if d in taken else None) for d in sizes)]
        for name, taken in times.items()
    ]
    shared = [exact.get(f"{model}, d = {d}", {}).get(AMONG) for d in sizes]
    lines.insert(1, [NAMES[AMONG], *(figure(1e3 * t) if t else "" for t in shared)])
    return table([f"{model}, features", *sizes], lines)


def removal(results: dict[str, Any]) -> str:
    """Return times and differences of the interventional game."""
    sizes = [key for key in results if key.startswith("d = ")]
    lines = []
    for name in results[sizes[0]]:
        cells = []
        for size in sizes:
            entry = results[size][name]
            error = entry["relative_difference"]
            far = "exact" if error < 1e-12 else f"{100.0 * error:.2g} %"
            cells.append(f"{figure(1e3 * entry['seconds'])} ms, {far}")
        lines.append([NAMES[name], *cells])
    return table(["", *(size.removeprefix("d = ") + " features" for size in sizes)], lines)


def batches(results: dict[str, Any]) -> str:
    """Return the time of a row in batches."""
    found = results["batches"].items()
    return table(["", "us a row"], [[key, figure(e["microseconds_per_row"])] for key, e in found])


def limits(results: dict[str, Any]) -> str:
    """Return the time of a row over that of its factors, and the rest of what was measured."""
    lines = [
        [key, figure(e["call"]), figure(e["explain"]), figure(e["evaluate"]), ratio(e)]
        for key, e in results["row_us"].items()
    ]
    head = ["", "a call with one row", "the hot loop", "its factors alone", "ratio"]
    return table(head, lines) + REST.format(
        growth=results["growth, gamma = 1/d"],
        steep=results["growth, factors near 0"],
        steps=results["million"]["steps_per_second"] / 1e9,
        share=results["million"]["share"],
        two=results["two_threads"],
    )


def statistics(results: dict[str, Any]) -> str:
    """Return the times of MMD and HSIC, and what they grow like."""
    kinds = {"MMD": results["mmd"], "HSIC": results["hsic"]}
    lines = [
        [f"seconds, {title}", *(figure(entry[key]) for entry in kinds.values())]
        for key, title in (
            ("plain", "the statistic alone, by NumPy"),
            ("attribution", "with the values of all columns"),
            ("permutations", "and 200 permutations of all of them"),
        )
    ]
    lines.append(["memory, MB", *(figure(entry["memory"]) for entry in kinds.values())])
    exponent = results["growth"]["exponent"]
    return (
        table(["", *kinds], lines)
        + f"\nThe time grows with the rows to the power {exponent:.1f}.\n"
    )


def ratio(entry: dict[str, float]) -> str:
    """Return how often as long the explanation takes as the factors."""
    return f"{entry['explain'] / entry['evaluate']:.1f}"


def versions(results: dict[str, Any]) -> str:
    """Return the versions of other packages, where they were stored."""
    config = results["config"]
    found = [f"{name} {config[name]}" for name in PACKAGES if name in config]
    return f"; {', '.join(found)}" if found else ""


def page() -> str:
    """Return the page."""
    results, exact, same_game = load("peers"), load("exact"), load("removal")
    config = results["config"]
    built = "pkex {pkex}, Python {python}, NumPy {numpy}, {compiler}, {machine}".format(**config)
    parts = [
        HEAD.format(config=built, limit=float(config["limit_seconds"]), versions=versions(results)),
        peers(results, exact, "SVR"),
        peers(results, exact, "GPR"),
        GAMES,
        REMOVAL.format(versions=versions(same_game)),
        removal(same_game),
        BATCH,
        batches(results),
        STATISTICS,
        statistics(load("statistics")),
        LIMITS,
        limits(load("native")),
    ]
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="write docs/benchmarks.md")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.parse_args().out.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
