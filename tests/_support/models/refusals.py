"""The list of models that are refused, with words of the sentences."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
)
from sklearn.decomposition import PCA, KernelPCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LogisticRegression,
    PoissonRegressor,
    RANSACRegressor,
    Ridge,
    SGDOneClassSVM,
    SGDRegressor,
)
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KernelDensity, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from tests._support.models.case import Refusal
from tests._support.models.data import CANCER, CULTIVAR, IRIS, MALIGNANT, SPECIES, TARGET, WINE, X
from tests._support.models.kernel_methods import rbf_of_rows
from tests._support.models.processes import ARD
from tests._support.models.vector_machines import GRAM, rbf_of_tables
from tests._support.models.wrappers import SCALED_SVR


def clipped(target):
    """The way back of a target that is cut off, linear below."""
    return np.minimum(target, 300.0)


class Capped(SVR):
    """A user's model that never predicts more than the largest target."""

    def predict(self, X):
        return np.minimum(super().predict(X), TARGET.max())


def refused_process(name, kernel, *words) -> Refusal:
    """Return the refusal of a Gaussian process with a kernel that is no product."""
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=1.0)
    return Refusal(name, lambda: model.fit(X, TARGET), words)


def refused_fit(name, model, *words, table=X, y=TARGET) -> Refusal:
    """Return the refusal of a model after its fit."""
    return Refusal(name, lambda: model.fit(table, y), words)


