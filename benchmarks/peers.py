"""pkex beside the explainers that people use today, each on the same value function.

    python -m benchmarks.peers [--game GAME] [--quick | --exact | --only-bare] [--bare PYTHON]
                               [--limit SECONDS]

SVR and Gaussian process regression with an RBF kernel (gamma = 1/d, standard normal data, all 450
training points in the expansion), one row at d = 10 ... 1000, one thread. A method is left out once
a row is expected to take more than 60 s, or the limit given. Stored are times, ratios, memory,
growth exponents, and the error: the largest difference to pkex, relative to the largest value.

*Interventional* (``benchmarks/results/interventional.json``): the same 100 background rows for all.
pkex is exact; shap's explainers and shapiq's `TabularExplainer` estimate the same values, shap with
its default budgets, shapiq with that of `KernelExplainer`. By default `KernelExplainer` keeps ten
features and gives all others the value 0 (``l1_reg="num_features(10)"``), which is a choice and not
an error of sampling; so it runs a second time with all features (``l1_reg=False``).

*Neutral* (``benchmarks/results/neutral.json``): pkex, the paper's algorithm and shapiq's
`ProductKernelExplainer`, all of them exact; also batches of rows and 5000 training points.
``--bare`` names the interpreter of an environment in which pkex was installed without a compiler,
as ``make bench`` builds one, and adds a line for it; ``--only-bare`` measures that line alone and
puts it in place of the one that is stored.

``--exact`` adds the time of a row among 100, where the overhead of a call is shared, for neutral
and for marginal removal, the default (``benchmarks/results/exact.json``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import shap
import shapiq
from numpy.typing import NDArray
from shapiq.explainer.product_kernel import ProductKernelExplainer
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import N_POINTS, SIZES, fit
from benchmarks.record import config, load, store
from benchmarks.timing import growth, peak_memory, seconds
from pkex import reference

Floats = NDArray[np.float64]
Explain = Callable[[Floats], Floats]
Builder = Callable[[Any, Floats], Explain]

LIMIT = 60.0
BACKGROUND = 100
PACKAGES = ("shapiq", "scikit-learn")
BARE = "pkex, NumPy"


def by_pkex(removal: str, *, background: bool = False) -> Builder:
    """Return a builder for the compiled backend."""

    def build(model: Any, X: Floats) -> Explain:
        os.environ["PKEX_BACKEND"] = "native"
        rows = X[:BACKGROUND] if background else None
        explainer = pkex.Explainer(model, rows, n_jobs=1, removal=removal)
        return lambda rows: explainer(rows).values[0]

    return build


def by_prefix_suffix(model: Any, X: Floats) -> Explain:
    """The paper's algorithm, kernel factors included."""
    del X
    expansion = pkex.as_expansion(model)
    kernel: Any = expansion.parts[0].kernel
    points, alpha = np.ascontiguousarray(expansion.parts[0].points), expansion.parts[0].coefficients
    return lambda rows: reference.prefix_suffix(kernel.factors(rows[:1], points), alpha).ravel()


def by_product_kernel(model: Any, X: Floats) -> Explain:
    """Neutral values of shapiq, exactly."""
    del X
    explainer = ProductKernelExplainer(model)
    return lambda rows: explainer.explain(rows[0]).get_n_order_values(1)


def by_tabular(model: Any, X: Floats) -> Explain:
    """Kernel SHAP of shapiq, with the budget of shap's."""
    explainer = shapiq.TabularExplainer(
        model.predict,
        X[:BACKGROUND],
        index="SV",
        max_order=1,
        sample_size=BACKGROUND,
        random_state=0,
    )
    budget = 2 * X.shape[1] + 2048
    return lambda rows: explainer.explain(rows[0], budget=budget).get_n_order_values(1)


def by_permutation(model: Any, X: Floats) -> Explain:
    """Permutations of shap, with its default budget, which needs saying at large d."""
    explainer = shap.PermutationExplainer(model.predict, X[:BACKGROUND])
    evaluations = 10 * (2 * X.shape[1] + 1)
    explainer(X[:1], max_evals=2 * X.shape[1] + 1, silent=True)  # compiles, the first time
    return lambda rows: explainer(rows[:1], max_evals=evaluations, silent=True).values[0]


def by_shap(explainer: Any, **options: Any) -> Builder:
    """Return a builder for another of shap's explainers."""

    def build(model: Any, X: Floats) -> Explain:
        made = explainer(model.predict, X[:BACKGROUND])
        return lambda rows: made.shap_values(rows[:1], silent=True, **options)[0]

    return build


# the first of each is what the others are compared with
INTERVENTIONAL: dict[str, Builder] = {
    "pkex interventional": by_pkex("interventional", background=True),
    "shap Permutation": by_permutation,
    "shap Sampling": by_shap(shap.SamplingExplainer),
    "shap Kernel": by_shap(shap.KernelExplainer),
    "shap Kernel, all features": by_shap(shap.KernelExplainer, l1_reg=False),
    "shapiq Tabular": by_tabular,
}
NEUTRAL: dict[str, Builder] = {
    "pkex": by_pkex("neutral"),
    "prefix_suffix": by_prefix_suffix,
    "shapiq ProductKernel": by_product_kernel,
}


