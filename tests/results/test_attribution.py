"""`Attribution`: subsets, components, rows, p-values and the table."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import false_discovery_control

import pkex
from pkex._util.p_values import (
    benjamini_hochberg,
    choose_n_permutations,
    family_test,
    holm,
    smallest_adjusted_p_value,
    standardise,
    step_down_max,
)
from pkex.kernels import RBF, Categorical, Custom
from tests._support import naive
from tests._support.cases import KERNELS, assert_close, pair_game, sample, scales
from tests._support.pairwise import pairwise
from tests._support.unchecked import unchecked

GROUPS = {"a": [3, 1], "b": [2, 5]}
PLAYERS = ((0,), (1, 3), (2, 5), (4,))
WHICH = ("mmd", "hsic")
REMOVALS = ("product-of-marginals", "neutral")


def solved(case, which, biased, removal, groups=None, players=None, n=6, d=6):
    """Return the attribution, and the game that it should belong to, by loops over pairs."""
    rng = np.random.default_rng([n, d])
    kernel, X = case.build(scales(rng, d)), sample(rng, n, d)
    estimator = "biased" if biased else "unbiased"
    game, size = pair_game(kernel, X, players, removal)
    options = {"kernel": kernel, "estimator": estimator, "groups": groups, "removal": removal}
    if which == "mmd":
        cut = n // 2

        def statistic(k):
            return naive.mmd(k, cut, n - cut, biased)

        found = pkex.mmd(X[:cut], X[cut:], **options)
    else:
        y = X[:, 0] + X[:, -1]

        def statistic(k):
            l = lambda i, j: float(np.exp(-0.5 * (y[i] - y[j]) ** 2))  # noqa: E731
            return naive.hsic(k, l, n, biased)

        found = pkex.hsic(X, y, target_kernel=RBF(1.0), **options)
    return found, game, statistic, size


def members(index, d):
    return [j for j in range(d) if index >> j & 1]


@pairwise(case=KERNELS, which=WHICH, biased=[True, False], removal=REMOVALS)
def test_values_and_components_of_all_subsets(case, which, biased, removal):
    found, game, statistic, size = solved(case, which, biased, removal, d=4)
    v = statistic(game)
    parts = naive.components(v)
    assert found.value([]) == found.component([]) == 0.0
    for index in range(1, 16):
        subset = members(index, 4)
        assert_close(found.value(subset), v[index], 1e-13 * size)
        assert_close(found.component(subset), parts[index], 1e-13 * size)


@pairwise(case=KERNELS, which=WHICH, removal=REMOVALS)
def test_values_and_components_of_groups(case, which, removal):
    found, game, statistic, size = solved(case, which, True, removal, GROUPS, PLAYERS)
    v = statistic(game)
    parts = naive.components(v)
    assert found.feature_names == ("x0", "a", "b", "x4")
    for index in range(1, 16):
        subset = [found.feature_names[j] for j in members(index, 4)]
        assert_close(found.value(subset[::-1]), v[index], 1e-13 * size)
        assert_close(found.component(subset), parts[index], 1e-13 * size)
    assert_close(found.value(["x0", "a", "b", "x4"]), found.statistic, 1e-13 * size)


@pairwise(case=KERNELS, which=WHICH, biased=[True, False], removal=REMOVALS)
def test_rows_share_the_values(case, which, biased, removal):
    found, game, statistic, size = solved(case, which, biased, removal, GROUPS, PLAYERS)
    expected = naive.row_shares(statistic, game, 6)
    assert found.row_values.shape == (6, 4)
    assert_close(found.row_values, expected, 1e-13 * size)
    assert_close(found.row_values.sum(axis=0), found.values, 1e-13 * size)


def test_subsets_and_rows_of_blocks_are_means_over_them():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(17, 3)), rng.normal(size=(15, 3))
    found = pkex.mmd(X, Z, kernel=RBF(1.0), block_size=8, random_state=0)
    blocks = [
        (rows[rows < 17], rows[rows >= 17] - 17) for rows, _ in unchecked(found.source).blocks
    ]
    each = [pkex.mmd(X[x], Z[z], kernel=RBF(1.0)) for x, z in blocks]
    for subset in ([0], [1, 2], [0, 1, 2]):
        assert_close(found.value(subset), np.mean([a.value(subset) for a in each]), 1e-15)
        assert_close(found.component(subset), np.mean([a.component(subset) for a in each]), 1e-15)
    assert_close(found.row_values.sum(axis=0), found.values, 1e-15)
    for (x, z), part in zip(blocks, each, strict=True):
        mine = found.row_values[np.concatenate([x, 17 + z])]
        assert_close(mine, part.row_values / len(each), 1e-15)


def test_components_sum_to_the_values_of_larger_subsets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    found = pkex.hsic(X, X[:, 0] * X[:, 1])
    parts = {tuple(members(i, 4)): found.component(members(i, 4)) for i in range(16)}
    assert_close(sum(parts.values()), found.statistic, 1e-15)
    inside = [part for subset, part in parts.items() if set(subset) <= {0, 1, 3}]
    assert_close(sum(inside), found.value([0, 1, 3]), 1e-15)
    # a player's value is its part of every component, in equal shares
    shares = [sum(part / len(s) for s, part in parts.items() if j in s) for j in range(4)]
    assert_close(shares, found.values, 1e-15)


def test_players_are_chosen_by_name_or_number():
    X = np.random.default_rng(0).normal(size=(12, 3))
    found = pkex.hsic(X, X[:, 0])
    assert found.value(["x0", 2]) == found.value((2, 0)) == found.value({0, "x2"})
    assert found.value([-1]) == found.value(["x2"])
    assert found.value([0, 0]) == found.value([0])
    assert found.value(np.array([0, 2])) == found.value([0, 2])
    assert found.value(x for x in ("x0", "x2")) == found.value([0, 2])
    for name in ("value", "component"):
        method = getattr(found, name)
        for wrong in ("x0", 0, np.int64(1), 1.5, None):
            with pytest.raises(TypeError, match="a subset is a list of features"):
                method(wrong)
        with pytest.raises(KeyError, match=r"no feature is named 'x9'\. The features are"):
            method(["x9"])
        with pytest.raises(IndexError, match="there is no feature 3"):
            method([3])
        with pytest.raises(IndexError, match=r"got 0\.5"):
            method([0.5])


def test_a_message_about_a_player_speaks_of_the_attribution():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(IndexError) as refused:
        pkex.hsic(X, X[:, 0]).value([7])
    assert "explanation" not in str(refused.value)


def custom(x, z):
    return 1.0 / (1.0 + (x - z) ** 2)


@pytest.mark.parametrize("kernel", [Custom(custom), RBF([1, 2, 3])], ids=["custom", "rbf"])
def test_a_kernel_limited_to_columns_in_any_order(kernel):
    X = np.random.default_rng(0).normal(size=(12, 4))
    product = kernel.on(3, 0, 2) * Categorical([0.5, 0.2]).on(1, 0)
    found = pkex.hsic(X, X[:, 0], kernel=product)
    game, _ = pair_game(product, X)
    target = lambda i, j: float(found.target_kernel(X[i, :1], X[j, :1]))  # noqa: E731
    v = naive.hsic(game, target, 12, biased=False)
    for index, subset in enumerate(subsets(range(4))):
        assert_close(found.value(subset), v[index], 1e-15)
        assert_close(found.component(subset), naive.components(v)[index], 1e-15)


def subsets(items):
    return [[item for k, item in enumerate(items) if i >> k & 1] for i in range(2 ** len(items))]


def test_p_values_and_table():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(40, 6)), rng.normal(size=(40, 6))
    Z[:, 2] += 2.0
    found = pkex.mmd(X, Z, n_permutations=99, random_state=0)
    frame = found.to_frame()
    assert list(frame.columns) == [
        "contribution", "null_low", "null_high", "p_value", "p_adjusted", "p_bh",
        "univariate", "p_univariate", "p_univariate_adjusted",
    ]  # fmt: skip
    assert frame.index.name == "feature"
    assert frame.index[0] == "x2"
    assert frame["contribution"].is_monotonic_decreasing
    by_feature = frame.loc[list(found.feature_names)]
    assert np.array_equal(by_feature["contribution"], found.values)
    assert np.array_equal(by_feature["p_value"], found.p_values)
    low, high = np.percentile(found.null_values, [2.5, 97.5], axis=0)
    assert np.array_equal(by_feature["null_low"], low)
    assert np.array_equal(by_feature["null_high"], high)
    # by labels the maxima, by columns Holm, the larger one; what labels clear has no second
    labels = step_down_max(np.vstack([found.values, found.null_values]), tails=True)
    alone = np.where(np.isnan(found.test_p_values), 1.0, found.test_p_values)
    expected = np.maximum(labels, slow_holm(alone))
    assert_close(
        by_feature["p_adjusted"], np.where(np.isnan(found.test_p_values), labels, expected), 1e-15
    )
    assert_close(by_feature["p_bh"], slow_step_up(found.p_values), 1e-15)
    assert np.array_equal(by_feature["p_adjusted"], found.p_adjusted)
    assert np.array_equal(by_feature["p_bh"], found.p_bh)
    assert np.array_equal(by_feature["univariate"], found.univariate)
    assert np.array_equal(by_feature["p_univariate"], found.p_univariate)
    null = np.vstack([found.univariate_values, found.univariate_null_values])
    maxima = step_down_max(null, tails=True)
    assert_close(by_feature["p_univariate_adjusted"], maxima, 1e-15)
    assert found.p_value == found.p_statistic == 0.01
    assert found.n_permutations == 99
    assert "p = 0.01" in repr(found)


def slow_holm(p):
    """Holm: the k-th smallest times (m - k + 1), never below a smaller one's, at most 1."""
    return [min(1.0, max(q * (len(p) - np.sum(p < q)) for q in p if q <= mine)) for mine in p]


