"""Values under a hierarchy of features: Owen's, Winter's, and asymmetric values.

Features are leaves of a tree. Only orders count in which the members of every group come one after
the other; Owen's values have one level of groups, Winter's any number of them. In a product game
let ``P_c`` and ``A_c`` be the products of the present and of the absent factors over the members of
a vertex c. When feature j comes, every sibling of j, and of each group that j belongs to, is
present as a whole or absent as a whole, independently of other siblings given a uniform t:

    phi_j = (p_j - a_j) prod_{c} I_c,      I_c = integral prod_{s} (A_s + t (P_s - A_s)) dt,

c being j and its groups, but for that of everything, and s the siblings of c. The integrand has the
degree of their number, so with m children ``ceil(m / 2)`` Gauss nodes are exact; with two children
the integral is ``(P_s + A_s) / 2``. Where the children of a vertex have an order (`Ordered`), the
earlier ones are present and the later ones absent, and nothing is integrated.
One pass up finds the products, one pass down the weights. Values of a group's members sum to the
value of the group among its siblings, at every level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.games.rules import Ladder, Rule

__all__ = ["Hierarchy", "Ordered"]

_ROUNDING = 2.0**-52


@dataclass(frozen=True)
class Ordered:
    """Groups of features in an order: asymmetric values (Frye, Rowat and Feige 2020).

    When a group is looked at, the groups before it are present and those after it are absent, as
    causes come before their effects. Inside a group values are Shapley's, or those of the hierarchy
    there. It can stand for a whole hierarchy or for one group of it.

    Parameters
    ----------
    groups : sequence
        Features, or groups of features, the earliest first.

    See Also
    --------
    pkex.Explainer : Takes it as ``hierarchy=``.
    Shapley : The mean over all orders.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> order = pkex.games.Ordered(["x1", "x0"])
    >>> explanation = pkex.Explainer(f, hierarchy=order)([[0.0, 1.0]])
    >>> explanation.index, explanation.values.round(4)
    ('asymmetric', array([[-0.2741,  0.158 ]]))
    """

    groups: tuple[Any, ...]

    def __init__(self, groups: Iterable[Any]) -> None:
        if isinstance(groups, str) or not isinstance(groups, Iterable):
            raise TypeError(
                "Ordered takes a list of features or groups of them, the earliest first; got "
                f"{type(groups).__name__}."
            )
        object.__setattr__(self, "groups", tuple(groups))


@dataclass(frozen=True)
class Hierarchy:
    """Features as the leaves of a tree, and the values that go with it: a `Measure`.

    Vertices are numbered: features first, then groups, each after all of its members, the group of
    everything last.

    Attributes
    ----------
    n_features : int
    children : tuple of tuples of int
        The members of each group: features and other groups.
    names : tuple of str
        Names of the groups; that of the last is not used.
    ordered : tuple of bool
        Whether the members of a group come in their order.
    heights : tuple of float, or None
        At which distance the two members of each group were merged, for a tree that was made by
        clustering.
    """

    n_features: int
    children: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    ordered: tuple[bool, ...]
    heights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        seen = [vertex for members in self.children for vertex in members]
        n_vertices = self.n_features + len(self.children)
        below = all(
            members and max(members) < self.n_features + i
            for i, members in enumerate(self.children)
        )
        if not below or sorted(seen) != list(range(n_vertices - 1)):
            raise ValueError("the groups of a hierarchy must make up a tree of all features.")
        counts = {len(self.names), len(self.ordered), len(self.heights or self.names)}
        if counts != {len(self.children)}:
            raise ValueError("a hierarchy has a name and a kind for each group.")

    @property
    def index(self) -> str:
        """The name of the values: "Owen", with groups of groups "Winter", or "asymmetric"."""
        if any(self.ordered):
            return "asymmetric"
        return ("SV", "SV", "Owen", "Winter")[min(self.depth, 3)]

    @property
    def efficient(self) -> bool:
        """Whether the values sum to the worth of all players minus that of none: they do."""
        return True

    @property
    def is_flat(self) -> bool:
        """Whether all features are siblings in any order, so that values are Shapley's."""
        return self.depth <= 1 and not any(self.ordered)

    @lazy
    def depths(self) -> tuple[int, ...]:
        """How many groups each vertex is in, of features and groups."""
        depths = [0] * (self.n_features + len(self.children))
        for i in range(len(self.children) - 1, -1, -1):
            for vertex in self.children[i]:
                depths[vertex] = depths[self.n_features + i] + 1
        return tuple(depths)

    @lazy
    def depth(self) -> int:
        """The largest number of groups, that of everything included, that a feature is in."""
        return max(self.depths[: self.n_features], default=0)

    @lazy
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The features below each vertex, in ascending order."""
        features: list[tuple[int, ...]] = [(j,) for j in range(self.n_features)]
        for members in self.children:
            features.append(tuple(sorted(j for vertex in members for j in features[vertex])))
        return tuple(features)

    @property
    def data(self) -> dict[str, Any]:
        """The tree as JSON has it."""
        return {
            "n_features": self.n_features,
            "children": [list(members) for members in self.children],
            "names": list(self.names),
            "ordered": list(self.ordered),
            "heights": None if self.heights is None else list(self.heights),
        }

    def ladder(
        self,
        n_players: int,
        tol: float | None,  # noqa: ARG002  (it is exact)
        *,
        general: bool,  # noqa: ARG002
    ) -> Ladder:
        """Return what a backend needs: no nodes for all players, but the tree."""
        if n_players != self.n_features:
            raise ValueError(
                f"the hierarchy has {self.n_features} features, the game {n_players} players."
            )
        return _tree_ladder(self)

    def cut(self, level: int) -> list[int]:
        """Return the vertices that make up a level: so deep, or features that are less deep."""
        depths = self.depths
        chosen = [
            vertex
            for vertex in range(self.n_features + len(self.children) - 1)
            if depths[vertex] == level or (depths[vertex] < level and vertex < self.n_features)
        ]
        return sorted(chosen, key=lambda vertex: self.members[vertex][0])

    def above(self, level: int) -> Hierarchy:
        """Return the hierarchy whose features are the vertices of a level, in the order of `cut`.

        What was merged below is left out.
        """
        leaves = self.cut(level)
        place = {vertex: i for i, vertex in enumerate(leaves)}
        kept = [i for i in range(len(self.children)) if self.depths[self.n_features + i] < level]
        place |= {self.n_features + i: len(leaves) + k for k, i in enumerate(kept)}
        children = tuple(tuple(place[v] for v in self.children[i]) for i in kept)
        names = tuple(self.names[i] for i in kept)
        return Hierarchy(len(leaves), children, names, tuple(self.ordered[i] for i in kept))

    def restricted(self, features: Sequence[int]) -> Hierarchy:
        """Return the tree of some features; the others, which change nothing, are left out."""
        place = {old: new for new, old in enumerate(features)}
        kept: list[int] = []
        for i, members in enumerate(self.children):
            if any(vertex in place for vertex in members):
                place[self.n_features + i] = len(features) + len(kept)
                kept.append(i)
        children = tuple(tuple(place[v] for v in self.children[i] if v in place) for i in kept)
        names = tuple(self.names[i] for i in kept)
        return Hierarchy(len(features), children, names, tuple(self.ordered[i] for i in kept))

    def renumbered(self, features: Sequence[int]) -> Hierarchy | None:
        """Return the same tree for all features in another order; None for some of them."""
        if sorted(features) != list(range(self.n_features)):
            return None
        place = {old: new for new, old in enumerate(features)}
        children = tuple(tuple(place.get(v, v) for v in members) for members in self.children)
        return Hierarchy(self.n_features, children, self.names, self.ordered, self.heights)

    def linkage(self) -> Floats | None:
        """Return a linkage matrix as SciPy has them, or None where a group has not two members.

        Groups that were not made by clustering are as high as their depth below them says.
        """
        if any(len(members) != 2 for members in self.children):
            return None
        rows, levels = [], [0.0] * self.n_features
        for i, (first, second) in enumerate(self.children):
            if self.heights is not None:
                levels.append(self.heights[i])
            else:
                levels.append(1.0 + max(levels[first], levels[second]))
            size = len(self.members[self.n_features + i])
            rows.append([float(first), float(second), levels[-1], float(size)])
        top = 1.0 if self.heights is not None else max(levels)
        linkage = np.array(rows).reshape(-1, 4)
        linkage[:, 2] /= top or 1.0
        return linkage


@lru_cache(maxsize=64)
def _tree_ladder(hierarchy: Hierarchy) -> Ladder:
    """Return a ladder of one rule, exact for all factors, whose nodes are those of the groups.

    *Error.* Nodes and weights of a Gauss rule are right to 2^-52 relatively, which costs the
    integral of a group of m members at most ``2^-52 (1 + m)`` of the largest product, as in the
    general game of `pkex.games.rules`. A value has one such integral for each group that the
    feature is in. Products and sums of a pass up and down are at most 5 roundings for each sibling,
    fewer than the 16 for each player that `WeightedPoints.roundings` has.
    """
    costs = [0.0] * (hierarchy.n_features + len(hierarchy.children))
    for i in range(len(hierarchy.children) - 1, -1, -1):
        members, vertex = hierarchy.children[i], hierarchy.n_features + i
        integrated = len(members) > 2 and not hierarchy.ordered[i]
        for member in members:
            costs[member] = costs[vertex] + (1.0 + len(members) if integrated else 0.0)
    error = _ROUNDING * (1.0 + max(costs[: hierarchy.n_features], default=0.0))
    nowhere = np.array([math.nan])  # whoever looks for nodes of all players gets no number
    nowhere.flags.writeable = False
    rule = Rule("hierarchy", nowhere, nowhere, hierarchy.n_features, math.inf, False, error)
    outside = Rule(
        "hierarchy, any factors", nowhere, nowhere, hierarchy.n_features, math.inf, True, error
    )
    limits = np.array([math.inf])
    return Ladder((rule,), limits, hierarchy.n_features, -1.0, outside, hierarchy)
