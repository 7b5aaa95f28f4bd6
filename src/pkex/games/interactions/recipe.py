"""What is summed for an index: its functionals, their rules, the nodes of their points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices
from pkex.games.functionals import Functional, Index
from pkex.games.protocols import Measured, Ratios
from pkex.games.rules import Ladder, Rule, general_ladder, ladder

__all__ = ["Portion", "Recipe", "Subset", "Where", "has_one_sign"]

# Choices by time, of `python -m benchmarks.interactions`:
_WIDE = 512  # columns of a tile at least, as its product with itself costs a pass over d x d
_TRIPLES = 4  # tiles for triples are wider by this, as a product is formed for each player
_LONGER = 4  # and those that no table is held of by this, so that threads meet less often

Subset = tuple[int, ...]
Where = float | None  # a node, or None for the integral


class Portion(NamedTuple):
    """What is summed in one go: some pairs of points, at some nodes.

    Attributes
    ----------
    pairs : Measured
        All of them.
    weights : array of shape (pairs, sets)
    where : Where
    nodes : array of shape (nodes,)
    shares : dict of arrays of shape (nodes,)
        The weights of the nodes for each size of subsets.
    order : array of int
        Which groups of pairs.
    has_gram : bool
        Whether players and pairs of players are sums and products with roots of weights.
    """

    pairs: Measured
    weights: Floats
    where: Where
    nodes: Floats
    shares: dict[int, Floats]
    order: Indices
    has_gram: bool


@dataclass(frozen=True)
class Recipe:
    """What is summed for an index.

    Attributes
    ----------
    index : Index
    most : int
        The largest order.
    n_players : int
    general : bool
        Whether absent players have factors of their own; else these are 1.
    tol : float or None
    subsets : tuple of tuples of int, or None
        Chosen subsets, sorted each; None for all subsets of 1 to `most` players.
    """

    index: Index
    most: int
    n_players: int
    general: bool
    tol: float | None = None
    subsets: tuple[Subset, ...] | None = None

    @lazy
    def functionals(self) -> dict[int, Functional]:
        """Those of the sizes that are wanted."""
        if self.subsets is None:
            sizes: Iterable[int] = range(1, min(self.most, self.n_players) + 1)
        else:
            sizes = sorted({len(subset) for subset in self.subsets})
        return {size: self.index.of(size, self.most) for size in sizes}

    @lazy
    def for_none(self) -> Functional | None:
        """That of the empty set, where it is not the worth of no player."""
        return self.index.of(0, self.most) if self.index.name == "FBII" else None

    @lazy
    def integrated(self) -> dict[int, Functional]:
        """Those with a density."""
        return {size: one for size, one in self.functionals.items() if one.density}

    @lazy
    def more_players(self) -> int:
        """How many players the densities are worth."""
        return max((one.more_players for one in self.integrated.values()), default=0)

    @lazy
    def rules(self) -> Ladder:
        """The rules for the integrals, looked up at lam + `more_players`.

        For s players ``G_S`` has the factors of the n - s others, and a density of degree q acts
        like q more. A ladder for d players is one for products of all factors but one, d - 1 of
        them, so that ``d = n + 1 + q - s``, with the largest q - s of all sizes.
        """
        sizes = [one.more_players - size for size, one in self.integrated.items()]
        n_players = max(1, self.n_players + 1 + max(sizes, default=0))
        if not self.general and all(one.vanishes_at_one for one in self.integrated.values()):
            return ladder(n_players, self.tol)
        return general_ladder(n_players, self.tol)

    @lazy
    def nodes(self) -> dict[float, tuple[int, ...]]:
        """The nodes of the points, each with the sizes of subsets that are summed there."""
        sizes_at: dict[float, set[int]] = {}
        every = {**self.functionals, **({} if self.for_none is None else {0: self.for_none})}
        for size, one in every.items():
            for node, order, _ in one.points:
                if size + order <= self.n_players:  # else the derivative is 0
                    sizes_at.setdefault(node, set()).add(size + order)
        return {node: tuple(sorted(sizes)) for node, sizes in sorted(sizes_at.items())}

    def portions(
        self,
        pairs: Measured,
        weights: Floats,
        groups: Sequence[tuple[Rule, Indices]],
        width: int,
        ratios: Ratios,
    ) -> list[Portion]:
        """Return what is summed for pairs at all nodes, in tiles that stay in cache.

        Parameters
        ----------
        pairs : Measured
        weights : array of shape (pairs, sets)
        groups : sequence of (Rule, array of int)
            Rules of the integrals, with the groups of pairs that take them.
        width : int
            Pairs of a group.
        ratios : Ratios
            Of the backend.
        """
        work: list[tuple[Where, Floats, dict[int, Floats], Indices]] = [
            (None, rule.nodes, self.shares(rule), order) for rule, order in groups
        ]
        every = np.arange(-(-len(pairs.lam) // width))
        for node, sizes in self.nodes.items():
            work.append((node, np.array([node]), dict.fromkeys(sizes, np.ones(1)), every))
        n_columns = max(ratios.entries // self.n_players, _WIDE)
        if self.subsets is None and self.most > 2:
            n_columns *= _TRIPLES
        portions = []
        for where, nodes, shares, order in work:
            has_gram = self.subsets is None and _has_gram(pairs, weights, shares)
            longer = _LONGER if has_gram and self.n_players <= ratios.few else 1
            step = max(1, longer * n_columns // (width * len(nodes)))
            for first in range(0, len(order), step):
                some = order[first : first + step]
                portions.append(Portion(pairs, weights, where, nodes, shares, some, has_gram))
        return portions

    def shares(self, rule: Rule) -> dict[int, Floats]:
        """Return the weights of the nodes of a rule under the densities, for every size."""
        known: dict[Rule, dict[int, Floats]] = self._shares
        if rule not in known:
            known[rule] = {
                size: np.array([one.weight(float(x)) for x in rule.nodes]) * rule.weights
                for size, one in self.integrated.items()
            }
        return known[rule]

    @lazy
    def _shares(self) -> dict[Rule, dict[int, Floats]]:
        """Those that were asked for."""
        return {}

    @lazy
    def mass(self) -> float:
        """What the error of a rule is multiplied by at most."""
        return max((one.mass for one in self.integrated.values()), default=0.0)

    @lazy
    def weight(self) -> float:
        """What rounding is multiplied by at most: the mass and the weights of all points."""
        every = [*self.functionals.values(), *([self.for_none] if self.for_none else [])]
        return max(one.mass + sum(abs(point.weight) for point in one.points) for one in every)

    @lazy
    def has_derivatives(self) -> bool:
        """Whether a value is made from larger subsets."""
        every = [*self.functionals.values(), *([self.for_none] if self.for_none else [])]
        return any(point.order for one in every for point in one.points)


def _has_gram(pairs: Measured, weights: Floats, shares: dict[int, Floats]) -> bool:
    if weights.shape[1] > 1 or not {0, 1, 2}.issuperset(shares):
        return False
    if 2 not in shares:
        return True
    return pairs.lowest >= 0.0 and has_one_sign(weights) and has_one_sign(shares[2])


def has_one_sign(weights: Floats) -> bool:
    """Tell whether no two numbers have different signs."""
    return bool(weights.min() >= 0.0 or weights.max() <= 0.0)
