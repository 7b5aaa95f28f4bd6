"""Results of every kind that pictures, reports and tables are looked at with.

Names that are short and long, few columns and many, categories, constants, heavy tails, numbers
that are huge and tiny, one row, several classes, standard deviations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex

__all__ = [
    "ATTRIBUTIONS",
    "EXPLANATIONS",
    "INTERACTIONS",
    "SENSITIVITIES",
    "attribution",
    "explanation",
    "interactions",
    "mixed_model",
    "mixed_table",
    "sensitivity",
]

EXPLANATIONS = (
    "regressor", "binary", "classes", "long", "three", "mixed", "scales", "row", "std", "digits",
)  # fmt: skip
ATTRIBUTIONS = ("mmd", "hsic", "hsic_classes", "mmd_mixed", "mmd_wide", "mmd_plain")
SENSITIVITIES = ("ishigami", "outputs")
INTERACTIONS = ("pairs", "pairs_row")


def mixed_table(rows: int = 200) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return categories, a constant, heavy tails, huge and tiny numbers, and a target."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "income of the household in the year before": np.exp(rng.normal(10.0, 1.6, rows)),
            "town": rng.choice(["Wien", "Graz", "Linz", "Sankt Veit an der Glan"], rows),
            "always": np.ones(rows),
            "charge": rng.normal(1.6e-19, 2e-20, rows),
            "distance": rng.normal(4e13, 1e13, rows),
            "owner": rng.choice([True, False], rows),
            "tails": rng.standard_t(1.2, rows),
        }
    )
    target = (
        np.log(table["income of the household in the year before"])
        + (table["town"] == "Graz") * 1.5
        - table["owner"] * np.tanh(table["tails"])
    )
    return table, np.asarray(target)


def mixed_model() -> tuple[Any, pd.DataFrame, NDArray[Any]]:
    """Return a pipeline on `mixed_table`, and the table."""
    table, target = mixed_table()
    text = ["town", "owner"]
    columns = make_column_transformer(
        (OneHotEncoder(), text), (StandardScaler(), [c for c in table if c not in text])
    )
    return make_pipeline(columns, SVR(C=10.0)).fit(table, target), table, target


def long_model() -> tuple[Any, pd.DataFrame]:
    """Return a machine on sixty columns with long names, and its table."""
    rng = np.random.default_rng(0)
    names = [f"the mean of measurement number {i} of station {i % 7}" for i in range(60)]
    table = pd.DataFrame(rng.normal(size=(120, 60)), columns=names)
    X = table.to_numpy()
    return SVR(C=10.0).fit(table, X[:, :20] @ rng.normal(size=20) + X[:, 0] * X[:, 1]), table


@cache
def explanation(name: str) -> Any:
    """Return the explanation of this name."""
    rng = np.random.default_rng(0)
    if name == "mixed":
        model, table, _ = mixed_model()
        return pkex.Explainer(model, table[:60])(table)
    if name == "binary":
        data = load_breast_cancer(as_frame=True)
        names = np.array(data.target_names)[data.target]
        model = make_pipeline(StandardScaler(), SVC()).fit(data.data, names)
        return pkex.Explainer(model, data.data[:60])(data.data[:250])
    if name == "classes":
        data = load_wine(as_frame=True)
        names = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
        model = make_pipeline(StandardScaler(), SVC()).fit(data.data, names)
        return pkex.Explainer(model, data.data[:60])(data.data)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
        return pkex.Explainer(model.fit(X[:300], y[:300]), X[:20])(X[300:330])
    if name == "long":
        model, table = long_model()
        return pkex.Explainer(model, table[:40])(table)
    if name == "three":
        X = rng.normal(size=(60, 3))
        return pkex.Explainer(SVR().fit(X, X[:, 0] - X[:, 1] ** 2), X)(X)
    if name == "scales":
        X = rng.normal(size=(80, 4)) * [1e9, 1.0, 1e-9, 1e3]
        scale = pkex.kernels.RBF((2e9, 2.0, 2e-9, 2e3))
        f = pkex.KernelExpansion(X[:40], 1e-7 * rng.normal(size=40), scale, 123.0)
        return pkex.Explainer(f, X[:30])(X)
    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    if name == "std":
        kernel = 0.6 * RBF(4.0) + WhiteKernel(0.4)
        process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
        fitted = make_pipeline(StandardScaler(), process).fit(X[:150], y[:150])
        return pkex.Explainer(fitted, X[:10])(X[:5], return_std=True)
    fitted = make_pipeline(StandardScaler(), SVR(C=50.0)).fit(X, y)
    found = pkex.Explainer(fitted, X[:60])(X)
    return found[3:4] if name == "row" else found


@cache
def attribution(name: str) -> pkex.Attribution:
    """Return the attribution of this name."""
    rng = np.random.default_rng(0)
    few: dict[str, Any] = {"n_permutations": 99, "random_state": 0}
    if name in ("hsic", "hsic_classes"):
        data = load_wine(as_frame=True)
        target = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
        colour = data.data["color_intensity"]
        return pkex.hsic(data.data, target if name == "hsic_classes" else colour, **few)
    if name == "mmd_mixed":
        table, _ = mixed_table(400)
        early, late = table[:200], table[200:].copy()
        late["town"] = rng.choice(["Wien", "Graz", "Eisenstadt"], 200)
        late["tails"] += 1.0
        return pkex.mmd(early, late, **few)
    if name == "mmd_wide":
        names = [f"the mean of measurement number {i} of station {i % 7}" for i in range(60)]
        X, Z = rng.normal(size=(2, 80, 60))
        Z[:, :6] += 0.8
        return pkex.mmd(pd.DataFrame(X, columns=names), pd.DataFrame(Z, columns=names), **few)
    X = load_diabetes(as_frame=True, scaled=False).data
    high = X["bmi"] > 27.0
    if name == "mmd_plain":
        return pkex.mmd(X[high], X[~high])
    return pkex.mmd(X[high], X[~high], **few)


@cache
def sensitivity(name: str) -> pkex.Sensitivity:
    """Return the sensitivity of this name."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi, np.pi, (200, 3))
    y = np.sin(X[:, 0]) + 7.0 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    if name == "outputs":
        y = np.column_stack([y, X[:, 1]])
    process = GaussianProcessRegressor(RBF(1.5), alpha=1e-6, optimizer=None)
    ranges = {f"x{i}": (-np.pi, np.pi) for i in range(3)}
    return pkex.sensitivity(process.fit(X, y), ranges, order=2)


@cache
def interactions(name: str) -> pkex.Interactions:
    """Return the interactions of this name."""
    data = load_diabetes(as_frame=True, scaled=False)
    fitted = make_pipeline(StandardScaler(), SVR(C=50.0)).fit(data.data, data.target)
    rows = data.data[:1] if name == "pairs_row" else data.data[:40]
    return pkex.Explainer(fitted, data.data[:30]).interactions(rows)
