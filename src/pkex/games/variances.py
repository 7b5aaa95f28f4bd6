"""The variance of a function over independent inputs, as a game: Sobol indices, Shapley effects.

A coalition S is worth ``Var E[f(X) | X_S]``, what its inputs explain when the others are averaged
out. With the atoms of f (`pkex.games.atoms`) and independent players that is a sum over pairs of
atoms a and c,

    sum_ac w_a w_c (prod_{j in S} E[g_aj g_cj] prod_{j not in S} E[g_aj] E[g_cj]),

minus the worth of nobody, ``(E f)^2``. Three measures of the same product games give three
indices: t = 0 the *first order*, what a player explains alone; t = 1 the *total*, what is lost
without it; and the mean over t the *Shapley effect*, which lies between the two and sums to the
variance. For independent inputs f is a sum of parts of its own for every set of players,
uncorrelated with each other, and the three count of a set's variance all of it if it has one
player, all of it, and an equal share for each player. The part of a pair of players is

    sum_ac w_a w_c C_j C_m prod_{others} E[g_a] E[g_c],      C_j = E[g_aj g_cj] - E[g_aj] E[g_cj].

The present factor is absent factor plus covariance. `pkex.games.moments` has both,
`pkex.games.variance_tiles` sums up a tile of pairs, and `pkex.games.pair_variances` has the parts
of pairs of players where covariances are products of short columns. An atom of a single player may
be shifted by a constant, which changes no variance; it is centred.

*Rounding.* Let n, s and e be the root mean squares of a factor, of the factor less its mean, and of
what that is computed from: of the deficit where the mean factor is near 1, else of the factor
(`AtomFactors.source_means`). The factor less its mean is off by some roundings of e, say four, with
the unit u; they are many of s where a factor hardly varies. So a covariance of two atoms is at most
``s s'``, and off by as much as ``8 u s s' + 4 u (s e' + e s') + 16 u^2 e e'``, roundings of the
product included. Means are at most n, so the part of a pair in the index of player j has the
factors ``n_i n_i'`` of the other players beside that. Each is evaluated and multiplied with four
roundings, so that the index of one of d players is off by 8 u times

    (1 + d/2) A_j^2 + A_j E_j + 2 u E_j^2,    A_j = sum_a |w_a| s_aj prod_{i != j} n_ai,

with e in the place of s in E.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.blocks import triangle
from pkex.games.engine import run_reduction
from pkex.games.moments import AtomFactors, CentredFactors, centre_factors, multiply_centred
from pkex.games.pair_variances import PairVariances
from pkex.games.protocols import Task
from pkex.games.rules import Rule
from pkex.games.sums import GameSums, sort_rules, sum_tolerance
from pkex.games.threads import workspace
from pkex.games.variance_tiles import NO_RULES, ShortColumns, TileSums, rules_of, sum_tile

__all__ = ["VarianceGame", "VarianceSums", "sum_variances"]


_SHORT = 100  # numbers of a column up to which a pair of columns is multiplied at once
_TWO_ROUNDINGS = 2.0**-52


class VarianceSums(NamedTuple):
    """What the variance of some outputs is made of.

    Attributes
    ----------
    first, total, shapley : arrays of shape (players, outputs)
    pairs : array of shape (players, players, outputs) or None
        The variances of the parts of two players.
    variance, mean : arrays of shape (outputs,)
    magnitudes : array of shape (outputs,)
        What rounding errors of the indices and the variance are measured by: see above.
    rules : tuple of Rule
        Those of the Shapley effects.
    """

    first: Floats
    total: Floats
    shapley: Floats
    pairs: Floats | None
    variance: Floats
    mean: Floats
    magnitudes: Floats
    rules: tuple[Rule, ...]


class VarianceGame:
    """The game of variances of functions that are sums of atoms: a reduction.

    Parameters
    ----------
    atoms : AtomFactors
    factors : CentredFactors
        What `centre_factors` returns of them.
    short : ShortColumns, optional
        What the covariances are products of, where that is known and short.
    pairs : bool
        Whether the parts of two players are wanted; not with short columns.
    shapley : bool
        Whether the Shapley effects are; else they are 0.
    """

    def __init__(
        self,
        atoms: AtomFactors,
        factors: CentredFactors,
        *,
        short: ShortColumns | None = None,
        pairs: bool = False,
        shapley: bool = True,
    ) -> None:
        self.atoms, self.factors, self.short = atoms, factors, short
        self.pairs, self.shapley = pairs, shapley
        self.weights, self.bundles = atoms.weights, atoms.bundles
        self.columns = np.ascontiguousarray(self.weights.T)
        self.absent = self.bundles.join(factors.means).values
        self.rules = rules_of(self.bundles.n_players) if shapley else NO_RULES
        self.sums = Accumulator()
        # of the factors under each bundle
        means = factors.means.values
        self.variances = np.empty_like(means) if short is None else short.variances()
        self.worth: Floats = np.multiply.reduce(self.absent, axis=0) @ self.weights

    def tasks(self) -> Sequence[Task]:
        """Return tiles of pairs of atoms, each unordered pair once."""
        side = self.atoms.side
        return [Task(*block) for block in triangle(self.atoms.count, side, side)]

    def run(self, task: Task) -> tuple[slice, TileSums, Floats | None, Floats | None]:
        """Return the sums of a tile, variances of atoms, and the sums of pairs of players."""
        first, second = task.rows, task.points
        twice = 1.0 if first.start == second.start else 2.0
        means = self.absent[:, first], self.absent[:, second]
        weights = twice * self.columns[:, first], self.columns[:, second]
        if self.short is not None:
            sums = sum_tile((self.short, first, second), means, weights, self.rules)
            return first, sums, None, None
        covariances = self._covariances(first, second)
        own = np.einsum("jaa->ja", covariances).copy() if first.start == second.start else None
        changes = self._changes(covariances, first, second)
        sums = sum_tile(changes, means, weights, self.rules)
        pairs = self._sum_pairs(changes, first, second) if self.pairs else None
        return first, sums, own, pairs

    def add(self, part: tuple[slice, TileSums, Floats | None, Floats | None]) -> None:
        """Add the sums of a tile."""
        first, sums, own, pairs = part
        if own is not None:
            self.variances[:, first] = own
        arrays = {"indices": sums.indices, "totals": sums.totals}
        self.sums.add(arrays if pairs is None else arrays | {"pairs": pairs}, rules=sums.rules)

    def result(self) -> VarianceSums:
        """Return the indices in the units of the variance."""
        largest, magnitudes = self._magnitudes()
        arrays, rules = self.sums.arrays, sort_rules(self.sums.rules)
        indices, square = arrays["indices"], self.worth * self.worth
        variance = arrays["totals"] - square
        if self.shapley:
            tolerance = sum_tolerance(rules, len(self.absent), self.atoms.count, largest, True)
            parts = (indices[2], arrays["totals"], largest, tolerance)
            values, totals, sizes, allowed = (part[None] for part in parts)
            sums = GameSums(values, totals, square, sizes, allowed, rules)
            sums.check("the variance of the function")
            variance = sums.checked[0][0]
        first, total, shapley = indices
        mean = self.worth + self.factors.mean_of_singles
        pairs = arrays.get("pairs")
        return VarianceSums(first, total, shapley, pairs, variance, mean, magnitudes, rules)

    def _magnitudes(self) -> tuple[Floats, Floats]:
        """Return what rounding of products of all factors and of the variance is measured by."""
        factors, weights = self.factors, np.abs(self.weights)
        spreads = np.sqrt(np.maximum(self.variances, 0.0))
        sources = np.hypot(spreads, self.atoms.source_means(factors))
        # of the players: a product of independent factors varies by what each of them adds
        shape = self.absent.shape
        squares, sizes = np.ones(shape), np.ones(shape)
        variances, centred_from = np.zeros(shape), np.zeros(shape)
        for owner, mean, spread, source in zip(
            self.bundles.owners, factors.means.values, spreads, sources, strict=True
        ):
            size = np.hypot(mean, spread)
            variances[owner] = variances[owner] * size**2 + squares[owner] * spread**2
            squares[owner] *= mean**2
            centred_from[owner] = centred_from[owner] * size + sizes[owner] * source
            sizes[owner] *= size
        others = _all_but(sizes)
        a, e = ((part * others) @ weights for part in (np.sqrt(variances), centred_from))
        count = 1.0 + 0.5 * len(sizes)
        magnitudes: Floats = (a * (count * a + e) + _TWO_ROUNDINGS * e**2).sum(axis=0)
        largest: Floats = (np.multiply.reduce(sizes, axis=0) @ weights) ** 2
        return largest, magnitudes

    def _covariances(self, first: slice, second: slice) -> Floats:
        """Return those of the factors of a tile under each bundle, (bundles, atoms, atoms)."""
        widths = first.stop - first.start, second.stop - second.start
        covariances = workspace("covariances", self.atoms.n_bundles, *widths)
        if self.factors.centred is not None:
            multiply_centred(self.factors.centred, first, second, covariances)
        else:
            covariances[...] = 0.0
            self.atoms.add_covariances(self.factors.lacks, first, second, covariances)
        return covariances

    def _changes(self, covariances: Floats, first: slice, second: slice) -> Floats:
        """Return what presence adds to the factors of a tile, shape (players, atoms, atoms)."""
        if self.bundles.are_players:
            return covariances
        shape = (len(self.absent), *covariances.shape[1:])
        changes, absent = np.zeros(shape), np.ones(shape)
        for owner, means, one in zip(
            self.bundles.owners, self.factors.means.values, covariances, strict=True
        ):
            product = means[first, None] * means[second]
            changes[owner] *= product + one
            changes[owner] += absent[owner] * one
            absent[owner] *= product
        return changes

    def _sum_pairs(self, change: Floats, first: slice, second: slice) -> Floats:
        """Return the sums over a tile of the parts of two players, (players, players, outputs)."""
        n_players, n_outputs = len(change), self.weights.shape[1]
        sums = np.zeros((n_players, n_players, n_outputs))
        twice = 1.0 if first.start == second.start else 2.0
        for j in range(n_players - 1):
            left, right = (_all_but(self.absent[:, some], j)[j + 1 :] for some in (first, second))
            both = change[j + 1 :] * change[j]
            for output in range(n_outputs):
                w = self.weights[:, output]
                inner = (both @ (right * w[second])[:, :, None])[:, :, 0]
                sums_of_j = twice * (inner * (left * w[first])).sum(axis=1)
                sums[j, j + 1 :, output] = sums[j + 1 :, j, output] = sums_of_j
        return sums


def sum_variances(
    atoms: AtomFactors, *, pairs: bool = False, shapley: bool = True, n_jobs: int | None = 1
) -> VarianceSums:
    """Return what the variances are made of, with the parts of two players if wanted.

    To be called inside `single_blas`.
    """
    factors = centre_factors(atoms, n_jobs=n_jobs)
    short: ShortColumns | None = None
    if factors.centred is not None and atoms.bundles.are_players:
        columns = ShortColumns.of(factors.centred)
        short = columns if columns.lengths.mean() <= _SHORT else None
    game = VarianceGame(atoms, factors, short=short, pairs=pairs and short is None, shapley=shapley)
    sums: VarianceSums = run_reduction(game, n_jobs=n_jobs)
    if not pairs or short is None:
        return sums
    of_pairs = PairVariances(short, factors.means.values, atoms.weights)
    return sums._replace(pairs=run_reduction(of_pairs, n_jobs=n_jobs))


def _all_but(factors: Floats, j: int | None = None) -> Floats:
    """Return the products over the first axis without each one, and without j."""
    rest = factors.copy()
    if j is not None:
        rest[j] = 1.0
    result = np.ones_like(rest)
    np.multiply.accumulate(rest[:-1], axis=0, out=result[1:])
    after = np.multiply.accumulate(rest[:0:-1], axis=0)[::-1]
    result[:-1] *= after
    return result
