"""The variances of many functions over the same atoms, as games: `pkex.games.variances` for draws.

Draws from the posterior of a Gaussian process differ in their weights alone,

    f_s(x) = Re sum_a w_as g_a(x),      g_a(x) = prod_j g_aj(x_j),

where the factors of kernels are real and those of waves ``exp(i w . x)`` complex. As ``Re z Re z' =
Re(z z' + z conj(z')) / 2``, their variances are sums over pairs of atoms as those of one function,
with the products of two factors and with those of a factor and a conjugate one,

    1/2 Re sum_ac (w_a w_c P_ac + w_a conj(w_c) Q_ac),

and one of the two is enough where an atom is real. The indices of a pair, P and Q for each player,
are found once, and contracted with the weights of all draws by matrix products. Atoms that have the
same weights, such as those of one point under the terms of a kernel, are added up before. Some
atoms are of some functions alone, as draws from a mixture have the atoms of one process each.

The Shapley effects of a pair are integrals over t of polynomials of degree d - 1, for which a Gauss
rule with ``ceil(d / 2)`` nodes is exact, whatever the factors are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.gauss import gauss_legendre
from pkex.games.moments import Bundles
from pkex.games.protocols import Factors, Task

__all__ = ["Centred", "DrawBlock", "DrawGame", "DrawSums", "centre_kernel", "centre_waves"]

Numbers = NDArray[Any]  # real or complex

_KEPT = 2**26  # numbers of centred factors that are kept


class Centred(NamedTuple):
    """Factors of some atoms under each bundle: means (bundles, atoms), and deviations from them.

    Deviations have the shape (bundles, rows, atoms) and are times the roots of the weights of rows.
    Those of waves are real, first all real parts of the atoms, then all imaginary parts.
    """

    means: Numbers
    centred: Floats


@dataclass(frozen=True, eq=False)
class DrawBlock:
    """Some atoms, or several kinds of them with the same weights.

    Attributes
    ----------
    families : sequence of (float, function without arguments)
        A coefficient, and what returns the `Centred` factors of the atoms.
    weights : array of shape (atoms, draws)
        Those of waves are complex.
    draws : array of int, optional
        The numbers of the draws that have the atoms, in order; by default all of them.
    """

    families: Sequence[tuple[float, Callable[[], Centred]]]
    weights: Numbers
    draws: Indices | None = None


class DrawSums(NamedTuple):
    """What the variances of draws are made of.

    Attributes
    ----------
    first, total, shapley : arrays of shape (players, draws)
    pairs : array of shape (players, players, draws) or None
    variance : array of shape (draws,)
    """

    first: Floats
    total: Floats
    shapley: Floats
    pairs: Floats | None
    variance: Floats


def centre_kernel(factors: Factors, bundles: Bundles) -> Centred:
    """Return the centred factors of a kernel, shape (bundles, rows, atoms) before."""
    weights = bundles.weights.T[:, None, :]
    lacks = weights @ factors.deficits
    means = np.where(np.abs(lacks) < 0.5, 1.0 - lacks, weights @ factors.values)
    centred = (lacks - factors.deficits) * np.sqrt(bundles.weights).T[:, :, None]
    return Centred(means[:, 0], centred)


def centre_waves(phases: Sequence[Floats], bundles: Bundles) -> Centred:
    """Return the centred factors of waves, whose phases have the shape (rows, atoms) a bundle."""
    waves = np.exp(1j * np.stack(phases))
    means = bundles.weights.T[:, None, :] @ waves
    waves -= means
    centred = np.concatenate([waves.real, waves.imag], axis=2)
    return Centred(means[:, 0], centred * np.sqrt(bundles.weights).T[:, :, None])


class DrawGame:
    """The games of variances of draws: a reduction.

    Parameters
    ----------
    blocks : sequence of DrawBlock
        All atoms; a tile of pairs has those of two blocks.
    bundles : Bundles
    pairs : bool
        Whether the parts of two players are wanted.
    n_draws : int, optional
        Number of draws; by default as many as the first block has.
    """

    def __init__(
        self,
        blocks: Sequence[DrawBlock],
        bundles: Bundles,
        *,
        pairs: bool,
        n_draws: int | None = None,
    ) -> None:
        self.blocks, self.bundles, self.pairs = blocks, bundles, pairs
        d = bundles.n_players
        self.rule = gauss_legendre(max(1, math.ceil(d / 2)))
        n_draws = blocks[0].weights.shape[1] if n_draws is None else n_draws
        self.every = np.arange(n_draws)
        shapes: dict[str, tuple[int, ...]] = {"indices": (3, d, n_draws)}
        if pairs:
            shapes["pairs"] = (d, d, n_draws)
        self.sums = Accumulator(**shapes)
        count = sum(
            len(b.weights) * len(b.families) * (1 + np.iscomplexobj(b.weights)) for b in blocks
        )
        self.keep = count * bundles.weights.size <= _KEPT
        self.kept: dict[tuple[int, int], Centred] = {}

    def tasks(self) -> Sequence[Task]:
        """Return pairs of blocks that share draws, each unordered pair once."""
        n = len(self.blocks)
        pairs = ((i, j) for i in range(n) for j in range(i, n))
        return [
            Task(slice(i, i + 1), slice(j, j + 1)) for i, j in pairs if self._shared(i, j)[0].size
        ]

    def run(self, task: Task) -> dict[str, Floats]:
        """Return the sums of a tile for each index, and those of pairs of players."""
        i, j = task.rows.start, task.points.start
        draws, of_left, of_right = self._shared(i, j)
        left, right = self.blocks[i].weights[:, of_left], self.blocks[j].weights[:, of_right]
        matrices = self._indices(i, j)
        twice = 1.0 if i == j else 2.0
        sums = np.zeros((matrices.shape[1], len(self.every)))
        for k, of_index in enumerate(sums):
            of_index[draws] = twice * _contract(matrices[:, k], left, right)
        d = self.bundles.n_players
        result = {"indices": sums[: 3 * d].reshape(3, d, -1)}
        if self.pairs:
            table = np.zeros((d, d, sums.shape[1]))
            first, second = np.triu_indices(d, 1)
            if d > 1:
                table[first, second] = table[second, first] = sums[3 * d :]
            result["pairs"] = table
        return result

    def _shared(self, i: int, j: int) -> tuple[Indices, Indices | slice, Indices | slice]:
        """Return the draws that two blocks share, and their places in both."""
        left, right = self.blocks[i].draws, self.blocks[j].draws
        if left is None and right is None:
            return self.every, slice(None), slice(None)
        of_left, of_right = (self.every if one is None else one for one in (left, right))
        draws, *places = np.intersect1d(of_left, of_right, assume_unique=True, return_indices=True)
        return draws, places[0], places[1]

    def add(self, part: dict[str, Floats]) -> None:
        """Add the sums of a tile."""
        self.sums.add(part)

    def result(self) -> DrawSums:
        """Return the indices in the units of the variance."""
        first, total, shapley = self.sums.arrays["indices"]
        pairs = self.sums.arrays.get("pairs")
        return DrawSums(first, total, shapley, pairs, shapley.sum(axis=0))

    def _centred(self, block: int, family: int) -> Centred:
        centred = self.kept.get((block, family))
        if centred is None:
            centred = self.blocks[block].families[family][1]()
            if self.keep:
                self.kept[block, family] = centred
        return centred

    def _indices(self, i: int, j: int) -> Numbers:
        """Return the indices of all pairs of a tile, (1 or 2, indices, atoms, atoms).

        These are first order, total and Shapley effects of all players, and of pairs of players;
        where the atoms of both blocks are waves, also those with the conjugates of the second.
        """
        left, right, d = self.blocks[i], self.blocks[j], self.bundles.n_players
        kind = np.result_type(left.weights, right.weights)
        count = 3 * d + (d * (d - 1) // 2 if self.pairs else 0)
        waves = np.iscomplexobj(left.weights) and np.iscomplexobj(right.weights)
        sums = np.zeros((1 + waves, count, len(left.weights), len(right.weights)), kind)
        for a, (coefficient, _) in enumerate(left.families):
            one = self._centred(i, a)
            for c, (other, _) in enumerate(right.families):
                two = self._centred(j, c)
                changes = _covariances(one, two)
                for target, change in zip(sums, changes, strict=True):
                    means = two.means if change is changes[0] else np.conj(two.means)
                    joined = self._join(one.means, means, change)
                    self._add_indices(target, coefficient * other, *joined)
        return sums

    def _join(
        self, one: Numbers, two: Numbers, change: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return mean factors, and what presence adds to a pair, of players from bundles."""
        d, owners = self.bundles.n_players, self.bundles.owners
        if np.array_equal(owners, np.arange(d)):
            return one, two, change
        present = np.ones((d, *change.shape[1:]), change.dtype)
        left, right = (np.ones((d, means.shape[1]), means.dtype) for means in (one, two))
        for k, owner in enumerate(owners):
            present[owner] *= one[k][:, None] * two[k] + change[k]
            left[owner] *= one[k]
            right[owner] *= two[k]
        return left, right, present - left[:, :, None] * right[:, None, :]

    def _add_indices(
        self, sums: Numbers, coefficient: float, left: Numbers, right: Numbers, change: Numbers
    ) -> None:
        """Add the indices of pairs of atoms, times a coefficient."""
        d, absent = len(left), left[:, :, None] * right[:, None, :]
        factors, others, effects = (np.empty_like(change) for _ in range(3))
        np.add(absent, change, out=factors)
        total = _all_but_one(factors, others) * change
        effects[...] = 0.0
        for t, weight in zip(*self.rule, strict=True):
            np.multiply(change, t, out=factors)
            factors += absent
            _all_but_one(factors, others, weight)
            effects += others
        effects *= change
        before, after = (_all_but_one(means, np.empty_like(means)) for means in (left, right))
        np.multiply(before[:, :, None], after[:, None, :], out=others)
        others *= change
        for start, numbers in ((0, others), (d, total), (2 * d, effects)):
            numbers *= coefficient
            sums[start : start + d] += numbers
        place = 3 * d
        for j in range(d - 1 if self.pairs else 0):
            rest = [means.copy() for means in (left, right)]
            for means in rest:
                means[j] = 1.0
            before, after = (_all_but_one(means, np.empty_like(means))[j + 1 :] for means in rest)
            part = coefficient * change[j] * change[j + 1 :]
            part *= before[:, :, None]
            part *= after[:, None, :]
            sums[place : place + len(part)] += part
            place += len(part)


