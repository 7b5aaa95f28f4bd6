"""What `Explainer(model)` means without a background: averages over the model's own data.

That the values are those of this game is tested for every model in test_readers.py; here is which
rows it takes, what it says about them, and what the game is good for.
"""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import pkex
from pkex import Explainer, Explanation, KernelExpansion, as_expansion
from pkex.kernels import RBF, Chi2, Linear
from pkex.models.expansion_base import Data
from pkex.models.removal import MAX_ROWS, NEUTRAL_NOTE
from pkex.models.sums import evolve, stack
from pkex.readers import Reading
from tests._support.cases import assert_close
from tests._support.explanations import changed
from tests._support.models import MODELS
from tests._support.models.data import DIABETES, TARGET, TARGETS, X

RNG = np.random.default_rng(5)
POINTS, ROWS = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
ALPHA = RNG.normal(size=12)


def noisy_problem():
    """Return the model of twenty columns of which three matter, as in the issue."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(400, 20))
    y = 2.0 * table[:, 0] + np.sin(2.0 * table[:, 1]) + table[:, 0] * table[:, 2]
    return SVR(C=10.0, gamma=1.0 / 20.0).fit(table, y), table


# --------------------------------------------------------------------------- what it is good for


def test_columns_of_noise_rank_below_those_that_matter():
    model, table = noisy_problem()
    importance = Explainer(model)(table).importance()
    assert set(importance.ranking[:3]) == {0, 1, 2}
    assert importance.values[3:].max() < 0.5 * importance.values[2]
    paper = Explainer(model, removal="neutral")(table).importance()
    assert paper.ranking[:5].tolist() == [0, 14, 3, 2, 1]
    by_centred = np.argsort(-paper.centred)
    assert by_centred[:3].tolist() != paper.ranking[:3].tolist()
    assert set(by_centred[:2]) == {0, 1}


def test_a_pixel_that_is_nearly_always_empty_is_not_important():
    images, digit = load_digits(return_X_y=True)
    chosen = (digit == 3) | (digit == 8)
    images, digit = images[chosen], digit[chosen]
    model = make_pipeline(StandardScaler(), SVC()).fit(images, digit)
    pixel = 55
    assert round(float((images[:, pixel] != 0.0).mean()), 3) == 0.017
    paper = Explainer(model, removal="neutral")(images).importance()
    assert paper.ranking[1] == pixel
    ours = Explainer(model)(images).importance()
    assert list(ours.ranking).index(pixel) > 35


def test_the_values_are_near_those_over_training_rows():
    """For a machine whose points are its training rows, as close as columns are independent."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 8))
    y = table[:, 0] * table[:, 1] + np.sin(2.0 * table[:, 2])
    model = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1).fit(table, y)
    rows = rng.normal(size=(50, 8))
    ours, theirs = Explainer(model)(rows).values, Explainer(model, table[:100])(rows).values
    paper = Explainer(model, removal="neutral")(rows).values
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.97
    assert np.corrcoef(paper.ravel(), theirs.ravel())[0, 1] < 0.9


