"""
Does a Gaussian process ignore irrelevant columns?
==================================================

With one length scale per column, irrelevant columns get long length scales, and values near 0.
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import pkex

rng = np.random.default_rng(0)
X = rng.uniform(-2.0, 2.0, size=(120, 4))
y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.05 * rng.normal(size=120)
kernel = RBF(np.ones(4)) + WhiteKernel(0.01)
model = GaussianProcessRegressor(kernel, random_state=0).fit(X, y)
explainer = pkex.Explainer(model, X)
explainer

# %%
explanation = explainer(X)
explanation.plot()

# %%
explanation.plot.dependence("x0")

# %%
# The target depends on x0 and x1 only. The values of the other two columns are near 0, and the
# dependence plot of x0 shows the sine that the target was made of.
