"""Other kernels than the RBF kernel."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import difference, figure, table, versions
from benchmarks.record import load

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


def kernels(results: dict[str, Any]) -> str:
    """Return times under several kernels, and their ratios to the RBF kernel."""
    removals = [key for key in results if key not in ("config", "samplers")]
    lines = []
    for name in results["product-of-marginals"]:
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
        taken, error = found[name]["seconds"], found[name]["relative_difference"]
        return f"{figure(1e3 * taken)} ms and is off by {difference(error)}"

    return SAMPLERS.format(
        permutation=estimate("shap Permutation"),
        kernel=estimate("shap Kernel, all features"),
        ours=figure(1e3 * found["pkex interventional"]["seconds"]),
    )


def section() -> list[str]:
    """Return the section on other kernels."""
    results = load("kernels")
    return [KERNELS.format(versions=versions(results)), kernels(results), samplers(results)]
