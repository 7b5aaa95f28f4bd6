"""Hierarchies where factors are near 1, or present and absent ones alike.

In the neutral game the compiled loop has the deficits of a tile from series where its exponents are
at most 0.74. In the general game it takes ratios from eight players on, where they are between
exp(-2.5) and exp(2.5) and their exponents sum to 16 at most, and has their deficits from series
where the exponents are at most 0.73. So lengths here are on both sides of that.
"""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from pkex import Explainer, KernelExpansion
from pkex.games import Ordered
from pkex.kernels import RBF, Laplacian
from tests._support.cases import assert_close
from tests._support.hierarchies import by_orders
from tests._support.removal_games import ORACLES

REMOVALS = ["interventional", "product-of-marginals"]


def make(d, kernel, n_outputs=1):
    rng = np.random.default_rng(d)
    points, rows, background = (
        rng.normal(size=(25, d)),
        rng.normal(size=(3, d)),
        rng.normal(size=(4, d)),
    )
    alpha = rng.normal(size=(25, n_outputs))
    return KernelExpansion(points, alpha, kernel), rows, background


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("length", [1.0, 3.0, 30.0])
def test_values_are_means_over_admitted_orders(removal, length):
    expansion, rows, background = make(8, RBF(length), 2)
    tree = [[0, 5, 6], Ordered([1, [2, 3]]), [4, 7]]
    explanation = Explainer(expansion, background, removal=removal, hierarchy=tree, n_jobs=1)(rows)
    shares, players = np.full(4, 0.25), tuple((j,) for j in range(8))
    for i, row in enumerate(rows[:2]):
        args = expansion.predict, row, background, shares, players
        values, base = ORACLES[removal](*args, attribute=by_orders(tree))
        assert_close(explanation.values[i], values, 1e-12)
        assert_close(explanation.base_values[i], base, 1e-12)
        assert (np.abs(explanation.values[i] - values) <= explanation.error_bound[i] + 1e-14).all()


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize(
    ("kernel", "n_outputs"),
    [(RBF(1.5), 1), (RBF(4.0), 3), (RBF(9.0), 1), (RBF(1e3), 3), (Laplacian(20.0), 1)],
    ids=str,
)
def test_backends_agree(removal, kernel, n_outputs, monkeypatch):
    d = 30
    expansion, rows, background = make(d, kernel, n_outputs)
    binary = linkage(np.random.default_rng(1).normal(size=(d, 3)), "average")
    for tree in (binary, [list(range(11)), Ordered([list(range(11, 20)), *range(20, 30)])]):
        found = []
        for backend in ("native", "numpy"):
            monkeypatch.setenv("PKEX_BACKEND", backend)
            explainer = Explainer(expansion, background, removal=removal, hierarchy=tree)
            found.append(explainer(rows))
        ours, theirs = found
        size = np.abs(theirs.values).max()
        np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-13 * size + 1e-16)
        off = np.abs(ours.values - theirs.values).max(axis=1)
        assert (off <= (ours.error_bound + theirs.error_bound).reshape(off.shape)).all()
