"""What training rows cost: ``python -m benchmarks.influence``.

The ten most influential training rows of 100 rows, with the split over 20 features, of a kernel
ridge regression and a Gaussian process on 2000 rows. The budget is twice the explanation of these
rows plus 4 Cholesky factorisations of a matrix of that size, or plus 3 inversions: both ratios are
printed side by side. The last column has all training rows at once, against the training points
as background; ``python -m benchmarks.influence all`` also against 100 rows, which takes minutes.
One thread, minimum over repeats.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.timing import seconds

N_TRAIN, N_ROWS, N_COLUMNS, TOP = 2000, 100, 20, 10


def measure(
    name: str,
    explainer: pkex.Explainer,
    rows: NDArray[np.float64],
    units: dict[str, float],
    all_rows: bool,
) -> None:
    """Print the cost for one model, and its ratio to the budget in both units."""
    explained = seconds(partial(explainer, rows))
    top = seconds(partial(explainer.influence, rows, top=TOP))
    ratios = [top / (unit + 2.0 * explained) for unit in units.values()]
    cost = f"{name:38} {explained:11.3f} {top:9.3f} {ratios[0]:16.2f} {ratios[1]:12.2f}"
    print(cost, end="", flush=True)
    every = seconds(partial(explainer.influence, rows), repeats=1) if all_rows else None
    print("" if every is None else f" {every:9.3f}", flush=True)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TRAIN, N_COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N_TRAIN)
    rows = rng.normal(size=(N_ROWS, N_COLUMNS))
    matrix = rbf_kernel(X, gamma=0.05) + 0.1 * np.eye(N_TRAIN)
    with threadpool_limits(1):
        factorisation = seconds(lambda: cholesky(matrix, lower=True))
        inversion = seconds(lambda: np.linalg.inv(matrix))
        ridge = KernelRidge(kernel="rbf", gamma=0.05, alpha=0.1).fit(X, y)
        process = GaussianProcessRegressor(RBF(3.0), alpha=0.1, optimizer=None).fit(X, y)
        print(f"n = {N_TRAIN}, d = {N_COLUMNS}, {N_ROWS} rows, one thread, seconds")
        print(f"one Cholesky factorisation {factorisation:.3f}, one inversion {inversion:.3f}")
        print("ratio: time of top=10 to the unit plus two explanations; at most 1 is promised")
        print(f"{'':38} explanation    top={TOP} 4 factorisations 3 inversions  all rows")
        units = {"factorisations": 4.0 * factorisation, "inversions": 3.0 * inversion}
        for name, model in (("kernel ridge", ridge), ("Gaussian process", process)):
            for title, background in (("100 background rows", X[:100]), ("training points", None)):
                explainer = pkex.Explainer(model, background, n_jobs=1)
                measure(
                    f"{name}, {title}",
                    explainer,
                    rows,
                    units,
                    background is None or "all" in sys.argv[1:],
                )


if __name__ == "__main__":
    main()
