"""Write a file for each kind of result: ``python -m tests._support.golden.make NAME...``."""

from __future__ import annotations

import json
import sys
from datetime import date

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex.kernels import Custom

from .facts import FOLDER, as_text, record

KINDS = (
    pkex.Explanation,
    pkex.SparseExplanation,
    pkex.Interactions,
    pkex.Importance,
    pkex.Influence,
    pkex.LeaveOneOut,
    pkex.Attribution,
    pkex.Sensitivity,
    pkex.Change,
    pkex.Comparison,
    pkex.Gradients,
    pkex.Effects,
)
TEXTS = ["good food", "bad food, bad place", "good place", "so so", "bad", "good good food"]


def numbers():
    """Return a model of one output without names, and its rows."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    return SVR(C=5.0).fit(X, X[:, 0] * X[:, 1]), X


def classes():
    """Return a classifier of three classes, and a frame whose rows have labels."""
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(24, 3)), columns=["age", "bmi", "bp"])
    X.index = pd.MultiIndex.from_product([["x", "y"], range(12)], names=["site", None])
    return SVC().fit(X, np.array(["no", "maybe", "yes"])[np.arange(24) % 3]), X


def process():
    """Return a Gaussian process, and rows with dates as labels."""
    X = pd.DataFrame(np.random.default_rng(2).normal(size=(12, 2)), columns=["a", "b"])
    X.index = pd.date_range("2024-01-31", periods=12, tz="Europe/Vienna", name="day")
    return GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, X["a"] ** 2), X


def cells():
    """Return a pipeline, and a frame of numbers, categories, dates, and cells that are missing."""
    X = pd.DataFrame({"size": np.random.default_rng(3).normal(size=12)})
    X["town"] = pd.Categorical(["Wien", "Graz", "Linz"] * 4)
    X["day"] = [date(2024, 1, 1 + i) for i in range(12)]
    X["seen"] = pd.date_range("2024-01-31 12:30", periods=12)
    X["remark"] = [None, "ok", float("nan")] * 4
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["town"]))
    return make_pipeline(columns, SVR()).fit(X, X["size"]), X


def texts():
    """Return a pipeline that begins with a vectorizer."""
    return make_pipeline(CountVectorizer(), SVC()).fit(TEXTS, list("abcabc"))


def sparse():
    """Return an expansion of sparse points with two outputs, and sparse rows."""
    rng = np.random.default_rng(4)
    table = rng.normal(size=(8, 6)) * (rng.random((8, 6)) < 0.4)
    alpha = rng.normal(size=(5, 2))
    return pkex.KernelExpansion(csr_array(table[:5]), alpha, pkex.kernels.RBF(2.0)), csr_array(
        table[5:]
    )


def samples():
    """Return two samples with numbers and a category."""
    tables = np.random.default_rng(5).normal(size=(2, 2, 30)) + np.array([[[0.0]], [[0.5]]])
    return [
        pd.DataFrame({"a": a, "b": b, "town": np.where(a > 0, "Graz", "Wien")}) for a, b in tables
    ]


def samples_with_gaps():
    """Return two samples with missing cells, dates, and a category that only one of them has."""
    first, second = (
        table.assign(day=pd.date_range("2026-01-01", periods=30)) for table in samples()
    )
    first.loc[[2, 3], "a"] = np.nan
    second.loc[[4, 5, 6], ["a", "day"]] = None
    second.loc[[7, 8], "town"] = ["Linz", None]
    return [first, second]


def cosine(x, z):
    """Return a kernel of the user's own, of which a file keeps the description."""
    return np.cos(x - z)


def training_table():
    """Return the table and the labels that `classes` was fitted on."""
    return {"X_train": classes()[1], "y_train": np.array(["no", "maybe", "yes"])[np.arange(24) % 3]}


def explained(made, count, *background, call=None, **options):
    """Return what an explainer says of the first rows."""
    model, X = made
    explainer = pkex.Explainer(model, *background, n_jobs=1, **options)
    return (call or type(explainer).__call__)(explainer, X[:count])


def custom_kernel():
    """Return Banzhaf values of a kernel of the user's own, of which some features are selected."""
    points = np.random.default_rng(6).normal(size=(5, 3))
    f = pkex.KernelExpansion(points, [1.0, -2.0, 0.5, 1.0, 3.0], Custom(cosine), 0.5)
    return pkex.Explainer(f, index="BV", removal="neutral", n_jobs=1)(points[:2])[:, ["x2", "x0"]]