def slow_step_up(p):
    """Benjamini and Hochberg: the k-th smallest times m / k, never above a larger one's."""
    return [min(1.0, min(q * len(p) / np.sum(p <= q) for q in p if q >= mine)) for mine in p]


@pytest.mark.parametrize("seed", range(20))
def test_adjusted_p_values(seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 21, size=rng.integers(1, 12)) / 20.0  # with ties
    assert_close(holm(p), slow_holm(p), 1e-15)
    assert_close(benjamini_hochberg(p), slow_step_up(p), 1e-15)
    assert_close(benjamini_hochberg(p), false_discovery_control(p), 1e-15)


@pytest.mark.parametrize("n_players", [1, 7, 60, 250])
def test_by_default_one_column_can_be_found_among_many(n_players):
    count = choose_n_permutations(n_players, 0.05)
    p = np.ones(n_players)
    p[-1] = 1.0 / (count + 1)
    for adjusted in (holm(p), benjamini_hochberg(p)):
        assert_close(adjusted.min(), smallest_adjusted_p_value(n_players, count), 1e-15)
        assert adjusted.min() <= 0.025


def test_too_few_permutations_for_the_level_are_remarked():
    """A column that no permutation comes near would look like chance."""
    X, Z = np.random.default_rng(0).normal(size=(2, 60, 6))
    Z[:, 0] += 3.0
    few = pkex.mmd(X, Z, n_permutations=14, random_state=0)
    assert few.p_univariate_adjusted.min() == 1 / 15
    [remark] = few.remarks()
    assert remark == (
        "With 14 permutations no p-value is below 0.067, however clear the case: take 39 or more."
    )
    assert remark in repr(few)
    assert remark in few._repr_html_()
    assert few.remarks(alpha=0.1)[:1] != [remark]
    enough = pkex.mmd(X, Z, n_permutations=39, random_state=0)
    assert enough.p_univariate_adjusted.min() == 0.025
    assert enough.p_adjusted.min() <= 0.05  # as a column by itself is permuted more often
    assert not any("permutations no p-value" in said for said in enough.remarks())
    assert pkex.mmd(X, Z).remarks() == []


