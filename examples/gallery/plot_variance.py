"""
Why is a Gaussian process uncertain here?
=========================================

The predictive variance of a row, explained like a prediction.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True)
X, y = X[:200], y[:200]
kernel = 0.7 * RBF(0.17) + WhiteKernel(0.45)
model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
row = int(np.argmax(model.predict(X, return_std=True)[1]))

# %%
# The row with the largest variance, compared with ten others:
explanation = pkex.Explainer(model, X[::20]).explain_variance(X[row : row + 1])
explanation.plot.waterfall(0)

# %%
# How far the row is from the mean, in standard deviations of each column:
((X.iloc[row] - X.mean()) / X.std()).round(1)

# %%
# The features that add most to the variance are those in which the row is unusual: the model has
# seen few patients like it.
