"""
How steep is the prediction at a row?
=====================================

Derivatives of a Gaussian process with their uncertainty, and integrated gradients from a baseline.
"""

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import pkex

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(80, 4)), columns=["a", "b", "c", "d"])
y = np.sin(3.0 * X["a"]) + X["b"] * X["c"] + 0.1 * rng.normal(size=80)
kernel = RBF([0.6, 1.0, 1.0, 3.0]) + WhiteKernel(0.01)
model = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
center = pd.DataFrame(np.zeros((1, 4)), columns=X.columns)
explainer = pkex.Explainer(model, center)
gradients = explainer.gradients(X[:1], return_std=True)
gradients

# %%
# The slope by each feature at one row, with two standard deviations:
gradients.plot()

# %%
# The slopes of 60 rows: that by a changes its sign, that by b depends on c, that by d
# is close to 0.
explainer.gradients(X[:60]).plot()

# %%
# What each feature adds on the straight line from the center to the row:
explainer.integrated_gradients(X[:1]).plot()
