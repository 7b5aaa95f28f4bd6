"""Write docs/benchmarks.md and the comparison in README.md from the results of the benchmarks.

    python scripts/make_benchmarks.py

No number there is typed by hand: they come from benchmarks/results/*.json, which the benchmarks
write. Tests compare both files with what this script makes.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pkex._files import write_whole

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"

PACKAGES = ("shap", "shapiq", "SALib", "sage-importance", "scikit-learn")

AMONG = "pkex, a row of 100"
DEFAULT, DEFAULT_AMONG = "pkex, default", "pkex, default, a row of 100"
NAMES = {
    DEFAULT: "pkex by default (marginal removal), a call with one row",
    DEFAULT_AMONG: "pkex by default, a row among 100",
    "pkex": "pkex, neutral removal, a call with one row",
    AMONG: "pkex, neutral removal, a row among 100",
    "pkex, NumPy": "pkex without a compiler (NumPy)",
    "prefix_suffix": "the paper's prefix-suffix algorithm, `pkex.reference.prefix_suffix`",
    "shapiq ProductKernel": "shapiq `ProductKernelExplainer`",
    "shap Permutation": "shap `PermutationExplainer`",
    "shap Sampling": "shap `SamplingExplainer`",
    "shap Kernel": "shap `KernelExplainer`",
    "shap Kernel, all features": "shap `KernelExplainer`, all features",
    "engine": "pkex",
    "NumPy backend": "pkex without a compiler (NumPy)",
    "newton": "the paper's algorithm with Newton's identities, `pkex.reference.newton`",
    "pkex interventional": "pkex, interventional",
    "pkex marginal": "pkex, marginal",
}

NOTES = {  # for the README, which has no page around it
    DEFAULT: " (`--exact`)",
    DEFAULT_AMONG: " (`--exact`)",
    AMONG: " (`--exact`)",
    "shapiq ProductKernel": ", the same game",
    "shap Permutation": ", 100 background rows, an estimate",
    "shap Sampling": ", the same",
    "shap Kernel": ", the same",
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

KERNELS = """\
## Other kernels

A row of a model with 450 points and 100 features, standard normal data, under kernels of the same
length scale (the square root of the number of features) at default precision: milliseconds, and how
many rows with the RBF kernel and the same removal take as long. Interventional values have 20
background rows. Matern and rational quadratic kernels are sums of Gaussian kernels with a proven
error; `tol` buys fewer of them. (`python -m benchmarks.kernels`{versions})
"""

SAMPLERS = """\
On the Matern 5/2 model, with the same 20 background rows and default budgets,
`PermutationExplainer` takes {permutation}, and `KernelExplainer` with all features {kernel}; pkex
takes {ours} ms and is exact.
"""

INTERACTIONS = """\
## Interactions

All pairs of one row (k-SII of order 2) of an SVR with {points} training points. They are one matrix
product, and the ratio is the time of the call to that of a bare product of the same shape.
(`python -m benchmarks.interactions`{versions})
"""

TOGETHER = """
With 100 background rows and {d} features, beside shapiq's `TabularExplainer`, whose pairs are
estimates from a budget of coalitions, with every budget that was tried; the percentage is the largest difference to the exact pairs,
relative to the largest of them:
"""

GAME_COSTS = """\
## A game, by what stands in for absent features

Nanoseconds for one pair of points, and one background row where there are rows: 450 points, 100
background rows, an RBF kernel with gamma = 1/d, standard normal data. In brackets how many times as
long as a neutral game of the same size; what is aimed at is at most {most}. A statistic is the sum
over all pairs of one sample, as in MMD and HSIC. (`python -m benchmarks.game_costs`)
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

SENSITIVITY = """\
## Sensitivity and uncertainty

Sobol indices and Shapley effects of an SVR with {points} support vectors and {columns} columns,
independent standard normal inputs. A Saltelli design of N = {n:,} asks for N (d + 2) predictions,
and its indices scatter around the exact ones; the largest exact first-order index is {largest:.2g}.
(`python -m benchmarks.sensitivity`{versions})
"""

