"""
How much do several columns matter together?
============================================

Columns that belong together are explained as one feature.
"""

from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
groups = {"blood serum": ["s1", "s2", "s3", "s4", "s5", "s6"]}
explanation = pkex.Explainer(model, X[:50], groups=groups)(X)
explanation.plot.bar()

# %%
# The columns by themselves:
pkex.Explainer(model, X[:50])(X).plot.bar()

# %%
# Together the six serum measurements matter almost twice as much as the body mass index. One by one
# only s5 matters as much as it does: the measurements are correlated and divide their effect.
