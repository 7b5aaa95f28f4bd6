"""Interactions against enumeration: every index, every removal, every kernel, MMD and HSIC."""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from shapiq.game_theory.exact import ExactComputer

import pkex
from pkex.errors import AdditivityError
from pkex.games.functionals import INDICES
from pkex.games.interactions import Tally
from pkex.kernels import RBF, Custom, Linear, Polynomial
from tests._support import naive_interactions as slow
from tests._support.cases import KERNELS, alone, assert_close
from tests._support.models import MODELS
from tests._support.removal_games import LINEAR, magnitude, problem, spliced
from tests.readers.test_readers import explainer
from tests.results.test_attribution import solved

REMOVALS = ("neutral", "product-of-marginals", "interventional")
ORDERS = [  # only these depend on the largest order
    (index, order)
    for index in slow.INDICES
    for order in (2, 3)
    if order == 3 or INDICES[index].by_order
]
OFF = 1e-12  # of the largest worth: some thousands of roundings, also of the least squares


def game(expansion, row, background, removal, players):
    """Return the worths of all coalitions, from predictions or, without rows, from factors."""
    worths = []
    draws = np.array(list(product(range(len(background)), repeat=len(players))))
    rows = np.empty((len(draws), expansion.points.shape[1]))
    for i, columns in enumerate(players):
        rows[:, columns] = background[draws[:, i]][:, columns]
    for m in range(1 << len(players)):
        present = [j for j in range(len(players)) if m >> j & 1]
        if removal == "interventional":
            worths.append(expansion.predict(spliced(row, background, players, present)).mean(0))
        elif removal == "product-of-marginals":
            worths.append(expansion.predict(spliced(row, rows, players, present)).mean(0))
        else:
            worths.append(neutral(expansion, row, [c for j in present for c in players[j]]))
    return np.array(worths)


def neutral(expansion, row, columns):
    terms = expansion.kernel.terms(expansion.points.shape[1])
    worth = sum(
        term.coefficient * term.factors(row[None, :], expansion.points)[0][:, columns].prod(axis=1)
        for term in terms
    )
    return worth @ expansion.coefficients + expansion.intercept


def compare(found, row, v, order, atol):
    """Compare all subsets of one row, the table and single values."""
    for S, expected in slow.interactions(v, found.index, order).items():
        got = found.base_values[row] if S == () else found[S][row]
        assert_close(got, expected, atol)


@pytest.mark.parametrize(
    ("case", "removal"),
    [  # kernels with a linear part have no neutral removal
        *product(KERNELS, REMOVALS),
        *product(LINEAR, REMOVALS[1:]),
    ],
    ids=str,
)
def test_every_index_of_every_kernel(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3, n=5, n_rows=1)
    given = None if removal == "neutral" else background
    explain = pkex.Explainer(expansion, given, removal=removal, n_jobs=1)
    games = [game(expansion, row, background, removal, alone(4)) for row in rows]
    atol = OFF * magnitude(expansion, rows, background)
    everything = slow.subsets(4, 3, 1)
    for index, order in ORDERS:
        found = explain.interactions(rows, index=index, max_order=order)
        for row, v in enumerate(games):
            compare(found, row, v, order, atol)
            assert_close(found.predictions[row], v[-1], atol)
        if order == 3:
            chosen = explain.interactions(rows, index=index, max_order=3, subsets=everything)
            compare(chosen, 0, games[0], 3, atol)
        if index in slow.EFFICIENT:
            assert found.efficient
            assert found.additivity_error < atol


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("index", slow.INDICES)
def test_enumeration_agrees_with_shapiq(index, order):
    """shapiq's FSII and FBII are penalised least squares, right to nine digits or so."""
    v = np.random.default_rng(order).normal(size=32)

    def worths(coalitions):
        return np.array([v[slow.mask(np.flatnonzero(c))] for c in coalitions])

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", message="CHII is not defined for the empty set")
        theirs = ExactComputer(n_players=5, game=worths)(index, order)
    for S, ours in slow.interactions(v, index, order).items():
        if S:
            assert_close(theirs[S], ours, 1e-8 if index in ("FSII", "FBII") else 1e-13)


@pytest.mark.parametrize("removal", REMOVALS)
def test_groups_outputs_and_chosen_subsets_of_four(removal):
    rng = np.random.default_rng(5)
    points, rows, background = (rng.normal(size=(n, 6)) for n in (7, 3, 3))
    f = pkex.KernelExpansion(points, rng.normal(size=(7, 2)), RBF(1.5), [0.5, -1.0])
    players = ((0, 3), (1,), (2,), (4, 5))
    given = None if removal == "neutral" else background
    groups = {"a": [0, 3], "b": [4, 5]}
    explain = pkex.Explainer(f, given, removal=removal, groups=groups)
    for index in slow.INDICES:
        found = explain.interactions(rows, index=index, max_order=3)
        four = explain.interactions(rows, index=index, max_order=4, subsets=[("a", 1, 2, "b")])
        assert found.pairs.shape == (3, 4, 4, 2)
        for row, x in enumerate(rows):
            v = game(f, x, background, removal, players)
            for output in range(2):
                values = slow.interactions(v[:, output], index, 3)
                for S, expected in values.items():
                    got = found[S][row, output] if S else found.base_values[row, output]
                    assert_close(got, expected, 1e-11)
                if index != "k-SII":  # of which the oracle has three orders
                    top = slow.interactions(v[:, output], index, 4)[0, 1, 2, 3]
                    assert_close(four["a", 1, 2, "b"][row, output], top, 1e-11)


