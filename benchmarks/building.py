"""What making the default explainer costs, beside adding up every factor.

    python -m benchmarks.building

Standard normal points, random coefficients, RBF with gamma = 1/d and a Laplacian of length scale d,
one thread, minimum over repeats. By default a model of more than 500 points takes 500 of them for
absent features; "all rows" takes all points. Nanoseconds are for each factor between a point and a
row that it is averaged over; "added up" is the backend's own sum of all of them, without anything
else that making an explainer does.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import pkex
from benchmarks.record import config, store
from benchmarks.timing import seconds
from pkex.games.backend import game_class
from pkex.games.rules import general_ladder
from pkex.kernels import RBF, Laplacian
from pkex.models.removal import MAX_ROWS

SIZES = ((5000, 20), (450, 50), (1000, 100))


def measure(n: int, d: int, kernel: pkex.kernels.Kernel) -> dict[str, float]:
    """Return nanoseconds for each factor."""
    rng = np.random.default_rng([n, d])
    X, alpha = np.asfortranarray(rng.normal(size=(n, d))), rng.normal(size=n)
    model = pkex.KernelExpansion(X, alpha, kernel)
    (term,) = kernel.terms(d)
    game = game_class()(term, tuple((j,) for j in range(d)), general_ladder(d))
    shares = np.full(n, 1.0 / n)
    factors, taken = n * n * d, n * min(n, MAX_ROWS) * d
    every = partial(pkex.Explainer, model, X, removal="product-of-marginals", n_jobs=1)
    return {
        "default": 1e9 * seconds(lambda: pkex.Explainer(model, n_jobs=1)) / taken,
        "all rows": 1e9 * seconds(every) / factors,
        "added up": 1e9 * seconds(lambda: game.mean_factors(X, X, shares), repeats=3) / factors,
    }


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config()}
    for n, d in SIZES:
        for name, kernel in (("RBF", RBF.from_gamma(1.0 / d)), ("Laplacian", Laplacian(float(d)))):
            found = measure(n, d, kernel)
            results[f"{n} x {d}, {name}"] = found
            print(f"{n} x {d}, {name}: " + ", ".join(f"{k} {v:.2f} ns" for k, v in found.items()))
    store("building", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
