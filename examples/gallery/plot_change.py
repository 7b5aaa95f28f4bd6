"""
Why did predictions change between two tables?
==============================================

The difference of the mean predictions, divided among the features, with a permutation test.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
order = np.random.default_rng(0).permutation(len(X))
X, y = X.iloc[order], y.iloc[order]
model = make_pipeline(StandardScaler(), SVR(C=100.0)).fit(X[:142], y[:142])

# %%
# Two tables that the model was not fitted on. In the second one the blood pressure is read 10 mmHg
# too high, and s5 is 0.2 too low:
before = X[142:292]
after = X[292:].assign(bp=X["bp"] + 10.0, s5=X["s5"] - 0.2)
change = pkex.change(model, before, after, random_state=0)
change

# %%
# The Shapley values of each feature in both tables. The two changes cancel in the mean prediction:
change.plot()

# %%
# Only the two features that changed are significant, and their contributions have opposite signs.
