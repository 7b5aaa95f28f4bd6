"""What players of product games do together: weighted sums over pairs of functionals of ``G_S``.

`pkex.games.functionals` says which functional an index is. Here it is evaluated for the players,
all pairs and all triples of players at once, or for chosen subsets.

*All at once.* With ``f_j = a_j + x (p_j - a_j)`` at a node, ``R_j = (p_j - a_j) / f_j`` and P the
product of all ``f_j``, ``G_S = P prod_{j in S} R_j``. So the sum over pairs of points and nodes e
with weights ``w_e`` is, for all pairs of players, one matrix product

    sum_e w_e G_{ij} = (R diag(w P) R')_{ij},

whose diagonal means nothing. For the ``w_e P_e`` of one sign it is ``T T'`` with
``T = R sqrt(|w P|)``, which BLAS forms in half the time and which is symmetric to the last digit.
Triples are one such product for each player.

*Denominators that vanish.* Factors ``f_j`` are kept away from 0: where ``|f_j| < tau m_j`` with
``m_j = max(|a_j|, |p_j|)`` and ``tau = 2^-80`` they are set to ``tau m_j``, in P and in R alike. As
every factor is at most ``m_j`` in size, that changes ``G_S`` by at most ``2 d tau`` times
``prod_{j in S} |p_j - a_j| prod_{j not in S} m_j``, far below one rounding. What a subset without
``f_j`` needs, ``P R_j``, is right to a few roundings, because ``tau m_j`` cancels.

*Derivatives* of ``G_S`` are sums of ``G_T`` over larger sets T, and are taken as such: a formula by
power sums of the R_j would cancel where one of them is large.

*Bounds.* The rules of `pkex.rules` hold: ``G_S`` is the integrand of the diagonal formula with
fewer players, so with a smaller lam, and a density ``x^i (1-x)^(q-i)`` is q more players with
``|p - a| = 1``, so the rule is looked up at lam + q. For powers of ``1 - x`` under neutral removal
the bound is relative to the integral; else it is relative to 1 and multiplied by the `mass` of the
density. Over all subsets of s players ``prod_S |p_j - a_j|`` sums to at most ``lam^s / s!``, over
those of at most k players to at most ``(1 + lam)^k``: the `reach` of a pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._lazy import lazy
from pkex.games.factors import change
from pkex.games.functionals import Functional, Index
from pkex.games.numpy_backend import extent
from pkex.games.protocols import Factors
from pkex.games.rules import Ladder, Rule, general_ladder, ladder
from pkex.games.threads import workspace
from pkex.kernels.algebra import Term

__all__ = ["Recipe", "Subset", "Tally", "all_triples", "batch"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Subset = tuple[int, ...]
Where = float | None  # a node, or None for the integral

_TAU = 2.0**-80  # share of the larger factor below which a factor is kept away from 0
_NOTHING = 2.0**-900  # what stands in for a factor of 0 of a player that has no other
_UNDERFLOW = 2.0**-700  # what is lost by underflow, and by `_NOTHING`, is far below
_BETWEEN = 2.0**-40  # how far inside [0, 1] a node is that is surely not an end
_ALIKE = 1.5  # ratio of the sizes of rules up to which the larger one is taken for all pairs
_SPLIT = 100  # players from which on half a matrix product is worth sorting by signs
_ENTRIES = 2**18  # of a matrix R: 2 MiB
_WIDE = 512  # columns of a matrix R at least, as its product with itself costs a pass over d x d


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
        """The rules for the integrals, looked up at lam + `more_players`."""
        sizes = [one.more_players - size for size, one in self.integrated.items()]
        n_players = max(1, self.n_players + 1 + max(sizes, default=0))
        if not self.general and all(one.vanishes_at_one for one in self.integrated.values()):
            return ladder(n_players, self.tol)
        return general_ladder(n_players, self.tol)

    @lazy
    def nodes(self) -> dict[float, tuple[int, ...]]:
        """The nodes of the points, each with the sizes of subsets that are summed there."""
        found: dict[float, set[int]] = {}
        every = {**self.functionals, **({} if self.for_none is None else {0: self.for_none})}
        for size, one in every.items():
            for node, order, _ in one.points:
                if size + order <= self.n_players:  # else the derivative is 0
                    found.setdefault(node, set()).add(size + order)
        return {node: tuple(sorted(sizes)) for node, sizes in sorted(found.items())}

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


@dataclass(eq=False)
class Tally:
    """Sums for one row, or for a statistic.

    Attributes
    ----------
    recipe : Recipe
    n_sets : int
        Number of sets of weights.
    parts : dict
        For a node, or None for the integral, and a size the sums of all subsets of that size:
        shapes (sets,), (players, sets), (sets, players, players) and (sets, triples); their
        diagonals mean nothing.
    chosen : array of shape (subsets, sets)
        The values of chosen subsets.
    totals, sizes, reach : arrays of shape (sets,)
        Sums of the products of all factors, of the largest size of a value of a pair, and of the
        reach of a pair.
    rules : set of Rule
    longest, n_chunks : int
        How many numbers were added up at once at most, and how many such sums were added up.
    """

    recipe: Recipe
    n_sets: int
    parts: dict[tuple[Where, int], Floats] = field(default_factory=dict)
    rules: set[Rule] = field(default_factory=set)
    longest: int = 0
    n_chunks: int = 0

    def __post_init__(self) -> None:
        self.totals, self.sizes, self.reach = np.zeros((3, self.n_sets))
        self.chosen = np.zeros((len(self.recipe.subsets or ()), self.n_sets))

    def add(self, where: Where, size: int, sums: Floats) -> None:
        """Add sums to those of all subsets of a size."""
        known = self.parts.get((where, size))
        if known is None:
            self.parts[where, size] = sums
        else:
            known += sums

    def plus(self, other: Tally, scale: float = 1.0) -> None:
        """Add other sums, times a number."""
        for (where, size), sums in other.parts.items():
            self.add(where, size, scale * sums)
        self.chosen += scale * other.chosen
        self.totals += scale * other.totals
        self.sizes += abs(scale) * other.sizes
        self.reach += abs(scale) * other.reach
        self.rules |= other.rules
        self.longest = max(self.longest, other.longest)
        self.n_chunks += other.n_chunks

    def values(self, size: int) -> Floats:
        """Return the values of all subsets of a size, shaped as in `parts`; diagonals are 0."""
        recipe = self.recipe
        functional = recipe.functionals[size] if size else recipe.for_none
        assert functional is not None
        shape = _shape(size, recipe.n_players, self.n_sets)
        total = np.zeros(shape)
        if functional.density and (None, size) in self.parts:
            total += self.parts[None, size]
        for node, order, weight in functional.points:
            part = self.parts.get((node, size + order))
            if part is not None:
                total += weight * _summed(part, size + order, size, recipe.n_players)
        if size == 2:
            total[:, np.arange(recipe.n_players), np.arange(recipe.n_players)] = 0.0
        return total

    def allowed(self, roundings: float) -> Floats:
        """Return how far the sum of all values may be from the worth of all minus that of none."""
        return self._rate(roundings) * self.reach

    def error(self, roundings: float) -> Floats:
        """Return how far a value may be from what exact arithmetic gives, shape (sets,)."""
        sizes = self.reach if self.recipe.has_derivatives else self.sizes
        return self._rate(roundings) * sizes

    def _rate(self, roundings: float) -> float:
        of_rule = max((rule.relative_error for rule in self.rules), default=0.0)
        count = roundings + self.longest + self.n_chunks + 16.0 * (self.recipe.most + 2)
        return self.recipe.mass * of_rule + self.recipe.weight * count * 2.0**-53


class _Pairs(NamedTuple):
    """Pairs of points, sorted so that those that go together stand together.

    Attributes
    ----------
    drops, start, largest : arrays of shape (players, pairs)
        ``a - p``, ``a`` and ``max(|p|, |a|)``; `start` and `largest` may be numbers.
    weights : array of shape (pairs, sets)
    away : bool
        Whether no factor can vanish but at 0 and 1, as all lie in [0, 1] and no player has none.
    groups : list of (Rule, slice)
    halves : list of slice
        Where weights of one sign stand, where there is one set of them.
    """

    drops: Floats
    start: Floats | float
    largest: Floats | float
    weights: Floats
    away: bool
    groups: list[tuple[Rule, slice]]
    halves: list[slice]


class _Chunk(NamedTuple):
    """Some pairs at some nodes.

    Attributes
    ----------
    where : float or None
        The node, or None for the nodes of a rule.
    nodes, shares : arrays of shape (nodes,)
    drops : array of shape (players, pairs)
    factors : array of shape (players, nodes, pairs)
    weights : array of shape (pairs, sets)
    """

    where: Where
    nodes: Floats
    shares: Floats
    drops: Floats
    factors: Floats
    weights: Floats

    def weighted(self, density: Functional) -> Floats:
        """Return the weights of the nodes under a density."""
        return np.array([density.weight(float(x)) for x in self.nodes]) * self.shares


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def batch(
    recipe: Recipe,
    term: Term,
    present: Factors,
    absent: Factors | None,
    weights: Floats,
    tally: Tally,
) -> None:
    """Add pairs of points to a tally.

    Parameters
    ----------
    recipe : Recipe
    term : Term
        Whose factors these are; for messages.
    present : Factors of shape (players, pairs)
    absent : Factors of the same shape, or None
        1 if None.
    weights : array of shape (pairs, sets)
    tally : Tally
    """
    pairs = _sorted(recipe, term, present, absent, weights, tally)
    tally.totals += np.multiply.reduce(present.values, axis=0) @ weights
    add = _add_all if recipe.subsets is None else _add_chosen
    for chunk in _chunks(recipe, pairs):
        add(recipe, chunk, tally)
        tally.longest = max(tally.longest, chunk.factors[0].size)
        tally.n_chunks += 1
    if recipe.integrated:
        tally.rules.update(rule for rule, _ in pairs.groups)


def _sorted(
    recipe: Recipe,
    term: Term,
    present: Factors,
    absent: Factors | None,
    weights: Floats,
    tally: Tally,
) -> _Pairs:
    """Return the pairs by the sign of their weight and by rule; note how large they are."""
    rungs = recipe.rules
    factors, start = present.values, None if absent is None else absent.values
    u = present.deficits if absent is None else change(present, absent)
    lam, outside, magnitudes = extent(term, factors, u, start, rungs.lower)
    widest = np.abs(u).max(axis=0)
    away = bool(factors.min() >= 0.0 and not outside.any())
    largest: Floats | float = 1.0
    if start is not None:
        largest = np.maximum(np.abs(factors), np.abs(start))
        away = away and bool(start.min() >= 0.0 and largest.min() > _NOTHING)
        widest[magnitudes < 1.0] = 2.0  # in the tail, relative to the larger factor
    elif outside.any():
        largest = np.maximum(1.0, np.abs(factors))
    if outside.any():
        over = np.maximum(1.0, np.asarray(largest)[:, outside])
        magnitudes[outside] *= np.multiply.reduce(over, axis=0) * (1.0 + lam[outside])
    magnitudes = np.maximum(magnitudes, _UNDERFLOW)
    tally.sizes += (magnitudes * np.maximum(1.0, widest) ** recipe.most) @ np.abs(weights)
    tally.reach += (magnitudes * (1.0 + lam) ** recipe.most) @ np.abs(weights)
    steps = np.zeros(len(lam), dtype=np.intp)
    if recipe.integrated:
        steps = np.searchsorted(rungs.limits, lam + recipe.more_players)
        steps[outside] = len(rungs.rules)
    order, groups, halves = _grouped(steps, weights, rungs, len(u))
    if order is not None:
        u, weights = u[:, order], weights[order]
        start = None if start is None else start[:, order]
        largest = largest if isinstance(largest, float) else largest[:, order]
    begin: Floats | float = 1.0 if start is None else start
    return _Pairs(u, begin, largest, weights, away, groups, halves)


def _grouped(
    steps: Indices, weights: Floats, rungs: Ladder, n_players: int
) -> tuple[Indices | None, list[tuple[Rule, slice]], list[slice]]:
    """Return an order of the pairs, or None for their own, and where those of a rule stand.

    Rules of much the same size are not told apart, as sorting costs more. With one set of weights
    and many players pairs are sorted by its sign first, and halves are where it changes.
    """
    n_steps, key = len(rungs.rules) + 1, steps
    most = int(steps.max())
    if most < len(rungs.rules) and rungs.rules[most].size <= _ALIKE * rungs.rules[steps.min()].size:
        key = np.full_like(steps, most)  # the rule of the largest lam covers all
    if weights.shape[1] == 1 and n_players >= _SPLIT:
        key = key + n_steps * (weights[:, 0] < 0.0)
    order = None
    if (key != key[0]).any():
        order = np.argsort(key, kind="stable")
        key = key[order]
    groups = []
    for some in _runs(key):
        step = int(key[some.start]) % n_steps
        rule = rungs.fallback if step == len(rungs.rules) else rungs.rules[step]
        groups.append((rule, some))
    return order, groups, _runs(key // n_steps)


def _runs(key: Indices) -> list[slice]:
    """Return where entries that stand together are equal."""
    edges = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    return [slice(*ends) for ends in pairwise(edges)]


def _chunks(recipe: Recipe, pairs: _Pairs) -> Iterator[_Chunk]:
    """Yield the pairs at the nodes of their rules, and at all points."""
    if recipe.integrated:
        for rule, some in pairs.groups:
            yield from _cut(recipe, pairs, some, None, rule.nodes, rule.weights)
    for node in recipe.nodes:
        for some in pairs.halves:
            yield from _cut(recipe, pairs, some, node, np.array([node]), np.ones(1))


def _cut(
    recipe: Recipe, pairs: _Pairs, some: slice, where: Where, nodes: Floats, shares: Floats
) -> Iterator[_Chunk]:
    """Yield some pairs at some nodes in chunks that stay in cache."""
    everything = recipe.subsets is None
    step = max(_ENTRIES // recipe.n_players, _WIDE) // len(nodes)
    if everything and recipe.most > 2:
        step *= 4  # as a product is formed for each player
    between = nodes[0] >= _BETWEEN and nodes[-1] <= 1.0 - _BETWEEN
    guarded = everything and not (pairs.away and between)
    step = max(1, step)
    for first in range(some.start, some.stop, step):
        chunk = slice(first, min(first + step, some.stop))
        drops = pairs.drops[:, chunk]
        factors = workspace("interactions", recipe.n_players, len(nodes), drops.shape[1])
        np.multiply(nodes[None, :, None], drops[:, None, :], out=factors)
        start = pairs.start if isinstance(pairs.start, float) else pairs.start[:, None, chunk]
        np.subtract(start, factors, out=factors)
        if guarded and not (pairs.away and factors.min() > _TAU):  # away: factors are at most 1
            largest = pairs.largest
            least = _TAU * (largest if isinstance(largest, float) else largest[:, None, chunk])
            least = np.maximum(least, _NOTHING)
            np.copyto(factors, least, where=np.abs(factors) < least)
        yield _Chunk(where, nodes, shares, drops, factors, pairs.weights[chunk])


def _add_all(recipe: Recipe, chunk: _Chunk, tally: Tally) -> None:
    """Add a chunk to the sums of all subsets of some sizes."""
    where, weights, factors = chunk.where, chunk.weights, chunk.factors
    n_players, n_sets = recipe.n_players, weights.shape[1]
    sizes = tuple(recipe.integrated) if where is None else recipe.nodes[where]
    products = np.multiply.reduce(factors, axis=0)  # (nodes, pairs)
    ratios = np.divide(chunk.drops[:, None, :], factors, out=factors).reshape(n_players, -1)
    used: Functional | None = None
    local = None if where is None else (products[:, :, None] * weights).reshape(-1, n_sets)
    for size in sizes:
        if where is None and recipe.functionals[size] != used:
            used = recipe.functionals[size]
            scaled = products * chunk.weighted(used)[:, None]
            local = (scaled[:, :, None] * weights).reshape(-1, n_sets)
        assert local is not None
        if size == 0:
            sums = local.sum(axis=0)
        elif size == 1:
            sums = -(ratios @ local)  # these are absent minus present factors
        elif size == 2:
            sums = np.stack([_gram(ratios, one) for one in local.T])
        else:
            sums = -np.stack([_cube(ratios, one) for one in local.T])
        tally.add(where, size, sums)


def _add_chosen(recipe: Recipe, chunk: _Chunk, tally: Tally) -> None:
    """Add a chunk to the values of chosen subsets, by products without division."""
    assert recipe.subsets is not None
    where, drops, factors = chunk.where, chunk.drops, chunk.factors
    for place, subset in enumerate(recipe.subsets):
        functional = recipe.functionals[len(subset)]
        others = [j for j in range(recipe.n_players) if j not in subset]
        if where is None:
            if not functional.density:
                continue
            outside = chunk.weighted(functional) @ np.multiply.reduce(factors[others], axis=0)
        else:
            orders = {order: weight for node, order, weight in functional.points if node == where}
            if not orders:
                continue
            series = _taylor(factors[others, 0], drops[others], max(orders))
            outside = np.zeros(drops.shape[1])
            for order, weight in orders.items():
                outside += weight * series[order]
        together = (-1.0) ** len(subset) * np.multiply.reduce(drops[list(subset)], axis=0)
        tally.chosen[place] += (together * outside) @ chunk.weights


def _gram(ratios: Floats, weights: Floats) -> Floats:
    """Return ``R diag(w) R'``: for the weights of one sign ``T T'``, which NumPy leaves to syrk."""
    below, memory = weights < 0.0, workspace("halves", *ratios.shape)
    some, product = bool(below.any()), np.empty(0)
    if some and len(ratios) < _SPLIT and not below.all():
        product = np.multiply(ratios, weights, out=memory) @ ratios.T
        return 0.5 * (product + product.T)
    halves = np.multiply(ratios, np.sqrt(np.abs(weights)), out=memory)
    if not some:
        return halves @ halves.T
    if below.all():
        product = halves @ halves.T
        return np.negative(product, out=product)
    plus, minus = halves[:, ~below], halves[:, below]
    product = plus @ plus.T
    product -= minus @ minus.T
    return product


def _cube(ratios: Floats, weights: Floats) -> Floats:
    """Return ``sum_e w_e R_ie R_je R_ke`` for all i < j < k, in their order."""
    n_players = len(ratios)
    found = []
    for i in range(n_players - 2):
        rest = ratios[i + 1 :]
        product = (rest * (weights * ratios[i])) @ rest.T
        found.append(product[np.triu_indices(len(rest), 1)])
    return np.concatenate(found) if found else np.zeros(0)


def _taylor(factors: Floats, drops: Floats, order: int) -> list[Floats]:
    """Return the first coefficients of ``prod_j (f_j - y u_j)`` as a polynomial in y."""
    series = [np.ones(drops.shape[1])] + [np.zeros(drops.shape[1]) for _ in range(order)]
    for f, u in zip(factors, drops, strict=True):
        for r in range(order, 0, -1):
            series[r] = series[r] * f - series[r - 1] * u
        series[0] = series[0] * f
    return series


def _shape(size: int, n_players: int, n_sets: int) -> tuple[int, ...]:
    triples = n_players * (n_players - 1) * (n_players - 2) // 6
    shapes = ((n_sets,), (n_players, n_sets), (n_sets, n_players, n_players), (n_sets, triples))
    return shapes[size]


@lru_cache(maxsize=4)
def all_triples(n_players: int) -> Indices:
    """Return all ``i < j < k`` in their order, shape (triples, 3)."""
    found = []
    for i in range(n_players - 2):
        j, k = np.triu_indices(n_players - i - 1, 1)
        found.append(np.column_stack([np.full(len(j), i), i + 1 + j, i + 1 + k]))
    triples = np.concatenate(found) if found else np.zeros((0, 3), dtype=np.intp)
    triples.flags.writeable = False
    return triples


def _summed(part: Floats, size: int, wanted: int, n_players: int) -> Floats:
    """Return for every subset of a size the sum over the larger subsets that contain it."""
    if size == wanted:
        return part
    total: Floats
    if size == 1:
        total = part.sum(axis=0)
    elif size == 2:
        off = part.copy()
        off[:, np.arange(n_players), np.arange(n_players)] = 0.0
        total = off.sum(axis=2).T if wanted == 1 else 0.5 * off.sum(axis=(1, 2))
    elif wanted == 0:
        total = part.sum(axis=1)
    else:
        total = np.stack([_of_triples(one, wanted, n_players) for one in part])
        total = total.T if wanted == 1 else total
    return total


def _of_triples(values: Floats, wanted: int, n_players: int) -> Floats:
    """Return the sums of triples that contain each player, or each pair of players."""
    i, j, k = all_triples(n_players).T
    if wanted == 1:
        singles = [np.bincount(one, values, minlength=n_players) for one in (i, j, k)]
        return np.asarray(np.sum(singles, axis=0), dtype=np.float64)
    places = [i * n_players + j, i * n_players + k, j * n_players + k]
    pairs = [np.bincount(place, values, minlength=n_players**2) for place in places]
    upper = np.asarray(np.sum(pairs, axis=0), dtype=np.float64).reshape(n_players, n_players)
    return upper + upper.T
