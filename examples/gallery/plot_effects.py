"""
How does the prediction change with a feature?
==============================================

Partial dependence of a Gaussian process with exact bands, individual curves, and a pair.
"""

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True)
X, y = X[:200], y[:200]
kernel = RBF(0.2) + WhiteKernel(0.5)
model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
explainer = pkex.Explainer(model, X)
effects = explainer.effects(["bmi", "s5", "bp"], kind="both", return_std=True)
effects

# %%
effects.plot()

# %%
# The line is the average over the background rows, the band two posterior standard deviations of
# that average. A pair has a surface; lines are its standard deviation, points the rows.
explainer.effects([("bmi", "s5")], return_std=True, grid_resolution=40).plot()
