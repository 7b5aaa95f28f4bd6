"""
Which features interact?
========================

Exact Shapley interactions of all pairs of features, for every row.
"""

import numpy as np
import pandas as pd
from sklearn.svm import SVR

import pkex

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(300, 5)), columns=["a", "b", "c", "d", "e"])
y = 2.0 * X["a"] * X["b"] + X["c"] + 0.05 * rng.normal(size=300)
model = SVR(C=10.0, epsilon=0.02).fit(X, y)
interactions = pkex.Explainer(model, X[:50]).interactions(X[:100])
interactions

# %%
# Mean absolute interaction values of all pairs:
interactions.plot()

# %%
# The strongest pair in detail: the colour is the interaction value of each row.
interactions.plot.pair("a", "b")

# %%
# The target has one interaction, a with b, and one main effect, c. The model has learned both: the
# pair stands out among ten, and its values are positive where a and b have the same sign.
