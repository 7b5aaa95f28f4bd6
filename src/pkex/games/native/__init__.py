"""The hot loop in C++: the `Game` of `pkex.games.numpy_backend`, as fast as looking at factors.

What does not depend on the data is packed once, into a *program* for the compiled module: one entry
per column factor, in the order of evaluation, with its kind and its parameters in the form that the
formula uses; and the nodes, weights and limits of the ladder. A call then hands over the arrays.

Kernels are known by their exact type. Any other kernel, and one whose parameters are so extreme
that a reciprocal would lose digits, is evaluated in Python by its own `deficits` and `factors` and
handed over as a block of numbers.

The compiled module chooses among the instruction sets that the processor has. The environment
variable ``PKEX_ISA`` (v2, v3 or v4, read when it is first used) keeps it to a lower one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

import pkex.games.native._kernel as _kernel
from pkex._util.lazy import lazy
from pkex._util.types import Floats, Indices, Players
from pkex.games.factors import Absent, Factors, evaluate_both_forms, evaluate_columns, mean_factors
from pkex.games.hierarchy import Hierarchy
from pkex.games.native.ratios import NativeRatios
from pkex.games.protocols import Added, BlockSums
from pkex.games.rules import Ladder, Rule, exact
from pkex.kernels import RBF, Categorical, Cauchy, Chi2, Laplacian, Periodic, ProductMatern
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.messages import not_finite
from pkex.kernels.normal_form import Term

__all__ = [
    "NativeGame",
    "add_form",
    "config",
    "contract_looked_up",
    "integrate_cells",
    "integrate_sparse",
    "measure_cells",
    "measure_distances",
    "multiply_cells",
    "sum_blocks",
    "sum_chain",
    "sum_sizes",
    "sum_variances",
]

Coded = tuple[str, Any, Any]  # a kind and its two parameters, numbers or arrays

_KINDS = _kernel.kinds()
_NOT_FINITE, _NEEDS_FALLBACK = 1, 2
_NOTHING = np.empty(0)
# Of a mixture, pairs are left out whose coalitions are all worth less than this times the slack of
# the term. Their magnitude is 2^52 times their worth, over the slack, so that bounds cover it.
_NEGLIGIBLE = 2.0**-56
_MISSING = (None, None, None)

config = _kernel.config
"""Return the compiler, the instruction set in use, its number of lanes, and those there are."""
contract_looked_up, sum_sizes = _kernel.contract_looked_up, _kernel.sum_sizes
"""The loops of `pkex.games.lookup`, for contiguous arrays."""
add_form = _kernel.add_form
"""The loop of `pkex.games.forms`."""
measure_distances = _kernel.measure_distances
"""The loop of `pkex.games.distances`."""
measure_cells, integrate_cells = _kernel.measure_cells, _kernel.integrate_cells
multiply_cells = _kernel.multiply_cells
"""The loops of `pkex.games.corners`."""
sum_blocks, sum_chain = _kernel.sum_blocks, _kernel.sum_chain
"""The loops of conditional games."""
sum_variances = _kernel.sum_variances
"""The loop of `pkex.games.variance_tiles`."""
integrate_sparse = _kernel.integrate_sparse
"""The loop of `pkex.games.sparse_integrals`."""


def _precise(value: object) -> Any:
    return np.asarray(value, dtype=np.longdouble)


def _matern(leaf: ProductMatern) -> Coded:
    if leaf.nu == 0.5:
        return "laplacian", 1.0 / _precise(leaf.length_scale), 0.0
    root = np.sqrt(_precise(2.0 * leaf.nu))
    return f"matern-{leaf.nu}", root / _precise(leaf.length_scale), 0.0


_CODES: dict[type[ColumnKernel], Callable[[Any], Coded]] = {
    RBF: lambda leaf: ("rbf", 0.5 / _precise(leaf.length_scale) ** 2, 0.0),
    Laplacian: lambda leaf: ("laplacian", 1.0 / _precise(leaf.length_scale), 0.0),
    Cauchy: lambda leaf: ("cauchy", 1.0 / _precise(leaf.length_scale) ** 2, 0.0),
    ProductMatern: _matern,
    Chi2: lambda leaf: ("chi2", leaf.gamma, 0.0),
    Periodic: lambda leaf: ("periodic", 2.0 / _precise(leaf.length_scale) ** 2, leaf.periodicity),
    Categorical: lambda leaf: ("categorical", 1.0 - np.asarray(leaf.mismatch), leaf.mismatch),
}


def _code(leaf: ColumnKernel) -> Coded:
    """Return what the compiled module needs to evaluate `leaf`, or that it is given."""
    if type(leaf) not in _CODES:
        return "given", 0.0, 0.0
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        kind, a, b = _CODES[type(leaf)](leaf)
        a = np.asarray(a, dtype=np.float64)
    if np.all((a >= 2.0**-1000) & (a <= 2.0**1000)):
        return kind, a, b
    return "given", 0.0, 0.0


@dataclass(frozen=True)
class NativeGame:
    """The games of one term, explained by the compiled hot loop: see `pkex.games.protocols.Game`.

    Parameters
    ----------
    term : Term
        The product kernel; its coefficient is left to the caller.
    players : tuple of tuples of int
        The columns of each player; every column belongs to exactly one.
    ladder : Ladder
        The rules for this number of players.
    """

    term: Term
    players: Players
    ladder: Ladder
    entries: int = field(init=False, compare=False, repr=False)
    """Column factors of a block that suit it: few where Python evaluates some of them."""
    _coded: tuple[tuple[ColumnKernel, Coded], ...] = field(init=False, compare=False, repr=False)
    _given_leaves: tuple[ColumnKernel, ...] = field(init=False, compare=False, repr=False)
    _program: _kernel.Game = field(init=False, compare=False, repr=False)
    ratios = NativeRatios()

    def __post_init__(self) -> None:
        coded = tuple((leaf, _code(leaf)) for leaf in self.term.leaves)
        given = tuple(leaf for leaf, (kind, _, _) in coded if kind == "given")
        object.__setattr__(self, "_coded", coded)
        object.__setattr__(self, "_given_leaves", given)
        object.__setattr__(self, "entries", 2**19 if given else 2**22)
        object.__setattr__(self, "_program", self._pack())

    def __reduce__(self) -> tuple[Any, ...]:  # without the compiled tables, which are made again
        return type(self), (self.term, self.players, self.ladder)

    def explain(
        self, x: Floats, z: Floats, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain the pair games of the rows `x` and the points `z`."""
        given = self._given(x, z, absent is not None)
        return self._explain(x, z, weights, *self._missing(absent), *given)

    def explain_against(
        self, x: Floats, z: Floats, weights: Floats, rows: Floats, shares: Floats
    ) -> BlockSums:
        """Explain with each of `rows` in place of absent players."""
        given, others = self._given(x, z, True), self._given(rows, z, True)
        return self._explain(x, z, weights, *_MISSING, *given, rows, shares, *others)

    def explain_given(
        self, present: Factors, weights: Floats, absent: Factors | None = None
    ) -> BlockSums:
        """Explain pairs whose factors are given, in a game whose kernel is evaluated in Python.

        The compiled module takes absent factors that are the same for all rows, of shape (players,
        points); with others the rows are explained one by one.
        """
        n_rows, n_points = present.values.shape[1:]
        x, z = (np.zeros((count, self.term.n_columns)) for count in (n_rows, n_points))
        values, deficits = (np.ascontiguousarray(part) for part in present)
        if absent is None:
            return self._explain(x, z, weights, *_MISSING, deficits)
        if absent.values.ndim == 2:
            return self._explain(x, z, weights, *absent, None, deficits, values)
        blocks = []
        for row in range(n_rows):
            at = slice(row, row + 1)
            local = weights if weights.ndim == 2 else weights[at]
            without = (part[:, row] for part in absent)
            here = (np.ascontiguousarray(part[:, at]) for part in (deficits, values))
            blocks.append(self._explain(x[at], z, local, *without, None, *here))
        sums, totals, sizes = (np.concatenate([b[i] for b in blocks]) for i in range(3))
        rules = tuple({rule for block in blocks for rule in block.rules})
        return BlockSums(sums, totals, sizes, rules)

    def _explain(self, x: Floats, z: Floats, weights: Floats, *others: Floats | None) -> BlockSums:
        n_rows, n_sets = len(x), weights.shape[-1]
        values = np.empty((n_rows, len(self.players), n_sets))
        totals, magnitudes = np.empty((n_rows, n_sets)), np.empty((n_rows, n_sets))
        arrays = (x, z, weights, values, totals, magnitudes)
        program = self.__dict__.get("_full_program", self._program)
        status, used = program.explain(*arrays, *others)
        if status == _NEEDS_FALLBACK:
            status, used = self._full_program.explain(*arrays, *others)
        if status == _NOT_FINITE:
            raise not_finite(self.term)
        return BlockSums(values, totals, magnitudes, self._rules(used))

    def add_pairs(
        self,
        x: Floats,
        z: Floats,
        values: Floats,
        absent: Factors | None = None,
        *,
        integrals: Indices | None = None,
    ) -> Added:
        """Add the values of every pair to `values`, or the integrals of some players."""
        if values.size == 0:
            return Added((), 0.0)
        program = self._adding(absent)
        given, given_values = self._given(x, z, absent is not None)
        scale = self.term.coefficient
        status, used, largest = program.add_pairs(
            x, z, scale, values, *self._missing(absent), given, given_values, integrals
        )
        if status == _NOT_FINITE:
            raise not_finite(self.term)
        return Added(self._rules(used), largest)

    def add_pairs_against(self, x: Floats, z: Floats, values: Floats, absent: Factors) -> Added:
        """Do as `add_pairs` for several sets of absent factors, one after the other."""
        if values.size == 0:
            return Added((), 0.0)
        program, given = self._adding(absent), self._given(x, z, True)
        scale = self.term.coefficient
        status, used, largest = program.add_pairs_against(x, z, scale, values, *absent, *given)
        if status == _NOT_FINITE:
            raise not_finite(self.term)
        return Added(self._rules(used), largest)

    def _adding(self, absent: Factors | None) -> _kernel.Game:
        """Return the program that adds to what is there, so that there is no second try.

        Only given and absent factors leave the range.
        """
        full = bool(self._given_leaves)
        if absent is not None and not full:
            full = not (absent.values.min() >= self.ladder.lower and absent.values.max() <= 1.0)
        return self._full_program if full else self._program

    def factors(self, x: Floats, z: Floats) -> Factors:
        """Return the players' factors in both forms."""
        values, deficits = np.empty((2, len(self.players), len(x), len(z)))
        self._program.factors(x, z, values, deficits, None, *self._given(x, z, True))
        return Factors(values, deficits)

    def mean_factors(self, x: Floats, z: Floats, shares: Floats) -> Factors:
        """Return the weighted means of the factors over the rows of `x`."""

        def add(rows: slice, values: Floats, deficits: Floats) -> None:
            given = self._given(x[rows], z, True)
            self._program.factors(x[rows], z, values, deficits, shares[rows], *given)

        step = max(1, self.entries // max(1, self.term.n_columns * len(z)))
        return mean_factors(add, len(x), step, (len(self.players), len(z)))

    def add_factors(self, x: Floats, z: Floats, values: Floats) -> None:
        """Add the players' factors of every pair to `values`."""
        if values.size:
            given = self._given(x, z)[0]
            self._program.add_factors(x, z, self.term.coefficient, values, given)

    def evaluate(self, x: Floats, z: Floats) -> Floats:
        """Only evaluate the factors: the sums of all deficits of each row, shape (rows,).

        For benchmarks: no explanation can be faster than this.
        """
        sums = np.empty(len(x))
        self._program.evaluate(x, z, sums, self._given(x, z)[0])
        return sums

    def _given(
        self, x: Floats, z: Floats, general: bool = False
    ) -> tuple[Floats | None, Floats | None]:
        """Return the deficits evaluated in Python, and in the general game the factors as well."""
        leaves = self._given_leaves
        if not leaves:
            return None, None
        if not general:
            return np.concatenate(
                [evaluate_columns(leaf, leaf.deficits, x, z) for leaf in leaves]
            ), None
        both = [evaluate_both_forms(leaf, x, z) for leaf in leaves]
        values, deficits = (np.concatenate(blocks) for blocks in zip(*both, strict=True))
        return deficits, values

    def _missing(
        self, absent: Factors | None
    ) -> tuple[Floats | None, Floats | None, Floats | None]:
        """Return the factors of absent players in both forms, and their exponents if of use."""
        if absent is None:
            return _MISSING
        if isinstance(absent, Absent) and not self._given_leaves:
            return *absent, absent.tiles
        return *absent, None

    def _rules(self, used: list[int]) -> tuple[Rule, ...]:
        rules = self.ladder.rules
        if used and used[-1] == len(rules):
            rules = (*rules, self.ladder.fallback)
        return tuple([rules[step] for step in used])

    @lazy
    def _full_program(self) -> _kernel.Game:
        """The program with the rule for factors out of range, which may be expensive to make."""
        return self._pack(self.ladder.fallback)

    def _pack(self, fallback: Rule | None = None, isa: str = "") -> _kernel.Game:
        owner = {column: i for i, columns in enumerate(self.players) for column in columns}
        kinds: list[int] = []
        places: list[int] = []
        owners: list[int] = []
        a: list[Floats] = [_NOTHING]
        b: list[Floats] = [_NOTHING]
        n_given = 0
        for leaf, (kind, first, second) in self._coded:
            covered = range(self.term.n_columns) if leaf.columns is None else leaf.columns
            width = len(covered)
            kinds += [_KINDS.index(kind)] * width
            owners += [owner[column] for column in covered]
            a.append(np.broadcast_to(first, width))
            b.append(np.broadcast_to(second, width))
            if kind == "given":
                covered = range(n_given, n_given + width)
                n_given += width
            places += covered
        game = _kernel.Game(
            kinds=np.array(kinds, dtype=np.int64),
            columns=np.array(places, dtype=np.int64),
            players=np.array(owners, dtype=np.int64),
            a=np.concatenate(a),
            b=np.concatenate(b),
            n_columns=self.term.n_columns,
            n_given=n_given,
            n_players=len(self.players),
            **_packed_rules(self.ladder),
            fallback_nodes=fallback.nodes if fallback else _NOTHING,
            fallback_weights=fallback.weights if fallback else _NOTHING,
            negligible=_NEGLIGIBLE * self.term.slack if self.term.error else 0.0,
            isa=isa,
        )
        if self.ladder.tree is not None:
            _kernel.plant(game, **_packed_tree(self.ladder.tree))
        return game


@lru_cache(maxsize=64)
def _packed_rules(ladder: Ladder) -> dict[str, Any]:
    """Return the rules one after the other; ladders are few and shared by many games."""
    rules = ladder.rules
    return {
        "sizes": np.array([rule.size for rule in rules], dtype=np.int64),
        "limits": np.asarray(ladder.limits, dtype=np.float64),
        "any_factors": np.array([rule.any_factors for rule in rules], dtype=np.int64),
        "nodes": np.concatenate([rule.nodes for rule in rules]),
        "weights": np.concatenate([rule.weights for rule in rules]),
        "lower": ladder.lower,
    }


@lru_cache(maxsize=16)
def _packed_tree(tree: Hierarchy) -> dict[str, Any]:
    """Return the groups of a hierarchy, one after the other, and the rules that they need."""
    both = zip(tree.children, tree.ordered, strict=True)
    integrated = [len(members) > 2 and not ordered for members, ordered in both]
    groups = list(zip(tree.children, integrated, strict=True))
    rules = [exact(len(members)) if wanted else None for members, wanted in groups]
    chosen = [rule for rule in rules if rule is not None]
    return {
        "members": np.array([m for members in tree.children for m in members], dtype=np.int64),
        "sizes": np.array([len(members) for members in tree.children], dtype=np.int64),
        "ordered": np.array(tree.ordered, dtype=np.int64),
        "rule_sizes": np.array([0 if rule is None else rule.size for rule in rules], np.int64),
        "nodes": np.concatenate([_NOTHING, *(rule.nodes for rule in chosen)]),
        "weights": np.concatenate([_NOTHING, *(rule.weights for rule in chosen)]),
    }
