"""Tests of single columns: what is permuted, what is counted, and what a user concludes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pkex
from pkex.games.backend import game_class
from pkex.games.plan import Plan
from pkex.kernels import RBF, Categorical, Laplacian
from pkex.statistics import block_mean, quadratic_forms
from pkex.statistics.column_test import forms_of, weighted_integrals
from pkex.statistics.pair_weights import MMDWeights
from pkex.statistics.quadratic_forms import HalfMatrix, QuadraticForm, p_value
from pkex.statistics.target_weights import HSICWeights
from tests._support.cases import KERNELS, assert_close, pair_game, pair_source, sample, scales
from tests._support.unchecked import unchecked

PLAYERS = ((0,), (1, 4), (2,), (3,))
GROUPS = {"a": [1, 4]}


def problem(case, which, n=11):
    """Return data, a kernel, and weights of a statistic with the attribution that has them."""
    rng = np.random.default_rng([n, len(case.name)])
    X, kernel = sample(rng, n, 5), case.build(scales(rng, 5))
    if which == "mmd":
        cut = n // 2
        made: Any = MMDWeights(cut, n - cut, with_self=False)

        def attribute(data):
            return pkex.mmd(data[:cut], data[cut:], kernel=kernel, groups=GROUPS)
    else:
        y = X[:, 0] + X[:, 3]
        made = HSICWeights(y[:, None], RBF(1.0), with_self=False)

        def attribute(data):
            return pkex.hsic(data, y, kernel=kernel, target_kernel=RBF(1.0), groups=GROUPS)

    return X, kernel, made, attribute


@pytest.mark.parametrize("which", ["mmd", "hsic"])
@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_a_form_is_the_share_of_a_permuted_column(case, which):
    """With the column really moved in the data, and the attribution made anew."""
    X, kernel, made, attribute = problem(case, which)
    plan = Plan.of(kernel.terms(5), PLAYERS, apart=False, general=True)
    source = pair_source(plan, X)
    size = pair_game(kernel, X)[1]
    orders = np.array([np.arange(11), *(np.random.default_rng(s).permutation(11) for s in (1, 2))])
    for player, integrals in enumerate(weighted_integrals(source, made, range(4), n_jobs=2)):
        forms = forms_of(source, player, integrals)
        values = sum((form.values(orders) for form in forms), start=np.zeros(3))
        expected = []
        for order in orders:
            moved = X.copy()
            moved[:, PLAYERS[player]] = X[order][:, PLAYERS[player]]
            expected.append(attribute(moved).values[player])
        # up to what no permutation changes, the part of the mean factors
        assert_close(np.diff(values), np.diff(expected), 1e-9 * size)
        if len(case.build([1.0] * 5).terms(5)) == 1 and forms:
            constant = source.absent.single(0).values[player] * forms[0].weights.sum()
            assert_close(values[0] - constant, expected[0], 1e-9 * size)


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplacian(1.0), Categorical(0.5)], ids=str)
@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_low_rank_and_looking_up_agree(monkeypatch, kernel, n):
    monkeypatch.setattr(quadratic_forms, "STRIP", 90)
    rng = np.random.default_rng(n)
    x = rng.integers(4, size=(n, 1)).astype(float) if n == 40 else rng.normal(size=(n, 1))
    weights = rng.normal(size=(n, n))
    weights += weights.T
    matrix = kernel(x)
    half = HalfMatrix.of(weights)
    assert_close(half.norm(), np.linalg.norm(weights), 1e-13 * n)
    form = QuadraticForm.of(half, matrix)
    assert (form.root is None) == (n == 300 and kernel != RBF(1.0))
    looked_up = QuadraticForm(half, matrix, None, 0.0)
    orders = np.array([rng.permutation(n) for _ in range(5)])
    expected = [(weights * matrix[np.ix_(order, order)]).sum() for order in orders]
    assert_close(looked_up.values(orders), expected, 1e-13 * n * n)
    assert_close(form.values(orders), expected, form.error)


def test_a_matrix_that_is_not_definite_is_looked_up():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 30))
    matrix += matrix.T
    assert QuadraticForm.of(HalfMatrix.of(np.ones((30, 30))), matrix).root is None


def test_p_values_count_permutations_and_stop_early():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(30, 1)), rng.normal(size=(30, 30))
    form = QuadraticForm.of(HalfMatrix.of(weights + weights.T), RBF(1.0)(x))
    observed = form.values(np.arange(30)[None])[0]
    random = np.random.default_rng(7)
    null = np.array([form.values(random.permutation(30)[None])[0] for _ in range(500)])
    reached = null >= observed - form.error
    assert p_value([[form]], 19, np.random.default_rng(7)) == (reached[:19].sum() + 1) / 20
    stop = int(np.flatnonzero(np.cumsum(reached) == 20)[0]) + 1
    assert stop < 400
    assert p_value([[form]], 500, np.random.default_rng(7)) == 20 / stop
    # two blocks have permutations of their own, and are added up
    random = np.random.default_rng(7)
    both = p_value([[form], [form]], 15, np.random.default_rng(7))
    one, two = (np.array([random.permutation(30) for _ in range(15)]) for _ in range(2))
    sums = form.values(one) + form.values(two)
    assert both == (np.sum(sums >= 2.0 * (observed - form.error)) + 1) / 16
    assert p_value([[]], 9, np.random.default_rng(0)) == 1.0


def test_the_share_of_a_column_that_changed_a_little_is_found():
    """Beside two that changed much, and two that did not change (issue of the paper's game)."""
    rng = np.random.default_rng(0)
    names = ("a", "b", "c", "d", "e")
    X, Z = rng.normal(size=(2, 1000, 5))
    Z += np.array([1.5, 1.5, 0.3, 0.0, 0.0])
    found = pkex.mmd(X, Z, n_permutations=199, random_state=0)
    assert found.values[2] > 0.0
    assert found.p_values[2] <= 0.01
    assert found.p_univariate[2] <= 0.01
    assert (found.p_values[3:] > 0.01).all(), names
    paper = pkex.mmd(X, Z, n_permutations=199, random_state=0, removal="neutral")
    assert paper.values[2] < 0.0
    assert paper.p_values[2] == 1.0
    assert_close(paper.statistic, found.statistic, 1e-15)
    assert (paper.p_value, paper.p_statistic) == (found.p_value, found.p_statistic)


def test_the_share_of_a_weak_dependence_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = 2.0 * X[:, 0] + 2.0 * X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=1000)
    found = pkex.hsic(X, y, n_permutations=199, random_state=0)
    assert (found.values[:3] > 0.0).all()
    assert (found.p_values[:3] <= 0.01).all()
    assert (found.p_values[3:] > 0.01).all()


