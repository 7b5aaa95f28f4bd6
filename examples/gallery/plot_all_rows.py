"""
Which features matter in a model?
=================================

Over many rows: every value as a point, mean absolute values as bars, all values as colours, and
rows as lines.
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
# ``plot()`` draws what fits; for many rows that is a beeswarm.
explanation.plot()

# %%
# Mean absolute values with their standard errors:
explanation.plot.bar()

# %%
# Every value as a colour; rows are sorted by their prediction.
explanation.plot.heatmap(max_display=8)

# %%
# Rows as lines from the base value to their predictions:
explanation[:60].plot.decision(max_display=8)

# %%
# s5, bmi and bp matter most, and high values of each raise the prediction. The standard errors of
# s5 and bmi overlap, so their order is not certain.