@pytest.mark.parametrize("removal", ["product-of-marginals", "neutral"])
@pytest.mark.parametrize("which", ["mmd", "hsic"])
@pytest.mark.parametrize("case", [KERNELS[0], KERNELS[8], KERNELS[-1]], ids=str)
def test_every_index_of_the_statistics(case, which, removal):
    of_groups = ((0,), (1, 3), (2, 5), (4,))
    for biased, groups, players in ((True, None, alone(4)), (False, [[3, 1], [2, 5]], of_groups)):
        d = sum(map(len, players))
        found, pair, statistic, size = solved(case, which, biased, removal, groups, players, d=d)
        v = statistic(pair)
        for index, order in ORDERS:
            got = found.interactions(index, order)
            compare(got, 0, v - v[0], order, OFF * size)
            assert got.explained == found.statistic_name
            assert_close(got.predictions[0], found.statistic, OFF * size)


def test_blocks_of_a_statistic_are_averaged():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] * X[:, 1]
    found = pkex.hsic(X, y, block_size=20, random_state=0)
    pairs = found.interactions("Moebius")
    assert_close(pairs["x0", "x1"][0], found.component([0, 1]), 1e-14)
    assert_close(found.interactions().predictions[0], found.statistic, 1e-14)


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_shap_interaction_values_of_every_model_sum_to_its_shapley_values(case):
    explain, rows = explainer(case), case.rows[:2]
    with case.quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", pkex.PrecisionWarning)
        values, expected = explain.shap_interaction_values(rows), explain(rows)
        found = explain.interactions(rows)
    size = max(1.0, float(np.abs(expected.values).max()), float(np.max(case.size())))
    assert_close(values.sum(axis=2), expected.values, 1e-9 * size)
    assert_close(values, np.swapaxes(values, 1, 2), 0.0)
    assert_close(values[:, 0, 1:], 0.5 * found.pairs[:, 0, 1:], 1e-12 * size)
    assert_close(found.predictions, expected.predictions, 1e-9 * size)


def test_factors_that_vanish_do_no_harm():
    """All players at once divide; chosen subsets do not."""
    rng = np.random.default_rng(3)
    points, rows, background = (rng.integers(0, 3, (n, 12)).astype(float) for n in (20, 2, 4))
    kernels = {
        "equal": Custom(lambda x, z: np.where(x == z, 1.0, 0.0)),
        "signed": Custom(lambda x, z: x * z - 1.0),
        "small": Custom(lambda x, z: np.where(x == z, 1.0, 1e-200)),
    }
    for kernel in kernels.values():
        f = pkex.KernelExpansion(points, rng.normal(size=20), kernel)
        for removal in REMOVALS:
            given = None if removal == "neutral" else background
            explain = pkex.Explainer(f, given, removal=removal)
            for index in slow.INDICES:
                found = explain.interactions(rows, index=index, max_order=3)
                some = [(0,), (3, 7), (1, 2), (2, 5, 11)]
                chosen = explain.interactions(rows, index=index, max_order=3, subsets=some)
                size = max(1.0, float(np.abs(found.main).max()), float(np.abs(found.pairs).max()))
                for S in some:
                    assert_close(found[S], chosen[S], 1e-12 * size)


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(4)
    f = pkex.KernelExpansion(rng.normal(size=(300, 40)), rng.normal(size=300), RBF(6.0))
    rows, background = rng.normal(size=(7, 40)), rng.normal(size=(5, 40))
    one, two = (
        pkex.Explainer(f, background, n_jobs=n_jobs).interactions(rows) for n_jobs in (1, 2)
    )
    assert (one.pairs == two.pairs).all()
    assert (one.main == two.main).all()


def test_a_tolerance_takes_fewer_nodes_and_holds():
    rng = np.random.default_rng(6)
    f = pkex.KernelExpansion(rng.normal(size=(30, 20)), rng.normal(size=30), RBF(2.0))
    rows = rng.normal(size=(2, 20))
    for removal in ("neutral", "product-of-marginals"):
        exact = pkex.Explainer(f, removal=removal).interactions(rows, index="SII")
        rough = pkex.Explainer(f, removal=removal, tol=1e-3).interactions(rows, index="SII")
        assert rough.rules[0].size < exact.rules[0].size
        assert (np.abs(rough.pairs - exact.pairs).max(axis=(1, 2)) <= rough.error_bound).all()


