"""Conditional values beside enumeration with the Gaussian mean in closed form, and beside draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pkex
from pkex import kernels
from tests._support import conditional_games as naive
from tests._support.conditional_models import correlated, expansion, problem

BLOCKS = {
    2: [[0, 1]],
    5: [[0, 3], [1, 2]],
    8: [[0, 5, 6], [1, 2, 3, 4, 7]],
}


def oracle(f, x, lengths, model, groups=None, weight=None):
    worth = naive.gaussian_worth(x, f.points, f.alpha, lengths, *model)
    groups = groups or [(k,) for k in range(len(lengths))]
    values, base = naive.semivalues(worth, groups, weight)
    return values, base + f.intercepts


@pytest.mark.parametrize("n_columns", [2, 5, 8])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_blocks_are_those_of_enumeration(n_columns, n_outputs):
    rng = np.random.default_rng(37)
    rows, lengths, f, X = problem(n_columns, n_outputs)
    blocks = BLOCKS[n_columns]
    alone = sorted(set(range(n_columns)) - {k for block in blocks for k in block})
    weights = rng.uniform(0.5, 2.0, size=len(rows))
    explainer = pkex.Explainer(
        f, rows, removal="conditional", blocks=blocks, background_weights=weights
    )
    explanation = explainer(X)
    model = naive.block_covariance(rows, blocks, weights)
    for i, x in enumerate(X[:1]):
        expected = np.zeros((n_columns, n_outputs))
        base = np.zeros(n_outputs)
        # a column that stands alone has the value of a background row, with the others Gaussian
        scenarios = rows if alone else rows[:1]
        shares = weights / weights.sum() if alone else np.ones(1)
        for share, row in zip(shares, scenarios, strict=True):
            values, at = _with_alone(f, x, row, lengths, model, alone)
            expected += share * values
            base += share * at
        assert_allclose(explanation.values[i].reshape(n_columns, -1), expected, atol=1e-12)
        assert_allclose(explanation.base_values[i].reshape(-1), base, atol=1e-12)
    assert_allclose(explanation.predictions, f.predict(X), atol=1e-12)
    assert explanation.blocks == tuple(tuple(f"x{k}" for k in block) for block in blocks)


def _with_alone(f, x, row, lengths, model, alone):
    """Return the values where columns that stand alone are those of one row when removed."""
    mean, covariance = model
    mean, covariance = mean.copy(), covariance.copy()
    mean[alone] = row[alone]
    covariance[alone] = covariance[:, alone] = 0.0
    gaussian = naive.gaussian_worth(x, f.points, f.alpha, lengths, mean, covariance)
    values, base = naive.semivalues(gaussian, [(k,) for k in range(len(lengths))])
    return values, base + f.intercepts


@pytest.mark.parametrize("n_columns", [1, 2, 5, 8])
def test_chains_are_those_of_enumeration(n_columns):
    rows, lengths, f, X = problem(n_columns, 2)
    explainer = pkex.Explainer(f, rows, removal="conditional", conditional_model="chain")
    explanation = explainer(X)
    model = naive.chain_covariance(rows)
    for i, x in enumerate(X):
        expected, base = oracle(f, x, lengths, model)
        assert_allclose(explanation.values[i], expected, atol=1e-12)
        assert_allclose(explanation.base_values[i], base, atol=1e-12)
    assert explanation.conditional_model == "chain"


@pytest.mark.parametrize("model", ["blocks", "chain"])
@pytest.mark.parametrize(
    ("index", "weight"),
    [
        ("BV", lambda s, d: 0.5 ** (d - 1)),
        (pkex.games.FirstIn(), lambda s, d: float(s == 0)),
        (pkex.games.LastIn(), lambda s, d: float(s == d - 1)),
        (
            pkex.games.BetaShapley(3, 2),
            lambda s, d: (
                math.gamma(s + 2)
                * math.gamma(d - 1 - s + 3)
                / math.gamma(d + 4)
                / (math.gamma(3) * math.gamma(2) / math.gamma(5))
            ),
        ),
    ],
    ids=["Banzhaf", "first", "last", "beta"],
)
def test_semivalues(model, index, weight):
    rows, lengths, f, X = problem(5)
    options: dict[str, Any] = {"blocks": [[0, 1, 2, 3, 4]]} if model == "blocks" else {}
    explainer = pkex.Explainer(
        f, rows, removal="conditional", conditional_model=model, index=index, **options
    )
    given = naive.chain_covariance(rows) if model == "chain" else naive.sample_covariance(rows)
    expected, _ = oracle(f, X[0], lengths, given, weight=weight)
    assert_allclose(explainer(X).values[0], expected[:, 0], atol=1e-12)


def test_groups_are_one_player():
    rows, lengths, f, X = problem(5)
    groups = {"ab": ["x0", "x2"]}
    explainer = pkex.Explainer(
        f, rows, removal="conditional", groups=groups, blocks=[["ab", "x1", "x3", "x4"]]
    )
    assert explainer(X).blocks == (("ab", "x1", "x3", "x4"),)
    expected, _ = oracle(
        f, X[0], lengths, naive.sample_covariance(rows), groups=[(0, 2), (1,), (3,), (4,)]
    )
    assert_allclose(explainer(X).values[0], expected[:, 0], atol=1e-12)


@pytest.mark.parametrize("model", ["blocks", "chain"])
@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Matern([1.5, 2.0, 2.5], nu=1.5),
        kernels.RationalQuadratic([1.5, 2.0, 2.5], alpha=2.0),
        kernels.RBF(2.0).on(0) + 0.5 * kernels.RBF(1.5).on(1, 2),
        kernels.RBF(2.0) * kernels.RBF(3.0).on(1),
    ],
    ids=["Matern", "RQ", "sum", "product"],
)
def test_mixtures_and_sums_of_gaussians(model, kernel):
    """The mean of a coalition by Gauss-Hermite quadrature of the model's own predictions."""
    rows = correlated(60, 3)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    f, x = expansion(rows[:6], None, kernel=kernel), rows[30]
    options: dict[str, Any] = {"blocks": [[0, 1, 2]]} if model == "blocks" else {}
    explainer = pkex.Explainer(
        f, rows, removal="conditional", conditional_model=model, tol=None, **options
    )
    given = naive.chain_covariance(rows) if model == "chain" else naive.sample_covariance(rows)
    nodes, shares = np.polynomial.hermite_e.hermegauss(48)
    shares /= shares.sum()

    def worth(inside):
        outside = np.flatnonzero(~inside)
        if not len(outside):
            return f.predict(x[None])[0]
        mean, covariance = naive.condition(given[0], given[1], x, inside)
        grid = np.stack(np.meshgrid(*[nodes] * len(outside), indexing="ij"), -1)
        weights = np.ones(1)
        for _ in outside:
            weights = np.multiply.outer(weights, shares)
        places = np.tile(x, (weights.size, 1))
        drawn = grid.reshape(-1, len(outside)) @ np.linalg.cholesky(covariance).T + mean
        places[:, outside] = drawn
        return weights.ravel() @ f.predict(places)

    expected, _ = naive.semivalues(worth, [(0,), (1,), (2,)])
    # a Matern kernel has a kink, which Gauss-Hermite meets slowly
    rough = isinstance(kernel, kernels.Matern)
    assert_allclose(explainer(x[None]).values[0], expected, atol=2e-3 if rough else 1e-9)


