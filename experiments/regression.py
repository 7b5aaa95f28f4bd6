"""Exact against regression (figure 2): how far paired Kernel SHAP is from the exact values.

SVRs on linear data with d = 10, 20, 30, 50, tuned with the paper's protocol, and scikit-learn's
default SVR beside them; shapiq's Kernel SHAP with the pairing trick on the paper's game, with 200
to 100 000 coalitions. The paper's metric, the sum over features of |phi - estimate| / |phi|, is
dominated by features whose value is near zero, so the error relative to the length of the vector,
|phi - estimate|_2 / |phi|_2, stands beside it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import shapiq
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.svm import SVR

import pkex
from experiments import figures
from experiments.games import Machine
from experiments.page import table
from experiments.record import Experiment, Job, Record, results
from experiments.training import tune_svr

__all__ = ["EXPERIMENT", "neutral_game", "paired_kernel_shap"]

Floats = NDArray[np.float64]

BUDGETS = (200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
FEW = 10_000  # coalitions, for both models
MODELS = ("tuned", "default")
_BLOCK = 2000  # coalitions at a time, to bound the memory


def neutral_game(machine: Machine, x: Floats) -> Any:
    """Return the paper's game at one point as shapiq wants it: coalitions (K, d) to values (K,)."""
    squares = -machine.gamma * (machine.points - x).T ** 2

    def value(coalitions: NDArray[Any]) -> Floats:
        members = np.asarray(coalitions, dtype=np.float64)
        blocks = [members[i : i + _BLOCK] for i in range(0, len(members), _BLOCK)]
        return np.concatenate([np.exp(block @ squares) @ machine.alpha for block in blocks])

    return value


def paired_kernel_shap(value: Any, d: int, budget: int, seed: int) -> Floats:
    """Return shapiq's estimate of the Shapley values of a game."""
    approximator = shapiq.KernelSHAP(n=d, pairing_trick=True, random_state=seed)
    estimate: Floats = approximator.approximate(budget, value).get_n_order_values(1)
    return estimate


def run(job: Job) -> None:
    """Compare with few coalitions for both models, then with many for the default one.

    The tuned models are nearly additive, so that few coalitions show all there is to see.
    """
    few = [budget for budget in job.parameters["budgets"] if budget <= FEW]
    many = [budget for budget in job.parameters["budgets"] if budget > FEW]
    for name, budgets in (("default", few), ("tuned", few), ("default", many)):
        for d in job.parameters["sizes"] if budgets else ():
            _compare_all(job, name, d, budgets)


def _compare_all(job: Job, name: str, d: int, budgets: list[int]) -> None:
    X, y = _linear(d, job.parameters["samples"])
    svr = SVR()
    if name == "tuned":
        tune = partial(tune_svr, X, y, trials=job.parameters["trials"], seed=d)
        found = job.part(f"d = {d}: model", tune)
        svr = SVR(C=found["C"], gamma=found["gamma"])
    svr.fit(X, y)
    rows = X[np.random.default_rng(d).choice(len(X), job.parameters["instances"], replace=False)]
    for budget in budgets:
        if budget <= 2**d:
            job.part(f"{name}: {d}: {budget}", partial(_compare, svr, rows, budget))


def _linear(d: int, samples: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(samples, d))
    return X, X @ rng.normal(size=d) + 0.1 * rng.normal(size=samples)


def _compare(svr: SVR, rows: Floats, budget: int) -> dict[str, Any]:
    """Return both errors of every row."""
    exact = pkex.Explainer(svr, n_jobs=1, removal="neutral")(rows).values
    machine = Machine.of(svr)
    paper, length = [], []
    for i, (x, phi) in enumerate(zip(rows, exact, strict=True)):
        estimate = paired_kernel_shap(neutral_game(machine, x), len(x), budget, seed=i)
        paper.append(float((np.abs(phi - estimate) / np.abs(phi)).sum()))
        length.append(float(np.linalg.norm(phi - estimate) / np.linalg.norm(phi)))
    return {"paper": paper, "l2": length}