RESULTS = {
    "explanation": lambda: explained(numbers(), 3, numbers()[1][:8]),
    "explanation_classes": lambda: explained(
        classes(), 3, classes()[1][:6], groups={"body": ["bmi", "bp"]}
    ),
    "explanation_cov": lambda: explained(
        process(), 2, call=lambda explainer, X: explainer(X, return_std=True, return_cov=True)
    ),
    "explanation_variance": lambda: explained(process(), 2, call=pkex.Explainer.explain_variance),
    "explanation_conditional": lambda: explained(
        numbers(), 3, numbers()[1], removal="conditional", blocks=[[0, 1]]
    ),
    "explanation_hierarchy": lambda: explained(
        numbers(), 3, numbers()[1][:8], hierarchy={"first": [0, 1]}
    ),
    "explanation_cells": lambda: explained(cells(), 3),
    "explanation_selected": custom_kernel,
    "sparse": lambda: explained(sparse(), 3, groups=[[0, 1]]),
    "sparse_texts": lambda: pkex.Explainer(texts(), n_jobs=1)(TEXTS[:3]),
    "explanation_ig": lambda: explained(
        numbers(), 3, numbers()[1][:4], call=pkex.Explainer.integrated_gradients
    ),
    "gradients": lambda: explained(
        process(), 2, call=lambda explainer, X: explainer.gradients(X, return_std=True)
    ),
    "interactions": lambda: explained(classes(), 2, call=pkex.Explainer.interactions),
    "interactions_triples": lambda: explained(
        numbers(), 2, call=lambda explainer, X: explainer.interactions(X, index="STII", max_order=3)
    ),
    "interactions_chosen": lambda: explained(
        cells(), 2, call=lambda explainer, X: explainer.interactions(X, subsets=[(0, 1), "town"])
    ),
    "interactions_std": lambda: explained(
        process(), 2, call=lambda explainer, X: explainer.interactions(X, return_std=True)
    ),
    "interactions_statistic": lambda: pkex.mmd(*samples(), n_jobs=1).interactions(),
    "influence": lambda: explained(
        process(), 2, call=lambda explainer, X: explainer.influence(X, X_train=process()[1], top=3)
    ),
    "influence_classes": lambda: explained(
        classes(), 2, call=lambda explainer, X: explainer.influence(X, **training_table())
    ),
    "leave_one_out": lambda: explained(
        process(), 2, call=lambda explainer, _: explainer.leave_one_out(X_train=process()[1])
    ),
    "importance": lambda: explained(classes(), 5, removal="neutral").importance(),
    "importance_draws": lambda: explained(
        process(), 4, call=lambda explainer, X: explainer.importance(X, n_draws=19, random_state=0)
    ),
    "attribution_mmd": lambda: pkex.mmd(
        *samples(), n_permutations=19, groups={"both": ["b", "town"]}, random_state=0, n_jobs=1
    ),
    "attribution_hsic": lambda: pkex.hsic(
        samples()[0], samples()[0]["town"], n_permutations=9, random_state=0, n_jobs=1
    ),
    "attribution_family": lambda: pkex.mmd(
        *samples_with_gaps(), n_permutations=19, random_state=0, n_jobs=1
    ),
    "attribution_blocks": lambda: pkex.mmd(*samples(), block_size=20, random_state=0, n_jobs=1),
    "change": lambda: pkex.change(
        numbers()[0],
        *np.random.default_rng(7).normal(size=(2, 15, 3)),
        y_before=np.arange(15.0),
        y_after=np.arange(15.0) % 4.0,
        n_permutations=19,
        random_state=0,
        n_jobs=1,
    ),
    "change_classes": lambda: pkex.change(
        pkex.Explainer(classes()[0], groups={"body": ["bmi", "bp"]}, n_jobs=1),
        classes()[1] + 0.5,
        classes()[1] - 0.5,
        n_permutations=0,
    ),
    "comparison": lambda: pkex.compare(
        process()[0], process()[1][:1], {"a": 0.5, "b": float(process()[1]["b"].iloc[0])}, n_jobs=1
    ),
    "effects": lambda: pkex.Explainer(process()[0], process()[1], n_jobs=1).effects(
        ["a", ("a", "b")], kind="both", grid_resolution=4, return_std=True
    ),
    "effects_cells": lambda: pkex.Explainer(
        cells()[0], cells()[1], groups={"both": ["size", "town"]}, n_jobs=1
    ).effects(["both", "day"], grid_resolution=4),
    "effects_classes": lambda: pkex.Explainer(classes()[0], classes()[1], n_jobs=1).effects(
        ["bmi"], kind="ale", grid_resolution=4
    ),
    "sensitivity": lambda: pkex.sensitivity(classes()[0], classes()[1], order=2, n_jobs=1),
    "sensitivity_ranges": lambda: pkex.sensitivity(
        numbers()[0], {0: (-1.0, 1.0), 1: (0.0, 2.0), 2: (0.0, 1.0)}, groups=[[1, 2]], n_jobs=1
    ),
    "sensitivity_draws": lambda: pkex.sensitivity(
        process()[0], {"a": (-1.0, 1.0), "b": (0.0, 1.0)}, order=2, n_draws=19, random_state=0
    ),
}


def loaded(name, kind):
    """Return the result in a file."""
    return {one.__name__: one for one in KINDS}[kind].load(FOLDER / f"{name}.npz")


def main(names):
    """Write the files of these names, or with --records what all files hold."""
    for name in RESULTS if names == ["--records"] else names:
        path = FOLDER / f"{name}.json"
        if names == ["--records"]:
            kind = json.loads(path.read_text(encoding="utf-8"))["kind"]
        else:
            result = RESULTS[name]()
            result.save(FOLDER / f"{name}.npz")
            kind = type(result).__name__
        path.write_text(as_text(record(loaded(name, kind))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
