"""What a game costs by the way removed features are replaced: part of `benchmarks.removal`.

A *game* is one pair of points, with one background row where there are rows. An RBF kernel with
gamma = 1/d, standard normal data, 450 points, 100 background rows; one thread, minimum over repeats
that take turns. Models are explained through `pkex.Explainer`; of the statistics the pairs are
summed without what comes before and after, as the mean factors of removed
columns are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pkex
from benchmarks.bare import fit
from benchmarks.timing import seconds
from pkex.games.engine import run_reduction
from pkex.games.plan import Plan
from pkex.games.reductions import ByPair, MeanFactors
from pkex.games.sources import PointSource
from pkex.kernels import RBF

__all__ = ["measured"]

Floats = NDArray[np.float64]

GAME_SIZES = (20, 50, 100, 200)
MOST = 1.3  # times a neutral game, at most
ROWS, POINTS, BACKGROUND, TURNS = 20, 450, 100, 5


class _Centred:
    """Weights of the pairs of one sample that sum to 0 in every row, as those of HSIC do."""

    with_self = True

    def __init__(self, n_rows: int) -> None:
        target = np.random.default_rng(2).normal(size=n_rows)
        target -= target.mean()
        self.weights = np.outer(target, target) / n_rows**2

    def block(self, rows: slice, points: slice) -> Floats:
        """Return the weights of some pairs."""
        return self.weights[rows, points].copy()


def _statistic(d: int, *, marginal: bool) -> tuple[Callable[[], object], int]:
    """Return the sum over all pairs of a sample, what MMD and HSIC share, and how many are met."""
    x = np.asfortranarray(np.random.default_rng(d).normal(size=(POINTS, d)))
    players = tuple((j,) for j in range(d))
    plan = Plan.of(RBF(np.sqrt(d / 2.0)).terms(d), players, apart=False, general=marginal)
    games = plan.games()
    absent = run_reduction(MeanFactors(games, x), n_jobs=1) if marginal else None
    source, weights = PointSource(games, x, x, absent), _Centred(POINTS)
    tasks = ByPair(plan, source, weights).tasks()
    met = sum((r.stop - r.start) * (p.stop - p.start) for r, p, _ in tasks)
    return lambda: run_reduction(ByPair(plan, source, weights), n_jobs=1), met


def costs(d: int) -> dict[str, float]:
    """Return the nanoseconds of a game by the kind of removal."""
    model, X = fit("SVR", POINTS, d)
    rows = np.random.default_rng(1).normal(size=(ROWS, d))
    make = partial(pkex.Explainer, model, n_jobs=1)
    pairs = ROWS * POINTS
    runs: dict[str, tuple[Callable[[], object], int]] = {
        "neutral": (partial(make(removal="neutral"), rows), pairs),
        "interventional": (partial(make(X[:BACKGROUND]), rows[:1]), POINTS * BACKGROUND),
        "product-of-marginals": (
            partial(make(X[:BACKGROUND], removal="product-of-marginals"), rows),
            pairs,
        ),
        "statistic, neutral": _statistic(d, marginal=False),
        "statistic, product-of-marginals": _statistic(d, marginal=True),
    }
    best = dict.fromkeys(runs, np.inf)
    for _ in range(TURNS):
        for name, (run, games) in runs.items():
            best[name] = min(best[name], 1e9 * seconds(run, repeats=3, limit=1.0) / games)
    return best


def ratios(found: dict[str, float]) -> dict[str, float]:
    """Return what games cost beside neutral ones of the same size."""
    return {
        "interventional": found["interventional"] / found["neutral"],
        "product-of-marginals": found["product-of-marginals"] / found["neutral"],
        "statistic, product-of-marginals": found["statistic, product-of-marginals"]
        / found["statistic, neutral"],
    }


def measured() -> dict[str, Any]:
    """Measure and print costs and ratios for all sizes."""
    results: dict[str, Any] = {"most": MOST}
    for d in GAME_SIZES:
        found = costs(d)
        beside = ratios(found)
        results[str(d)] = {"nanoseconds": found, "ratios": beside}
        for name, ratio in beside.items():
            print(
                f"d = {d:<5}{name:<26}{found[name]:>10.0f} ns a game, {ratio:>5.2f} times "
                f"a neutral one (at most {MOST}: {'yes' if ratio <= MOST else 'NO'})",
                flush=True,
            )
    return results


if __name__ == "__main__":  # these alone, without storing them
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        measured()
