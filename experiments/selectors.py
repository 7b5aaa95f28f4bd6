"""Ways to score features, as in the table on feature selection: the best column has the most.

Each takes X (n, d), y (n,) and a seed, and returns (d,). Labels are text; a target of a regression
is a number. Mutual information and the trees are random. `OURS` is not in the paper.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyHSICLasso import HSICLasso
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.linear_model import LassoCV

import pkex

__all__ = ["OURS", "PUBLISHED", "RANDOM", "SELECTORS", "Selector"]

Floats: TypeAlias = NDArray[np.float64]
Selector: TypeAlias = Callable[[Floats, NDArray[Any], int], Floats]


def hsic_shapley(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the Shapley values of HSIC; one bandwidth for all columns, the median heuristic."""
    paper: Any = {"kernel": "median", "removal": "neutral", "estimator": "biased"}
    return pkex.hsic(X, y, random_state=seed, n_jobs=1, **paper).values


def hsic_marginal(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the Shapley values of HSIC with absent columns averaged out; a bandwidth per column."""
    ours: Any = {
        "kernel": "median-per-column",
        "removal": "product-of-marginals",
        "estimator": "unbiased",
    }
    return pkex.hsic(X, y, random_state=seed, n_jobs=1, **ours).values


def hsic_lasso(X: Floats, y: NDArray[Any], seed: int, *, covariates: bool = False) -> Floats:
    """By HSIC Lasso; the published pipeline passes the features as covariates as well."""
    del seed  # pyHSICLasso permutes with a seed of its own
    d = X.shape[1]
    lasso = HSICLasso()
    with contextlib.redirect_stdout(io.StringIO()):
        lasso.input(X, _numbers(y))
        fit = lasso.classification if _is_label(y) else lasso.regression
        fit(d, covars=X if covariates else np.array([]), n_jobs=1)
    scores = np.zeros(d)  # of those that it leaves out
    for place, column in enumerate(lasso.get_index()):
        scores[column] = d - place
    return scores


def mutual_information(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the mutual information of each column with the target, from nearest neighbours."""
    measure = mutual_info_classif if _is_label(y) else mutual_info_regression
    scores: Floats = measure(X, y, random_state=seed)
    return scores


def lasso(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the absolute coefficients of a Lasso, its penalty cross-validated; labels are numbers."""
    del seed
    scores: Floats = np.abs(LassoCV(cv=5, random_state=42).fit(X, _numbers(y)).coef_)
    return scores


def k_best(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the F statistic of each column."""
    del seed
    scores: Floats = (f_classif if _is_label(y) else f_regression)(X, y)[0]
    return np.nan_to_num(scores, nan=-np.inf)  # a constant column has none


def trees(X: Floats, y: NDArray[Any], seed: int) -> Floats:
    """By the impurity importance of 50 extremely randomised trees."""
    kind = ExtraTreesClassifier if _is_label(y) else ExtraTreesRegressor
    scores: Floats = kind(50, random_state=seed).fit(X, y).feature_importances_
    return scores


SELECTORS: dict[str, Selector] = {
    "PKeX-Shapley": hsic_shapley,
    "HSICLasso": hsic_lasso,
    "MI": mutual_information,
    "Lasso": lasso,
    "K-Best": k_best,
    "Tree Ens.": trees,
}
PUBLISHED = SELECTORS | {"HSICLasso": partial(hsic_lasso, covariates=True)}
OURS: dict[str, Selector] = {"product of marginals (ours)": hsic_marginal}
RANDOM = ("MI", "Tree Ens.")


def _is_label(y: NDArray[Any]) -> bool:
    return y.dtype.kind in "OUST"


def _numbers(y: NDArray[Any]) -> Floats:
    if not _is_label(y):
        return y.astype(np.float64)
    return np.unique(y, return_inverse=True)[1].astype(np.float64)
