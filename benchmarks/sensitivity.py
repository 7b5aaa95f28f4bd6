"""Uncertainty and sensitivity: exact, beside sampling.

    python -m benchmarks.sensitivity [--quick]

*Sensitivity* of an SVR with 450 training points and 50 columns, the inputs standard normal and
independent: the time of `pkex.sensitivity`, for the distributions and for a table, beside that of
predicting for a Saltelli design of N = 10,000, which needs N (d + 2) predictions, and how far its
first and total order indices are from the exact ones. `--quick` predicts for N = 500.

*SALib* analyses a Gaussian process of 10 columns with its own Saltelli design, N = 1024, and *sage*
estimates the Shapley effects of the same from 256 permutations (SAGE values with the model's own
predictions as targets, over independent columns), which is a budget: sage's own criterion of
convergence takes minutes. Both are imported where they are installed, and left out elsewhere.

*Matern*: a Gaussian process with a Matern 5/2 kernel, a length scale for each of 10 columns and 256
training points. `pkex.sensitivity` with all pairs, and with 199 posterior draws, beside the
predictions of a Saltelli design whose largest standard error over all reported indices is 0.01. How
large it has to be is found from the spread of the estimators in a smaller one, and the time of its
predictions from theirs. The variance of a row at 331 training points, averaged over the product of
marginals and over 50 background rows. These are seconds of the processor.

*Uncertainty* of a Gaussian process with 450 training points and 20 columns: 10 rows with standard
deviations and with covariances beside the values alone, and the attribution of the variance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.bare import fit
from benchmarks.record import config, store
from benchmarks.timing import seconds

Floats = NDArray[np.float64]

N_SALTELLI, N_SALIB, N_PERMUTATIONS = 10_000, 1024, 256
BLOCK = 20_000  # rows of a prediction


def saltelli(predict: Callable[[Floats], Floats], d: int, n: int) -> tuple[float, Floats, Floats]:
    """Return the time of the predictions of a design, and first and total order indices.

    By the estimators of Saltelli et al. (2010) for the first and of Jansen for the total order.
    """
    first, second = np.random.default_rng(0).normal(size=(2, n, d))
    spent = 0.0

    def timed(rows: Floats) -> Floats:
        nonlocal spent
        start = time.perf_counter()
        found = [predict(rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK)]
        spent += time.perf_counter() - start
        return np.concatenate(found)

    a, b = timed(first), timed(second)
    variance = np.concatenate([a, b]).var()
    alone, total = np.empty(d), np.empty(d)
    for j in range(d):
        mixed = first.copy()
        mixed[:, j] = second[:, j]
        found = timed(mixed)
        alone[j] = np.mean(b * (found - a)) / variance
        total[j] = 0.5 * np.mean((a - found) ** 2) / variance
    return spent, alone, total


def sensitivity(n: int) -> dict[str, Any]:
    """Compare with a Saltelli design."""
    d = 50
    model, X = fit("SVR", 450, d)
    inputs = {j: stats.norm() for j in range(d)}
    exact = pkex.sensitivity(model, inputs, n_jobs=1)
    by_rule = seconds(partial(pkex.sensitivity, model, inputs, n_jobs=1), repeats=3)
    by_table = seconds(partial(pkex.sensitivity, model, X, n_jobs=1), repeats=3)
    pairs = seconds(partial(pkex.sensitivity, model, X, order=2, n_jobs=1), repeats=2)
    spent, first, total = saltelli(model.predict, d, n)
    return {
        "n": n,
        "columns": d,
        "points": len(model.support_),
        "table": by_table,
        "distributions": by_rule,
        "order 2": pairs,
        "error": exact.error_bound,
        "saltelli": spent,
        "saltelli first": float(np.abs(first - exact.first_order).max()),
        "saltelli total": float(np.abs(total - exact.total_order).max()),
        "saltelli negative": int((first < 0.0).sum()),
        "largest first": float(exact.first_order.max()),
    }


def peers() -> dict[str, Any]:
    """Compare with SALib and sage on a Gaussian process, where they are installed."""
    d = 10
    model, _ = fit("GPR", 450, d)
    inputs = {j: stats.norm() for j in range(d)}
    exact = pkex.sensitivity(model, inputs, n_jobs=1)
    ours = seconds(partial(pkex.sensitivity, model, inputs, n_jobs=1), repeats=3)
    found: dict[str, Any] = {"pkex": {"seconds": ours, "error": exact.error_bound}}
    if find_spec("SALib"):
        found["SALib"] = _salib(model.predict, exact)
    if find_spec("sage"):
        found["sage"] = _sage(model.predict, exact)
    return found


def _salib(predict: Callable[[Floats], Floats], exact: pkex.Sensitivity) -> dict[str, Any]:
    from SALib.analyze import sobol as analyze
    from SALib.sample import sobol as sample

    d = len(exact.feature_groups)
    problem = {
        "num_vars": d,
        "names": list(exact.feature_names),
        "bounds": [[0.0, 1.0]] * d,
        "dists": ["norm"] * d,
    }
    start = time.perf_counter()
    rows = sample.sample(problem, N_SALIB, calc_second_order=False, seed=0)
    indices = analyze.analyze(problem, predict(rows), calc_second_order=False, seed=0)
    spent = time.perf_counter() - start
    return {
        "seconds": spent,
        "predictions": len(rows),
        "first": float(np.abs(indices["S1"] - exact.first_order).max()),
        "total": float(np.abs(indices["ST"] - exact.total_order).max()),
        "negative": int((indices["S1"] < 0.0).sum()),
    }


def _sage(predict: Callable[[Floats], Floats], exact: pkex.Sensitivity) -> dict[str, Any]:
    import sage

    d = len(exact.feature_groups)
    rng = np.random.default_rng(0)
    rows, background = rng.normal(size=(512, d)), rng.normal(size=(64, d))
    start = time.perf_counter()
    imputer = sage.MarginalImputer(predict, background)
    estimator = sage.PermutationEstimator(imputer, "mse")
    found = estimator(
        rows,
        predict(rows),
        batch_size=64,
        detect_convergence=False,
        n_permutations=N_PERMUTATIONS,
        bar=False,
    )
    spent = time.perf_counter() - start
    effects = np.asarray(found.values) / float(exact.variance)
    error = float(np.abs(effects - exact.shapley).max())
    return {"seconds": spent, "permutations": N_PERMUTATIONS, "shapley": error}


def fit_matern(n: int, d: int) -> tuple[GaussianProcessRegressor, Floats]:
    """Return a process with a length scale for each column, and its training points."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(n, d))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + 0.05 * random.normal(size=n)
    kernel = gp.Matern(np.geomspace(0.4, 3.0, d), nu=2.5)
    model = GaussianProcessRegressor(kernel, alpha=1e-2, optimizer=None, normalize_y=True)
    return model.fit(X, y), X