def timed(run: Explain, row: Floats) -> tuple[float, Floats]:
    """Return the shortest time of a call, and what the first one returned."""
    returned: list[Floats] = []
    taken = seconds(lambda: returned.append(run(row)), repeats=9, limit=5.0)
    return taken, returned[0]


def one_row(
    model_name: str, methods: dict[str, Builder], sizes: tuple[int, ...], limit: float
) -> dict[str, Any]:
    """Time one row for every method and size; take its memory and its error."""
    kinds = ("seconds", "memory_mb", "error")
    found: dict[str, Any] = {kind: {name: {} for name in methods} for kind in kinds}
    times = found["seconds"]
    for d in sizes:
        model, X = fit(model_name, N_POINTS, d)
        row = np.random.default_rng(1).normal(size=(1, d))
        exact: Floats | None = None
        for name, build in methods.items():
            before = list(times[name].items())[-1:]
            if before and before[0][1] * (d / before[0][0]) ** 1.5 > limit:
                continue
            run = build(model, X)
            taken, values = timed(run, row)
            exact = values if exact is None else exact
            error = float(np.abs(values - exact).max() / np.abs(exact).max())
            times[name][d], found["error"][name][d] = taken, error
            if taken < 5.0:  # another call for the memory
                found["memory_mb"][name][d] = peak_memory(partial(run, row))
            print(
                f"{model_name} d = {d:<5}{name:<26}{1e3 * taken:>14.3f} ms, off by {error:.1e}",
                flush=True,
            )
    return compared(found)


def compared(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured with ratios to pkex, and with exponents of growth."""
    times: dict[str, dict[int, float]] = found["seconds"]
    ours = next(iter(times.values()))
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
            many = NEUTRAL["pkex"](model, X)
            times = {"pkex, a row of 100": seconds(partial(many, rows)) / 100}
            default = by_pkex("product-of-marginals")(model, X)
            times["pkex, default"] = seconds(partial(default, rows[:1]), repeats=9)
            times["pkex, default, a row of 100"] = seconds(partial(default, rows)) / 100
            for name in ("pkex", "prefix_suffix", "shapiq ProductKernel"):
                if name.startswith("shapiq") and d > 100:
                    continue
                run = NEUTRAL[name](model, X)
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
        run = NEUTRAL["pkex"](model, np.empty((0, d)))
        for size in sizes:
            rows = np.random.default_rng(2).normal(size=(size, d))
            taken = seconds(partial(run, rows), repeats=9, limit=5.0)
            key = f"n = {n}, d = {d}, {size} rows"
            found[key] = {"seconds": taken, "microseconds_per_row": 1e6 * taken / size}
            print(f"{key}: {1e6 * taken / size:.1f} us a row", flush=True)
    return found


def interventional(sizes: tuple[int, ...], limit: float) -> dict[str, Any]:
    """Return interventional values beside estimates of them."""
    return {name: one_row(name, INTERVENTIONAL, sizes, limit) for name in ("SVR", "GPR")}


def neutral(sizes: tuple[int, ...], limit: float, bare: str | None) -> dict[str, Any]:
    """Return neutral values by several algorithms, and batches of rows."""
    results: dict[str, Any] = {
        name: one_row(name, NEUTRAL, sizes, limit) for name in ("SVR", "GPR")
    }
    if bare is not None:
        without_compiler(bare, results, quick=sizes != SIZES)
    return results | {"batches": batches()}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description="pkex beside its peers")
    games = ("interventional", "neutral")
    parser.add_argument("--game", choices=games, help="one of the two value functions; else both")
    parser.add_argument("--quick", action="store_true", help="d up to 50, nothing stored")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a row may take")
    parser.add_argument("--exact", action="store_true", help="only a row among 100")
    parser.add_argument("--bare", metavar="PYTHON", help="of an install without a compiler")
    parser.add_argument("--only-bare", action="store_true", help="only the line of --bare")
    options = parser.parse_args()
    chosen = games if options.game is None else (options.game,)
    full = "neutral" in chosen and not (options.exact or options.quick)
    if options.bare is None and (options.only_bare or full):
        parser.error("pass --bare PYTHON, e.g. --bare build/bare/bin/python after make bench.")
    if options.only_bare:
        results = load("neutral")
        without_compiler(options.bare, results, quick=False)
        store("neutral", results)
        return
    if options.exact:
        store("exact", {"config": config(*PACKAGES), **exact_methods()})
        return
    sizes, limit = (SIZES[:3], 2.0) if options.quick else (SIZES, options.limit)
    for game in chosen:
        found = (
            interventional(sizes, limit)
            if game == "interventional"
            else neutral(sizes, limit, options.bare)
        )
        for model in ("SVR", "GPR"):
            print(f"\n{game}, {model}: how many times as long as pkex")
            for name, ratio in found[model]["ratio"].items():
                shown = "  ".join(f"d={d}: {r:,.0f}" for d, r in ratio.items())
                print(f"  {name:<26}{shown}  growth {found[model]['growth_from_100'][name]}")
        if not options.quick:
            packages = ("shap", *PACKAGES) if game == "interventional" else PACKAGES
            about = config(*packages) | {"limit_seconds": str(limit)}
            store(game, {"config": about} | found)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
