"""The paper's training protocols (appendix, "Experimental Setup"), as reusable helpers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import accuracy_score, mean_absolute_percentage_error
from sklearn.model_selection import KFold, cross_val_score
from sklearn.svm import SVR

__all__ = ["gp_cross_validation", "gp_model", "tune_svr"]

Floats = NDArray[np.float64]


def tune_svr(X: Floats, y: Floats, *, trials: int, seed: int) -> dict[str, float]:
    """Return C and gamma of an RBF SVR as found by Optuna, and r2, their cross-validated R2.

    C is searched in 1e-5 to 1e5 and gamma in 1e-5 to 1e3, both on a log scale, for the smallest
    mean squared error in five folds.
    """
    folds = KFold(5, shuffle=True, random_state=seed)

    def error(trial: optuna.Trial) -> float:
        C = trial.suggest_float("C", 1e-5, 1e5, log=True)
        gamma = trial.suggest_float("gamma", 1e-5, 1e3, log=True)
        model = SVR(C=C, gamma=gamma, cache_size=500)
        scores = cross_val_score(model, X, y, cv=folds, scoring="neg_mean_squared_error")
        return float(-scores.mean())

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(error, n_trials=trials)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return study.best_params | {"r2": 1.0 - study.best_value / float(np.var(y))}


def gp_model(*, classify: bool) -> Any:
    """Return the paper's Gaussian process, ``C(1.0, (1e-4, 1e1)) * RBF(1.0, (1e-4, 10))``."""
    kernel = ConstantKernel(1.0, (1e-4, 10.0)) * RBF(1.0, (1e-4, 10.0))
    return GaussianProcessClassifier(kernel) if classify else GaussianProcessRegressor(kernel)


def gp_cross_validation(
    X: Floats,
    y: NDArray[Any],
    *,
    classify: bool,
    folds: Any = None,
    model: Any = None,
    score: Callable[[Any, Any], float] | None = None,
) -> Floats:
    """Return the score of a Gaussian process in each fold; by default the paper's protocol.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
    classify : bool
        Whether `y` has labels.
    folds : iterable of (train, test) indices, optional
        By default ``KFold(5, shuffle=True, random_state=42)``.
    model : estimator, optional
        By default `gp_model`.
    score : function of truth and prediction, optional
        By default accuracy, or the mean absolute percentage error of a regression.
    """
    if folds is None:
        folds = KFold(5, shuffle=True, random_state=42).split(X)
    if model is None:
        model = gp_model(classify=classify)
    if score is None:
        score = accuracy_score if classify else mean_absolute_percentage_error
    scores = []
    for train, test in folds:
        fitted = clone(model).fit(X[train], y[train])
        scores.append(score(y[test], fitted.predict(X[test])))
    return np.array(scores)
