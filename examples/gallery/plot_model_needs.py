"""
Which features does a model need?
=================================

Permutation importance over all shuffles, and SAGE values, for data with a noisy copy of a feature.
"""

import numpy as np
import pandas as pd
from sklearn.svm import SVR

import pkex

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "b", "copy of a", "noise"])
X["copy of a"] = X["a"] + 0.1 * rng.normal(size=300)
y = 2.0 * X["a"] + X["b"] ** 2 + 0.3 * rng.normal(size=300)
model = SVR(C=10.0).fit(X[:200], y[:200])
test, target = X[200:], y[200:]
importance = pkex.permutation_importance(model, test, target)
importance

# %%
importance.plot()

# %%
# Shuffling `a` leaves its copy in place, and makes rows that do not occur. Shuffle both together
# to see what the model loses without their information.
groups = {"a and its copy": ["a", "copy of a"]}
pkex.permutation_importance(model, test, target, groups=groups)

# %%
# SAGE values share the decrease of the mean squared error among the features.
pkex.sage(model, test, target).plot()

# %%
# The values of single rows: which features made an error smaller or larger?
pkex.Explainer(model, X[:200], removal="product-of-marginals").loss(test[:1], target[:1])
