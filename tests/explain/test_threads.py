"""Results do not depend on the number of threads, not in a bit, whatever is explained."""

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import sparse
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import pkex
from pkex.games import covariance, moments, quadratic, sources, sparse_points
from pkex.games.interactions import reductions
from pkex.models import posterior_moments
from tests._support.asked import OF_PROCESSES, QUESTIONS, arrays_of
from tests._support.cases import COLUMN_KERNELS
from tests._support.models import MODELS
from tests._support.pairwise import pairwise

RNG = np.random.default_rng(0)
POINTS, ROWS, BACKGROUND = (np.abs(RNG.normal(size=(n, 5))) for n in (23, 7, 19))
WEIGHTS = RNG.normal(size=(23, 2))
REMOVALS = ("neutral", "product-of-marginals", "interventional")
all_removals = pytest.mark.parametrize("removal", REMOVALS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that small tables are cut in rows, points and background rows."""
    monkeypatch.setattr(sources, "_BLOCK", 400)
    monkeypatch.setattr(sparse_points, "_ROWS", 2)
    monkeypatch.setattr(reductions, "_FACTORS", 200)
    monkeypatch.setattr(reductions, "_SMALLEST", 40)
    monkeypatch.setattr(posterior_moments, "_PAIRS", 200)
    monkeypatch.setattr(covariance, "_PAIRS", 200)
    monkeypatch.setattr(covariance, "_NODES", 500)
    monkeypatch.setattr(covariance, "_LEAST", 1)
    monkeypatch.setattr(quadratic, "_FACTORS", 4000)
    monkeypatch.setattr(quadratic, "_BLOCK", 2)
    for name, size in {"_TILE": 500, "_SIDE": 1, "_STEP": 500, "_ROWS": 2000}.items():
        monkeypatch.setattr(moments, name, size)


def assert_same(ask, *names):
    """Compare arrays of what `ask` returns for one, two and three threads."""
    one, *others = (ask(n_jobs) for n_jobs in (1, 2, 3))
    for other in others:
        for name in names:
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


@all_removals
@pytest.mark.parametrize("case", COLUMN_KERNELS, ids=str)
def test_values(case, removal):
    expansion = pkex.KernelExpansion(POINTS, WEIGHTS, case.build(np.full(5, 1.3)))
    background = None if removal == "neutral" else BACKGROUND
    assert_same(
        lambda n: pkex.Explainer(expansion, background, removal=removal, n_jobs=n)(ROWS),
        "values",
        "predictions",
        "base_values",
        "error_bound",
    )


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_models(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pkex.as_expansion(case.fit(), **case.given) if case.given else case.fit()
        background = None if case.own_data else case.background
        options = {} if case.choice is None else {"outputs": case.choice}
        assert_same(
            lambda n: pkex.Explainer(model, background, n_jobs=n, **options)(case.rows),
            "values",
            "predictions",
        )


def answer_all(ask, model, removal):
    """Return all arrays of an answer for one, two and three threads, or why there is none."""
    background = None if removal == "neutral" else BACKGROUND
    for n_jobs in (1, 2, 3):
        explainer = pkex.Explainer(model, background, removal=removal, n_jobs=n_jobs)
        try:
            yield arrays_of(ask(explainer, ROWS))
        except (pkex.UnsupportedModelError, ValueError) as error:
            yield str(error)


@pytest.mark.filterwarnings("ignore")  # of few digits and long work
@pairwise(case=COLUMN_KERNELS, question=list(QUESTIONS), removal=REMOVALS)
def test_every_question(case, question, removal):
    expansion = pkex.KernelExpansion(POINTS, WEIGHTS[:, 0], case.build(np.full(5, 1.3)))
    one, *others = answer_all(QUESTIONS[question], expansion, removal)
    assert len(one) > 0
    for other in others:
        assert_equal(other, one)


@pytest.mark.parametrize("removal", REMOVALS[1:])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("question", OF_PROCESSES)
@pytest.mark.parametrize("kernel", [gp.RBF(2.0), gp.Matern(2.0), 0.1 * gp.DotProduct() + gp.RBF()])
def test_every_question_of_a_process(kernel, question, removal):
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(POINTS, WEIGHTS[:, 0])
    one, *others = answer_all(OF_PROCESSES[question], model, removal)
    assert len(one) > 0
    for other in others:
        assert_equal(other, one)


@all_removals
def test_sparse_rows(removal):
    table: Any = sparse.random(30, 40, density=0.2, random_state=0, format="csr")
    expansion = pkex.KernelExpansion(table[:20], WEIGHTS[:20], pkex.kernels.RBF(1.0))
    background = None if removal == "neutral" else table[:9]

    one, *others = (
        pkex.Explainer(expansion, background, removal=removal, n_jobs=n_jobs)(table)
        for n_jobs in (1, 2, 3)
    )
    for other in others:
        assert np.array_equal(one.rest, other.rest)
        for mine, theirs in zip(one.values, other.values, strict=True):
            assert (mine != theirs).nnz == 0