def test_columns_that_lost_their_dependence_are_involved():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(2, 300, 3))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    found = pkex.mmd(X, Z, n_permutations=199, random_state=0)
    assert (found.p_adjusted[:2] <= 0.05).all()
    assert (found.p_univariate_adjusted[:2] > 0.05).all()
    [remark] = found.remarks()
    expected = "significant contribution without a univariate change"
    assert remark.startswith((f"x0, x1: {expected}", f"x1, x0: {expected}"))
    assert remark in repr(found)


def test_more_rows_than_are_tested_are_said(monkeypatch):
    monkeypatch.setattr(block_mean, "_ALL_ROWS", 60)
    monkeypatch.setattr(block_mean, "_TEST_ROWS", 60)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    Z[:, 0] += 2.0
    found = pkex.mmd(X, Z, n_permutations=99, random_state=0)
    assert found.n_test_rows == 60
    assert "Columns were permuted one at a time on 60 of 120 rows." in found.remarks()
    assert found.p_values[0] == 0.01
    blocks = pkex.mmd(X, Z, n_permutations=99, random_state=0, block_size=30)
    assert blocks.n_test_rows == 120  # four blocks of 30 rows have as many pairs as 60 rows
    blocks = pkex.mmd(X, Z, n_permutations=99, random_state=0, block_size=40)
    assert blocks.n_test_rows == sum(len(rows) for rows, _ in unchecked(blocks.source).blocks[:2])
    found = pkex.hsic(X, X[:, 0] ** 2, n_permutations=99, random_state=0)
    assert found.n_test_rows == 60
    assert found.p_values[0] == 0.01


