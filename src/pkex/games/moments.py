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

The covariances ``C_j`` are matrix products over the rows of centred factors, each times the root of
the weight of its row, and the present factor is absent factor plus covariance; a tile of pairs is
summed up by `pkex.games.variance_tiles`, and parts of pairs of players where their covariances are
short by `pkex.games.pair_variances`. An atom of a single player may be shifted by a constant, which
changes no variance; it is centred.

*Rounding.* Let n and s be the root mean square and the standard deviation of a factor. Means are
at most n, a covariance of two atoms is at most ``s s'``, and off by some units of that. So the part
of a pair in the index of player j is off by some units of ``s_j s_j' prod_{i != j} n_i n_i'``, and
the index by as many of

    (sum_a |w_a| s_aj prod_{i != j} n_ai)^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.accumulator import Accumulator
from pkex.games.atoms import Atoms, join_factors
from pkex.games.blocks import rectangle, triangle
from pkex.games.compression import Compression
from pkex.games.engine import run_reduction
from pkex.games.pair_variances import PairVariances, all_but
from pkex.games.protocols import Factors, Task
from pkex.games.rules import Rule
from pkex.games.sums import GameSums, sort_rules, sum_tolerance
from pkex.games.threads import cluster_width, raise_if_cancelled, workspace
from pkex.games.variance_tiles import NO_RULES, TileSums, rules_of, sum_tile

__all__ = [
    "AtomFactors",
    "Bundles",
    "CentredFactors",
    "VarianceGame",
    "VarianceSums",
    "centre_factors",
    "multiply_centred",
    "sum_variances",
]


_TILE = 2**17  # factors of a tile of pairs of atoms, which a core's cache holds
_LARGEST_TILE, _SIDE = 2**20, 32  # a tile may be larger where it has fewer atoms on a side
_FEWEST_BLOCKS, _SHARED = 6, 100  # six blocks for the threads, if they have so many atoms each
_STEP = 2**16  # factors of some rows and a block of atoms, which a core's cache holds
_ROWS = 2**22  # factors of rows and atoms that are evaluated at once
_KEPT = 2**25  # centred factors that are kept: 256 MiB


@dataclass(frozen=True, eq=False)
class Bundles:
    """Independent bundles of inputs, each a sample or a rule with weights that sum to 1.

    Attributes
    ----------
    weights : array of shape (rows, bundles)
        What each row counts for each bundle.
    owners : array of shape (bundles,)
        The player that each belongs to.
    n_players : int
    """

    weights: Floats
    owners: NDArray[np.intp]
    n_players: int

    @property
    def are_players(self) -> bool:
        """Whether every player has one bundle, in the order of the players."""
        return np.array_equal(self.owners, np.arange(self.n_players))

    def join(self, factors: Factors) -> Factors:
        """Return the factors of the players from those of the bundles, on the first axis."""
        if self.are_players:
            return factors
        shape = (self.n_players, *factors.values.shape[1:])
        values, deficits = np.ones(shape), np.zeros(shape)
        for owner, value, lack in zip(self.owners, *factors, strict=True):
            values[owner] *= value
            deficits[owner] += lack * (1.0 - deficits[owner])
        return Factors(values, deficits)


