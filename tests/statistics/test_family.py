"""The family of the verdict, categories, missing cells and dates: each against a slow twin."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2_contingency

import pkex
from pkex.kernels import RBF, Categorical
from pkex.statistics import pair_weights
from pkex.statistics.pair_weights import MMDWeights
from tests._support.cases import assert_close
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(7)


def mixed(n, levels="uvw"):
    return pd.DataFrame(
        {
            "a": RNG.normal(size=n),
            "b": RNG.choice(list(levels), n),
            "c": np.exp(RNG.normal(size=n)),
            "flag": RNG.random(n) < 0.5,
        }
    )


def with_gaps(frame, column, share):
    cells = frame[column].astype(object if frame[column].dtype != float else float).copy()
    cells[RNG.random(len(frame)) < share] = None
    return frame.assign(**{column: cells})


def slow_members(found, numbers, kinds, scales):
    """The three kernels by their formulas, from the widths of the kernel of the result."""
    n = len(numbers)
    widths = dict.fromkeys(range(numbers.shape[1]))
    parts = getattr(found.kernel, "kernels", (found.kernel,))
    for leaf in parts:
        columns = range(numbers.shape[1]) if leaf.columns is None else leaf.columns
        values = leaf.length_scale if isinstance(leaf, RBF) else leaf.mismatch
        values = np.broadcast_to(values, len(columns))
        widths |= dict(zip(columns, values, strict=True))
    E, L, D = np.zeros((3, n, n))
    d = numbers.shape[1]
    for j, kind in enumerate(kinds):
        gap = np.abs(numbers[:, j][:, None] - numbers[:, j])
        if kind:
            E += -np.log(widths[j]) * (gap > 0)
            L += -np.log(widths[j]) * (gap > 0)
            D += 2.0 * (gap > 0)
        else:
            E += 0.5 * (gap / widths[j]) ** 2
            L += gap / (widths[j] * np.sqrt(d))
            D += (gap / scales[j]) ** 2
    rbf = np.mean([np.exp(-E / w**2) for w in (0.5, 1.0, 2.0, 4.0)], axis=0)
    return [rbf, np.exp(-L), -np.sqrt(D)]


def unbiased(K, n):
    """MMD^2 of the first n rows and the others, by its definition."""
    m = len(K) - n
    xx, zz = K[:n, :n], K[n:, n:]
    within = (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (zz.sum() - np.trace(zz)) / (m * (m - 1))
    return within - 2.0 * K[:n, n:].mean()


def test_the_members_are_what_they_are_called():
    X, Z = mixed(30), mixed(22, "uvwx")
    found = pkex.mmd(X, Z, n_permutations=9, random_state=0)
    both = pd.concat([X, Z])
    numbers = np.column_stack([
        both["a"], both["b"].map({t: i for i, t in enumerate("uvwx")}), both["c"], both["flag"]
    ]).astype(float)  # fmt: skip
    scales = np.subtract(*np.quantile(numbers, [0.75, 0.25], axis=0))
    kernels = slow_members(found, numbers, [False, True, False, True], scales)
    assert found.member_names == ("rbf", "laplacian", "energy")
    for value, kernel in zip(found.member_values, kernels, strict=True):
        assert_close(value, unbiased(kernel, 30), 1e-13)
    assert found.new_categories == {"b": ("x",)}
    assert found.lost_categories == {}


def test_numbers_whose_squares_are_infinite_are_tested():
    """Without a warning: a standard deviation is only computed where it is used."""
    X, Z = np.random.default_rng(0).normal(size=(2, 40, 3))
    Z[:, 1] *= 3.0
    plain = pkex.mmd(X, Z, n_permutations=99, random_state=0)
    X[:, 1], Z[:, 1] = 1e200 * X[:, 1], 1e200 * Z[:, 1]
    huge = pkex.mmd(X, Z, n_permutations=99, random_state=0)
    assert huge.p_value == plain.p_value == 0.01
    np.testing.assert_array_equal(huge.p_values, plain.p_values)


def test_energy_is_the_energy_distance():
    """Of columns divided by their interquartile range; one without is divided by its deviation."""
    X, Z = RNG.normal(size=(25, 2)), RNG.normal(size=(30, 2))
    X[:, 1] = Z[:, 1] = 0.0
    X[:3, 1] = [4.0, 1.0, -2.0]
    found = pkex.mmd(X, Z, n_permutations=5, random_state=0, estimator="biased")
    both = np.concatenate([X, Z])
    low, high = np.quantile(both, [0.25, 0.75], axis=0)
    scale = np.array([high[0] - low[0], both[:, 1].std()])
    x, z = X / scale, Z / scale
    expected = 2.0 * cdist(x, z).mean() - cdist(x, x).mean() - cdist(z, z).mean()
    assert_close(found.member_values[2], expected, 1e-13)


def test_dependence_has_the_same_family():
    X = RNG.normal(size=(30, 3))
    y = X[:, 0] ** 2
    found = pkex.hsic(X, y, n_permutations=9, random_state=0, estimator="biased")
    scales = np.subtract(*np.quantile(X, [0.75, 0.25], axis=0))
    H = np.eye(30) - 1.0 / 30
    L = H @ found.target_kernel(y[:, None]) @ H / 29**2
    kernels = slow_members(found, X, [False] * 3, scales)
    for value, kernel in zip(found.member_values, kernels, strict=True):
        assert_close(value, (L * kernel).sum(), 1e-13)


def test_a_kernel_that_is_given_is_the_only_one():
    X, Z = RNG.normal(size=(2, 40, 3))
    found = pkex.mmd(X, Z + 0.5, kernel=RBF(2.0), n_permutations=99, random_state=0)
    assert list(found.p_members) == ["kernel", "univariate"]
    assert_close(found.member_values[0], found.statistic, 1e-14)
    assert found.p_members["kernel"] == found.p_statistic


@pytest.mark.parametrize("sizes", [(40, 40), (50, 20)])
def test_a_categorical_column_is_tested_as_by_chi_squared(sizes):
    n, m = sizes
    x, z = RNG.choice(list("abc"), n), RNG.choice(list("abcd"), m)
    frames = [pd.DataFrame({"text": part, "n": RNG.normal(size=len(part))}) for part in (x, z)]
    found = pkex.mmd(*frames, estimator="biased", n_permutations=99, random_state=0)
    counts = np.array([[np.sum(part == letter) for letter in "abcd"] for part in (x, z)])
    expected = chi2_contingency(counts, correction=False).statistic
    assert_close(found.univariate[0], (1.0 / n + 1.0 / m) * expected, 1e-12)
    # under permutations as well, and by either way to compute it
    assert_close(pkex.mmd(*frames, estimator="biased").univariate, found.univariate, 1e-13)
    both, labels = np.concatenate([x, z]), np.arange(n + m) < n
    rng = np.random.default_rng(0)
    null = []
    for _ in range(500):
        order = rng.permutation(labels)
        table = [[np.sum(both[order == side] == t) for t in "abcd"] for side in (True, False)]
        null.append(chi2_contingency(table, correction=False).statistic)
    p = np.mean(np.array(null) >= expected - 1e-9)
    assert abs(found.p_univariate[0] - p) <= 4.0 * np.sqrt(p * (1 - p) / 99) + 0.02


def test_many_rows_have_the_same_statistic_of_categories():
    """By low rank, with as many roots as there are categories."""
    frames = [mixed(n, levels) for n, levels in ((300, "uvw"), (250, "uvwx"))]
    found = pkex.mmd(*frames, n_permutations=49, random_state=0)
    assert_close(pkex.mmd(*frames).univariate, found.univariate, 1e-11)


def test_a_new_category_is_detected_and_named():
    X, Z = mixed(300), mixed(300)
    Z.loc[:11, "b"] = "new"
    found = pkex.mmd(X, Z, n_permutations=999, random_state=0)
    assert found.detected_by == "univariate"
    assert found.significant() == ("b",)
    assert found.new_categories == {"b": ("new",)}
    assert pkex.mmd(Z, X, n_permutations=9).lost_categories == {"b": ("new",)}


@pytest.mark.parametrize("column", ["a", "b", "flag"])
def test_missing_cells_are_data(column):
    """A change of missingness alone is found, in its column, and by nobody who drops rows."""
    X, Z = with_gaps(mixed(300), column, 0.05), with_gaps(mixed(300), column, 0.25)
    found = pkex.mmd(X, Z, n_permutations=199, random_state=0)
    assert found.significant() == (column,)
    assert found.feature_names == tuple(X.columns)
    dropped = pkex.mmd(X, Z, n_permutations=199, random_state=0, missing="drop")
    assert dropped.n_rows == (int(X.notna().all(axis=1).sum()), int(Z.notna().all(axis=1).sum()))
    assert column not in dropped.significant()
    by_hand = pkex.mmd(X.dropna(), Z.dropna(), n_permutations=199, random_state=0)
    assert np.array_equal(dropped.null_values, by_hand.null_values)
    for frames in ((pl.from_pandas(X), pl.from_pandas(Z)), (X.convert_dtypes(), Z)):
        assert_close(pkex.mmd(*frames).values, found.values, 1e-14)


def test_a_column_with_gaps_is_one_feature_of_two_factors():
    """Written down by hand: filled by the median, with an indicator, as one group."""
    X, Z = with_gaps(mixed(20), "a", 0.3), with_gaps(mixed(25), "a", 0.3)
    found = pkex.mmd(X, Z, n_permutations=19, random_state=0)
    both = pd.concat([X, Z])
    filled = [
        part.assign(a=part["a"].fillna(both["a"].median()), gap=part["a"].isna().map(str))
        for part in (X, Z)
    ]
    groups = {"a": ["a", "gap"]}
    by_hand = pkex.mmd(
        *filled, kernel=found.kernel, groups=groups, n_permutations=19, random_state=0
    )
    place = list(by_hand.feature_names).index("a")
    assert_close(found.statistic, by_hand.statistic, 1e-15)
    assert_close(found.values[0], by_hand.values[place], 1e-15)
    assert_close(found.null_values[:, 0], by_hand.null_values[:, place], 1e-15)
    rbf, categorical = map(unchecked, unchecked(found.kernel).kernels)
    assert categorical.columns == (1, 3, 4)
    observed = both["a"].dropna().to_numpy()
    distances = np.abs(observed[:, None] - observed)[np.triu_indices(len(observed), 1)]
    assert_close(rbf.length_scale[0], np.median(distances) * np.sqrt(5), 1e-14)


def test_targets_and_kernels_with_gaps():
    X, y = with_gaps(mixed(40), "a", 0.2), RNG.normal(size=40)
    assert pkex.hsic(X, y).feature_names == tuple(X.columns)
    gap = y.copy()
    gap[3] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        pkex.hsic(X, gap)
    keep = X.notna().all(axis=1).to_numpy() & ~np.isnan(gap)
    dropped = pkex.hsic(X, gap, missing="drop")
    assert_close(dropped.values, pkex.hsic(X[keep], gap[keep]).values, 1e-15)
    with pytest.raises(ValueError, match=r"missing cells, and .* pass missing='drop'"):
        pkex.mmd(X, X[::-1], kernel=Categorical(0.5))
    with pytest.raises(ValueError, match="every row of X has missing values"):
        pkex.mmd(X.assign(a=np.nan), X, missing="drop")
    # a column without any value has no kind of its own
    empty = pkex.mmd(X.assign(b=None), X, n_permutations=19, random_state=0)
    assert empty.significant(0.1) == ("b",)


def test_dates_are_days():
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=int(k)) for k in range(40)]
    plain = [
        pd.DataFrame({"d": np.arange(20.0) + 20454 + s, "n": np.arange(20.0)}) for s in (0, 20)
    ]
    expected = pkex.mmd(*plain, n_permutations=19, random_state=0)
    stamps = pd.to_datetime(days)
    for cells, unit in (
        (stamps, "days since 1970-01-01"),
        (stamps.tz_localize("UTC"), "days since 1970-01-01"),
        (pd.to_timedelta(np.arange(40.0) + 20454, unit="D"), "days"),
    ):
        frames = [part.assign(d=cells[s : s + 20]) for part, s in zip(plain, (0, 20), strict=True)]
        found = pkex.mmd(*frames, n_permutations=19, random_state=0)
        assert np.array_equal(found.values, expected.values)
        assert found.column_units == (unit, None)
    frames = [
        pl.DataFrame({"d": days[s : s + 20], "n": np.arange(20.0)}) for s in (0, 20)
    ]  # dates without a time
    assert_close(pkex.mmd(*frames).values, expected.values, 1e-15)
    gap = frames[0].with_columns(d=pl.Series([None, *days[1:20]]))
    assert pkex.mmd(gap, frames[1]).feature_names == ("d", "n")


def test_of_a_much_larger_sample_only_some_rows_are_exchanged(monkeypatch):
    """The statistics are those of all rows, for labels that were really moved."""
    monkeypatch.setattr(pair_weights, "UNITS", 40)
    X, Z = RNG.normal(size=(90, 2)), RNG.normal(size=(12, 2))
    both = np.concatenate([X, Z])
    for first, second in ((X, Z), (Z, X)):
        n, rows = len(first), np.concatenate([first, second])
        weights = MMDWeights(n, len(second), with_self=False)
        shuffled = weights.shuffled(29, np.random.default_rng(3))
        assert shuffled.n_fixed == 90 - 28
        kinds = unchecked(shuffled).first
        assert kinds.shape == (41, 30)
        found = pkex.mmd(first, second, kernel=RBF(1.5), n_permutations=29, random_state=0)
        K = RBF(1.5)(rows)
        assert_close(found.statistic, unbiased(K, n), 1e-14)
        # every permutation is a labelling of all rows: find it again by the permuted statistics
        seed = np.random.default_rng(0).integers(2**63, size=(1, 4))[0]
        moved = unchecked(weights.shuffled(29, np.random.default_rng(seed)))
        layer = moved.layers[0]
        for b in range(30):
            labels = np.empty(len(both), dtype=bool)
            labels[layer[:40]] = moved.first[:40, b]
            labels[layer[40:]] = moved.first[40, b]
            order = np.concatenate([np.flatnonzero(labels), np.flatnonzero(~labels)])
            assert labels.sum() == n
            expected = unbiased(K[np.ix_(order, order)], n)
            total = found.statistic if b == 0 else found.null_statistics[b - 1]
            assert_close(total, expected, 1e-14)
            each = found.univariate[0] if b == 0 else found.univariate_null_values[b - 1, 0]
            single = RBF(1.5)(rows[:, :1])
            assert_close(each, unbiased(single[np.ix_(order, order)], n), 1e-13)


@pytest.mark.parametrize("sizes", [(60, 60), (300, 25), (1500, 300)])
def test_detection_has_the_p_value_of_the_attribution(sizes):
    frames = [mixed(n) for n in sizes]
    frames[1] = with_gaps(frames[1], "a", 0.1)
    drift = pkex.MMDDrift(n_permutations=99, random_state=0).fit(frames[0])
    p = drift.explain(frames[1]).p_value
    assert p == pkex.mmd(*frames, n_permutations=99, random_state=0).p_value
    assert drift.detect(frames[1], alpha=p + 1e-9)
    assert p == 0.01 or not drift.detect(frames[1], alpha=max(p - 1e-9, 0.01))