@pytest.mark.parametrize("model", ["blocks", "chain"])
def test_draws(model):
    """A few thousand draws here; `test_a_million_draws` has many more."""
    _compare_with_draws(model, 4, 20_000, 5.0)


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["blocks", "chain"])
def test_a_million_draws(model):
    _compare_with_draws(model, 6, 1_000_000, 5.0)


def _compare_with_draws(model, n_columns, n_draws, sigmas):
    rng = np.random.default_rng(37)
    rows, _, f, X = problem(n_columns)
    every = list(range(n_columns))
    options: dict[str, Any] = {"blocks": [every]} if model == "blocks" else {}
    explainer = pkex.Explainer(f, rows, removal="conditional", conditional_model=model, **options)
    given = naive.chain_covariance(rows) if model == "chain" else naive.sample_covariance(rows)
    worth = naive.drawn_worth(X[0], f.predict, given[0], given[1], rng, n_draws)
    expected, _ = naive.semivalues(worth, [(k,) for k in every])
    spread = f.predict(rows).std() / math.sqrt(n_draws)
    assert_allclose(explainer(X).values[0], expected, atol=sigmas * spread)


def test_values_add_up_in_200_columns():
    rows = np.concatenate(
        [correlated(80, 6, seed) for seed in range(300, 333)] + [correlated(80, 2)], axis=1
    )
    blocks = [list(range(k, min(k + 6, 200))) for k in range(0, 200, 6)]
    f = expansion(rows[:40], 8.0 * rows.std(axis=0))
    explanation = pkex.Explainer(f, rows, removal="conditional", blocks=blocks)(rows[50:53])
    total = explanation.base_values + explanation.values.sum(axis=1)
    assert_allclose(total, f.predict(rows[50:53]), rtol=0, atol=1e-11)
    assert float(np.abs(explanation.error_bound).max()) < 1e-6


