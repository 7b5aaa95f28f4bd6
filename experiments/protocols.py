"""The two protocols of the table on feature selection: as printed, and clean.

As printed, following the published pipeline: features are ranked on one 90 % split, nothing is
scaled, and a Gaussian process on the best fifth is scored in five folds of all rows, those used
for the ranking included. The data of the regressions are centred and lack their first row;
identifiers are features; the score is the percentage error of the *centred* target.

Clean: identifiers and constants are left out; scaling and selection happen inside the folds; rows
of one subject stay together; a regression has a noise term, a normalised target and the score R2;
random features and all features stand beside the methods.

Our own selector is stored in parts of its own, so that those of the paper's methods stay as they
are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from experiments.data import DataSet
from experiments.record import Job
from experiments.selectors import OURS, PUBLISHED, RANDOM, SELECTORS, Selector
from experiments.training import gp_cross_validation, gp_model

__all__ = ["CLEAN_ROWS", "clean", "printed"]

Floats = NDArray[np.float64]

CLEAN_ROWS = (*SELECTORS, *OURS, "random features", "all features")


def printed(job: Job, data: DataSet, seeds: int) -> None:
    """Rank and score as the published pipeline does; random methods with several seeds.

    Stores the chosen columns for every method and seed, and the scores for every set of columns.
    """
    X, y = _as_published(data)
    chosen: dict[str, list[list[int]]] = job.part(
        f"{data.name}: printed: chosen", partial(_chosen, X, y, seeds, PUBLISHED)
    )
    if data.is_classification:
        chosen = chosen | job.part(
            f"{data.name}: printed: chosen by ours", partial(_chosen, X, y, 1, OURS)
        )
    for columns in sorted({tuple(best) for runs in chosen.values() for best in runs}):
        score = partial(_published_score, X[:, columns], y, data.is_classification)
        job.part(f"{data.name}: printed: {' '.join(map(str, columns))}", score)


def _as_published(data: DataSet) -> tuple[Floats, NDArray[Any]]:
    X, y = data.X.to_numpy(), data.y
    if data.name == "ionosphere":
        X = X[:, 2:]  # the authors' copy starts at V3
    if not data.is_classification:
        X, y = (X - X.mean(axis=0))[1:], (y - y.mean())[1:]  # its first row was read as a header
    return X, y


def _chosen(
    X: Floats, y: NDArray[Any], seeds: int, selectors: Mapping[str, Selector]
) -> dict[str, list[list[int]]]:
    """Return the best fifth of the columns, in order of number, for every method and seed.

    Where scores are equal, as those of columns that a Lasso leaves out, the choice is that of
    NumPy's default sort, as in the published pipeline; it may depend on the processor.
    """
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.1, random_state=42)
    k = math.ceil(0.2 * X.shape[1])
    return {
        name: [
            sorted(map(int, np.argsort(-score(X_train, y_train, seed))[:k]))
            for seed in range(seeds if name in RANDOM else 1)
        ]
        for name, score in selectors.items()
    }


def _published_score(X: Floats, y: NDArray[Any], classify: bool) -> list[float] | None:
    """Return the scores of the folds, or None where the kernel matrix is not positive definite."""
    try:
        return [float(score) for score in gp_cross_validation(X, y, classify=classify)]
    except np.linalg.LinAlgError:
        return None


def clean(job: Job, data: DataSet, max_rows: int, draws: int) -> None:
    """Score every method in five folds, each trained on at most `max_rows` rows."""
    frame = data.X.drop(columns=list(data.source.identifiers))
    frame = frame.loc[:, frame.nunique() > 1]
    groups = None if data.source.groups is None else data.X[data.source.groups].to_numpy()
    X, y = frame.to_numpy(), data.y
    if data.is_classification:
        folds: Any = StratifiedKFold(5, shuffle=True, random_state=42)
    else:
        folds = KFold(5, shuffle=True, random_state=42) if groups is None else GroupKFold(5)
    for i, (train, test) in enumerate(folds.split(X, y, groups)):
        if len(train) > max_rows:
            train = np.random.default_rng(i).choice(train, max_rows, replace=False)
        fold = partial(_fold, X, y, train, test, i)
        job.part(f"{data.name}: clean: fold {i}", partial(fold, SELECTORS, draws))
        job.part(f"{data.name}: clean by ours: fold {i}", partial(fold, OURS))


def _fold(
    X: Floats,
    y: NDArray[Any],
    train: Any,
    test: Any,
    fold: int,
    selectors: Mapping[str, Selector],
    draws: int = 0,
) -> dict[str, float]:
    """Return scores in one fold; with draws of random features, also of those and of all."""
    scaler = StandardScaler().fit(X[train])
    inputs = scaler.transform(X[train]), scaler.transform(X[test])
    d = X.shape[1]
    k = math.ceil(0.2 * d)
    rng = np.random.default_rng(fold)
    sets: dict[str, list[Any]] = {
        name: [np.argsort(-score(inputs[0], y[train], fold), kind="stable")[:k]]
        for name, score in selectors.items()
    }
    if draws:
        sets["random features"] = [rng.choice(d, k, replace=False) for _ in range(draws)]
        sets["all features"] = [np.arange(d)]
    known: dict[tuple[int, ...], float] = {}
    found = {}
    for name, choices in sets.items():
        scores = []
        for columns in choices:
            key = tuple(sorted(map(int, columns)))
            if key not in known:
                parts = inputs[0][:, key], inputs[1][:, key]
                known[key] = _clean_score(parts, (y[train], y[test]))
            scores.append(known[key])
        found[name] = float(np.mean(scores))
    return found


def _clean_score(X: tuple[Floats, Floats], y: tuple[NDArray[Any], NDArray[Any]]) -> float:
    if y[0].dtype.kind in "OUST":
        model = gp_model(classify=True).fit(X[0], y[0])
        return float(accuracy_score(y[1], model.predict(X[1])))
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(1.0, (1e-2, 1e3)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X[0], y[0])
    return float(r2_score(y[1], model.predict(X[1])))
