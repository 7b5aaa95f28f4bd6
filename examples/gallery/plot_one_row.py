"""
Why this prediction?
====================

The waterfall of one row leads from the base value, the mean prediction over the background, to what
the model predicts for it.
"""

from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)

# %%
# An explainer says what it knows about the model.
explainer = pkex.Explainer(model, X[:100])
explainer

# %%
explanation = explainer(X[:5])
explanation

# %%
explanation.plot.waterfall(2)

# %%
# This patient's body mass index of 30.5 and age of 72 raise the prediction most, from the mean
# prediction of 132 to 169. Base value and values add up to the prediction; pkex checks that in
# every call.
