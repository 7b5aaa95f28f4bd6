"""Time against the number of features (figure 1): brute force, Newton, prefix-suffix and pkex.

The paper's Gaussian process on made data, 450 training points, one row, one thread, the shortest of
several calls. A method goes on to the next size while that is expected to take less than 20 s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import pkex
from benchmarks.timing import growth, seconds
from experiments import figures
from experiments.page import table
from experiments.record import Experiment, Job, Record, results
from experiments.stability import blocked, gp_on_regression
from pkex import reference

__all__ = ["EXPERIMENT"]

Floats = NDArray[np.float64]

SIZES = (5, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
METHODS: dict[str, tuple[Callable[[Any, Any], Floats] | None, float]] = {
    # the function and how its time grows: per feature by a factor, or as a power of d
    "brute force": (reference.brute_force, 2.0),
    "Newton": (reference.newton, 3.0),
    "prefix-suffix": (reference.prefix_suffix, 2.0),
    "pkex": (None, 1.0),
}


def run(job: Job) -> None:
    """Measure every method at every size it can reach within the limit."""
    limit = job.parameters["limit"]
    times: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    for d in job.parameters["sizes"]:
        reachable = [name for name in METHODS if _expected(name, d, times[name]) <= limit]
        found = job.part(f"d = {d}", partial(_size, d, reachable, job.parameters))
        for name, taken in found.items():
            times[name][d] = taken


def _expected(name: str, d: int, times: dict[int, float]) -> float:
    """Return the seconds that a size is expected to take, from the sizes before."""
    if name == "brute force" and d > 20:
        return np.inf  # 2^d values do not fit in memory soon after
    if not times:
        return 0.0
    before = max(times)
    rate = METHODS[name][1]
    rise = rate ** (d - before) if name == "brute force" else (d / before) ** rate
    return float(times[before] * rise)


def _size(d: int, names: list[str], parameters: Mapping[str, Any]) -> dict[str, float]:
    model, X_test = gp_on_regression(d, parameters["samples"])
    row = X_test[0]
    machine: Any = pkex.as_expansion(model).parts[0]
    explainer = pkex.Explainer(model, n_jobs=1, removal="neutral")
    found = {}
    for name in names:
        method = METHODS[name][0]
        call: Callable[[], object]
        if method is None:
            call = partial(explainer, row[None])
        else:
            call = partial(blocked, method, machine, row)
        found[name] = seconds(call, repeats=parameters["repeats"], limit=parameters["limit"])
    return found


def _by_method(record: Record) -> dict[str, dict[int, float]]:
    sizes = {int(name): found for name, found in results(record, "d = ").items()}
    return {
        name: {d: found[name] for d, found in sizes.items() if name in found} for name in METHODS
    }


def draw(record: Record) -> dict[str, Figure]:
    """Draw seconds against d."""
    figure, grid = figures.axes(figsize=(7.0, 4.3))
    ax = grid[0, 0]
    colours = (figures.COLOURS[2], figures.COLOURS[3], *figures.COLOURS[1::-1])
    for (name, times), colour, marker in zip(
        _by_method(record).items(), colours, figures.MARKERS, strict=False
    ):
        ax.loglog(list(times), list(times.values()), color=colour, marker=marker, ms=5, label=name)
    limit = record["parameters"]["limit"]
    ax.axhline(limit, color="0.6", lw=1, ls=":")
    ax.text(ax.get_xlim()[1], limit * 1.15, f"limit, {limit:g} s", ha="right", color="0.4", size=8)
    ax.set_ylim(top=limit * 4)
    ax.set_xlabel("number of features d")
    ax.set_ylabel("seconds for one row, one thread")
    ax.legend(loc="lower right")
    return {"time": figure}


def section(record: Record) -> str:
    """Return the table and what it shows."""
    times = _by_method(record)
    sizes = sorted({d for taken in times.values() for d in taken})
    rows = [
        [name, *(f"{1e3 * taken[d]:.3g}" if d in taken else "-" for d in sizes)]
        for name, taken in times.items()
    ]
    limit = record["parameters"]["limit"]
    reached = {name: [d for d, t in taken.items() if t <= limit] for name, taken in times.items()}
    reach = ", ".join(f"{name} {max(within)}" for name, within in reached.items())
    ours = times["pkex"]
    power = growth(ours, 100, max(ours)) if max(ours) > 100 and 100 in ours else None
    grows = "" if power is None else f" From d = 100 on the time of pkex grows like d^{power:.2f}."
    return f"""**The paper** reports that brute force reaches at most 20 features in 20 s, and that
its algorithm scales to 1000.

**We find** these largest sizes within {limit:g} s, among those tried: {reach}.{grows} Brute force
is vectorised over coalitions, and `pkex.reference` offers it up to d = 20 only. Newton's
identities have no correct digit left from d = 60 to 100 on, so that the times there are those of
wrong values. Prefix-suffix is run in blocks of training points, as its tables have d^2 entries for
each.

Milliseconds for one row ({record["machine"].get("backend", "")} backend of pkex):

{table(["d", *map(str, sizes)], rows)}
"""


EXPERIMENT = Experiment(
    "time",
    "Time against the number of features (figure 1)",
    {
        "smoke": {"sizes": SIZES[:2], "samples": 60, "repeats": 1, "limit": 1.0},
        "quick": {"sizes": SIZES[:10], "samples": 500, "repeats": 3, "limit": 5.0},
        "full": {"sizes": SIZES, "samples": 500, "repeats": 5, "limit": 20.0},
    },
    run,
    draw,
    section,
)
