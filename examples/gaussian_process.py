"""A Gaussian process with a length scale per column and a normalised target.

    python examples/gaussian_process.py [FOLDER]

The kernel is tuned by the process itself; noise and scale are part of it. The values are in the
units of the target. Writes ``gaussian_process.png``: the Shapley values of one patient beside the
length scales, which do not say what a column does for a patient.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

import pkex
from pkex.plots import style

mpl.use("Agg")

from matplotlib import pyplot as plt


def main() -> None:
    """Fit, explain, print and draw."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = StandardScaler().set_output(transform="pandas").fit_transform(X)
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], 3.0), (0.1, 1e3)) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a column at its bound is unused
        model.fit(X[:300], y[:300])

    explanation = pkex.Explainer(model)(X[300:310])
    print(model.kernel_)
    print(explanation[:2])
    gap = abs(explanation.predictions - model.predict(X[300:310])).max()
    print(f"The largest difference from the prediction of the model is {gap:.1e}.")

    scales = model.kernel_.k1.k2.length_scale
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
        explanation[0].plot.bar(left)
        order = np.argsort(scales)[::-1]
        right.barh(np.array(explanation.feature_names)[order], scales[order], height=0.64)
        right.set_xscale("log")
        right.set_xlabel("length scale (standard deviations)")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "gaussian_process.png"
    figure.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
