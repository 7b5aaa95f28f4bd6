"""How often bands of effects cover the truth: ``python -m simulations.effects``.

Functions are drawn from the prior of a Gaussian process of known kernel and noise, with mean zero.
A process that is fitted to noisy values has a partial dependence with a band of two posterior
standard deviations; the truth is the partial dependence of the drawn function over the same rows.
A normal variable lies in such a band with probability 0.954.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import pkex

__all__ = ["simulate"]

_NOISE = 0.1
_GRID = 8
_ROWS = 12


def simulate(n_functions: int = 200, seed: int = 0) -> NDArray[np.bool_]:
    """Return whether the truth is covered: (functions, features, places)."""
    rng = np.random.default_rng(seed)
    kernel = RBF([0.8, 1.2, 2.0])
    covered = []
    for _ in range(n_functions):
        X, rows = rng.normal(size=(25, 3)), rng.normal(size=(_ROWS, 3))
        model = GaussianProcessRegressor(kernel, alpha=_NOISE, optimizer=None)
        tables, grids = [np.tile(rows, (_GRID, 1)) for _ in range(3)], _grids(rows)
        for j, table in enumerate(tables):
            table[:, j] = np.repeat(grids[j], _ROWS)
        points = np.vstack([X, *tables])
        prior = kernel(points) + 1e-9 * np.eye(len(points))
        values = np.linalg.cholesky(prior) @ rng.normal(size=len(points))
        y = values[:25] + np.sqrt(_NOISE) * rng.normal(size=25)
        truth = values[25:].reshape(3, _GRID, _ROWS).mean(axis=2)
        explainer = pkex.Explainer(model.fit(X, y), rows, n_jobs=1)
        effects = explainer.effects([0, 1, 2], grid_resolution=_GRID, return_std=True)
        assert effects.average is not None
        assert effects.std is not None
        misses = np.abs(np.array(effects.average) - truth)
        covered.append(misses <= 2.0 * np.array(effects.std))
    return np.array(covered)


def _grids(rows: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the places that effects have for these rows."""
    from scipy.stats.mstats import mquantiles

    ends = [np.asarray(mquantiles(column, prob=(0.05, 0.95))) for column in rows.T]
    return [np.linspace(float(low), float(high), num=_GRID) for low, high in ends]


def main() -> None:
    """Print the coverage of each feature, and of all."""
    covered = simulate()
    for j in range(covered.shape[1]):
        print(f"feature {j}: {covered[:, j].mean():.3f}")
    print(f"all: {covered.mean():.3f} of {covered.size} places, {len(covered)} functions")


if __name__ == "__main__":
    main()
