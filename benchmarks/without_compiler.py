"""The NumPy backend, by series and by nodes alone.

    python -m benchmarks.without_compiler

Nanoseconds for each factor of a game, 450 points, four rows, RBF with gamma = 1/d, standard normal
data, one thread, minimum over repeats: neutral removal, marginal, and interventional over five
background rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.record import config, store
from benchmarks.timing import seconds
from pkex.games.numpy_backend import NumPyGame
from pkex.games.protocols import BlockSums
from pkex.games.rules import general_ladder, ladder
from pkex.kernels import RBF

Floats = NDArray[np.float64]

SIZES = (20, 50, 100, 200)
POINTS, ROWS, BACKGROUND = 450, 4, 5


class ByNodes(NumPyGame):
    """The same games without series."""

    def _exponents(self, x: Floats, z: Floats) -> None:  # noqa: ARG002
        return None


def measure(d: int) -> dict[str, float]:
    """Return nanoseconds for each factor."""
    rng = np.random.default_rng(d)
    points, rows, background = (
        np.asfortranarray(rng.normal(size=(n, d))) for n in (POINTS, ROWS, BACKGROUND)
    )
    weights, shares = rng.normal(size=(POINTS, 1)), np.full(BACKGROUND, 1.0 / BACKGROUND)
    (term,) = RBF.from_gamma(1.0 / d).terms(d)
    players, found = tuple((j,) for j in range(d)), {}
    general = general_ladder(d)
    means = NumPyGame(term, players, general).mean_factors(
        points, points, np.full(POINTS, 1.0 / POINTS)
    )
    kinds: dict[str, tuple[Any, int, Callable[[NumPyGame], BlockSums]]] = {
        "neutral": (ladder(d), 1, lambda game: game.explain(rows, points, weights)),
        "product-of-marginals": (
            general,
            1,
            lambda game: game.explain(rows, points, weights, means),
        ),
        "interventional": (
            general,
            BACKGROUND,
            lambda game: game.explain_against(rows, points, weights, background, shares),
        ),
    }
    for removal, (rungs, games, run) in kinds.items():
        for name, kind in (("series", NumPyGame), ("nodes", ByNodes)):
            game = kind(term, players, rungs)
            taken = seconds(lambda run=run, game=game: run(game))  # type: ignore[misc]
            found[f"{removal}, {name}"] = 1e9 * taken / (ROWS * POINTS * d * games)
    return found


def main() -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config()}
    for d in SIZES:
        found = measure(d)
        results[f"d = {d}"] = found
        print(f"d = {d}: " + ", ".join(f"{name} {taken:.0f} ns" for name, taken in found.items()))
    store("without_compiler", results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
