"""Cases of Nystroem and a linear model behind it, explained in the columns in front of Nystroem."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVC, LinearSVR

from pkex.kernels import RBF
from tests._support.models.case import CLASSES, ModelCase, decision, predict
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    DIGIT,
    DIGITS,
    IRIS,
    MALIGNANT,
    NAMED_SPECIES,
    PATIENTS,
    SPARSE,
    TARGET,
    TARGETS,
    WINE_FRAME,
)
from tests._support.models.oracle import dense, machine, pairwise, power_of_sum
from tests._support.models.pipelines import columns
from tests._support.models.weights import SPECIES_NAMES, log_ratios, mean_ratios, scaled


def landmark(name, model, table, y, kernel=None, own=predict, outputs=(), **how) -> ModelCase:
    """Return a case of a pipeline with a Nystroem step.

    Its weights are found from the model as a function of the kernel values: it is linear behind
    them, so the outputs at kernel values of 0 and of one landmark at a time tell all.
    """
    inside, origins = how.pop("inside", lambda m: m), how.pop("origins", None)
    map_of, method = how.pop("map_of", None), how.pop("method", own)
    kernel = kernel or pairwise(rbf_kernel, 0.2)

    def machines(m):
        pipe = inside(m)
        [place] = [i for i, (_, step) in enumerate(pipe.steps) if isinstance(step, Nystroem)]
        step, width = pipe[place], pipe[place].components_.shape[0]
        probes = np.vstack([np.zeros(width), np.eye(width)]) @ step.normalization_.T
        for _, each in pipe.steps[place + 1 : -1]:
            probes = each.transform(probes)
        found = np.asarray(method(pipe[-1], probes)).reshape(width + 1, -1)
        if map_of is not None:
            found = map_of(found)
        before = pipe[:place].transform if place else dense
        return [machine(step.components_, found[1:] - found[0], found[0], kernel, prepare=before,
                        origins=origins, background=how.get("background"))]  # fmt: skip

    return ModelCase(
        name, lambda: model.fit(table, y), table[:: len(TARGET) // 4][:4], own, machines,
        tuple(outputs) or None, n_outputs=max(1, len(outputs)), **how,
    )  # fmt: skip


def rough(count=12, **options):
    """Return a Nystroem step with few landmarks, well apart."""
    return Nystroem(n_components=count, random_state=0, **{"gamma": 0.2} | options)


L1, CHI2 = pairwise(laplacian_kernel, 0.3), pairwise(chi2_kernel, 1.0)
PATIENT_COLUMNS = columns(
    (OneHotEncoder(sparse_output=False), ["sex", "pressure"]), (StandardScaler(), ["bmi", "age"])
)
LANDMARKS = [
    landmark("Nystroem rbf, Ridge", make_pipeline(rough(gamma=40.0), Ridge(0.1)), DIABETES, TARGET,
             pairwise(rbf_kernel, 40.0)),
    landmark("Nystroem gamma=None, Ridge, 2 targets", scaled(rough(gamma=None),
             Ridge(0.1)), DIABETES, TARGETS, pairwise(rbf_kernel, 0.25), outputs=("y0", "y1")),
    landmark("Nystroem laplacian, LinearSVR", scaled(rough(kernel="laplacian",
             gamma=0.3), LinearSVR(C=10.0, random_state=0)), DIABETES, TARGET, L1),
    landmark("Nystroem chi2, Ridge", make_pipeline(rough(kernel="chi2", gamma=None), Ridge(0.1)),
             DIGITS, DIGIT, CHI2),
    landmark("Nystroem poly, Ridge", scaled(rough(kernel="poly", degree=2, gamma=None), Ridge(0.1)),
             DIABETES, TARGET, power_of_sum(2, 0.25, 1.0), background=DIABETES[10:17]),
    landmark("Nystroem with a pkex kernel, Ridge", scaled(rough(kernel=RBF(2.0),
             gamma=None), Ridge(0.1)), DIABETES, TARGET, pairwise(rbf_kernel, 0.125)),
    landmark("Nystroem kernel_params, StandardScaler, Ridge", scaled(
             rough(gamma=None, kernel_params={"gamma": 0.2}), StandardScaler(), Ridge(0.1)),
             DIABETES, TARGET),
    landmark("Nystroem, PCA, SVR linear", scaled(rough(), PCA(5),
             SVR(kernel="linear", C=20.0)), DIABETES, TARGET),
    landmark("Nystroem on a sparse matrix, Ridge", make_pipeline(rough(gamma=40.0), Ridge(0.1)),
             SPARSE, TARGET, pairwise(rbf_kernel, 40.0)),
    landmark("Nystroem behind one-hot codes, Ridge", make_pipeline(PATIENT_COLUMNS, rough(),
             Ridge(0.1)), PATIENTS, TARGET, origins=(1, 1, 3, 3, 3, 3, 2, 0)),
    landmark("Nystroem, LinearSVC", scaled(rough(), LinearSVC(dual=False)), CANCER,
             MALIGNANT, own=decision, outputs=("1 vs 0",)),
    landmark("Nystroem, LinearSVC, 3 classes", scaled(rough(),
             LinearSVC(dual=False)), WINE_FRAME, CULTIVAR, own=decision, outputs=CLASSES),
    landmark("Nystroem, RidgeClassifier", make_pipeline(MinMaxScaler(), rough(gamma=2.0),
             RidgeClassifier()), WINE_FRAME, CULTIVAR, pairwise(rbf_kernel, 2.0), own=decision,
             outputs=CLASSES),
    landmark("Nystroem, SGDClassifier", scaled(rough(),
             SGDClassifier(random_state=0)), CANCER, MALIGNANT, own=decision, outputs=("1 vs 0",)),
    landmark("Nystroem, LogisticRegression", scaled(rough(), LogisticRegression()),
             CANCER, MALIGNANT, own=log_ratios, method=decision, outputs=("1 vs 0",),
             log_odds=True),
    landmark("Nystroem, LogisticRegression, 3 classes, outputs=log-odds",
             scaled(rough(), LogisticRegression()), IRIS, NAMED_SPECIES,
             own=log_ratios, method=decision, outputs=SPECIES_NAMES, log_odds=True,
             choice="log-odds", map_of=mean_ratios),
    landmark("GridSearchCV over Nystroem", GridSearchCV(scaled(rough(), Ridge()),
             {"ridge__alpha": [0.1, 1.0]}, cv=2), DIABETES, TARGET,
             inside=lambda m: m.best_estimator_),
]  # fmt: skip