def test_without_permutations_there_are_no_p_values():
    X = np.random.default_rng(0).normal(size=(12, 3))
    found = pkex.hsic(X, X[:, 0])
    assert found.p_value is found.p_statistic is None
    assert found.p_values is None
    assert found.null_values is found.null_statistics is None
    assert (
        found.p_adjusted is found.p_bh is found.p_univariate is found.p_univariate_adjusted is None
    )
    assert found.n_permutations == 0
    assert found.n_test_rows is None
    assert list(found.to_frame().columns) == ["contribution", "univariate"]
    assert "p =" not in repr(found)


def test_what_is_reported():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(12, 10)), rng.normal(size=(9, 10))
    found = pkex.mmd(X, Z, groups=[[0, 1]])
    assert (found.statistic_name, found.estimator, found.n_rows) == ("MMD^2", "unbiased", (12, 9))
    assert found.column_names == tuple(f"x{j}" for j in range(10))
    assert found.feature_names[0] == "x0 + x1"
    assert found.rule.relative_error <= 2.0**-52 * (1 + 9)  # of the exact rule, by its nodes
    neutral = pkex.mmd(X, Z, groups=[[0, 1]], removal="neutral")
    assert neutral.rule.relative_error <= pkex.games.rules.FULL_PRECISION
    assert found.target_kernel is None
    assert np.array_equal(found.samples[0], X)
    assert np.array_equal(found.samples[1], Z)
    assert repr(found).endswith(
        "and 1 more; see to_frame()\n  no p-values; pass n_permutations=999"
    )
    found = pkex.hsic(X, X[:, 0])
    assert (found.statistic_name, found.estimator, found.n_rows) == ("HSIC", "unbiased", (12,))
    assert isinstance(found.target_kernel, RBF)
    assert found.samples[1].shape == (12, 1)