NO_PRODUCT = ("does not factor over features", "Supported kernels", "Refit")
REFUSALS = [
    refused_fit("SVC sigmoid", SVC(kernel="sigmoid"), "SVC", "'sigmoid'", "tanh", *NO_PRODUCT,
                table=IRIS, y=SPECIES),
    refused_fit("KernelRidge cosine", KernelRidge(kernel="cosine"), "'cosine'", "norm of the row",
                *NO_PRODUCT),
    refused_fit("KernelRidge poly of degree 1.5", KernelRidge(kernel="poly", degree=1.5),
                "exponent 1.5", "integer powers", table=np.abs(X)),
    refused_fit("KernelRidge rbf far from 0", KernelRidge(kernel="rbf", alpha=5.0),
                "so far from 0", "rbf kernel loses digits", "Centre or scale", table=X + 1e7),
    refused_fit("KernelPCA sigmoid", KernelPCA(2, kernel="sigmoid"), "KernelPCA", "tanh",
                *NO_PRODUCT),
    refused_fit("KernelDensity tophat", KernelDensity(kernel="tophat"), "'tophat'", "knapsack",
                *NO_PRODUCT),
    refused_fit("KernelDensity gaussian, manhattan", KernelDensity(metric="manhattan"),
                "'gaussian'", "'manhattan'"),
    refused_fit("KernelDensity gaussian, Minkowski p=3",
                KernelDensity(metric="minkowski", metric_params={"p": 3}), "not a sum of products"),
    refused_process("GPR product of two radial kernels",
                    gp.Matern(ARD) * gp.RationalQuadratic(), "two radial kernels"),
    refused_process("GPR square root of DotProduct", gp.DotProduct() ** 0.5, "DotProduct",
                    *NO_PRODUCT),
    refused_process("GPR ExpSineSquared, several columns", gp.ExpSineSquared(), "ExpSineSquared",
                    "oscillates", *NO_PRODUCT),
    refused_process("GPR PairwiseKernel cosine", gp.PairwiseKernel(metric="cosine"), "cosine",
                    *NO_PRODUCT),
    refused_process("GPR square root of a sum", (gp.RBF(0.1) + 1.0) ** 0.5, "power of a sum"),
    refused_process("GPR noise alone", gp.WhiteKernel(0.5), "noise only", "nothing to explain"),
    Refusal("GPR not fitted", GaussianProcessRegressor, ("not fitted", "prior", "fit")),
    *(
        Refusal(f"{type(model).__name__} not fitted", partial(copy, model), ("fit",))
        for model in (SVR(), NuSVR(), SVC(), NuSVC(), OneClassSVM(), KernelRidge(kernel="rbf"),
                      KernelPCA(kernel="rbf"), KernelDensity(), GaussianProcessClassifier(),
                      SCALED_SVR, GridSearchCV(SVR(), {"C": [1.0]}),
                      TransformedTargetRegressor(SVR()), MultiOutputRegressor(SVR()),
                      OneVsRestClassifier(SVC()), OneVsOneClassifier(SVC()),
                      FrozenEstimator(SVR()), Ridge(), SGDRegressor(), SGDOneClassSVM(),
                      LogisticRegression(), RANSACRegressor(), CalibratedClassifierCV(SVC()),
                      make_pipeline(Nystroem(), Ridge()))
    ),
    refused_fit("SVR precomputed, kernel not given", SVR(kernel="precomputed"), "precomputed",
                "kernel=", "points=", table=GRAM(X)),
    refused_fit("SVR with a function, kernel not given", SVR(kernel=rbf_of_tables),
                "custom kernel", "kernel="),
    refused_fit("search with refit=False", GridSearchCV(SVR(), {"C": [1.0, 2.0]}, refit=False),
                "best_estimator_", "refit"),
    refused_fit("CalibratedClassifierCV, an ensemble", CalibratedClassifierCV(SVC(), cv=3),
                "mean probability of 3 classifiers", "ensemble=False",
                "calibrated_classifiers_[0].estimator", table=CANCER, y=MALIGNANT),
    refused_fit("CalibratedClassifierCV isotonic",
                CalibratedClassifierCV(SVC(), method="isotonic", cv=3, ensemble=False), "steps",
                "method='sigmoid'", "calibrated_classifiers_[0].estimator", table=CANCER,
                y=MALIGNANT),
    refused_fit("CalibratedClassifierCV sigmoid, 3 classes",
                CalibratedClassifierCV(SVC(), cv=3, ensemble=False), "sigmoids of several classes",
                "OneVsRestClassifier(SVC()), method='temperature'",
                "calibrated_classifiers_[0].estimator", table=IRIS,
                y=SPECIES),
    refused_fit("CalibratedClassifierCV of probabilities",
                CalibratedClassifierCV(GaussianProcessClassifier(optimizer=None), cv=3,
                                       ensemble=False), "calibrates probabilities",
                "calibrated_classifiers_[0].estimator", table=CANCER, y=MALIGNANT),
    refused_fit("CalibratedClassifierCV of votes",
                CalibratedClassifierCV(OneVsOneClassifier(SVC()), cv=3, ensemble=False),
                "calibrates votes", "calibrated_classifiers_[0].estimator", table=CANCER,
                y=MALIGNANT),
    refused_fit("Nystroem sigmoid", make_pipeline(Nystroem(kernel="sigmoid", n_components=9),
                Ridge()), "Nystroem", "'sigmoid'", *NO_PRODUCT),
    refused_fit("Nystroem with a function, kernel not given",
                make_pipeline(Nystroem(kernel=rbf_of_rows, n_components=9), Ridge()),
                "Nystroem has a custom kernel", "kernel="),
    refused_fit("PoissonRegressor", PoissonRegressor(), "PoissonRegressor",
                "not a supported model"),
    refused_fit("TransformedTargetRegressor log",
                TransformedTargetRegressor(SVR(), func=np.log, inverse_func=np.exp), "nonlinear",
                "model.regressor_"),
    refused_fit("TransformedTargetRegressor that clips",
                TransformedTargetRegressor(SCALED_SVR, func=np.positive, inverse_func=clipped,
                                           check_inverse=False), "nonlinear", "model.regressor_"),
    refused_fit("OneVsOneClassifier around pipelines that mix columns",
                OneVsOneClassifier(make_pipeline(PCA(2), SVC())), "combines columns", "one by one",
                table=WINE, y=CULTIVAR),
    refused_fit("Pipeline with a nested one that mixes columns",
                make_pipeline(StandardScaler(), make_pipeline(PCA(2), SVR())), "combines columns",
                "nested pipeline"),
    refused_fit("Pipeline that ends in another model", make_pipeline(StandardScaler(),
                KNeighborsRegressor()), "KNeighborsRegressor", "not a supported model"),
    Refusal("Pipeline without a model", lambda: Pipeline([("s", StandardScaler()),
            ("m", "passthrough")]).fit(X), ("last step must be a supported model",)),
    refused_fit("RandomForestRegressor", RandomForestRegressor(3, random_state=0),
                "RandomForestRegressor", "not a supported model", "KernelExpansion"),
    Refusal("None", lambda: None, ("NoneType", "not a supported model")),
    refused_fit("subclass with a predict of its own", Capped(C=20.0),
                "Capped overrides SVR.predict", "plain SVR", "register a converter"),
    Refusal("a string", lambda: "SVR", ("str is not a supported model",)),
    Refusal("a class", lambda: SVR, ("SVR is a class", "SVR().fit(X, y)")),
]  # fmt: skip
