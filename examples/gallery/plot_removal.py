"""
Which background and removal?
=============================

One patient, one prediction, three ways to remove a feature.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
explainers = {
    "interventional, 100 rows": pkex.Explainer(model, X[:100]),
    "product of marginals": pkex.Explainer(model),
    "neutral": pkex.Explainer(model, removal="neutral"),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, explainer) in zip(axes, explainers.items(), strict=True):
    explainer(X[:1]).plot.waterfall(0, ax=ax, max_display=6)
    ax.set_title(name, loc="left")

# %%
# All end at the same prediction. They start at different base values, so they answer different
# questions: compared with the mean of 100 rows, with independent features, or with a row that
# equals every training point. Use the first, unless you know why not.
