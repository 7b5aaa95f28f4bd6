"""
Which inputs drive a model overall?
===================================

Sobol indices and Shapley effects in closed form, for Ishigami's function, whose indices are known.
"""

import numpy as np
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import pkex

points = qmc.scale(qmc.Sobol(3, seed=0).random(256), -np.pi, np.pi)
sine = np.sin(points[:, 0])
y = sine + 7.0 * np.sin(points[:, 1]) ** 2 + 0.1 * points[:, 2] ** 4 * sine
kernel = 100.0 * RBF([1.9, 1.3, 2.3])
model = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None, normalize_y=True)
model.fit(points, y)
ranges = {f"x{j}": (-np.pi, np.pi) for j in range(3)}
sensitivity = pkex.sensitivity(model, ranges)
sensitivity

# %%
sensitivity.plot()

# %%
# x1 acts by itself: its first-order and total-order indices agree. x2 acts only through its
# interaction with x0: its first-order index is 0, its total-order index is 0.24. The true
# first-order indices are 0.31, 0.44 and 0.
