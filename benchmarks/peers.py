"""pkex beside the explainers that people use today, in one process and one thread each.

    python -m benchmarks.peers [--quick | --exact | --only-bare] [--bare PYTHON] [--limit SECONDS]

For SVR and Gaussian process regression with an RBF kernel (gamma = 1/d, standard normal data, all
450 training points in the expansion) it times one row at d = 10 ... 1000, with every peer until it
takes more than 60 s a row, or the limit given; one row with 5000 training points; and batches of 1,
10 and 1000 rows. It prints and stores times, ratios, memory and growth exponents
(``benchmarks/results/peers.json``) and draws the figure of the README (``docs/peers.png``).
``--exact`` runs only the exact methods, in a few minutes, and adds the time of a row among 100,
where the overhead of a call is shared (``benchmarks/results/exact.json``). ``--bare`` names the
interpreter of an environment in which pkex was installed without a compiler, as ``make bench``
builds one, and adds a line for it; ``--only-bare`` measures that line alone and puts it in place of
the one that is stored.

`shapiq` explains the same game as pkex, exactly. shap's explainers solve another game, with
features replaced from 100 background rows, and sample it; their default budgets are used. They
are here because they are what one would reach for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from shapiq.explainer.product_kernel import ProductKernelExplainer
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import N_POINTS, SIZES, fit
from benchmarks.record import config, load, store
from benchmarks.timing import growth, peak_memory, seconds
from pkex import reference
from pkex._util.files import write_whole

Floats = NDArray[np.float64]
Builder = Callable[[Any, Floats], Callable[[Floats], object]]

LIMIT = 60.0
FIGURE = Path(__file__).parents[1] / "docs" / "peers.png"
PACKAGES = ("shap", "shapiq", "scikit-learn")
BARE = "pkex, NumPy"


def by_default(model: Any, X: Floats) -> Callable[[Floats], object]:
    """The native kernel, with the default game in place of that which others solve as well."""
    del X
    os.environ["PKEX_BACKEND"] = "native"
    return pkex.Explainer(model, n_jobs=1)


def by_pkex(model: Any, X: Floats) -> Callable[[Floats], object]:
    """The native kernel."""
    del X
    os.environ["PKEX_BACKEND"] = "native"
    return pkex.Explainer(model, n_jobs=1, removal="neutral")


def by_prefix_suffix(model: Any, X: Floats) -> Callable[[Floats], object]:
    """The paper's algorithm, kernel factors included."""
    del X
    expansion = pkex.as_expansion(model)
    kernel: Any = expansion.parts[0].kernel
    points, alpha = np.ascontiguousarray(expansion.parts[0].points), expansion.parts[0].coefficients
    return lambda rows: reference.prefix_suffix(kernel.factors(rows[:1], points), alpha)


def by_shapiq(model: Any, X: Floats) -> Callable[[Floats], object]:
    """The same game, exactly."""
    del X
    explainer = ProductKernelExplainer(model)
    return lambda rows: explainer.explain(rows[0])


def by_shap(explainer: Any) -> Builder:
    """Return a builder for one of shap's explainers with 100 background rows."""

    def build(model: Any, X: Floats) -> Callable[[Floats], object]:
        made = explainer(model.predict, X[:100])
        if explainer is shap.PermutationExplainer:
            evaluations = 10 * (2 * X.shape[1] + 1)  # its default, which needs saying at large d
            made(X[:1], max_evals=2 * X.shape[1] + 1, silent=True)  # compiles, the first time
            return lambda rows: made(rows[:1], max_evals=evaluations, silent=True)
        return lambda rows: made.shap_values(rows[:1], silent=True)

    return build


METHODS: dict[str, Builder] = {
    "pkex": by_pkex,
    "prefix_suffix": by_prefix_suffix,
    "shapiq ProductKernel": by_shapiq,
    "shap Permutation": by_shap(shap.PermutationExplainer),
    "shap Sampling": by_shap(shap.SamplingExplainer),
    "shap Kernel": by_shap(shap.KernelExplainer),
}


def one_row(model_name: str, sizes: tuple[int, ...], limit: float) -> dict[str, Any]:
    """Time one row for every method and size, and take its memory."""
    times: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    memory: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    for d in sizes:
        model, X = fit(model_name, N_POINTS, d)
        row = np.random.default_rng(1).normal(size=(1, d))
        for name, build in METHODS.items():
            before = list(times[name].items())[-1:]
            if before and before[0][1] * (d / before[0][0]) ** 1.5 > limit:
                continue
            run = build(model, X)
            times[name][d] = seconds(partial(run, row), repeats=9, limit=5.0)
            if times[name][d] < 5.0:  # another call for the memory
                memory[name][d] = peak_memory(partial(run, row))
            print(f"{model_name} d = {d:<5}{name:<22}{1e3 * times[name][d]:>14.3f} ms", flush=True)
    return compared({"seconds": times, "memory_mb": memory})


