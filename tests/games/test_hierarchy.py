"""Owen, Winter and asymmetric values of product games."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import linkage

from pkex.games import Ordered
from pkex.games.hierarchy import Hierarchy
from pkex.games.hierarchy_input import from_linkage, parse_hierarchy
from pkex.games.rules import exact
from pkex.games.sources import GivenFactors
from tests._support.cases import assert_close
from tests._support.hierarchies import by_orders, exact_weight, random_tree

pytestmark = pytest.mark.native

RNG = np.random.default_rng(34)
TREES = [
    [[0, 1, 2], [3, 4], 5],
    [[[0, 1], 2], [[3, 4], 5]],
    [[0, 3], [1, [2, 5]], [4]],
    list(range(6)),
    [[0, 1, 2, 3, 4, 5]],
    [[j] for j in range(6)],
    Ordered([[0, 1], [2, 3, 4], 5]),
    [Ordered([0, 1, [2, 3]]), 4, 5],
    Ordered(list(range(6))),
]


def names(count):
    return [f"x{j}" for j in range(count)]


def solved(tree, present, absent):
    source = GivenFactors.of(present, absent, measure=tree)
    n_rows, n_points = source.shape
    weights = np.eye(n_points)
    return source.explain(0, slice(0, n_rows), slice(0, n_points), weights)


def product_game(p, a):
    return lambda present: np.prod([p[j] if j in present else a[j] for j in range(len(p))])


@pytest.mark.parametrize("general", [False, True], ids=["neutral", "general"])
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_values_are_means_over_admitted_orders(tree, general):
    present = RNG.uniform(-0.3 if general else 0.0, 1.0, size=(6, 1, 3))
    absent = RNG.uniform(-0.3, 1.0, size=(6, 3)) if general else None
    sums = solved(parse_hierarchy(tree, names(6)), present, absent)
    for point in range(3):
        a = np.ones(6) if absent is None else absent[:, point]
        p = present[:, 0, point]
        expected, _ = by_orders(tree)(product_game(p, a), 6)
        assert_close(sums.values[0, :, point], expected, 1e-14)
        assert sums.totals[0, point] == pytest.approx(p.prod(), rel=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_factors_of_any_size(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, range(6))
    present, absent = rng.normal(size=(2, 6, 1, 3)) * 2.0
    sums = solved(parse_hierarchy(tree, names(6)), present, absent)
    for point in range(3):
        p, a = present[:, 0, point], absent[:, 0, point]
        expected, _ = by_orders(tree)(product_game(p, a), 6)
        assert_close(sums.values[0, :, point], expected, 1e-14 * sums.magnitudes[0, point])


def test_small_changes_keep_their_digits():
    """Values are relative to the change of the player's own factor, not to 1."""
    u = 10.0 ** -np.arange(1.0, 9.0)
    tree = parse_hierarchy([[0, 1, [2, 3]], [4, 5, 6], 7], names(8))
    source = GivenFactors.of(np.ones((8, 1, 1)), measure=tree)
    present = type(source.present)((1.0 - u)[:, None, None], u[:, None, None])
    sums = source.game.explain_given(present, np.ones((1, 1)))
    whole = [1 - Fraction(number) for number in u]
    for j in range(8):
        weight = sums.values[0, j, 0] / -u[j]
        assert abs(weight - 1.0) < 0.2
        reference = -Fraction(u[j]) * exact_weight(tree, whole, j)
        assert abs(Fraction(sums.values[0, j, 0]) / reference - 1) < 1e-14


@pytest.mark.parametrize("count", [2, 3, 40])
def test_chains_and_wide_groups_add_up_and_meet_their_bound(count):
    chain: Any = list(range(2))
    for j in range(2, count):
        chain = [chain, j]
    for nested in (chain, [list(range(count))], [list(range(count - 1)), count - 1]):
        tree = parse_hierarchy(nested, names(count))
        present, absent = RNG.uniform(0.0, 1.0, size=(2, count, 1, 9))
        sums = solved(tree, present, absent)
        change = present.prod(axis=0) - absent.prod(axis=0)
        bound = (sums.rules[0].relative_error + 16 * count * 2.0**-53) * sums.magnitudes
        assert (np.abs(sums.values.sum(axis=1) - change) <= count * bound).all()