PROCESS = """
The same for a Gaussian process with 450 training points and 10 columns, beside SALib with N = 1024
and sage with {permutations} permutations, a budget that is far from its own criterion of
convergence:
"""

UNSURE = """
How sure a Gaussian process with 450 training points and {columns} columns is of its values, for
{rows} rows in one call, and the attribution of its variance, for one row. The latter takes 101,475
product games for each row and each of the {background} background rows, which is what limits it.
"""

BUILDING = """\
## Making an explainer

By default absent features are averaged over the model's own data, at most 500 rows, before the
first row is explained. Nanoseconds for each factor between a point and a row that it is averaged
over: `pkex.Explainer(model)` by default, the same with all points as the background, and plain sums
of all factors, which it [does without](mathematics.md). (`python -m benchmarks.building`)
"""

WITHOUT = """\
## Without a compiler

Nanoseconds for each factor of a game in the NumPy backend, by the same
[series](mathematics.md) and by nodes alone; 450 points, four rows, gamma = 1/d.
(`python -m benchmarks.without_compiler`)
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
columns the factors are near 1, and [series](mathematics.md) in their exponents do without the
exponentials, so that an explanation takes hardly longer. (`python -m benchmarks.native`)
"""

REST = """
From d = 100 to d = 1000 the time of a row grows {growth:.1f}-fold; with factors near 0,
{steep:.1f}-fold. On a million games of 20 players the hot loop does {steps:.1f} thousand million
factor-node steps a second, {share:.0%} of a bare multiply-add loop of as many operations. Two
threads are {two:.2f} times as fast as one.
"""

BEGIN, END = "<!-- made by scripts/make_benchmarks.py -->", "<!-- until here -->"

TABLE = """\
Milliseconds for one row of an SVR with 450 training points, one thread, minimum over repeats
(`python -m benchmarks.peers`{versions}; a dash where a row was expected to take more than
{limit:g} s):
"""

WORDS = """\
With the same 100 background rows, that is on shap's own game, pkex takes {ours} ms for a row of 50
features and is exact; `PermutationExplainer` takes {permutation} of the largest value, and
`KernelExplainer` with `l1_reg=False` takes {kernel}. As it is set by default, `KernelExplainer`
keeps ten features and gives all others 0, which here puts it off by {default}
(`python -m benchmarks.removal`{versions}). A row costs {low} to {high} times as much as evaluating
its kernel factors alone, for 20 to 1000 features (`python -m benchmarks.native`). MMD between two
samples of 2000 rows and 50 columns takes {mmd} s with exact shares, and {many_mmd} s with 200
permutations; HSIC of 2000 rows takes {hsic} s, and {many_hsic} s with 200 permutations
(`python -m benchmarks.statistics`).
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


def difference(entry: dict[str, float]) -> str:
    """Return how far values are from the exact ones."""
    return f"{100.0 * entry['relative_difference']:.2g} %"


def removal(results: dict[str, Any]) -> str:
    """Return times and differences of the interventional game."""
    sizes = [key for key in results if key.startswith("d = ")]
    lines = []
    for name in results[sizes[0]]:
        cells = []
        for size in sizes:
            entry = results[size][name]
            far = "exact" if entry["relative_difference"] < 1e-12 else difference(entry)
            cells.append(f"{figure(1e3 * entry['seconds'])} ms, {far}")
        lines.append([NAMES[name], *cells])
    return table(["", *(size.removeprefix("d = ") + " features" for size in sizes)], lines)


def kernels(results: dict[str, Any]) -> str:
    """Return times under several kernels, and their ratios to the RBF kernel."""
    removals = [key for key in results if key not in ("config", "samplers")]
    lines = []
    for name in results["marginal"]:
        cells = []
        for key in removals:
            entry = results[key].get(name)
            cells.append(
                "-"
                if entry is None
                else f"{figure(1e3 * entry['seconds'])} ms, {figure(entry['ratio'])}"
            )
        lines.append([name, *cells])
    return table(["", *removals], lines)


def samplers(results: dict[str, Any]) -> str:
    """Return what shap's explainers take and miss on a Matern model."""
    found = results["samplers"]

    def estimate(name: str) -> str:
        return f"{figure(1e3 * found[name]['seconds'])} ms and is off by {difference(found[name])}"

    return SAMPLERS.format(
        permutation=estimate("shap Permutation"),
        kernel=estimate("shap Kernel, all features"),
        ours=figure(1e3 * found["pkex interventional"]["seconds"]),
    )


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
            "exact" if not one["relative_difference"] else difference(one),
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


