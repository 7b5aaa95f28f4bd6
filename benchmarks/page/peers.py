"""One row beside other explainers, on the same value function each; many rows."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import NAMES, difference, figure, table, versions
from benchmarks.record import load

AMONG, DEFAULT, DEFAULT_AMONG = (
    "pkex, a row of 100",
    "pkex, default",
    "pkex, default, a row of 100",
)
MODELS = ("SVR", "GPR")


INTERVENTIONAL = """\
## Interventional values, beside other explainers

![Time and error of one row against the number of features, pkex and three explainers of
shap](peers.png)

All methods have the same model, row and 100 background rows, so they have one answer in common. An
RBF kernel with gamma = 1/d, standard normal data, 450 training points, all of them in the
expansion. Milliseconds for a call with one row, and the error: the largest difference to the exact
values in one run, relative to the largest value.{dash}
(`python -m benchmarks.peers --game interventional`{versions})

At 10 features `KernelExplainer` goes through all coalitions and is exact; with more it samples. As
it is set by default it then keeps ten features and gives all others the value 0
(`l1_reg="num_features(10)"`): where more than ten matter, as here, that makes nearly all of its
error. The line "all features" has `l1_reg=False`; the error that is left there, and with the other
estimates, comes from sampling and differs from run to run. Budgets are
shap's defaults; shapiq has that of `KernelExplainer`.
"""


NEUTRAL = """\
## Neutral values, beside other algorithms

The same models and rows, with neutral removal, as in the paper. All methods here compute the same
values, exactly. Milliseconds for one row. Every line is a call with one row, but for that of a row
among 100: there one call explains 100 rows, and its time is divided by 100 (`--exact`).{dash}
(`python -m benchmarks.peers --game neutral`{versions})
"""

DASH = " A dash where a row was expected to take more than {limit:g} s."


BATCH = """\
## Many rows

A call has some overhead, which many rows share. Microseconds a row, pkex with neutral removal on an
SVR. (`python -m benchmarks.peers --game neutral`)
"""


BY_DEFAULT = """\
The default, the product of marginals over the model's 450 training points, has no peers.
Milliseconds a row; the models are those of the first tables. (`python -m benchmarks.peers --exact`)
"""


def dash(results: dict[str, Any]) -> str:
    """Return what a dash in a table means, where there may be one."""
    limit = results["config"].get("limit_seconds")
    return "" if limit is None else DASH.format(limit=float(limit))


def sizes(results: dict[str, Any], model: str) -> list[str]:
    """Return the numbers of features."""
    return list(next(iter(results[model]["seconds"].values())))


def estimates(results: dict[str, Any], model: str, chosen: list[str]) -> str:
    """Return times and errors of one row, method by method, for some numbers of features."""
    found = results[model]
    lines = [
        [NAMES[name], *(cell(found["seconds"][name], found["error"][name], d) for d in chosen)]
        for name in found["seconds"]
    ]
    return table([f"{model}, features", *chosen], lines)


def cell(seconds: dict[str, float], error: dict[str, float], d: str) -> str:
    """Return the time and error of one method."""
    if d not in seconds:
        return "-"
    far = "exact" if error[d] < 1e-12 else difference(error[d])
    return f"{figure(1e3 * seconds[d])} ms, {far}"


def times(results: dict[str, Any], exact: dict[str, Any], model: str, chosen: list[str]) -> str:
    """Return the times of one row, method by method, for some numbers of features."""
    found: dict[str, dict[str, float]] = results[model]["seconds"]
    lines = [
        [NAMES[name], *(figure(1e3 * taken[d] if d in taken else None) for d in chosen)]
        for name, taken in found.items()
    ]
    lines.insert(1, among(exact, model, AMONG, chosen))
    return table([f"{model}, features", *chosen], lines)


def among(exact: dict[str, Any], model: str, name: str, chosen: list[str]) -> list[str]:
    """Return a line of what `--exact` measured."""
    return [NAMES[name], *(figure(1e3 * exact[f"{model}, d = {d}"][name]) for d in chosen)]


def interventional() -> list[str]:
    """Return the section on interventional values."""
    results = load("interventional")
    head = INTERVENTIONAL.format(dash=dash(results), versions=versions(results))
    present = [model for model in MODELS if model in results]
    return [head, *(estimates(results, model, sizes(results, model)) for model in present)]


def neutral() -> list[str]:
    """Return the section on neutral values."""
    results, exact = load("neutral"), load("exact")
    head = NEUTRAL.format(dash=dash(results), versions=versions(results))
    return [head, *(times(results, exact, model, sizes(results, model)) for model in MODELS)]


def many_rows() -> list[str]:
    """Return the section on many rows."""
    results, exact = load("neutral"), load("exact")
    found = results["batches"].items()
    batches = [[key, figure(entry["microseconds_per_row"])] for key, entry in found]
    chosen = sizes(results, "SVR")
    lines = [
        [f"{model}, {line[0]}", *line[1:]]
        for model in MODELS
        for line in (among(exact, model, name, chosen) for name in (DEFAULT, DEFAULT_AMONG))
    ]
    by_default = table(["features", *chosen], lines)
    return [BATCH, table(["", "us a row"], batches), BY_DEFAULT, by_default]