def test_it_can_be_pickled():
    X = np.random.default_rng(0).normal(size=(12, 3))
    found = pkex.hsic(X, X[:, 0], n_permutations=9, random_state=0)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.values, found.values)
    assert again.p_value == found.p_value
    assert again.value([0]) == found.value([0])
    assert np.array_equal(again.row_values, found.row_values)


def test_a_pickle_holds_no_matrix_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert len(pickle.dumps(pkex.hsic(X, X[:, 0]))) < 10 * X.nbytes


def test_rounding_is_no_evidence():
    """The unbiased HSIC with a target of which one differs is 0, and so is every permutation."""
    for n in range(40, 52):
        X, y = np.random.default_rng(n).normal(size=(n, 4)), np.zeros(n)
        y[-1] = 1.3
        found = pkex.hsic(X, y, estimator="unbiased", n_permutations=19, random_state=0)
        assert_close(found.values, np.zeros(4), 1e-15)
        assert found.p_value == 1.0
        assert np.all(found.p_values == 1.0)


@pytest.mark.parametrize("n_players", [1, 5, 40])
def test_one_test_of_anything_has_its_level(n_players):
    """Under the null hypothesis all permutations are alike, the first among them."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        each = np.exp(rng.normal(size=(40, n_players)))  # skewed, as statistics are
        together = each.sum(axis=1)[:, None] + rng.normal(size=(40, 3))
        found.append(family_test(together, np.zeros(3), each, np.zeros(n_players)).p_value)
    for level in (0.05, 0.2, 0.5):  # 2.5 standard deviations of 2000
        assert np.mean(np.array(found) <= level) <= level + 2.5 * np.sqrt(level / 2000)


def slow_family(joint, columns, shares):
    """By the definition: every number becomes a p-value, the smallest is ranked, and again."""
    n = len(joint)

    def p(values, value):
        return sum(other >= value for other in values) / n

    def rank(ps):
        return [sum(other <= mine + 1e-12 for other in ps) / n for mine in ps]

    of_joint = rank(
        [min(p(joint[:, k], row[k]) / shares[k] for k in range(joint.shape[1])) for row in joint]
    )
    heights = []
    for column in columns.T:
        low, high = np.quantile(column, [0.9, 0.99])
        excess = np.mean([min(value, high) - low for value in column if value > low])
        heights.append((column - low) / excess)
    largest = np.max(heights, axis=0)
    of_columns = [p(largest, value) for value in largest]
    smaller = [min(a / 0.4, b / 0.6) for a, b in zip(of_joint, of_columns, strict=True)]
    return rank(smaller)[0]


@pytest.mark.parametrize("seed", range(20))
def test_anything_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    joint, columns = rng.normal(size=(45, 3)), rng.gamma(1.0, size=(45, 4))
    columns[0, 1] += seed % 3
    joint[0, 2] += seed % 2
    shares = [0.7, 0.1, 0.2]
    found = family_test(joint, np.zeros(3), columns, np.zeros(4), shares)
    assert_close(found.p_value, slow_family(joint, columns, shares), 1e-15)
    members = [np.mean(column >= column[0]) for column in joint.T]
    assert_close(found.p_members[:3], members, 1e-15)
    assert found.p_members[found.first] == found.p_members.min()


@pytest.mark.parametrize("tails", [True, False])
def test_step_down_maxima_by_their_definition(tails):
    """Test by test, the largest first; each is compared with the maxima of it and the smaller."""
    rng = np.random.default_rng(3)
    statistics = rng.gamma(1.0, size=(200, 6)) * [1.0, 10.0, 0.1, 1.0, 5.0, 1.0]
    statistics[0, [1, 4]] = statistics.max(axis=0)[[1, 4]] * 1.5
    heights = standardise(statistics, tails=tails).heights
    left, previous, expected = list(range(6)), 0.0, np.empty(6)
    while left:
        test = max(left, key=lambda j: heights[0, j])
        previous = max(previous, np.mean(heights[:, left].max(axis=1) >= heights[0, test]))
        expected[test] = previous
        left.remove(test)
    assert_close(step_down_max(statistics, tails=tails), expected, 1e-15)
    assert (expected[[1, 4]] == 0.005).all()
    # units do not matter, and what never varies has the p-value 1
    scaled = statistics * rng.uniform(1.0, 100.0, size=6) + rng.normal(size=6)
    assert_close(step_down_max(scaled, tails=tails), expected, 1e-15)
    assert step_down_max(np.column_stack([statistics, np.ones(200)]), tails=tails)[-1] == 1.0


def test_one_change_among_many_columns_is_not_lost():
    X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
    Z[:, 4] += 0.8
    found = pkex.mmd(X, Z, n_permutations=999, random_state=0)
    assert found.p_statistic > 0.1
    assert found.p_value < 0.01
    assert found.significant() == ("x4",)
    assert found.detected_by == "univariate"
    assert found.remarks()[0] == (
        "MMD² of all features together is not significant (p = 0.164); the change was detected by "
        "the feature that stands out most by itself, x4."
    )
    assert pkex.mmd(X, Z).p_value is None
    y = X[:, 3] + np.random.default_rng(2).normal(size=100)
    depends = pkex.hsic(X, y, n_permutations=1199, random_state=0)
    assert depends.p_value < 0.05


def test_few_rows_have_few_permutations():
    X = np.random.default_rng(0).normal(size=(3, 2))
    far = pkex.mmd(X, X + 100.0, n_permutations=999, random_state=0)
    assert far.p_value > 0.09  # 20 ways to choose three of six, each as good as its mirror image
    [remark] = far.remarks()
    assert remark == ("With 3 + 3 rows no p-value is below 0.1, however clear the case.")


def test_equal_permutations_are_as_extreme_whatever_rounding_makes_of_them():
    rng = np.random.default_rng(0)
    each = np.repeat(rng.normal(size=(10, 3)), 10, axis=0)
    noise = 1e-14 * rng.normal(size=each.shape)
    slack = np.full(3, 1e-12)
    p = family_test(each, slack, each + noise, slack).p_value
    assert p >= 0.1
    assert p == family_test(each, slack, each, slack).p_value


def test_weak_changes_are_not_called_changed_relations():
    """Columns are independent: only the mean of the first one moved, by too little to be sure."""
    wrong = 0
    for seed in range(12):
        X, Z = np.random.default_rng(seed).normal(size=(2, 120, 6))
        Z[:, 0] += 0.4
        found = pkex.mmd(X, Z, n_permutations=239, random_state=0)
        wrong += any(said.startswith("x0: a share, but no change") for said in found.remarks())
    assert wrong == 0