def test_independent_columns_have_values_of_product_of_marginals():
    rng = np.random.default_rng(37)
    rows = rng.normal(size=(300, 6))
    for kernel in (kernels.RBF(2.0), kernels.Laplacian(2.0), kernels.Polynomial(3)):
        f = expansion(rows[:20], None, kernel=kernel)
        conditional = pkex.Explainer(f, rows, removal="conditional")(rows[:3])
        product = pkex.Explainer(f, rows, removal="product-of-marginals")(rows[:3])
        assert conditional.blocks == ()
        assert "product-of-marginals" in conditional.notes[0]
        assert_allclose(conditional.values, product.values, rtol=0, atol=0)


def test_notes_where_no_block_is_left():
    """They do not say that nothing depends where the user asked for independence, or it is weak."""
    rng = np.random.default_rng(37)
    rows = correlated(500, 3)
    f = expansion(rows[:20], np.full(3, 5.0))
    for blocks in ([], [[0]]):
        asked = pkex.Explainer(f, rows, removal="conditional", blocks=blocks)(rows[:1])
        assert asked.notes[0].startswith("blocks= has no block of two features")
        assert "All features are treated as independent; the largest linear" in asked.notes[1]
    weak = rng.normal(size=(2000, 3))
    weak[:, 1] += 0.2 * weak[:, 0]
    found = pkex.Explainer(f, weak, removal="conditional")(weak[:1])
    assert found.blocks == ()
    assert found.notes[0].startswith("No two features have a Spearman correlation (or Cramér's V)")
    assert found.notes[1].endswith("(x0 and x1)")
    weak[:, 1] = rng.normal(size=2000)
    weak[0, :2] = 1000.0  # a row that ranks hardly see: both notes are there, and both are true
    far = pkex.Explainer(f, weak, removal="conditional")(weak[:1])
    assert far.notes[0] == found.notes[0]
    assert "largest linear correlation left out is 1.00 (x0 and x1)" in far.notes[1]
    one = pkex.KernelExpansion(rows[:9, :1], np.ones(9), kernels.RBF())
    alone = pkex.Explainer(one, rows[:, :1], removal="conditional")(rows[:1, :1])
    assert len(alone.notes) == 1


def test_single_columns_beside_a_block_take_any_kernel():
    """The factor of a column that stands alone is its mean over the background."""
    rows = correlated(60, 3)
    kernel = kernels.RBF((2.0, 3.0)).on(0, 1) * kernels.Laplacian(2.0).on(2)
    f = expansion(rows[:8], None, kernel=kernel)
    x = rows[20]
    explainer = pkex.Explainer(f, rows, removal="conditional", blocks=[[0, 1]])
    given = naive.block_covariance(rows, [[0, 1]])
    gaussian = naive.condition

    def worth(inside):
        mean, covariance = gaussian(given[0][:2], given[1][:2, :2], x[:2], inside[:2])
        lengths = np.array([2.0, 3.0])
        outside = ~inside[:2]
        factors = naive.mean_of_gaussians(
            f.points[:, :2][:, outside], lengths[outside], mean if outside.any() else [], covariance
        )
        there = (x[:2] - f.points[:, :2])[:, inside[:2]] / lengths[inside[:2]]
        factors = factors * np.exp(-0.5 * np.square(there).sum(axis=1))
        last = rows[:, 2] if not inside[2] else x[2:]
        tent = np.exp(-np.abs(last[:, None] - f.points[:, 2]) / 2.0).mean(axis=0)
        return f.alpha[:, 0] @ (factors * tent)

    expected, _ = naive.semivalues(worth, [(0,), (1,), (2,)])
    assert_allclose(explainer(x[None]).values[0], expected, atol=1e-12)


