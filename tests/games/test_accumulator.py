"""Blocks that are added up, what of it is sent to workers, and the one check of all sums."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from pkex.errors import AdditivityError
from pkex.games.accumulator import Accumulator
from pkex.games.covariance import PriorCovariance
from pkex.games.functionals import INDICES
from pkex.games.interactions import Recipe, Tally
from pkex.games.interactions.reductions import InteractionsByRow
from pkex.games.plan import Plan
from pkex.games.points import Background, WeightedPoints
from pkex.games.reductions import ByRow
from pkex.games.rules import exact
from pkex.games.sums import check_additivity, sort_rules
from pkex.kernels import RBF


def test_blocks_are_added_in_their_order():
    blocks = np.random.default_rng(0).normal(size=(9, 2, 3)) * 10.0 ** np.arange(9)[:, None, None]
    sums, total = Accumulator(values=(4, 3)), np.zeros((4, 3))
    for number, block in enumerate(blocks):
        rows = slice(number % 3, number % 3 + 2)
        sums.add({"values": block}, at=rows, rules=[exact(2 + number % 2)], largest=float(number))
        total[rows] += block
    assert (sums["values"] == total).all()  # to the last digit
    assert (sums.rules, sums.largest, sums.n_blocks) == ({exact(2), exact(3)}, 8.0, 9)


def test_rules_have_an_order_that_does_not_depend_on_who_came_first():
    """Two rules of one size and error, and copies of them from another process."""
    ellipse = replace(exact(1), family="ellipse gauss-legendre")
    rules = [exact(1), ellipse, exact(4), *pickle.loads(pickle.dumps([ellipse, exact(1)]))]
    sorted_rules = [sort_rules(some) for some in itertools.permutations(rules)]
    assert {tuple((rule.family, rule.size) for rule in some) for some in sorted_rules} == {
        (("gauss-legendre", 2), ("ellipse gauss-legendre", 1), ("gauss-legendre", 1))
    }


def test_a_first_block_may_be_read_only():
    """As arrays are that come from another process, by Ray for one."""
    block = np.ones(2)
    block.flags.writeable = False
    sums = Accumulator()
    sums.add({"values": block})
    sums.add({"values": block})
    assert sums["values"].tolist() == [2.0, 2.0]
    assert block.tolist() == [1.0, 1.0]


def test_one_without_a_shape_takes_that_of_the_first_block():
    sums, other = Accumulator(), Accumulator()
    sums.add({("any", 1): np.ones(2)})
    other.add({("any", 1): np.full(2, 2.0), "new": np.ones(1)}, rules=[exact(4)], largest=3.0)
    sums.merge(other)
    assert sums.arrays[("any", 1)].tolist() == [3.0, 3.0]
    assert sums["new"].tolist() == [1.0]
    assert (sums.rules, sums.largest, sums.n_blocks) == ({exact(4)}, 3.0, 2)


def reductions(n_rows):
    """Return reductions whose results have many numbers for each row."""
    rng, d = np.random.default_rng(1), 20
    x, z, weights = rng.normal(size=(n_rows, d)), rng.normal(size=(3, d)), np.ones((3, 1))
    players = tuple((j,) for j in range(d))
    plan = Plan.of(RBF(2.0).terms(d), players, None, general=True)
    points = WeightedPoints(plan, z, weights, Background(z[:2], np.full(2, 0.5)))
    source = points.source(plan.games(), x)
    recipe = Recipe(INDICES["SII"], 2, d, general=True)
    return [
        ByRow(plan, source, weights),
        InteractionsByRow(recipe, source, weights, 1.0),
        PriorCovariance(points, x, full=True),
    ]


def test_a_worker_gets_no_sums():
    for reduction, other in zip(reductions(50), reductions(50), strict=True):
        room = sum(array.nbytes for array in reduction.sums.arrays.values())
        the_rest = pickle.dumps({**reduction.__dict__, "sums": None, "also": None})
        sent = pickle.dumps(reduction)
        assert room > 50 * 20 * 8
        assert len(sent) < len(the_rest) + 500  # the names of the classes
        worker = pickle.loads(sent)
        for task in other.tasks():
            other.add(worker.run(task))
        for task in reduction.tasks():
            reduction.add(reduction.run(task))
        for name, array in reduction.sums.arrays.items():
            assert (other.sums[name] == array).all()


def test_what_a_worker_sends_back_has_its_sums():
    tally = Tally(Recipe(INDICES["SII"], 2, 3, general=False), 1)
    tally.add({(None, 1): np.arange(3.0)[:, None], "totals": np.ones(1)}, largest=7.0)
    again = pickle.loads(pickle.dumps(tally))
    assert (again.values(1) == tally.values(1)).all()
    assert (again["totals"].item(), again.largest, again.n_blocks) == (1.0, 7.0, 1)


def test_the_check_tells_the_largest_residual_and_refuses_the_first_that_is_too_large():
    explained, tolerance = np.array([[1.0, 2.0], [3.0, 4.0]]), np.full((2, 2), 1e-3)
    residual = np.array([[0.0, -5e-4], [1e-4, 0.0]])
    assert check_additivity(explained, residual, tolerance, "values", "it") == 5e-4
    assert (
        check_additivity(explained[:1, :1], residual[:1, 1:], tolerance[:1, :1], "v", "w") == 5e-4
    )
    sentence = "the values of row 1, output 0 sum to 3, but the whole is 2.5; rounding explains"
    for wrong in (0.5, np.nan):
        residual[1, 0] = wrong
        expected = sentence if wrong == 0.5 else "the whole is nan"
        with pytest.raises(AdditivityError, match=expected):
            check_additivity(explained, residual, tolerance, "values", "the whole")
    tolerance[1, 0] = np.inf
    with pytest.raises(ValueError, match="overflow in row 1"):
        check_additivity(explained, residual, tolerance, "values", "the whole")
