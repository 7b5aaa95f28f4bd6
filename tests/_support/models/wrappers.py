"""Cases of searches, transformed targets, and wrappers with one machine for each output."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.compose import (
    TransformedTargetRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR

from tests._support.models.case import (
    CLASSES,
    OF_PAIRS,
    ONE_VS_ONE,
    ModelCase,
    decision,
    each_decision,
    predict,
)
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    MALIGNANT,
    TARGET,
    TARGETS,
    WINE,
    WINE_FRAME,
)
from tests._support.models.oracle import machine, support
from tests._support.models.pipelines import columns

SCALED_SVR = make_pipeline(StandardScaler(), SVR(C=20.0, gamma=0.3))
SCALED_SVC = make_pipeline(StandardScaler(), SVC(gamma=0.2))
NAMED_SVC = make_pipeline(
    columns((StandardScaler(), ["hue", "alcohol"]), (MinMaxScaler(), ["acid"])), SVC(gamma=0.2)
)


def searched(name, search, **how) -> ModelCase:
    """Return a case of a search over SVRs with gamma 0.3, behind a scaler."""
    return ModelCase(
        name, lambda: search.fit(DIABETES, TARGET), DIABETES[:4], predict,
        lambda m: [support(m.best_estimator_[-1], m.best_estimator_[0].transform)], **how,
    )  # fmt: skip


def to_target(name, regressor, transformer, slope, zero, y=TARGET) -> ModelCase:
    """Return a case of a target transformed by ``(y - zero) / slope``."""

    def machines(m):
        inner, prepare = m.regressor_, np.asarray
        if hasattr(inner, "steps"):
            inner, prepare = inner[-1], inner[0].transform
        found = support(inner, prepare)
        return [machine(found.points, found.alpha * slope, found.offset * slope + zero,
                        found.kernel, prepare=prepare)]  # fmt: skip

    model = TransformedTargetRegressor(regressor, transformer=transformer)
    return ModelCase(name, lambda: model.fit(DIABETES, y), DIABETES[:4], predict, machines)


def many(name, model, table, y, own, outputs, origins=None, **how) -> ModelCase:
    """Return a case of a wrapper with one machine, perhaps in a pipeline, for each output."""

    def machines(m):
        found = []
        for each in m.estimators_:
            each, prepare = getattr(each, "best_estimator_", each), np.asarray
            if hasattr(each, "steps"):
                each, prepare = each[-1], partial(_apply, each[0])
            found.append(support(each, prepare, origins, gamma=each.gamma))
        return found

    rows = table[:: len(y) // 4][:4]
    return ModelCase(
        name,
        lambda: model.fit(table, y),
        rows,
        own,
        machines,
        outputs,
        n_outputs=len(outputs),
        **how,
    )


def _apply(step, rows):
    """Transform rows in the form that the step was fitted with."""
    return step.transform(rows if hasattr(step, "feature_names_in_") else np.asarray(rows))


GRID = {"svr__C": [5.0, 20.0]}
WRAPPERS = [
    searched("GridSearchCV", GridSearchCV(SCALED_SVR, GRID, cv=2)),
    searched("RandomizedSearchCV",
             RandomizedSearchCV(SCALED_SVR, GRID, n_iter=2, cv=2, random_state=0)),
    searched("HalvingGridSearchCV", HalvingGridSearchCV(SCALED_SVR, GRID, cv=2, random_state=0)),
    ModelCase("FrozenEstimator", lambda: FrozenEstimator(SVR(gamma=0.3).fit(DIABETES, TARGET)),
              DIABETES[:4], predict, lambda m: [support(m.estimator, np.asarray)]),
    to_target("TransformedTargetRegressor StandardScaler", SVR(gamma=0.3), StandardScaler(),
              TARGET.std(), TARGET.mean()),
    to_target("TransformedTargetRegressor MinMaxScaler around a pipeline", SCALED_SVR,
              MinMaxScaler(), np.ptp(TARGET), TARGET.min()),
    to_target("TransformedTargetRegressor without a transformer", SVR(gamma=0.3), None, 1.0, 0.0),
    many("MultiOutputRegressor", MultiOutputRegressor(SVR(gamma=0.3)), DIABETES, TARGETS, predict,
         ("y0", "y1")),
    many("MultiOutputRegressor around a pipeline", MultiOutputRegressor(SCALED_SVR), DIABETES,
         TARGETS, predict, ("y0", "y1")),
    many("OneVsRestClassifier", OneVsRestClassifier(SVC(gamma=0.2)), WINE_FRAME, CULTIVAR,
         decision, CLASSES),
    many("OneVsRestClassifier, 2 classes", OneVsRestClassifier(SVC(gamma=0.2)), CANCER, MALIGNANT,
         decision, ("1 vs 0",)),
    many("OneVsRestClassifier around a pipeline, arrays", OneVsRestClassifier(SCALED_SVC), WINE,
         CULTIVAR, decision, CLASSES),
    many("OneVsRestClassifier around a pipeline by name", OneVsRestClassifier(NAMED_SVC),
         WINE_FRAME, CULTIVAR, decision, CLASSES, (4, 0, 1)),
    many("OneVsRestClassifier around a search", OneVsRestClassifier(
         GridSearchCV(SVC(gamma=0.2), {"C": [1.0, 2.0]}, cv=2)), WINE_FRAME, CULTIVAR, decision,
         CLASSES),
    many("OneVsOneClassifier", OneVsOneClassifier(SVC(gamma=0.2)), WINE_FRAME, CULTIVAR,
         each_decision, CLASSES, combine=OF_PAIRS),
    many("OneVsOneClassifier, outputs=pairs", OneVsOneClassifier(SVC(gamma=0.2)), WINE_FRAME,
         CULTIVAR, each_decision, ONE_VS_ONE, choice="ovo"),
    many("OneVsOneClassifier, 2 classes", OneVsOneClassifier(SVC(gamma=0.2)), CANCER, MALIGNANT,
         each_decision, ("1 vs 0",)),
    many("OneVsOneClassifier around a pipeline, arrays", OneVsOneClassifier(SCALED_SVC), WINE,
         CULTIVAR, each_decision, CLASSES, combine=OF_PAIRS),
    many("OneVsOneClassifier around a pipeline, frame", OneVsOneClassifier(SCALED_SVC), WINE_FRAME,
         CULTIVAR, each_decision, CLASSES, combine=OF_PAIRS),
]  # fmt: skip