def game_costs(results: dict[str, Any]) -> list[str]:
    """Return what a game costs by the kind of removal, where that was measured."""
    games = dict(results.get("games", {}))
    if not games:
        return []
    most = games.pop("most")
    lines = []
    for name in next(iter(games.values()))["nanoseconds"]:
        cells = []
        for found in games.values():
            ratio = found["ratios"].get(name)
            beside = "" if ratio is None else f" ({ratio:.2f})"
            cells.append(figure(found["nanoseconds"][name]) + beside)
        lines.append([name, *cells])
    return [GAME_COSTS.format(most=most), table(["features", *games], lines)]


def batches(results: dict[str, Any]) -> str:
    """Return the time of a row in batches."""
    found = results["batches"].items()
    return table(["", "us a row"], [[key, figure(e["microseconds_per_row"])] for key, e in found])


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


def sensitivity(results: dict[str, Any]) -> list[str]:
    """Return the section on sensitivity and uncertainty."""
    found, other, unsure = (results[key] for key in ("sensitivity", "peers", "uncertainty"))

    def off(entry: dict[str, Any], *kinds: str) -> str:
        pairs = zip(kinds[::2], kinds[1::2], strict=True)
        said = [f"{kind} {entry[name]:.2g}" for kind, name in pairs]
        below = entry.get("negative", entry.get("saltelli negative", 0))
        return ", ".join(said) + (f"; {below} first-order indices below 0" if below else "")

    lines = [
        ["pkex, over the 450 rows of a table", figure(found["table"]), "exact"],
        ["pkex, with all pairs", figure(found["order 2"]), "exact"],
        ["pkex, distributions", figure(found["distributions"]), f"about {found['error']:.0e}"],
        [
            "predictions of the Saltelli design alone",
            figure(found["saltelli"]),
            off(found, "first order", "saltelli first", "total", "saltelli total"),
        ],
    ]
    head = ["", "seconds", "largest error of an index"]
    parts = [
        SENSITIVITY.format(
            points=found["points"],
            columns=found["columns"],
            n=found["n"],
            largest=found["largest first"],
            versions=versions(results),
        ),
        table(head, lines),
    ]
    peers = [["pkex", figure(other["pkex"]["seconds"]), f"about {other['pkex']['error']:.0e}"]]
    if "SALib" in other:
        entry = other["SALib"]
        said = off(entry, "first order", "first", "total", "total")
        peers.append(["SALib", figure(entry["seconds"]), said])
    if "sage" in other:
        entry = other["sage"]
        peers.append(["sage", figure(entry["seconds"]), off(entry, "Shapley effects", "shapley")])
    permutations = other.get("sage", {}).get("permutations", 0)
    parts += [PROCESS.format(permutations=permutations), table(head, peers)]
    titles = {
        "values": "values alone, ms",
        "std": "with standard deviations, ms",
        "cov": "with covariances, ms",
        "variance, a row": "attribution of the variance, a row, ms",
    }
    kinds = ("interventional", "marginal")
    times = [
        [title, *(figure(1e3 * unsure[kind][key]) for kind in kinds)]
        for key, title in titles.items()
    ]
    columns = ["", f"{unsure['background']} background rows", "marginal, the default"]
    return [*parts, UNSURE.format(**unsure), table(columns, times)]


def ratio(entry: dict[str, float]) -> str:
    """Return how often as long the explanation takes as the factors."""
    return f"{entry['explain'] / entry['evaluate']:.1f}"


def versions(results: dict[str, Any]) -> str:
    """Return the versions of other packages, where they were stored."""
    config = results["config"]
    found = [f"{name} {config[name]}" for name in PACKAGES if name in config]
    return f"; {', '.join(found)}" if found else ""


