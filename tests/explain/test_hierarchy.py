"""Explanations under a hierarchy: every kernel and removal, and what goes with them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer, Explanation, KernelExpansion
from pkex.games import Ordered
from pkex.kernels import RBF, Laplacian, Polynomial
from tests._support.cases import KERNELS, Case, alone, assert_close
from tests._support.hierarchies import by_orders, random_tree
from tests._support.removal_games import (
    CASES,
    ORACLES,
    interventional,
    magnitude,
    marginal,
    problem,
)

RNG = np.random.default_rng(34)
POWERS = [
    Case("cube", lambda s, p: Polynomial(3, 0.7, 0.4), unit=False),
    Case("square-plus-rbf", lambda s, p: Polynomial(2, 0.5, -1.0) + RBF(s, columns=p), unit=False),
]
COLUMNS = ["a", "b", "c", "d", "e"]
TREE = {"first": ["a", "b"], "second": ["c", {"inner": ["d", "e"]}]}
X = RNG.normal(size=(40, 5)) @ (np.eye(5) + 0.5)
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
FRAME = pd.DataFrame(X, columns=COLUMNS)
MODEL = SVR(C=3.0, gamma=0.2).fit(FRAME, Y)


def fixed_tree(name, d):
    return random_tree(np.random.default_rng(len(name)), range(d))


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
@pytest.mark.parametrize("case", [*CASES, *POWERS], ids=str)
def test_values_are_means_over_admitted_orders(case, removal):
    expansion, rows, background, _ = problem(case, 4, 3)
    tree = fixed_tree(case.name, 4)
    explanation = Explainer(expansion, background, removal=removal, hierarchy=tree, n_jobs=1)(rows)
    powers = case in POWERS
    size = 1e3 if powers else magnitude(expansion, rows, background)
    shares = np.full(3, 1.0 / 3.0)
    for i, row in enumerate(rows):
        args = expansion.predict, row, background, shares, alone(4)
        values, base = ORACLES[removal](*args, attribute=by_orders(tree))
        assert_close(explanation.values[i], values, 1e-13 * size)
        assert_close(explanation.base_values[i], base, 1e-13 * size)
        assert np.abs(explanation.values[i] - values).max() <= explanation.error_bound[i] + 1e-14


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_neutral_values_are_means_over_admitted_orders(case):
    expansion, rows, _, _ = problem(case, 4, 1)
    tree, d = fixed_tree(case.name, 4), 4
    explanation = Explainer(expansion, removal="neutral", hierarchy=tree, n_jobs=1)(rows)
    for i, row in enumerate(rows):

        def value(present, row=row):
            total = 0.25
            for term in expansion.kernel.terms(d):
                factors = term.factors(row[None, :], expansion.points)[0]
                product = factors[:, sorted(present)].prod(axis=1)
                total += term.coefficient * product @ expansion.coefficients
            return total

        values, _ = by_orders(tree)(value, d)
        assert_close(explanation.values[i], values, 1e-13 * magnitude(expansion, rows))


def binary():
    return linkage(np.arange(5.0)[:, None] ** 1.7, "average")


@pytest.mark.parametrize("kind", ["Partition", "Exact"])
@pytest.mark.parametrize("several", [False, True])
def test_values_are_those_of_shap(kind, several):
    shap = pytest.importorskip("shap")
    model = MODEL
    if several:
        model = KernelExpansion(X, RNG.normal(size=(40, 2)), RBF(1.5) + 0.5 * Laplacian(2.0))
    background, clustering = X[:4], binary()
    masker = shap.maskers.Partition(background, clustering=clustering)
    predict = model.predict if several else lambda rows: model.predict(as_frame(rows))
    theirs = getattr(shap.explainers, kind)(predict, masker)(X[:2], max_evals=2**12)
    ours = Explainer(model, background, hierarchy=clustering)(X[:2] if several else FRAME[:2])
    assert_close(ours.values, theirs.values, 1e-9 * np.abs(ours.values).max())
    read = Explainer(model, masker)(X[:2] if several else FRAME[:2])
    assert_array_equal(read.values, ours.values)
    assert read.hierarchy == ours.hierarchy


def as_frame(rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def test_partition_has_a_hierarchy_already():
    shap = pytest.importorskip("shap")
    with pytest.raises(ValueError, match="leave out hierarchy"):
        Explainer(MODEL, shap.maskers.Partition(X[:9]), hierarchy=TREE)


def test_to_shap_carries_the_clustering():
    shap = pytest.importorskip("shap")
    explanation = Explainer(MODEL, X[:7], hierarchy=binary())(FRAME[:3])
    carried = explanation.to_shap()
    assert_allclose(carried.clustering, np.stack([binary()] * 3))
    assert isinstance(carried, shap.Explanation)
    theirs = shap.explainers.Exact(
        lambda rows: MODEL.predict(as_frame(rows)),
        shap.maskers.Partition(X[:7], clustering=binary()),
    )(X[:3])
    assert_allclose(carried.clustering, theirs.clustering)
    nested = Explainer(MODEL, X[:7], hierarchy=[["a", "b", "c"], ["d", "e"]])(FRAME[:3])
    assert not hasattr(nested.to_shap(), "clustering") or nested.to_shap().clustering is None
    with pytest.raises(ValueError, match="no index for Winter values"):
        explanation.to_shapiq(0)


@pytest.mark.parametrize("several", [False, True])
def test_the_bar_plot_of_shap_draws_the_clustering(several):
    """The lines of the tree are drawn in grey beside the bars, of several rows and of one."""
    shap, plt = pytest.importorskip("shap"), pytest.importorskip("matplotlib.pyplot")
    heights = binary()
    heights[:, 2] /= heights[:, 2].max()  # between 0 and 1, as shap's cutoff is
    carried = Explainer(MODEL, X[:7], hierarchy=heights)(FRAME[:3]).to_shap()
    counts = []
    for clustering in (None, False):  # that of the explanation, and none
        figure = plt.figure()
        one = carried if several else carried[0]
        shap.plots.bar(one, clustering=clustering, clustering_cutoff=1.1, show=False)
        counts.append(len(figure.gca().lines))
        plt.close(figure)
    assert counts[0] >= counts[1] + 4


@pytest.mark.parametrize("removal", [None, "interventional", "neutral"])
def test_group_values_are_sums_at_every_level(removal):
    background = X[:8] if removal == "interventional" else None
    explainer = Explainer(MODEL, background, removal=removal, hierarchy=TREE)
    explanation = explainer(FRAME[:6])
    top, lower = explanation.group_values(), explanation.group_values(2)
    assert top.feature_names == ("first", "second")
    assert top.feature_groups == ((0, 1), (2, 3, 4))
    assert lower.feature_names == ("a", "b", "c", "inner")
    assert_allclose(top.values[:, 1], explanation.values[:, 2:].sum(axis=1), atol=1e-14)
    assert_allclose(lower.values[:, 3], explanation.values[:, 3:].sum(axis=1), atol=1e-14)
    assert_allclose(lower.group_values().values, top.values, atol=1e-14)
    assert_allclose(explanation.group_values(3).values, explanation.values)
    assert_allclose(top.predictions, MODEL.predict(FRAME[:6]), atol=1e-12)
    # the groups' own game is that of `groups`, but where single factors are averaged
    groups = {name: COLUMNS[:2] if name == "first" else COLUMNS[2:] for name in TREE}
    grouped = Explainer(MODEL, background, removal=removal, groups=groups)(FRAME[:6])
    if removal is None:
        assert np.abs(grouped.values - top.values).max() > 1e-3
        assert any("averaged one by one" in note for note in explanation.notes)
    else:
        assert_allclose(grouped.values, top.values, atol=1e-12)
        assert not any("averaged one by one" in note for note in explanation.notes)


def test_group_values_need_a_hierarchy_and_a_level():
    explanation = Explainer(MODEL, X[:8], hierarchy=TREE)(FRAME[:2])
    for level in (0, 4, 1.5, True):
        with pytest.raises(ValueError, match="level 1 to 3"):
            explanation.group_values(level)
    with pytest.raises(ValueError, match="a selection of features has no hierarchy"):
        explanation[:, ["a", "c"]].group_values()
    with pytest.raises(ValueError, match="this result has no hierarchy"):
        Explainer(MODEL, X[:8])(FRAME[:2]).group_values()
    turned = explanation[:, ["e", "d", "c", "b", "a"]]
    assert_allclose(
        turned.group_values()[:, "first"].values, explanation.group_values().values[:, :1]
    )


def test_groups_are_features_of_a_hierarchy():
    explainer = Explainer(MODEL, X[:8], groups={"ab": ["a", "b"]}, hierarchy=[["ab", "c"], "d"])
    explanation = explainer(FRAME[:2])
    assert explanation.index == "Owen"
    players = ((0, 1), (2,), (3,), (4,))
    shares = np.full(8, 0.125)
    expected, _ = ORACLES["interventional"](
        lambda rows: MODEL.predict(as_frame(rows)),
        X[0],
        X[:8],
        shares,
        players,
        attribute=by_orders([[0, 1], 2, 3]),
    )
    assert_allclose(explanation.values[0], expected, atol=1e-11)


def test_correlation_puts_copies_together():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 4))
    table = np.column_stack([table, -(table[:, 1] ** 3)])
    expansion = KernelExpansion(table[:30], RNG.normal(size=30), RBF(2.0))
    explainer = Explainer(expansion, table, hierarchy="correlation")
    assert explainer.hierarchy.children[0] == (1, 4)
    assert explainer.hierarchy.heights[0] < 1e-12
    # without a background training points are clustered; support vectors are not
    trained = KernelRidge(kernel="rbf", gamma=0.1).fit(table, table[:, 0])
    assert Explainer(trained, hierarchy="correlation").hierarchy.children[0] == (1, 4)
    with pytest.raises(ValueError, match="pass training rows"):
        Explainer(MODEL, hierarchy="correlation")
    with pytest.raises(ValueError, match="at least 10 rows"):
        Explainer(expansion, table[:5], hierarchy="correlation")


def test_asymmetric_values_follow_the_order():
    order = Ordered([["c"], ["a", "b"], "d", "e"])
    explanation = Explainer(MODEL, X[:8], hierarchy=order)(FRAME[:1])
    assert explanation.index == "asymmetric"
    row, background = X[0], X[:8]

    def mean(columns):
        rows = background.copy()
        rows[:, columns] = row[columns]
        return MODEL.predict(as_frame(rows)).mean()

    assert explanation.values[0, 2] == pytest.approx(mean([2]) - mean([]), abs=1e-12)
    both = explanation.values[0, :2].sum()
    assert both == pytest.approx(mean([0, 1, 2]) - mean([2]), abs=1e-12)
    assert explanation.values[0, 4] == pytest.approx(mean([0, 1, 2, 3, 4]) - mean([0, 1, 2, 3]))


def test_files_keep_the_hierarchy(tmp_path):
    for hierarchy in (TREE, binary(), Ordered(COLUMNS)):
        explanation = Explainer(MODEL, X[:8], hierarchy=hierarchy)(FRAME[:3])
        explanation.save(tmp_path / "e.npz")
        loaded = Explanation.load(tmp_path / "e.npz")
        assert loaded.hierarchy == explanation.hierarchy
        assert_array_equal(loaded.group_values().values, explanation.group_values().values)
        assert repr(loaded) == repr(explanation)
        copied = pickle.loads(pickle.dumps(explanation))
        assert copied.hierarchy == explanation.hierarchy
        joined = Explanation.concat([loaded[:1], explanation[1:]])
        assert_array_equal(joined.values, explanation.values)


# ------------------------------------------------------------------ what is supported, what is not


@pytest.mark.parametrize("index", ["BV", pkex.games.BetaShapley(4, 1)], ids=str)
def test_other_semivalues_are_refused(index):
    with pytest.raises(ValueError, match="leave out index="):
        Explainer(MODEL, X[:8], index=index, hierarchy=TREE)


def test_interactions_and_posteriors_are_refused():
    explainer = Explainer(MODEL, X[:8], hierarchy=TREE)
    for call in (
        lambda: explainer.interactions(FRAME[:1]),
        lambda: explainer.interactions(FRAME[:1], index="SII"),
        lambda: explainer.shap_interaction_values(FRAME[:1]),
    ):
        with pytest.raises(ValueError, match="with a hierarchy is not supported"):
            call()
    process = GaussianProcessRegressor(sklearn_kernels.RBF(2.0), alpha=0.1).fit(X[:20], Y[:20])
    for asked in ("return_std", "return_cov"):
        with pytest.raises(ValueError, match=f"{asked} with a hierarchy"):
            Explainer(process, X[:8], hierarchy=[[0, 1], [2, 3]])(X[:1], **{asked: True})


def test_variances_have_values_of_a_hierarchy():
    process = GaussianProcessRegressor(sklearn_kernels.RBF(2.0), alpha=0.1).fit(X[:12], Y[:12])
    tree, background = [[0, 1], 2, [3, 4]], X[20:23]
    explainer = Explainer(process, background, hierarchy=tree)
    explained = explainer.explain_variance(X[:1], observation_noise=False)
    shares = np.full(3, 1.0 / 3.0)

    def of_mean(present):
        """The variance of the mean prediction over the background rows."""
        rows = background.copy()
        rows[:, sorted(present)] = X[0, sorted(present)]
        _, cov = process.predict(rows, return_cov=True)
        return shares @ cov @ shares

    def mean_of(present):
        rows = background.copy()
        rows[:, sorted(present)] = X[0, sorted(present)]
        return (process.predict(rows, return_std=True)[1] ** 2).mean()

    expected = [by_orders(tree)(value, 5)[0] for value in (of_mean, mean_of)]
    assert min(np.abs(explained.values[0] - one).max() for one in expected) < 1e-9


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
def test_losses_have_values_of_a_hierarchy(removal):
    model = KernelRidge(kernel="rbf", gamma=0.2).fit(X[:15], Y[:15])
    tree, background = [[0, 1], 2, [3, 4]], X[20:22]
    explained = Explainer(model, background, removal=removal, hierarchy=tree).loss(X[:1], [0.7])
    shares = np.full(2, 0.5)

    def square(numbers):
        return (numbers - 0.7) ** 2

    def of_mean(value, n_players):  # the loss of the mean prediction
        return by_orders(tree)(lambda present: square(value(present)), n_players)

    args = X[0], background, shares, alone(5)
    if removal == "interventional":  # the mean of losses
        expected, base = interventional(
            lambda rows: square(model.predict(rows)), *args, attribute=by_orders(tree)
        )
    else:
        expected, base = marginal(model.predict, *args, attribute=of_mean)
    assert_allclose(explained.values[0], expected, atol=1e-10)
    assert_allclose(explained.base_values[0], base, atol=1e-10)


def test_influence_has_values_of_a_hierarchy():
    model = KernelRidge(kernel="rbf", gamma=0.2).fit(X[:15], Y[:15])
    explainer = Explainer(model, X[20:25], hierarchy=[[0, 1], 2, [3, 4]])
    influence = explainer.influence(X[:1], y_train=Y[:15])
    for row in range(3):
        kept = np.arange(15) != row
        other = KernelRidge(kernel="rbf", gamma=0.2).fit(X[:15][kept], Y[:15][kept])
        without = Explainer(other, X[20:25], hierarchy=[[0, 1], 2, [3, 4]])(X[:1])
        change = explainer(X[:1]).values[0] - without.values[0]
        assert_allclose(influence.feature_values[0, row], change, atol=1e-9)


def test_changes_have_values_of_a_hierarchy():
    explainer = Explainer(MODEL, X[:8], hierarchy=TREE)
    change = pkex.change(explainer, FRAME[:15], FRAME[15:], n_permutations=0)
    before, after = explainer(FRAME[:15]), explainer(FRAME[15:])
    expected = after.values.mean(axis=0) - before.values.mean(axis=0)
    assert_allclose(change.contributions, expected, atol=1e-12)


def test_curves_and_gradients_do_not_depend_on_a_hierarchy():
    plain, other = Explainer(MODEL, X[:8]), Explainer(MODEL, X[:8], hierarchy=TREE)
    assert_array_equal(other.effects(["a"]).average[0], plain.effects(["a"]).average[0])
    assert_array_equal(other.gradients(FRAME[:2]).values, plain.gradients(FRAME[:2]).values)
    both = other.integrated_gradients(FRAME[:2]), plain.integrated_gradients(FRAME[:2])
    assert_array_equal(both[0].values, both[1].values)


def test_tol_classes_threads_and_frames():
    labels = (Y > 0).astype(int) + (X[:, 3] > 1.0)
    classifier = SVC(gamma=0.2).fit(FRAME, labels)
    explainer = Explainer(classifier, X[:8], hierarchy=TREE, n_jobs=1)
    explanation = explainer(FRAME)
    assert explanation.values.shape == (40, 5, 3)
    threaded = Explainer(classifier, X[:8], hierarchy=TREE, n_jobs=2)(FRAME)
    assert_array_equal(threaded.values, explanation.values)
    one = Explainer(classifier, X[:8], hierarchy=TREE, tol=1e-3)(FRAME)
    assert_allclose(one.values, explanation.values, atol=1e-12)
    frame = explainer.explain_frame(FRAME[:2])
    assert_array_equal(frame.iloc[:, :5].to_numpy(), explanation.values[:2, :, 0])


def test_a_model_of_sparse_points_explains_dense_rows():
    dense = np.where(X > 0.5, X, 0.0)
    model = SVR(gamma=0.3).fit(scipy.sparse.csr_matrix(dense), Y)
    explainer = Explainer(model, removal="neutral", hierarchy=[[0, 1], [2, 3]])
    explanation = explainer(dense[:3])
    assert isinstance(explanation, Explanation)
    expansion = KernelExpansion(
        dense[model.support_],
        model.dual_coef_.toarray()[0],
        RBF((1 / 0.6) ** 0.5),
        model.intercept_[0],
    )
    same = Explainer(expansion, removal="neutral", hierarchy=[[0, 1], [2, 3]])(dense[:3])
    assert_allclose(explanation.values, same.values, atol=1e-12)
    assert explainer.expected_value == pytest.approx(same.base_values[0])


def test_one_feature_has_its_value():
    one = KernelExpansion([[0.0], [1.0]], [1.0, 2.0], RBF())
    grouped = Explainer(one, hierarchy=[["x0"]])([[0.5]])
    assert_array_equal(grouped.values, Explainer(one)([[0.5]]).values)
    background = np.arange(20.0)[:, None]
    for hierarchy in ("correlation", np.empty((0, 4))):
        clustered = Explainer(one, background, hierarchy=hierarchy)([[0.5]])
        assert_array_equal(clustered.values, Explainer(one, background)([[0.5]]).values)
        assert clustered.index == "SV"
    with pytest.raises(ValueError, match=r"linkage matrix of 1 feature has the shape \(0, 4\)"):
        Explainer(one, background, hierarchy=np.empty((1, 4)))


# ----------------------------------------------------------------------------------- the note


def test_correlated_backgrounds_are_noted():
    explanation = Explainer(MODEL, X)(FRAME[:2])
    (note,) = explanation.notes
    assert "correlated (" in note
    assert "hierarchy= or removal='conditional'" in note
    assert "correlated" in repr(explanation)
    independent = np.random.default_rng(3).normal(size=(100, 5))
    assert Explainer(MODEL, independent)(FRAME[:2]).notes == []
    assert Explainer(MODEL, X, hierarchy=TREE)(FRAME[:2]).notes == []
    assert Explainer(MODEL, X, groups={"all": COLUMNS})(FRAME[:2]).notes == []
    assert Explainer(MODEL, X, background_weights=np.ones(40))(FRAME[:2]).notes == []
    assert Explainer(MODEL)(FRAME[:2]).notes == []  # support vectors


def test_the_note_survives_a_file(tmp_path):
    explanation = Explainer(MODEL, X)(FRAME[:2])
    explanation.save(tmp_path / "e.npz")
    assert Explanation.load(tmp_path / "e.npz").notes == explanation.notes
    assert pickle.loads(pickle.dumps(explanation)).notes == explanation.notes


def test_the_note_is_rare_among_independent_columns():
    """One table in twenty at most, by Holm; of 200, 18 or more have a chance of 1 %."""
    rng, found = np.random.default_rng(0), 0
    expansion = KernelExpansion(rng.normal(size=(5, 6)), np.ones(5), RBF(2.0))
    for _ in range(200):
        background = rng.normal(size=(25, 6))
        found += bool(Explainer(expansion, background)(background[:1]).notes)
    assert found <= 17
