"""MMD and HSIC under a hierarchy, by the orders that it admits."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pkex import Attribution, hsic, mmd
from pkex.games import Ordered
from pkex.kernels import RBF, Cauchy, Laplacian
from tests._support import naive
from tests._support.cases import pair_game
from tests._support.hierarchies import by_orders
from tests._support.pairwise import pairwise

RNG = np.random.default_rng(35)
X, Z = RNG.normal(size=(7, 4)), RNG.normal(size=(6, 4)) + np.array([1.0, 0.0, 0.5, 0.0])
KERNELS: dict[str, Any] = {"rbf": RBF(1.5), "sum": Laplacian(2.0) + 0.5 * Cauchy(1.0)}
TREES: dict[str, Any] = {
    "owen": [[0, 1], [2, 3]],
    "winter": [[0, [1, 2]], 3],
    "asymmetric": Ordered([[2, 3], [0, 1]]),
}


def worths(game, statistic):
    """Return a statistic of the pairs' worths, as a function of the features that are present."""

    def value(present):
        return statistic(lambda i, j: game(i, j)[sum(1 << k for k in present)])

    return value


@pairwise(kernel=list(KERNELS), tree=list(TREES), removal=["product-of-marginals", "neutral"])
def test_contributions_are_means_over_admitted_orders(kernel, tree, removal):
    rows = np.concatenate([X, Z])
    game, _ = pair_game(KERNELS[kernel], rows, removal=removal)
    value = worths(game, lambda pair: naive.mmd(pair, len(X), len(Z)))
    expected, _ = by_orders(TREES[tree])(value, 4)
    options: dict[str, Any] = {
        "kernel": KERNELS[kernel],
        "removal": removal,
        "hierarchy": TREES[tree],
    }
    found = mmd(X, Z, **options)
    assert_allclose(found.contributions, expected, atol=1e-14)
    assert found.index.lower() == tree
    permuted = mmd(X, Z, **options, n_permutations=19, random_state=0)
    assert_allclose(permuted.contributions, expected, atol=1e-14)
    assert permuted.p_values.min() >= 0.05


def test_dependence():
    y = X[:, 0] * X[:, 1]
    game, _ = pair_game(RBF(1.5), X)
    target = RBF(1.0)(y[:, None])
    value = worths(
        game, lambda pair: naive.hsic(pair, lambda i, j: target[i, j], len(X), biased=True)
    )
    expected, _ = by_orders(TREES["winter"])(value, 4)
    options: dict[str, Any] = {"kernel": RBF(1.5), "target_kernel": RBF(1.0), "estimator": "biased"}
    found = hsic(X, y, hierarchy=TREES["winter"], **options)
    assert_allclose(found.contributions, expected, atol=1e-14)


def test_groups_files_and_refusals(tmp_path):
    tree = {"first": ["x0", "x1"], "second": ["x2", "x3"]}
    found = mmd(X, Z, hierarchy=tree, kernel=RBF(1.5))
    groups = found.group_values()
    assert list(groups) == ["first", "second"]
    assert sum(groups.values()) == pytest.approx(found.statistic, abs=1e-15)
    assert "Owen values" in repr(found)
    found.save(tmp_path / "a.npz")
    assert Attribution.load(tmp_path / "a.npz").group_values() == groups
    with pytest.raises(ValueError, match="interactions with a hierarchy"):
        found.interactions()
    merged = mmd(X, Z, groups=tree, kernel=RBF(1.5)).contributions
    assert np.abs(merged - list(groups.values())).max() > 1e-6  # products are averaged there
    neutral: dict[str, Any] = {"kernel": RBF(1.5), "removal": "neutral"}
    together = mmd(X, Z, groups=tree, **neutral).contributions
    owen = mmd(X, Z, hierarchy=tree, **neutral).group_values()
    assert_allclose(list(owen.values()), together, atol=1e-14)


def test_correlation_clusters_both_samples():
    many = RNG.normal(size=(40, 3))
    many = np.column_stack([many, many[:, 0] ** 3])
    found = mmd(many[:20], many[20:], hierarchy="correlation")
    assert found.hierarchy.children[0] == (0, 3)
    with pytest.raises(ValueError, match="hierarchy must be nested"):
        mmd(X, Z, hierarchy="clusters")