def building() -> list[str]:
    """Return what making the default explainer costs, where it was measured."""
    if not (RESULTS / "building.json").is_file():
        return []
    results = load("building")
    sizes = [name for name in results if name != "config"]
    heads = list(results[sizes[0]])
    lines = [[name, *(figure(results[name][head]) for head in heads)] for name in sizes]
    return [BUILDING, table(["points x columns", *heads], lines)]


def without_compiler() -> list[str]:
    """Return how fast the NumPy backend is, where it was measured."""
    if not (RESULTS / "without_compiler.json").is_file():
        return []
    results = load("without_compiler")
    sizes = [name for name in results if name != "config"]
    lines = [[kind, *(figure(results[d][kind]) for d in sizes)] for kind in results[sizes[0]]]
    return [WITHOUT, table(["", *sizes], lines)]


def beside_the_paper() -> list[str]:
    """Return the section on the paper's algorithms, where it was measured."""
    if not (RESULTS / "scaling.json").is_file():
        return []
    results = load("scaling")
    limit = float(results["config"]["limit_seconds"])
    return [SCALING.format(limit=limit), scaling(results)]


def other_kernels() -> list[str]:
    """Return the part on other kernels, where they were measured."""
    if not (RESULTS / "kernels.json").is_file():
        return []
    results = load("kernels")
    return [KERNELS.format(versions=versions(results)), kernels(results), samplers(results)]


def page() -> str:
    """Return the page."""
    results, exact, same_game = load("peers"), load("exact"), load("removal")
    config = results["config"]
    built = "pkex {pkex}, Python {python}, NumPy {numpy}, {compiler}, {machine}".format(**config)
    parts = [
        HEAD.format(config=built, limit=float(config["limit_seconds"]), versions=versions(results)),
        *(named(peers(results, exact, model), {}) for model in ("SVR", "GPR")),
        GAMES,
        REMOVAL.format(versions=versions(same_game)),
        removal(same_game),
        *game_costs(same_game),
        *other_kernels(),
        INTERACTIONS.format(points=450, versions=versions(load("interactions"))),
        interactions(load("interactions")),
        BATCH,
        batches(results),
        STATISTICS,
        statistics(load("statistics")),
        *sensitivity(load("sensitivity")),
        *building(),
        *beside_the_paper(),
        LIMITS,
        limits(load("native")),
        *without_compiler(),
    ]
    return "\n".join(parts)


def readme(text: str) -> str:
    """Return the README with its comparison made anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{comparison()}\n{END}{after}"


def comparison() -> str:
    """Return the table and the words of the README."""
    results, same_game, other = load("peers"), load("removal"), load("statistics")
    lines = [[*line[:2], *line[3:]] for line in peers(results, load("exact"), "SVR")]  # fewer sizes
    at_50 = same_game["d = 50"]
    ratios = [e["explain"] / e["evaluate"] for e in load("native")["row_us"].values()]

    def estimate(name: str) -> str:
        return f"{figure(at_50[name]['seconds'])} s and is off by {difference(at_50[name])}"

    limit = float(results["config"]["limit_seconds"])
    head = TABLE.format(versions=versions(results), limit=limit)
    words = WORDS.format(
        ours=figure(1e3 * at_50["pkex interventional"]["seconds"]),
        permutation=estimate("shap Permutation"),
        kernel=estimate("shap Kernel, all features"),
        default=difference(at_50["shap Kernel"]),
        versions=versions(same_game),
        low=f"{min(ratios):.1f}",
        high=f"{max(ratios):.1f}",
        mmd=figure(other["mmd"]["attribution"]),
        many_mmd=figure(other["mmd"]["permutations"]),
        hsic=figure(other["hsic"]["attribution"]),
        many_hsic=figure(other["hsic"]["permutations"]),
    )
    return "\n".join([wrapped(head), named(lines, NOTES), wrapped(words)])


def wrapped(words: str) -> str:
    """Return a paragraph in lines as long as those of the README."""
    return textwrap.fill(words, 138, break_on_hyphens=False) + "\n"


def main() -> None:
    """Write the page and the comparison."""
    for path, text in ((PAGE, page()), (README, readme(README.read_text(encoding="utf-8")))):
        write(path, text)


def write(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()), path.name)


if __name__ == "__main__":
    main()
