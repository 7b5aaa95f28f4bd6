"""Effects: partial dependence and ICE beside scikit-learn's brute method.

    python -m benchmarks.effects

An SVR with 450 training points and 50 columns, 450 background rows, a grid of 100 places, all
features, one thread. scikit-learn's `partial_dependence(method="brute")` is measured on two
features, and its time multiplied by 25, as every feature asks for the same number of predictions.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.inspection import partial_dependence
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.timing import seconds

__all__ = ["main"]

N_ROWS, N_COLUMNS, N_PLACES, N_MEASURED = 450, 50, 100, 2


def partial_dependence_of_all_columns() -> None:
    """Print the times of average and individual curves of all features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    model = SVR(C=10.0, epsilon=0.0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    explainer = pkex.Explainer(model, X, n_jobs=1)
    features = range(N_COLUMNS)

    def brute() -> None:
        for j in range(N_MEASURED):
            partial_dependence(model, X, [j], method="brute", grid_resolution=N_PLACES, kind="both")

    theirs = seconds(brute) * N_COLUMNS / N_MEASURED
    print(f"scikit-learn, brute: {theirs:.1f} s ({N_MEASURED} features, scaled to {N_COLUMNS})")
    for kind in ("average", "both"):
        ours = seconds(partial(explainer.effects, features, kind=kind))
        print(f"pkex, kind={kind!r}: {ours:.3f} s, {theirs / ours:.0f} times as fast")


def main() -> None:
    """Run all sections."""
    with threadpool_limits(1):
        partial_dependence_of_all_columns()


if __name__ == "__main__":
    main()