def test_support_vectors_are_not_typical_rows():
    """Base values over them lie near the boundary, and the result says so."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2000, 5))
    score = table[:, 0] + 0.3 * rng.normal(size=2000)
    rare = SVC().fit(table, score > np.quantile(score, 0.95))
    own, typical = Explainer(rare), Explainer(rare, table[::10])
    mean = rare.decision_function(table).mean()
    assert 0.5 * mean < own.expected_value < 0.0
    assert abs(typical.expected_value - mean) < 0.1
    signs = [np.sign(e(table[:500]).values[:, 0]) for e in (own, typical)]
    assert 0.2 < (signs[0] != signs[1]).mean() < 0.4
    usual = OneClassSVM(nu=0.1).fit(table)
    assert Explainer(usual).expected_value < 0.0 < Explainer(usual, table[::10]).expected_value
    for explain, count in ((own, 188), (Explainer(usual), 214)):
        assert explain.background_info == (
            f"{count} support vectors (of 2,000 training rows), features treated as independent. "
            "Support vectors may not be representative; pass training rows"
        )


def test_most_rows_are_typical_and_an_unknown_number_may_not_be():
    """Nothing is said of support vectors that are half of the rows or more."""
    rng = np.random.default_rng(0)
    table, vague = rng.normal(size=(300, 2)), "Support vectors may not be representative"
    halves = [OneClassSVM(nu=nu).fit(table) for nu in (0.2, 0.8)]
    assert [2 * len(model.support_) < 300 for model in halves] == [True, False]
    assert [vague in Explainer(model).background_info for model in halves] == [True, False]
    again = [pickle.loads(pickle.dumps(as_expansion(model))) for model in halves]
    assert [vague in Explainer(f).background_info for f in again] == [True, False]
    unknown = Explainer(
        KernelExpansion(POINTS, ALPHA, RBF(), background="support vectors")
    ).background_info
    assert unknown == (
        "12 support vectors, features treated as independent. "
        "Support vectors may not be representative; pass training rows"
    )


# ------------------------------------------------------------------------------- which rows, said


def inside(model):
    """Return the models inside of wrappers, or a Nystroem in front of one."""
    if hasattr(model, "estimators_"):
        return [one for estimator in model.estimators_ for one in inside(estimator)]
    for attribute in ("best_estimator_", "regressor_"):
        model = getattr(model, attribute, model)
    model = model.estimator if isinstance(model, FrozenEstimator) else model
    if hasattr(model, "calibrated_classifiers_"):
        model = model.calibrated_classifiers_[0].estimator
        model = model.estimator if isinstance(model, FrozenEstimator) else model
    while hasattr(model, "steps"):
        found = [step for _, step in model.steps if isinstance(step, Nystroem)]
        model = found[0] if found else model.steps[-1][1]
    return [model]


def kind_of(model):
    """Return what the points of a model are."""
    if isinstance(model, Nystroem):
        return "landmarks"
    return "support vectors" if hasattr(model, "support_vectors_") else "training points"


def span(counts):
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


@pytest.mark.parametrize("case", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore:.*combines columns")
def test_every_model_says_which_rows_it_took(case):
    with case.quiet():
        model = as_expansion(case.model(), **case.given) if case.given else case.model()
        if not case.own_data:
            with pytest.raises(ValueError, match=r"finds none in this model.*pass some rows"):
                Explainer(model)
            return
        explain = Explainer(model)
    assert explain.removal == "product-of-marginals"
    machines = inside(case.model())
    kind, counts = kind_of(machines[0]), {len(m.points) for m in case.machines(case.model())}
    assert f"{span(counts)} {kind}" in explain.background_info
    assert "features treated as independent" in explain.background_info
    vectors = [machine for machine in machines if kind_of(machine) == "support vectors"]
    few = any(2 * len(machine.support_) < machine.shape_fit_[0] for machine in vectors)
    assert ("may not be representative" in explain.background_info) == few
    if vectors:
        fitted = {machine.shape_fit_[0] for machine in vectors}
        assert f"(of {span(fitted)} training rows)" in explain.background_info


def test_at_most_500_rows_whatever_their_order():
    rng = np.random.default_rng(3)
    points, alpha = rng.normal(size=(5000, 3)), rng.normal(size=5000)
    order = rng.permutation(5000)
    first = KernelExpansion(points, alpha, RBF(), background="training points")
    second = KernelExpansion(points[order], alpha[order], RBF(), background="training points")
    found = [Explainer(f) for f in (first, second)]
    assert found[0].background_info == (
        "500 of 5,000 training points, features treated as independent"
    )
    scale = np.abs(alpha).sum()
    assert_close(found[0](points[:3]).values, found[1](points[:3]).values, 1e-14 * scale)
    taken = [part.background.rows for e in found for part in e.problem.games]
    assert np.array_equal(taken[0], taken[1])
    assert len(taken[0]) == MAX_ROWS
    assert {tuple(row) for row in taken[0]} <= {tuple(row) for row in points}
    passed = Explainer(first, taken[0], removal="product-of-marginals")(points[:3])
    assert np.array_equal(passed.values, found[0](points[:3]).values)
    assert np.abs(taken[0].mean(axis=0)).max() < 0.2  # no end of the sorted rows


@pytest.mark.parametrize("n_rows", [499, 500])
def test_up_to_500_rows_all_are_taken(n_rows):
    points = np.random.default_rng(0).normal(size=(n_rows, 2))
    explain = Explainer(KernelExpansion(points, np.ones(n_rows), RBF()))
    assert explain.background_info == f"{n_rows} points, features treated as independent"


def test_a_hand_made_expansion_takes_its_points_unless_it_says_otherwise():
    plain = KernelExpansion(POINTS, ALPHA, RBF())
    passed = Explainer(plain, POINTS, removal="product-of-marginals")(ROWS).values
    assert np.array_equal(Explainer(plain)(ROWS).values, passed)
    assert np.array_equal(Explainer(plain, removal="product-of-marginals")(ROWS).values, passed)
    named = KernelExpansion(POINTS, ALPHA, RBF(), background="landmarks")
    assert "12 landmarks" in Explainer(named).background_info
    assert np.array_equal(Explainer(named)(ROWS).values, passed)
    other = KernelExpansion(POINTS, ALPHA, RBF(), background=ROWS)
    assert "4 rows" in Explainer(other).background_info
    expected = Explainer(plain, ROWS, removal="product-of-marginals")(ROWS).values
    assert np.array_equal(Explainer(other)(ROWS).values, expected)
    called = KernelExpansion(POINTS, ALPHA, RBF(), background=Data(ROWS, "training points"))
    assert "4 training points" in Explainer(called).background_info
    none = KernelExpansion(POINTS, ALPHA, RBF(), background=None)
    assert none.background is None
    with pytest.raises(ValueError, match=r"finds none in this model.*pass some rows"):
        Explainer(none)


def test_a_single_row_is_said_in_the_singular():
    one = KernelExpansion(POINTS[:1], ALPHA[:1], RBF())
    assert Explainer(one).background_info == "1 point, features treated as independent"


@pytest.mark.parametrize(
    ("background", "error", "words"),
    [
        (ROWS[:, :2], ValueError, "background has 2 columns, but 3"),
        (ROWS[0], ValueError, "background.*two-dimensional"),
        (ROWS * np.nan, ValueError, "background contains NaN"),
        (ROWS[:0], ValueError, "background is empty"),
        ([["a", "b", "c"]], TypeError, "background.*real numbers"),
    ],
)
def test_a_background_of_an_expansion_is_checked(background, error, words):
    with pytest.raises(error, match=words):
        KernelExpansion(POINTS, ALPHA, RBF(), background=background)


def test_a_background_of_an_expansion_must_suit_the_kernel():
    with pytest.raises(ValueError, match="background"):
        KernelExpansion(np.abs(POINTS), ALPHA, Chi2(), background=ROWS - 10.0)


def test_data_do_not_change_with_what_the_user_has():
    mine = ROWS.copy()
    f = KernelExpansion(POINTS, ALPHA, RBF(), background=mine)
    mine[:] = 0.0
    assert np.array_equal(f.background.rows, ROWS)
    with pytest.raises(ValueError, match="read-only"):
        f.background.rows[0, 0] = 1.0


@pytest.mark.parametrize("background", ["training points", ROWS, None])
def test_data_are_carried_through(background):
    f = KernelExpansion(POINTS, ALPHA, RBF(), background=background)
    for again in (evolve(f, intercept=1.0), pickle.loads(pickle.dumps(f))):
        if background is None:
            assert again.background is None
            continue
        assert again.background.kind == f.background.kind
        assert np.array_equal(again.background.rows, f.background.rows)
        assert (again.background.rows is again.points) == isinstance(background, str)
    stacked = stack([f, f], ["a", "b"]).parts[0]
    assert (stacked.background is None) == (background is None)


def test_the_same_data_are_joined_and_others_kept_apart():
    first = KernelExpansion(POINTS, ALPHA, RBF(), background="training points")
    second = KernelExpansion(POINTS, -ALPHA, RBF(), background="training points")
    joined = stack([first, second], ["a", "b"])
    assert isinstance(joined, KernelExpansion)
    assert np.array_equal(joined.background.rows, POINTS)
    other = KernelExpansion(POINTS[:5], ALPHA[:5], RBF(), background="training points")
    apart = stack([first, other], ["a", "b"])
    assert len(apart.parts) == 2
    explain = Explainer(apart)
    assert explain.background_info == (
        "5 to 12 training points, for each of 2 parts, features treated as independent"
    )
    values = explain(ROWS).values
    for k, alone in enumerate((first, other)):
        assert_close(values[..., k], Explainer(alone)(ROWS).values, 1e-14 * np.abs(ALPHA).sum())


@pytest.mark.parametrize("gamma", [0.3, "scale"])
def test_an_output_of_a_wrapper_has_the_values_of_its_own_estimator(gamma):
    model = MultiOutputRegressor(SVR(gamma=gamma, epsilon=20.0)).fit(DIABETES, TARGETS)
    assert len({len(each.support_) for each in model.estimators_}) == 2
    values = Explainer(model)(DIABETES[:5]).values
    for k, estimator in enumerate(model.estimators_):
        alone = Explainer(estimator)(DIABETES[:5].to_numpy()).values
        assert_close(values[..., k], alone, 1e-13 * np.abs(estimator.dual_coef_).sum())


def test_the_rows_of_a_pipeline_are_as_prepared():
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1))
    model.fit(DIABETES, TARGET)
    own = Explainer(model)(DIABETES[:4])
    passed = Explainer(model, DIABETES, removal="product-of-marginals")(DIABETES[:4])
    assert_close(own.values, passed.values, 1e-12 * np.abs(model[-1].dual_coef_).sum())
    assert "60 training points" in own.background_info
    assert "60 rows" in passed.background_info


def test_linear_machines_work_by_default():
    model = SVR(kernel="linear", C=20.0).fit(X, TARGET)
    slopes, mean = model.coef_[0], model.support_vectors_.mean(axis=0)
    found = Explainer(model)(X[:5])
    assert_close(found.values, (X[:5] - mean) * slopes, 1e-10)
    assert_close(found.base_values, mean @ slopes + model.intercept_[0], 1e-10)


def test_a_constant_model_needs_no_data():
    model = SVR().fit(DIABETES, TARGET / 10_000.0)
    explain = Explainer(model)
    assert explain.background_info == "none needed; the model is constant"
    assert not explain(DIABETES[:2]).values.any()


def test_a_reading_carries_its_data():
    model = GaussianProcessRegressor(gp.RBF(0.1), alpha=0.5, optimizer=None).fit(X, TARGET)
    reading = pkex.readers.read(model)
    (data,) = reading.background
    assert data.kind == "training points"
    assert np.array_equal(data.rows, X)
    unsaid = Reading(KernelExpansion(POINTS, ALPHA, RBF()), model.predict)
    assert unsaid.background == (None,)
    two = stack([as_expansion(model), KernelExpansion(X, np.ones(60), RBF())], ["a", "b"])
    kinds = [data and data.kind for data in Reading(two, model.predict).background]
    assert kinds == ["training points", None]


# ----------------------------------------------------------------------------------------- words


EXPANSION = KernelExpansion(POINTS, ALPHA, RBF(2.0), 0.5)
WORDS: dict[str, dict[str, Any]] = {
    "12 points, features treated as independent": {},
    "4 rows (interventional)": {"background": ROWS},
    "4 weighted rows (interventional)": {
        "background": ROWS,
        "background_weights": [1.0, 2.0, 1.0, 1.0],
    },
    "1 row (interventional)": {"background": ROWS[:1]},
    "4 rows, features treated as independent": {
        "background": ROWS,
        "removal": "product-of-marginals",
    },
    "none; the kernel factor of a removed feature is 1 (neutral)": {"removal": "neutral"},
}


@pytest.mark.parametrize("words", WORDS)
def test_every_result_says_what_an_absent_feature_is(words, tmp_path):
    options = WORDS[words]
    explanation = Explainer(EXPANSION, **options)(ROWS)
    explanation.save(tmp_path / "file.npz")
    explanation.report(tmp_path / "report.html")
    neutral = options.get("removal") == "neutral"
    for one in (
        explanation,
        explanation[1:, "x1"],
        Explanation.load(tmp_path / "file.npz"),
        pickle.loads(pickle.dumps(explanation)),
    ):
        assert one.background_info == words
        assert one.notes == ([NEUTRAL_NOTE] if neutral else [])
        for text in (repr(one), one._repr_html_()):
            assert f"background: {words}" in text
            assert ("Neutral values include a constant offset" in text) == neutral
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"Background: {words}." in page
    assert ("Neutral values include a constant offset" in page) == neutral


def test_an_explanation_that_does_not_know_says_nothing():
    made = Explainer(EXPANSION)(ROWS)
    unknown = changed(made, background_info=None)
    assert "background: 12" not in repr(unknown) + unknown._repr_html_()


def test_importance_is_also_given_centred():
    for removal in (None, "neutral"):
        explanation = Explainer(EXPANSION, removal=removal)(ROWS)
        importance = explanation.importance()
        values = explanation.values
        expected = np.abs(values - values.mean(axis=0)).mean(axis=0)
        assert_close(importance.centred, expected, 1e-15)
        assert importance.neutral == (removal == "neutral")
        assert ("centred" in repr(importance)) == importance.neutral
        frame = importance.to_frame()
        extra = ["centred"] if importance.neutral else []
        assert list(frame) == ["importance", "standard_error", *extra]
        if importance.neutral:
            assert np.array_equal(frame["centred"], importance.centred[importance.ranking])
        shown = repr(importance).splitlines()[1]
        number = f"{importance.centred[importance.ranking[0]]:.4g}"
        assert bool(re.search(rf"\s{re.escape(number)}$", shown)) == importance.neutral


def test_a_linear_kernel_without_data_is_not_sent_to_neutral_removal():
    f = KernelExpansion(POINTS, ALPHA, Linear(), background=None)
    with pytest.raises(ValueError, match="pass some rows") as caught:
        Explainer(f)
    assert "neutral" not in str(caught.value)
