"""Pipelines of an SVR, plain, scaled and encoded, and the game of an encoded one."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from tests._support.models.data import DIABETES
from tests._support.models.pipelines import columns

NAMES = tuple(DIABETES.columns)
ROUNDING = 1e-9  # of 60 terms with coefficients up to C = 20: 1e-13, times what a scaler adds


def plain():
    return SVR(C=20.0)


def scaled():
    return make_pipeline(StandardScaler(), SVR(C=20.0, gamma=0.3))


def encoded(**options):
    """Return a pipeline that encodes text and scales numbers."""
    one_hot = OneHotEncoder(**options)
    numbers = ["age", "bmi", "s5"]
    return make_pipeline(
        columns((one_hot, ["sex", "pressure"]), (StandardScaler(), numbers)),
        SVR(C=20.0, gamma=0.3),
    )


def value_of(model, row, origins):
    """Return the game of an encoded pipeline, with its columns mapped to input columns by hand."""
    svr, prepared = model[-1], np.asarray(model[:-1].transform(row))

    def value(present):
        kept = [j for j, origin in enumerate(origins) if origin in present]
        gram = np.ones((1, len(svr.support_vectors_)))
        if kept:
            gram = rbf_kernel(prepared[:, kept], svr.support_vectors_[:, kept], gamma=svr.gamma)
        return float((gram @ svr.dual_coef_[0] + svr.intercept_)[0])

    return value
