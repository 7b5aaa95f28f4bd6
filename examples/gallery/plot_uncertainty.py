"""
How certain is a value?
=======================

A Gaussian process is uncertain about its function, and so about the Shapley values of a row. Their
posterior standard deviations are exact.
"""

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True)
kernel = 0.7 * RBF(0.17) + WhiteKernel(0.45)
model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
explainer = pkex.Explainer(model, X[::9])
explanation = explainer(X[:3], return_std=True)
explanation

# %%
explanation.plot.waterfall(0)

# %%
# Whiskers are one posterior standard deviation. The body mass index raises this prediction by six
# of them. The data do not distinguish values within two standard deviations of zero from 0.
