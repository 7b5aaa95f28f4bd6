"""Cases of linear models: a weight for each column, and no data that they keep."""

from __future__ import annotations

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    ElasticNet,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from tests._support.models.case import CLASSES, ModelCase, decision, predict
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    IRIS,
    MALIGNANT,
    NAMED_SPECIES,
    PATIENTS,
    SPARSE,
    TARGET,
    TARGETS,
    WINE_FRAME,
)
from tests._support.models.oracle import dense, inner_products, machine
from tests._support.models.pipelines import columns

SPECIES_NAMES = ("setosa", "versicolor", "virginica")


def scaled(*steps):
    """Return a pipeline of new estimators; one that several cases had would be fitted anew."""
    return make_pipeline(StandardScaler(), *steps)


def logistic():
    return scaled(LogisticRegression(C=0.1))


def weighted(name, model, table, y, own=predict, outputs=(), inside=lambda m: m, **how):
    """Return a case of a linear model, perhaps at the end of a pipeline; it needs a background."""
    background = table[10:17]
    origins, map_of = how.pop("origins", None), how.pop("map_of", None)
    scale = how.pop("scale", 1.0)

    def machines(m):
        last, prepare = inside(m), dense
        if hasattr(last, "steps"):
            last, prepare = last[-1], last[:-1].transform
        weights = dense(last.coef_)
        weights = weights.reshape(-1, weights.shape[-1])
        offset = -last.offset_ if hasattr(last, "offset_") else last.intercept_
        alpha = scale * np.eye(len(weights))
        if map_of is not None:
            alpha, offset = map_of(alpha), map_of(np.asarray(offset))
        found = machine(weights, alpha, scale * np.asarray(offset) + how_shift, inner_products,
                        prepare=prepare, origins=origins, background=background,
                        own_data=False)  # fmt: skip
        return [found]

    how_shift = how.pop("shift", 0.0)
    return ModelCase(
        name, lambda: model.fit(table, y), table[:: len(TARGET) // 4][:4], own, machines,
        tuple(outputs) or None, n_outputs=max(1, len(outputs)), background=background,
        own_data=False, **how,
    )  # fmt: skip


def log_ratios(model, rows):
    """Return for each class the mean logarithm of its probability over each other class's."""
    logs = np.log(model.predict_proba(rows))
    if logs.shape[1] == 2:
        return logs[:, 1] - logs[:, 0]
    return mean_ratios(logs)


def mean_ratios(logs):
    k = logs.shape[-1]
    others = [np.delete(logs, c, axis=-1).mean(axis=-1) for c in range(k)]
    return logs - np.stack(others, axis=-1)


ONE_HOT = columns((OneHotEncoder(), ["sex", "pressure"]), (StandardScaler(), ["bmi", "age"]))
LINEAR_MODELS = [
    weighted("LinearRegression", LinearRegression(), DIABETES, TARGET),
    weighted("Ridge, 2 targets", Ridge(0.1), DIABETES, TARGETS, outputs=("y0", "y1")),
    weighted("LassoCV", LassoCV(cv=3), DIABETES, TARGET),
    weighted("ElasticNet on a sparse matrix", ElasticNet(0.01), SPARSE, TARGET),
    weighted("LinearSVR behind a scaler", scaled(LinearSVR(C=10.0, random_state=0)), DIABETES,
             TARGET),
    weighted("SGDRegressor behind a scaler", scaled(SGDRegressor(random_state=0)), DIABETES,
             TARGET),
    weighted("Ridge behind one-hot codes", make_pipeline(ONE_HOT, Ridge()), PATIENTS, TARGET,
             origins=(1, 1, 3, 3, 3, 3, 2, 0)),
    weighted("RANSACRegressor", RANSACRegressor(random_state=0), DIABETES, TARGET,
             inside=lambda m: m.estimator_),
    weighted("GridSearchCV over Ridge", GridSearchCV(scaled(Ridge()), {"ridge__alpha": [0.1, 1.0]},
             cv=2), DIABETES, TARGET, inside=lambda m: m.best_estimator_),
    weighted("TransformedTargetRegressor around Ridge",
             TransformedTargetRegressor(Ridge(), transformer=StandardScaler()), DIABETES, TARGET,
             inside=lambda m: m.regressor_, scale=TARGET.std(), shift=TARGET.mean()),
    weighted("LogisticRegression", logistic(), CANCER, MALIGNANT, decision, ("1 vs 0",),
             log_odds=True),
    weighted("LogisticRegression, outputs=log-odds", logistic(), CANCER, MALIGNANT,
             log_ratios, ("1 vs 0",), log_odds=True, choice="log-odds"),
    weighted("LogisticRegression, 3 classes", logistic(), IRIS, NAMED_SPECIES, decision,
             SPECIES_NAMES),
    weighted("LogisticRegression, 3 classes, outputs=log-odds", logistic(), IRIS,
             NAMED_SPECIES, log_ratios, SPECIES_NAMES, log_odds=True, choice="log-odds",
             map_of=mean_ratios),
    weighted("OneVsRestClassifier around LinearSVC", OneVsRestClassifier(LinearSVC(dual=False)),
             WINE_FRAME, CULTIVAR, decision, CLASSES,
             inside=lambda m: _Stacked(m.estimators_)),
    weighted("LinearSVC, 3 classes", scaled(LinearSVC(dual=False)), WINE_FRAME, CULTIVAR, decision,
             CLASSES),
    weighted("RidgeClassifier", RidgeClassifier(), CANCER, MALIGNANT, decision, ("1 vs 0",)),
    weighted("RidgeClassifierCV, 3 classes", RidgeClassifierCV(), WINE_FRAME, CULTIVAR, decision,
             CLASSES),
    weighted("SGDClassifier hinge, 3 classes", scaled(SGDClassifier(random_state=0)), WINE_FRAME,
             CULTIVAR, decision, CLASSES),
    weighted("SGDClassifier log_loss", scaled(SGDClassifier(loss="log_loss", random_state=0)),
             CANCER, MALIGNANT, decision, ("1 vs 0",), log_odds=True),
    weighted("LinearDiscriminantAnalysis, 3 classes", LinearDiscriminantAnalysis(), IRIS,
             NAMED_SPECIES, decision, SPECIES_NAMES),
    weighted("OneClassSVM by SGD", scaled(SGDOneClassSVM(random_state=0)), CANCER, MALIGNANT,
             decision),
]  # fmt: skip


class _Stacked:
    """The weights of several binary models as those of one."""

    def __init__(self, models):
        self.coef_ = np.vstack([m.coef_ for m in models])
        self.intercept_ = np.concatenate([m.intercept_ for m in models])
