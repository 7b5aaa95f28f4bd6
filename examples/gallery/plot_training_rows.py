"""
Which training rows matter for a prediction?
============================================

What each training row of a Gaussian process changes, and which features connect it with a patient.
"""

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
process = GaussianProcessRegressor(0.7 * RBF(4.0), alpha=0.45, optimizer=None, normalize_y=True)
model = make_pipeline(StandardScaler(), process).fit(X[20:], y[20:])

# %%
# The six training rows that change the prediction for a new patient most. Colours are the change of
# each Shapley value, numbers the feature values of the training rows:
explainer = pkex.Explainer(model, X[20::9])
influence = explainer.influence(X[:1], X_train=X[20:], y_train=y[20:], top=6)
influence.plot(max_features=6)

# %%
# The training rows with the largest leave-one-out residuals:
explainer.leave_one_out(X_train=X[20:]).to_frame().head().round(1)

# %%
# Their targets are far from those of similar patients: wrong entries, or rare cases.