def test_dependent_columns_are_found():
    rng = np.random.default_rng(37)
    rows = rng.normal(size=(400, 6))
    rows[:, 4] = rows[:, 1] + 0.5 * rng.normal(size=400)
    rows[:, 5] = -rows[:, 4] + rng.normal(size=400)
    explanation = pkex.Explainer(expansion(rows[:30], np.full(6, 2.0)), rows, removal="conditional")
    result = explanation(rows[:1])
    assert result.blocks == (("x1", "x4", "x5"),)
    assert "Gaussian within blocks of dependent features (x1, x4, x5)" in result.background_info
    assert any("base value is the mean prediction under" in note for note in result.notes)


def test_a_causal_copy_shares_and_a_redundant_copy_is_charged():
    """Truth: f uses x0 alone. A near copy has no effect, but knowing it tells of x0."""
    rng = np.random.default_rng(37)
    rows = rng.normal(size=(500, 2))
    rows[:, 1] = 0.95 * rows[:, 0] + math.sqrt(1 - 0.95**2) * rows[:, 1]
    f = pkex.KernelExpansion(rows[:40], rng.normal(size=40), kernels.RBF(1.5).on(0))
    inter = pkex.Explainer(f, rows)(rows[:20]).values
    conditional = pkex.Explainer(f, rows, removal="conditional")(rows[:20]).values
    assert_allclose(inter[:, 1], 0.0, atol=1e-12)
    ratio = np.abs(conditional[:, 1]).mean() / np.abs(conditional[:, 0]).mean()
    assert 0.5 < ratio < 1.0


def test_exact_copies_share_equally_and_rows_off_the_support_are_refused():
    rows = correlated(60, 3)
    rows = np.column_stack([rows, 2.0 * rows[:, 1]])
    f = expansion(rows[:20], np.array([2.0, 2.0, 2.0, 4.0]))
    explainer = pkex.Explainer(f, rows, removal="conditional", blocks=[[0, 1, 2, 3]])
    values = explainer(rows[:5]).values
    assert_allclose(values[:, 1], values[:, 3], atol=1e-9)
    expected, _ = oracle(f, rows[0], np.array([2.0, 2.0, 2.0, 4.0]), naive.sample_covariance(rows))
    assert_allclose(values[0], expected[:, 0], atol=1e-9)
    other = rows[:3].copy()
    other[1, 3] += 1.0
    with pytest.raises(ValueError, match=r"row 1 is impossible.*'x1', 'x3' determine each other"):
        explainer(other)
    chain = pkex.Explainer(
        expansion(rows[:20, [1, 3]], np.array([2.0, 4.0])),
        rows[:, [1, 3]],
        removal="conditional",
        conditional_model="chain",
    )
    chain(rows[:2, [1, 3]])
    with pytest.raises(ValueError, match=r"row 1 is impossible.*'x0', 'x1' determine each other"):
        chain(other[:, [1, 3]])


def test_constant_columns():
    rows = correlated(60, 3)
    rows[:, 1] = 4.0
    f = expansion(rows[:20], np.full(3, 2.0))
    for options in ({"blocks": [[0, 1, 2]]}, {"conditional_model": "chain"}):
        explainer = pkex.Explainer(f, rows, removal="conditional", **options)
        assert_allclose(explainer(rows[:3]).values[:, 1], 0.0, atol=1e-12)
        with pytest.raises(ValueError, match=r"row 0 is impossible.*'x1' is constant"):
            explainer(rows[:1] + 1.0)


def test_pipelines_are_conditioned_in_the_columns_that_the_kernel_sees():
    X = pd.DataFrame(correlated(100, 4), columns=list("abcd"))
    y = X["a"] + X["b"] ** 2
    scaler = StandardScaler().fit(X)
    whole = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")).fit(X, y)
    last = KernelRidge(kernel="rbf").fit(scaler.transform(X), y)
    blocks = [[0, 1, 2]]
    for options in ({"blocks": blocks}, {"conditional_model": "chain"}):
        one = pkex.Explainer(whole, X, removal="conditional", **options)(X[:4])
        other = pkex.Explainer(last, scaler.transform(X), removal="conditional", **options)
        assert_allclose(one.values, other(scaler.transform(X[:4])).values, atol=1e-9)


