"""Interaction indices as data: each is a linear functional of one polynomial.

In a product game let ``p`` and ``a`` be the factors of a player when present and absent, and

    G_S(x) = prod_{j in S} (p_j - a_j) prod_{j not in S} (a_j + x (p_j - a_j)),

the mean of what the players of S add together (their discrete derivative) when every other player
is present with probability x. Its coefficients are the Moebius coefficients ``m_T`` of the sets
that contain S: ``G_S(x) = sum_{T >= S} m_T x^(|T| - |S|)``. An index that weighs these by the sizes
of S and T alone is thus a functional of ``G_S``:

| index | functional of ``G_S``, s = ``|S|``, k = the largest order |
|---|---|
| SII | ``integral G`` over [0, 1] |
| BII | ``G(1/2)`` |
| Moebius, Co-Moebius | ``G(0)``, ``G(1)`` |
| CHII | ``integral s x^(s-1) G`` |
| STII | ``integral k (1-x)^(k-1) G`` for s = k, below ``G(0)`` |
| k-SII | ``integral G + sum_{r=1}^{k-s} B_r / r! (G^(r-1)(1) - G^(r-1)(0))``, Bernoulli's B_r |
| FSII | ``integral rho G``, rho below |
| FBII | Taylor's polynomial of degree k - s of G at 1/2, taken at 0 |

*k-SII* is ``sum_T B_{|T|-|S|} SII(T)`` over the sets T of at most k players that contain S. As the
``G_T`` with ``|T| = s + r`` sum to ``G_S^(r) / r!``, so do their integrals to
``(G^(r-1)(1) - G^(r-1)(0)) / r!``: the sum is that of Euler and Maclaurin.

*FSII* leaves a Moebius coefficient with ``|T| <= k`` where it is, so ``integral rho x^m`` is 1 for
m = 0 and 0 for m up to k - s. The density ``x^(s-1) (1-x)^(s-1)`` times the polynomial of degree
k - s with these moments has those of Tsai, Yeh and Ravikumar (2023) for the larger T, too; a test
compares them as fractions.

*FBII* is the best approximation of the game by one of order k when all coalitions count alike. In
``y = 2x - 1`` it keeps the products of at most k of the ``y_j``, and their coefficients are the
derivatives of the multilinear extension in the centre. Its value of the empty set is not v(empty).

A density is stored by its coefficients of ``x^i (1-x)^(q-i)``: each of these products acts on G
like q more players, whose factors are x and 1 - x, so that the rules of `pkex.games.rules` and
their bounds hold for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

__all__ = ["INDICES", "Functional", "Index", "Point"]

_BERNOULLI = (1.0, -1 / 2, 1 / 6, 0.0, -1 / 30, 0.0, 1 / 42, 0.0, -1 / 30)


class Point(NamedTuple):
    """A coefficient of Taylor's series of G: ``weight * G^(order)(node) / order!``."""

    node: float
    order: int
    weight: float


@dataclass(frozen=True)
class Functional:
    """A linear functional of the polynomial of a subset.

    Attributes
    ----------
    density : tuple of float
        What G is integrated against on [0, 1], as coefficients of ``x^i (1-x)^(q-i)`` for
        ``i = 0, ..., q``; empty where nothing is integrated.
    points : tuple of Point
        What is added to the integral.
    """

    density: tuple[float, ...] = ()
    points: tuple[Point, ...] = ()

    @property
    def more_players(self) -> int:
        """How many players the density is worth: its degree."""
        return max(0, len(self.density) - 1)

    @property
    def mass(self) -> float:
        """What the error of a rule is multiplied by at most: the sum of the coefficients' sizes."""
        return math.fsum(map(abs, self.density))

    @property
    def vanishes_at_one(self) -> bool:
        """Whether the density is a multiple of a power of ``1 - x``, so not negative as well."""
        return bool(self.density) and self.density[0] > 0.0 and not any(self.density[1:])

    def weight(self, x: float) -> float:
        """Return the density at a point."""
        q = self.more_players
        terms = (c * x**i * (1.0 - x) ** (q - i) for i, c in enumerate(self.density))
        return math.fsum(terms)


@dataclass(frozen=True)
class Index:
    """An interaction index.

    Attributes
    ----------
    name : str
        As in shapiq.
    of : callable
        The functional for subsets of a size, given the largest order.
    efficient : bool
        Whether the values of all orders, with that of the empty set, sum to the worth of all.
    by_order : bool
        Whether values depend on the largest order.
    """

    name: str
    of: Callable[[int, int], Functional]
    efficient: bool = False
    by_order: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Index], tuple[str]]:
        return _index_by_name, (self.name,)  # the functionals stay here


def _index_by_name(name: str) -> Index:
    return INDICES[name]


def _at(node: float) -> Callable[[int, int], Functional]:
    return lambda size, most: Functional(points=(Point(node, 0, 1.0),))  # noqa: ARG005


def _sii(size: int, most: int) -> Functional:  # noqa: ARG001
    return Functional((1.0,))


def _k_sii(size: int, most: int) -> Functional:
    points: list[Point] = []
    for r in range(1, most - size + 1):
        weight = _BERNOULLI[r] / r  # of the Taylor coefficient of order r - 1
        if weight:
            points += [Point(1.0, r - 1, weight), Point(0.0, r - 1, -weight)]
    return Functional((1.0,), tuple(points))


def _stii(size: int, most: int) -> Functional:
    if size < most:
        return Functional(points=(Point(0.0, 0, 1.0),))
    return Functional((float(most), *[0.0] * (most - 1)))


def _chii(size: int, most: int) -> Functional:  # noqa: ARG001
    return Functional((*[0.0] * (size - 1), float(size)))


def _fbii(size: int, most: int) -> Functional:
    orders = range(most - size + 1)
    return Functional(points=tuple(Point(0.5, r, (-0.5) ** r) for r in orders))


@lru_cache(maxsize=64)
def _fsii(size: int, most: int) -> Functional:
    """Return the density whose moments are 1, 0, ..., 0, solved for in fractions."""
    free = most - size + 1
    # the moment m of x^(s-1+i) (1-x)^(s-1+free-1-i) is a Beta integral
    rows = [[_beta(size + i + m, size + free - 1 - i) for i in range(free)] for m in range(free)]
    inside = _solve_exactly(rows, [Fraction(int(m == 0)) for m in range(free)])
    edge = [0.0] * (size - 1)
    return Functional((*edge, *map(float, inside), *edge))


def _beta(a: int, b: int) -> Fraction:
    return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))


def _solve_exactly(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve linear equations exactly, by Gauss and Jordan."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for i in range(len(table)):
        pivot = next(r for r in range(i, len(table)) if table[r][i])
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [value / table[i][i] for value in table[i]]
        for r in range(len(table)):
            if r != i:
                table[r] = [x - table[r][i] * y for x, y in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


INDICES = {
    index.name: index
    for index in (
        Index("SII", _sii),
        Index("k-SII", _k_sii, efficient=True, by_order=True),
        Index("STII", _stii, efficient=True, by_order=True),
        Index("FSII", _fsii, efficient=True, by_order=True),
        Index("BII", _at(0.5)),
        Index("FBII", _fbii, by_order=True),
        Index("Moebius", _at(0.0)),
        Index("Co-Moebius", _at(1.0)),
        Index("CHII", _chii),
    )
}
"""All indices by name."""