def test_a_column_that_labels_clear_is_not_tested_again(monkeypatch):
    tested = []

    def record(self, wanted, *rest, backend, whole):
        assert whole is not None
        assert backend is game_class()
        tested.append(list(wanted))
        return block_mean.ColumnTests(np.full(3, np.nan), 7)

    monkeypatch.setattr(block_mean.BlockMean, "test_columns", record)
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2, 50, 3))
    Z[:, 0] += 3.0
    found = pkex.mmd(X, Z, n_permutations=99, random_state=0)
    [wanted] = tested
    by_labels = (1 + (found.null_values >= found.values).sum(axis=0)) / 100
    assert wanted == np.flatnonzero(by_labels <= 0.1).tolist()
    assert np.array_equal(found.p_values, by_labels)
    pkex.mmd(X, Z, n_permutations=99, random_state=0, removal="neutral")
    assert len(tested) == 1  # the paper's game has p-values by labels alone


@pytest.mark.parametrize("which", ["mmd", "hsic"])
def test_alone_is_the_statistic_of_one_player(which):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 0.3
    call = getattr(pkex, which)
    other = (lambda part: Z[:, part]) if which == "mmd" else (lambda _: Z[:, 0])
    for kernel in (None, "median", RBF(1.3), Laplacian([1.0, 2.0, 3.0, 4.0])):
        options = {"kernel": kernel, "n_permutations": 29, "random_state": 0}
        found = call(X, other(slice(None)), groups={"g": [1, 3]}, **options)
        plain = call(X, other(slice(None)), kernel=kernel, groups={"g": [1, 3]})
        assert_close(plain.univariate, found.univariate, 1e-15)
        for player, columns in enumerate(found.feature_groups):
            if isinstance(kernel, Laplacian):
                scales = np.asarray(kernel.length_scale)
                options["kernel"] = Laplacian([scales[j] for j in columns])
            single = call(X[:, columns], other(list(columns)), **options)
            assert_close(found.univariate[player], single.statistic, 1e-14)
            assert found.p_univariate[player] == single.p_statistic


def wide_form(kernel, n=700, seed=0):
    """Return a form of many rows, so that single precision is used where it has a root."""
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(n, 1)), rng.normal(size=(n, n)) * 1e-9
    return QuadraticForm.of(HalfMatrix.of(weights + weights.T), kernel(x))


@pytest.mark.parametrize("count", [None, 0, 1, 3])
def test_rough_values_are_within_their_bounds(count):
    rng = np.random.default_rng(1)
    for form in (wide_form(RBF(1.0)), wide_form(RBF(1.0), n=60), wide_form(Categorical(0.5))):
        orders = np.array([rng.permutation(len(form.weights)) for _ in range(20)])
        if form.root is None:
            np.testing.assert_array_equal(form.rough_values(orders), form.values(orders))
            assert form.rough_bounds() == 0.0
            continue
        off = np.abs(form.rough_values(orders, count) - form.values(orders)).max()
        bound = form.rough_bounds()[-1 if count is None else count]
        assert off <= bound + form.error
        # a bound that is not far from what decides: the standard deviation under permutations
        assert count is not None or bound < 0.2 * form.values(orders).std()
        if count is None and len(form.weights) > 512:
            assert off > 0.0  # single precision it is