def _covariances(one: Centred, two: Centred) -> list[Numbers]:
    """Return those of the factors of atoms under each bundle, and with conjugates of two waves."""
    both = one.centred.transpose(0, 2, 1) @ two.centred
    n, m = one.means.shape[1], two.means.shape[1]
    if both.shape[1:] == (n, m):
        return [both]
    if not np.iscomplexobj(one.means):
        return [both[:, :, :m] + 1j * both[:, :, m:]]
    if not np.iscomplexobj(two.means):
        return [both[:, :n] + 1j * both[:, n:]]
    cosines, sines = both[:, :n, :m], both[:, n:, m:]
    mixed, other = both[:, n:, :m], both[:, :n, m:]
    return [cosines - sines + 1j * (mixed + other), cosines + sines + 1j * (mixed - other)]


def _all_but_one(factors: Numbers, result: Numbers, scale: float = 1.0) -> Numbers:
    """Return the products of all but one along the first axis, for each, times a number."""
    result[0] = scale
    for j in range(1, len(factors)):
        np.multiply(result[j - 1], factors[j - 1], out=result[j])
    after = factors[-1].copy()
    for j in range(len(factors) - 2, -1, -1):
        result[j] *= after
        after *= factors[j]
    return result


def _contract(matrices: Numbers, left: Numbers, right: Numbers) -> Floats:
    """Return the sums of a matrix of pairs with the weights of all draws, shape (draws,)."""
    plain = matrices[0]
    if not np.iscomplexobj(plain):
        return _sum_products(left, plain @ right)
    if not np.iscomplexobj(right):
        plain, left, right = plain.T, right, left
    parts = np.concatenate([right.real, right.imag])
    if not np.iscomplexobj(left):
        return _sum_products(left, np.hstack([plain.real, -plain.imag]) @ parts)
    other = matrices[1]
    real = np.hstack([plain.real + other.real, other.imag - plain.imag]) @ parts
    imaginary = np.hstack([plain.imag + other.imag, plain.real - other.real]) @ parts
    return 0.5 * (_sum_products(left.real, real) - _sum_products(left.imag, imaginary))


def _sum_products(left: Floats, right: Floats) -> Floats:
    sums: Floats = np.einsum("as,as->s", left, right)
    return sums
