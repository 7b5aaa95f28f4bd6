"""Cases of classifiers with probabilities: what is explained are their log-odds."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from tests._support.models.case import ModelCase
from tests._support.models.data import CANCER, IRIS, MALIGNANT, NAMED_SPECIES
from tests._support.models.oracle import inner_products, machine, pairwise, support
from tests._support.models.weights import SPECIES_NAMES, log_ratios, mean_ratios

HAS_TEMPERATURE = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
NAMED = np.where(MALIGNANT, "benign", "malignant")
ROWS = CANCER[::18][:4]


def slope_and_shift(model):
    """Return what the calibrator multiplies the decision function by, and adds."""
    [inside] = model.calibrated_classifiers_
    [calibrator] = inside.calibrators
    if hasattr(calibrator, "beta_"):
        return 2.0 * calibrator.beta_, 0.0
    return -calibrator.a_, -calibrator.b_


def calibrated(name, machine_inside, y=NAMED, outputs=("malignant vs benign",), **options):
    """Return a case of a calibrated support vector machine with the rbf kernel and gamma 0.2."""
    how = {"ensemble": False, "cv": 3} | options
    listed = options.get("method") != "temperature"
    model = CalibratedClassifierCV(machine_inside, **how)

    def machines(m):
        [inside] = m.calibrated_classifiers_
        svc, prepare = inside.estimator, np.asarray
        svc = getattr(svc, "estimator", svc)
        if hasattr(svc, "steps"):
            svc, prepare = svc[-1], svc[:-1].transform
        found = support(svc, prepare, gamma=0.2)
        slope, shift = slope_and_shift(m)
        return [machine(found.points, slope * found.alpha, slope * found.offset + shift,
                        found.kernel, prepare=prepare)]  # fmt: skip

    return ModelCase(
        name,
        lambda: model.fit(CANCER, y),
        ROWS,
        log_ratios,
        machines,
        outputs,
        log_odds=True,
        listed=listed,
    )


def platt(name, model, choice) -> ModelCase:
    """Return a case of a machine with probabilities of its own."""

    def machines(m):
        found = support(m, np.asarray, gamma=0.2)
        slope, shift = (-m._probA[0], m._probB[0]) if choice else (1.0, 0.0)
        return [machine(found.points, slope * found.alpha, slope * found.offset + shift,
                        found.kernel)]  # fmt: skip

    def own(m, rows):  # predict_proba stops its iteration at three digits of this
        slope, shift = (-m._probA[0], m._probB[0]) if choice else (1.0, 0.0)
        return slope * m.decision_function(rows) + shift

    return ModelCase(
        name, lambda: model.fit(CANCER, NAMED), ROWS, own, machines, ("malignant vs benign",),
        noise="The `probability` parameter", choice=choice, log_odds=choice is not None,
    )  # fmt: skip


def tempered(model, table, y) -> ModelCase:
    """Return a case of three classes whose logits are divided by a temperature."""

    def machines(m):
        [inside] = m.calibrated_classifiers_
        scaler, last = inside.estimator[0], inside.estimator[-1]
        beta = inside.calibrators[0].beta_
        return [machine(last.coef_, mean_ratios(beta * np.eye(3)),
                        mean_ratios(beta * last.intercept_), inner_products,
                        prepare=scaler.transform, background=table[10:17],
                        own_data=False)]  # fmt: skip

    return ModelCase(
        "CalibratedClassifierCV temperature, 3 classes", lambda: model.fit(table, y), table[::20],
        log_ratios, machines, SPECIES_NAMES, n_outputs=3, log_odds=True, own_data=False,
        background=table[10:17], listed=False,
    )  # fmt: skip


def log_ratios_of_landmarks() -> ModelCase:
    """Return a case of a calibrated pipeline with Nystroem."""
    inner = make_pipeline(
        StandardScaler(), Nystroem(gamma=0.2, n_components=12, random_state=0),
        LinearSVC(dual=False),
    )  # fmt: skip
    model = CalibratedClassifierCV(inner, ensemble=False, cv=3)

    def machines(m):
        scaler, step, last = (each for _, each in m.calibrated_classifiers_[0].estimator.steps)
        slope, shift = slope_and_shift(m)
        alpha = step.normalization_.T @ last.coef_.T
        return [machine(step.components_, slope * alpha, slope * last.intercept_ + shift,
                        pairwise(rbf_kernel, 0.2), prepare=scaler.transform)]  # fmt: skip

    return ModelCase(
        "CalibratedClassifierCV around Nystroem", lambda: model.fit(CANCER, NAMED), ROWS,
        log_ratios, machines, ("malignant vs benign",), log_odds=True,
    )  # fmt: skip


RBF_SVC = SVC(gamma=0.2)
CALIBRATED = [
    calibrated("CalibratedClassifierCV sigmoid", RBF_SVC),
    calibrated("CalibratedClassifierCV sigmoid, numbers as labels", NuSVC(nu=0.3, gamma=0.2),
               MALIGNANT, ("1 vs 0",)),
    calibrated("CalibratedClassifierCV sigmoid around a pipeline",
               make_pipeline(StandardScaler(), RBF_SVC)),
    calibrated("CalibratedClassifierCV sigmoid around a FrozenEstimator",
               FrozenEstimator(SVC(gamma=0.2).fit(CANCER[::2], NAMED[::2])), ensemble="auto"),
    log_ratios_of_landmarks(),
    platt("SVC probability=True", SVC(gamma=0.2, probability=True, random_state=0), None),
    platt("SVC probability=True, outputs=log-odds",
          SVC(gamma=0.2, probability=True, random_state=0), "log-odds"),
]  # fmt: skip
if HAS_TEMPERATURE:
    CALIBRATED += [
        calibrated("CalibratedClassifierCV temperature", RBF_SVC, method="temperature"),
        tempered(CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()),
                                        method="temperature", ensemble=False, cv=3),
                 IRIS, NAMED_SPECIES),
    ]  # fmt: skip