def test_weights_that_cannot_be_scaled_stay_in_double_precision():
    form = wide_form(RBF(1.0))
    tiny = HalfMatrix([1e-290 * strip for strip in form.weights.strips])
    form = QuadraticForm.of_root(tiny, form.root, 1.0)
    order = np.arange(len(form.root))[None]
    np.testing.assert_array_equal(form.rough_values(order), form.values(order))


@pytest.mark.parametrize(
    ("of_weights", "of_kernel"), [(1e-170, 1.0), (1.0, 1e-180), (1e150, 1e120), (1e-280, 1e-20)]
)
def test_p_values_do_not_depend_on_the_scale(of_weights, of_kernel):
    """Bounds of numbers whose squares are 0 or infinite."""
    rng = np.random.default_rng(3)
    x, weights = rng.normal(size=(600, 1)), rng.normal(size=(600, 600))
    x -= x.mean()  # all that changes is in the root, nothing in the means
    kernel = x @ x.T
    weights += weights.T + 0.12 * kernel / np.sqrt(600)

    def p_of(some, matrix):
        form = QuadraticForm.of(HalfMatrix.of(some), matrix)
        assert form.root is not None
        return p_value([[form]], 60, np.random.default_rng(0))

    expected = p_of(weights, kernel)
    assert 0.1 < expected < 0.5
    assert p_of(of_weights * weights, of_kernel * kernel) == expected


@pytest.mark.parametrize("shift", [0.0, 0.02, 1.0], ids=["chance", "some", "clear"])
def test_rough_values_give_the_p_values_of_full_ones(monkeypatch, shift):
    """A root in single precision and a matrix that is looked up, added up: every count the same."""
    forms = [wide_form(RBF(1.0)), wide_form(Laplacian(1.0), seed=2)]
    rng = np.random.default_rng(0)
    root = forms[0].root
    push = shift * 1e-9 * root[:, :1] @ root[:, :1].T  # what makes the observed value large
    weights = HalfMatrix.of(push)
    strips = [a + b for a, b in zip(forms[0].weights.strips, weights.strips, strict=True)]
    forms[0] = QuadraticForm.of_root(HalfMatrix(strips), root, 1.0)
    assert forms[0].root is not None
    assert forms[1].root is None
    n = 150
    orders = np.array([rng.permutation(len(root)) for _ in range(n)])
    null = forms[0].values(orders) + forms[1].values(orders)
    itself = np.arange(len(root))[None]
    observed = float((forms[0].values(itself) + forms[1].values(itself))[0])
    reached = null >= observed - forms[0].error - forms[1].error
    expected = (reached.sum() + 1) / (n + 1)
    if reached.sum() >= 20:
        expected = 20 / (int(np.flatnonzero(np.cumsum(reached) == 20)[0]) + 1)
    for allowed in (0.2, 3.0):  # the second leaves most of them open
        monkeypatch.setattr("pkex.statistics.quadratic_forms._OPEN", allowed)
        assert p_value([forms], n, np.random.default_rng(0)) == expected


def test_permutations_that_the_first_batch_leaves_open_are_counted_once():
    """They were summed up from all columns, before it is known how many columns decide."""
    n, k = 512, 9
    sides = np.repeat([1.0, -1.0], n // 2)
    weights = -np.outer(sides, sides)
    np.fill_diagonal(weights, 0.0)
    root = np.zeros((n, 2))
    root[[20, -20], 0] = 1.0
    root[:k, 1] = np.sqrt(1.35 * 2.0 / n / k)
    form = QuadraticForm.of_root(HalfMatrix.of(weights), root, 1.0)
    observed = form.values(np.arange(n)[None])[0]
    for seed in (23, 207):  # where nine rows stay together, as often as not at first
        random = np.random.default_rng(seed)
        orders = np.array([random.permutation(n) for _ in range(99)])
        reached = np.cumsum(form.values(orders) >= observed - form.error)
        assert reached[-1] >= 20
        assert p_value([[form]], 99, np.random.default_rng(seed)) == 20 / (
            np.searchsorted(reached, 20) + 1
        )