def test_categories_have_the_empirical_conditional():
    """A block of two categories: means over the background rows with the same category."""
    rng = np.random.default_rng(37)
    codes = rng.integers(0, 3, size=(200, 2)).astype(float)
    codes[:150, 1] = codes[:150, 0]  # dependent
    rows = np.column_stack([codes, rng.normal(size=200)])
    kernel = kernels.Categorical(0.3).on(0, 1) * kernels.RBF(1.0).on(2)
    f = expansion(rows[:30], None, kernel=kernel)
    x = rows[180]
    explanation = pkex.Explainer(f, rows, removal="conditional")(x[None])
    assert explanation.blocks == (("x0", "x1"),)

    def worth(inside):
        same = [rows[:, k] == x[k] for k in range(2) if inside[k]]
        chosen = rows[np.logical_and.reduce(same)] if same else rows
        total = np.zeros(len(f.points))
        tail = rows[:, 2] if not inside[2] else x[2:]
        last = np.exp(-0.5 * np.square(tail[:, None] - f.points[:, 2])).mean(axis=0)
        for row in chosen[:, :2]:
            code = np.where(inside[:2], x[:2], row)
            total += np.where(code == f.points[:, :2], 1.0, 0.3).prod(axis=1) / len(chosen)
        return f.alpha[:, 0] @ (total * last)

    expected, _ = naive.semivalues(worth, [(0,), (1,), (2,)])
    assert_allclose(explanation.values[0], expected, atol=1e-12)
    never = x[None].copy()
    never[0, 0] = 7.0
    with pytest.raises(ValueError, match="categories in 'x0' that no row"):
        pkex.Explainer(f, rows, removal="conditional")(never)


def test_infinite_length_scales_and_columns_without_a_factor_tell_of_others():
    rows = correlated(60, 3)
    wide = pkex.KernelExpansion(rows[:10], np.ones(10), kernels.RBF((1.5, 1e200, 2.0)))
    limited = pkex.KernelExpansion(rows[:10], np.ones(10), kernels.RBF((1.5, 2.0)).on(0, 2))
    one, two = (
        pkex.Explainer(f, rows, removal="conditional", blocks=[[0, 1, 2]])(rows[:2]).values
        for f in (wide, limited)
    )
    assert_allclose(one, two, atol=1e-13)
    assert (np.abs(one[:, 1]) > 1e-4).all()


def test_results_do_not_depend_on_threads():
    rows, _, f, _ = problem(8)
    for options in ({"blocks": BLOCKS[8]}, {"conditional_model": "chain"}):
        one, two = (
            pkex.Explainer(f, rows, removal="conditional", n_jobs=n_jobs, **options)(rows)
            for n_jobs in (1, 2)
        )
        assert np.array_equal(one.values, two.values)


def test_saved_and_loaded(tmp_path):
    rows, _, f, X = problem(5)
    explanation = pkex.Explainer(f, rows, removal="conditional", blocks=[[0, 1]])(X)
    explanation.save(tmp_path / "a.npz")
    loaded = pkex.Explanation.load(tmp_path / "a.npz")
    assert loaded.blocks == (("x0", "x1"),)
    assert (loaded.removal, loaded.conditional_model) == ("conditional", "blocks")
    assert loaded.notes == explanation.notes
    explanation.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Gaussian within blocks of dependent features (x0, x1)" in page


def test_influence_and_change_are_supported():
    X = correlated(80, 4)
    y = X[:, 0] + X[:, 1] ** 2
    model = KernelRidge(kernel="rbf", gamma=0.05).fit(X, y)
    explainer = pkex.Explainer(model, X, removal="conditional", blocks=[[0, 1, 2]])
    influence = explainer.influence(X[:2])
    assert influence.values.shape[:2] == (2, 80)
    top = explainer.influence(X[:2], top=3)
    order = np.argsort(-np.abs(influence.values[0]))[:3]
    assert_allclose(top.values[0], influence.values[0][order], atol=1e-9)
    change = pkex.change(explainer, X[:40], X[40:], n_permutations=19)
    means = [explainer(part).values.mean(axis=0) for part in (X[:40], X[40:])]
    assert_allclose(change.contributions, means[1] - means[0], atol=1e-9)


def test_sparse_rows_become_dense():
    rows, _, f, X = problem(5)
    explainer = pkex.Explainer(f, rows, removal="conditional", blocks=[[0, 1]])
    assert_allclose(explainer(csr_array(X)).values, explainer(X).values, atol=0)
