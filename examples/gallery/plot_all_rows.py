"""
What drives a model?
====================

Over many rows: every value as a point, the mean sizes as bars, all at once as colours, and rows as
lines.
"""

from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
explanation = pkex.Explainer(model, X[:50])(X)

# %%
# ``plot()`` draws what fits; of many rows that is a beeswarm.
explanation.plot()

# %%
# Means with their standard errors:
explanation.plot.bar()

# %%
# Every value as a colour; rows go by their prediction.
explanation.plot.heatmap(max_display=8)

# %%
# Rows as lines from the base value to their predictions:
explanation[:60].plot.decision(max_display=8)
