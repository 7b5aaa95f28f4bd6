"""`ByPermutation`: sums over all pairs of one sample for many sets of weights.

It takes the values of a *tile* of pairs, once, and contracts them with all weights by matrix
products. What a tile holds of each pair is up to its *filler*: the values of a source, or the
kernel of each player by itself (`PlayerKernels`). Several fillers fill one tile, one after the
other, so that weights are made once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple, Protocol

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.accumulator import Accumulator
from pkex.games.blocks import rectangle, triangle
from pkex.games.lookup import sum_sizes
from pkex.games.plan import Plan
from pkex.games.protocols import Added, BlockSums, Game, Task
from pkex.games.rules import Rule
from pkex.games.sums import GameSums
from pkex.games.threads import workspace

__all__ = [
    "EQUAL",
    "ByPermutation",
    "Filler",
    "PermutedSums",
    "PermutedWeights",
    "PlayerKernels",
]


_TILE = 2**19  # values of a tile: 4 MiB, long rows to look weights up for
EQUAL = 2.0**-43
"""Rounding of a long sum, relative to the sum of its absolute terms."""


class PermutedWeights(Protocol):
    """Many sets of weights of the pairs of one sample, for tiles: see `statistics.pair_weights`."""

    @property
    def layers(self) -> tuple[Indices, ...]:
        """The rows in the order of the tiles; entry u of all layers is unit u."""

    @property
    def with_self(self) -> bool:
        """Whether a row is paired with itself."""

    @property
    def total(self) -> float:
        """A bound of the sum of absolute weights."""

    @property
    def width(self) -> int:
        """How many points of a tile suit them."""

    @property
    def n_fixed(self) -> int:
        """How many of the last units no permutation moves; no tile has some of these and others."""

    def contract(self, values: Floats, rows: slice, points: slice) -> Floats:
        """Return sums over the pairs of a tile."""

    def finish(self, sums: Floats) -> Floats:
        """Turn the sums of all tiles into those of the statistic, one column per set."""


class Filler(Protocol):
    """What the tiles of `ByPermutation` hold of each pair."""

    @property
    def n_values(self) -> int:
        """How many numbers of a pair there are."""

    @property
    def x(self) -> Floats:
        """The rows, shape (rows, columns)."""

    @property
    def pairs(self) -> int:
        """Pairs of a tile that suit it."""

    @property
    def z(self) -> Floats:
        """The points, shape (points, columns)."""

    def between(self, x: Floats, z: Floats) -> Filler:
        """Return the filler for other rows and points."""

    def add_values(self, rows: slice, points: slice, values: Floats) -> Added:
        """Add the numbers of the pairs of a block to `values` (values, rows, points)."""


@dataclass(frozen=True, eq=False)
class PlayerKernels:
    """The kernel of every player by itself: a sum of games of which the factors alone are used."""

    games: Sequence[Game]
    x: Floats
    z: Floats

    @property
    def n_values(self) -> int:
        """One for each player."""
        return len(self.games[0].players)

    @property
    def pairs(self) -> int:
        """Pairs of a tile that suit it."""
        return max(1, min(game.entries for game in self.games) // int(self.x.shape[1]))

    def between(self, x: Floats, z: Floats) -> PlayerKernels:
        """Return the kernels between other rows and points."""
        return PlayerKernels(self.games, x, z)

    def add_values(self, rows: slice, points: slice, values: Floats) -> Added:
        """Add the kernels of the pairs to `values`."""
        for game in self.games:
            game.add_factors(self.x[rows], self.z[points], values)
        return Added((), 0.0)


@dataclass(frozen=True, eq=False)
class PermutedSums:
    """Sums over all pairs for all sets of weights.

    Attributes
    ----------
    sums : array of shape (values, sets)
    rounding : array of shape (values,)
        How far apart the sums of two sets may be that are equal but for rounding.
    largest : float
        The largest magnitude of a pair.
    rules : tuple of Rule
    """

    sums: Floats
    rounding: Floats
    largest: float
    rules: tuple[Rule, ...]

    def parts(self, count: int) -> tuple[PermutedSums, PermutedSums]:
        """Return the first `count` values and the others."""
        first, others = slice(count), slice(count, None)
        return (
            replace(self, sums=self.sums[first], rounding=self.rounding[first]),
            PermutedSums(self.sums[others], self.rounding[others], 0.0, ()),
        )

    def of_games(self, plan: Plan, n_points: int, total: float) -> GameSums:
        """Return them as the sums of games; `total` bounds the absolute weights."""
        n_sets = self.sums.shape[1]
        magnitudes = np.full((1, n_sets), total * self.largest)
        block = BlockSums(self.sums[None, :-1], self.sums[-1:], magnitudes, self.rules)
        return GameSums.of(block, plan, n_points, np.zeros(n_sets))


class _Tile(NamedTuple):
    """What a tile gives: its sums for each set, the sizes of its values, and what `Added` has."""

    sums: Floats
    sizes: Floats
    rules: set[Rule]
    largest: float


class _Filling(NamedTuple):
    """A filler of two layers, and where its numbers stand in a tile."""

    filler: Filler
    here: slice

    def fill(self, rows: slice, points: slice, tile: Floats) -> Added:
        """Add what it has to a tile; later layers may end before the first does."""
        filler = self.filler
        rows = slice(rows.start, min(rows.stop, len(filler.x)))
        points = slice(points.start, min(points.stop, len(filler.z)))
        n_rows, n_points = rows.stop - rows.start, points.stop - points.start
        if n_rows <= 0 or n_points <= 0:
            return Added((), 0.0)
        return filler.add_values(rows, points, tile[self.here, :n_rows, :n_points])


def cut_tiles(
    n_free: int, n_fixed: int, step: int, width: int, varying: bool
) -> list[tuple[slice, slice]]:
    """Return tiles of the pairs of units, each unordered pair once, of fixed units or of others."""

    def fixed(part: slice) -> slice:
        return slice(part.start + n_free, part.stop + n_free)

    tiles = list(triangle(n_free, step, width))
    tiles += [(rows, fixed(points)) for rows, points in rectangle(n_free, n_fixed, step * width)]
    if not varying:
        tiles += [(fixed(a), fixed(b)) for a, b in list(triangle(n_fixed, step, width))]
    return tiles


class ByPermutation:
    """Weighted sums over all pairs of one sample for many sets of weights.

    Each pair is evaluated once. The rows stand in layers: entry u of all layers is unit u, rows
    that are permuted together. A tile holds the sums over the pairs of two units, so it takes the
    pairs within every layer and those between two layers; within a layer each unordered pair is
    met once, between two layers (left, right) and (right, left) are different pairs of rows.

    Parameters
    ----------
    fillers : Filler or sequence of Filler
        Of the same rows. The rules and the largest magnitude are those of the first.
    shuffled : Shuffled
    varying : bool
        Whether to leave out pairs of two fixed units: what they add is the same for all sets.
    """

    def __init__(
        self,
        fillers: Filler | Sequence[Filler],
        shuffled: PermutedWeights,
        *,
        varying: bool = False,
    ) -> None:
        every = list(fillers) if isinstance(fillers, Sequence) else [fillers]
        layers = [np.asfortranarray(every[0].x[rows]) for rows in shuffled.layers]
        self.shuffled, self.n_rows, self.n_values = shuffled, len(every[0].x), 0
        self.within: list[_Filling] = []
        self.across: list[_Filling] = []
        pairs = _TILE
        for filler in every:
            here = slice(self.n_values, self.n_values + filler.n_values)
            self.n_values, pairs = here.stop, min(pairs, filler.pairs)
            self.within += [_Filling(filler.between(layer, layer), here) for layer in layers]
            for left, right in permutations(layers, 2):
                self.across.append(_Filling(filler.between(left, right), here))
        pairs = min(pairs, _TILE // self.n_values)
        width = max(1, min(shuffled.width, pairs))
        step = max(1, min(width, pairs // width))
        n_units, n_fixed = len(layers[0]), shuffled.n_fixed
        tiles = cut_tiles(n_units - n_fixed, n_fixed, step, width, varying)
        self.tiles = [Task(*tile) for tile in tiles]
        self.sums = Accumulator()

    def tasks(self) -> Sequence[Task]:
        """Return the tiles."""
        return self.tiles

    def run(self, task: Task) -> _Tile:
        """Return what one tile gives."""
        rows, points, _ = task
        count = rows.stop - rows.start
        tile = workspace("tile", self.n_values, count, points.stop - points.start)
        tile[...] = 0.0
        rules, largest = set[Rule](), 0.0
        diagonal = points.start == rows.start
        for group in (self.within, self.across):
            for filling in group:
                added = filling.fill(rows, points, tile)
                rules.update(added.rules)
                largest = max(largest, added.largest)
            if diagonal and group is self.within and not self.shuffled.with_self:
                tile[:, np.arange(count), np.arange(count)] = 0.0
        if diagonal:
            tile[:, :, :count] *= 0.5  # here both (i, k) and (k, i) are met
        sums = self.shuffled.contract(tile, rows, points)
        return _Tile(sums, sum_sizes(tile), rules, largest)

    def add(self, part: _Tile) -> None:
        """Add what one tile gave."""
        arrays = {"sums": part.sums, "sizes": part.sizes}
        self.sums.add(arrays, rules=part.rules, largest=part.largest)

    def result(self) -> PermutedSums:
        """Return the sums of all sets."""
        # the weights are about total / n^2 each, so this is about the sum of the absolute terms
        sums, sizes = self.sums.arrays["sums"], self.sums.arrays["sizes"]
        rounding = EQUAL * self.shuffled.total / self.n_rows**2 * 2.0 * sizes
        sums = self.shuffled.finish(2.0 * sums)  # (i, k) and (k, i)
        return PermutedSums(sums, rounding, self.sums.largest, tuple(self.sums.rules))
