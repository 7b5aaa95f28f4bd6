"""What permutation importance and SAGE cost beside those that sample, on one thread.

    python -m benchmarks.loss

Permutation importance over all shuffles beside five shuffles of scikit-learn, and SAGE values
beside those of sage-importance, whose time is scaled to the standard error over rows of ours.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import seconds

N_ROWS = 450


def data(n_columns: int) -> tuple[Any, Any]:
    """Return rows and targets, of which three columns matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, n_columns))
    return X, X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + 0.1 * rng.normal(size=N_ROWS)


def measure_permutations() -> dict[str, dict[str, float]]:
    """Return seconds of both functions for two models of 50 features."""
    X, y = data(50)
    models = {
        "SVR": SVR(C=10.0, gamma=0.01).fit(X, y),
        "KernelRidge": KernelRidge(kernel="rbf", gamma=0.01, alpha=0.1).fit(X, y),
    }
    times = {}
    for name, model in models.items():
        exact = seconds(partial(pkex.permutation_importance, model, X, y, n_jobs=1), repeats=3)
        five = seconds(
            partial(permutation_importance, model, X, y, n_repeats=5, random_state=0), repeats=3
        )
        times[name] = {"pkex": exact, "scikit-learn, 5 shuffles": five, "ratio": five / exact}
    return times


def measure_sage() -> dict[str, float]:
    """Return seconds of exact SAGE values of 10 features, and of sampled ones of a like error."""
    X, y = data(10)
    model = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1).fit(X, y)
    exact = pkex.sage(model, X, y, n_jobs=1)
    times = {"pkex": seconds(lambda: pkex.sage(model, X, y, n_jobs=1), repeats=2, limit=20.0)}
    try:
        import sage
    except ImportError:
        return times
    imputer = sage.MarginalImputer(model.predict, X[:32])
    estimator = sage.PermutationEstimator(imputer, "mse", random_state=0)
    start = time.perf_counter()
    sampled = estimator(X, y, n_permutations=256, detect_convergence=False, bar=False)
    spent = time.perf_counter() - start
    more = float((sampled.std.max() / exact.standard_errors.max()) ** 2)
    times |= {"sage-importance, 256 permutations, 32 rows": spent, "at equal error": spent * more}
    return times


def main() -> None:
    """Measure, print and store."""
    store(
        "loss", {"config": config(), "permutation": measure_permutations(), "sage": measure_sage()}
    )


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
