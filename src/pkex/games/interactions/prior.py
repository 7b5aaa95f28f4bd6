"""The prior variances of interaction values of a Gaussian process, exactly.

An interaction value of a subset S is a functional of the polynomial ``G_S`` (see
`pkex.games.functionals`), so its prior variance is that functional in both variables of

    prod_{j in S} c_j prod_{j not in S} f_j(t, s),      c_j = d_t d_s f_j,

in the words of `pkex.games.covariance`; ``c_j`` is a constant, as f is linear in t and in s. The
functional is a sum over the nodes of the exact rule and over the points of the index.
"""

from __future__ import annotations

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.corners import Cells, at_nodes, leave_one_out
from pkex.games.covariance import PriorCovariance
from pkex.games.interactions.recipe import Recipe
from pkex.games.points import WeightedPoints
from pkex.games.rules import Ladder
from pkex.games.threads import raise_if_cancelled

__all__ = ["InteractionPrior"]

_NODES = 2**17  # factors at nodes that are held at once: 1 MiB


class InteractionPrior(PriorCovariance):
    """The prior variances of the interactions of some rows, in the units of the kernel.

    Of shape (rows, players, players), with those of single players on the diagonal, or for chosen
    subsets (rows, subsets).

    Parameters
    ----------
    points : WeightedPoints
        With a background.
    x : array of shape (rows, columns)
    recipe : Recipe
        Of functionals without derivatives, and of at most two players unless subsets are chosen.
    """

    def __init__(self, points: WeightedPoints, x: Floats, recipe: Recipe) -> None:
        super().__init__(points, x, full=recipe.subsets is None)
        self.recipe = recipe
        self.least = 1  # a corner takes many times as long
        if recipe.subsets is not None:
            self.shape = (len(recipe.subsets),)
        self.sums = Accumulator(matrices=(len(x), *self.shape), error=(len(x),))

    def result(self) -> tuple[Floats, Floats]:
        """Return the variances, and what the rules may err by for each row."""
        variances, subsets = self.sums["matrices"], self.recipe.subsets
        for single in self.plan.singles:
            j = single.player
            if j is not None and subsets is None:
                variances[:, j, j] += self._single(single)
            elif j is not None and subsets is not None and (j,) in subsets:
                variances[:, subsets.index((j,))] += self._single(single)
        return variances, self.sums["error"]

    @lazy
    def _functionals(self) -> tuple[Floats, dict[int, Floats], float]:
        """Return nodes (4, squares), their weights for each size, and the error of the rule."""
        recipe, rule = self.recipe, self.recipe.rules.fallback
        places = sorted({point.node for one in recipe.functionals.values() for point in one.points})
        nodes = np.concatenate([rule.nodes, places])
        t, s = (part.ravel() for part in np.meshgrid(nodes, nodes, indexing="ij"))
        at = np.stack([t * s, t * (1.0 - s), (1.0 - t) * s, (1.0 - t) * (1.0 - s)])
        weights = {}
        for size, one in recipe.functionals.items():
            line = np.zeros(len(nodes))
            if one.density:
                line[: len(rule.nodes)] = recipe.shares(rule)[size]
            for node, _, weight in one.points:
                line[len(rule.nodes) + places.index(node)] += weight
            weights[size] = np.outer(line, line).ravel()
        return at, weights, rule.relative_error

    def _integrals(
        self,
        ladder: Ladder,  # noqa: ARG002
        cells: Cells,
        shares: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the weighted sums over pairs of the variances, and what the rule may err by."""
        at, weights, error = self._functionals
        n_rows = cells.both.shape[1]
        step = max(1, _NODES // (self.plan.n_players * at.shape[1]))
        totals = np.zeros((n_rows, *self.shape))
        for row in range(n_rows):
            for start in range(0, len(shares), step):
                raise_if_cancelled()
                some = cells.cut(slice(row, row + 1), slice(start, start + step)).corners()
                f = at_nodes(some, at, 1.0)
                change = (some.first + some.second - some.both - some.none)[:, 0]
                local = shares[start : start + step]
                here = {size: np.outer(local, w) for size, w in weights.items()}
                if self.recipe.subsets is None:
                    totals[row] += _all_pairs(f, change, here)
                else:
                    each = [_one(f, change, here[len(s)], list(s)) for s in self.recipe.subsets]
                    totals[row] += each
        return totals, np.full(n_rows, 16.0 * self.recipe.weight**2 * error * float(shares.sum()))


def _all_pairs(f: Floats, change: Floats, weights: dict[int, Floats]) -> Floats:
    """Return the variances of all pairs, and on the diagonal those of single players."""
    n_pairs, matrix = change.shape[1], np.zeros((len(f), len(f)))

    def without(factors: Floats, weight: Floats) -> Floats:
        products = leave_one_out(factors, weight.ravel())
        integrals: Floats = products.reshape(len(f), n_pairs, -1).sum(axis=2)
        return integrals

    for j in range(len(f) if 2 in weights else 0):
        others = f.copy()
        others[j] = 1.0
        matrix[j] = (change * without(others, weights[2])) @ change[j]
    matrix = 0.5 * (matrix + matrix.T)  # exactly symmetric
    np.fill_diagonal(matrix, (change * without(f, weights[1])).sum(axis=1))
    return matrix


def _one(f: Floats, change: Floats, weights: Floats, subset: list[int]) -> float:
    """Return the variance of one subset."""
    others = np.delete(f, subset, axis=0).prod(axis=0) * weights.ravel()
    integrals = others.reshape(change.shape[1], -1).sum(axis=1)
    return float(change[subset].prod(axis=0) @ integrals)
