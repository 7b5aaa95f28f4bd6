"""
How does the model use a feature?
=================================

Shapley values of one feature against its feature values, and cohorts of rows side by side.
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
# Another feature gives the colour.
explanation.plot.dependence("bmi", color="s5")

# %%
# The same importance in two cohorts, by a column:
explanation.plot.bar(cohorts="sex", max_display=8)

# %%
# ... or by any mask of the rows:
explanation.plot.bar(cohorts={"young": X["age"] < 40, "old": X["age"] > 60}, max_display=8)

# %%
# The effect of the body mass index is flat below 22 and rises above. Blood pressure and age matter
# more for old patients than for young ones, sex matters less.
