"""Models of the diabetes data, whose effects tests compare."""

from __future__ import annotations

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.svm import SVR

__all__ = ["TABLE", "TARGET", "diabetes_machine", "diabetes_process"]

TABLE, TARGET = load_diabetes(return_X_y=True, as_frame=True)


def diabetes_machine():
    return SVR(C=50.0).fit(TABLE, TARGET), TABLE[:40]


def diabetes_process(kernel):
    X = TABLE.to_numpy()[:70] / 0.05
    model = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None, normalize_y=True)
    return model.fit(X, TARGET[:70]), X[:20]
