"""What interactions need of pairs of points, compiled: see `pkex.games.protocols.Ratios`.

Pairs are measured in one pass over their factors. A tile of ratios takes two over the drops and
absent factors of its pairs, and is written once: see ``ratios.hpp``. Products of ratios with each
other are left to BLAS, but for few players, where a tile never leaves the nearest cache: see
``gram.hpp``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pkex.games.native._kernel as _kernel
from pkex._util.types import Floats, Indices
from pkex.games.extents import FLOOR, SLACK, TAIL
from pkex.games.protocols import NOTHING, TAU, Factors, Measured
from pkex.kernels.messages import not_finite
from pkex.kernels.normal_form import Term

__all__ = ["NativeRatios"]


class NativeRatios:
    """Ratios of pairs at nodes.

    Parameters
    ----------
    isa : str, optional
        An instruction set; the one in use by default.
    """

    width = _kernel.RATIO_GROUP
    entries = 2**17  # 1 MiB
    few = 128  # products are formed with the ratios, beyond that by BLAS

    def __init__(self, isa: str = "") -> None:
        self.isa = isa

    def measured(
        self, term: Term, present: Factors, absent: Factors | None, lower: float
    ) -> Measured:
        """Return pairs and how large they are."""
        present = _by_rows(present)
        start: Floats | None = None
        if absent is None:
            drops = present.deficits
            measures = np.empty((7, drops.shape[1]))
            _kernel.measure(*present, None, None, None, measures, TAIL, self.isa)
        else:
            absent = _by_rows(absent)
            start = absent.values
            drops = np.empty_like(absent.values)
            measures = np.empty((7, drops.shape[1]))
            _kernel.measure(*present, *absent, drops, measures, TAIL, self.isa)
        lam, relative, widest, worth, totals, lowest, highest = measures
        if not np.isfinite(lam).all():
            raise not_finite(term)
        outside = (lowest < lower - SLACK) | (highest > 1.0 + SLACK)
        magnitudes = np.ones_like(lam)
        if start is not None:
            tail = (worth < TAIL) & ~outside
            lam[tail] = relative[tail]
            magnitudes[tail] = np.maximum(worth[tail], FLOOR)
        return Measured(drops, start, lam, outside, magnitudes, widest, totals, float(lowest.min()))

    def plain(self, pairs: Measured, order: Indices, nodes: Floats) -> tuple[Floats, Floats]:
        """Return the products of all factors, and the ratios."""
        shape = (len(order), len(nodes), self.width)
        ratios, products = self._tile(pairs, order, nodes), np.empty(shape)
        self._form(pairs, order, nodes, None, None, ratios, products.ravel(), None, None)
        return products, ratios

    def gram(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return products of the ratios with each other, and their weighted sums."""
        n_players = len(pairs.drops)
        sums = np.empty(n_players + 1)
        if n_players <= self.few:
            gram = np.empty((n_players, n_players))
            self._form(pairs, order, nodes, shares, weights, None, None, sums, gram)
            return gram, sums
        halves = self._tile(pairs, order, nodes)
        self._form(pairs, order, nodes, shares, weights, halves, None, sums, None)
        return halves @ halves.T, sums

    def sums(
        self, pairs: Measured, order: Indices, nodes: Floats, shares: Floats, weights: Floats
    ) -> Floats:
        """Return the weighted sums of the ratios."""
        sums = np.empty(len(pairs.drops) + 1)
        self._form(pairs, order, nodes, shares, weights, None, None, sums, None)
        return sums

    def _tile(self, pairs: Measured, order: Indices, nodes: Floats) -> Floats:
        """Return room for ratios, whose rows do not meet in the same places of the cache."""
        n_columns = len(order) * len(nodes) * self.width
        stride = n_columns + (8 if (n_columns // 8) % 2 == 0 else 0)
        return np.empty((len(pairs.drops), stride))[:, :n_columns]

    def _form(self, pairs: Measured, order: Indices, nodes: Floats, *others: Any) -> None:
        rest = (*others, pairs.lowest >= 0.0, TAU, NOTHING, self.isa)
        _kernel.ratios(pairs.drops, pairs.start, order, nodes, *rest)


def _by_rows(factors: Factors) -> Factors:
    """Return factors whose pairs stand together."""
    if all(part.shape[1] < 2 or part.strides[1] == part.itemsize for part in factors):
        return Factors(*factors)
    return Factors(*(np.ascontiguousarray(part) for part in factors))
