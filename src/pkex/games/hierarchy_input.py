"""Hierarchies as users write them: nested mappings and sequences, and linkage matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pkex._util.validation import brief, is_index
from pkex._util.words import pluralise
from pkex.games.hierarchy import Hierarchy, Ordered

__all__ = ["CORRELATION", "check_hierarchy", "from_linkage", "parse_hierarchy"]

CORRELATION = "correlation"
"""What stands for a hierarchy that is found by clustering columns."""

_FORMS = (
    "nested mappings or lists of feature names, such as {'blood': ['s1', 's2']}, "
    "pkex.games.Ordered, a linkage matrix of scipy, or 'correlation'"
)
_SHOWN = 3  # names of features in the name of a group that has none
_DEEPEST = 200  # groups inside each other, as they are written down


def check_hierarchy(hierarchy: Any) -> None:
    """Raise where `hierarchy` is not of a form that is known; what it names is not looked at."""
    forms = Mapping, Sequence, Ordered, np.ndarray, Hierarchy
    if isinstance(hierarchy, str) and hierarchy != CORRELATION:
        raise ValueError(f"hierarchy must be {_FORMS}; got {brief(hierarchy)}.")
    if not isinstance(hierarchy, forms):
        raise TypeError(f"hierarchy must be {_FORMS}; got {type(hierarchy).__name__}.")


def parse_hierarchy(hierarchy: Any, names: Sequence[str]) -> Hierarchy:
    """Return the tree of some features, by their names.

    Features that a nested hierarchy does not name stand by themselves beside its groups.
    """
    check_hierarchy(hierarchy)
    if isinstance(hierarchy, Hierarchy):
        if hierarchy.n_features != len(names):
            raise ValueError(
                f"hierarchy has {hierarchy.n_features} features, but there are {len(names)}."
            )
        return hierarchy
    if isinstance(hierarchy, np.ndarray):
        return from_linkage(hierarchy, names)
    reader = _Reader(names)
    members = reader.members(hierarchy, 0)
    left = [j for j in range(len(names)) if j not in reader.seen]
    ordered = isinstance(hierarchy, Ordered)
    if ordered and left:
        raise ValueError(
            f"hierarchy is Ordered, but does not say where {brief([names[j] for j in left])} "
            f"come{'s' * (len(left) == 1)}; name every feature."
        )
    return reader.tree([*members, *left], ordered)


def from_linkage(matrix: Any, names: Sequence[str]) -> Hierarchy:
    """Return the tree of a linkage matrix as `scipy.cluster.hierarchy.linkage` makes them."""
    n_features = len(names)
    rows = np.asarray(matrix, dtype=np.float64)
    if rows.shape != (n_features - 1, 4):
        raise ValueError(
            f"hierarchy is an array of shape {rows.shape}; a linkage matrix of "
            f"{pluralise(n_features, 'feature')} has the shape ({n_features - 1}, 4)."
        )
    if n_features == 1:  # which is merged with nothing
        return Hierarchy(1, ((0,),), ("all",), (False,))
    pairs = rows[:, :2]
    limits = n_features + np.arange(len(rows))
    if not (np.isfinite(rows).all() and (pairs == np.floor(pairs)).all() and (pairs >= 0.0).all()):
        raise ValueError("hierarchy is not a linkage matrix: its clusters are not numbers.")
    merged = pairs.astype(np.intp)
    if (merged.max(axis=1) >= limits).any() or len(np.unique(merged)) < merged.size:
        raise ValueError(
            "hierarchy is not a linkage matrix: a cluster is merged twice, or before it is made."
        )
    children = tuple((int(a), int(b)) for a, b in merged)
    below: list[tuple[int, ...]] = [(j,) for j in range(n_features)]
    titles = []
    for first, second in children:
        below.append(tuple(sorted(below[first] + below[second])))
        titles.append(_title([names[j] for j in below[-1]]))
    heights = tuple(float(height) for height in rows[:, 2])
    return Hierarchy(n_features, children, tuple(titles), (False,) * len(children), heights)


class _Reader:
    """Reads nested groups into lists of vertices; groups are numbered when all are known."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.place = {name: i for i, name in enumerate(names)}
        self.seen: set[int] = set()
        self.titles: set[str] = set()
        self.groups: list[tuple[str, list[int], bool]] = []

    def members(self, group: Any, depth: int) -> list[int]:
        """Return the vertices of the members of a group."""
        if depth > _DEEPEST:
            raise ValueError(
                f"hierarchy has more than {_DEEPEST} groups inside each other; pass a linkage "
                "matrix."
            )
        if isinstance(group, Mapping):
            members = [self.vertex(one, depth, str(name)) for name, one in group.items()]
        else:
            inside: Iterable[Any] = group.groups if isinstance(group, Ordered) else group
            members = [self.vertex(one, depth, None) for one in inside]
        if not members:
            raise ValueError("hierarchy has a group without features; leave it out.")
        return members

    def vertex(self, one: Any, depth: int, name: str | None) -> int:
        """Return the number of a feature, or of a group that is taken in."""
        if isinstance(one, str) or is_index(one):
            feature = self.feature(one)
            return feature if name is None else self.add(name, [feature], False)
        if isinstance(one, Mapping) and len(one) == 1 and name is None:  # a group with its name
            ((title, inside),) = one.items()
            return self.vertex(inside, depth + 1, str(title))
        if not isinstance(one, Mapping | Sequence | Ordered | np.ndarray | set | frozenset):
            raise TypeError(
                f"hierarchy holds {brief(one)}; a group has names or numbers of features, and "
                "other groups."
            )
        if isinstance(one, set | frozenset):
            one = sorted(one, key=str)
        members = self.members(one, depth + 1)
        return self.add(name, members, isinstance(one, Ordered))

    def feature(self, one: Any) -> int:
        """Return the number of a feature, by name or number."""
        if isinstance(one, str):
            if one not in self.place:
                raise ValueError(
                    f"hierarchy names the feature {one!r}; the features are {brief(self.names)}."
                )
            feature = self.place[one]
        else:
            feature = int(one)
            if not 0 <= feature < len(self.names):
                raise ValueError(
                    f"hierarchy names feature {feature}, but the features are numbered 0 to "
                    f"{len(self.names) - 1}."
                )
        if feature in self.seen:
            raise ValueError(
                f"hierarchy has the feature {self.names[feature]!r} twice; a feature can belong "
                "to one group only."
            )
        self.seen.add(feature)
        return feature

    def add(self, name: str | None, members: list[int], ordered: bool) -> int:
        """Take in a group and return its number."""
        below = [self.names[j] for j in self._below(members)]
        title = _title(below) if name is None else name
        if name is not None and name in self.titles:
            raise ValueError(f"two groups are named {name!r}; give one of them another name.")
        if name is not None and name in self.place and name not in below:
            raise ValueError(
                f"a group is named {name!r}, as a feature that is not in it; give the group "
                "another name."
            )
        self.titles.add(title)
        self.groups.append((title, members, ordered))
        return len(self.names) + len(self.groups) - 1

    def _below(self, members: list[int]) -> list[int]:
        features, todo = [], list(members)
        while todo:
            vertex = todo.pop()
            if vertex < len(self.names):
                features.append(vertex)
            else:
                todo += self.groups[vertex - len(self.names)][1]
        return sorted(features)

    def tree(self, members: list[int], ordered: bool) -> Hierarchy:
        """Return the tree with these vertices at the top."""
        self.groups.append(("all", members, ordered))
        titles, children, orders = zip(*self.groups, strict=True)
        return Hierarchy(len(self.names), tuple(map(tuple, children)), titles, orders)


def _title(names: Sequence[str]) -> str:
    """Return the name of a group that has none.

    Examples
    --------
    >>> _title(["a", "b"]), _title(["a", "b", "c", "d"])
    ('a + b', 'a + b + c + 1 more')
    """
    shown = list(names[:_SHOWN])
    more = len(names) - len(shown)
    return " + ".join([*shown, f"{more} more"] if more else shown)