def cpu_seconds(run: Callable[[], Any], repeats: int) -> float:
    """Return the shortest time of the processor that a call takes."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def saltelli_spread(predict: Callable[[Floats], Floats], d: int, n: int) -> tuple[float, float]:
    """Return seconds a prediction, and the largest standard deviation of a term of an estimator.

    Of first and total order as in `saltelli`, and of second order as in SALib, in the unit cube.
    """
    first, second = np.random.default_rng(0).uniform(size=(2, n, d))
    start = time.process_time()
    a, b = predict(first), predict(second)
    seconds_each = (time.process_time() - start) / (2 * n)
    variance = np.concatenate([a, b]).var()
    mean = np.concatenate([a, b]).mean()
    a, b = a - mean, b - mean
    left: list[Floats] = []  # one column of the other sample in each
    right: list[Floats] = []
    for j in range(d):
        for rows, other, found in ((first, second, left), (second, first, right)):
            mixed = rows.copy()
            mixed[:, j] = other[:, j]
            found.append(predict(mixed) - mean)
    alone = [b * (one - a) / variance for one in left]
    terms = [*alone, *(0.5 * (a - one) ** 2 / variance for one in left)]
    for j in range(d):
        for k in range(j + 1, d):
            terms.append((right[j] * left[k] - a * b) / variance - alone[j] - alone[k])
    return seconds_each, max(float(term.std()) for term in terms)


def matern() -> dict[str, Any]:
    """Return the times of the indices and of the variance under a Matern kernel."""
    d, n = 10, 256
    model, _ = fit_matern(n, d)
    analyse = partial(pkex.sensitivity, model, dict.fromkeys(range(d), (0.0, 1.0)), n_jobs=1)
    draws = partial(analyse, n_draws=199, random_state=0)
    seconds_each, spread = saltelli_spread(model.predict, d, 2048)
    needed = int(np.ceil((spread / 0.01) ** 2))
    larger, X = fit_matern(331, d)
    row = X[100:101] + 0.01
    averaged = pkex.Explainer(larger, n_jobs=1)
    one_by_one = pkex.Explainer(larger, X[:50], n_jobs=1)
    return {
        "columns": d,
        "points": n,
        "first order": cpu_seconds(analyse, 3),
        "all pairs": cpu_seconds(partial(analyse, order=2), 2),
        "199 draws": cpu_seconds(draws, 2),
        "199 draws, all pairs": cpu_seconds(partial(draws, order=2), 1),
        "saltelli n": needed,
        "saltelli": seconds_each * needed * (2 * d + 2),
        "variance, product of marginals": cpu_seconds(partial(averaged.explain_variance, row), 3),
        "variance, 50 background rows": cpu_seconds(partial(one_by_one.explain_variance, row), 2),
    }


def uncertainty() -> dict[str, Any]:
    """Return the times of standard deviations, covariances, and the attribution of the variance."""
    d, n_rows = 20, 10
    model, X = fit("GPR", 450, d)
    rows = np.random.default_rng(1).normal(size=(n_rows, d))
    found: dict[str, Any] = {"columns": d, "rows": n_rows, "background": 100}
    for name, explain in (
        ("interventional", pkex.Explainer(model, X[:100], n_jobs=1)),
        ("product-of-marginals", pkex.Explainer(model, n_jobs=1)),
    ):
        few = rows[:2] if name == "interventional" else rows
        found[name] = {
            "values": seconds(partial(explain, rows), repeats=5),
            "std": seconds(partial(explain, rows, return_std=True), repeats=3),
            "cov": seconds(partial(explain, rows, return_cov=True), repeats=2),
            "variance, a row": seconds(partial(explain.explain_variance, few), repeats=1)
            / len(few),
        }
    return found


def main() -> None:
    """Measure, print and store."""
    quick = "--quick" in sys.argv
    present = [
        name
        for name, module in (("SALib", "SALib"), ("sage-importance", "sage"))
        if find_spec(module)
    ]
    results: dict[str, Any] = {"config": config("scikit-learn", *present)}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "sensitivity": partial(sensitivity, 500 if quick else N_SALTELLI)
    }
    parts |= {"peers": peers, "matern": matern, "uncertainty": uncertainty}
    for name, measure in parts.items():
        results[name] = measure()
        print(name, results[name], flush=True)
    store("sensitivity", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