def test_values_that_do_not_add_up_raise(monkeypatch):
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(5, 4)), rng.normal(size=5), RBF())
    explain, rows = pkex.Explainer(f), rng.normal(size=(2, 4))
    add = Tally.add_array

    def lie(self, name, sums):
        add(self, name, 1.001 * sums if name[1] == 2 else sums)

    monkeypatch.setattr(Tally, "add_array", lie)
    for index in slow.EFFICIENT:
        with pytest.raises(AdditivityError, match=f"the {index} of row 0"):
            explain.interactions(rows, index=index)
    explain.interactions(rows, index="SII")  # which has no such identity


def test_single_player_and_constant_models():
    f = pkex.KernelExpansion([[1.0], [2.0]], [1.0, 0.5], RBF())
    found = pkex.Explainer(f).interactions([[0.0]])
    assert found.pairs.shape == (1, 1, 1)
    assert_close(found.main, pkex.Explainer(f)([[0.0]]).values, 1e-15)
    constant = pkex.KernelExpansion([[1.0, 2.0]], [0.0], RBF(), 3.0)
    assert not pkex.Explainer(constant).interactions([[0.0, 1.0]]).pairs.any()
    linear = pkex.KernelExpansion([[1.0, 2.0]], [1.5], Linear())
    found = pkex.Explainer(linear, [[0.0, 1.0]]).interactions([[2.0, 3.0]], max_order=3)
    assert not found.pairs.any()
    assert_close(found.main, [[3.0, 6.0]], 1e-14)
    assert found.triples.shape == (1, 0)


def test_the_index_of_the_explainer_sets_the_default():
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(5, 3)), rng.normal(size=5), RBF())
    rows = rng.normal(size=(2, 3))
    assert pkex.Explainer(f).interactions(rows).index == "k-SII"
    banzhaf = pkex.Explainer(f, index="BV")
    assert banzhaf.interactions(rows).index == "BII"
    assert_close(banzhaf.interactions(rows).main, banzhaf(rows).values, 1e-14)
    with pytest.raises(ValueError, match="split Shapley values"):
        banzhaf.shap_interaction_values(rows)
    with pytest.raises(ValueError, match="choose one"):
        pkex.Explainer(f, index=pkex.games.BetaShapley(2, 1)).interactions(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": "sii"}, "index must be one of 'SII', 'k-SII'"),
        ({"index": None, "max_order": 4}, "max_order must be 2 or 3, got 4; larger subsets"),
        ({"max_order": "2"}, "max_order must be 2 or 3, got '2'"),
        ({"subsets": "x0"}, "subsets must be a list of subsets"),
        ({"subsets": []}, "subsets names no subset"),
        ({"subsets": [("x0", "x9")]}, "no feature is named 'x9'"),
        ({"subsets": [("x0", 0)]}, "chosen more than once|each feature once"),
        ({"subsets": [(0, 1, 2)]}, "k-SII of order 2 has no value for 3 features"),
        ({"subsets": [(0,)], "max_order": 9}, "at most 8 features"),
    ],
)
def test_what_is_refused(options, message):
    f = pkex.KernelExpansion(np.eye(3), [1.0, 2.0, 3.0], RBF())
    with pytest.raises((ValueError, TypeError, KeyError, IndexError), match=message):
        pkex.Explainer(f).interactions(np.eye(3), **options)


def test_tables_that_do_not_fit_are_refused_with_their_size():
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(2, 1000)), [1.0, -1.0], RBF(30.0))
    rows = np.zeros((1, 1000))
    explain = pkex.Explainer(f)
    with pytest.raises(ValueError, match=r"triples of 1000 features in 1 row would take 1\.2 GiB"):
        explain.interactions(rows, max_order=3)
    with pytest.raises(
        ValueError, match=r"pairs of 1000 features in 1100 rows would take 8\.2 GiB"
    ):
        explain.interactions(np.zeros((1100, 1000)))
    chosen = explain.interactions(rows, max_order=3, subsets=[(0, 1, 999)])
    assert chosen.values.shape == (1, 1)


@pytest.mark.parametrize("removal", REMOVALS[1:])
def test_powers_of_sums_are_multiplied_out(removal):
    rng = np.random.default_rng(7)
    points, rows, background = (rng.normal(size=(n, 3)) for n in (4, 2, 3))
    f = pkex.KernelExpansion(points, rng.normal(size=4), Polynomial(degree=3, gamma=0.5, coef0=1.0))
    explain = pkex.Explainer(f, background, removal=removal)
    for index in ("k-SII", "STII", "BII"):
        found = explain.interactions(rows, index=index)
        for row, x in enumerate(rows):
            compare(found, row, game(f, x, background, removal, alone(3)), 2, 1e-12)


def test_an_index_is_pickled_by_name():
    for index in INDICES.values():
        assert pickle.loads(pickle.dumps(index)) is index


def test_every_index_is_known_to_the_oracle():
    assert set(INDICES) == set(slow.INDICES)
