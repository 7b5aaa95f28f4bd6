"""The table of the page "Correlated features": every cell is tried, as the page has it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as process_kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex import Explainer, KernelExpansion, kernels
from pkex.errors import UnsupportedModelError

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "correlated_features.md"
WAYS = {
    "`hierarchy=`": {"hierarchy": [["x0", "x1"], "x2"]},
    '`"blocks"`': {"removal": "conditional", "blocks": [["x0", "x1"]]},
    '`"chain"`': {"removal": "conditional", "conditional_model": "chain"},
}
RNG = np.random.default_rng(34)
NAMES = ["x0", "x1", "x2", "x3"]
TABLE = RNG.normal(size=(60, 4)) + [1.0, 1.0, 0.0, 0.0] * RNG.normal(size=(60, 1))
X = pd.DataFrame(TABLE, columns=NAMES)
Y = np.sin(TABLE[:, 0]) + TABLE[:, 2] ** 2
RIDGE = KernelRidge(kernel="rbf", gamma=0.1).fit(X, Y)
PROCESS = GaussianProcessRegressor(process_kernels.RBF(3.0), alpha=0.1, optimizer=None).fit(X, Y)


def expansion(kernel, n_outputs=1):
    alpha = RNG.normal(size=(12, n_outputs))
    return KernelExpansion(TABLE[:12], alpha, kernel, feature_names=NAMES)


def with_kernel(*choices, **more):
    """Explain models of these kernels; single columns are given no block where `more` says so.

    Where one is refused, all are.
    """

    def call(way):
        options = {**way, **(more if "blocks" in way else {})}
        answers, refusals = [], []
        for each in choices:
            try:
                answers.append(Explainer(expansion(each), X, **options)(X[:2]).values)
            except (ValueError, UnsupportedModelError) as error:
                refusals.append(error)
        assert not (answers and refusals)
        if refusals:
            raise refusals[0]
        return answers

    return call


def explained(model=RIDGE, rows=None, **options):
    return lambda way: Explainer(model, X, **way, **options)(X[:2] if rows is None else rows).values


def asked(question, model=RIDGE):
    return lambda way: question(Explainer(model, X, **way))


def categories(way):
    cells = np.repeat(np.array(["low", "high"]), 30)
    frame = X.assign(x0=cells, x1=cells[::-1])[["x0", "x1"]].assign(x1=cells)
    model = make_pipeline(OneHotEncoder(), KernelRidge(kernel="rbf")).fit(frame, Y)
    way = {**way, **({"hierarchy": [["x0", "x1"]]} if "hierarchy" in way else {})}
    return Explainer(model, frame, **way)(frame[:2]).values


def numbers_and_categories(way):
    from sklearn.compose import make_column_transformer

    frame = X[["x0", "x2"]].assign(x1=np.where(X["x0"] > 0, "a", "b"))[["x0", "x1", "x2"]]
    encode = make_column_transformer((OneHotEncoder(), ["x1"]), remainder="passthrough")
    model = make_pipeline(encode, KernelRidge(kernel="rbf")).fit(frame, Y)
    return Explainer(model, frame, **way)(frame[:2]).values


def pipelines(way):
    model = make_pipeline(StandardScaler(), SVR()).fit(X, Y)
    return Explainer(model, X, **way)(X[:2]).values


def several_outputs(way):
    two = Explainer(expansion(kernels.RBF(2.0), 2), X, **way)(X[:2])
    three = SVC().fit(X, np.digitize(Y, [0.0, 1.0]))
    classes = Explainer(three, X, **way)(X[:2])
    assert (two.values.shape[2], classes.values.shape[2]) == (2, 3)
    return [two.values, classes.values]


def grouped(way):
    names = {"hierarchy": [["pair", "x2"], "x3"], "blocks": [["pair", "x2"]]}
    way = {key: names.get(key, value) for key, value in way.items()}
    return Explainer(RIDGE, X, groups={"pair": ["x0", "x1"]}, **way)(X[:2]).values


def sparse_rows(way):
    model = SVR().fit(csr_array(TABLE), Y)
    way = {**way, **({"hierarchy": [[0, 1], 2]} if "hierarchy" in way else {})}
    way = {**way, **({"blocks": [[0, 1]]} if "blocks" in way else {})}
    found = Explainer(model, csr_array(TABLE), **way)(csr_array(TABLE[:2]))
    return found if isinstance(found, pkex.SparseExplanation) else found.values


def kept(way, tmp_path):
    explanation = Explainer(RIDGE, X, **way)(X[:3])
    explanation.save(tmp_path / "e.npz")
    explanation.report(tmp_path / "r.html")
    loaded = pkex.Explanation.load(tmp_path / "e.npz")
    assert (loaded.hierarchy, loaded.blocks) == (explanation.hierarchy, explanation.blocks)
    explanation.plot.bar()
    explainer = Explainer(RIDGE, X, **way)
    return [loaded.values, explainer.shap_values(X[:2]), explainer.explain_frame(X[:2]).to_numpy()]


def draws(explainer):
    return explainer.importance(X[:9], n_draws=20).draws


ROWS = {
    "RBF, Matern and RationalQuadratic kernels, sums and products of them": with_kernel(
        kernels.RBF(2.0),
        kernels.Matern(2.0),
        kernels.RationalQuadratic(2.0),
        kernels.RBF(2.0) + kernels.RBF(1.0).on(0) * kernels.RBF(1.0).on(1),
    ),
    "other kernels that factor over features (Laplacian, Linear, ...)": with_kernel(
        kernels.Laplacian(2.0), kernels.Linear()
    ),
    "these, where no features depend on each other": with_kernel(kernels.Laplacian(2.0), blocks=[]),
    "Polynomial kernels": with_kernel(kernels.Polynomial(3)),
    "Polynomial kernels, where no features depend on each other": with_kernel(
        kernels.Polynomial(3), blocks=[]
    ),
    "several outputs, classifiers": several_outputs,
    "`groups=`": grouped,
    "categories that depend on each other": categories,
    "a number and a category that depend on each other": numbers_and_categories,
    "pipelines": pipelines,
    "Banzhaf, Beta and other semivalues (`index=`)": explained(index="BV"),
    "`tol=`": explained(PROCESS, tol=1e-3),
    "sparse rows": sparse_rows,
    "`explain_frame`, `shap_values`, plots, reports, save and load": kept,
    "`importance`": asked(lambda e: e.importance(X[:9]).values),
    "`importance(n_draws=)`": asked(draws, PROCESS),
    "`return_std`, `return_cov`": asked(lambda e: e(X[:2], return_std=True).std, PROCESS),
    "`explain_variance`": asked(lambda e: e.explain_variance(X[:2]).values, PROCESS),
    "`interactions`, `shap_interaction_values`": asked(lambda e: e.interactions(X[:2]).values),
    "`loss`": asked(lambda e: e.loss(X[:2], Y[:2]).values),
    "`effects`": asked(lambda e: e.effects(["x0"]).average[0]),
    "`gradients`": asked(lambda e: e.gradients(X[:2]).values),
    "`integrated_gradients`": asked(lambda e: e.integrated_gradients(X[:2]).values),
    "`influence`, `leave_one_out`": asked(
        lambda e: [e.influence(X[:2]).values, e.leave_one_out().predictions]
    ),
    "`change` of predictions": asked(
        lambda e: pkex.change(e, X[:30], X[30:], n_permutations=0).contributions
    ),
    "`change` of losses": asked(
        lambda e: (
            pkex.change(
                e, X[:30], X[30:], y_before=Y[:30], y_after=Y[30:], n_permutations=0
            ).contributions
        )
    ),
}


def page_rows():
    """Return the cells of each row of the table; the first has the names of the columns."""
    text = PAGE.read_text(encoding="utf-8").split("## What goes with them\n")[1].split("\n## ")[0]
    lines = [line.strip("| \n") for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"\s\|\s?", line)] for line in lines]
    return {row[0]: row[1:] for row in cells[2:]}


def test_the_table_has_the_rows_that_are_tried():
    elsewhere = "Dask data frames and arrays"  # tests/cluster/test_hierarchies.py
    assert [row for row in page_rows() if row != elsewhere] == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("column", range(3), ids=list(WAYS))
def test_a_cell_is_true(row, column, tmp_path):
    cell, way = page_rows()[row][column], dict(list(WAYS.values())[column])
    call = ROWS[row]
    if call is kept:
        values = kept(way, tmp_path)
    elif cell == "no":
        refused = ValueError, UnsupportedModelError
        with pytest.raises(refused, match=r"support|[Uu]se |[Ll]eave out") as caught:
            call(way)
        assert len(str(caught.value)) > 60  # a sentence, with what to do
        return
    else:
        values = call(way)
    if cell == "stay sparse":
        assert isinstance(values, pkex.SparseExplanation)
        return
    assert cell in ("yes", "become dense")
    for each in values if isinstance(values, list) else [values]:
        assert np.isfinite(np.asarray(each, dtype=float)).all()
