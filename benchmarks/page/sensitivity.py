"""Sensitivity of models, and the uncertainty of Gaussian processes."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import figure, table, versions
from benchmarks.record import load

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


MATERN = """
A Gaussian process with a Matern 5/2 kernel, a length scale for each of {columns} columns and
{points} training points, in seconds of the processor. The Saltelli design is so large that no index
has a standard error above 0.01: N = {saltelli n:,}. The variance of a row is that of a process with
331 training points.
"""


UNSURE = """
The uncertainty of the Shapley values of a Gaussian process with 450 training points and {columns}
columns, for {rows} rows in one call, and the attribution of its variance, for one row. The latter
takes 101,475 product games for each row and each of the {background} background rows.
"""


def section() -> list[str]:
    """Return the section on sensitivity and uncertainty."""
    results = load("sensitivity")
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
    matern = results["matern"]
    seconds = {
        "first order": "first and total order, Shapley effects",
        "all pairs": "the same with all pairs",
        "saltelli": "predictions of the Saltelli design alone",
        "199 draws": "199 posterior draws of first and total order, Shapley effects",
        "199 draws, all pairs": "the same with all pairs",
        "variance, product of marginals": "variance of a row, product of marginals",
        "variance, 50 background rows": "variance of a row, 50 background rows",
    }
    lines = [[title, figure(matern[key])] for key, title in seconds.items()]
    parts += [MATERN.format(**matern), table(["", "seconds"], lines)]
    titles = {
        "values": "values alone, ms",
        "std": "with standard deviations, ms",
        "cov": "with covariances, ms",
        "variance, a row": "attribution of the variance, a row, ms",
    }
    kinds = ("interventional", "product-of-marginals")
    times = [
        [title, *(figure(1e3 * unsure[kind][key]) for kind in kinds)]
        for key, title in titles.items()
    ]
    columns = ["", f"{unsure['background']} background rows", "product of marginals, the default"]
    return [*parts, UNSURE.format(**unsure), table(columns, times)]
