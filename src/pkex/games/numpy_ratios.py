"""What interactions need of pairs of points, in NumPy: see `pkex.games.protocols.Ratios`.

The compiled twin is `pkex.games.native.ratios`. Pairs are taken one by one here, and a tile has all
its pairs at the first node, then at the second, and so on.
"""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.extents import measure_extent
from pkex.games.factors import compute_drops
from pkex.games.protocols import NOTHING, TAU, Factors, Measured
from pkex.kernels.normal_form import Term

__all__ = ["NumPyRatios"]


_BETWEEN = 2.0**-40  # how far inside [0, 1] a node is that is surely not an end


class NumPyRatios:
    """Ratios of pairs at nodes, by passes over arrays that stay in cache."""

    width = 1
    entries = 2**18  # 2 MiB
    few = 0

    def measured(
        self, term: Term, present: Factors, absent: Factors | None, lower: float
    ) -> Measured:
        """Return pairs and how large they are."""
        start = None if absent is None else absent.values
        if absent is None:
            drops = present.deficits
        else:
            repeats = absent.values.shape[1] // present.values.shape[1]
            if repeats > 1:
                present = Factors(*(np.tile(part, (1, repeats)) for part in present))
            drops = compute_drops(present, absent)
        factors = present.values
        lam, outside, magnitudes = measure_extent(term, factors, drops, start, lower)
        widest = np.maximum(drops.max(axis=0), -drops.min(axis=0))
        totals = np.multiply.reduce(factors, axis=0)
        lowest = float(factors.min())
        if start is not None:
            lowest = min(lowest, float(start.min()))
        return Measured(drops, start, lam, outside, magnitudes, widest, totals, lowest)

    def plain(self, pairs: Measured, order: Indices, nodes: Floats) -> tuple[Floats, Floats]:
        """Return the products of all factors, and the ratios."""
        some: slice | Indices = order
        if order[-1] - order[0] + 1 == len(order):  # as pairs of a rule stand in their order
            some = slice(int(order[0]), int(order[-1]) + 1)
        drops = pairs.drops[:, None, some]
        start = 1.0 if pairs.start is None else pairs.start[:, None, some]
        factors = nodes[None, :, None] * drops
        np.subtract(start, factors, out=factors)
        if not _stays_away(pairs, nodes, factors):
            largest = np.maximum(np.abs(start), np.abs(start - drops))
            least = np.maximum(TAU * largest, NOTHING)
            np.copyto(factors, least, where=np.abs(factors) < least)
        products = np.multiply.reduce(factors, axis=0)
        ratios = np.divide(drops, factors, out=factors)
        return products[None], ratios.reshape(len(drops), -1)

    def gram(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return products of the ratios with each other, and their weighted sums."""
        products, ratios = self.plain(pairs, order, nodes)
        local = (products[0] * shares[:, None] * weights[order]).ravel()
        sums = np.append(ratios @ local, local.sum())
        halves = np.multiply(ratios, np.sqrt(np.abs(local)), out=ratios)
        return halves @ halves.T, sums  # which NumPy leaves to syrk

    def sums(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> Floats:
        """Return the weighted sums of the ratios."""
        products, ratios = self.plain(pairs, order, nodes)
        local = (products[0] * shares[:, None] * weights[order]).ravel()
        return np.append(ratios @ local, local.sum())


def _stays_away(pairs: Measured, nodes: Floats, factors: Floats) -> bool:
    """Tell whether no factor vanishes: between ends that are not negative, unless both are 0."""
    if pairs.lowest < 0.0:
        return False
    if nodes[0] < _BETWEEN or nodes[-1] > 1.0 - _BETWEEN:
        return bool(factors.min() > TAU)
    start, drops = pairs.start, pairs.drops
    if start is None or pairs.lowest > NOTHING:
        return True
    return bool(np.maximum(start, start - drops).min() > NOTHING)