def test_a_flat_hierarchy_has_shapley_values():
    tree = parse_hierarchy(names(5), names(5))
    assert tree.is_flat
    assert tree.index == "SV"
    present, absent = RNG.uniform(size=(2, 5, 2, 3))
    expected = GivenFactors.of(present, absent).explain(0, slice(0, 2), slice(0, 3), np.eye(3))
    assert_close(solved(tree, present, absent).values, expected.values, 1e-15)


def test_linkage_matrices_become_binary_trees():
    matrix = linkage(RNG.normal(size=(6, 3)), "average")
    tree = from_linkage(matrix, names(6))
    assert tree.children == tuple((int(a), int(b)) for a, b in matrix[:, :2])
    assert tree.heights == tuple(matrix[:, 2])
    assert_array_equal(tree.linkage(), np.column_stack([matrix[:, :3], matrix[:, 3]]))
    assert parse_hierarchy(matrix, names(6)) == tree
    assert len(set(tree.names)) == 5


def test_levels():
    tree = parse_hierarchy({"a": ["x0", {"b": ["x1", "x2"]}], "c": ["x4"]}, names(5))
    assert tree.index == "Winter"
    assert tree.depth == 3
    assert [[*tree.members[v]] for v in tree.cut(1)] == [[0, 1, 2], [3], [4]]
    assert [[*tree.members[v]] for v in tree.cut(2)] == [[0], [1, 2], [3], [4]]
    assert [[*tree.members[v]] for v in tree.cut(3)] == [[0], [1], [2], [3], [4]]
    assert tree.above(1).is_flat
    assert tree.above(2).depth == 2
    assert tree.linkage() is None
    assert Hierarchy(**{k: as_tuples(v) for k, v in tree.data.items()}) == tree
    assert tree.renumbered([4, 3, 2, 1, 0]).members[5] == (2, 3)
    assert tree.renumbered([0, 1]) is None
    assert tree.restricted([1, 4]).children == ((0,), (2,), (1,), (3, 4))


def as_tuples(value):
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("hierarchy", "error", "message"),
    [
        ("cluster", ValueError, "'cluster'"),
        (5, TypeError, "hierarchy must be nested"),
        ({"a": ["x0", "y"]}, ValueError, "the feature 'y'"),
        ([["x0", 7]], ValueError, "numbered 0 to 2"),
        ([["x0"], ["x0", "x1"]], ValueError, "'x0' twice"),
        ([[]], ValueError, "without features"),
        ([[1.5]], TypeError, "holds 1.5"),
        ({"a": {"b": ["x0"]}, "c": {"b": ["x1"]}}, ValueError, "two groups are named 'b'"),
        ({"x2": ["x0", "x1"]}, ValueError, "named 'x2', as a feature"),
        (Ordered(["x0"]), ValueError, r"where \['x1', 'x2'\] come"),
        (np.zeros((3, 4)), ValueError, r"has the shape \(2, 4\)"),
        (np.array([[0, 1, 0.1, 2], [0, 2, 0.2, 3]]), ValueError, "merged twice"),
        (np.array([[0, 3, 0.1, 2], [1, 2, 0.2, 3]]), ValueError, "before it is made"),
    ],
    ids=str,
)
def test_bad_hierarchies(hierarchy, error, message):
    with pytest.raises(error, match=message):
        parse_hierarchy(hierarchy, names(3))


def test_ordered_takes_groups():
    with pytest.raises(TypeError, match="a list of features"):
        Ordered("x0")


def test_whoever_looks_for_nodes_gets_none():
    """A reduction that does not know hierarchies must not return a number."""
    tree = parse_hierarchy([[0, 1], 2], names(3))
    ladder = tree.ladder(3, None, general=True)
    assert np.isnan(ladder.rules[0].nodes).all()
    assert np.isnan(ladder.fallback.nodes).all()
    assert ladder.fallback.is_fallback
    assert not ladder.rules[0].is_fallback
    with pytest.raises(ValueError, match="3 features, the game 2"):
        tree.ladder(2, None, general=True)
    assert exact(3).size == 2