def compared(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured with ratios to pkex, and with exponents of growth."""
    times: dict[str, dict[int, float]] = found["seconds"]
    ours = times["pkex"]
    ratios = {
        name: {d: t / ours[d] for d, t in measured.items()} for name, measured in times.items()
    }
    exponents = {
        name: growth(measured, 100, max(measured)) if max(measured) > 100 else None
        for name, measured in times.items()
    }
    return found | {"ratio": ratios, "growth_from_100": exponents}


def without_compiler(python: str, results: dict[str, Any], quick: bool) -> None:
    """Add the line of pkex in an environment that it was installed in without a compiler."""
    environment = {name: v for name, v in os.environ.items() if name != "PKEX_BACKEND"}
    command = [python, "-m", "benchmarks.bare", *(["--quick"] if quick else [])]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found = json.loads(run.stdout)
    for model in ("SVR", "GPR"):
        for kind in ("seconds", "memory_mb"):
            # as a whole number each, as they are here, and next to the line of pkex itself
            sizes = {name: _numbered(line) for name, line in results[model][kind].items()}
            bare = _numbered(found[model][kind])
            results[model][kind] = {"pkex": sizes.pop("pkex"), BARE: bare} | sizes | {BARE: bare}
        results[model] = compared(results[model])
    results["without a compiler"] = found["config"]


def _numbered(line: dict[Any, float]) -> dict[int, float]:
    return {int(d): value for d, value in line.items()}


def exact_methods() -> dict[str, Any]:
    """Time the exact methods side by side, pkex also by default and for a row among 100."""
    found: dict[str, Any] = {}
    for model_name in ("SVR", "GPR"):
        for d in SIZES:
            model, X = fit(model_name, N_POINTS, d)
            rows = np.random.default_rng(1).normal(size=(100, d))
            many = by_pkex(model, X)
            times = {"pkex, a row of 100": seconds(partial(many, rows)) / 100}
            default = by_default(model, X)
            times["pkex, default"] = seconds(partial(default, rows[:1]), repeats=9)
            times["pkex, default, a row of 100"] = seconds(partial(default, rows)) / 100
            for name in ("pkex", "prefix_suffix", "shapiq ProductKernel"):
                if name.startswith("shapiq") and d > 100:
                    continue
                run = METHODS[name](model, X)
                times[name] = seconds(partial(run, rows[:1]), repeats=9)
            found[f"{model_name}, d = {d}"] = times
            for name, taken in times.items():
                ratios = ", ".join(
                    f"{taken / times[base]:,.0f} times {base}"
                    for base in ("pkex, a row of 100", "pkex")
                )
                print(
                    f"{model_name} d = {d:<5}{name:<22}{1e6 * taken:>12.1f} us, {ratios}",
                    flush=True,
                )
    return found


def batches() -> dict[str, Any]:
    """Time pkex for batches of rows, and for many training points."""
    found: dict[str, Any] = {}
    for n, d, sizes in ((N_POINTS, 20, (1, 10, 1000)), (5000, 20, (1, 10))):
        model, _ = fit("SVR", n, d)
        run = by_pkex(model, np.empty((0, d)))
        for size in sizes:
            rows = np.random.default_rng(2).normal(size=(size, d))
            taken = seconds(partial(run, rows), repeats=9, limit=5.0)
            key = f"n = {n}, d = {d}, {size} rows"
            found[key] = {"seconds": taken, "microseconds_per_row": 1e6 * taken / size}
            print(f"{key}: {1e6 * taken / size:.1f} us a row", flush=True)
    return found


def draw(results: dict[str, Any]) -> None:
    """Draw time against the number of features, for both models."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colours = ["#d1495b", "#e9a03b", "#5b8c5a", "#2e6f95", "#8a8a8a", "#b0b0b0", "#6d597a"]
    markers = "osD^vP*"
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.3), sharey=True, layout="constrained")
    for ax, model in zip(axes, ("SVR", "GPR"), strict=True):
        for (name, times), colour, marker in zip(
            results[model]["seconds"].items(), colours, markers, strict=True
        ):
            d = [int(size) for size in times]
            ax.loglog(d, list(times.values()), color=colour, marker=marker, ms=5, label=name)
        ax.set_xlabel("number of features d")
        ax.set_title(f"{model}, {N_POINTS} training points", size=10)
        ax.grid(which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds for one row, one thread")
    axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_whole(FIGURE, partial(fig.savefig, format="png", dpi=130), FIGURE.name)


def main() -> None:
    """Measure, print, store and draw."""
    parser = argparse.ArgumentParser(description="pkex beside its peers")
    parser.add_argument("--quick", action="store_true", help="d up to 50, nothing stored")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a row may take")
    parser.add_argument("--exact", action="store_true", help="only the exact methods")
    parser.add_argument("--bare", metavar="PYTHON", help="of an install without a compiler")
    parser.add_argument("--only-bare", action="store_true", help="only the line of --bare")
    options = parser.parse_args()
    if options.bare is None and (options.only_bare or not (options.exact or options.quick)):
        parser.error("pass --bare PYTHON, e.g. --bare build/bare/bin/python after make bench.")
    if options.only_bare:
        results = load("peers")
        without_compiler(options.bare, results, quick=False)
        store("peers", results)
        draw(results)
        return
    if options.exact:
        store("exact", {"config": config(*PACKAGES), **exact_methods()})
        return
    quick = options.quick
    sizes, limit = (SIZES[:3], 2.0) if quick else (SIZES, options.limit)
    results = {name: one_row(name, sizes, limit) for name in ("SVR", "GPR")}
    if options.bare is not None:
        without_compiler(options.bare, results, quick)
    results["batches"] = batches()
    results["config"] = config(*PACKAGES) | {"limit_seconds": str(limit)}
    for model in ("SVR", "GPR"):
        print(f"\n{model}: how many times as long as pkex")
        for name, ratio in results[model]["ratio"].items():
            shown = "  ".join(f"d={d}: {r:,.0f}" for d, r in ratio.items())
            print(f"  {name:<22}{shown}  growth {results[model]['growth_from_100'][name]}")
    if not quick:
        store("peers", results)
        draw(results)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
