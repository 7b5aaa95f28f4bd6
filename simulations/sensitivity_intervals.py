"""How often credible intervals of `pkex.sensitivity` contain the truth.

    python -m simulations.sensitivity_intervals [beginnings of settings]

Functions are drawn from the prior of a Gaussian process, as sums of 2048 random waves that are
independent of those of the draws. Each is observed at 40 random points of the unit cube with noise,
and the process with the same hyperparameters gives intervals at level 0.9 from 199 draws: between
the 10th and the 190th. The exact indices of the functions come from the same quadratic form over
pairs of waves, without data; tests compare it with brute force. Coverage is pooled over inputs, and
the results are stored and go to docs/guide/sensitivity.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pkex
from pkex.explain.posterior_draws import wave_blocks
from pkex.games.draw_moments import DrawGame, DrawSums
from pkex.games.engine import run_reduction
from pkex.games.gauss import gauss_legendre
from pkex.games.moments import Bundles
from pkex.kernels import RBF, Kernel, Matern
from pkex.kernels.spectral import draw_frequencies
from simulations.page import write

ROOT = Path(__file__).parent.parent
STORED = ROOT / "simulations" / "sensitivity_intervals.json"
PAGE = ROOT / "docs" / "guide" / "sensitivity.md"
EDGES = "<!-- made by python -m simulations.sensitivity_intervals -->\n", "\n<!-- end -->\n"
FUNCTIONS, POINTS, DRAWS, LEVEL, NOISE = 200, 40, 199, 0.9, 0.01
WAVES, NODES = 2048, 32
KINDS = ("first_order", "total_order", "shapley", "second_order", "variance")


def kernels() -> dict[str, tuple[int, Kernel]]:
    """Return the settings: the number of inputs, and the kernel."""
    scales = {d: tuple(np.geomspace(0.3, 3.0, d).tolist()) for d in (4, 8)}
    return {
        "RBF, d = 4": (4, RBF(scales[4])),
        "RBF, d = 8": (8, RBF(scales[8])),
        "Matern 5/2, d = 4": (4, Matern(scales[4], nu=2.5)),
    }


class PriorFunctions:
    """Functions drawn from the prior, over the unit cube."""

    def __init__(
        self,
        kernel: Kernel,
        d: int,
        count: int,
        random: np.random.Generator,
        n_waves: int = WAVES,
    ) -> None:
        self.waves = draw_frequencies(kernel, d, n_waves, random)
        normal = random.normal(size=(2, len(self.waves.variances), count))
        self.weights = (normal[0] + 1j * normal[1]) * np.sqrt(self.waves.variances)[:, None]

    def __call__(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at rows, shape (rows, functions)."""
        values: NDArray[np.float64] = (np.exp(1j * (X @ self.waves.rates.T)) @ self.weights).real
        return values

    def indices(self, nodes: int = NODES) -> dict[str, NDArray[np.float64]]:
        """Return the exact indices of all functions by kind, functions first."""
        t, weights = gauss_legendre(nodes)
        d = self.waves.rates.shape[1]
        bundles = Bundles(np.repeat(weights[:, None], d, axis=1), np.arange(d), d)
        rows, inside = np.repeat(t[:, None], d, axis=1), tuple((j,) for j in range(d))
        blocks = wave_blocks(rows, inside, bundles, self.waves, self.weights, 96)
        sums: DrawSums = run_reduction(DrawGame(blocks, bundles, pairs=True), n_jobs=1)
        assert sums.pairs is not None
        parts = (sums.first, sums.total, sums.shapley, sums.pairs)
        fractions = [np.moveaxis(part / sums.variance, -1, 0) for part in parts]
        return dict(zip(KINDS, [*fractions, sums.variance], strict=True))


def condition(
    kernel: Kernel, X: NDArray[np.float64], y: NDArray[np.float64]
) -> pkex.KernelExpansion:
    """Return a Gaussian process with known hyperparameters, given observations."""
    cholesky = np.linalg.cholesky(kernel(X) + NOISE * np.eye(len(X)))
    alpha = np.linalg.solve(cholesky.T, np.linalg.solve(cholesky, y))
    return pkex.KernelExpansion(X, alpha, kernel, posterior=pkex.Posterior(cholesky))


def simulate(d: int, kernel: Kernel, count: int, seed: list[int]) -> dict[str, Any]:
    """Return coverage and what else is stored of a setting."""
    random = np.random.default_rng(seed)
    functions = PriorFunctions(kernel, d, count, random)
    truth = functions.indices()
    upper = np.triu_indices(d, 1)
    covered: dict[str, list[float]] = {kind: [] for kind in KINDS}
    errors, plain, mean = [], [], []
    for number in range(count):
        X = random.uniform(size=(POINTS, d))
        y = functions(X)[:, number] + np.sqrt(NOISE) * random.normal(size=POINTS)
        found = pkex.sensitivity(
            condition(kernel, X, y),
            dict.fromkeys(range(d), (0.0, 1.0)),
            order=2,
            n_draws=DRAWS,
            random_state=random,
            n_jobs=1,
        )
        for kind in KINDS:
            low, high = found.interval(kind, LEVEL)
            inside = np.asarray((low <= truth[kind][number]) & (truth[kind][number] <= high))
            inside = inside[upper] if kind == "second_order" else inside
            covered[kind].append(float(inside.mean()))
        assert found.draws_error is not None
        errors.append(found.draws_error)
        plain.append(float(found.variance / truth["variance"][number]))
        mean.append(float(found.draws["variance"].mean() / truth["variance"][number]))
    coverage = {kind: float(np.mean(shares)) for kind, shares in covered.items()}
    spread = {kind: float(np.std(shares) / np.sqrt(count)) for kind, shares in covered.items()}
    ratios = {"plug-in": float(np.median(plain)), "mean of draws": float(np.median(mean))}
    return {
        "functions": count,
        "coverage": coverage,
        "standard_error": spread,
        "variance_ratio": ratios,
        "draws_error": float(np.mean(errors)),
    }


def section(stored: dict[str, Any]) -> str:
    """Return the table of the documentation, from what was stored."""
    titles = ["first-order", "total-order", "Shapley", "second-order", "variance"]
    heads = ["prior", "functions", *titles, "error of the draws"]
    rows = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    for name, one in stored.items():
        cells = [f"{one['coverage'][kind]:.3f}" for kind in KINDS]
        cells = [name, str(one["functions"]), *cells, f"{one['draws_error']:.0%}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """Return the page of the guide with the table of today."""
    before, after = text.index(EDGES[0]) + len(EDGES[0]), text.index(EDGES[1])
    table = section(json.loads(STORED.read_text(encoding="utf-8")))
    return f"{text[:before]}\n{table}{text[after:]}"


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description="Coverage of credible intervals of indices.")
    parser.add_argument("settings", nargs="*", help="beginnings of the settings to run")
    parser.add_argument("--functions", type=int, default=FUNCTIONS)
    options = parser.parse_args()
    known = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    settings = kernels()
    for place, (name, (d, kernel)) in enumerate(settings.items()):
        if not options.settings or name.startswith(tuple(options.settings)):
            known[name] = simulate(d, kernel, options.functions, [place, 36])
            print(name, known[name], flush=True)
            ordered = {setting: known[setting] for setting in settings if setting in known}
            write(STORED, json.dumps(ordered, indent=1) + "\n")
    if PAGE.exists() and EDGES[0] in PAGE.read_text(encoding="utf-8"):
        write(PAGE, page(PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