def _by_size(record: Record, model: str) -> dict[int, dict[int, dict[str, list[float]]]]:
    """Return the errors by d and budget."""
    found: dict[int, dict[int, dict[str, list[float]]]] = {}
    for name, result in results(record, f"{model}: ").items():
        d, budget = map(int, name.split(": "))
        found.setdefault(d, {})[budget] = result
    return found


def draw(record: Record) -> dict[str, Figure]:
    """Draw both errors of both models against the number of coalitions."""
    models = [model for model in MODELS if _by_size(record, model)]
    size = 10.0, 0.5 + 3.3 * len(models)
    figure, grid = figures.axes(len(models), 2, figsize=size, sharex=True)
    titles = {"paper": "sum of relative errors (the paper's)", "l2": "L2-relative error"}
    for line, model in zip(grid, models, strict=True):
        for ax, (key, title) in zip(line, titles.items(), strict=True):
            for (d, budgets), colour, marker in zip(
                _by_size(record, model).items(), figures.COLOURS, figures.MARKERS, strict=False
            ):
                x = np.array(list(budgets))
                low, middle, high = np.quantile(
                    [errors[key] for errors in budgets.values()], (0.25, 0.5, 0.75), axis=1
                )
                ax.loglog(x, middle, color=colour, marker=marker, ms=5, label=f"d = {d}")
                ax.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
            ax.set_title(f"{model} SVR: {title}", size=10)
    for ax in grid[-1]:
        ax.set_xlabel("coalitions")
    for ax in grid[:, 0]:
        ax.set_ylabel("error, median and quartiles")
    grid[-1, 1].legend(fontsize=8)
    return {"regression": figure}


def section(record: Record) -> str:
    """Return the table and what it shows."""
    rows = []
    budgets = sorted({b for name in MODELS for e in _by_size(record, name).values() for b in e})
    for name in MODELS:
        for d, errors in _by_size(record, name).items():
            for key, label in (("paper", "sum of relative"), ("l2", "L2-relative")):
                cells = [
                    f"{np.mean(errors[b][key]):.2g} ({np.median(errors[b][key]):.2g})"
                    if b in errors
                    else "-"
                    for b in budgets
                ]
                rows.append([f"{name}, d = {d}", label, *cells])
    tuned = [
        f"{result['gamma']:.1g} at d = {name.split(':')[0]} (R2 {result['r2']:.4f})"
        for name, result in results(record, "d = ").items()
    ]
    return f"""**The paper** reports the sum over features of |phi - estimate| / |phi|: about 0.005
with 200 coalitions at d = 10; at d = 50 above 9 with 200 coalitions, above 1 with 10 000, and near
0.05 with 100 000.

**We find** that with the protocol as described, a linear target and a tuned SVR, regression is
right from 200 coalitions on: the tuning finds a gamma of {", ".join(tuned) or "(not run yet)"}.
Such a model is nearly linear, its game nearly additive, and Kernel SHAP is exact for additive
games; much of the error that remains is rounding in shapiq's least squares, so that this model was
run to 10 000 coalitions only. With the default
`SVR()`, gamma about 1/d, the game has interactions of high order, and the errors are of the kind
that the paper shows. Its metric is dominated by features whose value is near zero; the error
relative to the length of the vector says how much of the explanation is wrong. (The published
script takes the mean over features and the median over rows, smaller by a factor of d and more
than what the text describes; the text is followed here.) The exact values take well below a
millisecond a row.

Mean (median) over {record["parameters"]["instances"]} rows:

{table(["model", "error", *(f"{b:,}".replace(",", " ") for b in budgets)], rows)}
"""


EXPERIMENT = Experiment(
    "regression",
    "Exact values against regression (figure 2)",
    {
        "smoke": {
            "sizes": (6,), "samples": 60, "trials": 2, "instances": 2, "budgets": (20, 60),
        },
        "quick": {
            "sizes": (10, 20, 30, 50), "samples": 1000, "trials": 15, "instances": 10,
            "budgets": BUDGETS[:6],
        },
        "full": {
            "sizes": (10, 20, 30, 50), "samples": 1000, "trials": 100, "instances": 100,
            "budgets": BUDGETS,
        },
    },
    run,
    draw,
    section,
    partial=True,
)  # fmt: skip
