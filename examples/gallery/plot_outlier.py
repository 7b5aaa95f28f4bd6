"""
Why is this row an outlier?
===========================

The decision function of a one-class support vector machine, compared with usual rows.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import pkex

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
benign, malignant = X[y == 1], X[y == 0]
model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05)).fit(benign)
row = malignant.iloc[[model.decision_function(malignant).argmin()]]
explanation = pkex.Explainer(model, benign[:100])(row)
explanation.plot.waterfall(0, max_display=9)

# %%
# Most benign samples have a positive decision, this malignant one has a negative one. The
# measurements at the top make it unusual: they lower the decision most.