class VarianceSums(NamedTuple):
    """What the variance of some outputs is made of.

    Attributes
    ----------
    first, total, shapley : arrays of shape (players, outputs)
    pairs : array of shape (players, players, outputs) or None
        The variances of the parts of two players.
    variance, mean : arrays of shape (outputs,)
    magnitudes : array of shape (outputs,)
        What rounding errors of the variance are measured by: see above.
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


class CentredFactors(NamedTuple):
    """The factors of atoms under each bundle of inputs, as what they are on average and around it.

    Attributes
    ----------
    means : Factors of shape (bundles, atoms)
        Those of atoms of single players are 0, as these are shifted by their mean.
    lacks : array of shape (bundles, atoms)
        The means of the deficits before that shift.
    centred : list of arrays of shape (rank, atoms), one for each bundle, or None
        Their products of columns are the covariances of the factors (`pkex.games.compression`);
        None where factors minus their means are too many to be kept.
    mean_of_singles : array of shape (outputs,)
        What atoms of single players have in the mean of the functions.
    """

    means: Factors
    lacks: Floats
    centred: list[Floats] | None
    mean_of_singles: Floats


class AtomFactors:
    """The factors of atoms at all rows, of which the means are taken: a reduction.

    Parameters
    ----------
    parts : sequence of (Atoms, array of shape (rows, columns))
        The atoms of each part of the functions, in games whose players are the bundles, and the
        rows as the part has prepared them.
    weights : array of shape (atoms, outputs)
        Of the atoms of all parts.
    bundles : Bundles
    keep : bool, optional
        Whether factors are kept until their covariances are short; if they are few, by default.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Atoms, Floats]],
        weights: Floats,
        bundles: Bundles,
        keep: bool | None = None,
    ) -> None:
        self.parts, self.weights, self.bundles = parts, weights, bundles
        self.count = len(weights)
        self.n_rows, self.n_bundles = bundles.weights.shape
        self.roots = np.sqrt(bundles.weights).T[:, :, None]
        small, large = (math.isqrt(size // self.n_bundles) for size in (_TILE, _LARGEST_TILE))
        n_blocks = math.ceil(self.count / max(1, small, min(large, _SIDE)))
        n_blocks = max(n_blocks, min(_FEWEST_BLOCKS, self.count // _SHARED))
        self.side = math.ceil(self.count / n_blocks)  # atoms of a block, alike in all but the last
        few = self.n_bundles * self.n_rows * self.count <= _KEPT
        self.keep = few if keep is None else keep
        self.sums = np.empty((2, self.n_bundles, self.count))
        self.centred: list[Floats] = []

    def tasks(self) -> Sequence[Task]:
        """Return blocks of atoms, each at all rows."""
        rows = slice(0, self.n_rows)
        return [Task(rows, atoms) for atoms, _ in rectangle(self.count, 1, self.side)]

    def run(self, task: Task) -> tuple[slice, Floats, Floats | None]:
        """Return the means of factors and deficits of a block, and weighted factors if kept."""
        atoms = task.points
        width = atoms.stop - atoms.start
        sums = np.zeros((2, self.n_bundles, width))
        kept = np.empty((2, self.n_bundles, self.n_rows, width)) if self.keep else None
        step = max(1, _STEP // (self.n_bundles * width))
        for start in range(0, self.n_rows, step):
            if start:
                raise_if_cancelled()
            rows = slice(start, min(start + step, self.n_rows))
            factors = self.evaluate(rows, atoms)
            shares = self.bundles.weights[rows].T[:, None, :]
            for total, part in zip(sums, factors, strict=True):
                total += (shares @ part)[:, 0]
            if kept is not None:
                kept[:, :, rows] = factors
        if kept is None:
            return atoms, sums, None
        # from deficits where factors are near 1, else from values: each has its own roundings
        np.subtract(kept[0], sums[0][:, None], out=kept[0])
        np.subtract(sums[1][:, None], kept[1], out=kept[1], where=_are_near_one(sums[1])[:, None])
        np.copyto(kept[1], kept[0], where=~_are_near_one(sums[1])[:, None])
        return atoms, sums, kept[1] * self.roots

    def add(self, part: tuple[slice, Floats, Floats | None]) -> None:
        """Take in what a task returned."""
        atoms, sums, centred = part
        self.sums[:, :, atoms] = sums
        if centred is not None:
            self.centred.append(centred)

    def result(self) -> CentredFactors:
        """Return the means; the centred factors are left to `centre_factors`."""
        values, lacks = self.sums
        values = np.where(_are_near_one(lacks), 1.0 - lacks, values)
        deficits = lacks.copy()
        single = np.concatenate([atoms.single for atoms, _ in self.parts])
        alone = np.flatnonzero(single >= 0)
        # a term of one player has no part in the worth of none, but in the mean of the function
        mean_of_singles = values[single[alone], alone] @ self.weights[alone]
        values[single[alone], alone] = 0.0
        deficits[single[alone], alone] = 1.0
        return CentredFactors(Factors(values, deficits), lacks, None, mean_of_singles)

    def evaluate(self, rows: slice, wanted: slice) -> Factors:
        """Return the factors of some atoms of all parts at some rows."""
        return join_factors(self.parts, rows, wanted)


def centre_factors(atoms: AtomFactors, *, n_jobs: int | None) -> CentredFactors:
    """Return the means of factors, and their short centred columns if they are kept.

    To be called inside `single_blas`.
    """
    factors: CentredFactors = run_reduction(atoms, n_jobs=n_jobs)
    if not atoms.keep:
        return factors
    # no cluster: factors that come from there are not sent back
    here = 1 if cluster_width(n_jobs) else n_jobs
    centred = run_reduction(Compression(atoms.centred), n_jobs=here)
    atoms.centred = []
    return factors._replace(centred=centred)


class VarianceGame:
    """The game of variances of functions that are sums of atoms: a reduction.

    Parameters
    ----------
    atoms : AtomFactors
    factors : CentredFactors
        What `centre_factors` returns of them.
    pairs : bool
        Whether the parts of two players are wanted.
    shapley : bool
        Whether the Shapley effects are; else they are 0.
    """

    def __init__(
        self,
        atoms: AtomFactors,
        factors: CentredFactors,
        *,
        pairs: bool = False,
        shapley: bool = True,
    ) -> None:
        self.atoms, self.factors, self.pairs, self.shapley = atoms, factors, pairs, shapley
        self.weights, self.bundles = atoms.weights, atoms.bundles
        self.columns = np.ascontiguousarray(self.weights.T)
        self.absent = self.bundles.join(factors.means).values
        self.rules = rules_of(self.bundles.n_players) if shapley else NO_RULES
        self.sums = Accumulator()
        self.variances = np.empty_like(self.absent)  # of the factors
        self.worth: Floats = np.multiply.reduce(self.absent, axis=0) @ self.weights

    def tasks(self) -> Sequence[Task]:
        """Return tiles of pairs of atoms, each unordered pair once."""
        side = self.atoms.side
        return [Task(*block) for block in triangle(self.atoms.count, side, side)]

    def run(self, task: Task) -> tuple[slice, TileSums, Floats | None, Floats | None]:
        """Return the sums of a tile, variances of atoms, and the sums of pairs of players."""
        first, second = task.rows, task.points
        twice = 1.0 if first.start == second.start else 2.0
        changes = self._changes(first, second)
        means = self.absent[:, first], self.absent[:, second]
        weights = twice * self.columns[:, first], self.columns[:, second]
        sums = sum_tile(changes, means, weights, self.rules)
        own = np.einsum("jaa->ja", changes).copy() if first.start == second.start else None
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
        arrays, rules = self.sums.arrays, sort_rules(self.sums.rules)
        indices, square = arrays["indices"], self.worth * self.worth
        largest, magnitudes = self._magnitudes()
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
        spread = np.sqrt(np.maximum(self.variances, 0.0))
        sizes, weights = np.hypot(self.absent, spread), np.abs(self.weights)
        parts = (spread * all_but(sizes)) @ weights
        magnitudes: Floats = (parts * parts).sum(axis=0)
        largest: Floats = (np.multiply.reduce(sizes, axis=0) @ weights) ** 2
        return largest, magnitudes

    def _changes(self, first: slice, second: slice) -> Floats:
        """Return what presence adds to the factors of a tile, shape (players, atoms, atoms)."""
        widths = first.stop - first.start, second.stop - second.start
        covariances = workspace("covariances", self.atoms.n_bundles, *widths)
        self._fill_covariances(first, second, covariances)
        if self.bundles.are_players:
            return covariances
        changes, absent = (
            np.zeros((len(self.absent), *widths)),
            np.ones((len(self.absent), *widths)),
        )
        for owner, means, one in zip(
            self.bundles.owners, self.factors.means.values, covariances, strict=True
        ):
            product = means[first, None] * means[second]
            changes[owner] *= product + one
            changes[owner] += absent[owner] * one
            absent[owner] *= product
        return changes

    def _fill_covariances(self, first: slice, second: slice, total: Floats) -> None:
        """Put those of the factors of a tile under each bundle into (bundles, atoms, atoms)."""
        centred = self.factors.centred
        if centred is not None:
            multiply_centred(centred, first, second, total)
            return
        n_rows, n_bundles = self.bundles.weights.shape
        total[...] = 0.0
        step = max(1, _ROWS // (n_bundles * sum(total.shape[1:])))
        for start in range(0, n_rows, step):
            raise_if_cancelled()
            rows = slice(start, min(start + step, n_rows))
            left, right = self._centre(rows, first), self._centre(rows, second)
            total += left.transpose(0, 2, 1) @ right

    def _centre(self, rows: slice, atoms: slice) -> Floats:
        """Return factors minus their means, times roots of weights, (bundles, rows, atoms)."""
        deficits = self.atoms.evaluate(rows, atoms).deficits
        centred: Floats = self.factors.lacks[:, None, atoms] - deficits
        centred *= self.atoms.roots[:, rows]
        return centred

    def _sum_pairs(self, change: Floats, first: slice, second: slice) -> Floats:
        """Return the sums over a tile of the parts of two players, (players, players, outputs)."""
        n_players, n_outputs = len(change), self.weights.shape[1]
        sums = np.zeros((n_players, n_players, n_outputs))
        twice = 1.0 if first.start == second.start else 2.0
        for j in range(n_players - 1):
            left, right = (all_but(self.absent[:, some], j)[j + 1 :] for some in (first, second))
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
    short: PairVariances | None = None
    if pairs and factors.centred is not None and atoms.bundles.are_players:
        columns = PairVariances(factors.centred, factors.means.values, atoms.weights)
        short = columns if columns.are_short else None
    game = VarianceGame(atoms, factors, pairs=pairs and short is None, shapley=shapley)
    sums: VarianceSums = run_reduction(game, n_jobs=n_jobs)
    if short is None:
        return sums
    return sums._replace(pairs=run_reduction(short, n_jobs=n_jobs))


def _are_near_one(lacks: Floats) -> NDArray[np.bool_]:
    """Return whether mean factors have more digits as mean deficits."""
    near: NDArray[np.bool_] = np.abs(lacks) < 0.5
    return near


def multiply_centred(centred: Sequence[Floats], first: slice, second: slice, out: Floats) -> Floats:
    """Return the covariances of a tile under each bundle, shape (bundles, atoms, atoms)."""
    for short, one in zip(centred, out, strict=True):
        np.matmul(short[:, first].T, short[:, second], out=one)
    return out
