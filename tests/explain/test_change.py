"""What changed between two tables: sums, twins of the tests, and planted changes."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.stats import energy_distance
from sklearn.compose import make_column_transformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex._util.p_values import step_down_max
from pkex.errors import UnsupportedModelError
from pkex.explain.label_tests import compare_columns
from tests._support.models import MODELS
from tests._support.unchecked import unchecked
from tests.readers.test_readers import explainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + X[:, 1] - 0.5 * X[:, 2] ** 2 + 0.2 * RNG.normal(size=400)
MODEL = SVR(C=10.0, gamma=0.05).fit(X[:80], Y[:80])
BEFORE, AFTER = X[80:160], X[160:260]
Y_BEFORE, Y_AFTER = Y[80:160], Y[160:260]
OTHERS = X[300:330]


def compared(before: Any = BEFORE, after: Any = AFTER, model: Any = MODEL, **options: Any) -> Any:
    return pkex.change(model, before, after, **{"random_state": 0, "n_jobs": 1} | options)


# --- sums


@pytest.mark.parametrize(
    "explained",
    [
        MODEL,
        pkex.Explainer(MODEL, OTHERS),
        pkex.Explainer(MODEL, OTHERS, removal="product-of-marginals"),
        pkex.Explainer(MODEL, removal="neutral"),
        pkex.Explainer(MODEL),
        pkex.Explainer(MODEL, OTHERS, groups={"two": [0, 2]}),
        pkex.Explainer(SVC(decision_function_shape="ovr").fit(X[:80], np.arange(80) % 3), OTHERS),
    ],
    ids=str,
)
def test_contributions_add_up_to_the_difference_of_the_means(explained):
    if isinstance(explained, pkex.Explainer):
        change = pkex.change(explained, BEFORE, AFTER, n_permutations=0)
        values = [explained(table).values.mean(axis=0) for table in (BEFORE, AFTER)]
        np.testing.assert_array_equal(change.contributions, values[1] - values[0])
        predict = explained.expansion.predict
    else:
        change, predict = compared(model=explained, n_permutations=0), explained.predict
    means = [predict(table).mean(axis=0) for table in (BEFORE, AFTER)]
    scale = np.abs(predict(X)).max()
    np.testing.assert_allclose(change.prediction, means[1] - means[0], rtol=0, atol=1e-12 * scale)
    total = change.contributions.sum(axis=0)
    np.testing.assert_allclose(total, change.prediction, rtol=0, atol=1e-12 * scale)
    for part in (change.loss, change.base_loss, change.loss_contributions):
        assert part is None


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_every_model(case):
    with case.quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", pkex.PrecisionWarning)
        explain, rows = explainer(case), case.rows
        change = pkex.change(explain, rows[:2], rows[-2:], n_permutations=9)
        values = [explain(part).values.mean(axis=0) for part in (rows[:2], rows[-2:])]
    size = max(1.0, float(np.max(case.size())))
    np.testing.assert_allclose(change.contributions, values[1] - values[0], rtol=0, atol=0)
    total = change.contributions.sum(axis=0)
    np.testing.assert_allclose(total, change.prediction, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("removal", ["product-of-marginals", "interventional"])
def test_losses_add_up_with_the_part_that_no_feature_explains(removal):
    explain = pkex.Explainer(MODEL, OTHERS[:10], removal=removal, n_jobs=1)
    change = pkex.change(
        explain, BEFORE, AFTER, y_before=Y_BEFORE, y_after=Y_AFTER, n_permutations=0
    )
    pairs = ((BEFORE, Y_BEFORE), (AFTER, Y_AFTER))
    errors = [np.mean((y - MODEL.predict(table)) ** 2) for table, y in pairs]
    bases = [np.mean((y - explain.expected_value) ** 2) for _, y in pairs]
    # the square of rows of the background lies in the values of both tables, and cancels
    assert change.loss == pytest.approx(errors[1] - errors[0], abs=1e-6)  # of the loss's rules
    assert change.base_loss == pytest.approx(bases[1] - bases[0], abs=1e-9)
    assert change.loss_contributions.sum() + change.base_loss == pytest.approx(
        change.loss, abs=1e-12 * max(errors)
    )
    alone = pkex.change(explain, BEFORE, AFTER, n_permutations=0)
    np.testing.assert_array_equal(change.contributions, alone.contributions)
    assert change.prediction == pytest.approx(alone.prediction, abs=1e-12 * max(errors))
    assert change.output_names == ("prediction", "squared error")


# --- the tests, by their definitions


def by_hand(columns, n_before, permutations, seed):
    """Return adjusted p-values of the two tests, one labelling and one test at a time."""
    rng, n_rows = np.random.default_rng(seed), len(columns)
    labels = np.r_[np.zeros(n_before), np.ones(n_rows - n_before)] == 1.0
    # permuted as weights are, which are two different numbers
    drawn = rng.permuted(np.tile(labels, (permutations, 1)), axis=1)
    rows = []
    for after in [labels, *drawn]:
        sides = [(column[~after], column[after]) for column in columns.T]
        means = [abs(b.mean() - a.mean()) for a, b in sides]
        rows.append(means + [energy_distance(a, b) for a, b in sides])
    statistics = np.array(rows)
    z = (statistics - statistics.mean(axis=0)) / statistics.std(axis=0)
    left, floor, adjusted = set(range(z.shape[1])), 0.0, np.empty(z.shape[1])
    while left:
        best = max(left, key=lambda k: z[0, k])
        reached = sum(max(row[k] for k in left) >= z[0, best] - 1e-9 for row in z)
        floor = adjusted[best] = max(floor, reached / len(z))
        left.remove(best)
    return adjusted.reshape(2, -1)


@pytest.mark.parametrize("seed", range(4))
def test_tests_against_their_definitions(seed):
    rng = np.random.default_rng([3, seed])
    columns = rng.normal(size=(25, 3))
    columns[10:, 0] += 0.8
    columns[:, 2] = columns[:, 2].round()  # with ties
    found = compare_columns(columns, 10, 99, seed, np.zeros(3))
    distances = [energy_distance(column[:10], column[10:]) for column in columns.T]
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    np.testing.assert_allclose(found.p_values, by_hand(columns, 10, 99, seed), rtol=0, atol=1e-12)


def test_over_all_labellings_the_level_is_exact():
    """Each labelling in turn is the observed one: at most 10 % of them have p <= 0.1."""
    values = np.random.default_rng(7).normal(size=(8, 2))
    labels = [np.isin(np.arange(8), chosen) for chosen in combinations(range(8), 4)]
    rows = np.array(
        [
            [abs(v[a].mean() - v[~a].mean()) for v in values.T]
            + [energy_distance(v[a], v[~a]) for v in values.T]
            for a in labels
        ]
    )
    smallest = [step_down_max(np.roll(rows, -first, axis=0)).min() for first in range(len(rows))]
    assert 0.05 <= np.mean(np.array(smallest) <= 0.1) <= 0.1


def test_the_level_holds_over_data_sets():
    """Of 200 pairs of tables 20 % should have p <= 0.2: between the 0.1 and 99.9 % quantiles."""
    rng, small = np.random.default_rng(11), 0
    for _ in range(200):
        before, after = rng.normal(size=(2, 12, 4))
        change = pkex.change(MODEL, before, after, n_permutations=19, random_state=rng, n_jobs=1)
        assert change.p_value is not None
        small += change.p_value <= 0.2
    assert 24 <= small <= 59


def test_a_column_that_does_not_vary_is_not_tested():
    columns = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, 1e-13]
    found = compare_columns(columns, 10, 99, 0, np.full(2, 1e-12))
    assert found.p_values is not None
    assert found.p_values[:, 1].tolist() == [1.0, 1.0]
    assert found.distances[1] == 0.0


def test_memory_does_not_change_the_permutations(monkeypatch):
    whole = compared(n_permutations=99)
    monkeypatch.setattr("pkex.explain.label_tests._CELLS", 1000)
    parts = compared(n_permutations=99)
    np.testing.assert_allclose(parts.p_features, whole.p_features, rtol=0, atol=1e-12)


def test_threads_do_not_matter_and_seeds_do():
    one, two = compared(n_permutations=99), compared(n_permutations=99, n_jobs=2)
    np.testing.assert_array_equal(one.p_features, two.p_features)
    np.testing.assert_array_equal(one.contributions, two.contributions)
    assert (compared(n_permutations=99, random_state=1).p_features != one.p_features).any()


# --- planted changes


def test_a_shift_of_one_input_is_named():
    change = compared(after=AFTER + np.array([0.8, 0.0, 0.0, 0.0]))
    assert change.detected()
    assert change.significant() == ("x0",)
    assert change.p_value == change.p_values.min() <= 0.005
    assert change.contributions[0] > 0.4


def test_two_inputs_that_cancel_are_named():
    change = compared(after=AFTER + np.array([0.8, -0.8, 0.0, 0.0]))
    assert {*change.significant()} == {"x0", "x1"}
    assert abs(change.prediction) < 0.25 * np.abs(change.contributions).max()
    assert change.p_totals[0] > 0.05


def test_a_spread_shows_in_the_distribution_alone():
    change = compared(after=AFTER * [3.0, 1.0, 1.0, 1.0])
    p_mean, p_distribution = change.p_features
    assert p_mean[0] > 0.05
    assert p_distribution[0] <= 0.05
    assert change.significant() == ("x0",)


def test_a_change_of_the_target_alone_is_one_of_errors():
    targets = {"y_before": Y_BEFORE, "y_after": Y_AFTER + 1.0}
    change = compared(**targets)
    assert change.detected()
    assert change.significant() == ()
    assert change.p_totals[:, 1].min() <= 0.05
    assert change.p_totals[:, 0].min() > 0.05
    assert change.loss > 0.5


def test_nothing_is_not_detected():
    change = compared(y_before=Y_BEFORE, y_after=Y_AFTER)
    assert not change.detected()
    assert change.significant() == change.significant(output="squared error") == ()
    assert change.notes == []


# --- tables


def test_frames_are_matched_by_name_and_outputs_are_one_family():
    names = ["a", "b", "c", "d"]
    before, after = (pd.DataFrame(table, columns=names) for table in (BEFORE, AFTER + 0.3))
    model = SVC().fit(pd.DataFrame(X[:80], columns=names), np.array(["u", "v", "w"] * 27)[:80])
    change = compared(before, after[["d", "b", "a", "c"]].assign(other=1), model)
    plain = compared(before, after, model)
    np.testing.assert_array_equal(change.contributions, plain.contributions)
    assert change.contributions.shape == change.p_values.shape == (4, 3)
    assert change.prediction.shape == (3,)
    assert change.output_names == ("u", "v", "w")
    assert change.feature_names == tuple(names)
    assert change.p_value <= change.p_values.min()
    polar = compared(pl.DataFrame(before), pl.DataFrame(after), model)
    np.testing.assert_array_equal(polar.contributions, plain.contributions)
    one = change.select_output("v", "plot")
    np.testing.assert_array_equal(one.contributions, change.contributions[:, 1])


def test_categories_groups_and_names_of_a_model_without():
    frames = [
        pd.DataFrame({"size": table[:, 0], "town": np.where(table[:, 1] > 0, "Graz", "Wien")})
        for table in (X[:80], BEFORE, AFTER)
    ]
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(columns, SVR()).fit(frames[0], Y[:80])
    change = compared(frames[1], frames[2], model, groups={"both": ["size", "town"]})
    assert change.feature_names == ("both",)
    assert change.contributions[0] == pytest.approx(change.prediction, abs=1e-12)
    named = [pd.DataFrame(table, columns=list("abcd")) for table in (BEFORE, AFTER)]
    assert compared(*named).feature_names == tuple("abcd")


def test_few_rows_and_few_permutations_get_a_note():
    for options, words in (
        (
            {"before": BEFORE[:2], "after": AFTER[:2]},
            "With 2 + 2 rows no p-value is below about 0.33",
        ),
        ({"n_permutations": 9}, "With 9 permutations no p-value is below about 0.1"),
        ({"n_permutations": 0}, "no p-values; pass n_permutations=999"),
    ):
        assert words in repr(compared(**unchecked(options)))


def test_without_permutations_there_are_no_p_values():
    change = compared(n_permutations=0)
    assert change.p_value is change.p_values is change.p_features is change.detected() is None
    assert change.significant() == ()


# --- rows that the model or the background knows


def test_training_rows_in_one_table_get_a_note_or_an_error():
    change = compared(X[:60])
    [note] = change.notes
    assert "rows of before and 0 of 100 rows of after are training rows" in note
    ridge = KernelRidge(kernel="rbf", gamma=0.1).fit(X[:80], Y[:80])
    for before, after in ((X[:60], AFTER), (AFTER, X[:60])):
        targets = {"y_before": np.zeros(len(before)), "y_after": np.zeros(len(after))}
        with pytest.raises(ValueError, match=r"60 of 60 rows of .* are training rows"):
            compared(before, after, ridge, **targets)


def test_rows_of_few_values_are_not_taken_for_training_rows():
    """They equal training rows by chance, and more often before than after a change."""
    rng = np.random.default_rng(0)
    fitted, before = rng.normal(size=(2, 150, 3)).round()
    after = rng.normal(1.0, size=(150, 3)).round()
    ridge = KernelRidge(kernel="rbf", gamma=0.1).fit(fitted, fitted[:, 0])
    targets = {"y_before": before[:, 0], "y_after": after[:, 0]}
    assert compared(before, after, ridge, n_permutations=9, **targets).notes == []


def test_a_model_of_both_tables_is_exact():
    ridge = KernelRidge(kernel="rbf", gamma=0.1).fit(X[80:260], Y[80:260])
    assert compared(model=ridge, y_before=Y_BEFORE, y_after=Y_AFTER).notes == []


def test_a_background_of_one_table_gets_a_note():
    for rows, name in ((BEFORE[:30], "30 of 80 rows of before"), (AFTER[:30], "30 of 100 rows")):
        explain = pkex.Explainer(MODEL, rows)
        [note] = pkex.change(explain, BEFORE, AFTER, n_permutations=9).notes
        assert name in note
        assert "serve as background" in note
    for rows in (OTHERS, X[80:260], X[80:260:4]):
        explain = pkex.Explainer(MODEL, rows)
        assert pkex.change(explain, BEFORE, AFTER, n_permutations=9).notes == []


def test_the_background_is_of_both_tables_at_most_100_rows():
    assert compared(n_permutations=0).background_info == "100 rows (interventional)"
    small = compared(BEFORE[:20], AFTER[:30], n_permutations=0)
    expected = pkex.Explainer(MODEL, np.concatenate([BEFORE[:20], AFTER[:30]]))
    again = pkex.change(expected, BEFORE[:20], AFTER[:30], n_permutations=0)
    np.testing.assert_array_equal(small.contributions, again.contributions)


# --- input


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"before": BEFORE[:1]}, ValueError, "before has 1 row; two tables of at least 2"),
        ({"after": AFTER[0]}, ValueError, r"after must be two-dimensional .*, got shape \(4,\)"),
        ({"after": AFTER[:, :3]}, ValueError, "before has 4 columns, after 3"),
        ({"after": csr_array(AFTER)}, TypeError, r"after is sparse; .* after\.toarray\(\)"),
        ({"y_before": Y_BEFORE}, ValueError, "y_after is missing"),
        ({"y_before": Y_BEFORE, "y_after": Y_BEFORE}, ValueError, "y_after must be 100 numbers"),
        ({"alpha": 1.0}, ValueError, "alpha must lie between 0 and 1"),
        ({"n_permutations": -1}, ValueError, "n_permutations must be an integer of at least 0"),
        ({"n_permutations": 1.5}, ValueError, "n_permutations must be an integer"),
        ({"random_state": "seed"}, ValueError, "random_state must be None"),
        ({"model": pkex.Explainer(MODEL), "n_jobs": -1, "groups": [[0, 1]]}, ValueError, "groups"),
        ({"model": pkex.Explainer(MODEL, index="BV")}, ValueError, "BV do not add up"),
    ],
)
def test_bad_input_gets_a_sentence(options, error, words):
    with pytest.raises(error, match=words):
        compared(**unchecked(options))


def test_errors_name_the_table():
    gap = AFTER.copy()
    gap[3, 1] = np.nan
    names = [f"c{k}" for k in range(4)]
    before, after = (pd.DataFrame(table, columns=names) for table in (BEFORE, AFTER))
    named = SVR().fit(pd.DataFrame(X[:80], columns=names), Y[:80])
    for model in (MODEL, pkex.Explainer(MODEL)):
        with pytest.raises(ValueError, match=r"^after contains NaN"):
            compared(after=gap, model=model)
    with pytest.raises(ValueError, match=r"^the columns of after are .*'c0'\] is missing"):
        compared(before, after[names[1:]], named)
    with pytest.raises(TypeError, match="before is a data frame of pandas, after one of polars"):
        compared(before, pl.DataFrame(after), named)


def test_numbers_of_two_types_are_pooled():
    before, after = (pl.DataFrame(table.round(), schema=list("abcd")) for table in (BEFORE, AFTER))
    plain = compared(before, after, n_permutations=0)
    whole = compared(before.cast(pl.Int64), after, n_permutations=0)
    np.testing.assert_array_equal(whole.contributions, plain.contributions)


def test_errors_are_those_of_one_number():
    targets = {"y_before": Y_BEFORE, "y_after": Y_AFTER}
    with pytest.raises(UnsupportedModelError, match="is a classifier"):
        compared(model=SVC().fit(X[:80], np.arange(80) % 2), **targets)
    two = KernelRidge(kernel="rbf").fit(X[:80], np.column_stack([Y, Y])[:80])
    with pytest.raises(UnsupportedModelError, match="one output, and this one has 2"):
        compared(model=two, **targets)
    with pytest.raises(ValueError, match="neutral removal"):
        compared(model=pkex.Explainer(MODEL, removal="neutral"), **targets)


def test_columns_without_a_name_to_find_them_by():
    first, second = (pd.DataFrame(BEFORE, columns=list(names)) for names in ("abcd", "bacd"))
    with pytest.raises(ValueError, match="the model has no names to find them by"):
        pkex.change(pkex.Explainer(MODEL), first, second)
